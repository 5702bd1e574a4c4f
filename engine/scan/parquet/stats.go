package parquet

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// Stats is what a file says of the values of a column in a row group, as far as it can be trusted: bounds whose order is
// not that of the type, or not known, are left out.
type Stats struct {
	// Min and Max are of the column's type: no value that is not NULL is less than Min or greater than Max. They count
	// only if HasMin, HasMax. Of floats, NaN is outside of both.
	Min, Max       expr.Value
	HasMin, HasMax bool
	// MinExact and MaxExact tell that the bound is a value that the column has: false for what may have been cut short,
	// and for floats, which may have NaN beside them.
	MinExact, MaxExact bool
	NullCount          int64 // −1: not known
	DistinctCount      int64 // −1: not known; NULL does not count
}

// stats is what c says of the column.
func (c *Column) stats(m *chunkMeta, rows int64, orders []bool) Stats {
	s := Stats{NullCount: -1, DistinctCount: -1}
	switch n := m.stats.nulls; {
	case !c.Nullable:
		s.NullCount = 0
	case n >= 0 && n <= rows:
		s.NullCount = n
	}
	if n := m.stats.distinct; n > 0 && n <= rows {
		s.DistinctCount = n
	}
	if !c.ordered(orders) {
		return s
	}
	if m.stats.min != nil {
		s.Min, s.HasMin = c.bound(m.stats.min)
		s.MinExact = s.HasMin && c.exact(m.stats.minExact)
	}
	if m.stats.max != nil {
		s.Max, s.HasMax = c.bound(m.stats.max)
		s.MaxExact = s.HasMax && c.exact(m.stats.maxExact)
	}
	if isText(c.Type) && s.HasMin && !utf8.ValidString(s.Min.Str) {
		s.Min.Str, s.MinExact = validPrefix(s.Min.Str), false // what is cut in the middle of a character is still below
	}
	if isText(c.Type) && s.HasMax && !utf8.ValidString(s.Max.Str) {
		s.Max, s.HasMax, s.MaxExact = expr.Value{}, false, false
	}
	return s
}

func isText(t sqltype.Type) bool { return t.Kind == sqltype.Utf8 }

// ordered tells whether the column's bounds are in the order of its type. Where the file does not say, only plain signed
// integers are: writers have never disagreed on those.
func (c *Column) ordered(orders []bool) bool {
	switch {
	case c.element.typ == typeInt96 || c.Type.Kind == sqltype.Interval:
		return false
	case c.element.logical.id == logicalFloat16:
		return false
	case orders != nil:
		return c.leaf < len(orders) && orders[c.leaf]
	case c.element.typ == typeInt32 || c.element.typ == typeInt64:
		return c.Type.Kind < sqltype.Uint8 || c.Type.Kind > sqltype.Uint64
	}
	return false
}

// exact tells whether a bound is a value that occurs, said being what the file says.
func (c *Column) exact(said bool) bool {
	switch c.Type.Kind {
	case sqltype.Utf8, sqltype.Binary:
		return said
	case sqltype.Float32, sqltype.Float64:
		return false
	}
	return true
}

// bound is a bound out of its PLAIN bytes, without a length before them.
func (c *Column) bound(b []byte) (v expr.Value, ok bool) {
	t := c.Type
	switch c.element.typ {
	case typeBoolean:
		if len(b) != 1 || b[0] > 1 {
			return v, false
		}
		return expr.BoolValue(b[0] == 1), true
	case typeInt32:
		if len(b) != 4 {
			return v, false
		}
		return c.boundInt(int64(int32(binary.LittleEndian.Uint32(b))))
	case typeInt64:
		if len(b) != 8 {
			return v, false
		}
		return c.boundInt(int64(binary.LittleEndian.Uint64(b)))
	case typeFloat:
		if len(b) != 4 {
			return v, false
		}
		return boundFloat(t, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case typeDouble:
		if len(b) != 8 {
			return v, false
		}
		return boundFloat(t, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	switch t.Kind {
	case sqltype.Utf8, sqltype.Binary:
		return expr.Value{Type: t, Str: string(b)}, true
	case sqltype.Decimal:
		w, ok := bigEndian(b)
		return expr.Value{Type: t, Wide: w}, ok && len(b) > 0
	}
	return v, false
}

func (c *Column) boundInt(i int64) (v expr.Value, ok bool) {
	switch c.Type.Kind {
	case sqltype.Decimal:
		return expr.Value{Type: c.Type, Wide: int128.FromInt64(i)}, true
	case sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		i, ok = toMicros(i, c.element.unit())
		return expr.IntValue(c.Type, i), ok
	case sqltype.Int8:
		ok = i == int64(int8(i))
	case sqltype.Int16:
		ok = i == int64(int16(i))
	case sqltype.Uint8:
		ok = i == int64(uint8(i))
	case sqltype.Uint16:
		ok = i == int64(uint16(i))
	case sqltype.Uint32:
		i, ok = int64(uint32(i)), true
	default:
		ok = true
	}
	return expr.IntValue(c.Type, i), ok
}

func boundFloat(t sqltype.Type, f float64) (expr.Value, bool) {
	return expr.Value{Type: t, Float: f}, !math.IsNaN(f)
}

// toMicros turns a time in unit into microseconds, rounding down; ok is false where they are too many.
func toMicros(i int64, unit int) (micros int64, ok bool) {
	switch unit {
	case unitMillis:
		micros = i * 1000
		return micros, micros/1000 == i
	case unitNanos:
		return floorDiv(i, 1000), true
	}
	return i, true
}

func floorDiv(i, by int64) int64 {
	q := i / by
	if i%by < 0 {
		q--
	}
	return q
}

// bigEndian is a two's complement number of any length; ok is false where it has more than 128 bits.
func bigEndian(b []byte) (v int128.Int128, ok bool) {
	if len(b) == 0 {
		return v, true
	}
	sign := byte(int8(b[0]) >> 7)
	for len(b) > 16 {
		if b[0] != sign {
			return v, false
		}
		b = b[1:]
	}
	var full [16]byte
	if sign != 0 {
		for i := range full {
			full[i] = sign
		}
	}
	copy(full[16-len(b):], b)
	v = int128.Int128{Hi: int64(binary.BigEndian.Uint64(full[:8])), Lo: binary.BigEndian.Uint64(full[8:])}
	return v, byte(v.Hi>>63) == sign
}

// uuid is 16 bytes as a number, the first the highest.
func uuid(b []byte) int128.Int128 {
	return int128.Int128{Hi: int64(binary.BigEndian.Uint64(b)), Lo: binary.BigEndian.Uint64(b[8:])}
}

// validPrefix is s up to the character that it was cut in.
func validPrefix(s string) string {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n < 2 {
				return s[:i]
			}
		}
	}
	return s
}
