package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// normalizeJoins turns right joins into left ones, and an outer join into an inner one (a full into a left one) where what
// comes after drops the rows that it adds: a condition that is never true of their NULLs.
func normalizeJoins(_ *optimizer, root logical.Node) (logical.Node, error) {
	return normalize(root, logical.ColSet{}), nil
}

// normalize rewrites n, whose rows are dropped where one of the columns in rejected is NULL.
func normalize(n logical.Node, rejected logical.ColSet) logical.Node {
	switch n := n.(type) {
	case *logical.Filter:
		return logical.WithChildren(n, []logical.Node{normalize(n.Input, with(rejected, expr.Conjuncts(n.Cond)))})
	case *logical.Project:
		below := logical.ColSet{}
		for _, it := range n.Items {
			if rejected[it.Col.ID] {
				strictColumns(it.Expr, below)
			}
		}
		return logical.WithChildren(n, []logical.Node{normalize(n.Input, below)})
	case *logical.Aggregate:
		below := logical.ColSet{}
		for _, g := range n.Groups {
			if rejected[g.Col.ID] {
				strictColumns(g.Expr, below)
			}
		}
		return logical.WithChildren(n, []logical.Node{normalize(n.Input, below)})
	case *logical.Sort:
		if n.Fetch < 0 && n.Offset == 0 {
			return logical.WithChildren(n, []logical.Node{normalize(n.Input, rejected)})
		}
	case *logical.Join:
		return normalizeJoin(n, rejected)
	}
	return logical.MapChildren(n, func(k logical.Node) logical.Node { return normalize(k, logical.ColSet{}) })
}

func normalizeJoin(n *logical.Join, rejected logical.ColSet) logical.Node {
	c := *n
	if swapped, ok := c.Kind.Swap(); ok && (c.Kind == logical.Right || c.Kind == logical.RightSemi || c.Kind == logical.RightAnti) {
		c.Kind, c.Left, c.Right = swapped, c.Right, c.Left
	}
	meets := func(side logical.Node) bool {
		for _, col := range side.Columns() {
			if rejected[col.ID] {
				return true
			}
		}
		return false
	}
	if c.Kind == logical.Full {
		switch l, r := meets(c.Left), meets(c.Right); {
		case l && r:
			c.Kind = logical.Inner
		case l:
			c.Kind = logical.Left
		case r:
			c.Kind, c.Left, c.Right = logical.Left, c.Right, c.Left
		}
	}
	if c.Kind == logical.Left && meets(c.Right) {
		c.Kind = logical.Inner
	}
	on := with(logical.ColSet{}, expr.Conjuncts(n.On))
	left, right := logical.ColSet{}, logical.ColSet{}
	switch c.Kind {
	case logical.Inner, logical.Semi:
		all := with(rejected, expr.Conjuncts(n.On))
		left, right = all, all
	case logical.Left:
		left, right = rejected, on
	case logical.Anti, logical.Mark:
		left = rejected
		if !n.NullAware {
			right = on
		}
	}
	l, r := normalize(c.Left, left), normalize(c.Right, right)
	if c.Kind == n.Kind && l == n.Left && r == n.Right {
		return n
	}
	c.Left, c.Right = l, r
	return &c
}

// with is s and the columns that conds reject NULL of.
func with(s logical.ColSet, conds []expr.Expr) logical.ColSet {
	if len(conds) == 0 {
		return s
	}
	out := s.Clone()
	for _, c := range conds {
		rejectsNull(c, out)
	}
	return out
}

// rejectsNull adds the columns that make cond not true where they are NULL.
func rejectsNull(cond expr.Expr, out logical.ColSet) {
	switch c := cond.(type) {
	case *expr.Logic:
		if c.Op == expr.And {
			for _, a := range c.Args {
				rejectsNull(a, out)
			}
			return
		}
		var all logical.ColSet // in every arm
		for i, a := range c.Args {
			arm := logical.ColSet{}
			rejectsNull(a, arm)
			if i == 0 {
				all = arm
				continue
			}
			for id := range all {
				if !arm[id] {
					delete(all, id)
				}
			}
		}
		for id := range all {
			out[id] = true
		}
	case *expr.IsNull:
		if c.Negated {
			strictColumns(c.X, out)
		}
	case *expr.Not:
		strictColumns(c.X, out)
	default:
		strictColumns(cond, out)
	}
}

// strictColumns adds the columns that make e NULL where they are NULL.
func strictColumns(e expr.Expr, out logical.ColSet) {
	switch e := e.(type) {
	case *expr.Column:
		out[e.ID] = true
	case *expr.Compare:
		if e.Op < expr.Distinct {
			strictColumns(e.L, out)
			strictColumns(e.R, out)
		}
	case *expr.Not:
		strictColumns(e.X, out)
	case *expr.Cast:
		strictColumns(e.X, out)
	case *expr.In:
		strictColumns(e.X, out)
	case *expr.Call:
		if e.Strict() {
			for _, a := range e.Args {
				strictColumns(a, out)
			}
		}
	}
}
