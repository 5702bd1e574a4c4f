package stage

import (
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// An aggregation that leaves more than this share of its rows as groups is not worth doing twice.
const worthPartial = 0.5

// aggregate groups where the rows are, then sends the groups to where they meet: to one task if they are few, else by the hash of their
// keys. DISTINCT, and what depends on the order of its rows, cannot be done in halves: its rows meet first.
func (d *distributor) aggregate(n *physical.Aggregate) placed {
	in := d.node(n.Input)
	c := *n
	c.Input = in.node
	if in.spread == one {
		return on(&c, one)
	}
	if len(n.Groups) > 0 && within(in.by, n.Groups) {
		return placed{&c, split, afterGroups(in.by, n.Groups)}
	}
	rows := physical.Expected(n.Input)
	switch {
	case len(n.Groups) == 0 && stateless(n.Aggs):
		c.Input = d.single(in)
		return on(&c, one)
	case stateless(n.Aggs), len(n.Groups) > 0 && n.Est.Rows > d.cfg.gatherGroups() && n.Est.Rows > rows*worthPartial:
		return d.groupTogether(n, in.node)
	}
	partial := &physical.Aggregate{Input: in.node, Mode: physical.Partial, Groups: n.Groups, Aggs: n.Aggs, Est: n.Est}
	partial.Names = append(partial.Names, n.Names[:len(n.Groups)]...)
	for i, a := range n.Aggs {
		for k := range expr.StateTypes(a) {
			partial.Names = append(partial.Names, fmt.Sprintf("%s#%d", n.Names[len(n.Groups)+i], k))
		}
	}
	x := &physical.Exchange{Input: partial, Kind: physical.Gather}
	out := on(nil, one)
	if len(n.Groups) > 0 && n.Est.Rows > d.cfg.gatherGroups() {
		x.Kind, x.Keys = physical.Hash, seq(len(n.Groups))
		out.spread, out.by = split, [][]int{seq(len(n.Groups))}
	}
	out.node = final(n, x)
	return out
}

// groupTogether sends rows to where their group is.
func (d *distributor) groupTogether(n *physical.Aggregate, in physical.Node) placed {
	x, cols := d.hashed(in, n.Groups)
	c := *n
	c.Input, c.Groups = x, inputs(x, cols)
	return placed{&c, split, [][]int{seq(len(cols))}}
}

// final merges the states that x gives.
func final(n *physical.Aggregate, x physical.Node) *physical.Aggregate {
	c := &physical.Aggregate{Input: x, Mode: physical.Final, Groups: inputs(x, seq(len(n.Groups))), Names: n.Names, Est: n.Est}
	at := len(n.Groups)
	for _, a := range n.Aggs {
		states := len(expr.StateTypes(a))
		cols := make([]int, states)
		for i := range cols {
			cols[i] = at + i
		}
		at += states
		a.Args, a.Filter, a.OrderBy = inputs(x, cols), nil, nil
		c.Aggs = append(c.Aggs, a)
	}
	return c
}

// stateless tells whether one of aggs has no partial state.
func stateless(aggs []expr.Aggregate) bool {
	for _, a := range aggs {
		if !expr.HasState(a) {
			return true
		}
	}
	return false
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// afterGroups follows columns into the groups that they are.
func afterGroups(by [][]int, groups []expr.Expr) [][]int { return throughProject(by, groups) }
