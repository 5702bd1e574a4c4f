package kernel

import "unsafe"

// arithBlock is the bytes of a column that a loop does a turn.
const arithBlock = 128

func arithSIMD[T Number](op arithOp, dst, a, b []T) int {
	rows := arithBlock / int(unsafe.Sizeof(T(0)))
	blocks := len(dst) / rows
	if level == off || blocks == 0 {
		return 0
	}
	d, p, q := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	switch kindOf[T]() {
	case kindInt32, kindUint32:
		d, p, q := (*int32)(d), (*int32)(p), (*int32)(q)
		switch op {
		case opAdd:
			addInt32AVX2(d, p, q, blocks)
		case opSub:
			subInt32AVX2(d, p, q, blocks)
		case opMul:
			mulInt32AVX2(d, p, q, blocks)
		}
	case kindInt64, kindUint64:
		d, p, q := (*int64)(d), (*int64)(p), (*int64)(q)
		switch op {
		case opAdd:
			addInt64AVX2(d, p, q, blocks)
		case opSub:
			subInt64AVX2(d, p, q, blocks)
		case opMul:
			mulInt64AVX2(d, p, q, blocks)
		}
	case kindFloat64:
		d, p, q := (*float64)(d), (*float64)(p), (*float64)(q)
		switch op {
		case opAdd:
			addFloat64AVX2(d, p, q, blocks)
		case opSub:
			subFloat64AVX2(d, p, q, blocks)
		case opMul:
			mulFloat64AVX2(d, p, q, blocks)
		}
	default:
		return 0
	}
	return blocks * rows
}

func arithConstSIMD[T Number](op arithOp, dst, a []T, c T) int {
	rows := arithBlock / int(unsafe.Sizeof(c))
	blocks := len(dst) / rows
	if level == off || blocks == 0 {
		return 0
	}
	if op == opSub {
		op, c = opAdd, -c // the same for floats too, NaN and zeros included
	}
	d, p := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a))
	switch kindOf[T]() {
	case kindInt32, kindUint32:
		d, p, c := (*int32)(d), (*int32)(p), int32(c)
		switch op {
		case opAdd:
			addConstInt32AVX2(d, p, c, blocks)
		case opRsub:
			rsubConstInt32AVX2(d, p, c, blocks)
		case opMul:
			mulConstInt32AVX2(d, p, c, blocks)
		}
	case kindInt64, kindUint64:
		d, p, c := (*int64)(d), (*int64)(p), int64(c)
		switch op {
		case opAdd:
			addConstInt64AVX2(d, p, c, blocks)
		case opRsub:
			rsubConstInt64AVX2(d, p, c, blocks)
		case opMul:
			mulConstInt64AVX2(d, p, c, blocks)
		}
	case kindFloat64:
		d, p, c := (*float64)(d), (*float64)(p), float64(c)
		switch op {
		case opAdd:
			addConstFloat64AVX2(d, p, c, blocks)
		case opRsub:
			rsubConstFloat64AVX2(d, p, c, blocks)
		case opMul:
			mulConstFloat64AVX2(d, p, c, blocks)
		}
	default:
		return 0
	}
	return blocks * rows
}

func absOr64SIMD(a []int64) (m uint64, n int) {
	switch level {
	case avx512:
		var lanes [8]uint64
		absOrInt64AVX512(unsafe.SliceData(a), len(a)/16, &lanes)
		return orAll(lanes[:]), len(a) &^ 15
	case avx2:
		var lanes [4]uint64
		absOrInt64AVX2(unsafe.SliceData(a), len(a)/8, &lanes)
		return orAll(lanes[:]), len(a) &^ 7
	}
	return 0, 0
}

func absOr32SIMD(a []int32) (m uint32, n int) {
	if level == off {
		return 0, 0
	}
	var lanes [8]uint32
	absOrInt32AVX2(unsafe.SliceData(a), len(a)/16, &lanes)
	return orAll(lanes[:]), len(a) &^ 15
}

func orAll[T uint32 | uint64](lanes []T) (m T) {
	for _, l := range lanes {
		m |= l
	}
	return m
}
