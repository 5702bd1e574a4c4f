package parquet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

const (
	groupRows = 1000
	groups    = 5
)

// orders is groups row groups: id ascends through them, so that statistics part them; kind has words that differ by row
// group, inside the same bounds, so that only dictionaries do; x has NaN and NULL, text is long and has no dictionary.
func orders(t testing.TB, opts ...pq.WriterProperty) *physicalFile {
	const n = groups * groupRows
	pool := memory.DefaultAllocator
	id, kind, x, text, some := array.NewInt64Builder(pool), array.NewStringBuilder(pool), array.NewFloat64Builder(pool), array.NewStringBuilder(pool), array.NewInt32Builder(pool)
	for i := range n {
		id.Append(int64(i))
		g := i / groupRows
		kind.Append([]string{"a", fmt.Sprint("m", g), "z"}[i%3])
		switch {
		case i%10 == 3:
			x.AppendNull()
		case i%10 == 4:
			x.Append(math.NaN())
		default:
			x.Append(float64(i % 100))
		}
		text.Append(fmt.Sprint("a rather long text number ", i*7919%n))
		if g == 2 {
			some.AppendNull()
		} else {
			some.Append(int32(i % 1000))
		}
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "kind", Type: arrow.BinaryTypes.String},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "text", Type: arrow.BinaryTypes.String},
		{Name: "some", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{id.NewArray(), kind.NewArray(), x.NewArray(), text.NewArray(), some.NewArray()}, n)
	opts = append([]pq.WriterProperty{
		pq.WithMaxRowGroupLength(groupRows), pq.WithDictionaryDefault(false), pq.WithDictionaryFor("kind", true), pq.WithStats(true),
		pq.WithDataPageSize(500), pq.WithBatchSize(50), pq.WithCompression(compress.Codecs.Snappy),
	}, opts...)
	return openBytes(t, write(t, rec, opts...))
}

type physicalFile struct {
	*File
	fs   memFS
	scan *physical.Scan
}

func openBytes(t testing.TB, data []byte) *physicalFile {
	t.Helper()
	fs := memFS{"f": data}
	f, err := Open(context.Background(), fs, "f")
	if err != nil {
		t.Fatal(err)
	}
	return &physicalFile{File: f, fs: fs, scan: scanOf(f)}
}

func (f *physicalFile) col(name string) *expr.Input {
	i := slices.IndexFunc(f.scan.Columns, func(c physical.ScanColumn) bool { return c.Name == name })
	return &expr.Input{Index: i, Name: name, Typ: f.scan.Columns[i].Type, Nullable: f.scan.Columns[i].Nullable}
}

func (f *physicalFile) cmp(name string, op expr.CompareOp, v expr.Value) expr.Expr {
	c := f.col(name)
	v.Type = c.Typ
	return &expr.Compare{Op: op, L: c, R: &expr.Literal{Value: v}}
}

// ids reads the file with a filter and gives the ids that come out, after a look at every other column.
func (f *physicalFile) ids(t *testing.T, filter expr.Expr, env *exec.Env, probes ...physical.RuntimeProbe) (ids []int64) {
	t.Helper()
	scan := *f.scan
	scan.Filter, scan.Runtime = filter, probes
	err := readAll(f.fs, &scan, env, func(b *vector.Batch) {
		if b.Rows() == 0 {
			t.Error("a batch without rows")
		}
		for k := range b.Rows() {
			i := k
			if b.Sel != nil {
				i = int(b.Sel[k])
			}
			id := cell(b.Cols[0], i).(int64)
			if text := cell(b.Cols[f.col("text").Index], i); text != fmt.Sprint("a rather long text number ", id*7919%(groups*groupRows)) {
				t.Errorf("row %d has text %q", id, text)
			}
			ids = append(ids, id)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// expected is ids by the unfiltered rows and the filter over whole batches.
func (f *physicalFile) expected(t *testing.T, filter expr.Expr) (ids []int64) {
	t.Helper()
	p, err := eval.NewFilter(t.Context(), filter, 512)
	if err != nil {
		t.Fatal(err)
	}
	err = readAll(f.fs, f.scan, &exec.Env{BatchRows: 512}, func(b *vector.Batch) {
		if err := p.Apply(b); err != nil {
			t.Fatal(err)
		}
		for k := range b.Rows() {
			i := k
			if b.Sel != nil {
				i = int(b.Sel[k])
			}
			ids = append(ids, cell(b.Cols[0], i).(int64))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func num(i int64) expr.Value       { return expr.Value{Int: i} }
func float(f float64) expr.Value   { return expr.Value{Float: f} }
func str(s string) expr.Value      { return expr.Value{Str: s} }
func and(e ...expr.Expr) expr.Expr { return &expr.Logic{Op: expr.And, Args: e} }
func or(e ...expr.Expr) expr.Expr  { return &expr.Logic{Op: expr.Or, Args: e} }

func TestFilter(t *testing.T) {
	f := orders(t)
	for _, tc := range []struct {
		name   string
		filter expr.Expr
		groups int     // that statistics leave
		read   float64 // at most this share of the bytes is read; 0: not looked at
	}{
		{"equal", f.cmp("id", expr.Eq, num(2500)), 1, 0.21},
		{"nothing", f.cmp("id", expr.Eq, num(-1)), 0, 0.001},
		{"less", f.cmp("id", expr.Lt, num(1500)), 2, 0.41},
		{"less at bound", f.cmp("id", expr.Lt, num(1000)), 1, 0.21},
		{"less or equal at bound", f.cmp("id", expr.Le, num(1000)), 2, 0.41},
		{"greater at bound", f.cmp("id", expr.Gt, num(3999)), 1, 0.21},
		{"greater or equal at bound", f.cmp("id", expr.Ge, num(3999)), 2, 0.41},
		{"flipped", &expr.Compare{Op: expr.Gt, L: &expr.Literal{Value: expr.Value{Type: sqltype.Of(sqltype.Int64), Int: 1000}}, R: f.col("id")}, 1, 0.21},
		{"between", and(f.cmp("id", expr.Ge, num(1100)), f.cmp("id", expr.Le, num(1200))), 1, 0.21},
		{"in", &expr.In{X: f.col("id"), List: []expr.Value{{Type: f.col("id").Typ, Int: 3}, {Type: f.col("id").Typ, Int: 4003}}}, 2, 0.41},
		{"not in", &expr.In{X: f.col("id"), List: []expr.Value{{Type: f.col("id").Typ, Int: 3}}, Negated: true}, 5, 0},
		{"or", or(f.cmp("id", expr.Lt, num(10)), f.cmp("id", expr.Ge, num(4990))), 2, 0.41},
		{"is null", &expr.IsNull{X: f.col("some")}, 1, 0.21},
		{"is not null", &expr.IsNull{X: f.col("some"), Negated: true}, 4, 0.81},
		{"all null is never equal", f.cmp("some", expr.Eq, num(7)), 4, 0},
		{"not equal", f.cmp("kind", expr.Ne, str("a")), 5, 0},
		{"dictionary", f.cmp("kind", expr.Eq, str("m3")), 5, 0.4},
		{"dictionary without", f.cmp("kind", expr.Eq, str("n")), 5, 0.2},
		{"dictionary and more", and(f.cmp("kind", expr.Eq, str("m3")), f.cmp("id", expr.Gt, num(3500))), 2, 0.4},
		{"NaN is above", f.cmp("x", expr.Gt, float(1000)), 5, 0},
		{"NaN is not below", f.cmp("x", expr.Lt, float(0)), 0, 0.001},
		{"float equal", f.cmp("x", expr.Eq, float(7)), 5, 0},
		{"float beyond", f.cmp("x", expr.Eq, float(100)), 0, 0.001},
		{"text below", f.cmp("text", expr.Lt, str("a rather long text number 10")), 2, 0},
		{"few rows", and(f.cmp("x", expr.Eq, float(7)), f.cmp("kind", expr.Eq, str("z")), f.cmp("id", expr.Lt, num(3000))), 3, 0},
		{"two columns", &expr.Compare{Op: expr.Lt, L: f.col("some"), R: &expr.Literal{Value: expr.Value{Type: f.col("some").Typ, Int: 3}}}, 4, 0},
		{"never true", &expr.Literal{Value: expr.BoolValue(false)}, 0, 0.001},
		{"always true", &expr.Literal{Value: expr.BoolValue(true)}, 5, 0},
		{"against NULL", f.cmp("id", expr.Eq, expr.Value{Null: true}), 0, 0.001},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := f.expected(t, tc.filter)
			for _, n := range []int{1, 7, 64, 4096} {
				metrics := &exec.Metrics{}
				scan := *f.scan
				scan.Filter = tc.filter
				if got := f.ids(t, tc.filter, &exec.Env{BatchRows: n}); !slices.Equal(got, want) {
					t.Fatalf("batches of %d: %d rows, want %d", n, len(got), len(want))
				}
				if err := readAll(f.fs, &scan, &exec.Env{BatchRows: n, Metrics: metrics}, func(*vector.Batch) {}); err != nil {
					t.Fatal(err)
				}
				src, err := NewSource(context.Background(), f.fs, nil, &scan, &exec.Env{})
				if err != nil {
					t.Fatal(err)
				}
				if got := len(src.(*source).morsels); got != tc.groups {
					t.Errorf("statistics leave %d row groups, want %d", got, tc.groups)
				}
				if read := float64(metrics.Of(&scan).Bytes.Load()) / float64(f.bytes()); tc.read > 0 && read > tc.read+0.03 {
					t.Errorf("read %.2f of the file, want %.2f", read, tc.read)
				}
			}
		})
	}
}

func (f *File) bytes() (n int64) {
	for _, g := range f.RowGroups {
		for _, c := range g.Columns {
			n += c.Compressed
		}
	}
	return n
}

// A keySet is a runtime filter of some keys.
type keySet map[int64]bool

func (s keySet) Narrow(v *vector.Vector, bits []uint64) {
	for i := range v.Len {
		if k, ok := cell(v, i).(int64); !ok || !s[k] {
			bits[i/64] &^= 1 << (i % 64)
		}
	}
}

func (s keySet) Empty() bool { return len(s) == 0 }

func (s keySet) Range() (lo, hi int64, ok bool) {
	lo, hi = math.MaxInt64, math.MinInt64
	for k := range s {
		lo, hi = min(lo, k), max(hi, k)
	}
	return lo, hi, len(s) > 0
}

func TestRuntimeFilter(t *testing.T) {
	f := orders(t)
	filters := &exec.RuntimeFilters{}
	filters.Publish(1, keySet{1203: true, 1500: true, 2800: true})
	filters.Publish(2, keySet{})
	filters.Publish(3, keySet{803: true})
	filter := f.cmp("id", expr.Gt, num(1300))
	for _, tc := range []struct {
		filter expr.Expr
		probes []physical.RuntimeProbe
		want   []int64
		groups int
	}{
		{nil, []physical.RuntimeProbe{{Filter: 1, Column: 0}}, []int64{1203, 1500, 2800}, 2},
		{filter, []physical.RuntimeProbe{{Filter: 1, Column: 0}}, []int64{1500, 2800}, 2},
		{nil, []physical.RuntimeProbe{{Filter: 2, Column: 0}}, nil, 0},
		{nil, []physical.RuntimeProbe{{Filter: 3, Column: f.col("some").Index}}, []int64{803, 1803, 3803, 4803}, 4}, // NULL never passes
		{f.cmp("id", expr.Lt, num(3)), []physical.RuntimeProbe{{Filter: 9, Column: 0}}, []int64{0, 1, 2}, 1},        // none was published
	} {
		env := &exec.Env{BatchRows: 100, Filters: filters}
		if got := f.ids(t, tc.filter, env, tc.probes...); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %v, want %v", tc.probes, got, tc.want)
		}
		scan := *f.scan
		scan.Filter, scan.Runtime = tc.filter, tc.probes
		src, err := NewSource(context.Background(), f.fs, nil, &scan, env)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(src.(*source).morsels); got != tc.groups {
			t.Errorf("%v: %d row groups are left, want %d", tc.probes, got, tc.groups)
		}
	}
}

// TestRisky: a condition that can fail sees only the rows that the ones written before it let pass.
func TestRisky(t *testing.T) {
	f := orders(t)
	quotient := &expr.Call{Func: "/", Typ: sqltype.Of(sqltype.Int64), Args: []expr.Expr{
		&expr.Literal{Value: expr.IntValue(sqltype.Of(sqltype.Int64), 100)}, f.col("id"),
	}}
	risky := &expr.Compare{Op: expr.Gt, L: quotient, R: &expr.Literal{Value: expr.IntValue(sqltype.Of(sqltype.Int64), 20)}}
	if got := f.ids(t, and(risky, f.cmp("kind", expr.Ne, str("a")), f.cmp("id", expr.Ne, num(0))), &exec.Env{}); !slices.Equal(got, []int64{1, 2, 4}) {
		t.Error(got)
	}
	scan := *f.scan
	scan.Filter = risky
	if err := readAll(f.fs, &scan, &exec.Env{}, func(*vector.Batch) {}); sqlerr.CodeOf(err) != sqlerr.DivisionByZero {
		t.Error(err)
	}
}

func TestReadersShare(t *testing.T) {
	f := orders(t)
	ctx := context.Background()
	mem := budget.New(64 << 20)
	scan := *f.scan
	scan.Filter = f.cmp("kind", expr.Ne, str("z"))
	s, err := NewSource(ctx, f.fs, nil, &scan, &exec.Env{BatchRows: 300, Budget: mem})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	seen := make([]atomic.Int32, groups*groupRows)
	for range 3 {
		wg.Go(func() {
			r, err := s.NewReader()
			if err != nil {
				t.Error(err)
				return
			}
			for {
				b, err := r.Next(ctx)
				if b == nil || err != nil {
					if err := errors.Join(err, r.Close()); err != nil {
						t.Error(err)
					}
					return
				}
				for _, i := range b.Sel {
					seen[cell(b.Cols[0], int(i)).(int64)].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for id := range seen {
		if want := int32(b2i(id%3 != 2)); seen[id].Load() != want {
			t.Fatalf("row %d came %d times", id, seen[id].Load())
		}
	}
	if err := s.Close(); err != nil || mem.Used() != 0 || mem.Peak() == 0 {
		t.Errorf("%v; %d bytes used, %d at most", err, mem.Used(), mem.Peak())
	}
}

func TestMemoryLimit(t *testing.T) {
	f := orders(t)
	b := budget.New(1 << 10)
	err := readAll(f.fs, f.scan, &exec.Env{Budget: b}, func(*vector.Batch) {})
	if sqlerr.CodeOf(err) != sqlerr.MemoryLimit || b.Used() != 0 {
		t.Errorf("%v, %d bytes still used", err, b.Used())
	}
}

func TestCanceled(t *testing.T) {
	f := orders(t)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := NewSource(ctx, f.fs, nil, f.scan, &exec.Env{BatchRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := r.Next(ctx); b == nil || err != nil {
		t.Fatal(b, err)
	}
	cancel()
	if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSplit: a large row group with an index of its pages is several morsels, whose pages begin where they like.
func TestSplit(t *testing.T) {
	const n = 2*splitRows + 70000
	rec := only(sample(n, nullPatterns[3].null), "i64", "text_few", "text", "bool")
	opts := []pq.WriterProperty{pq.WithMaxRowGroupLength(n), pq.WithDataPageSize(20000), pq.WithDictionaryFor("i64", false), pq.WithDictionaryFor("text", false)}
	for _, index := range []bool{false, true} {
		data := write(t, rec, append(opts, pq.WithPageIndexEnabled(index))...)
		f := openBytes(t, data)
		src, err := NewSource(context.Background(), f.fs, nil, f.scan, &exec.Env{})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(src.(*source).morsels); got != map[bool]int{false: 1, true: 3}[index] {
			t.Errorf("%d morsels with index %v", got, index)
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		compareAll(t, f.fs, "f", oracle(t, data), 4096)
	}
}

// TestNoAllocations: once its memory has grown, a reader gives batches without taking more.
func TestNoAllocations(t *testing.T) {
	rec := only(sample(20000, nullPatterns[3].null), "i64", "i64_300", "text", "text_few", "bool", "d25", "f32", "tsus")
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Zstd} {
		f := openBytes(t, write(t, rec, pq.WithCompression(codec), pq.WithMaxRowGroupLength(10000), pq.WithDataPageSize(10000), pq.WithDictionaryPageSizeLimit(20000)))
		f.scan.Filter = f.cmp("i64_300", expr.Ge, num(-140))
		ctx := context.Background()
		s, err := NewSource(ctx, f.fs, nil, f.scan, &exec.Env{BatchRows: 64})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.NewReader()
		if err != nil {
			t.Fatal(err)
		}
		batches := 0
		pass := func() {
			s.(*source).next.Store(0)
			for {
				b, err := r.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if b == nil {
					return
				}
				batches++
			}
		}
		if n := testing.AllocsPerRun(5, pass); n > 10 { // two per row group are the file's
			t.Errorf("%v: %.0f allocations in %d batches", codec, n, batches/6)
		}
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestPagesLeftOut: pages of which no row is left are not decompressed, nor are row groups without a row read.
func TestPagesLeftOut(t *testing.T) {
	f := orders(t)
	data := f.fs["f"]
	meta := &f.meta.rowGroups[2].chunks[f.Columns[f.col("text").Index].leaf]
	list, err := pages(nil, data[meta.dataOffset:meta.dataOffset+meta.compressed], 0, groupRows, false)
	if err != nil || len(list) < 8 {
		t.Fatal(len(list), err)
	}
	for i, p := range list {
		if i == 3 {
			continue
		}
		for k := p.from; k < p.to; k++ {
			data[int(meta.dataOffset)+k] = 0xa5
		}
	}
	want := []int64{2000 + list[3].row, 2000 + list[4].row - 1}
	between := and(f.cmp("id", expr.Ge, num(want[0])), f.cmp("id", expr.Le, num(want[1])), &expr.IsNull{X: f.col("text"), Negated: true})
	got := f.ids(t, between, &exec.Env{BatchRows: 10})
	if len(got) != list[3].values || got[0] != want[0] || got[len(got)-1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
	scan := *f.scan
	if err := readAll(f.fs, &scan, &exec.Env{}, func(*vector.Batch) {}); sqlerr.CodeOf(err) != sqlerr.FileCorrupt {
		t.Error("the pages were not spoilt:", err)
	}
}

// TestStats: no value is outside of what the file says of its row group.
func TestStats(t *testing.T) {
	bounded := 0
	for i, pattern := range nullPatterns {
		f := openBytes(t, write(t, sample(900, pattern.null), pq.WithMaxRowGroupLength(300), pq.WithStats(true), pq.WithStoreDecimalAsInteger(i%2 == 0)))
		for g := range f.RowGroups {
			scan := *f.scan
			scan.Files = slices.Clone(scan.Files)
			scan.Files[0].RowGroups = []int32{int32(g)}
			nulls := make([]int64, len(scan.Columns))
			err := readAll(f.fs, &scan, &exec.Env{}, func(b *vector.Batch) {
				for j, v := range b.Cols {
					s := &f.RowGroups[g].Columns[scan.Columns[j].Index].Stats
					for i := range v.Len {
						if v.IsNull(i) {
							nulls[j]++
							continue
						}
						x := valueOf(v, i)
						if s.HasMin {
							bounded++
							if order, ok := compare(s.Min, x); !ok && x.Float == x.Float || order > 0 {
								t.Fatalf("%s: %v is below %v", scan.Columns[j].Name, x, s.Min)
							}
						}
						if s.HasMax {
							if order, ok := compare(s.Max, x); !ok && x.Float == x.Float || order < 0 {
								t.Fatalf("%s: %v is above %v", scan.Columns[j].Name, x, s.Max)
							}
						}
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for j, n := range nulls {
				if s := f.RowGroups[g].Columns[scan.Columns[j].Index].Stats; s.NullCount != n {
					t.Errorf("%s, %s: %d NULLs, not %d", pattern.name, scan.Columns[j].Name, n, s.NullCount)
				}
			}
		}
	}
	if bounded < 50000 {
		t.Errorf("only %d values had bounds", bounded)
	}
}

// valueOf is cell as a constant.
func valueOf(v *vector.Vector, i int) expr.Value {
	x := expr.Value{Type: v.Type}
	switch c := cell(v, i).(type) {
	case bool:
		x.Int = b2i(c)
	case int64:
		x.Int, x.Wide = c, int128.FromInt64(c)
	case uint64:
		x.Int = int64(c)
	case int128.Int128:
		x.Wide = c
	case float64:
		x.Float = c
	case string:
		x.Str = c
	}
	return x
}
