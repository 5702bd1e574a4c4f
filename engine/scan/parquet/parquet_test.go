package parquet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// shared is the files of a folder of the larger test data; none where there is no such data.
func shared(t testing.TB, folder string) []string {
	t.Helper()
	root := os.Getenv("FLETCH_TESTDATA")
	if root == "" {
		t.Logf("FLETCH_TESTDATA is not set: %s is not read", folder)
		return nil
	}
	found, err := filepath.Glob(filepath.Join(root, folder, "*.parquet"))
	if err != nil || len(found) == 0 {
		t.Fatal(folder, "has no files:", err)
	}
	return found
}

// A memFS has files in memory.
type memFS map[string][]byte

type memFile struct {
	*bytes.Reader
	info files.Info
}

func (f memFile) Info() files.Info { return f.info }
func (f memFile) Close() error     { return nil }

func (m memFS) Abs(path string) (string, error) { return path, nil }

func (m memFS) Stat(_ context.Context, path string) (files.Info, bool, error) {
	return files.Info{Path: path, Size: int64(len(m[path])), ModTime: 1}, false, nil
}

func (m memFS) Open(ctx context.Context, path string) (files.File, error) {
	info, _, _ := m.Stat(ctx, path)
	return memFile{Reader: bytes.NewReader(m[path]), info: info}, nil
}

func (m memFS) ReadDir(context.Context, string) ([]files.Entry, error) { return nil, nil }

// scanOf is a scan of all columns that can be read.
func scanOf(f *File) *physical.Scan {
	s := &physical.Scan{Table: "t", Files: []physical.File{{Path: f.Path, Size: f.Size, ModTime: f.ModTime, FooterHash: f.FooterHash}}}
	for i, c := range f.Columns {
		if c.problem == "" {
			s.Columns = append(s.Columns, physical.ScanColumn{Name: c.Name, Index: i, Type: c.Type, Nullable: c.Nullable})
		}
	}
	return s
}

// readAll runs a scan with one reader and hands its batches to f.
func readAll(in files.FS, scan *physical.Scan, env *exec.Env, f func(b *vector.Batch)) error {
	ctx := context.Background()
	s, err := NewSource(ctx, in, nil, scan, env)
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := s.NewReader()
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		b, err := r.Next(ctx)
		if b == nil || err != nil {
			return err
		}
		f(b)
	}
}

// cell is row i of v as a Go value that can be compared, nil for NULL. It panics where v breaks a rule of vectors.
func cell(v *vector.Vector, i int) any {
	if v.IsNull(i) {
		return nil
	}
	v, i = v.At(i)
	switch v.Phys {
	case vector.PhysBool:
		return vector.Bits(v)[i/64]>>(i%64)&1 == 1
	case vector.PhysInt8:
		return int64(vector.Values[int8](v)[i])
	case vector.PhysInt16:
		return int64(vector.Values[int16](v)[i])
	case vector.PhysInt32:
		return int64(vector.Values[int32](v)[i])
	case vector.PhysInt64:
		return vector.Values[int64](v)[i]
	case vector.PhysUint8:
		return int64(vector.Values[uint8](v)[i])
	case vector.PhysUint16:
		return int64(vector.Values[uint16](v)[i])
	case vector.PhysUint32:
		return int64(vector.Values[uint32](v)[i])
	case vector.PhysUint64:
		return vector.Values[uint64](v)[i]
	case vector.PhysFloat32:
		return float64(vector.Values[float32](v)[i])
	case vector.PhysFloat64:
		return vector.Values[float64](v)[i]
	case vector.PhysInt128:
		x := vector.Values[int128.Int128](v)[i]
		if n, ok := x.Int64(); ok {
			return n
		}
		return x
	case vector.PhysString:
		return vector.Values[string](v)[i]
	case vector.PhysInterval:
		return vector.Values[vector.Interval](v)[i]
	}
	panic(fmt.Sprint("phys ", v.Phys))
}

// arrowCell is row i of a as cell gives it.
func arrowCell(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Null:
		return nil
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Uint64:
		return a.Value(i)
	case *array.Float16:
		return float64(a.Value(i).Float32())
	case *array.Float32:
		return float64(a.Value(i))
	case *array.Float64:
		return a.Value(i)
	case *array.String:
		return a.Value(i)
	case *array.LargeString:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.FixedSizeBinary:
		return string(a.Value(i))
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Time32:
		return int64(a.Value(i)) * micros(a.DataType().(*arrow.Time32Type).Unit, 1000)
	case *array.Time64:
		return scaled(int64(a.Value(i)), a.DataType().(*arrow.Time64Type).Unit)
	case *array.Timestamp:
		return scaled(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit)
	case *array.Decimal128:
		x := a.Value(i)
		if n := (int128.Int128{Hi: x.HighBits(), Lo: x.LowBits()}); true {
			if v, ok := n.Int64(); ok {
				return v
			}
			return n
		}
	case array.ExtensionArray:
		if f, ok := a.Storage().(*array.FixedSizeBinary); ok && f.DataType().(*arrow.FixedSizeBinaryType).ByteWidth == 16 {
			u := uuid(f.Value(i))
			if n, ok := u.Int64(); ok {
				return n
			}
			return u
		}
		return arrowCell(a.Storage(), i)
	}
	panic(fmt.Sprintf("array %T", a))
}

func micros(u arrow.TimeUnit, ms int64) int64 {
	if u == arrow.Second {
		return 1000 * ms
	}
	return ms
}

func scaled(v int64, u arrow.TimeUnit) int64 {
	switch u {
	case arrow.Second:
		return v * 1000000
	case arrow.Millisecond:
		return v * 1000
	case arrow.Nanosecond:
		return v/1000 - b2i(v%1000 < 0)
	}
	return v
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// oracle is a file as arrow-go reads it, one record.
func oracle(t testing.TB, data []byte) arrow.RecordBatch {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	cols := make([]arrow.Array, table.NumCols())
	for i := range cols {
		if cols[i], err = array.Concatenate(table.Column(i).Data().Chunks(), memory.DefaultAllocator); err != nil {
			t.Fatal(err)
		}
	}
	return array.NewRecordBatch(table.Schema(), cols, table.NumRows())
}

// compareAll reads all columns of a file and compares them with what arrow-go gives.
func compareAll(t *testing.T, in files.FS, path string, want arrow.RecordBatch, batches ...int) {
	t.Helper()
	f, err := Open(context.Background(), in, path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Rows != want.NumRows() || len(f.Columns) != int(want.NumCols()) {
		t.Fatalf("%d rows of %d columns, want %d of %d", f.Rows, len(f.Columns), want.NumRows(), want.NumCols())
	}
	scan := scanOf(f)
	for _, n := range batches {
		row := 0
		metrics := &exec.Metrics{}
		err := readAll(in, scan, &exec.Env{BatchRows: n, Metrics: metrics}, func(b *vector.Batch) {
			if b.Sel != nil || b.Len > n || len(b.Cols) != len(scan.Columns) {
				t.Fatalf("batch of %d rows, %v", b.Len, b.Sel)
			}
			for j, v := range b.Cols {
				if v.Len != b.Len || !v.Type.Equal(scan.Columns[j].Type) {
					t.Fatalf("column %d: %d rows of %v", j, v.Len, v.Type)
				}
				a := want.Column(scan.Columns[j].Index)
				for i := range v.Len {
					got, want := cell(v, i), arrowCell(a, row+i)
					if got != want && !(got != got && want != want) {
						t.Fatalf("batches of %d, %s (%v, %v), row %d: got %v, want %v", n, scan.Columns[j].Name, v.Type, v.Form, row+i, got, want)
					}
				}
			}
			row += b.Len
		})
		if err != nil {
			t.Fatal(err)
		}
		if int64(row) != f.Rows {
			t.Fatalf("batches of %d: %d rows of %d", n, row, f.Rows)
		}
		if m := metrics.Of(scan); m.Bytes.Load() != m.Total.Load() || m.Bytes.Load() == 0 && row > 0 {
			t.Errorf("read %d bytes of %d", m.Bytes.Load(), m.Total.Load())
		}
	}
}

func TestSharedData(t *testing.T) {
	for _, folder := range []string{"tpch-sf0.01", "tpch-sf0.1", "tpcds-5pct"} {
		for _, path := range shared(t, folder) {
			t.Run(folder+"/"+filepath.Base(path), func(t *testing.T) {
				if testing.Short() && folder != "tpch-sf0.01" {
					return
				}
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				batches := []int{vector.DefaultBatch}
				if folder == "tpch-sf0.01" {
					batches = []int{1, 7, vector.DefaultBatch}
				}
				compareAll(t, files.Unrestricted(), path, oracle(t, data), batches...)
			})
		}
	}
}
