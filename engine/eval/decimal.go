package eval

import (
	"math/big"
	"math/bits"

	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

func decimalOverflow(t sqltype.Type) error {
	return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "value overflows numeric format: it has more than %d digits", t.Precision).
		WithHint("cast an operand to a DECIMAL of less scale, or to DOUBLE PRECISION")
}

func (k call) decimalArithmetic() (factory, bool) {
	if len(k.args) == 1 {
		if k.Func != "-" && k.Func != "abs" {
			return nil, false
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[int128.Int128](n), n.decimals(k.Typ)
			n.row = func(i int) error {
				x := a.at(i)
				if k.Func == "-" || x.Sign() < 0 {
					x = x.Neg()
				}
				out.set(i, x)
				return nil
			}
			return n
		}, true
	}
	ls, rs := int(k.Args[0].Type().Scale), int(k.Args[1].Type().Scale)
	switch k.Func {
	case "+", "-", "*":
		n := decimalNode{k: k, op: k.Func[0], capped: k.Typ.Precision == sqltype.MaxPrecision}
		if n.op != '*' && !planted.DecimalScale {
			n.lshift, n.rshift = int(k.Typ.Scale)-ls, int(k.Typ.Scale)-rs
		}
		return func(in *instance) node {
			n := n
			n.in, n.l, n.r = in, k.args[0](in), k.args[1](in)
			return &n
		}, true
	case "/":
		shift := int(k.Typ.Scale) - ls + rs
		return k.decimalRows(func(a, b int128.Int128) (int128.Int128, bool) { return divideDecimal(a, b, shift) })
	case "//":
		lshift, rshift := max(rs-ls, 0), max(ls-rs, 0)
		scale := int(k.Typ.Scale)
		return k.decimalRows(func(a, b int128.Int128) (int128.Int128, bool) {
			a, ok1 := a.Rescale(0, lshift)
			b, ok2 := b.Rescale(0, rshift)
			if !ok1 || !ok2 {
				return a, false
			}
			return a.Div(b).Rescale(0, scale)
		})
	case "%":
		lshift, rshift := max(rs-ls, 0), max(ls-rs, 0)
		return k.decimalRows(func(a, b int128.Int128) (int128.Int128, bool) {
			a, ok1 := a.Rescale(0, lshift)
			b, ok2 := b.Rescale(0, rshift)
			if !ok1 || !ok2 {
				return a, false
			}
			return a.Mod(b), true
		})
	}
	return nil, false
}

// decimalRows computes f row by row for divisors that are not 0; f is ok where the result fits 128 bits.
func (k call) decimalRows(f func(a, b int128.Int128) (int128.Int128, bool)) (factory, bool) {
	overflow := decimalOverflow(k.Typ)
	precision := int(k.Typ.Precision)
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, out := operand[int128.Int128](n), operand[int128.Int128](n), n.decimals(k.Typ)
		n.row = func(i int) error {
			y := b.at(i)
			if y == (int128.Int128{}) {
				return errDivisionByZero
			}
			v, ok := f(a.at(i), y)
			if !ok || !v.FitsDigits(precision) {
				return overflow
			}
			out.set(i, v)
			return nil
		}
		return n
	}, true
}

// divideDecimal is a·10^shift / b, rounded half away from zero.
func divideDecimal(a, b int128.Int128, shift int) (int128.Int128, bool) {
	if shift <= int128.MaxDigits {
		return int128.MulDivRound(a, int128.Pow10(shift), b)
	}
	x, y := bigOf(a), bigOf(b)
	x.Mul(x, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), nil))
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Abs(r).Lsh(r, 1).CmpAbs(y) >= 0 {
		if x.Sign()*y.Sign() < 0 {
			q.Sub(q, big.NewInt(1))
		} else {
			q.Add(q, big.NewInt(1))
		}
	}
	if q.BitLen() > 126 {
		return int128.Int128{}, false
	}
	v, err := int128.Parse(q.String(), 0)
	return v, err == nil
}

func bigOf(a int128.Int128) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.Lo))
}

// A decimalNode adds, subtracts or multiplies decimals: in 64 bits where the type, or a look at the values of this batch, shows
// that they suffice, else in 128 with a check of each row.
type decimalNode struct {
	k              call
	op             byte
	lshift, rshift int  // powers of ten that bring the operands to the result's scale
	capped         bool // the result's precision was cut, so that a result may not fit it
	l, r           node
	in             *instance

	la, ra           arg[int64]
	lscaled, rscaled []int64
	lwide, rwide     arg[int128.Int128]
	null             validity
	pick             chooser
	narrow           column[int64]
	wide             column[int128.Int128]
	bound            int // bits of the absolute values of the result just given, 64: unknown
}

// A bounded node knows how many bits the absolute values that it just gave have at most.
type bounded interface{ magnitude() int }

func (n *decimalNode) magnitude() int { return n.bound }

// magnitude is how many bits v's absolute values – 64-bit decimals, given by n and loaded into a – have at most: 64 is unknown.
func magnitude(n node, v *vector.Vector, a *arg[int64], f frame) int {
	if b, ok := n.(bounded); ok && b.magnitude() < 64 {
		return b.magnitude()
	}
	switch {
	case a.mask == 0:
		return kernel.AbsBits64(a.vals[:1])
	case v.Form == vector.Dict && v.Dict.Len <= f.n:
		return kernel.AbsBits64(vector.Values[int64](v.Dict))
	case f.sparse():
		all := uint64(0)
		for _, i := range f.sel {
			x := a.vals[i]
			all |= uint64((x ^ x>>63) - x>>63)
		}
		return bits.Len64(all)
	}
	return kernel.AbsBits64(a.vals[:f.n])
}

// pow10Bits is how many bits 10^i has.
func pow10Bits(i int) int { return bits.Len64(uint64(pow10(i))) }

func pow10(i int) int64 {
	p := int64(1)
	for range min(i, 18) {
		p *= 10
	}
	return p
}

func (n *decimalNode) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	n.bound = 64
	if l.IsConstNull() || r.IsConstNull() {
		return n.narrow.null(n.k.Typ, f), nil
	}
	g, one := single(f, l, r)
	valid := n.null.of(g.n, l, r)
	if l.Phys == vector.PhysInt64 && r.Phys == vector.PhysInt64 && n.lshift <= 18 && n.rshift <= 18 {
		n.la.load(l, g)
		n.ra.load(r, g)
		if n.fits(l, r, g) {
			n.compute(g, one)
			return n.narrow.give(n.k.Typ, f, one, valid), nil
		}
	}
	n.bound = 64
	n.lwide.load(l, g)
	n.rwide.load(r, g)
	out := n.wide.make(g.n)
	for _, i := range n.pick.choose(n.in, g, valid) {
		v, ok := n.row(n.lwide.at(int(i)), n.rwide.at(int(i)))
		if !ok {
			return nil, sqlerr.At(decimalOverflow(n.k.Typ), n.k.P)
		}
		out[i] = v
	}
	if vector.PhysOf(n.k.Typ) == vector.PhysInt64 {
		for i := range n.narrow.make(g.n) {
			n.narrow.vals[i] = int64(n.wide.vals[i].Lo)
		}
		return n.narrow.give(n.k.Typ, f, one, valid), nil
	}
	return n.wide.give(n.k.Typ, f, one, valid), nil
}

// fits tells whether 64 bits are enough for all rows, and how many bits the results have.
func (n *decimalNode) fits(l, r *vector.Vector, g frame) bool {
	lb, rb := magnitude(n.l, l, &n.la, g), magnitude(n.r, r, &n.ra, g)
	if n.lshift > 0 {
		lb += pow10Bits(n.lshift)
	}
	if n.rshift > 0 {
		rb += pow10Bits(n.rshift)
	}
	if n.op == '*' {
		n.bound = lb + rb
	} else {
		n.bound = max(lb, rb) + 1
	}
	return n.bound <= 63
}

// compute fills n.narrow for all rows of g, or the live ones where they are few.
func (n *decimalNode) compute(g frame, one bool) {
	out := n.narrow.make(g.n)[:g.n]
	a, b := &n.la, &n.ra
	lmul, rmul := pow10(n.lshift), pow10(n.rshift)
	if one || g.sparse() {
		for _, i := range g.sel {
			x, y := a.at(int(i))*lmul, b.at(int(i))*rmul
			switch n.op {
			case '+':
				out[i] = x + y
			case '-':
				out[i] = x - y
			default:
				out[i] = x * y
			}
		}
		return
	}
	x, y := scaled(a, &n.lscaled, n.lshift), scaled(b, &n.rscaled, n.rshift)
	switch {
	case b.mask == 0 && n.op == '+':
		kernel.AddConst(out, x, y[0])
	case b.mask == 0 && n.op == '-':
		kernel.SubConst(out, x, y[0])
	case b.mask == 0:
		kernel.MulConst(out, x, y[0])
	case a.mask == 0 && n.op == '+':
		kernel.AddConst(out, y, x[0])
	case a.mask == 0 && n.op == '-':
		kernel.ConstSub(out, x[0], y)
	case a.mask == 0:
		kernel.MulConst(out, y, x[0])
	case n.op == '+':
		kernel.Add(out, x, y)
	case n.op == '-':
		kernel.Sub(out, x, y)
	default:
		kernel.Mul(out, x, y)
	}
}

// scaled is a's values times 10^shift.
func scaled(a *arg[int64], buf *[]int64, shift int) []int64 {
	if shift == 0 {
		return a.vals
	}
	out := grow(buf, len(a.vals))
	kernel.MulConst(out, a.vals, pow10(shift))
	return out
}

// row computes one row in 128 bits.
func (n *decimalNode) row(a, b int128.Int128) (v int128.Int128, ok bool) {
	if n.op == '*' {
		v, ok = a.MulChecked(b)
	} else {
		var ok1, ok2 bool
		a, ok1 = a.Rescale(0, n.lshift)
		b, ok2 = b.Rescale(0, n.rshift)
		if !ok1 || !ok2 {
			return v, false
		}
		if n.op == '+' {
			v, ok = a.AddChecked(b)
		} else {
			v, ok = a.SubChecked(b)
		}
	}
	return v, ok && (!n.capped || v.FitsDigits(int(n.k.Typ.Precision)))
}
