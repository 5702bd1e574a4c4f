// Package codec turns physical plans into the messages of fletch.plan.v1 and back. What it decodes is not trusted: a plan with
// anything this build does not know, or that does not fit together, is refused. It must never know how plans travel or run.
package codec

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

// Bounds of a plan that is decoded.
const (
	maxNodes       = 500  // depth
	maxExprs       = 1000 // depth
	maxPartitions  = 1024
	maxTypeNesting = 32
)

// Encode is the message of a task's plan and of how its rows are dealt out.
func Encode(root physical.Node, out physical.Output) (f *planv1.Fragment, err error) {
	e := &encoder{}
	f = &planv1.Fragment{Root: e.node(root), Output: &planv1.Output{
		Kind: exchangeKinds.to(out.Kind), Keys: e.indexes(out.Keys), Partitions: uint32(out.Partitions), Consumers: uint32(out.Consumers),
	}}
	if e.err != nil {
		return nil, e.err
	}
	return f, nil
}

// Decode is the plan in a message; library has the functions that this process runs besides the built-in ones. An error has code
// invalid_plan.
func Decode(f *planv1.Fragment, library *function.Library) (root physical.Node, out physical.Output, err error) {
	if err := known(f.ProtoReflect(), 0); err != nil {
		return nil, out, err
	}
	d := &decoder{library: library}
	root = d.node(f.GetRoot(), 0)
	out = physical.Output{
		Kind: decodeEnum(d, exchangeKinds, f.GetOutput().GetKind()), Keys: d.indexes(f.GetOutput().GetKeys()),
		Partitions: int(f.GetOutput().GetPartitions()), Consumers: int(f.GetOutput().GetConsumers()),
	}
	if d.err == nil {
		d.output(out)
	}
	if d.err != nil {
		return nil, out, d.err
	}
	if err := physical.Validate(root); err != nil {
		return nil, out, err
	}
	width := len(root.Schema())
	for _, k := range out.Keys {
		if k < 0 || k >= width {
			return nil, out, invalid("output key %d of %d columns", k, width)
		}
	}
	return root, out, nil
}

func (d *decoder) output(o physical.Output) {
	switch {
	case o.Partitions < 1 || o.Partitions > maxPartitions || o.Consumers < 1 || o.Consumers > maxPartitions:
		d.fail("output of %d partitions to %d consumers", o.Partitions, o.Consumers)
	case o.Kind == physical.Hash && len(o.Keys) == 0 || o.Kind != physical.Hash && len(o.Keys) > 0:
		d.fail("output with %d keys", len(o.Keys))
	case o.Partitions > 1 && o.Kind != physical.Hash && o.Kind != physical.Robin, o.Consumers > 1 && o.Kind != physical.Broadcast && o.Kind != physical.Share:
		d.fail("output of kind %d with %d partitions and %d consumers", o.Kind, o.Partitions, o.Consumers)
	}
}

func invalid(format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: "+format, args...)
}

// known refuses a message that holds a field or an enum value that this build does not know. Oneof members that it does not
// know are unknown fields.
func known(m protoreflect.Message, depth int) error {
	if depth > 2*(maxNodes+2*maxExprs) {
		return invalid("nested too deep")
	}
	if len(m.GetUnknown()) > 0 {
		return invalid("%s holds a field that this build does not know", m.Descriptor().FullName())
	}
	var err error
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
		case f.IsList():
			list := v.List()
			for i := 0; i < list.Len() && err == nil; i++ {
				err = knownValue(f, list.Get(i), depth)
			}
		default:
			err = knownValue(f, v, depth)
		}
		return err == nil
	})
	return err
}

func knownValue(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int) error {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return known(v.Message(), depth+1)
	case protoreflect.EnumKind:
		if f.Enum().Values().ByNumber(v.Enum()) == nil {
			return invalid("%s has number %d, which this build does not know", f.Enum().FullName(), v.Enum())
		}
	}
	return nil
}

// pairs is a one-to-one relation of a Go enum and a message's enum.
type pairs[G comparable, P ~int32] map[G]P

func (p pairs[G, P]) to(g G) P { return p[g] }

func decodeEnum[G comparable, P ~int32](d *decoder, p pairs[G, P], v P) G {
	for g, x := range p {
		if x == v {
			return g
		}
	}
	d.fail("number %d of %s", v, strings.TrimPrefix(fmt.Sprintf("%T", v), "planv1."))
	var zero G
	return zero
}

var exchangeKinds = pairs[physical.ExchangeKind, planv1.ExchangeKind]{
	physical.Gather: planv1.ExchangeKind_EXCHANGE_KIND_GATHER, physical.Hash: planv1.ExchangeKind_EXCHANGE_KIND_HASH,
	physical.Broadcast: planv1.ExchangeKind_EXCHANGE_KIND_BROADCAST, physical.Robin: planv1.ExchangeKind_EXCHANGE_KIND_ROBIN,
	physical.Share: planv1.ExchangeKind_EXCHANGE_KIND_SHARE,
}

var formats = pairs[physical.Format, planv1.FileFormat]{
	physical.Parquet: planv1.FileFormat_FILE_FORMAT_PARQUET, physical.CSV: planv1.FileFormat_FILE_FORMAT_CSV, physical.JSON: planv1.FileFormat_FILE_FORMAT_JSON,
}

var aggModes = pairs[physical.AggMode, planv1.AggregateMode]{
	physical.Single: planv1.AggregateMode_AGGREGATE_MODE_SINGLE, physical.Partial: planv1.AggregateMode_AGGREGATE_MODE_PARTIAL,
	physical.Final: planv1.AggregateMode_AGGREGATE_MODE_FINAL,
}

var joinKinds = pairs[physical.JoinKind, planv1.JoinKind]{
	physical.Inner: planv1.JoinKind_JOIN_KIND_INNER, physical.ProbeOuter: planv1.JoinKind_JOIN_KIND_PROBE_OUTER,
	physical.BuildOuter: planv1.JoinKind_JOIN_KIND_BUILD_OUTER, physical.FullOuter: planv1.JoinKind_JOIN_KIND_FULL_OUTER,
	physical.Semi: planv1.JoinKind_JOIN_KIND_SEMI, physical.Anti: planv1.JoinKind_JOIN_KIND_ANTI,
	physical.BuildSemi: planv1.JoinKind_JOIN_KIND_BUILD_SEMI, physical.BuildAnti: planv1.JoinKind_JOIN_KIND_BUILD_ANTI,
	physical.Mark: planv1.JoinKind_JOIN_KIND_MARK,
}
