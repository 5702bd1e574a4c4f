package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// inferConstants says of every column what is said of one that it must equal: a = b AND b < 5 also means a < 5. Joins then
// filter both sides, and the scan of each can skip what does not fit. What equalities alone imply is for order_joins to use.
func inferConstants(_ *optimizer, root logical.Node) (logical.Node, error) {
	return inferBelow(root), nil
}

func inferBelow(n logical.Node) logical.Node {
	if !isRegion(n) {
		return logical.MapChildren(n, inferBelow)
	}
	r := &region{classes: newClasses()}
	r.collect(n)
	var more []expr.Expr
	for _, c := range r.conds {
		for _, x := range r.classes.retell(c) {
			if !contains(r.conds, x) && !contains(more, x) {
				more = append(more, x)
			}
		}
	}
	known := append(append([]expr.Expr(nil), r.conds...), more...)
	return filter(r.rebuild(n, known), more)
}

// isRegion tells whether the conditions of n hold of all rows that it gives: a filter or an inner join.
func isRegion(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Filter:
		return true
	case *logical.Join:
		return n.Kind <= logical.Left || n.Kind == logical.Semi || n.Kind == logical.Anti || n.Kind == logical.Mark
	}
	return false
}

// A region is a part of a plan in which conditions hold of all rows.
type region struct {
	conds   []expr.Expr
	classes *classes
}

func (r *region) collect(n logical.Node) {
	if !isRegion(n) {
		return
	}
	switch n := n.(type) {
	case *logical.Filter:
		r.add(expr.Conjuncts(n.Cond))
		r.collect(n.Input)
	case *logical.Join:
		r.collect(n.Left)
		if n.Kind == logical.Inner {
			r.add(expr.Conjuncts(n.On))
			r.collect(n.Right)
		}
	}
}

func (r *region) add(conds []expr.Expr) {
	for _, c := range conds {
		r.conds = append(r.conds, c)
		r.classes.learn(c)
	}
}

// rebuild rewrites what lies below the region, and tells the other side of its outer, semi and anti joins what known says of
// the columns that they join on.
func (r *region) rebuild(n logical.Node, known []expr.Expr) logical.Node {
	if !isRegion(n) {
		return inferBelow(n)
	}
	j, ok := n.(*logical.Join)
	if !ok {
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return r.rebuild(k, known) })
	}
	if j.Kind == logical.Inner {
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return r.rebuild(k, known) })
	}
	out := logical.WithChildren(n, []logical.Node{r.rebuild(j.Left, known), inferBelow(j.Right)}).(*logical.Join)
	if j.NullAware {
		return out
	}
	own := newClasses()
	on := expr.Conjuncts(j.On)
	for _, c := range on {
		own.learn(c)
	}
	left, right := logical.Output(j.Left), logical.Output(j.Right)
	var more []expr.Expr
	for _, c := range known {
		if !left.Holds(c) {
			continue
		}
		for _, x := range own.retell(c) {
			if right.Holds(x) && !contains(on, x) && !contains(more, x) {
				more = append(more, x)
			}
		}
	}
	if len(more) == 0 {
		return out
	}
	c := *out
	c.On = expr.NewAnd(append(on, more...)...)
	return &c
}

// classes are sets of columns that are equal in every row.
type classes struct {
	parent map[expr.ColumnID]expr.ColumnID
	cols   map[expr.ColumnID]*expr.Column
}

func newClasses() *classes {
	return &classes{parent: map[expr.ColumnID]expr.ColumnID{}, cols: map[expr.ColumnID]*expr.Column{}}
}

func (c *classes) find(id expr.ColumnID) expr.ColumnID {
	for c.parent[id] != 0 && c.parent[id] != id {
		id = c.parent[id]
	}
	return id
}

// equality takes a = b of two columns apart; ok is false for any other condition.
func equality(e expr.Expr) (a, b *expr.Column, ok bool) {
	cmp, isCompare := e.(*expr.Compare)
	if !isCompare || cmp.Op != expr.Eq {
		return nil, nil, false
	}
	a, aok := cmp.L.(*expr.Column)
	b, bok := cmp.R.(*expr.Column)
	return a, b, aok && bok && a.ID != b.ID
}

func (c *classes) learn(e expr.Expr) {
	a, b, ok := equality(e)
	if !ok {
		return
	}
	c.add(a)
	c.add(b)
	if x, y := c.find(a.ID), c.find(b.ID); x != y {
		c.parent[max(x, y)] = min(x, y)
	}
}

func (c *classes) add(col *expr.Column) {
	if c.cols[col.ID] == nil {
		c.cols[col.ID], c.parent[col.ID] = col, col.ID
	}
}

// members are the columns of the class of id, in order of their ids; none where id is in no class.
func (c *classes) members(id expr.ColumnID) []*expr.Column {
	if c.cols[id] == nil {
		return nil
	}
	var out []*expr.Column
	for _, k := range sortedIDs(c.cols) {
		if c.find(k) == c.find(id) {
			out = append(out, c.cols[k])
		}
	}
	return out
}

// retell is e, a comparison of one column with constants, said of each other column of its class.
func (c *classes) retell(e expr.Expr) []expr.Expr {
	col := constantColumn(e)
	if col == nil {
		return nil
	}
	var out []expr.Expr
	for _, m := range c.members(col.ID) {
		if m.ID != col.ID && m.Typ.Equal(col.Typ) {
			out = append(out, logical.Replace(e, map[expr.ColumnID]expr.Expr{col.ID: m}))
		}
	}
	return out
}

// constantColumn is the column of a comparison or list of constants; nil where e is something else.
func constantColumn(e expr.Expr) *expr.Column {
	var x expr.Expr
	switch e := e.(type) {
	case *expr.Compare:
		x = e.L
		if _, ok := e.R.(*expr.Literal); !ok {
			x = e.R
			if _, ok := e.L.(*expr.Literal); !ok {
				return nil
			}
		}
		if e.Op >= expr.Distinct {
			return nil
		}
	case *expr.In:
		x = e.X
	}
	c, _ := x.(*expr.Column)
	return c
}
