// Package kernel is the engine's hot loops as plain functions over slices: unpack, compare, look up, gather, add, sum,
// hash. Each has a scalar Go form, which is its definition, and where it pays an assembly one chosen at start-up.
// It must never know a column, a type of SQL, NULL, or an error: callers prove lengths, codes and ranges first.
//
// A bitmap is a []uint64 with row i at bit i%64 of word i/64; bits past the last row are 0, in arguments and results.
// A selection vector is a []int32 of ascending row numbers. Lengths that disagree are a bug of the caller and panic like
// an index out of range; no kernel reads or writes outside its slices. dst may be the same slice as an argument of the
// same element type; any other overlap is undefined.
package kernel

import "unsafe"

// Integer is the element types of integer vectors.
type Integer interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Number is the element types of numeric vectors.
type Number interface {
	Integer | ~float32 | ~float64
}

// Words gives the length of a bitmap of n rows.
func Words(n int) int { return (n + 63) / 64 }

// bit is 1 for true; it compiles to a SETcc, no branch.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// kind is what an element type is made of, so that named types find their kernels too.
type kind uint8

const (
	kindInt8 kind = iota
	kindInt16
	kindInt32
	kindInt64
	kindUint8
	kindUint16
	kindUint32
	kindUint64
	kindFloat32
	kindFloat64
)

func kindOf[T Number]() kind {
	var zero, one T = 0, 1
	size := unsafe.Sizeof(zero)
	if isFloat[T]() {
		if size == 4 {
			return kindFloat32
		}
		return kindFloat64
	}
	k := kindInt8
	switch size {
	case 2:
		k = kindInt16
	case 4:
		k = kindInt32
	case 8:
		k = kindInt64
	}
	if zero-one > zero {
		k += kindUint8
	}
	return k
}

// isFloat tells by division: 1/2 is 0 in integers only.
func isFloat[T Number]() bool {
	var one, two T = 1, 2
	return one/two != 0
}
