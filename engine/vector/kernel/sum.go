package kernel

import (
	"math"
	"math/bits"

	"github.com/fletchdb/fletch/engine/vector/int128"
)

// SumInt64 gives the exact sum.
func SumInt64(a []int64) int128.Int128 {
	sum, n := sumInt64SIMD(a)
	// The high halves and the low halves apart: neither sum can overflow below 2^31 rows, and neither waits for a carry.
	var hi, lo int64
	for _, v := range a[n:] {
		hi += v >> 32
		lo += v & math.MaxUint32
	}
	return sum.Add(joinHalves(hi, lo))
}

// SumInt64Masked gives the exact sum of the rows set in bm, which has Words(len(a)) words.
func SumInt64Masked(a []int64, bm []uint64) int128.Int128 {
	bm = bm[:Words(len(a))]
	sum, n := sumInt64MaskedSIMD(a, bm)
	var hi, lo int64
	for w := n / 64; w < len(bm); w++ {
		block := a[w*64:]
		for b := bm[w]; b != 0; b &= b - 1 {
			v := block[bits.TrailingZeros64(b)]
			hi += v >> 32
			lo += v & math.MaxUint32
		}
	}
	return sum.Add(joinHalves(hi, lo))
}

// joinHalves gives hi*2^32 + lo.
func joinHalves(hi, lo int64) int128.Int128 {
	return int128.Int128{Lo: uint64(hi) << 32, Hi: hi >> 32}.Add(int128.FromInt64(lo))
}

// SumInt128 gives the sum modulo 2^128: decimals of d digits stay exact for 10^(38-d) rows.
func SumInt128(a []int128.Int128) int128.Int128 {
	var sum int128.Int128
	for _, v := range a {
		sum = sum.Add(v)
	}
	return sum
}

// SumProductInt64 gives the sum of a[i]*b[i] modulo 2^64. It is exact when AbsBits64(a) + AbsBits64(b) + Len(len(a)) is at
// most 63. b has len(a) rows.
func SumProductInt64(a, b []int64) int64 {
	b = b[:len(a)]
	sum, n := sumProductInt64SIMD(a, b)
	for i := n; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum
}

// SumFloat64 adds in one fixed order, whatever the CPU: row i into lane i%8, then the lanes as
// ((0+4)+(2+6))+((1+5)+(3+7)). The sum of no rows is 0.
func SumFloat64(a []float64) float64 {
	var lanes [8]float64
	n := sumFloat64SIMD(&lanes, a)
	sumFloat64Lanes(&lanes, a[n:])
	return joinLanes(&lanes)
}

// SumFloat64Masked is SumFloat64 of the rows set in bm, which has Words(len(a)) words; the lanes are those of the row
// numbers, and an unset row adds nothing.
func SumFloat64Masked(a []float64, bm []uint64) float64 {
	bm = bm[:Words(len(a))]
	var lanes [8]float64
	for w := sumFloat64MaskedSIMD(&lanes, a, bm); w < len(bm); w++ {
		block := a[w*64:]
		for b := bm[w]; b != 0; b &= b - 1 {
			i := bits.TrailingZeros64(b)
			lanes[i%8] += block[i]
		}
	}
	return joinLanes(&lanes)
}

func sumFloat64Lanes(lanes *[8]float64, a []float64) {
	for len(a) >= 8 {
		for l := range lanes {
			lanes[l] += a[l]
		}
		a = a[8:]
	}
	for l, v := range a {
		lanes[l%8] += v
	}
}

func joinLanes(l *[8]float64) float64 {
	return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

// MinMaxInt64 gives the smallest and the largest value; of no rows, the type's largest and smallest.
func MinMaxInt64(a []int64) (lo, hi int64) {
	lo, hi, n := minMaxInt64SIMD(a)
	for _, v := range a[n:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// MinMaxInt64Masked is MinMaxInt64 of the rows set in bm, which has Words(len(a)) words.
func MinMaxInt64Masked(a []int64, bm []uint64) (lo, hi int64) {
	bm = bm[:Words(len(a))]
	lo, hi, words := minMaxInt64MaskedSIMD(a, bm)
	return minMaxMasked(a, bm, words, lo, hi)
}

// MinMaxInt32 gives the smallest and the largest value; of no rows, the type's largest and smallest.
func MinMaxInt32(a []int32) (lo, hi int32) {
	lo, hi, n := minMaxInt32SIMD(a)
	for _, v := range a[n:] {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// MinMaxInt32Masked is MinMaxInt32 of the rows set in bm, which has Words(len(a)) words.
func MinMaxInt32Masked(a []int32, bm []uint64) (lo, hi int32) {
	bm = bm[:Words(len(a))]
	lo, hi, words := minMaxInt32MaskedSIMD(a, bm)
	return minMaxMasked(a, bm, words, lo, hi)
}

func minMaxMasked[T int32 | int64](a []T, bm []uint64, first int, lo, hi T) (T, T) {
	for w := first; w < len(bm); w++ {
		block := a[w*64:]
		for b := bm[w]; b != 0; b &= b - 1 {
			v := block[bits.TrailingZeros64(b)]
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

// MinMaxFloat64 gives the smallest and the largest value in the order of Compare, a zero as +0; of no rows, NaN and -Inf.
func MinMaxFloat64(a []float64) (lo, hi float64) {
	f := newFloatRange()
	f.addSlice(a[minMaxFloat64SIMD(&f, a):])
	return f.result()
}

// MinMaxFloat64Masked is MinMaxFloat64 of the rows set in bm, which has Words(len(a)) words.
func MinMaxFloat64Masked(a []float64, bm []uint64) (lo, hi float64) {
	bm = bm[:Words(len(a))]
	f := newFloatRange()
	for w := minMaxFloat64MaskedSIMD(&f, a, bm); w < len(bm); w++ {
		block := a[w*64:]
		for b := bm[w]; b != 0; b &= b - 1 {
			i := bits.TrailingZeros64(b)
			f.addSlice(block[i : i+1])
		}
	}
	return f.result()
}

// floatRange keeps NaN apart, because no machine comparison orders it.
type floatRange struct {
	lo, hi float64 // of the rows that are numbers; lo > hi when none is
	nans   bool
}

func newFloatRange() floatRange { return floatRange{lo: math.Inf(1), hi: math.Inf(-1)} }

func (f *floatRange) addSlice(a []float64) {
	for _, v := range a {
		if v != v {
			f.nans = true
			continue
		}
		if v < f.lo {
			f.lo = v
		}
		if v > f.hi {
			f.hi = v
		}
	}
}

func (f *floatRange) result() (lo, hi float64) {
	lo, hi = f.lo, f.hi
	if lo > hi {
		lo = math.NaN()
	}
	if f.nans {
		hi = math.NaN()
	}
	if lo == 0 {
		lo = 0 // drops the sign
	}
	if hi == 0 {
		hi = 0
	}
	return lo, hi
}

// SumByGroup64 adds vals[i] to acc[groups[i]], modulo 2^64; vals has len(groups) rows. A group outside acc panics.
func SumByGroup64[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G, vals []int64) {
	vals = vals[:len(groups)]
	n := sumByGroupSIMD(acc, groups, vals)
	vals = vals[n:]
	for i, g := range groups[n:] {
		acc[g] += vals[i]
	}
}

// SumFloat64ByGroup adds vals[i] to acc[groups[i]] in row order; vals has len(groups) rows. A group outside acc panics.
func SumFloat64ByGroup[G ~uint8 | ~uint16 | ~uint32](acc []float64, groups []G, vals []float64) {
	vals = vals[:len(groups)]
	for i, g := range groups {
		acc[g] += vals[i]
	}
}

// CountByGroup adds 1 to acc[groups[i]] for each i. A group outside acc panics.
func CountByGroup[G ~uint8 | ~uint16 | ~uint32](acc []int64, groups []G) {
	n := countByGroupSIMD(acc, groups)
	for _, g := range groups[n:] {
		acc[g]++
	}
}
