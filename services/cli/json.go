package cli

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/arrowio"
)

// A jsonWriter writes objects, as a list or one per line. 64-bit integers and decimals are exact numbers; NaN and the infinities,
// which JSON does not have, are strings.
type jsonWriter struct {
	out   *bufio.Writer
	list  bool
	rows  int64
	names [][]byte // "name": of each column
	buf   []byte
}

func newJSONWriter(out *bufio.Writer, schema *arrow.Schema, list bool) *jsonWriter {
	w := &jsonWriter{out: out, list: list}
	for _, name := range distinctNames(schema) {
		w.names = append(w.names, append(appendJSONString(nil, []byte(name)), ':'))
	}
	return w
}

// distinctNames are the columns' names, with a number behind those that have come before: an object has a name once.
func distinctNames(schema *arrow.Schema) []string {
	original, used := map[string]bool{}, map[string]bool{}
	for _, f := range schema.Fields() {
		original[f.Name] = true
	}
	names := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name := f.Name
		for n := 1; used[name]; n++ {
			if numbered := fmt.Sprintf("%s_%d", f.Name, n); !original[numbered] {
				name = numbered
			}
		}
		used[name] = true
		names[i] = name
	}
	return names
}

func (w *jsonWriter) Write(rec arrow.RecordBatch) error {
	values := make([]cell, rec.NumCols())
	for c := range values {
		values[c] = jsonOf(rec.Column(c))
	}
	for i := range int(rec.NumRows()) {
		switch {
		case w.list && w.rows == 0:
			w.buf = append(w.buf, '[')
		case w.list:
			w.buf = append(w.buf, ",\n "...)
		}
		w.rows++
		w.buf = append(w.buf, '{')
		for c, value := range values {
			if c > 0 {
				w.buf = append(w.buf, ',')
			}
			w.buf = value(append(w.buf, w.names[c]...), i)
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

// jsonOf writes the values of a column, NULL too.
func jsonOf(a arrow.Array) cell {
	text := arrowio.CellOf(a)
	var scratch []byte
	quoted := func(dst []byte, i int) []byte {
		scratch = text(scratch[:0], i)
		return appendJSONString(dst, scratch)
	}
	value := quoted
	switch id := a.DataType().ID(); {
	case id == arrow.BOOL, arrow.IsInteger(id), arrow.IsDecimal(id):
		value = text
	case id == arrow.FLOAT64:
		floats := a.(*array.Float64)
		value = finite(func(i int) float64 { return floats.Value(i) }, text, quoted)
	case id == arrow.FLOAT32:
		floats := a.(*array.Float32)
		value = finite(func(i int) float64 { return float64(floats.Value(i)) }, text, quoted)
	}
	return func(dst []byte, i int) []byte {
		if a.IsNull(i) {
			return append(dst, "null"...)
		}
		return value(dst, i)
	}
}

func finite(at func(int) float64, number, text cell) cell {
	return func(dst []byte, i int) []byte {
		if f := at(i); math.IsNaN(f) || math.IsInf(f, 0) {
			return text(dst, i)
		}
		return number(dst, i)
	}
}

// appendJSONString appends s in quotes. What is no UTF-8 becomes U+FFFD.
func appendJSONString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for len(s) > 0 {
		c := s[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c < ' ':
			dst = append(dst, `\u00`...)
			if c < 0x10 {
				dst = append(dst, '0')
			}
			dst = strconv.AppendUint(dst, uint64(c), 16)
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, n := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[n:]
			continue
		}
		s = s[1:]
	}
	return append(dst, '"')
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
	_, _ = fmt.Fprintf(w.out, "\nINCOMPLETE RESULT: %s\n", oneLine(reason))
	return w.out.Flush()
}
