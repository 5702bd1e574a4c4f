package exec

import (
	"context"
	"sync"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

func (r *runner) compileHashJoin(n *physical.HashJoin) (pipe, error) {
	j, err := newHashJoin(n, r)
	if err != nil {
		return nil, err
	}
	return r.compileJoin(j, n, n.Build, n.Probe)
}

func (r *runner) compileLoopJoin(n *physical.LoopJoin) (pipe, error) {
	j, err := newLoopJoin(n, r)
	if err != nil {
		return nil, err
	}
	return r.compileJoin(j, n, n.Build, n.Probe)
}

// compileJoin makes the build side a dep of the probe's pipelines, which the probing ends.
func (r *runner) compileJoin(j *join, n, build, probe physical.Node) (pipe, error) {
	r.onClose(j.Close)
	b, err := r.compile(build)
	if err != nil {
		return nil, err
	}
	p, err := r.compile(probe)
	if err != nil {
		return nil, err
	}
	d := &dep{
		run:   func(ctx context.Context) error { return r.run(ctx, b, &joinBuild{j}, n, false) },
		empty: func() bool { return j.rows.n == 0 && !keepsProbe(j.kind) },
	}
	for _, l := range p {
		l.before = append([]*dep{d}, l.before...)
	}
	p.push(&joinProbe{j}, n)
	if keepsBuild(j.kind) {
		// The build rows are given when all of the probe side has been seen.
		p = append(p, &leg{before: []*dep{d}, node: n, open: func(context.Context) (Source, error) { return &buildSource{join: j}, nil }})
	}
	return p, nil
}

// keepsProbe tells whether probe rows may be given that have no match.
func keepsProbe(k physical.JoinKind) bool {
	switch k {
	case physical.ProbeOuter, physical.FullOuter, physical.Anti, physical.Mark:
		return true
	}
	return false
}

// keepsBuild tells whether build rows are given by what happened to them, after the last probe.
func keepsBuild(k physical.JoinKind) bool {
	switch k {
	case physical.BuildOuter, physical.FullOuter, physical.BuildSemi, physical.BuildAnti:
		return true
	}
	return false
}

// pairs tells whether matching pairs of rows are given.
func pairs(k physical.JoinKind) bool {
	switch k {
	case physical.Inner, physical.ProbeOuter, physical.BuildOuter, physical.FullOuter:
		return true
	}
	return false
}

// A join is what the build and the probe of one join share. A loop join is one without keys: every build row is a candidate.
type join struct {
	kind   physical.JoinKind
	env    *Env
	acct   *account
	loop   bool
	probes []formula // keys of the probe side
	builds []formula // keys of the build side
	types  []sqltype.Type
	// nullEqual tells per key that NULL equals NULL; nil: of none.
	nullEqual []bool
	nullAware bool
	residual  expr.Expr
	runtime   []physical.RuntimeBuild

	probeCols int
	buildType []sqltype.Type // of the build side's columns
	kept      []int          // build columns that are kept, by position
	slotOf    []int          // position in kept of a build column, −1
	out       []outCol
	resCols   []int // build columns that the residual needs, by position
	resProbe  []int // probe columns that it needs

	mu      sync.Mutex
	locals  []*joinLocal
	rows    *store
	keys    joinKeys
	table   *joinTable
	keyless []uint64 // build rows that equal nothing, where they are kept; nil: none
	nulls   []int32  // those rows, for the NULL rules
	hasNull bool     // a build key was NULL
	filters []*filterBuild
	matched []uint64 // build rows that had a match, if keepsBuild
}

// An outCol is where an output column comes from.
type outCol struct {
	from outFrom
	at   int // probe: position; build: position in kept
	typ  sqltype.Type
}

type outFrom uint8

const (
	fromProbe outFrom = iota
	fromBuild
	fromMark
)

func newHashJoin(n *physical.HashJoin, r *runner) (*join, error) {
	if len(n.ProbeKeys) == 0 || len(n.ProbeKeys) != len(n.BuildKeys) {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "a hash join with %d and %d keys", len(n.ProbeKeys), len(n.BuildKeys))
	}
	if n.NullAware && len(n.ProbeKeys) != 1 {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "a NULL-aware join with %d keys", len(n.ProbeKeys))
	}
	j := &join{kind: n.Kind, env: r.env, acct: r.account("HashJoin build", n), nullAware: n.NullAware && !planted.NotIn, residual: n.Residual, runtime: n.Runtime}
	for i, e := range n.BuildKeys {
		t := e.Type()
		if vector.PhysOf(t) == vector.PhysNone || !t.Equal(n.ProbeKeys[i].Type()) {
			return nil, sqlerr.Newf(sqlerr.InvalidPlan, e.Pos(), "join keys of types %v and %v", n.ProbeKeys[i].Type(), t)
		}
		j.types = append(j.types, t)
		if i < len(n.NullEqual) && n.NullEqual[i] {
			if j.nullEqual == nil {
				j.nullEqual = make([]bool, len(n.BuildKeys))
			}
			j.nullEqual[i] = true
		}
	}
	var err error
	if j.probes, err = compileFormulas(n.ProbeKeys); err != nil {
		return nil, err
	}
	if j.builds, err = compileFormulas(n.BuildKeys); err != nil {
		return nil, err
	}
	for _, rt := range n.Runtime {
		if rt.Key < 0 || rt.Key >= len(j.types) {
			return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "a runtime filter of key %d of %d", rt.Key, len(j.types))
		}
	}
	return j, j.plan(n, n.Probe, n.Build, n.Output)
}

func newLoopJoin(n *physical.LoopJoin, r *runner) (*join, error) {
	if n.Kind == physical.BuildSemi || n.Kind == physical.BuildAnti {
		return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "a loop join cannot give build rows by their matches")
	}
	j := &join{kind: n.Kind, env: r.env, acct: r.account("LoopJoin build", n), loop: true, residual: n.Cond}
	return j, j.plan(n, n.Probe, n.Build, n.Output)
}

// plan finds which columns are kept and given.
func (j *join) plan(n, probe, build physical.Node, output []int) error {
	j.probeCols = len(probe.Schema())
	for _, f := range build.Schema() {
		if vector.PhysOf(f.Type) == vector.PhysNone {
			return sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "joining columns of type %v is not supported", f.Type)
		}
		j.buildType = append(j.buildType, f.Type)
	}
	j.slotOf = make([]int, len(j.buildType))
	for i := range j.slotOf {
		j.slotOf[i] = -1
	}
	if j.residual != nil {
		if _, err := j.env.newFilter(j.residual); err != nil {
			return err
		}
		seen := map[int]bool{}
		expr.Walk(j.residual, func(e expr.Expr) bool {
			if in, ok := e.(*expr.Input); ok && !seen[in.Index] {
				seen[in.Index] = true
				if in.Index < j.probeCols {
					j.resProbe = append(j.resProbe, in.Index)
				} else {
					j.resCols = append(j.resCols, in.Index-j.probeCols)
					j.keep(in.Index - j.probeCols)
				}
			}
			return true
		})
	}
	schema := n.Schema()
	for i, f := range schema {
		at := i
		if output != nil {
			at = output[i]
		}
		c := outCol{typ: f.Type, at: at}
		switch {
		case j.kind == physical.BuildSemi || j.kind == physical.BuildAnti:
			c.from, c.at = fromBuild, j.keep(at)
		case at < j.probeCols:
		case j.kind == physical.Mark:
			c.from = fromMark
		default:
			c.from, c.at = fromBuild, j.keep(at-j.probeCols)
		}
		j.out = append(j.out, c)
	}
	types := make([]sqltype.Type, len(j.kept))
	for i, c := range j.kept {
		types[i] = j.buildType[c]
	}
	j.rows = newStore(types, j.acct)
	return nil
}

// keep adds a build column to those that are kept and gives its place there.
func (j *join) keep(col int) int {
	if j.slotOf[col] < 0 {
		j.slotOf[col] = len(j.kept)
		j.kept = append(j.kept, col)
	}
	return j.slotOf[col]
}

func (j *join) newRows() *store {
	types := make([]sqltype.Type, len(j.kept))
	for i, c := range j.kept {
		types[i] = j.buildType[c]
	}
	return newStore(types, j.acct)
}

func (j *join) newKeys() joinKeys { return newJoinKeys(j.types, j.nullEqual != nil, j.acct) }

// Close forgets everything; the account is released when the plan ends.
func (j *join) Close() error {
	j.locals, j.rows, j.keys, j.table, j.filters = nil, &store{}, nil, nil, nil
	return nil
}

// joinBuild is the sink of a join's build side.
type joinBuild struct{ *join }

// keepsKeyless tells whether build rows with a NULL key must be kept although they equal nothing.
func (j *join) keepsKeyless() bool { return keepsBuild(j.kind) || j.nullAware && j.residual != nil }

type joinLocal struct {
	join    *join
	keys    []computer
	vals    []*vector.Vector
	cols    []*vector.Vector
	rows    *store
	build   joinKeys
	keyless []uint64 // by row; nil: none
	hasNull bool
	filters []*filterBuild
	sel     []int32
	bits    []uint64
}

func (b *joinBuild) NewLocal() (Local, error) {
	j := b.join
	l := &joinLocal{join: j, keys: computers(j.builds, j.env), vals: make([]*vector.Vector, len(j.builds)), rows: j.newRows()}
	l.cols = make([]*vector.Vector, len(j.kept))
	if !j.loop {
		l.build = j.newKeys()
	}
	for _, rt := range j.runtime {
		l.filters = append(l.filters, newFilterBuild(j.types[rt.Key], j.acct))
	}
	return l, nil
}

func (l *joinLocal) Push(_ context.Context, b *vector.Batch) error {
	j := l.join
	for i, c := range j.kept {
		l.cols[i] = b.Cols[c]
	}
	if j.loop {
		return l.rows.append(l.cols, b.Sel, b.Rows())
	}
	if err := evalAll(l.keys, b, l.vals); err != nil {
		return err
	}
	sel, n := b.Sel, b.Rows()
	with, dropped := j.keyed(l.vals, b, &l.sel, &l.bits)
	if dropped {
		l.hasNull = true
		if j.keepsKeyless() {
			l.markKeyless(sel, n, with)
		} else {
			sel, n = with, len(with)
		}
	}
	if l.keyless != nil && !dropped {
		l.keyless = sizeTo(l.keyless, vector.Words(l.rows.n+n))
	}
	if l.rows.n+n > maxRows {
		return sqlerr.Newf(sqlerr.MemoryLimit, sqlerr.Pos{}, "a join's build side has more than %d rows", maxRows)
	}
	for i, rt := range j.runtime {
		if err := l.filters[i].add(l.vals[rt.Key], sel, n); err != nil {
			return err
		}
	}
	if err := l.build.append(l.vals, sel, n); err != nil {
		return err
	}
	return l.rows.append(l.cols, sel, n)
}

// keyed gives the rows of b no key of which is NULL, where NULL equals nothing, and whether that leaves any out.
func (j *join) keyed(keys []*vector.Vector, b *vector.Batch, sel *[]int32, bits *[]uint64) ([]int32, bool) {
	rows, dropped := b.Sel, false
	for i, v := range keys {
		if v.Valid == nil || planted.NullKeys || j.nullEqual != nil && j.nullEqual[i] {
			continue
		}
		if cap(*sel) < b.Len {
			*sel = make([]int32, b.Len)
		}
		// Cutting in place is safe: what is written lies behind what is read.
		dst, k := (*sel)[:b.Len], 0
		if rows == nil {
			for r := range b.Len {
				dst[k] = int32(r)
				if !v.IsNull(r) {
					k++
				}
			}
			dropped = dropped || k < b.Len
		} else {
			for _, r := range rows {
				dst[k] = r
				if !v.IsNull(int(r)) {
					k++
				}
			}
			dropped = dropped || k < len(rows)
		}
		rows = dst[:k]
	}
	return rows, dropped
}

// markKeyless notes which of n rows that are about to be kept have no key: those of sel that are not in with.
func (l *joinLocal) markKeyless(sel []int32, n int, with []int32) {
	at := l.rows.n
	l.keyless = sizeTo(l.keyless, vector.Words(at+n))
	for i := range n {
		r := int32(i)
		if sel != nil {
			r = sel[i]
		}
		if len(with) > 0 && with[0] == r {
			with = with[1:]
			continue
		}
		setBit(l.keyless, at+i)
	}
}

func (b *joinBuild) Combine(_ context.Context, l Local) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.locals = append(b.locals, l.(*joinLocal))
	return nil
}

func (b *joinBuild) Finalize(ctx context.Context) error {
	j := b.join
	var stores []*store
	var keys []joinKeys
	total := 0
	for _, l := range j.locals {
		if l.keyless != nil || j.keyless != nil {
			j.keyless = sizeTo(j.keyless, vector.Words(total+l.rows.n))
			for i := range l.rows.n {
				if l.keyless != nil && bitAt(l.keyless, i) {
					setBit(j.keyless, total+i)
					j.nulls = append(j.nulls, int32(total+i))
				}
			}
		}
		total += l.rows.n
		j.hasNull = j.hasNull || l.hasNull
		stores, keys = append(stores, l.rows), append(keys, l.build)
	}
	if total > maxRows {
		return sqlerr.Newf(sqlerr.MemoryLimit, sqlerr.Pos{}, "a join's build side has more than %d rows", maxRows)
	}
	if err := j.rows.adoptAll(ctx, stores, j.env.Threads); err != nil {
		return err
	}
	if keepsBuild(j.kind) {
		if err := j.acct.reserve(int64(vector.Words(total)) * 8); err != nil {
			return err
		}
		j.matched = make([]uint64, vector.Words(total))
	}
	if j.loop {
		return nil
	}
	j.keys = keys[0]
	j.keys.adopt(keys[1:])
	for i, rt := range j.runtime {
		parts := make([]*filterBuild, len(j.locals))
		for k, l := range j.locals {
			parts[k] = l.filters[i]
		}
		f, err := finishFilter(ctx, parts)
		if err != nil {
			return err
		}
		// A filter drops probe rows without a match and NULLs: only where the join does the same is it of use.
		if !keepsProbe(j.kind) && (j.nullEqual == nil || !j.nullEqual[rt.Key]) {
			j.env.Filters.Publish(rt.Filter, f)
		}
	}
	j.locals = nil
	var err error
	j.table, err = buildTable(ctx, j.keys, j.keyless, j.env.Threads, j.acct)
	return err
}

// buildSource gives the build rows that had a match, or those that had none, when all probes are done.
type buildSource struct {
	join *join
	mu   sync.Mutex
	next int
}

func (s *buildSource) MaxReaders() int { return 1 + s.join.rows.n/(16*vector.DefaultBatch) }
func (*buildSource) Close() error      { return nil }

func (s *buildSource) NewReader() (Reader, error) {
	return &buildReader{source: s, lanes: make([]lane, len(s.join.out)), cols: make([]*vector.Vector, len(s.join.out))}, nil
}

type buildReader struct {
	source *buildSource
	lanes  []lane
	cols   []*vector.Vector
	ids    []int32
	batch  vector.Batch
}

func (*buildReader) Close() error { return nil }

func (r *buildReader) Next(ctx context.Context) (*vector.Batch, error) {
	j := r.source.join
	want := j.kind == physical.BuildSemi
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.source.mu.Lock()
		from := r.source.next
		to := min(from+j.env.BatchRows, j.rows.n)
		r.source.next = to
		r.source.mu.Unlock()
		if from >= to {
			return nil, nil
		}
		r.ids = r.ids[:0]
		for i := from; i < to; i++ {
			if bitAt(j.matched, i) == want {
				r.ids = append(r.ids, int32(i))
			}
		}
		if len(r.ids) > 0 {
			break
		}
	}
	for i, c := range j.out {
		if c.from == fromBuild {
			r.cols[i] = j.rows.cols[c.at].gather(&r.lanes[i], r.ids, nil, len(r.ids), false)
		} else {
			vector.SetNull(&r.lanes[i].vec, c.typ, len(r.ids))
			r.cols[i] = &r.lanes[i].vec
		}
	}
	r.batch = vector.Batch{Cols: r.cols, Len: len(r.ids)}
	return &r.batch, nil
}
