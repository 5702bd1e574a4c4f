package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// dropRedundant drops nodes that do nothing: a sort whose order nobody sees, a DISTINCT of distinct rows, a projection of a
// projection or of the same columns.
func dropRedundant(_ *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(unsort(root, true), func(n logical.Node) logical.Node {
		switch n := n.(type) {
		case *logical.Aggregate:
			if alreadyDistinct(n) {
				return narrow(n.Input, n.Columns())
			}
		case *logical.Project:
			return mergeProjects(n)
		case *logical.Filter:
			if f, ok := n.Input.(*logical.Filter); ok {
				return filter(f, expr.Conjuncts(n.Cond))
			}
		}
		return n
	}), nil
}

// unsort drops sorts below n where the order of n's rows is not seen.
func unsort(n logical.Node, seen bool) logical.Node {
	switch n := n.(type) {
	case *logical.Sort:
		if !seen && n.Fetch < 0 && n.Offset == 0 {
			return unsort(n.Input, false)
		}
		return logical.WithChildren(n, []logical.Node{unsort(n.Input, false)})
	case *logical.Filter, *logical.Project:
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return unsort(k, seen) })
	case *logical.Aggregate:
		ordered := false // a list without an order of its own is in that of its rows
		for _, a := range n.Aggs {
			ordered = ordered || expr.Ordered(a.Func) && len(a.OrderBy) == 0 && !a.Distinct
		}
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return unsort(k, ordered) })
	case *logical.Limit:
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return unsort(k, true) })
	}
	return logical.MapChildren(n, func(k logical.Node) logical.Node { return unsort(k, false) })
}

// alreadyDistinct tells whether n is a DISTINCT over rows that a grouping below made distinct by these columns.
func alreadyDistinct(n *logical.Aggregate) bool {
	if len(n.Aggs) > 0 || len(n.Groups) == 0 {
		return false
	}
	have := logical.ColSet{}
	for _, g := range n.Groups {
		if !g.IsPass() {
			return false
		}
		have[g.Col.ID] = true
	}
	in := n.Input
	for {
		switch x := in.(type) {
		case *logical.Filter:
			in = x.Input
			continue
		case *logical.Project:
			for _, it := range x.Items {
				if !it.IsPass() {
					delete(have, it.Col.ID) // computed: says nothing of the group it comes from
				}
			}
			in = x.Input
			continue
		case *logical.Aggregate:
			for _, g := range x.Groups {
				if !have[g.Col.ID] {
					return false
				}
			}
			return len(x.Groups) > 0
		}
		return false
	}
}

// mergeProjects computes n from its input's input where that evaluates nothing twice, and is the input where it passes the
// same columns in the same order.
func mergeProjects(n *logical.Project) logical.Node {
	if in, ok := n.Input.(*logical.Project); ok {
		with, cheap := map[expr.ColumnID]expr.Expr{}, true
		uses := map[expr.ColumnID]int{}
		for _, it := range n.Items {
			expr.Walk(it.Expr, func(e expr.Expr) bool {
				if c, ok := e.(*expr.Column); ok {
					uses[c.ID]++
				}
				return true
			})
		}
		for _, it := range in.Items {
			if !it.IsPass() {
				with[it.Col.ID] = it.Expr
				if _, isLeaf := it.Expr.(*expr.Literal); uses[it.Col.ID] > 1 && !isLeaf || expr.IsVolatile(it.Expr) {
					cheap = false
				}
			}
		}
		if cheap {
			merged := logical.MapExprs(n, func(e expr.Expr) expr.Expr { return logical.Replace(e, with) }).(*logical.Project)
			return mergeProjects(&logical.Project{Input: in.Input, Items: merged.Items})
		}
	}
	for _, it := range n.Items {
		if !it.IsPass() {
			return n
		}
	}
	cols := n.Input.Columns()
	if len(cols) != len(n.Items) {
		return n
	}
	for i, c := range cols {
		if c.ID != n.Items[i].Col.ID {
			return n
		}
	}
	return n.Input
}
