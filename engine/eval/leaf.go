package eval

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// An inputNode is a column of the batch.
type inputNode struct {
	index int
	typ   sqltype.Type
}

func (n inputNode) eval(f frame) (*vector.Vector, error) { return f.column(n.index, n.typ) }

// column is column i, which the expression takes for one of type t: the two come from different parts of a plan.
func (f frame) column(i int, t sqltype.Type) (*vector.Vector, error) {
	if i >= len(f.cols) {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "an expression reads column %d of %d", i+1, len(f.cols))
	}
	v := f.cols[i]
	if v.Phys != vector.PhysOf(t) && !(t.Kind == sqltype.Decimal && v.Type.Kind == sqltype.Decimal) || v.Type.Kind != t.Kind || v.Type.Scale != t.Scale || t.IsNested() && !v.Type.Equal(t) {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "an expression reads column %d as %s, but it is %s", i+1, t, v.Type)
	}
	return v, nil
}

// A held node gives a vector that someone else computed.
type held struct{ v *vector.Vector }

func (h *held) eval(frame) (*vector.Vector, error) { return h.v, nil }

// A constNode is a literal: one vector, whose length follows the batch.
type constNode struct{ vec vector.Vector }

func (n *constNode) eval(f frame) (*vector.Vector, error) {
	n.vec.Len = f.n
	return &n.vec, nil
}

func constant(v expr.Value) (factory, error) {
	var vec vector.Vector
	if !SetConst(&vec, v, 0) {
		return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "constants of type %s are not supported in expressions", v.Type)
	}
	return func(*instance) node { return &constNode{vec: vec} }, nil
}

// SetConst makes vec n rows of v. It is false for a type that has no vectors.
func SetConst(vec *vector.Vector, v expr.Value, n int) bool {
	t := v.Type
	if v.Null {
		vector.SetNull(vec, t, n)
		return vector.PhysOf(t) != vector.PhysNone
	}
	switch vector.PhysOf(t) {
	case vector.PhysBool:
		vector.SetConstBool(vec, t, []uint64{uint64(v.Int & 1)}, n)
	case vector.PhysInt8:
		vector.SetConst(vec, t, []int8{int8(v.Int)}, n)
	case vector.PhysInt16:
		vector.SetConst(vec, t, []int16{int16(v.Int)}, n)
	case vector.PhysInt32:
		vector.SetConst(vec, t, []int32{int32(v.Int)}, n)
	case vector.PhysInt64:
		if t.Kind == sqltype.Decimal {
			vector.SetConst(vec, t, []int64{int64(v.Wide.Lo)}, n)
			break
		}
		vector.SetConst(vec, t, []int64{v.Int}, n)
	case vector.PhysUint8:
		vector.SetConst(vec, t, []uint8{uint8(v.Int)}, n)
	case vector.PhysUint16:
		vector.SetConst(vec, t, []uint16{uint16(v.Int)}, n)
	case vector.PhysUint32:
		vector.SetConst(vec, t, []uint32{uint32(v.Int)}, n)
	case vector.PhysUint64:
		vector.SetConst(vec, t, []uint64{uint64(v.Int)}, n)
	case vector.PhysFloat32:
		vector.SetConst(vec, t, []float32{float32(v.Float)}, n)
	case vector.PhysFloat64:
		vector.SetConst(vec, t, []float64{v.Float}, n)
	case vector.PhysInt128:
		if narrow, fits := v.Wide.Int64(); fits && t.Kind == sqltype.Decimal {
			vector.SetConst(vec, t, []int64{narrow}, n)
			break
		}
		vector.SetConst(vec, t, []int128.Int128{v.Wide}, n)
	case vector.PhysString:
		vector.SetConst(vec, t, []string{v.Str}, n)
	case vector.PhysInterval:
		vector.SetConst(vec, t, []vector.Interval{{Months: v.Months, Days: v.Days, Micros: v.Int}}, n)
	default:
		return false
	}
	return true
}

// ValueAt is row i of v as a constant, for slow paths: its strings are v's.
func ValueAt(v *vector.Vector, i int) expr.Value {
	if v.IsNull(i) {
		return expr.NullOf(v.Type)
	}
	return expr.ScalarValue(v.Type, nested.At(v, i))
}
