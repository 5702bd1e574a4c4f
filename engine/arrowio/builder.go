package arrowio

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A Builder collects rows of batches and gives them as Arrow record batches. It belongs to one goroutine.
type Builder struct {
	schema *arrow.Schema
	cols   []column
	rows   int
}

// NewBuilder makes a builder for columns of these fields.
func NewBuilder(fields []physical.Field, form Form) (*Builder, error) {
	schema, err := SchemaOf(fields, form)
	if err != nil {
		return nil, err
	}
	b := &Builder{schema: schema, cols: make([]column, len(fields))}
	for i, f := range fields {
		b.cols[i] = column{typ: f.Type, out: schema.Field(i).Type}
	}
	return b, nil
}

// Schema is the record batches' schema.
func (b *Builder) Schema() *arrow.Schema { return b.schema }

// Rows is how many rows are waiting for Finish.
func (b *Builder) Rows() int { return b.rows }

// Bytes is the memory that the waiting rows take.
func (b *Builder) Bytes() int {
	n := 0
	for i := range b.cols {
		c := &b.cols[i]
		n += len(c.data) + 4*len(c.offsets) + 8*len(c.valid)
	}
	return n
}

// maxStrings is how many bytes of strings one column of a record batch holds at most: an offset has 31 bits.
const maxStrings = math.MaxInt32

// Append copies the rows of v that are alive; after an error the builder is of no more use. It fails with code numeric_value_out_of_range for an interval that Arrow cannot
// hold, and with statement_too_complex where the strings of one column would pass 2 GiB.
func (b *Builder) Append(v *vector.Batch) error {
	n := v.Rows()
	for i := range b.cols {
		if err := b.cols[i].append(v.Cols[i], v.Sel, n, b.rows); err != nil {
			return err
		}
	}
	b.rows += n
	return nil
}

// Finish gives the waiting rows, which may be none, as a record batch that its receiver releases, and starts anew.
func (b *Builder) Finish() arrow.RecordBatch {
	arrays := make([]arrow.Array, len(b.cols))
	for i := range b.cols {
		arrays[i] = b.cols[i].finish(b.rows)
	}
	rec := array.NewRecordBatch(b.schema, arrays, int64(b.rows))
	for _, a := range arrays {
		a.Release()
	}
	b.rows = 0
	return rec
}

// A column is one column of a Builder.
type column struct {
	typ     sqltype.Type
	out     arrow.DataType
	data    []byte
	offsets []int32  // of strings
	strs    []string // of the batch at hand
	valid   []uint64 // nil: no NULL yet
}

func (c *column) append(v *vector.Vector, sel []int32, n, have int) error {
	c.appendValid(v, sel, n, have)
	switch c.typ.Kind {
	case sqltype.Null:
		return nil
	case sqltype.Bool:
		c.appendBools(v, sel, n, have)
		return nil
	case sqltype.List, sqltype.Struct:
		if err := checkNested(c.typ, v, sel, n); err != nil {
			return err
		}
		return c.appendStrings(v, sel, n)
	case sqltype.Utf8, sqltype.Binary:
		return c.appendStrings(v, sel, n)
	case sqltype.Decimal:
		if c.out.ID() == arrow.DECIMAL128 && v.Phys == vector.PhysInt64 {
			dst := more[int128.Int128](c, n)
			if v.Form == vector.Flat && sel == nil {
				for i, x := range vector.Values[int64](v)[:n] {
					dst[i] = int128.FromInt64(x)
				}
				return nil
			}
			eachOf(v, vector.Values[int64], sel, func(i int, x int64) { dst[i] = int128.FromInt64(x) }, n)
			return nil
		}
	case sqltype.UUID:
		dst := more[[uuidWidth]byte](c, n)
		eachOf(v, vector.Values[int128.Int128], sel, func(i int, x int128.Int128) {
			binary.BigEndian.PutUint64(dst[i][:8], uint64(x.Hi))
			binary.BigEndian.PutUint64(dst[i][8:], x.Lo)
		}, n)
		return nil
	case sqltype.Interval:
		dst, ok := more[arrow.MonthDayNanoInterval](c, n), true
		eachOf(v, vector.Values[vector.Interval], sel, func(i int, x vector.Interval) {
			dst[i] = arrow.MonthDayNanoInterval{Months: x.Months, Days: x.Days, Nanoseconds: x.Micros * 1000}
			ok = ok && fitsNanos(x.Micros)
		}, n)
		if !ok {
			return intervalTooLong()
		}
		return nil
	}
	switch v.Phys {
	case vector.PhysInt8:
		appendFixed[int8](c, v, sel, n)
	case vector.PhysInt16:
		appendFixed[int16](c, v, sel, n)
	case vector.PhysInt32:
		appendFixed[int32](c, v, sel, n)
	case vector.PhysInt64:
		appendFixed[int64](c, v, sel, n)
	case vector.PhysUint8:
		appendFixed[uint8](c, v, sel, n)
	case vector.PhysUint16:
		appendFixed[uint16](c, v, sel, n)
	case vector.PhysUint32:
		appendFixed[uint32](c, v, sel, n)
	case vector.PhysUint64:
		appendFixed[uint64](c, v, sel, n)
	case vector.PhysFloat32:
		appendFixed[float32](c, v, sel, n)
	case vector.PhysFloat64:
		appendFixed[float64](c, v, sel, n)
	case vector.PhysInt128:
		appendFixed[int128.Int128](c, v, sel, n)
	default:
		return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "a column of type %v has values of no known form", c.typ)
	}
	return nil
}

func fitsNanos(micros int64) bool {
	return micros >= math.MinInt64/1000 && micros <= math.MaxInt64/1000
}

func intervalTooLong() error {
	return sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "an interval of more than 292 years of seconds does not fit Arrow's nanoseconds").
		WithHint("justify it into days and months, or cast it to text")
}

// more lengthens c's data by n elements and gives them.
func more[T any](c *column, n int) []T {
	at, size := len(c.data), int(unsafe.Sizeof(*new(T)))
	c.data = lengthen(c.data, n*size)
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.data[at:]))), n)
}

// lengthen is s with n more elements, which hold anything.
func lengthen[T any](s []T, n int) []T {
	if want := len(s) + n; want > cap(s) {
		t := make([]T, len(s), max(2*cap(s), want, 64))
		copy(t, s)
		s = t
	}
	return s[:len(s)+n]
}

// eachOf calls f with the rows of v in turn and their values.
func eachOf[T any](v *vector.Vector, values func(*vector.Vector) []T, sel []int32, f func(i int, x T), n int) {
	if v.Form == vector.Dict {
		d := values(v.Dict)
		for i := range n {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			f(i, d[v.Code(r)])
		}
		return
	}
	x := values(v)
	for i := range n {
		r := i
		switch {
		case v.Form == vector.Const:
			r = 0
		case sel != nil:
			r = int(sel[i])
		}
		f(i, x[r])
	}
}

func appendFixed[T vector.Element](c *column, v *vector.Vector, sel []int32, n int) {
	dst := more[T](c, n)
	switch {
	case v.Form == vector.Flat && sel == nil:
		copy(dst, vector.Values[T](v))
	case v.Form == vector.Flat:
		x := vector.Values[T](v)
		for i, r := range sel {
			dst[i] = x[r]
		}
	default:
		eachOf(v, vector.Values[T], sel, func(i int, x T) { dst[i] = x }, n)
	}
}

func (c *column) appendBools(v *vector.Vector, sel []int32, n, have int) {
	bytes := (have + n + 7) / 8
	at := len(c.data)
	c.data = lengthen(c.data, bytes-at)
	clear(c.data[at:])
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		w, e := v.At(r)
		if vector.Bits(w)[e>>6]>>(uint(e)&63)&1 != 0 {
			c.data[(have+i)>>3] |= 1 << (uint(have+i) & 7)
		}
	}
}

func (c *column) appendStrings(v *vector.Vector, sel []int32, n int) error {
	if len(c.offsets) == 0 {
		c.offsets = append(c.offsets, 0)
	}
	strs := c.strs
	switch {
	case v.Form == vector.Flat && v.Valid == nil && sel == nil:
		strs = vector.Values[string](v)[:n]
	default:
		if cap(strs) < n {
			strs = make([]string, n)
		}
		strs = strs[:n]
		c.strs = strs
		eachOf(v, vector.Values[string], sel, func(i int, s string) { strs[i] = s }, n)
		if v.Valid != nil {
			for i := range strs {
				r := i
				if sel != nil {
					r = int(sel[i])
				}
				if v.IsNull(r) {
					strs[i] = "" // what stands at a NULL row means nothing
				}
			}
		}
	}
	total := len(c.data)
	for _, s := range strs {
		total += len(s)
	}
	if total > maxStrings {
		return sqlerr.New(sqlerr.StatementTooLarge, sqlerr.Pos{}, "the strings of one batch of a column are longer than 2 GiB").
			WithHint("select shorter strings, such as left(column, n)")
	}
	at, from := len(c.data), len(c.offsets)
	c.data, c.offsets = lengthen(c.data, total-at), lengthen(c.offsets, n)
	offsets := c.offsets[from:]
	for i, s := range strs {
		at += copy(c.data[at:], s)
		offsets[i] = int32(at)
	}
	return nil
}

func (c *column) appendValid(v *vector.Vector, sel []int32, n, have int) {
	if v.Valid == nil && c.valid == nil {
		return
	}
	at := len(c.valid)
	c.valid = lengthen(c.valid, vector.Words(have+n)-at)
	clear(c.valid[at:])
	if at == 0 {
		for i := range have {
			c.valid[i>>6] |= 1 << (uint(i) & 63)
		}
	}
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if !v.IsNull(r) {
			c.valid[(have+i)>>6] |= 1 << (uint(have+i) & 63)
		}
	}
}

func (c *column) finish(rows int) arrow.Array {
	var validity *memory.Buffer
	nulls := 0
	if c.valid != nil {
		nulls = rows
		for _, w := range c.valid {
			nulls -= bits.OnesCount64(w)
		}
		if nulls > 0 {
			validity = memory.NewBufferBytes(bytesOf(c.valid)[:(rows+7)/8])
		}
	}
	if c.typ.IsNested() {
		return c.finishNested(rows, validity, nulls)
	}
	buffers := []*memory.Buffer{validity, memory.NewBufferBytes(c.data)}
	switch c.typ.Kind {
	case sqltype.Null:
		buffers, nulls = []*memory.Buffer{nil}, rows
	case sqltype.Utf8, sqltype.Binary:
		if len(c.offsets) == 0 {
			c.offsets = []int32{0}
		}
		buffers = []*memory.Buffer{validity, memory.NewBufferBytes(bytesOf(c.offsets)), memory.NewBufferBytes(c.data)}
	}
	data := array.NewData(c.out, rows, buffers, nil, nulls, 0)
	defer data.Release()
	*c = column{typ: c.typ, out: c.out, strs: c.strs} // the memory is the array's now
	return array.MakeFromData(data)
}

func bytesOf[T int32 | uint64](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T))))
}
