// Package stage spreads a physical plan over tasks: it inserts the exchanges between them, cuts the plan into stages there, and
// deals the files out. It never changes what a plan computes, and must never know which workers there are.
//
// In a stage of several tasks, each scan on the driving way – from the root through the first input of every join – reads its share of
// the files, and together the tasks read all of them. A scan below the second input of a join, the build side, is read whole by every
// task.
package stage

import (
	"github.com/fletchdb/fletch/engine/physical"
)

// A Config says how to spread a plan. The zero Config has the documented defaults.
type Config struct {
	// ReplicateRows is how many rows the scans of a build side may have in all, for every task to read them rather than one
	// task to send them: 0 is 100,000, negative is never.
	ReplicateRows int64
	// GatherGroups is up to how many expected groups the final half of an aggregation is one task's: 0 is 20,000, negative is
	// never.
	GatherGroups int64
}

func (c Config) replicateRows() float64 {
	if c.ReplicateRows == 0 {
		return 100_000
	}
	return float64(c.ReplicateRows)
}

func (c Config) gatherGroups() float64 {
	if c.GatherGroups == 0 {
		return 20_000
	}
	return float64(c.GatherGroups)
}

// A Stage is a part of a plan that its tasks run alike, each over its share of the input.
type Stage struct {
	ID     int32 // from 0, which gives the result; a stage's inputs have greater ids
	Root   physical.Node
	Output physical.Output
	Tasks  int
	Inputs []Input // what its Remotes read, ascending
}

// An Input is a stage that another reads, as one of its readers.
type Input struct {
	Stage, Reader int32
}

// A Task is what one task of a stage runs.
type Task struct {
	Stage int32
	Index int
	Root  physical.Node
}
