// Package eval computes bound expressions over batches: a Program is compiled once and shared, an Evaluator or a Filter is
// one goroutine's copy of it with its own scratch. It knows SQL's semantics of values, NULL and errors; it must never
// know plans, operators or where a batch came from.
package eval

import (
	"context"
	"unsafe"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Program is a compiled expression. It is immutable and may be used by any number of goroutines.
type Program struct {
	root factory
}

// Compile prepares e, whose columns are Inputs. It fails with invalid_plan where e is not well typed, with feature_not_supported
// for what has no implementation, and for patterns that are constant and wrong.
func Compile(e expr.Expr) (*Program, error) {
	if err := expr.Validate(e); err != nil {
		return nil, err
	}
	root, err := (&compiler{}).compile(e)
	if err != nil {
		return nil, err
	}
	return &Program{root: root}, nil
}

// NewEvaluator is a copy of p for one goroutine. batchRows is how many rows its batches have at most, usually; larger ones
// work too. ctx is the query's, for the functions in it that are not built in.
func (p *Program) NewEvaluator(ctx context.Context, batchRows int) *Evaluator {
	in := &instance{ctx: ctx}
	in.identity(batchRows)
	return &Evaluator{in: in, root: p.root(in)}
}

// An Evaluator computes one expression, one batch at a time, with memory that it keeps. It is for one goroutine.
type Evaluator struct {
	in   *instance
	root node
}

// Eval gives the expression's value for each row of b: a vector of b.Len rows, of any form, defined on the rows that are
// alive and valid until the next call or the end of b's life. Rows that are not alive raise no errors. An error is a
// *sqlerr.Error at the place of the operation that failed.
func (e *Evaluator) Eval(b *vector.Batch) (*vector.Vector, error) {
	e.in.mem.reset()
	return e.root.eval(frame{cols: b.Cols, n: b.Len, sel: b.Sel})
}

// A frame is what nodes compute over: n rows of which those of sel are alive.
type frame struct {
	cols []*vector.Vector
	n    int
	sel  []int32 // nil: all
}

// live is the number of rows that are alive.
func (f frame) live() int {
	if f.sel == nil {
		return f.n
	}
	return len(f.sel)
}

// sparse tells that so few rows are alive that visiting them one by one is cheaper than a kernel over all.
func (f frame) sparse() bool { return f.sel != nil && len(f.sel)*8 < f.n }

// only is f with other rows alive.
func (f frame) only(sel []int32) frame {
	f.sel = sel
	return f
}

// A node is a running expression. eval gives a vector of f.n rows that is defined on f's live rows, which alone may raise
// errors. The vector is read-only and valid until the node's next eval.
type node interface {
	eval(f frame) (*vector.Vector, error)
}

// A factory makes a node for one instance. What it captures is shared and immutable.
type factory func(in *instance) node

// An instance is what the nodes of one Evaluator share.
type instance struct {
	ctx  context.Context // of the query that this is part of
	mem  arena
	iota []int32
}

// identity is the numbers from 0 to n-1.
func (in *instance) identity(n int) []int32 {
	for len(in.iota) < n {
		in.iota = append(in.iota, int32(len(in.iota)))
	}
	return in.iota[:n]
}

// rows is f's live rows as a list.
func (in *instance) rows(f frame) []int32 {
	if f.sel != nil {
		return f.sel
	}
	return in.identity(f.n)
}

// An arena holds the bytes of strings made for one batch.
type arena struct {
	buf  []byte
	kept int // bytes since reset
}

func (a *arena) reset() { a.buf, a.kept = a.buf[:0], 0 }

// maxChunk is the most bytes that an arena keeps for the next batch.
const maxChunk = 16 << 20

// tail is an empty slice to append a string's bytes to; keep must follow before the next tail.
func (a *arena) tail() []byte { return a.buf[len(a.buf):len(a.buf):cap(a.buf)] }

// keep makes a string of what was appended to tail. It is valid until reset.
func (a *arena) keep(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	a.kept += len(b)
	if free := a.tail(); cap(b) == cap(free) && unsafe.SliceData(b) == unsafe.SliceData(free) {
		a.buf = a.buf[:len(a.buf)+len(b)]
	} else { // it outgrew the arena and has memory of its own; make room for the next
		a.buf = make([]byte, 0, min(max(2*cap(a.buf)+len(b), 4096), maxChunk))
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// grow gives n elements of buf, in new memory where it has too few. What they hold is undefined.
func grow[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, max(n, 2*cap(*buf)))
	}
	return (*buf)[:n]
}
