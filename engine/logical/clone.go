package logical

import "github.com/fletchdb/fletch/engine/expr"

// Clone is a copy of n that gives the same rows under new column ids, made by fresh, and what became of the old ones. No plan holds
// a node twice: what is needed twice is cloned. Columns of outer queries stay.
func Clone(n Node, fresh func(like *expr.Column) *expr.Column) (Node, map[expr.ColumnID]*expr.Column) {
	c := &cloner{fresh: fresh, to: map[expr.ColumnID]*expr.Column{}}
	out := c.node(n)
	// Above n a column may be NULL that never is where it is made: a join's other side may come without it.
	for _, col := range out.Columns() {
		for id, made := range c.to {
			if made.ID == col.ID {
				c.to[id] = col
			}
		}
	}
	return out, c.to
}

type cloner struct {
	fresh func(*expr.Column) *expr.Column
	to    map[expr.ColumnID]*expr.Column
}

// column is the copy of a column that the tree makes.
func (c *cloner) column(old *expr.Column) *expr.Column {
	if old == nil {
		return nil
	}
	if c.to[old.ID] == nil {
		c.to[old.ID] = c.fresh(old)
	}
	return c.to[old.ID]
}

func (c *cloner) columns(old []*expr.Column) []*expr.Column {
	out := make([]*expr.Column, len(old))
	for i, o := range old {
		out[i] = c.column(o)
	}
	return out
}

// expr is e over the copies. A column that the tree does not make, or has not met yet, is an outer query's.
func (c *cloner) expr(e expr.Expr) expr.Expr {
	if col, ok := e.(*expr.Column); ok {
		if n := c.to[col.ID]; n != nil {
			d := *n
			d.At, d.Nullable = col.At, col.Nullable
			return &d
		}
		return e
	}
	return expr.Map(e, c.expr)
}

func (c *cloner) items(old []Item) []Item {
	out := make([]Item, len(old))
	for i, it := range old {
		out[i].Expr = c.expr(it.Expr)
		if col, ok := out[i].Expr.(*expr.Column); ok && it.IsPass() {
			out[i].Col = col
			continue
		}
		out[i].Col = c.column(it.Col)
	}
	return out
}

func (c *cloner) node(n Node) Node {
	if s, ok := n.(*Shared); ok { // another place that reads the same
		d := *s
		d.Cols = c.columns(s.Cols)
		return &d
	}
	kids := make([]Node, len(n.Children()))
	for i, k := range n.Children() {
		kids[i] = c.node(k)
	}
	switch n := n.(type) {
	case *Scan:
		d := *n
		d.Cols = c.columns(n.Cols)
		return &d
	case *Values:
		return &Values{Cols: c.columns(n.Cols), Rows: n.Rows}
	case *Project:
		return &Project{Input: kids[0], Items: c.items(n.Items)}
	case *Aggregate:
		d := &Aggregate{Input: kids[0], Groups: c.items(n.Groups)}
		for _, a := range n.Aggs {
			agg, _ := MapAggregate(a.Aggregate, c.expr)
			d.Aggs = append(d.Aggs, Agg{c.column(a.Col), agg})
		}
		return d
	case *Expand:
		return &Expand{Input: kids[0], Lists: c.items(n.Lists), Ordinality: c.column(n.Ordinality)}
	case *Recursive:
		d := *n
		d.Base, d.Step, d.Cols = kids[0], kids[1], c.columns(n.Cols)
		return &d
	case *Working:
		d := *n
		d.Cols = c.columns(n.Cols)
		return &d
	case *Union:
		return &Union{Inputs: kids, Cols: c.columns(n.Cols)}
	case *Join:
		d := *n
		d.Left, d.Right, d.MarkCol = kids[0], kids[1], c.column(n.MarkCol)
		if n.On != nil {
			d.On = c.expr(n.On)
		}
		return &d
	case *Apply:
		d := *n
		d.Input, d.Sub, d.Col = kids[0], kids[1], c.column(n.Col)
		if n.On != nil {
			d.On = c.expr(n.On)
		}
		return &d
	case *Window:
		d := MapExprs(WithChildren(n, kids), c.expr).(*Window)
		copied := *d
		copied.Calls = append([]WindowCall(nil), d.Calls...)
		for i := range copied.Calls {
			copied.Calls[i].Col = c.column(copied.Calls[i].Col)
		}
		return &copied
	}
	return MapExprs(WithChildren(n, kids), c.expr)
}
