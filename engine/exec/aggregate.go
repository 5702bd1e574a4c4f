package exec

import (
	"context"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/invoke"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// An aggregate is the sink of an aggregation and then the source of its groups. Every goroutine groups what it gets in a
// table of its own; Finalize merges the tables, by partitions of the keys' hash where there are many.
type aggregate struct {
	node   *physical.Aggregate
	env    *Env
	acct   *account
	groups []formula
	types  []sqltype.Type // of the groups
	args   []formula
	states []stateSpec // what is kept per group: equal states of several aggregates once
	outs   []aggOut    // per aggregate

	mu     sync.Mutex
	tables []*aggTable // combined, then merged
	runs   []*aggRun   // put aside by partition
}

// A stateSpec is one accumulator.
type stateSpec struct {
	args     []int // of aggregate.args
	filter   expr.Expr
	merging  bool // the arguments are states
	distinct bool
	argTypes []sqltype.Type
	kind     stateKind
	typ      sqltype.Type // of the value kept
	keep     extreme
	width    int64 // bytes per group
	columns  int   // of the state
	needs    int   // how many of the first arguments may not be NULL in a row that counts
	all      *everyRow
	bits     bitKind
	user     *expr.Aggregate // of a userState
}

type stateKind uint8

const (
	countState stateKind = iota
	exactSumState
	floatSumState
	extremeState
	varianceState
	pairState
	bitState
	userState // a function that is not built in
	rowsState // every row is kept until the end; there is no partial state
)

// maxColumns is the most columns that a state has.
const maxColumns = 6

// An aggOut is where an aggregate's result comes from: positions of states.
type aggOut struct {
	states []int
}

func newAggregate(n *physical.Aggregate, r *runner) (*aggregate, error) {
	a := &aggregate{node: n, env: r.env, acct: r.account("Aggregate", n)}
	var err error
	if a.groups, err = compileFormulas(n.Groups); err != nil {
		return nil, err
	}
	for _, g := range n.Groups {
		if vector.PhysOf(g.Type()) == vector.PhysNone {
			return nil, sqlerr.Newf(sqlerr.Unsupported, g.Pos(), "grouping by %v is not supported", g.Type())
		}
		a.types = append(a.types, g.Type())
	}
	var argExprs []expr.Expr
	for i := range n.Aggs {
		agg := &n.Aggs[i]
		out, err := a.plan(agg, &argExprs)
		if err != nil {
			return nil, err
		}
		a.outs = append(a.outs, out)
	}
	if a.args, err = compileFormulas(argExprs); err != nil {
		return nil, err
	}
	for _, s := range a.states {
		if s.filter != nil {
			if _, err := r.env.newFilter(s.filter); err != nil {
				return nil, err
			}
		}
	}
	return a, nil
}

// plan finds or adds the states of one aggregate.
func (a *aggregate) plan(agg *expr.Aggregate, argExprs *[]expr.Expr) (aggOut, error) {
	final := a.node.Mode == physical.Final
	if a.node.Mode == physical.Partial && !expr.HasState(*agg) {
		return aggOut{}, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s has no partial state", expr.AggregateString(*agg))
	}
	distinct := agg.Distinct || agg.Func == "approx_distinct"
	arg := func(k int) (int, error) {
		if k >= len(agg.Args) {
			return 0, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s has %d arguments, fewer than it needs", agg.Func, len(agg.Args))
		}
		for i, e := range *argExprs {
			x, ok1 := e.(*expr.Input)
			y, ok2 := agg.Args[k].(*expr.Input)
			if e == agg.Args[k] || ok1 && ok2 && x.Index == y.Index {
				return i, nil
			}
		}
		*argExprs = append(*argExprs, agg.Args[k])
		return len(*argExprs) - 1, nil
	}
	state := func(s stateSpec, from, n int) (int, error) {
		s.merging = final
		if !final {
			s.filter = agg.Filter
			s.distinct = distinct && s.keep == anyOne // least and greatest need no set
		}
		if s.user == nil && (final || s.all == nil) {
			s.needs = max(s.needs, min(n, 1))
		}
		for k := from; k < from+n; k++ {
			i, err := arg(k)
			if err != nil {
				return 0, err
			}
			s.args = append(s.args, i)
			s.argTypes = append(s.argTypes, agg.Args[k].Type())
		}
		for i, t := range a.states {
			if t.kind == s.kind && t.filter == s.filter && t.distinct == s.distinct && t.keep == s.keep && t.bits == s.bits && s.all == nil && s.user == nil && equalInts(t.args, s.args) {
				return i, nil
			}
		}
		a.states = append(a.states, s)
		return len(a.states) - 1, nil
	}
	var specs []stateSpec
	nargs := 1
	switch agg.Func {
	case "count_star":
		specs = []stateSpec{{kind: countState, keep: anyOne, width: 8, columns: 1}}
		if !final {
			nargs = 0
		}
	case "count", "approx_distinct":
		specs = []stateSpec{{kind: countState, keep: anyOne, width: 8, columns: 1}}
	case "count_if":
		specs = []stateSpec{{kind: countState, keep: anyOne, width: 8, columns: 1}}
		if !final && len(agg.Args) == 1 {
			c := *agg
			truth := sqltype.Of(sqltype.Bool)
			c.Args = []expr.Expr{&expr.Case{Typ: truth, Whens: []expr.When{{Cond: agg.Args[0], Then: &expr.Literal{Value: expr.BoolValue(true)}}}}}
			agg = &c
		}
	case "bit_and", "bit_or", "bit_xor", "product":
		specs = []stateSpec{{kind: bitState, keep: anyOne, typ: agg.Typ, width: 8, columns: 1, bits: bitKinds[agg.Func]}}
	case "sum", "avg":
		if len(agg.Args) == 0 {
			return aggOut{}, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s needs an argument", agg.Func)
		}
		sum := stateSpec{kind: exactSumState, keep: anyOne, width: 24, columns: 1}
		switch t := agg.Args[0].Type(); {
		case t.IsFloat():
			sum.kind, sum.width = floatSumState, 8
		case t.IsInteger() || t.Kind == sqltype.Decimal || t.Kind == sqltype.Null:
		default:
			return aggOut{}, sqlerr.Newf(sqlerr.Unsupported, agg.P, "%s of %v is not supported", agg.Func, t)
		}
		sum.typ = agg.Typ
		if agg.Func == "avg" {
			sum.typ = expr.SumType(agg.Args[0].Type())
		}
		specs = []stateSpec{sum}
		if agg.Func == "avg" {
			specs = append(specs, stateSpec{kind: countState, keep: anyOne, width: 8, columns: 1})
		}
	case "min", "bool_and":
		specs = []stateSpec{{kind: extremeState, keep: least, typ: agg.Typ, width: 16, columns: 1}}
	case "max", "bool_or":
		specs = []stateSpec{{kind: extremeState, keep: greatest, typ: agg.Typ, width: 16, columns: 1}}
	case "any_value":
		specs = []stateSpec{{kind: extremeState, keep: anyOne, typ: agg.Typ, width: 16, columns: 1}}
	case "stddev_samp", "stddev_pop", "var_samp", "var_pop":
		specs = []stateSpec{{kind: varianceState, keep: anyOne, width: 24, columns: 3}}
		if final {
			nargs = 3
		}
	default:
		if agg.User != nil {
			if err := agg.CheckUser(final); err != nil {
				return aggOut{}, err
			}
			nargs = len(agg.Args)
			specs = []stateSpec{{kind: userState, keep: anyOne, width: userWidth, columns: len(agg.User.State), user: agg}}
			if !final && !agg.User.Lenient {
				specs[0].needs = nargs
			}
			if _, err := newUserStates(&specs[0], a); err != nil {
				return aggOut{}, err
			}
			break
		}
		if expr.Paired(agg.Func) {
			specs = []stateSpec{{kind: pairState, keep: anyOne, width: 48, columns: 6, needs: 2}}
			if nargs = 2; final {
				nargs, specs[0].needs = 6, 1
			}
			break
		}
		all, err := newEveryRow(agg, a.node.Mode)
		if err != nil {
			return aggOut{}, err
		}
		c := *agg // the keys of its order are arguments as well
		c.Args = append(append([]expr.Expr(nil), agg.Args...), all.keys...)
		agg = &c
		nargs = len(c.Args)
		specs = []stateSpec{{kind: rowsState, keep: anyOne, typ: agg.Typ, needs: all.needs, all: all}}
	}
	var out aggOut
	for k, s := range specs {
		if s.kind == extremeState && vector.PhysOf(s.typ) == vector.PhysNone {
			return aggOut{}, sqlerr.Newf(sqlerr.Unsupported, agg.P, "%s of %v is not supported", agg.Func, s.typ)
		}
		from := 0
		if final {
			from = k
		}
		i, err := state(s, from, nargs)
		if err != nil {
			return aggOut{}, err
		}
		out.states = append(out.states, i)
	}
	return out, nil
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func (s *stateSpec) accumulator(a *aggregate) accumulator {
	switch s.kind {
	case rowsState:
		return newRowLists(s, a)
	case userState:
		u, _ := newUserStates(s, a) // which the plan has tried
		return u
	case exactSumState:
		return &exactSums{typ: s.typ}
	case floatSumState:
		return &floatSums{}
	case varianceState:
		return &variances{}
	case pairState:
		return &pairSums{}
	case bitState:
		return &bitFolds{typ: s.typ, kind: s.bits}
	case extremeState:
		switch p := vector.PhysOf(s.typ); {
		case p == vector.PhysString:
			return &stringExtremes{typ: s.typ, keep: s.keep}
		case widthOf(p) == 16:
			return &wideExtremes{typ: s.typ, keep: s.keep}
		}
		return &narrowExtremes{typ: s.typ, keep: s.keep}
	}
	return &counts{}
}

// An aggTable is groups and their states.
type aggTable struct {
	agg    *aggregate
	keys   grouper // nil: one group
	accs   []accumulator
	sets   []*distinctSet // per state, nil where it is not distinct
	sized  int            // groups that accs have room for
	held   int64
	groups []uint32 // by row of the batch at hand
}

func (a *aggregate) newTable() *aggTable {
	if len(a.types) == 0 {
		return a.tableOf(nil)
	}
	return a.tableOf(&codedGroups{grouper: newGrouper(a.types, a.acct), acct: a.acct})
}

func (a *aggregate) tableOf(keys grouper) *aggTable {
	t := &aggTable{agg: a, keys: keys, accs: make([]accumulator, len(a.states)), sets: make([]*distinctSet, len(a.states))}
	for i := range a.states {
		s := &a.states[i]
		t.accs[i] = s.accumulator(a)
		if s.distinct {
			t.sets[i] = newDistinctSet(s.argTypes, a.acct)
		}
	}
	return t
}

func (t *aggTable) len() int {
	if t.keys == nil {
		return 1
	}
	return t.keys.len()
}

// assign finds the group of each row, and makes room for new groups.
func (t *aggTable) assign(keys []*vector.Vector, length int, sel []int32, n int) error {
	if cap(t.groups) < length {
		t.groups = make([]uint32, length)
	}
	t.groups = t.groups[:length]
	if t.keys != nil {
		if err := t.keys.assign(keys, sel, n, t.groups); err != nil {
			return err
		}
	}
	return t.size(t.len())
}

// size makes room for n groups: twice as many as before, or more, so that it is rarely needed.
func (t *aggTable) size(n int) error {
	if n > t.sized {
		want := max(n, 2*t.sized)
		if n > 1 {
			want = max(want, 64)
		}
		var bytes int64
		for i := range t.agg.states {
			bytes += t.agg.states[i].width
		}
		if err := t.agg.acct.resize(&t.held, bytes*int64(want)); err != nil {
			return err
		}
		t.sized = want
	}
	for _, a := range t.accs {
		a.size(t.sized)
	}
	return nil
}

// settle reserves what strings took beyond the width of their references, and tells whether rows that are kept found room.
func (t *aggTable) settle() error {
	for _, a := range t.accs {
		switch s := a.(type) {
		case *stringExtremes:
			if err := t.agg.acct.resize(&s.held, s.arena.held); err != nil {
				return err
			}
		case *rowLists:
			if s.err != nil {
				return s.err
			}
		case *userStates:
			if err := s.settle(t.agg.acct); err != nil {
				return err
			}
		}
	}
	return nil
}

// An aggLocal is one goroutine's part of an aggregation.
type aggLocal struct {
	agg     *aggregate
	table   *aggTable
	groups  []computer
	keys    []*vector.Vector
	args    []computer
	filters []*eval.Filter // per state

	rows  int64 // that the table has taken
	aside aside
	look  int // how many groups are worth a look at the table

	vals   []*vector.Vector // of args, where not nil, for the batch at hand
	cut    narrower
	drop   narrower
	few    fewMasks
	states []*vector.Vector
	batch  vector.Batch
}

func (a *aggregate) NewLocal() (Local, error) {
	l := &aggLocal{
		agg: a, table: a.newTable(), look: retireAt, groups: computers(a.groups, a.env), keys: make([]*vector.Vector, len(a.groups)),
		args: computers(a.args, a.env), filters: make([]*eval.Filter, len(a.states)), vals: make([]*vector.Vector, len(a.args)),
	}
	for i, s := range a.states {
		if s.filter != nil {
			var err error
			if l.filters[i], err = a.env.newFilter(s.filter); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func (l *aggLocal) Push(ctx context.Context, b *vector.Batch) error {
	if err := evalAll(l.groups, b, l.keys); err != nil {
		return err
	}
	t := l.table
	if err := t.assign(l.keys, b.Len, b.Sel, b.Rows()); err != nil {
		return err
	}
	all := &rows{len: b.Len, sel: b.Sel, groups: t.groups, count: t.len(), whole: true}
	if all.count <= maxMasks {
		all.few = &l.few
		all.spread = b.Sel == nil
		if b.Sel != nil && t.keys != nil && all.count < maxMasks && len(b.Sel)*2 >= b.Len {
			bury(t.groups, b.Sel, uint32(all.count))
			all.spread = true
		}
	}
	clear(l.vals)
	for i := range l.agg.states {
		if err := l.update(i, b, all); err != nil {
			return err
		}
	}
	if err := t.settle(); err != nil {
		return err
	}
	l.rows += int64(b.Rows())
	if n := t.len(); n >= l.look {
		return l.consider(ctx, n)
	}
	return nil
}

// retireAt is how many groups a table has when it outgrows a second-level cache.
const retireAt = 32 << 10

// consider looks at a table that has become large. If it has few rows per group, rows would go on to miss the cache in an
// ever larger table for little: its groups are put aside by partition, and a new table begins.
func (l *aggLocal) consider(ctx context.Context, groups int) error {
	l.look = 2 * groups
	if l.rows >= 8*int64(groups) || l.agg.whole() {
		return nil
	}
	old := l.table
	if dense, err := old.keys.densify(); dense || err != nil {
		return err
	}
	if err := l.agg.setAside(ctx, old, nil, &l.aside); err != nil {
		return err
	}
	l.table = l.agg.tableOf(old.keys.successor())
	l.rows, l.look = 0, retireAt
	return l.table.size(groups)
}

// InOrder tells whether an aggregate takes rows in the order they come, because none is asked for.
func (a *aggregate) InOrder() bool {
	for i := range a.states {
		if s := &a.states[i]; s.kind == rowsState && s.all.order == nil {
			return true
		}
	}
	return false
}

// whole tells whether some state has no columns that could be merged: a set of different values, or rows.
func (a *aggregate) whole() bool {
	for i := range a.states {
		if a.states[i].distinct || a.states[i].kind == rowsState {
			return true
		}
	}
	return false
}

// bury gives the rows that are not in sel, which is ascending, to group dead.
func bury(groups []uint32, sel []int32, dead uint32) {
	at := int32(0)
	for i := 0; i < len(sel); {
		// Most rows are alive: whole blocks are passed over.
		if j := i + 16; j <= len(sel) && sel[i] == at && sel[j-1] == at+15 {
			i, at = j, at+16
			continue
		}
		for ; at < sel[i]; at++ {
			groups[at] = dead
		}
		i, at = i+1, at+1
	}
	for ; int(at) < len(groups); at++ {
		groups[at] = dead
	}
}

func (l *aggLocal) update(i int, b *vector.Batch, all *rows) error {
	s, acc := &l.agg.states[i], l.table.accs[i]
	r := all
	if l.filters[i] != nil {
		l.batch = *b
		if err := l.filters[i].Apply(&l.batch); err != nil {
			return err
		}
		if l.batch.Sel != nil { // else every row passed
			r = l.cut.to(all, l.batch.Sel)
		}
		b = &l.batch
	}
	l.states = l.states[:0]
	for _, k := range s.args {
		v := l.vals[k]
		if v == nil || s.filter != nil {
			var err error
			if v, err = l.args[k].eval(b); err != nil {
				return err
			}
			if s.filter == nil {
				l.vals[k] = v
			}
		}
		l.states = append(l.states, v)
	}
	if s.filter != nil {
		// Another state may want the same argument for other rows.
		for _, k := range s.args {
			l.vals[k] = nil
		}
	}
	for _, v := range l.states[:s.needs] {
		r = l.drop.valid(r, v)
	}
	if set := l.table.sets[i]; set != nil {
		return set.add(l.states, r)
	}
	if s.merging {
		acc.merge(l.states, r)
	} else {
		acc.update(l.states, r)
	}
	return nil
}

// A distinctSet holds, for one DISTINCT aggregate, every group's different arguments.
type distinctSet struct {
	set   grouper
	lane  lane
	lanes []lane
	keys  []*vector.Vector
	found []uint32
}

func newDistinctSet(args []sqltype.Type, acct *account) *distinctSet {
	types := append([]sqltype.Type{sqltype.Of(sqltype.Uint32)}, args...)
	return &distinctSet{set: newGrouper(types, acct), lanes: make([]lane, len(types))}
}

func (d *distinctSet) add(args []*vector.Vector, r *rows) error {
	n := r.n()
	if n == 0 {
		return nil
	}
	copy(room[uint32](&d.lane, r.len), r.groups[:r.len])
	group := d.lane.flat(sqltype.Of(sqltype.Uint32), vector.PhysUint32, r.len, nil)
	d.keys = append(append(d.keys[:0], group), args...)
	if cap(d.found) < r.len {
		d.found = make([]uint32, r.len)
	}
	return d.set.assign(d.keys, r.sel, n, d.found[:r.len])
}

// each gives the arguments and groups of the set's elements, batch by batch.
func (d *distinctSet) each(ctx context.Context, batch int, f func(args []*vector.Vector, groups []uint32) error) error {
	ids := make([]int32, 0, batch)
	for from := 0; from < d.set.len(); from += batch {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ids = ids[:0]
		for i := from; i < min(from+batch, d.set.len()); i++ {
			ids = append(ids, int32(i))
		}
		vs := d.set.keys(ids, d.lanes)
		if err := f(vs[1:], vector.Values[uint32](vs[0])); err != nil {
			return err
		}
	}
	return nil
}

func (a *aggregate) Combine(_ context.Context, l Local) error {
	t := l.(*aggLocal).table
	if err := t.size(t.len()); err != nil { // it may not have had a row
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tables = append(a.tables, t)
	return nil
}

const (
	// serialMerge is the number of groups up to which one goroutine merges all tables.
	serialMerge = 16 << 10
	// serialDense is how many tables over dense integers one goroutine merges, of any size: to look a group up in an array costs less
	// than to copy it to its partition and back.
	serialDense = 3
)

func (a *aggregate) Finalize(ctx context.Context) error {
	total := 0
	for _, t := range a.tables {
		total += t.len()
	}
	switch {
	case len(a.runs) == 0 && len(a.tables) == 1:
	case len(a.runs) == 0 && (total <= serialMerge || len(a.types) == 0 || len(a.tables) <= serialDense && a.keyRange() != nil) || a.whole():
		into, m := a.tables[0], a.newMerger()
		for _, t := range a.tables[1:] {
			if err := m.addTable(ctx, into, t); err != nil {
				return err
			}
			t.release()
		}
		a.tables = a.tables[:1]
	default:
		if err := a.mergeByPartition(ctx); err != nil {
			return err
		}
	}
	for _, t := range a.tables {
		if err := a.foldSets(ctx, t); err != nil {
			return err
		}
		for _, acc := range t.accs {
			acc.seal()
			if l, ok := acc.(*rowLists); ok {
				if err := l.finish(ctx, t.len()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// foldSets gives the DISTINCT arguments to their accumulators.
func (a *aggregate) foldSets(ctx context.Context, t *aggTable) error {
	for i, set := range t.sets {
		if set == nil {
			continue
		}
		if err := t.size(t.len()); err != nil {
			return err
		}
		// Before the first row, groups without an argument must be known not to have one.
		t.accs[i].update(set.empty(), &rows{sel: []int32{}, count: t.len()})
		err := set.each(ctx, a.env.BatchRows, func(args []*vector.Vector, groups []uint32) error {
			t.accs[i].update(args, &rows{len: len(groups), groups: groups, count: t.len()})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return t.settle()
}

// empty is arguments of no rows.
func (d *distinctSet) empty() []*vector.Vector { return d.set.keys(nil, d.lanes)[1:] }

// mergeParts is how many parts of their keys' hashes groups are merged by.
const mergeParts = 64

// partitionOf is the partition of a hash. Its bits are neither those that index tables nor those of their tags.
func partitionOf(h uint64) uint64 { return h >> 24 & (mergeParts - 1) }

// An aggRun is the groups and states of a table, by partition, which are read in order: a table itself would be read all over.
type aggRun struct {
	cols   []*column // keys, then states
	bounds [mergeParts + 1]int
	held   int64
}

// An aside is the memory of setting tables aside, for one goroutine.
type aside struct {
	hashes []uint64
	ids    []int32 // the groups in the order of their mergeParts
	lanes  []lane
}

// A keyRange deals groups to partitions by their one integer key, so that tables over dense keys are merged into such tables.
type keyRange struct {
	lo    int64
	shift uint // of a key's distance from lo: 0 … mergeParts − 1 is left
}

// keyRange is the range of the keys of all tables, nil if not all have dense integers, or some groups have been put aside by
// their hash.
func (a *aggregate) keyRange() *keyRange {
	if len(a.runs) > 0 {
		return nil
	}
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, t := range a.tables {
		k, ok := t.keys.(*codedGroups).grouper.(*intGroups)
		if !ok || len(k.direct) == 0 {
			return nil
		}
		lo, hi = min(lo, k.base), max(hi, k.base+int64(len(k.direct)-1))
	}
	return &keyRange{lo: lo, shift: uint(max(0, bits.Len64(uint64(hi)-uint64(lo))-bits.Len64(mergeParts-1)))}
}

// deal stores the partition of each key; NULL, whatever stands there, may go anywhere.
func (r *keyRange) deal(dst []uint64, keys []int64) {
	for i, k := range keys {
		dst[i] = (uint64(k) - uint64(r.lo)) >> r.shift & (mergeParts - 1)
	}
}

// setAside makes a run of t's groups, by range or, where that is nil, by hash. Of t, only its keys' successor is used
// afterwards.
func (a *aggregate) setAside(ctx context.Context, t *aggTable, by *keyRange, s *aside) error {
	n := t.len()
	// A hash and a number per group while it is sorted.
	if err := a.acct.reserve(int64(n) * 12); err != nil {
		return err
	}
	defer a.acct.release(int64(n) * 12)
	s.hashes, s.ids = sizeTo(s.hashes, n), sizeTo(s.ids, n)
	if s.lanes == nil {
		s.lanes = make([]lane, len(a.types)+maxColumns)
	}
	h, ids, keys, states := s.hashes[:n], s.ids[:n], s.lanes[:len(a.types)], s.lanes[len(a.types):]
	if by != nil {
		by.deal(h, t.keys.(*codedGroups).grouper.(*intGroups).all)
	} else {
		t.keys.hashes(h)
		for i, x := range h {
			h[i] = partitionOf(x)
		}
	}
	run := &aggRun{}
	for _, p := range h {
		run.bounds[p+1]++
	}
	for p := range mergeParts {
		run.bounds[p+1] += run.bounds[p]
	}
	at := run.bounds
	for g, p := range h {
		ids[at[p]] = int32(g)
		at[p]++
	}
	for _, acc := range t.accs {
		acc.seal()
	}
	for from := 0; from < n; from += a.env.BatchRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := ids[from:min(from+a.env.BatchRows, n)]
		c := 0
		add := func(v *vector.Vector) error {
			if from == 0 {
				col := newColumn(v.Type)
				if v.Phys != vector.PhysBool {
					col.phys = v.Phys // a sum may be wider or narrower than its type
				}
				if err := a.acct.resize(&run.held, run.held+int64(n)*col.width()); err != nil {
					return err
				}
				col.reserve(n)
				run.cols = append(run.cols, col)
			}
			col := run.cols[c]
			c++
			if err := a.acct.resize(&run.held, run.held+col.bytesAfter(v, nil, len(part))-col.bytes()); err != nil {
				return err
			}
			col.append(v, nil, len(part))
			return nil
		}
		for _, v := range t.keys.keys(part, keys) {
			if err := add(v); err != nil {
				return err
			}
		}
		for _, acc := range t.accs {
			vs := acc.state(part, states)
			if err := failed(acc); err != nil {
				return err
			}
			for _, v := range vs {
				if err := add(v); err != nil {
					return err
				}
			}
		}
	}
	t.release()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.runs = append(a.runs, run)
	return nil
}

func (a *aggregate) mergeByPartition(ctx context.Context) error {
	by := a.keyRange()
	err := parallel(ctx, len(a.tables), func(ctx context.Context, i int) error { return a.setAside(ctx, a.tables[i], by, &aside{}) })
	if err != nil {
		return err
	}
	merged := make([]*aggTable, mergeParts)
	var next atomic.Int64
	err = parallel(ctx, a.env.Threads, func(ctx context.Context, _ int) error {
		m := a.newMerger()
		var last *aggTable
		for {
			p := int(next.Add(1)) - 1
			if p >= mergeParts {
				return nil
			}
			t := a.newTable()
			if last != nil { // partitions are alike, and so is the memory that they need
				t = a.tableOf(last.keys.successor())
				if err := t.size(last.len()); err != nil {
					return err
				}
			}
			for _, r := range a.runs {
				if err := m.addRun(ctx, t, r, p); err != nil {
					return err
				}
			}
			merged[p], last = t, t
		}
	})
	for _, r := range a.runs {
		a.acct.release(r.held)
	}
	a.tables, a.runs = merged, nil
	return err
}

// release gives back what t's states reserved; t is not used afterwards.
func (t *aggTable) release() {
	t.agg.acct.release(t.held)
	t.held = 0
}

// A merger adds groups and states to tables, for one goroutine.
type merger struct {
	agg   *aggregate
	lanes []lane
	cols  []*vector.Vector
	cut   narrower
	ids   identity
}

func (a *aggregate) newMerger() *merger {
	return &merger{agg: a, lanes: make([]lane, len(a.types)+maxColumns*len(a.states))}
}

// add adds the groups of m.cols, keys and then states, n of them, to into. States of DISTINCT aggregates are not there.
func (m *merger) add(into *aggTable, n int) error {
	keys := len(m.agg.types)
	if err := into.assign(m.cols[:keys], n, nil, n); err != nil {
		return err
	}
	r := &rows{len: n, groups: into.groups, count: into.len(), whole: true}
	states := m.cols[keys:]
	for i, acc := range into.accs {
		if into.sets[i] != nil {
			continue
		}
		k := m.agg.states[i].columns
		if k == 0 {
			continue
		}
		if m.agg.states[i].user != nil {
			acc.merge(states[:k], r)
		} else {
			acc.merge(states[:k], m.cut.valid(r, states[0]))
		}
		states = states[k:]
	}
	return into.settle()
}

// addRun adds partition p of a run.
func (m *merger) addRun(ctx context.Context, into *aggTable, r *aggRun, p int) error {
	rows := m.agg.env.BatchRows
	for from := r.bounds[p]; from < r.bounds[p+1]; from += rows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(from+rows, r.bounds[p+1])
		m.cols = m.cols[:0]
		for i, c := range r.cols {
			m.cols = append(m.cols, c.window(&m.lanes[i], from, to, &m.ids))
		}
		if err := m.add(into, to-from); err != nil {
			return err
		}
	}
	return nil
}

// addTable adds all groups of a table.
func (m *merger) addTable(ctx context.Context, into, from *aggTable) error {
	a := m.agg
	all := m.ids.upTo(from.len())
	var to []int32 // from's groups as into's
	for _, acc := range from.accs {
		acc.seal()
	}
	for at := 0; at < len(all); at += a.env.BatchRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := all[at:min(at+a.env.BatchRows, len(all))]
		m.cols = m.cols[:0]
		lanes := m.lanes
		if from.keys != nil {
			m.cols = append(m.cols, from.keys.keys(part, lanes)...)
			lanes = lanes[len(m.cols):]
		}
		for i, acc := range from.accs {
			if from.sets[i] == nil && a.states[i].columns > 0 {
				m.cols = append(m.cols, acc.state(part, lanes)...)
				if err := failed(acc); err != nil {
					return err
				}
				lanes = lanes[a.states[i].columns:]
			}
		}
		if err := m.add(into, len(part)); err != nil {
			return err
		}
		if a.whole() {
			for _, g := range into.groups[:len(part)] {
				to = append(to, int32(g))
			}
		}
	}
	for i, s := range from.sets {
		if s == nil {
			if l, ok := from.accs[i].(*rowLists); ok {
				if err := into.accs[i].(*rowLists).adopt(ctx, l, to); err != nil {
					return err
				}
			}
			continue
		}
		err := s.each(ctx, a.env.BatchRows, func(args []*vector.Vector, groups []uint32) error {
			r := &rows{len: len(groups), groups: make([]uint32, len(groups))}
			for k, g := range groups {
				r.groups[k] = uint32(to[g])
			}
			return into.sets[i].add(args, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close forgets everything. The account is released when the plan ends.
func (a *aggregate) Close() error {
	a.tables, a.runs = nil, nil
	return nil
}

// source is the groups, once Finalize has run.
func (a *aggregate) source(context.Context) (Source, error) { return &aggSource{agg: a}, nil }

// aggSource gives the groups; a morsel is a batch of one table.
type aggSource struct {
	agg   *aggregate
	mu    sync.Mutex
	table int
	from  int
}

func (s *aggSource) MaxReaders() int {
	total := 0
	for _, t := range s.agg.tables {
		total += t.len()
	}
	return 1 + total/(4*vector.DefaultBatch)
}

func (s *aggSource) NewReader() (Reader, error) {
	n := s.agg.node
	return &aggReader{source: s, keys: make([]lane, len(n.Groups)), states: make([]lane, maxColumns*len(s.agg.states)), outs: make([]lane, maxColumns*len(n.Aggs))}, nil
}

func (*aggSource) Close() error { return nil }

// next takes a morsel: groups from … to of a table, nil at the end.
func (s *aggSource) next() (t *aggTable, from, to int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; s.table < len(s.agg.tables); s.table, s.from = s.table+1, 0 {
		t = s.agg.tables[s.table]
		if from = s.from; from < t.len() {
			s.from = min(from+s.agg.env.BatchRows, t.len())
			return t, from, s.from
		}
	}
	return nil, 0, 0
}

type aggReader struct {
	source *aggSource
	keys   []lane
	states []lane
	outs   []lane
	ids    []int32
	cols   []*vector.Vector
	users  map[int]*invoke.Caller // by aggregate
	batch  vector.Batch
}

func (*aggReader) Close() error { return nil }

func (r *aggReader) Next(ctx context.Context) (*vector.Batch, error) {
	t, from, to := r.source.next()
	if t == nil {
		return nil, nil
	}
	a := r.source.agg
	r.ids = r.ids[:0]
	for g := from; g < to; g++ {
		r.ids = append(r.ids, int32(g))
	}
	r.cols = r.cols[:0]
	if t.keys != nil {
		r.cols = append(r.cols, t.keys.keys(r.ids, r.keys)...)
	}
	states := make([][]*vector.Vector, len(a.states))
	for i, acc := range t.accs {
		if s, ok := acc.(*exactSums); ok && s.over {
			return nil, a.overflow(i)
		}
		states[i] = acc.state(r.ids, r.states[maxColumns*i:maxColumns*(i+1)])
		if err := failed(acc); err != nil {
			return nil, err
		}
	}
	for i := range a.node.Aggs {
		agg := &a.node.Aggs[i]
		var in []*vector.Vector
		for _, s := range a.outs[i].states {
			in = append(in, states[s]...)
		}
		lanes := r.outs[maxColumns*i : maxColumns*(i+1)]
		if a.node.Mode == physical.Partial {
			for k, typ := range expr.StateTypes(*agg) {
				v, err := conform(&lanes[k], in[k], typ, agg)
				if err != nil {
					return nil, err
				}
				r.cols = append(r.cols, v)
			}
			continue
		}
		var v *vector.Vector
		var err error
		if agg.User != nil {
			v, err = r.finishUser(ctx, i, in)
		} else {
			v, err = finish(&lanes[0], in, agg)
		}
		if err != nil {
			return nil, err
		}
		r.cols = append(r.cols, v)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: len(r.ids)}
	return &r.batch, nil
}

func (a *aggregate) overflow(state int) error {
	for i, o := range a.outs {
		for _, s := range o.states {
			if s == state {
				return outOfRange(&a.node.Aggs[i], a.states[state].typ)
			}
		}
	}
	return outOfRange(&expr.Aggregate{Func: "sum"}, a.states[state].typ)
}

func outOfRange(agg *expr.Aggregate, t sqltype.Type) error {
	return sqlerr.Newf(sqlerr.OutOfRange, agg.P, "%s does not fit %v", agg.Func, t).WithHint("cast the argument to DOUBLE PRECISION")
}

// conform is v, a value that may be wider than type t says, as t; it fails with code numeric_value_out_of_range.
func conform(l *lane, v *vector.Vector, t sqltype.Type, agg *expr.Aggregate) (*vector.Vector, error) {
	n := v.Len
	switch {
	case t.Kind == sqltype.Float32 && v.Phys == vector.PhysFloat64:
		dst := room[float32](l, n)
		for i, x := range vector.Values[float64](v) {
			dst[i] = float32(x)
		}
		return l.flat(t, vector.PhysFloat32, n, v.Valid), nil
	case t.Kind == sqltype.Decimal && v.Phys == vector.PhysInt128:
		for i, x := range vector.Values[int128.Int128](v) {
			if !x.FitsDigits(int(t.Precision)) && !v.IsNull(i) {
				return nil, outOfRange(agg, t)
			}
		}
		if t.Precision > 18 {
			return v, nil
		}
	case v.Phys != vector.PhysInt128 || !t.IsInteger():
		return v, nil
	}
	dst := room[int64](l, n)
	for i, x := range vector.Values[int128.Int128](v) {
		y, ok := x.Int64()
		if !ok && !v.IsNull(i) {
			return nil, outOfRange(agg, t)
		}
		dst[i] = y
	}
	return l.flat(t, vector.PhysInt64, n, v.Valid), nil
}

// finish makes the result of an aggregate of its state columns.
func finish(l *lane, in []*vector.Vector, agg *expr.Aggregate) (*vector.Vector, error) {
	switch agg.Func {
	case "avg":
		return average(l, in[0], vector.Values[int64](in[1]), agg)
	case "stddev_samp", "stddev_pop", "var_samp", "var_pop":
		return spread(l, in, agg), nil
	}
	if expr.Paired(agg.Func) {
		return ofPairs(l, in, agg), nil
	}
	return conform(l, in[0], agg.Typ, agg)
}

func average(l *lane, sum *vector.Vector, n []int64, agg *expr.Aggregate) (*vector.Vector, error) {
	valid := l.roomValid(len(n))
	for i, k := range n {
		if k > 0 {
			setBit(valid, i)
		}
	}
	if agg.Typ.IsFloat() {
		dst := room[float64](l, len(n))
		for i, k := range n {
			switch {
			case k == 0:
				dst[i] = 0
			case sum.Phys == vector.PhysFloat64:
				dst[i] = vector.Values[float64](sum)[i] / float64(k)
			default:
				dst[i] = wideAt(sum, i).Float64(int(sum.Type.Scale)) / float64(k)
			}
		}
		v := l.flat(sqltype.Of(sqltype.Float64), vector.PhysFloat64, len(n), valid)
		if agg.Typ.Kind == sqltype.Float32 {
			var narrow lane
			return conform(&narrow, v, agg.Typ, agg)
		}
		return v, nil
	}
	if agg.Typ.Kind != sqltype.Decimal || sum.Phys == vector.PhysFloat64 {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "avg of %v cannot be %v", sum.Type, agg.Typ)
	}
	dst := room[int128.Int128](l, len(n))
	up := int(agg.Typ.Scale) - int(sum.Type.Scale)
	for i, k := range n {
		dst[i] = int128.Int128{}
		if k == 0 {
			continue
		}
		ok := false
		if up >= 0 {
			dst[i], ok = int128.MulDivRound(wideAt(sum, i), int128.Pow10(up), int128.FromInt64(k))
		} else if d, fits := int128.Pow10(-up).MulInt64(k); fits {
			dst[i], ok = wideAt(sum, i).DivRound(d)
		}
		if !ok {
			return nil, outOfRange(agg, agg.Typ)
		}
	}
	if agg.Typ.Precision > 18 {
		return conform(l, l.flat(agg.Typ, vector.PhysInt128, len(n), valid), agg.Typ, agg)
	}
	var narrow lane
	return conform(&narrow, l.flat(agg.Typ, vector.PhysInt128, len(n), valid), agg.Typ, agg)
}

func spread(l *lane, in []*vector.Vector, agg *expr.Aggregate) *vector.Vector {
	n, m2 := vector.Values[int64](in[0]), vector.Values[float64](in[2])
	valid := l.roomValid(len(n))
	dst := room[float64](l, len(n))
	less := int64(0)
	if agg.Func == "stddev_samp" || agg.Func == "var_samp" {
		less = 1
	}
	for i, k := range n {
		dst[i] = 0
		if k <= less {
			continue
		}
		setBit(valid, i)
		dst[i] = m2[i] / float64(k-less)
		if agg.Func[0] == 's' {
			dst[i] = math.Sqrt(dst[i])
		}
	}
	return l.flat(agg.Typ, vector.PhysFloat64, len(n), valid)
}
