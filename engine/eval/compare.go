package eval

import (
	"cmp"
	"math"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

func (c *compiler) compare(e *expr.Compare) (factory, error) {
	args, err := c.compileAll([]expr.Expr{e.L, e.R})
	if err != nil {
		return nil, err
	}
	op := e.Op
	distinct := op == expr.Distinct || op == expr.NotDistinct
	if distinct {
		op = expr.Eq
	}
	compare, ok := comparison(op, e.L.Type())
	if !ok {
		return nil, unsupported(e)
	}
	if !distinct {
		return func(in *instance) node { return compare(in, args[0](in), args[1](in)) }, nil
	}
	return func(in *instance) node {
		n := &distinctNode{l: args[0](in), r: args[1](in), hl: &held{}, hr: &held{}, not: e.Op == expr.NotDistinct}
		n.equal = compare(in, n.hl, n.hr)
		return n
	}, nil
}

// comparison makes nodes that compare two operands of type t; ok is false where such values have no order.
func comparison(op expr.CompareOp, t sqltype.Type) (compare func(in *instance, l, r node) node, ok bool) {
	k := kernel.Op(op) // the two agree in their first six
	switch vector.PhysOf(t) {
	case vector.PhysBool:
		return func(_ *instance, l, r node) node { return &compareBools{op: k, l: l, r: r} }, true
	case vector.PhysInt8:
		return compareOf[int8](k), true
	case vector.PhysInt16:
		return compareOf[int16](k), true
	case vector.PhysInt32:
		return compareOf[int32](k), true
	case vector.PhysInt64:
		return compareOf[int64](k), true
	case vector.PhysUint8:
		return compareOf[uint8](k), true
	case vector.PhysUint16:
		return compareOf[uint16](k), true
	case vector.PhysUint32:
		return compareOf[uint32](k), true
	case vector.PhysUint64:
		return compareOf[uint64](k), true
	case vector.PhysFloat32:
		return compareOf[float32](k), true
	case vector.PhysFloat64:
		return compareOf[float64](k), true
	case vector.PhysInt128:
		if t.Kind == sqltype.Decimal {
			return func(_ *instance, l, r node) node {
				hl, hr := &held{}, &held{}
				n := &compareDecimals{l: l, r: r, hl: hl, hr: hr}
				n.narrow = &compareNumbers[int64]{op: k, l: hl, r: hr}
				n.wide = &compareWide{op: k, l: hl, r: hr}
				return n
			}, true
		}
		return compareBy(k, func(a, b int128.Int128) int { // 16 bytes, the first the highest
			if c := cmp.Compare(uint64(a.Hi), uint64(b.Hi)); c != 0 {
				return c
			}
			return cmp.Compare(a.Lo, b.Lo)
		}), true
	case vector.PhysString:
		return func(in *instance, l, r node) node { return &compareStrings{op: k, l: l, r: r, in: in} }, true
	case vector.PhysInterval:
		return compareBy(k, func(a, b vector.Interval) int { return intervalSpan(a).Cmp(intervalSpan(b)) }), true
	}
	return nil, false
}

// intervalSpan is the microseconds of an interval whose months have 30 days and whose days 24 hours: what PostgreSQL compares by.
func intervalSpan(v vector.Interval) int128.Int128 {
	days := int64(v.Months)*30 + int64(v.Days)
	return int128.MulInt64s(days, calendar.Day).Add(int128.FromInt64(v.Micros))
}

func compareOf[T number](op kernel.Op) func(*instance, node, node) node {
	return func(_ *instance, l, r node) node { return &compareNumbers[T]{op: op, l: l, r: r} }
}

// compareNumbers compares values that kernels know.
type compareNumbers[T number] struct {
	op   kernel.Op
	l, r node
	a, b arg[T]
	null validity
	out  bitmap
}

func (n *compareNumbers[T]) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(f), nil
	}
	g, one := single(f, l, r)
	n.a.load(l, g)
	n.b.load(r, g)
	bits := n.out.make(g.n)
	a, b := n.a.vals, n.b.vals
	switch {
	case g.sparse() || one:
		clear(bits)
		compareSome(n.op, bits, &n.a, &n.b, g.sel)
	case n.b.mask == 0:
		kernel.Compare(n.op, bits, a[:g.n], b[0])
	case n.a.mask == 0:
		kernel.Compare(n.op.Swap(), bits, b[:g.n], a[0])
	default:
		kernel.CompareColumns(n.op, bits, a[:g.n], b[:g.n])
	}
	return n.out.give(f, one, n.null.of(g.n, l, r)), nil
}

func evalBoth(l, r node, f frame) (lv, rv *vector.Vector, err error) {
	if lv, err = l.eval(f); err != nil {
		return nil, nil, err
	}
	rv, err = r.eval(f)
	return lv, rv, err
}

// compareSome compares at the rows of sel only. bits are clear.
func compareSome[T number](op kernel.Op, bits []uint64, a, b *arg[T], sel []int32) {
	x, mx, y, my := a.vals, a.mask, b.vals, b.mask
	flip := uint64(0)
	switch op {
	case kernel.Ne, kernel.Gt, kernel.Ge:
		op, flip = op.Negate(), 1
	}
	switch op {
	case kernel.Eq:
		for _, i := range sel {
			p, q := x[int(i)&mx], y[int(i)&my]
			bits[i>>6] |= (bit(p == q) | bit(p != p)&bit(q != q) ^ flip) << (uint(i) & 63)
		}
	case kernel.Lt:
		for _, i := range sel {
			p, q := x[int(i)&mx], y[int(i)&my]
			bits[i>>6] |= (bit(p < q) | bit(p == p)&bit(q != q) ^ flip) << (uint(i) & 63)
		}
	case kernel.Le:
		for _, i := range sel {
			p, q := x[int(i)&mx], y[int(i)&my]
			bits[i>>6] |= (bit(p <= q) | bit(q != q) ^ flip) << (uint(i) & 63)
		}
	}
}

// bit is 1 for true; it compiles to no branch.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// compareDecimals compares decimals of more than 18 digits, in 64 bits where both sides are.
type compareDecimals struct {
	l, r   node
	hl, hr *held
	narrow node
	wide   node
}

func (n *compareDecimals) eval(f frame) (v *vector.Vector, err error) {
	if n.hl.v, n.hr.v, err = evalBoth(n.l, n.r, f); err != nil {
		return nil, err
	}
	if n.hl.v.Phys == vector.PhysInt64 && n.hr.v.Phys == vector.PhysInt64 {
		return n.narrow.eval(f)
	}
	return n.wide.eval(f)
}

type compareWide struct {
	op   kernel.Op
	l, r node
	a, b arg[int128.Int128]
	null validity
	out  bitmap
}

func (n *compareWide) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(f), nil
	}
	g, one := single(f, l, r)
	n.a.load(l, g)
	n.b.load(r, g)
	bits := n.out.make(g.n)
	switch {
	case g.sel != nil:
		clear(bits)
		for _, i := range g.sel {
			bits[i>>6] |= bit(holds(n.op, n.a.at(int(i)).Cmp(n.b.at(int(i))))) << (uint(i) & 63)
		}
	case n.b.mask == 0:
		kernel.CompareInt128(n.op, bits, n.a.vals[:g.n], n.b.vals[0])
	case n.a.mask == 0:
		kernel.CompareInt128(n.op.Swap(), bits, n.b.vals[:g.n], n.a.vals[0])
	default:
		kernel.CompareColumnsInt128(n.op, bits, n.a.vals[:g.n], n.b.vals[:g.n])
	}
	return n.out.give(f, one, n.null.of(g.n, l, r)), nil
}

// holds tells whether op is true of two values that compare as c.
func holds(op kernel.Op, c int) bool {
	switch op {
	case kernel.Eq:
		return c == 0
	case kernel.Ne:
		return c != 0
	case kernel.Lt:
		return c < 0
	case kernel.Le:
		return c <= 0
	case kernel.Gt:
		return c > 0
	}
	return c >= 0
}

// compareStrings compares bytes.
type compareStrings struct {
	op   kernel.Op
	l, r node
	in   *instance
	a, b arg[string]
	null validity
	pick chooser
	out  bitmap
}

func (n *compareStrings) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(f), nil
	}
	g, one := single(f, l, r)
	n.a.load(l, g)
	n.b.load(r, g)
	bits := n.out.make(g.n)
	clear(bits)
	valid := n.null.of(g.n, l, r)
	sel := n.pick.choose(n.in, g, valid)
	switch n.op {
	case kernel.Eq, kernel.Ne:
		flip := bit(n.op == kernel.Ne)
		if n.b.mask == 0 && len(n.b.vals) > 0 {
			n.equalTo(bits, n.b.vals[0], flip, sel)
			break
		}
		for _, i := range sel {
			bits[i>>6] |= (bit(n.a.at(int(i)) == n.b.at(int(i))) ^ flip) << (uint(i) & 63)
		}
	default:
		for _, i := range sel {
			bits[i>>6] |= bit(holds(n.op, cmp.Compare(n.a.at(int(i)), n.b.at(int(i))))) << (uint(i) & 63)
		}
	}
	return n.out.give(f, one, valid), nil
}

// equalTo compares with one text; flip is 1 for <>.
func (n *compareStrings) equalTo(bits []uint64, want string, flip uint64, sel []int32) {
	if n.a.mask == 0 || len(sel) < len(n.a.vals) {
		for _, i := range sel {
			bits[i>>6] |= (bit(n.a.at(int(i)) == want) ^ flip) << (uint(i) & 63)
		}
		return
	}
	for w := range bits {
		var hits uint64
		for j, s := range n.a.vals[w*64 : min(w*64+64, len(n.a.vals))] {
			hits |= (bit(s == want) ^ flip) << (uint(j) & 63)
		}
		bits[w] = hits
	}
}

// compareBy compares what no kernel knows, by a function.
func compareBy[T vector.Element](op kernel.Op, order func(a, b T) int) func(*instance, node, node) node {
	return func(in *instance, l, r node) node {
		n := &rowsNode{in: in, kids: []node{l, r}}
		a, b := operand[T](n), operand[T](n)
		out := n.truths()
		n.row = func(i int) error {
			out.set(i, holds(op, order(a.at(i), b.at(i))))
			return nil
		}
		return n
	}
}

// compareBools compares truth values, false before true.
type compareBools struct {
	op   kernel.Op
	l, r node
	a, b truth
	null validity
	out  bitmap
}

func (n *compareBools) eval(f frame) (*vector.Vector, error) {
	l, r, err := evalBoth(n.l, n.r, f)
	if err != nil {
		return nil, err
	}
	if l.IsConstNull() || r.IsConstNull() {
		return n.out.null(f), nil
	}
	n.a.load(l, f)
	n.b.load(r, f)
	bits := n.out.make(f.n)
	for w := range bits {
		a, b := n.a.bits[w], n.b.bits[w]
		switch n.op {
		case kernel.Eq:
			bits[w] = ^(a ^ b)
		case kernel.Ne:
			bits[w] = a ^ b
		case kernel.Lt:
			bits[w] = ^a & b
		case kernel.Le:
			bits[w] = ^a | b
		case kernel.Gt:
			bits[w] = a &^ b
		case kernel.Ge:
			bits[w] = a | ^b
		}
	}
	trim(bits, f.n)
	return n.out.give(f, false, n.null.of(f.n, l, r)), nil
}

// A distinctNode is IS [NOT] DISTINCT FROM: equality in which NULL is a value.
type distinctNode struct {
	l, r   node
	hl, hr *held
	equal  node
	not    bool
	t      truth
	lv, rv []uint64
	out    bitmap
}

func (n *distinctNode) eval(f frame) (v *vector.Vector, err error) {
	if n.hl.v, n.hr.v, err = evalBoth(n.l, n.r, f); err != nil {
		return nil, err
	}
	eq, err := n.equal.eval(f)
	if err != nil {
		return nil, err
	}
	words := vector.Words(f.n)
	bits := n.out.make(f.n)[:words]
	l, r := notNull(&n.lv, n.hl.v, f), notNull(&n.rv, n.hr.v, f)
	if eq.IsConstNull() {
		clear(bits)
	} else {
		n.t.load(eq, f)
		copy(bits, n.t.bits[:words])
	}
	for w := range bits {
		same := bits[w]&l[w]&r[w] | ^(l[w] | r[w])
		if n.not {
			bits[w] = same
		} else {
			bits[w] = ^same
		}
	}
	if words > 0 {
		trim(bits, f.n)
	}
	return n.out.give(f, false, nil), nil
}

// notNull is the validity of v as a bitmap in any case.
func notNull(buf *[]uint64, v *vector.Vector, f frame) []uint64 {
	if v.Valid != nil && v.Form != vector.Const {
		return v.Valid
	}
	bits := grow(buf, vector.Words(f.n))
	fill(bits, f.n, !v.IsConstNull())
	return bits
}

// The membership test: x IN (values).

func (c *compiler) in(e *expr.In) (factory, error) {
	x, err := c.compile(e.X)
	if err != nil {
		return nil, err
	}
	base := inNode{negated: e.Negated}
	values := make([]expr.Value, 0, len(e.List))
	for _, v := range e.List {
		if v.Null {
			base.hasNull = true
			continue
		}
		values = append(values, v)
	}
	t := e.X.Type()
	if len(values) > 0 && !values[0].Type.Equal(t) {
		return nil, unsupported(e)
	}
	var member func(in *instance, x node) node
	switch p := vector.PhysOf(t); p {
	case vector.PhysBool:
		var has [2]bool
		for _, v := range values {
			has[v.Int&1] = true
		}
		member = func(in *instance, x node) node {
			n := &rowsNode{in: in, kids: []node{x}}
			a, out := n.truthOperand(), n.truths()
			n.row = func(i int) error {
				out.set(i, a.at(i) && has[1] || !a.at(i) && has[0])
				return nil
			}
			return n
		}
	case vector.PhysInt8:
		member = memberInts[int8](values)
	case vector.PhysInt16:
		member = memberInts[int16](values)
	case vector.PhysInt32:
		member = memberInts[int32](values)
	case vector.PhysInt64:
		member = memberInts[int64](values)
	case vector.PhysUint8:
		member = memberInts[uint8](values)
	case vector.PhysUint16:
		member = memberInts[uint16](values)
	case vector.PhysUint32:
		member = memberInts[uint32](values)
	case vector.PhysUint64:
		member = memberInts[uint64](values)
	case vector.PhysFloat32:
		member = memberOf(values, func(v expr.Value) uint32 { return floatKey32(float32(v.Float)) }, floatKey32)
	case vector.PhysFloat64:
		member = memberOf(values, func(v expr.Value) uint64 { return floatKey(v.Float) }, floatKey)
	case vector.PhysInt128:
		member = memberOf(values, func(v expr.Value) int128.Int128 { return v.Wide }, same[int128.Int128])
	case vector.PhysString:
		member = memberStrings(values)
	case vector.PhysInterval:
		member = memberOf(values, func(v expr.Value) int128.Int128 {
			return intervalSpan(vector.Interval{Months: v.Months, Days: v.Days, Micros: v.Int})
		}, intervalSpan)
	default:
		return nil, unsupported(e)
	}
	return func(in *instance) node {
		n := base
		n.member = member(in, x(in))
		return &n
	}, nil
}

// floatKey is equal for values that SQL calls equal: zeros, NaNs.
func floatKey(f float64) uint64 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float64bits(math.NaN())
	}
	return math.Float64bits(f)
}

func floatKey32(f float32) uint32 {
	switch {
	case f == 0:
		return 0
	case f != f:
		return math.Float32bits(float32(math.NaN()))
	}
	return math.Float32bits(f)
}

func same[T any](x T) T { return x }

// An inNode turns membership among the values that are not NULL into IN or NOT IN: where there is a NULL in the list, who is no
// member is NULL.
type inNode struct {
	member  node
	hasNull bool
	negated bool
	t       truth
	out     bitmap
	valid   []uint64
}

func (n *inNode) eval(f frame) (*vector.Vector, error) {
	v, err := n.member.eval(f)
	if err != nil || v.IsConstNull() || !n.hasNull && !n.negated {
		return v, err
	}
	n.t.load(v, f)
	words := vector.Words(f.n)
	bits := n.out.make(f.n)[:words]
	valid := v.Valid
	if v.Form == vector.Const {
		valid = nil
	}
	if n.hasNull {
		nonNull := grow(&n.valid, words)
		copy(nonNull, n.t.bits)
		if valid != nil {
			kernel.And(nonNull, nonNull, valid[:words])
		}
		valid = nonNull
	}
	if n.negated {
		kernel.Not(bits, n.t.bits, f.n)
	} else {
		copy(bits, n.t.bits)
	}
	return n.out.give(f, false, valid), nil
}

// memberOf tests membership by a hash set of keys.
func memberOf[T vector.Element, K comparable](values []expr.Value, keyOf func(expr.Value) K, key func(T) K) func(*instance, node) node {
	set := make(map[K]struct{}, len(values))
	for _, v := range values {
		set[keyOf(v)] = struct{}{}
	}
	return func(in *instance, x node) node {
		n := &rowsNode{in: in, kids: []node{x}}
		a, out := operand[T](n), n.truths()
		n.row = func(i int) error {
			_, ok := set[key(a.at(i))]
			out.set(i, ok)
			return nil
		}
		return n
	}
}

func memberStrings(values []expr.Value) func(*instance, node) node {
	if len(values) > 8 {
		return memberOf(values, func(v expr.Value) string { return v.Str }, same[string])
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = v.Str
	}
	return func(in *instance, x node) node {
		n := &rowsNode{in: in, kids: []node{x}}
		a, out := operand[string](n), n.truths()
		n.row = func(i int) error {
			x := a.at(i)
			for _, t := range texts {
				if x == t {
					out.set(i, true)
					break
				}
			}
			return nil
		}
		return n
	}
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// memberInts tests membership among integers: one comparison each where they are few, a bitmap where they are near each other,
// else a hash set.
func memberInts[T integer](values []expr.Value) func(*instance, node) node {
	valueOf := func(v expr.Value) T {
		if v.Type.Kind == sqltype.Decimal {
			return T(v.Wide.Lo)
		}
		return T(v.Int)
	}
	if len(values) > 6 {
		return memberOf(values, valueOf, same[T])
	}
	list := make([]T, len(values))
	for i, v := range values {
		list[i] = valueOf(v)
	}
	return func(_ *instance, x node) node { return &memberFew[T]{x: x, list: list} }
}

type memberFew[T integer] struct {
	x    node
	list []T
	a    arg[T]
	more []uint64
	out  bitmap
}

func (n *memberFew[T]) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.IsConstNull() {
		return n.out.null(f), nil
	}
	g, one := single(f, v)
	n.a.load(v, g)
	bits := n.out.make(g.n)
	clear(bits)
	if g.sparse() || one {
		for _, i := range g.sel {
			x := n.a.at(int(i))
			hit := uint64(0)
			for _, y := range n.list {
				hit |= bit(x == y)
			}
			bits[i>>6] |= hit << (uint(i) & 63)
		}
	} else {
		more := grow(&n.more, len(bits))
		for _, y := range n.list {
			kernel.Compare(kernel.Eq, more, n.a.vals[:g.n], y)
			kernel.Or(bits, bits, more)
		}
	}
	return n.out.give(f, one, v.Valid), nil
}
