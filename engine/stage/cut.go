package stage

import (
	"cmp"
	"slices"

	"github.com/fletchdb/fletch/engine/physical"
)

// Cut takes a distributed plan apart at its exchanges. Stage 0 gives the result; a stage's rows are asked for by the one stage that has
// a Remote of it, those of a shared one by as many Remotes as there are. tasks is what Distribute was given; stages that only gather, or hold constants, get one.
func Cut(plan physical.Node, tasks int) []Stage {
	c := &cutter{tasks: max(tasks, 1), shared: map[*physical.Exchange]int32{}}
	c.stages = append(c.stages, Stage{Output: physical.Output{Kind: physical.Gather, Partitions: 1, Consumers: 1}})
	c.cut(0, plan)
	for i := range c.stages {
		// A stage's consumers are known once the stage that reads it is.
		for _, in := range c.stages[i].Inputs {
			out := &c.stages[in.Stage].Output
			switch out.Kind {
			case physical.Hash, physical.Robin:
				out.Partitions = c.stages[i].Tasks
			case physical.Broadcast:
				out.Consumers = c.stages[i].Tasks
			}
		}
	}
	return c.stages
}

type cutter struct {
	tasks  int
	stages []Stage
	shared map[*physical.Exchange]int32 // stages with several readers
}

// cut makes the stage of that id of the tree below root.
func (c *cutter) cut(id int32, root physical.Node) {
	var inputs []Input
	var replace func(n physical.Node) physical.Node
	replace = func(n physical.Node) physical.Node {
		x, ok := n.(*physical.Exchange)
		if !ok {
			kids := make([]physical.Node, len(n.Children()))
			for i, k := range n.Children() {
				kids[i] = replace(k)
			}
			return physical.WithChildren(n, kids)
		}
		in, known := c.shared[x]
		if known {
			reader := int32(c.stages[in].Output.Consumers)
			c.stages[in].Output.Consumers++
			inputs = append(inputs, Input{in, reader})
			return &physical.Remote{Stage: in, Reader: reader, Fields: x.Schema(), Est: physical.Est{Rows: physical.Expected(x.Input)}}
		}
		in = int32(len(c.stages))
		if x.Kind == physical.Share {
			c.shared[x] = in
		}
		c.stages = append(c.stages, Stage{ID: in, Output: physical.Output{Kind: x.Kind, Keys: x.Keys, Partitions: 1, Consumers: 1}})
		inputs = append(inputs, Input{Stage: in})
		c.cut(in, x.Input)
		return &physical.Remote{Stage: in, Fields: x.Schema(), Merge: x.Merge, Est: physical.Est{Rows: physical.Expected(x.Input)}}
	}
	s := Stage{ID: id, Root: replace(root), Output: c.stages[id].Output, Tasks: 1}
	slices.SortFunc(inputs, func(a, b Input) int { return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Reader, b.Reader)) })
	s.Inputs = inputs
	if c.driven(s.Root) {
		s.Tasks = c.tasks
	}
	c.stages[id] = s
}

// driven tells whether the rows on the driving way come in shares.
func (c *cutter) driven(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.Scan:
		return n.Format != physical.Memory
	case *physical.Recursive: // reads all of its files itself
		return false
	case *physical.Remote:
		kind := c.stages[n.Stage].Output.Kind
		if kind == physical.Share {
			return c.stages[n.Stage].Tasks > 1
		}
		return kind == physical.Hash || kind == physical.Robin
	case *physical.HashJoin:
		return c.driven(n.Probe)
	case *physical.LoopJoin:
		return c.driven(n.Probe)
	case *physical.Union:
		return slices.ContainsFunc(n.Inputs, c.driven)
	}
	for _, k := range n.Children() {
		if c.driven(k) {
			return true
		}
	}
	return false
}
