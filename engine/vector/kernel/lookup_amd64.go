package kernel

import "unsafe"

func lookup8SIMD(dst []uint64, codes []uint8, table *[4]uint64) int {
	words := len(codes) / 64
	d, c := unsafe.SliceData(dst), unsafe.SliceData(codes)
	switch level {
	case avx512:
		lookup8AVX512(d, c, words, table)
	case avx2:
		lookup8AVX2(d, c, words, table)
	default:
		return 0
	}
	return words * 64
}

func lookup16SIMD(dst []uint64, codes []uint16, table []uint64) int {
	words := len(codes) / 64
	d, c := unsafe.SliceData(dst), unsafe.SliceData(codes)
	switch {
	case level != avx512 || words == 0:
		return 0
	case len(table) <= 16:
		var t [16]uint64
		copy(t[:], table)
		lookup16SmallAVX512(d, c, words, &t)
	case len(table) <= 64:
		var t [64]uint64
		copy(t[:], table)
		lookup16LargeAVX512(d, c, words, &t)
	default:
		lookupUint16AVX512(d, c, words, unsafe.SliceData(table), min(len(table), 1024))
	}
	return words * 64
}

func lookup32SIMD(dst []uint64, codes []uint32, table []uint64) int {
	if level != avx512 || len(table) >= 1<<26 {
		return 0
	}
	words := len(codes) / 64
	lookupUint32AVX512(unsafe.SliceData(dst), unsafe.SliceData(codes), words, unsafe.SliceData(table), len(table))
	return words * 64
}

func maxCodeSIMD[C uint8 | uint16 | uint32](codes []C) (largest C, n int) {
	if level == off {
		return 0, 0
	}
	var lanes [32]byte
	block := 64 / int(unsafe.Sizeof(largest))
	blocks := len(codes) / block
	switch p := unsafe.Pointer(unsafe.SliceData(codes)); block {
	case 64:
		maxCodeUint8AVX2((*uint8)(p), blocks, &lanes)
	case 32:
		maxCodeUint16AVX2((*uint16)(p), blocks, &lanes)
	case 16:
		maxCodeUint32AVX2((*uint32)(p), blocks, &lanes)
	}
	for _, c := range unsafe.Slice((*C)(unsafe.Pointer(&lanes)), block/2) {
		largest = max(largest, c)
	}
	return largest, blocks * block
}
