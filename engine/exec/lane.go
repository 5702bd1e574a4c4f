package exec

import (
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A word is what a fixed-width value is copied as, whatever it means.
type word interface {
	uint8 | uint16 | uint32 | uint64 | int128.Int128
}

// widthOf is the bytes of a value of form p: 0 for PhysBool, whose values are bits, and PhysString, whose values are not of
// fixed width.
func widthOf(p vector.Phys) int {
	switch p {
	case vector.PhysInt8, vector.PhysUint8:
		return 1
	case vector.PhysInt16, vector.PhysUint16:
		return 2
	case vector.PhysInt32, vector.PhysUint32, vector.PhysFloat32:
		return 4
	case vector.PhysInt64, vector.PhysUint64, vector.PhysFloat64:
		return 8
	case vector.PhysInt128, vector.PhysInterval:
		return 16
	}
	return 0
}

// words is the elements of a Flat or Const vector of T's width.
func words[T word](v *vector.Vector) []T {
	switch v.Phys {
	case vector.PhysInt8:
		return recast[T](vector.Values[int8](v))
	case vector.PhysInt16:
		return recast[T](vector.Values[int16](v))
	case vector.PhysInt32:
		return recast[T](vector.Values[int32](v))
	case vector.PhysInt64:
		return recast[T](vector.Values[int64](v))
	case vector.PhysUint8:
		return recast[T](vector.Values[uint8](v))
	case vector.PhysUint16:
		return recast[T](vector.Values[uint16](v))
	case vector.PhysUint32:
		return recast[T](vector.Values[uint32](v))
	case vector.PhysUint64:
		return recast[T](vector.Values[uint64](v))
	case vector.PhysFloat32:
		return recast[T](vector.Values[float32](v))
	case vector.PhysFloat64:
		return recast[T](vector.Values[float64](v))
	case vector.PhysInterval:
		return recast[T](vector.Values[vector.Interval](v))
	}
	return recast[T](vector.Values[int128.Int128](v))
}

// recast views a slice as one of another element type of the same size.
func recast[T, S any](s []S) []T {
	if unsafe.Sizeof(*new(T)) != unsafe.Sizeof(*new(S)) {
		panic("exec: values recast to another width")
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// A lane is one column that an operator gives: the vector, and the memory it is made in, which the next batch uses again.
type lane struct {
	vec   vector.Vector
	mem   []uint64
	strs  []string
	valid []uint64
	wide  []int64
}

// roomWide is n integers beside l's own memory, for values on their way to a narrower form.
func (l *lane) roomWide(n int) []int64 {
	if cap(l.wide) < n {
		l.wide = make([]int64, n)
	}
	return l.wide[:n]
}

// room is n elements of l's memory, with whatever stood there.
func room[T any](l *lane, n int) []T {
	need := (n*int(unsafe.Sizeof(*new(T))) + 7) / 8
	if cap(l.mem) < need {
		l.mem = make([]uint64, max(need, 8))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(l.mem[:cap(l.mem)]))), n)
}

// roomStrings is n strings of l's memory.
func (l *lane) roomStrings(n int) []string {
	if cap(l.strs) < n {
		l.strs = make([]string, max(n, 8))
	}
	return l.strs[:n]
}

// roomValid is a cleared bitmap of n rows.
func (l *lane) roomValid(n int) []uint64 {
	w := vector.Words(n)
	if cap(l.valid) < w {
		l.valid = make([]uint64, max(w, 1))
	}
	v := l.valid[:w]
	clear(v)
	return v
}

// flat makes l's vector n rows of type t over what stands in its memory in form p.
func (l *lane) flat(t sqltype.Type, p vector.Phys, n int, valid []uint64) *vector.Vector {
	switch p {
	case vector.PhysBool:
		vector.SetBits(&l.vec, t, room[uint64](l, max(1, vector.Words(n))), n, valid)
	case vector.PhysString:
		vector.SetFlat(&l.vec, t, l.roomStrings(n), valid)
	case vector.PhysNone:
		vector.SetNull(&l.vec, t, n)
	default:
		room[uint64](l, (n*widthOf(p)+7)/8)
		l.view(t, p, unsafe.Pointer(unsafe.SliceData(l.mem)), n)
		l.vec.Valid = valid
	}
	return &l.vec
}

// view makes l's vector n rows of type t over the values of form p, of fixed width, at data.
func (l *lane) view(t sqltype.Type, p vector.Phys, data unsafe.Pointer, n int) {
	switch p {
	case vector.PhysInt8:
		view[int8](l, t, data, n)
	case vector.PhysInt16:
		view[int16](l, t, data, n)
	case vector.PhysInt32:
		view[int32](l, t, data, n)
	case vector.PhysInt64:
		view[int64](l, t, data, n)
	case vector.PhysUint8:
		view[uint8](l, t, data, n)
	case vector.PhysUint16:
		view[uint16](l, t, data, n)
	case vector.PhysUint32:
		view[uint32](l, t, data, n)
	case vector.PhysUint64:
		view[uint64](l, t, data, n)
	case vector.PhysFloat32:
		view[float32](l, t, data, n)
	case vector.PhysFloat64:
		view[float64](l, t, data, n)
	case vector.PhysInt128:
		view[int128.Int128](l, t, data, n)
	case vector.PhysInterval:
		view[vector.Interval](l, t, data, n)
	}
}

func view[T vector.Element](l *lane, t sqltype.Type, data unsafe.Pointer, n int) {
	vector.SetFlat(&l.vec, t, unsafe.Slice((*T)(data), n), nil)
}

// take makes l's vector the rows idx of v, in that order. Codes stay codes and a constant one.
func (l *lane) take(v *vector.Vector, idx []int32) *vector.Vector {
	n := len(idx)
	if v.Form == vector.Const {
		l.vec = *v
		l.vec.Len = n
		return &l.vec
	}
	valid := l.takeValid(v.Valid, idx)
	if v.Form == vector.Dict {
		switch v.CodeWidth() {
		case 1:
			dst := room[uint8](l, n)
			kernel.Gather(dst, v.Codes8(), idx)
			vector.SetDict(&l.vec, v.Dict, v.DictID, dst, valid)
		case 2:
			dst := room[uint16](l, n)
			kernel.Gather(dst, v.Codes16(), idx)
			vector.SetDict(&l.vec, v.Dict, v.DictID, dst, valid)
		default:
			dst := room[uint32](l, n)
			kernel.Gather(dst, v.Codes32(), idx)
			vector.SetDict(&l.vec, v.Dict, v.DictID, dst, valid)
		}
		l.vec.Type = v.Type
		return &l.vec
	}
	switch widthOf(v.Phys) {
	case 1:
		kernel.Gather(room[uint8](l, n), words[uint8](v), idx)
	case 2:
		kernel.Gather(room[uint16](l, n), words[uint16](v), idx)
	case 4:
		kernel.Gather(room[uint32](l, n), words[uint32](v), idx)
	case 8:
		kernel.Gather(room[uint64](l, n), words[uint64](v), idx)
	case 16:
		kernel.Gather(room[int128.Int128](l, n), words[int128.Int128](v), idx)
	default:
		if v.Phys == vector.PhysString {
			kernel.Gather(l.roomStrings(n), vector.Values[string](v), idx)
			break
		}
		takeBits(room[uint64](l, max(1, vector.Words(n))), vector.Bits(v), idx)
	}
	return l.flat(v.Type, v.Phys, n, valid)
}

func (l *lane) takeValid(valid []uint64, idx []int32) []uint64 {
	if valid == nil {
		return nil
	}
	dst := l.roomValid(len(idx))
	takeBits(dst, valid, idx)
	return dst
}

// takeBits stores bit idx[i] of src as bit i of dst, whose words it clears.
func takeBits(dst, src []uint64, idx []int32) {
	clear(dst)
	for i, x := range idx {
		dst[i>>6] |= src[x>>6] >> (uint(x) & 63) & 1 << (uint(i) & 63)
	}
}

// bitAt is bit i of a bitmap.
func bitAt(bm []uint64, i int) bool { return bm[i>>6]>>(uint(i)&63)&1 != 0 }

// setBit sets bit i of a bitmap.
func setBit(bm []uint64, i int) { bm[i>>6] |= 1 << (uint(i) & 63) }

// identity is the row numbers from 0, for a batch without a selection.
type identity []int32

// upTo is the numbers 0 … n−1; the slice stays valid and unchanged.
func (id *identity) upTo(n int) []int32 {
	for i := len(*id); i < n; i++ {
		*id = append(*id, int32(i))
	}
	return (*id)[:n]
}
