package kernel

import (
	"math"
	"slices"
	"unsafe"

	"github.com/fletchdb/fletch/engine/vector/int128"
)

func sumInt64SIMD(a []int64) (int128.Int128, int) {
	switch level {
	case avx512:
		var l [2][8]int64
		sumInt64AVX512(unsafe.SliceData(a), len(a)/32, &l)
		return exactSum(l[0][:], l[1][:]), len(a) &^ 31
	case avx2:
		var l [2][4]int64
		sumInt64AVX2(unsafe.SliceData(a), len(a)/16, &l)
		return exactSum(l[0][:], l[1][:]), len(a) &^ 15
	}
	return int128.Int128{}, 0
}

func sumInt64MaskedSIMD(a []int64, bm []uint64) (int128.Int128, int) {
	words := len(a) / 64
	switch level {
	case avx512:
		var l [2][8]int64
		sumInt64MaskedAVX512(unsafe.SliceData(a), unsafe.SliceData(bm), words, &l)
		return exactSum(l[0][:], l[1][:]), words * 64
	case avx2:
		var l [2][4]int64
		sumInt64MaskedAVX2(unsafe.SliceData(a), unsafe.SliceData(bm), words, &l)
		return exactSum(l[0][:], l[1][:]), words * 64
	}
	return int128.Int128{}, 0
}

// exactSum finds the sum S of at most 2^31 rows from its lanes modulo 2^64 and the sum H of the rows' high halves. S is
// H*2^32 plus the sum of the low halves, which is not negative and below 2^63, so modulo 2^64 is enough to know it.
func exactSum(sums, highs []int64) int128.Int128 {
	s, h := sumAll(sums), sumAll(highs)
	return joinHalves(h, s-h<<32)
}

func sumAll(lanes []int64) (s int64) {
	for _, l := range lanes {
		s += l
	}
	return s
}

func sumProductInt64SIMD(a, b []int64) (int64, int) {
	switch level {
	case avx512:
		var l [8]int64
		sumProductInt64AVX512(unsafe.SliceData(a), unsafe.SliceData(b), len(a)/32, &l)
		return sumAll(l[:]), len(a) &^ 31
	case avx2:
		var l [4]int64
		sumProductInt64AVX2(unsafe.SliceData(a), unsafe.SliceData(b), len(a)/16, &l)
		return sumAll(l[:]), len(a) &^ 15
	}
	return 0, 0
}

func sumFloat64SIMD(lanes *[8]float64, a []float64) int {
	if level == off {
		return 0
	}
	sumFloat64AVX2(lanes, unsafe.SliceData(a), len(a)/8)
	return len(a) &^ 7
}

func sumFloat64MaskedSIMD(lanes *[8]float64, a []float64, bm []uint64) (words int) {
	if level == off {
		return 0
	}
	words = len(a) / 64
	sumFloat64MaskedAVX2(lanes, unsafe.SliceData(a), unsafe.SliceData(bm), words)
	return words
}

func minMaxInt64SIMD(a []int64) (lo, hi int64, n int) {
	lo, hi = math.MaxInt64, math.MinInt64
	switch level {
	case avx512:
		los, his := [8]int64{}, [8]int64{}
		fillLanes(los[:], his[:], lo, hi)
		minMaxInt64AVX512(unsafe.SliceData(a), len(a)/16, &los, &his)
		return slices.Min(los[:]), slices.Max(his[:]), len(a) &^ 15
	case avx2:
		los, his := [4]int64{}, [4]int64{}
		fillLanes(los[:], his[:], lo, hi)
		minMaxInt64AVX2(unsafe.SliceData(a), len(a)/8, &los, &his)
		return slices.Min(los[:]), slices.Max(his[:]), len(a) &^ 7
	}
	return lo, hi, 0
}

func minMaxInt32SIMD(a []int32) (lo, hi int32, n int) {
	lo, hi = math.MaxInt32, math.MinInt32
	if level == off {
		return lo, hi, 0
	}
	los, his := [8]int32{}, [8]int32{}
	fillLanes(los[:], his[:], lo, hi)
	minMaxInt32AVX2(unsafe.SliceData(a), len(a)/16, &los, &his)
	return slices.Min(los[:]), slices.Max(his[:]), len(a) &^ 15
}

func minMaxFloat64SIMD(f *floatRange, a []float64) int {
	switch level {
	case avx512:
		los, his := [8]float64{}, [8]float64{}
		fillLanes(los[:], his[:], f.lo, f.hi)
		nans := minMaxFloat64AVX512(unsafe.SliceData(a), len(a)/16, &los, &his)
		f.addLanes(los[:], his[:], nans)
		return len(a) &^ 15
	case avx2:
		los, his := [4]float64{}, [4]float64{}
		fillLanes(los[:], his[:], f.lo, f.hi)
		nans := minMaxFloat64AVX2(unsafe.SliceData(a), len(a)/8, &los, &his)
		f.addLanes(los[:], his[:], nans)
		return len(a) &^ 7
	}
	return 0
}

func (f *floatRange) addLanes(los, his []float64, nans uint64) {
	f.lo, f.hi = slices.Min(los), slices.Max(his) // lanes are never NaN
	f.nans = nans != 0
}

func fillLanes[T int32 | int64 | float64](los, his []T, lo, hi T) {
	for i := range los {
		los[i], his[i] = lo, hi
	}
}

func minMaxInt64MaskedSIMD(a []int64, bm []uint64) (lo, hi int64, words int) {
	lo, hi = math.MaxInt64, math.MinInt64
	if level != avx512 {
		return lo, hi, 0
	}
	words = len(a) / 64
	los, his := [8]int64{}, [8]int64{}
	fillLanes(los[:], his[:], lo, hi)
	minMaxInt64MaskedAVX512(unsafe.SliceData(a), unsafe.SliceData(bm), words, &los, &his)
	return slices.Min(los[:]), slices.Max(his[:]), words
}

func minMaxInt32MaskedSIMD(a []int32, bm []uint64) (lo, hi int32, words int) {
	lo, hi = math.MaxInt32, math.MinInt32
	if level != avx512 {
		return lo, hi, 0
	}
	words = len(a) / 64
	los, his := [16]int32{}, [16]int32{}
	fillLanes(los[:], his[:], lo, hi)
	minMaxInt32MaskedAVX512(unsafe.SliceData(a), unsafe.SliceData(bm), words, &los, &his)
	return slices.Min(los[:]), slices.Max(his[:]), words
}

func minMaxFloat64MaskedSIMD(f *floatRange, a []float64, bm []uint64) (words int) {
	if level != avx512 {
		return 0
	}
	words = len(a) / 64
	los, his := [8]float64{}, [8]float64{}
	fillLanes(los[:], his[:], f.lo, f.hi)
	nans := minMaxFloat64MaskedAVX512(unsafe.SliceData(a), unsafe.SliceData(bm), words, &los, &his)
	f.addLanes(los[:], his[:], nans)
	return words
}
