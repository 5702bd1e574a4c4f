package kernel

import "unsafe"

func unpack8SIMD(dst []uint8, src []byte, width uint) int {
	n := unpackBlocks(len(dst), len(src), width, 1)
	if n == 0 {
		return 0
	}
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	if level == avx512 {
		unpackUint8AVX512(d, s, n/64, int(width))
	} else {
		unpackUint8AVX2(d, s, n/32, int(width))
	}
	return n
}

func unpack16SIMD(dst []uint16, src []byte, width uint) int {
	n := unpackBlocks(len(dst), len(src), width, 2)
	if n == 0 {
		return 0
	}
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	if level == avx512 {
		unpackUint16AVX512(d, s, n/32, int(width))
	} else {
		unpackUint16AVX2(d, s, n/16, int(width))
	}
	return n
}

func unpack32SIMD(dst []uint32, src []byte, width uint) int {
	n := unpackBlocks(len(dst), len(src), width, 4)
	if n == 0 {
		return 0
	}
	d, s := unsafe.SliceData(dst), unsafe.SliceData(src)
	if level == avx512 {
		unpackUint32AVX512(d, s, n/16, int(width))
	} else {
		unpackUint32AVX2(d, s, n/8, int(width))
	}
	return n
}

// unpackBlocks gives how many of n values of size bytes the assembly may unpack: whole blocks of a vector, for AVX2 only
// those whose loads, which are wider than a block, end within src.
func unpackBlocks(n, src int, width uint, size int) int {
	switch {
	case width == 0:
		return 0
	case level == avx512 && width != 31:
		return n &^ (64/size - 1)
	case level == avx2 && width <= 25:
		w, rows := int(width), 32/size
		last := (rows-8)*w/8 + w/2 + 16 // where the last load of a block ends, from the block's start
		if src < last {
			return 0
		}
		return min(n/rows, (src-last)/(rows*w/8)+1) * rows
	}
	return 0
}
