package kernel

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
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
