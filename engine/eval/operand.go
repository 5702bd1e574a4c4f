package eval

import (
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A number is the Go type of a numeric vector that kernels work on.
type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// An arg is an operand as plain values of T: row i's is at(i). A dictionary is taken apart when it is loaded.
type arg[T vector.Element] struct {
	vals   []T
	mask   int // -1: a value per row; 0: one for all
	buf    []T
	narrow []int64 // of an arg of Int128 over a dictionary of 64-bit decimals
}

func (a *arg[T]) at(i int) T { return a.vals[i&a.mask] }

// load reads v for f's live rows.
func (a *arg[T]) load(v *vector.Vector, f frame) {
	if wide, ok := any(a).(*arg[int128.Int128]); ok && v.Phys == vector.PhysInt64 {
		loadWide(wide, v, f)
		return
	}
	a.mask = -1
	switch v.Form {
	case vector.Const:
		a.vals, a.mask = vector.Values[T](v), 0
	case vector.Flat:
		a.vals = vector.Values[T](v)
	case vector.Dict:
		a.vals = grow(&a.buf, f.n)
		decode(a.vals, vector.Values[T](v.Dict), v, f)
	}
}

// loadWide reads 64-bit decimals as 128-bit ones.
func loadWide(a *arg[int128.Int128], v *vector.Vector, f frame) {
	a.mask = -1
	var narrow []int64
	switch v.Form {
	case vector.Const:
		narrow, a.mask = vector.Values[int64](v), 0
	case vector.Flat:
		narrow = vector.Values[int64](v)
	case vector.Dict:
		narrow = grow(&a.narrow, f.n)
		decode(narrow, vector.Values[int64](v.Dict), v, f)
	}
	a.vals = grow(&a.buf, len(narrow))
	if f.sparse() && a.mask != 0 {
		for _, i := range f.sel {
			a.vals[i] = int128.FromInt64(narrow[i])
		}
		return
	}
	for i, x := range narrow {
		a.vals[i] = int128.FromInt64(x)
	}
}

// decode stores the values of a Dict vector, at the live rows at least.
func decode[T any](dst, dict []T, v *vector.Vector, f frame) {
	if f.sparse() {
		switch v.CodeWidth() {
		case 1:
			decodeSome(dst, dict, v.Codes8(), f.sel)
		case 2:
			decodeSome(dst, dict, v.Codes16(), f.sel)
		default:
			decodeSome(dst, dict, v.Codes32(), f.sel)
		}
		return
	}
	switch v.CodeWidth() {
	case 1:
		kernel.GatherCodes8(dst, dict, v.Codes8())
	case 2:
		kernel.GatherCodes16(dst, dict, v.Codes16())
	default:
		kernel.GatherCodes32(dst, dict, v.Codes32())
	}
}

func decodeSome[T any, C uint8 | uint16 | uint32](dst, dict []T, codes []C, sel []int32) {
	for _, i := range sel {
		dst[i] = dict[codes[i]]
	}
}

// lookup sets the bits of the rows of a Dict vector whose code's bit is set in table, which has a bit per dictionary entry.
func lookup(dst []uint64, v *vector.Vector, table []uint64) {
	switch v.CodeWidth() {
	case 1:
		var four [4]uint64
		copy(four[:], table)
		kernel.Lookup8(dst, v.Codes8(), &four)
	case 2:
		kernel.Lookup16(dst, v.Codes16(), table)
	default:
		kernel.Lookup32(dst, v.Codes32(), table)
	}
}

// A truth is a boolean operand as a bitmap of its rows.
type truth struct {
	bits []uint64
	buf  []uint64
}

func (t *truth) load(v *vector.Vector, f frame) {
	switch v.Form {
	case vector.Flat:
		t.bits = vector.Bits(v)
	case vector.Const:
		t.bits = grow(&t.buf, vector.Words(f.n))
		fill(t.bits, f.n, vector.Bits(v)[0]&1 != 0)
	case vector.Dict:
		t.bits = grow(&t.buf, vector.Words(f.n))
		lookup(t.bits, v, vector.Bits(v.Dict))
	}
}

func (t *truth) at(i int) bool { return t.bits[i>>6]>>(uint(i)&63)&1 != 0 }

// fill makes the first n bits b and the rest of the last word 0.
func fill(bits []uint64, n int, b bool) {
	clear(bits)
	if b {
		kernel.SetRange(bits, 0, n)
	}
}

// A validity combines the NULLs of operands.
type validity struct{ buf []uint64 }

// of is the rows at which no operand is NULL, nil where that is all of them. Constant operands are not NULL.
func (c *validity) of(n int, vs ...*vector.Vector) []uint64 {
	var out []uint64
	for _, v := range vs {
		switch {
		case v.Valid == nil || v.Form == vector.Const:
		case out == nil:
			out = v.Valid
		default:
			words := vector.Words(n)
			dst := grow(&c.buf, words)
			kernel.And(dst, out[:words], v.Valid[:words])
			out = dst
		}
	}
	return out
}

// A chooser lists the rows that are alive and not NULL.
type chooser struct{ sel []int32 }

func (c *chooser) choose(in *instance, f frame, valid []uint64) []int32 {
	if valid == nil {
		return in.rows(f)
	}
	out := grow(&c.sel, f.n)
	if f.sel == nil {
		return out[:kernel.ToSelection(out, valid[:vector.Words(f.n)], f.n)]
	}
	k := 0
	for _, i := range f.sel {
		out[k] = i
		k += int(valid[i>>6] >> (uint(i) & 63) & 1)
	}
	return out[:k]
}

// A column is the result of a node: values of T.
type column[T vector.Element] struct {
	vec  vector.Vector
	vals []T
}

func (c *column[T]) make(n int) []T { return grow(&c.vals, max(n, 1)) }

// give is the first n values as a vector of f.n rows: constant where the operands were and n is 1.
func (c *column[T]) give(t sqltype.Type, f frame, one bool, valid []uint64) *vector.Vector {
	if one {
		vector.SetConst(&c.vec, t, c.vals[:1], f.n)
		if valid != nil && valid[0]&1 == 0 {
			vector.SetNull(&c.vec, t, f.n)
		}
		return &c.vec
	}
	vector.SetFlat(&c.vec, t, c.vals[:f.n], valid)
	return &c.vec
}

func (c *column[T]) null(t sqltype.Type, f frame) *vector.Vector {
	vector.SetNull(&c.vec, t, f.n)
	return &c.vec
}

var boolType = sqltype.Of(sqltype.Bool)

// A bitmap is the result of a node: truth values.
type bitmap struct {
	vec  vector.Vector
	bits []uint64
}

func (b *bitmap) make(n int) []uint64 { return grow(&b.bits, vector.Words(max(n, 1))) }

func (b *bitmap) give(f frame, one bool, valid []uint64) *vector.Vector {
	if one {
		vector.SetConstBool(&b.vec, boolType, b.bits[:1], f.n)
		if valid != nil && valid[0]&1 == 0 {
			vector.SetNull(&b.vec, boolType, f.n)
		}
		return &b.vec
	}
	vector.SetBits(&b.vec, boolType, b.bits[:vector.Words(f.n)], f.n, valid)
	return &b.vec
}

func (b *bitmap) null(f frame) *vector.Vector {
	vector.SetNull(&b.vec, boolType, f.n)
	return &b.vec
}

var firstRow = []int32{0}

// single is f cut down to one row where all operands are constant, so that what they give is computed once; one tells so.
// Without a live row there is nothing to compute.
func single(f frame, vs ...*vector.Vector) (g frame, one bool) {
	for _, v := range vs {
		if v.Form != vector.Const {
			return f, false
		}
	}
	if f.live() == 0 {
		return frame{cols: f.cols, sel: firstRow[:0]}, true
	}
	return frame{cols: f.cols, n: 1, sel: firstRow}, true
}
