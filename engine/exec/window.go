package exec

import (
	"bytes"
	"context"
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// windowBlock is how many rows of whole partitions are computed together: enough for the work per block not to count. A partition is
// never cut.
const windowBlock = 64 << 10

// A window computes functions over the rows around each row. Its input comes sorted, in one goroutine; it keeps a block of whole
// partitions at a time.
type window struct {
	node   *physical.Window
	runner *runner
	acct   *account
	width  int // columns of the input
	parts  []formula
	order  []formula
	extra  []formula // arguments, filters and the key of a range: kept as columns behind the input's
	types  []sqltype.Type
	calls  []windowCall
}

// A windowCall is a call and where its arguments are among the columns that are kept.
type windowCall struct {
	physical.WindowCall
	args   []int
	filter int // −1: none
	key    int // of a range with an offset; else −1
}

func (r *runner) compileWindow(n *physical.Window) (pipe, error) {
	w := &window{node: n, runner: r, acct: r.account("Window", n)}
	in := n.Input.Schema()
	w.width = len(in)
	for _, f := range in {
		w.types = append(w.types, f.Type)
	}
	var err error
	if w.parts, err = compileFormulas(n.Partition); err != nil {
		return nil, err
	}
	var keys []expr.Expr
	for _, k := range n.Order {
		keys = append(keys, k.Expr)
	}
	if w.order, err = compileFormulas(keys); err != nil {
		return nil, err
	}
	for _, c := range n.Calls {
		call := windowCall{WindowCall: c, filter: -1, key: -1}
		for _, a := range c.Args {
			at, err := w.keep(a)
			if err != nil {
				return nil, err
			}
			call.args = append(call.args, at)
		}
		if c.Filter != nil {
			if call.filter, err = w.keep(c.Filter); err != nil {
				return nil, err
			}
		}
		if c.Frame.Unit == physical.FrameRange && hasOffset(c.Frame) {
			if call.key, err = w.keep(n.Order[0].Expr); err != nil {
				return nil, err
			}
		}
		if err := call.check(w.types); err != nil {
			return nil, err
		}
		w.calls = append(w.calls, call)
	}
	for _, t := range w.types {
		if vector.PhysOf(t) == vector.PhysNone {
			return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "a window over rows with a %v is not supported", t)
		}
	}
	p, err := r.compileRow(n.Input, w, n)
	for _, l := range p {
		l.pinned = true
	}
	return p, err
}

func hasOffset(f physical.Frame) bool {
	return f.Start.Kind == physical.Preceding || f.Start.Kind == physical.Following || f.End.Kind == physical.Preceding || f.End.Kind == physical.Following
}

// keep is the kept column of an expression, a column of the input where it is one.
func (w *window) keep(e expr.Expr) (int, error) {
	if in, ok := e.(*expr.Input); ok {
		return in.Index, nil
	}
	f, err := compileFormula(e)
	if err != nil {
		return 0, err
	}
	w.extra = append(w.extra, f)
	w.types = append(w.types, e.Type())
	return len(w.types) - 1, nil
}

// windowArgs is how many arguments the functions have that are not aggregates: at least, at most.
var windowArgs = map[string][2]int{
	"row_number": {0, 0}, "rank": {0, 0}, "dense_rank": {0, 0}, "percent_rank": {0, 0}, "cume_dist": {0, 0}, "ntile": {1, 1},
	"lag": {1, 3}, "lead": {1, 3}, "first_value": {1, 1}, "last_value": {1, 1}, "nth_value": {2, 2},
}

// check refuses a call that no binder makes.
func (c *windowCall) check(types []sqltype.Type) error {
	bounds, ok := windowArgs[c.Func]
	if !ok {
		return nil // an aggregate: the aggregation checks it
	}
	bad := len(c.args) < bounds[0] || len(c.args) > bounds[1]
	kind := func(i int, k sqltype.Kind) { bad = bad || i < len(c.args) && types[c.args[i]].Kind != k }
	switch c.Func {
	case "ntile":
		kind(0, sqltype.Int64)
	case "lag", "lead", "nth_value":
		kind(1, sqltype.Int64)
	}
	switch c.Func {
	case "lag", "lead", "first_value", "last_value", "nth_value":
		bad = bad || !types[c.args[0]].Equal(c.Typ) || len(c.args) == 3 && !types[c.args[2]].Equal(c.Typ)
	case "percent_rank", "cume_dist":
		bad = bad || c.Typ.Kind != sqltype.Float64
	default:
		bad = bad || c.Typ.Kind != sqltype.Int64
	}
	if bad {
		return sqlerr.Newf(sqlerr.InvalidPlan, c.Pos.P, "a call of %s that this build does not know", c.Func)
	}
	return nil
}

func (w *window) Close() error { return nil }

func (w *window) NewStep() (Step, error) {
	return &windowStep{
		window: w, parts: computers(w.parts, w.runner.env), order: computers(w.order, w.runner.env),
		extra: computers(w.extra, w.runner.env), rows: newStore(w.types, w.acct), keys: rowEncoder{compares: true},
	}, nil
}

// windowStep collects rows until a block of partitions is complete.
type windowStep struct {
	window              *window
	parts, order, extra []computer
	keys                rowEncoder
	rows                *store
	newPart, newPeer    []bool // per kept row: it begins a partition, a group of peers
	part, peer          []byte // the keys of the row before
	began               bool
	held                int64

	ids   identity
	lanes []lane
	batch vector.Batch
}

func (s *windowStep) Close() error { return nil }

func (s *windowStep) Push(ctx context.Context, b *vector.Batch, emit Emit) error {
	n := b.Rows()
	if n == 0 {
		return nil
	}
	vs := append([]*vector.Vector(nil), b.Cols[:s.window.width]...)
	for _, c := range s.extra {
		v, err := c.eval(b)
		if err != nil {
			return err
		}
		vs = append(vs, v)
	}
	if err := s.window.acct.resize(&s.held, int64(len(s.newPart)+n)*2); err != nil {
		return err
	}
	first := len(s.newPart)
	var err error
	if s.part, s.newPart, err = s.mark(s.parts, b, s.part, s.newPart); err != nil {
		return err
	}
	if s.peer, s.newPeer, err = s.mark(s.order, b, s.peer, s.newPeer); err != nil {
		return err
	}
	if !s.began {
		s.newPart[first], s.began = true, true
	}
	for i := first; i < len(s.newPart); i++ {
		s.newPeer[i] = s.newPeer[i] || s.newPart[i]
	}
	if err := s.rows.append(vs, b.Sel, n); err != nil {
		return err
	}
	if s.rows.n < windowBlock {
		return nil
	}
	return s.block(ctx, s.lastPart(), emit)
}

// mark tells of each live row of b whether its keys differ from those of the row before.
func (s *windowStep) mark(keys []computer, b *vector.Batch, before []byte, marks []bool) ([]byte, []bool, error) {
	n := b.Rows()
	if len(keys) == 0 {
		return before, append(marks, make([]bool, n)...), nil
	}
	vs := make([]*vector.Vector, len(keys))
	if err := evalAll(keys, b, vs); err != nil {
		return nil, nil, err
	}
	s.keys.encode(vs, b.Sel, n)
	for i := range n {
		k := s.keys.row(i)
		marks = append(marks, !bytes.Equal(k, before))
		before = append(before[:0], k...)
	}
	return before, marks, nil
}

// lastPart is where the partition begins that may go on; the rows before are whole partitions.
func (s *windowStep) lastPart() int {
	for i := len(s.newPart) - 1; i > 0; i-- {
		if s.newPart[i] {
			return i
		}
	}
	return 0
}

func (s *windowStep) Flush(ctx context.Context, emit Emit) error { return s.block(ctx, s.rows.n, emit) }

// block computes and emits the first n rows, which are whole partitions, and keeps the rest.
func (s *windowStep) block(ctx context.Context, n int, emit Emit) error {
	if n == 0 {
		return nil
	}
	w := s.window
	p := newPartitions(s.newPart[:n], s.newPeer[:n])
	results := make([]*column, len(w.calls))
	if err := w.compute(ctx, s.rows, p, results); err != nil {
		return err
	}
	if s.lanes == nil {
		s.lanes = make([]lane, w.width+len(w.calls))
	}
	cols := make([]*vector.Vector, len(s.lanes))
	for at := 0; at < n; at += w.runner.env.BatchRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to := min(n, at+w.runner.env.BatchRows)
		for i := range w.width {
			cols[i] = s.rows.cols[i].window(&s.lanes[i], at, to, &s.ids)
		}
		for i, c := range results {
			cols[w.width+i] = c.window(&s.lanes[w.width+i], at, to, &s.ids)
		}
		s.batch = vector.Batch{Cols: cols, Len: to - at}
		if err := emit(&s.batch); err != nil {
			return err
		}
	}
	rest := newStore(w.types, w.acct)
	if n < s.rows.n {
		if err := rest.appendFrom(s.rows, s.ids.upTo(s.rows.n)[n:]); err != nil {
			return err
		}
	}
	w.acct.release(s.rows.held)
	s.rows = rest
	s.newPart, s.newPeer = append([]bool(nil), s.newPart[n:]...), append([]bool(nil), s.newPeer[n:]...)
	return nil
}

// partitions is how rows lie in partitions and groups of peers.
type partitions struct {
	n          int
	start, end []int32 // of each row's partition
	peer, stop []int32 // of each row's peers
	group      []int32 // number of each row's group of peers in its partition, from 0
	groups     []int32 // first row of every group of the block, then n
	groupOf    []int32 // number of each row's group in the block
}

func newPartitions(newPart, newPeer []bool) *partitions {
	n := len(newPart)
	p := &partitions{
		n: n, start: make([]int32, n), end: make([]int32, n), peer: make([]int32, n), stop: make([]int32, n), group: make([]int32, n), groupOf: make([]int32, n),
	}
	var part, peer, group int32
	for i := range n {
		if newPart[i] {
			part, group = int32(i), -1
		}
		if newPeer[i] {
			peer = int32(i)
			group++
			p.groups = append(p.groups, peer)
		}
		p.start[i], p.peer[i], p.group[i], p.groupOf[i] = part, peer, group, int32(len(p.groups)-1)
	}
	p.groups = append(p.groups, int32(n))
	end, stop := int32(n), int32(n)
	for i := n - 1; i >= 0; i-- {
		p.end[i], p.stop[i] = end, stop
		if newPart[i] {
			end = int32(i)
		}
		if newPeer[i] {
			stop = int32(i)
		}
	}
	return p
}

// compute makes the result column of every call.
func (w *window) compute(ctx context.Context, rows *store, p *partitions, results []*column) error {
	type shared struct {
		frames *frames
		calls  []int
	}
	var aggregates []*shared
	for i := range w.calls {
		c := &w.calls[i]
		if _, ok := windowArgs[c.Func]; ok {
			col, err := c.value(rows, p, w.node)
			if err != nil {
				return err
			}
			results[i] = col
			continue
		}
		var same *shared
		for _, a := range aggregates {
			first := &w.calls[a.calls[0]]
			if first.key == c.key && equalFrames(first.Frame, c.Frame) {
				same = a
			}
		}
		if same == nil {
			f, err := newFrames(c, rows, p, w.node)
			if err != nil {
				return err
			}
			same = &shared{frames: f}
			aggregates = append(aggregates, same)
		}
		same.calls = append(same.calls, i)
	}
	for _, a := range aggregates {
		if err := w.aggregate(ctx, rows, a.frames, a.calls, results); err != nil {
			return err
		}
	}
	return nil
}

func equalFrames(a, b physical.Frame) bool {
	same := func(x, y physical.Bound) bool {
		return x.Kind == y.Kind && fmt.Sprint(x.Offset) == fmt.Sprint(y.Offset)
	}
	return a.Unit == b.Unit && a.Exclude == b.Exclude && same(a.Start, b.Start) && same(a.End, b.End)
}

// columnOf is a column of values.
func columnOf[T vector.Element](t sqltype.Type, values []T, valid []uint64) *column {
	v := &vector.Vector{}
	vector.SetFlat(v, t, values, valid)
	c := newColumn(t)
	c.append(v, nil, len(values))
	return c
}

// value computes a function that is no aggregate.
func (c *windowCall) value(rows *store, p *partitions, n *physical.Window) (*column, error) {
	counts := make([]int64, 0, p.n)
	switch c.Func {
	case "row_number":
		for i := range p.n {
			counts = append(counts, int64(i)-int64(p.start[i])+1)
		}
		return columnOf(c.Typ, counts, nil), nil
	case "rank":
		for i := range p.n {
			counts = append(counts, int64(p.peer[i]-p.start[i])+1)
		}
		return columnOf(c.Typ, counts, nil), nil
	case "dense_rank":
		for i := range p.n {
			counts = append(counts, int64(p.group[i])+1)
		}
		return columnOf(c.Typ, counts, nil), nil
	case "percent_rank", "cume_dist":
		shares := make([]float64, p.n)
		for i := range shares {
			all := float64(p.end[i] - p.start[i])
			switch {
			case c.Func == "cume_dist":
				shares[i] = float64(p.stop[i]-p.start[i]) / all
			case all > 1:
				shares[i] = float64(p.peer[i]-p.start[i]) / (all - 1)
			}
		}
		return columnOf(c.Typ, shares, nil), nil
	case "ntile":
		return c.ntile(rows, p)
	}
	from, err := c.sources(rows, p, n)
	if err != nil {
		return nil, err
	}
	out := newColumn(c.Typ)
	var l lane
	out.append(rows.cols[c.args[0]].gather(&l, from, nil, p.n, true), nil, p.n)
	if len(c.args) == 3 { // where no row is found, the default
		return c.withDefault(rows, from, out, p)
	}
	return out, nil
}

// outside marks a row that lag or lead looked for outside of the partition, where a default takes its place.
const outside = int32(-2)

func (c *windowCall) withDefault(rows *store, from []int32, out *column, p *partitions) (*column, error) {
	mixed := newColumn(c.Typ)
	var l, d lane
	var ids identity
	for i := range p.n {
		if from[i] == outside {
			mixed.append(rows.cols[c.args[2]].gather(&d, []int32{int32(i)}, nil, 1, true), nil, 1)
		} else {
			mixed.append(out.window(&l, i, i+1, &ids), nil, 1)
		}
	}
	return mixed, nil
}

// numbersOf is a kept BIGINT column's values; ok tells of a row whether it is not NULL.
func numbersOf(c *column, n int) (values []int64, ok func(i int) bool) {
	var l lane
	var ids identity
	v := c.window(&l, 0, n, &ids)
	return vector.Values[int64](v), func(i int) bool { return !v.IsNull(i) }
}

func (c *windowCall) ntile(rows *store, p *partitions) (*column, error) {
	tiles, ok := numbersOf(rows.cols[c.args[0]], p.n)
	out, valid := make([]int64, p.n), make([]uint64, vector.Words(p.n))
	for i := range p.n {
		first := int(p.start[i]) // the argument counts as it is at the partition's first row
		if !ok(first) {
			continue
		}
		k := tiles[first]
		if k <= 0 {
			return nil, sqlerr.New(sqlerr.InvalidParameter, c.Pos.P, "argument of ntile must be greater than zero")
		}
		n, at := int64(p.end[i]-p.start[i]), int64(i)-int64(p.start[i])
		small, large := n/k, n%k // the first large tiles have a row more
		if at < large*(small+1) {
			out[i] = at/(small+1) + 1
		} else {
			out[i] = large + (at-large*(small+1))/small + 1
		}
		setBit(valid, i)
	}
	return columnOf(c.Typ, out, valid), nil
}

// sources is, per row, the row whose argument is the result; negative where there is none.
func (c *windowCall) sources(rows *store, p *partitions, n *physical.Window) ([]int32, error) {
	arg := rows.cols[c.args[0]]
	counts := func(i int) bool { return !c.IgnoreNulls || !arg.isNull(i) }
	from := make([]int32, p.n)
	if c.Func == "lag" || c.Func == "lead" {
		c.shifted(rows, p, from, counts)
		return from, nil
	}
	f, err := newFrames(c, rows, p, n)
	if err != nil {
		return nil, err
	}
	var nth []int64
	var known func(int) bool
	if c.Func == "nth_value" {
		nth, known = numbersOf(rows.cols[c.args[1]], p.n)
	}
	for i := range p.n {
		from[i] = -1
		k := int64(1)
		if nth != nil {
			if !known(i) {
				continue
			}
			if k = nth[i]; k <= 0 {
				return nil, sqlerr.New(sqlerr.InvalidParameter, c.Pos.P, "argument of nth_value must be greater than zero")
			}
		}
		ranges := f.ranges(i)
		if c.Func == "last_value" {
			from[i] = lastOf(ranges, counts)
			continue
		}
		from[i] = nthOf(ranges, k, c.IgnoreNulls, counts)
	}
	return from, nil
}

func nthOf(ranges [3][2]int32, k int64, look bool, counts func(int) bool) int32 {
	for _, r := range ranges {
		n := int64(r[1] - r[0])
		if n <= 0 {
			continue
		}
		if !look {
			if k <= n {
				return r[0] + int32(k) - 1
			}
			k -= n
			continue
		}
		for j := r[0]; j < r[1]; j++ {
			if counts(int(j)) {
				if k--; k == 0 {
					return j
				}
			}
		}
	}
	return -1
}

func lastOf(ranges [3][2]int32, counts func(int) bool) int32 {
	for k := len(ranges) - 1; k >= 0; k-- {
		for j := ranges[k][1] - 1; j >= ranges[k][0]; j-- {
			if counts(int(j)) {
				return j
			}
		}
	}
	return -1
}

// shifted fills in the rows that lag and lead mean.
func (c *windowCall) shifted(rows *store, p *partitions, from []int32, counts func(int) bool) {
	var offsets []int64
	var known func(int) bool
	if len(c.args) > 1 {
		offsets, known = numbersOf(rows.cols[c.args[1]], p.n)
	}
	// With IGNORE NULLS the k-th row that counts is looked up in a list of those.
	var list, before []int32 // rows that count; how many of them come before row i
	if c.IgnoreNulls {
		before = make([]int32, p.n+1)
		for i := range p.n {
			before[i] = int32(len(list))
			if counts(i) {
				list = append(list, int32(i))
			}
		}
		before[p.n] = int32(len(list))
	}
	for i := range p.n {
		k := int64(1)
		if offsets != nil {
			if !known(i) {
				from[i] = -1
				continue
			}
			k = offsets[i]
		}
		if c.Func == "lag" {
			k = -k
		}
		from[i] = outside
		switch {
		case !c.IgnoreNulls || k == 0:
			if j := int64(i) + k; k > -int64(p.n) && k < int64(p.n) && j >= int64(p.start[i]) && j < int64(p.end[i]) {
				from[i] = int32(j)
			}
		default:
			at := int64(before[i]) + k // before the row: the rows that count are before[i]−1, before[i]−2, …
			if k > 0 {
				at = int64(before[i+1]) + k - 1
			}
			if at >= 0 && at < int64(len(list)) && list[at] >= p.start[i] && list[at] < p.end[i] {
				from[i] = list[at]
			}
		}
	}
}
