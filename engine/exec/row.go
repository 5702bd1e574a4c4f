package exec

import (
	"context"
	"sync"

	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
)

// A filter passes the rows for which its condition is true.
type filter struct {
	cond expr.Expr
	env  *Env
}

func newFilter(n *physical.Filter, env *Env) (*filter, error) {
	if _, err := env.newFilter(n.Cond); err != nil {
		return nil, err // now rather than in every goroutine
	}
	return &filter{n.Cond, env}, nil
}

func (f *filter) NewStep() (Step, error) {
	e, err := f.env.newFilter(f.cond)
	return &filterStep{filter: e}, err
}

func (*filter) Close() error { return nil }

type filterStep struct {
	filter *eval.Filter
	out    vector.Batch
}

func (s *filterStep) Push(_ context.Context, b *vector.Batch, emit Emit) error {
	s.out = *b
	if err := s.filter.Apply(&s.out); err != nil {
		return err
	}
	return emit(&s.out)
}

func (*filterStep) Flush(context.Context, Emit) error { return nil }
func (*filterStep) Close() error                      { return nil }

// A project computes columns.
type project struct {
	exprs []formula
	env   *Env
}

func newProject(n *physical.Project, env *Env) (*project, error) {
	f, err := compileFormulas(n.Exprs)
	return &project{f, env}, err
}

func (p *project) NewStep() (Step, error) {
	return &projectStep{exprs: computers(p.exprs, p.env), cols: make([]*vector.Vector, len(p.exprs))}, nil
}

func (*project) Close() error { return nil }

type projectStep struct {
	exprs []computer
	cols  []*vector.Vector
	out   vector.Batch
}

func (s *projectStep) Push(_ context.Context, b *vector.Batch, emit Emit) error {
	if err := evalAll(s.exprs, b, s.cols); err != nil {
		return err
	}
	s.out = vector.Batch{Cols: s.cols, Len: b.Len, Sel: b.Sel}
	return emit(&s.out)
}

func (*projectStep) Flush(context.Context, Emit) error { return nil }
func (*projectStep) Close() error                      { return nil }

// A limit passes a window of the rows, counted over all goroutines.
type limit struct {
	mu   sync.Mutex
	skip int64
	left int64 // −1: no end
}

func newLimit(n *physical.Limit) *limit {
	return &limit{skip: max(n.Offset, 0), left: max(n.Fetch, -1)}
}

// take gives the window [from, to) of the next n rows, and whether none is wanted after it.
func (l *limit) take(n int) (from, to int, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from = int(min(l.skip, int64(n)))
	l.skip -= int64(from)
	to = n
	if l.left >= 0 {
		to = from + int(min(l.left, int64(n-from)))
		l.left -= int64(to - from)
	}
	return from, to, l.left == 0
}

// Done tells that the window is full.
func (l *limit) Done() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left == 0
}

func (l *limit) NewStep() (Step, error) { return &limitStep{limit: l}, nil }
func (*limit) Close() error             { return nil }

type limitStep struct {
	limit *limit
	ids   identity
	out   vector.Batch
}

func (s *limitStep) Push(_ context.Context, b *vector.Batch, emit Emit) error {
	n := b.Rows()
	from, to, done := s.limit.take(n)
	if from < to {
		s.out = *b
		switch {
		case b.Sel != nil:
			s.out.Sel = b.Sel[from:to]
		case to-from < n:
			s.out.Sel = s.ids.upTo(to)[from:]
		}
		if err := emit(&s.out); err != nil {
			return err
		}
	}
	if done {
		return ErrDone
	}
	return nil
}

func (*limitStep) Flush(context.Context, Emit) error { return nil }
func (*limitStep) Close() error                      { return nil }
