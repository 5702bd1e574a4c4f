package cli

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/write/parquet"
)

// formats are the forms a result can be printed in.
const formats = "table, csv, json, ndjson, arrow or parquet"

// A writer prints one result. Close ends a complete one; Abort ends one that failed after rows were printed, so that what stands
// there cannot be taken for a complete result by whoever reads it.
type writer interface {
	Write(rec arrow.RecordBatch) error
	Close() error
	Abort(reason string) error
}

func newWriter(s streams, format string, schema *arrow.Schema) (writer, error) {
	out := bufio.NewWriterSize(s.out, 64<<10)
	switch format {
	case "table":
		return &tableWriter{streams: s, schema: schema}, nil
	case "csv":
		return newCSVWriter(out, schema)
	case "json":
		return &jsonWriter{out: out, schema: schema, list: true}, nil
	case "ndjson":
		return &jsonWriter{out: out, schema: schema}, nil
	case "arrow":
		return &arrowWriter{out: out, ipc: ipc.NewWriter(out, ipc.WithSchema(schema))}, nil
	case "parquet":
		w, err := parquet.NewWriter(out, schema, parquet.Options{})
		if err != nil {
			return nil, err
		}
		return &parquetWriter{out: out, w: w}, nil
	}
	return nil, usagef("--format is %s, not %q", formats, format)
}

// A cell writes row i of a column as text, as PostgreSQL would. The row is not NULL.
type cell func(dst []byte, i int) []byte

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
	return func(dst []byte, i int) []byte { return append(dst, a.ValueStr(i)...) }
}

func cellsOf(rec arrow.RecordBatch) []cell {
	cells := make([]cell, rec.NumCols())
	for c := range cells {
		cells[c] = cellOf(rec.Column(c))
	}
	return cells
}

// tableRows bounds how many rows a table shows.
const tableRows = 10_000

// A tableWriter keeps the rows until the result is complete, and then shows them.
type tableWriter struct {
	streams streams
	schema  *arrow.Schema
	rows    []table.Row
	total   int64
}

func (w *tableWriter) Write(rec arrow.RecordBatch) error {
	w.total += rec.NumRows()
	cells := cellsOf(rec)
	for i := range int(rec.NumRows()) {
		if len(w.rows) == tableRows {
			return nil
		}
		row := make(table.Row, len(cells))
		for c, cell := range cells {
			row[c] = "NULL"
			if rec.Column(c).IsValid(i) {
				row[c] = oneLine(string(cell(nil, i)))
			}
		}
		w.rows = append(w.rows, row)
	}
	return nil
}

func (w *tableWriter) Close() error {
	t := newTable(w.streams)
	header := make(table.Row, w.schema.NumFields())
	var columns []table.ColumnConfig
	width, fits := terminal(w.streams.out)
	for i, f := range w.schema.Fields() {
		header[i] = oneLine(f.Name)
		c := table.ColumnConfig{Number: i + 1}
		if arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID()) {
			c.Align, c.AlignHeader = text.AlignRight, text.AlignRight
		}
		if fits && len(header) > 0 {
			c.WidthMax, c.WidthMaxEnforcer = max(8, width-4*len(header)), text.Trim
		}
		columns = append(columns, c)
	}
	t.SetColumnConfigs(columns)
	t.AppendHeader(header)
	t.AppendRows(w.rows)
	if len(header) > 0 {
		if _, err := fmt.Fprintln(w.streams.out, t.Render()); err != nil {
			return err
		}
	}
	note := ""
	if int64(len(w.rows)) < w.total {
		note = fmt.Sprintf(", the first %d shown; --format csv gives all", len(w.rows))
	}
	unit := "rows"
	if w.total == 1 {
		unit = "row"
	}
	_, err := fmt.Fprintf(w.streams.out, "(%d %s%s)\n", w.total, unit, note)
	return err
}

// Abort shows nothing: there is no such thing as half a table.
func (w *tableWriter) Abort(string) error { return nil }

// A csvWriter writes RFC 4180 with a header, NULL as an empty field and the empty string as "".
type csvWriter struct {
	out *bufio.Writer
	buf []byte
}

func newCSVWriter(out *bufio.Writer, schema *arrow.Schema) (*csvWriter, error) {
	w := &csvWriter{out: out}
	for i, f := range schema.Fields() {
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.buf = appendCSV(w.buf, []byte(f.Name))
	}
	w.buf = append(w.buf, '\n')
	return w, w.flush()
}

func appendCSV(dst, field []byte) []byte {
	if len(field) > 0 && !bytes.ContainsAny(field, "\",\r\n") && field[0] != ' ' && field[len(field)-1] != ' ' {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(field, []byte{'"'}, []byte{'"', '"'})...)
	return append(dst, '"')
}

func (w *csvWriter) flush() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

func (w *csvWriter) Write(rec arrow.RecordBatch) error {
	cells := cellsOf(rec)
	var field []byte
	for i := range int(rec.NumRows()) {
		for c, cell := range cells {
			if c > 0 {
				w.buf = append(w.buf, ',')
			}
			if rec.Column(c).IsValid(i) {
				field = cell(field[:0], i)
				w.buf = appendCSV(w.buf, field)
			}
		}
		w.buf = append(w.buf, '\n')
		if len(w.buf) > 32<<10 {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return w.flush()
}

func (w *csvWriter) Close() error { return w.out.Flush() }

// Abort leaves a quoted field open: no CSV reader takes that for the end of a file.
func (w *csvWriter) Abort(reason string) error {
	_, _ = fmt.Fprintf(w.out, "\"INCOMPLETE RESULT: %s", strings.ReplaceAll(reason, `"`, `'`))
	return w.out.Flush()
}

// A jsonWriter writes objects, as a list or one per line. 64-bit integers and decimals are exact numbers.
type jsonWriter struct {
	out    *bufio.Writer
	schema *arrow.Schema
	list   bool
	rows   int64
	names  [][]byte
	buf    []byte
}

func (w *jsonWriter) Write(rec arrow.RecordBatch) error {
	if w.names == nil {
		for _, f := range w.schema.Fields() {
			name, err := json.Marshal(f.Name)
			if err != nil {
				return err
			}
			w.names = append(w.names, append(name, ':'))
		}
	}
	cells := cellsOf(rec)
	for i := range int(rec.NumRows()) {
		if w.list {
			w.buf = append(w.buf, map[bool]string{true: "[", false: ",\n "}[w.rows == 0]...)
		}
		w.rows++
		w.buf = append(w.buf, '{')
		for c, cell := range cells {
			if c > 0 {
				w.buf = append(w.buf, ',')
			}
			w.buf = append(w.buf, w.names[c]...)
			w.buf = appendJSON(w.buf, rec.Column(c), cell, i)
		}
		w.buf = append(w.buf, '}')
		if !w.list {
			w.buf = append(w.buf, '\n')
		}
		if _, err := w.out.Write(w.buf); err != nil {
			return err
		}
		w.buf = w.buf[:0]
	}
	return nil
}

func appendJSON(dst []byte, a arrow.Array, cell cell, i int) []byte {
	if a.IsNull(i) {
		return append(dst, "null"...)
	}
	switch id := a.DataType().ID(); {
	case id == arrow.BOOL, arrow.IsInteger(id), arrow.IsDecimal(id):
		return cell(dst, i)
	case id == arrow.FLOAT64:
		if f := a.(*array.Float64).Value(i); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return cell(dst, i)
		}
	case id == arrow.FLOAT32:
		if f := float64(a.(*array.Float32).Value(i)); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return cell(dst, i)
		}
	}
	quoted, err := json.Marshal(string(cell(nil, i)))
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, quoted...)
}

func (w *jsonWriter) Close() error {
	if w.list {
		if w.rows == 0 {
			_, _ = w.out.WriteString("[")
		}
		_, _ = w.out.WriteString("]\n")
	}
	return w.out.Flush()
}

// Abort leaves the list open; lines end with a last one that is no JSON.
func (w *jsonWriter) Abort(reason string) error {
	if !w.list {
		_, _ = fmt.Fprintf(w.out, "INCOMPLETE RESULT: %s\n", reason)
	}
	return w.out.Flush()
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
