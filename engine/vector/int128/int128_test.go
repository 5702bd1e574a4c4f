package int128

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func toBig(a Int128) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.Lo))
}

// fromBig wraps to 128 bits and reports whether it had to.
func fromBig(v *big.Int) (Int128, bool) {
	lo := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	hi := new(big.Int).Rsh(v, 64)
	m := new(big.Int).And(hi, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	a := Int128{Lo: lo, Hi: int64(m)}
	return a, toBig(a).Cmp(v) == 0
}

func edges() []Int128 {
	vs := []Int128{{}, Max, Min, {Lo: math.MaxUint64}, {Hi: 1}, {Hi: -1}, FromInt64(math.MinInt64), FromInt64(math.MaxInt64)}
	for i := range 127 {
		p := Int128{Lo: 1}
		for range i {
			p = p.Add(p)
		}
		vs = append(vs, p, p.Neg(), p.Sub(Int128{Lo: 1}))
	}
	for i := range MaxDigits + 1 {
		vs = append(vs, Pow10(i), Pow10(i).Neg(), Pow10(i).Add(Int128{Lo: 1}))
	}
	return vs
}

// sample gives values of every magnitude, edges among them.
func sample(r *rand.Rand, edges []Int128) Int128 {
	if r.IntN(3) == 0 {
		return edges[r.IntN(len(edges))]
	}
	u := uint128{hi: r.Uint64(), lo: r.Uint64()}
	switch n := uint(r.IntN(128)); {
	case n >= 64:
		u = uint128{lo: u.hi >> (n - 64)}
	case n > 0:
		u = u.shr(n)
	}
	v, _ := u.signed(r.IntN(2) == 0)
	return v
}

func roundDiv(a, c *big.Int) *big.Int {
	q, m := new(big.Int).QuoRem(a, c, new(big.Int))
	if m.Abs(m).Lsh(m, 1).CmpAbs(c) >= 0 {
		q.Add(q, big.NewInt(int64(a.Sign()*c.Sign())))
	}
	return q
}

func TestAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	es := edges()
	check := func(name string, args []Int128, got Int128, ok bool, want *big.Int) {
		t.Helper()
		w, fits := fromBig(want)
		if ok != fits || ok && got != w {
			t.Fatalf("%s%v = %v, %v; want %v, fits %v", name, args, toBig(got), ok, want, fits)
		}
	}
	wraps := func(name string, args []Int128, got Int128, want *big.Int) {
		t.Helper()
		w, _ := fromBig(want)
		check(name, args, got, true, toBig(w))
	}
	for range 50_000 {
		a, b, c := sample(r, es), sample(r, es), sample(r, es)
		x, y, z := toBig(a), toBig(b), toBig(c)
		args := []Int128{a, b, c}
		n := func() *big.Int { return new(big.Int) }

		wraps("Add", args, a.Add(b), n().Add(x, y))
		wraps("Sub", args, a.Sub(b), n().Sub(x, y))
		wraps("Mul", args, a.Mul(b), n().Mul(x, y))
		wraps("Neg", args, a.Neg(), n().Neg(x))
		wraps("Abs", args, a.Abs(), n().Abs(x))
		v, ok := a.AddChecked(b)
		check("AddChecked", args, v, ok, n().Add(x, y))
		v, ok = a.SubChecked(b)
		check("SubChecked", args, v, ok, n().Sub(x, y))
		v, ok = a.MulChecked(b)
		check("MulChecked", args, v, ok, n().Mul(x, y))
		v, ok = a.MulInt64(int64(b.Lo))
		check("MulInt64", args, v, ok, n().Mul(x, big.NewInt(int64(b.Lo))))
		check("MulInt64s", args, MulInt64s(int64(a.Lo), int64(b.Lo)), true, n().Mul(big.NewInt(int64(a.Lo)), big.NewInt(int64(b.Lo))))
		if got, want := a.Cmp(b), x.Cmp(y); got != want {
			t.Fatalf("Cmp%v = %d, want %d", args, got, want)
		}
		if got, want := a.Sign(), x.Sign(); got != want {
			t.Fatalf("Sign%v = %d, want %d", args, got, want)
		}
		if got, want := a.String(), x.String(); got != want {
			t.Fatalf("String = %s, want %s", got, want)
		}
		for _, scale := range []int{0, 2, 38} {
			p, err := Parse(a.Format(scale), scale)
			if err != nil || p != a {
				if a == Min && errors.Is(err, ErrOverflow) {
					continue // Parse works on magnitudes; no decimal of 38 digits is that small
				}
				t.Fatalf("Parse(%q, %d) = %v, %v", a.Format(scale), scale, p, err)
			}
		}
		if c == (Int128{}) {
			continue
		}
		wraps("Div", args, a.Div(c), n().Quo(x, z))
		wraps("Mod", args, a.Mod(c), n().Rem(x, z))
		v, ok = MulDiv(a, b, c)
		check("MulDiv", args, v, ok, n().Quo(n().Mul(x, y), z))
		v, ok = MulDivRound(a, b, c)
		check("MulDivRound", args, v, ok, roundDiv(n().Mul(x, y), z))
		v, ok = a.DivRound(c)
		check("DivRound", args, v, ok, roundDiv(x, z))
	}
}

func TestFloat64(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	es := edges()
	for range 20_000 {
		a, scale := sample(r, es), r.IntN(39)
		want, _ := new(big.Rat).SetFrac(toBig(a), toBig(Pow10(scale))).Float64()
		if got := a.Float64(scale); got != want {
			t.Fatalf("%v at scale %d = %v, want %v", a, scale, got, want)
		}
	}
}

func TestFromFloat64(t *testing.T) {
	for _, tc := range []struct {
		f     float64
		scale int
		want  string
		err   error
	}{
		{0.1, 2, "0.10", nil},
		{1.005, 2, "1.01", nil}, // the double is below 1.005; its 15 digits are not
		{-2.5, 0, "-3", nil},
		{123456789012345678, 0, "123456789012346000", nil},
		{1e-300, 10, "0.0000000000", nil},
		{1e38, 0, "100000000000000000000000000000000000000", nil},
		{1e39, 0, "", ErrOverflow},
		{math.NaN(), 0, "", ErrSyntax},
		{math.Inf(-1), 0, "", ErrSyntax},
	} {
		got, err := FromFloat64(tc.f, tc.scale)
		if !errors.Is(err, tc.err) || err == nil && got.Format(tc.scale) != tc.want {
			t.Errorf("FromFloat64(%v, %d) = %s, %v; want %s, %v", tc.f, tc.scale, got.Format(tc.scale), err, tc.want, tc.err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		s     string
		scale int
		want  string
		err   error
	}{
		{"0", 0, "0", nil},
		{"-0.005", 2, "-0.01", nil},
		{"0.00499999999999999999999999999999999999999999999", 2, "0.00", nil},
		{"1.", 1, "1.0", nil},
		{".5", 0, "1", nil},
		{"+12e2", 0, "1200", nil},
		{"12e-3", 2, "0.01", nil},
		{"9e-1", 0, "1", nil},
		{"0e999999999999", 0, "0", nil},
		{"1e-999999999999", 5, "0.00000", nil},
		{"99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999", nil},
		{"170141183460469231731687303715884105728", 0, "", ErrOverflow},
		{"1e999999999999", 0, "", ErrOverflow},
		{"", 0, "", ErrSyntax},
		{"-", 0, "", ErrSyntax},
		{".", 0, "", ErrSyntax},
		{"1.2.3", 0, "", ErrSyntax},
		{"1e", 0, "", ErrSyntax},
		{"1x", 0, "", ErrSyntax},
		{" 1", 0, "", ErrSyntax},
	} {
		got, err := Parse(tc.s, tc.scale)
		if !errors.Is(err, tc.err) || err == nil && got.Format(tc.scale) != tc.want {
			t.Errorf("Parse(%q, %d) = %s, %v; want %s, %v", tc.s, tc.scale, got.Format(tc.scale), err, tc.want, tc.err)
		}
	}
}

func TestRescale(t *testing.T) {
	for _, tc := range []struct {
		v        int64
		from, to int
		want     string
		ok       bool
	}{
		{125, 2, 1, "1.3", true},
		{-125, 2, 1, "-1.3", true},
		{125, 2, 4, "1.2500", true},
		{1, 0, 38, "1.00000000000000000000000000000000000000", true},
		{2, 0, 38, "", false},
		{0, 0, 60, "0.000000000000000000000000000000000000000000000000000000000000", true},
		{5, 60, 0, "0", true},
	} {
		got, ok := FromInt64(tc.v).Rescale(tc.from, tc.to)
		if ok != tc.ok || ok && got.Format(tc.to) != tc.want {
			t.Errorf("Rescale(%d, %d, %d) = %s, %v; want %s, %v", tc.v, tc.from, tc.to, got.Format(tc.to), ok, tc.want, tc.ok)
		}
	}
}

func TestFitsDigits(t *testing.T) {
	for _, tc := range []struct {
		v      Int128
		digits int
		want   bool
	}{
		{FromInt64(999), 3, true},
		{FromInt64(-999), 3, true},
		{FromInt64(1000), 3, false},
		{FromInt64(-1000), 3, false},
		{Pow10(38), 38, false},
		{Pow10(38).Sub(Int128{Lo: 1}), 38, true},
		{Min, 38, false},
	} {
		if got := tc.v.FitsDigits(tc.digits); got != tc.want {
			t.Errorf("%v fits %d digits = %v", tc.v, tc.digits, got)
		}
	}
}
