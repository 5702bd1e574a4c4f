package eval

import (
	"errors"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// errNull is what a row function returns to make its result NULL.
var errNull = errors.New("the result is NULL")

// rows makes a node that computes row by row; set gives n its operands, result and row.
func (k call) rows(set func(n *rowsNode)) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		set(n)
		return n
	}
}

// map1 is a function of one argument, and so on.
func map1[A, R vector.Element](k call, f func(A) (R, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, out := operand[A](n), values[R](n, k.Typ)
		n.row = func(i int) error {
			v, err := f(a.at(i))
			out.set(i, v)
			return err
		}
	})
}

func map2[A, B, R vector.Element](k call, f func(A, B) (R, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, b, out := operand[A](n), operand[B](n), values[R](n, k.Typ)
		n.row = func(i int) error {
			v, err := f(a.at(i), b.at(i))
			out.set(i, v)
			return err
		}
	})
}

func map3[A, B, C, R vector.Element](k call, f func(A, B, C) (R, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, b, c, out := operand[A](n), operand[B](n), operand[C](n), values[R](n, k.Typ)
		n.row = func(i int) error {
			v, err := f(a.at(i), b.at(i), c.at(i))
			out.set(i, v)
			return err
		}
	})
}

// test1 is a truth value of one argument.
func test1[A vector.Element](k call, f func(A) bool) factory {
	return k.rows(func(n *rowsNode) {
		a, out := operand[A](n), n.truths()
		n.row = func(i int) error {
			out.set(i, f(a.at(i)))
			return nil
		}
	})
}

// text1 appends a text made of one argument.
func text1[A vector.Element](k call, f func(dst []byte, a A) ([]byte, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, set := operand[A](n), textResult(n, k.Typ)
		n.row = func(i int) error {
			dst, err := f(n.in.mem.tail(), a.at(i))
			return setOr(set, i, dst, err)
		}
	})
}

func text2[A, B vector.Element](k call, f func(dst []byte, a A, b B) ([]byte, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, b, set := operand[A](n), operand[B](n), textResult(n, k.Typ)
		n.row = func(i int) error {
			dst, err := f(n.in.mem.tail(), a.at(i), b.at(i))
			return setOr(set, i, dst, err)
		}
	})
}

func text3[A, B, C vector.Element](k call, f func(dst []byte, a A, b B, c C) ([]byte, error)) factory {
	return k.rows(func(n *rowsNode) {
		a, b, c, set := operand[A](n), operand[B](n), operand[C](n), textResult(n, k.Typ)
		n.row = func(i int) error {
			dst, err := f(n.in.mem.tail(), a.at(i), b.at(i), c.at(i))
			return setOr(set, i, dst, err)
		}
	})
}

// setOr stores a text, or nothing where there was an error.
func setOr(set func(i int, b []byte) error, i int, dst []byte, err error) error {
	if err != nil {
		_ = set(i, nil)
		return err
	}
	if len(dst) > maxText {
		return tooLong()
	}
	return set(i, dst)
}

// optional is the next operand where the call has an argument at place i, else a constant.
func optional[T vector.Element](n *rowsNode, k call, i int, otherwise T) *arg[T] {
	if i < len(k.args) {
		return operand[T](n)
	}
	return &arg[T]{vals: []T{otherwise}}
}

// An itemArg is an operand of any type as items of nested values.
type itemArg struct {
	v   *vector.Vector
	buf []byte
}

func (a *itemArg) load(v *vector.Vector, _ frame) { a.v = v }

// at is row i's item.
func (a *itemArg) at(i int) string {
	a.buf = nested.AppendRow(a.buf[:0], a.v, i)
	return string(a.buf)
}

func itemOperand(n *rowsNode) *itemArg {
	a := &itemArg{}
	n.loads = append(n.loads, a)
	return a
}

// itemResults are values of any type, given as items in the order of their rows.
type itemResults struct {
	t   sqltype.Type
	col *nested.Column
	vec vector.Vector
}

func itemResult(n *rowsNode, t sqltype.Type) *itemResults {
	r := &itemResults{t: t, col: nested.NewColumn(t)}
	n.out = r
	return r
}

func (r *itemResults) begin(int, bool) { r.col.Reset() }

func (r *itemResults) set(i int, item string) {
	r.fill(i)
	r.col.AddItem(item)
}

// fill makes the rows before i that have no value NULL.
func (r *itemResults) fill(i int) {
	for r.col.Len() < i {
		r.col.Add(nested.Scalar{Null: true})
	}
}

func (r *itemResults) give(f frame, one bool, _ []uint64) *vector.Vector {
	n := f.n
	if one {
		n = 1
	}
	r.fill(n)
	r.vec = *r.col.Vector()
	if one {
		r.vec.Form, r.vec.Len = vector.Const, f.n
	}
	return &r.vec
}

func (r *itemResults) null(f frame) *vector.Vector {
	vector.SetNull(&r.vec, r.t, f.n)
	return &r.vec
}
