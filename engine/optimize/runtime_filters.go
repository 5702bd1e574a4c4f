package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// A runtime filter is asked for where it is expected to keep at most this share of the rows that it looks at: below that the look
// costs less than what the join saves.
const worthwhile = 0.8

// runtimeFilters finds, for every join that drops left rows without a partner, the scan that a key of the left side comes from:
// once the right side is built, the scan can leave out what the join would drop.
func runtimeFilters(o *optimizer, root logical.Node) (logical.Node, error) {
	r := &runtime{o: o, probes: map[logical.Node][]logical.RuntimeProbe{}, builds: map[*logical.Join][]logical.RuntimeBuild{}}
	r.find(root)
	if r.last == 0 {
		return root, nil
	}
	return r.place(root), nil
}

type runtime struct {
	o      *optimizer
	last   int32
	probes map[logical.Node][]logical.RuntimeProbe // by scan
	builds map[*logical.Join][]logical.RuntimeBuild
}

func dropsLeft(k logical.JoinKind) bool {
	switch k {
	case logical.Inner, logical.Right, logical.Semi, logical.RightSemi, logical.RightAnti:
		return true
	}
	return false
}

func (r *runtime) find(n logical.Node) {
	for _, k := range n.Children() {
		r.find(k)
	}
	j, ok := n.(*logical.Join)
	if !ok || !dropsLeft(j.Kind) || j.NullAware {
		return
	}
	left, right := logical.Output(j.Left), logical.Output(j.Right)
	for _, c := range expr.Conjuncts(j.On) {
		cmp, ok := c.(*expr.Compare)
		if !ok || cmp.Op != expr.Eq {
			continue
		}
		probe, build := cmp.L, cmp.R
		if right.Holds(probe) {
			probe, build = build, probe
		}
		col, ok := probe.(*expr.Column)
		if !ok || !left[col.ID] || !right.Holds(build) || !right.Touches(build) {
			continue
		}
		scans := origins(j.Left, col.ID, nil)
		if len(scans) == 0 || !r.worth(j, col, build, scans) {
			continue
		}
		r.last++
		r.builds[j] = append(r.builds[j], logical.RuntimeBuild{Filter: r.last, Key: build})
		for _, s := range scans {
			r.probes[s.scan] = append(r.probes[s.scan], logical.RuntimeProbe{Filter: r.last, Column: s.col})
		}
	}
}

func (r *runtime) worth(j *logical.Join, probe *expr.Column, build expr.Expr, scans []origin) bool {
	right, left := r.o.est.Of(j.Right), r.o.est.Of(j.Left)
	rows := 0.0
	for _, s := range scans {
		rows += r.o.est.Rows(s.scan)
	}
	kept := right.Column(build).Distinct / max(left.Column(probe).Domain, 1)
	return kept <= worthwhile && right.Rows < rows
}

// An origin is a scan and its column.
type origin struct {
	scan *logical.Scan
	col  expr.ColumnID
}

// origins are the scans that the column comes from on a way on which a row that lacks the value may be dropped early: no limit, no
// other side of an outer join, no aggregate but by that column.
func origins(n logical.Node, id expr.ColumnID, out []origin) []origin {
	switch n := n.(type) {
	case *logical.Scan:
		return append(out, origin{n, id})
	case *logical.Filter:
		return origins(n.Input, id, out)
	case *logical.Project:
		for _, it := range n.Items {
			if c, ok := it.Expr.(*expr.Column); ok && it.Col.ID == id {
				return origins(n.Input, c.ID, out)
			}
		}
	case *logical.Aggregate:
		for _, g := range n.Groups {
			if c, ok := g.Expr.(*expr.Column); ok && g.Col.ID == id {
				return origins(n.Input, c.ID, out)
			}
		}
	case *logical.Sort:
		if n.Fetch < 0 && n.Offset == 0 {
			return origins(n.Input, id, out)
		}
	case *logical.Window:
		for _, e := range n.Partition {
			if c, ok := e.(*expr.Column); ok && c.ID == id {
				return origins(n.Input, id, out)
			}
		}
	case *logical.Join:
		if logical.Output(n.Left)[id] {
			if n.Kind == logical.Inner || n.Kind == logical.Left || n.Kind == logical.Semi || n.Kind == logical.Anti || n.Kind == logical.Mark {
				return origins(n.Left, id, out)
			}
		} else if n.Kind == logical.Inner || n.Kind == logical.Right || n.Kind == logical.RightSemi || n.Kind == logical.RightAnti {
			return origins(n.Right, id, out)
		}
	case *logical.Union:
		for i, c := range n.Cols {
			if c.ID == id {
				for _, in := range n.Inputs {
					out = origins(in, in.Columns()[i].ID, out)
				}
			}
		}
	}
	return out
}

func (r *runtime) place(n logical.Node) logical.Node {
	if s, ok := n.(*logical.Scan); ok && r.probes[n] != nil {
		c := *s
		c.Runtime = append(append([]logical.RuntimeProbe(nil), s.Runtime...), r.probes[n]...)
		return &c
	}
	out := logical.MapChildren(n, r.place)
	if j, ok := n.(*logical.Join); ok && r.builds[j] != nil {
		c := *out.(*logical.Join)
		c.Runtime = append(append([]logical.RuntimeBuild(nil), j.Runtime...), r.builds[j]...)
		return &c
	}
	return out
}
