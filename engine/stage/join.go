package stage

import (
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// What it costs to have a build side's row in one more task, in units of a row that is sent once: it is sent and put into a
// hash table again.
const copyCost = 2.5

// everywhere tells whether every task may have all build rows: not where the join gives build rows of its own, once for each.
func everywhere(k physical.JoinKind) bool {
	switch k {
	case physical.Inner, physical.ProbeOuter, physical.Semi, physical.Anti, physical.Mark:
		return true
	}
	return false
}

func (d *distributor) hashJoin(n *physical.HashJoin) placed {
	probe := d.node(n.Probe)
	c := *n
	if everywhere(n.Kind) && d.replicable(n.Build) {
		c.Probe = probe.node
		return placed{c.Settle(), probe.spread, joinWays(n, probe.by, nil)}
	}
	build := d.node(n.Build)
	switch {
	case probe.spread == one && build.spread == one:
		c.Probe, c.Build = probe.node, build.node
		return on(c.Settle(), one)
	case n.NullAware, everywhere(n.Kind) && d.cheapToCopy(n):
		// A NULL among the build side's keys decides about every row of NOT IN: each task must know of it.
		c.Probe, c.Build = probe.node, d.copied(build, probe.spread)
		return placed{c.Settle(), probe.spread, joinWays(n, probe.by, nil)}
	}
	return d.partitioned(n, probe, build)
}

func (d *distributor) cheapToCopy(n *physical.HashJoin) bool {
	p, b := physical.Expected(n.Probe), physical.Expected(n.Build)
	return b*copyCost*(d.tasks-1) <= p
}

// copied gives all rows of p to every task of a consumer whose rows are spread like this.
func (d *distributor) copied(p placed, consumer spread) physical.Node {
	if consumer == one {
		return d.single(p)
	}
	return &physical.Exchange{Input: p.node, Kind: physical.Broadcast}
}

// partitioned deals both sides out by the keys, so that rows that match meet.
func (d *distributor) partitioned(n *physical.HashJoin, probe, build placed) placed {
	c := *n
	width := len(probe.node.Schema())
	probeKeys, ok1 := columns(n.ProbeKeys)
	buildKeys, ok2 := columns(n.BuildKeys)
	perm := keyOrder(probe, build, probeKeys, buildKeys, ok1 && ok2)
	if perm == nil {
		c.Probe, probeKeys = d.hashed(probe.node, n.ProbeKeys)
		c.Build, buildKeys = d.hashed(build.node, n.BuildKeys)
	} else {
		c.Probe = d.byWay(probe, pick(probeKeys, perm))
		c.Build = d.byWay(build, pick(buildKeys, perm))
		probeKeys, buildKeys = pick(probeKeys, perm), pick(buildKeys, perm)
	}
	// A side may have got columns for its keys: what refers to the other side, or to the output, moves along.
	if grown := len(c.Probe.Schema()) - width; grown > 0 || len(c.Build.Schema()) > len(build.node.Schema()) {
		c.Residual = shift(n.Residual, width, grown)
		c.Output = outputsAfter(n, width, len(build.node.Schema()), grown)
	}
	return placed{c.Settle(), split, joinWays(&c, [][]int{probeKeys}, buildKeys)}
}

func pick(cols, perm []int) []int {
	out := make([]int, len(perm))
	for i, p := range perm {
		out[i] = cols[p]
	}
	return out
}

// keyOrder finds an order of all, or some, of the keys by which a side is dealt out already; nil where neither is.
func keyOrder(probe, build placed, probeKeys, buildKeys []int, bare bool) []int {
	if !bare {
		return nil
	}
	find := func(by [][]int, keys []int) []int {
		for _, way := range by {
			perm := make([]int, len(way))
			ok := true
			for i, c := range way {
				perm[i] = slices.Index(keys, c)
				ok = ok && perm[i] >= 0
			}
			if ok {
				return perm
			}
		}
		return nil
	}
	if probe.spread == split {
		if perm := find(probe.by, probeKeys); perm != nil {
			return perm
		}
	}
	if build.spread == split {
		return find(build.by, buildKeys)
	}
	return nil
}

// byWay deals p out by cols unless it is so already.
func (d *distributor) byWay(p placed, cols []int) physical.Node {
	if p.spread == split && slices.ContainsFunc(p.by, func(way []int) bool { return slices.Equal(way, cols) }) {
		return p.node
	}
	return &physical.Exchange{Input: p.node, Kind: physical.Hash, Keys: cols}
}

// shift moves a residual's inputs of the build side by grown columns.
func shift(e expr.Expr, width, grown int) expr.Expr {
	if e == nil {
		return nil
	}
	if in, ok := e.(*expr.Input); ok {
		if in.Index < width {
			return e
		}
		c := *in
		c.Index += grown
		return &c
	}
	return expr.Map(e, func(x expr.Expr) expr.Expr { return shift(x, width, grown) })
}

// outputsAfter is n's output once its probe side, width columns wide, has grown.
func outputsAfter(n *physical.HashJoin, width, buildWidth, grown int) []int {
	out := n.Output
	if out == nil {
		all := 0
		switch n.Kind {
		case physical.Semi, physical.Anti:
			all = width
		case physical.BuildSemi, physical.BuildAnti:
			all = buildWidth
		case physical.Mark:
			all = width + 1
		default:
			all = width + buildWidth
		}
		out = seq(all)
	}
	moved := make([]int, len(out))
	for i, o := range out {
		if moved[i] = o; o >= width && n.Kind != physical.BuildSemi && n.Kind != physical.BuildAnti {
			moved[i] += grown
		}
	}
	return moved
}

// joinWays follows the ways in which a join's sides are dealt out to its output. Rows that a kind gives without one side are not where
// that side's columns, NULL now, would say.
func joinWays(n *physical.HashJoin, probeBy [][]int, buildKeys []int) [][]int {
	width := len(n.Probe.Schema())
	to := map[int]int{}
	place := func(i, o int) {
		if _, have := to[o]; !have {
			to[o] = i
		}
	}
	output := n.Output
	if output == nil {
		output = seq(len(n.Schema()))
	}
	for i, o := range output {
		place(i, o)
	}
	var out [][]int
	switch n.Kind {
	case physical.Inner, physical.ProbeOuter, physical.Semi, physical.Anti, physical.Mark:
		out = remap(probeBy, to)
	}
	if buildKeys == nil {
		return out
	}
	switch n.Kind {
	case physical.BuildSemi, physical.BuildAnti:
		return remap([][]int{buildKeys}, to)
	case physical.Inner, physical.BuildOuter:
		moved := make([]int, len(buildKeys))
		for i, k := range buildKeys {
			moved[i] = k + width
		}
		out = append(out, remap([][]int{moved}, to)...)
	}
	return out
}

func (d *distributor) loopJoin(n *physical.LoopJoin) placed {
	probe := d.node(n.Probe)
	c := *n
	c.Probe = probe.node
	if everywhere(n.Kind) && d.replicable(n.Build) {
		return on(c.Settle(), probe.spread)
	}
	build := d.node(n.Build)
	if everywhere(n.Kind) {
		c.Build = d.copied(build, probe.spread)
		return on(c.Settle(), probe.spread)
	}
	c.Probe, c.Build = d.single(probe), d.single(build)
	return on(c.Settle(), one)
}

// replicable tells whether every task may compute n for itself: small scans and what streams over them, nothing that would have to
// meet.
func (d *distributor) replicable(n physical.Node) bool {
	rows, ok := scanned(n)
	return ok && rows <= d.cfg.replicateRows()
}

// scanned is the rows that n's scans read; ok is false where n has something that tasks should not repeat.
func scanned(n physical.Node) (rows float64, ok bool) {
	switch n := n.(type) {
	case *physical.Scan:
		return rowsOfFiles(n), n.Format != physical.Memory
	case *physical.Values:
		return float64(len(n.Rows)), true
	case *physical.Filter, *physical.Project, *physical.HashJoin:
		for _, k := range n.Children() {
			r, ok := scanned(k)
			if !ok {
				return 0, false
			}
			rows += r
		}
		return rows, true
	}
	return 0, false
}

// rowsOfFiles is about how many rows a scan reads before its filter: what it is expected to give, or what its row groups hold at
// least.
func rowsOfFiles(n *physical.Scan) float64 {
	const leastGroup = 50_000 // rows of a row group that is followed by another
	rows := max(n.Est.Rows, 0)
	for _, f := range n.Files {
		if len(f.RowGroups) > 1 {
			rows = math.Max(rows, float64(len(f.RowGroups)-1)*leastGroup)
		}
		rows = math.Max(rows, float64(f.Size)/400)
	}
	return rows
}
