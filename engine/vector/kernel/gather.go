package kernel

// Gather stores src[idx[i]] for each i of idx; dst has at least len(idx) elements. T may be any type, views and 128-bit
// integers too. An index outside src panics.
func Gather[T any](dst, src []T, idx []int32) {
	dst = dst[:len(idx)]
	for i, x := range idx {
		dst[i] = src[uint32(x)]
	}
}

// GatherCodes8 stores dict[codes[i]] for each i of codes; dst has at least len(codes) elements. A code outside dict panics.
func GatherCodes8[T any](dst, dict []T, codes []uint8) {
	n := gatherCodes8SIMD(dst[:len(codes)], dict, codes)
	gatherCodes(dst[n:], dict, codes[n:])
}

// GatherCodes16 is GatherCodes8 for 16-bit codes.
func GatherCodes16[T any](dst, dict []T, codes []uint16) { gatherCodes(dst, dict, codes) }

// GatherCodes32 is GatherCodes8 for 32-bit codes.
func GatherCodes32[T any](dst, dict []T, codes []uint32) { gatherCodes(dst, dict, codes) }

func gatherCodes[T any, C uint8 | uint16 | uint32](dst, dict []T, codes []C) {
	dst = dst[:len(codes)]
	for i, c := range codes {
		dst[i] = dict[c]
	}
}
