package exec

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// intGroups groups by one integer: in an array over the range of the keys as long as that is not much longer than there are
// keys, else in a hash table whose slots hold the key itself.
type intGroups struct {
	typ  sqltype.Type
	all  []int64 // the keys by number
	null int     // the number of NULL, −1: there is none

	direct []uint32 // number + 1 by key − base
	base   int64
	sparse bool // keys are too far apart for that

	slots []intSlot
	shift uint

	acct   *account
	held   int64
	in     numbers
	hashed []uint64
	alive  []int32
}

type intSlot struct {
	key   int64
	group uint32 // + 1
}

const (
	slotBytes = int64(unsafe.Sizeof(intSlot{}))
	// spanPerKey is how many times longer than the number of keys an array may be.
	spanPerKey = 16
	// leastSpan is a length that is always worth it, maxSpan the longest.
	leastSpan = 64 << 10
	maxSpan   = 64 << 20
)

func newIntGroups(t sqltype.Type, acct *account) *intGroups {
	return &intGroups{typ: t, null: -1, acct: acct}
}

func (t *intGroups) len() int { return len(t.all) }

func (t *intGroups) successor() grouper {
	s := &intGroups{
		typ: t.typ, null: -1, acct: t.acct, direct: t.direct, base: t.base, sparse: t.sparse, slots: t.slots, shift: t.shift,
		in: t.in, hashed: t.hashed, alive: t.alive,
	}
	clear(s.direct)
	clear(s.slots)
	t.direct, t.slots, t.in, t.hashed, t.alive = nil, nil, numbers{}, nil, nil
	handOver(&t.held, &s.held, int64(len(s.slots))*slotBytes+int64(len(s.direct))*4)
	return s
}

// reserve makes room for keys up to a number, and accounts for what finds them.
func (t *intGroups) reserve(keys, slots, direct int) error {
	room := grown(cap(t.all), keys)
	if err := t.acct.resize(&t.held, int64(room)*8+int64(slots)*slotBytes+int64(direct)*4); err != nil {
		return err
	}
	if room > cap(t.all) {
		all := make([]int64, len(t.all), room)
		copy(all, t.all)
		t.all = all
	}
	return nil
}

func (t *intGroups) assign(keys []*vector.Vector, sel []int32, n int, groups []uint32) error {
	v := keys[0]
	if v.Valid != nil {
		var err error
		if sel, n, err = t.assignNulls(v, sel, n, groups); err != nil {
			return err
		}
	}
	if n == 0 {
		return nil
	}
	key := t.in.of(v, sel, n)
	if !t.sparse {
		lo, hi := kernel.MinMaxInt64(key)
		if ok, err := t.cover(lo, hi, n); ok || err != nil {
			if err == nil {
				t.assignDirect(key, sel, groups)
			}
			return err
		}
	}
	return t.assignHashed(key, sel, groups)
}

// assignNulls gives the rows that are NULL their group, and gives the others.
func (t *intGroups) assignNulls(v *vector.Vector, sel []int32, n int, groups []uint32) ([]int32, int, error) {
	if cap(t.alive) < n {
		t.alive = make([]int32, n)
	}
	alive, k := t.alive[:n], 0
	for i := range n {
		r := int32(i)
		if sel != nil {
			r = sel[i]
		}
		if !v.IsNull(int(r)) {
			alive[k] = r
			k++
			continue
		}
		if t.null < 0 {
			if err := t.reserve(len(t.all)+1, len(t.slots), len(t.direct)); err != nil {
				return nil, 0, err
			}
			t.null = len(t.all)
			t.all = append(t.all, 0)
		}
		groups[r] = uint32(t.null)
	}
	return alive[:k], k, nil
}

// cover makes the array hold keys from lo to hi, n of which are about to come. It tells whether there is an array; if not, the
// keys so far are hashed.
func (t *intGroups) cover(lo, hi int64, n int) (bool, error) {
	if len(t.direct) > 0 {
		if len(t.all) == 0 {
			t.base = lo // the array of a predecessor
		}
		// The array may reach past the largest integer, but does not begin again at the smallest.
		if lo >= t.base && uint64(hi)-uint64(t.base) < uint64(len(t.direct)) {
			return true, t.reserve(len(t.all)+n, 0, len(t.direct))
		}
		last := t.base + min(int64(len(t.direct)-1), math.MaxInt64-max(t.base, 0))
		lo, hi = min(lo, t.base), max(hi, last)
	}
	limit := uint64(min(max(leastSpan, spanPerKey*(len(t.all)+n)), maxSpan))
	if len(t.direct) == 0 {
		limit = uint64(spanPerKey * n) // a small table is dearer than a small hash table
	}
	span := uint64(hi) - uint64(lo)
	if span >= limit {
		t.sparse = true
		return false, t.rehash(slotsFor(len(t.all) + n))
	}
	// Room for as much again where keys grow, so that ascending ones move it seldom.
	length := min(2*(span+1), limit)
	base := lo
	if t.base > lo && len(t.direct) > 0 {
		if down := hi - int64(length-1); down < lo && down < hi {
			base = down
		}
	}
	return true, t.lay(base, int(length), n)
}

// lay makes the array anew, of length keys from base.
func (t *intGroups) lay(base int64, length, n int) error {
	if err := t.reserve(len(t.all)+n, 0, length); err != nil {
		return err
	}
	t.direct, t.base, t.slots = make([]uint32, length), base, nil
	for g, k := range t.all {
		if g%checkEvery == 0 {
			if err := t.acct.goOn(); err != nil {
				return err
			}
		}
		if g != t.null {
			t.direct[uint64(k)-uint64(base)] = uint32(g + 1)
		}
	}
	return nil
}

// densify turns a hash table of many keys that lie near each other into an array.
func (t *intGroups) densify() (bool, error) {
	if len(t.direct) > 0 {
		return true, nil
	}
	keys := t.all
	if t.null >= 0 {
		keys = append(append([]int64(nil), keys[:t.null]...), keys[t.null+1:]...)
	}
	lo, hi := kernel.MinMaxInt64(keys)
	span := uint64(hi) - uint64(lo)
	if span >= uint64(min(4*spanPerKey*len(keys), maxSpan/8)) {
		return false, nil
	}
	t.sparse = false
	return true, t.lay(lo, int(span)+1, 0)
}

func (t *intGroups) assignDirect(key []int64, sel []int32, groups []uint32) {
	direct, base := t.direct, t.base
	if len(direct)*4 > prefetchFrom {
		if cap(t.hashed) < len(key) {
			t.hashed = make([]uint64, len(key))
		}
		at := t.hashed[:len(key)]
		kernel.SubConst(recast[int64](at), key, base)
		kernel.PrefetchBytes(unsafe.Pointer(unsafe.SliceData(direct)), 4, at, 0)
	}
	for i, k := range key {
		d := uint64(k) - uint64(base)
		g := direct[d]
		if g == 0 {
			t.all = append(t.all, k) // cover made room
			g = uint32(len(t.all))
			direct[d] = g
		}
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		groups[row] = g - 1
	}
}

// rehash makes a hash table of the keys, with so many slots.
func (t *intGroups) rehash(slots int) error {
	if err := t.reserve(max(slots/2, len(t.all)), slots, 0); err != nil {
		return err
	}
	t.direct = nil
	t.slots = make([]intSlot, slots)
	t.shift = uint(64 - bits.TrailingZeros(uint(slots)))
	mask := uint64(slots - 1)
	var h [256]uint64
	for from := 0; from < len(t.all); from += len(h) {
		if from%checkEvery == 0 {
			if err := t.acct.goOn(); err != nil {
				return err
			}
		}
		part := t.all[from:min(from+len(h), len(t.all))]
		kernel.Hash64(h[:len(part)], part)
		for i, key := range part {
			if from+i == t.null {
				continue
			}
			at := h[i] >> t.shift
			for t.slots[at].group != 0 {
				at = (at + 1) & mask
			}
			t.slots[at] = intSlot{key, uint32(from + i + 1)}
		}
	}
	return nil
}

func (t *intGroups) assignHashed(key []int64, sel []int32, groups []uint32) error {
	if t.slots == nil {
		if err := t.rehash(firstSlots); err != nil {
			return err
		}
	}
	if cap(t.hashed) < len(key) {
		t.hashed = make([]uint64, len(key))
	}
	h := t.hashed[:len(key)]
	kernel.Hash64(h, key)
	if int64(len(t.slots))*slotBytes > prefetchFrom {
		kernel.PrefetchBytes(unsafe.Pointer(unsafe.SliceData(t.slots)), uintptr(slotBytes), h, t.shift)
	}
	var last int64
	var lastGroup uint32
	for i, k := range key {
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		if k == last && lastGroup != 0 { // a run: clustered keys are common
			groups[row] = lastGroup - 1
			continue
		}
		g, err := t.find(k, h[i])
		if err != nil {
			return err
		}
		last, lastGroup = k, g
		groups[row] = g - 1
	}
	return nil
}

// find is the number of key k + 1.
func (t *intGroups) find(k int64, h uint64) (uint32, error) {
	mask := uint64(len(t.slots) - 1)
	at := h >> t.shift
	for {
		s := &t.slots[at&mask]
		if s.group == 0 {
			break
		}
		if s.key == k {
			return s.group, nil
		}
		at++
	}
	if n := len(t.all) + 1; 2*n > len(t.slots) || n > cap(t.all) {
		slots := len(t.slots)
		if 2*n > slots {
			slots *= 2
		}
		if err := t.rehash(slots); err != nil {
			return 0, err
		}
		mask = uint64(len(t.slots) - 1)
		at = h >> t.shift
		for t.slots[at&mask].group != 0 {
			at++
		}
	}
	t.all = append(t.all, k)
	g := uint32(len(t.all))
	t.slots[at&mask] = intSlot{k, g}
	return g, nil
}

// nullHash is the hash of a NULL that is a key of its own; any constant would do.
const nullHash = 0x9e3779b97f4a7c15

func (t *intGroups) hashes(dst []uint64) {
	kernel.Hash64(dst[:len(t.all)], t.all)
	if t.null >= 0 {
		dst[t.null] = nullHash
	}
}

func (t *intGroups) keys(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	src := l.roomWide(len(ids))
	kernel.Gather(src, t.all, ids)
	var valid []uint64
	if t.null >= 0 {
		valid = l.roomValid(len(ids))
		for i, id := range ids {
			if int(id) != t.null {
				setBit(valid, i)
			}
		}
	}
	return []*vector.Vector{unwiden(l, t.typ, src, valid)}
}
