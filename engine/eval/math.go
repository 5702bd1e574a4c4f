package eval

import (
	"math"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func invalidArgument(message string) error {
	return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, message)
}

// math compiles functions of numbers.
func (k call) math() (factory, bool, error) {
	switch k.Func {
	case "ceil", "floor", "round", "trunc", "sign":
		if k.kind(0) == sqltype.Decimal {
			return k.roundDecimal(), true, nil
		}
	case "pi":
		return func(in *instance) node {
			n := newRows(in, k)
			out := values[float64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, math.Pi)
				return nil
			}
			return n
		}, true, nil
	}
	if f, ok := k.moreMath(); ok {
		return f, true, nil
	}
	if k.kind(0) != sqltype.Float64 {
		return nil, false, nil
	}
	if len(k.args) == 1 {
		f := unaryMath(k.Func)
		if f == nil {
			f = unaryMore(k.Func)
		}
		if f == nil {
			return nil, false, nil
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[float64](n), values[float64](n, k.Typ)
			n.row = func(i int) error {
				v, err := f(a.at(i))
				out.set(i, v)
				return err
			}
			return n
		}, true, nil
	}
	if len(k.args) == 2 && k.kind(1) == sqltype.Int32 && (k.Func == "round" || k.Func == "trunc") {
		to := math.RoundToEven
		if k.Func == "trunc" {
			to = math.Trunc
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, digits, out := operand[float64](n), operand[int32](n), values[float64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, roundFloat(a.at(i), int(digits.at(i)), to))
				return nil
			}
			return n
		}, true, nil
	}
	f := binaryMath(k.Func)
	if f == nil || k.kind(1) != sqltype.Float64 {
		return nil, false, nil
	}
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, out := operand[float64](n), operand[float64](n), values[float64](n, k.Typ)
		n.row = func(i int) error {
			v, err := f(a.at(i), b.at(i))
			out.set(i, v)
			return err
		}
		return n
	}, true, nil
}

func roundFloat(x float64, digits int, to func(float64) float64) float64 {
	scale := math.Pow10(min(max(digits, -330), 330))
	if y := x * scale; scale > 0 && !math.IsInf(y, 0) {
		return to(y) / scale
	}
	return x
}

// plain is f without errors.
func plain(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) { return f(x), nil }
}

// overflowing is f whose infinities for numbers are errors.
func overflowing(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		v := f(x)
		if math.IsInf(v, 0) && !math.IsInf(x, 0) {
			return 0, errFloatOverflow
		}
		return v, nil
	}
}

// within is f for inputs from -most to most.
func within(most float64, f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		if math.Abs(x) > most {
			return 0, sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "input is out of range")
		}
		return f(x), nil
	}
}

func logarithm(f func(float64) float64) func(float64) (float64, error) {
	return func(x float64) (float64, error) {
		switch {
		case x == 0:
			return 0, invalidArgument("cannot take logarithm of zero")
		case x < 0:
			return 0, invalidArgument("cannot take logarithm of a negative number")
		}
		return f(x), nil
	}
}

func unaryMath(name string) func(float64) (float64, error) {
	switch name {
	case "ceil":
		return plain(math.Ceil)
	case "floor":
		return plain(math.Floor)
	case "round":
		return plain(math.RoundToEven)
	case "trunc":
		return plain(math.Trunc)
	case "sign":
		return plain(func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return 0 // of NaN too
		})
	case "sqrt":
		return func(x float64) (float64, error) {
			if x < 0 {
				return 0, invalidArgument("cannot take square root of a negative number")
			}
			return math.Sqrt(x), nil
		}
	case "cbrt":
		return plain(math.Cbrt)
	case "exp":
		return func(x float64) (float64, error) {
			v := math.Exp(x)
			switch {
			case math.IsInf(v, 0) && !math.IsInf(x, 0):
				return 0, errFloatOverflow
			case v == 0 && !math.IsInf(x, 0):
				return 0, errFloatUnderflow
			}
			return v, nil
		}
	case "ln":
		return logarithm(math.Log)
	case "log":
		return logarithm(math.Log10)
	case "log2":
		return logarithm(math.Log2)
	case "degrees":
		return overflowing(func(x float64) float64 { return x * (180 / math.Pi) })
	case "radians":
		return plain(func(x float64) float64 { return x * (math.Pi / 180) })
	case "sin":
		return within(math.MaxFloat64, math.Sin)
	case "cos":
		return within(math.MaxFloat64, math.Cos)
	case "tan":
		return within(math.MaxFloat64, math.Tan)
	case "asin":
		return within(1, math.Asin)
	case "acos":
		return within(1, math.Acos)
	case "atan":
		return plain(math.Atan)
	}
	return nil
}

func binaryMath(name string) func(a, b float64) (float64, error) {
	switch name {
	case "atan2d":
		return func(a, b float64) (float64, error) { return math.Atan2(a, b) / atanOne * 45, nil }
	case "nextafter":
		return func(a, b float64) (float64, error) { return math.Nextafter(a, b), nil }
	case "nanvl":
		return func(a, b float64) (float64, error) {
			if a != a {
				return b, nil
			}
			return a, nil
		}
	case "^":
		return power
	case "log":
		return func(base, x float64) (float64, error) {
			if base <= 0 || x <= 0 {
				if base == 0 || x == 0 {
					return 0, invalidArgument("cannot take logarithm of zero")
				}
				return 0, invalidArgument("cannot take logarithm of a negative number")
			}
			d := math.Log(base)
			if d == 0 {
				return 0, errDivisionByZero
			}
			return math.Log(x) / d, nil
		}
	case "atan2":
		return func(y, x float64) (float64, error) { return math.Atan2(y, x), nil }
	}
	return nil
}

func power(x, y float64) (float64, error) {
	switch {
	case x == 0 && y < 0:
		return 0, invalidArgument("zero raised to a negative power is undefined")
	case x < 0 && y != math.Trunc(y):
		return 0, invalidArgument("a negative number raised to a non-integer power yields a complex result")
	}
	v := math.Pow(x, y)
	if !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		switch {
		case math.IsInf(v, 0):
			return 0, errFloatOverflow
		case v == 0 && x != 0:
			return 0, errFloatUnderflow
		}
	}
	return v, nil
}

// roundDecimal is ceil, floor, round, trunc and sign of decimals.
func (k call) roundDecimal() factory {
	scale, outScale := int(k.Args[0].Type().Scale), int(k.Typ.Scale)
	precision := int(k.Typ.Precision)
	overflow := decimalOverflow(k.Typ)
	return func(in *instance) node {
		n := newRows(in, k)
		a := operand[int128.Int128](n)
		digits := &arg[int32]{vals: []int32{0}}
		if len(k.args) == 2 {
			digits = operand[int32](n)
		}
		out := n.decimals(k.Typ)
		n.row = func(i int) error {
			x := a.at(i)
			if k.Func == "sign" {
				out.set(i, int128.FromInt64(int64(x.Sign())))
				return nil
			}
			keep := min(int(digits.at(i)), scale) // digits after the point
			ok := true
			if drop := scale - keep; drop > int128.MaxDigits {
				x, keep = int128.Int128{}, 0
			} else if drop > 0 {
				x, ok = dropDigits(k.Func, x, int128.Pow10(drop))
			}
			x, fits := x.Rescale(keep, outScale)
			if !ok || !fits || !x.FitsDigits(precision) {
				return overflow
			}
			out.set(i, x)
			return nil
		}
		return n
	}
}

// dropDigits divides x by a power of ten, rounding as the function of that name does.
func dropDigits(name string, x, unit int128.Int128) (int128.Int128, bool) {
	if name == "round" {
		return x.DivRound(unit)
	}
	q, r := x.DivMod(unit)
	switch {
	case name == "ceil" && r.Sign() > 0:
		return q.AddChecked(int128.FromInt64(1))
	case name == "floor" && r.Sign() < 0:
		return q.SubChecked(int128.FromInt64(1))
	}
	return q, true
}

// extreme compiles greatest and least, which leave NULL out.
func (k call) extreme(greatest bool) (factory, error) {
	t := k.Typ
	switch vector.PhysOf(t) {
	case vector.PhysInt8:
		return extremeOf[int8](k, greatest, ordered[int8]), nil
	case vector.PhysInt16:
		return extremeOf[int16](k, greatest, ordered[int16]), nil
	case vector.PhysInt32:
		return extremeOf[int32](k, greatest, ordered[int32]), nil
	case vector.PhysInt64:
		return extremeOf[int64](k, greatest, ordered[int64]), nil
	case vector.PhysUint8:
		return extremeOf[uint8](k, greatest, ordered[uint8]), nil
	case vector.PhysUint16:
		return extremeOf[uint16](k, greatest, ordered[uint16]), nil
	case vector.PhysUint32:
		return extremeOf[uint32](k, greatest, ordered[uint32]), nil
	case vector.PhysUint64:
		return extremeOf[uint64](k, greatest, ordered[uint64]), nil
	case vector.PhysFloat32:
		return extremeOf[float32](k, greatest, ordered[float32]), nil
	case vector.PhysFloat64:
		return extremeOf[float64](k, greatest, ordered[float64]), nil
	case vector.PhysString:
		return extremeOf[string](k, greatest, func(a, b string) bool { return a < b }), nil
	case vector.PhysInt128:
		if t.Kind == sqltype.Decimal {
			return extremeOf[int128.Int128](k, greatest, int128.Int128.Less), nil
		}
		return extremeOf[int128.Int128](k, greatest, func(a, b int128.Int128) bool { // by bytes
			return uint64(a.Hi) < uint64(b.Hi) || a.Hi == b.Hi && a.Lo < b.Lo
		}), nil
	case vector.PhysBool:
		return k.extremeBool(greatest), nil
	case vector.PhysInterval:
		return extremeOf[vector.Interval](k, greatest, func(a, b vector.Interval) bool {
			return intervalSpan(a).Less(intervalSpan(b))
		}), nil
	}
	return nil, unsupported(k.Call)
}

// ordered is less in SQL's order of numbers: NaN is above all.
func ordered[T number](a, b T) bool { return a < b || b != b && a == a }

func extremeOf[T vector.Element](k call, greatest bool, less func(a, b T) bool) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		n.lenient = true
		args := make([]*arg[T], len(k.args))
		for i := range args {
			args[i] = operand[T](n)
		}
		out := values[T](n, k.Typ)
		n.row = func(i int) error {
			found := false
			var best T
			for j, a := range args {
				if n.null(j, i) {
					continue
				}
				if x := a.at(i); !found || greatest && less(best, x) || !greatest && less(x, best) {
					best, found = x, true
				}
			}
			out.set(i, best)
			if !found {
				n.setNull(i)
			}
			return nil
		}
		return n
	}
}

func (k call) extremeBool(greatest bool) factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		args := make([]*truth, len(k.args))
		for i := range args {
			args[i] = n.truthOperand()
		}
		out := n.truths()
		n.row = func(i int) error {
			found, best := false, !greatest
			for j, a := range args {
				if !n.null(j, i) {
					found = true
					best = greatest && (best || a.at(i)) || !greatest && best && a.at(i)
				}
			}
			out.set(i, best && found)
			if !found {
				n.setNull(i)
			}
			return nil
		}
	})
}
