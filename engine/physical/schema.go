package physical

import (
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Schema is the columns read.
func (n *Scan) Schema() []Field {
	out := make([]Field, len(n.Columns))
	for i, c := range n.Columns {
		out[i] = Field{c.Name, c.Type, c.Nullable}
	}
	return out
}

// Schema is the rows' columns.
func (n *Values) Schema() []Field { return n.Fields }

// Schema is the input's.
func (n *Filter) Schema() []Field { return n.Input.Schema() }

// Schema is one column per expression.
func (n *Project) Schema() []Field {
	out := make([]Field, len(n.Exprs))
	for i, e := range n.Exprs {
		out[i] = Field{n.Names[i], e.Type(), Nullable(e)}
	}
	return out
}

// Schema is the groups, then the aggregates or, in mode Partial, their states.
func (n *Aggregate) Schema() []Field {
	out := make([]Field, 0, len(n.Groups)+len(n.Aggs))
	for _, g := range n.Groups {
		out = append(out, Field{n.Names[len(out)], g.Type(), Nullable(g)})
	}
	for _, a := range n.Aggs {
		if n.Mode != Partial {
			out = append(out, Field{n.Names[len(out)], a.Typ, true})
			continue
		}
		for _, t := range expr.StateTypes(a) {
			out = append(out, Field{n.Names[len(out)], t, true})
		}
	}
	return out
}

// Schema is as the kind says, cut to Output. It is not changed.
func (n *HashJoin) Schema() []Field { return n.settled.schema(n.Kind, n.Probe, n.Build, n.Output) }

// Schema is as the kind says, cut to Output. It is not changed.
func (n *LoopJoin) Schema() []Field { return n.settled.schema(n.Kind, n.Probe, n.Build, n.Output) }

// Settle works the schema out once for all and returns n. Whoever makes a join calls it before anybody else sees the node: else the
// schema of a tall tree of joins is put together from its leaves at every node that asks.
func (n *HashJoin) Settle() *HashJoin {
	n.settled.settle(n.Kind, n.Probe, n.Build, n.Output)
	return n
}

// Settle works the schema out once for all and returns n, as HashJoin's does.
func (n *LoopJoin) Settle() *LoopJoin {
	n.settled.settle(n.Kind, n.Probe, n.Build, n.Output)
	return n
}

// A settled is a join's schema and what it was made of. It is never changed once a node is shared: a copy with other inputs that is
// not settled again does without.
type settled struct {
	kind         JoinKind
	probe, build Node
	output       []int
	fields       []Field
}

func (s *settled) settle(kind JoinKind, probe, build Node, output []int) {
	*s = settled{kind, probe, build, output, slices.Clip(joinSchema(kind, probe, build, output))}
}

func (s *settled) schema(kind JoinKind, probe, build Node, output []int) []Field {
	if s.fields != nil && s.kind == kind && s.probe == probe && s.build == build && slices.Equal(s.output, output) {
		return s.fields
	}
	return joinSchema(kind, probe, build, output)
}

func joinSchema(kind JoinKind, probe, build Node, output []int) []Field {
	var all []Field
	add := func(side Node, nullable bool) {
		for _, f := range side.Schema() {
			f.Nullable = f.Nullable || nullable
			all = append(all, f)
		}
	}
	switch kind {
	case Semi, Anti:
		add(probe, false)
	case BuildSemi, BuildAnti:
		add(build, false)
	case Mark:
		add(probe, false)
		all = append(all, Field{"mark", sqltype.Of(sqltype.Bool), true})
	default:
		add(probe, kind == BuildOuter || kind == FullOuter)
		add(build, kind == ProbeOuter || kind == FullOuter)
	}
	if output == nil {
		return all
	}
	cut := make([]Field, len(output))
	for i, o := range output {
		cut[i] = all[o]
	}
	return cut
}

// Schema is the input's.
func (n *Sort) Schema() []Field { return n.Input.Schema() }

// Schema is the input's.
func (n *Limit) Schema() []Field { return n.Input.Schema() }

// Schema is the first input's; a column is nullable if it is in any.
func (n *Union) Schema() []Field {
	out := append([]Field(nil), n.Inputs[0].Schema()...)
	for _, in := range n.Inputs[1:] {
		for i, f := range in.Schema() {
			out[i].Nullable = out[i].Nullable || f.Nullable
		}
	}
	return out
}

// Schema is the input's.
func (n *Exchange) Schema() []Field { return n.Input.Schema() }

// Schema is the input's, then one column per list, then the count.
func (n *Expand) Schema() []Field {
	out := append([]Field(nil), n.Input.Schema()...)
	for i, l := range n.Lists {
		out = append(out, Field{n.Names[i], *l.Type().Elem, true})
	}
	if n.Ordinality {
		out = append(out, Field{n.Names[len(n.Lists)], sqltype.Of(sqltype.Int64), false})
	}
	return out
}

// Children is the input.
func (n *Expand) Children() []Node { return []Node{n.Input} }

// Schema is the input's.
func (n *Shared) Schema() []Field { return n.Input.Schema() }

// Children is the input.
func (n *Shared) Children() []Node { return []Node{n.Input} }

// Schema is the recursion's own.
func (n *Recursive) Schema() []Field { return n.Fields }

// Schema is the recursion's.
func (n *Working) Schema() []Field { return n.Fields }

// Children are base and step.
func (n *Recursive) Children() []Node { return []Node{n.Base, n.Step} }

// Children is none.
func (n *Working) Children() []Node { return nil }

// Schema is the input's, then one column per call.
func (n *Window) Schema() []Field {
	out := append([]Field(nil), n.Input.Schema()...)
	for i, c := range n.Calls {
		out = append(out, Field{n.Names[i], c.Typ, true})
	}
	return out
}

// Children is the input.
func (n *Window) Children() []Node { return []Node{n.Input} }

// Schema is the producer's.
func (n *Remote) Schema() []Field { return n.Fields }

// Children is none.
func (n *Scan) Children() []Node { return nil }

// Children is none.
func (n *Values) Children() []Node { return nil }

// Children is the input.
func (n *Filter) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Project) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Aggregate) Children() []Node { return []Node{n.Input} }

// Children are probe and build.
func (n *HashJoin) Children() []Node { return []Node{n.Probe, n.Build} }

// Children are probe and build.
func (n *LoopJoin) Children() []Node { return []Node{n.Probe, n.Build} }

// Children is the input.
func (n *Sort) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Limit) Children() []Node { return []Node{n.Input} }

// Children are the inputs.
func (n *Union) Children() []Node { return n.Inputs }

// Children is the input.
func (n *Exchange) Children() []Node { return []Node{n.Input} }

// Children is none: the producer is another task.
func (n *Remote) Children() []Node { return nil }

// Nullable tells whether e may give NULL: false only where that is certain.
func Nullable(e expr.Expr) bool {
	switch e := e.(type) {
	case *expr.Input:
		return e.Nullable
	case *expr.Column:
		return e.Nullable
	case *expr.Literal:
		return e.Value.Null
	case *expr.IsNull:
		return false
	case *expr.Compare:
		return e.Op < expr.Distinct && (Nullable(e.L) || Nullable(e.R))
	}
	return true
}
