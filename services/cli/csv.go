package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/write/csv"
)

// A csvWriter writes RFC 4180 with a header, NULL as an empty field and the empty string as "". Lines end as Unix's do.
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
		w.buf = csv.AppendField(w.buf, []byte(f.Name), ',')
	}
	w.buf = append(w.buf, '\n')
	return w, w.flush()
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
				w.buf = csv.AppendField(w.buf, field, ',')
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
	_, _ = fmt.Fprintf(w.out, "\"INCOMPLETE RESULT: %s\n", strings.ReplaceAll(oneLine(reason), `"`, `'`))
	return w.out.Flush()
}
