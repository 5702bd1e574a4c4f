package eval

import (
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A merger puts a column together from parts of others: the arms of a CASE. Rows that no part has are NULL. The first part may
// be of all rows and a base for the others; else no row is put twice.
type merger interface {
	begin(n int)
	put(v *vector.Vector, f frame) // v at f's live rows
	give(f frame) *vector.Vector
}

// newMerger makes mergers for columns of type t; ok is false for a nested type.
func newMerger(t sqltype.Type) (func() merger, bool) {
	switch vector.PhysOf(t) {
	case vector.PhysBool:
		return func() merger { return &bitMerger{} }, true
	case vector.PhysInt8:
		return mergerOf[int8](t)
	case vector.PhysInt16:
		return mergerOf[int16](t)
	case vector.PhysInt32:
		return mergerOf[int32](t)
	case vector.PhysInt64:
		return mergerOf[int64](t)
	case vector.PhysUint8:
		return mergerOf[uint8](t)
	case vector.PhysUint16:
		return mergerOf[uint16](t)
	case vector.PhysUint32:
		return mergerOf[uint32](t)
	case vector.PhysUint64:
		return mergerOf[uint64](t)
	case vector.PhysFloat32:
		return mergerOf[float32](t)
	case vector.PhysFloat64:
		return mergerOf[float64](t)
	case vector.PhysInt128:
		if t.Kind == sqltype.Decimal {
			return func() merger {
				return &wideMerger{narrow: valueMerger[int64]{t: t}, wide: valueMerger[int128.Int128]{t: t}}
			}, true
		}
		return mergerOf[int128.Int128](t)
	case vector.PhysString:
		return mergerOf[string](t)
	case vector.PhysInterval:
		return mergerOf[vector.Interval](t)
	}
	return nil, false
}

func mergerOf[T vector.Element](t sqltype.Type) (func() merger, bool) {
	return func() merger { return &valueMerger[T]{t: t} }, true
}

type valueMerger[T vector.Element] struct {
	t   sqltype.Type
	a   arg[T]
	out column[T]
	has presence
}

func (m *valueMerger[T]) begin(n int) {
	vals := m.out.make(n)
	if texts, ok := any(&vals).(*[]string); ok {
		clear(*texts) // what is left there from another batch may be gone
	}
	m.has.begin(n)
}

func (m *valueMerger[T]) put(v *vector.Vector, f frame) {
	if v.IsConstNull() {
		m.has.clear(f)
		return
	}
	m.a.load(v, f)
	m.has.mark(v, f)
	out, vals, mask := m.out.vals, m.a.vals, m.a.mask
	switch {
	case f.sel == nil && mask != 0:
		copy(out, vals[:f.n])
	case f.sel == nil:
		for i := range out[:f.n] {
			out[i] = vals[0]
		}
	case mask == 0:
		x := vals[0]
		for _, i := range f.sel {
			out[i] = x
		}
	default:
		for _, i := range f.sel {
			out[i] = vals[i]
		}
	}
}

func (m *valueMerger[T]) give(f frame) *vector.Vector {
	return m.out.give(m.t, f, false, m.has.valid(f))
}

// A presence knows which rows of a merged column have a value.
type presence struct {
	bits []uint64
	rows int  // that were given a value
	base bool // all rows were given one to begin with
	some bool // some part had NULLs of its own, so that rows and base say too much
}

func (p *presence) begin(n int) {
	clear(grow(&p.bits, vector.Words(n)))
	p.rows, p.base, p.some = 0, false, false
}

// mark notes v, which is not a constant NULL, at f's live rows.
func (p *presence) mark(v *vector.Vector, f frame) {
	p.rows += f.live()
	known := v.Valid != nil && v.Form != vector.Const
	p.some = p.some || known
	switch {
	case f.sel == nil && !known:
		kernel.SetRange(p.bits, 0, f.n)
		p.base = true
	case f.sel == nil:
		copy(p.bits, v.Valid[:vector.Words(f.n)])
	case known:
		for _, i := range f.sel {
			p.bits[i>>6] = p.bits[i>>6]&^(1<<(uint(i)&63)) | v.Valid[i>>6]&(1<<(uint(i)&63))
		}
	case !p.base || p.some:
		for _, i := range f.sel {
			p.bits[i>>6] |= 1 << (uint(i) & 63)
		}
	}
}

// clear makes f's live rows NULL.
func (p *presence) clear(f frame) {
	if !p.base {
		return // no row is given a value twice but over a base
	}
	p.some = true
	if f.sel == nil {
		clear(p.bits[:vector.Words(f.n)])
	}
	for _, i := range f.sel {
		p.bits[i>>6] &^= 1 << (uint(i) & 63)
	}
}

// valid is the validity of f's rows, nil where all live ones have a value.
func (p *presence) valid(f frame) []uint64 {
	if !p.some && (p.base || p.rows == f.live()) {
		return nil
	}
	return p.bits[:vector.Words(f.n)]
}

// A wideMerger merges decimals of more than 18 digits, in 64 bits as long as all parts are.
type wideMerger struct {
	narrow valueMerger[int64]
	wide   valueMerger[int128.Int128]
	isWide bool
	n      int
}

func (m *wideMerger) begin(n int) {
	m.narrow.begin(n)
	m.isWide, m.n = false, n
}

func (m *wideMerger) put(v *vector.Vector, f frame) {
	if (v.Phys == vector.PhysInt64 || v.IsConstNull()) && !m.isWide {
		m.narrow.put(v, f)
		return
	}
	if !m.isWide {
		m.isWide = true
		m.wide.begin(m.n)
		m.wide.put(m.narrow.give(frame{n: m.n}), frame{n: m.n})
	}
	m.wide.put(v, f)
}

func (m *wideMerger) give(f frame) *vector.Vector {
	if m.isWide {
		return m.wide.give(f)
	}
	return m.narrow.give(f)
}

type bitMerger struct {
	t    truth
	out  bitmap
	has  presence
	mask []uint64
}

func (m *bitMerger) begin(n int) {
	clear(m.out.make(n))
	m.has.begin(n)
}

func (m *bitMerger) put(v *vector.Vector, f frame) {
	if v.IsConstNull() {
		m.has.clear(f)
		return
	}
	m.t.load(v, f)
	m.has.mark(v, f)
	mask := openRows(&m.mask, f)
	for w, rows := range mask {
		m.out.bits[w] = m.out.bits[w]&^rows | m.t.bits[w]&rows
	}
}

func (m *bitMerger) give(f frame) *vector.Vector {
	return m.out.give(f, false, m.has.valid(f))
}
