package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Streams source has a reader per stream, for whoever must tell them apart. What OpenRemote gives for a Remote that merges
// is one; its readers are the streams of the producer's tasks, each sorted.
type Streams interface {
	Source
	Streams() ([]Reader, error)
}

func (r *runner) compileRemote(n *physical.Remote) (pipe, error) {
	open := func(ctx context.Context) (Source, error) {
		if r.env.OpenRemote == nil {
			return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "this process cannot reach other tasks")
		}
		return r.env.OpenRemote(ctx, n)
	}
	if n.Merge == nil {
		return pipe{{node: n, open: open}}, nil
	}
	order, err := newSortOrder(n.Merge)
	if err != nil {
		return nil, err
	}
	acct := r.account("merge", n)
	return pipe{{node: n, ordered: true, open: func(ctx context.Context) (Source, error) {
		src, err := open(ctx)
		if err != nil {
			return nil, err
		}
		m, ok := src.(Streams)
		if !ok {
			return nil, sqlerr.New(sqlerr.Internal, sqlerr.Pos{}, "a merge of streams that cannot be told apart")
		}
		return &mergeSource{Streams: m, order: order, fields: n.Fields, env: r.env, acct: acct}, nil
	}}}, nil
}

// mergeSource gives the rows of sorted streams in order, to one reader.
type mergeSource struct {
	Streams
	order  *sortOrder
	fields []physical.Field
	env    *Env
	acct   *account
}

// MaxReaders is 1: there is one order.
func (*mergeSource) MaxReaders() int { return 1 }

func (s *mergeSource) NewReader() (Reader, error) {
	readers, err := s.Streams.Streams()
	if err != nil {
		return nil, err
	}
	r := &mergeReader{source: s, lanes: make([]lane, len(s.fields)), cols: make([]*vector.Vector, len(s.fields))}
	for _, rd := range readers {
		r.streams = append(r.streams, &mergeStream{reader: rd, encoder: s.order.encoder(s.env)})
	}
	for _, f := range s.fields {
		r.types = append(r.types, f.Type)
	}
	return r, nil
}

// A mergeStream is one input of a merge: its batch, and the row that is next.
type mergeStream struct {
	reader  Reader
	encoder *keyEncoder
	batch   *vector.Batch
	at      int // position in the selection
}

// next reads the stream's next batch with a row, false at the end.
func (s *mergeStream) next(ctx context.Context) (bool, error) {
	for {
		b, err := s.reader.Next(ctx)
		if b == nil || err != nil {
			return false, err
		}
		if b.Rows() > 0 {
			s.batch, s.at = b, 0
			return true, s.encoder.encode(b)
		}
	}
}

func (s *mergeStream) less(t *mergeStream) bool {
	a, b := s.encoder.entries[s.at], t.encoder.entries[t.at]
	if a.hi != b.hi {
		return a.hi < b.hi
	}
	if a.lo != b.lo || s.encoder.order.short() {
		return a.lo < b.lo
	}
	return string(s.encoder.key(s.at)) < string(t.encoder.key(t.at))
}

type mergeReader struct {
	source  *mergeSource
	types   []sqltype.Type
	streams []*mergeStream
	heads   []*mergeStream // those in the tree
	tree    *loserTree

	lanes []lane
	cols  []*vector.Vector
	sel   []int32
	ids   identity
	batch vector.Batch
}

func (r *mergeReader) Close() error {
	var first error
	for _, s := range r.streams {
		if err := s.reader.Close(); first == nil {
			first = err
		}
	}
	return first
}

func (r *mergeReader) Next(ctx context.Context) (*vector.Batch, error) {
	if r.tree == nil {
		for _, s := range r.streams {
			more, err := s.next(ctx)
			if err != nil {
				return nil, err
			}
			if more {
				r.heads = append(r.heads, s)
			}
		}
		r.tree = newLoserTree(len(r.heads), func(a, b int) bool { return r.heads[a].less(r.heads[b]) })
	}
	if r.tree.left == 0 {
		return nil, nil
	}
	// Rows are copied run by run: a stream's batch ends when its next one is asked for.
	out := newStore(r.types, r.source.acct)
	defer func() { r.source.acct.release(out.held) }()
	for r.tree.left > 0 && out.n < r.source.env.BatchRows {
		w := r.tree.winner()
		s := r.heads[w]
		from, more := s.at, true
		for {
			s.at++
			if s.at == s.batch.Rows() {
				if err := r.copy(out, s, from, s.at); err != nil {
					return nil, err
				}
				var err error
				if more, err = s.next(ctx); err != nil {
					return nil, err
				}
				from = 0
			}
			if r.tree.advance(more); r.tree.left == 0 || r.tree.winner() != w || out.n+s.at-from >= r.source.env.BatchRows {
				break
			}
		}
		if more {
			if err := r.copy(out, s, from, s.at); err != nil {
				return nil, err
			}
		}
	}
	n := out.n
	for i, c := range out.cols {
		r.cols[i] = c.gather(&r.lanes[i], r.ids.upTo(n), nil, n, false)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: n}
	return &r.batch, nil
}

// copy appends the rows from … to of the selection of s's batch.
func (r *mergeReader) copy(out *store, s *mergeStream, from, to int) error {
	if from == to {
		return nil
	}
	r.sel = r.sel[:0]
	for i := from; i < to; i++ {
		row := int32(i)
		if s.batch.Sel != nil {
			row = s.batch.Sel[i]
		}
		r.sel = append(r.sel, row)
	}
	return out.append(s.batch.Cols, r.sel, len(r.sel))
}
