package exec

import (
	"context"
	"math"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// maxRows is how many rows one store can number.
const maxRows = math.MaxInt32

// A column keeps copies of one column's values in memory without pointers, which the garbage collector never looks
// through: an array per width, and for strings an array of references into an arena. Row numbers count from 0.
type column struct {
	typ  sqltype.Type
	phys vector.Phys // PhysBool is kept as bytes
	n    int

	w1    []uint8
	w2    []uint16
	w4    []uint32
	w8    []uint64
	w16   []int128.Int128
	refs  []ref
	codes []uint16 // instead of refs, while coder is not nil
	coder *coder
	arena arena
	valid []uint64 // nil: no NULL yet
}

func newColumn(t sqltype.Type) *column { return &column{typ: t, phys: vector.PhysOf(t)} }

// A ref is a string in an arena.
type ref struct {
	at uint64 // chunk in the high half, offset in the low
	n  uint32
}

// An arena holds the bytes of strings in chunks that never move.
type arena struct {
	chunks [][]byte
	held   int64 // bytes of all chunks
}

const (
	firstChunk = 4 << 10
	lastChunk  = 1 << 20
)

// next is the size of the chunk that n more bytes would need, 0 if there is room for them.
func (a *arena) next(n int) int {
	size := firstChunk
	if len(a.chunks) > 0 {
		last := a.chunks[len(a.chunks)-1]
		if cap(last)-len(last) >= n {
			return 0
		}
		size = min(2*cap(last), lastChunk)
	}
	return max(size, n)
}

// grow makes room for n bytes in one chunk.
func (a *arena) grow(n int) {
	if size := a.next(n); size > 0 {
		a.chunks = append(a.chunks, make([]byte, 0, size))
		a.held += int64(size)
	}
}

// add copies s.
func (a *arena) add(s string) ref {
	if s == "" {
		return ref{}
	}
	a.grow(len(s))
	k := len(a.chunks) - 1
	c := a.chunks[k]
	r := ref{at: uint64(k)<<32 | uint64(len(c)), n: uint32(len(s))}
	a.chunks[k] = append(c, s...)
	return r
}

// get is the string at r, valid as long as the arena.
func (a *arena) get(r ref) string {
	if r.n == 0 {
		return ""
	}
	return unsafe.String(&a.chunks[r.at>>32][uint32(r.at)], r.n)
}

// width is the bytes a row takes, without strings' own.
func (c *column) width() int64 {
	switch c.phys {
	case vector.PhysBool:
		return 1
	case vector.PhysString:
		return int64(unsafe.Sizeof(ref{}))
	}
	return int64(widthOf(c.phys))
}

func (c *column) capacity() int {
	switch c.width() {
	case 1:
		return cap(c.w1)
	case 2:
		return cap(c.w2)
	case 4:
		return cap(c.w4)
	case 8:
		return cap(c.w8)
	}
	if c.phys == vector.PhysString {
		return cap(c.refs)
	}
	return cap(c.w16)
}

// grown is the capacity that holds n elements where there was one of have: doubled, so that appending stays linear.
func grown(have, n int) int {
	if n <= have {
		return have
	}
	return max(2*have, n, 64)
}

// reserve makes room for n rows, which may be all that come.
func (c *column) reserve(n int) {
	switch c.width() {
	case 1:
		c.w1 = make([]uint8, 0, n)
	case 2:
		c.w2 = make([]uint16, 0, n)
	case 4:
		c.w4 = make([]uint32, 0, n)
	case 8:
		c.w8 = make([]uint64, 0, n)
	default:
		if c.phys == vector.PhysString {
			c.refs = make([]ref, 0, n)
		} else {
			c.w16 = make([]int128.Int128, 0, n)
		}
	}
}

// bytes is the memory c holds.
func (c *column) bytes() int64 {
	return int64(c.capacity())*c.width() + int64(cap(c.codes))*2 + c.arena.held + int64(cap(c.valid))*8
}

// bytesAfter is what bytes will be after append with the same arguments, at most.
func (c *column) bytesAfter(v *vector.Vector, sel []int32, n int) int64 {
	rows := c.n + n
	total := c.arena.held + int64(cap(c.valid))*8
	coded := c.phys == vector.PhysString && c.staysCoded(v)
	if coded {
		total += int64(grown(cap(c.codes), rows)) * 2
	} else {
		total += int64(grown(c.capacity(), rows)) * c.width()
	}
	if c.valid != nil || v.Valid != nil {
		total += int64(grown(cap(c.valid), vector.Words(rows))-cap(c.valid)) * 8
	}
	if c.phys == vector.PhysString && !coded {
		total += int64(c.arena.next(stringBytes(v, sel, n)))
	}
	return total
}

// stringBytes is the length of all strings of the rows sel, or of the first n.
func stringBytes(v *vector.Vector, sel []int32, n int) int {
	total := 0
	switch v.Form {
	case vector.Const:
		if v.IsNull(0) {
			return 0
		}
		return n * len(vector.Values[string](v)[0])
	case vector.Dict:
		d := vector.Values[string](v.Dict)
		switch v.CodeWidth() {
		case 1:
			return codedBytes(d, v.Codes8(), sel, n)
		case 2:
			return codedBytes(d, v.Codes16(), sel, n)
		}
		return codedBytes(d, v.Codes32(), sel, n)
	}
	s := vector.Values[string](v)
	if sel == nil {
		for _, x := range s[:n] {
			total += len(x)
		}
		return total
	}
	for _, r := range sel {
		total += len(s[r])
	}
	return total
}

func codedBytes[C uint8 | uint16 | uint32](d []string, codes []C, sel []int32, n int) int {
	total := 0
	if sel == nil {
		for _, c := range codes[:n] {
			total += len(d[c])
		}
		return total
	}
	for _, r := range sel {
		total += len(d[codes[r]])
	}
	return total
}

// append copies the rows sel of v, or its first n where sel is nil; n is len(sel) otherwise.
func (c *column) append(v *vector.Vector, sel []int32, n int) {
	switch c.phys {
	case vector.PhysBool:
		c.appendBools(v, sel, n)
	case vector.PhysString:
		c.appendStrings(v, sel, n)
	case vector.PhysInt128:
		if v.Phys == vector.PhysInt64 {
			c.appendWidened(v, sel, n)
			break
		}
		c.w16 = appendWords(c.w16, v, sel, n)
	default:
		switch widthOf(c.phys) {
		case 1:
			c.w1 = appendWords(c.w1, v, sel, n)
		case 2:
			c.w2 = appendWords(c.w2, v, sel, n)
		case 4:
			c.w4 = appendWords(c.w4, v, sel, n)
		case 8:
			c.w8 = appendWords(c.w8, v, sel, n)
		case 16:
			c.w16 = appendWords(c.w16, v, sel, n)
		}
	}
	c.appendValid(v, sel, n)
	c.n += n
}

func extend[T any](s []T, n int) []T {
	if want := len(s) + n; want > cap(s) {
		t := make([]T, len(s), grown(cap(s), want))
		copy(t, s)
		s = t
	}
	return s[:len(s)+n]
}

func appendWords[T word](dst []T, v *vector.Vector, sel []int32, n int) []T {
	at := len(dst)
	dst = extend(dst, n)
	out := dst[at:]
	switch v.Form {
	case vector.Const:
		x := words[T](v)[0]
		for i := range out {
			out[i] = x
		}
	case vector.Dict:
		gatherCoded(out, words[T](v.Dict), v, sel)
	default:
		if sel == nil {
			copy(out, words[T](v))
		} else {
			kernel.Gather(out, words[T](v), sel)
		}
	}
	return dst
}

func (c *column) appendWidened(v *vector.Vector, sel []int32, n int) {
	at := len(c.w16)
	c.w16 = extend(c.w16, n)
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		w, e := v.At(r)
		c.w16[at+i] = int128.FromInt64(vector.Values[int64](w)[e])
	}
}

func (c *column) appendBools(v *vector.Vector, sel []int32, n int) {
	at := len(c.w1)
	c.w1 = extend(c.w1, n)
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		w, e := v.At(r)
		c.w1[at+i] = uint8(vector.Bits(w)[e>>6] >> (uint(e) & 63) & 1)
	}
}

func (c *column) appendStrings(v *vector.Vector, sel []int32, n int) {
	if c.staysCoded(v) {
		c.appendCodes(v, sel, n)
		return
	}
	c.decode()
	c.arena.grow(min(stringBytes(v, sel, n), math.MaxInt32)) // an offset has 32 bits
	at := len(c.refs)
	c.refs = extend(c.refs, n)
	out := c.refs[at:]
	if v.Form == vector.Flat && v.Valid == nil {
		s := vector.Values[string](v)
		if sel == nil {
			for i, x := range s[:n] {
				out[i] = c.arena.add(x)
			}
			return
		}
		for i, r := range sel {
			out[i] = c.arena.add(s[r])
		}
		return
	}
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if v.IsNull(r) {
			out[i] = ref{}
			continue
		}
		w, e := v.At(r)
		out[i] = c.arena.add(vector.Values[string](w)[e])
	}
}

func (c *column) appendValid(v *vector.Vector, sel []int32, n int) {
	if v.Valid == nil && c.valid == nil {
		return
	}
	had := vector.Words(c.n)
	if c.valid == nil {
		c.valid = make([]uint64, had, max(had, 1))
		kernel.SetRange(c.valid, 0, c.n)
	}
	c.valid = extend(c.valid, vector.Words(c.n+n)-had)
	clear(c.valid[had:])
	if v.Valid == nil {
		kernel.SetRange(c.valid, c.n, c.n+n)
		return
	}
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		if !v.IsNull(r) {
			setBit(c.valid, c.n+i)
		}
	}
}

// adoptAll makes c, which is empty, the n rows of parts.
func (c *column) adoptAll(parts []*column, n int) {
	nulls := false
	for _, d := range parts {
		nulls = nulls || d.valid != nil
	}
	if nulls {
		c.valid = make([]uint64, vector.Words(n))
	}
	var w1 [][]uint8
	var w2 [][]uint16
	var w4 [][]uint32
	var w8 [][]uint64
	var w16 [][]int128.Int128
	var refs [][]ref
	c.adoptCodes(parts)
	for _, d := range parts {
		if nulls {
			for i := range d.n {
				if !d.isNull(i) {
					setBit(c.valid, c.n+i)
				}
			}
		}
		base := uint64(len(c.arena.chunks)) << 32
		for i := range d.refs {
			d.refs[i].at += base
		}
		c.arena.chunks = append(c.arena.chunks, d.arena.chunks...)
		c.arena.held += d.arena.held
		w1, w2, w4, w8, w16, refs = append(w1, d.w1), append(w2, d.w2), append(w4, d.w4), append(w8, d.w8), append(w16, d.w16), append(refs, d.refs)
		c.n += d.n
	}
	c.w1, c.w2, c.w4, c.w8, c.w16, c.refs = concat(nil, w1), concat(nil, w2), concat(nil, w4), concat(nil, w8), concat(nil, w16), concat(nil, refs)
}

// isNull tells whether row r is NULL.
func (c *column) isNull(r int) bool { return c.valid != nil && !bitAt(c.valid, r) }

// gather makes l's vector of n rows: row at[i] – row i where at is nil – is c's row rows[i], and NULL where that is
// negative, which only nullable says may be. Rows of n that at leaves out hold nothing that means anything.
func (c *column) gather(l *lane, rows, at []int32, n int, nullable bool) *vector.Vector {
	var valid []uint64
	if nullable || c.valid != nil {
		valid = l.roomValid(n)
		c.gatherValid(valid, rows, at)
	}
	switch c.phys {
	case vector.PhysBool:
		dst := room[uint64](l, max(1, vector.Words(n)))
		clear(dst)
		for i, r := range rows {
			if r >= 0 && c.w1[r] != 0 {
				if at != nil {
					i = int(at[i])
				}
				setBit(dst, i)
			}
		}
	case vector.PhysString:
		if c.coder != nil {
			return c.gatherCodes(l, rows, at, n, valid)
		}
		dst := l.roomStrings(n)
		for i, r := range rows {
			if at != nil {
				i = int(at[i])
			}
			if r < 0 {
				dst[i] = ""
				continue
			}
			dst[i] = c.arena.get(c.refs[r])
		}
	default:
		switch widthOf(c.phys) {
		case 1:
			gatherWords(room[uint8](l, n), c.w1, rows, at, nullable)
		case 2:
			gatherWords(room[uint16](l, n), c.w2, rows, at, nullable)
		case 4:
			gatherWords(room[uint32](l, n), c.w4, rows, at, nullable)
		case 8:
			gatherWords(room[uint64](l, n), c.w8, rows, at, nullable)
		case 16:
			gatherWords(room[int128.Int128](l, n), c.w16, rows, at, nullable)
		}
	}
	return l.flat(c.typ, c.phys, n, valid)
}

// window makes l's vector rows from … to of c, in place where that can be.
func (c *column) window(l *lane, from, to int, ids *identity) *vector.Vector {
	if w := widthOf(c.phys); c.valid == nil && w > 0 {
		switch w {
		case 1:
			l.view(c.typ, c.phys, unsafe.Pointer(unsafe.SliceData(c.w1[from:to])), to-from)
		case 2:
			l.view(c.typ, c.phys, unsafe.Pointer(unsafe.SliceData(c.w2[from:to])), to-from)
		case 4:
			l.view(c.typ, c.phys, unsafe.Pointer(unsafe.SliceData(c.w4[from:to])), to-from)
		case 8:
			l.view(c.typ, c.phys, unsafe.Pointer(unsafe.SliceData(c.w8[from:to])), to-from)
		case 16:
			l.view(c.typ, c.phys, unsafe.Pointer(unsafe.SliceData(c.w16[from:to])), to-from)
		}
		return &l.vec
	}
	return c.gather(l, ids.upTo(to)[from:], nil, to-from, false)
}

func gatherWords[T word](dst, src []T, rows, at []int32, nullable bool) {
	switch {
	case nullable:
		for i, r := range rows {
			if at != nil {
				i = int(at[i])
			}
			if r < 0 {
				dst[i] = *new(T)
				continue
			}
			dst[i] = src[r]
		}
	case at == nil:
		kernel.Gather(dst, src, rows)
	default:
		at = at[:len(rows)]
		for i, r := range rows {
			dst[uint32(at[i])] = src[uint32(r)]
		}
	}
}

func (c *column) gatherValid(dst []uint64, rows, at []int32) {
	for i, r := range rows {
		if r < 0 || c.isNull(int(r)) {
			continue
		}
		if at != nil {
			i = int(at[i])
		}
		setBit(dst, i)
	}
}

// A store is rows kept as columns.
type store struct {
	cols []*column
	n    int
	held int64 // reserved of acct
	acct *account
}

func newStore(types []sqltype.Type, acct *account) *store {
	s := &store{cols: make([]*column, len(types)), acct: acct}
	for i, t := range types {
		s.cols[i] = newColumn(t)
	}
	return s
}

// append copies the rows sel of vs, or their first n. It reserves the memory first and fails with code memory_limit.
func (s *store) append(vs []*vector.Vector, sel []int32, n int) error {
	if s.n+n > maxRows {
		return sqlerr.Newf(sqlerr.MemoryLimit, sqlerr.Pos{}, "%s would keep more than %d rows", s.acct.name, maxRows).
			WithHint("filter more rows out before they get here")
	}
	var want int64
	for i, c := range s.cols {
		want += c.bytesAfter(vs[i], sel, n)
	}
	if err := s.acct.resize(&s.held, max(want, s.held)); err != nil {
		return err
	}
	for i, c := range s.cols {
		c.append(vs[i], sel, n)
	}
	s.n += n
	return nil
}

// adoptAll makes s, which is empty, the rows of parts, which are not used afterwards. The memory that parts reserved stays
// reserved; while more than one is copied, the copy is reserved too.
func (s *store) adoptAll(ctx context.Context, parts []*store, threads int) error {
	var held int64
	filled := parts[:0:0]
	for _, t := range parts {
		held += t.held
		t.held = 0
		if t.n > 0 {
			filled = append(filled, t)
		}
		s.n += t.n
	}
	s.held += held
	if len(filled) == 0 {
		return nil
	}
	if len(filled) == 1 {
		s.cols = filled[0].cols
		for _, c := range s.cols {
			c.seal()
		}
		return nil
	}
	if err := s.acct.reserve(held); err != nil {
		return err
	}
	defer s.acct.release(held)
	return parallel(ctx, min(threads, len(s.cols)), func(ctx context.Context, p int) error {
		for i := p; i < len(s.cols); i += min(threads, len(s.cols)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			of := make([]*column, len(filled))
			for k, t := range filled {
				of[k], t.cols[i] = t.cols[i], nil
			}
			s.cols[i].adoptAll(of, s.n)
			s.cols[i].seal()
		}
		return nil
	})
}

// appendFrom copies the rows ids of t.
func (s *store) appendFrom(t *store, ids []int32) error {
	var l lane
	var want int64
	for i, c := range t.cols {
		want += s.cols[i].bytesAfter(c.gather(&l, ids, nil, len(ids), false), nil, len(ids))
	}
	if err := s.acct.resize(&s.held, max(want, s.held)); err != nil {
		return err
	}
	for i, c := range t.cols {
		s.cols[i].append(c.gather(&l, ids, nil, len(ids), false), nil, len(ids))
	}
	s.n += len(ids)
	return nil
}
