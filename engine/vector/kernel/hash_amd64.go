package kernel

import "unsafe"

// hashBlock is the rows an AVX2 hash loop does a turn; AVX-512 does twice that.
const hashBlock = 16

func hashSIMD(dst []uint64, a []int64) int {
	d, p := unsafe.SliceData(dst), unsafe.SliceData(a)
	switch level {
	case avx512:
		hashAVX512(d, p, len(a)/(2*hashBlock))
		return len(a) &^ (2*hashBlock - 1)
	case avx2:
		hashAVX2(d, p, len(a)/hashBlock)
		return len(a) &^ (hashBlock - 1)
	}
	return 0
}

func hash32SIMD(dst []uint64, a []int32) int {
	d, p := unsafe.SliceData(dst), unsafe.SliceData(a)
	switch level {
	case avx512:
		hash32AVX512(d, p, len(a)/(2*hashBlock))
		return len(a) &^ (2*hashBlock - 1)
	case avx2:
		hash32AVX2(d, p, len(a)/hashBlock)
		return len(a) &^ (hashBlock - 1)
	}
	return 0
}

func hashCombineSIMD(dst []uint64, a []int64) int {
	d, p := unsafe.SliceData(dst), unsafe.SliceData(a)
	switch level {
	case avx512:
		hashCombineAVX512(d, p, len(a)/(2*hashBlock))
		return len(a) &^ (2*hashBlock - 1)
	case avx2:
		hashCombineAVX2(d, p, len(a)/hashBlock)
		return len(a) &^ (hashBlock - 1)
	}
	return 0
}
