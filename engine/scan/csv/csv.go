// Package csv reads files of RFC 4180 as texts. It must never know the types that their columns are to have.
package csv

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// Bounds of what one file may ask for.
const (
	MaxColumns = 10_000
	MaxField   = 64 << 20 // bytes
)

// A Field is a field of a record. Absent tells that nothing stood between the delimiters, not even quotes: NULL.
type Field struct {
	Text   []byte // valid until the next record
	Absent bool
}

// A Reader reads records. It is for one goroutine.
type Reader struct {
	in     *bufio.Reader
	delim  byte
	line   int
	text   []byte
	ends   []int // of each field in text
	absent []bool
	fields []Field
}

// NewReader reads in, whose fields stand between delim.
func NewReader(in io.Reader, delim byte) *Reader {
	r := &Reader{in: bufio.NewReaderSize(in, 64<<10), delim: delim, line: 1}
	if mark, err := r.in.Peek(3); err == nil && bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = r.in.Discard(3)
	}
	return r
}

// Line is the line, from 1, that the next record begins on.
func (r *Reader) Line() int { return r.line }

func (r *Reader) bad(format string, args ...any) error {
	return sqlerr.Newf(sqlerr.FileCorrupt, sqlerr.Pos{}, "line %d: "+format, append([]any{r.line}, args...)...)
}

// Next is the next record; empty lines are none. io.EOF at the end.
func (r *Reader) Next() ([]Field, error) {
	for {
		r.text, r.ends, r.absent = r.text[:0], r.ends[:0], r.absent[:0]
		ended, err := r.record()
		if err != nil {
			return nil, err
		}
		if len(r.ends) == 1 && r.absent[0] {
			if ended {
				return nil, io.EOF
			}
			continue
		}
		break
	}
	r.fields = r.fields[:0]
	from := 0
	for i, to := range r.ends {
		text := r.text[from:to]
		if !utf8.Valid(text) {
			return nil, r.bad("field %d is no UTF-8", i+1)
		}
		r.fields = append(r.fields, Field{Text: text, Absent: r.absent[i]})
		from = to
	}
	return r.fields, nil
}

// record reads to the end of a line, or of the file.
func (r *Reader) record() (ended bool, err error) {
	begin, quoted := 0, false
	end := func() {
		r.ends, r.absent = append(r.ends, len(r.text)), append(r.absent, !quoted && len(r.text) == begin)
		begin, quoted = len(r.text), false
	}
	for {
		c, err := r.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			end()
			return true, nil
		case err != nil:
			return false, err
		case c == r.delim:
			if end(); len(r.ends) >= MaxColumns {
				return false, r.bad("more than %d fields", MaxColumns)
			}
		case c == '\n':
			end()
			r.line++
			return false, nil
		case c == '\r' && r.follows('\n'):
		case c == '"' && !quoted && len(r.text) == begin:
			quoted = true
			if err := r.quotes(begin); err != nil {
				return false, err
			}
		default:
			r.text = append(r.text, c)
		}
		if len(r.text)-begin > MaxField {
			return false, r.bad("a field of more than %d bytes", MaxField)
		}
	}
}

// quotes reads to the quote that ends a field; two of them are one.
func (r *Reader) quotes(begin int) error {
	for {
		c, err := r.in.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return r.bad("a quote is never closed")
		case err != nil:
			return err
		case c == '"':
			if !r.follows('"') {
				return nil
			}
			_, _ = r.in.Discard(1)
		case c == '\n':
			r.line++
		}
		if r.text = append(r.text, c); len(r.text)-begin > MaxField {
			return r.bad("a field of more than %d bytes", MaxField)
		}
	}
}

func (r *Reader) follows(c byte) bool {
	next, err := r.in.Peek(1)
	return err == nil && next[0] == c
}
