package eval

import (
	"errors"
	"slices"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A rowsNode computes a function row by row, by one call per row: for functions that take longer than that call. row is called for
// the live rows at which no operand is NULL; it reads operands and stores its result through what operand, values and their
// kin gave when the node was built.
type rowsNode struct {
	in      *instance
	kids    []node
	loads   []loader // of kids, in order
	out     rowsOut
	row     func(i int) error
	lenient bool // row is called where operands are NULL, too, and asks null
	try     bool // an error is NULL
	perRow  bool // equal operands may give another result
	pos     sqlerr.Pos

	vs    []*vector.Vector
	valid validity
	pick  chooser
	known []uint64 // what valid is until row makes a NULL
	nulls []uint64 // validity with the NULLs that row made
	made  bool
	n     int
}

type loader interface {
	load(v *vector.Vector, f frame)
}

// A rowsOut takes results one at a time.
type rowsOut interface {
	begin(n int, partial bool)
	give(f frame, one bool, valid []uint64) *vector.Vector
	null(f frame) *vector.Vector
}

func newRows(in *instance, k call) *rowsNode {
	return &rowsNode{in: in, kids: k.nodes(in), pos: k.P}
}

// operand is the next operand of n, as values of T.
func operand[T vector.Element](n *rowsNode) *arg[T] {
	a := &arg[T]{}
	n.loads = append(n.loads, a)
	return a
}

// truthOperand is the next operand of n, as truth values.
func (n *rowsNode) truthOperand() *truth {
	t := &truth{}
	n.loads = append(n.loads, t)
	return t
}

func (n *rowsNode) eval(f frame) (*vector.Vector, error) {
	if n.vs == nil {
		n.vs = make([]*vector.Vector, len(n.kids))
	}
	for i, k := range n.kids {
		v, err := k.eval(f)
		if err != nil {
			return nil, err
		}
		n.vs[i] = v
	}
	if !n.lenient && slices.ContainsFunc(n.vs, (*vector.Vector).IsConstNull) {
		return n.out.null(f), nil
	}
	g, one := f, false
	if !n.perRow {
		g, one = single(f, n.vs...)
	}
	var valid []uint64
	if !n.lenient {
		valid = n.valid.of(g.n, n.vs...)
	}
	sel := n.pick.choose(n.in, g, valid)
	for i, l := range n.loads {
		l.load(n.vs[i], g)
	}
	n.out.begin(g.n, len(sel) < g.n)
	n.made, n.known, n.n = false, valid, g.n
	for _, i := range sel {
		if err := n.row(int(i)); err != nil {
			if errors.Is(err, errNull) {
				n.setNull(int(i))
				continue
			}
			if !n.try || sqlerr.CodeOf(err) == sqlerr.MemoryLimit {
				return nil, sqlerr.At(err, n.pos)
			}
			n.setNull(int(i))
		}
	}
	if n.made {
		valid = n.nulls
	}
	return n.out.give(f, one, valid), nil
}

// null tells whether operand k is NULL at row i.
func (n *rowsNode) null(k, i int) bool { return n.vs[k].IsNull(i) }

// setNull makes row i's result NULL.
func (n *rowsNode) setNull(i int) {
	if !n.made {
		n.made = true
		n.nulls = grow(&n.nulls, vector.Words(max(n.n, 1)))
		if n.known == nil {
			fill(n.nulls, n.n, true)
		} else {
			copy(n.nulls, n.known)
		}
	}
	n.nulls[i>>6] &^= 1 << (uint(i) & 63)
}

// results are values of T of a type that has no other form.
type results[T vector.Element] struct {
	column[T]
	t sqltype.Type
}

// values makes n's results values of T.
func values[T vector.Element](n *rowsNode, t sqltype.Type) *results[T] {
	r := &results[T]{t: t}
	n.out = r
	return r
}

func (r *results[T]) set(i int, v T) { r.vals[i] = v }

func (r *results[T]) begin(n int, partial bool) {
	vals := r.make(n)
	if texts, ok := any(&vals).(*[]string); ok && partial {
		clear(*texts) // what is left there from another batch may be gone
	}
}

func (r *results[T]) give(f frame, one bool, valid []uint64) *vector.Vector {
	return r.column.give(r.t, f, one, valid)
}

func (r *results[T]) null(f frame) *vector.Vector { return r.column.null(r.t, f) }

// truthResults are truth values.
type truthResults struct{ bitmap }

// truths makes n's results truth values.
func (n *rowsNode) truths() *truthResults {
	r := &truthResults{}
	n.out = r
	return r
}

func (r *truthResults) begin(n int, _ bool) { clear(r.make(n)) }

// set stores the result of row i, which has not been set in this batch.
func (r *truthResults) set(i int, b bool) { r.bits[i>>6] |= bit(b) << (uint(i) & 63) }

// decimalResults are computed in 128 bits and given in as many as their type has.
type decimalResults struct {
	t      sqltype.Type
	wide   column[int128.Int128]
	narrow column[int64]
}

// decimals makes n's results decimals of type t.
func (n *rowsNode) decimals(t sqltype.Type) *decimalResults {
	r := &decimalResults{t: t}
	n.out = r
	return r
}

func (r *decimalResults) begin(n int, _ bool) { r.wide.make(n) }

func (r *decimalResults) set(i int, v int128.Int128) { r.wide.vals[i] = v }

func (r *decimalResults) give(f frame, one bool, valid []uint64) *vector.Vector {
	if vector.PhysOf(r.t) == vector.PhysInt128 {
		return r.wide.give(r.t, f, one, valid)
	}
	n := f.n
	if one {
		n = 1
	}
	for i := range r.narrow.make(n) {
		r.narrow.vals[i] = int64(r.wide.vals[i].Lo)
	}
	return r.narrow.give(r.t, f, one, valid)
}

func (r *decimalResults) null(f frame) *vector.Vector { return r.wide.null(r.t, f) }
