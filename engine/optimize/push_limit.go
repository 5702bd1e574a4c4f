package optimize

import (
	"math"

	"github.com/fletchdb/fletch/engine/logical"
)

// pushLimit makes a top-n of a limited sort, and asks what keeps or adds rows for no more of them than are wanted.
func pushLimit(_ *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		if l, ok := n.(*logical.Limit); ok {
			return pushOneLimit(l)
		}
		return n
	}), nil
}

func pushOneLimit(l *logical.Limit) logical.Node {
	if l.Fetch == 0 {
		return empty(l)
	}
	if l.Fetch < 0 && l.Offset == 0 {
		return l.Input
	}
	switch in := l.Input.(type) {
	case *logical.Project:
		below := &logical.Limit{Input: in.Input, Fetch: l.Fetch, Offset: l.Offset}
		return logical.WithChildren(in, []logical.Node{pushOneLimit(below)})
	case *logical.Sort:
		if in.Fetch < 0 && in.Offset == 0 && l.Fetch >= 0 {
			c := *in
			c.Fetch, c.Offset = l.Fetch, l.Offset
			return &c
		}
	case *logical.Limit:
		return mergeLimits(l, in)
	case *logical.Union:
		want, ok := wanted(l)
		if !ok {
			return l
		}
		c := *in
		c.Inputs = make([]logical.Node, len(in.Inputs))
		for i, k := range in.Inputs {
			c.Inputs[i] = pushOneLimit(&logical.Limit{Input: k, Fetch: want})
		}
		return &logical.Limit{Input: &c, Fetch: l.Fetch, Offset: l.Offset}
	case *logical.Join:
		// Each left row of a left join gives at least one row, of a mark join exactly one.
		want, ok := wanted(l)
		if !ok || in.Kind != logical.Left && in.Kind != logical.Mark {
			return l
		}
		c := *in
		c.Left = pushOneLimit(&logical.Limit{Input: in.Left, Fetch: want})
		return &logical.Limit{Input: &c, Fetch: l.Fetch, Offset: l.Offset}
	}
	return l
}

// wanted is how many rows l reads.
func wanted(l *logical.Limit) (int64, bool) {
	if l.Fetch < 0 || l.Fetch > math.MaxInt64-l.Offset {
		return 0, false
	}
	return l.Fetch + l.Offset, true
}

// mergeLimits is outer of inner as one limit.
func mergeLimits(outer, inner *logical.Limit) logical.Node {
	if inner.Offset > math.MaxInt64-outer.Offset {
		return outer
	}
	fetch := outer.Fetch
	if inner.Fetch >= 0 {
		left := max(inner.Fetch-outer.Offset, 0)
		if fetch < 0 || left < fetch {
			fetch = left
		}
	}
	return pushOneLimit(&logical.Limit{Input: inner.Input, Fetch: fetch, Offset: inner.Offset + outer.Offset})
}
