package exec

import (
	"context"
	"math/bits"

	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A joinTable finds the build rows of a key: an array over the range of keys where they are dense integers, else a hash table.
// Rows with one key form a chain, of which the table knows the head. It is read-only once built.
type joinTable struct {
	direct []int32 // row + 1 by key − low; nil: hashed
	low    int64

	slots []uint64 // as hashTable's
	shift uint
	// region is the index bits within which probing wraps: goroutines build the regions of a table side by side.
	region uint64

	next []int32 // the next row of a chain, −1 at its end; nil: no key comes twice
}

func (t *joinTable) prefetch(hashed []uint64) {
	if len(t.slots)*8 > prefetchFrom {
		kernel.Prefetch(t.slots, hashed, t.shift)
	}
}

// denseRange tells whether keys from lo to hi, count of them, are better found in an array.
func denseRange(lo, hi int64, count int) bool {
	if count == 0 || hi < lo {
		return false
	}
	span := uint64(hi) - uint64(lo)
	return span < uint64(4*count) || span < min(1<<20, 256*uint64(count))
}

// buildTable makes the table of keys, but for the rows of skip, whose bits are set (nil: none).
func buildTable(ctx context.Context, keys joinKeys, skip []uint64, threads int, acct *account) (*joinTable, error) {
	n := keys.len()
	if n < 64<<10 {
		threads = 1
	}
	if ints, ok := keys.(*intKeys); ok && skip == nil && n > 0 {
		lo, hi := kernel.MinMaxInt64(ints.all)
		if denseRange(lo, hi, n) {
			return buildDirect(ctx, ints.all, lo, hi, threads, acct)
		}
	}
	t := &joinTable{}
	slots := slotsFor(n)
	// One word per slot, and while the table is built one hash per row.
	if err := acct.reserve(int64(slots)*8 + int64(n)*12); err != nil {
		return nil, err
	}
	defer acct.release(int64(n) * 8)
	t.slots = make([]uint64, slots)
	t.shift = uint(64 - bits.TrailingZeros(uint(slots)))
	hashed := make([]uint64, n)
	parts := 1 << bits.Len(uint(threads-1))
	if slots/parts < 4*firstSlots {
		parts = 1
	}
	err := parallel(ctx, parts, func(ctx context.Context, p int) error {
		for from := n * p / parts; from < n*(p+1)/parts; from += checkEvery {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			to := min(from+checkEvery, n*(p+1)/parts)
			keys.hashes(hashed[from:to], from)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for {
		full, dup, err := t.fill(ctx, keys, skip, hashed, parts)
		if err != nil {
			return nil, err
		}
		if !full {
			if !dup {
				t.next = nil
				acct.release(int64(n) * 4)
			}
			return t, nil
		}
		// So many keys share their highest bits that a region overflows: only the whole table surely has room.
		parts = 1
		clear(t.slots)
	}
}

// checkEvery is how many rows a loop goes through between looks at its context: well under a millisecond of work.
const checkEvery = 32 << 10

// fill puts every row in; full tells that a region had no room, dup that a key came twice.
func (t *joinTable) fill(ctx context.Context, keys joinKeys, skip, hashed []uint64, parts int) (full, dup bool, err error) {
	n := len(hashed)
	t.next = make([]int32, n)
	t.region = uint64(len(t.slots)/parts) - 1
	fulls, dups := make([]bool, parts), make([]bool, parts)
	partShift := uint(64 - bits.TrailingZeros(uint(parts)))
	err = parallel(ctx, parts, func(ctx context.Context, p int) error {
		taken := uint64(0)
		for from := 0; from < n; from += checkEvery {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for row, h := range hashed[from:min(from+checkEvery, n)] {
				row += from
				if parts > 1 && h>>partShift != uint64(p) {
					continue
				}
				t.next[row] = -1
				if skip != nil && bitAt(skip, row) {
					continue
				}
				for at := h >> t.shift; ; at = at&^t.region | (at+1)&t.region {
					s := t.slots[at]
					if s == 0 {
						if taken++; taken > t.region {
							fulls[p] = true
							return nil
						}
						t.slots[at] = slotOf(h, row)
						break
					}
					if (s^h<<48)&tagMask == 0 {
						if head := int32(s&numberMask) - 1; keys.same(head, int32(row)) {
							dups[p] = true
							t.next[row] = head
							t.slots[at] = slotOf(h, row)
							break
						}
					}
				}
			}
		}
		return nil
	})
	for p := range parts {
		full, dup = full || fulls[p], dup || dups[p]
	}
	return full, dup, err
}

// buildDirect makes the array of the keys from lo to hi.
func buildDirect(ctx context.Context, keys []int64, lo, hi int64, threads int, acct *account) (*joinTable, error) {
	n, span := len(keys), int(hi-lo)+1
	if err := acct.reserve(int64(span)*4 + int64(n)*4); err != nil {
		return nil, err
	}
	t := &joinTable{low: lo, direct: make([]int32, span), next: make([]int32, n)}
	dups := make([]bool, threads)
	err := parallel(ctx, threads, func(ctx context.Context, p int) error {
		from, to := uint64(span*p/threads), uint64(span*(p+1)/threads)
		for start := 0; start < n; start += checkEvery {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for row, k := range keys[start:min(start+checkEvery, n)] {
				row += start
				d := uint64(k - lo)
				if d < from || d >= to {
					continue
				}
				head := t.direct[d] - 1
				dups[p] = dups[p] || head >= 0
				t.next[row] = head
				t.direct[d] = int32(row) + 1
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, d := range dups {
		if d {
			return t, nil
		}
	}
	t.next = nil
	acct.release(int64(n) * 4)
	return t, nil
}
