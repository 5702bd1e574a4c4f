package kernel

import "unsafe"

func bitmapTestSIMD[T int32 | int64](dst []uint64, keys []T, low int64, set []uint64) (words int) {
	if level != avx512 {
		return 0
	}
	words = len(keys) / 64
	d, k, s := unsafe.SliceData(dst), unsafe.Pointer(unsafe.SliceData(keys)), unsafe.SliceData(set)
	if unsafe.Sizeof(T(0)) == 4 {
		bitmapTestInt32AVX512(d, (*int32)(k), words, low, s, len(set))
	} else {
		bitmapTestInt64AVX512(d, (*int64)(k), words, low, s, len(set))
	}
	return words
}

func bloomTestSIMD(dst, hashes, blocks []uint64, shift uint) (words int) {
	if level != avx512 || shift > 63 {
		return 0
	}
	words = len(hashes) / 64
	bloomTestAVX512(unsafe.SliceData(dst), unsafe.SliceData(hashes), words, unsafe.SliceData(blocks), shift)
	return words
}

func prefetch(base unsafe.Pointer, stride uintptr, hashes []uint64, shift uint) {
	switch {
	case level == off || shift > 63:
	case stride == 8:
		prefetch8((*byte)(base), unsafe.SliceData(hashes), len(hashes), shift)
	default:
		prefetchStride((*byte)(base), unsafe.SliceData(hashes), len(hashes), shift, stride)
	}
}
