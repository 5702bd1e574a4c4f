package optimize

import (
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// factorOr takes out of an OR what stands in all its arms, and adds, for each table that every arm says something of, the OR of
// what they say: weaker than the whole, but the scan can decide it.
func factorOr(_ *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		switch n := n.(type) {
		case *logical.Filter:
			conds := factorAll(expr.Conjuncts(n.Cond))
			conds = append(conds, implied(n, conds)...)
			if !same(conds, expr.Conjuncts(n.Cond)) {
				return &logical.Filter{Input: n.Input, Cond: expr.NewAnd(conds...)}
			}
		case *logical.Join:
			if n.On == nil || n.NullAware {
				return n
			}
			conds := factorAll(expr.Conjuncts(n.On))
			if n.Kind == logical.Inner || n.Kind == logical.Semi {
				conds = append(conds, implied(n, conds)...)
			}
			if !same(conds, expr.Conjuncts(n.On)) {
				c := *n
				c.On = and(conds)
				return &c
			}
		}
		return n
	}), nil
}

func factorAll(conds []expr.Expr) []expr.Expr {
	var out []expr.Expr
	for _, c := range conds {
		out = append(out, factor(c)...)
	}
	return out
}

// factor is the conjuncts of e, an OR, after (a AND b) OR (a AND c) became a AND (b OR c).
func factor(e expr.Expr) []expr.Expr {
	or, ok := e.(*expr.Logic)
	if !ok || or.Op != expr.Or {
		return []expr.Expr{e}
	}
	arms := make([][]expr.Expr, len(or.Args))
	for i, a := range or.Args {
		arms[i] = factorAll(expr.Conjuncts(a))
	}
	var common []expr.Expr
	for _, c := range arms[0] {
		everywhere := !slices.ContainsFunc(arms[1:], func(arm []expr.Expr) bool { return !contains(arm, c) })
		if everywhere && !contains(common, c) && !expr.IsVolatile(c) {
			common = append(common, c)
		}
	}
	if len(common) == 0 {
		return []expr.Expr{e}
	}
	var rest []expr.Expr
	for _, arm := range arms {
		left := slices.DeleteFunc(slices.Clone(arm), func(c expr.Expr) bool { return contains(common, c) })
		if len(left) == 0 {
			return common // this arm asks for no more than what all do
		}
		rest = append(rest, expr.NewAnd(left...))
	}
	return append(common, expr.NewOr(rest...))
}

func contains(list []expr.Expr, e expr.Expr) bool {
	return slices.ContainsFunc(list, func(x expr.Expr) bool { return expr.Equal(x, e) })
}

// mostArms bounds the OR of which implied conditions are made: a scan that has to decide more saves nothing.
const mostArms = 100

// implied is, per table below n, what the ORs among conds say of it alone.
func implied(n logical.Node, conds []expr.Expr) []expr.Expr {
	var tables []logical.ColSet
	logical.Walk(n, func(k logical.Node) bool {
		if s, ok := k.(*logical.Scan); ok {
			tables = append(tables, logical.Output(s))
		}
		return true
	})
	if len(tables) < 2 {
		return nil
	}
	var out []expr.Expr
	for _, c := range conds {
		or, ok := c.(*expr.Logic)
		if !ok || or.Op != expr.Or || len(or.Args) > mostArms {
			continue
		}
		for _, t := range tables {
			if t.Holds(c) {
				break // it is about one table already
			}
			if x := armsOf(or, t); x != nil && !contains(conds, x) {
				out = append(out, x)
			}
		}
	}
	return out
}

// armsOf is the OR of what each arm of or says of a table's columns alone; nil if one says nothing.
func armsOf(or *expr.Logic, table logical.ColSet) expr.Expr {
	var arms []expr.Expr
	for _, a := range or.Args {
		within, _ := split(expr.Conjuncts(a), table)
		within = slices.DeleteFunc(within, func(x expr.Expr) bool { return !table.Touches(x) })
		if len(within) == 0 {
			return nil
		}
		arm := expr.NewAnd(within...)
		if !contains(arms, arm) {
			arms = append(arms, arm)
		}
	}
	return expr.NewOr(arms...)
}
