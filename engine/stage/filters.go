package stage

import "github.com/fletchdb/fletch/engine/physical"

// keepFilters drops the runtime filters of which the join and a scan are no longer in one stage: a task knows only what it built.
func keepFilters(root physical.Node) physical.Node {
	probed, built := map[int32]map[int]bool{}, map[int32]int{}
	// Every stage gets a number here; the numbers mean nothing else.
	stages := 0
	var mark func(n physical.Node, stage int)
	mark = func(n physical.Node, stage int) {
		switch n := n.(type) {
		case *physical.Exchange:
			stages++
			mark(n.Input, stages)
			return
		case *physical.Scan:
			for _, r := range n.Runtime {
				if probed[r.Filter] == nil {
					probed[r.Filter] = map[int]bool{}
				}
				probed[r.Filter][stage] = true
			}
		case *physical.HashJoin:
			for _, r := range n.Runtime {
				built[r.Filter] = stage
			}
		}
		for _, k := range n.Children() {
			mark(k, stage)
		}
	}
	mark(root, 0)
	stages = 0
	var keep func(n physical.Node, stage int) physical.Node
	keep = func(n physical.Node, stage int) physical.Node {
		if x, ok := n.(*physical.Exchange); ok {
			stages++
			return withChildren(x, []physical.Node{keep(x.Input, stages)})
		}
		kids := make([]physical.Node, len(n.Children()))
		for i, k := range n.Children() {
			kids[i] = keep(k, stage)
		}
		n = withChildren(n, kids)
		switch n := n.(type) {
		case *physical.Scan:
			var left []physical.RuntimeProbe
			for _, r := range n.Runtime {
				if at, ok := built[r.Filter]; ok && at == stage {
					left = append(left, r)
				}
			}
			if len(left) < len(n.Runtime) {
				c := *n
				c.Runtime = left
				return &c
			}
		case *physical.HashJoin:
			var left []physical.RuntimeBuild
			for _, r := range n.Runtime {
				if probed[r.Filter][stage] {
					left = append(left, r)
				}
			}
			if len(left) < len(n.Runtime) {
				c := *n
				c.Runtime = left
				return &c
			}
		}
		return n
	}
	return keep(root, 0)
}

// withChildren is n over other inputs, n itself where they are the same.
func withChildren(n physical.Node, kids []physical.Node) physical.Node {
	same := true
	for i, k := range n.Children() {
		same = same && k == kids[i]
	}
	if same {
		return n
	}
	switch n := n.(type) {
	case *physical.Filter:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Project:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Aggregate:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.HashJoin:
		c := *n
		c.Probe, c.Build = kids[0], kids[1]
		return c.Settle()
	case *physical.LoopJoin:
		c := *n
		c.Probe, c.Build = kids[0], kids[1]
		return c.Settle()
	case *physical.Sort:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Limit:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Union:
		c := *n
		c.Inputs = kids
		return &c
	case *physical.Window:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Exchange:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Expand:
		c := *n
		c.Input = kids[0]
		return &c
	case *physical.Recursive:
		c := *n
		c.Base, c.Step = kids[0], kids[1]
		return &c
	}
	return n
}
