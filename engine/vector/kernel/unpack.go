package kernel

import "encoding/binary"

// Unpack8 reads len(dst) values of width bits, 0 to 8, packed as Parquet packs them: little-endian, lowest bit first, no
// padding between. src holds at least (len(dst)*width+7)/8 bytes; what follows is ignored.
func Unpack8(dst []uint8, src []byte, width uint) {
	src = packed(len(dst), src, width, 8)
	n := unpack8SIMD(dst, src, width)
	unpack(dst[n:], src[n/8*int(width):], width)
}

// Unpack16 is Unpack8 for widths 0 to 16.
func Unpack16(dst []uint16, src []byte, width uint) {
	src = packed(len(dst), src, width, 16)
	n := unpack16SIMD(dst, src, width)
	unpack(dst[n:], src[n/8*int(width):], width)
}

// Unpack32 is Unpack8 for widths 0 to 32.
func Unpack32(dst []uint32, src []byte, width uint) {
	src = packed(len(dst), src, width, 32)
	n := unpack32SIMD(dst, src, width)
	unpack(dst[n:], src[n/8*int(width):], width)
}

// packed cuts src to the bytes that hold n values, so that no loop below can run past what the caller answers for.
func packed(n int, src []byte, width, most uint) []byte {
	if width > most {
		panic("kernel: bit width does not fit the element")
	}
	return src[:(n*int(width)+7)/8]
}

// unpack starts at a byte boundary. Widths are at most 32, so a value and the up to 7 bits before it fit one load of 8
// bytes; the last values, which have fewer bytes left, go byte by byte.
func unpack[T uint8 | uint16 | uint32](dst []T, src []byte, width uint) {
	if width == 0 {
		clear(dst)
		return
	}
	mask := uint64(1)<<width - 1
	pos, i := uint(0), 0
	for ; i < len(dst); i++ {
		at := pos / 8
		if at+8 > uint(len(src)) {
			break
		}
		dst[i] = T(binary.LittleEndian.Uint64(src[at:at+8]) >> (pos % 8) & mask)
		pos += width
	}
	for ; i < len(dst); i++ {
		var w uint64
		for j, b := range src[pos/8:] {
			w |= uint64(b) << (uint(j) * 8)
		}
		dst[i] = T(w >> (pos % 8) & mask)
		pos += width
	}
}
