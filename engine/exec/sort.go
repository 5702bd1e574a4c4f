package exec

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

func (r *runner) compileSort(n *physical.Sort) (pipe, error) {
	s, err := newSorter(n, r)
	if err != nil {
		return nil, err
	}
	return r.compileBreaker(n.Input, s, n, s.source, true)
}

// A sorter is the sink of a sort and then the source of its rows in order. Every goroutine keeps its rows and sorts them in
// Combine; Finalize merges. Of a top-n, a goroutine keeps few more rows than are wanted: as soon as it has that many, the
// last of them is a cutoff, and whatever lies behind it is dropped before it is looked at further.
type sorter struct {
	node  *physical.Sort
	env   *Env
	acct  *account
	order *sortOrder
	types []sqltype.Type
	top   int // rows wanted, −1: all

	cutoff atomic.Pointer[cutoff] // the least of all goroutines'

	mu     sync.Mutex
	locals []*sortLocal
	rows   *store
	sorted []sortEntry // rows are of rows
}

// A cutoff is a key that enough rows lie before.
type cutoff struct {
	entry sortEntry
	long  []byte // the whole key, nil: the entry is
}

// maxTop is how many rows of a top-n are worth a cutoff.
const maxTop = 64 << 10

func newSorter(n *physical.Sort, r *runner) (*sorter, error) {
	s := &sorter{node: n, env: r.env, acct: r.account("Sort", n), top: -1}
	var err error
	if s.order, err = newSortOrder(n.Keys); err != nil {
		return nil, err
	}
	for _, f := range n.Input.Schema() {
		if vector.PhysOf(f.Type) == vector.PhysNone {
			return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "sorting rows with a %v is not supported", f.Type)
		}
		s.types = append(s.types, f.Type)
	}
	if n.Fetch >= 0 && n.Fetch <= maxTop && n.Offset <= maxTop-n.Fetch {
		s.top = int(n.Fetch + max(n.Offset, 0))
	}
	s.rows = newStore(s.types, s.acct)
	return s, nil
}

// Done tells that no row is wanted at all.
func (s *sorter) Done() bool { return s.top == 0 }

// Close forgets everything; the account is released when the plan ends.
func (s *sorter) Close() error {
	s.locals, s.rows, s.sorted = nil, &store{}, nil
	return nil
}

type sortLocal struct {
	sorter  *sorter
	encoder *keyEncoder
	rows    *store
	entries []sortEntry
	long    longKeys
	held    int64

	picked []int32 // rows of the batch to keep: positions in the selection
	sel    []int32
	ids    identity
}

func (s *sorter) NewLocal() (Local, error) {
	return &sortLocal{sorter: s, encoder: s.order.encoder(s.env), rows: newStore(s.types, s.acct)}, nil
}

func (l *sortLocal) Push(ctx context.Context, b *vector.Batch) error {
	s := l.sorter
	if err := l.encoder.encode(b); err != nil {
		return err
	}
	entries := l.encoder.entries
	short := s.order.short()
	l.picked = l.picked[:0]
	if c := s.cutoff.Load(); c != nil {
		for i, e := range entries {
			if e.hi > c.entry.hi || e.hi == c.entry.hi && !l.before(c, e, i) {
				continue
			}
			l.picked = append(l.picked, int32(i))
		}
	} else {
		l.picked = append(l.picked, l.ids.upTo(len(entries))...)
	}
	if len(l.picked) == 0 {
		return nil
	}
	sel := b.Sel
	if planted.Selection {
		sel = nil
	}
	switch {
	case len(l.picked) == len(entries):
	case sel == nil:
		sel = l.picked
	default:
		l.sel = l.sel[:0]
		for _, i := range l.picked {
			l.sel = append(l.sel, sel[i])
		}
		sel = l.sel
	}
	n := len(l.picked)
	want := int64(grown(cap(l.entries), len(l.entries)+n)) * 24
	if !short {
		want += int64(grown(cap(l.long.at), len(l.entries)+n+1))*8 + int64(grown(cap(l.long.data), len(l.long.data)+len(l.encoder.buf)))
	}
	if want > l.held {
		if err := s.acct.resize(&l.held, want); err != nil {
			return err
		}
	}
	if !short {
		l.long.add(l.encoder, l.picked)
	}
	at := len(l.entries)
	l.entries = extend(l.entries, n)
	for k, i := range l.picked {
		e := entries[i]
		e.row = int32(l.rows.n + k)
		l.entries[at+k] = e
	}
	if err := l.rows.append(b.Cols, sel, n); err != nil {
		return err
	}
	if s.top > 0 && len(l.entries) >= 2*s.top+vector.DefaultBatch {
		return l.prune(ctx)
	}
	return nil
}

// before tells whether row i of the batch at hand, which agrees with the cutoff in its first word, lies before it.
func (l *sortLocal) before(c *cutoff, e sortEntry, i int) bool {
	if e.lo != c.entry.lo || c.long == nil {
		return e.lo < c.entry.lo
	}
	return string(l.encoder.key(i)) < string(c.long)
}

// prune keeps the rows that can still be among the first, and moves the cutoff.
func (l *sortLocal) prune(ctx context.Context) error {
	s := l.sorter
	if err := l.sort(ctx); err != nil {
		return err
	}
	keep := l.entries[:min(s.top, len(l.entries))]
	rows, ids := newStore(s.types, s.acct), make([]int32, len(keep))
	var long longKeys
	for i, e := range keep {
		ids[i] = e.row
		if l.long.at != nil {
			if long.at == nil {
				long.at = append(long.at, 0)
			}
			long.data = append(long.data, l.long.key(e.row)...)
			long.at = append(long.at, uint64(len(long.data)))
		}
		keep[i].row = int32(i)
	}
	if err := rows.appendFrom(l.rows, ids); err != nil {
		return err
	}
	s.acct.release(l.rows.held)
	l.rows, l.long, l.entries = rows, long, keep
	if len(keep) < s.top {
		return nil
	}
	last := &cutoff{entry: keep[len(keep)-1]}
	if long.at != nil {
		last.long = slices.Clone(long.key(last.entry.row))
	}
	for {
		now := s.cutoff.Load()
		if now != nil && !last.less(now) || s.cutoff.CompareAndSwap(now, last) {
			return nil
		}
	}
}

func (c *cutoff) less(d *cutoff) bool {
	if c.entry.hi != d.entry.hi {
		return c.entry.hi < d.entry.hi
	}
	if c.entry.lo != d.entry.lo {
		return c.entry.lo < d.entry.lo
	}
	return string(c.long) < string(d.long)
}

func (l *sortLocal) sort(ctx context.Context) error {
	n := len(l.entries)
	if err := l.sorter.acct.reserve(int64(n) * 24); err != nil {
		return err
	}
	defer l.sorter.acct.release(int64(n) * 24)
	return sortEntries(ctx, l.entries, make([]sortEntry, n), &l.long)
}

func (s *sorter) Combine(ctx context.Context, local Local) error {
	l := local.(*sortLocal)
	if err := l.sort(ctx); err != nil {
		return err
	}
	if s.top >= 0 {
		l.entries = l.entries[:min(s.top, len(l.entries))]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locals = append(s.locals, l)
	return nil
}

func (s *sorter) Finalize(ctx context.Context) error {
	stores := make([]*store, len(s.locals))
	runs := make([]run, 0, len(s.locals))
	base, total := 0, 0
	for i, l := range s.locals {
		stores[i] = l.rows
		if len(l.entries) > 0 {
			runs = append(runs, run{l.entries, &l.long, int32(base)})
		}
		total += len(l.entries)
		if base += l.rows.n; base > maxRows {
			return sqlerr.Newf(sqlerr.MemoryLimit, sqlerr.Pos{}, "a sort of more than %d rows", maxRows).WithHint("add a LIMIT")
		}
	}
	if err := s.acct.reserve(int64(total) * 24); err != nil {
		return err
	}
	var err error
	if s.sorted, err = mergeRuns(ctx, runs, total, s.env.Threads); err != nil {
		return err
	}
	for _, l := range s.locals {
		s.acct.release(l.held)
	}
	s.locals = nil
	if from := min(max(s.node.Offset, 0), int64(len(s.sorted))); from > 0 {
		s.sorted = s.sorted[from:]
	}
	if s.node.Fetch >= 0 && s.node.Fetch < int64(len(s.sorted)) {
		s.sorted = s.sorted[:s.node.Fetch]
	}
	return s.rows.adoptAll(ctx, stores, s.env.Threads)
}

// A run is entries in order, the whole keys of their rows, and what to add to their row numbers.
type run struct {
	entries []sortEntry
	long    *longKeys
	base    int32
}

// mergeRuns merges runs of total entries, in parts between keys side by side.
func mergeRuns(ctx context.Context, runs []run, total, threads int) ([]sortEntry, error) {
	if len(runs) == 1 {
		return rebase(runs[0], runs[0].entries), nil
	}
	out := make([]sortEntry, total)
	if len(runs) == 0 {
		return out, nil
	}
	if total < 16<<10 {
		threads = 1
	}
	// bounds[p] is where part p begins in every run: at keys that cut the longest run into equal parts.
	longest := 0
	for i, r := range runs {
		if len(r.entries) > len(runs[longest].entries) {
			longest = i
		}
	}
	bounds := make([][]int, threads+1)
	for p := range bounds {
		bounds[p] = make([]int, len(runs))
		for i, r := range runs {
			switch p {
			case 0:
			case threads:
				bounds[p][i] = len(r.entries)
			default:
				l := runs[longest]
				key := l.entries[len(l.entries)*p/threads]
				bounds[p][i] = sort.Search(len(r.entries), func(k int) bool {
					return compareEntries(r.entries[k], key, r.long, l.long) >= 0
				})
			}
		}
	}
	err := parallel(ctx, threads, func(ctx context.Context, p int) error {
		at := 0
		for _, b := range bounds[p] {
			at += b
		}
		m := make([]run, 0, len(runs))
		for i, r := range runs {
			if part := r.entries[bounds[p][i]:bounds[p+1][i]]; len(part) > 0 {
				m = append(m, run{part, r.long, r.base})
			}
		}
		return mergeInto(ctx, out[at:], m)
	})
	return out, err
}

// rebase is the entries of r with its base added to their rows.
func rebase(r run, dst []sortEntry) []sortEntry {
	if r.base != 0 {
		for i := range dst {
			dst[i].row += r.base
		}
	}
	return dst
}

// mergeInto merges runs, none of which is empty, into dst.
func mergeInto(ctx context.Context, dst []sortEntry, runs []run) error {
	k := 0
	t := newLoserTree(len(runs), func(a, b int) bool {
		return compareEntries(runs[a].entries[0], runs[b].entries[0], runs[a].long, runs[b].long) < 0
	})
	for t.left > 0 {
		if k%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := &runs[t.winner()]
		e := r.entries[0]
		e.row += r.base
		dst[k] = e
		k++
		r.entries = r.entries[1:]
		t.advance(len(r.entries) > 0)
	}
	return nil
}

// source is the rows in order, once Finalize has run.
func (s *sorter) source(context.Context) (Source, error) { return &sortSource{sorter: s}, nil }

type sortSource struct {
	sorter *sorter
	next   atomic.Int64
}

func (s *sortSource) MaxReaders() int { return 1 + len(s.sorter.sorted)/(4*vector.DefaultBatch) }
func (*sortSource) Close() error      { return nil }

func (s *sortSource) NewReader() (Reader, error) {
	n := len(s.sorter.types)
	return &sortReader{source: s, lanes: make([]lane, n), cols: make([]*vector.Vector, n)}, nil
}

type sortReader struct {
	source *sortSource
	lanes  []lane
	cols   []*vector.Vector
	ids    []int32
	batch  vector.Batch
}

func (*sortReader) Close() error { return nil }

func (r *sortReader) Next(context.Context) (*vector.Batch, error) {
	s := r.source.sorter
	to := r.source.next.Add(int64(s.env.BatchRows))
	from := to - int64(s.env.BatchRows)
	if from >= int64(len(s.sorted)) || planted.LastBatch && from > 0 && to > int64(len(s.sorted)) {
		return nil, nil
	}
	r.ids = r.ids[:0]
	for _, e := range s.sorted[from:min(to, int64(len(s.sorted)))] {
		r.ids = append(r.ids, e.row)
	}
	for i, c := range s.rows.cols {
		r.cols[i] = c.gather(&r.lanes[i], r.ids, nil, len(r.ids), false)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: len(r.ids)}
	return &r.batch, nil
}
