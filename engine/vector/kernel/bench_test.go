package kernel

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// benchRows is a batch that stays in the L2 cache with its result.
const benchRows = 4096

// perRow runs f, which does rows rows, at each level and reports ns/row.
func perRow(b *testing.B, name string, rows int, f func()) {
	b.Run(name, func(b *testing.B) {
		benchLevels(b, func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
			b.ReportMetric(0, "ns/op")
		})
	})
}

func benchColumn[T Number](n int) []T {
	r := rand.New(rand.NewPCG(1, 1))
	a := make([]T, n)
	for i := range a {
		a[i] = T(r.IntN(100))
	}
	return a
}

func BenchmarkCompare(b *testing.B) {
	dst := make([]uint64, Words(benchRows))
	i8, i16, i32 := benchColumn[uint8](benchRows), benchColumn[uint16](benchRows), benchColumn[int32](benchRows)
	i64, f64 := benchColumn[int64](benchRows), benchColumn[float64](benchRows)
	perRow(b, "uint8", benchRows, func() { Compare(Eq, dst, i8, 50) })
	perRow(b, "uint16", benchRows, func() { Compare(Le, dst, i16, 50) })
	perRow(b, "int32", benchRows, func() { Compare(Le, dst, i32, 50) })
	perRow(b, "int64", benchRows, func() { Compare(Le, dst, i64, 50) })
	perRow(b, "float64", benchRows, func() { Compare(Le, dst, f64, 50) })
	perRow(b, "columns/int64", benchRows, func() { CompareColumns(Lt, dst, i64, i64) })
	perRow(b, "columns/float64", benchRows, func() { CompareColumns(Lt, dst, f64, f64) })
	perRow(b, "between/int32", benchRows, func() { Between(dst, i32, 20, 50) })
	perRow(b, "between/int64", benchRows, func() { Between(dst, i64, 20, 50) })
}

func BenchmarkUnpack(b *testing.B) {
	src := make([]byte, 4*benchRows)
	d8, d16, d32 := make([]uint8, benchRows), make([]uint16, benchRows), make([]uint32, benchRows)
	perRow(b, "8/6", benchRows, func() { Unpack8(d8, src, 6) })
	perRow(b, "16/12", benchRows, func() { Unpack16(d16, src, 12) })
	perRow(b, "32/17", benchRows, func() { Unpack32(d32, src, 17) })
	perRow(b, "32/27", benchRows, func() { Unpack32(d32, src, 27) })
}

func BenchmarkLookup(b *testing.B) {
	dst := make([]uint64, Words(benchRows))
	c8, c16, c32 := benchColumn[uint8](benchRows), benchColumn[uint16](benchRows), benchColumn[uint32](benchRows)
	perRow(b, "8", benchRows, func() { Lookup8(dst, c8, &[4]uint64{5, 6}) })
	perRow(b, "16/1024", benchRows, func() { Lookup16(dst, c16, make([]uint64, 16)) })
	perRow(b, "16/4096", benchRows, func() { Lookup16(dst, c16, make([]uint64, 64)) })
	perRow(b, "16/more", benchRows, func() { Lookup16(dst, c16, make([]uint64, 100)) })
	perRow(b, "32", benchRows, func() { Lookup32(dst, c32, make([]uint64, 100)) })
	perRow(b, "max8", benchRows, func() { MaxCode8(c8) })
	perRow(b, "max16", benchRows, func() { MaxCode16(c16) })
	perRow(b, "max32", benchRows, func() { MaxCode32(c32) })
}

func BenchmarkToSelection(b *testing.B) {
	a, bm, dst := benchColumn[int32](benchRows), make([]uint64, Words(benchRows)), make([]int32, benchRows)
	for _, percent := range []int32{1, 2, 5, 10, 50, 98} {
		Compare(Lt, bm, a, percent)
		perRow(b, strconv.Itoa(int(percent)), benchRows, func() { ToSelection(dst, bm, benchRows) })
	}
}
