package stage

import (
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// Distribute is plan with exchanges for that many tasks per stage; with one task only what is shared comes out of one. All rows of the
// root come to one task. Runtime filters whose join and scan are no longer in one stage are dropped.
func Distribute(plan physical.Node, tasks int, cfg Config) physical.Node {
	d := &distributor{tasks: float64(tasks), cfg: cfg, shared: map[*physical.Shared]placed{}}
	if tasks <= 1 {
		return keepFilters(d.apart(plan))
	}
	return keepFilters(d.single(d.node(plan)))
}

type distributor struct {
	tasks  float64
	cfg    Config
	shared map[*physical.Shared]placed
}

// apart is n, all in one task, but for what is shared.
func (d *distributor) apart(n physical.Node) physical.Node {
	if s, ok := n.(*physical.Shared); ok {
		return d.share(s, func() placed { return on(d.apart(s.Input), one) }).node
	}
	kids := make([]physical.Node, len(n.Children()))
	for i, k := range n.Children() {
		kids[i] = d.apart(k)
	}
	return physical.WithChildren(n, kids)
}

// share places what is shared once: its rows stay in the tasks that they are in.
func (d *distributor) share(n *physical.Shared, place func() placed) placed {
	out, ok := d.shared[n]
	if !ok {
		out = place()
		out.node = &physical.Exchange{Input: out.node, Kind: physical.Share}
		d.shared[n] = out
	}
	return out
}

// A spread says where a node's rows are.
type spread uint8

const (
	one   spread = iota // all in one task
	split               // each in exactly one task
)

// A placed is a node and where its rows are. by lists the ways in which rows are known to be dealt out: rows that are equal in
// those columns, in that order, are in the task that the hash of them says.
type placed struct {
	node   physical.Node
	spread spread
	by     [][]int
}

func on(n physical.Node, s spread) placed { return placed{node: n, spread: s} }

// single brings all rows to one task.
func (d *distributor) single(p placed) physical.Node {
	if p.spread == one {
		return p.node
	}
	return &physical.Exchange{Input: p.node, Kind: physical.Gather}
}

func (d *distributor) node(n physical.Node) placed {
	switch n := n.(type) {
	case *physical.Scan:
		if n.Format == physical.Memory {
			return on(n, one) // it comes from where the plan was made
		}
		return on(n, split)
	case *physical.Values, *physical.Recursive:
		return on(n, one)
	case *physical.Filter:
		in := d.node(n.Input)
		c := *n
		c.Input = in.node
		return placed{&c, in.spread, in.by}
	case *physical.Project:
		in := d.node(n.Input)
		c := *n
		c.Input = in.node
		return placed{&c, in.spread, throughProject(in.by, n.Exprs)}
	case *physical.Shared:
		return d.share(n, func() placed { return d.node(n.Input) })
	case *physical.Expand:
		in := d.node(n.Input)
		c := *n
		c.Input = in.node
		return placed{&c, in.spread, in.by}
	case *physical.Aggregate:
		return d.aggregate(n)
	case *physical.HashJoin:
		return d.hashJoin(n)
	case *physical.LoopJoin:
		return d.loopJoin(n)
	case *physical.Sort:
		return d.sort(n)
	case *physical.Limit:
		return d.limit(n)
	case *physical.Union:
		return d.union(n)
	case *physical.Window:
		return d.window(n)
	}
	return on(n, one)
}

// window brings each partition's rows to one task, before the sort that puts them together.
func (d *distributor) window(n *physical.Window) placed {
	c := *n
	s, sorted := n.Input.(*physical.Sort)
	if len(n.Partition) == 0 {
		in := d.node(n.Input)
		c.Input = d.single(in) // a sort has gathered and merged already
		return on(&c, one)
	}
	if !sorted {
		in := d.node(n.Input)
		if in.spread == split && !within(in.by, n.Partition) {
			return d.window(resorted(n))
		}
		c.Input = in.node
		return placed{&c, in.spread, in.by}
	}
	in := d.node(s.Input)
	below := *s
	below.Input = in.node
	if in.spread == split && !within(in.by, n.Partition) {
		width := len(in.node.Schema())
		x, cols := d.hashed(in.node, n.Partition)
		below.Input = first(x, width)
		in.by = nil
		if len(x.Schema()) == width {
			in.by = [][]int{cols}
		}
	}
	c.Input = &below
	return placed{&c, in.spread, in.by}
}

// resorted is n with a sort of its own below.
func resorted(n *physical.Window) *physical.Window {
	c := *n
	s := &physical.Sort{Input: n.Input, Fetch: -1, Est: physical.Est{Rows: physical.Expected(n.Input)}}
	for _, e := range n.Partition {
		s.Keys = append(s.Keys, physical.SortKey{Expr: e})
	}
	s.Keys = append(s.Keys, n.Order...)
	c.Input = s
	return &c
}

// first is n's first columns, so many.
func first(n physical.Node, width int) physical.Node {
	fields := n.Schema()
	if len(fields) == width {
		return n
	}
	p := &physical.Project{Input: n, Exprs: inputs(n, seq(width))}
	for _, f := range fields[:width] {
		p.Names = append(p.Names, f.Name)
	}
	return p
}

// throughProject follows columns through expressions.
func throughProject(by [][]int, exprs []expr.Expr) [][]int {
	to := map[int]int{}
	for i, e := range exprs {
		if in, ok := e.(*expr.Input); ok {
			if _, have := to[in.Index]; !have {
				to[in.Index] = i
			}
		}
	}
	return remap(by, to)
}

// remap gives the ways of which every column is still there, by new positions.
func remap(by [][]int, to map[int]int) [][]int {
	var out [][]int
	for _, cols := range by {
		moved := make([]int, len(cols))
		ok := true
		for i, c := range cols {
			var have bool
			moved[i], have = to[c]
			ok = ok && have
		}
		if ok {
			out = append(out, moved)
		}
	}
	return out
}

func (d *distributor) sort(n *physical.Sort) placed {
	in := d.node(n.Input)
	c := *n
	c.Input = in.node
	if in.spread == one {
		return on(&c, one)
	}
	// Every task sorts its rows, and gives no more of them than the whole may.
	c.Offset = 0
	if n.Fetch >= 0 {
		c.Fetch = sum(n.Fetch, n.Offset)
	}
	merged := physical.Node(&physical.Exchange{Input: &c, Kind: physical.Gather, Merge: n.Keys})
	if n.Fetch >= 0 || n.Offset > 0 {
		merged = &physical.Limit{Input: merged, Fetch: n.Fetch, Offset: n.Offset}
	}
	return on(merged, one)
}

// sum is a + b, or all rows where that is no number.
func sum(a, b int64) int64 {
	if a+b < a {
		return -1
	}
	return a + b
}

func (d *distributor) limit(n *physical.Limit) placed {
	in := d.node(n.Input)
	c := *n
	if in.spread == one {
		c.Input = in.node
		return on(&c, one)
	}
	local := in.node
	if n.Fetch >= 0 {
		if fetch := sum(n.Fetch, n.Offset); fetch >= 0 {
			local = &physical.Limit{Input: local, Fetch: fetch}
		}
	}
	c.Input = &physical.Exchange{Input: local, Kind: physical.Gather}
	return on(&c, one)
}

func (d *distributor) union(n *physical.Union) placed {
	parts := make([]placed, len(n.Inputs))
	all := one
	for i, k := range n.Inputs {
		if parts[i] = d.node(k); parts[i].spread == split {
			all = split
		}
	}
	c := &physical.Union{Inputs: make([]physical.Node, len(parts))}
	for i, p := range parts {
		c.Inputs[i] = p.node
		if all == split && p.spread == one {
			// Every task would give these rows: one does, and deals them out.
			c.Inputs[i] = &physical.Exchange{Input: p.node, Kind: physical.Robin}
		}
	}
	return on(c, all)
}

// columns are the positions of exprs that are bare inputs; ok is false if one is not.
func columns(exprs []expr.Expr) (cols []int, ok bool) {
	for _, e := range exprs {
		in, is := e.(*expr.Input)
		if !is {
			return nil, false
		}
		cols = append(cols, in.Index)
	}
	return cols, true
}

// hashed deals p's rows out by exprs over them, and gives exprs over what comes out, which may have more columns at its end.
func (d *distributor) hashed(n physical.Node, exprs []expr.Expr) (physical.Node, []int) {
	cols, ok := columns(exprs)
	if !ok {
		n, cols = withColumns(n, exprs)
	}
	return &physical.Exchange{Input: n, Kind: physical.Hash, Keys: cols}, cols
}

// withColumns is n with a column for each of exprs that is none yet, and where they are.
func withColumns(n physical.Node, exprs []expr.Expr) (physical.Node, []int) {
	p := &physical.Project{Input: n}
	for i, f := range n.Schema() {
		p.Exprs = append(p.Exprs, &expr.Input{Index: i, Name: f.Name, Typ: f.Type, Nullable: f.Nullable})
		p.Names = append(p.Names, f.Name)
	}
	cols := make([]int, len(exprs))
	for i, e := range exprs {
		if in, ok := e.(*expr.Input); ok {
			cols[i] = in.Index
			continue
		}
		cols[i] = len(p.Exprs)
		p.Exprs = append(p.Exprs, e)
		p.Names = append(p.Names, "key")
	}
	return p, cols
}

// inputs are the columns of n at positions.
func inputs(n physical.Node, cols []int) []expr.Expr {
	fields := n.Schema()
	out := make([]expr.Expr, len(cols))
	for i, c := range cols {
		f := fields[c]
		out[i] = &expr.Input{Index: c, Name: f.Name, Typ: f.Type, Nullable: f.Nullable}
	}
	return out
}

// within tells whether rows with equal groups are in one task already: they are dealt out by some of the groups.
func within(by [][]int, groups []expr.Expr) bool {
	cols := map[int]bool{}
	for _, g := range groups {
		if in, ok := g.(*expr.Input); ok {
			cols[in.Index] = true
		}
	}
	return slices.ContainsFunc(by, func(way []int) bool {
		return !slices.ContainsFunc(way, func(c int) bool { return !cols[c] })
	})
}
