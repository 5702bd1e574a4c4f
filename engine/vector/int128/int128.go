// Package int128 is the arithmetic of decimals to 38 digits: a signed 128-bit integer in two machine words, with the
// 256-bit intermediates that scaling and division need. It knows powers of ten and how a scaled integer is written;
// it must never know columns, precision rules of SQL or who asked.
package int128

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
)

// Int128 is a two's complement 128-bit integer. The zero value is 0. Its memory layout is that of an Arrow decimal128 on
// little-endian machines, so a []Int128 may alias such a buffer.
type Int128 struct {
	Lo uint64
	Hi int64
}

// Max and Min are the ends of the range.
var (
	Max = Int128{Lo: math.MaxUint64, Hi: math.MaxInt64}
	Min = Int128{Lo: 0, Hi: math.MinInt64}
)

// MaxDigits is the largest number of decimal digits every value of which fits.
const MaxDigits = 38

// Errors of Parse and FromFloat64.
var (
	ErrSyntax   = errors.New("not a decimal number")
	ErrOverflow = errors.New("number does not fit 128 bits")
)

// FromInt64 widens v.
func FromInt64(v int64) Int128 { return Int128{Lo: uint64(v), Hi: v >> 63} }

// FromUint64 widens v.
func FromUint64(v uint64) Int128 { return Int128{Lo: v} }

// FromFloat64 gives f times 10^scale. f is read as its 15 significant decimal digits, which is what PostgreSQL's cast
// from double precision to numeric does, and rounded half away from zero. NaN and infinities are ErrSyntax.
func FromFloat64(f float64, scale int) (Int128, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Int128{}, ErrSyntax
	}
	var buf [32]byte
	return parse(strconv.AppendFloat(buf[:0], f, 'e', 14, 64), scale)
}

// Parse reads a decimal number – sign, digits, fraction, exponent – and gives it times 10^scale, rounded half away from
// zero where s has more fractional digits. scale may be negative.
func Parse(s string, scale int) (Int128, error) { return parse(s, scale) }

func parse[S string | []byte](s S, scale int) (Int128, error) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	start, point, digits := i, -1, 0
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
			continue
		case c == '.' && point < 0:
			point = i
			continue
		}
		break
	}
	end := i
	if digits == 0 {
		return Int128{}, ErrSyntax
	}
	exp := 0
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		expNeg := false
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			expNeg = s[i] == '-'
			i++
		}
		expStart := i
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			exp = min(exp*10+int(s[i]-'0'), 1<<30) // the cap keeps its meaning: too large either way
		}
		if i == expStart {
			return Int128{}, ErrSyntax
		}
		if expNeg {
			exp = -exp
		}
	}
	if i != len(s) {
		return Int128{}, ErrSyntax
	}

	// keep counts the digits that end up left of the rounding position.
	whole := digits
	if point >= 0 {
		whole = point - start
	}
	keep := whole + exp + scale
	var v Int128
	var ok, round bool
	seen := 0
	for j := start; j < end; j++ {
		if s[j] == '.' {
			continue
		}
		if seen == keep {
			round = s[j] >= '5'
			break
		}
		if seen > keep {
			break
		}
		if v, ok = v.mulAddUnsigned(10, uint64(s[j]-'0')); !ok {
			return Int128{}, ErrOverflow
		}
		seen++
	}
	for ; seen < keep && v != (Int128{}); seen++ {
		if v, ok = v.mulAddUnsigned(10, 0); !ok {
			return Int128{}, ErrOverflow
		}
	}
	if round {
		if v, ok = v.AddChecked(Int128{Lo: 1}); !ok {
			return Int128{}, ErrOverflow
		}
	}
	if neg {
		v = v.Neg()
	}
	return v, nil
}

// mulAddUnsigned gives a*m+c for a >= 0; ok is false when that exceeds Max.
func (a Int128) mulAddUnsigned(m, c uint64) (Int128, bool) {
	carry, lo := bits.Mul64(a.Lo, m)
	over, hi := bits.Mul64(uint64(a.Hi), m)
	lo, k := bits.Add64(lo, c, 0)
	hi, k2 := bits.Add64(hi, carry, k)
	return Int128{Lo: lo, Hi: int64(hi)}, over == 0 && k2 == 0 && int64(hi) >= 0
}

// Add gives a+b modulo 2^128.
func (a Int128) Add(b Int128) Int128 {
	lo, c := bits.Add64(a.Lo, b.Lo, 0)
	return Int128{Lo: lo, Hi: a.Hi + b.Hi + int64(c)}
}

// Sub gives a-b modulo 2^128.
func (a Int128) Sub(b Int128) Int128 {
	lo, c := bits.Sub64(a.Lo, b.Lo, 0)
	return Int128{Lo: lo, Hi: a.Hi - b.Hi - int64(c)}
}

// AddChecked gives a+b; ok is false when it does not fit.
func (a Int128) AddChecked(b Int128) (sum Int128, ok bool) {
	sum = a.Add(b)
	return sum, (a.Hi^sum.Hi)&(b.Hi^sum.Hi) >= 0
}

// SubChecked gives a-b; ok is false when it does not fit.
func (a Int128) SubChecked(b Int128) (diff Int128, ok bool) {
	diff = a.Sub(b)
	return diff, (a.Hi^b.Hi)&(a.Hi^diff.Hi) >= 0
}

// Mul gives a*b modulo 2^128.
func (a Int128) Mul(b Int128) Int128 {
	hi, lo := bits.Mul64(a.Lo, b.Lo)
	hi += a.Lo*uint64(b.Hi) + uint64(a.Hi)*b.Lo
	return Int128{Lo: lo, Hi: int64(hi)}
}

// MulChecked gives a*b; ok is false when it does not fit.
func (a Int128) MulChecked(b Int128) (product Int128, ok bool) {
	neg := (a.Hi ^ b.Hi) < 0
	x, y := a.abs(), b.abs()
	if x.hi != 0 && y.hi != 0 {
		return Int128{}, false
	}
	if x.hi == 0 {
		x, y = y, x
	}
	// y.hi is 0 now.
	carry, lo := bits.Mul64(x.lo, y.lo)
	over, hi := bits.Mul64(x.hi, y.lo)
	hi, c := bits.Add64(hi, carry, 0)
	if over != 0 || c != 0 {
		return Int128{}, false
	}
	return uint128{hi: hi, lo: lo}.signed(neg)
}

// MulInt64 gives a*b; ok is false when it does not fit.
func (a Int128) MulInt64(b int64) (product Int128, ok bool) { return a.MulChecked(FromInt64(b)) }

// MulInt64s gives the exact product of two 64-bit integers, which always fits.
func MulInt64s(a, b int64) Int128 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return Int128{Lo: lo, Hi: int64(hi) - a>>63&b - b>>63&a}
}

// DivMod gives the quotient truncated toward zero and the remainder, which has the sign of a, as SQL's / and % do. b must
// not be 0; Min by -1 wraps to Min.
func (a Int128) DivMod(b Int128) (q, r Int128) {
	uq, ur := a.abs().divMod(b.abs())
	q, _ = uq.signed((a.Hi ^ b.Hi) < 0)
	r, _ = ur.signed(a.Hi < 0)
	return q, r
}

// Div gives a/b truncated toward zero. b must not be 0.
func (a Int128) Div(b Int128) Int128 {
	q, _ := a.DivMod(b)
	return q
}

// Mod gives the remainder of a/b with the sign of a. b must not be 0.
func (a Int128) Mod(b Int128) Int128 {
	_, r := a.DivMod(b)
	return r
}

// DivRound gives a/b rounded half away from zero. b must not be 0; ok is false only for Min by -1.
func (a Int128) DivRound(b Int128) (q Int128, ok bool) { return MulDivRound(a, Int128{Lo: 1}, b) }

// MulDiv gives a*b/c truncated toward zero, with a 256-bit product between. c must not be 0; ok is false when the quotient
// does not fit.
func MulDiv(a, b, c Int128) (q Int128, ok bool) { return mulDiv(a, b, c, false) }

// MulDivRound is MulDiv rounded half away from zero: the division of decimals, a/b at a scale raised by k digits, is
// MulDivRound(a, Pow10(k), b).
func MulDivRound(a, b, c Int128) (q Int128, ok bool) { return mulDiv(a, b, c, true) }

func mulDiv(a, b, c Int128, round bool) (Int128, bool) {
	hi, lo := a.abs().mul(b.abs())
	d := c.abs()
	if !hi.less(d) {
		if d == (uint128{}) {
			_ = 1 / d.lo // the runtime's own division by zero, like any integer's
		}
		return Int128{}, false
	}
	q, r := div256(hi, lo, d)
	// r >= d-r is 2r >= d without its overflow.
	if round && !r.less(d.sub(r)) {
		if q = q.add(uint128{lo: 1}); q == (uint128{}) {
			return Int128{}, false
		}
	}
	return q.signed((a.Hi ^ b.Hi ^ c.Hi) < 0)
}

// Rescale moves a decimal from one scale to another, rounding half away from zero when digits go. ok is false when the
// result does not fit.
func (a Int128) Rescale(from, to int) (v Int128, ok bool) {
	switch d := to - from; {
	case d == 0 || a == Int128{}:
		return a, true
	case d > MaxDigits:
		return Int128{}, false
	case d > 0:
		return a.MulChecked(Pow10(d))
	case d < -MaxDigits:
		return Int128{}, true // |a| < 2^127 < 10^39/2
	default:
		return a.DivRound(Pow10(-d))
	}
}

// Neg gives -a; Min wraps to itself.
func (a Int128) Neg() Int128 { return Int128{}.Sub(a) }

// Abs gives |a|; Min wraps to itself.
func (a Int128) Abs() Int128 {
	if a.Hi < 0 {
		return a.Neg()
	}
	return a
}

// Sign gives -1, 0 or 1.
func (a Int128) Sign() int {
	switch {
	case a.Hi < 0:
		return -1
	case a == Int128{}:
		return 0
	}
	return 1
}

// Cmp gives -1, 0 or 1 for a < b, a == b, a > b.
func (a Int128) Cmp(b Int128) int {
	switch {
	case a == b:
		return 0
	case a.Less(b):
		return -1
	}
	return 1
}

// Less reports a < b.
func (a Int128) Less(b Int128) bool {
	_, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	// The high words' difference needs 65 bits; comparing them apart needs none.
	return a.Hi < b.Hi || a.Hi == b.Hi && borrow != 0
}

// Int64 gives a as int64; ok is false when it does not fit.
func (a Int128) Int64() (v int64, ok bool) { return int64(a.Lo), a.Hi == int64(a.Lo)>>63 }

// FitsDigits reports |a| < 10^digits: that a fits a decimal of that precision.
func (a Int128) FitsDigits(digits int) bool {
	if digits > MaxDigits {
		return true
	}
	limit := Pow10(digits)
	return a.Less(limit) && limit.Neg().Less(a)
}

// Float64 gives a/10^scale as the double nearest to it.
func (a Int128) Float64(scale int) float64 {
	const exact = 1 << 53
	if v, ok := a.Int64(); ok && -exact <= v && v <= exact && scale >= 0 && scale <= 22 {
		return float64(v) / float64Pow10[scale] // both are exact, so the one rounding is the right one
	}
	var buf [64]byte
	f, _ := strconv.ParseFloat(string(a.AppendExponent(buf[:0], -scale)), 64)
	return f
}

// AppendExponent appends a as an integer with a decimal exponent, "-123e-2".
func (a Int128) AppendExponent(dst []byte, exponent int) []byte {
	dst = append(a.Append(dst, 0), 'e')
	return strconv.AppendInt(dst, int64(exponent), 10)
}

// String writes a as an integer.
func (a Int128) String() string { return a.Format(0) }

// Format writes a/10^scale with exactly scale fractional digits, as PostgreSQL writes numeric: -5 at scale 2 is "-0.05".
func (a Int128) Format(scale int) string {
	var buf [48]byte
	return string(a.Append(buf[:0], scale))
}

// Append appends what Format gives. scale must not be negative.
func (a Int128) Append(dst []byte, scale int) []byte {
	var digits [40]byte
	n := len(digits)
	u := a.abs()
	for u.hi != 0 {
		// Nineteen digits at a time, the most that fit one word.
		const chunk = 1e19
		qhi := u.hi / chunk
		qlo, r := bits.Div64(u.hi%chunk, u.lo, chunk)
		u = uint128{hi: qhi, lo: qlo}
		for range 19 {
			n--
			digits[n] = byte('0' + r%10)
			r /= 10
		}
	}
	for v := u.lo; v != 0; v /= 10 {
		n--
		digits[n] = byte('0' + v%10)
	}
	if a.Hi < 0 {
		dst = append(dst, '-')
	}
	d := digits[n:]
	for len(d) > 0 && d[0] == '0' {
		d = d[1:] // zeros of the chunks above a quotient of zero
	}
	if len(d) <= scale {
		dst = append(dst, '0')
	} else {
		dst = append(dst, d[:len(d)-scale]...)
		d = d[len(d)-scale:]
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, '.')
	for range scale - len(d) {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}

// Pow10 gives 10^n for n in 0..MaxDigits.
func Pow10(n int) Int128 { return pow10[n] }

var pow10 = func() (t [MaxDigits + 1]Int128) {
	t[0].Lo = 1
	for i := range MaxDigits {
		t[i+1] = t[i].Mul(Int128{Lo: 10})
	}
	return t
}()

var float64Pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}
