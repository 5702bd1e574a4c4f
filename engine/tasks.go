package engine

import (
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
	for _, t := range stage.Assign(stages) {
		s := stages[t.Stage]
		task := Task{Stage: uint32(t.Stage), Task: uint32(t.Index), Root: t.Root, Output: s.Output}
		for _, in := range s.Inputs {
			kind := stages[in.Stage].Output.Kind
			task.Inputs = append(task.Inputs, Input{
				Stage: uint32(in.Stage), Partitioned: kind == physical.Hash || kind == physical.Robin, Shared: kind == physical.Share, Reader: uint32(in.Reader),
			})
		}
		out = append(out, task)
	}
	return out
}
