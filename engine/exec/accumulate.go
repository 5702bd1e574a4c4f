package exec

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// rows is the rows of a batch that an accumulator shall take and the group of each.
type rows struct {
	len    int
	sel    []int32 // nil: all len rows
	groups []uint32
	count  int // how many groups there are by now
	// whole tells that no row of the batch is left out, so that every group which came with it has one here.
	whole bool
	// spread tells that there are few groups and that groups holds for all len rows: those that are not in sel have the
	// number count. One pass over all rows then adds up all groups in registers.
	spread bool

	few   *fewMasks  // makes masks; nil: there are too many groups for them
	masks [][]uint64 // of the groups, once asked for
}

// maxMasks is the number of groups up to which a masked pass per group beats a scattered addition per row.
const maxMasks = 8

// bitmaps is the rows of each group as a bitmap, nil where they do not pay.
func (r *rows) bitmaps() [][]uint64 {
	if r.masks == nil && r.few != nil && r.count <= maxMasks && r.n()*4 >= r.len {
		r.masks = r.few.of(r)
	}
	return r.masks
}

// fewMasks is the memory of the bitmaps of few groups.
type fewMasks struct {
	words []uint64
	masks [][]uint64
}

func (f *fewMasks) of(r *rows) [][]uint64 {
	w := vector.Words(r.len)
	if cap(f.words) < (maxMasks+1)*w {
		f.words = make([]uint64, (maxMasks+1)*w)
	}
	f.masks = f.masks[:0]
	alive := f.words[maxMasks*w : (maxMasks+1)*w]
	if r.sel != nil {
		kernel.FromSelection(alive, r.sel)
	} else {
		clear(alive)
		kernel.SetRange(alive, 0, r.len)
	}
	if r.count == 1 {
		return append(f.masks, alive)
	}
	for g := range r.count {
		m := f.words[g*w : (g+1)*w]
		kernel.Compare(kernel.Eq, m, r.groups[:r.len], uint32(g))
		if r.sel != nil {
			kernel.And(m, m, alive)
		}
		f.masks = append(f.masks, m)
	}
	return f.masks
}

// n is how many rows there are.
func (r *rows) n() int {
	if r.sel == nil {
		return r.len
	}
	return len(r.sel)
}

// each calls f for every row. For slow paths.
func (r *rows) each(f func(row int, group uint32)) {
	if r.sel == nil {
		for i := range r.len {
			f(i, r.groups[i])
		}
		return
	}
	for _, i := range r.sel {
		f(int(i), r.groups[i])
	}
}

// A narrower cuts rows to some of them.
type narrower struct {
	sel []int32
	few fewMasks
	cut rows
}

// valid is r without the rows that are NULL in v.
func (c *narrower) valid(r *rows, v *vector.Vector) *rows {
	switch {
	case v.Valid == nil, v.Form == vector.Const && v.Valid[0]&1 != 0:
		return r
	case v.Form == vector.Const:
		c.sel = c.sel[:0]
		if c.sel == nil {
			c.sel = []int32{}
		}
	case r.sel == nil:
		if cap(c.sel) < r.len {
			c.sel = make([]int32, r.len)
		}
		c.sel = c.sel[:r.len]
		c.sel = c.sel[:kernel.ToSelection(c.sel, v.Valid[:vector.Words(r.len)], r.len)]
	default:
		if c.sel == nil || cap(c.sel) < len(r.sel) { // nil would be all rows, also where r has none
			c.sel = make([]int32, len(r.sel))
		}
		c.sel = c.sel[:len(r.sel)]
		k := 0
		for _, i := range r.sel {
			c.sel[k] = i
			k += int(v.Valid[i>>6] >> (uint(i) & 63) & 1)
		}
		c.sel = c.sel[:k]
	}
	return c.to(r, c.sel)
}

// to is r cut to sel, which holds some of its rows; it is valid until the next call.
func (c *narrower) to(r *rows, sel []int32) *rows {
	c.cut = rows{len: r.len, sel: sel, groups: r.groups, count: r.count}
	if r.few != nil {
		c.cut.few = &c.few
	}
	return &c.cut
}

// seen tells which groups have had a value: until one has, their result is NULL. As long as every batch gives each of its
// new groups one there is nothing to keep.
type seen struct {
	some  bool     // bits holds; else all of the first known groups have one
	bits  []uint64 // by group
	known int
}

// size makes room for n groups.
func (s *seen) size(n int) {
	if s.some {
		s.bits = sizeTo(s.bits, vector.Words(n))
	}
}

// begin is called before the groups of r are marked. It tells whether they need to be, one by one.
func (s *seen) begin(r *rows) bool {
	if !s.some {
		if r.whole {
			s.known = r.count
			return false
		}
		s.some = true
		s.bits = make([]uint64, vector.Words(r.count))
		kernel.SetRange(s.bits, 0, s.known)
	}
	s.size(r.count)
	return true
}

func (s *seen) mark(r *rows) {
	if !s.begin(r) {
		return
	}
	if masks := r.bitmaps(); masks != nil {
		for g, m := range masks {
			if kernel.Any(m) {
				setBit(s.bits, g)
			}
		}
		return
	}
	if r.sel == nil {
		for _, g := range r.groups[:r.len] {
			setBit(s.bits, int(g))
		}
		return
	}
	for _, i := range r.sel {
		setBit(s.bits, int(r.groups[i]))
	}
}

func (s *seen) has(g int) bool {
	if !s.some {
		return g < s.known
	}
	return g>>6 < len(s.bits) && bitAt(s.bits, g)
}

// valid is the bitmap of the groups ids, nil if all have had a value.
func (s *seen) valid(l *lane, ids []int32) []uint64 {
	all := true
	v := l.roomValid(len(ids))
	for i, id := range ids {
		if s.has(int(id)) {
			setBit(v, i)
		} else {
			all = false
		}
	}
	if all {
		return nil
	}
	return v
}

// An accumulator keeps one state per group of one aggregate function. Its state columns are expr.StateTypes's part that it
// is for. It belongs to one goroutine.
type accumulator interface {
	// size makes room for n groups, those it did not have before without a value.
	size(n int)
	// update takes the rows r of its arguments; no argument is NULL there. Every batch is shown to it, also without a row.
	update(vs []*vector.Vector, r *rows)
	// merge is update with state columns as arguments.
	merge(vs []*vector.Vector, r *rows)
	// state gives the state columns of the groups ids; in one that is NULL, the group has had no value. Sums may be wider
	// than their type says: floats are doubles, integers 128 bits. Several goroutines may call it once seal has been called.
	state(ids []int32, out []lane) []*vector.Vector
	// seal says that no update or merge comes any more.
	seal()
}

// sizeTo is s with n elements, those added zero.
func sizeTo[T any](s []T, n int) []T {
	if have := len(s); n > have {
		s = extend(s, n-have)
		clear(s[have:])
	}
	return s
}

// counts counts rows.
type counts struct {
	n  []int64
	in numbers
}

func (a *counts) size(n int) { a.n = sizeTo(a.n, n) }
func (a *counts) update(_ []*vector.Vector, r *rows) {
	if r.count == 1 {
		a.n[0] += int64(r.n())
		return
	}
	if r.spread {
		var n [maxMasks]int64
		kernel.CountByGroup(n[:min(r.count+1, maxMasks)], r.groups[:r.len])
		for g := range r.count {
			a.n[g] += n[g]
		}
		return
	}
	masks := r.bitmaps()
	switch {
	case masks != nil:
		for g, m := range masks {
			a.n[g] += int64(kernel.Count(m))
		}
	case r.sel == nil:
		kernel.CountByGroup(a.n, r.groups[:r.len])
	default:
		for _, i := range r.sel {
			a.n[r.groups[i]]++
		}
	}
}

func (a *counts) merge(vs []*vector.Vector, r *rows) {
	v := a.in.of(vs[0], r.sel, r.n())
	for i, x := range v {
		row := i
		if r.sel != nil {
			row = int(r.sel[i])
		}
		if planted.PartialCount {
			x = min(x, 1)
		}
		a.n[r.groups[row]] += x
	}
}

func (a *counts) state(ids []int32, out []lane) []*vector.Vector {
	kernel.Gather(room[int64](&out[0], len(ids)), a.n, ids)
	return []*vector.Vector{out[0].flat(sqltype.Of(sqltype.Int64), vector.PhysInt64, len(ids), nil)}
}

// exactSums adds integers and decimals. Sums lie in 64 bits for as long as it is proved that none can overflow, then move to
// 128, which 10^18 values of any column fit.
type exactSums struct {
	typ   sqltype.Type
	low   []int64
	wide  []int128.Int128 // nil: not needed yet
	bound uint64          // no |low| is larger
	over  bool            // a sum left 128 bits
	seen  seen
	in    numbers
}

func (a *exactSums) size(n int) {
	a.low = sizeTo(a.low, n)
	if a.wide != nil {
		a.wide = sizeTo(a.wide, n)
	}
	a.seen.size(n)
}

func (a *exactSums) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *exactSums) update(vs []*vector.Vector, r *rows) {
	a.seen.mark(r)
	v := vs[0]
	if r.n() == 0 {
		return
	}
	if v.Phys == vector.PhysInt128 || v.Phys == vector.PhysUint64 {
		a.spill()
		r.each(func(row int, g uint32) {
			c, e := v.At(row)
			if c.Phys == vector.PhysUint64 {
				a.add(g, int128.FromUint64(vector.Values[uint64](c)[e]))
			} else {
				a.add(g, vector.Values[int128.Int128](c)[e])
			}
		})
		return
	}
	if r.spread && r.count > 1 {
		vals := a.in.of(v, nil, r.len)
		if b := kernel.AbsBits64(vals) + bits.Len(uint(len(vals))); b <= 62 {
			a.room(b)
			var sum [maxMasks]int64
			kernel.SumByGroup64(sum[:], r.groups[:r.len], vals)
			for g := range r.count {
				a.low[g] += sum[g]
			}
			return
		}
	}
	if masks := r.bitmaps(); masks != nil {
		vals := a.in.of(v, nil, r.len)
		a.spill()
		if r.count == 1 && r.sel == nil {
			a.add(0, kernel.SumInt64(vals))
			return
		}
		for g, m := range masks {
			a.add(uint32(g), kernel.SumInt64Masked(vals, m))
		}
		return
	}
	vals := a.in.of(v, r.sel, r.n())
	b := kernel.AbsBits64(vals) + bits.Len(uint(len(vals)))
	if b > 62 {
		a.spill()
		for i, x := range vals {
			row := i
			if r.sel != nil {
				row = int(r.sel[i])
			}
			a.add(r.groups[row], int128.FromInt64(x))
		}
		return
	}
	a.room(b)
	if r.sel == nil {
		kernel.SumByGroup64(a.low, r.groups[:r.len], vals)
		return
	}
	for i, row := range r.sel {
		a.low[r.groups[row]] += vals[i]
	}
}

// room makes sure that sums of less than 2^b more still fit 64 bits.
func (a *exactSums) room(b int) {
	if a.bound+1<<b > math.MaxInt64 {
		a.spill()
	}
	a.bound += 1 << b
}

func (a *exactSums) add(g uint32, x int128.Int128) {
	sum, ok := a.wide[g].AddChecked(x)
	a.wide[g] = sum
	if !ok {
		a.over = true
	}
}

// spill moves the 64-bit sums into the 128-bit ones.
func (a *exactSums) spill() {
	if a.wide == nil {
		a.wide = make([]int128.Int128, len(a.low), max(cap(a.low), 1))
	}
	a.wide = sizeTo(a.wide, len(a.low))
	if a.bound == 0 {
		return
	}
	for g, x := range a.low {
		if x != 0 {
			a.add(uint32(g), int128.FromInt64(x))
			a.low[g] = 0
		}
	}
	a.bound = 0
}

func (a *exactSums) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	valid := a.seen.valid(l, ids)
	if a.wide == nil {
		kernel.Gather(room[int64](l, len(ids)), a.low, ids)
		return []*vector.Vector{l.flat(a.typ, vector.PhysInt64, len(ids), valid)}
	}
	kernel.Gather(room[int128.Int128](l, len(ids)), a.wide, ids)
	return []*vector.Vector{l.flat(a.typ, vector.PhysInt128, len(ids), valid)}
}

func (a *exactSums) seal() {
	if a.wide != nil {
		a.spill()
	}
}

// floatSums adds floats. The order of addition, and so the last digits, depend on how rows fell to goroutines.
type floatSums struct {
	sum  []float64
	seen seen
	in   floats
}

func (a *floatSums) size(n int) {
	a.sum = sizeTo(a.sum, n)
	a.seen.size(n)
}

func (a *floatSums) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *floatSums) update(vs []*vector.Vector, r *rows) {
	a.seen.mark(r)
	if r.n() == 0 {
		return
	}
	if masks := r.bitmaps(); masks != nil {
		vals := a.in.of(vs[0], nil, r.len)
		if r.count == 1 && r.sel == nil {
			a.sum[0] += kernel.SumFloat64(vals)
			return
		}
		for g, m := range masks {
			a.sum[g] += kernel.SumFloat64Masked(vals, m)
		}
		return
	}
	vals := a.in.of(vs[0], r.sel, r.n())
	if r.sel == nil {
		kernel.SumFloat64ByGroup(a.sum, r.groups[:r.len], vals)
		return
	}
	for i, row := range r.sel {
		a.sum[r.groups[row]] += vals[i]
	}
}

func (a *floatSums) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	valid := a.seen.valid(l, ids)
	kernel.Gather(room[float64](l, len(ids)), a.sum, ids)
	return []*vector.Vector{l.flat(sqltype.Of(sqltype.Float64), vector.PhysFloat64, len(ids), valid)}
}

// floats holds a column's values as float64, one per selected row, without gaps.
type floats struct {
	buf []float64
	in  numbers
}

// of is the values of v's rows sel, or of its first n, as doubles: decimals with their scale applied.
func (f *floats) of(v *vector.Vector, sel []int32, n int) []float64 {
	if v.Form == vector.Flat && v.Phys == vector.PhysFloat64 && sel == nil {
		return vector.Values[float64](v)[:n]
	}
	if cap(f.buf) < n {
		f.buf = make([]float64, n)
	}
	dst := f.buf[:n]
	switch {
	case v.Type.IsFloat():
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			c, e := v.At(r)
			if c.Phys == vector.PhysFloat32 {
				dst[i] = float64(vector.Values[float32](c)[e])
			} else {
				dst[i] = vector.Values[float64](c)[e]
			}
		}
	case v.Type.Kind == sqltype.Decimal:
		for i := range dst {
			r := i
			if sel != nil {
				r = int(sel[i])
			}
			c, e := v.At(r)
			dst[i] = wideAt(c, e).Float64(int(v.Type.Scale))
		}
	case v.Type.Kind == sqltype.Uint64:
		for i, x := range f.in.of(v, sel, n) {
			dst[i] = float64(uint64(x))
		}
	default:
		for i, x := range f.in.of(v, sel, n) {
			dst[i] = float64(x)
		}
	}
	return dst
}

// An extreme is what a group keeps of a column: the least value, the greatest, or any.
type extreme uint8

const (
	least extreme = iota
	greatest
	anyOne
)

// narrowExtremes keeps a value of up to 64 bits, as an integer in the order of the type.
type narrowExtremes struct {
	typ  sqltype.Type
	keep extreme
	best []int64
	seen seen
	in   numbers
}

func (a *narrowExtremes) size(n int) {
	a.best = sizeTo(a.best, n)
	a.seen.some = true
	a.seen.size(n)
}

func (a *narrowExtremes) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *narrowExtremes) update(vs []*vector.Vector, r *rows) {
	a.seen.begin(r)
	n := r.n()
	if n == 0 {
		return
	}
	v := vs[0]
	if r.count == 1 && r.sel == nil && a.keep != anyOne && !v.Type.IsFloat() && v.Type.Kind != sqltype.Uint64 {
		lo, hi := kernel.MinMaxInt64(a.in.of(v, nil, n))
		if a.keep == least {
			a.one(0, lo)
		} else {
			a.one(0, hi)
		}
		return
	}
	vals := a.in.of(v, r.sel, n)
	order := orderOf(v.Type)
	for i, x := range vals {
		row := i
		if r.sel != nil {
			row = int(r.sel[i])
		}
		a.one(int(r.groups[row]), order(x))
	}
}

func (a *narrowExtremes) one(g int, x int64) {
	switch {
	case !bitAt(a.seen.bits, g):
		setBit(a.seen.bits, g)
		a.best[g] = x
	case a.keep == least && x < a.best[g], a.keep == greatest && x > a.best[g]:
		a.best[g] = x
	}
}

func (a *narrowExtremes) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	src, order := l.roomWide(len(ids)), orderOf(a.typ)
	for i, id := range ids {
		src[i] = order(a.best[id])
	}
	return []*vector.Vector{unwiden(l, a.typ, src, a.seen.valid(l, ids))}
}

// orderOf maps what numbers gives for type t to integers that compare as t's values do, NaN greatest; it is its own inverse.
func orderOf(t sqltype.Type) func(int64) int64 {
	switch t.Kind {
	case sqltype.Uint64:
		return func(x int64) int64 { return x ^ math.MinInt64 }
	case sqltype.Float64:
		return func(x int64) int64 { return x ^ int64(uint64(x>>63)>>1) }
	case sqltype.Float32:
		// 32 bits in the low half: sign-extended they are ordered like a double's.
		return func(x int64) int64 {
			y := int32(x)
			return int64(y ^ int32(uint32(y>>31)>>1))
		}
	}
	return func(x int64) int64 { return x }
}

// wideExtremes keeps a value of 128 bits: a wide decimal, a UUID or an interval.
type wideExtremes struct {
	typ  sqltype.Type
	keep extreme
	best []int128.Int128
	seen seen
}

func (a *wideExtremes) size(n int) {
	a.best = sizeTo(a.best, n)
	a.seen.some = true
	a.seen.size(n)
}

func (a *wideExtremes) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *wideExtremes) update(vs []*vector.Vector, r *rows) {
	a.seen.begin(r)
	v := vs[0]
	r.each(func(row int, g uint32) {
		c, e := v.At(row)
		x := wideWord(c, e)
		if !bitAt(a.seen.bits, int(g)) {
			setBit(a.seen.bits, int(g))
			a.best[g] = x
			return
		}
		if a.keep == anyOne {
			return
		}
		if less := wideOrder(a.typ, x).Cmp(wideOrder(a.typ, a.best[g])); less < 0 && a.keep == least || less > 0 && a.keep == greatest {
			a.best[g] = x
		}
	})
}

func (a *wideExtremes) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	kernel.Gather(room[int128.Int128](l, len(ids)), a.best, ids)
	return []*vector.Vector{l.flat(a.typ, vector.PhysOf(a.typ), len(ids), a.seen.valid(l, ids))}
}

// wideOrder maps the 16 bytes of a value of type t to an integer that compares as t's values do.
func wideOrder(t sqltype.Type, x int128.Int128) int128.Int128 {
	switch t.Kind {
	case sqltype.UUID:
		x.Hi ^= math.MinInt64 // bytes compare without a sign
	case sqltype.Interval:
		i := *(*vector.Interval)(unsafe.Pointer(&x))
		const day = 24 * 60 * 60 * 1e6
		days := int64(i.Months)*30 + int64(i.Days)
		return int128.MulInt64s(days, day).Add(int128.FromInt64(i.Micros))
	}
	return x
}

// stringExtremes keeps a string.
type stringExtremes struct {
	typ   sqltype.Type
	keep  extreme
	best  []ref
	arena arena
	held  int64 // of the arena, reserved
	dead  int64 // bytes of the arena that no group refers to
	seen  seen
}

func (a *stringExtremes) size(n int) {
	a.best = sizeTo(a.best, n)
	a.seen.some = true
	a.seen.size(n)
}

func (a *stringExtremes) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *stringExtremes) update(vs []*vector.Vector, r *rows) {
	a.seen.begin(r)
	v := vs[0]
	r.each(func(row int, g uint32) {
		c, e := v.At(row)
		s := vector.Values[string](c)[e]
		if !bitAt(a.seen.bits, int(g)) {
			setBit(a.seen.bits, int(g))
			a.best[g] = a.arena.add(s)
			return
		}
		if a.keep == anyOne {
			return
		}
		if now := a.arena.get(a.best[g]); a.keep == least && s < now || a.keep == greatest && s > now {
			a.dead += int64(len(now))
			a.best[g] = a.arena.add(s)
		}
	})
	if a.dead > lastChunk && a.dead > a.arena.held/2 {
		a.compact()
	}
}

// compact copies what is alive to a new arena.
func (a *stringExtremes) compact() {
	old := a.arena
	a.arena, a.dead = arena{}, 0
	for g, r := range a.best {
		a.best[g] = a.arena.add(old.get(r))
	}
}

func (a *stringExtremes) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	dst := l.roomStrings(len(ids))
	for i, id := range ids {
		dst[i] = a.arena.get(a.best[id])
	}
	return []*vector.Vector{l.flat(a.typ, vector.PhysString, len(ids), a.seen.valid(l, ids))}
}

// variances keeps count, mean and sum of squared differences (Welford).
type variances struct {
	n    []int64
	mean []float64
	m2   []float64
	in   floats
}

func (a *variances) size(n int) {
	a.n, a.mean, a.m2 = sizeTo(a.n, n), sizeTo(a.mean, n), sizeTo(a.m2, n)
}

func (a *variances) update(vs []*vector.Vector, r *rows) {
	vals := a.in.of(vs[0], r.sel, r.n())
	for i, x := range vals {
		row := i
		if r.sel != nil {
			row = int(r.sel[i])
		}
		g := r.groups[row]
		a.n[g]++
		d := x - a.mean[g]
		a.mean[g] += d / float64(a.n[g])
		a.m2[g] += d * (x - a.mean[g])
	}
}

func (a *variances) merge(vs []*vector.Vector, r *rows) {
	r.each(func(row int, g uint32) {
		cn, en := vs[0].At(row)
		cm, em := vs[1].At(row)
		cs, es := vs[2].At(row)
		n, mean, m2 := vector.Values[int64](cn)[en], vector.Values[float64](cm)[em], vector.Values[float64](cs)[es]
		if n == 0 {
			return
		}
		total := a.n[g] + n
		d := mean - a.mean[g]
		a.m2[g] += m2 + d*d*float64(a.n[g])*float64(n)/float64(total)
		a.mean[g] += d * float64(n) / float64(total)
		a.n[g] = total
	})
}

func (a *variances) state(ids []int32, out []lane) []*vector.Vector {
	kernel.Gather(room[int64](&out[0], len(ids)), a.n, ids)
	kernel.Gather(room[float64](&out[1], len(ids)), a.mean, ids)
	kernel.Gather(room[float64](&out[2], len(ids)), a.m2, ids)
	double := sqltype.Of(sqltype.Float64)
	return []*vector.Vector{
		out[0].flat(sqltype.Of(sqltype.Int64), vector.PhysInt64, len(ids), nil),
		out[1].flat(double, vector.PhysFloat64, len(ids), nil),
		out[2].flat(double, vector.PhysFloat64, len(ids), nil),
	}
}

func (*counts) seal() {}

func (*floatSums) seal() {}

func (*narrowExtremes) seal() {}

func (*wideExtremes) seal() {}

func (*stringExtremes) seal() {}

func (*variances) seal() {}
