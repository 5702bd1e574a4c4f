package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// values decodes PLAIN values of one column, NULLs left out, into what a vector of the column's type is made of. It has
// room for a batch, and a dictionary. Its errors say what is wrong with the bytes and nothing of where they are.
type values interface {
	// dictionary takes n entries; raw stays as it is until the next one.
	dictionary(raw []byte, n int) error
	// entries is the dictionary.
	entries() *vector.Vector
	// look puts the dictionary's entries of the first n codes to the batch, from row at on.
	look(c *codes, at, n int)

	// begin takes the values of a page; raw stays as it is for as long as a batch has rows of it.
	begin(raw []byte)
	// skip passes over n values.
	skip(n int) error
	// read puts the next n values to the batch, from row at on.
	read(at, n int) error
	// view makes the next n values the whole batch, without a copy; it is false, and does nothing, where they need one.
	view(n int) bool
	// spread moves the k values from row at on to the rows of at to at+n that valid has.
	spread(at, n, k int, valid []uint64)
	// vector makes v the batch's first n rows.
	vector(v *vector.Vector, n int, valid []uint64)
}

// newValues makes the decoder of a column that Check lets pass, for batches of up to n rows.
func newValues(c *Column, n int) values {
	e, t := &c.element, c.Type
	switch t.Kind {
	case sqltype.Bool:
		return newBools(t, n)
	case sqltype.Int8:
		return newFixed(t, n, 4, narrow[int8])
	case sqltype.Int16:
		return newFixed(t, n, 4, narrow[int16])
	case sqltype.Int32, sqltype.Date:
		return newFixed[int32](t, n, 4, nil)
	case sqltype.Uint8:
		return newFixed(t, n, 4, narrow[uint8])
	case sqltype.Uint16:
		return newFixed(t, n, 4, narrow[uint16])
	case sqltype.Uint32:
		return newFixed[uint32](t, n, 4, nil)
	case sqltype.Int64:
		return newFixed[int64](t, n, 8, nil)
	case sqltype.Uint64:
		return newFixed[uint64](t, n, 8, nil)
	case sqltype.Float32:
		if e.typ == typeFixed {
			return newFixed(t, n, 2, halves)
		}
		return newFixed[float32](t, n, 4, nil)
	case sqltype.Float64:
		return newFixed[float64](t, n, 8, nil)
	case sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		switch {
		case e.typ == typeInt96:
			return newFixed(t, n, 12, int96s)
		case e.typ == typeInt32:
			return newFixed(t, n, 4, millis32)
		case e.unit() == unitMillis:
			return newFixed(t, n, 8, millis)
		case e.unit() == unitNanos:
			return newFixed(t, n, 8, nanos)
		}
		return newFixed[int64](t, n, 8, nil)
	case sqltype.Decimal:
		return newDecimals(c, n)
	case sqltype.UUID:
		return newFixed(t, n, 16, uuids)
	case sqltype.Interval:
		return newFixed(t, n, 12, intervals)
	}
	s := &text{typ: t, utf8: t.Kind == sqltype.Utf8, out: make([]string, n)}
	if e.typ == typeFixed {
		s.length = int(e.length)
	}
	return s
}

func newDecimals(c *Column, n int) values {
	e, t := &c.element, c.Type
	most, _ := int128.Pow10(min(int(t.Precision), 18)).Int64()
	switch {
	case e.typ == typeInt64:
		f := newFixed[int64](t, n, 8, nil)
		if t.Precision <= 18 {
			f.check = func(v []int64) bool { return digits64(v, most) }
		}
		return f
	case e.typ == typeInt32:
		return newFixed(t, n, 4, func(dst []int64, src []byte) bool { widen(dst, src); return digits64(dst, most) })
	case e.typ == typeByteArray:
		if t.Precision <= 18 {
			return newVariable(t, n, func(b []byte) (int64, bool) { return narrowDecimal(b, most) })
		}
		return newVariable(t, n, func(b []byte) (int128.Int128, bool) { return wideDecimal(b, int(t.Precision)) })
	}
	width := int(e.length)
	switch {
	case t.Precision > 18 && width <= 16:
		return newFixed(t, n, width, func(dst []int128.Int128, src []byte) bool { return fixed128(dst, src, width, int(t.Precision)) })
	case t.Precision > 18:
		return newFixed(t, n, width, each(width, func(b []byte) (int128.Int128, bool) { return wideDecimal(b, int(t.Precision)) }))
	case width <= 8:
		return newFixed(t, n, width, func(dst []int64, src []byte) bool { fixed64(dst, src, width); return digits64(dst, most) })
	}
	return newFixed(t, n, width, each(width, func(b []byte) (int64, bool) { return narrowDecimal(b, most) }))
}

// each is a conversion of values of width bytes one by one.
func each[T vector.Element](width int, parse func([]byte) (T, bool)) func([]T, []byte) bool {
	return func(dst []T, src []byte) bool {
		all := true
		for i := range dst {
			v, ok := parse(src[i*width : (i+1)*width])
			dst[i] = v
			all = all && ok
		}
		return all
	}
}

// fixed64 reads big-endian numbers of width bytes, at most 8: of each the 8 bytes that begin with it, as long as there are.
func fixed64(dst []int64, src []byte, width int) {
	shift := uint(64 - 8*width)
	for i := range dst {
		at := i * width
		if at+8 > len(src) {
			var tail [8]byte
			copy(tail[:], src[at:])
			dst[i] = int64(binary.BigEndian.Uint64(tail[:])) >> shift
			continue
		}
		dst[i] = int64(binary.BigEndian.Uint64(src[at:])) >> shift
	}
}

// fixed128 reads big-endian numbers of width bytes, at most 16.
func fixed128(dst []int128.Int128, src []byte, width, precision int) bool {
	shift := uint(8 * (16 - width))
	all := true
	for i := range dst {
		at := i * width
		b := src[at:]
		if len(b) < 16 {
			var tail [16]byte
			copy(tail[:], b)
			b = tail[:]
		}
		hi, lo := int64(binary.BigEndian.Uint64(b)), binary.BigEndian.Uint64(b[8:])
		if shift >= 64 {
			lo, hi = uint64(hi>>(shift-64)), hi>>63
		} else if shift > 0 {
			lo, hi = lo>>shift|uint64(hi)<<(64-shift), hi>>shift
		}
		dst[i] = int128.Int128{Hi: hi, Lo: lo}
		all = all && dst[i].FitsDigits(precision)
	}
	return all
}

// digits64 tells whether all of v are within ±most, both left out: later arithmetic relies on the digits of a type.
func digits64(v []int64, most int64) bool {
	if len(v) == 0 {
		return true
	}
	lo, hi := kernel.MinMaxInt64(v)
	return lo > -most && hi < most
}

func narrowDecimal(b []byte, most int64) (int64, bool) {
	if len(b) <= 8 {
		var v uint64
		for _, x := range b {
			v = v<<8 | uint64(x)
		}
		shift := 64 - 8*len(b)
		i := int64(v<<shift) >> shift
		return i, i > -most && i < most
	}
	w, ok := bigEndian(b)
	i, fits := w.Int64()
	return i, ok && fits && i > -most && i < most
}

func wideDecimal(b []byte, precision int) (int128.Int128, bool) {
	if len(b) == 16 {
		v := int128.Int128{Hi: int64(binary.BigEndian.Uint64(b)), Lo: binary.BigEndian.Uint64(b[8:])}
		return v, v.FitsDigits(precision)
	}
	v, ok := bigEndian(b)
	return v, ok && v.FitsDigits(precision)
}

func narrow[T int8 | int16 | uint8 | uint16](dst []T, src []byte) bool {
	lost := int32(0)
	src = src[:4*len(dst)]
	for i := range dst {
		v := int32(binary.LittleEndian.Uint32(src[4*i:]))
		dst[i] = T(v)
		lost |= v ^ int32(dst[i])
	}
	return lost == 0
}

func widen(dst []int64, src []byte) {
	src = src[:4*len(dst)]
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
	}
}

func millis32(dst []int64, src []byte) bool {
	widen(dst, src)
	for i := range dst {
		dst[i] *= 1000
	}
	return true
}

func millis(dst []int64, src []byte) bool {
	ok := true
	for i := range dst {
		v, fits := toMicros(int64(binary.LittleEndian.Uint64(src[8*i:])), unitMillis)
		dst[i] = v
		ok = ok && fits
	}
	return ok
}

func nanos(dst []int64, src []byte) bool {
	for i := range dst {
		dst[i] = floorDiv(int64(binary.LittleEndian.Uint64(src[8*i:])), 1000)
	}
	return true
}

const (
	julianEpoch  = 2440588 // the Julian day of 1970-01-01
	microsPerDay = 86400 * 1000000
)

// int96s reads the timestamps of old writers: nanoseconds of the day, then the Julian day.
func int96s(dst []int64, src []byte) bool {
	ok := true
	for i := range dst {
		b := src[12*i : 12*i+12]
		day := int64(binary.LittleEndian.Uint32(b[8:])) - julianEpoch
		if day < math.MinInt64/microsPerDay+2 || day > math.MaxInt64/microsPerDay-2 {
			ok = false
		}
		ofDay := int64(binary.LittleEndian.Uint64(b))
		if ofDay < 0 || ofDay > 2*microsPerDay*1000 {
			ok = false
		}
		dst[i] = day*microsPerDay + ofDay/1000
	}
	return ok
}

func uuids(dst []int128.Int128, src []byte) bool {
	for i := range dst {
		dst[i] = uuid(src[16*i : 16*i+16])
	}
	return true
}

func intervals(dst []vector.Interval, src []byte) bool {
	ok := true
	for i := range dst {
		b := src[12*i : 12*i+12]
		months, days := int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))
		dst[i] = vector.Interval{Months: months, Days: days, Micros: int64(binary.LittleEndian.Uint32(b[8:])) * 1000}
		ok = ok && months >= 0 && days >= 0
	}
	return ok
}

func halves(dst []float32, src []byte) bool {
	for i := range dst {
		dst[i] = half(binary.LittleEndian.Uint16(src[2*i:]))
	}
	return true
}

// half is a 16-bit float: 1 bit of sign, 5 of exponent, 10 of fraction.
func half(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10&31), uint32(h&0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
	}
	f := float32(frac) / (1 << 24) // subnormal
	if sign != 0 {
		return -f
	}
	return f
}

var errRange = errors.New("a value does not fit its type")

// aligned is memory of n bytes for values of any width.
func aligned(n int) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n]
}

// A fixed decodes values of width bytes each.
type fixed[T vector.Element] struct {
	typ     sqltype.Type
	width   int
	convert func(dst []T, src []byte) bool // of len(dst)*width bytes; nil: the bytes are T's own
	check   func([]T) bool                 // nil: every value is legal

	dict    vector.Vector
	dictVal []T
	raw     []byte
	out     []T
	seen    []T // what view took; nil: out has the batch
}

func newFixed[T vector.Element](t sqltype.Type, n, width int, convert func([]T, []byte) bool) *fixed[T] {
	return &fixed[T]{typ: t, width: width, convert: convert, out: make([]T, n)}
}

// decode fills dst from src, which has its bytes.
func (f *fixed[T]) decode(dst []T, src []byte) error {
	if len(dst) == 0 {
		return nil
	}
	ok := true
	if f.convert != nil {
		ok = f.convert(dst, src)
	} else {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)*f.width), src)
		if f.check != nil {
			ok = f.check(dst)
		}
	}
	if !ok {
		return errRange
	}
	return nil
}

func (f *fixed[T]) dictionary(raw []byte, n int) error {
	if n*f.width > len(raw) {
		return errPageEnd
	}
	f.dictVal = resize(f.dictVal, n)
	if err := f.decode(f.dictVal, raw); err != nil {
		return err
	}
	vector.SetFlat(&f.dict, f.typ, f.dictVal, nil)
	return nil
}

func (f *fixed[T]) entries() *vector.Vector { return &f.dict }

func (f *fixed[T]) look(c *codes, at, n int) {
	f.seen = nil
	look(f.out[at:at+n], f.dictVal, c)
}

func (f *fixed[T]) begin(raw []byte) { f.raw = raw }

func (f *fixed[T]) skip(n int) error {
	if n*f.width > len(f.raw) {
		return errPageEnd
	}
	f.raw = f.raw[n*f.width:]
	return nil
}

func (f *fixed[T]) read(at, n int) error {
	f.seen = nil
	src := f.raw
	if err := f.skip(n); err != nil {
		return err
	}
	return f.decode(f.out[at:at+n], src)
}

func (f *fixed[T]) view(n int) bool {
	p := unsafe.Pointer(unsafe.SliceData(f.raw))
	if f.convert != nil || n == 0 || n*f.width > len(f.raw) || uintptr(p)%unsafe.Alignof(*new(T)) != 0 {
		return false
	}
	f.seen = unsafe.Slice((*T)(p), n)
	if f.check != nil && !f.check(f.seen) {
		return false // read says the error
	}
	f.raw = f.raw[n*f.width:]
	return true
}

func (f *fixed[T]) spread(at, n, k int, valid []uint64) { spread(f.out[at:at+n], k, valid, at) }

func (f *fixed[T]) vector(v *vector.Vector, n int, valid []uint64) {
	if f.seen != nil {
		vector.SetFlat(v, f.typ, f.seen, valid)
		return
	}
	vector.SetFlat(v, f.typ, f.out[:n], valid)
}

// look gathers entries by the first codes.
func look[T any](dst, dict []T, c *codes) {
	switch c.width {
	case 1:
		kernel.GatherCodes8(dst, dict, c.c8[:len(dst)])
	case 2:
		kernel.GatherCodes16(dst, dict, c.c16[:len(dst)])
	default:
		kernel.GatherCodes32(dst, dict, c.c32[:len(dst)])
	}
}

// resize is s with n elements, which may be anything, and new memory only where it has not enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

// A variable decodes values of any length into ones of fixed width: decimals in BYTE_ARRAY.
type variable[T vector.Element] struct {
	fixed[T]
	parse func([]byte) (T, bool)
}

func newVariable[T vector.Element](t sqltype.Type, n int, parse func([]byte) (T, bool)) *variable[T] {
	return &variable[T]{fixed: fixed[T]{typ: t, out: make([]T, n)}, parse: parse}
}

func (v *variable[T]) dictionary(raw []byte, n int) error {
	if n > len(raw)/4 {
		return errPageEnd
	}
	v.dictVal = resize(v.dictVal, n)
	if _, err := v.decode(v.dictVal, raw); err != nil {
		return err
	}
	vector.SetFlat(&v.dict, v.typ, v.dictVal, nil)
	return nil
}

func (v *variable[T]) decode(dst []T, raw []byte) (rest []byte, err error) {
	for i := range dst {
		b, rest, err := lengthPrefixed(raw)
		if err != nil {
			return nil, err
		}
		x, ok := v.parse(b)
		if !ok {
			return nil, errRange
		}
		dst[i] = x
		raw = rest
	}
	return raw, nil
}

func (v *variable[T]) skip(n int) (err error) {
	v.raw, err = skipStrings(v.raw, n)
	return err
}

func (v *variable[T]) read(at, n int) (err error) {
	v.raw, err = v.decode(v.out[at:at+n], v.raw)
	return err
}

func (v *variable[T]) view(int) bool { return false }

// lengthPrefixed takes a value off the front of raw.
func lengthPrefixed(raw []byte) (value, rest []byte, err error) {
	if len(raw) < 4 {
		return nil, nil, errPageEnd
	}
	n := uint64(binary.LittleEndian.Uint32(raw))
	if n > uint64(len(raw)-4) {
		return nil, nil, errPageEnd
	}
	return raw[4 : 4+n], raw[4+n:], nil
}

func skipStrings(raw []byte, n int) ([]byte, error) {
	for range n {
		if len(raw) < 4 {
			return nil, errPageEnd
		}
		k := uint64(binary.LittleEndian.Uint32(raw))
		if k > uint64(len(raw)-4) {
			return nil, errPageEnd
		}
		raw = raw[4+k:]
	}
	return raw, nil
}

// A text decodes strings, which point into the page's bytes.
type text struct {
	typ    sqltype.Type
	utf8   bool
	length int // of every string; 0: each has its own before it

	dict    vector.Vector
	dictVal []string
	raw     []byte
	ascii   bool // all of raw is ASCII, lengths too: every string in it is UTF-8
	out     []string
}

func (s *text) dictionary(raw []byte, n int) error {
	if s.length > 0 && n*s.length > len(raw) || s.length == 0 && n > len(raw)/4 {
		return errPageEnd
	}
	s.dictVal = resize(s.dictVal, n)
	if _, err := s.decode(s.dictVal, raw, s.utf8 && !isASCII(raw)); err != nil {
		return err
	}
	vector.SetFlat(&s.dict, s.typ, s.dictVal, nil)
	return nil
}

func (s *text) entries() *vector.Vector  { return &s.dict }
func (s *text) look(c *codes, at, n int) { look(s.out[at:at+n], s.dictVal, c) }

func (s *text) begin(raw []byte) {
	s.raw = raw
	s.ascii = !s.utf8 || isASCII(raw)
}

func (s *text) skip(n int) (err error) {
	if s.length > 0 {
		if n*s.length > len(s.raw) {
			return errPageEnd
		}
		s.raw = s.raw[n*s.length:]
		return nil
	}
	s.raw, err = skipStrings(s.raw, n)
	return err
}

func (s *text) read(at, n int) (err error) {
	s.raw, err = s.decode(s.out[at:at+n], s.raw, !s.ascii)
	return err
}

func (s *text) decode(dst []string, raw []byte, check bool) (rest []byte, err error) {
	if s.length > 0 {
		if len(dst)*s.length > len(raw) {
			return nil, errPageEnd
		}
		for i := range dst {
			dst[i] = unsafe.String(unsafe.SliceData(raw), s.length)
			raw = raw[s.length:]
		}
	} else {
		for i := range dst {
			if len(raw) < 4 {
				return nil, errPageEnd
			}
			n := uint64(binary.LittleEndian.Uint32(raw))
			raw = raw[4:]
			if n > uint64(len(raw)) {
				return nil, errPageEnd
			}
			dst[i] = unsafe.String(unsafe.SliceData(raw), n)
			raw = raw[n:]
		}
	}
	if check {
		for _, v := range dst {
			if !utf8.ValidString(v) {
				return nil, fmt.Errorf("a string is not UTF-8: %.40q", v)
			}
		}
	}
	return raw, nil
}

func (s *text) view(int) bool { return false }

func (s *text) spread(at, n, k int, valid []uint64) { spread(s.out[at:at+n], k, valid, at) }

func (s *text) vector(v *vector.Vector, n int, valid []uint64) {
	vector.SetFlat(v, s.typ, s.out[:n], valid)
}

func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for len(b) >= 32 {
		w := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if w&high != 0 {
			return false
		}
		b = b[32:]
	}
	var or byte
	for _, c := range b {
		or |= c
	}
	return or < 0x80
}

// A bools decodes truth values, which are bits. They have no dictionary.
type bools struct {
	typ  sqltype.Type
	raw  []byte
	at   int // bit of raw
	none vector.Vector
	out  []uint64
}

func newBools(t sqltype.Type, n int) *bools {
	return &bools{typ: t, out: make([]uint64, vector.Words(n))}
}

func (b *bools) dictionary([]byte, int) error { return errors.New("a dictionary of truth values") }
func (b *bools) entries() *vector.Vector      { return &b.none }
func (b *bools) look(*codes, int, int)        {}
func (b *bools) begin(raw []byte)             { b.raw, b.at = raw, 0 }

func (b *bools) skip(n int) error {
	if n > 8*len(b.raw)-b.at {
		return errPageEnd
	}
	b.at += n
	return nil
}

func (b *bools) read(at, n int) error {
	from := b.at
	if err := b.skip(n); err != nil {
		return err
	}
	clearBits(b.out, at)
	copyBits(b.out, at, b.raw, from, n)
	return nil
}

// clearBits clears bits from the n-th on.
func clearBits(bm []uint64, n int) {
	if n%64 != 0 {
		bm[n/64] &= 1<<(n%64) - 1
		n += 64
	}
	clear(bm[n/64:])
}

func (b *bools) view(int) bool { return false }

func (b *bools) spread(at, n, k int, valid []uint64) { spreadBits(b.out, at, n, k, valid) }

func (b *bools) vector(v *vector.Vector, n int, valid []uint64) {
	vector.SetBits(v, b.typ, b.out[:vector.Words(n)], n, valid)
}
