package kernel

import "math/bits"

// And stores a & b. All three have len(dst) words.
func And(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] & b[i]
	}
}

// Or stores a | b. All three have len(dst) words.
func Or(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] | b[i]
	}
}

// AndNot stores a &^ b. All three have len(dst) words.
func AndNot(dst, a, b []uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] &^ b[i]
	}
}

// Not stores the complement of the first n rows of a.
func Not(dst, a []uint64, n int) {
	w := Words(n)
	dst, a = dst[:w], a[:w]
	for i := range dst {
		dst[i] = ^a[i]
	}
	maskTail(dst, n)
}

// maskTail clears the bits past row n in the last word of bm, which has Words(n) words.
func maskTail(bm []uint64, n int) {
	if r := uint(n) % 64; r != 0 {
		bm[len(bm)-1] &= 1<<r - 1
	}
}

// Count gives the number of set rows.
func Count(bm []uint64) int {
	n := 0
	for _, w := range bm {
		n += bits.OnesCount64(w)
	}
	return n
}

// Any reports whether a row is set.
func Any(bm []uint64) bool {
	for _, w := range bm {
		if w != 0 {
			return true
		}
	}
	return false
}

// All reports whether the first n rows are all set.
func All(bm []uint64, n int) bool {
	full := n / 64
	for _, w := range bm[:full] {
		if w != ^uint64(0) {
			return false
		}
	}
	r := uint(n) % 64
	return r == 0 || bm[full] == 1<<r-1
}

// SetRange sets rows lo to hi-1.
func SetRange(bm []uint64, lo, hi int) {
	if lo >= hi {
		return
	}
	first, last := lo/64, (hi-1)/64
	head := ^uint64(0) << (uint(lo) % 64)
	tail := ^uint64(0) >> (63 - uint(hi-1)%64)
	if first == last {
		bm[first] |= head & tail
		return
	}
	bm[first] |= head
	for i := first + 1; i < last; i++ {
		bm[i] = ^uint64(0)
	}
	bm[last] |= tail
}

// Test reports row i.
func Test(bm []uint64, i int) bool { return bm[i/64]>>(uint(i)%64)&1 != 0 }

// Set sets row i.
func Set(bm []uint64, i int) { bm[i/64] |= 1 << (uint(i) % 64) }

// ToSelection stores the numbers of the set rows among the first n and gives how many they are. dst needs room for those;
// with room for all n it is fastest.
func ToSelection(dst []int32, bm []uint64, n int) int {
	bm = bm[:Words(n)]
	k, w := toSelectionSIMD(dst, bm)
	for ; w < len(bm); w++ {
		base := int32(w * 64)
		for b := bm[w]; b != 0; b &= b - 1 {
			dst[k] = base + int32(bits.TrailingZeros64(b))
			k++
		}
	}
	return k
}

// FromSelection clears bm and sets the rows of sel.
func FromSelection(bm []uint64, sel []int32) {
	clear(bm)
	for _, i := range sel {
		bm[uint32(i)/64] |= 1 << (uint32(i) % 64)
	}
}
