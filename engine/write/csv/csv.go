// Package csv writes rows as RFC 4180 has it: NULL is an empty field, the empty text "". Lines end as Unix's do. It must never know where
// the bytes go.
package csv

import (
	"bufio"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
)

// Options are how rows are written. The zero Options write a header, and commas.
type Options struct {
	NoHeader  bool
	Delimiter byte // 0: a comma
}

// A Writer writes rows. It is for one goroutine.
type Writer struct {
	out   *bufio.Writer
	delim byte
	buf   []byte
	rows  int64
}

// NewWriter begins with the header.
func NewWriter(out io.Writer, schema *arrow.Schema, o Options) (*Writer, error) {
	w := &Writer{out: bufio.NewWriterSize(out, 64<<10), delim: o.Delimiter}
	if w.delim == 0 {
		w.delim = ','
	}
	if o.NoHeader {
		return w, nil
	}
	for i, f := range schema.Fields() {
		if i > 0 {
			w.buf = append(w.buf, w.delim)
		}
		w.buf = AppendField(w.buf, []byte(f.Name), w.delim)
	}
	w.buf = append(w.buf, '\n')
	return w, w.flush()
}

// AppendField appends a field that is not NULL, in quotes where it needs them.
func AppendField(dst, field []byte, delim byte) []byte {
	if plain(field, delim) {
		return append(dst, field...)
	}
	dst = append(dst, '"')
	for _, c := range field {
		if c == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}

// plain tells whether a field can stand without quotes. Some readers drop spaces around those.
func plain(field []byte, delim byte) bool {
	if len(field) == 0 || field[0] == ' ' || field[len(field)-1] == ' ' {
		return false
	}
	for _, c := range field {
		if c == '"' || c == delim || c == '\n' || c == '\r' {
			return false
		}
	}
	return true
}

func (w *Writer) flush() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// Write writes the rows of a record batch.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	cells := arrowio.Cells(rec)
	var field []byte
	for i := range int(rec.NumRows()) {
		for c, cell := range cells {
			if c > 0 {
				w.buf = append(w.buf, w.delim)
			}
			if rec.Column(c).IsValid(i) {
				field = cell(field[:0], i)
				w.buf = AppendField(w.buf, field, w.delim)
			}
		}
		w.buf = append(w.buf, '\n')
		if len(w.buf) > 32<<10 {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	w.rows += rec.NumRows()
	return w.flush()
}

// Rows is how many rows were written.
func (w *Writer) Rows() int64 { return w.rows }

// Close writes what is held back. The file stays its owner's.
func (w *Writer) Close() error { return w.out.Flush() }
