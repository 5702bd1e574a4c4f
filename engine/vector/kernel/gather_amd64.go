package kernel

import (
	"math"
	"unsafe"
)

// gatherRows is how many codes make it worth to bring a dictionary into the form the assembly takes.
const gatherRows = 256

// gatherCodes8SIMD is for values without pointers only, whose stores the garbage collector need not see.
func gatherCodes8SIMD[T any](dst, dict []T, codes []uint8) int {
	if level != avx512 || len(codes) < gatherRows || len(dict) > 64 || int(MaxCode8(codes)) >= len(dict) {
		return 0
	}
	switch dict := any(dict).(type) {
	case []int64:
		if len(dict) > 16 {
			return gatherNarrow(any(dst).([]int64), dict, codes)
		}
		return gatherWords(any(dst).([]int64), dict, codes)
	case []uint64:
		return gatherWords(any(dst).([]uint64), dict, codes)
	case []float64:
		return gatherWords(any(dst).([]float64), dict, codes)
	}
	return 0
}

func gatherWords[T int64 | uint64 | float64](dst, dict []T, codes []uint8) int {
	var t [16]uint64
	if len(dict) > len(t) {
		return 0
	}
	copy(unsafe.Slice((*T)(unsafe.Pointer(&t)), len(t)), dict)
	gatherCodes8By64AVX512((*uint64)(unsafe.Pointer(unsafe.SliceData(dst))), unsafe.SliceData(codes), len(codes)/32, &t)
	return len(codes) &^ 31
}

// gatherNarrow is for dictionaries whose values fit fewer bits, as those of quantities, rates and dates do.
func gatherNarrow(dst, dict []int64, codes []uint8) int {
	d, c, blocks := unsafe.SliceData(dst), unsafe.SliceData(codes), len(codes)/32
	switch lo, hi := MinMaxInt64(dict); {
	case lo >= math.MinInt16 && hi <= math.MaxInt16:
		var t [64]int16
		for i, v := range dict {
			t[i] = int16(v)
		}
		gatherCodes8By16AVX512(d, c, blocks, &t)
	case lo >= math.MinInt32 && hi <= math.MaxInt32:
		var t [64]int32
		for i, v := range dict {
			t[i] = int32(v)
		}
		gatherCodes8By32AVX512(d, c, blocks, &t)
	default:
		return 0
	}
	return blocks * 32
}
