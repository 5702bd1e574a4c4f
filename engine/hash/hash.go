// Package hash is HashSpec v1: which partition of an exchange a row goes to. Two workers of one protocol version must agree on
// it bit for bit, so it is wire format: changing it is a protocol bump. It knows values; it must never know who exchanges
// what, and no hash table may use it, since the rows of one partition share their highest bits.
package hash

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// Spec is the version of the hash. A worker that has another one is of another protocol.
//
// Version 1, in unsigned 64-bit arithmetic modulo 2^64, with >> a shift without sign:
//
//	A = 0x9e3779b97f4a7c15, B = 0x243f6a8885a308d3
//	mix(h): h = (h ^ h>>32) * A; h = (h ^ h>>32) * B; h ^ h>>32
//	hash of a row: h = 0x666c657463683031; for each key column in order: h = mix(h ^ word(value))
//
// word(value) is, for
//
//	NULL of any type                  0x6e756c6c6e756c6c
//	BOOLEAN                           0 or 1
//	integers of any width             the value as 64 bits, signed ones extended with their sign
//	DATE, TIME, TIMESTAMP[TZ]         their number of days or microseconds, likewise
//	REAL, DOUBLE PRECISION            the bits of the value as a double; −0 as 0, every NaN as 0x7ff8000000000000
//	DECIMAL                           wide(the unscaled value)
//	INTERVAL                          wide((30 * months + days) * 86,400,000,000 + microseconds)
//	UUID                              wide(its 128 bits, the first byte highest, as a signed number)
//	VARCHAR, BYTEA                    text(its bytes)
//	lists, structs                    text(the bytes that package nested makes of it)
//
//	wide(x): x if it fits 64 bits with its sign, else the low word ^ mix(the high word ^ A)
//	text(s): h = length * A; for each 8 bytes, and then for the 1 to 7 that are left, if any, padded with 0, read with the
//	  first byte lowest as w: (hi, lo) = the 128-bit product of (h ^ w ^ B) and A; h = hi ^ lo. In the end: mix(h)
//
// A row of hash h goes to partition hi of n, where (hi, lo) is the 128-bit product of h and n.
const Spec = 1

const (
	seed     = 0x666c657463683031
	nullWord = 0x6e756c6c6e756c6c
	factorA  = 0x9e3779b97f4a7c15
	oneNaN   = 0x7ff8000000000000
)

// Partition is the partition, of n, of a row of hash h.
func Partition(h uint64, n int) int {
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// A Hasher hashes rows, for one goroutine, with memory that it keeps.
type Hasher struct {
	hashes []uint64
	words  []int64
	cols   []dictWords // by key
}

// dictWords is the words of a dictionary's elements.
type dictWords struct {
	id    uint64
	words []int64
}

// Rows gives the hash over the key columns of each of the rows sel, or of the first n where sel is nil; n is len(sel)
// otherwise. It is valid until the next call.
func (h *Hasher) Rows(keys []*vector.Vector, sel []int32, n int) []uint64 {
	h.hashes, h.words = sized(h.hashes, n), sized(h.words, n)
	for i := range h.hashes {
		h.hashes[i] = seed
	}
	for len(h.cols) < len(keys) {
		h.cols = append(h.cols, dictWords{})
	}
	for k, v := range keys {
		h.column(v, k, sel)
		kernel.HashCombine(h.hashes, h.words)
	}
	return h.hashes
}

// A Splitter deals rows out to partitions, for one goroutine, with memory that it keeps.
type Splitter struct {
	hasher Hasher
	keys   []int
	cols   []*vector.Vector
	sels   [][]int32
}

// NewSplitter deals to n partitions by the columns at keys.
func NewSplitter(keys []int, n int) *Splitter {
	return &Splitter{keys: keys, cols: make([]*vector.Vector, len(keys)), sels: make([][]int32, n)}
}

// Split deals the rows of b that are alive out by HashSpec v1 over the key columns. It gives each partition's rows, in b's
// order and never nil, valid until the next call; no row is copied. NULL is a value like any other.
func (s *Splitter) Split(b *vector.Batch) [][]int32 {
	for i, k := range s.keys {
		s.cols[i] = b.Cols[k]
	}
	for p := range s.sels {
		if s.sels[p] == nil {
			s.sels[p] = make([]int32, 0, 1+2*b.Rows()/len(s.sels))
		}
		s.sels[p] = s.sels[p][:0]
	}
	for i, h := range s.hasher.Rows(s.cols, b.Sel, b.Rows()) {
		row := int32(i)
		if b.Sel != nil {
			row = b.Sel[i]
		}
		p := Partition(h, len(s.sels))
		s.sels[p] = append(s.sels[p], row)
	}
	return s.sels
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// column stores the word of each row of key k.
func (h *Hasher) column(v *vector.Vector, k int, sel []int32) {
	dst := h.words
	rowOf := func(i int) int {
		if sel != nil {
			return int(sel[i])
		}
		return i
	}
	switch v.Form {
	case vector.Const:
		var one [1]int64
		if !v.IsNull(0) {
			words(one[:], v, nil)
		} else {
			one[0] = nullWord
		}
		for i := range dst {
			dst[i] = one[0]
		}
		return
	case vector.Dict:
		// A dictionary is turned once, unless it is much longer than the batch.
		d := &h.cols[k]
		if d.id != v.DictID && v.Dict.Len <= 4*len(dst)+64 {
			d.words = sized(d.words, v.Dict.Len)
			words(d.words, v.Dict, nil)
			d.id = v.DictID
		}
		if d.id == v.DictID {
			for i := range dst {
				dst[i] = d.words[v.Code(rowOf(i))]
			}
			break
		}
		codes := make([]int32, len(dst))
		for i := range codes {
			codes[i] = int32(v.Code(rowOf(i)))
		}
		words(dst, v.Dict, codes)
	default:
		words(dst, v, sel)
	}
	if v.Valid == nil {
		return
	}
	for i := range dst {
		if v.IsNull(rowOf(i)) {
			dst[i] = nullWord
		}
	}
}

// words stores the words of the elements sel of v, which is Flat or Const, or of its first ones.
func words(dst []int64, v *vector.Vector, sel []int32) {
	switch v.Phys {
	case vector.PhysBool:
		b := vector.Bits(v)
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			dst[i] = int64(b[r>>6] >> (uint(r) & 63) & 1)
		}
	case vector.PhysInt8:
		each(dst, vector.Values[int8](v), sel, integer)
	case vector.PhysInt16:
		each(dst, vector.Values[int16](v), sel, integer)
	case vector.PhysInt32:
		each(dst, vector.Values[int32](v), sel, integer)
	case vector.PhysInt64:
		if sel == nil {
			copy(dst, vector.Values[int64](v))
		} else {
			kernel.Gather(dst, vector.Values[int64](v), sel)
		}
	case vector.PhysUint8:
		each(dst, vector.Values[uint8](v), sel, integer)
	case vector.PhysUint16:
		each(dst, vector.Values[uint16](v), sel, integer)
	case vector.PhysUint32:
		each(dst, vector.Values[uint32](v), sel, integer)
	case vector.PhysUint64:
		each(dst, vector.Values[uint64](v), sel, integer)
	case vector.PhysFloat32:
		each(dst, vector.Values[float32](v), sel, func(f float32) int64 { return float(float64(f)) })
	case vector.PhysFloat64:
		each(dst, vector.Values[float64](v), sel, float)
	case vector.PhysInt128:
		each(dst, vector.Values[int128.Int128](v), sel, wide)
	case vector.PhysInterval:
		each(dst, vector.Values[vector.Interval](v), sel, func(x vector.Interval) int64 {
			const day = 86_400_000_000
			return wide(int128.MulInt64s(30*int64(x.Months)+int64(x.Days), day).Add(int128.FromInt64(x.Micros)))
		})
	case vector.PhysString:
		each(dst, vector.Values[string](v), sel, func(s string) int64 { return int64(kernel.HashBytes(unsafe.Slice(unsafe.StringData(s), len(s)), 0)) })
	default:
		panic("hash: a key of type " + v.Type.String())
	}
}

func each[T any](dst []int64, src []T, sel []int32, f func(T) int64) {
	if sel == nil {
		for i := range dst {
			dst[i] = f(src[i])
		}
		return
	}
	for i := range dst {
		dst[i] = f(src[sel[i]])
	}
}

func integer[T kernel.Integer](x T) int64 { return int64(x) }

func float(f float64) int64 {
	switch {
	case f != f:
		return oneNaN
	case f == 0 && !planted.NegativeZero:
		return 0
	}
	return int64(math.Float64bits(f))
}

func wide(x int128.Int128) int64 {
	if w, ok := x.Int64(); ok {
		return w
	}
	var h [1]uint64
	kernel.Hash64(h[:], []int64{int64(uint64(x.Hi) ^ factorA)})
	return int64(x.Lo ^ h[0])
}
