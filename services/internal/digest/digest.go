// Package digest tells two results of one statement apart without keeping them. It knows rows; it must never know where they come
// from, nor whether their statement determines them.
package digest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"
)

// Rule is the version of how a digest is made. Version 1: the exact part is the sum, modulo 2^128, of XXH3-128 (seed 0) of each
// row. A row is its values in order, columns of floats left out; a value is
//
//	NULL                              the byte 0
//	anything else                     the byte 1, and then, for
//	BOOLEAN                           a byte, 0 or 1
//	integers, DATE, TIME, TIMESTAMP   the number – days, microseconds – as 8 bytes, lowest first, extended with its sign if it has one
//	DECIMAL, UUID                     16 bytes: the unscaled value, lowest first; the UUID's bytes
//	INTERVAL                          months, days and nanoseconds, as 8 bytes each, likewise
//	VARCHAR, BYTEA                    the number of bytes as 4 bytes, lowest first, and the bytes
//	lists                             the number of elements, likewise, and the elements
//	structs                           the fields
//	floats inside of lists, structs   nothing
const Rule = 1

// A Digest is what is kept of a result.
type Digest struct {
	Rows   uint64
	Exact  string  // 32 hex digits; empty where every column is one of floats
	Floats []Float // ascending by column
}

// A Float is what is kept of a column of floats.
type Float struct {
	Column        int
	Values, Nulls uint64
	NaNs          uint64  // among the values
	Min, Max      float64 // of the values that are not NaN; +Inf and −Inf where there are none
	Sum           float64 // of the finite ones
}

// A Maker makes the digest of a result, which is shown to it batch by batch. The zero Maker is ready; it is for one goroutine.
type Maker struct {
	rows   uint64
	hi, lo uint64
	floats []float
	rest   []int // columns that are not floats
	row    []byte
	known  bool
}

type float struct {
	Float
	carry float64
}

// Add takes the rows of a batch. All batches have one schema.
func (m *Maker) Add(rec arrow.RecordBatch) {
	if !m.known {
		m.known = true
		for i, c := range rec.Columns() {
			if id := c.DataType().ID(); id == arrow.FLOAT32 || id == arrow.FLOAT64 {
				m.floats = append(m.floats, float{Float: Float{Column: i, Min: math.Inf(1), Max: math.Inf(-1)}})
			} else {
				m.rest = append(m.rest, i)
			}
		}
	}
	m.rows += uint64(rec.NumRows())
	for i := range m.floats {
		m.floats[i].add(rec.Column(m.floats[i].Column))
	}
	if len(m.rest) == 0 {
		return
	}
	for i := range int(rec.NumRows()) {
		m.row = m.row[:0]
		for _, c := range m.rest {
			m.row = appendValue(m.row, rec.Column(c), i)
		}
		h := xxh3.Hash128(m.row)
		var carry uint64
		m.lo, carry = bits.Add64(m.lo, h.Lo, 0)
		m.hi, _ = bits.Add64(m.hi, h.Hi, carry)
	}
}

// Digest is that of what was added.
func (m *Maker) Digest() Digest {
	d := Digest{Rows: m.rows}
	if !m.known || len(m.rest) > 0 {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:], m.hi)
		binary.BigEndian.PutUint64(b[8:], m.lo)
		d.Exact = hex.EncodeToString(b[:])
	}
	for _, f := range m.floats {
		f.Sum += f.carry
		d.Floats = append(d.Floats, f.Float)
	}
	return d
}

func (f *float) add(c arrow.Array) {
	var at func(int) float64
	switch c := c.(type) {
	case *array.Float32:
		at = func(i int) float64 { return float64(c.Value(i)) }
	case *array.Float64:
		at = c.Value
	default:
		return
	}
	f.Nulls += uint64(c.NullN())
	f.Values += uint64(c.Len() - c.NullN())
	for i := range c.Len() {
		if c.IsNull(i) {
			continue
		}
		v := at(i)
		if math.IsNaN(v) {
			f.NaNs++
			continue
		}
		f.Min, f.Max = min(f.Min, v), max(f.Max, v)
		if math.IsInf(v, 0) {
			continue
		}
		// Neumaier's sum: what is lost in an addition is added up apart.
		t := f.Sum + v
		if math.Abs(f.Sum) >= math.Abs(v) {
			f.carry += f.Sum - t + v
		} else {
			f.carry += v - t + f.Sum
		}
		f.Sum = t
	}
}

// appendValue adds a value to a row as Rule says.
func appendValue(b []byte, a arrow.Array, i int) []byte {
	if a.IsNull(i) {
		return append(b, 0)
	}
	b = append(b, 1)
	number := func(n int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(n)) }
	text := func(s []byte) []byte { return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...) }
	switch a := a.(type) {
	case *array.Null:
		return b
	case *array.Boolean:
		if a.Value(i) {
			return append(b, 1)
		}
		return append(b, 0)
	case *array.Int8:
		return number(int64(a.Value(i)))
	case *array.Int16:
		return number(int64(a.Value(i)))
	case *array.Int32:
		return number(int64(a.Value(i)))
	case *array.Int64:
		return number(a.Value(i))
	case *array.Uint8:
		return number(int64(a.Value(i)))
	case *array.Uint16:
		return number(int64(a.Value(i)))
	case *array.Uint32:
		return number(int64(a.Value(i)))
	case *array.Uint64:
		return number(int64(a.Value(i)))
	case *array.Date32:
		return number(int64(a.Value(i)))
	case *array.Time64:
		return number(int64(a.Value(i)))
	case *array.Timestamp:
		return number(int64(a.Value(i)))
	case *array.MonthDayNanoInterval:
		v := a.Value(i)
		b = number(int64(v.Months))
		b = binary.LittleEndian.AppendUint64(b, uint64(int64(v.Days)))
		return binary.LittleEndian.AppendUint64(b, uint64(v.Nanoseconds))
	case *array.Decimal64:
		v := int64(a.Value(i))
		b = number(v)
		return binary.LittleEndian.AppendUint64(b, uint64(v>>63))
	case *array.Decimal128:
		v := a.Value(i)
		b = number(int64(v.LowBits()))
		return binary.LittleEndian.AppendUint64(b, uint64(v.HighBits()))
	case *array.FixedSizeBinary:
		return append(b, a.Value(i)...)
	case *array.String:
		s := a.Value(i)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
	case *array.Binary:
		return text(a.Value(i))
	case *array.List:
		from, to := a.ValueOffsets(i)
		b = binary.LittleEndian.AppendUint32(b, uint32(to-from))
		for j := from; j < to; j++ {
			b = appendValue(b, a.ListValues(), int(j))
		}
		return b
	case *array.Struct:
		for f := range a.NumField() {
			b = appendValue(b, a.Field(f), i)
		}
		return b
	case *array.Float32, *array.Float64:
		return b
	}
	return text([]byte(a.ValueStr(i)))
}

// A Stream makes the digest of a result that comes as the messages of an Arrow IPC stream. The zero Stream is ready.
type Stream struct {
	maker  Maker
	reader *ipc.Reader
	next   message
}

// Message takes the next message, the schema first, with its length before it.
func (s *Stream) Message(encapsulated []byte) (err error) {
	defer func() {
		if p := recover(); p != nil { // arrow-go does so for some batches that are none
			err = fmt.Errorf("decode a result: %v", p)
		}
	}()
	if bytes.Equal(encapsulated, []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) {
		return nil // the end of the stream
	}
	if len(encapsulated) < 8 {
		return errors.New("decode a result: a message is cut")
	}
	head := uint64(binary.LittleEndian.Uint32(encapsulated[4:]))
	if head > uint64(len(encapsulated)-8) {
		return errors.New("decode a result: a message is cut")
	}
	s.next.meta, s.next.body = encapsulated[8:8+head], encapsulated[8+head:]
	if s.reader == nil {
		s.reader, err = ipc.NewReaderFromMessageReader(&s.next)
		return err
	}
	if !s.reader.Next() {
		if err := s.reader.Err(); err != nil {
			return fmt.Errorf("decode a result: %w", err)
		}
		return nil
	}
	s.maker.Add(s.reader.RecordBatch())
	return nil
}

// Digest is that of the batches so far.
func (s *Stream) Digest() Digest { return s.maker.Digest() }

// Close gives memory back.
func (s *Stream) Close() {
	if s.reader != nil {
		s.reader.Release()
		s.reader = nil
	}
}

// A message is the one that is read next.
type message struct{ meta, body []byte }

func (*message) Retain()  {}
func (*message) Release() {}

func (m *message) Message() (*ipc.Message, error) {
	if m.meta == nil {
		return nil, io.EOF
	}
	meta, body := m.meta, m.body
	m.meta, m.body = nil, nil
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}
