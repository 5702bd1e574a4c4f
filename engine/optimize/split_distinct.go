package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// splitDistinct turns an aggregation whose aggregates are all DISTINCT over the same value into one over the distinct values of
// each group: that can be done in halves, on many tasks, where a set of values per group cannot.
func splitDistinct(o *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		a, ok := n.(*logical.Aggregate)
		if !ok || len(a.Aggs) == 0 {
			return n
		}
		first := a.Aggs[0]
		for _, agg := range a.Aggs {
			if !agg.Distinct || len(agg.Args) != 1 || expr.Ordered(agg.Func) || agg.Filter != nil || !expr.Equal(agg.Args[0], first.Args[0]) {
				return n
			}
		}
		value, isColumn := first.Args[0].(*expr.Column)
		if !isColumn {
			value = o.fresh("value", first.Args[0])
		}
		rows := &logical.Aggregate{Input: a.Input, Groups: append([]logical.Item(nil), a.Groups...)}
		rows.Groups = append(rows.Groups, logical.Item{Col: value, Expr: first.Args[0]})
		rows.Groups = distinctItems(rows.Groups)
		out := &logical.Aggregate{Input: rows}
		for _, g := range a.Groups {
			out.Groups = append(out.Groups, logical.Pass(g.Col))
		}
		for _, agg := range a.Aggs {
			agg.Distinct, agg.Args = false, []expr.Expr{value}
			out.Aggs = append(out.Aggs, agg)
		}
		return out
	}), nil
}
