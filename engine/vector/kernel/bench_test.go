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

func BenchmarkGather(b *testing.B) {
	src, dst := benchColumn[int64](256), make([]int64, benchRows)
	idx, c8, c16 := benchColumn[int32](benchRows), benchColumn[uint8](benchRows), benchColumn[uint16](benchRows)
	perRow(b, "rows", benchRows, func() { Gather(dst, src, idx) })
	c4, c40 := make([]uint8, benchRows), make([]uint8, benchRows)
	for i, c := range c8 {
		c4[i], c40[i] = c%4, c%40
	}
	rates, quantities := src[:4], src[:40]
	prices := make([]int64, 40)
	for i := range prices {
		prices[i] = int64(i) << 20
	}
	perRow(b, "codes8/4", benchRows, func() { GatherCodes8(dst, rates, c4) })
	perRow(b, "codes8/40", benchRows, func() { GatherCodes8(dst, quantities, c40) })
	perRow(b, "codes8/40/wide", benchRows, func() { GatherCodes8(dst, prices, c40) })
	perRow(b, "codes8/100", benchRows, func() { GatherCodes8(dst, src, c8) })
	perRow(b, "codes16", benchRows, func() { GatherCodes16(dst, src, c16) })
}

func BenchmarkArith(b *testing.B) {
	x, y, dst := benchColumn[int64](benchRows), benchColumn[int64](benchRows), make([]int64, benchRows)
	i32, dst32 := benchColumn[int32](benchRows), make([]int32, benchRows)
	f64, dstF := benchColumn[float64](benchRows), make([]float64, benchRows)
	perRow(b, "add/int64", benchRows, func() { Add(dst, x, y) })
	perRow(b, "mul/int64", benchRows, func() { Mul(dst, x, y) })
	perRow(b, "mulConst/int64", benchRows, func() { MulConst(dst, x, 100) })
	perRow(b, "constSub/int64", benchRows, func() { ConstSub(dst, 100, x) })
	perRow(b, "mulChecked/int64", benchRows, func() { MulChecked(dst, x, y) })
	perRow(b, "absBits/int64", benchRows, func() { AbsBits64(x) })
	perRow(b, "mul/int32", benchRows, func() { Mul(dst32, i32, i32) })
	perRow(b, "absBits/int32", benchRows, func() { AbsBits32(i32) })
	perRow(b, "mul/float64", benchRows, func() { Mul(dstF, f64, f64) })
}

func BenchmarkSum(b *testing.B) {
	x, f64, i32 := benchColumn[int64](benchRows), benchColumn[float64](benchRows), benchColumn[int32](benchRows)
	bm := make([]uint64, Words(benchRows))
	Compare(Lt, bm, x, 50)
	perRow(b, "int64", benchRows, func() { SumInt64(x) })
	perRow(b, "int64/masked", benchRows, func() { SumInt64Masked(x, bm) })
	perRow(b, "product", benchRows, func() { SumProductInt64(x, x) })
	perRow(b, "float64", benchRows, func() { SumFloat64(f64) })
	perRow(b, "float64/masked", benchRows, func() { SumFloat64Masked(f64, bm) })
	perRow(b, "minmax/int64", benchRows, func() { MinMaxInt64(x) })
	perRow(b, "minmax/int64/masked", benchRows, func() { MinMaxInt64Masked(x, bm) })
	perRow(b, "minmax/int32", benchRows, func() { MinMaxInt32(i32) })
	perRow(b, "minmax/float64", benchRows, func() { MinMaxFloat64(f64) })
	perRow(b, "minmax/float64/masked", benchRows, func() { MinMaxFloat64Masked(f64, bm) })
}

func BenchmarkByGroup(b *testing.B) {
	g8, g32, x, acc := benchColumn[uint8](benchRows), benchColumn[uint32](benchRows), benchColumn[int64](benchRows), make([]int64, 256)
	g4, g8s, g4s := make([]uint8, benchRows), make([]uint8, benchRows), make([]uint32, benchRows)
	for i, g := range g8 {
		g4[i], g8s[i], g4s[i] = g%4, g%8, uint32(g%4)
	}
	perRow(b, "sum/4/uint32", benchRows, func() { SumByGroup64(acc[:4], g4s, x) })
	perRow(b, "count/4/uint32", benchRows, func() { CountByGroup(acc[:4], g4s) })
	perRow(b, "sum/4", benchRows, func() { SumByGroup64(acc[:4], g4, x) })
	perRow(b, "sum/8", benchRows, func() { SumByGroup64(acc[:8], g8s, x) })
	perRow(b, "count/4", benchRows, func() { CountByGroup(acc[:4], g4) })
	perRow(b, "count/8", benchRows, func() { CountByGroup(acc[:8], g8s) })
	perRow(b, "sum/uint8", benchRows, func() { SumByGroup64(acc, g8, x) })
	perRow(b, "sum/uint32", benchRows, func() { SumByGroup64(acc, g32, x) })
	perRow(b, "count/uint8", benchRows, func() { CountByGroup(acc, g8) })
}

func BenchmarkHash(b *testing.B) {
	x, i32, dst := benchColumn[int64](benchRows), benchColumn[int32](benchRows), make([]uint64, benchRows)
	perRow(b, "64", benchRows, func() { Hash64(dst, x) })
	perRow(b, "32", benchRows, func() { Hash32(dst, i32) })
	perRow(b, "combine", benchRows, func() { HashCombine(dst, x) })
}

func BenchmarkFilter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const keys = 1 << 20
	k, h, dst := make([]int64, benchRows), make([]uint64, 1<<18), make([]uint64, Words(benchRows))
	for i := range k {
		k[i] = r.Int64N(keys)
	}
	for i := range h {
		h[i] = r.Uint64()
	}
	set := make([]uint64, keys/64)
	perRow(b, "bitmap/128KB", benchRows, func() { BitmapTest64(dst, k, 0, set) })
	for _, size := range []int{1 << 14, 1 << 19} {
		blocks, at := make([]uint64, size), 0
		perRow(b, "bloom/"+strconv.Itoa(size/128)+"KB", benchRows, func() {
			BloomTest(dst, h[at:at+benchRows], blocks)
			at = (at + benchRows) % len(h)
		})
		perRow(b, "prefetch/"+strconv.Itoa(size/128)+"KB", benchRows, func() { Prefetch(blocks, h[:benchRows], bloomShift(size)) })
	}
}

// BenchmarkIndexMany searches comments of 40 bytes for a pattern in 1 of 100.
func BenchmarkIndexMany(b *testing.B) {
	row := []byte("carefully final deposits sleep furiously")
	hit := []byte("carefully special deposits sleep briskly")
	var data []byte
	var starts, ends []int32
	for i := range benchRows {
		starts = append(starts, int32(len(data)))
		if i%100 == 0 {
			data = append(data, hit...)
		} else {
			data = append(data, row...)
		}
		ends = append(ends, int32(len(data)))
	}
	pos, pattern := make([]int32, benchRows), []byte("special")
	perRow(b, "40", benchRows, func() { IndexMany(pos, data, starts, ends, pattern) })
}
