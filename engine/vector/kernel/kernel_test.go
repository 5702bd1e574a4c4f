package kernel

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/fletchdb/fletch/engine/vector/int128"
)

// Every test states a kernel's definition row by row and holds the scalar and the assembly forms to it, at lengths that
// leave every remainder, on slices that end where memory does.

// maxRows is past several blocks of every kernel, and small enough to meet all remainders often.
const maxRows = 300

// rounds is how many random inputs a test tries.
const rounds = 400

// inputs is memory that is used again from round to round: a slice of n elements ends at the guarded end of its array.
type inputs[T any] struct{ mem []T }

func newInputs[T any](t testing.TB) inputs[T] { return inputs[T]{guarded[T](t, 2*maxRows)} }

func (in inputs[T]) last(n int) []T { return in.mem[len(in.mem)-n:] }

func random(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// fill makes numbers that are often equal, often extreme, and NaN and -0 among floats.
func fill[T Number](r *rand.Rand, a []T) {
	for i := range a {
		a[i] = number[T](r)
	}
}

func number[T Number](r *rand.Rand) T {
	small := T(r.IntN(8))
	switch r.IntN(4) {
	case 0, 1:
		if r.IntN(2) == 0 {
			return -small
		}
		return small
	case 2:
		if isFloat[T]() {
			special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 0.1}
			return T(special[r.IntN(len(special))])
		}
		bits := uint(unsafe.Sizeof(small)) * 8
		top := T(1)
		for range bits - 1 {
			top *= 2
		}
		return top - small // around the smallest and the largest
	}
	if isFloat[T]() {
		return T(r.NormFloat64())
	}
	return T(r.Uint64() >> r.IntN(64))
}

func fillBitmap(r *rand.Rand, bm []uint64, n int) {
	for i := range bm {
		switch r.IntN(4) {
		case 0:
			bm[i] = 0
		case 1:
			bm[i] = ^uint64(0)
		case 2:
			bm[i] = r.Uint64() & r.Uint64() & r.Uint64()
		default:
			bm[i] = r.Uint64()
		}
	}
	if len(bm) > 0 {
		maskTail(bm, n)
	}
}

// wantBitmap checks all words of bm against f row by row, the tail included.
func wantBitmap(t *testing.T, what string, bm []uint64, n int, f func(i int) bool) {
	t.Helper()
	for i := range len(bm) * 64 {
		if want := i < n && f(i); Test(bm, i) != want {
			t.Fatalf("%s: row %d of %d is %v", what, i, n, !want)
		}
	}
}

func wantRows[T comparable](t *testing.T, what string, got []T, f func(i int) T) {
	t.Helper()
	for i, g := range got {
		if w := f(i); g != w && (g == g || w == w) {
			t.Fatalf("%s: row %d of %d is %v, want %v", what, i, len(got), g, w)
		}
	}
}

// order is PostgreSQL's.
func order[T Number](a, b T) int {
	if a != a || b != b {
		return -cmp.Compare(a, b) // Go's has NaN first
	}
	return cmp.Compare(a, b)
}

func holds(op Op, c int) bool {
	return [...]bool{c == 0, c != 0, c < 0, c <= 0, c > 0, c >= 0}[op]
}

func TestCompare(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int8", testCompare[int8])
		t.Run("int16", testCompare[int16])
		t.Run("int32", testCompare[int32])
		t.Run("int64", testCompare[int64])
		t.Run("uint8", testCompare[uint8])
		t.Run("uint16", testCompare[uint16])
		t.Run("uint32", testCompare[uint32])
		t.Run("uint64", testCompare[uint64])
		t.Run("float32", testCompare[float32])
		t.Run("float64", testCompare[float64])
		type named int64
		t.Run("named", testCompare[named])
	})
}

func testCompare[T Number](t *testing.T) {
	r, as, bs, dsts := random(t), newInputs[T](t), newInputs[T](t), newInputs[uint64](t)
	for range rounds {
		n := r.IntN(maxRows)
		a, b, dst := as.last(n), bs.last(n), dsts.last(Words(n))
		fill(r, a)
		fill(r, b)
		c := number[T](r)
		for op := Eq; op <= Ge; op++ {
			Compare(op, dst, a, c)
			wantBitmap(t, fmt.Sprintf("a %s %v", op, c), dst, n, func(i int) bool { return holds(op, order(a[i], c)) })
			CompareColumns(op, dst, a, b)
			wantBitmap(t, fmt.Sprintf("a %s b", op), dst, n, func(i int) bool { return holds(op, order(a[i], b[i])) })
		}
	}
}

func TestBetween(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int16", testBetween[int16])
		t.Run("int32", testBetween[int32])
		t.Run("int64", testBetween[int64])
		t.Run("uint64", testBetween[uint64])
	})
}

func testBetween[T Integer](t *testing.T) {
	r, as, dsts := random(t), newInputs[T](t), newInputs[uint64](t)
	for range rounds {
		n := r.IntN(maxRows)
		a, dst := as.last(n), dsts.last(Words(n))
		fill(r, a)
		lo, hi := number[T](r), number[T](r)
		Between(dst, a, lo, hi)
		wantBitmap(t, fmt.Sprintf("between %v and %v", lo, hi), dst, n, func(i int) bool { return lo <= a[i] && a[i] <= hi })
	}
}

func TestCompareInt128(t *testing.T) {
	r := random(t)
	for range rounds / 4 {
		n := r.IntN(maxRows)
		a, b, dst := make([]int128.Int128, n), make([]int128.Int128, n), make([]uint64, Words(n))
		for i := range a {
			a[i] = int128.Int128{Lo: number[uint64](r), Hi: number[int64](r)}
			b[i] = int128.Int128{Lo: number[uint64](r), Hi: number[int64](r)}
		}
		c := int128.Int128{Lo: number[uint64](r), Hi: number[int64](r)}
		for op := Eq; op <= Ge; op++ {
			CompareInt128(op, dst, a, c)
			wantBitmap(t, op.String(), dst, n, func(i int) bool { return holds(op, a[i].Cmp(c)) })
			CompareColumnsInt128(op, dst, a, b)
			wantBitmap(t, op.String(), dst, n, func(i int) bool { return holds(op, a[i].Cmp(b[i])) })
		}
	}
}

func TestOp(t *testing.T) {
	for op := Eq; op <= Ge; op++ {
		for c := -1; c <= 1; c++ {
			if holds(op, c) == holds(op.Negate(), c) {
				t.Errorf("%s and its negation %s agree on %d", op, op.Negate(), c)
			}
			if holds(op, c) != holds(op.Swap(), -c) {
				t.Errorf("%s and its mirror %s differ on %d", op, op.Swap(), c)
			}
		}
	}
}

func TestUnpack(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("8", func(t *testing.T) { testUnpack(t, 8, Unpack8) })
		t.Run("16", func(t *testing.T) { testUnpack(t, 16, Unpack16) })
		t.Run("32", func(t *testing.T) { testUnpack(t, 32, Unpack32) })
	})
}

func testUnpack[T uint8 | uint16 | uint32](t *testing.T, most uint, unpack func([]T, []byte, uint)) {
	r, dsts, srcs := random(t), newInputs[T](t), guarded[byte](t, 4*2*maxRows)
	for width := range most + 1 {
		for range rounds / 8 {
			n := r.IntN(maxRows)
			dst := dsts.last(n)
			src := srcs[len(srcs)-(n*int(width)+7)/8:]
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			unpack(dst, src, width)
			wantRows(t, fmt.Sprintf("width %d", width), dst, func(i int) (v T) {
				for b := range int(width) {
					at := i*int(width) + b
					v |= T(src[at/8]>>(at%8)&1) << b
				}
				return v
			})
		}
	}
}

func TestUnpackRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		unpack func()
	}{
		{"a width beyond the element", func() { Unpack8(make([]uint8, 64), make([]byte, 999), 9) }},
		{"too little input", func() { Unpack16(make([]uint16, 64), make([]byte, 7), 1) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			tc.unpack()
		})
	}
}

func TestLookup(t *testing.T) {
	r := random(t)
	c8s, c16s, c32s, dsts := newInputs[uint8](t), newInputs[uint16](t), newInputs[uint32](t), newInputs[uint64](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			c8, c16, c32, dst := c8s.last(n), c16s.last(n), c32s.last(n), dsts.last(Words(n))
			table := make([]uint64, r.IntN([]int{3, 17, 65, 200}[r.IntN(4)]))
			fillBitmap(r, table, len(table)*64)
			for i := range n {
				c8[i], c16[i] = uint8(r.Uint32()), uint16(r.Uint32())
				if r.IntN(2) == 0 {
					c16[i] = uint16(r.IntN(len(table)*64 + 3))
				}
				c32[i] = uint32(r.Uint64() >> (32 + r.IntN(32)))
			}
			in := func(c int) bool { return c/64 < len(table) && Test(table, c) }
			Lookup16(dst, c16, table)
			wantBitmap(t, fmt.Sprintf("16 bits, %d words", len(table)), dst, n, func(i int) bool { return in(int(c16[i])) })
			Lookup32(dst, c32, table)
			wantBitmap(t, "32 bits", dst, n, func(i int) bool { return in(int(c32[i])) })
			var small [4]uint64
			copy(small[:], table)
			Lookup8(dst, c8, &small)
			wantBitmap(t, "8 bits", dst, n, func(i int) bool { return Test(small[:], int(c8[i])) })
		}
	})
}

func TestMaxCode(t *testing.T) {
	levels(t, func(t *testing.T) {
		testMaxCode(t, MaxCode8)
		testMaxCode(t, MaxCode16)
		testMaxCode(t, MaxCode32)
	})
}

func testMaxCode[C uint8 | uint16 | uint32](t *testing.T, f func([]C) C) {
	r, in := random(t), newInputs[C](t)
	for range rounds {
		codes := in.last(r.IntN(maxRows))
		bound := C(1) << r.IntN(int(unsafe.Sizeof(C(0)))*8)
		var want C
		for i := range codes {
			codes[i] = C(r.Uint64()) % bound
			want = max(want, codes[i])
		}
		if got := f(codes); got != want {
			t.Fatalf("%d codes: %d, want %d", len(codes), got, want)
		}
	}
}

func TestSelection(t *testing.T) {
	r, bms, dsts := random(t), newInputs[uint64](t), newInputs[int32](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			bm := bms.last(Words(n))
			fillBitmap(r, bm, n)
			count := Count(bm)
			dst := dsts.last(count + r.IntN(n-count+1))
			if got := ToSelection(dst, bm, n); got != count {
				t.Fatalf("%d rows selected, want %d", got, count)
			}
			at := 0
			for i := range n {
				if Test(bm, i) {
					if dst[at] != int32(i) {
						t.Fatalf("selected row %d is %d, want %d", at, dst[at], i)
					}
					at++
				}
			}
			back := slices.Repeat([]uint64{^uint64(0)}, len(bm))
			FromSelection(back, dst[:count])
			if !slices.Equal(back, bm) {
				t.Fatalf("back from a selection: %x, want %x", back, bm)
			}
		}
	})
}

func TestGather(t *testing.T) {
	r, srcs, dsts := random(t), newInputs[int64](t), newInputs[int64](t)
	i32s, c8s, c16s, c32s := newInputs[int32](t), newInputs[uint8](t), newInputs[uint16](t), newInputs[uint32](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n, size := r.IntN(maxRows), 1+r.IntN([]int{16, 64, 256}[r.IntN(3)])
			if r.IntN(2) == 0 {
				n = maxRows + r.IntN(maxRows) // enough for dictionaries to be brought into registers
			}
			src := srcs.last(size)
			for i, shift := range slices.Repeat([]int{r.IntN(64)}, size) {
				src[i] = int64(r.Uint64()) >> shift
			}
			dst, idx, c8, c16, c32 := dsts.last(n), i32s.last(n), c8s.last(n), c16s.last(n), c32s.last(n)
			for i := range n {
				c := r.IntN(size)
				idx[i], c8[i], c16[i], c32[i] = int32(c), uint8(c), uint16(c), uint32(c)
			}
			want := func(i int) int64 { return src[idx[i]] }
			Gather(dst, src, idx)
			wantRows(t, "Gather", dst, want)
			clear(dst)
			GatherCodes8(dst, src, c8)
			wantRows(t, "GatherCodes8", dst, want)
			clear(dst)
			GatherCodes16(dst, src, c16)
			wantRows(t, "GatherCodes16", dst, want)
			clear(dst)
			GatherCodes32(dst, src, c32)
			wantRows(t, "GatherCodes32", dst, want)
			floats, fdict := make([]float64, n), make([]float64, size)
			fill(r, fdict)
			GatherCodes8(floats, fdict, c8)
			wantRows(t, "GatherCodes8 of floats", floats, func(i int) float64 { return fdict[idx[i]] })
			texts, words := make([]string, n), []string{"a", "b", "c"}
			for i := range c8 {
				c8[i] %= 3
			}
			GatherCodes8(texts, words, c8)
			wantRows(t, "GatherCodes8 of strings", texts, func(i int) string { return words[c8[i]] })
		}
	})
}

func TestArith(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int16", testArith[int16])
		t.Run("int32", testArith[int32])
		t.Run("int64", testArith[int64])
		t.Run("uint32", testArith[uint32])
		t.Run("float32", testArith[float32])
		t.Run("float64", testArith[float64])
	})
}

func testArith[T Number](t *testing.T) {
	r, as, bs, dsts := random(t), newInputs[T](t), newInputs[T](t), newInputs[T](t)
	for range rounds {
		n := r.IntN(maxRows)
		a, b, dst := as.last(n), bs.last(n), dsts.last(n)
		fill(r, a)
		fill(r, b)
		c := number[T](r)
		Add(dst, a, b)
		wantRows(t, "a+b", dst, func(i int) T { return a[i] + b[i] })
		Sub(dst, a, b)
		wantRows(t, "a-b", dst, func(i int) T { return a[i] - b[i] })
		Mul(dst, a, b)
		wantRows(t, "a*b", dst, func(i int) T { return a[i] * b[i] })
		AddConst(dst, a, c)
		wantRows(t, "a+c", dst, func(i int) T { return a[i] + c })
		SubConst(dst, a, c)
		wantRows(t, "a-c", dst, func(i int) T { return a[i] - c })
		ConstSub(dst, c, a)
		wantRows(t, "c-a", dst, func(i int) T { return c - a[i] })
		MulConst(dst, a, c)
		wantRows(t, "a*c", dst, func(i int) T { return a[i] * c })
		before := slices.Clone(a)
		Mul(a, a, b)
		wantRows(t, "a = a*b", a, func(i int) T { return before[i] * b[i] })
	}
}

func TestChecked(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int8", testChecked[int8])
		t.Run("int16", testChecked[int16])
		t.Run("int32", testChecked[int32])
		t.Run("int64", testChecked[int64])
	})
}

func testChecked[T Signed](t *testing.T) {
	r, as, bs, dsts := random(t), newInputs[T](t), newInputs[T](t), newInputs[T](t)
	fits := func(v int128.Int128) bool { return v == int128.FromInt64(int64(T(v.Lo))) }
	wide := func(v T) int128.Int128 { return int128.FromInt64(int64(v)) }
	for range rounds {
		n := r.IntN(maxRows)
		a, b, dst := as.last(n), bs.last(n), dsts.last(n)
		top := uint(unsafe.Sizeof(T(0)))*8 - uint(r.IntN(3))
		for i := range a {
			// Mostly small, so that the first overflow comes late or never.
			a[i], b[i] = T(r.Uint64()>>(64-top/2))-1, T(r.Uint64()>>(65-top/2))
			if r.IntN(200) == 0 {
				a[i], b[i] = number[T](r), number[T](r)
			}
		}
		c := number[T](r)
		for _, tc := range []struct {
			what string
			got  func() int
			row  func(i int) int128.Int128
		}{
			{"a+b", func() int { return AddChecked(dst, a, b) }, func(i int) int128.Int128 { return wide(a[i]).Add(wide(b[i])) }},
			{"a-b", func() int { return SubChecked(dst, a, b) }, func(i int) int128.Int128 { return wide(a[i]).Sub(wide(b[i])) }},
			{"a*b", func() int { return MulChecked(dst, a, b) }, func(i int) int128.Int128 { return wide(a[i]).Mul(wide(b[i])) }},
			{"a+c", func() int { return AddConstChecked(dst, a, c) }, func(i int) int128.Int128 { return wide(a[i]).Add(wide(c)) }},
			{"a-c", func() int { return SubConstChecked(dst, a, c) }, func(i int) int128.Int128 { return wide(a[i]).Sub(wide(c)) }},
			{"c-a", func() int { return ConstSubChecked(dst, c, a) }, func(i int) int128.Int128 { return wide(c).Sub(wide(a[i])) }},
			{"a*c", func() int { return MulConstChecked(dst, a, c) }, func(i int) int128.Int128 { return wide(a[i]).Mul(wide(c)) }},
		} {
			want := -1
			for i := range a {
				if !fits(tc.row(i)) {
					want = i
					break
				}
			}
			if got := tc.got(); got != want {
				t.Fatalf("%s, c = %d: overflow at row %d, want %d", tc.what, c, got, want)
			}
			if want < 0 {
				wantRows(t, tc.what, dst, func(i int) T { return T(tc.row(i).Lo) })
			}
		}
	}
}

func TestAbsBits(t *testing.T) {
	r, a64s, a32s := random(t), newInputs[int64](t), newInputs[int32](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			a, b := a64s.last(n), a32s.last(n)
			want64, want32 := 0, 0
			shift := r.IntN(64)
			for i := range a {
				a[i] = int64(r.Uint64()) >> shift
				if r.IntN(100) == 0 {
					a[i] = -1 << (63 - shift)
				}
				b[i] = int32(a[i] >> 32)
				want64 = max(want64, bits.Len64(uint64(max(a[i], -a[i]))), bits.Len64(uint64(-min(a[i], 0))))
				want32 = max(want32, bits.Len32(uint32(max(b[i], -b[i]))), bits.Len32(uint32(-min(b[i], 0))))
			}
			if got := AbsBits64(a); got != want64 {
				t.Fatalf("AbsBits64 = %d, want %d", got, want64)
			}
			if got := AbsBits32(b); got != want32 {
				t.Fatalf("AbsBits32 = %d, want %d", got, want32)
			}
		}
	})
}

func TestSumInt64(t *testing.T) {
	r, as, bs, bms := random(t), newInputs[int64](t), newInputs[int64](t), newInputs[uint64](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			a, b, bm := as.last(n), bs.last(n), bms.last(Words(n))
			fill(r, a)
			fill(r, b)
			fillBitmap(r, bm, n)
			var sum, masked int128.Int128
			var product int64
			for i, v := range a {
				sum = sum.Add(int128.FromInt64(v))
				if Test(bm, i) {
					masked = masked.Add(int128.FromInt64(v))
				}
				product += v * b[i]
			}
			if got := SumInt64(a); got != sum {
				t.Fatalf("sum of %d rows is %s, want %s", n, got, sum)
			}
			if got := SumInt64Masked(a, bm); got != masked {
				t.Fatalf("masked sum of %d rows is %s, want %s", n, got, masked)
			}
			if got := SumProductInt64(a, b); got != product {
				t.Fatalf("sum of products of %d rows is %d, want %d", n, got, product)
			}
		}
	})
}

// TestSumFloat64 wants the very same bits at every level, by the documented order.
func TestSumFloat64(t *testing.T) {
	r, as, bms := random(t), newInputs[float64](t), newInputs[uint64](t)
	levels(t, func(t *testing.T) {
		for round := range rounds {
			n := r.IntN(maxRows)
			a, bm := as.last(n), bms.last(Words(n))
			for i := range a {
				a[i] = math.Ldexp(r.NormFloat64(), r.IntN(60))
			}
			if round%4 == 0 {
				fill(r, a)
			}
			fillBitmap(r, bm, n)
			var lanes, masked [8]float64
			for i, v := range a {
				lanes[i%8] += v
				if Test(bm, i) {
					masked[i%8] += v
				}
			}
			same := func(what string, got, want float64) {
				t.Helper()
				if math.Float64bits(got) != math.Float64bits(want) && (got == got || want == want) {
					t.Fatalf("%s of %d rows is %v, want %v", what, n, got, want)
				}
			}
			same("sum", SumFloat64(a), joinLanes(&lanes))
			same("masked sum", SumFloat64Masked(a, bm), joinLanes(&masked))
		}
	})
}

func TestMinMax(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int32", func(t *testing.T) {
			testMinMax(t, math.MaxInt32, math.MinInt32, MinMaxInt32, MinMaxInt32Masked)
		})
		t.Run("int64", func(t *testing.T) {
			testMinMax(t, math.MaxInt64, math.MinInt64, MinMaxInt64, MinMaxInt64Masked)
		})
		t.Run("float64", func(t *testing.T) {
			testMinMax(t, math.NaN(), math.Inf(-1), MinMaxFloat64, MinMaxFloat64Masked)
		})
	})
}

func testMinMax[T int32 | int64 | float64](t *testing.T, top, bottom T, f func([]T) (T, T), masked func([]T, []uint64) (T, T)) {
	r, as, bms := random(t), newInputs[T](t), newInputs[uint64](t)
	for range rounds {
		n := r.IntN(maxRows)
		a, bm := as.last(n), bms.last(Words(n))
		v := number[T](r)
		for i := range a {
			a[i] = v // mostly one value, NaN and the extremes too, so that each lane matters
			if r.IntN(n) == 0 {
				a[i] = number[T](r)
			}
		}
		fillBitmap(r, bm, n)
		lo, hi, maskedLo, maskedHi := top, bottom, top, bottom
		for i, v := range a {
			lower := func(x *T) {
				if order(v, *x) < 0 {
					*x = v
				}
			}
			raise := func(x *T) {
				if order(v, *x) > 0 {
					*x = v
				}
			}
			lower(&lo)
			raise(&hi)
			if Test(bm, i) {
				lower(&maskedLo)
				raise(&maskedHi)
			}
		}
		wantRange := func(what string, gotLo, gotHi, lo, hi T) {
			t.Helper()
			if order(gotLo, lo) != 0 || order(gotHi, hi) != 0 || gotLo == 0 && 1/float64(gotLo) < 0 || gotHi == 0 && 1/float64(gotHi) < 0 {
				t.Fatalf("%s of %d rows: %v to %v, want %v to %v", what, n, gotLo, gotHi, lo, hi)
			}
		}
		gotLo, gotHi := f(a)
		wantRange("range", gotLo, gotHi, lo, hi)
		gotLo, gotHi = masked(a, bm)
		wantRange("masked range", gotLo, gotHi, maskedLo, maskedHi)
	}
}

func TestByGroup(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("uint8", testByGroup[uint8])
		t.Run("uint32", testByGroup[uint32])
	})
}

func TestCodesOutside(t *testing.T) {
	rows, codes := make([]int64, maxRows), make([]uint8, maxRows)
	codes[7] = 5
	levels(t, func(t *testing.T) {
		for _, tc := range []struct {
			name string
			f    func()
		}{
			{"GatherCodes8", func() { GatherCodes8(rows, make([]int64, 5), codes) }},
			{"SumByGroup64", func() { SumByGroup64(make([]int64, 5), codes, rows) }},
			{"CountByGroup", func() { CountByGroup(make([]int64, 5), codes) }},
		} {
			t.Run(tc.name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("did not panic")
					}
				}()
				tc.f()
			})
		}
	})
}

func TestNoAllocation(t *testing.T) {
	levels(t, func(t *testing.T) {
		n := testing.AllocsPerRun(10, func() {
			var dst [maxRows]int64
			var codes [maxRows]uint8
			var dict [20]int64
			var bm [(maxRows + 63) / 64]uint64
			GatherCodes8(dst[:], dict[:], codes[:])
			Compare(Lt, bm[:], dst[:], 3)
			CountByGroup(dict[:3], codes[:])
			SumByGroup64(dict[:3], codes[:], dst[:])
			MulChecked(dst[:], dst[:], dst[:])
			MulConstChecked(dst[:], dst[:], 3)
			SumInt64Masked(dst[:], bm[:])
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func testByGroup[G uint8 | uint32](t *testing.T) {
	r, gs, as := random(t), newInputs[G](t), newInputs[int64](t)
	for range rounds {
		n, groups := r.IntN(maxRows), 1+r.IntN([]int{4, 8, 200}[r.IntN(3)])
		g, a, f := gs.last(n), as.last(n), make([]float64, n)
		fill(r, a)
		sums, counts, floats := make([]int64, groups), make([]int64, groups), make([]float64, groups)
		wantSums, wantCounts, wantFloats := slices.Clone(sums), slices.Clone(counts), slices.Clone(floats)
		for i := range g {
			g[i], f[i] = G(r.IntN(groups)), r.NormFloat64()
			wantSums[g[i]] += a[i]
			wantCounts[g[i]]++
			wantFloats[g[i]] += f[i]
		}
		SumByGroup64(sums, g, a)
		CountByGroup(counts, g)
		SumFloat64ByGroup(floats, g, f)
		if !slices.Equal(sums, wantSums) || !slices.Equal(counts, wantCounts) || !slices.Equal(floats, wantFloats) {
			t.Fatalf("%d rows in %d groups: %v %v %v, want %v %v %v", n, groups, sums, counts, floats, wantSums, wantCounts, wantFloats)
		}
	}
}

func TestHash(t *testing.T) {
	r, as, bs, dsts := random(t), newInputs[int64](t), newInputs[int32](t), newInputs[uint64](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			a, b, dst := as.last(n), bs.last(n), dsts.last(n)
			fill(r, a)
			fill(r, b)
			Hash64(dst, a)
			wantRows(t, "Hash64", dst, func(i int) uint64 { return mix(uint64(a[i])) })
			HashCombine(dst, a)
			wantRows(t, "HashCombine", dst, func(i int) uint64 { return mix(mix(uint64(a[i])) ^ uint64(a[i])) })
			Hash32(dst, b)
			wantRows(t, "Hash32", dst, func(i int) uint64 { return mix(uint64(b[i])) })
		}
	})
}

// TestMixSpreads flips each input bit and wants every output bit to change about half the time.
func TestMixSpreads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const tries = 4000
	for in := range 64 {
		var flips [64]int
		for range tries {
			x := r.Uint64()
			for d := mix(x) ^ mix(x^1<<in); d != 0; d &= d - 1 {
				flips[bits.TrailingZeros64(d)]++
			}
		}
		for out, n := range flips {
			if n < tries*4/10 || n > tries*6/10 {
				t.Errorf("bit %d changes bit %d in %d of %d", in, out, n, tries)
			}
		}
	}
}

func TestHashBytes(t *testing.T) {
	seen := map[uint64]string{}
	for _, s := range []string{"", "\x00", "\x00\x00", "a", "ab", "ba", "abcdefgh", "abcdefgh\x00", "abcdefghi", "habcdefgabcdefgh", "abcdefghhabcdefg"} {
		for seed := range uint64(3) {
			h := HashBytes([]byte(s), seed)
			if was, ok := seen[h]; ok {
				t.Errorf("%q and %q hash alike", s, was)
			}
			seen[h] = s
		}
	}
}

func TestBitmapTest(t *testing.T) {
	levels(t, func(t *testing.T) {
		t.Run("int32", func(t *testing.T) { testBitmapTest(t, BitmapTest32) })
		t.Run("int64", func(t *testing.T) { testBitmapTest(t, BitmapTest64) })
	})
}

func testBitmapTest[T int32 | int64](t *testing.T, f func([]uint64, []T, int64, []uint64)) {
	r, keys, sets, dsts := random(t), newInputs[T](t), newInputs[uint64](t), newInputs[uint64](t)
	for range rounds {
		n, length := r.IntN(maxRows), r.IntN(20)
		k, set, dst := keys.last(n), sets.last(length), dsts.last(Words(n))
		fillBitmap(r, set, length*64)
		low := int64(number[T](r))
		if low > math.MaxInt64-2000 {
			low -= 2000 // a filter ends at the largest key
		}
		for i := range k {
			k[i] = T(low + int64(r.IntN(length*64+100)) - 50)
			if r.IntN(10) == 0 {
				k[i] = number[T](r)
			}
		}
		f(dst, k, low, set)
		wantBitmap(t, fmt.Sprintf("%d words from %d", length, low), dst, n, func(i int) bool {
			d := int128.FromInt64(int64(k[i])).Sub(int128.FromInt64(low))
			return d.Hi == 0 && d.Lo < uint64(length*64) && Test(set, int(d.Lo))
		})
	}
}

func TestBloom(t *testing.T) {
	r, hs, blocks, dsts := random(t), newInputs[uint64](t), guarded[uint64](t, 512), newInputs[uint64](t)
	levels(t, func(t *testing.T) {
		for range rounds {
			n := r.IntN(maxRows)
			filter := blocks[len(blocks)-1<<r.IntN(10):]
			clear(filter)
			h, dst := hs.last(n), dsts.last(Words(n))
			for i := range h {
				h[i] = r.Uint64()
			}
			BloomInsert(filter, h[:n/2])
			BloomTest(dst, h, filter)
			shift := 64 - bits.Len(uint(len(filter)-1))
			wantBitmap(t, fmt.Sprintf("%d blocks", len(filter)), dst, n, func(i int) bool {
				m := bloomBits(h[i])
				return i < n/2 || filter[h[i]>>shift]&m == m
			})
		}
	})
}

// TestBloomPrecision holds BloomBlocks to the rate its comment gives.
func TestBloomPrecision(t *testing.T) {
	const keys, strangers = 1 << 14, 1 << 18 // a power of two gives the fewest bits a key
	a, h := make([]int64, keys+strangers), make([]uint64, keys+strangers)
	for i := range a {
		a[i] = int64(i)
	}
	Hash64(h, a)
	blocks := make([]uint64, BloomBlocks(keys))
	BloomInsert(blocks, h[:keys])
	dst := make([]uint64, Words(strangers))
	BloomTest(dst, h[keys:], blocks)
	if n := Count(dst); n > strangers/100 {
		t.Errorf("%d of %d strangers pass", n, strangers)
	}
}

func TestPrefetch(t *testing.T) {
	r := random(t)
	slots, hashes := guarded[uint64](t, 64), guarded[uint64](t, 100)
	for i := range hashes {
		hashes[i] = r.Uint64()
	}
	levels(t, func(*testing.T) {
		Prefetch(slots, hashes, 58)
		Prefetch(slots, hashes, 0) // far outside: harmless
		Prefetch(slots[:1], hashes, 64)
		PrefetchBytes(unsafe.Pointer(unsafe.SliceData(slots)), 24, hashes, 60)
	})
}

func TestBitmap(t *testing.T) {
	r, as, bs, dsts := random(t), newInputs[uint64](t), newInputs[uint64](t), newInputs[uint64](t)
	for range rounds {
		n := r.IntN(maxRows)
		a, b, dst := as.last(Words(n)), bs.last(Words(n)), dsts.last(Words(n))
		fillBitmap(r, a, n)
		fillBitmap(r, b, n)
		And(dst, a, b)
		wantBitmap(t, "and", dst, n, func(i int) bool { return Test(a, i) && Test(b, i) })
		Or(dst, a, b)
		wantBitmap(t, "or", dst, n, func(i int) bool { return Test(a, i) || Test(b, i) })
		AndNot(dst, a, b)
		wantBitmap(t, "and not", dst, n, func(i int) bool { return Test(a, i) && !Test(b, i) })
		Not(dst, a, n)
		wantBitmap(t, "not", dst, n, func(i int) bool { return !Test(a, i) })
		lo, hi := r.IntN(n+1), r.IntN(n+1)
		copy(dst, a)
		SetRange(dst, lo, hi)
		wantBitmap(t, "range", dst, n, func(i int) bool { return Test(a, i) || lo <= i && i < hi })
		count := 0
		for i := range n {
			if Test(a, i) {
				count++
			}
		}
		if Count(a) != count || Any(a) != (count > 0) || All(a, n) != (count == n) {
			t.Fatalf("%d of %d rows: Count %d, Any %v, All %v", count, n, Count(a), Any(a), All(a, n))
		}
		clear(dst)
		SetRange(dst, 0, n)
		if !All(dst, n) {
			t.Fatalf("not all of %d rows set", n)
		}
	}
}

func TestIndexMany(t *testing.T) { levels(t, testIndexMany) }

func testIndexMany(t *testing.T) {
	r, datas := random(t), guarded[byte](t, 1<<13)
	for range rounds {
		var data []byte
		var starts, ends []int32
		gap, alphabet := r.IntN(2)*r.IntN(40), "abc "[:2+r.IntN(3)]
		longest := []int{8, 80}[r.IntN(2)]
		for range r.IntN(50) {
			data = append(data, strings.Repeat("b", r.IntN(gap+1))...)
			starts = append(starts, int32(len(data)))
			for range r.IntN(longest) {
				data = append(data, alphabet[r.IntN(len(alphabet))])
			}
			ends = append(ends, int32(len(data)))
		}
		copy(datas[len(datas)-len(data):], data)
		data = datas[len(datas)-len(data):]
		pattern := []byte([]string{"", "a", "ab", "bba", "b b", "c aba", "abaabbab"}[r.IntN(7)])
		pos := make([]int32, len(starts))
		for pass := range 2 {
			IndexMany(pos, data, starts, ends, pattern)
			for i, s := range starts {
				want := int32(-1)
				if s <= ends[i] {
					if at := strings.Index(string(data[s:ends[i]]), string(pattern)); at >= 0 {
						want = s + int32(at)
					}
				}
				if pos[i] != want {
					t.Fatalf("pass %d: %q in %q: %d, want %d", pass, pattern, data[s:max(s, ends[i])], pos[i], want)
				}
				// The second pass looks for the next part of a LIKE behind the first.
				starts[i] = max(want, 0) + int32(len(pattern))
				if want < 0 {
					starts[i] = ends[i] + 1
				}
			}
		}
	}
}
