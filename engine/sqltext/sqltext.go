// Package sqltext writes and reads single values as SQL text, as PostgreSQL does: numbers, dates, times, intervals, bytes. It
// works on plain Go values and must never know columns, expressions or how a client shows a table.
package sqltext

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// AppendBool appends "true" or "false".
func AppendBool(dst []byte, b bool) []byte { return strconv.AppendBool(dst, b) }

// AppendFloat appends the shortest text that reads as f again: plain digits for exponents from -4 to 14, else "1.5e+15"; NaN,
// Infinity and -Infinity by name.
func AppendFloat(dst []byte, f float64) []byte { return appendFloat(dst, f, 64, 15) }

// AppendFloat32 is AppendFloat for REAL, plain for exponents from -4 to 5.
func AppendFloat32(dst []byte, f float32) []byte { return appendFloat(dst, float64(f), 32, 6) }

func appendFloat(dst []byte, f float64, bits, plain int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	exp := 0
	for i := len(dst) - 1; i > start; i-- {
		if dst[i] == 'e' {
			exp, _ = strconv.Atoi(string(dst[i+1:]))
			break
		}
	}
	if exp < -4 || exp >= plain {
		return dst
	}
	return strconv.AppendFloat(dst[:start], f, 'f', -1, bits)
}

// AppendDecimal appends an unscaled decimal with exactly scale digits after the point.
func AppendDecimal(dst []byte, v int128.Int128, scale int) []byte { return v.Append(dst, scale) }

// AppendDate appends days since 1970-01-01 as YYYY-MM-DD, with " BC" for years before 1.
func AppendDate(dst []byte, days int32) []byte {
	dst, bc := appendDay(dst, int64(days))
	return appendEra(dst, bc)
}

func appendDay(dst []byte, days int64) (out []byte, bc bool) {
	y, m, d := calendar.Civil(days)
	if y <= 0 {
		y, bc = 1-y, true
	}
	if y < 1000 {
		dst = append(dst, "0000"[:4-digits(y)]...)
	}
	dst = append(strconv.AppendInt(dst, y, 10), '-')
	dst = append(appendTwo(dst, int64(m)), '-')
	return appendTwo(dst, int64(d)), bc
}

func digits(y int64) int {
	n := 1
	for y >= 10 {
		y /= 10
		n++
	}
	return n
}

func appendEra(dst []byte, bc bool) []byte {
	if bc {
		return append(dst, " BC"...)
	}
	return dst
}

func appendTwo(dst []byte, n int64) []byte {
	if n < 10 {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, n, 10)
}

// AppendTime appends microseconds since midnight as HH:MM:SS, with a fraction where there is one.
func AppendTime(dst []byte, micros int64) []byte {
	dst = append(appendTwo(dst, micros/calendar.Hour), ':')
	dst = append(appendTwo(dst, micros/calendar.Minute%60), ':')
	dst = appendTwo(dst, micros/calendar.Second%60)
	return appendFraction(dst, micros%calendar.Second)
}

// appendFraction appends millionths after a point, without zeros at the end; nothing for 0.
func appendFraction(dst []byte, micros int64) []byte {
	if micros == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(100_000); micros > 0; unit /= 10 {
		dst = append(dst, byte('0'+micros/unit))
		micros %= unit
	}
	return dst
}

// AppendTimestamp appends microseconds since 1970-01-01 00:00 as "YYYY-MM-DD HH:MM:SS" with a fraction where there is one.
func AppendTimestamp(dst []byte, micros int64) []byte { return appendTimestamp(dst, micros, "") }

// AppendTimestampTZ is AppendTimestamp with the offset of UTC, "+00", which is the only zone values are shown in.
func AppendTimestampTZ(dst []byte, micros int64) []byte { return appendTimestamp(dst, micros, "+00") }

func appendTimestamp(dst []byte, micros int64, zone string) []byte {
	day, of := calendar.Split(micros)
	dst, bc := appendDay(dst, day)
	dst = AppendTime(append(dst, ' '), of)
	return appendEra(append(dst, zone...), bc)
}

// AppendInterval appends an interval in PostgreSQL's style: "1 year 2 mons 3 days 04:05:06".
func AppendInterval(dst []byte, months, days int32, micros int64) []byte {
	start := len(dst)
	negative := false // whether the part before was: then a positive one says so
	part := func(n int64, unit string) {
		if n == 0 {
			return
		}
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		if negative && n > 0 {
			dst = append(dst, '+')
		}
		dst = append(append(strconv.AppendInt(dst, n, 10), ' '), unit...)
		if n != 1 {
			dst = append(dst, 's')
		}
		negative = n < 0
	}
	part(int64(months)/12, "year")
	part(int64(months)%12, "mon")
	part(int64(days), "day")
	if micros == 0 && len(dst) > start {
		return dst
	}
	if len(dst) > start {
		dst = append(dst, ' ')
	}
	abs := uint64(micros)
	switch {
	case micros < 0:
		dst, abs = append(dst, '-'), -abs
	case negative:
		dst = append(dst, '+')
	}
	hours := int64(abs / uint64(calendar.Hour))
	rest := int64(abs % uint64(calendar.Hour))
	dst = append(appendTwo(dst, hours), ':')
	dst = append(appendTwo(dst, rest/calendar.Minute), ':')
	dst = appendTwo(dst, rest/calendar.Second%60)
	return appendFraction(dst, rest%calendar.Second)
}

// AppendBinary appends bytes as \x and their hexadecimal digits.
func AppendBinary(dst []byte, b string) []byte {
	dst = append(dst, `\x`...)
	for i := range len(b) {
		dst = append(dst, "0123456789abcdef"[b[i]>>4], "0123456789abcdef"[b[i]&15])
	}
	return dst
}

// AppendUUID appends 128 bits, the first byte of the text in the highest, as 8-4-4-4-12 hexadecimal digits.
func AppendUUID(dst []byte, v int128.Int128) []byte {
	var raw [16]byte
	for i := range 8 {
		raw[i], raw[8+i] = byte(uint64(v.Hi)>>(56-8*i)), byte(v.Lo>>(56-8*i))
	}
	for i, cut := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, raw[cut:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}
