package nested

import (
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// At is row i of v, of any type and form. Its strings are v's.
func At(v *vector.Vector, i int) Scalar {
	if v.IsNull(i) {
		return Scalar{Null: true}
	}
	at, j := v.At(i)
	switch at.Phys {
	case vector.PhysBool:
		return Scalar{Int: int64(vector.Bits(at)[j>>6] >> (uint(j) & 63) & 1)}
	case vector.PhysInt8:
		return Scalar{Int: int64(vector.Values[int8](at)[j])}
	case vector.PhysInt16:
		return Scalar{Int: int64(vector.Values[int16](at)[j])}
	case vector.PhysInt32:
		return Scalar{Int: int64(vector.Values[int32](at)[j])}
	case vector.PhysInt64:
		x := vector.Values[int64](at)[j]
		if v.Type.Kind == sqltype.Decimal {
			return Scalar{Wide: int128.FromInt64(x)}
		}
		return Scalar{Int: x}
	case vector.PhysUint8:
		return Scalar{Int: int64(vector.Values[uint8](at)[j])}
	case vector.PhysUint16:
		return Scalar{Int: int64(vector.Values[uint16](at)[j])}
	case vector.PhysUint32:
		return Scalar{Int: int64(vector.Values[uint32](at)[j])}
	case vector.PhysUint64:
		return Scalar{Int: int64(vector.Values[uint64](at)[j])}
	case vector.PhysFloat32:
		return Scalar{Float: float64(vector.Values[float32](at)[j])}
	case vector.PhysFloat64:
		return Scalar{Float: vector.Values[float64](at)[j]}
	case vector.PhysInt128:
		return Scalar{Wide: vector.Values[int128.Int128](at)[j]}
	case vector.PhysString:
		return Scalar{Str: vector.Values[string](at)[j]}
	case vector.PhysInterval:
		return Scalar{Interval: vector.Values[vector.Interval](at)[j]}
	}
	return Scalar{Null: true}
}

// AppendRow appends row i of v as an item.
func AppendRow(dst []byte, v *vector.Vector, i int) []byte { return Append(dst, v.Type, At(v, i)) }

// A Column collects values of one type as a vector: what UNNEST gives, or the elements that a function works on.
type Column struct {
	typ       sqltype.Type
	n         int
	bits      []uint64
	ints      []int64
	floats    []float64
	wide      []int128.Int128
	strs      []string
	intervals []vector.Interval
	valid     []uint64
	nulls     bool
	vec       vector.Vector
}

// NewColumn is an empty column of type t.
func NewColumn(t sqltype.Type) *Column { return &Column{typ: t} }

// Len is the number of values.
func (c *Column) Len() int { return c.n }

// Reset makes c empty. The vector it gave is not used afterwards.
func (c *Column) Reset() {
	c.n, c.nulls = 0, false
	c.bits, c.valid, c.ints, c.floats = c.bits[:0], c.valid[:0], c.ints[:0], c.floats[:0]
	c.wide, c.strs, c.intervals = c.wide[:0], c.strs[:0], c.intervals[:0]
}

// AddItem adds an item of c's type. Its strings are kept, not copied.
func (c *Column) AddItem(item string) { c.Add(Get(c.typ, item)) }

// Add adds a value. Its strings are kept, not copied.
func (c *Column) Add(s Scalar) {
	if c.n&63 == 0 {
		c.valid = append(c.valid, 0)
	}
	if s.Null {
		c.nulls = true
	} else {
		c.valid[c.n>>6] |= 1 << (uint(c.n) & 63)
	}
	switch p := vector.PhysOf(c.typ); p {
	case vector.PhysBool:
		if c.n&63 == 0 {
			c.bits = append(c.bits, 0)
		}
		c.bits[c.n>>6] |= uint64(s.Int&1) << (uint(c.n) & 63)
	case vector.PhysFloat32, vector.PhysFloat64:
		c.floats = append(c.floats, s.Float)
	case vector.PhysInt128:
		c.wide = append(c.wide, s.Wide)
	case vector.PhysString:
		c.strs = append(c.strs, s.Str)
	case vector.PhysInterval:
		c.intervals = append(c.intervals, s.Interval)
	default:
		if c.typ.Kind == sqltype.Decimal {
			s.Int = int64(s.Wide.Lo)
		}
		c.ints = append(c.ints, s.Int)
	}
	c.n++
}

// Vector is the values so far, a flat vector that is valid until the next Reset.
func (c *Column) Vector() *vector.Vector {
	var valid []uint64
	if c.nulls {
		valid = c.valid
	}
	v := &c.vec
	if c.n == 0 {
		vector.SetNull(v, c.typ, 0)
		return v
	}
	switch vector.PhysOf(c.typ) {
	case vector.PhysBool:
		vector.SetBits(v, c.typ, c.bits, c.n, valid)
	case vector.PhysFloat32:
		setNarrow[float32](v, c.typ, c.floats, valid)
	case vector.PhysFloat64:
		vector.SetFlat(v, c.typ, c.floats, valid)
	case vector.PhysInt128:
		vector.SetFlat(v, c.typ, c.wide, valid)
	case vector.PhysString:
		vector.SetFlat(v, c.typ, c.strs, valid)
	case vector.PhysInterval:
		vector.SetFlat(v, c.typ, c.intervals, valid)
	case vector.PhysInt8:
		setNarrow[int8](v, c.typ, c.ints, valid)
	case vector.PhysInt16:
		setNarrow[int16](v, c.typ, c.ints, valid)
	case vector.PhysInt32:
		setNarrow[int32](v, c.typ, c.ints, valid)
	case vector.PhysUint8:
		setNarrow[uint8](v, c.typ, c.ints, valid)
	case vector.PhysUint16:
		setNarrow[uint16](v, c.typ, c.ints, valid)
	case vector.PhysUint32:
		setNarrow[uint32](v, c.typ, c.ints, valid)
	case vector.PhysUint64:
		setNarrow[uint64](v, c.typ, c.ints, valid)
	default:
		vector.SetFlat(v, c.typ, c.ints, valid)
	}
	return v
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func setNarrow[T interface {
	vector.Element
	number
}, S int64 | float64](v *vector.Vector, t sqltype.Type, wide []S, valid []uint64) {
	out := make([]T, len(wide))
	for i, x := range wide {
		out[i] = T(x)
	}
	vector.SetFlat(v, t, out, valid)
}
