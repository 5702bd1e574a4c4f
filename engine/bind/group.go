package bind

import (
	"slices"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A groupingCall is GROUPING(a, b, …), whose value depends on the grouping set alone.
type groupingCall struct {
	col  *expr.Column
	args []int // positions among the group's items
}

// groupBy binds GROUP BY: an expression over FROM, the name or position of an item of the SELECT list.
func (s *selection) groupBy() error {
	g := s.sel.GroupBy
	if g == nil {
		return nil
	}
	if g.All {
		return s.groupByAll()
	}
	for _, set := range g.Sets {
		if set.Kind != ast.GroupingSet {
			return unsupported(set.Pos, "%s", set.Kind)
		}
		for _, e := range set.Exprs {
			if _, err := s.groupItem(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// groupItem adds an item of GROUP BY, once, and gives its position.
func (s *selection) groupItem(e ast.Expr) (int, error) {
	x := &exprBinder{b: s.b, scope: s.scope, clause: "GROUP BY", applies: &s.group.applies}
	n, ok, err := ordinal(e, "GROUP BY", len(s.items))
	if err != nil {
		return 0, err
	}
	if !ok {
		n = s.groupAlias(e)
	}
	var v expr.Expr
	name := ""
	if n >= 0 && (ok || s.itemMeant(x, e)) {
		name = s.items[n].name
		v, err = s.bindItem(x, s.items[n])
	} else {
		name = ownName(e)
		v, err = x.value(e)
	}
	if err == nil {
		v, err = settle(v)
	}
	if err != nil {
		return 0, err
	}
	return s.addGroup(v, name), nil
}

// addGroup adds a group key, once, whose column people will know by that name.
func (s *selection) addGroup(v expr.Expr, name string) int {
	g := s.group
	if at := slices.IndexFunc(g.items, func(it logical.Item) bool { return expr.Equal(it.Expr, v) }); at >= 0 {
		return at
	}
	c, isColumn := v.(*expr.Column)
	if !isColumn {
		if name == "" || name == "?column?" {
			name = "group"
		}
		c = s.b.fresh(name, v)
	}
	g.items = append(g.items, logical.Item{Col: c, Expr: v})
	return len(g.items) - 1
}

// groupAlias is the item of that alias, −1 for none.
func (s *selection) groupAlias(e ast.Expr) int {
	ref, ok := e.(*ast.ColumnRef)
	if !ok || len(ref.Parts) != 1 {
		return -1
	}
	return slices.IndexFunc(s.items, func(it item) bool { return it.ast != nil && it.name == ref.Parts[0].Name })
}

// itemMeant tells whether a bare name in GROUP BY is an item's: only where FROM has no such column.
func (s *selection) itemMeant(x *exprBinder, e ast.Expr) bool {
	ref := e.(*ast.ColumnRef)
	for _, r := range x.scope.rels {
		for _, c := range r.cols {
			if c.name == ref.Parts[0].Name && !c.hidden {
				return false
			}
		}
	}
	return true
}

// groupByAll groups by every item that holds no aggregate.
func (s *selection) groupByAll() error {
	for _, it := range s.items {
		if it.ast != nil && hasAggregate(it.ast) {
			continue
		}
		x := &exprBinder{b: s.b, scope: s.scope, clause: "GROUP BY", applies: &s.group.applies}
		v, err := s.bindItem(x, it)
		if err == nil {
			v, err = settle(v)
		}
		if err != nil {
			return err
		}
		s.addGroup(v, it.name)
	}
	return nil
}

func hasAggregate(e ast.Expr) bool {
	hit := false
	ast.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Query:
			return false
		case *ast.FuncCall:
			if n.Over == nil && expr.LookupAggregate(n.Name.Last().Name) != nil {
				hit = true
			}
		}
		return !hit
	})
	return hit
}

func (x *exprBinder) groupingCall(e *ast.FuncCall) (expr.Expr, error) {
	return nil, unsupported(e.Pos, "GROUPING")
}

// aggregate makes the groups, if there are any, and turns what was bound over FROM into expressions over them.
func (s *selection) aggregate() error {
	g := s.group
	if s.sel.GroupBy == nil && s.sel.Having == nil && len(g.aggs) == 0 {
		return nil
	}
	input := attach(s.node, g.applies)
	up := &lifter{b: s.b, group: g, input: logical.Output(input)}
	for i := range s.items {
		s.items[i].expr = up.lift(s.items[i].expr)
	}
	if s.having != nil {
		s.having = up.lift(s.having)
	}
	for i, k := range s.keys {
		if k.expr != nil {
			s.keys[i].expr = up.lift(k.expr)
		}
	}
	for _, a := range slices.Concat(s.ofHaving, s.ofOutputs) {
		if a.On != nil {
			a.On = up.liftApply(a)
		}
		up.check(a)
	}
	if up.err != nil {
		return up.err
	}
	s.node = &logical.Aggregate{Input: input, Groups: g.items, Aggs: g.aggs}
	if s.having != nil {
		s.node = &logical.Filter{Input: attach(s.node, s.ofHaving), Cond: s.having}
	}
	return nil
}

// A lifter turns expressions over a group's input into ones over its output. The first error sticks.
type lifter struct {
	b     *binder
	group *grouping
	input logical.ColSet
	own   logical.ColSet // columns of a subquery, which stay
	err   error
}

func (l *lifter) lift(e expr.Expr) expr.Expr {
	for _, it := range l.group.items {
		if expr.Equal(it.Expr, e) {
			c := *it.Col
			c.P = e.Pos()
			return &c
		}
	}
	if c, ok := e.(*expr.Column); ok {
		if l.input[c.ID] && !l.own[c.ID] && l.err == nil {
			l.err = ungrouped(l.b, c)
		}
		return e
	}
	return expr.Map(e, l.lift)
}

func ungrouped(b *binder, c *expr.Column) error {
	name := b.names[c.ID]
	if name == "" {
		name = c.Name
	}
	return sqlerr.Newf(sqlerr.Grouping, c.P, "column %q must appear in the GROUP BY clause or be used in an aggregate function", name).
		WithHint("add it to GROUP BY, or take any_value(%s)", name)
}

func (l *lifter) liftApply(a *logical.Apply) expr.Expr {
	l.own = logical.Output(a.Sub)
	defer func() { l.own = nil }()
	return l.lift(a.On)
}

// check refuses a subquery that reads a column of the group's input which is no group.
func (l *lifter) check(a *logical.Apply) {
	for id := range logical.Outer(a.Sub) {
		if !l.input[id] || l.err != nil {
			continue
		}
		if !slices.ContainsFunc(l.group.items, func(it logical.Item) bool { return it.IsPass() && it.Col.ID == id }) {
			l.err = sqlerr.Newf(sqlerr.Grouping, a.Pos, "subquery uses ungrouped column %q from outer query", l.b.names[id]).
				WithHint("add the column to GROUP BY")
		}
	}
}
