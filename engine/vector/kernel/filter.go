package kernel

import (
	"math/bits"
	"unsafe"
)

// BitmapTest64 sets bit i of dst to whether keys[i]'s bit is set in bits, whose bit k is key low+k, for Words(len(keys))
// words: an exact run-time filter over a key range. Keys outside the range give 0. No bit may stand for a key above the
// largest int64.
func BitmapTest64(dst []uint64, keys []int64, low int64, set []uint64) {
	bitmapTest(dst, keys, low, set)
}

// BitmapTest32 is BitmapTest64 for 32-bit keys.
func BitmapTest32(dst []uint64, keys []int32, low int64, set []uint64) {
	bitmapTest(dst, keys, low, set)
}

func bitmapTest[T int32 | int64](dst []uint64, keys []T, low int64, set []uint64) {
	dst = dst[:Words(len(keys))]
	first := bitmapTestSIMD(dst, keys, low, set)
	keys = keys[first*64:]
	for w := first; w < len(dst); w++ {
		block := keys[:min(len(keys), 64)]
		keys = keys[len(block):]
		var b uint64
		for i, k := range block {
			d := uint64(int64(k) - low)
			if at := d / 64; at < uint64(len(set)) {
				b |= set[at] >> (d % 64) & 1 << (uint(i) % 64)
			}
		}
		dst[w] = b
	}
}

// bloomBits is the bits one key sets in its block: the block comes from the top of the hash, they from the bottom 24 bits.
func bloomBits(h uint64) uint64 {
	return 1<<(h%64) | 1<<(h>>6%64) | 1<<(h>>12%64) | 1<<(h>>18%64)
}

// bloomShift checks that n is a power of two and gives the shift that leaves a block's index of a hash.
func bloomShift(n int) uint {
	if n == 0 || n&(n-1) != 0 {
		panic("kernel: bloom filter blocks must be a power of two")
	}
	return uint(64 - bits.TrailingZeros(uint(n)))
}

// BloomBlocks gives how many blocks a filter of n keys should have: a power of two, at least one block for 4 keys, 16
// bits a key, which lets under 1 in 100 strangers through.
func BloomBlocks(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)/4) }

// BloomInsert adds keys by their hashes to a register-blocked Bloom filter: each key sets 4 bits of one 64-bit block.
// len(blocks) is a power of two up to 2^40.
func BloomInsert(blocks, hashes []uint64) {
	shift := bloomShift(len(blocks))
	for _, h := range hashes {
		blocks[h>>shift] |= bloomBits(h)
	}
}

// BloomTest sets bit i of dst to whether the filter may hold the key of hashes[i], for Words(len(hashes)) words. It is
// never wrong about a key that was inserted.
func BloomTest(dst, hashes, blocks []uint64) {
	shift := bloomShift(len(blocks))
	dst = dst[:Words(len(hashes))]
	first := bloomTestSIMD(dst, hashes, blocks, shift)
	hashes = hashes[first*64:]
	for w := first; w < len(dst); w++ {
		block := hashes[:min(len(hashes), 64)]
		hashes = hashes[len(block):]
		var b uint64
		for i, h := range block {
			m := bloomBits(h)
			b |= bit(blocks[h>>shift]&m == m) << (uint(i) % 64)
		}
		dst[w] = b
	}
}

// Prefetch asks for the cache lines of slots[h>>shift] for every hash, so that a probe loop that follows does not wait
// for them one by one. Indexes outside slots are harmless. Where the CPU has no such kernel it does nothing.
func Prefetch(slots, hashes []uint64, shift uint) {
	prefetch(unsafe.Pointer(unsafe.SliceData(slots)), 8, hashes, shift)
}

// PrefetchBytes is Prefetch for entries of stride bytes that start at base.
func PrefetchBytes(base unsafe.Pointer, stride uintptr, hashes []uint64, shift uint) {
	prefetch(base, stride, hashes, shift)
}
