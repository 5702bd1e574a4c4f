// Package parquet writes Arrow record batches as one Parquet file: dictionaries, statistics, a page index, columns encoded
// in parallel. It never knows where the bytes go, nor what the rows mean. Its only foreign parts are arrow-go's arrays and
// the compressors: arrow-go's own Parquet packages link all of arrow/compute, 17 MB of binary that nothing here would call.
package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Compression is the codec of all pages of a file.
type Compression uint8

// The codecs. Snappy is the cheapest to read, Zstd takes about two thirds of its space.
const (
	Snappy Compression = iota
	Zstd
	None
)

var compressionNames = [...]string{Snappy: "snappy", Zstd: "zstd", None: "none"}

func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// ParseCompression is the codec that name stands for, in any case: snappy, zstd, none or uncompressed. The empty name is
// the default. Any other is an invalid_parameter_value.
func ParseCompression(name string) (Compression, error) {
	switch strings.ToLower(name) {
	case "", "snappy":
		return Snappy, nil
	case "zstd":
		return Zstd, nil
	case "none", "uncompressed":
		return None, nil
	}
	return 0, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "no Parquet compression %q", name).
		WithHint("use snappy, zstd or none")
}

// Options says how a file is laid out. The zero value is the documented default.
type Options struct {
	Compression Compression // default Snappy

	// RowGroupRows is the number of rows of every row group but the last; default 122,880. Encoded row groups are held in
	// memory until they are full.
	RowGroupRows int

	// PageBytes is the size at which a data page ends, before compression; default 1 MiB. A page goes over it by the
	// values of up to 1,024 rows.
	PageBytes int

	// DictionaryBytes is the largest dictionary of a column in a row group; default 1 MiB, negative for no dictionaries.
	// A column chunk whose dictionary grows larger, or saves nothing, is written without one, from its first row on: no
	// chunk mixes encodings.
	DictionaryBytes int

	NoStatistics bool // leave out minimum, maximum and null count of chunks; implies NoPageIndex
	NoPageIndex  bool // leave out minimum, maximum and place of pages

	// Threads is how many columns are encoded at once; default 1. The goroutines end before Write and Close return.
	Threads int
}

// Default sizes, those of the files that DuckDB writes where it has one.
const (
	defaultRowGroupRows    = 122_880
	defaultPageBytes       = 1 << 20
	defaultDictionaryBytes = 1 << 20
)

func (o Options) withDefaults() Options {
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = defaultRowGroupRows
	}
	if o.PageBytes <= 0 {
		o.PageBytes = defaultPageBytes
	}
	if o.DictionaryBytes == 0 {
		o.DictionaryBytes = defaultDictionaryBytes
	}
	// Counts and sizes of pages have 31 bits in the format.
	o.RowGroupRows = min(o.RowGroupRows, 1<<30)
	o.PageBytes, o.DictionaryBytes = min(o.PageBytes, 1<<30), min(o.DictionaryBytes, 1<<30)
	o.Threads = max(o.Threads, 1)
	return o
}

var magic = []byte("PAR1")

// A Writer writes one file. It is for one goroutine at a time. After an error it is of no use: every later call returns
// that error, and what was written is not a Parquet file.
type Writer struct {
	out     io.Writer
	schema  *arrow.Schema
	opts    Options
	codec   *codec
	columns []*column
	rows    int   // in the open row group
	pos     int64 // bytes written to out
	groups  []rowGroup
	total   int64
	err     error
	closed  bool
}

// NewWriter starts a file of the columns of schema on out; a field that is not nullable becomes a required column. A type
// that has no place in a file (nested, interval, duration) is feature_not_supported and nothing is written.
func NewWriter(out io.Writer, schema *arrow.Schema, opts Options) (*Writer, error) {
	if schema.NumFields() == 0 {
		return nil, sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "a Parquet file needs at least one column")
	}
	opts = opts.withDefaults()
	codec, err := newCodec(opts.Compression, opts.Threads)
	if err != nil {
		return nil, err
	}
	w := &Writer{out: out, schema: schema, opts: opts, codec: codec}
	for _, f := range schema.Fields() {
		leaf, vals, err := plan(f)
		if err != nil {
			return nil, err
		}
		c := &column{leaf: leaf, values: vals, opts: &w.opts, codec: codec}
		if d, ok := vals.(dictionary); ok && opts.DictionaryBytes > 0 {
			c.interns = d
		}
		w.columns = append(w.columns, c)
	}
	if err := w.put(magic); err != nil {
		return nil, err
	}
	return w, nil
}

// Write adds the rows of rec, whose columns must have the types of the schema. It uses rec for the time of the call only,
// so the memory may be used again; it ends a row group, and writes it, whenever enough rows have come.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if w.err == nil && w.closed {
		w.err = sqlerr.New(sqlerr.Internal, sqlerr.Pos{}, "write to a Parquet file that is closed")
	}
	if w.err == nil {
		w.err = w.write(rec)
	}
	return w.err
}

func (w *Writer) write(rec arrow.RecordBatch) error {
	if err := w.check(rec); err != nil {
		return err
	}
	rows := int(rec.NumRows())
	for from := 0; from < rows; {
		to := min(rows, from+w.opts.RowGroupRows-w.rows)
		err := inParallel(w.opts.Threads, len(w.columns), func(i int) error {
			return w.columns[i].add(rec.Column(i), from, to)
		})
		if err != nil {
			return err
		}
		w.rows += to - from
		from = to
		if w.rows == w.opts.RowGroupRows {
			if err := w.endRowGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// check refuses what the columns' encoders may then take for granted: number, type and nullability of rec's columns.
func (w *Writer) check(rec arrow.RecordBatch) error {
	if int(rec.NumCols()) != len(w.columns) {
		return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "%d columns for a Parquet file of %d", rec.NumCols(), len(w.columns))
	}
	for i, f := range w.schema.Fields() {
		a := rec.Column(i)
		if !arrow.TypeEqual(a.DataType(), f.Type) {
			return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "column %q of a Parquet file is %s, not %s", f.Name, f.Type, a.DataType())
		}
		if d, ok := a.(*array.Dictionary); ok && d.Dictionary().NullN() > 0 {
			return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "column %q has NULL within its dictionary", f.Name)
		}
		if !f.Nullable && a.NullN() > 0 {
			return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "column %q of a Parquet file is required but has NULL", f.Name)
		}
	}
	return nil
}

// Close ends the last row group and writes the footer. It does not close the writer below. A second Close does nothing.
func (w *Writer) Close() error {
	if w.err != nil || w.closed {
		return w.err
	}
	w.closed = true
	if w.rows > 0 {
		w.err = w.endRowGroup()
	}
	if w.err == nil {
		w.err = w.writeFooter()
	}
	return w.err
}

// Rows is the number of rows that Write has taken, BytesWritten the size of the file so far.
func (w *Writer) Rows() int64 { return w.total + int64(w.rows) }

// BytesWritten is the number of bytes that have reached the writer below.
func (w *Writer) BytesWritten() int64 { return w.pos }

func (w *Writer) endRowGroup() error {
	err := inParallel(w.opts.Threads, len(w.columns), func(i int) error { return w.columns[i].finish() })
	if err != nil {
		return err
	}
	g := rowGroup{rows: int64(w.rows), offset: w.pos, chunks: make([]chunkMeta, len(w.columns))}
	for i, c := range w.columns {
		g.chunks[i] = c.meta(w.pos)
		if err := w.put(c.chunk); err != nil {
			return err
		}
		c.reset()
	}
	w.groups = append(w.groups, g)
	w.total += g.rows
	w.rows = 0
	return nil
}

// writeFooter writes the page indexes, the file's metadata, its length and the magic.
func (w *Writer) writeFooter() error {
	var t compact
	if !w.opts.NoPageIndex && !w.opts.NoStatistics {
		for g := range w.groups {
			for c := range w.groups[g].chunks {
				m := &w.groups[g].chunks[c]
				if m.indexable {
					start := len(t.b)
					t.columnIndex(m)
					m.columnIndexAt, m.columnIndexLen = w.pos+int64(start), int32(len(t.b)-start)
				}
			}
		}
		for g := range w.groups {
			for c := range w.groups[g].chunks {
				m := &w.groups[g].chunks[c]
				start := len(t.b)
				t.offsetIndex(m)
				m.offsetIndexAt, m.offsetIndexLen = w.pos+int64(start), int32(len(t.b)-start)
			}
		}
	}
	start := len(t.b)
	t.fileMetaData(w)
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)-start))
	return w.put(append(t.b, magic...))
}

func (w *Writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.pos += int64(n)
	if err == nil {
		return nil
	}
	code := sqlerr.IO
	if errors.Is(err, syscall.ENOSPC) {
		code = sqlerr.DiskFull
	}
	return sqlerr.Newf(code, sqlerr.Pos{}, "writing Parquet: %w", err)
}
