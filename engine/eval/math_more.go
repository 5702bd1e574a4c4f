package eval

import (
	"math"
	"math/rand/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// moreMath compiles the rarer functions of numbers.
func (k call) moreMath() (factory, bool) {
	switch k.Func {
	case "gcd", "lcm":
		switch k.kind(0) {
		case sqltype.Int32:
			return divisors[int32](k), true
		case sqltype.Int64:
			return divisors[int64](k), true
		}
		return k.decimalDivisors(), true
	case "factorial":
		return k.rows(func(n *rowsNode) {
			a, out := operand[int64](n), n.decimals(k.Typ)
			n.row = func(i int) error {
				x := a.at(i)
				if x < 0 {
					return sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "factorial of a negative number is undefined")
				}
				v := int128.FromInt64(1)
				for f := int64(2); f <= x; f++ {
					var ok bool
					if v, ok = v.MulInt64(f); !ok || !v.FitsDigits(sqltype.MaxPrecision) {
						return decimalOverflow(k.Typ)
					}
				}
				out.set(i, v)
				return nil
			}
		}), true
	case "scale", "min_scale":
		scale := int32(k.Args[0].Type().Scale)
		return map1(k, func(x int128.Int128) (int32, error) {
			if k.Func == "scale" {
				return scale, nil
			}
			least := scale
			for ten := int128.FromInt64(10); least > 0; least-- {
				q, r := x.DivMod(ten)
				if r.Sign() != 0 {
					break
				}
				x = q
			}
			return least, nil
		}), true
	case "width_bucket":
		return k.rows(func(n *rowsNode) {
			x, low, high, count, out := operand[float64](n), operand[float64](n), operand[float64](n), operand[int32](n), values[int32](n, k.Typ)
			n.row = func(i int) error {
				v, err := widthBucket(x.at(i), low.at(i), high.at(i), count.at(i))
				out.set(i, v)
				return err
			}
		}), true
	case "random":
		return k.rows(func(n *rowsNode) {
			n.perRow = true
			out := values[float64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, rand.Float64())
				return nil
			}
		}), true
	case "isnan":
		return k.testFloat(math.IsNaN), true
	case "isinf":
		return k.testFloat(func(x float64) bool { return math.IsInf(x, 0) }), true
	case "iszero":
		return k.testFloat(func(x float64) bool { return x == 0 }), true
	case "signbit":
		return k.testFloat(math.Signbit), true
	case "isfinite":
		if k.kind(0) != sqltype.Float64 { // times are always finite
			return k.rows(func(n *rowsNode) {
				itemOperand(n)
				out := n.truths()
				n.row = func(i int) error {
					out.set(i, true)
					return nil
				}
			}), true
		}
		return k.testFloat(func(x float64) bool { return x-x == 0 }), true
	}
	return nil, false
}

func (k call) testFloat(f func(float64) bool) factory {
	if k.kind(0) == sqltype.Float32 {
		return test1(k, func(x float32) bool { return f(float64(x)) })
	}
	return test1(k, f)
}

// divisors is gcd and lcm of integers.
func divisors[T int32 | int64](k call) factory {
	overflow := integerOverflow(k.Typ)
	lowest := T(1) << (map[bool]uint{true: 31, false: 63}[k.Typ.Kind == sqltype.Int32])
	magnitude := func(x T) (T, error) {
		if x == lowest {
			return 0, overflow
		}
		return max(x, -x), nil
	}
	gcd := func(a, b T) (T, error) {
		for b != 0 {
			if b == -1 { // the lowest number divided by it overflows
				return 1, nil
			}
			a, b = b, a%b
		}
		return magnitude(a)
	}
	return map2(k, func(a, b T) (T, error) {
		if k.Func == "gcd" {
			return gcd(a, b)
		}
		if a == 0 || b == 0 {
			return 0, nil
		}
		g, err := gcd(a, b)
		if err != nil {
			return 0, err
		}
		v, ok := compute('*', a/g, b)
		if !ok {
			return 0, overflow
		}
		return magnitude(v)
	})
}

func (k call) decimalDivisors() factory {
	overflow := decimalOverflow(k.Typ)
	return k.rows(func(n *rowsNode) {
		x, y, out := operand[int128.Int128](n), operand[int128.Int128](n), n.decimals(k.Typ)
		s1, s2, scale := int(k.Args[0].Type().Scale), int(k.Args[1].Type().Scale), int(k.Typ.Scale)
		n.row = func(i int) error {
			a, ok1 := x.at(i).Rescale(s1, scale)
			b, ok2 := y.at(i).Rescale(s2, scale)
			if !ok1 || !ok2 {
				return overflow
			}
			p, q := a, b
			for q.Sign() != 0 {
				_, r := p.DivMod(q)
				p, q = q, r
			}
			if k.Func == "lcm" && p.Sign() != 0 {
				quotient, _ := a.DivMod(p)
				var ok bool
				if p, ok = quotient.MulChecked(b); !ok {
					return overflow
				}
			}
			if p.Sign() < 0 {
				p = p.Neg()
			}
			if !p.FitsDigits(int(k.Typ.Precision)) {
				return overflow
			}
			out.set(i, p)
			return nil
		}
	})
}

func widthBucket(x, low, high float64, count int32) (int32, error) {
	switch {
	case count <= 0:
		return 0, invalidArgument("count must be greater than zero")
	case x != x || low != low || high != high:
		return 0, invalidArgument("operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(low, 0) || math.IsInf(high, 0):
		return 0, invalidArgument("lower and upper bounds must be finite")
	case low == high:
		return 0, invalidArgument("lower bound cannot equal upper bound")
	}
	if low > high {
		x, low, high = -x, -low, -high
	}
	switch {
	case x < low:
		return 0, nil
	case x >= high:
		if count == math.MaxInt32 {
			return 0, sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "integer out of range")
		}
		return count + 1, nil
	}
	part := (x - low) / (high - low)
	if math.IsInf(high-low, 0) {
		part = (x/2 - low/2) / (high/2 - low/2)
	}
	return min(int32(part*float64(count)), count-1) + 1, nil
}

const degree = math.Pi / 180

// Degrees are computed so that the well-known angles give exact values, as in PostgreSQL.
var (
	sin30      = math.Sin(30 * degree)
	oneLessC60 = 1 - math.Cos(60*degree)
	tan45      = sinFirst(45) / cosFirst(45)
	cot45      = cosFirst(45) / sinFirst(45)
	asinHalf   = math.Asin(0.5)
	acosHalf   = math.Acos(0.5)
	atanOne    = math.Atan(1)
)

func sinTo30(x float64) float64 { return math.Sin(x*degree) / sin30 / 2 }
func cosTo60(x float64) float64 { return 1 - (1-math.Cos(x*degree))/oneLessC60/2 }

// sinFirst and cosFirst are of degrees from 0 to 90.
func sinFirst(x float64) float64 {
	if x <= 30 {
		return sinTo30(x)
	}
	return cosTo60(90 - x)
}

func cosFirst(x float64) float64 {
	if x <= 60 {
		return cosTo60(x)
	}
	return sinTo30(90 - x)
}

// first brings degrees into 0 to 90 and tells the signs of sine and cosine there.
func first(x float64) (angle, sin, cos float64) {
	x, sin, cos = math.Mod(x, 360), 1, 1
	if x < 0 {
		x, sin = -x, -1
	}
	if x > 180 {
		x, sin = 360-x, -sin
	}
	if x > 90 {
		x, cos = 180-x, -1
	}
	return x, sin, cos
}

func asinFirst(x float64) float64 {
	if x <= 0.5 {
		return math.Asin(x) / asinHalf * 30
	}
	return 90 - math.Acos(x)/acosHalf*60
}

func acosFirst(x float64) float64 {
	if x <= 0.5 {
		return 90 - math.Asin(x)/asinHalf*30
	}
	return math.Acos(x) / acosHalf * 60
}

// unaryMore are functions of one number beyond those of unaryMath.
func unaryMore(name string) func(float64) (float64, error) {
	switch name {
	case "sinh":
		return plain(math.Sinh)
	case "cosh":
		return plain(math.Cosh)
	case "tanh":
		return plain(math.Tanh)
	case "asinh":
		return plain(math.Asinh)
	case "acosh":
		return func(x float64) (float64, error) {
			if x < 1 {
				return 0, outOfDomain()
			}
			return math.Acosh(x), nil
		}
	case "atanh":
		return within(1, math.Atanh)
	case "cot":
		return within(math.MaxFloat64, func(x float64) float64 { return 1 / math.Tan(x) })
	case "sind":
		return within(math.MaxFloat64, func(x float64) float64 {
			a, s, _ := first(x)
			return s * sinFirst(a)
		})
	case "cosd":
		return within(math.MaxFloat64, func(x float64) float64 {
			a, _, c := first(x)
			return c * cosFirst(a)
		})
	case "tand":
		return within(math.MaxFloat64, func(x float64) float64 {
			a, s, c := first(x)
			return noMinus(s * c * (sinFirst(a) / cosFirst(a) / tan45))
		})
	case "cotd":
		return within(math.MaxFloat64, func(x float64) float64 {
			a, s, c := first(x)
			return noMinus(s * c * (cosFirst(a) / sinFirst(a) / cot45))
		})
	case "asind":
		return within(1, func(x float64) float64 {
			if x >= 0 {
				return asinFirst(x)
			}
			return -asinFirst(-x)
		})
	case "acosd":
		return within(1, func(x float64) float64 {
			if x >= 0 {
				return acosFirst(x)
			}
			return 90 + asinFirst(-x)
		})
	case "atand":
		return plain(func(x float64) float64 { return math.Atan(x) / atanOne * 45 })
	case "erf":
		return plain(math.Erf)
	case "erfc":
		return plain(math.Erfc)
	case "gamma":
		return func(x float64) (float64, error) {
			if x == 0 || x < 0 && x == math.Trunc(x) {
				return 0, outOfDomain()
			}
			return overflowing(math.Gamma)(x)
		}
	case "lgamma":
		return func(x float64) (float64, error) {
			if x == 0 {
				return 0, outOfDomain()
			}
			v, _ := math.Lgamma(x)
			return v, nil
		}
	case "even":
		return plain(func(x float64) float64 {
			up := math.Ceil(math.Abs(x)/2) * 2
			return math.Copysign(up, x)
		})
	}
	return nil
}

// noMinus is x with −0 as 0.
func noMinus(x float64) float64 { return x + 0 }

func outOfDomain() error { return sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "input is out of range") }
