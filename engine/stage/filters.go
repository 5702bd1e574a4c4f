package stage

import "github.com/fletchdb/fletch/engine/physical"

// keepFilters drops the runtime filters of which the join and a scan are no longer in one stage: a task knows only what it built.
func keepFilters(root physical.Node) physical.Node {
	probed, built := map[int32]map[int]bool{}, map[int32]int{}
	// Every stage gets a number here; the numbers mean nothing else.
	number := map[*physical.Exchange]int{}
	var mark func(n physical.Node, stage int)
	mark = func(n physical.Node, stage int) {
		switch n := n.(type) {
		case *physical.Exchange:
			if number[n] == 0 {
				number[n] = len(number) + 1
				mark(n.Input, number[n])
			}
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
	kept := map[*physical.Exchange]physical.Node{} // one that several read stays one
	var keep func(n physical.Node, stage int) physical.Node
	keep = func(n physical.Node, stage int) physical.Node {
		if x, ok := n.(*physical.Exchange); ok {
			if kept[x] == nil {
				kept[x] = physical.WithChildren(x, []physical.Node{keep(x.Input, number[x])})
			}
			return kept[x]
		}
		kids := make([]physical.Node, len(n.Children()))
		for i, k := range n.Children() {
			kids[i] = keep(k, stage)
		}
		n = physical.WithChildren(n, kids)
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
