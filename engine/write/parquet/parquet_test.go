package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/write/parquet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A kind is a column type with its values by row number: clustered ones that a dictionary suits, and scattered ones that
// none does.
type kind struct {
	field arrow.DataType
	value func(r *rand.Rand, distinct int) string // as AppendValueFromString takes it
}

func number(low, high int64) func(*rand.Rand, int) string {
	return func(r *rand.Rand, distinct int) string {
		if step := (high - low) / int64(distinct+1); step > 0 {
			return fmt.Sprint(low + step*r.Int64N(int64(distinct)))
		}
		return fmt.Sprint(low + r.Int64N(high-low))
	}
}

func text(r *rand.Rand, distinct int) string {
	v := r.IntN(distinct)
	return strings.Repeat("ö", v%7) + fmt.Sprint(v)
}

func decimal(precision int) func(*rand.Rand, int) string {
	return func(r *rand.Rand, distinct int) string {
		digits := fmt.Sprint(r.IntN(distinct) + 1)
		digits = strings.Repeat(digits, 40)[:precision-1]
		return fmt.Sprintf("%s%s.%s", []string{"", "-"}[r.IntN(2)], digits[2:], digits[:2])
	}
}

var kinds = map[string]kind{
	"bool":   {arrow.FixedWidthTypes.Boolean, func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(2) == 0) }},
	"int8":   {arrow.PrimitiveTypes.Int8, number(-128, 127)},
	"int16":  {arrow.PrimitiveTypes.Int16, number(-1<<15, 1<<15)},
	"int32":  {arrow.PrimitiveTypes.Int32, number(-1<<31, 1<<31)},
	"int64":  {arrow.PrimitiveTypes.Int64, number(-1<<61, 1<<61)},
	"uint8":  {arrow.PrimitiveTypes.Uint8, number(0, 255)},
	"uint16": {arrow.PrimitiveTypes.Uint16, number(0, 1<<16)},
	"uint32": {arrow.PrimitiveTypes.Uint32, number(0, 1<<32)},
	"uint64": {arrow.PrimitiveTypes.Uint64, func(r *rand.Rand, d int) string { return fmt.Sprint(math.MaxUint64 - uint64(r.IntN(d))) }},
	"float32": {arrow.PrimitiveTypes.Float32, func(r *rand.Rand, d int) string {
		return fmt.Sprint(float32(r.IntN(d)) - 100.5)
	}},
	"float64": {arrow.PrimitiveTypes.Float64, func(r *rand.Rand, d int) string { return fmt.Sprint(float64(r.IntN(d)) / 7) }},
	"dec32":   {&arrow.Decimal32Type{Precision: 7, Scale: 2}, decimal(7)},
	"dec64":   {&arrow.Decimal64Type{Precision: 18, Scale: 2}, decimal(18)},
	"dec64/9": {&arrow.Decimal64Type{Precision: 9, Scale: 2}, decimal(9)},
	"dec9":    {&arrow.Decimal128Type{Precision: 9, Scale: 2}, decimal(9)},
	"dec18":   {&arrow.Decimal128Type{Precision: 18, Scale: 2}, decimal(18)},
	"dec38":   {&arrow.Decimal128Type{Precision: 38, Scale: 2}, decimal(38)},
	"utf8":    {arrow.BinaryTypes.String, text},
	"large":   {arrow.BinaryTypes.LargeString, text},
	"view":    {arrow.BinaryTypes.StringView, text},
	"coded":   {&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, text},
	"binary":  {arrow.BinaryTypes.Binary, func(r *rand.Rand, d int) string { return fmt.Sprintf("%08d", r.IntN(d)) }}, // base64
	"date":    {arrow.FixedWidthTypes.Date32, func(r *rand.Rand, d int) string { return fmt.Sprintf("%04d-02-28", 1800+r.IntN(d)%400) }},
	"ts_s":    {&arrow.TimestampType{Unit: arrow.Second}, moment},
	"ts_ms":   {&arrow.TimestampType{Unit: arrow.Millisecond}, moment},
	"ts_us":   {&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, func(r *rand.Rand, d int) string { return moment(r, d) + "Z" }},
	"ts_ns":   {&arrow.TimestampType{Unit: arrow.Nanosecond}, moment},
	"null":    {arrow.Null, func(*rand.Rand, int) string { return array.NullValueStr }},
}

func moment(r *rand.Rand, d int) string {
	return fmt.Sprintf("%d-01-01 00:00:%02d", 1970+r.IntN(d)%200, r.IntN(60))
}

// batches builds n rows of type k in batches of size, one in nulls of them NULL (0 for none).
func batches(t *testing.T, k kind, n, size, distinct, nulls int) (*arrow.Schema, []arrow.RecordBatch) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: k.field, Nullable: nulls > 0 || k.field.ID() == arrow.NULL}}, nil)
	r := rand.New(rand.NewPCG(1, 2))
	var out []arrow.RecordBatch
	for n > 0 {
		rows := min(n, size)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for range rows {
			if nulls > 0 && r.IntN(nulls) == 0 {
				b.Field(0).AppendNull()
			} else if err := b.Field(0).AppendValueFromString(k.value(r, distinct)); err != nil {
				t.Fatal(err)
			}
		}
		rec := b.NewRecordBatch()
		// A slice, so that offsets into values and validity are not zero.
		if rows > 3 {
			rec = rec.NewSlice(3, int64(rows))
		}
		out = append(out, rec)
		n -= rows
	}
	return schema, out
}

func write(t *testing.T, schema *arrow.Schema, recs []arrow.RecordBatch, opts parquet.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := parquet.NewWriter(&out, schema, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.BytesWritten() != int64(out.Len()) {
		t.Fatalf("BytesWritten is %d, the file has %d", w.BytesWritten(), out.Len())
	}
	return out.Bytes()
}

func open(t *testing.T, data []byte) *file.Reader {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// column is all values of the columns of recs as text.
func column(recs []arrow.RecordBatch) []string {
	var out []string
	for _, rec := range recs {
		for _, a := range rec.Columns() {
			for i := range a.Len() {
				s := a.ValueStr(i)
				if d, ok := a.(*array.Dictionary); ok && d.IsValid(i) {
					s = d.Dictionary().ValueStr(d.GetValueIndex(i))
				}
				out = append(out, s)
			}
		}
	}
	return out
}

func read(t *testing.T, data []byte) []string {
	t.Helper()
	fr, err := pqarrow.NewFileReader(open(t, data), pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := array.NewTableReader(table, 0)
	var recs []arrow.RecordBatch
	for r.Next() {
		rec := r.RecordBatch()
		rec.Retain()
		recs = append(recs, rec)
	}
	return column(recs)
}

func TestRoundTrip(t *testing.T) {
	small := parquet.Options{PageBytes: 3000, RowGroupRows: 4500, DictionaryBytes: 5000}
	for name, k := range kinds {
		for _, tc := range []struct {
			name                       string
			rows, size, distinct, null int
			opts                       parquet.Options
		}{
			{"empty", 0, 1, 1, 0, parquet.Options{}},
			{"one value", 5000, 5000, 1, 0, parquet.Options{}},
			{"few values", 9500, 777, 9, 5, small},
			{"few values, many pages", 9500, 7000, 150, 0, small},
			{"many values", 9500, 4501, 1 << 20, 7, small},
			{"late nulls", 9500, 9500, 100, 2000, small},
			{"late nulls, many values", 9500, 9500, 1 << 20, 2000, small},
			{"almost only nulls", 5000, 4096, 1 << 20, 1, small},
			{"no dictionary", 5000, 5000, 30, 3, parquet.Options{DictionaryBytes: -1, Compression: parquet.None}},
			{"zstd", 5000, 5000, 1000, 3, parquet.Options{Compression: parquet.Zstd}},
			{"bare", 5000, 5000, 1000, 3, parquet.Options{NoStatistics: true, PageBytes: 1000}},
		} {
			t.Run(name+"/"+tc.name, func(t *testing.T) {
				schema, recs := batches(t, k, tc.rows, tc.size, tc.distinct, tc.null)
				want := column(recs)
				got := read(t, write(t, schema, recs, tc.opts))
				if !slices.Equal(got, want) {
					t.Fatalf("read back %d rows of %d, first difference at %s", len(got), len(want), difference(got, want))
				}
			})
		}
	}
}

func difference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d: %q, want %q", i, got[i], want[i])
		}
	}
	return "the end"
}

// wide is a batch of every kind of column.
func wide(t *testing.T, rows int) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range kinds {
			if !yield(n) {
				return
			}
		}
	}) {
		_, recs := batches(t, kinds[name], rows, rows, 500, 9)
		fields = append(fields, arrow.Field{Name: name, Type: kinds[name].field, Nullable: true})
		columns = append(columns, recs[0].Column(0))
	}
	schema := arrow.NewSchema(fields, nil)
	return schema, array.NewRecordBatch(schema, columns, int64(columns[0].Len()))
}

// The bytes are the same whatever the number of threads and however the rows come.
func TestThreadsAndBatchesDoNotShow(t *testing.T) {
	schema, rec := wide(t, 30_000)
	opts := parquet.Options{RowGroupRows: 8000, PageBytes: 20_000}
	want := write(t, schema, []arrow.RecordBatch{rec}, opts)
	opts.Threads = 4
	if got := write(t, schema, []arrow.RecordBatch{rec}, opts); !bytes.Equal(got, want) {
		t.Error("4 threads write other bytes than 1")
	}
	var parts []arrow.RecordBatch
	for i := int64(0); i < rec.NumRows(); i += 1024 {
		parts = append(parts, rec.NewSlice(i, min(i+1024, rec.NumRows())))
	}
	got := open(t, write(t, schema, parts, parquet.Options{RowGroupRows: 8000, Threads: 3}))
	if got.NumRowGroups() != 4 || got.NumRows() != rec.NumRows() || got.MetaData().RowGroup(3).NumRows() != rec.NumRows()-24_000 {
		t.Errorf("%d row groups, %d rows", got.NumRowGroups(), got.NumRows())
	}
}

// Each value fills a page, so that the bounds of the chunk are those of several pages.
func TestStatistics(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "i", Type: arrow.PrimitiveTypes.Int64},
		{Name: "u", Type: arrow.PrimitiveTypes.Uint32},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 38}},
	}, nil)
	low, high := "a"+strings.Repeat("é", 100), "é"+strings.Repeat("z", 200)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i, s := range []string{"b", "", low, high} {
		for range 1024 {
			b.Field(0).(*array.Int64Builder).Append(int64(i - 2))
			b.Field(1).(*array.Uint32Builder).Append(uint32(i - 2))
			b.Field(2).(*array.Float64Builder).Append([]float64{math.NaN(), 0, 3, math.Inf(1)}[i])
			if s == "" {
				b.Field(3).AppendNull()
			} else {
				b.Field(3).(*array.StringBuilder).Append(s)
			}
			b.Field(4).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i - 2)))
		}
	}
	rec := b.NewRecordBatch()
	for _, dictionary := range []int{0, -1} {
		opts := parquet.Options{DictionaryBytes: dictionary, PageBytes: 1}
		r := open(t, write(t, schema, []arrow.RecordBatch{rec}, opts))
		stats := func(i int) metadata.TypedStatistics {
			m, err := r.MetaData().RowGroup(0).ColumnChunk(i)
			if err != nil {
				t.Fatal(err)
			}
			s, err := m.Statistics()
			if err != nil || s == nil || !s.HasMinMax() {
				t.Fatalf("column %d has no statistics: %v", i, err)
			}
			return s
		}
		if s := stats(0).(*metadata.Int64Statistics); s.Min() != -2 || s.Max() != 1 || s.NullCount() != 0 {
			t.Errorf("int64: %v to %v", s.Min(), s.Max())
		}
		if s := stats(1).(*metadata.Int32Statistics); uint32(s.Min()) != 0 || uint32(s.Max()) != math.MaxUint32 {
			t.Errorf("uint32: %v to %v", s.Min(), s.Max())
		}
		if s := stats(2).(*metadata.Float64Statistics); !math.Signbit(s.Min()) || s.Min() != 0 || !math.IsInf(s.Max(), 1) {
			t.Errorf("float64: %v to %v", s.Min(), s.Max())
		}
		// Long texts are cut to bounds around them, at whole characters.
		s := stats(3).(*metadata.ByteArrayStatistics)
		gotLow, gotHigh := string(s.Min()), string(s.Max())
		if !strings.HasPrefix(low, gotLow) || len(gotLow) > 128 || !utf8.ValidString(gotLow) {
			t.Errorf("utf8: from %q", gotLow)
		}
		if gotHigh <= high || len(gotHigh) > 128 || s.NullCount() != 1024 {
			t.Errorf("utf8: to %q, %d nulls", gotHigh, s.NullCount())
		}
		if s := stats(4).(*metadata.FixedLenByteArrayStatistics); s.Min()[0] != 0xff || s.Max()[0] != 0 || s.Max()[15] != 1 {
			t.Errorf("decimal: %x to %x", s.Min(), s.Max())
		}
	}
}

func TestPageIndex(t *testing.T) {
	k := kinds["int64"]
	k.value = func(r *rand.Rand, _ int) string { return fmt.Sprint(r.Int64()) }
	for name, distinct := range map[string]int{"plain": -1, "coded": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			schema, recs := batches(t, k, 20_000, 20_000, 1, 4)
			r := open(t, write(t, schema, recs, parquet.Options{PageBytes: 4096, DictionaryBytes: distinct}))
			index, err := r.GetPageIndexReader().RowGroup(0)
			if err != nil || index == nil {
				t.Fatalf("no page index: %v", err)
			}
			columnIndex, err := index.GetColumnIndex(0)
			if err != nil {
				t.Fatal(err)
			}
			offsets, err := index.GetOffsetIndex(0)
			if err != nil {
				t.Fatal(err)
			}
			locations := offsets.GetPageLocations()
			ints := columnIndex.(*metadata.TypedColumnIndex[int64])
			if len(locations) < 10 || len(ints.MinValues()) != len(locations) {
				t.Fatalf("%d pages, %d minima", len(locations), len(ints.MinValues()))
			}
			values := recs[0].Column(0).(*array.Int64)
			var nulls int64
			for p, l := range locations {
				end := int64(values.Len())
				if p+1 < len(locations) {
					end = locations[p+1].FirstRowIndex
				}
				low, high := int64(math.MaxInt64), int64(math.MinInt64)
				for i := l.FirstRowIndex; i < end; i++ {
					if values.IsValid(int(i)) {
						low, high = min(low, values.Value(int(i))), max(high, values.Value(int(i)))
					}
				}
				if ints.MinValues()[p] != low || ints.MaxValues()[p] != high {
					t.Fatalf("page %d: %d to %d, want %d to %d", p, ints.MinValues()[p], ints.MaxValues()[p], low, high)
				}
				nulls += columnIndex.GetNullCounts()[p]
			}
			if nulls != int64(values.NullN()) {
				t.Errorf("%d nulls in the index, want %d", nulls, values.NullN())
			}
		})
	}
}

func TestDictionaryOnlyWhereItSaves(t *testing.T) {
	for _, tc := range []struct {
		name     string
		kind     string
		distinct int
		opts     parquet.Options
		coded    bool
	}{
		{"few", "utf8", 50, parquet.Options{}, true},
		{"off", "utf8", 50, parquet.Options{DictionaryBytes: -1}, false},
		{"unique", "int64", 1 << 40, parquet.Options{}, false},
		{"too large", "utf8", 2000, parquet.Options{DictionaryBytes: 1000}, false},
		{"truth values", "bool", 2, parquet.Options{}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			schema, recs := batches(t, kinds[tc.kind], 20_000, 20_000, tc.distinct, 0)
			m, err := open(t, write(t, schema, recs, tc.opts)).MetaData().RowGroup(0).ColumnChunk(0)
			if err != nil {
				t.Fatal(err)
			}
			if m.HasDictionaryPage() != tc.coded {
				t.Errorf("dictionary: %v, want %v", m.HasDictionaryPage(), tc.coded)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	var out bytes.Buffer
	list := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8)}}, nil)
	_, err := parquet.NewWriter(&out, list, parquet.Options{})
	wantCode(t, "a list", err, sqlerr.Unsupported)
	_, err = parquet.NewWriter(&out, arrow.NewSchema(nil, nil), parquet.Options{})
	wantCode(t, "no columns", err, sqlerr.Unsupported)
	_, err = parquet.ParseCompression("lzo")
	wantCode(t, "lzo", err, sqlerr.InvalidParameter)

	schema, recs := batches(t, kinds["ts_s"], 1, 1, 1, 0)
	w, err := parquet.NewWriter(&out, schema, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, other := batches(t, kinds["int64"], 1, 1, 1, 0)
	wantCode(t, "another type", w.Write(other[0]), sqlerr.Internal)
	wantCode(t, "a write after an error", w.Write(recs[0]), sqlerr.Internal)
	wantCode(t, "a close after an error", w.Close(), sqlerr.Internal)

	b := array.NewTimestampBuilder(memory.DefaultAllocator, schema.Field(0).Type.(*arrow.TimestampType))
	b.Append(math.MaxInt64 / 10)
	w, _ = parquet.NewWriter(&out, schema, parquet.Options{Threads: 2})
	wantCode(t, "too far away", w.Write(array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1)), sqlerr.OutOfRange)

	full := &limited{room: 3000}
	schema, recs = batches(t, kinds["int64"], 10_000, 10_000, 1<<40, 0)
	if w, err = parquet.NewWriter(full, schema, parquet.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(recs[0]); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a full disk", w.Close(), sqlerr.DiskFull)
}

func wantCode(t *testing.T, what string, err error, code sqlerr.Code) {
	t.Helper()
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("%s: error %v, want code %s", what, err, code)
	}
}

// limited is a disk with so many bytes free.
type limited struct{ room int }

func (l *limited) Write(b []byte) (int, error) {
	if l.room -= len(b); l.room < 0 {
		return 0, syscall.ENOSPC
	}
	return len(b), nil
}

// The point of an own writer is what it does not link.
func TestLinksNoCompute(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		if strings.Contains(dep, "arrow/compute") || strings.Contains(dep, "grpc") || strings.Contains(dep, "arrow-go/v18/parquet") {
			t.Errorf("depends on %s", dep)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	const rows = 122_880
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.PrimitiveTypes.Int64},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
		{Name: "quantity", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "mode", Type: arrow.BinaryTypes.String},
		{Name: "comment", Type: arrow.BinaryTypes.String},
	}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		build.Field(0).(*array.Int64Builder).Append(int64(i / 4))
		build.Field(1).(*array.Decimal128Builder).Append(decimal128.FromI64(r.Int64N(10_000_000)))
		build.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(r.Int64N(50) * 100))
		build.Field(3).(*array.Date32Builder).Append(arrow.Date32(8000 + r.IntN(2500)))
		build.Field(4).(*array.StringBuilder).Append([]string{"AIR", "RAIL", "TRUCK", "SHIP"}[r.IntN(4)])
		build.Field(5).(*array.StringBuilder).Append(fmt.Sprintf("carefully %d final %d deposits", r.IntN(1000), r.IntN(1000)))
	}
	rec := build.NewRecordBatch()
	for _, c := range []parquet.Compression{parquet.Snappy, parquet.Zstd, parquet.None} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", c, threads), func(b *testing.B) {
				b.ReportAllocs()
				w, err := parquet.NewWriter(discard{}, schema, parquet.Options{Compression: c, Threads: threads})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := w.Write(rec); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*rows/b.Elapsed().Seconds()/1e6, "Mrows/s")
			})
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
