package kernel

import "math/bits"

// The multipliers of mix: the golden ratio's and pi's fractions, both odd.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0x243f6a8885a308d3
)

// mix spreads every input bit over the whole word, the high bits best: index tables by those.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= mixA
	h ^= h >> 32
	h *= mixB
	return h ^ h>>32
}

// Hash64 stores the hash of each a[i]; a has len(dst) rows. 0 hashes to 0.
func Hash64(dst []uint64, a []int64) {
	a = a[:len(dst)]
	for i := hashSIMD(dst, a); i < len(dst); i++ {
		dst[i] = mix(uint64(a[i]))
	}
}

// Hash32 stores what Hash64 would of the widened values, so that columns of both widths join.
func Hash32(dst []uint64, a []int32) {
	a = a[:len(dst)]
	for i := hash32SIMD(dst, a); i < len(dst); i++ {
		dst[i] = mix(uint64(int64(a[i])))
	}
}

// HashCombine makes dst, the hash of one or more columns, that of one more column; a has len(dst) rows. The order of
// columns matters.
func HashCombine(dst []uint64, a []int64) {
	a = a[:len(dst)]
	for i := hashCombineSIMD(dst, a); i < len(dst); i++ {
		dst[i] = mix(dst[i] ^ uint64(a[i]))
	}
}

// HashBytes gives the hash of one string, seeded by the hash of the columns before it or 0.
func HashBytes(s []byte, seed uint64) uint64 {
	h := seed ^ uint64(len(s))*mixA
	for len(s) >= 8 {
		h = fold(h^le64(s), mixA)
		s = s[8:]
	}
	if len(s) > 0 {
		var w uint64
		for i, b := range s {
			w |= uint64(b) << (uint(i) * 8)
		}
		h = fold(h^w, mixA)
	}
	return mix(h)
}

// fold multiplies to 128 bits and folds the halves together.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^mixB, b)
	return hi ^ lo
}

func le64(s []byte) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
