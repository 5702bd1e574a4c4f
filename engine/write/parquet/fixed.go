package parquet

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// number is what a PLAIN page holds as it stands in memory, which is little-endian on every platform that Fletch is for.
type number interface {
	~int32 | ~int64 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// A reader returns the values of rows [from, to) of a that are not NULL, in buf or in a's own memory.
type reader[T number] func(a arrow.Array, from, to int, buf []T) ([]T, error)

// gather returns those of src, the values of rows [from, to) of a, that are not NULL.
func gather[S any](a arrow.Array, src []S, from, to int, buf []S) []S {
	if a.NullN() == 0 {
		return src[from:to]
	}
	for i := from; i < to; i++ {
		if a.IsValid(i) {
			buf = append(buf, src[i])
		}
	}
	return buf
}

// direct reads arrays whose values are those of the file.
func direct[A arrow.Array, T number](slice func(A) []T) reader[T] {
	return func(a arrow.Array, from, to int, buf []T) ([]T, error) {
		return gather(a, slice(a.(A)), from, to, buf), nil
	}
}

// widen reads arrays of narrower integers.
func widen[S int8 | int16 | uint8 | uint16, T int32 | uint32, A arrow.Array](slice func(A) []S) reader[T] {
	return converted(slice, func(v S) (T, bool) { return T(v), true })
}

// converted reads arrays of values that need a conversion, which may refuse one.
func converted[A arrow.Array, S any, T number](slice func(A) []S, convert func(S) (T, bool)) reader[T] {
	var own []S
	return func(a arrow.Array, from, to int, buf []T) ([]T, error) {
		src := gather(a, slice(a.(A)), from, to, own[:0])
		if a.NullN() > 0 {
			own = src
		}
		for _, v := range src {
			t, ok := convert(v)
			if !ok {
				return nil, sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "%v is out of the range of %s", v, a.DataType())
			}
			buf = append(buf, t)
		}
		return buf, nil
	}
}

// fixed encodes numbers.
type fixed[T number] struct {
	read    reader[T]
	array   arrow.Array
	current []T
	buf     []T

	min, max T
	bounded  bool // min and max are of a value

	entries  []T      // the dictionary
	slots    []uint32 // a hash table of codes+1; its length is a power of two
	shift    int
	interned int // bytes
	seen     []bool
}

func newFixed[T number](r reader[T]) values { return &fixed[T]{read: r, buf: make([]T, 0, stepRows)} }

func (f *fixed[T]) begin(a arrow.Array) { f.array = a }

func (f *fixed[T]) load(from, to int) (int, error) {
	var err error
	f.current, err = f.read(f.array, from, to, f.buf[:0])
	return to, err
}

func (f *fixed[T]) end() { f.array, f.current = nil, nil }

func (f *fixed[T]) plain(dst []byte) []byte {
	f.bound(f.current)
	return append(dst, rawBytes(f.current)...)
}

func (f *fixed[T]) bound(vals []T) {
	if len(vals) == 0 {
		return
	}
	lo, hi := f.min, f.max
	if !f.bounded {
		i := 0
		for i < len(vals) && vals[i] != vals[i] { // NaN
			i++
		}
		if i == len(vals) {
			return
		}
		lo, hi, f.bounded = vals[i], vals[i], true
	}
	for _, v := range vals {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	f.min, f.max = lo, hi
}

func (f *fixed[T]) takeBounds() bounds {
	if !f.bounded {
		return bounds{}
	}
	f.bounded = false
	// A zero may stand for the one of the other sign, so the lower bound is -0 and the upper +0. The conversion through
	// float64 changes no number: it is only made for zero.
	lo, hi := f.min, f.max
	if lo == 0 {
		lo = T(math.Copysign(0, -1))
	}
	if hi == 0 {
		hi = 0
	}
	both := append(append(make([]byte, 0, 2*unsafe.Sizeof(lo)), rawBytes([]T{lo})...), rawBytes([]T{hi})...)
	n := len(both) / 2
	return bounds{min: both[:n:n], max: both[n:], ok: true, exactMin: true, exactMax: true}
}

func (f *fixed[T]) intern(codes []uint32) []uint32 {
	f.interned += len(f.current) * int(unsafe.Sizeof(T(0)))
	for _, v := range f.current {
		if len(f.entries)*2 >= len(f.slots) {
			f.growTable()
		}
		w := word(v)
		slot := (w * fibonacci) >> f.shift
		for {
			s := f.slots[slot]
			if s == 0 {
				f.entries = append(f.entries, v)
				f.slots[slot] = uint32(len(f.entries))
				codes = append(codes, uint32(len(f.entries)-1))
				break
			}
			if word(f.entries[s-1]) == w {
				codes = append(codes, s-1)
				break
			}
			slot = (slot + 1) & uint64(len(f.slots)-1)
		}
	}
	return codes
}

// fibonacci is 2⁶⁴ over the golden ratio: its product spreads near keys over the table.
const fibonacci = 0x9E3779B97F4A7C15

func (f *fixed[T]) growTable() {
	n := max(len(f.slots)*2, 256)
	if cap(f.slots) >= n {
		f.slots = f.slots[:n]
		clear(f.slots)
	} else {
		f.slots = make([]uint32, n)
	}
	f.shift = 64 - bits.Len(uint(n-1))
	for i, v := range f.entries {
		slot := (word(v) * fibonacci) >> f.shift
		for f.slots[slot] != 0 {
			slot = (slot + 1) & uint64(n-1)
		}
		f.slots[slot] = uint32(i + 1)
	}
}

func (f *fixed[T]) size() dictionarySize {
	return dictionarySize{len(f.entries), len(f.entries) * int(unsafe.Sizeof(T(0))), f.interned}
}

func (f *fixed[T]) page(dst []byte) []byte { return append(dst, rawBytes(f.entries)...) }

func (f *fixed[T]) recall(codes []uint32) {
	f.buf = f.buf[:0]
	for _, c := range codes {
		f.buf = append(f.buf, f.entries[c])
	}
	f.current = f.buf
}

func (f *fixed[T]) boundsOf(codes []uint32) bounds {
	f.seen = marked(f.seen, codes, len(f.entries))
	for i, v := range f.entries {
		if f.seen[i] {
			f.bound([]T{v})
		}
	}
	return f.takeBounds()
}

func (f *fixed[T]) reset() {
	f.entries, f.slots, f.interned = f.entries[:0], f.slots[:0], 0
}

// marked returns n flags, in the memory of seen where that is enough: which codes occur.
func marked(seen []bool, codes []uint32, n int) []bool {
	if cap(seen) < n {
		seen = make([]bool, n)
	}
	seen = seen[:n]
	clear(seen)
	for _, c := range codes {
		seen[c] = true
	}
	return seen
}

// word is the bit pattern of v: -0 differs from 0, and a NaN equals itself.
func word[T number](v T) uint64 {
	if unsafe.Sizeof(v) == 4 {
		return uint64(*(*uint32)(unsafe.Pointer(&v)))
	}
	return *(*uint64)(unsafe.Pointer(&v))
}

func rawBytes[T number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(T(0))))
}
