package eval

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A logicNode is AND or OR. An operand is computed only on rows that those before it left undecided; exactly so where it might
// fail or is dear, else over all rows where that is cheaper.
type logicNode struct {
	and   bool
	args  []node
	on    []scope // of args
	open  []uint64
	nulls []uint64
	sel   []int32
	t     truth
	out   bitmap
}

func (c *compiler) logic(e *expr.Logic) (factory, error) {
	args, err := c.compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	on := make([]scope, len(args))
	for i, a := range e.Args {
		on[i] = scopeOf(a)
	}
	return func(in *instance) node {
		n := &logicNode{and: e.Op == expr.And, on: on, args: make([]node, len(args))}
		for i, a := range args {
			n.args[i] = a(in)
		}
		return n
	}, nil
}

// openRows marks f's live rows.
func openRows(buf *[]uint64, f frame) []uint64 {
	open := grow(buf, vector.Words(f.n))
	if f.sel == nil {
		fill(open, f.n, true)
	} else {
		kernel.FromSelection(open, f.sel)
	}
	return open
}

// narrow is f for n, with no more rows alive than the count ones of open where that pays or must be.
func narrow(f frame, n node, open []uint64, count int, on scope, sel *[]int32) frame {
	if count == f.live() || on == everywhere || on == whereFew && count*8 >= f.n {
		return f
	}
	if d, ok := n.(*dictNode); ok && d.known(f) {
		return f
	}
	s := grow(sel, f.n)
	return f.only(s[:kernel.ToSelection(s, open, f.n)])
}

func (n *logicNode) eval(f frame) (*vector.Vector, error) {
	open := openRows(&n.open, f)
	nulls := grow(&n.nulls, len(open))
	clear(nulls)
	hasNull := false
	for i, arg := range n.args {
		count := kernel.Count(open)
		if count == 0 {
			break
		}
		g := narrow(f, arg, open, count, n.on[i], &n.sel)
		v, err := arg.eval(g)
		if err != nil {
			return nil, err
		}
		if v.IsConstNull() {
			kernel.Or(nulls, nulls, open)
			hasNull = true
			continue
		}
		n.t.load(v, g)
		bits := n.t.bits[:len(open)]
		var valid []uint64
		if v.Valid != nil && v.Form != vector.Const {
			valid = v.Valid[:len(open)]
			hasNull = true
			for w := range open {
				nulls[w] |= ^valid[w] & open[w]
			}
		}
		switch {
		case n.and && valid == nil:
			kernel.And(open, open, bits)
		case n.and:
			for w := range open {
				open[w] &= bits[w] | ^valid[w]
			}
		case valid == nil:
			kernel.AndNot(open, open, bits)
		default:
			for w := range open {
				open[w] &^= bits[w] & valid[w]
			}
		}
	}
	// What is still open is NULL where an operand was, else what no operand decided.
	out := n.out.make(f.n)
	if n.and {
		kernel.AndNot(out[:len(open)], open, nulls)
	} else {
		kernel.Not(out, open, f.n)
	}
	if !hasNull {
		return n.out.give(f, false, nil), nil
	}
	kernel.And(nulls, nulls, open)
	if !n.and {
		kernel.AndNot(out[:len(open)], out[:len(open)], nulls)
	}
	kernel.Not(nulls, nulls, f.n)
	return n.out.give(f, false, nulls), nil
}

type notNode struct {
	x   node
	t   truth
	out bitmap
}

func (n *notNode) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.IsConstNull() {
		return n.out.null(f), nil
	}
	g, one := single(f, v)
	n.t.load(v, g)
	bits := n.out.make(g.n)
	kernel.Not(bits, n.t.bits, g.n)
	return n.out.give(f, one, v.Valid), nil
}

type isNullNode struct {
	x       node
	negated bool
	out     bitmap
}

func (n *isNullNode) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.Valid == nil || v.Form == vector.Const {
		bits := n.out.make(1)
		fill(bits[:1], 1, v.IsConstNull() != n.negated)
		return n.out.give(f, true, nil), nil
	}
	bits := n.out.make(f.n)
	if n.negated {
		copy(bits, v.Valid[:vector.Words(f.n)])
	} else {
		kernel.Not(bits, v.Valid, f.n)
	}
	return n.out.give(f, false, nil), nil
}

// A caseNode is CASE: each condition is computed on the rows that no earlier one took, each arm on the rows it is chosen for.
type caseNode struct {
	whens []caseWhen
	els   node // nil: NULL
	merge merger
	open  []uint64
	sel   []int32
	t     truth
}

type caseWhen struct {
	cond, then node
	on         scope
	taken      []uint64
	sel        []int32
}

func (c *compiler) switchCase(e *expr.Case) (factory, error) {
	merge, ok := newMerger(e.Typ)
	if !ok {
		return nil, unsupported(e)
	}
	type arm struct {
		cond, then factory
		on         scope
	}
	arms := make([]arm, len(e.Whens))
	for i, w := range e.Whens {
		var err error
		if arms[i].cond, err = c.compile(w.Cond); err != nil {
			return nil, err
		}
		if arms[i].then, err = c.compile(w.Then); err != nil {
			return nil, err
		}
		arms[i].on = scopeOf(w.Cond)
	}
	var els factory
	if e.Else != nil {
		var err error
		if els, err = c.compile(e.Else); err != nil {
			return nil, err
		}
	}
	return func(in *instance) node {
		n := &caseNode{merge: merge(), whens: make([]caseWhen, len(arms))}
		for i, a := range arms {
			n.whens[i] = caseWhen{cond: a.cond(in), then: a.then(in), on: a.on}
		}
		if els != nil {
			n.els = els(in)
		}
		return n
	}, nil
}

func (n *caseNode) eval(f frame) (*vector.Vector, error) {
	open := openRows(&n.open, f)
	live := f.live()
	n.merge.begin(f.n)
	left := live
	base, filled := n.els.(*constNode)
	if filled = filled && !base.vec.IsConstNull(); filled { // a constant is cheapest laid under everything else
		v, _ := base.eval(f)
		n.merge.put(v, frame{n: f.n})
	}
	for i := range n.whens {
		if left == 0 {
			break
		}
		w := &n.whens[i]
		g := narrow(f, w.cond, open, left, w.on, &n.sel)
		v, err := w.cond.eval(g)
		if err != nil {
			return nil, err
		}
		if v.IsConstNull() {
			continue
		}
		n.t.load(v, g)
		taken := grow(&w.taken, len(open))
		kernel.And(taken, open, n.t.bits[:len(open)])
		if v.Valid != nil && v.Form != vector.Const {
			kernel.And(taken, taken, v.Valid[:len(open)])
		}
		count := kernel.Count(taken)
		if count == 0 {
			continue
		}
		if count == live {
			return w.then.eval(f)
		}
		kernel.AndNot(open, open, taken)
		left -= count
		sel := grow(&w.sel, f.n)
		arm := f.only(sel[:kernel.ToSelection(sel, taken, f.n)])
		if v, err = w.then.eval(arm); err != nil {
			return nil, err
		}
		n.merge.put(v, arm)
	}
	if left == live && n.els != nil {
		return n.els.eval(f)
	}
	if left > 0 && n.els != nil && !filled {
		sel := grow(&n.sel, f.n)
		g := f.only(sel[:kernel.ToSelection(sel, open, f.n)])
		v, err := n.els.eval(g)
		if err != nil {
			return nil, err
		}
		n.merge.put(v, g)
	}
	return n.merge.give(f), nil
}

// A coalesceNode computes each argument on the rows where all before it are NULL.
type coalesceNode struct {
	args  []node
	merge merger
	open  []uint64
	taken []uint64
	sel   []int32
	put   []int32
}

func (k call) coalesce() (factory, error) {
	merge, ok := newMerger(k.Typ)
	if !ok {
		return nil, unsupported(k.Call)
	}
	return func(in *instance) node { return &coalesceNode{args: k.nodes(in), merge: merge()} }, nil
}

func (n *coalesceNode) eval(f frame) (*vector.Vector, error) {
	open := openRows(&n.open, f)
	taken := grow(&n.taken, len(open))
	n.merge.begin(f.n)
	left := f.live()
	for i, arg := range n.args {
		g := narrow(f, arg, open, left, whereLeft, &n.sel)
		v, err := arg.eval(g)
		if err != nil {
			return nil, err
		}
		if left == f.live() && (v.Valid == nil || i == len(n.args)-1) {
			return v, nil
		}
		if v.IsConstNull() {
			continue
		}
		copy(taken, open)
		if v.Valid != nil && v.Form != vector.Const {
			kernel.And(taken, taken, v.Valid[:len(open)])
		}
		put := grow(&n.put, f.n)
		g = f.only(put[:kernel.ToSelection(put, taken, f.n)])
		n.merge.put(v, g)
		kernel.AndNot(open, open, taken)
		if left -= len(g.sel); left == 0 {
			break
		}
	}
	return n.merge.give(f), nil
}

// A nullifNode is its first argument, NULL where it equals the second.
type nullifNode struct {
	a, b   node
	ha, hb *held
	equal  node
	merge  merger
	t      truth
	valid  []uint64
	vec    vector.Vector
}

func (k call) nullif() (factory, error) {
	merge, ok := newMerger(k.Typ)
	if !ok {
		return nil, unsupported(k.Call)
	}
	equal, ok := comparison(expr.Eq, k.Args[0].Type())
	if !ok {
		return nil, unsupported(k.Call)
	}
	return func(in *instance) node {
		n := &nullifNode{a: k.args[0](in), b: k.args[1](in), ha: &held{}, hb: &held{}, merge: merge()}
		n.equal = equal(in, n.ha, n.hb)
		return n
	}, nil
}

func (n *nullifNode) eval(f frame) (*vector.Vector, error) {
	var err error
	if n.ha.v, err = n.a.eval(f); err != nil {
		return nil, err
	}
	if n.hb.v, err = n.b.eval(f); err != nil {
		return nil, err
	}
	eq, err := n.equal.eval(f)
	if err != nil || eq.IsConstNull() {
		return n.ha.v, err
	}
	a := n.ha.v
	if a.Form == vector.Const {
		n.merge.begin(f.n)
		n.merge.put(a, f)
		a = n.merge.give(f)
	}
	n.t.load(eq, f)
	valid := grow(&n.valid, vector.Words(f.n))
	bits := n.t.bits[:len(valid)]
	for w := range valid {
		hit := bits[w]
		if eq.Valid != nil && eq.Form != vector.Const {
			hit &= eq.Valid[w]
		}
		valid[w] = ^hit
		if a.Valid != nil {
			valid[w] &= a.Valid[w]
		}
	}
	trim(valid, f.n)
	n.vec = *a
	n.vec.Valid = valid
	return &n.vec, nil
}
