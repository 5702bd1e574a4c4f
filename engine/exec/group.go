package exec

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A grouper numbers distinct keys from 0 in the order they come. NULL is a key like any other, all NaN are one key and
// −0 is 0. It belongs to one goroutine.
type grouper interface {
	// assign stores the number of the key of each row of sel – of the first n where sel is nil – at groups[row].
	assign(keys []*vector.Vector, sel []int32, n int, groups []uint32) error
	// len is how many keys there are.
	len() int
	// hashes stores the hash of every key; it depends on nothing but the key and the key's type.
	hashes(dst []uint64)
	// keys gives the keys of the numbers ids, a column each. Several goroutines may call it, while none assigns.
	keys(ids []int32, out []lane) []*vector.Vector
	// successor is a grouper without keys that takes over the memory for finding them: assign is not called afterwards.
	successor() grouper
	// densify makes finding keys as cheap as it can be for so many, and tells whether their number need not be feared any more.
	densify() (bool, error)
}

// handOver makes n bytes that from has reserved to's.
func handOver(from, to *int64, n int64) {
	n = min(n, *from)
	*from -= n
	*to += n
}

// newGrouper chooses by the types of the keys alone, so that all goroutines, and all batches, agree.
func newGrouper(types []sqltype.Type, acct *account) grouper {
	if len(types) == 1 && integerLike(types[0]) {
		return newIntGroups(types[0], acct)
	}
	if p, ok := newPacking(types); ok {
		if p.words <= 2 {
			return newPackedGroups[[2]uint64](p, acct)
		}
		return newPackedGroups[[4]uint64](p, acct)
	}
	return newByteGroups(types, acct)
}

// integerLike tells whether every value of t is one 64-bit integer.
func integerLike(t sqltype.Type) bool {
	switch vector.PhysOf(t) {
	case vector.PhysBool, vector.PhysInt8, vector.PhysInt16, vector.PhysInt32, vector.PhysInt64,
		vector.PhysUint8, vector.PhysUint16, vector.PhysUint32, vector.PhysUint64:
		return true
	}
	return false
}

// numbers holds the values of a key column as 64-bit integers, one per selected row, without gaps.
type numbers struct {
	buf  []int64
	dict []int64 // the elements of the dictionary of this id
	id   uint64
}

// of is the values of v's rows sel, or of its first n: integers as they are (unsigned ones as the same bits), truth values as
// 0 and 1, floats as bits with one NaN and no −0. v has any form but is not wider than 64 bits.
func (k *numbers) of(v *vector.Vector, sel []int32, n int) []int64 {
	if v.Form == vector.Flat && v.Phys == vector.PhysInt64 && sel == nil {
		return vector.Values[int64](v)[:n]
	}
	if cap(k.buf) < n {
		k.buf = make([]int64, n)
	}
	dst := k.buf[:n]
	switch v.Form {
	case vector.Const:
		var one [1]int64
		integers(one[:], v, nil)
		for i := range dst {
			dst[i] = one[0]
		}
	case vector.Dict:
		k.coded(dst, v, sel)
	default:
		integers(dst, v, sel)
	}
	return dst
}

// coded stores the values of a dictionary's codes. The dictionary itself is turned once.
func (k *numbers) coded(dst []int64, v *vector.Vector, sel []int32) {
	var d []int64
	switch {
	case v.Dict.Phys == vector.PhysInt64:
		d = vector.Values[int64](v.Dict)
	case k.id == v.DictID:
		d = k.dict
	default:
		if cap(k.dict) < v.Dict.Len {
			k.dict = make([]int64, v.Dict.Len)
		}
		d = k.dict[:v.Dict.Len]
		integers(d, v.Dict, nil)
		k.dict, k.id = d, v.DictID
	}
	gatherCoded(dst, d, v, sel)
}

// gatherCoded stores d's elements of the codes of v's rows sel, or of its first rows.
func gatherCoded[T any](dst, d []T, v *vector.Vector, sel []int32) {
	n := len(dst)
	switch v.CodeWidth() {
	case 1:
		if codes := v.Codes8(); sel == nil {
			kernel.GatherCodes8(dst, d, codes[:n])
		} else {
			gatherSome(dst, d, codes, sel)
		}
	case 2:
		if codes := v.Codes16(); sel == nil {
			kernel.GatherCodes16(dst, d, codes[:n])
		} else {
			gatherSome(dst, d, codes, sel)
		}
	default:
		if codes := v.Codes32(); sel == nil {
			kernel.GatherCodes32(dst, d, codes[:n])
		} else {
			gatherSome(dst, d, codes, sel)
		}
	}
}

func gatherSome[T any, C uint8 | uint16 | uint32](dst, d []T, codes []C, sel []int32) {
	sel = sel[:len(dst)]
	for i, r := range sel {
		dst[i] = d[codes[r]]
	}
}

// integers stores the elements sel of v, which is Flat or Const, or its first ones.
func integers(dst []int64, v *vector.Vector, sel []int32) {
	switch v.Phys {
	case vector.PhysBool:
		b := vector.Bits(v)
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			dst[i] = int64(b[r>>6] >> (uint(r) & 63) & 1)
		}
	case vector.PhysInt8:
		widen(dst, vector.Values[int8](v), sel)
	case vector.PhysInt16:
		widen(dst, vector.Values[int16](v), sel)
	case vector.PhysInt32:
		widen(dst, vector.Values[int32](v), sel)
	case vector.PhysInt64:
		if sel == nil {
			copy(dst, vector.Values[int64](v))
		} else {
			kernel.Gather(dst, vector.Values[int64](v), sel)
		}
	case vector.PhysUint8:
		widen(dst, vector.Values[uint8](v), sel)
	case vector.PhysUint16:
		widen(dst, vector.Values[uint16](v), sel)
	case vector.PhysUint32:
		widen(dst, vector.Values[uint32](v), sel)
	case vector.PhysUint64:
		widen(dst, vector.Values[uint64](v), sel)
	case vector.PhysFloat32:
		f := vector.Values[float32](v)
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			dst[i] = int64(math.Float32bits(oneFloat(f[r])))
		}
	case vector.PhysFloat64:
		f := vector.Values[float64](v)
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			dst[i] = int64(math.Float64bits(oneFloat(f[r])))
		}
	default:
		panic("exec: a key of this form is no 64-bit number")
	}
}

func widen[T kernel.Integer](dst []int64, src []T, sel []int32) {
	if sel == nil {
		src = src[:len(dst)]
		for i := range dst {
			dst[i] = int64(src[i])
		}
		return
	}
	sel = sel[:len(dst)]
	for i := range dst {
		dst[i] = int64(src[sel[i]])
	}
}

// oneFloat is f with one NaN and no −0, so that equal values have equal bits.
func oneFloat[T float32 | float64](f T) T {
	if f != f {
		return T(math.NaN())
	}
	return f + 0 // −0 + 0 is 0
}

// unwiden makes l's vector of type t out of what integers gave for it.
func unwiden(l *lane, t sqltype.Type, src []int64, valid []uint64) *vector.Vector {
	n, p := len(src), vector.PhysOf(t)
	switch p {
	case vector.PhysBool:
		dst := room[uint64](l, max(1, vector.Words(n)))
		clear(dst)
		for i, x := range src {
			if x != 0 {
				setBit(dst, i)
			}
		}
	default:
		switch widthOf(p) {
		case 1:
			narrow(room[int8](l, n), src)
		case 2:
			narrow(room[int16](l, n), src)
		case 4:
			narrow(room[int32](l, n), src)
		case 8:
			copy(room[int64](l, n), src)
		}
	}
	return l.flat(t, p, n, valid)
}

func narrow[T int8 | int16 | int32](dst []T, src []int64) {
	for i, x := range src {
		dst[i] = T(x)
	}
}

// A hashTable finds numbers by hash: slots of a 16-bit tag and the number + 1, at most half of them taken.
type hashTable struct {
	slots []uint64
	shift uint // index of a hash: its high bits
}

const (
	firstSlots = 1024
	tagMask    = uint64(0xffff) << 48
	numberMask = 1<<48 - 1
	// prefetchFrom is the table size in bytes from which asking for cache lines ahead pays: half a second-level cache.
	prefetchFrom = 512 << 10
)

// slotOf is the slot of number g of hash h. The tag is made of the low bits, as the high ones are the index.
func slotOf(h uint64, g int) uint64 { return h<<48 | uint64(g+1) }

func (t *hashTable) size(slots int) {
	t.slots = make([]uint64, slots)
	t.shift = uint(64 - bits.TrailingZeros(uint(slots)))
}

// put stores number g of hash h, which must not be there yet.
func (t *hashTable) put(h uint64, g int) {
	mask := uint64(len(t.slots) - 1)
	at := h >> t.shift
	for t.slots[at] != 0 {
		at = (at + 1) & mask
	}
	t.slots[at] = slotOf(h, g)
}

// putAll stores the numbers of hashes, from 0.
func (t *hashTable) putAll(hashes []uint64, acct *account) error {
	for from := 0; from < len(hashes); from += checkEvery {
		if err := acct.goOn(); err != nil {
			return err
		}
		for i, h := range hashes[from:min(from+checkEvery, len(hashes))] {
			t.put(h, from+i)
		}
	}
	return nil
}

// slotsFor is the number of slots that holds n keys at half load.
func slotsFor(n int) int { return max(firstSlots, 1<<bits.Len(uint(max(2*n-1, 1)))) }

// A packing lays keys of fixed width side by side in up to four words, with a bit per key for NULL.
type packing struct {
	types []sqltype.Type
	at    []packedAt
	words int
	nulls packedAt
}

// packedAt is where a value stands: bits shift … of a word. One of 128 bits takes two words.
type packedAt struct {
	word, shift, bits uint8
}

// newPacking gives the packing of keys of these types, ok false if one has no fixed width or there is no room.
func newPacking(types []sqltype.Type) (packing, bool) {
	p := packing{types: types, at: make([]packedAt, len(types))}
	used := [4]int{} // bits taken per word
	place := func(n int) (packedAt, bool) {
		for w := range used {
			if used[w]+n <= 64 {
				a := packedAt{uint8(w), uint8(used[w]), uint8(n)}
				used[w] += n
				p.words = max(p.words, w+1)
				return a, true
			}
		}
		return packedAt{}, false
	}
	if len(types) > 16 {
		return p, false
	}
	for want := 128; want >= 1; want /= 2 { // wide ones first, so that none straddles a word
		for i, t := range types {
			ph := vector.PhysOf(t)
			n := 8 * widthOf(ph)
			if ph == vector.PhysBool {
				n = 1
			}
			if n == 0 || ph == vector.PhysInterval {
				return p, false
			}
			if n != want {
				continue
			}
			if n == 128 {
				w := 0
				for w < 3 && used[w] != 0 {
					w++
				}
				if w >= 3 {
					return p, false
				}
				used[w], used[w+1] = 64, 64
				p.words = w + 2
				p.at[i] = packedAt{uint8(w), 0, 128}
				continue
			}
			var ok bool
			if p.at[i], ok = place(n); !ok {
				return p, false
			}
		}
	}
	var ok bool
	p.nulls, ok = place(len(types))
	return p, ok
}

// packedGroups groups by keys of fixed width, packed into K.
type packedGroups[K [2]uint64 | [4]uint64] struct {
	packing packing
	table   hashTable
	all     []K

	acct   *account
	held   int64
	in     numbers
	cols   [4][]uint64 // the packed keys of a batch, by word
	hashed []uint64
}

func newPackedGroups[K [2]uint64 | [4]uint64](p packing, acct *account) *packedGroups[K] {
	return &packedGroups[K]{packing: p, acct: acct}
}

func (t *packedGroups[K]) len() int { return len(t.all) }

func (t *packedGroups[K]) successor() grouper {
	s := &packedGroups[K]{packing: t.packing, acct: t.acct, all: make([]K, 0, len(t.table.slots)/2), table: t.table, in: t.in, cols: t.cols, hashed: t.hashed}
	clear(s.table.slots)
	t.table, t.in, t.cols, t.hashed = hashTable{}, numbers{}, [4][]uint64{}, nil
	handOver(&t.held, &s.held, int64(len(s.table.slots))*8)
	return s
}

func (*packedGroups[K]) densify() (bool, error) { return false, nil }

func (t *packedGroups[K]) grow(slots int) error {
	if err := t.acct.resize(&t.held, int64(slots)*8+int64(slots/2)*int64(unsafe.Sizeof(*new(K)))); err != nil {
		return err
	}
	all := make([]K, len(t.all), slots/2)
	copy(all, t.all)
	t.all = all
	t.table.size(slots)
	h := make([]uint64, len(all))
	t.hashes(h)
	return t.table.putAll(h, t.acct)
}

// pack stores the keys of the rows sel, or the first n, by word.
func (p *packing) pack(cols *[4][]uint64, in *numbers, keys []*vector.Vector, sel []int32, n int) {
	for w := range p.words {
		if cap(cols[w]) < n {
			cols[w] = make([]uint64, n)
		}
		cols[w] = cols[w][:n]
		clear(cols[w])
	}
	for i, v := range keys {
		at := p.at[i]
		if at.bits == 128 {
			p.packWide(cols, v, at, sel, n)
		} else {
			dst := cols[at.word]
			mask := uint64(1)<<at.bits - 1
			if at.bits == 64 {
				mask = math.MaxUint64
			}
			for r, x := range in.of(v, sel, n) {
				dst[r] |= uint64(x) & mask << at.shift
			}
		}
		if v.Valid == nil {
			continue
		}
		for r := range n {
			row := r
			if sel != nil {
				row = int(sel[r])
			}
			if !v.IsNull(row) {
				continue
			}
			// The value of a NULL means nothing; what is packed must.
			if at.bits == 128 {
				cols[at.word][r], cols[at.word+1][r] = 0, 0
			} else {
				mask := uint64(math.MaxUint64) >> (64 - at.bits) << at.shift
				cols[at.word][r] &^= mask
			}
			cols[p.nulls.word][r] |= 1 << (uint(p.nulls.shift) + uint(i))
		}
	}
}

func (p *packing) packWide(cols *[4][]uint64, v *vector.Vector, at packedAt, sel []int32, n int) {
	lo, hi := cols[at.word], cols[at.word+1]
	for r := range n {
		row := r
		if sel != nil {
			row = int(sel[r])
		}
		w, e := v.At(row)
		x := wideAt(w, e)
		lo[r], hi[r] = x.Lo, uint64(x.Hi)
	}
}

// wideAt is element e of a vector of decimals of either width.
func wideAt(v *vector.Vector, e int) int128.Int128 {
	if v.Phys == vector.PhysInt64 {
		return int128.FromInt64(vector.Values[int64](v)[e])
	}
	return vector.Values[int128.Int128](v)[e]
}

func (t *packedGroups[K]) assign(keys []*vector.Vector, sel []int32, n int, groups []uint32) error {
	if t.table.slots == nil {
		if err := t.grow(firstSlots); err != nil {
			return err
		}
	}
	t.packing.pack(&t.cols, &t.in, keys, sel, n)
	h := t.hash(n)
	if len(t.table.slots)*8 > prefetchFrom {
		kernel.Prefetch(t.table.slots, h, t.table.shift)
	}
	var k, last K
	lastGroup := -1
	for i := range n {
		for w := range t.packing.words {
			k[w] = t.cols[w][i]
		}
		if k != last || lastGroup < 0 {
			g := t.find(k, h[i])
			if g < 0 {
				if 2*(len(t.all)+1) > len(t.table.slots) {
					if err := t.grow(2 * len(t.table.slots)); err != nil {
						return err
					}
				}
				g = len(t.all)
				t.all = append(t.all, k)
				t.table.put(h[i], g)
			}
			last, lastGroup = k, g
		}
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		groups[row] = uint32(lastGroup)
	}
	return nil
}

func (t *packedGroups[K]) hash(n int) []uint64 {
	if cap(t.hashed) < n {
		t.hashed = make([]uint64, n)
	}
	h := t.hashed[:n]
	kernel.Hash64(h, recast[int64](t.cols[0][:n]))
	for w := 1; w < t.packing.words; w++ {
		kernel.HashCombine(h, recast[int64](t.cols[w][:n]))
	}
	return h
}

func (t *packedGroups[K]) find(k K, h uint64) int {
	mask := uint64(len(t.table.slots) - 1)
	tag := h << 48
	for at := h >> t.table.shift; ; at++ {
		s := t.table.slots[at&mask]
		if s == 0 {
			return -1
		}
		if s&tagMask == tag {
			if g := int(s&numberMask) - 1; t.all[g] == k {
				return g
			}
		}
	}
}

func (t *packedGroups[K]) hashes(dst []uint64) {
	const step = 1024
	var part [step]int64
	for from := 0; from < len(t.all); from += step {
		all := t.all[from:min(from+step, len(t.all))]
		for w := range t.packing.words {
			for i, k := range all {
				part[i] = int64(k[w])
			}
			if w == 0 {
				kernel.Hash64(dst[from:from+len(all)], part[:len(all)])
			} else {
				kernel.HashCombine(dst[from:from+len(all)], part[:len(all)])
			}
		}
	}
}

func (t *packedGroups[K]) keys(ids []int32, out []lane) []*vector.Vector {
	vs := make([]*vector.Vector, len(t.packing.types))
	src := out[0].roomWide(len(ids))
	for c, typ := range t.packing.types {
		at, l := t.packing.at[c], &out[c]
		null := uint64(1) << (uint(t.packing.nulls.shift) + uint(c))
		var valid []uint64
		for i, id := range ids {
			if t.all[id][t.packing.nulls.word]&null == 0 {
				continue
			}
			if valid == nil {
				valid = l.roomValid(len(ids))
				kernel.SetRange(valid, 0, len(ids))
			}
			valid[i>>6] &^= 1 << (uint(i) & 63)
		}
		if at.bits == 128 {
			dst := room[int128.Int128](l, len(ids))
			for i, id := range ids {
				k := t.all[id]
				dst[i] = int128.Int128{Lo: k[at.word], Hi: int64(k[at.word+1])}
			}
			vs[c] = l.flat(typ, vector.PhysInt128, len(ids), valid)
			continue
		}
		for i, id := range ids {
			src[i] = int64(t.all[id][at.word] >> at.shift)
		}
		if at.bits == 1 {
			for i := range src {
				src[i] &= 1
			}
		}
		vs[c] = unwiden(l, typ, src, valid)
	}
	return vs
}

// byteGroups groups by any keys, each row of them encoded as bytes.
type byteGroups struct {
	types []sqltype.Type
	table hashTable
	at    []uint64 // at[g] … at[g+1] is key g's place in data
	data  []byte
	hash  []uint64

	acct *account
	held int64
	rows rowEncoder
	runs runs

	written *writtenKeys // nil: data is
}

// writtenKeys is keys as they first came, where data holds what they compare by: a month is equal to 30 days.
type writtenKeys struct {
	rows rowEncoder
	at   []uint64
	data []byte
	held int64
}

func newByteGroups(types []sqltype.Type, acct *account) *byteGroups {
	t := &byteGroups{types: types, at: []uint64{0}, acct: acct}
	if slices.ContainsFunc(types, func(t sqltype.Type) bool { return t.Kind == sqltype.Interval }) {
		t.rows.compares = true
		t.written = &writtenKeys{at: []uint64{0}}
	}
	return t
}

// add keeps the key of row i of the batch at hand.
func (w *writtenKeys) add(i int, acct *account) error {
	key := w.rows.row(i)
	if err := acct.resize(&w.held, int64(grown(cap(w.data), len(w.data)+len(key)))+8*int64(grown(cap(w.at), len(w.at)+1))); err != nil {
		return err
	}
	w.data = append(extend(w.data, len(key))[:len(w.data)], key...)
	w.at = append(extend(w.at, 1)[:len(w.at)], uint64(len(w.data)))
	return nil
}

func (t *byteGroups) len() int { return len(t.hash) }

func (t *byteGroups) successor() grouper {
	s := &byteGroups{types: t.types, at: []uint64{0}, acct: t.acct, table: t.table, rows: t.rows, runs: t.runs}
	clear(s.table.slots)
	if t.written != nil {
		s.written = &writtenKeys{rows: t.written.rows, at: []uint64{0}}
		t.written.rows = rowEncoder{}
	}
	t.table, t.rows, t.runs = hashTable{}, rowEncoder{}, runs{}
	handOver(&t.held, &s.held, int64(len(s.table.slots))*8)
	return s
}

func (*byteGroups) densify() (bool, error) { return false, nil }

func (t *byteGroups) grow(slots, data int) error {
	want := int64(slots)*8 + int64(slots/2)*16 + int64(max(data, cap(t.data)))
	if err := t.acct.resize(&t.held, want); err != nil {
		return err
	}
	if slots != len(t.table.slots) {
		t.table.size(slots)
		if err := t.table.putAll(t.hash, t.acct); err != nil {
			return err
		}
		at := make([]uint64, len(t.at), slots/2+1)
		copy(at, t.at)
		hash := make([]uint64, len(t.hash), slots/2)
		copy(hash, t.hash)
		t.at, t.hash = at, hash
	}
	if data > cap(t.data) {
		d := make([]byte, len(t.data), data)
		copy(d, t.data)
		t.data = d
	}
	return nil
}

func (t *byteGroups) assign(keys []*vector.Vector, sel []int32, n int, groups []uint32) error {
	if t.table.slots == nil {
		if err := t.grow(firstSlots, 0); err != nil {
			return err
		}
	}
	all := sel
	if sel, n = t.runs.first(keys, sel, n); n > 0 {
		defer t.runs.repeat(all, groups)
	}
	t.rows.encode(keys, sel, n)
	if t.written != nil {
		t.written.rows.encode(keys, sel, n)
	}
	h := t.rows.hash()
	if len(t.table.slots)*8 > prefetchFrom {
		kernel.Prefetch(t.table.slots, h, t.table.shift)
	}
	for i := range n {
		key := t.rows.row(i)
		g := t.find(key, h[i])
		if g < 0 {
			slots := len(t.table.slots)
			if 2*(len(t.hash)+1) > slots {
				slots *= 2
			}
			if need := len(t.data) + len(key); slots != len(t.table.slots) || need > cap(t.data) {
				if err := t.grow(slots, grown(cap(t.data), need)); err != nil {
					return err
				}
			}
			if t.written != nil {
				if err := t.written.add(i, t.acct); err != nil {
					return err
				}
			}
			g = len(t.hash)
			t.data = append(t.data, key...)
			t.at = append(t.at, uint64(len(t.data)))
			t.hash = append(t.hash, h[i])
			t.table.put(h[i], g)
		}
		row := i
		if sel != nil {
			row = int(sel[i])
		}
		groups[row] = uint32(g)
	}
	return nil
}

func (t *byteGroups) find(key []byte, h uint64) int {
	mask := uint64(len(t.table.slots) - 1)
	tag := h << 48
	for at := h >> t.table.shift; ; at++ {
		s := t.table.slots[at&mask]
		if s == 0 {
			return -1
		}
		if s&tagMask == tag {
			if g := int(s&numberMask) - 1; bytes.Equal(t.data[t.at[g]:t.at[g+1]], key) {
				return g
			}
		}
	}
}

func (t *byteGroups) hashes(dst []uint64) { copy(dst, t.hash) }

func (t *byteGroups) keys(ids []int32, out []lane) []*vector.Vector {
	at, data := t.at, t.data
	if t.written != nil {
		at, data = t.written.at, t.written.data
	}
	rest := make([][]byte, len(ids))
	for i, id := range ids {
		rest[i] = data[at[id]:at[id+1]]
	}
	return decodeRows(t.types, rest, out)
}

// A rowEncoder writes the keys of each row as bytes: equal keys give equal bytes and others do not. Per key: 0 for NULL, or
// 1 and the value – fixed-width ones in as many bytes as PhysOf says, strings after their length.
type rowEncoder struct {
	// compares tells that nothing is decoded again, so that values which are equal but not the same – a month and 30 days –
	// may be written alike.
	compares bool

	buf    []byte
	at     []uint32 // row i is buf[at[i]:at[i+1]]
	cursor []uint32
	hashed []uint64
	in     numbers
}

func (e *rowEncoder) row(i int) []byte { return e.buf[e.at[i]:e.at[i+1]] }

func (e *rowEncoder) hash() []uint64 {
	n := len(e.at) - 1
	if cap(e.hashed) < n {
		e.hashed = make([]uint64, n)
	}
	h := e.hashed[:n]
	for i := range h {
		h[i] = kernel.HashBytes(e.row(i), 0)
	}
	return h
}

func (e *rowEncoder) encode(keys []*vector.Vector, sel []int32, n int) {
	if cap(e.at) < n+1 {
		e.at = make([]uint32, n+1)
		e.cursor = make([]uint32, n+1)
	}
	e.at, e.cursor = e.at[:n+1], e.cursor[:n]
	length := e.cursor
	for i := range length {
		length[i] = uint32(len(keys))
	}
	rowOf := func(i int) int {
		if sel != nil {
			return int(sel[i])
		}
		return i
	}
	for _, v := range keys {
		p := vector.PhysOf(v.Type)
		w := uint32(max(widthOf(p), 1))
		for i := range n {
			r := rowOf(i)
			switch {
			case v.Valid != nil && v.IsNull(r):
			case p == vector.PhysString:
				c, k := v.At(r)
				length[i] += 4 + uint32(len(vector.Values[string](c)[k]))
			default:
				length[i] += w
			}
		}
	}
	var total uint32
	for i, l := range length {
		e.at[i] = total
		total += l
		e.cursor[i] = e.at[i]
	}
	e.at[n] = total
	if cap(e.buf) < int(total) {
		e.buf = make([]byte, grown(cap(e.buf), int(total)))
	}
	e.buf = e.buf[:total]
	for _, v := range keys {
		e.encodeColumn(v, sel, n)
	}
}

func (e *rowEncoder) encodeColumn(v *vector.Vector, sel []int32, n int) {
	p := vector.PhysOf(v.Type)
	w := max(widthOf(p), 1)
	var small []int64
	if p != vector.PhysString && w <= 8 {
		small = e.in.of(v, sel, n)
	}
	var word [16]byte
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		at := e.cursor[i]
		if v.Valid != nil && v.IsNull(r) {
			e.buf[at] = 0
			e.cursor[i] = at + 1
			continue
		}
		e.buf[at] = 1
		at++
		switch {
		case p == vector.PhysString:
			c, k := v.At(r)
			s := vector.Values[string](c)[k]
			binary.LittleEndian.PutUint32(e.buf[at:], uint32(len(s)))
			copy(e.buf[at+4:], s)
			at += 4 + uint32(len(s))
		case w == 16:
			c, k := v.At(r)
			x := wideWord(c, k)
			if e.compares {
				x = wideOrder(v.Type, x)
			}
			binary.LittleEndian.PutUint64(word[:], x.Lo)
			binary.LittleEndian.PutUint64(word[8:], uint64(x.Hi))
			copy(e.buf[at:], word[:])
			at += 16
		default:
			binary.LittleEndian.PutUint64(word[:], uint64(small[i]))
			copy(e.buf[at:], word[:w])
			at += uint32(w)
		}
		e.cursor[i] = at
	}
}

// wideWord is element e of a 16-byte column, decimals of either width as 128 bits.
func wideWord(v *vector.Vector, e int) int128.Int128 {
	if v.Phys == vector.PhysInterval {
		return words[int128.Int128](v)[e]
	}
	return wideAt(v, e)
}

// decodeRows turns encoded rows back into columns. The strings point into rows.
func decodeRows(types []sqltype.Type, rows [][]byte, out []lane) []*vector.Vector {
	vs := make([]*vector.Vector, len(types))
	n := len(rows)
	src := make([]int64, n)
	for c, t := range types {
		p, l := vector.PhysOf(t), &out[c]
		w := max(widthOf(p), 1)
		valid := l.roomValid(n)
		nulls := false
		var strs []string
		var wide []int128.Int128
		switch {
		case p == vector.PhysString:
			strs = l.roomStrings(n)
		case w == 16:
			wide = room[int128.Int128](l, n)
		}
		for i, row := range rows {
			if row[0] == 0 {
				rows[i] = row[1:]
				nulls = true
				switch {
				case strs != nil:
					strs[i] = ""
				case wide != nil:
					wide[i] = int128.Int128{}
				default:
					src[i] = 0
				}
				continue
			}
			setBit(valid, i)
			row = row[1:]
			switch {
			case strs != nil:
				k := binary.LittleEndian.Uint32(row)
				strs[i] = unsafe.String(unsafe.SliceData(row[4:]), k)
				row = row[4+k:]
			case wide != nil:
				wide[i] = int128.Int128{Lo: binary.LittleEndian.Uint64(row), Hi: int64(binary.LittleEndian.Uint64(row[8:]))}
				row = row[16:]
			default:
				var word [8]byte
				copy(word[:], row[:w])
				src[i] = int64(binary.LittleEndian.Uint64(word[:]))
				row = row[w:]
			}
			rows[i] = row
		}
		if !nulls {
			valid = nil
		}
		if strs != nil || wide != nil {
			vs[c] = l.flat(t, p, n, valid)
		} else {
			vs[c] = unwiden(l, t, src, valid)
		}
	}
	return vs
}
