package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func flat[T vector.Element](t sqltype.Type, values ...T) *vector.Vector {
	v := &vector.Vector{}
	vector.SetFlat(v, t, values, nil)
	return v
}

// hashes are the hash of values of every type, and the partition of 3 and of 7 that each goes to.
func hashes(w *writer) {
	of := sqltype.Of
	bools, null := &vector.Vector{}, &vector.Vector{}
	vector.SetBits(bools, of(sqltype.Bool), []uint64{2}, 2, nil)
	vector.SetNull(null, of(sqltype.Utf8), 1)
	columns := map[string]*vector.Vector{
		"boolean": bools, "null": null,
		"tinyint": flat[int8](of(sqltype.Int8), -128, 0, 127), "smallint": flat[int16](of(sqltype.Int16), -32768, -1),
		"integer": flat[int32](of(sqltype.Int32), 1, math.MinInt32), "bigint": flat[int64](of(sqltype.Int64), 0, 1, -1, math.MaxInt64, math.MinInt64),
		"utinyint": flat[uint8](of(sqltype.Uint8), 255), "usmallint": flat[uint16](of(sqltype.Uint16), 65535),
		"uinteger": flat[uint32](of(sqltype.Uint32), math.MaxUint32), "ubigint": flat[uint64](of(sqltype.Uint64), math.MaxUint64),
		"real":         flat(of(sqltype.Float32), 0, float32(math.Copysign(0, -1)), 1.5, float32(math.NaN())),
		"double":       flat(of(sqltype.Float64), 0, math.Copysign(0, -1), 1.5, math.Inf(1), math.NaN(), math.Float64frombits(0xfff8000000000123)),
		"decimal_15_2": flat[int64](sqltype.DecimalOf(15, 2), 123456, -1),
		"decimal_38_2": flat(sqltype.DecimalOf(38, 2), int128.FromInt64(123456), int128.Int128{Hi: 1}, int128.Int128{Hi: -2, Lo: math.MaxUint64}),
		"varchar":      flat(of(sqltype.Utf8), "", "a", "abcdefgh", "abcdefghi"),
		"bytea":        flat(of(sqltype.Binary), "\x00", "\x00\x00"),
		"date":         flat[int32](of(sqltype.Date), 0, 9204),
		"time":         flat[int64](of(sqltype.Time), 1),
		"timestamp":    flat[int64](of(sqltype.Timestamp), 1),
		"timestamptz":  flat[int64](of(sqltype.TimestampTZ), 1),
		"interval":     flat(of(sqltype.Interval), vector.Interval{Months: 1}, vector.Interval{Days: 30}, vector.Interval{Micros: 1}),
		"uuid":         flat(of(sqltype.UUID), int128.Int128{Lo: 1}),
	}
	line := func(keys ...*vector.Vector) string {
		var h hash.Hasher
		var parts []string
		for _, x := range h.Rows(keys, nil, keys[0].Len) {
			parts = append(parts, fmt.Sprintf("%016x/%d/%d", x, hash.Partition(x, 3), hash.Partition(x, 7)))
		}
		return strings.Join(parts, " ")
	}
	for name, v := range columns {
		w.lines("hash/"+name+".txt", line(v))
	}
	w.lines("hash/two_columns.txt", line(flat[int64](of(sqltype.Int64), 1, 2), flat(of(sqltype.Utf8), "x", "y")))
	w.lines("hash/spec.txt", fmt.Sprint(hash.Spec))
}

// literals are sample values of each kind, as text.
var literals = map[sqltype.Kind][]string{
	sqltype.Bool: {"true", "false"}, sqltype.Int8: {"7", "-3"}, sqltype.Int16: {"7", "-3"}, sqltype.Int32: {"7", "-3"}, sqltype.Int64: {"7", "-3"},
	sqltype.Uint8: {"7", "3"}, sqltype.Uint16: {"7", "3"}, sqltype.Uint32: {"7", "3"}, sqltype.Uint64: {"7", "3"},
	sqltype.Float32: {"2.5", "-0.75"}, sqltype.Float64: {"2.5", "-0.75"}, sqltype.Decimal: {"12.50", "-3.25"},
	sqltype.Utf8: {"Abc aé", "b"}, sqltype.Binary: {"\\x0102", "\\xff"}, sqltype.Date: {"2020-02-29", "1999-12-31"}, sqltype.Time: {"12:34:56.5", "00:00:01"},
	sqltype.Timestamp: {"2020-02-29 12:34:56.5", "1999-12-31 23:59:59"}, sqltype.TimestampTZ: {"2020-02-29 12:34:56.5+00", "1999-12-31 23:59:59+00"},
	sqltype.Interval: {"1 month 2 days 03:00:00", "1 day"}, sqltype.UUID: {"00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
}

// typeOf is a type for a parameter; false for the nested ones, which have no text.
func typeOf(p expr.Parameter) (sqltype.Type, bool) {
	switch p {
	case expr.Any, expr.Common, expr.AsText:
		return sqltype.Of(sqltype.Int64), true
	}
	kind := sqltype.Kind(p)
	if _, ok := literals[kind]; !ok {
		return sqltype.Type{}, false
	}
	if kind == sqltype.Decimal {
		return sqltype.DecimalOf(10, 2), true
	}
	return sqltype.Of(kind), true
}

// arguments are literals for an overload; the i-th takes the sample after the one of the i-th before.
func arguments(params []expr.Parameter, from int) ([]expr.Expr, bool) {
	var args []expr.Expr
	for i, p := range params {
		t, ok := typeOf(p)
		if !ok {
			return nil, false
		}
		texts := literals[t.Kind]
		v, err := expr.ParseValue(t, texts[(i+from)%len(texts)])
		if err != nil {
			return nil, false
		}
		args = append(args, expr.NewLiteral(v, sqlerr.Pos{}))
	}
	return args, true
}

func parameters(o expr.Overload) string {
	var names []string
	for _, p := range o.Params {
		names = append(names, p.String())
	}
	if o.Variadic {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

var volatilities = map[expr.Volatility]string{expr.Immutable: "immutable", expr.Stable: "stable", expr.Volatile: "volatile"}

// functions are one vector per function: its overloads, and what it gives for sample arguments where those decide it.
func functions(ctx context.Context, w *writer) {
	e, err := engine.Open(engine.Config{Threads: 1})
	if err != nil {
		w.fail(err)
		return
	}
	defer func() { _ = e.Close() }()
	for _, f := range expr.Functions() {
		lines := []string{fmt.Sprintf("%s, %s, lenient %t", f.Name, volatilities[f.Volatility], f.Lenient)}
		for _, o := range f.Overloads {
			lines = append(lines, "("+parameters(o)+")")
			for from := range 2 {
				args, ok := arguments(o.Params, from)
				if !ok || f.Volatility != expr.Immutable {
					continue
				}
				lines = append(lines, "  "+call(ctx, e, f.Name, args))
			}
		}
		w.lines("functions/"+fileName(f.Name)+".txt", lines...)
	}
}

func call(ctx context.Context, e *engine.Engine, name string, args []expr.Expr) string {
	var texts []string
	for _, a := range args {
		texts = append(texts, a.(*expr.Literal).Value.Text())
	}
	said := strings.Join(texts, " | ") + " → "
	c, err := expr.NewCall(name, args, sqlerr.Pos{})
	if err != nil {
		return said + failure(err)
	}
	one := &physical.Values{Fields: []physical.Field{{Name: "one", Type: sqltype.Of(sqltype.Int64)}}, Rows: [][]expr.Value{{expr.IntValue(sqltype.Of(sqltype.Int64), 1)}}}
	rows, err := table(ctx, e, &physical.Project{Input: one, Exprs: []expr.Expr{c}, Names: []string{"r"}})
	if err != nil {
		return said + c.Type().String() + " " + failure(err)
	}
	return said + c.Type().String() + " " + strings.Join(rows, "; ")
}

// failure is the part of an error that is a promise.
func failure(err error) string {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return "error " + string(e.Code)
	}
	return "error"
}

// table runs a plan and gives its rows as text, each column as Arrow writes it.
func table(ctx context.Context, e *engine.Engine, root physical.Node) ([]string, error) {
	if err := physical.Validate(root); err != nil {
		return nil, err
	}
	rows, err := e.Run(ctx, &engine.Plan{Root: root, Fields: root.Schema()})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range int(rec.NumRows()) {
			out = append(out, row(rec, i))
		}
	}
}

func row(rec arrow.RecordBatch, i int) string {
	var cells []string
	for _, c := range rec.Columns() {
		if c.IsNull(i) {
			cells = append(cells, "NULL")
		} else {
			cells = append(cells, c.ValueStr(i))
		}
	}
	return strings.Join(cells, ", ")
}

// aggregates are one vector per aggregate: the columns of its partial state for sample rows, and what they come to.
func aggregates(ctx context.Context, w *writer) {
	e, err := engine.Open(engine.Config{Threads: 1})
	if err != nil {
		w.fail(err)
		return
	}
	defer func() { _ = e.Close() }()
	for _, f := range expr.AggregateFunctions() {
		var lines []string
		for _, o := range f.Overloads {
			lines = append(lines, aggregate(ctx, e, f.Name, o)...)
		}
		w.lines("aggregates/"+fileName(f.Name)+".txt", lines...)
	}
	w.lines("aggregates_spec.txt", fmt.Sprint(expr.StateSpec))
}

func aggregate(ctx context.Context, e *engine.Engine, name string, o expr.Overload) []string {
	head := name + "(" + parameters(o) + ")"
	in := &physical.Values{}
	var args []expr.Expr
	for i, p := range o.Params {
		t, ok := typeOf(p)
		if !ok {
			return []string{head}
		}
		in.Fields = append(in.Fields, physical.Field{Name: fmt.Sprint("c", i), Type: t, Nullable: true})
		args = append(args, &expr.Input{Index: i, Name: fmt.Sprint("c", i), Typ: t, Nullable: true})
	}
	if len(in.Fields) == 0 {
		in.Fields = []physical.Field{{Name: "c0", Type: sqltype.Of(sqltype.Int64), Nullable: true}}
	}
	for r := range 4 {
		var values []expr.Value
		for i, f := range in.Fields {
			texts := literals[f.Type.Kind]
			v, err := expr.ParseValue(f.Type, texts[(r+i)%len(texts)])
			if err != nil {
				return []string{head + " " + failure(err)}
			}
			if r == 3 {
				v = expr.NullOf(f.Type)
			}
			values = append(values, v)
		}
		in.Rows = append(in.Rows, values)
	}
	a, err := expr.NewAggregate(name, args, sqlerr.Pos{})
	if err != nil {
		return []string{head + " " + failure(err)}
	}
	var types, names []string
	for i, t := range expr.StateTypes(a) {
		types, names = append(types, t.String()), append(names, fmt.Sprint("s", i))
	}
	lines := []string{head + " " + a.Typ.String(), "  state " + strings.Join(types, ", ")}
	for _, rows := range [][][]expr.Value{in.Rows, nil} {
		from := &physical.Values{Fields: in.Fields, Rows: rows}
		for _, half := range []struct {
			mode  physical.AggMode
			names []string
			what  string
		}{{physical.Partial, names, "partial"}, {physical.Single, []string{"r"}, "result"}} {
			got, err := table(ctx, e, &physical.Aggregate{Input: from, Mode: half.mode, Aggs: []expr.Aggregate{a}, Names: slices.Clone(half.names)})
			if err != nil {
				got = []string{failure(err)}
			}
			lines = append(lines, fmt.Sprintf("  %s of %d rows: %s", half.what, len(rows), strings.Join(got, "; ")))
		}
	}
	return lines
}
