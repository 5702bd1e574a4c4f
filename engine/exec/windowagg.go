package exec

import (
	"context"
	"iter"
	"math/bits"
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A pair says that a row belongs to a group: to a frame, or to a node of the tree below.
type pair struct{ group, row int32 }

// aggregate makes the result columns of aggregates that have the same frames. Frames are groups, and a row is in as many as see it:
// where these are few, each frame's rows are aggregated as they are. Where frames are long – sums that run, windows that slide – states of
// runs of 1, 2, 4 … rows are made once, and each frame is put together of the few that cover it (a segment tree, level by level).
func (w *window) aggregate(ctx context.Context, rows *store, f *frames, calls []int, results []*column) error {
	n := f.p.n
	frameOf := make([]int32, n) // rows with one frame share it
	var first []int32           // a row of each frame
	var last [3][2]int32
	var seen int64
	for i := range n {
		r := f.ranges(i)
		if i == 0 || r != last || f.p.start[i] == int32(i) {
			first = append(first, int32(i))
			last = r
			for _, x := range r {
				seen += int64(max(0, x[1]-x[0]))
			}
		}
		frameOf[i] = int32(len(first) - 1)
	}
	direct, treed := calls, []int(nil)
	if levels := int64(bits.Len(uint(n))); seen > 4*int64(n)*levels+4096 {
		direct = nil
		for _, i := range calls {
			if c := &w.calls[i]; !expr.HasState(expr.Aggregate{Func: c.Func, Distinct: c.Distinct, User: c.User}) {
				direct = append(direct, i)
			} else {
				treed = append(treed, i)
			}
		}
	}
	if len(direct) > 0 {
		made, err := w.direct(ctx, direct, rows, f, first)
		if err != nil {
			return err
		}
		if err := w.spread(ctx, made, direct, frameOf, len(first), results); err != nil {
			return err
		}
	}
	if len(treed) > 0 {
		made, err := w.tree(ctx, treed, rows, f, first)
		if err != nil {
			return err
		}
		return w.spread(ctx, made, treed, frameOf, len(first), results)
	}
	return nil
}

// maxPairs is how many pairs of frame and row are aggregated together: what keeps every row of a frame needs memory for as many.
const maxPairs = 4 << 20

// direct makes the results of frames from their rows, some frames at a time.
func (w *window) direct(ctx context.Context, calls []int, rows *store, f *frames, first []int32) (*groups, error) {
	var all *groups
	var ids identity
	for from := 0; from < len(first); {
		to, seen := from, 0
		for ; to < len(first) && seen < maxPairs; to++ {
			for _, r := range f.ranges(int(first[to])) {
				seen += int(max(0, r[1]-r[0]))
			}
		}
		made, err := w.grouped(ctx, physical.Single, w.over(calls), rows, w.types, func(yield func(pair) bool) {
			for g, i := range first[from:to] {
				for _, r := range f.ranges(int(i)) {
					for j := r[0]; j < r[1]; j++ {
						if !yield(pair{int32(g), j}) {
							return
						}
					}
				}
			}
		})
		if err != nil {
			return nil, err
		}
		for len(made.of) < to-from {
			made.of = append(made.of, -1)
		}
		if all == nil {
			all = made
		} else {
			base := int32(all.rows.n)
			if err := all.rows.appendFrom(made.rows, ids.upTo(made.rows.n)); err != nil {
				return nil, err
			}
			w.acct.release(made.rows.held)
			for _, at := range made.of {
				if at >= 0 {
					at += base
				}
				all.of = append(all.of, at)
			}
		}
		from = to
	}
	return all, nil
}

// over is calls as aggregates over the kept columns, which a row of pairs has behind its group.
func (w *window) over(calls []int) []expr.Aggregate {
	out := make([]expr.Aggregate, len(calls))
	input := func(at int) expr.Expr {
		return &expr.Input{Index: at + 1, Typ: w.types[at], Nullable: true}
	}
	for k, i := range calls {
		c := &w.calls[i]
		a := expr.Aggregate{At: c.Pos, Func: c.Func, Distinct: c.Distinct, Typ: c.Typ, User: c.User}
		for _, at := range c.args {
			a.Args = append(a.Args, input(at))
		}
		if c.filter >= 0 {
			a.Filter = input(c.filter)
		}
		out[k] = a
	}
	return out
}

// tree makes the results of frames of a partition's rows from states of aligned runs of 2^k rows.
func (w *window) tree(ctx context.Context, calls []int, rows *store, f *frames, first []int32) (*groups, error) {
	n := f.p.n
	levels := bits.Len(uint(n))
	base := make([]int32, levels) // number of each level's first node
	var nodes int32
	for k := range levels {
		base[k] = nodes
		nodes += int32((n + 1<<k - 1) >> k)
	}
	aggs := w.over(calls)
	states, err := w.grouped(ctx, physical.Partial, aggs, rows, w.types, func(yield func(pair) bool) {
		for k := range levels {
			for j := range int32(n) {
				if !yield(pair{base[k] + j>>k, j}) {
					return
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	// A final aggregation takes states in the order of expr.StateTypes.
	at := 0
	for i := range aggs {
		types := expr.StateTypes(aggs[i])
		aggs[i].Args, aggs[i].Filter = nil, nil
		for _, t := range types {
			aggs[i].Args = append(aggs[i].Args, &expr.Input{Index: at + 1, Typ: t, Nullable: true})
			at++
		}
	}
	return w.grouped(ctx, physical.Final, aggs, states.rows, states.types, func(yield func(pair) bool) {
		for g, i := range first {
			for _, r := range f.ranges(int(i)) {
				from, to := r[0], r[1]
				for from < to {
					// The largest run that begins at from and does not go beyond to.
					k := min(bits.TrailingZeros32(uint32(from)|1<<30), bits.Len32(uint32(to-from))-1)
					if at := states.of[base[k]+from>>k]; at >= 0 && !yield(pair{int32(g), at}) {
						return
					}
					from += 1 << k
				}
			}
		}
	})
}

// groups is what an aggregation gave, by group.
type groups struct {
	rows  *store
	types []sqltype.Type
	of    []int32 // row of a group; −1: the group had no row
}

// grouped aggregates rows, dealt to groups by pairs, and gives the aggregates' columns.
func (w *window) grouped(ctx context.Context, mode physical.AggMode, aggs []expr.Aggregate, rows *store, types []sqltype.Type, pairs func(func(pair) bool)) (*groups, error) {
	integer := sqltype.Of(sqltype.Int32)
	fields := []physical.Field{{Name: "group", Type: integer}}
	for _, t := range types {
		fields = append(fields, physical.Field{Type: t, Nullable: true})
	}
	node := &physical.Aggregate{
		Input: &physical.Remote{Fields: fields}, Mode: mode, Groups: []expr.Expr{&expr.Input{Typ: integer}}, Aggs: aggs,
	}
	used := usedColumns(aggs)
	width := 1 + len(aggs)
	if mode == physical.Partial {
		width = 1
		for _, a := range aggs {
			width += len(expr.StateTypes(a))
		}
	}
	node.Names = make([]string, width)
	out := &groups{}
	for _, field := range node.Schema()[1:] {
		out.types = append(out.types, field.Type)
	}
	out.rows = newStore(out.types, w.acct)
	outer := w.runner.env
	env := &Env{Threads: 1, BatchRows: outer.BatchRows, Budget: outer.Budget, OpenRemote: func(context.Context, *physical.Remote) (Source, error) {
		return &pairSource{rows: rows, used: used, width: len(types), batch: outer.BatchRows, pairs: pairs}, nil
	}}
	sink := &groupSink{out: out}
	if err := Run(ctx, node, env, sink); err != nil {
		return nil, err
	}
	return out, nil
}

// usedColumns are the columns that aggregates read, the group's aside.
func usedColumns(aggs []expr.Aggregate) []int {
	var used []int
	add := func(e expr.Expr) {
		if in, ok := e.(*expr.Input); ok && !slices.Contains(used, in.Index-1) {
			used = append(used, in.Index-1)
		}
	}
	for _, a := range aggs {
		for _, x := range a.Args {
			add(x)
		}
		add(a.Filter)
	}
	return used
}

// pairSource gives pairs as batches: the group, then the row's columns; those that nobody reads are NULL.
type pairSource struct {
	rows  *store
	used  []int
	width int
	batch int
	pairs func(func(pair) bool)
}

func (s *pairSource) MaxReaders() int { return 1 }
func (s *pairSource) Close() error    { return nil }

func (s *pairSource) NewReader() (Reader, error) {
	r := &pairReader{source: s, lanes: make([]lane, s.width), cols: make([]*vector.Vector, s.width+1)}
	r.next, r.stop = pull(s.pairs, s.batch)
	null := &vector.Vector{}
	for i := range r.cols {
		r.cols[i] = null
	}
	r.null = null
	return r, nil
}

type pairReader struct {
	source *pairSource
	next   func() []pair
	stop   func()
	lanes  []lane
	cols   []*vector.Vector
	null   *vector.Vector
	groups []int32
	ids    []int32
	keys   vector.Vector
	batch  vector.Batch
}

func (r *pairReader) Close() error {
	r.stop()
	return nil
}

func (r *pairReader) Next(context.Context) (*vector.Batch, error) {
	list := r.next()
	if len(list) == 0 {
		return nil, nil
	}
	r.groups, r.ids = r.groups[:0], r.ids[:0]
	for _, p := range list {
		r.groups, r.ids = append(r.groups, p.group), append(r.ids, p.row)
	}
	vector.SetFlat(&r.keys, sqltype.Of(sqltype.Int32), r.groups, nil)
	vector.SetNull(r.null, sqltype.Of(sqltype.Null), len(list))
	r.cols[0] = &r.keys
	for _, c := range r.source.used {
		r.cols[c+1] = r.source.rows.cols[c].gather(&r.lanes[c], r.ids, nil, len(r.ids), false)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: len(list)}
	return &r.batch, nil
}

// groupSink keeps an aggregation's rows by group.
type groupSink struct{ out *groups }

func (s *groupSink) NewLocal() (Local, error)             { return s, nil }
func (s *groupSink) Combine(context.Context, Local) error { return nil }
func (s *groupSink) Finalize(context.Context) error       { return nil }
func (s *groupSink) Close() error                         { return nil }

func (s *groupSink) Push(_ context.Context, b *vector.Batch) error {
	keys := vector.Values[int32](flatInt32(b.Cols[0]))
	at := s.out.rows.n
	each := func(i int) {
		for int(keys[i]) >= len(s.out.of) {
			s.out.of = append(s.out.of, -1)
		}
		s.out.of[keys[i]] = int32(at)
		at++
	}
	if b.Sel == nil {
		for i := range b.Len {
			each(i)
		}
	} else {
		for _, i := range b.Sel {
			each(int(i))
		}
	}
	return s.out.rows.append(b.Cols[1:], b.Sel, b.Rows())
}

// flatInt32 is an INTEGER column in form Flat.
func flatInt32(v *vector.Vector) *vector.Vector {
	if v.Form == vector.Flat {
		return v
	}
	values := make([]int32, v.Len)
	for i := range values {
		c, k := v.At(i)
		values[i] = vector.Values[int32](c)[k]
	}
	out := &vector.Vector{}
	vector.SetFlat(out, v.Type, values, nil)
	return out
}

// spread gives every row its frame's results. A frame without rows has what the aggregate gives of none.
func (w *window) spread(ctx context.Context, made *groups, calls []int, frameOf []int32, frames int, results []*column) error {
	for len(made.of) < frames {
		made.of = append(made.of, -1)
	}
	if slices.Contains(made.of[:frames], -1) {
		none, err := w.ofNothing(ctx, calls)
		if err != nil {
			return err
		}
		at := int32(made.rows.n)
		vs := make([]*vector.Vector, len(none.cols))
		lanes := make([]lane, len(none.cols))
		for i, c := range none.cols {
			vs[i] = c.gather(&lanes[i], []int32{0}, nil, 1, false)
		}
		if err := made.rows.append(vs, nil, 1); err != nil {
			return err
		}
		for g := range made.of {
			if made.of[g] < 0 {
				made.of[g] = at
			}
		}
	}
	from := make([]int32, len(frameOf))
	for i, g := range frameOf {
		from[i] = made.of[g]
	}
	for k, i := range calls {
		var l lane
		c := newColumn(w.calls[i].Typ)
		c.append(made.rows.cols[k].gather(&l, from, nil, len(from), false), nil, len(from))
		results[i] = c
	}
	w.acct.release(made.rows.held)
	return nil
}

// ofNothing is the one row that the aggregates give of no rows.
func (w *window) ofNothing(ctx context.Context, calls []int) (*store, error) {
	fields := []physical.Field{{Name: "group", Type: sqltype.Of(sqltype.Int32)}}
	for _, t := range w.types {
		fields = append(fields, physical.Field{Type: t, Nullable: true})
	}
	node := &physical.Aggregate{Input: &physical.Values{Fields: fields}, Aggs: w.over(calls), Names: make([]string, len(calls))}
	var types []sqltype.Type
	for _, i := range calls {
		types = append(types, w.calls[i].Typ)
	}
	out := newStore(types, w.acct)
	err := Run(ctx, node, &Env{Threads: 1, BatchRows: w.runner.env.BatchRows, Budget: w.runner.env.Budget}, &storeSink{out})
	return out, err
}

// storeSink keeps rows.
type storeSink struct{ rows *store }

func (s *storeSink) NewLocal() (Local, error)             { return s, nil }
func (s *storeSink) Combine(context.Context, Local) error { return nil }
func (s *storeSink) Finalize(context.Context) error       { return nil }
func (s *storeSink) Close() error                         { return nil }

func (s *storeSink) Push(_ context.Context, b *vector.Batch) error {
	return s.rows.append(b.Cols, b.Sel, b.Rows())
}

// pull turns a sequence of pairs into slices of up to n, valid until the next call; an empty one is the end. Goroutines change once per
// slice, not per pair.
func pull(pairs iter.Seq[pair], n int) (next func() []pair, stop func()) {
	chunk, stop := iter.Pull(func(yield func([]pair) bool) {
		buf := make([]pair, 0, n)
		for p := range pairs {
			if buf = append(buf, p); len(buf) == n {
				if !yield(buf) {
					return
				}
				buf = buf[:0]
			}
		}
		if len(buf) > 0 {
			yield(buf)
		}
	})
	return func() []pair {
		list, _ := chunk()
		return list
	}, stop
}
