package logical

import "github.com/fletchdb/fletch/engine/expr"

// WithChildren is n over other inputs, n itself where they are the same.
func WithChildren(n Node, kids []Node) Node {
	same := true
	for i, k := range n.Children() {
		same = same && k == kids[i]
	}
	if same {
		return n
	}
	switch n := n.(type) {
	case *Filter:
		c := *n
		c.Input = kids[0]
		return &c
	case *Project:
		c := *n
		c.Input = kids[0]
		return &c
	case *Aggregate:
		c := *n
		c.Input = kids[0]
		return &c
	case *Join:
		c := *n
		c.Left, c.Right = kids[0], kids[1]
		return &c
	case *Apply:
		c := *n
		c.Input, c.Sub = kids[0], kids[1]
		return &c
	case *Sort:
		c := *n
		c.Input = kids[0]
		return &c
	case *Limit:
		c := *n
		c.Input = kids[0]
		return &c
	case *Union:
		c := *n
		c.Inputs = kids
		return &c
	case *Window:
		c := *n
		c.Input = kids[0]
		return &c
	case *Expand:
		c := *n
		c.Input = kids[0]
		return &c
	case *Shared:
		c := *n
		c.Input = kids[0]
		return &c
	case *Recursive:
		c := *n
		c.Base, c.Step = kids[0], kids[1]
		return &c
	}
	return n
}

// MapChildren is n with f of each input.
func MapChildren(n Node, f func(Node) Node) Node {
	kids := n.Children()
	if len(kids) == 0 {
		return n
	}
	out := make([]Node, len(kids))
	for i, k := range kids {
		out[i] = f(k)
	}
	return WithChildren(n, out)
}

// Rewrite applies f to every node, inputs first.
func Rewrite(n Node, f func(Node) Node) Node {
	return f(MapChildren(n, func(k Node) Node { return Rewrite(k, f) }))
}

// Walk calls f for n and everything below it, parents first; where f gives false, the inputs are left out.
func Walk(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	for _, k := range n.Children() {
		Walk(k, f)
	}
}

// Exprs are the expressions that n itself holds, in no particular order.
func Exprs(n Node) []expr.Expr {
	var out []expr.Expr
	MapExprs(n, func(e expr.Expr) expr.Expr {
		out = append(out, e)
		return e
	})
	return out
}

// MapExprs is n with f of each expression that it itself holds. f keeps types, and an item's pass a pass of the same column or
// makes it an expression for that column.
func MapExprs(n Node, f func(expr.Expr) expr.Expr) Node {
	switch n := n.(type) {
	case *Filter:
		if cond := f(n.Cond); cond != n.Cond {
			c := *n
			c.Cond = cond
			return &c
		}
	case *Project:
		if items, changed := mapItems(n.Items, f); changed {
			c := *n
			c.Items = items
			return &c
		}
	case *Aggregate:
		groups, changed := mapItems(n.Groups, f)
		aggs := make([]Agg, len(n.Aggs))
		for i, a := range n.Aggs {
			agg, ch := MapAggregate(a.Aggregate, f)
			aggs[i] = Agg{a.Col, agg}
			changed = changed || ch
		}
		if changed {
			c := *n
			c.Groups, c.Aggs = groups, aggs
			return &c
		}
	case *Join:
		c, changed := *n, false
		if n.On != nil {
			c.On = f(n.On)
			changed = c.On != n.On
		}
		c.Runtime = append([]RuntimeBuild(nil), n.Runtime...)
		for i, r := range c.Runtime {
			c.Runtime[i].Key = f(r.Key)
			changed = changed || c.Runtime[i].Key != r.Key
		}
		if changed {
			return &c
		}
	case *Apply:
		if n.On != nil {
			if on := f(n.On); on != n.On {
				c := *n
				c.On = on
				return &c
			}
		}
	case *Sort:
		if keys, changed := mapOrder(n.Keys, f); changed {
			c := *n
			c.Keys = keys
			return &c
		}
	case *Expand:
		if lists, changed := mapItems(n.Lists, f); changed {
			c := *n
			c.Lists = lists
			return &c
		}
	case *Window:
		return mapWindow(n, f)
	}
	return n
}

func mapWindow(n *Window, f func(expr.Expr) expr.Expr) Node {
	c, changed := *n, false
	c.Partition = make([]expr.Expr, len(n.Partition))
	for i, e := range n.Partition {
		c.Partition[i] = f(e)
		changed = changed || c.Partition[i] != e
	}
	order, ch := mapOrder(n.Order, f)
	c.Order, changed = order, changed || ch
	c.Calls = make([]WindowCall, len(n.Calls))
	for i, w := range n.Calls {
		w.Aggregate, ch = MapAggregate(w.Aggregate, f)
		c.Calls[i], changed = w, changed || ch
	}
	if !changed {
		return n
	}
	return &c
}

func mapItems(items []Item, f func(expr.Expr) expr.Expr) ([]Item, bool) {
	out, changed := make([]Item, len(items)), false
	for i, it := range items {
		out[i] = Item{it.Col, f(it.Expr)}
		changed = changed || out[i].Expr != it.Expr
	}
	return out, changed
}

func mapOrder(keys []expr.SortOrder, f func(expr.Expr) expr.Expr) ([]expr.SortOrder, bool) {
	out, changed := make([]expr.SortOrder, len(keys)), false
	for i, k := range keys {
		out[i] = k
		out[i].Expr = f(k.Expr)
		changed = changed || out[i].Expr != k.Expr
	}
	return out, changed
}

// MapAggregate is a with f of each of its expressions, and whether any changed.
func MapAggregate(a expr.Aggregate, f func(expr.Expr) expr.Expr) (expr.Aggregate, bool) {
	changed := false
	args := make([]expr.Expr, len(a.Args))
	for i, x := range a.Args {
		args[i] = f(x)
		changed = changed || args[i] != x
	}
	a.Args = args
	if a.Filter != nil {
		x := f(a.Filter)
		changed = changed || x != a.Filter
		a.Filter = x
	}
	order, ch := mapOrder(a.OrderBy, f)
	a.OrderBy = order
	return a, changed || ch
}
