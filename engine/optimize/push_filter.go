package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// pushFilter moves every condition to where it first can be decided: below projections, sorts and groupings, into the sides of
// joins as their kind allows, into every input of a union. Conditions over both sides of an inner join become its own.
func pushFilter(_ *optimizer, root logical.Node) (logical.Node, error) { return push(root, nil), nil }

// push is n under conds, which read n's columns and columns of outer queries.
func push(n logical.Node, conds []expr.Expr) logical.Node {
	switch n := n.(type) {
	case *logical.Filter:
		out := push(n.Input, append(append([]expr.Expr(nil), expr.Conjuncts(n.Cond)...), conds...))
		if f, ok := out.(*logical.Filter); ok && len(conds) == 0 && f.Input == n.Input && same(expr.Conjuncts(f.Cond), expr.Conjuncts(n.Cond)) {
			return n
		}
		return out
	case *logical.Project:
		return pushThroughProject(n, conds)
	case *logical.Aggregate:
		return pushThroughAggregate(n, conds)
	case *logical.Join:
		return pushIntoJoin(n, conds)
	case *logical.Sort:
		if n.Fetch < 0 && n.Offset == 0 {
			return logical.WithChildren(n, []logical.Node{push(n.Input, conds)})
		}
	case *logical.Union:
		return pushIntoUnion(n, conds)
	case *logical.Window:
		// What depends on the partition alone drops whole partitions.
		keys := logical.ColSet{}
		for _, e := range n.Partition {
			if c, ok := e.(*expr.Column); ok {
				keys[c.ID] = true
			}
		}
		below, above := split(conds, keys)
		return filter(logical.WithChildren(n, []logical.Node{push(n.Input, below)}), above)
	case *logical.Expand:
		// What reads no element drops a row with all of its elements.
		added := logical.SetOf(n.Columns()[len(n.Input.Columns()):])
		var below, above []expr.Expr
		for _, c := range conds {
			if added.Touches(c) || expr.IsVolatile(c) {
				above = append(above, c)
			} else {
				below = append(below, c)
			}
		}
		return filter(logical.WithChildren(n, []logical.Node{push(n.Input, below)}), above)
	case *logical.Apply:
		below, above := split(conds, logical.Output(n.Input))
		return filter(logical.WithChildren(n, []logical.Node{push(n.Input, below), push(n.Sub, nil)}), above)
	}
	return filter(logical.MapChildren(n, func(k logical.Node) logical.Node { return push(k, nil) }), conds)
}

// split divides conds into those that read columns of s only and the others. What may differ each time stays where it is.
func split(conds []expr.Expr, s logical.ColSet) (within, others []expr.Expr) {
	for _, c := range conds {
		if s.Holds(c) && !expr.IsVolatile(c) {
			within = append(within, c)
		} else {
			others = append(others, c)
		}
	}
	return within, others
}

func pushThroughProject(n *logical.Project, conds []expr.Expr) logical.Node {
	with := map[expr.ColumnID]expr.Expr{}
	for _, it := range n.Items {
		if !it.IsPass() {
			with[it.Col.ID] = it.Expr
		}
	}
	var below, above []expr.Expr
	for _, c := range conds {
		moved := logical.Replace(c, with)
		if expr.IsVolatile(moved) {
			above = append(above, c)
		} else {
			below = append(below, moved)
		}
	}
	return filter(logical.WithChildren(n, []logical.Node{push(n.Input, below)}), above)
}

// pushThroughAggregate lets through what depends on the groups alone: it drops whole groups. Without groups there is always a
// row, so nothing may pass.
func pushThroughAggregate(n *logical.Aggregate, conds []expr.Expr) logical.Node {
	if len(n.Groups) == 0 {
		return filter(logical.WithChildren(n, []logical.Node{push(n.Input, nil)}), conds)
	}
	groups := logical.ColSet{}
	with := map[expr.ColumnID]expr.Expr{}
	for _, g := range n.Groups {
		groups[g.Col.ID] = true
		if !g.IsPass() {
			with[g.Col.ID] = g.Expr
		}
	}
	below, above := split(conds, groups)
	for i, c := range below {
		below[i] = logical.Replace(c, with)
	}
	return filter(logical.WithChildren(n, []logical.Node{push(n.Input, below)}), above)
}

func pushIntoJoin(n *logical.Join, conds []expr.Expr) logical.Node {
	left, right := logical.Output(n.Left), logical.Output(n.Right)
	on := expr.Conjuncts(n.On)
	var toLeft, toRight []expr.Expr
	switch n.Kind {
	case logical.Inner:
		all := append(append([]expr.Expr(nil), on...), conds...)
		toLeft, all = split(all, left)
		toRight, on = split(all, right)
		conds = nil
	case logical.Left, logical.Mark, logical.Anti:
		// Rows of the left side are filtered by what comes after, those of the right side by the join's own condition. With
		// NULL's rules of NOT IN the right side's rows count even where they have no partner.
		toLeft, conds = split(conds, left)
		if !n.NullAware {
			toRight, on = split(on, right)
		}
	case logical.Semi:
		var more []expr.Expr
		toLeft, conds = split(conds, left)
		more, on = split(on, left)
		toLeft = append(toLeft, more...)
		toRight, on = split(on, right)
	case logical.Right:
		toRight, conds = split(conds, right)
		toLeft, on = split(on, left)
	case logical.RightSemi, logical.RightAnti:
		toRight, conds = split(conds, right)
		toLeft, on = split(on, left)
	}
	c := *n
	c.Left, c.Right = push(n.Left, toLeft), push(n.Right, toRight)
	c.On = and(on)
	if same(on, expr.Conjuncts(n.On)) {
		c.On = n.On
		if c.Left == n.Left && c.Right == n.Right {
			return filter(n, conds)
		}
	}
	return filter(&c, conds)
}

func same(a, b []expr.Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func pushIntoUnion(n *logical.Union, conds []expr.Expr) logical.Node {
	var below, above []expr.Expr
	for _, c := range conds {
		if expr.IsVolatile(c) {
			above = append(above, c)
		} else {
			below = append(below, c)
		}
	}
	kids := make([]logical.Node, len(n.Inputs))
	for i, in := range n.Inputs {
		with := map[expr.ColumnID]expr.Expr{}
		for j, c := range in.Columns() {
			with[n.Cols[j].ID] = c
		}
		of := make([]expr.Expr, len(below))
		for j, c := range below {
			of[j] = logical.Replace(c, with)
		}
		kids[i] = push(in, of)
	}
	return filter(logical.WithChildren(n, kids), above)
}
