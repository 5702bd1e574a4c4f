package kernel

import (
	"math/rand/v2"
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
