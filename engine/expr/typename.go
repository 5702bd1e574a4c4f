package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/sqltype"
)

var arrowNames = map[sqltype.Kind]string{
	sqltype.Null: "Null", sqltype.Bool: "Boolean", sqltype.Int8: "Int8", sqltype.Int16: "Int16", sqltype.Int32: "Int32", sqltype.Int64: "Int64",
	sqltype.Uint8: "UInt8", sqltype.Uint16: "UInt16", sqltype.Uint32: "UInt32", sqltype.Uint64: "UInt64", sqltype.Float32: "Float32",
	sqltype.Float64: "Float64", sqltype.Utf8: "Utf8", sqltype.Binary: "Binary", sqltype.Date: "Date32", sqltype.Time: "Time64(Microsecond)",
	sqltype.Timestamp: "Timestamp(Microsecond, None)", sqltype.TimestampTZ: `Timestamp(Microsecond, Some("UTC"))`,
	sqltype.Interval: "Interval(MonthDayNano)", sqltype.UUID: "FixedSizeBinary(16)",
}

// arrowName is what arrow_typeof calls a type.
func arrowName(t sqltype.Type) string {
	switch t.Kind {
	case sqltype.Decimal:
		return fmt.Sprintf("Decimal128(%d, %d)", t.Precision, t.Scale)
	case sqltype.List:
		return "List(" + arrowName(*t.Elem) + ")"
	case sqltype.Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = strconv.Quote(f.Name) + ": " + arrowName(f.Type)
		}
		return "Struct(" + strings.Join(parts, ", ") + ")"
	}
	return arrowNames[t.Kind]
}

// maxArrowNesting bounds how deep a type's name is read.
const maxArrowNesting = 32

// parseArrowName reads what arrow_cast calls a type: names of arrowName, and those of encodings that are the same type here, such as
// "Dictionary(Int32, Utf8)" and "LargeUtf8".
func parseArrowName(s string, depth int) (sqltype.Type, bool) {
	s = strings.TrimSpace(s)
	for kind, name := range arrowNames {
		if s == name && kind != sqltype.UUID {
			return sqltype.Of(kind), true
		}
	}
	switch s {
	case "LargeUtf8", "Utf8View":
		return sqltype.Of(sqltype.Utf8), true
	case "LargeBinary", "BinaryView":
		return sqltype.Of(sqltype.Binary), true
	case "Float16":
		return sqltype.Of(sqltype.Float32), true
	case "Date64":
		return sqltype.Of(sqltype.Timestamp), true
	}
	name, rest, ok := strings.Cut(s, "(")
	if !ok || !strings.HasSuffix(rest, ")") || depth > maxArrowNesting {
		return sqltype.Type{}, false
	}
	args := splitArgs(rest[:len(rest)-1])
	last := args[len(args)-1]
	switch name {
	case "Dictionary":
		return parseArrowName(last, depth+1)
	case "RunEndEncoded":
		if _, of, ok := strings.Cut(last, ": "); ok {
			return parseArrowName(of, depth+1)
		}
	case "List", "LargeList", "ListView", "LargeListView", "FixedSizeList":
		last = strings.TrimPrefix(strings.TrimSpace(last), "non-null ")
		if n, of, ok := strings.Cut(last, " x "); ok && name == "FixedSizeList" && isNumber(n) {
			last = of
		}
		elem, ok := parseArrowName(last, depth+1)
		return sqltype.ListOf(elem), ok
	case "Struct":
		var fields []sqltype.Field
		for _, a := range args {
			name, of, ok := strings.Cut(a, ": ")
			t, known := parseArrowName(strings.TrimPrefix(of, "non-null "), depth+1)
			if !ok || !known {
				return sqltype.Type{}, false
			}
			fields = append(fields, sqltype.Field{Name: strings.Trim(strings.TrimSpace(name), `"`), Type: t})
		}
		return sqltype.StructOf(fields...), true
	case "FixedSizeBinary":
		return sqltype.Of(sqltype.Binary), true
	case "Time32", "Time64":
		return sqltype.Of(sqltype.Time), true
	case "Interval", "Duration":
		return sqltype.Of(sqltype.Interval), true
	case "Timestamp":
		if len(args) == 2 && !strings.Contains(args[1], "None") {
			return sqltype.Of(sqltype.TimestampTZ), true
		}
		return sqltype.Of(sqltype.Timestamp), true
	case "Decimal32", "Decimal64", "Decimal128", "Decimal256":
		if len(args) != 2 {
			break
		}
		p, err1 := strconv.Atoi(strings.TrimSpace(args[0]))
		scale, err2 := strconv.Atoi(strings.TrimSpace(args[1]))
		if err1 == nil && err2 == nil && p >= 1 && p <= sqltype.MaxPrecision && scale >= 0 && scale <= p {
			return sqltype.DecimalOf(p, scale), true
		}
	}
	return sqltype.Type{}, false
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(strings.TrimSpace(s))
	return err == nil
}

// splitArgs cuts at the commas that stand in no parentheses.
func splitArgs(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, s[from:i])
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

var postgresNames = map[sqltype.Kind]string{
	sqltype.Null: "unknown", sqltype.Bool: "boolean", sqltype.Int8: "tinyint", sqltype.Int16: "smallint", sqltype.Int32: "integer", sqltype.Int64: "bigint",
	sqltype.Float32: "real", sqltype.Float64: "double precision", sqltype.Decimal: "numeric", sqltype.Utf8: "text", sqltype.Binary: "bytea",
	sqltype.Date: "date", sqltype.Time: "time without time zone", sqltype.Timestamp: "timestamp without time zone",
	sqltype.TimestampTZ: "timestamp with time zone", sqltype.Interval: "interval", sqltype.UUID: "uuid", sqltype.Struct: "record",
}

// postgresName is what pg_typeof calls a type.
func postgresName(t sqltype.Type) string {
	if t.Kind == sqltype.List {
		return postgresName(*t.Elem) + "[]"
	}
	if name, ok := postgresNames[t.Kind]; ok {
		return name
	}
	return strings.ToLower(t.String())
}
