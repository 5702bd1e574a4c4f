package arrowio

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A Reader turns record batches of one schema into batches. It belongs to one goroutine.
type Reader struct {
	fields []physical.Field
	cols   []readColumn
	ptrs   []*vector.Vector
	batch  vector.Batch
}

// NewReader makes a reader that gives columns of these fields. It fails with code datatype_mismatch where the Arrow schema's
// columns are others, in number or in type; names do not matter.
func NewReader(fields []physical.Field, schema *arrow.Schema) (*Reader, error) {
	if schema.NumFields() != len(fields) {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, sqlerr.Pos{}, "a stream of %d columns came where %d were expected", schema.NumFields(), len(fields))
	}
	r := &Reader{fields: fields, cols: make([]readColumn, len(fields)), ptrs: make([]*vector.Vector, len(fields))}
	for i, f := range fields {
		t, ok := SQLType(schema.Field(i).Type)
		if !ok || !t.Equal(f.Type) {
			return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, sqlerr.Pos{}, "column %q came as %v where %v was expected", f.Name, schema.Field(i).Type, f.Type)
		}
		r.cols[i].typ = f.Type
		r.ptrs[i] = &r.cols[i].vec
	}
	return r, nil
}

// Batch gives the rows of rec, valid until the next call and as long as rec is not released. Whatever rec holds that
// Arrow's format or the column's type does not allow fails with code file_corrupt, and never panics.
func (r *Reader) Batch(rec arrow.RecordBatch) (*vector.Batch, error) {
	n := rec.NumRows()
	if rec.NumCols() != int64(len(r.cols)) || n < 0 || n > math.MaxInt32 {
		return nil, corrupt("a record batch", "%d columns of %d rows", rec.NumCols(), n)
	}
	for i := range r.cols {
		data := rec.Column(i).Data()
		t, ok := SQLType(data.DataType())
		if !ok || !t.Equal(r.fields[i].Type) || int64(data.Len()) != n {
			return nil, corrupt(r.fields[i].Name, "%d values of type %v in a batch of %d", data.Len(), data.DataType(), n)
		}
		if err := r.cols[i].read(r.fields[i].Name, data); err != nil {
			return nil, err
		}
	}
	r.batch = vector.Batch{Cols: r.ptrs, Len: int(n)}
	return &r.batch, nil
}

func corrupt(what, format string, args ...any) error {
	e := sqlerr.Newf(sqlerr.FileCorrupt, sqlerr.Pos{}, format, args...)
	e.Message = "Arrow data of " + what + ": " + e.Message
	return e
}

// A readColumn is one column of a Reader and the memory it needs where Arrow's cannot be used as it is.
type readColumn struct {
	typ   sqltype.Type
	vec   vector.Vector
	valid []uint64
	words []uint64
	strs  []string

	dict   vector.Vector // of the dictionary below, read once
	dictID uint64
	from   arrow.ArrayData // the dictionary, kept so that no other can take its address
	inner  *readColumn

	parts []*readColumn // of a list its elements, of a struct its fields
	bytes []byte        // of nested values
}

// buffer is buffer k of d, nil where there is none.
func buffer(d arrow.ArrayData, k int) []byte {
	if bufs := d.Buffers(); k < len(bufs) && bufs[k] != nil {
		return bufs[k].Bytes()
	}
	return nil
}

func (c *readColumn) read(name string, d arrow.ArrayData) error {
	n, off := d.Len(), d.Offset()
	if off < 0 || n < 0 || off > math.MaxInt32 {
		return corrupt(name, "offset %d", off)
	}
	valid, err := c.validity(name, d)
	if err != nil {
		return err
	}
	switch t := d.DataType().(type) {
	case *arrow.NullType:
		vector.SetNull(&c.vec, c.typ, n)
		return nil
	case *arrow.BooleanType:
		src := buffer(d, 1)
		if len(src)*8 < off+n {
			return corrupt(name, "%d bytes for %d truth values", len(src), off+n)
		}
		c.words = copyBits(c.words, src, off, n)
		vector.SetBits(&c.vec, c.typ, c.words, n, valid)
		return nil
	case *arrow.DictionaryType:
		return c.readDictionary(name, d, t, valid)
	case *arrow.StringType, *arrow.BinaryType:
		return readStrings[int32](c, name, d, valid)
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return readStrings[int64](c, name, d, valid)
	case *arrow.ListType:
		return c.readList(name, d, valid)
	case *arrow.StructType:
		return c.readStruct(name, d, valid)
	case *arrow.FixedSizeBinaryType:
		raw, err := fixed[[uuidWidth]byte](c, name, d)
		if err != nil {
			return err
		}
		dst := wordsAs[int128.Int128](c, n)
		for i, b := range raw {
			dst[i] = int128.Int128{Hi: int64(binary.BigEndian.Uint64(b[:8])), Lo: binary.BigEndian.Uint64(b[8:])}
		}
		vector.SetFlat(&c.vec, c.typ, dst, valid)
		return nil
	case *arrow.MonthDayNanoIntervalType:
		raw, err := fixed[arrow.MonthDayNanoInterval](c, name, d)
		if err != nil {
			return err
		}
		dst := make([]vector.Interval, n)
		for i, x := range raw {
			dst[i] = vector.Interval{Months: x.Months, Days: x.Days, Micros: x.Nanoseconds / 1000}
		}
		vector.SetFlat(&c.vec, c.typ, dst, valid)
		return nil
	case *arrow.Decimal32Type:
		raw, err := fixed[int32](c, name, d)
		if err != nil {
			return err
		}
		dst := make([]int64, n)
		for i, x := range raw {
			dst[i] = int64(x)
		}
		return c.setDecimals(name, dst, valid)
	case *arrow.Decimal64Type:
		raw, err := fixed[int64](c, name, d)
		if err != nil {
			return err
		}
		return c.setDecimals(name, raw, valid)
	case *arrow.Decimal128Type:
		return c.readWide(name, d, valid)
	}
	switch vector.PhysOf(c.typ) {
	case vector.PhysInt8:
		return setFixed[int8](c, name, d, valid)
	case vector.PhysInt16:
		return setFixed[int16](c, name, d, valid)
	case vector.PhysInt32:
		return setFixed[int32](c, name, d, valid)
	case vector.PhysInt64:
		if err := setFixed[int64](c, name, d, valid); err != nil || c.typ.Kind != sqltype.Time {
			return err
		}
		const day = 24 * 60 * 60 * 1e6
		for i, x := range vector.Values[int64](&c.vec) {
			if (x < 0 || x > day) && !c.vec.IsNull(i) {
				return corrupt(name, "%d µs is no time of day", x)
			}
		}
		return nil
	case vector.PhysUint8:
		return setFixed[uint8](c, name, d, valid)
	case vector.PhysUint16:
		return setFixed[uint16](c, name, d, valid)
	case vector.PhysUint32:
		return setFixed[uint32](c, name, d, valid)
	case vector.PhysUint64:
		return setFixed[uint64](c, name, d, valid)
	case vector.PhysFloat32:
		return setFixed[float32](c, name, d, valid)
	case vector.PhysFloat64:
		return setFixed[float64](c, name, d, valid)
	}
	return corrupt(name, "values of type %v", d.DataType())
}

// validity is the rows of d that are not NULL, nil where all are.
func (c *readColumn) validity(name string, d arrow.ArrayData) ([]uint64, error) {
	n, off := d.Len(), d.Offset()
	src := buffer(d, 0)
	if src == nil || d.DataType().ID() == arrow.NULL {
		return nil, nil
	}
	if len(src)*8 < off+n {
		return nil, corrupt(name, "%d bytes of validity for %d rows", len(src), off+n)
	}
	c.valid = copyBits(c.valid, src, off, n)
	if kernel.All(c.valid, n) {
		return nil, nil
	}
	return c.valid, nil
}

// copyBits is bits off … off+n−1 of src, in whole words.
func copyBits(dst []uint64, src []byte, off, n int) []uint64 {
	w := max(1, vector.Words(n))
	if cap(dst) < w {
		dst = make([]uint64, w)
	}
	dst = dst[:w]
	clear(dst)
	src = src[off/8 : (off+n+7)/8]
	shift := uint(off % 8)
	for i := range dst {
		var word [9]byte
		if 8*i < len(src) {
			copy(word[:], src[8*i:])
		}
		x := binary.LittleEndian.Uint64(word[:])
		dst[i] = x >> shift
		if shift > 0 {
			dst[i] |= uint64(word[8]) << (64 - shift)
		}
	}
	if r := uint(n) % 64; r != 0 || n == 0 {
		dst[n/64] &= 1<<r - 1
	}
	return dst
}

// fixed is the n values of buffer 1 of d, in place where that is aligned as Go wants.
func fixed[T any](c *readColumn, name string, d arrow.ArrayData) ([]T, error) {
	size := int(unsafe.Sizeof(*new(T)))
	src, n, off := buffer(d, 1), d.Len(), d.Offset()
	if len(src)/size < off+n {
		return nil, corrupt(name, "%d bytes for %d values of %d", len(src), off+n, size)
	}
	if n == 0 {
		return nil, nil
	}
	src = src[off*size : (off+n)*size]
	p := unsafe.Pointer(unsafe.SliceData(src))
	if uintptr(p)%unsafe.Alignof(*new(T)) == 0 {
		return unsafe.Slice((*T)(p), n), nil
	}
	dst := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), n*size), src)
	return dst, nil
}

func setFixed[T vector.Element](c *readColumn, name string, d arrow.ArrayData, valid []uint64) error {
	v, err := fixed[T](c, name, d)
	if err == nil {
		vector.SetFlat(&c.vec, c.typ, v, valid)
	}
	return err
}

// wordsAs is n elements of c's own memory.
func wordsAs[T int64 | int128.Int128](c *readColumn, n int) []T {
	need := n * int(unsafe.Sizeof(*new(T))) / 8
	if cap(c.words) < need {
		c.words = make([]uint64, max(need, 8))
	}
	c.words = c.words[:cap(c.words)]
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.words))), n)
}

// setDecimals takes decimals of 64 bits, once they are known to have no more digits than their type.
func (c *readColumn) setDecimals(name string, v []int64, valid []uint64) error {
	if c.typ.Precision <= 18 {
		limit := int64(int128.Pow10(int(c.typ.Precision)).Lo)
		if lo, hi := kernel.MinMaxInt64(v); len(v) > 0 && (lo <= -limit || hi >= limit) {
			for i, x := range v {
				if (x <= -limit || x >= limit) && (valid == nil || kernel.Test(valid, i)) {
					return corrupt(name, "%d has more digits than %v", x, c.typ)
				}
			}
			v = zeroed(v, valid) // what stands at a NULL row must be legal
		}
	}
	vector.SetFlat(&c.vec, c.typ, v, valid)
	return nil
}

// zeroed is a copy of v with 0 where a row is NULL.
func zeroed(v []int64, valid []uint64) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		if kernel.Test(valid, i) {
			out[i] = x
		}
	}
	return out
}

// readWide takes decimals of 128 bits, which become 64 where their type has at most 18 digits.
func (c *readColumn) readWide(name string, d arrow.ArrayData, valid []uint64) error {
	raw, err := fixed[int128.Int128](c, name, d)
	if err != nil {
		return err
	}
	limit := int128.Pow10(int(c.typ.Precision))
	least := limit.Neg()
	bad := false
	for i, x := range raw {
		if !x.Less(limit) || !least.Less(x) {
			if valid == nil || kernel.Test(valid, i) {
				return corrupt(name, "%v has more digits than %v", x, c.typ)
			}
			bad = true
		}
	}
	if c.typ.Precision > 18 {
		if bad {
			clean := make([]int128.Int128, len(raw))
			for i, x := range raw {
				if kernel.Test(valid, i) {
					clean[i] = x
				}
			}
			raw = clean
		}
		vector.SetFlat(&c.vec, c.typ, raw, valid)
		return nil
	}
	dst := wordsAs[int64](c, len(raw))
	for i, x := range raw {
		dst[i] = int64(x.Lo)
	}
	if bad {
		dst = zeroed(dst, valid)
	}
	vector.SetFlat(&c.vec, c.typ, dst, valid)
	return nil
}

// readStrings makes a string of each pair of offsets, in place.
func readStrings[O int32 | int64](c *readColumn, name string, d arrow.ArrayData, valid []uint64) error {
	n, off := d.Len(), d.Offset()
	data := buffer(d, 2)
	if cap(c.strs) < n {
		c.strs = make([]string, max(n, 8))
	}
	strs := c.strs[:n]
	if n > 0 {
		size := int(unsafe.Sizeof(*new(O)))
		raw := buffer(d, 1)
		if len(raw)/size < off+n+1 {
			return corrupt(name, "%d bytes of offsets for %d strings", len(raw), off+n)
		}
		raw = raw[off*size : (off+n+1)*size]
		at := func(i int) O {
			if size == 4 {
				return O(int32(binary.LittleEndian.Uint32(raw[4*i:])))
			}
			return O(int64(binary.LittleEndian.Uint64(raw[8*i:])))
		}
		first, last := at(0), at(n)
		if first < 0 || last < first || int64(last) > int64(len(data)) {
			return corrupt(name, "strings from %d to %d in %d bytes", first, last, len(data))
		}
		// Text is checked as a whole; that every string is text too then takes one look at its first byte.
		text := c.typ.Kind == sqltype.Utf8
		if text && !utf8.Valid(data[first:last]) {
			return sqlerr.Newf(sqlerr.InvalidUTF8, sqlerr.Pos{}, "Arrow data of %s: text that is not UTF-8", name)
		}
		from := first
		for i := range strs {
			to := at(i + 1)
			if to < from || to > last {
				return corrupt(name, "a string from %d to %d", from, to)
			}
			if text && to < last && !utf8.RuneStart(data[to]) {
				return sqlerr.Newf(sqlerr.InvalidUTF8, sqlerr.Pos{}, "Arrow data of %s: text that is not UTF-8", name)
			}
			if from == to {
				strs[i] = ""
			} else {
				strs[i] = unsafe.String(&data[from], int(to-from))
			}
			from = to
		}
	}
	vector.SetFlat(&c.vec, c.typ, strs, valid)
	return nil
}

// readDictionary keeps codes as they are, unless they are wider or stranger than a vector's.
func (c *readColumn) readDictionary(name string, d arrow.ArrayData, t *arrow.DictionaryType, valid []uint64) error {
	n := d.Len()
	dict := d.Dictionary()
	if dict == nil || isNil(dict) || dict.Len() == 0 {
		for i := range n {
			if valid == nil || kernel.Test(valid, i) {
				return corrupt(name, "codes without a dictionary")
			}
		}
		vector.SetNull(&c.vec, c.typ, n)
		return nil
	}
	if err := c.dictionary(name, dict); err != nil {
		return err
	}
	size := c.dict.Len
	switch t.IndexType.ID() {
	case arrow.INT8, arrow.UINT8:
		raw, err := fixed[uint8](c, name, d)
		if err != nil {
			return err
		}
		if c.dict.Valid == nil && (len(raw) == 0 || int(kernel.MaxCode8(raw)) < size) {
			vector.SetDict(&c.vec, &c.dict, c.dictID, raw, valid)
			return nil
		}
		return recode(c, name, raw, valid)
	case arrow.INT16, arrow.UINT16:
		raw, err := fixed[uint16](c, name, d)
		if err != nil {
			return err
		}
		if c.dict.Valid == nil && (len(raw) == 0 || int(kernel.MaxCode16(raw)) < size) {
			vector.SetDict(&c.vec, &c.dict, c.dictID, raw, valid)
			return nil
		}
		return recode(c, name, raw, valid)
	case arrow.INT32, arrow.UINT32:
		raw, err := fixed[uint32](c, name, d)
		if err != nil {
			return err
		}
		if c.dict.Valid == nil && (len(raw) == 0 || int64(kernel.MaxCode32(raw)) < int64(size)) {
			vector.SetDict(&c.vec, &c.dict, c.dictID, raw, valid)
			return nil
		}
		return recode(c, name, raw, valid)
	case arrow.INT64, arrow.UINT64:
		raw, err := fixed[uint64](c, name, d)
		if err != nil {
			return err
		}
		return recode(c, name, raw, valid)
	}
	return corrupt(name, "codes of type %v", t.IndexType)
}

func isNil(d arrow.ArrayData) bool {
	x, ok := d.(*array.Data)
	return ok && x == nil
}

// dictionary reads the values of a dictionary that is not the last one again.
func (c *readColumn) dictionary(name string, d arrow.ArrayData) error {
	if c.from == d {
		return nil
	}
	c.inner = &readColumn{typ: c.typ}
	if err := c.inner.read(name, d); err != nil {
		return err
	}
	if c.inner.vec.Form == vector.Dict {
		return corrupt(name, "a dictionary of a dictionary")
	}
	c.dict, c.dictID, c.from = c.inner.vec, vector.NewDictID(), d
	if c.dict.Form == vector.Const { // of NULL, by its type
		c.dict.Valid = make([]uint64, vector.Words(c.dict.Len))
	}
	return nil
}

// recode copies codes so that each row that is NULL, by itself or through the dictionary, has a legal one.
func recode[C uint8 | uint16 | uint32 | uint64](c *readColumn, name string, raw []C, valid []uint64) error {
	codes := make([]uint32, len(raw))
	alive := make([]uint64, vector.Words(len(raw)))
	for i, x := range raw {
		if valid != nil && !kernel.Test(valid, i) {
			continue
		}
		if uint64(x) >= uint64(c.dict.Len) {
			return corrupt(name, "code %d in a dictionary of %d", x, c.dict.Len)
		}
		if c.dict.Valid == nil || kernel.Test(c.dict.Valid, int(x)) {
			codes[i] = uint32(x)
			kernel.Set(alive, i)
		}
	}
	if c.dict.Form == vector.Const {
		vector.SetNull(&c.vec, c.typ, len(raw))
		return nil
	}
	dict := c.dict
	dict.Valid = nil
	vector.SetDict(&c.vec, &dict, c.dictID, codes, alive)
	return nil
}
