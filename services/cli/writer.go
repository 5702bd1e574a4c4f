package cli

import (
	"bufio"
	"encoding/binary"
	"io"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/write/parquet"
)

// resultFormats are the forms a result can be printed in.
var resultFormats = []string{"table", "csv", "json", "ndjson", "arrow", "parquet"}

// A writer prints one result. Close ends a complete one; Abort ends one that failed after rows were printed, so that what stands
// there cannot be taken for a complete result by whoever reads it. Neither closes what is written to.
type writer interface {
	Write(rec arrow.RecordBatch) error
	Close() error
	Abort(reason string) error
}

// A destination is where results go, and how.
type destination struct {
	out    io.Writer
	format string
	width  int  // columns that a table may take; 0: as many as it needs
	color  bool // out understands styles
	record bool // tables are shown row by row
	since  time.Time
}

func destinationOf(p *process, format string) destination {
	w, _ := terminal(p.out)
	return destination{out: p.out, format: format, width: w, color: colors(p.out)}
}

// isBinary tells whether what a format writes is not for people, and whether one file can hold only one result.
func isBinary(format string) bool { return format == "arrow" || format == "parquet" }

func newWriter(d destination, schema *arrow.Schema) (writer, error) {
	out := bufio.NewWriterSize(d.out, 64<<10)
	switch d.format {
	case "csv":
		return newCSVWriter(out, schema)
	case "json":
		return newJSONWriter(out, schema, true), nil
	case "ndjson":
		return newJSONWriter(out, schema, false), nil
	case "arrow":
		return &arrowWriter{out: out, ipc: ipc.NewWriter(out, ipc.WithSchema(schema))}, nil
	case "parquet":
		w, err := parquet.NewWriter(out, schema, parquet.Options{})
		if err != nil {
			return nil, err
		}
		return &parquetWriter{out: out, w: w}, nil
	}
	return newTableWriter(out, d, schema), nil
}

// An arrowWriter writes an Arrow IPC stream.
type arrowWriter struct {
	out *bufio.Writer
	ipc *ipc.Writer
}

func (w *arrowWriter) Write(rec arrow.RecordBatch) error { return w.ipc.Write(rec) }

func (w *arrowWriter) Close() error {
	if err := w.ipc.Close(); err != nil {
		return err
	}
	return w.out.Flush()
}

// Abort begins a message that never comes: a stream that merely stops would pass for a complete one.
func (w *arrowWriter) Abort(string) error {
	_, _ = w.out.Write([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	return w.out.Flush()
}

// A parquetWriter writes a Parquet file, which is none without its footer.
type parquetWriter struct {
	out *bufio.Writer
	w   *parquet.Writer
}

func (w *parquetWriter) Write(rec arrow.RecordBatch) error { return w.w.Write(rec) }

func (w *parquetWriter) Close() error {
	if err := w.w.Close(); err != nil {
		return err
	}
	return w.out.Flush()
}

func (w *parquetWriter) Abort(string) error { return w.out.Flush() }

// A cell writes row i of a column as text, as PostgreSQL would. The row is not NULL.
type cell func(dst []byte, i int) []byte

func cellsOf(rec arrow.RecordBatch) []cell {
	cells := make([]cell, rec.NumCols())
	for c := range cells {
		cells[c] = cellOf(rec.Column(c))
	}
	return cells
}

func cellOf(a arrow.Array) cell {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return sqltext.AppendBool(dst, a.Value(i)) }
	case *array.String:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	case *array.Binary:
		return func(dst []byte, i int) []byte { return sqltext.AppendBinary(dst, a.ValueString(i)) }
	case *array.Float32:
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat32(dst, a.Value(i)) }
	case *array.Float64:
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat(dst, a.Value(i)) }
	case *array.Decimal128:
		scale := int(a.DataType().(*arrow.Decimal128Type).Scale)
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendDecimal(dst, int128.Int128{Lo: v.LowBits(), Hi: v.HighBits()}, scale)
		}
	case *array.Date32:
		return func(dst []byte, i int) []byte { return sqltext.AppendDate(dst, int32(a.Value(i))) }
	case *array.Time64:
		return func(dst []byte, i int) []byte { return sqltext.AppendTime(dst, int64(a.Value(i))) }
	case *array.Timestamp:
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			return func(dst []byte, i int) []byte { return sqltext.AppendTimestampTZ(dst, int64(a.Value(i))) }
		}
		return func(dst []byte, i int) []byte { return sqltext.AppendTimestamp(dst, int64(a.Value(i))) }
	case *array.MonthDayNanoInterval:
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendInterval(dst, v.Months, v.Days, v.Nanoseconds/1000)
		}
	case *array.FixedSizeBinary:
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendUUID(dst, int128.Int128{Hi: int64(binary.BigEndian.Uint64(v)), Lo: binary.BigEndian.Uint64(v[8:])})
		}
	}
	if integers := integerCell(a); integers != nil {
		return integers
	}
	return func(dst []byte, i int) []byte { return append(dst, a.ValueStr(i)...) }
}

// integerCell is the cell of an integer column, nil for others.
func integerCell(a arrow.Array) cell {
	signed := func(at func(int) int64) cell {
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, at(i), 10) }
	}
	unsigned := func(at func(int) uint64) cell {
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, at(i), 10) }
	}
	switch a := a.(type) {
	case *array.Int8:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int16:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int32:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int64:
		return signed(a.Value)
	case *array.Uint8:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint16:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint32:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return unsigned(a.Value)
	}
	return nil
}
