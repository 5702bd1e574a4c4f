package parquet

import (
	"encoding/binary"
	"hash/maphash"
	"unicode/utf8"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// maxBound is the length at which a bound of a byte array is cut: a footer should not hold documents.
const maxBound = 128

// A byteArrays encodes strings and bytes, and decimals too long for a number as bytes of fixed width.
type byteArrays struct {
	width int // of decimals; 0 for byte arrays

	array   arrow.Array
	value   func(i int) string // reads the array; the string is the array's memory
	current []string
	fixed   []byte // memory of the current decimals

	// A dictionary array is known by its own codes for as long as that saves work.
	coded   *array.Dictionary
	indexes []int32  // current values, as entries of coded
	remap   []uint32 // our code+1 of an entry of coded, 0 for none yet

	min, max []byte
	bounded  bool

	entries  []byte   // the dictionary's bytes, end to end
	ends     []uint32 // where each entry ends
	hashes   []uint32
	slots    []uint32 // codes+1
	interned int
	seen     []bool
}

var seed = maphash.MakeSeed()

func (s *byteArrays) begin(a arrow.Array) {
	s.array = a
	if d, ok := a.(*array.Dictionary); ok {
		s.value = stringReader(d.Dictionary())
		s.coded = d
		s.remap = append(s.remap[:0], make([]uint32, d.Dictionary().Len())...)
	} else if s.width == 0 {
		s.value = stringReader(a)
	}
}

// stringReader reads an array of one of the types that plan lets through.
func stringReader(a arrow.Array) func(int) string {
	switch a := a.(type) {
	case *array.String:
		return a.Value
	case *array.LargeString:
		return a.Value
	case *array.StringView:
		return a.Value
	case *array.Binary:
		return a.ValueString
	case *array.LargeBinary:
		return a.ValueString
	case *array.BinaryView:
		return a.ValueString
	}
	return nil
}

// load stops early where the values would fill a page: rows may hold megabytes each.
func (s *byteArrays) load(from, to int) (int, error) {
	s.current, s.indexes = s.current[:0], s.indexes[:0]
	if s.width > 0 {
		return to, s.loadDecimals(from, to)
	}
	allValid := s.array.NullN() == 0
	if s.coded != nil {
		for i := from; i < to; i++ {
			if allValid || s.array.IsValid(i) {
				s.indexes = append(s.indexes, int32(s.coded.GetValueIndex(i)))
			}
		}
		return to, nil
	}
	size := 0
	for i := from; i < to; i++ {
		if allValid || s.array.IsValid(i) {
			v := s.value(i)
			s.current = append(s.current, v)
			if size += len(v); size >= defaultPageBytes {
				return i + 1, nil
			}
		}
	}
	return to, nil
}

// loadDecimals lays the values out as big-endian two's complement of the column's width.
func (s *byteArrays) loadDecimals(from, to int) error {
	a := s.array.(*array.Decimal128)
	precision := a.DataType().(*arrow.Decimal128Type).Precision
	if cap(s.fixed) < stepRows*s.width {
		s.fixed = make([]byte, stepRows*s.width)
	}
	free := s.fixed[:cap(s.fixed)]
	var wide [16]byte
	for i := from; i < to; i++ {
		if a.IsNull(i) {
			continue
		}
		v := a.Value(i)
		if !v.FitsInPrecision(precision) {
			return outOfRange(v, a.DataType())
		}
		binary.BigEndian.PutUint64(wide[:8], uint64(v.HighBits()))
		binary.BigEndian.PutUint64(wide[8:], v.LowBits())
		copy(free, wide[16-s.width:])
		s.current = append(s.current, unsafe.String(&free[0], s.width))
		free = free[s.width:]
	}
	return nil
}

func outOfRange(v decimal128.Num, t arrow.DataType) error {
	return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "%s is out of the range of %s", v.ToString(t.(*arrow.Decimal128Type).Scale), t)
}

func (s *byteArrays) end() {
	clear(s.current[:cap(s.current)]) // they point into the caller's memory
	s.current = s.current[:0]
	s.array, s.value, s.coded = nil, nil, nil
}

func (s *byteArrays) plain(dst []byte) []byte {
	if s.coded != nil && len(s.current) == 0 {
		for _, i := range s.indexes {
			s.current = append(s.current, s.value(int(i)))
		}
	}
	for _, v := range s.current {
		if s.width == 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)))
		}
		dst = append(dst, v...)
		s.bound(v)
	}
	return dst
}

func (s *byteArrays) bound(v string) {
	if !s.bounded {
		s.min, s.max, s.bounded = append(s.min[:0], v...), append(s.max[:0], v...), true
		return
	}
	if s.less(v, string(s.min)) {
		s.min = append(s.min[:0], v...)
	} else if s.less(string(s.max), v) {
		s.max = append(s.max[:0], v...)
	}
}

func (s *byteArrays) less(a, b string) bool {
	if s.width > 0 && a[0] != b[0] {
		return int8(a[0]) < int8(b[0])
	}
	return a < b
}

func (s *byteArrays) takeBounds() bounds {
	if !s.bounded {
		return bounds{}
	}
	s.bounded = false
	b := bounds{ok: true, exactMin: true, exactMax: true}
	lo, hi := s.min, s.max
	if s.width == 0 && len(lo) > maxBound {
		lo, b.exactMin = cut(lo), false
	}
	if s.width == 0 && len(hi) > maxBound {
		if short, ok := successor(cut(hi)); ok {
			hi, b.exactMax = short, false
		}
	}
	b.min, b.max = append([]byte{}, lo...), append([]byte{}, hi...)
	return b
}

// cut shortens v to maxBound bytes or a few less, not within a character.
func cut(v []byte) []byte {
	n := maxBound
	for n > maxBound-utf8.UTFMax && !utf8.RuneStart(v[n]) {
		n--
	}
	return v[:n]
}

// successor is a text above every one that starts with v: v up to an ASCII character that has a next one, raised to that.
// There is none in a text of other characters only.
func successor(v []byte) ([]byte, bool) {
	for i := len(v) - 1; i >= 0; i-- {
		if v[i] < utf8.RuneSelf-1 {
			next := append([]byte{}, v[:i+1]...)
			next[i]++
			return next, true
		}
	}
	return nil, false
}

func (s *byteArrays) intern(codes []uint32) []uint32 {
	if s.coded == nil {
		for _, v := range s.current {
			codes = append(codes, s.code(v))
		}
		return codes
	}
	for _, i := range s.indexes {
		c := s.remap[i]
		if c == 0 {
			c = s.code(s.value(int(i))) + 1
			s.remap[i] = c
		} else {
			s.interned += s.plainLen(int(c - 1))
		}
		codes = append(codes, c-1)
	}
	return codes
}

// plainLen is the size in a PLAIN page of a value of the dictionary.
func (s *byteArrays) plainLen(code int) int {
	if s.width > 0 {
		return s.width
	}
	return len(s.entry(uint32(code))) + 4
}

func (s *byteArrays) entry(code uint32) string {
	start := uint32(0)
	if code > 0 {
		start = s.ends[code-1]
	}
	return unsafe.String(unsafe.SliceData(s.entries[start:]), int(s.ends[code]-start))
}

func (s *byteArrays) code(v string) uint32 {
	s.interned += len(v)
	if s.width == 0 {
		s.interned += 4
	}
	if len(s.ends)*2 >= len(s.slots) {
		s.growTable()
	}
	h := uint32(maphash.String(seed, v) >> 32)
	mask := uint32(len(s.slots) - 1)
	slot := h & mask
	for {
		c := s.slots[slot]
		if c == 0 {
			s.entries = append(s.entries, v...)
			s.ends = append(s.ends, uint32(len(s.entries)))
			s.hashes = append(s.hashes, h)
			s.slots[slot] = uint32(len(s.ends))
			return uint32(len(s.ends) - 1)
		}
		if s.hashes[c-1] == h && s.entry(c-1) == v {
			return c - 1
		}
		slot = (slot + 1) & mask
	}
}

func (s *byteArrays) growTable() {
	n := max(len(s.slots)*2, 256)
	if cap(s.slots) >= n {
		s.slots = s.slots[:n]
		clear(s.slots)
	} else {
		s.slots = make([]uint32, n)
	}
	for i, h := range s.hashes {
		slot := h & uint32(n-1)
		for s.slots[slot] != 0 {
			slot = (slot + 1) & uint32(n-1)
		}
		s.slots[slot] = uint32(i + 1)
	}
}

func (s *byteArrays) size() dictionarySize {
	size := dictionarySize{values: len(s.ends), bytes: len(s.entries), interned: s.interned}
	if s.width == 0 {
		size.bytes += 4 * len(s.ends)
	}
	return size
}

func (s *byteArrays) page(dst []byte) []byte {
	if s.width > 0 {
		return append(dst, s.entries...)
	}
	for i := range s.ends {
		v := s.entry(uint32(i))
		dst = append(binary.LittleEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
	return dst
}

func (s *byteArrays) recall(codes []uint32) {
	s.current = s.current[:0]
	s.indexes = s.indexes[:0]
	for _, c := range codes {
		s.current = append(s.current, s.entry(c))
	}
}

func (s *byteArrays) boundsOf(codes []uint32) bounds {
	s.seen = marked(s.seen, codes, len(s.ends))
	for i := range s.ends {
		if s.seen[i] {
			s.bound(s.entry(uint32(i)))
		}
	}
	return s.takeBounds()
}

func (s *byteArrays) reset() {
	s.entries, s.ends, s.hashes, s.slots, s.interned = s.entries[:0], s.ends[:0], s.hashes[:0], s.slots[:0], 0
}
