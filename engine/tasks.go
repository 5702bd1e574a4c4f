package engine

import (
	"context"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/stage"
)

// A Task is one task of a plan that was spread over workers.
type Task struct {
	Stage  uint32 // 0 gives the result
	Task   uint32
	Root   physical.Node
	Output physical.Output
	Inputs []Input // the stages that Root reads, ascending

	Supplies []Supply // what else it reads: tables in this process's memory, ascending
}

// A Supply is a table in this process's memory that a task elsewhere reads, as if a stage of that number gave its rows: see
// Engine.Supply.
type Supply struct {
	Stage uint32
	Scan  *physical.Scan
}

// An Input is a stage that a task reads. Of a partitioned one it reads the partition of its own number; of a shared one, as the reader
// of that number, all that the task of its own number gives.
type Input struct {
	Stage       uint32
	Partitioned bool
	Shared      bool
	Reader      uint32
}

// Reads tells whether the task of that number reads what a task of the stage gives.
func (in Input) Reads(task, producer uint32) bool { return !in.Shared || task == producer }

// Tasks spreads a plan over n tasks per stage, as many as there are workers. Stage 0 has one task.
func (e *Engine) Tasks(plan *Plan, n int) []Task {
	stages := stage.Cut(stage.Distribute(plan.Root, n, stage.Config{}), n)
	var out []Task
	next := uint32(len(stages))
	for _, t := range stage.Assign(stages) {
		s := stages[t.Stage]
		task := Task{Stage: uint32(t.Stage), Task: uint32(t.Index), Root: t.Root, Output: s.Output}
		for _, in := range s.Inputs {
			kind := stages[in.Stage].Output.Kind
			task.Inputs = append(task.Inputs, Input{
				Stage: uint32(in.Stage), Partitioned: kind == physical.Hash || kind == physical.Robin, Shared: kind == physical.Share, Reader: uint32(in.Reader),
			})
		}
		task.Root = supplied(t.Root, func(scan *physical.Scan) *physical.Remote {
			task.Supplies = append(task.Supplies, Supply{next, scan})
			next++
			return &physical.Remote{Stage: int32(next - 1), Fields: scan.Schema(), Est: scan.Est}
		})
		out = append(out, task)
	}
	return out
}

// supplied is n with what remote gives in place of each table in memory. A condition that calls what others have stays with them.
func supplied(n physical.Node, remote func(*physical.Scan) *physical.Remote) physical.Node {
	s, ok := n.(*physical.Scan)
	if !ok {
		kids := make([]physical.Node, len(n.Children()))
		for i, k := range n.Children() {
			kids[i] = supplied(k, remote)
		}
		return physical.WithChildren(n, kids)
	}
	if s.Format != physical.Memory {
		return n
	}
	c := *s
	c.Runtime = nil // filters are made where the plan runs
	if c.Filter == nil || !expr.CallsForeign(c.Filter) {
		return remote(&c)
	}
	cond := c.Filter
	c.Filter = nil
	return &physical.Filter{Input: remote(&c), Cond: cond, Est: s.Est}
}

// Supply gives the rows of a supply, in the form that workers want.
func (e *Engine) Supply(ctx context.Context, plan *Plan, s Supply) (*Rows, error) {
	r := &Rows{plan: plan, env: e.env(plan)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	var err error
	if r.result, err = exec.RunToArrow(r.ctx, s.Scan, r.env, exec.ResultConfig{Form: arrowio.Narrow}); err != nil {
		r.cancel()
		return nil, err
	}
	return r, nil
}
