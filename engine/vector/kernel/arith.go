package kernel

import (
	"math/bits"
	"unsafe"
)

// Add stores a+b, integers modulo their width; a and b have len(dst) rows.
func Add[T Number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := arithSIMD(opAdd, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] + b[i]
	}
}

// Sub stores a-b, integers modulo their width; a and b have len(dst) rows.
func Sub[T Number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := arithSIMD(opSub, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] - b[i]
	}
}

// Mul stores a*b, integers modulo their width; a and b have len(dst) rows.
func Mul[T Number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := arithSIMD(opMul, dst, a, b); i < len(dst); i++ {
		dst[i] = a[i] * b[i]
	}
}

// AddConst stores a+c; a has len(dst) rows.
func AddConst[T Number](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := arithConstSIMD(opAdd, dst, a, c); i < len(dst); i++ {
		dst[i] = a[i] + c
	}
}

// SubConst stores a-c; a has len(dst) rows.
func SubConst[T Number](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := arithConstSIMD(opSub, dst, a, c); i < len(dst); i++ {
		dst[i] = a[i] - c
	}
}

// ConstSub stores c-a; a has len(dst) rows.
func ConstSub[T Number](dst []T, c T, a []T) {
	a = a[:len(dst)]
	for i := arithConstSIMD(opRsub, dst, a, c); i < len(dst); i++ {
		dst[i] = c - a[i]
	}
}

// MulConst stores a*c; a has len(dst) rows.
func MulConst[T Number](dst, a []T, c T) {
	a = a[:len(dst)]
	for i := arithConstSIMD(opMul, dst, a, c); i < len(dst); i++ {
		dst[i] = a[i] * c
	}
}

// arithOp names the loop for the assembly's dispatch; opRsub is the constant minus the column.
type arithOp uint8

const (
	opAdd arithOp = iota
	opSub
	opRsub
	opMul
)

// AbsBits64 gives the bits the largest |a[i]| needs, 0 to 64: every |a[i]| < 2^AbsBits64(a). With it a caller proves for a
// whole batch that unchecked arithmetic cannot overflow: a product when the bits of both sides sum to at most 63.
func AbsBits64(a []int64) int {
	m, n := absOr64SIMD(a)
	for _, v := range a[n:] {
		s := v >> 63
		m |= uint64((v ^ s) - s)
	}
	return bits.Len64(m)
}

// AbsBits32 is AbsBits64 for 32-bit integers: 0 to 32.
func AbsBits32(a []int32) int {
	m, n := absOr32SIMD(a)
	for _, v := range a[n:] {
		s := v >> 31
		m |= uint32((v ^ s) - s)
	}
	return bits.Len32(m)
}

// Signed is the integers checked arithmetic is for.
type Signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

// absBits gives the bits needed where finding that is fast, and otherwise a number no proof accepts.
func absBits[T Signed](a []T) int {
	switch p := unsafe.Pointer(unsafe.SliceData(a)); unsafe.Sizeof(T(0)) {
	case 8:
		return AbsBits64(unsafe.Slice((*int64)(p), len(a)))
	case 4:
		return AbsBits32(unsafe.Slice((*int32)(p), len(a)))
	}
	return 64
}

// valueBits is the bits of T without its sign.
func valueBits[T Signed]() int { return int(unsafe.Sizeof(T(0)))*8 - 1 }

// AddChecked is Add that gives the first row whose sum does not fit, or -1. After an overflow dst is undefined, so dst must
// not be a or b where those are still needed. The other checked kernels keep to the same rules.
func AddChecked[T Signed](dst, a, b []T) int {
	a, b = a[:len(dst)], b[:len(dst)]
	if max(absBits(a), absBits(b)) < valueBits[T]() {
		Add(dst, a, b)
		return -1
	}
	for i, x := range a {
		y := b[i]
		s := x + y
		if (x^s)&(y^s) < 0 {
			return i
		}
		dst[i] = s
	}
	return -1
}

// SubChecked is Sub that gives the first row whose difference does not fit, or -1.
func SubChecked[T Signed](dst, a, b []T) int {
	a, b = a[:len(dst)], b[:len(dst)]
	if max(absBits(a), absBits(b)) < valueBits[T]() {
		Sub(dst, a, b)
		return -1
	}
	for i, x := range a {
		y := b[i]
		d := x - y
		if (x^y)&(x^d) < 0 {
			return i
		}
		dst[i] = d
	}
	return -1
}

// MulChecked is Mul that gives the first row whose product does not fit, or -1.
func MulChecked[T Signed](dst, a, b []T) int {
	a, b = a[:len(dst)], b[:len(dst)]
	if absBits(a)+absBits(b) <= valueBits[T]() {
		Mul(dst, a, b)
		return -1
	}
	for i, x := range a {
		p, ok := mulFits(x, b[i])
		if !ok {
			return i
		}
		dst[i] = p
	}
	return -1
}

// AddConstChecked is AddConst that gives the first row whose sum does not fit, or -1.
func AddConstChecked[T Signed](dst, a []T, c T) int {
	a = a[:len(dst)]
	if max(absBits(a), absBits([]T{c})) < valueBits[T]() {
		AddConst(dst, a, c)
		return -1
	}
	for i, x := range a {
		s := x + c
		if (x^s)&(c^s) < 0 {
			return i
		}
		dst[i] = s
	}
	return -1
}

// SubConstChecked is SubConst that gives the first row whose difference does not fit, or -1.
func SubConstChecked[T Signed](dst, a []T, c T) int {
	a = a[:len(dst)]
	if max(absBits(a), absBits([]T{c})) < valueBits[T]() {
		SubConst(dst, a, c)
		return -1
	}
	for i, x := range a {
		d := x - c
		if (x^c)&(x^d) < 0 {
			return i
		}
		dst[i] = d
	}
	return -1
}

// ConstSubChecked is ConstSub that gives the first row whose difference does not fit, or -1.
func ConstSubChecked[T Signed](dst []T, c T, a []T) int {
	a = a[:len(dst)]
	if max(absBits(a), absBits([]T{c})) < valueBits[T]() {
		ConstSub(dst, c, a)
		return -1
	}
	for i, x := range a {
		d := c - x
		if (c^x)&(c^d) < 0 {
			return i
		}
		dst[i] = d
	}
	return -1
}

// MulConstChecked is MulConst that gives the first row whose product does not fit, or -1.
func MulConstChecked[T Signed](dst, a []T, c T) int {
	a = a[:len(dst)]
	if absBits(a)+absBits([]T{c}) <= valueBits[T]() {
		MulConst(dst, a, c)
		return -1
	}
	for i, x := range a {
		p, ok := mulFits(x, c)
		if !ok {
			return i
		}
		dst[i] = p
	}
	return -1
}

// mulFits gives x*y and whether it fits T.
func mulFits[T Signed](x, y T) (T, bool) {
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	h := int64(hi) - int64(x)>>63&int64(y) - int64(y)>>63&int64(x)
	p := T(lo)
	return p, int64(p) == int64(lo) && h == int64(lo)>>63
}
