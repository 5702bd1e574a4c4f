package engine

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// Determined tells whether the statement alone says which rows a result has: it has no LIMIT without an ORDER BY and calls no
// volatile function. Equal keys at a limit, and what time it is, it does not see.
func (p *Plan) Determined() bool { return !p.undetermined }

// undetermined looks at a query as it was bound, before a rule could make something of it.
func undetermined(root logical.Node) bool {
	found := false
	logical.Walk(root, func(n logical.Node) bool {
		if l, ok := n.(*logical.Limit); ok && !sorted(l.Input) {
			found = true
		}
		for _, e := range logical.Exprs(n) {
			found = found || expr.IsVolatile(e)
		}
		return !found
	})
	return found
}

// sorted tells whether the rows of n come in the order of a Sort, or are one at most.
func sorted(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Sort:
		return true
	case *logical.Project:
		return sorted(n.Input)
	}
	return false
}
