package kernel

import "unsafe"

// canSweep reports whether pairIndexSIMD does anything.
func canSweep() bool { return level != off }

// pairIndexSIMD gives the first n with data[n] == first and data[n+distance] == second. If not found, there is none before
// n, and less than a block is left.
func pairIndexSIMD(data []byte, distance int, first, second byte) (n int, found bool) {
	blocks := (len(data) - distance) / 64
	if blocks <= 0 {
		return 0, false
	}
	n = pairIndexAVX2(unsafe.SliceData(data), distance, blocks, first, second)
	return n, n < 64*blocks
}
