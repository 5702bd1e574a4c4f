package exec

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// sortOrder is an ordering as bytes: rows compare as their keys' bytes do. Per key: a byte for NULL where the key may be NULL,
// then the value – integers and floats with the highest byte first and their order made unsigned, strings with 0 bytes
// escaped and two at the end – inverted where the order is descending.
type sortOrder struct {
	keys  []orderKey
	fixed int // bytes of all keys, 0 if one has no fixed width
}

type orderKey struct {
	expr     formula
	typ      sqltype.Type
	width    int // bytes, 0: a string
	desc     bool
	nullable bool
	// null and value are the byte before a NULL and before a value.
	null, value byte
}

// prefixBytes is how much of a key stands in its entry.
const prefixBytes = 16

func newSortOrder(keys []physical.SortKey) (*sortOrder, error) {
	o := &sortOrder{}
	fixed := true
	for _, k := range keys {
		t := k.Expr.Type()
		f, err := compileFormula(k.Expr)
		if err != nil {
			return nil, err
		}
		w := widthOf(vector.PhysOf(t))
		switch vector.PhysOf(t) {
		case vector.PhysNone:
			return nil, sqlerr.Newf(sqlerr.Unsupported, k.Expr.Pos(), "ordering by %v is not supported", t)
		case vector.PhysBool:
			w = 1
		}
		key := orderKey{expr: f, typ: t, width: w, desc: k.Desc, nullable: physical.Nullable(k.Expr), value: 1}
		if !k.NullsFirst {
			key.null, key.value = 1, 0
		}
		o.keys = append(o.keys, key)
		o.fixed += w
		if key.nullable {
			o.fixed++
		}
		fixed = fixed && w > 0
	}
	if !fixed {
		o.fixed = 0
	}
	return o, nil
}

// short tells whether the whole key always stands in its entry.
func (o *sortOrder) short() bool {
	if o.fixed == 0 || o.fixed > prefixBytes {
		return len(o.keys) == 0
	}
	for _, k := range o.keys {
		if k.width > 8 {
			return false
		}
	}
	return true
}

// A sortEntry is the start of a row's key and where the row is.
type sortEntry struct {
	hi, lo uint64
	row    int32
}

// entryOf is the entry of a key of any length.
func entryOf(key []byte, row int32) sortEntry {
	var b [prefixBytes]byte
	copy(b[:], key)
	return sortEntry{binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:]), row}
}

// A keyEncoder makes the keys of a batch's rows, for one goroutine.
type keyEncoder struct {
	order *sortOrder
	cols  []computer
	vals  []*vector.Vector
	in    numbers

	entries []sortEntry // rows are numbered from 0 in the order of the selection
	buf     []byte      // the keys, where they are not short: of row i, buf[at[i]:at[i+1]]
	at      []uint32
	cursor  []uint32
}

func (o *sortOrder) encoder(env *Env) *keyEncoder {
	e := &keyEncoder{order: o, vals: make([]*vector.Vector, len(o.keys))}
	for _, k := range o.keys {
		e.cols = append(e.cols, k.expr.computer(env))
	}
	return e
}

// encode makes the keys of the rows of b that are alive.
func (e *keyEncoder) encode(b *vector.Batch) error {
	if err := evalAll(e.cols, b, e.vals); err != nil {
		return err
	}
	n := b.Rows()
	if cap(e.entries) < n {
		e.entries = make([]sortEntry, n)
	}
	e.entries = e.entries[:n]
	for i := range e.entries {
		e.entries[i] = sortEntry{row: int32(i)}
	}
	if e.order.short() {
		at := 0
		for k := range e.order.keys {
			at = e.addShort(k, b.Sel, at)
		}
		return nil
	}
	e.encodeLong(b.Sel, n)
	for i := range e.entries {
		e.entries[i] = entryOf(e.key(i), int32(i))
	}
	return nil
}

// key is row i's whole key, where keys are not short.
func (e *keyEncoder) key(i int) []byte { return e.buf[e.at[i]:e.at[i+1]] }

// ordered maps what numbers gives to the key's bytes, as an unsigned integer of width bytes.
func (k *orderKey) ordered(x int64, order func(int64) int64) uint64 {
	u := uint64(order(x))
	if k.typ.IsSigned() || k.typ.IsFloat() || k.typ.IsTemporal() || k.typ.Kind == sqltype.Decimal || k.typ.Kind == sqltype.Uint64 {
		u ^= 1 << (8*k.width - 1) // orderOf made unsigned 64-bit integers signed
	}
	if k.desc {
		u = ^u
	}
	return u & (math.MaxUint64 >> (64 - 8*k.width))
}

// addShort puts key k of every row at byte at of its entry, and gives the byte after it.
func (e *keyEncoder) addShort(k int, sel []int32, at int) int {
	key, v, n := &e.order.keys[k], e.vals[k], len(e.entries)
	order := orderOf(key.typ)
	null := 0
	if key.nullable {
		null = 1
	}
	up := uint(128 - 8*(at+null+key.width)) // bits to the left of the key's last
	for i, x := range e.in.of(v, sel, n) {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		t := &e.entries[i]
		if null == 1 {
			mark := key.value
			if v.Valid != nil && v.IsNull(r) {
				mark = key.null
			}
			t.put(uint64(mark), up+uint(8*key.width))
			if mark == key.null {
				continue
			}
		}
		t.put(key.ordered(x, order), up)
	}
	return at + null + key.width
}

// put sets the bits of u, moved up bits to the left, in the 128 bits of the entry.
func (t *sortEntry) put(u uint64, up uint) {
	if up >= 64 {
		t.hi |= u << (up - 64)
		return
	}
	t.lo |= u << up
	t.hi |= u >> (64 - up)
}

// encodeLong writes whole keys into buf.
func (e *keyEncoder) encodeLong(sel []int32, n int) {
	if cap(e.at) < n+1 {
		e.at, e.cursor = make([]uint32, n+1), make([]uint32, n)
	}
	e.at, e.cursor = e.at[:n+1], e.cursor[:n]
	clear(e.cursor)
	rowOf := func(i int) int {
		if sel != nil {
			return int(sel[i])
		}
		return i
	}
	for k := range e.order.keys {
		key, v := &e.order.keys[k], e.vals[k]
		for i := range n {
			r := rowOf(i)
			if key.nullable {
				e.cursor[i]++
			}
			if v.Valid != nil && v.IsNull(r) && key.nullable {
				continue
			}
			e.cursor[i] += uint32(key.width)
			if key.width == 0 {
				c, at := v.At(r)
				e.cursor[i] += uint32(escapedLen(vector.Values[string](c)[at]))
			}
		}
	}
	var total uint32
	for i, l := range e.cursor {
		e.at[i], e.cursor[i] = total, total
		total += l
	}
	e.at[n] = total
	if cap(e.buf) < int(total) {
		e.buf = make([]byte, grown(cap(e.buf), int(total)))
	}
	e.buf = e.buf[:total]
	for k := range e.order.keys {
		e.encodeColumn(&e.order.keys[k], e.vals[k], sel, n)
	}
}

func (e *keyEncoder) encodeColumn(key *orderKey, v *vector.Vector, sel []int32, n int) {
	var small []int64
	if key.width > 0 && key.width <= 8 {
		small = e.in.of(v, sel, n)
	}
	order := orderOf(key.typ)
	var word [16]byte
	for i := range n {
		r := i
		if sel != nil {
			r = int(sel[i])
		}
		at := e.cursor[i]
		if key.nullable {
			null := v.Valid != nil && v.IsNull(r)
			e.buf[at] = key.value
			if null {
				e.buf[at] = key.null
			}
			at++
			if null {
				e.cursor[i] = at
				continue
			}
		}
		from := at
		switch {
		case key.width == 0:
			c, k := v.At(r)
			at += uint32(putEscaped(e.buf[at:], vector.Values[string](c)[k]))
		case key.width == 16:
			c, k := v.At(r)
			x := wideOrder(key.typ, wideWord(c, k))
			binary.BigEndian.PutUint64(word[:8], uint64(x.Hi)^1<<63)
			binary.BigEndian.PutUint64(word[8:], x.Lo)
			at += uint32(copy(e.buf[at:], word[:]))
		default:
			binary.BigEndian.PutUint64(word[:8], key.ordered(small[i], order)<<(64-8*key.width))
			at += uint32(copy(e.buf[at:], word[:key.width]))
		}
		if key.desc && (key.width == 0 || key.width == 16) {
			for j := from; j < at; j++ {
				e.buf[j] = ^e.buf[j]
			}
		}
		e.cursor[i] = at
	}
}

// escapedLen is the bytes that putEscaped writes.
func escapedLen(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		if s[i] == 0 {
			n++
		}
	}
	return n
}

// putEscaped writes s so that what is written compares as s does, whatever follows: 0 as 0 255, and 0 0 at the end.
func putEscaped(dst []byte, s string) int {
	k := 0
	for i := range len(s) {
		dst[k] = s[i]
		k++
		if s[i] == 0 {
			dst[k] = 0xff
			k++
		}
	}
	dst[k], dst[k+1] = 0, 0
	return k + 2
}

// longKeys holds the whole keys of rows, where entries do not. Row numbers are those of the entries.
type longKeys struct {
	at   []uint64 // row i is data[at[i]:at[i+1]]; nil: keys are short
	data []byte
}

func (k *longKeys) key(row int32) []byte { return k.data[k.at[row]:k.at[row+1]] }

// add appends the keys of the rows picked.
func (k *longKeys) add(e *keyEncoder, picked []int32) {
	if k.at == nil {
		k.at = append(make([]uint64, 0, 64), 0)
	}
	for _, i := range picked {
		k.data = append(k.data, e.key(int(i))...)
		k.at = append(k.at, uint64(len(k.data)))
	}
}

// compareEntries orders two entries; ka and kb, where not nil, hold their rows' whole keys.
func compareEntries(a, b sortEntry, ka, kb *longKeys) int {
	if a.hi != b.hi {
		return cmp.Compare(a.hi, b.hi)
	}
	if a.lo != b.lo {
		return cmp.Compare(a.lo, b.lo)
	}
	if ka == nil || ka.at == nil {
		return 0
	}
	return bytes.Compare(ka.key(a.row), kb.key(b.row))
}

// radixFrom is how many entries are worth sorting by counting.
const radixFrom = 512

// sortEntries sorts entries; long, where not nil, holds their whole keys. tmp has room for as many.
func sortEntries(ctx context.Context, entries, tmp []sortEntry, long *longKeys) error {
	if len(entries) < radixFrom {
		slices.SortFunc(entries, func(a, b sortEntry) int { return compareEntries(a, b, long, long) })
		return nil
	}
	if err := radixSort(ctx, entries, tmp); err != nil {
		return err
	}
	if long == nil || long.at == nil {
		return nil
	}
	// Rows that agree in the whole entry are in any order yet.
	for i := 0; i < len(entries); {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		j := i + 1
		for j < len(entries) && entries[j].hi == entries[i].hi && entries[j].lo == entries[i].lo {
			j++
		}
		if j-i > 1 {
			slices.SortFunc(entries[i:j], func(a, b sortEntry) int { return bytes.Compare(long.key(a.row), long.key(b.row)) })
		}
		i = j
	}
	return nil
}

// radixSort sorts by hi, then lo, a byte at a time from the last; bytes that all entries share are passed over.
func radixSort(ctx context.Context, entries, tmp []sortEntry) error {
	var diffHi, diffLo uint64
	first := entries[0]
	for _, e := range entries {
		diffHi |= e.hi ^ first.hi
		diffLo |= e.lo ^ first.lo
	}
	from, to := entries, tmp[:len(entries)]
	var count [256]int
	for k := range prefixBytes {
		shift := uint(8 * (k % 8))
		low := k < 8
		diff := diffHi
		if low {
			diff = diffLo
		}
		if diff>>shift&0xff == 0 {
			continue
		}
		clear(count[:])
		for i := range from {
			w := from[i].hi
			if low {
				w = from[i].lo
			}
			count[w>>shift&0xff]++
		}
		sum := 0
		for i, c := range count {
			count[i] = sum
			sum += c
		}
		for at := 0; at < len(from); at += checkEvery {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			for _, e := range from[at:min(at+checkEvery, len(from))] {
				w := e.hi
				if low {
					w = e.lo
				}
				b := w >> shift & 0xff
				to[count[b]] = e
				count[b]++
			}
		}
		from, to = to, from
	}
	if len(entries) > 0 && &from[0] != &entries[0] {
		copy(entries, from)
	}
	return nil
}
