package exec

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A filterBuild collects the values of one key of a join's build side for a runtime filter.
type filterBuild struct {
	typ   sqltype.Type
	vals  []int64  // of a type that is integer-like
	hash  []uint64 // of any other
	acct  *account
	held  int64
	in    valueHasher
	alive []int32
}

func newFilterBuild(t sqltype.Type, acct *account) *filterBuild {
	return &filterBuild{typ: t, acct: acct}
}

func (f *filterBuild) len() int { return max(len(f.vals), len(f.hash)) }

// add takes the values of the rows sel of v, or of its first n, that are not NULL.
func (f *filterBuild) add(v *vector.Vector, sel []int32, n int) error {
	if v.Valid != nil {
		f.alive = f.alive[:0]
		for i := range n {
			r := int32(i)
			if sel != nil {
				r = sel[i]
			}
			if !v.IsNull(int(r)) {
				f.alive = append(f.alive, r)
			}
		}
		sel, n = f.alive, len(f.alive)
	}
	if n == 0 {
		return nil
	}
	if want := int64(grown(max(cap(f.vals), cap(f.hash)), f.len()+n)) * 8; want > f.held {
		if err := f.acct.resize(&f.held, want); err != nil {
			return err
		}
	}
	if integerLike(f.typ) {
		at := len(f.vals)
		f.vals = extend(f.vals, n)
		copy(f.vals[at:], f.in.numbers.of(v, sel, n))
		return nil
	}
	at := len(f.hash)
	f.hash = extend(f.hash, n)
	copy(f.hash[at:], f.in.of(v, sel, n))
	return nil
}

// maxBitmap is the widest key range, in bits, that gets a bitmap.
const maxBitmap = 64 << 20

// finishFilter makes the filter of all that parts collected, which then forget it.
func finishFilter(ctx context.Context, parts []*filterBuild) (KeyFilter, error) {
	first := parts[0]
	acct, integer := first.acct, integerLike(first.typ)
	f := &keyFilter{typ: first.typ}
	for _, p := range parts {
		f.count += p.len()
		if integer && len(p.vals) > 0 {
			lo, hi := kernel.MinMaxInt64(p.vals)
			if f.ranged {
				lo, hi = min(lo, f.lo), max(hi, f.hi)
			}
			f.lo, f.hi, f.ranged = lo, hi, true
		}
	}
	span := uint64(f.hi) - uint64(f.lo)
	exact := f.ranged && span < maxBitmap && span < 256*uint64(f.count)+64<<10
	words := kernel.BloomBlocks(f.count)
	if exact {
		words = int(span/64) + 1
	}
	if f.count == 0 {
		words = 0
	}
	if err := acct.reserve(int64(words) * 8); err != nil {
		return nil, err
	}
	f.bits, f.exact = make([]uint64, words), exact
	var hashed [1024]uint64
	for _, p := range parts {
		for from := 0; from < p.len(); from += len(hashed) {
			if from%checkEvery == 0 && ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			to := min(from+len(hashed), p.len())
			switch {
			case exact:
				for _, x := range p.vals[from:to] {
					d := uint64(x - f.lo)
					f.bits[d>>6] |= 1 << (d & 63)
				}
			case integer:
				kernel.Hash64(hashed[:to-from], p.vals[from:to])
				kernel.BloomInsert(f.bits, hashed[:to-from])
			default:
				kernel.BloomInsert(f.bits, p.hash[from:to])
			}
		}
		acct.release(p.held)
		*p = filterBuild{}
	}
	return f, nil
}

// A keyFilter is an exact bitmap over a range of integers, or a Bloom filter over hashes.
type keyFilter struct {
	typ    sqltype.Type
	count  int
	ranged bool // lo and hi hold
	lo, hi int64
	exact  bool
	bits   []uint64

	// tables holds what the filter says of each element of a dictionary, by its id.
	tables sync.Map
	cached atomic.Int32
}

// maxTables is how many dictionaries' answers a filter keeps.
const maxTables = 4096

func (f *keyFilter) Empty() bool { return f.count == 0 }

func (f *keyFilter) Range() (lo, hi int64, ok bool) {
	if f.typ.Kind == sqltype.Bool || f.typ.Kind == sqltype.Uint64 && f.lo < 0 {
		return 0, 0, false
	}
	return f.lo, f.hi, f.ranged
}

// scratch is what one Narrow works in.
type scratch struct {
	bits []uint64
	in   valueHasher
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func (f *keyFilter) Narrow(v *vector.Vector, alive []uint64) {
	n := v.Len
	alive = alive[:vector.Words(n)]
	if f.count == 0 || v.IsConstNull() {
		clear(alive)
		return
	}
	if v.Valid != nil && v.Form != vector.Const {
		kernel.And(alive, alive, v.Valid[:len(alive)])
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	switch v.Form {
	case vector.Const:
		one := *v
		one.Form, one.Len, one.Valid = vector.Flat, 1, nil
		if f.test(s, &one)[0]&1 == 0 {
			clear(alive)
		}
		return
	case vector.Dict:
		f.narrowCodes(s, v, alive)
		return
	}
	kernel.And(alive, alive, f.test(s, v))
}

// test is the bitmap of the rows of v that may be among the keys.
func (f *keyFilter) test(s *scratch, v *vector.Vector) []uint64 {
	n := v.Len
	if cap(s.bits) < vector.Words(n) {
		s.bits = make([]uint64, vector.Words(n))
	}
	out := s.bits[:vector.Words(n)]
	switch {
	case f.exact && v.Form == vector.Flat && v.Phys == vector.PhysInt32:
		kernel.BitmapTest32(out, vector.Values[int32](v), f.lo, f.bits)
	case f.exact:
		kernel.BitmapTest64(out, s.in.numbers.of(v, nil, n), f.lo, f.bits)
	default:
		kernel.BloomTest(out, s.in.of(v, nil, n), f.bits)
	}
	return out
}

// narrowCodes asks about the elements of a dictionary, once.
func (f *keyFilter) narrowCodes(s *scratch, v *vector.Vector, alive []uint64) {
	var table []uint64
	if t, ok := f.tables.Load(v.DictID); ok {
		table = t.([]uint64)
	} else {
		table = append([]uint64(nil), f.test(s, v.Dict)...)
		if f.cached.Add(1) <= maxTables {
			f.tables.Store(v.DictID, table)
		}
	}
	if cap(s.bits) < len(alive) {
		s.bits = make([]uint64, len(alive))
	}
	out := s.bits[:len(alive)]
	switch v.CodeWidth() {
	case 1:
		var small [4]uint64
		copy(small[:], table)
		kernel.Lookup8(out, v.Codes8(), &small)
	case 2:
		kernel.Lookup16(out, v.Codes16(), table)
	default:
		kernel.Lookup32(out, v.Codes32(), table)
	}
	kernel.And(alive, alive, out)
}

// A valueHasher hashes the values of one column, as a Bloom filter's keys.
type valueHasher struct {
	numbers numbers
	buf     []uint64
	lo, hi  []int64
}

// of is the hashes of the rows sel of v, or of its first n. What stands at a NULL row is hashed like any value.
func (h *valueHasher) of(v *vector.Vector, sel []int32, n int) []uint64 {
	if cap(h.buf) < n {
		h.buf = make([]uint64, n)
	}
	out := h.buf[:n]
	rowOf := func(i int) int {
		if sel != nil {
			return int(sel[i])
		}
		return i
	}
	switch p := vector.PhysOf(v.Type); {
	case p == vector.PhysString:
		for i := range out {
			c, e := v.At(rowOf(i))
			s := vector.Values[string](c)[e]
			out[i] = kernel.HashBytes([]byte(s), 0)
		}
	case widthOf(p) == 16:
		h.lo, h.hi = sizeTo(h.lo, n), sizeTo(h.hi, n)
		for i := range out {
			c, e := v.At(rowOf(i))
			x := wideWord(c, e)
			if v.Type.Kind == sqltype.Interval {
				x = wideOrder(v.Type, x)
			}
			h.lo[i], h.hi[i] = int64(x.Lo), x.Hi
		}
		kernel.Hash64(out, h.lo[:n])
		kernel.HashCombine(out, h.hi[:n])
	default:
		kernel.Hash64(out, h.numbers.of(v, sel, n))
	}
	return out
}
