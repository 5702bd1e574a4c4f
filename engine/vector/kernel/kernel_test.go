package kernel

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
