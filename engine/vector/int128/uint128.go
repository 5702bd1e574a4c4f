package int128

import "math/bits"

// uint128 is the magnitude of an Int128, 0..2^127, and one half of a 256-bit product.
type uint128 struct{ hi, lo uint64 }

func (a Int128) abs() uint128 {
	if a.Hi < 0 {
		a = a.Neg()
	}
	return uint128{hi: uint64(a.Hi), lo: a.Lo}
}

// signed gives u or -u; ok is false when that is outside an Int128, and v is then the value modulo 2^128.
func (u uint128) signed(neg bool) (v Int128, ok bool) {
	v = Int128{Lo: u.lo, Hi: int64(u.hi)}
	if neg {
		v = v.Neg()
		return v, v.Hi < 0 || v == Int128{}
	}
	return v, v.Hi >= 0
}

func (u uint128) less(v uint128) bool { return u.hi < v.hi || u.hi == v.hi && u.lo < v.lo }

func (u uint128) add(v uint128) uint128 {
	lo, c := bits.Add64(u.lo, v.lo, 0)
	return uint128{hi: u.hi + v.hi + c, lo: lo}
}

func (u uint128) sub(v uint128) uint128 {
	lo, c := bits.Sub64(u.lo, v.lo, 0)
	return uint128{hi: u.hi - v.hi - c, lo: lo}
}

func (u uint128) shl(n uint) uint128 {
	return uint128{hi: u.hi<<n | u.lo>>(64-n), lo: u.lo << n}
}

func (u uint128) shr(n uint) uint128 {
	return uint128{hi: u.hi >> n, lo: u.lo>>n | u.hi<<(64-n)}
}

// mul gives the 256-bit product.
func (u uint128) mul(v uint128) (hi, lo uint128) {
	var c uint64
	lo.hi, lo.lo = bits.Mul64(u.lo, v.lo)
	h1, l1 := bits.Mul64(u.hi, v.lo)
	h2, l2 := bits.Mul64(u.lo, v.hi)
	h3, l3 := bits.Mul64(u.hi, v.hi)
	lo.hi, c = bits.Add64(lo.hi, l1, 0)
	h1 += c // at most 2^64-2 before, so no carry out
	lo.hi, c = bits.Add64(lo.hi, l2, 0)
	hi.lo, c = bits.Add64(h1, h2, c)
	hi.hi = h3 + c
	hi.lo, c = bits.Add64(hi.lo, l3, 0)
	hi.hi += c
	return hi, lo
}

func (u uint128) divMod(d uint128) (q, r uint128) {
	if d.hi == 0 {
		q.hi, r.lo = u.hi/d.lo, u.hi%d.lo
		q.lo, r.lo = bits.Div64(r.lo, u.lo, d.lo)
		return q, r
	}
	return div256(uint128{}, u, d)
}

// div256 divides hi:lo by d; hi < d, so the quotient fits. It is long division in base 2^64 with d normalised, which
// makes the guess of each quotient word at most two too large.
func div256(hi, lo, d uint128) (q, r uint128) {
	if d.hi == 0 {
		// hi < d means hi.hi is 0.
		q.hi, r.lo = bits.Div64(hi.lo, lo.hi, d.lo)
		q.lo, r.lo = bits.Div64(r.lo, lo.lo, d.lo)
		return q, r
	}
	s := uint(bits.LeadingZeros64(d.hi))
	d = d.shl(s)
	hi = hi.shl(s)
	hi.lo |= lo.hi >> (64 - s)
	lo = lo.shl(s)
	q.hi, hi = div192(hi, lo.hi, d)
	q.lo, hi = div192(hi, lo.lo, d)
	return q, hi.shr(s)
}

// div192 divides the three words hi:lo by a normalised d > hi.
func div192(hi uint128, lo uint64, d uint128) (q uint64, r uint128) {
	var c, rhat uint64
	if hi.hi >= d.hi {
		q = ^uint64(0)
		rhat, c = bits.Add64(hi.lo, d.hi, 0) // hi.hi == d.hi: hi - q*d.hi
	} else {
		q, rhat = bits.Div64(hi.hi, hi.lo, d.hi)
	}
	for c == 0 {
		ph, pl := bits.Mul64(q, d.lo)
		if ph < rhat || ph == rhat && pl <= lo {
			break
		}
		q--
		rhat, c = bits.Add64(rhat, d.hi, 0)
	}
	ph, pl := bits.Mul64(q, d.lo)
	l, b := bits.Sub64(lo, pl, 0)
	h, _ := bits.Sub64(rhat, ph, b)
	return q, uint128{hi: h, lo: l}
}
