package physical

// WithChildren is n over other inputs, n itself where they are the same.
func WithChildren(n Node, kids []Node) Node {
	same := true
	for i, k := range n.Children() {
		same = same && k == kids[i]
	}
	if same {
		return n
	}
	switch n := n.(type) {
	case *Filter:
		c := *n
		c.Input = kids[0]
		return &c
	case *Project:
		c := *n
		c.Input = kids[0]
		return &c
	case *Aggregate:
		c := *n
		c.Input = kids[0]
		return &c
	case *HashJoin:
		c := *n
		c.Probe, c.Build = kids[0], kids[1]
		return c.Settle()
	case *LoopJoin:
		c := *n
		c.Probe, c.Build = kids[0], kids[1]
		return c.Settle()
	case *Sort:
		c := *n
		c.Input = kids[0]
		return &c
	case *Limit:
		c := *n
		c.Input = kids[0]
		return &c
	case *Union:
		c := *n
		c.Inputs = kids
		return &c
	case *Window:
		c := *n
		c.Input = kids[0]
		return &c
	case *Exchange:
		c := *n
		c.Input = kids[0]
		return &c
	case *Shared:
		return &Shared{Input: kids[0]}
	case *Expand:
		c := *n
		c.Input = kids[0]
		return &c
	case *Recursive:
		c := *n
		c.Base, c.Step = kids[0], kids[1]
		return &c
	}
	return n
}

// Expected is the rows that the planner expects of n, its inputs' where it says nothing.
func Expected(n Node) float64 {
	switch n := n.(type) {
	case *Scan:
		return n.Est.Rows
	case *Values:
		return float64(len(n.Rows))
	case *Filter:
		return n.Est.Rows
	case *Aggregate:
		return n.Est.Rows
	case *HashJoin:
		return n.Est.Rows
	case *LoopJoin:
		return n.Est.Rows
	case *Sort:
		return n.Est.Rows
	case *Limit:
		if rows := Expected(n.Input); n.Fetch < 0 || rows < float64(n.Fetch) {
			return rows
		}
		return float64(n.Fetch)
	case *Expand:
		return n.Est.Rows
	case *Remote:
		return n.Est.Rows
	}
	rows := 0.0
	for _, k := range n.Children() {
		rows += Expected(k)
	}
	return rows
}
