package stage

import (
	"cmp"
	"slices"

	"github.com/fletchdb/fletch/engine/physical"
)

// Assign gives every task of every stage its plan, ordered by stage and task: scans on the driving way with their share of the files, by
// bytes, whole row groups at a time; all others as they are. The same stages always give the same tasks.
func Assign(stages []Stage) []Task {
	var out []Task
	for _, s := range stages {
		shares := map[*physical.Scan][][]physical.File{}
		portion(s.Root, s.Tasks, shares)
		for i := range s.Tasks {
			out = append(out, Task{Stage: s.ID, Index: i, Root: take(s.Root, i, shares)})
		}
	}
	return out
}

// portion splits the files of the scans on the driving way below n.
func portion(n physical.Node, tasks int, shares map[*physical.Scan][][]physical.File) {
	switch n := n.(type) {
	case *physical.Scan:
		if n.Format != physical.Memory {
			shares[n] = deal(n.Files, tasks)
		}
	case *physical.HashJoin:
		portion(n.Probe, tasks, shares)
	case *physical.LoopJoin:
		portion(n.Probe, tasks, shares)
	case *physical.Recursive: // reads all of its files
	default:
		for _, k := range n.Children() {
			portion(k, tasks, shares)
		}
	}
}

func take(n physical.Node, task int, shares map[*physical.Scan][][]physical.File) physical.Node {
	if s, ok := n.(*physical.Scan); ok {
		files, driving := shares[s]
		if !driving {
			return s
		}
		c := *s
		c.Files = files[task]
		return &c
	}
	kids := make([]physical.Node, len(n.Children()))
	for i, k := range n.Children() {
		kids[i] = take(k, task, shares)
	}
	return physical.WithChildren(n, kids)
}

// A unit is a row group, or a file whose row groups are not known.
type unit struct {
	file  int
	group int32 // −1: the whole file
	bytes float64
}

// deal deals files out to tasks: each unit, in order, to the task that has the fewest bytes so far, so that files sorted by time do
// not leave one task with all that a filter keeps.
func deal(files []physical.File, tasks int) [][]physical.File {
	var units []unit
	for i, f := range files {
		if f.RowGroups == nil {
			units = append(units, unit{i, -1, float64(max(f.Size, 1))})
			continue
		}
		for _, g := range f.RowGroups {
			units = append(units, unit{i, g, float64(max(f.Size, 1)) / float64(len(f.RowGroups))})
		}
	}
	held := make([]float64, tasks)
	taken := make([][]unit, tasks)
	for _, u := range units {
		least := 0
		for t := range tasks {
			if held[t] < held[least] {
				least = t
			}
		}
		held[least] += u.bytes
		taken[least] = append(taken[least], u)
	}
	out := make([][]physical.File, tasks)
	for t := range tasks {
		slices.SortFunc(taken[t], func(a, b unit) int { return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.group, b.group)) })
		out[t] = filesOf(files, taken[t])
	}
	return out
}

func filesOf(files []physical.File, units []unit) []physical.File {
	out := []physical.File{}
	last := -1
	for _, u := range units {
		if u.file != last {
			f := files[u.file]
			f.RowGroups = nil
			out = append(out, f)
			last = u.file
		}
		if u.group >= 0 {
			f := &out[len(out)-1]
			f.RowGroups = append(f.RowGroups, u.group)
		}
	}
	return out
}
