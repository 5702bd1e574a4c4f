package expr

import (
	"math"
	"strings"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// ParseValue reads text as a value of type t, as CAST('…' AS t) does. Errors are *sqlerr.Error without a place.
func ParseValue(t sqltype.Type, text string) (Value, error) {
	v := Value{Type: t}
	var err *sqlerr.Error
	switch t.Kind {
	case sqltype.Utf8:
		v.Str = text
	case sqltype.Bool:
		var b bool
		if b, err = sqltext.ParseBool(text); b {
			v.Int = 1
		}
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64:
		bits, _ := intBits(t.Kind)
		v.Int, err = sqltext.ParseInt(text, bits)
	case sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64:
		bits, _ := intBits(t.Kind)
		var u uint64
		u, err = sqltext.ParseUint(text, bits)
		v.Int = int64(u)
	case sqltype.Float32:
		v.Float, err = sqltext.ParseFloat(text, 32)
	case sqltype.Float64:
		v.Float, err = sqltext.ParseFloat(text, 64)
	case sqltype.Decimal:
		v.Wide, err = sqltext.ParseDecimal(text, int(t.Precision), int(t.Scale))
	case sqltype.Binary:
		v.Str, err = sqltext.ParseBinary(text)
	case sqltype.UUID:
		v.Wide, err = sqltext.ParseUUID(text)
	case sqltype.Date:
		var d int32
		d, err = sqltext.ParseDate(text)
		v.Int = int64(d)
	case sqltype.Time:
		v.Int, err = sqltext.ParseTime(text)
	case sqltype.Timestamp:
		v.Int, err = sqltext.ParseTimestamp(text)
	case sqltype.TimestampTZ:
		v.Int, err = sqltext.ParseTimestampTZ(text)
	case sqltype.Interval:
		var iv sqltext.Interval
		iv, err = sqltext.ParseInterval(text, "")
		v.Months, v.Days, v.Int = iv.Months, iv.Days, iv.Micros
	case sqltype.List:
		return parseList(t, text)
	default:
		err = sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "text cannot be read as %s", t)
	}
	if err != nil {
		return Value{}, err
	}
	return v, nil
}

// maxListNesting bounds how deep lists lie in a list's text.
const maxListNesting = 32

// parseList reads a list as PostgreSQL writes it, {1,NULL,"a b"}, or as Fletch and DuckDB do, [1, NULL, 'a b'].
func parseList(t sqltype.Type, text string) (Value, error) {
	p := listParser{all: text, rest: strings.TrimSpace(text)}
	v, err := p.list(t, 0)
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = p.malformed()
	}
	return v, err
}

type listParser struct{ all, rest string }

func (p *listParser) malformed() error {
	text := p.all
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "") + "…"
	}
	return sqlerr.Newf(sqlerr.InvalidText, sqlerr.Pos{}, "malformed array literal: %q", text).WithHint("lists are written as {1,2} or [1, 2]")
}

func (p *listParser) list(t sqltype.Type, depth int) (Value, error) {
	if p.rest == "" || p.rest[0] != '{' && p.rest[0] != '[' || depth > maxListNesting {
		return Value{}, p.malformed()
	}
	end := p.rest[0] + 2 // ] is two after [, and } after {
	p.rest = strings.TrimLeft(p.rest[1:], listSpaces)
	var parts []Value
	for first := true; ; first = false {
		if strings.HasPrefix(p.rest, string(rune(end))) && (first || len(parts) > 0) {
			p.rest = p.rest[1:]
			return NestedOf(t, parts), nil
		}
		if !first {
			if !strings.HasPrefix(p.rest, ",") {
				return Value{}, p.malformed()
			}
			p.rest = strings.TrimLeft(p.rest[1:], listSpaces)
		}
		v, err := p.element(*t.Elem, end, depth)
		if err != nil {
			return Value{}, err
		}
		parts = append(parts, v)
		p.rest = strings.TrimLeft(p.rest, listSpaces)
	}
}

const listSpaces = " \t\n\r"

func (p *listParser) element(t sqltype.Type, end byte, depth int) (Value, error) {
	switch {
	case t.Kind == sqltype.List && !strings.HasPrefix(strings.ToUpper(p.rest[:min(4, len(p.rest))]), "NULL"):
		return p.list(t, depth+1)
	case p.rest == "":
		return Value{}, p.malformed()
	case p.rest[0] == '"' || p.rest[0] == '\'':
		quote := p.rest[0]
		var b strings.Builder
		i := 1
		for ; i < len(p.rest) && p.rest[i] != quote; i++ {
			if p.rest[i] == '\\' && i+1 < len(p.rest) {
				i++
			}
			b.WriteByte(p.rest[i])
		}
		if i >= len(p.rest) {
			return Value{}, p.malformed()
		}
		p.rest = p.rest[i+1:]
		return ParseValue(t, b.String())
	}
	at := strings.IndexAny(p.rest, ","+string(rune(end)))
	if at < 0 {
		return Value{}, p.malformed()
	}
	word := strings.TrimSpace(p.rest[:at])
	if word == "" || strings.ContainsAny(word, `{}"`) {
		return Value{}, p.malformed()
	}
	p.rest = p.rest[at:]
	if strings.EqualFold(word, "NULL") {
		return NullOf(t), nil
	}
	return ParseValue(t, word)
}

// ParseNumber is the value of a number as a statement writes it, without sign or with: INTEGER, BIGINT, a DECIMAL of its digits, or with an
// exponent, or more than 38 digits, DOUBLE PRECISION.
func ParseNumber(text string) (Value, error) {
	if precision, scale, ok := sqltext.DecimalShape(text); ok {
		w, err := sqltext.ParseDecimal(text, max(precision, scale), scale)
		if err != nil {
			return Value{}, err
		}
		if !strings.Contains(text, ".") {
			if i, fits := w.Int64(); fits {
				if i >= math.MinInt32 && i <= math.MaxInt32 {
					return IntValue(sqltype.Of(sqltype.Int32), i), nil
				}
				return IntValue(sqltype.Of(sqltype.Int64), i), nil
			}
		}
		return DecimalValue(w, max(precision, scale), scale), nil
	}
	f, err := sqltext.ParseFloat(text, 64)
	if err != nil {
		return Value{}, err
	}
	return FloatValue(f), nil
}

// DecimalValue is the DECIMAL(precision, scale) of an unscaled number.
func DecimalValue(unscaled int128.Int128, precision, scale int) Value {
	return Value{Type: sqltype.DecimalOf(precision, scale), Wide: unscaled}
}

// IntervalValue is an INTERVAL.
func IntervalValue(months, days int32, micros int64) Value {
	return Value{Type: sqltype.Of(sqltype.Interval), Months: months, Days: days, Int: micros}
}

// Text is v as CAST(v AS VARCHAR) gives it; "NULL" for NULL.
func (v Value) Text() string { return string(v.AppendText(nil)) }

// AppendText appends what Text gives.
func (v Value) AppendText(dst []byte) []byte {
	if v.Null {
		return append(dst, "NULL"...)
	}
	return nested.AppendScalar(dst, v.Type, v.scalar())
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// SQL is v as a statement may write it, a DATE as DATE '1994-01-01'.
func (v Value) SQL() string {
	if v.Null {
		return "NULL"
	}
	switch k := v.Type.Kind; {
	case k == sqltype.Utf8, k == sqltype.Null:
		return "'" + strings.ReplaceAll(v.Str, "'", "''") + "'"
	case k == sqltype.Bool, v.Type.IsInteger(), k == sqltype.Decimal:
		return v.Text()
	case v.Type.IsFloat():
		text := v.Text()
		if strings.ContainsAny(text, "NI") {
			return v.Type.String() + " '" + text + "'"
		}
		if !strings.ContainsAny(text, "e") {
			return text + "e0"
		}
		return text
	case v.Type.IsNested():
		return v.Text()
	}
	return v.Type.String() + " '" + v.Text() + "'"
}
