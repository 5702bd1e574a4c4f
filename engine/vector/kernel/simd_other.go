//go:build !amd64

package kernel

import (
	"math"
	"unsafe"

	"github.com/fletchdb/fletch/engine/vector/int128"
)

// SIMD names the kernels in use: "off" is the scalar ones.
func SIMD() string { return "off" }

// Each function does none of the rows and leaves all to the scalar loop; simd_amd64.go says what they are.

func compareSIMD[T Number](Op, []uint64, []T, T) int                         { return 0 }
func compareColumnsSIMD[T Number](Op, []uint64, []T, []T) int                { return 0 }
func betweenSIMD[T Integer]([]uint64, []T, T, T) int                         { return 0 }
func toSelectionSIMD([]int32, []uint64) (k, words int)                       { return 0, 0 }
func unpack8SIMD([]uint8, []byte, uint) int                                  { return 0 }
func unpack16SIMD([]uint16, []byte, uint) int                                { return 0 }
func unpack32SIMD([]uint32, []byte, uint) int                                { return 0 }
func lookup8SIMD([]uint64, []uint8, *[4]uint64) int                          { return 0 }
func lookup16SIMD([]uint64, []uint16, []uint64) int                          { return 0 }
func countByGroupSIMD[G ~uint8 | ~uint16 | ~uint32]([]int64, []G) int        { return 0 }
func lookup32SIMD([]uint64, []uint32, []uint64) int                          { return 0 }
func sumByGroupSIMD[G ~uint8 | ~uint16 | ~uint32]([]int64, []G, []int64) int { return 0 }
func canSweep() bool                                                         { return false }
func pairIndexSIMD([]byte, int, byte, byte) (n int, found bool)              { return 0, false }
func maxCodeSIMD[C uint8 | uint16 | uint32]([]C) (C, int)                    { return 0, 0 }
func gatherCodes8SIMD[T any]([]T, []T, []uint8) int                          { return 0 }
func arithSIMD[T Number](arithOp, []T, []T, []T) int                         { return 0 }
func arithConstSIMD[T Number](arithOp, []T, []T, T) int                      { return 0 }
func absOr64SIMD([]int64) (uint64, int)                                      { return 0, 0 }
func absOr32SIMD([]int32) (uint32, int)                                      { return 0, 0 }
func sumInt64SIMD([]int64) (int128.Int128, int)                              { return int128.Int128{}, 0 }

func sumInt64MaskedSIMD([]int64, []uint64) (int128.Int128, int) { return int128.Int128{}, 0 }
func sumProductInt64SIMD([]int64, []int64) (int64, int)         { return 0, 0 }
func sumFloat64SIMD(*[8]float64, []float64) int                 { return 0 }
func minMaxInt64SIMD([]int64) (lo, hi int64, n int)             { return math.MaxInt64, math.MinInt64, 0 }

func minMaxInt32SIMD([]int32) (lo, hi int32, n int)                      { return math.MaxInt32, math.MinInt32, 0 }
func minMaxFloat64SIMD(*floatRange, []float64) int                       { return 0 }
func hashSIMD([]uint64, []int64) int                                     { return 0 }
func hashCombineSIMD([]uint64, []int64) int                              { return 0 }
func bitmapTestSIMD[T int32 | int64]([]uint64, []T, int64, []uint64) int { return 0 }
func bloomTestSIMD(_, _, _ []uint64, _ uint) int                         { return 0 }
func sumFloat64MaskedSIMD(*[8]float64, []float64, []uint64) int          { return 0 }
func minMaxInt64MaskedSIMD([]int64, []uint64) (lo, hi int64, n int) {
	return math.MaxInt64, math.MinInt64, 0
}

func minMaxInt32MaskedSIMD([]int32, []uint64) (lo, hi int32, n int) {
	return math.MaxInt32, math.MinInt32, 0
}
func minMaxFloat64MaskedSIMD(*floatRange, []float64, []uint64) int { return 0 }
func hash32SIMD([]uint64, []int32) int                             { return 0 }
func prefetch(unsafe.Pointer, uintptr, []uint64, uint)             {}
