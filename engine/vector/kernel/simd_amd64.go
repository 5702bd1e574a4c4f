package kernel

import (
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/fletchdb/fletch/engine/vector/int128"
)

// simd is a set of instructions the assembly is written for.
type simd uint8

const (
	off simd = iota
	avx2
	avx512
)

func (s simd) String() string { return [...]string{"off", "avx2", "avx512"}[s] }

// level is the set in use. Each ...SIMD function does as many rows as its assembly can, in whole blocks from the first,
// and says how many; the scalar loop does the rest.
var level = choose(os.Getenv("FLETCH_SIMD"), best())

// SIMD names the kernels in use: off (the scalar ones), avx2 or avx512.
func SIMD() string { return level.String() }

// choose lowers best to what is asked for: a name that is unknown, or more than the CPU has, changes nothing.
func choose(name string, best simd) simd {
	for s := off; s < best; s++ {
		if s.String() == name {
			return s
		}
	}
	return best
}

func best() simd {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT:
		return off
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL || !x.HasAVX512VBMI || !x.HasAVX512VBMI2:
		return avx2
	}
	return avx512
}

// Each function does none of the rows and leaves all to the scalar loop.

func gatherCodes8SIMD[T any]([]T, []T, []uint8) int             { return 0 }
func arithSIMD[T Number](arithOp, []T, []T, []T) int            { return 0 }
func arithConstSIMD[T Number](arithOp, []T, []T, T) int         { return 0 }
func absOr64SIMD([]int64) (uint64, int)                         { return 0, 0 }
func absOr32SIMD([]int32) (uint32, int)                         { return 0, 0 }
func sumInt64SIMD([]int64) (int128.Int128, int)                 { return int128.Int128{}, 0 }
func sumInt64MaskedSIMD([]int64, []uint64) (int128.Int128, int) { return int128.Int128{}, 0 }
func sumProductInt64SIMD([]int64, []int64) (int64, int)         { return 0, 0 }
func sumFloat64SIMD(*[8]float64, []float64) int                 { return 0 }
func minMaxInt64SIMD([]int64) (lo, hi int64, n int)             { return math.MaxInt64, math.MinInt64, 0 }
func minMaxInt32SIMD([]int32) (lo, hi int32, n int)             { return math.MaxInt32, math.MinInt32, 0 }
func minMaxFloat64SIMD(*floatRange, []float64) int              { return 0 }
func hashSIMD([]uint64, []int64, bool) int                      { return 0 }
func hash32SIMD([]uint64, []int32) int                          { return 0 }
func prefetch(unsafe.Pointer, uintptr, []uint64, uint)          {}
