// Package hash is HashSpec v1: the hash that deals rows to partitions, the same in every process of a cohort. It is wire format:
// changing anything here, golden vectors included, is a protocol bump. In-process tables use faster hashes of their own.
//
// The hash of a row is made of its key columns in order:
//
//	h = 0x9E3779B97F4A7C15;  for each column: h = mix(h XOR v)
//
// where mix is the finalizer of SplitMix64 (Steele, Lea, Flood 2014) and v, 64 bits, is of the column's value:
//
//	NULL                     0xA0761D6478BD642F
//	BOOLEAN                  0 or 1
//	integers, DATE, TIME,
//	TIMESTAMP[TZ]            the value, sign-extended (zero-extended if unsigned), mixed: mix(x)
//	REAL, DOUBLE PRECISION   the IEEE 754 bits of the value as double, with −0 as 0 and every NaN as 0x7FF8000000000000, mixed
//	DECIMAL                  the unscaled value in two's complement of 128 bits: mix(lo) if it fits 64 bits, else mix(mix(lo) XOR hi)
//	UUID                     mix(mix(lo) XOR hi) of its 128 bits, big-endian
//	VARCHAR, BYTEA           xxHash64 with seed 0 of the bytes
//	INTERVAL                 as a DECIMAL, the microseconds it lasts with months of 30 days of 24 hours
//
// Row r belongs to partition (h × n) >> 64 of n.
package hash

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// Spec is the version of what this package computes.
const Spec = 1

const (
	seed     = 0x9E3779B97F4A7C15
	nullHash = 0xA0761D6478BD642F
	nanBits  = 0x7FF8000000000000
)

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

func ofInt(x int64) uint64 { return mix(uint64(x)) }

func ofFloat(f float64) uint64 {
	switch {
	case f == 0:
		return mix(0)
	case f != f:
		return mix(nanBits)
	}
	return mix(math.Float64bits(f))
}

func ofDecimal(v int128.Int128) uint64 {
	if x, ok := v.Int64(); ok {
		return ofInt(x)
	}
	return ofWide(v)
}

func ofWide(v int128.Int128) uint64 { return mix(mix(v.Lo) ^ uint64(v.Hi)) }

func ofInterval(v vector.Interval) uint64 {
	days := int128.FromInt64(int64(v.Months)*30 + int64(v.Days))
	micros, _ := days.MulInt64(24 * 3600 * 1_000_000)
	return ofDecimal(micros.Add(int128.FromInt64(v.Micros)))
}

// A Hasher computes hashes of rows. It belongs to one goroutine.
type Hasher struct {
	keys   []int
	hashes []uint64
	values []uint64
	dicts  []dictHashes // per key
}

// dictHashes is the values' hashes of the dictionary that a key column had last.
type dictHashes struct {
	id     uint64
	values []uint64
}

// NewHasher makes a hasher over the columns at keys, in order.
func NewHasher(keys []int) *Hasher { return &Hasher{keys: keys, dicts: make([]dictHashes, len(keys))} }

// Rows gives the hash of every row of b, valid until the next call; what stands at a row that is not alive means nothing.
func (h *Hasher) Rows(b *vector.Batch) []uint64 {
	h.hashes = grow(h.hashes, b.Len)
	h.values = grow(h.values, b.Len)
	for i := range h.hashes {
		h.hashes[i] = seed
	}
	for k, c := range h.keys {
		v := b.Cols[c]
		h.column(k, v)
		if v.Valid != nil {
			for i := range h.values {
				if v.IsNull(i) {
					h.values[i] = nullHash
				}
			}
		}
		for i, x := range h.values {
			h.hashes[i] = mix(h.hashes[i] ^ x)
		}
	}
	return h.hashes
}

func grow(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	return s[:n]
}

// column fills h.values with the hashes of a column's values, NULL aside.
func (h *Hasher) column(key int, v *vector.Vector) {
	switch v.Form {
	case vector.Const:
		var one [1]uint64
		flat(one[:], v, 1)
		for i := range h.values {
			h.values[i] = one[0]
		}
	case vector.Dict:
		d := &h.dicts[key]
		if d.id != v.DictID || d.id == 0 {
			d.id, d.values = v.DictID, grow(d.values, v.Dict.Len)
			flat(d.values, v.Dict, v.Dict.Len)
		}
		switch v.CodeWidth() {
		case 1:
			lookup(h.values, d.values, v.Codes8())
		case 2:
			lookup(h.values, d.values, v.Codes16())
		default:
			lookup(h.values, d.values, v.Codes32())
		}
	default:
		flat(h.values, v, v.Len)
	}
}

func lookup[C uint8 | uint16 | uint32](dst, values []uint64, codes []C) {
	for i, c := range codes {
		dst[i] = values[c]
	}
}

// flat hashes the first n elements of a Flat or Const vector.
func flat(dst []uint64, v *vector.Vector, n int) {
	switch v.Phys {
	case vector.PhysBool:
		words := vector.Bits(v)
		for i := range n {
			dst[i] = words[i>>6] >> (i & 63) & 1
		}
	case vector.PhysInt8:
		each(dst, vector.Values[int8](v), func(x int8) uint64 { return ofInt(int64(x)) })
	case vector.PhysInt16:
		each(dst, vector.Values[int16](v), func(x int16) uint64 { return ofInt(int64(x)) })
	case vector.PhysInt32:
		each(dst, vector.Values[int32](v), func(x int32) uint64 { return ofInt(int64(x)) })
	case vector.PhysInt64:
		each(dst, vector.Values[int64](v), ofInt)
	case vector.PhysUint8:
		each(dst, vector.Values[uint8](v), func(x uint8) uint64 { return mix(uint64(x)) })
	case vector.PhysUint16:
		each(dst, vector.Values[uint16](v), func(x uint16) uint64 { return mix(uint64(x)) })
	case vector.PhysUint32:
		each(dst, vector.Values[uint32](v), func(x uint32) uint64 { return mix(uint64(x)) })
	case vector.PhysUint64:
		each(dst, vector.Values[uint64](v), mix)
	case vector.PhysFloat32:
		each(dst, vector.Values[float32](v), func(x float32) uint64 { return ofFloat(float64(x)) })
	case vector.PhysFloat64:
		each(dst, vector.Values[float64](v), ofFloat)
	case vector.PhysInt128:
		if v.Type.Kind == sqltype.UUID {
			each(dst, vector.Values[int128.Int128](v), ofWide)
			return
		}
		each(dst, vector.Values[int128.Int128](v), ofDecimal)
	case vector.PhysString:
		each(dst, vector.Values[string](v), xxhash.Sum64String)
	case vector.PhysInterval:
		each(dst, vector.Values[vector.Interval](v), ofInterval)
	}
}

func each[T any](dst []uint64, values []T, f func(T) uint64) {
	for i, x := range values[:len(dst)] {
		dst[i] = f(x)
	}
}

// A Splitter deals rows of batches to partitions. It belongs to one goroutine.
type Splitter struct {
	hasher *Hasher
	parts  [][]int32
}

// NewSplitter deals rows to n partitions by the columns at keys.
func NewSplitter(keys []int, n int) *Splitter {
	return &Splitter{NewHasher(keys), make([][]int32, n)}
}

// Split gives, per partition, the rows of b that are alive and belong to it, ascending; valid until the next call.
func (s *Splitter) Split(b *vector.Batch) [][]int32 {
	for p := range s.parts {
		s.parts[p] = s.parts[p][:0]
	}
	hashes := s.hasher.Rows(b)
	n := uint64(len(s.parts))
	deal := func(i int32) {
		p, _ := bits.Mul64(hashes[i], n)
		s.parts[p] = append(s.parts[p], i)
	}
	if b.Sel == nil {
		for i := range b.Len {
			deal(int32(i))
		}
		return s.parts
	}
	for _, i := range b.Sel {
		deal(i)
	}
	return s.parts
}
