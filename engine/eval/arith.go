package eval

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

var errDivisionByZero = sqlerr.New(sqlerr.DivisionByZero, sqlerr.Pos{}, "division by zero")

func integerOverflow(t sqltype.Type) error {
	width, signed := intWidth(t.Kind)
	return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "%s out of range", sqltext.IntegerName(width, signed))
}

func intWidth(k sqltype.Kind) (bits int, signed bool) {
	switch k {
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64:
		return 8 << (k - sqltype.Int8), true
	}
	return 8 << (k - sqltype.Uint8), false
}

// arithmetic compiles operators whose operands and result are numbers of one kind; ok is false for any others.
func (k call) arithmetic() (f factory, ok bool) {
	for i := range k.Args {
		if k.kind(i) != k.Typ.Kind && !(i == 1 && (k.Func == "<<" || k.Func == ">>")) {
			return nil, false
		}
	}
	switch k.Typ.Kind {
	case sqltype.Int8:
		return signedArithmetic[int8](k)
	case sqltype.Int16:
		return signedArithmetic[int16](k)
	case sqltype.Int32:
		return signedArithmetic[int32](k)
	case sqltype.Int64:
		return signedArithmetic[int64](k)
	case sqltype.Uint8:
		return integerArithmetic[uint8](k)
	case sqltype.Uint16:
		return integerArithmetic[uint16](k)
	case sqltype.Uint32:
		return integerArithmetic[uint32](k)
	case sqltype.Uint64:
		return integerArithmetic[uint64](k)
	case sqltype.Float32:
		return floatArithmetic[float32](k)
	case sqltype.Float64:
		return floatArithmetic[float64](k)
	case sqltype.Decimal:
		return k.decimalArithmetic()
	}
	return nil, false
}

type signed interface {
	int8 | int16 | int32 | int64
}

func signedArithmetic[T signed](k call) (factory, bool) {
	if len(k.args) == 2 && (k.Func == "+" || k.Func == "-" || k.Func == "*") {
		return func(in *instance) node {
			return &signedNode[T]{k: k, op: k.Func[0], l: k.args[0](in), r: k.args[1](in), in: in}
		}, true
	}
	return integerArithmetic[T](k)
}

// A signedNode adds, subtracts or multiplies by kernels that find an overflow; only where one does are the rows looked at one
// by one, since it may be at a row that is NULL or not alive.
type signedNode[T signed] struct {
	k    call
	op   byte
	l, r node
	in   *instance
	a, b arg[T]
	null validity
	pick chooser
	out  column[T]
}

func (n *signedNode[T]) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(n.k.Typ, f), nil
	}
	g, one := single(f, l, r)
	n.a.load(l, g)
	n.b.load(r, g)
	out := n.out.make(g.n)[:g.n]
	valid := n.null.of(g.n, l, r)
	if one || g.sparse() || !n.kernel(out) {
		for _, i := range n.pick.choose(n.in, g, valid) {
			v, ok := compute(n.op, n.a.at(int(i)), n.b.at(int(i)))
			if !ok {
				return nil, sqlerr.At(integerOverflow(n.k.Typ), n.k.P)
			}
			out[i] = v
		}
	}
	return n.out.give(n.k.Typ, f, one, valid), nil
}

// kernel computes all rows, false if some row overflows.
func (n *signedNode[T]) kernel(out []T) bool {
	a, b := n.a.vals, n.b.vals
	var at int // the first row that overflows, -1 for none
	switch {
	case n.b.mask == 0 && n.op == '+':
		at = kernel.AddConstChecked(out, a, b[0])
	case n.b.mask == 0 && n.op == '-':
		at = kernel.SubConstChecked(out, a, b[0])
	case n.b.mask == 0:
		at = kernel.MulConstChecked(out, a, b[0])
	case n.a.mask == 0 && n.op == '+':
		at = kernel.AddConstChecked(out, b, a[0])
	case n.a.mask == 0 && n.op == '-':
		at = kernel.ConstSubChecked(out, a[0], b)
	case n.a.mask == 0:
		at = kernel.MulConstChecked(out, b, a[0])
	case n.op == '+':
		at = kernel.AddChecked(out, a, b)
	case n.op == '-':
		at = kernel.SubChecked(out, a, b)
	default:
		at = kernel.MulChecked(out, a, b)
	}
	return at < 0
}

// compute is a op b for +, - and *, ok if it fits T.
func compute[T integer](op byte, a, b T) (v T, ok bool) {
	neg := T(0) - 1
	isSigned := neg < 0
	switch op {
	case '+':
		v = a + b
		if isSigned {
			return v, (a^v)&(b^v) >= 0
		}
		return v, v >= a
	case '-':
		v = a - b
		if isSigned {
			return v, (a^b)&(a^v) >= 0
		}
		return v, a >= b
	}
	v = a * b
	size := unsafe.Sizeof(v)
	if !isSigned {
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		return v, hi == 0 && lo == uint64(v)
	}
	if size == 8 {
		hi, lo := bits.Mul64(uint64(a), uint64(b))
		h := int64(hi) - int64(a)>>63&int64(b) - int64(b)>>63&int64(a)
		return v, h == int64(lo)>>63
	}
	return v, int64(a)*int64(b) == int64(v)
}

// integerArithmetic is the rest, row by row.
func integerArithmetic[T integer](k call) (factory, bool) {
	neg := T(0) - 1
	isSigned := neg < 0
	lowest := T(0)
	if isSigned {
		lowest = T(1) << (unsafe.Sizeof(lowest)*8 - 1)
	}
	binary := func(f func(a, b T) (T, error)) (factory, bool) {
		return func(in *instance) node {
			n := newRows(in, k)
			a, b, out := operand[T](n), operand[T](n), values[T](n, k.Typ)
			n.row = func(i int) error {
				v, err := f(a.at(i), b.at(i))
				out.set(i, v)
				return err
			}
			return n
		}, true
	}
	unary := func(f func(a T) (T, error)) (factory, bool) {
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[T](n), values[T](n, k.Typ)
			n.row = func(i int) error {
				v, err := f(a.at(i))
				out.set(i, v)
				return err
			}
			return n
		}, true
	}
	shift := func(f func(a T, by uint) T) (factory, bool) {
		width := int32(unsafe.Sizeof(lowest) * 8)
		return func(in *instance) node {
			n := newRows(in, k)
			a, b, out := operand[T](n), operand[int32](n), values[T](n, k.Typ)
			n.row = func(i int) error { // as PostgreSQL on its machines: only the low bits of the count
				out.set(i, f(a.at(i), uint(b.at(i)&(width-1))))
				return nil
			}
			return n
		}, true
	}
	overflow := integerOverflow(k.Typ)
	if len(k.args) == 1 {
		switch k.Func {
		case "-":
			return unary(func(a T) (T, error) {
				if isSigned && a == lowest || !isSigned && a != 0 {
					return 0, overflow
				}
				return -a, nil
			})
		case "abs":
			return unary(func(a T) (T, error) {
				if isSigned && a == lowest {
					return 0, overflow
				}
				if a < 0 {
					a = -a
				}
				return a, nil
			})
		case "~":
			return unary(func(a T) (T, error) { return ^a, nil })
		}
		return nil, false
	}
	switch k.Func {
	case "+", "-", "*":
		op := k.Func[0]
		return binary(func(a, b T) (T, error) {
			v, ok := compute(op, a, b)
			if !ok {
				return 0, overflow
			}
			return v, nil
		})
	case "/", "//":
		return binary(func(a, b T) (T, error) {
			switch {
			case b == 0:
				return 0, errDivisionByZero
			case isSigned && a == lowest && b == neg:
				return 0, overflow
			}
			return a / b, nil
		})
	case "%":
		return binary(func(a, b T) (T, error) {
			switch {
			case b == 0:
				return 0, errDivisionByZero
			case isSigned && b == neg:
				return 0, nil
			}
			return a % b, nil
		})
	case "&":
		return binary(func(a, b T) (T, error) { return a & b, nil })
	case "|":
		return binary(func(a, b T) (T, error) { return a | b, nil })
	case "#":
		return binary(func(a, b T) (T, error) { return a ^ b, nil })
	case "<<":
		return shift(func(a T, by uint) T { return a << by })
	case ">>":
		return shift(func(a T, by uint) T { return a >> by })
	}
	return nil, false
}

type float interface{ float32 | float64 }

var (
	errFloatOverflow  = sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "value out of range: overflow")
	errFloatUnderflow = sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "value out of range: underflow")
)

func floatArithmetic[T float](k call) (factory, bool) {
	if len(k.args) == 1 {
		if k.Func != "-" && k.Func != "abs" {
			return nil, false
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[T](n), values[T](n, k.Typ)
			n.row = func(i int) error {
				if k.Func == "abs" {
					out.set(i, T(math.Abs(float64(a.at(i)))))
				} else {
					out.set(i, -a.at(i))
				}
				return nil
			}
			return n
		}, true
	}
	switch k.Func {
	case "+", "-", "*":
		return func(in *instance) node {
			return &floatNode[T]{k: k, op: k.Func[0], l: k.args[0](in), r: k.args[1](in), in: in}
		}, true
	case "/", "//", "%":
	default:
		return nil, false
	}
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, out := operand[T](n), operand[T](n), values[T](n, k.Typ)
		n.row = func(i int) error {
			x, y := a.at(i), b.at(i)
			if y == 0 && x == x {
				return errDivisionByZero
			}
			var v T
			switch k.Func {
			case "%":
				v = T(math.Mod(float64(x), float64(y)))
			case "//":
				v = T(math.Trunc(float64(x / y)))
			default:
				v = x / y
				if v == 0 && x != 0 && !math.IsInf(float64(y), 0) {
					return errFloatUnderflow
				}
			}
			if math.IsInf(float64(v), 0) && !math.IsInf(float64(x), 0) && !math.IsInf(float64(y), 0) {
				return errFloatOverflow
			}
			out.set(i, v)
			return nil
		}
		return n
	}, true
}

// A floatNode adds, subtracts or multiplies by kernels, then looks for infinities and zeros that the operands do not explain.
type floatNode[T float] struct {
	k    call
	op   byte
	l, r node
	in   *instance
	a, b arg[T]
	null validity
	pick chooser
	out  column[T]
}

func (n *floatNode[T]) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(n.k.Typ, f), nil
	}
	g, one := single(f, l, r)
	n.a.load(l, g)
	n.b.load(r, g)
	out := n.out.make(g.n)[:g.n]
	valid := n.null.of(g.n, l, r)
	if one || g.sparse() {
		sel := n.pick.choose(n.in, g, valid)
		for _, i := range sel {
			out[i] = floatOp(n.op, n.a.at(int(i)), n.b.at(int(i)))
		}
		err = n.check(out, sel)
	} else {
		n.kernel(out)
		if suspicious(out, n.op == '*') {
			err = n.check(out, n.pick.choose(n.in, g, valid))
		}
	}
	if err != nil {
		return nil, sqlerr.At(err, n.k.P)
	}
	return n.out.give(n.k.Typ, f, one, valid), nil
}

func floatOp[T float](op byte, a, b T) T {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	}
	return a * b
}

func (n *floatNode[T]) kernel(out []T) {
	a, b := n.a.vals, n.b.vals
	switch {
	case n.b.mask == 0 && n.op == '+':
		kernel.AddConst(out, a, b[0])
	case n.b.mask == 0 && n.op == '-':
		kernel.SubConst(out, a, b[0])
	case n.b.mask == 0:
		kernel.MulConst(out, a, b[0])
	case n.a.mask == 0 && n.op == '+':
		kernel.AddConst(out, b, a[0])
	case n.a.mask == 0 && n.op == '-':
		kernel.ConstSub(out, a[0], b)
	case n.a.mask == 0:
		kernel.MulConst(out, b, a[0])
	case n.op == '+':
		kernel.Add(out, a, b)
	case n.op == '-':
		kernel.Sub(out, a, b)
	default:
		kernel.Mul(out, a, b)
	}
}

// suspicious tells whether some value is infinite or no number, or with zeros also 0.
func suspicious[T float](vals []T, zeros bool) bool {
	found := false
	if zeros {
		for _, v := range vals {
			found = found || v == 0 || v-v != 0
		}
		return found
	}
	for _, v := range vals {
		found = found || v-v != 0
	}
	return found
}

func (n *floatNode[T]) check(out []T, sel []int32) error {
	for _, i := range sel {
		v := float64(out[i])
		a, b := float64(n.a.at(int(i))), float64(n.b.at(int(i)))
		if math.IsInf(v, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0) {
			return errFloatOverflow
		}
		if v == 0 && n.op == '*' && a != 0 && b != 0 {
			return errFloatUnderflow
		}
	}
	return nil
}
