package expr

import (
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A Value is a constant of any scalar type. Which field holds it follows from the type's kind:
//
//	Bool                                   Int, 0 or 1
//	Int8 … Int64, Date, Time, Timestamp[TZ] Int
//	Uint8 … Uint64                         Int, the same 64 bits
//	Float32, Float64                       Float
//	Decimal                                Wide, unscaled; also UUID's 128 bits
//	Utf8, Binary                           Str
//	List, Struct                           Str, as package nested has it
//	Interval                               Months, Days, Int (microseconds)
type Value struct {
	Type         sqltype.Type
	Null         bool
	Int          int64
	Float        float64
	Str          string
	Wide         int128.Int128
	Months, Days int32
}

// NullOf is NULL of type t.
func NullOf(t sqltype.Type) Value { return Value{Type: t, Null: true} }

// BoolValue is a BOOLEAN.
func BoolValue(b bool) Value {
	v := Value{Type: sqltype.Of(sqltype.Bool)}
	if b {
		v.Int = 1
	}
	return v
}

// IntValue is an integer, date or time of type t.
func IntValue(t sqltype.Type, i int64) Value { return Value{Type: t, Int: i} }

// StringValue is a VARCHAR.
func StringValue(s string) Value { return Value{Type: sqltype.Of(sqltype.Utf8), Str: s} }

// FloatValue is a DOUBLE PRECISION.
func FloatValue(f float64) Value { return Value{Type: sqltype.Of(sqltype.Float64), Float: f} }

// NestedOf is a list or struct of type t of parts, each of the type that t wants there.
func NestedOf(t sqltype.Type, parts []Value) Value {
	var dst []byte
	for _, p := range parts {
		dst = nested.Append(dst, p.Type, p.scalar())
	}
	if t.Kind == sqltype.List {
		dst = nested.EndList(dst)
	}
	return Value{Type: t, Str: string(dst)}
}

// Parts are the elements of a list or the fields of a struct; none for NULL.
func (v Value) Parts() []Value {
	if v.Null {
		return nil
	}
	var out []Value
	for i, item := range nested.Parts(v.Type, v.Str) {
		t := nested.PartType(v.Type, i)
		out = append(out, ScalarValue(t, nested.Get(t, item)))
	}
	return out
}

func (v Value) scalar() nested.Scalar {
	return nested.Scalar{
		Null: v.Null, Int: v.Int, Float: v.Float, Wide: v.Wide, Str: v.Str, Interval: vector.Interval{Months: v.Months, Days: v.Days, Micros: v.Int},
	}
}

// ScalarValue is s, of type t, as a constant.
func ScalarValue(t sqltype.Type, s nested.Scalar) Value {
	v := Value{Type: t, Null: s.Null, Int: s.Int, Float: s.Float, Wide: s.Wide, Str: s.Str}
	if t.Kind == sqltype.Interval {
		v.Months, v.Days, v.Int = s.Interval.Months, s.Interval.Days, s.Interval.Micros
	}
	return v
}

// IsTrue tells whether v is the BOOLEAN true.
func (v Value) IsTrue() bool { return v.Type.Kind == sqltype.Bool && !v.Null && v.Int == 1 }
