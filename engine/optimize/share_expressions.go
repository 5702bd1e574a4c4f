package optimize

import (
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// shareExpressions computes once, in a projection below, what the expressions of an aggregation or projection compute more than
// once. Something that one of them computes only on some rows – in an arm of a CASE – counts if another computes it on all: then
// no error can come that would not come anyway.
func shareExpressions(o *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		var input logical.Node
		switch n := n.(type) {
		case *logical.Aggregate:
			input = n.Input
		case *logical.Project:
			input = n.Input
		default:
			return n
		}
		s := &sharer{pool: logical.Exprs(n)}
		for e := s.next(); e != nil && len(s.items) < mostShared; e = s.next() {
			s.share(e, o.fresh(fmt.Sprintf("x%d", len(s.items)+1), e))
		}
		if len(s.items) == 0 {
			return n
		}
		at := -1
		out := logical.MapExprs(n, func(expr.Expr) expr.Expr { // in the order of Exprs
			at++
			return s.pool[at]
		})
		return logical.WithChildren(out, []logical.Node{s.below(input)})
	}), nil
}

// mostShared bounds what one node shares, since each look costs as much as all of its expressions are long.
const mostShared = 32

// largestShared bounds the size of what is looked for: of a long chain each part would be compared with each.
const largestShared = 200

// A sharer finds common expressions, the largest first.
type sharer struct {
	pool  []expr.Expr // what is computed, shared expressions by their column
	items []logical.Item
}

// A sighting is how often an expression stands in the pool.
type sighting struct {
	e     expr.Expr
	count int
	plain bool // somewhere it is computed on every row
	size  int
}

// next is the largest expression that is worth sharing; nil where none is.
func (s *sharer) next() expr.Expr {
	seen := map[string]*sighting{}
	small := map[expr.Expr]*sighting{}
	for _, e := range s.pool {
		look(e, true, seen, small)
	}
	var best *sighting
	for _, e := range s.pool { // in order, so that equal plans come of equal statements
		expr.Walk(e, func(e expr.Expr) bool {
			if c := small[e]; worth(c) && (best == nil || c.size > best.size) {
				best = c
			}
			return true
		})
	}
	if best == nil {
		return nil
	}
	return best.e
}

func worth(c *sighting) bool { return c != nil && c.count > 1 && c.plain }

// look counts e and everything below it; plain is false where it may be passed over. It gives e's size.
func look(e expr.Expr, plain bool, seen map[string]*sighting, small map[expr.Expr]*sighting) int {
	size := 1
	kids := expr.Children(e)
	for i, k := range kids {
		always := plain
		switch e := e.(type) {
		case *expr.Case:
			always = plain && i == 0 // the first condition
		case *expr.Logic:
			always = plain && i == 0
		case *expr.Call:
			always = plain && (i == 0 || e.Func != "coalesce")
		}
		size += look(k, always, seen, small)
	}
	switch e := e.(type) {
	case *expr.Call, *expr.Case:
	case *expr.Cast:
		if e.To.IsNumeric() && e.X.Type().IsNumeric() {
			return size // cheaper than another column
		}
	default:
		return size
	}
	if size > largestShared || !expr.IsImmutable(e) {
		return size
	}
	key := expr.Key(e)
	if seen[key] == nil {
		seen[key] = &sighting{e: e, size: size}
	}
	small[e] = seen[key]
	seen[key].count++
	seen[key].plain = seen[key].plain || plain
	return size
}

// share puts col where e stands.
func (s *sharer) share(e expr.Expr, col *expr.Column) {
	s.items = append(s.items, logical.Item{Col: col, Expr: e})
	for i, x := range s.pool {
		s.pool[i] = substitute(x, e, col)
	}
	for i, it := range s.items[:len(s.items)-1] {
		s.items[i].Expr = substitute(it.Expr, e, col)
	}
	s.pool = append(s.pool, e)
}

func substitute(x, e expr.Expr, col *expr.Column) expr.Expr {
	if expr.Equal(x, e) {
		return col
	}
	return expr.Map(x, func(k expr.Expr) expr.Expr { return substitute(k, e, col) })
}

// below computes the shared expressions over input and passes all its columns. One that another is made of comes first.
func (s *sharer) below(input logical.Node) logical.Node {
	pass := input.Columns()
	made := logical.ColSet{}
	for _, it := range s.items {
		made[it.Col.ID] = true
	}
	left := s.items
	n := input
	for len(left) > 0 {
		p := &logical.Project{Input: n}
		for _, c := range pass {
			p.Items = append(p.Items, logical.Pass(c))
		}
		var later []logical.Item
		have := logical.SetOf(pass)
		for _, it := range left {
			ready := true
			expr.Walk(it.Expr, func(e expr.Expr) bool {
				if c, ok := e.(*expr.Column); ok && made[c.ID] && !have[c.ID] {
					ready = false
				}
				return ready
			})
			if !ready {
				later = append(later, it)
				continue
			}
			p.Items = append(p.Items, it)
			pass = append(append([]*expr.Column(nil), pass...), it.Col)
		}
		n, left = p, later
	}
	return n
}
