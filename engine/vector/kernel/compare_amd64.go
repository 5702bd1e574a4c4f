package kernel

import "unsafe"

// rel gives the relation that the assembly knows by number – 0 is =, 1 is <, 2 is > – and whether op is its complement.
func (op Op) rel() (rel int, flip uint64) {
	switch op {
	case Ne:
		return 0, ^uint64(0)
	case Lt:
		return 1, 0
	case Ge:
		return 1, ^uint64(0)
	case Gt:
		return 2, 0
	case Le:
		return 2, ^uint64(0)
	}
	return 0, 0
}

func compareSIMD[T Number](op Op, dst []uint64, a []T, c T) int {
	words := len(a) / 64
	if level == off || words == 0 || c != c {
		return 0
	}
	rel, flip := op.rel()
	d, p := unsafe.SliceData(dst), unsafe.Pointer(unsafe.SliceData(a))
	wide := level == avx512
	switch kindOf[T]() {
	case kindInt8:
		if wide {
			compareInt8AVX512(d, (*int8)(p), words, int8(c), rel, flip)
		} else {
			compareInt8AVX2(d, (*int8)(p), words, int8(c), rel, flip)
		}
	case kindInt16:
		if wide {
			compareInt16AVX512(d, (*int16)(p), words, int16(c), rel, flip)
		} else {
			compareInt16AVX2(d, (*int16)(p), words, int16(c), rel, flip)
		}
	case kindInt32:
		if wide {
			compareInt32AVX512(d, (*int32)(p), words, int32(c), rel, flip)
		} else {
			compareInt32AVX2(d, (*int32)(p), words, int32(c), rel, flip)
		}
	case kindInt64:
		if wide {
			compareInt64AVX512(d, (*int64)(p), words, int64(c), rel, flip)
		} else {
			compareInt64AVX2(d, (*int64)(p), words, int64(c), rel, flip)
		}
	case kindUint8:
		if wide {
			compareUint8AVX512(d, (*uint8)(p), words, uint8(c), rel, flip)
		} else {
			compareUint8AVX2(d, (*uint8)(p), words, uint8(c), rel, flip)
		}
	case kindUint16:
		if wide {
			compareUint16AVX512(d, (*uint16)(p), words, uint16(c), rel, flip)
		} else {
			compareUint16AVX2(d, (*uint16)(p), words, uint16(c), rel, flip)
		}
	case kindUint32:
		if wide {
			compareUint32AVX512(d, (*uint32)(p), words, uint32(c), rel, flip)
		} else {
			compareUint32AVX2(d, (*uint32)(p), words, uint32(c), rel, flip)
		}
	case kindUint64:
		if wide {
			compareUint64AVX512(d, (*uint64)(p), words, uint64(c), rel, flip)
		} else {
			compareUint64AVX2(d, (*uint64)(p), words, uint64(c), rel, flip)
		}
	case kindFloat32:
		if wide {
			compareFloat32AVX512(d, (*float32)(p), words, float32(c), rel, flip)
		} else {
			compareFloat32AVX2(d, (*float32)(p), words, float32(c), rel, flip)
		}
	case kindFloat64:
		if wide {
			compareFloat64AVX512(d, (*float64)(p), words, float64(c), rel, flip)
		} else {
			compareFloat64AVX2(d, (*float64)(p), words, float64(c), rel, flip)
		}
	}
	return words * 64
}

func compareColumnsSIMD[T Number](op Op, dst []uint64, a, b []T) int {
	words := len(a) / 64
	if level == off || words == 0 {
		return 0
	}
	rel, flip := op.rel()
	d, p, q := unsafe.SliceData(dst), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	wide := level == avx512
	switch kindOf[T]() {
	case kindInt32:
		if wide {
			compareColumnsInt32AVX512(d, (*int32)(p), (*int32)(q), words, rel, flip)
		} else {
			compareColumnsInt32AVX2(d, (*int32)(p), (*int32)(q), words, rel, flip)
		}
	case kindInt64:
		if wide {
			compareColumnsInt64AVX512(d, (*int64)(p), (*int64)(q), words, rel, flip)
		} else {
			compareColumnsInt64AVX2(d, (*int64)(p), (*int64)(q), words, rel, flip)
		}
	case kindFloat64:
		if wide {
			compareColumnsFloat64AVX512(d, (*float64)(p), (*float64)(q), words, rel, flip)
		} else {
			compareColumnsFloat64AVX2(d, (*float64)(p), (*float64)(q), words, rel, flip)
		}
	default:
		return 0
	}
	return words * 64
}

func betweenSIMD[T Integer](dst []uint64, a []T, lo, hi T) int {
	words := len(a) / 64
	if level == off || words == 0 {
		return 0
	}
	d, p := unsafe.SliceData(dst), unsafe.Pointer(unsafe.SliceData(a))
	wide := level == avx512
	switch kindOf[T]() {
	case kindInt32:
		if wide {
			betweenInt32AVX512(d, (*int32)(p), words, int32(lo), int32(hi))
		} else {
			betweenInt32AVX2(d, (*int32)(p), words, int32(lo), int32(hi))
		}
	case kindInt64:
		if wide {
			betweenInt64AVX512(d, (*int64)(p), words, int64(lo), int64(hi))
		} else {
			betweenInt64AVX2(d, (*int64)(p), words, int64(lo), int64(hi))
		}
	default:
		return 0
	}
	return words * 64
}
