// Package batchtest tests operators: it runs a plan over small tables in many shapes of batches, goroutines and failures, and
// compares rows. It knows plans and batches; it must never know which operator it tests, nor be part of what ships.
package batchtest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A Table is a small relation.
type Table struct {
	Fields []physical.Field
	Rows   [][]expr.Value
}

// Rows makes a table of a schema such as "a int64, b decimal(15,2), c utf8" and the values of its rows, one after the other: nil
// for NULL, else an int, a float64, a bool, or a string, which decimals are written as.
func Rows(schema string, values ...any) Table {
	t := Table{Fields: fields(schema)}
	if len(t.Fields) == 0 {
		return t
	}
	for row := range slices.Chunk(values, len(t.Fields)) {
		out := make([]expr.Value, len(row))
		for i, x := range row {
			out[i] = value(t.Fields[i].Type, x)
		}
		t.Rows = append(t.Rows, out)
	}
	return t
}

var kinds = map[string]sqltype.Kind{
	"bool": sqltype.Bool, "int8": sqltype.Int8, "int16": sqltype.Int16, "int32": sqltype.Int32, "int64": sqltype.Int64,
	"uint8": sqltype.Uint8, "uint16": sqltype.Uint16, "uint32": sqltype.Uint32, "uint64": sqltype.Uint64,
	"float32": sqltype.Float32, "float64": sqltype.Float64, "utf8": sqltype.Utf8, "binary": sqltype.Binary, "date": sqltype.Date,
	"time": sqltype.Time, "timestamp": sqltype.Timestamp, "timestamptz": sqltype.TimestampTZ, "interval": sqltype.Interval,
	"uuid": sqltype.UUID, "null": sqltype.Null,
}

func fields(schema string) []physical.Field {
	var out []physical.Field
	for schema = strings.TrimSpace(schema); schema != ""; schema = strings.TrimSpace(schema) {
		name, rest, _ := strings.Cut(schema, " ")
		var typ string
		if at := strings.IndexAny(rest, ",("); at < 0 {
			typ, schema = rest, ""
		} else if rest[at] == '(' {
			end := strings.Index(rest, ")") + 1
			typ, schema = rest[:end], strings.TrimPrefix(rest[end:], ",")
		} else {
			typ, schema = rest[:at], rest[at+1:]
		}
		f := physical.Field{Name: name, Nullable: true}
		if _, err := fmt.Sscanf(typ, "decimal(%d,%d)", &f.Type.Precision, &f.Type.Scale); err == nil {
			f.Type.Kind = sqltype.Decimal
		} else if k, ok := kinds[typ]; ok {
			f.Type.Kind = k
		} else {
			panic("batchtest: no type " + typ)
		}
		out = append(out, f)
	}
	return out
}

func value(t sqltype.Type, x any) expr.Value {
	v := expr.Value{Type: t}
	switch x := x.(type) {
	case nil:
		v.Null = true
	case bool:
		if x {
			v.Int = 1
		}
	case int:
		v.Int = int64(x)
		if t.Kind == sqltype.UUID {
			v.Wide = int128.FromInt64(int64(x))
		}
		if t.Kind == sqltype.Decimal {
			v.Wide, _ = int128.FromInt64(int64(x)).Rescale(0, int(t.Scale))
		}
		if t.IsFloat() {
			v.Float = float64(x)
		}
	case float64:
		v.Float = x
	case string:
		v.Str = x
		if t.Kind == sqltype.Decimal {
			w, err := int128.Parse(x, int(t.Scale))
			if err != nil {
				panic(err)
			}
			v.Wide, v.Str = w, ""
		}
	case vector.Interval:
		v.Months, v.Days, v.Int = x.Months, x.Days, x.Micros
	case expr.Value:
		return x
	default:
		panic(fmt.Sprintf("batchtest: no value of a %T", x))
	}
	return v
}

// Types is the table's column types.
func (t Table) Types() []sqltype.Type {
	out := make([]sqltype.Type, len(t.Fields))
	for i, f := range t.Fields {
		out[i] = f.Type
	}
	return out
}

// In is input column i of a plan node over the table, as an expression.
func (t Table) In(i int) *expr.Input {
	return &expr.Input{Index: i, Name: t.Fields[i].Name, Typ: t.Fields[i].Type, Nullable: true}
}

// Format writes a value so that equal values, and floats that agree in 10 digits or are next to 0, are written alike.
func Format(v expr.Value) string {
	if v.Null {
		return "NULL"
	}
	switch v.Type.Kind {
	case sqltype.Bool:
		return strconv.FormatBool(v.Int != 0)
	case sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64:
		return strconv.FormatUint(uint64(v.Int), 10)
	case sqltype.Float32, sqltype.Float64:
		if math.IsNaN(v.Float) {
			return "NaN"
		}
		if math.Abs(v.Float) < 1e-12 { // what is left of a difference that is none
			return "0"
		}
		return strconv.FormatFloat(v.Float, 'g', 10, 64)
	case sqltype.Decimal:
		return v.Wide.Format(int(v.Type.Scale))
	case sqltype.UUID:
		return v.Wide.String()
	case sqltype.Utf8, sqltype.Binary, sqltype.List, sqltype.Struct:
		return strconv.Quote(v.Str)
	case sqltype.Interval:
		return fmt.Sprint(v.Months, "m", v.Days, "d", v.Int)
	}
	return strconv.FormatInt(v.Int, 10)
}

// Lines is the table's rows as text, in order.
func (t Table) Lines() []string {
	out := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		parts := make([]string, len(row))
		for c, v := range row {
			parts[c] = Format(v)
		}
		out[i] = strings.Join(parts, ", ")
	}
	return out
}

// Same fails t where the rows are others than wanted, in order or in any.
func Same(t testing.TB, what string, got, want Table, ordered bool) {
	t.Helper()
	g, w := got.Lines(), want.Lines()
	if !ordered {
		slices.Sort(g)
		slices.Sort(w)
	}
	if slices.Equal(g, w) {
		return
	}
	at := 0
	for at < len(g) && at < len(w) && g[at] == w[at] {
		at++
	}
	show := func(s []string) string {
		from := max(0, at-1)
		return strings.Join(s[min(from, len(s)):min(at+4, len(s))], "\n\t")
	}
	t.Errorf("%s: %d rows where %d were wanted; from row %d, got\n\t%s\nwant\n\t%s", what, len(g), len(w), max(0, at-1), show(g), show(w))
}

// ValueAt is row i of v.
func ValueAt(v *vector.Vector, i int) expr.Value {
	out := expr.Value{Type: v.Type}
	if v.IsNull(i) {
		out.Null = true
		return out
	}
	c, e := v.At(i)
	switch c.Phys {
	case vector.PhysBool:
		out.Int = int64(vector.Bits(c)[e>>6] >> (uint(e) & 63) & 1)
	case vector.PhysInt8:
		out.Int = int64(vector.Values[int8](c)[e])
	case vector.PhysInt16:
		out.Int = int64(vector.Values[int16](c)[e])
	case vector.PhysInt32:
		out.Int = int64(vector.Values[int32](c)[e])
	case vector.PhysInt64:
		out.Int = vector.Values[int64](c)[e]
	case vector.PhysUint8:
		out.Int = int64(vector.Values[uint8](c)[e])
	case vector.PhysUint16:
		out.Int = int64(vector.Values[uint16](c)[e])
	case vector.PhysUint32:
		out.Int = int64(vector.Values[uint32](c)[e])
	case vector.PhysUint64:
		out.Int = int64(vector.Values[uint64](c)[e])
	case vector.PhysFloat32:
		out.Float = float64(vector.Values[float32](c)[e])
	case vector.PhysFloat64:
		out.Float = vector.Values[float64](c)[e]
	case vector.PhysInt128:
		out.Wide = vector.Values[int128.Int128](c)[e]
	case vector.PhysString:
		out.Str = strings.Clone(vector.Values[string](c)[e])
	case vector.PhysInterval:
		x := vector.Values[vector.Interval](c)[e]
		out.Months, out.Days, out.Int = x.Months, x.Days, x.Micros
	}
	if v.Type.Kind == sqltype.Decimal && c.Phys == vector.PhysInt64 {
		out.Wide, out.Int = int128.FromInt64(out.Int), 0
	}
	return out
}
