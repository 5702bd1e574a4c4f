package kernel

import "unsafe"

func toSelectionSIMD(dst []int32, bm []uint64) (k, words int) {
	// The assembly writes whole vectors, at most 64 rows past what a word begins with: so many words that this stays in dst.
	words = min(len(bm), len(dst)/64)
	switch level {
	case avx512:
		return toSelectionAVX512(unsafe.SliceData(dst), unsafe.SliceData(bm), words), words
	case avx2:
		return toSelectionAVX2(unsafe.SliceData(dst), unsafe.SliceData(bm), words), words
	}
	return 0, 0
}
