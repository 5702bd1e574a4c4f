package exec

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// maxRounds is how often a recursion goes round before it counts as one without end.
const maxRounds = 100_000

// rounds runs a recursion: each round is a run of its own over the rows of the one before, started when those were read. So a limit
// above ends a recursion that would not end by itself.
type rounds struct {
	node  *physical.Recursive
	env   *Env // of the rounds
	types []sqltype.Type
	acct  *account
	seen  grouper // every row that was given, unless they may repeat
	count int     // rounds that ran

	last *store // what the latest round gave
}

func (r *runner) compileRecursive(n *physical.Recursive) (pipe, error) {
	env := *r.env
	env.Filters = &RuntimeFilters{} // a join builds another in every round
	env.working = maps.Clone(r.env.working)
	if env.working == nil {
		env.working = map[int32]*rounds{}
	}
	rec := &rounds{node: n, env: &env, acct: r.account("recursion", n)}
	env.working[n.ID] = rec
	for _, f := range n.Fields {
		rec.types = append(rec.types, f.Type)
	}
	if !n.All && len(rec.types) > 0 {
		rec.seen = newGrouper(rec.types, rec.acct)
	}
	return pipe{{node: n, ordered: true, open: func(context.Context) (Source, error) { return rec, nil }}}, nil
}

func (r *runner) compileWorking(n *physical.Working) (pipe, error) {
	rec := r.env.working[n.ID]
	if rec == nil || len(rec.types) != len(n.Fields) {
		return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: the rows of a recursion are read outside of it")
	}
	return pipe{{node: n, open: func(context.Context) (Source, error) {
		return &storeSource{store: rec.last, batch: r.env.BatchRows}, nil
	}}}, nil
}

// round replaces last by the rows that come of it.
func (r *rounds) round(ctx context.Context) error {
	if r.count > maxRounds {
		return sqlerr.Newf(sqlerr.StatementTooLarge, sqlerr.Pos{}, "a recursive query did not end within %d rounds", maxRounds).
			WithHint("let a condition of its second half become false, or read it under a LIMIT")
	}
	plan := r.node.Step
	if r.count == 0 {
		plan = r.node.Base
	}
	r.count++
	next := &roundSink{rounds: r, rows: newStore(r.types, r.acct)}
	if err := Run(ctx, plan, r.env, next); err != nil {
		return err
	}
	if r.last != nil {
		if err := r.acct.resize(&r.last.held, 0); err != nil {
			return err
		}
	}
	r.last = next.rows
	return nil
}

// MaxReaders is 1: a round needs all of the one before.
func (*rounds) MaxReaders() int { return 1 }

func (r *rounds) NewReader() (Reader, error) { return &roundsReader{rounds: r}, nil }
func (*rounds) Close() error                 { return nil }

type roundsReader struct {
	rounds *rounds
	rows   *storeReader
}

func (r *roundsReader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if r.rows != nil {
			if b, err := r.rows.Next(ctx); b != nil || err != nil {
				return b, err
			}
			if r.rounds.last.n == 0 {
				return nil, nil
			}
		}
		if err := r.rounds.round(ctx); err != nil {
			return nil, err
		}
		r.rows = newStoreReader(&storeSource{store: r.rounds.last, batch: r.rounds.env.BatchRows})
	}
}

func (*roundsReader) Close() error { return nil }

// A roundSink keeps the rows of a round, of those that may not repeat only the new ones.
type roundSink struct {
	rounds *rounds
	mu     sync.Mutex // guards what follows and rounds.seen
	rows   *store
	groups []uint32
	fresh  []int32
}

func (s *roundSink) NewLocal() (Local, error)           { return s, nil }
func (*roundSink) Combine(context.Context, Local) error { return nil }
func (*roundSink) Close() error                         { return nil }
func (s *roundSink) Finalize(context.Context) error {
	for _, c := range s.rows.cols {
		c.seal()
	}
	return nil
}

func (s *roundSink) Push(_ context.Context, b *vector.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen, n := s.rounds.seen, b.Rows()
	if seen == nil {
		if s.rounds.node.All {
			return s.rows.append(b.Cols, b.Sel, n)
		}
		// Rows without columns are all the same.
		if n = 0; s.rounds.count == 1 && s.rows.n == 0 {
			n = 1
		}
		return s.rows.append(nil, nil, n)
	}
	if cap(s.groups) < b.Len {
		s.groups = make([]uint32, b.Len)
	}
	groups, next := s.groups[:b.Len], uint32(seen.len())
	if err := seen.assign(b.Cols, b.Sel, n, groups); err != nil {
		return err
	}
	s.fresh = s.fresh[:0]
	for i := range n {
		row := int32(i)
		if b.Sel != nil {
			row = b.Sel[i]
		}
		if groups[row] == next { // numbers are in the order of rows
			s.fresh = append(s.fresh, row)
			next++
		}
	}
	return s.rows.append(b.Cols, s.fresh, len(s.fresh))
}

// A storeSource gives the rows of a store; a morsel is a batch of them.
type storeSource struct {
	store *store
	batch int
	next  atomic.Int64
}

// MaxReaders is 1 for as many rows as one goroutine is done with before another would have begun.
func (s *storeSource) MaxReaders() int { return 1 + s.store.n/(16*vector.DefaultBatch) }

func (s *storeSource) NewReader() (Reader, error) { return newStoreReader(s), nil }
func (*storeSource) Close() error                 { return nil }

type storeReader struct {
	source *storeSource
	lanes  []lane
	cols   []*vector.Vector
	ids    identity
	batch  vector.Batch
}

func newStoreReader(s *storeSource) *storeReader {
	return &storeReader{source: s, lanes: make([]lane, len(s.store.cols)), cols: make([]*vector.Vector, len(s.store.cols))}
}

func (r *storeReader) Next(context.Context) (*vector.Batch, error) {
	s := r.source
	to := int(s.next.Add(int64(s.batch)))
	from := to - s.batch
	if from >= s.store.n {
		return nil, nil
	}
	to = min(to, s.store.n)
	for i, c := range s.store.cols {
		r.cols[i] = c.window(&r.lanes[i], from, to, &r.ids)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: to - from}
	return &r.batch, nil
}

func (*storeReader) Close() error { return nil }
