package sqltext

import (
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// The names PostgreSQL gives types in its messages.
const (
	typeSmallint = "smallint"
	typeInteger  = "integer"
	typeBigint   = "bigint"
	typeNumeric  = "numeric"
	typeDouble   = "double precision"
	typeReal     = "real"
)

func invalid(typeName, s string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidText, sqlerr.Pos{}, "invalid input syntax for type %s: %s", typeName, quote(s))
}

// quote is s in quotes, cut where it is long: an error must stay readable.
func quote(s string) string {
	const most = 100
	if len(s) > most {
		cut := most
		for cut > 0 && s[cut]&0xC0 == 0x80 {
			cut--
		}
		s = s[:cut] + "…"
	}
	return `"` + s + `"`
}

const spaces = " \t\n\r\v\f"

// ParseBool reads a BOOLEAN: true, yes, on, 1 and their opposites, or a beginning of one that is no beginning of another.
func ParseBool(s string) (bool, *sqlerr.Error) {
	word := strings.ToLower(strings.Trim(s, spaces))
	if word != "" {
		for _, w := range [...]string{"true", "yes", "on", "1"} {
			if strings.HasPrefix(w, word) && word != "o" {
				return true, nil
			}
		}
		for _, w := range [...]string{"false", "no", "off", "0"} {
			if strings.HasPrefix(w, word) && word != "o" {
				return false, nil
			}
		}
	}
	return false, invalid("boolean", s)
}

// IntegerName is what PostgreSQL calls an integer type of so many bits; Fletch's own types have their SQL names.
func IntegerName(bits int, signed bool) string {
	switch {
	case !signed:
		return map[int]string{8: "utinyint", 16: "usmallint", 32: "uinteger", 64: "ubigint"}[bits]
	case bits == 8:
		return "tinyint"
	case bits == 16:
		return typeSmallint
	case bits == 32:
		return typeInteger
	}
	return typeBigint
}

// ParseInt reads a signed integer of 8 to 64 bits: decimal, or 0x, 0o, 0b, with _ between digits, with spaces around. It fails with
// invalid_text_representation or numeric_value_out_of_range.
func ParseInt(s string, bits int) (int64, *sqlerr.Error) {
	text, base, neg, ok := integerParts(s)
	if !ok {
		return 0, invalid(IntegerName(bits, true), s)
	}
	u, err := strconv.ParseUint(text, base, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, invalid(IntegerName(bits, true), s)
	case err == nil && neg && u <= 1<<(bits-1):
		return -int64(u), nil
	case err == nil && !neg && u < 1<<(bits-1):
		return int64(u), nil
	}
	return 0, outOfRange(s, IntegerName(bits, true))
}

// ParseUint is ParseInt for unsigned integers.
func ParseUint(s string, bits int) (uint64, *sqlerr.Error) {
	text, base, neg, ok := integerParts(s)
	if !ok {
		return 0, invalid(IntegerName(bits, false), s)
	}
	u, err := strconv.ParseUint(text, base, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, invalid(IntegerName(bits, false), s)
	case err == nil && (!neg || u == 0) && (bits == 64 || u>>bits == 0):
		return u, nil
	}
	return 0, outOfRange(s, IntegerName(bits, false))
}

func outOfRange(s, typeName string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "value %s is out of range for type %s", quote(s), typeName)
}

// integerParts takes sign, base and underscores away. ok is false where underscores do not stand between digits.
func integerParts(s string) (digits string, base int, neg, ok bool) {
	digits = strings.Trim(s, spaces)
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		neg = digits[0] == '-'
		digits = digits[1:]
	}
	base = 10
	if len(digits) > 2 && digits[0] == '0' {
		switch digits[1] | 0x20 {
		case 'x':
			base = 16
		case 'o':
			base = 8
		case 'b':
			base = 2
		}
		if base != 10 {
			digits = strings.TrimPrefix(digits[2:], "_")
		}
	}
	if strings.Contains(digits, "_") {
		if digits[0] == '_' || digits[len(digits)-1] == '_' || strings.Contains(digits, "__") {
			return "", 0, false, false
		}
		digits = strings.ReplaceAll(digits, "_", "")
	}
	return digits, base, neg, digits != "" && digits[0] != '-' && digits[0] != '+'
}

// ParseFloat reads a DOUBLE PRECISION (bits 64) or a REAL (32): a number, NaN, Infinity or inf.
func ParseFloat(s string, bits int) (float64, *sqlerr.Error) {
	name := typeDouble
	if bits == 32 {
		name = typeReal
	}
	text := strings.Trim(s, spaces)
	if strings.ContainsAny(text, "xXpP_") {
		return 0, invalid(name, s)
	}
	f, err := strconv.ParseFloat(text, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "%s is out of range for type %s", quote(text), name)
	case err != nil:
		return 0, invalid(name, s)
	case f == 0 && strings.ContainsAny(mantissa(text), "123456789"):
		return 0, sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "%s is out of range for type %s", quote(text), name)
	}
	return f, nil
}

func mantissa(s string) string {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i]
	}
	return s
}

// ParseDecimal reads a DECIMAL(precision, scale) and gives it unscaled, rounded half away from zero.
func ParseDecimal(s string, precision, scale int) (int128.Int128, *sqlerr.Error) {
	v, err := int128.Parse(strings.Trim(s, spaces), scale)
	switch {
	case errors.Is(err, int128.ErrSyntax):
		return v, invalid(typeNumeric, s)
	case err != nil || !v.FitsDigits(precision):
		return v, FieldOverflow(precision, scale)
	}
	return v, nil
}

// FieldOverflow is the error for a number that a DECIMAL(precision, scale) cannot hold.
func FieldOverflow(precision, scale int) *sqlerr.Error {
	limit := "1"
	if precision > scale {
		limit = "10^" + strconv.Itoa(precision-scale)
	}
	return sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "numeric field overflow").
		WithHint("a field with precision %d, scale %d must round to an absolute value less than %s", precision, scale, limit)
}

// DecimalShape is the least precision and scale that hold the digits of a plain number such as "-12.50": 4 and 2. ok is false for
// anything else, an exponent included, and for more than 38 digits.
func DecimalShape(s string) (precision, scale int, ok bool) {
	s = strings.Trim(s, spaces)
	s = strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+"), "0")
	point := -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '.' && point < 0:
			point = i
		case c < '0' || c > '9':
			return 0, 0, false
		}
	}
	precision = len(s)
	if point >= 0 {
		precision--
		scale = len(s) - point - 1
	}
	return max(precision, 1), scale, precision <= int128.MaxDigits
}

// ParseBinary reads a BYTEA: \x and hexadecimal digits, or text with \\ and \ooo escapes.
func ParseBinary(s string) (string, *sqlerr.Error) {
	if digits, ok := strings.CutPrefix(s, `\x`); ok {
		digits = strings.NewReplacer(" ", "", "\t", "", "\n", "").Replace(digits)
		raw, err := hex.DecodeString(digits)
		if err != nil {
			var bad hex.InvalidByteError
			if errors.As(err, &bad) {
				return "", sqlerr.Newf(sqlerr.InvalidText, sqlerr.Pos{}, "invalid hexadecimal digit: %q", string(rune(bad)))
			}
			return "", sqlerr.New(sqlerr.InvalidText, sqlerr.Pos{}, "invalid hexadecimal data: odd number of digits")
		}
		return string(raw), nil
	}
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '\\':
			out = append(out, s[i])
		case i+1 < len(s) && s[i+1] == '\\':
			out = append(out, '\\')
			i++
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3' && isOctal(s[i+2]) && isOctal(s[i+3]):
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			return "", sqlerr.New(sqlerr.InvalidText, sqlerr.Pos{}, "invalid input syntax for type bytea")
		}
	}
	return string(out), nil
}

func isOctal(c byte) bool { return c >= '0' && c <= '7' }

// ParseUUID reads 32 hexadecimal digits, with hyphens between groups of four and braces around or not.
func ParseUUID(s string) (int128.Int128, *sqlerr.Error) {
	text := strings.Trim(s, spaces)
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = text[1 : len(text)-1]
	}
	var v int128.Int128
	n := 0
	for i := range len(text) {
		c := text[i]
		var d byte
		switch {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = c | 0x20 - 'a' + 10
		case c == '-' && n > 0 && n < 32 && n%4 == 0 && text[i-1] != '-':
			continue
		default:
			return int128.Int128{}, invalid("uuid", s)
		}
		v.Hi = v.Hi<<4 | int64(v.Lo>>60)
		v.Lo = v.Lo<<4 | uint64(d)
		n++
	}
	if n != 32 {
		return int128.Int128{}, invalid("uuid", s)
	}
	return v, nil
}

// finite tells whether f is a number.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
