package arrowwire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Bounds of what a header may hold, which is not trusted: arrow-go allocates by the counts that it finds there.
const (
	maxHeader  = 8 << 20 // bytes
	maxEntries = 1 << 16 // fields, and key-value pairs, of a schema, each with all that it contains
	maxNesting = 32      // of types
)

// What a header is of.
type kind uint8

// The kinds of message that a stream has, numbered as Arrow's Message.fbs numbers them.
const (
	kindSchema kind = iota + 1
	kindDictionary
	kindBatch
)

// verify checks that the header of an Arrow IPC message is well formed before arrow-go reads it, and that it fits a body of so
// many bytes: every offset stays inside, every count stands for bytes that are there, and no buffer is compressed, since a
// compressed one can claim any size. rows is that of a record batch. What the buffers hold is the caller's to check.
func verify(header []byte, body int) (k kind, rows int64, err error) {
	defer func() { // the walk below checks every access; this is for the one that it forgot
		if p := recover(); p != nil {
			err = malformed("%v", p)
		}
	}()
	if len(header) > maxHeader {
		return 0, 0, malformed("it has %d bytes", len(header))
	}
	w := &walk{b: header, entries: maxEntries, text: len(header)}
	message := w.root()
	bodyLength := w.int(message, 3, 8)
	content := w.child(message, 2)
	w.pairs(message, 4)
	if w.err != nil {
		return 0, 0, w.err
	}
	if bodyLength != int64(body) {
		return 0, 0, malformed("it announces a body of %d bytes, %d came", bodyLength, body)
	}
	if content == 0 {
		return 0, 0, malformed("it is empty")
	}
	switch k = kind(w.int(message, 1, 1)); k {
	case kindSchema:
		if w.int(content, 0, 2) != 0 {
			w.fail("it is big-endian")
		}
		w.fields(content, 1, 0)
		w.pairs(content, 2)
		w.vector(content, 3, 8)
	case kindDictionary:
		w.int(content, 0, 8)
		w.int(content, 2, 1)
		data := w.child(content, 1)
		if data == 0 {
			return 0, 0, malformed("a dictionary without values")
		}
		w.batch(data, int64(body))
	case kindBatch:
		rows = w.batch(content, int64(body))
	default:
		return 0, 0, malformed("it is of type %d", k)
	}
	return k, rows, w.err
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("decode record batch: malformed header: "+format, args...)
}

// A walk goes over a flatbuffer. The first thing wrong ends it: what comes after gives zeros. Offsets to tables lead forward
// only, so a walk ends, but they may meet again; entries and text bound how much is seen in total.
type walk struct {
	b       []byte
	entries int
	text    int // bytes of strings that may still come
	err     error
}

func (w *walk) fail(format string, args ...any) {
	if w.err == nil {
		w.err = malformed(format, args...)
	}
}

// inside tells whether n bytes stand at p.
func (w *walk) inside(p, n int) bool {
	if w.err == nil && (p < 0 || n < 0 || p > len(w.b) || n > len(w.b)-p) {
		w.fail("%d bytes at %d of %d", n, p, len(w.b))
	}
	return w.err == nil
}

// follow is where the offset at p leads, 0 if that is outside.
func (w *walk) follow(p int) int {
	if !w.inside(p, 4) {
		return 0
	}
	to := p + int(binary.LittleEndian.Uint32(w.b[p:]))
	if to <= p || !w.inside(to, 4) {
		w.fail("an offset from %d to %d", p, to)
		return 0
	}
	return to
}

func (w *walk) root() int { return w.table(w.follow(0)) }

// table checks that a table stands at p, and is p.
func (w *walk) table(p int) int {
	if p == 0 || !w.inside(p, 4) {
		return 0
	}
	v := p - int(int32(binary.LittleEndian.Uint32(w.b[p:])))
	if !w.inside(v, 4) || !w.inside(v, int(binary.LittleEndian.Uint16(w.b[v:]))) || !w.inside(p, int(binary.LittleEndian.Uint16(w.b[v+2:]))) {
		return 0
	}
	return p
}

// slot is where slot i of the table at p stands, 0 if it is absent, known to have size bytes.
func (w *walk) slot(p, i, size int) int {
	if p == 0 || w.err != nil {
		return 0
	}
	v := p - int(int32(binary.LittleEndian.Uint32(w.b[p:])))
	at := 4 + 2*i
	if at+2 > int(binary.LittleEndian.Uint16(w.b[v:])) {
		return 0
	}
	o := int(binary.LittleEndian.Uint16(w.b[v+at:]))
	if o == 0 || !w.inside(p+o, size) {
		return 0
	}
	return p + o
}

// int is the integer of size bytes in a slot, sign-extended; 0 if it is absent.
func (w *walk) int(p, i, size int) int64 {
	at := w.slot(p, i, size)
	if at == 0 {
		return 0
	}
	switch size {
	case 1:
		return int64(w.b[at])
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(w.b[at:])))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(w.b[at:])))
	}
	return int64(binary.LittleEndian.Uint64(w.b[at:]))
}

// child is the table that a slot leads to, 0 if it is absent.
func (w *walk) child(p, i int) int {
	at := w.slot(p, i, 4)
	if at == 0 {
		return 0
	}
	return w.table(w.follow(at))
}

// vector is where the elements of the vector in a slot begin, and how many there are.
func (w *walk) vector(p, i, size int) (at, n int) {
	at = w.slot(p, i, 4)
	if at == 0 {
		return 0, 0
	}
	if at = w.follow(at); at == 0 {
		return 0, 0
	}
	n = int(binary.LittleEndian.Uint32(w.b[at:]))
	if n > len(w.b) || !w.inside(at+4, n*size) {
		w.fail("%d elements of %d bytes at %d", n, size, at)
		return 0, 0
	}
	return at + 4, n
}

func (w *walk) string(p, i int) {
	_, n := w.vector(p, i, 1)
	if w.text -= n; w.text < 0 {
		w.fail("strings of more bytes than it has")
	}
}

// tables calls each with the tables of the vector in a slot.
func (w *walk) tables(p, i int, each func(int)) {
	at, n := w.vector(p, i, 4)
	if w.entries -= n; w.entries < 0 {
		w.fail("more than %d entries", maxEntries)
	}
	for k := 0; k < n && w.err == nil; k++ {
		each(w.table(w.follow(at + 4*k)))
	}
}

func (w *walk) pairs(p, i int) {
	w.tables(p, i, func(pair int) {
		w.string(pair, 0)
		w.string(pair, 1)
	})
}

func (w *walk) fields(p, i, depth int) {
	if depth > maxNesting {
		w.fail("types nested more than %d deep", maxNesting)
		return
	}
	w.tables(p, i, func(field int) {
		w.string(field, 0)
		w.int(field, 1, 1)
		w.int(field, 2, 1)
		if t := w.child(field, 3); t != 0 {
			w.typeOf(int(w.int(field, 2, 1)), t)
		}
		if d := w.child(field, 4); d != 0 {
			w.int(d, 0, 8)
			w.child(d, 1)
			w.int(d, 2, 1)
		}
		w.fields(field, 5, depth+1)
		w.pairs(field, 6)
	})
}

// typeOf checks what a type's table holds beside numbers, which arrow-go looks at one by one.
func (w *walk) typeOf(number, t int) {
	const timestamp, union = 10, 14
	switch number {
	case timestamp:
		w.string(t, 1)
	case union:
		w.vector(t, 1, 4)
	}
}

// batch checks the table of a record batch, and is its number of rows.
func (w *walk) batch(t int, body int64) (rows int64) {
	rows = w.int(t, 0, 8)
	if rows < 0 || rows > math.MaxInt32 {
		w.fail("%d rows", rows)
	}
	if w.slot(t, 3, 4) != 0 {
		w.fail("its body is compressed")
	}
	nodes, n := w.vector(t, 1, 16)
	for at := nodes; at < nodes+16*n; at += 16 {
		length, nulls := int64(binary.LittleEndian.Uint64(w.b[at:])), int64(binary.LittleEndian.Uint64(w.b[at+8:]))
		if length < 0 || length > math.MaxInt32 || nulls < 0 || nulls > length {
			w.fail("%d values with %d nulls", length, nulls)
		}
	}
	buffers, n := w.vector(t, 2, 16)
	for at := buffers; at < buffers+16*n; at += 16 {
		offset, length := int64(binary.LittleEndian.Uint64(w.b[at:])), int64(binary.LittleEndian.Uint64(w.b[at+8:]))
		if offset < 0 || length < 0 || offset > body || length > body-offset {
			w.fail("a buffer of %d bytes at %d of %d", length, offset, body)
		}
	}
	counts, views := w.vector(t, 4, 8)
	for at, left := counts, int64(n); at < counts+8*views; at += 8 {
		if c := int64(binary.LittleEndian.Uint64(w.b[at:])); c < 0 || c > left {
			w.fail("%d buffers of views", c)
			break
		} else {
			left -= c
		}
	}
	return rows
}
