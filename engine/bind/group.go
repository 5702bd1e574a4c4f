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

// maxSets bounds grouping sets, as PostgreSQL does.
const maxSets = 4096

// groupBy binds GROUP BY: an expression over FROM, the name or position of an item of the SELECT list.
func (s *selection) groupBy() error {
	g := s.sel.GroupBy
	if g == nil {
		return nil
	}
	if g.All {
		return s.groupByAll()
	}
	sets := [][]int{{}}
	for _, item := range g.Sets {
		next, err := s.alternatives(item)
		if err != nil {
			return err
		}
		if len(sets)*len(next) > maxSets {
			return sqlerr.Newf(sqlerr.StatementTooLarge, item.Pos, "too many grouping sets present (maximum %d)", maxSets).WithHint("list fewer")
		}
		var product [][]int
		for _, a := range sets {
			for _, b := range next {
				product = append(product, slices.Concat(a, b))
			}
		}
		sets = product
	}
	for i, set := range sets {
		slices.Sort(set)
		sets[i] = slices.Compact(set)
	}
	if g.Distinct {
		slices.SortFunc(sets, slices.Compare[[]int])
		sets = slices.CompactFunc(sets, slices.Equal[[]int])
	}
	s.group.sets = sets
	return nil
}

// alternatives are the grouping sets that an item of GROUP BY stands for.
func (s *selection) alternatives(g *ast.Grouping) ([][]int, error) {
	if g.Kind == ast.GroupingSet {
		set := []int{}
		for _, e := range g.Exprs {
			at, err := s.groupItem(e)
			if err != nil {
				return nil, err
			}
			set = append(set, at)
		}
		return [][]int{set}, nil
	}
	var parts [][][]int
	for _, sub := range g.Sets {
		p, err := s.alternatives(sub)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	var out [][]int
	switch g.Kind {
	case ast.GroupingSets:
		for _, p := range parts {
			out = append(out, p...)
		}
	case ast.Rollup:
		for n := len(parts); n >= 0; n-- {
			set := []int{}
			for _, p := range parts[:n] {
				set = append(set, p[0]...)
			}
			out = append(out, set)
		}
	case ast.Cube:
		if len(parts) > 12 {
			return nil, sqlerr.New(sqlerr.StatementTooLarge, g.Pos, "CUBE is limited to 12 elements").WithHint("list fewer")
		}
		for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
			set := []int{}
			for i, p := range parts {
				if mask>>(len(parts)-1-i)&1 == 1 {
					set = append(set, p[0]...)
				}
			}
			out = append(out, set)
		}
	}
	return out, nil
}

// groupItem adds an item of GROUP BY, once, and gives its position.
func (s *selection) groupItem(e ast.Expr) (int, error) {
	x := &exprBinder{b: s.b, scope: s.scope, clause: "GROUP BY", applies: &s.group.applies, rows: &s.group.rows}
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
		if it.ast != nil && s.b.hasAggregate(it.ast) {
			continue
		}
		x := &exprBinder{b: s.b, scope: s.scope, clause: "GROUP BY", applies: &s.group.applies, rows: &s.group.rows}
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

func (b *binder) hasAggregate(e ast.Expr) bool {
	hit := false
	ast.Walk(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Query:
			return false
		case *ast.FuncCall:
			if n.Over == nil && b.isAggregate(n.Name.Last().Name) {
				hit = true
			}
		}
		return !hit
	})
	return hit
}

func (x *exprBinder) groupingCall(e *ast.FuncCall) (expr.Expr, error) {
	if x.group == nil || len(x.group.items) == 0 || len(e.Args) == 0 || len(e.Args) > 31 {
		return nil, sqlerr.New(sqlerr.Grouping, e.Pos, "arguments to GROUPING must be grouping expressions of the associated query level").
			WithHint("name keys of GROUP BY, at most 31")
	}
	in := &exprBinder{b: x.b, scope: x.scope, clause: "GROUPING"}
	var args []int
	for _, a := range e.Args {
		v, err := in.value(a.Value)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(x.group.items, func(it logical.Item) bool { return expr.Equal(it.Expr, v) })
		if at < 0 {
			return nil, sqlerr.New(sqlerr.Grouping, a.Pos, "arguments to GROUPING must be grouping expressions of the associated query level").
				WithHint("name keys of GROUP BY")
		}
		args = append(args, at)
	}
	if len(x.group.sets) == 1 {
		return expr.NewLiteral(expr.IntValue(integer, 0), e.Pos), nil
	}
	for _, c := range x.group.calls {
		if slices.Equal(c.args, args) {
			return c.col, nil
		}
	}
	x.b.last++
	col := &expr.Column{At: expr.At{P: e.Pos}, ID: x.b.last, Name: "grouping", Typ: integer}
	x.group.calls = append(x.group.calls, groupingCall{col, args})
	return col, nil
}

// value is what the call gives in a grouping set: a bit per argument, the last one lowest, set where it is not grouped by.
func (c groupingCall) value(set []int) int64 {
	var v int64
	for _, a := range c.args {
		v <<= 1
		if !slices.Contains(set, a) {
			v |= 1
		}
	}
	return v
}

// aggregate makes the groups, if there are any, and turns what was bound over FROM into expressions over them.
func (s *selection) aggregate() error {
	g := s.group
	if s.sel.GroupBy == nil && s.sel.Having == nil && len(g.aggs) == 0 {
		return nil
	}
	input := g.rows.over(attach(s.node, g.applies))
	up := &lifter{b: s.b, items: g.items, input: logical.Output(input)}
	if len(g.sets) > 1 {
		// A key is NULL in sets that do not have it: it is a column of its own.
		up.items, up.fresh = slices.Clone(g.items), true
		for i, it := range up.items {
			up.items[i].Col = s.b.fresh(it.Col.Name, it.Col)
			up.items[i].Col.Nullable = true
		}
	}
	for i := range s.items {
		s.items[i].expr = up.lift(s.items[i].expr)
	}
	for _, lists := range append(s.rows.nested[:len(s.rows.nested):len(s.rows.nested)], s.rows.lists) {
		for i := range lists {
			lists[i].Expr = up.lift(lists[i].Expr)
		}
	}
	if s.having != nil {
		s.having = up.lift(s.having)
	}
	for i, k := range s.keys {
		if k.expr != nil {
			s.keys[i].expr = up.lift(k.expr)
		}
	}
	for i, k := range s.on {
		if k.expr != nil {
			s.on[i].expr = up.lift(k.expr)
		}
	}
	if s.qualify != nil {
		s.qualify = up.lift(s.qualify)
	}
	s.windows.lift(up)
	for _, a := range slices.Concat(s.ofHaving, s.ofOutputs, s.ofQualify, s.windows.applies) {
		if a.On != nil {
			a.On = up.liftApply(a)
		}
		up.check(a)
	}
	if up.err != nil {
		return up.err
	}
	if len(g.sets) > 1 {
		s.node = s.b.groupingSets(g, up.items, input)
	} else {
		s.node = &logical.Aggregate{Input: input, Groups: up.items, Aggs: g.aggs}
		if len(g.items) > 0 {
			var key []expr.ColumnID
			for _, it := range g.items {
				key = append(key, it.Col.ID)
			}
			for _, a := range g.aggs {
				s.b.keys[a.Col.ID] = determinant{a.Col, key}
			}
		}
	}
	if s.having != nil {
		s.node = &logical.Filter{Input: attach(s.node, s.ofHaving), Cond: s.having}
	}
	return nil
}

// groupingSets is the union of one aggregation per set, each over its own copy of the input: keys, aggregates, calls of GROUPING.
func (b *binder) groupingSets(g *grouping, keys []logical.Item, input logical.Node) logical.Node {
	u := &logical.Union{}
	for _, it := range keys {
		u.Cols = append(u.Cols, it.Col)
	}
	for _, a := range g.aggs {
		u.Cols = append(u.Cols, a.Col)
	}
	for _, c := range g.calls {
		u.Cols = append(u.Cols, c.col)
	}
	like := func(c *expr.Column) *expr.Column {
		d := b.fresh(c.Name, c)
		d.Nullable = c.Nullable
		return d
	}
	for _, set := range g.sets {
		in, copies := logical.Clone(input, like)
		with := map[expr.ColumnID]expr.Expr{}
		for id, c := range copies {
			with[id] = c
		}
		moved := func(e expr.Expr) expr.Expr { return logical.Replace(e, with) }
		agg := &logical.Aggregate{Input: in}
		p := &logical.Project{Input: agg}
		for i, it := range g.items {
			if !slices.Contains(set, i) {
				null := expr.Null(it.Col.Typ, it.Expr.Pos())
				p.Items = append(p.Items, logical.Item{Col: b.fresh(it.Col.Name, null), Expr: null})
				continue
			}
			e := moved(it.Expr)
			c, isColumn := e.(*expr.Column)
			if !isColumn {
				c = b.fresh(it.Col.Name, e)
			}
			agg.Groups = append(agg.Groups, logical.Item{Col: c, Expr: e})
			p.Items = append(p.Items, logical.Pass(c))
		}
		for _, a := range g.aggs {
			m, _ := logical.MapAggregate(a.Aggregate, moved)
			c := like(a.Col)
			agg.Aggs = append(agg.Aggs, logical.Agg{Col: c, Aggregate: m})
			p.Items = append(p.Items, logical.Pass(c))
		}
		for _, c := range g.calls {
			v := expr.NewLiteral(expr.IntValue(integer, c.value(set)), c.col.P)
			p.Items = append(p.Items, logical.Item{Col: b.fresh("grouping", v), Expr: v})
		}
		u.Inputs = append(u.Inputs, p)
	}
	return u
}

// A lifter turns expressions over a group's input into ones over its output. The first error sticks.
type lifter struct {
	b     *binder
	items []logical.Item
	fresh bool // keys are columns of their own
	input logical.ColSet
	own   logical.ColSet // columns of a subquery, which stay
	err   error
}

func (l *lifter) lift(e expr.Expr) expr.Expr {
	for _, it := range l.items {
		if expr.Equal(it.Expr, e) {
			c := *it.Col
			c.P = e.Pos()
			return &c
		}
	}
	if c, ok := e.(*expr.Column); ok {
		if l.input[c.ID] && !l.own[c.ID] && !l.determined(c.ID) && l.err == nil {
			l.err = ungrouped(l.b, c)
		}
		return e
	}
	return expr.Map(e, l.lift)
}

// determined tells whether the groups' keys decide the value of a column, so that it has one in a group; it is a key then too.
func (l *lifter) determined(id expr.ColumnID) bool {
	d, ok := l.b.keys[id]
	if !ok || l.fresh {
		return false
	}
	for _, k := range d.key {
		if !l.hasKey(k) {
			return false
		}
	}
	l.items = append(l.items[:len(l.items):len(l.items)], logical.Pass(d.of))
	return true
}

func (l *lifter) hasKey(id expr.ColumnID) bool {
	return slices.ContainsFunc(l.items, func(it logical.Item) bool { return it.IsPass() && it.Col.ID == id })
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
		if l.fresh {
			l.err = unsupported(a.Pos, "a subquery that reads the outer query's groups, with grouping sets").WithHint("group in a subquery in FROM")
			return
		}
		if !l.hasKey(id) && !l.determined(id) {
			l.err = sqlerr.Newf(sqlerr.Grouping, a.Pos, "subquery uses ungrouped column %q from outer query", l.b.names[id]).
				WithHint("add the column to GROUP BY")
		}
	}
}
