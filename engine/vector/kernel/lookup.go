package kernel

// Lookup8 sets bit i of dst to bit codes[i] of table, for Words(len(codes)) words: a predicate over a dictionary of up to
// 256 entries, already answered for each entry, becomes one over rows.
func Lookup8(dst []uint64, codes []uint8, table *[4]uint64) {
	dst = dst[:Words(len(codes))]
	n := lookup8SIMD(dst, codes, table)
	lookup(dst[n/64:], codes[n:], table[:])
}

// Lookup16 is Lookup8 for larger dictionaries. Codes beyond the table give 0. Up to 64 words of table are fastest.
func Lookup16(dst []uint64, codes []uint16, table []uint64) {
	dst = dst[:Words(len(codes))]
	n := lookup16SIMD(dst, codes, table)
	lookup(dst[n/64:], codes[n:], table)
}

// Lookup32 is Lookup8 for larger dictionaries. Codes beyond the table give 0.
func Lookup32(dst []uint64, codes []uint32, table []uint64) {
	dst = dst[:Words(len(codes))]
	n := lookup32SIMD(dst, codes, table)
	lookup(dst[n/64:], codes[n:], table)
}

func lookup[C uint8 | uint16 | uint32](dst []uint64, codes []C, table []uint64) {
	for w := range dst {
		block := codes[:min(len(codes), 64)]
		codes = codes[len(block):]
		var b uint64
		for i, c := range block {
			if at := int(c / 64); at < len(table) {
				b |= table[at] >> (c % 64) & 1 << (uint(i) % 64)
			}
		}
		dst[w] = b
	}
}

// MaxCode8 gives the largest code, 0 for none: callers compare it with the dictionary's size before they gather.
func MaxCode8(codes []uint8) uint8 { return maxCode(codes) }

// MaxCode16 is MaxCode8 for 16-bit codes.
func MaxCode16(codes []uint16) uint16 { return maxCode(codes) }

// MaxCode32 is MaxCode8 for 32-bit codes.
func MaxCode32(codes []uint32) uint32 { return maxCode(codes) }

func maxCode[C uint8 | uint16 | uint32](codes []C) C {
	m, n := maxCodeSIMD(codes)
	for _, c := range codes[n:] {
		m = max(m, c)
	}
	return m
}
