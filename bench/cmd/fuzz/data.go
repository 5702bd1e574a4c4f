package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/write/parquet"
)

// A kind is a family of types between which the grammar does not tell.
type kind string

const (
	kInt  kind = "int"
	kDec  kind = "dec"
	kDbl  kind = "dbl"
	kTxt  kind = "txt"
	kDate kind = "date"
	kTS   kind = "ts"
	kBool kind = "bool"

	kTime kind = "time"
	kTZ   kind = "tz"
	kIvl  kind = "ivl" // never a column: equal intervals may read differently
	kBin  kind = "bin"
	kInts kind = "ints"
	kTxts kind = "txts"
)

// kinds are those of every day, which operators know best.
var kinds = []kind{kInt, kDec, kDbl, kTxt, kDate, kTS, kBool}

// A column of a table. Values are int64 (also of dates: days, timestamps: microseconds, decimals: unscaled), float64, string,
// bool or nil.
type column struct {
	name    string
	sql     string
	kind    kind
	extreme bool // its values overflow most arithmetic
	typ     arrow.DataType
	values  []any
}

type table struct {
	name    string
	columns []*column
	rows    int
	files   int
	options parquet.Options
}

var words = []string{"", "a", "b", "ab", "abc", "A", "Zz", "x y", " pad ", "a%b", "a_b", "é", "日本", "naïve", "o'k", "12", "-3", "2020-02-29", "long text that does not fit a short string"}

// makeTables makes a schema and its data.
func makeTables(r *rand.Rand) []*table {
	sizes := []int{0, 1, 7 + r.IntN(20), 40 + r.IntN(160), 1500 + r.IntN(3500)}
	var out []*table
	for i, n := range sizes {
		t := &table{name: fmt.Sprintf("t%d", i), rows: n, files: 1}
		if n > 20 {
			t.files = 1 + r.IntN(3)
		}
		t.options = parquet.Options{
			Compression: parquet.Compression(r.IntN(3)), RowGroupRows: []int{0, 100, 700}[r.IntN(3)], PageBytes: []int{0, 512}[r.IntN(2)],
			DictionaryBytes: []int{0, -1, 64, 300}[r.IntN(4)], NoStatistics: r.IntN(5) == 0,
		}
		add := func(name string, k kind, sql string, typ arrow.DataType, extreme bool, value func() any) {
			c := &column{name: name, kind: k, sql: sql, typ: typ, extreme: extreme}
			nulls := []float64{0, 0.1, 0.5, 1}[pick(r, 30, 50, 15, 5)]
			if name == "id" {
				nulls = 0
			}
			for range n {
				if r.Float64() < nulls {
					c.values = append(c.values, nil)
				} else {
					c.values = append(c.values, value())
				}
			}
			t.columns = append(t.columns, c)
		}
		id := int64(0)
		domain := int64(3 + r.IntN(60))
		add("id", kInt, "BIGINT", arrow.PrimitiveTypes.Int64, false, func() any { id++; return id })
		add("k", kInt, "INTEGER", arrow.PrimitiveTypes.Int32, false, func() any { // skewed
			if r.IntN(4) == 0 {
				return int64(1)
			}
			return r.Int64N(domain) - 2
		})
		for j := range 4 + r.IntN(4) {
			name := fmt.Sprintf("%c%d", 'p'+j, i)
			switch pick(r, 12, 8, 12, 14, 20, 10, 10, 8, 3, 3, 4) {
			case 0:
				add(name, kInt, "BIGINT", arrow.PrimitiveTypes.Int64, false, func() any { return r.Int64N(2*domain) - domain })
			case 1:
				edge := []int64{math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 0, -1, 1 << 53, 1<<53 + 1}
				add(name, kInt, "BIGINT", arrow.PrimitiveTypes.Int64, true, func() any { return edge[r.IntN(len(edge))] })
			case 2:
				if r.IntN(3) == 0 {
					add(name, kDec, "DECIMAL(9,4)", &arrow.Decimal128Type{Precision: 9, Scale: 4}, false, func() any { return r.Int64N(200_000) - 100_000 })
					break
				}
				add(name, kDec, "DECIMAL(12,2)", &arrow.Decimal128Type{Precision: 12, Scale: 2}, false, func() any { return r.Int64N(20_000) - 10_000 })
			case 3:
				add(name, kDbl, "DOUBLE PRECISION", arrow.PrimitiveTypes.Float64, false, func() any {
					switch r.IntN(14) {
					case 0:
						return math.NaN()
					case 1:
						return math.Copysign(0, -1)
					case 2:
						return 0.0
					}
					return float64(r.IntN(400)-200) / 4
				})
			case 4:
				own := words[:3+r.IntN(len(words)-2)]
				add(name, kTxt, "VARCHAR", arrow.BinaryTypes.String, false, func() any { return own[r.IntN(len(own))] })
			case 5:
				add(name, kDate, "DATE", arrow.FixedWidthTypes.Date32, false, func() any {
					if r.IntN(12) == 0 {
						return []int64{-719162, 2932896, 0, -1}[r.IntN(4)]
					}
					return 18_000 + r.Int64N(900)
				})
			case 6:
				add(name, kTS, "TIMESTAMP", &arrow.TimestampType{Unit: arrow.Microsecond}, false, func() any {
					return 1_500_000_000_000_000 + r.Int64N(60)*86_400_000_000*7 + []int64{0, 1, 999_999, 3_600_000_000}[r.IntN(4)]
				})
			case 7:
				add(name, kBool, "BOOLEAN", arrow.FixedWidthTypes.Boolean, false, func() any { return r.IntN(2) == 0 })
			case 8:
				add(name, kTZ, "TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, false, func() any {
					return 1_500_000_000_000_000 + r.Int64N(60)*3_600_000_000
				})
			case 9:
				add(name, kBin, "BYTEA", arrow.BinaryTypes.Binary, false, func() any { return words[r.IntN(6)] })
			case 10:
				add(name, kInt, "SMALLINT", arrow.PrimitiveTypes.Int16, true, func() any { return []int64{math.MinInt16, math.MaxInt16, 0, 1, -1}[r.IntN(5)] })
			}
		}
		out = append(out, t)
	}
	return out
}

// pick is an index, as often as its weight.
func pick(r *rand.Rand, weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := r.IntN(sum)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// write puts the table below dir, as a folder of files.
func (t *table) write(dir string) error {
	dir = filepath.Join(dir, t.name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for f := range t.files {
		if err := t.writeFile(filepath.Join(dir, fmt.Sprintf("%d.parquet", f)), t.rows*f/t.files, t.rows*(f+1)/t.files); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) writeFile(path string, from, to int) error {
	var fields []arrow.Field
	for _, c := range t.columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.typ, Nullable: c.name != "id"})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i, c := range t.columns {
		for _, v := range c.values[from:to] {
			if v == nil {
				b.Field(i).AppendNull()
				continue
			}
			switch f := b.Field(i).(type) {
			case *array.Int64Builder:
				f.Append(v.(int64))
			case *array.Int16Builder:
				f.Append(int16(v.(int64)))
			case *array.BinaryBuilder:
				f.AppendString(v.(string))
			case *array.Int32Builder:
				f.Append(int32(v.(int64)))
			case *array.Decimal128Builder:
				f.Append(decimal128.FromI64(v.(int64)))
			case *array.Float64Builder:
				f.Append(v.(float64))
			case *array.StringBuilder:
				f.Append(v.(string))
			case *array.Date32Builder:
				f.Append(arrow.Date32(v.(int64)))
			case *array.TimestampBuilder:
				f.Append(arrow.Timestamp(v.(int64)))
			case *array.BooleanBuilder:
				f.Append(v.(bool))
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	w, err := parquet.NewWriter(out, schema, t.options)
	if err != nil {
		return err
	}
	if err := w.Write(rec); err != nil {
		return err
	}
	return w.Close()
}

// literal is a value as SQL.
func (c *column) literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if c.kind == kBin {
			return fmt.Sprintf("'\\x%x'::BYTEA", v)
		}
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case bool:
		return fmt.Sprint(v)
	case float64:
		return fmt.Sprintf("'%v'::DOUBLE PRECISION", v)
	case int64:
		switch c.kind {
		case kDec:
			return fmt.Sprintf("'%s'::%s", decimal128.FromI64(v).ToString(c.typ.(*arrow.Decimal128Type).Scale), c.sql)
		case kDate:
			return "DATE '" + time.Unix(v*86_400, 0).UTC().Format(time.DateOnly) + "'"
		case kTZ:
			return "TIMESTAMP WITH TIME ZONE '" + time.UnixMicro(v).UTC().Format("2006-01-02 15:04:05.999999+00") + "'"
		case kTS:
			return "TIMESTAMP '" + time.UnixMicro(v).UTC().Format("2006-01-02 15:04:05.999999") + "'"
		}
		if v == math.MinInt64 {
			return "'-9223372036854775808'::BIGINT"
		}
	}
	return fmt.Sprint(v)
}

// statements are the table as .slt records.
func (t *table) statements() string {
	var cols []string
	for _, c := range t.columns {
		cols = append(cols, c.name+" "+c.sql)
	}
	s := fmt.Sprintf("statement ok\nCREATE TABLE %s (%s)\n\n", t.name, strings.Join(cols, ", "))
	if t.rows == 0 {
		return s
	}
	rows := make([]string, t.rows)
	for i := range rows {
		var vals []string
		for _, c := range t.columns {
			vals = append(vals, c.literal(c.values[i]))
		}
		rows[i] = "(" + strings.Join(vals, ", ") + ")"
	}
	return s + "statement ok\nINSERT INTO " + t.name + " VALUES\n" + strings.Join(rows, ",\n") + "\n\n"
}

// without is the table without the rows from, to.
func (t *table) without(from, to int) *table {
	n := *t
	n.columns, n.rows = nil, t.rows-(to-from)
	for _, c := range t.columns {
		d := *c
		d.values = append(append([]any{}, c.values[:from]...), c.values[to:]...)
		n.columns = append(n.columns, &d)
	}
	return &n
}
