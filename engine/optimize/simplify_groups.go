package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// simplifyGroups drops group keys whose value the other keys decide: constants, and expressions over other keys. They are
// computed from the groups afterwards. One key stays, since grouping by none gives a row even of no rows.
func simplifyGroups(_ *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		a, ok := n.(*logical.Aggregate)
		if !ok || len(a.Groups) < 2 {
			return n
		}
		keep := make([]bool, len(a.Groups))
		passed := map[expr.ColumnID]bool{}
		kept := 0
		for i, g := range a.Groups {
			_, isLiteral := g.Expr.(*expr.Literal)
			if keep[i] = !isLiteral; keep[i] {
				kept++
			}
			if g.IsPass() {
				passed[g.Col.ID] = true
			}
		}
		for i, g := range a.Groups {
			if keep[i] && !g.IsPass() && expr.IsImmutable(g.Expr) && logical.ColSet(passed).Holds(g.Expr) {
				keep[i] = false
				kept--
			}
		}
		if kept == 0 {
			keep[0], kept = true, 1
		}
		if kept == len(a.Groups) {
			return n
		}
		out := *a
		out.Groups = nil
		p := &logical.Project{Input: &out}
		for i, g := range a.Groups {
			if keep[i] {
				out.Groups = append(out.Groups, g)
				p.Items = append(p.Items, logical.Pass(g.Col))
			} else {
				p.Items = append(p.Items, g)
			}
		}
		for _, agg := range a.Aggs {
			p.Items = append(p.Items, logical.Pass(agg.Col))
		}
		return p
	}), nil
}
