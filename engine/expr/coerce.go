package expr

import (
	"slices"

	"github.com/fletchdb/fletch/engine/sqltype"
)

// A CastContext is where a conversion stands: what is allowed without the user's asking depends on it.
type CastContext uint8

// The contexts, each allowing all that those before it do.
const (
	Implicit   CastContext = iota // an operand: nothing may be lost
	Assignment                    // a value stored into a column: it may be rounded or fail
	Explicit                      // CAST
)

const costAny = 1000 // a pattern is taken where no kind fits better

// The order in which a number is promoted. What is farther right costs more, so that an exact type is kept where it can be, and
// DOUBLE comes before REAL, which would lose digits.
var numericRank = map[sqltype.Kind]int{
	sqltype.Int8: 1, sqltype.Uint8: 1, sqltype.Int16: 2, sqltype.Uint16: 2, sqltype.Int32: 3, sqltype.Uint32: 3,
	sqltype.Int64: 4, sqltype.Uint64: 4, sqltype.Decimal: 20, sqltype.Float64: 40, sqltype.Float32: 45,
}

func intBits(k sqltype.Kind) (bits int, signed bool) {
	switch k {
	case sqltype.Int8:
		return 8, true
	case sqltype.Int16:
		return 16, true
	case sqltype.Int32:
		return 32, true
	case sqltype.Int64:
		return 64, true
	case sqltype.Uint8:
		return 8, false
	case sqltype.Uint16:
		return 16, false
	case sqltype.Uint32:
		return 32, false
	case sqltype.Uint64:
		return 64, false
	}
	return 0, false
}

// coercionCost tells whether from becomes to implicitly, and how dear that is in the choice of an overload.
func coercionCost(from, to sqltype.Kind) (int, bool) {
	if from == to {
		return 0, true
	}
	if from == sqltype.Null { // PostgreSQL prefers text, then the preferred type of a category
		switch to {
		case sqltype.Utf8:
			return 1, true
		case sqltype.Float64, sqltype.TimestampTZ, sqltype.Bool:
			return 2, true
		}
		return 3, true
	}
	fromBits, fromSigned := intBits(from)
	toBits, toSigned := intBits(to)
	switch {
	case fromBits > 0 && toBits > 0:
		if fromSigned == toSigned && fromBits < toBits || !fromSigned && toSigned && fromBits < toBits {
			cost := 2 * (numericRank[to] - numericRank[from])
			if fromSigned != toSigned {
				cost++
			}
			return cost, true
		}
		return 0, false
	case fromBits > 0 && (to == sqltype.Decimal || to == sqltype.Float64 || to == sqltype.Float32):
		return numericRank[to], true
	case from == sqltype.Decimal && (to == sqltype.Float64 || to == sqltype.Float32):
		return numericRank[to] - numericRank[from], true
	case from == sqltype.Float32 && to == sqltype.Float64:
		return 2, true
	case from == sqltype.Date && to == sqltype.Timestamp:
		return 2, true
	case (from == sqltype.Date || from == sqltype.Timestamp) && to == sqltype.TimestampTZ:
		return 3, true
	}
	return 0, false
}

// coercedTo is a as an argument of kind k: itself where it is one, an integer as a decimal of all its digits. A NULL becomes a
// decimal of precision 0, which the caller settles.
func coercedTo(a sqltype.Type, k sqltype.Kind) sqltype.Type {
	if a.Kind == k {
		return a
	}
	if k == sqltype.Decimal {
		return sqltype.DecimalOf(a.Digits(), 0)
	}
	return sqltype.Of(k)
}

// CommonType is the type that values of a and b are compared in, or the type of a CASE with such arms: the narrowest that both
// become implicitly. NULL and untyped literals take the other's type. ok is false where there is none.
func CommonType(a, b sqltype.Type) (t sqltype.Type, ok bool) {
	switch {
	case a.Equal(b), b.Kind == sqltype.Null:
		return a, true
	case a.Kind == sqltype.Null:
		return b, true
	case a.IsInteger() && b.IsInteger():
		return commonInteger(a, b), true
	case a.IsNumeric() && b.IsNumeric():
		if a.IsFloat() || b.IsFloat() {
			return sqltype.Of(sqltype.Float64), true // two REALs are equal; REAL and an exact number meet in DOUBLE
		}
		return commonDecimal(coercedTo(a, sqltype.Decimal), coercedTo(b, sqltype.Decimal)), true
	case a.Kind == sqltype.List && b.Kind == sqltype.List:
		if elem, ok := CommonType(*a.Elem, *b.Elem); ok {
			return sqltype.ListOf(elem), true
		}
		return t, false
	case a.Kind == sqltype.Struct && b.Kind == sqltype.Struct:
		return commonStruct(a, b)
	}
	if a.IsNested() || b.IsNested() {
		return t, false
	}
	if _, ok := coercionCost(a.Kind, b.Kind); ok {
		return b, true
	}
	if _, ok := coercionCost(b.Kind, a.Kind); ok {
		return a, true
	}
	return t, false
}

// commonStruct has a's fields, each of the type that it and b's field meet in.
func commonStruct(a, b sqltype.Type) (sqltype.Type, bool) {
	from, ok := StructCast(b, a)
	if !ok {
		return sqltype.Type{}, false
	}
	fields := make([]sqltype.Field, len(a.Fields))
	for i, f := range a.Fields {
		if f.Type, ok = CommonType(f.Type, b.Fields[from[i]].Type); !ok {
			return sqltype.Type{}, false
		}
		fields[i] = f
	}
	return sqltype.StructOf(fields...), true
}

// StructCast tells which field of from becomes each of to's: the one of its name where both have the same names, else the one at
// its place. ok is false where they have not as many.
func StructCast(from, to sqltype.Type) (fields []int, ok bool) {
	if len(from.Fields) != len(to.Fields) {
		return nil, false
	}
	for _, f := range to.Fields {
		at := slices.IndexFunc(from.Fields, func(g sqltype.Field) bool { return g.Name == f.Name })
		if at < 0 || slices.Contains(fields, at) {
			fields = fields[:0]
			for i := range to.Fields {
				fields = append(fields, i)
			}
			return fields, true
		}
		fields = append(fields, at)
	}
	return fields, true
}

func commonInteger(a, b sqltype.Type) sqltype.Type {
	if _, ok := coercionCost(a.Kind, b.Kind); ok {
		return b
	}
	if _, ok := coercionCost(b.Kind, a.Kind); ok {
		return a
	}
	// One is signed, the other not and at least as wide.
	u, _ := intBits(a.Kind)
	if a.IsSigned() {
		u, _ = intBits(b.Kind)
	}
	switch u {
	case 8:
		return sqltype.Of(sqltype.Int16)
	case 16:
		return sqltype.Of(sqltype.Int32)
	case 32:
		return sqltype.Of(sqltype.Int64)
	}
	return sqltype.DecimalOf(20, 0)
}

// commonDecimal holds every value of a and b where 38 digits can; what then does not fit is an error when it comes.
func commonDecimal(a, b sqltype.Type) sqltype.Type {
	scale := max(int(a.Scale), int(b.Scale))
	whole := max(int(a.Precision)-int(a.Scale), int(b.Precision)-int(b.Scale))
	return sqltype.DecimalOf(min(whole+scale, sqltype.MaxPrecision), scale)
}

// CastAllowed tells whether values of from may become values of to in context in. That it is allowed does not mean that it
// succeeds for every value.
func CastAllowed(from, to sqltype.Type, in CastContext) bool {
	if from.Equal(to) || from.Kind == sqltype.Null {
		return true
	}
	if from.Kind == sqltype.List && to.Kind == sqltype.List {
		return CastAllowed(*from.Elem, *to.Elem, in)
	}
	if from.Kind == sqltype.Struct && to.Kind == sqltype.Struct {
		fields, ok := StructCast(from, to)
		for i, f := range fields {
			ok = ok && CastAllowed(from.Fields[f].Type, to.Fields[i].Type, in)
		}
		return ok
	}
	if from.IsNested() {
		return to.Kind == sqltype.Utf8 && in >= Assignment
	}
	if to.IsNested() {
		return to.Kind == sqltype.List && from.Kind == sqltype.Utf8 && in == Explicit && CastAllowed(from, *to.Elem, in)
	}
	if from.Kind == sqltype.Decimal && to.Kind == sqltype.Decimal {
		// Of 38 digits there are no more: a value that then has no room is an error when it comes.
		return in >= Assignment || to.Scale >= from.Scale && (to.Precision == sqltype.MaxPrecision || to.Precision-to.Scale >= from.Precision-from.Scale)
	}
	if _, ok := coercionCost(from.Kind, to.Kind); ok {
		return true
	}
	f, t := from.Kind, to.Kind
	switch {
	case from.IsNumeric() && to.IsNumeric(), t == sqltype.Utf8:
		return in >= Assignment
	case f == sqltype.Timestamp, f == sqltype.TimestampTZ:
		return in >= Assignment && (t == sqltype.Date || t == sqltype.Time || t == sqltype.Timestamp)
	case f == sqltype.Utf8:
		return in == Explicit
	case f == sqltype.Bool:
		return in == Explicit && to.IsInteger()
	case from.IsInteger():
		return in == Explicit && t == sqltype.Bool
	case f == sqltype.Time:
		return t == sqltype.Interval
	case f == sqltype.Interval:
		return in >= Assignment && t == sqltype.Time
	}
	return false
}
