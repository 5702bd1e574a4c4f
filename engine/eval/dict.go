package eval

import (
	"context"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A dictNode is an expression over one column. Where the column comes as a dictionary the expression is computed once per
// dictionary, not per row: a truth value then is a look-up of codes, another value a new dictionary under the same codes.
//
// A dictionary has values that no live row has, and they must not raise errors: where computing over it fails, rows are
// computed one by one.
type dictNode struct {
	ctx    context.Context // of the query that this is part of
	typ    sqltype.Type
	index  int
	column sqltype.Type // of the column
	rows   node         // the expression over rows
	make   factory
	slots  [4]dictSlot
	next   int // the slot to be used for a new dictionary
	last   int // the slot used last
	vec    vector.Vector
	bits   []uint64
	valid  []uint64
	ofNull nullResult
}

// nullResult is what an expression gives for NULL.
type nullResult uint8

const (
	unasked nullResult = iota
	isNull
	isFalse
	isTrue
	isOther // a value, or an error
)

// A dictSlot is what is known of one dictionary.
type dictSlot struct {
	id     uint64 // of the dictionary that was the input; 0: none
	state  dictState
	seen   int // live rows that have come
	in     *instance
	root   node
	cols   []*vector.Vector
	values vector.Vector // per entry, Flat
	outID  uint64
	table  []uint64 // of a truth value: bit per entry
	valid  []uint64 // bit per entry: not NULL; nil: all
}

type dictState uint8

const (
	waiting dictState = iota // too few rows have come to make it pay
	ready
	failed
)

func (d *dictNode) eval(f frame) (*vector.Vector, error) {
	v, err := f.column(d.index, d.column)
	if err != nil {
		return nil, err
	}
	if v.Form != vector.Dict {
		return d.rows.eval(f)
	}
	s := d.slot(v.DictID)
	if s.state == waiting {
		// Computing over the dictionary costs its entries, over rows the rows: begin once the rows so far have cost as much.
		if s.seen += f.live(); v.Dict.Len <= 256 || v.Dict.Len <= 2*s.seen {
			s.compute(d, v.Dict)
		}
	}
	if s.state != ready {
		return d.rows.eval(f)
	}
	if d.typ.Kind == sqltype.Bool {
		return d.truth(s, v, f)
	}
	if v.Valid != nil && d.nullResult(v.Type) != isNull {
		return d.rows.eval(f)
	}
	valid := v.Valid
	if s.valid != nil {
		valid = grow(&d.valid, vector.Words(f.n))
		lookup(valid, v, s.valid)
		if v.Valid != nil {
			kernel.And(valid, valid, v.Valid[:len(valid)])
		}
	}
	switch v.CodeWidth() {
	case 1:
		vector.SetDict(&d.vec, &s.values, s.outID, v.Codes8(), valid)
	case 2:
		vector.SetDict(&d.vec, &s.values, s.outID, v.Codes16(), valid)
	default:
		vector.SetDict(&d.vec, &s.values, s.outID, v.Codes32(), valid)
	}
	return &d.vec, nil
}

// known tells whether d's values are there already, so that it costs a look-up at most and cannot fail.
func (d *dictNode) known(f frame) bool {
	v, err := f.column(d.index, d.column)
	return err == nil && v.Form == vector.Dict && v.DictID == d.slots[d.last].id && d.slots[d.last].state == ready && (v.Valid == nil || d.ofNull == isNull)
}

// truth is the result where it is a truth value.
func (d *dictNode) truth(s *dictSlot, v *vector.Vector, f frame) (*vector.Vector, error) {
	words := vector.Words(f.n)
	bits := grow(&d.bits, words)
	lookup(bits, v, s.table)
	valid := v.Valid
	if s.valid != nil {
		valid = grow(&d.valid, words)
		lookup(valid, v, s.valid)
	}
	if v.Valid != nil {
		notNull := v.Valid[:words]
		switch d.nullResult(v.Type) {
		case isNull:
			if s.valid != nil {
				kernel.And(valid, valid, notNull)
			}
		case isFalse:
			kernel.And(bits, bits, notNull)
			valid = d.orNull(s, valid, notNull, f.n)
		case isTrue:
			for i, w := range notNull {
				bits[i] = bits[i]&w | ^w
			}
			trim(bits, f.n)
			valid = d.orNull(s, valid, notNull, f.n)
		default:
			return d.rows.eval(f)
		}
	}
	vector.SetBits(&d.vec, d.typ, bits, f.n, valid)
	return &d.vec, nil
}

// orNull is the validity where NULL gives a value: all rows, but for entries that give NULL.
func (d *dictNode) orNull(s *dictSlot, valid, notNull []uint64, n int) []uint64 {
	if s.valid == nil {
		return nil
	}
	for i, w := range notNull {
		valid[i] |= ^w
	}
	trim(valid, n)
	return valid
}

// trim clears the bits after the first n.
func trim(bits []uint64, n int) {
	if r := uint(n) & 63; r != 0 {
		bits[len(bits)-1] &= 1<<r - 1
	}
}

func (d *dictNode) slot(id uint64) *dictSlot {
	if d.slots[d.last].id == id {
		return &d.slots[d.last]
	}
	for i := range d.slots {
		if d.slots[i].id == id {
			d.last = i
			return &d.slots[i]
		}
	}
	s := &d.slots[d.next]
	d.last, d.next = d.next, (d.next+1)%len(d.slots)
	s.id, s.state, s.seen = id, waiting, 0
	return s
}

// nullResult asks, once, what the expression gives for NULL.
func (d *dictNode) nullResult(t sqltype.Type) nullResult {
	if d.ofNull != unasked {
		return d.ofNull
	}
	var null vector.Vector
	vector.SetNull(&null, t, 1)
	cols := make([]*vector.Vector, d.index+1)
	cols[d.index] = &null
	in := &instance{ctx: d.ctx}
	v, err := d.make(in).eval(frame{cols: cols, n: 1})
	switch {
	case err != nil:
		d.ofNull = isOther
	case v.IsNull(0):
		d.ofNull = isNull
	case d.typ.Kind == sqltype.Bool && ValueAt(v, 0).IsTrue():
		d.ofNull = isTrue
	case d.typ.Kind == sqltype.Bool:
		d.ofNull = isFalse
	default:
		d.ofNull = isOther
	}
	return d.ofNull
}

// compute fills s for dict. Results are copied: the dictionary's memory may go while another of the same id comes.
func (s *dictSlot) compute(d *dictNode, dict *vector.Vector) {
	if s.root == nil {
		s.in = &instance{ctx: d.ctx}
		s.root = d.make(s.in)
		s.cols = make([]*vector.Vector, d.index+1)
	}
	s.in.mem.reset()
	s.cols[d.index] = dict
	f := frame{cols: s.cols, n: dict.Len}
	v, err := s.root.eval(f)
	if err != nil {
		s.state = failed
		return
	}
	s.state = ready
	s.valid = nil
	words := vector.Words(dict.Len)
	if v.Valid != nil {
		s.valid = make([]uint64, words)
		if v.Form == vector.Const {
			fill(s.valid, f.n, v.Valid[0]&1 != 0)
		} else {
			copy(s.valid, v.Valid[:words])
		}
	}
	if d.typ.Kind == sqltype.Bool {
		var t truth
		t.load(v, f)
		s.table = append(s.table[:0], t.bits[:words]...)
		return
	}
	s.outID = vector.NewDictID()
	keep(&s.values, v, f)
}

// keep makes dst a Flat copy of v without NULLs, in memory of its own: consumers may hold on to it as long as the batch lives.
func keep(dst, v *vector.Vector, f frame) {
	switch v.Phys {
	case vector.PhysInt8:
		keepValues[int8](dst, v, f)
	case vector.PhysInt16:
		keepValues[int16](dst, v, f)
	case vector.PhysInt32:
		keepValues[int32](dst, v, f)
	case vector.PhysInt64:
		keepValues[int64](dst, v, f)
	case vector.PhysUint8:
		keepValues[uint8](dst, v, f)
	case vector.PhysUint16:
		keepValues[uint16](dst, v, f)
	case vector.PhysUint32:
		keepValues[uint32](dst, v, f)
	case vector.PhysUint64:
		keepValues[uint64](dst, v, f)
	case vector.PhysFloat32:
		keepValues[float32](dst, v, f)
	case vector.PhysFloat64:
		keepValues[float64](dst, v, f)
	case vector.PhysInt128:
		keepValues[int128.Int128](dst, v, f)
	case vector.PhysInterval:
		keepValues[vector.Interval](dst, v, f)
	case vector.PhysString:
		keepStrings(dst, v, f)
	}
}

func keepValues[T vector.Element](dst, v *vector.Vector, f frame) {
	var a arg[T]
	a.load(v, f)
	out := make([]T, f.n)
	for i := range out {
		out[i] = a.at(i)
	}
	vector.SetFlat(dst, v.Type, out, nil)
}

func keepStrings(dst, v *vector.Vector, f frame) {
	var a arg[string]
	a.load(v, f)
	size := 0
	for i := range f.n {
		if !v.IsNull(i) {
			size += len(a.at(i))
		}
	}
	mem := arena{buf: make([]byte, 0, size)}
	out := make([]string, f.n)
	for i := range out {
		if !v.IsNull(i) {
			out[i] = mem.keep(append(mem.tail(), a.at(i)...))
		}
	}
	vector.SetFlat(dst, v.Type, out, nil)
}
