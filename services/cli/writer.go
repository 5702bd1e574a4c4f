package cli

import (
	"bufio"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/fletchdb/fletch/engine/arrowio"
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

// A lazyWriter is a writer that writes nothing of a result that breaks off before its first rows.
type lazyWriter struct {
	to     destination
	schema *arrow.Schema
	writer writer // nil until there is something to write
}

func (w *lazyWriter) begin() (err error) {
	if w.writer == nil {
		w.writer, err = newWriter(w.to, w.schema)
	}
	return err
}

func (w *lazyWriter) Write(rec arrow.RecordBatch) error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.writer.Write(rec)
}

func (w *lazyWriter) Close() error {
	if err := w.begin(); err != nil {
		return err
	}
	return w.writer.Close()
}

func (w *lazyWriter) Abort(reason string) error {
	if w.writer == nil {
		return nil
	}
	return w.writer.Abort(reason)
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
type cell = arrowio.Cell

func cellsOf(rec arrow.RecordBatch) []cell { return arrowio.Cells(rec) }
