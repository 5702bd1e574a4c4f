// Package nested is how lists and structs lie in memory: each value is one string of bytes that compares as the value does, so
// that whatever keeps, hashes, groups or sorts strings does so with nested values and need not know them. It knows values and
// their text; it must never know expressions, functions or Arrow.
package nested

import (
	"encoding/binary"
	"iter"
	"math"
	"strings"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// The bytes of a value. A vector of a nested type holds values; what is within one are items.
//
//	list      an item per element, then byte 0
//	struct    an item per field
//	item      byte 1 and the value, or byte 2: NULL, which is above all values
//	BOOLEAN   0 or 1
//	integers, DATE, TIME, TIMESTAMP[TZ], DECIMAL, UUID
//	          highest byte first, in the bytes of the type's vector; the sign of signed ones inverted
//	floats    the bits, highest byte first; negative ones inverted, others with the sign inverted; −0 is 0 and NaN one
//	INTERVAL  its length in microseconds (30 days a month) in 16 bytes, then months, days, microseconds, all as integers
//	VARCHAR, BYTEA
//	          the bytes, each 0 followed by 255; then two 0
//
// Exchanges hash these bytes: changing them is a protocol bump.
const (
	endOfList = 0
	isValue   = 1
	isNull    = 2
)

// A Scalar is the value of an item. Which field holds it follows from the type: Int for truth values, integers (UBIGINT by its
// bits), dates and times; Wide for DECIMAL and UUID; Str for text, bytes and the values of nested types.
type Scalar struct {
	Null     bool
	Int      int64
	Float    float64
	Wide     int128.Int128
	Interval vector.Interval
	Str      string
}

// Append appends the item of s, which is of type t.
func Append(dst []byte, t sqltype.Type, s Scalar) []byte {
	if s.Null || t.Kind == sqltype.Null {
		return append(dst, isNull)
	}
	dst = append(dst, isValue)
	switch p := vector.PhysOf(t); {
	case t.IsNested():
		return append(dst, s.Str...)
	case p == vector.PhysString:
		return append(appendEscaped(dst, s.Str), 0, 0)
	case p == vector.PhysBool:
		return append(dst, byte(s.Int&1))
	case p == vector.PhysInterval:
		iv := s.Interval
		dst = appendWide(dst, span(iv))
		dst = binary.BigEndian.AppendUint32(dst, uint32(iv.Months)^1<<31)
		dst = binary.BigEndian.AppendUint32(dst, uint32(iv.Days)^1<<31)
		return binary.BigEndian.AppendUint64(dst, uint64(iv.Micros)^1<<63)
	case p == vector.PhysFloat32:
		u := math.Float32bits(float32(s.Float))
		switch {
		case s.Float != s.Float:
			u = math.MaxUint32
		case s.Float == 0:
			u = 1 << 31
		case u>>31 == 1:
			u = ^u
		default:
			u |= 1 << 31
		}
		return binary.BigEndian.AppendUint32(dst, u)
	case p == vector.PhysFloat64:
		u := math.Float64bits(s.Float)
		switch {
		case s.Float != s.Float:
			u = math.MaxUint64
		case s.Float == 0:
			u = 1 << 63
		case u>>63 == 1:
			u = ^u
		default:
			u |= 1 << 63
		}
		return binary.BigEndian.AppendUint64(dst, u)
	case t.Kind == sqltype.UUID:
		dst = binary.BigEndian.AppendUint64(dst, uint64(s.Wide.Hi))
		return binary.BigEndian.AppendUint64(dst, s.Wide.Lo)
	case p == vector.PhysInt128:
		return appendWide(dst, s.Wide)
	case t.Kind == sqltype.Decimal:
		return binary.BigEndian.AppendUint64(dst, s.Wide.Lo^1<<63)
	}
	width, signed := widthOf(t)
	u := uint64(s.Int)
	if signed {
		u ^= 1 << (8*width - 1)
	}
	for k := width - 1; k >= 0; k-- {
		dst = append(dst, byte(u>>(8*k)))
	}
	return dst
}

func appendWide(dst []byte, x int128.Int128) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(x.Hi)^1<<63)
	return binary.BigEndian.AppendUint64(dst, x.Lo)
}

// span is the length of an interval in microseconds.
func span(v vector.Interval) int128.Int128 {
	const day = 86_400_000_000
	return int128.MulInt64s(30*int64(v.Months)+int64(v.Days), day).Add(int128.FromInt64(v.Micros))
}

func appendEscaped(dst []byte, s string) []byte {
	for {
		at := strings.IndexByte(s, 0)
		if at < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:at+1]...), 0xff)
		s = s[at+1:]
	}
}

// widthOf is the bytes of an integer, date or time.
func widthOf(t sqltype.Type) (width int, signed bool) {
	switch vector.PhysOf(t) {
	case vector.PhysInt8:
		return 1, true
	case vector.PhysInt16:
		return 2, true
	case vector.PhysInt32:
		return 4, true
	case vector.PhysUint8:
		return 1, false
	case vector.PhysUint16:
		return 2, false
	case vector.PhysUint32:
		return 4, false
	case vector.PhysUint64:
		return 8, false
	}
	return 8, true
}

// Len is the bytes of the first item of s, which is of type t.
func Len(t sqltype.Type, s string) int {
	if s[0] == isNull {
		return 1
	}
	return 1 + valueLen(t, s[1:])
}

func valueLen(t sqltype.Type, s string) int {
	switch p := vector.PhysOf(t); {
	case t.Kind == sqltype.List:
		n := 0
		for s[n] != endOfList {
			n += Len(*t.Elem, s[n:])
		}
		return n + 1
	case t.Kind == sqltype.Struct:
		n := 0
		for _, f := range t.Fields {
			n += Len(f.Type, s[n:])
		}
		return n
	case p == vector.PhysString:
		n := 0
		for {
			n += strings.IndexByte(s[n:], 0)
			if s[n+1] == 0 {
				return n + 2
			}
			n += 2
		}
	case p == vector.PhysBool:
		return 1
	case p == vector.PhysFloat32:
		return 4
	case p == vector.PhysInt128:
		return 16
	case p == vector.PhysInterval:
		return 32
	}
	width, _ := widthOf(t)
	return width
}

// IsNull tells whether an item is NULL.
func IsNull(item string) bool { return item[0] == isNull }

// Get is the value of an item of type t. Its strings are parts of item where they can be.
func Get(t sqltype.Type, item string) Scalar {
	if item[0] == isNull {
		return Scalar{Null: true}
	}
	s := item[1:]
	switch p := vector.PhysOf(t); {
	case t.IsNested():
		return Scalar{Str: s}
	case p == vector.PhysString:
		s = s[:len(s)-2]
		if strings.IndexByte(s, 0) >= 0 {
			s = strings.ReplaceAll(s, "\x00\xff", "\x00")
		}
		return Scalar{Str: s}
	case p == vector.PhysBool:
		return Scalar{Int: int64(s[0])}
	case p == vector.PhysInterval:
		return Scalar{Interval: vector.Interval{
			Months: int32(word(s[16:20])) ^ math.MinInt32, Days: int32(word(s[20:24])) ^ math.MinInt32, Micros: int64(word(s[24:32])) ^ math.MinInt64,
		}}
	case p == vector.PhysFloat32:
		u := uint32(word(s[:4]))
		switch {
		case u == math.MaxUint32:
			return Scalar{Float: math.NaN()}
		case u>>31 == 1:
			u ^= 1 << 31
		default:
			u = ^u
		}
		return Scalar{Float: float64(math.Float32frombits(u))}
	case p == vector.PhysFloat64:
		u := word(s[:8])
		switch {
		case u == math.MaxUint64:
			return Scalar{Float: math.NaN()}
		case u>>63 == 1:
			u ^= 1 << 63
		default:
			u = ^u
		}
		return Scalar{Float: math.Float64frombits(u)}
	case t.Kind == sqltype.UUID:
		return Scalar{Wide: int128.Int128{Hi: int64(word(s[:8])), Lo: word(s[8:16])}}
	case p == vector.PhysInt128:
		return Scalar{Wide: int128.Int128{Hi: int64(word(s[:8])) ^ math.MinInt64, Lo: word(s[8:16])}}
	case t.Kind == sqltype.Decimal:
		return Scalar{Wide: int128.FromInt64(int64(word(s[:8])) ^ math.MinInt64)}
	}
	width, signed := widthOf(t)
	u := word(s[:width])
	if signed {
		shift := 64 - 8*width
		return Scalar{Int: int64((u^1<<(8*width-1))<<shift) >> shift}
	}
	return Scalar{Int: int64(u)}
}

func word(s string) uint64 {
	var u uint64
	for i := range len(s) {
		u = u<<8 | uint64(s[i])
	}
	return u
}

// Items are the elements of a list of type t, in order.
func Items(t sqltype.Type, list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for list[0] != endOfList {
			n := Len(*t.Elem, list)
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// Count is the number of elements of a list of type t.
func Count(t sqltype.Type, list string) int {
	n := 0
	for range Items(t, list) {
		n++
	}
	return n
}

// EndList ends a list whose elements have been appended.
func EndList(dst []byte) []byte { return append(dst, endOfList) }

// Body is the elements of a list without its end, to be appended to others.
func Body(list string) string { return list[:len(list)-1] }

// Field is the item of field i of a struct of type t.
func Field(t sqltype.Type, value string, i int) string {
	for _, f := range t.Fields[:i] {
		value = value[Len(f.Type, value):]
	}
	return value[:Len(t.Fields[i].Type, value)]
}

// Parts are the items of a list or of a struct.
func Parts(t sqltype.Type, value string) []string {
	var out []string
	if t.Kind == sqltype.List {
		for item := range Items(t, value) {
			out = append(out, item)
		}
		return out
	}
	for _, f := range t.Fields {
		n := Len(f.Type, value)
		out, value = append(out, value[:n]), value[n:]
	}
	return out
}

// PartType is the type of part i of a value of type t.
func PartType(t sqltype.Type, i int) sqltype.Type {
	if t.Kind == sqltype.List {
		return *t.Elem
	}
	return t.Fields[i].Type
}
