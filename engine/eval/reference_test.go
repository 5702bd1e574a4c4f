package eval

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// reference computes e on one row, slowly and without kernels: numbers in math/big, lazily where SQL is lazy. What it does not
// know itself it asks the engine, one row of constants at a time, so that forms and selections are checked at least.
func reference(e expr.Expr, row []expr.Value) (expr.Value, error) {
	switch e := e.(type) {
	case *expr.Input:
		return row[e.Index], nil
	case *expr.Literal:
		return e.Value, nil
	case *expr.Compare:
		l, r, err := referencePair(e.L, e.R, row)
		if err != nil {
			return l, err
		}
		switch {
		case e.Op >= expr.Distinct:
			same := l.Null && r.Null || !l.Null && !r.Null && compareValues(l, r) == 0
			return expr.BoolValue(same == (e.Op == expr.NotDistinct)), nil
		case l.Null || r.Null:
			return expr.NullOf(boolType), nil
		}
		c := compareValues(l, r)
		return expr.BoolValue([]bool{c == 0, c != 0, c < 0, c <= 0, c > 0, c >= 0}[e.Op]), nil
	case *expr.Logic:
		decides := e.Op == expr.Or
		null := false
		for _, a := range e.Args {
			v, err := reference(a, row)
			if err != nil {
				return v, err
			}
			if !v.Null && v.IsTrue() == decides {
				return v, nil
			}
			null = null || v.Null
		}
		if null {
			return expr.NullOf(boolType), nil
		}
		return expr.BoolValue(!decides), nil
	case *expr.Not:
		v, err := reference(e.X, row)
		if err != nil || v.Null {
			return v, err
		}
		return expr.BoolValue(!v.IsTrue()), nil
	case *expr.IsNull:
		v, err := reference(e.X, row)
		return expr.BoolValue(v.Null != e.Negated), err
	case *expr.Case:
		for _, w := range e.Whens {
			c, err := reference(w.Cond, row)
			if err != nil {
				return c, err
			}
			if c.IsTrue() {
				return reference(w.Then, row)
			}
		}
		if e.Else == nil {
			return expr.NullOf(e.Typ), nil
		}
		return reference(e.Else, row)
	case *expr.In:
		v, err := reference(e.X, row)
		if err != nil || v.Null {
			return expr.NullOf(boolType), err
		}
		null := false
		for _, x := range e.List {
			null = null || x.Null
			if !x.Null && compareValues(v, x) == 0 {
				return expr.BoolValue(!e.Negated), nil
			}
		}
		if null {
			return expr.NullOf(boolType), nil
		}
		return expr.BoolValue(e.Negated), nil
	case *expr.Cast:
		v, err := reference(e.X, row)
		if err != nil || v.Null {
			return expr.NullOf(e.To), err
		}
		if v.Type.IsNested() && e.To.IsNested() {
			parts := v.Parts()
			for i := range parts {
				to := nested.PartType(e.To, i)
				if parts[i], err = reference(&expr.Cast{X: expr.NewLiteral(parts[i], e.P), To: to, Try: e.Try}, nil); err != nil {
					return expr.Value{}, err
				}
			}
			return expr.NestedOf(e.To, parts), nil
		}
		out, err := referenceCast(v, e.To)
		if err != nil && e.Try {
			return expr.NullOf(e.To), nil
		}
		return out, err
	case *expr.Call:
		return referenceCall(e, row)
	}
	return expr.Value{}, errors.New("unknown expression")
}

func referencePair(a, b expr.Expr, row []expr.Value) (l, r expr.Value, err error) {
	if l, err = reference(a, row); err == nil {
		r, err = reference(b, row)
	}
	return l, r, err
}

func bigValue(v expr.Value) *big.Int {
	switch v.Type.Kind {
	case sqltype.Decimal:
		return bigOf(v.Wide)
	case sqltype.Uint64:
		return new(big.Int).SetUint64(uint64(v.Int))
	}
	return big.NewInt(v.Int)
}

func compareValues(a, b expr.Value) int {
	switch k := a.Type.Kind; {
	case a.Type.IsNested():
		x, y := a.Parts(), b.Parts()
		for i := range min(len(x), len(y)) {
			switch {
			case x[i].Null && y[i].Null:
				continue
			case x[i].Null:
				return 1
			case y[i].Null:
				return -1
			}
			if c := compareValues(x[i], y[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(x), len(y))
	case k == sqltype.Utf8 || k == sqltype.Binary:
		return strings.Compare(a.Str, b.Str)
	case a.Type.IsFloat():
		aNaN, bNaN := math.IsNaN(a.Float), math.IsNaN(b.Float)
		switch {
		case aNaN && bNaN:
			return 0
		case aNaN:
			return 1
		case bNaN:
			return -1
		}
		return cmp.Compare(a.Float+0, b.Float+0)
	case k == sqltype.Interval:
		span := func(v expr.Value) *big.Int {
			days := new(big.Int).SetInt64(int64(v.Months)*30 + int64(v.Days))
			return days.Add(days.Mul(days, big.NewInt(86400e6)), big.NewInt(v.Int))
		}
		return span(a).Cmp(span(b))
	case k == sqltype.UUID:
		return cmp.Or(cmp.Compare(uint64(a.Wide.Hi), uint64(b.Wide.Hi)), cmp.Compare(a.Wide.Lo, b.Wide.Lo))
	}
	return bigValue(a).Cmp(bigValue(b))
}

var errOutOfRange = sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "out of range")

func integerOf(v *big.Int, t sqltype.Type) (expr.Value, error) {
	width, isSigned := intWidth(t.Kind)
	lo, hi := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(width))
	if isSigned {
		hi.Rsh(hi, 1)
		lo.Neg(hi)
	}
	if v.Cmp(lo) < 0 || v.Cmp(hi) >= 0 {
		return expr.Value{}, errOutOfRange
	}
	if isSigned {
		return expr.IntValue(t, v.Int64()), nil
	}
	return expr.IntValue(t, int64(v.Uint64())), nil
}

func bigPow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// roundedDecimal is num/den at t's scale, rounded half away from zero.
func roundedDecimal(num, den *big.Int, t sqltype.Type) (expr.Value, error) {
	n := new(big.Int).Mul(num, bigPow10(int(t.Scale)))
	q, r := new(big.Int).QuoRem(n, den, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(den) >= 0 {
		q.Add(q, big.NewInt(int64(n.Sign()*den.Sign())))
	}
	if q.CmpAbs(bigPow10(int(t.Precision))) >= 0 {
		return expr.Value{}, errOutOfRange
	}
	w, err := int128.Parse(q.String(), 0)
	return expr.Value{Type: t, Wide: w}, err
}

func referenceCast(v expr.Value, to sqltype.Type) (expr.Value, error) {
	exact := func(t sqltype.Type) bool { return t.IsInteger() || t.Kind == sqltype.Decimal }
	scale := 0
	if v.Type.Kind == sqltype.Decimal {
		scale = int(v.Type.Scale)
	}
	switch {
	case exact(v.Type) && to.Kind == sqltype.Decimal:
		return roundedDecimal(bigValue(v), bigPow10(scale), to)
	case exact(v.Type) && to.IsInteger():
		whole, err := roundedDecimal(bigValue(v), bigPow10(scale), sqltype.DecimalOf(38, 0))
		if err != nil {
			return whole, err
		}
		return integerOf(bigOf(whole.Wide), to)
	case exact(v.Type) && to.Kind == sqltype.Float64:
		f, _ := strconv.ParseFloat(bigValue(v).String()+"e-"+strconv.Itoa(scale), 64)
		return expr.FloatValue(f), nil
	case to.Kind == sqltype.Utf8:
		return expr.StringValue(v.Text()), nil
	case v.Type.Kind == sqltype.Utf8:
		return expr.ParseValue(to, v.Str)
	}
	return engineValue(&expr.Cast{X: expr.NewLiteral(v, sqlerr.Pos{}), To: to})
}

type outcome struct {
	v   expr.Value
	err error
}

var known = map[string]outcome{}

// engineValue computes an expression of constants by the engine, each but once.
func engineValue(e expr.Expr) (expr.Value, error) {
	key := expr.Key(e)
	if o, ok := known[key]; ok {
		return o.v, o.err
	}
	v, err := computeConstant(e)
	known[key] = outcome{v, err}
	return v, err
}

func computeConstant(e expr.Expr) (expr.Value, error) {
	p, err := Compile(e)
	if err != nil {
		return expr.Value{}, err
	}
	v, err := p.NewEvaluator(context.Background(), 1).Eval(&vector.Batch{Len: 1})
	if err != nil {
		return expr.Value{}, err
	}
	out := ValueAt(v, 0)
	out.Str = strings.Clone(out.Str)
	return out, nil
}

func referenceCall(e *expr.Call, row []expr.Value) (expr.Value, error) {
	if e.Func == "coalesce" {
		for _, a := range e.Args {
			if v, err := reference(a, row); err != nil || !v.Null {
				return v, err
			}
		}
		return expr.NullOf(e.Typ), nil
	}
	args := make([]expr.Value, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = reference(a, row); err != nil {
			return args[i], err
		}
	}
	if f := expr.LookupFunction(e.Func); !f.Lenient {
		for _, a := range args {
			if a.Null {
				return expr.NullOf(e.Typ), nil
			}
		}
	}
	if len(args) == 2 && (e.Typ.IsInteger() || e.Typ.Kind == sqltype.Decimal) && args[0].Type.Kind == e.Typ.Kind && args[1].Type.Kind == e.Typ.Kind {
		if v, ok, err := referenceArithmetic(e, args[0], args[1]); ok {
			return v, err
		}
	}
	switch e.Func {
	case "greatest", "least":
		best := expr.NullOf(e.Typ)
		for _, a := range args {
			if !a.Null && (best.Null || compareValues(a, best) > 0 == (e.Func == "greatest") && compareValues(a, best) != 0) {
				best = a
			}
		}
		return best, nil
	case "nullif":
		if !args[0].Null && !args[1].Null && compareValues(args[0], args[1]) == 0 {
			return expr.NullOf(e.Typ), nil
		}
		return args[0], nil
	case "like":
		if len(args) == 2 {
			if p := args[1].Str; (len(p)-len(strings.TrimRight(p, `\`)))%2 == 1 { // found out when the pattern is read, not when it gets there
				return args[0], sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "escape at the end")
			}
			ok, err := referenceLike([]rune(args[0].Str), []rune(args[1].Str))
			return expr.BoolValue(ok), err
		}
	}
	constants := make([]expr.Expr, len(args))
	for i, a := range args {
		constants[i] = expr.NewLiteral(a, sqlerr.Pos{})
	}
	return engineValue(&expr.Call{Func: e.Func, Args: constants, Typ: e.Typ})
}

func referenceArithmetic(e *expr.Call, a, b expr.Value) (v expr.Value, ok bool, err error) {
	x, y := bigValue(a), bigValue(b)
	xs, ys := bigPow10(int(a.Type.Scale)), bigPow10(int(b.Type.Scale))
	num, den := new(big.Int), new(big.Int).Mul(xs, ys)
	switch e.Func {
	case "+":
		num.Add(num.Mul(x, ys), new(big.Int).Mul(y, xs))
	case "-":
		num.Sub(num.Mul(x, ys), new(big.Int).Mul(y, xs))
	case "*":
		num.Mul(x, y)
	case "/", "//", "%":
		if y.Sign() == 0 {
			return v, true, errDivisionByZero
		}
		p, q := new(big.Int).Mul(x, ys), new(big.Int).Mul(y, xs)
		switch {
		case e.Func == "%":
			num.Rem(p, q)
		case e.Func == "//" || e.Typ.IsInteger():
			num.Quo(p, q)
			den.SetInt64(1)
		default:
			num, den = p, q
		}
	default:
		return v, false, nil
	}
	if e.Typ.Kind == sqltype.Decimal {
		v, err = roundedDecimal(num, den, e.Typ)
	} else {
		v, err = integerOf(num.Quo(num, den), e.Typ)
	}
	return v, true, err
}

func referenceLike(text, pattern []rune) (bool, error) {
	if len(pattern) == 0 {
		return len(text) == 0, nil
	}
	switch pattern[0] {
	case '%':
		for i := range len(text) + 1 {
			if ok, err := referenceLike(text[i:], pattern[1:]); ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case '\\':
		if len(pattern) == 1 {
			return false, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "escape at the end")
		}
		pattern = pattern[1:]
	case '_':
		if len(text) == 0 {
			return false, nil
		}
		return referenceLike(text[1:], pattern[1:])
	}
	if len(text) == 0 || text[0] != pattern[0] {
		return false, nil
	}
	return referenceLike(text[1:], pattern[1:])
}
