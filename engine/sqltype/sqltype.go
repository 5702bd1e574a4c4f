// Package sqltype holds the SQL types: what a column, an expression and a result are made of. It knows how a type is
// written and how two types meet; it must never know how values lie in memory (vector) or what functions exist (expr).
package sqltype

import (
	"fmt"
	"strings"
)

// A Kind is a family of types.
type Kind uint8

// The kinds. Their order is no wire format: the plan's protobuf has its own numbers.
const (
	Invalid Kind = iota
	Null         // the type of a bare NULL; coerces to every type
	Bool
	Int8
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Decimal // Precision digits (1..38), Scale of them (0..Precision) after the point
	Utf8
	Binary
	Date        // days since 1970-01-01, int32
	Time        // microseconds since midnight, int64
	Timestamp   // microseconds since 1970-01-01 00:00, no zone, int64
	TimestampTZ // microseconds since 1970-01-01 00:00 UTC, int64
	Interval    // months, days and microseconds
	UUID        // 16 bytes
	List        // Elem
	Struct      // Fields
)

// MaxPrecision is the largest number of decimal digits.
const MaxPrecision = 38

// A Type is a SQL type. The zero Type is invalid. Compare with Equal: == is false for equal nested types.
type Type struct {
	Kind      Kind
	Precision uint8 // of a Decimal
	Scale     uint8 // of a Decimal
	Elem      *Type // of a List
	Fields    []Field
}

// A Field is a member of a Struct.
type Field struct {
	Name string
	Type Type
}

// Of is the type of kind k without parameters; a Decimal needs DecimalOf.
func Of(k Kind) Type { return Type{Kind: k} }

// DecimalOf is DECIMAL(precision, scale).
func DecimalOf(precision, scale int) Type {
	return Type{Kind: Decimal, Precision: uint8(precision), Scale: uint8(scale)}
}

// ListOf is a list of elem.
func ListOf(elem Type) Type { return Type{Kind: List, Elem: &elem} }

// StructOf is a struct of fields.
func StructOf(fields ...Field) Type { return Type{Kind: Struct, Fields: fields} }

// Equal tells whether t and u are the same type.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || len(t.Fields) != len(u.Fields) {
		return false
	}
	if (t.Elem == nil) != (u.Elem == nil) || t.Elem != nil && !t.Elem.Equal(*u.Elem) {
		return false
	}
	for i, f := range t.Fields {
		if f.Name != u.Fields[i].Name || !f.Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return true
}

// IsInteger tells whether t is one of the eight integer types.
func (t Type) IsInteger() bool { return t.Kind >= Int8 && t.Kind <= Uint64 }

// IsSigned tells whether t is a signed integer type.
func (t Type) IsSigned() bool { return t.Kind >= Int8 && t.Kind <= Int64 }

// IsFloat tells whether t is a floating-point type.
func (t Type) IsFloat() bool { return t.Kind == Float32 || t.Kind == Float64 }

// IsNumeric tells whether t is an integer, a float or a decimal.
func (t Type) IsNumeric() bool { return t.Kind >= Int8 && t.Kind <= Decimal }

// IsTemporal tells whether t is a date, a time, a timestamp or an interval.
func (t Type) IsTemporal() bool { return t.Kind >= Date && t.Kind <= Interval }

// IsNested tells whether t is made of other types.
func (t Type) IsNested() bool { return t.Kind == List || t.Kind == Struct }

// Digits is how many decimal digits hold every value of an integer type.
func (t Type) Digits() int {
	switch t.Kind {
	case Int8, Uint8:
		return 3
	case Int16, Uint16:
		return 5
	case Int32, Uint32:
		return 10
	case Int64:
		return 19
	case Uint64:
		return 20
	case Decimal:
		return int(t.Precision)
	}
	return 0
}

var names = [...]string{
	Invalid: "INVALID", Null: "NULL", Bool: "BOOLEAN", Int8: "TINYINT", Int16: "SMALLINT", Int32: "INTEGER", Int64: "BIGINT",
	Uint8: "UTINYINT", Uint16: "USMALLINT", Uint32: "UINTEGER", Uint64: "UBIGINT", Float32: "REAL", Float64: "DOUBLE PRECISION",
	Decimal: "DECIMAL", Utf8: "VARCHAR", Binary: "BYTEA", Date: "DATE", Time: "TIME", Timestamp: "TIMESTAMP",
	TimestampTZ: "TIMESTAMP WITH TIME ZONE", Interval: "INTERVAL", UUID: "UUID", List: "LIST", Struct: "STRUCT",
}

// String is the type as SQL writes it, such as "DECIMAL(15,2)".
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case List:
		if t.Elem == nil {
			return "LIST"
		}
		return t.Elem.String() + "[]"
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + " " + f.Type.String()
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	if int(t.Kind) < len(names) {
		return names[t.Kind]
	}
	return "INVALID"
}
