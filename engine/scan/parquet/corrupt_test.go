package parquet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// only is some columns of rec.
func only(rec arrow.RecordBatch, names ...string) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, n := range names {
		i := rec.Schema().FieldIndices(n)[0]
		fields, cols = append(fields, rec.Schema().Field(i)), append(cols, rec.Column(i))
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, rec.NumRows())
}

// digest reads whatever data is and touches every value. An error must be one that a user can be shown; what can be read
// must keep the rules of vectors.
func digest(data []byte) (rows int64, err error) {
	in := memFS{"f": data}
	f, err := Open(context.Background(), in, "f")
	if err != nil {
		return 0, err
	}
	scan := scanOf(f)
	err = readAll(in, scan, &exec.Env{BatchRows: 16}, func(b *vector.Batch) {
		rows += int64(b.Len)
		for _, v := range b.Cols {
			for i := range v.Len {
				if s, ok := cell(v, i).(string); ok && v.Type.Kind == sqltype.Utf8 && !utf8.ValidString(s) {
					panic("not UTF-8")
				}
			}
			if v.Form == vector.Dict {
				for i := range v.Len {
					if v.Code(i) >= v.Dict.Len {
						panic("code out of range")
					}
				}
			}
		}
	})
	if err == nil && rows != f.Rows {
		err = fmt.Errorf("%d rows of %d", rows, f.Rows)
	}
	return rows, err
}

// digestSafely is digest with what must not happen turned into failures of t. It allows 200 MiB: the slack of one page or two.
func digestSafely(t *testing.T, what string, data []byte) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := digest(data)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 200<<20 {
		t.Errorf("%s: took %d MiB", what, n>>20)
	}
	var e *sqlerr.Error
	if err != nil && (!errors.As(err, &e) || e.Code == sqlerr.Internal || e.Message == "") {
		t.Errorf("%s: error %v", what, err)
	}
	return err
}

func smallFiles(t testing.TB) map[string][]byte {
	mixed := nullPatterns[3].null
	rec := only(sample(60, mixed), "bool", "i32", "i64_300", "text", "text_few", "d25", "tsns")
	small := []pq.WriterProperty{pq.WithDataPageSize(100), pq.WithMaxRowGroupLength(40), pq.WithBatchSize(8)}
	return map[string][]byte{
		"v1":   write(t, rec, append(small, pq.WithDictionaryDefault(true), pq.WithDictionaryPageSizeLimit(60))...),
		"v2":   write(t, rec, append(small, pq.WithDictionaryDefault(true), pq.WithDataPageVersion(pq.DataPageV2), pq.WithCompression(compress.Codecs.Snappy))...),
		"rare": write(t, rec, append(rare(rec), pq.WithCompression(compress.Codecs.Zstd))...),
		"bare": write(t, rec, rare(rec)...),
	}
}

func TestTruncated(t *testing.T) {
	for name, data := range smallFiles(t) {
		for n := range data {
			err := digestSafely(t, fmt.Sprint(name, " cut to ", n), data[:n])
			if err == nil || sqlerr.CodeOf(err) != sqlerr.FileCorrupt || !strings.Contains(err.Error(), `"f"`) {
				t.Fatalf("%s cut to %d of %d bytes: %v", name, n, len(data), err)
			}
		}
	}
}

func TestFlipped(t *testing.T) {
	for name, data := range smallFiles(t) {
		for i := range data {
			for _, flip := range []byte{0xff, 0x01, 0x80} {
				bad := append([]byte{}, data...)
				bad[i] ^= flip
				_ = digestSafely(t, fmt.Sprintf("%s byte %d ^ %#x", name, i, flip), bad)
			}
		}
	}
}

func TestCorruptSaysWhere(t *testing.T) {
	rec := only(sample(500, nil), "i64", "text")
	data := write(t, rec, pq.WithDictionaryDefault(false), pq.WithMaxRowGroupLength(250), pq.WithCompression(compress.Codecs.Zstd))
	f, err := Open(context.Background(), memFS{"f": data}, "f")
	if err != nil {
		t.Fatal(err)
	}
	at := f.meta.rowGroups[1].chunks[1].dataOffset
	for i := range int64(60) {
		data[at+40+i] ^= 0x55
	}
	err = digestSafely(t, "garbage", data)
	for _, want := range []string{`"f"`, `column "text"`, "row group 1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

func TestChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.parquet")
	put := func(n int) {
		if err := os.WriteFile(path, write(t, only(sample(n, nil), "i64", "text")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, in := context.Background(), files.Unrestricted()
	put(10)
	cache := NewCache(0)
	f, err := cache.Open(ctx, in, path)
	if err != nil {
		t.Fatal(err)
	}
	scan := scanOf(f)
	put(20)
	if _, err := NewSource(ctx, in, cache, scan, &exec.Env{}); sqlerr.CodeOf(err) != sqlerr.FileChanged {
		t.Errorf("between plan and scan: %v", err)
	}
	if f, err = cache.Open(ctx, in, path); err != nil || f.Rows != 20 {
		t.Fatal("the cache gave the old footer", err)
	}
	s, err := NewSource(ctx, in, cache, scanOf(f), &exec.Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(30)
	r, err := s.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(ctx); sqlerr.CodeOf(err) != sqlerr.FileChanged {
		t.Errorf("between opening and reading: %v", err)
	}
	if f, err = Open(ctx, in, path); err != nil {
		t.Fatal(err)
	}
	scan = scanOf(f)
	scan.Files[0].FooterHash++
	if _, err := NewSource(ctx, in, nil, scan, &exec.Env{}); sqlerr.CodeOf(err) != sqlerr.FileChanged {
		t.Errorf("another footer: %v", err)
	}
}

func TestUnsupportedColumns(t *testing.T) {
	data := write(t, sample(10, nil))
	f, err := Open(context.Background(), memFS{"f": data}, "f")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Columns {
		err := c.Check(sqlerr.Pos{Start: 3, End: 5})
		if nested := c.Name == "list" || c.Name == "struct"; (err != nil) != nested {
			t.Errorf("%s: %v", c.Name, err)
		} else if nested && (sqlerr.CodeOf(err) != sqlerr.Unsupported || !strings.Contains(err.Error(), c.Name)) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, data := range smallFiles(f) {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = digestSafely(t, "file", data) })
}

// FuzzPage decodes bytes as the pages of a chunk, whose dictionary, if there is one, comes first.
func FuzzPage(f *testing.F) {
	kinds := []schemaElement{
		{typ: typeInt32, converted: convNone, repetition: 1},
		{typ: typeInt64, converted: convNone},
		{typ: typeByteArray, converted: convUTF8, repetition: 1},
		{typ: typeBoolean, converted: convNone, repetition: 1},
		{typ: typeFixed, length: 7, converted: convDecimal, precision: 15, scale: 2, repetition: 1},
		{typ: typeByteArray, converted: convDecimal, precision: 38, scale: 2},
		{typ: typeInt96, converted: convNone, repetition: 1},
		{typ: typeDouble, converted: convNone},
	}
	data := memFS{"f": write(f, only(sample(60, nullPatterns[3].null), "i32", "i64_300", "text", "bool", "d15"), pq.WithDataPageSize(100), pq.WithBatchSize(8))}
	file, err := Open(context.Background(), data, "f")
	if err != nil {
		f.Fatal(err)
	}
	for i := range file.Columns {
		m := morsel{file: &openFile{File: file, columns: []*Column{&file.Columns[i]}}}
		run, err := m.extent(0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), byte(codecNone), uint16(60), data["f"][run.from:run.to])
	}
	f.Fuzz(func(t *testing.T, kind, codec byte, rows uint16, chunk []byte) {
		e := kinds[int(kind)%len(kinds)]
		typ, _ := leafType(e)
		def := &Column{Name: "c", Type: typ, Nullable: e.repetition == 1, element: e}
		var z inflater
		defer z.Close()
		c := newColumn(def, &z, 32)
		if c.open(&chunkMeta{codec: codecOf(codec)}, nil, chunk, 0, int64(rows)) != nil {
			return
		}
		for row := 0; row < int(rows); row += 32 {
			v, err := c.read(int64(row), min(32, int(rows)-row))
			if err != nil {
				return
			}
			for i := range v.Len {
				cell(v, i)
			}
		}
	})
}

func codecOf(b byte) codec { return codec(b % 8) }
