package expr

import (
	"github.com/fletchdb/fletch/engine/sqltype"
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
//	Interval                               Months, Days, Int (microseconds)
type Value struct {
	Type         sqltype.Type
	Null         bool
	Int          int64
	Float        float64
	Str          string
	Wide         int128.Int128
	Months, Days int32
	Elems        []Value // of List and Struct
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

// IsTrue tells whether v is the BOOLEAN true.
func (v Value) IsTrue() bool { return v.Type.Kind == sqltype.Bool && !v.Null && v.Int == 1 }
