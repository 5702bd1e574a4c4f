package exec

import (
	"context"
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// everyRow is an aggregate that has to see all rows of a group, in an order, before it can say anything.
type everyRow struct {
	agg   *expr.Aggregate
	needs int         // arguments that may not be NULL
	keys  []expr.Expr // of the order, over the input: columns behind the arguments of what is kept
	order *sortOrder  // over what is kept; nil: as rows came
}

func newEveryRow(agg *expr.Aggregate, mode physical.AggMode) (*everyRow, error) {
	args, needs := 1, 1
	switch agg.Func {
	case "array_agg", "first", "last":
		needs = 0
	case "median", "mode":
	case "string_agg", "percentile_cont", "percentile_disc":
		args = 2
	case "arg_min", "arg_max":
		args, needs = 2, 2
	default:
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "no aggregate function %q in this build", agg.Func)
	}
	switch {
	case mode != physical.Single:
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s has no partial state", agg.Func)
	case len(agg.Args) != args:
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s with %d arguments", agg.Func, len(agg.Args))
	}
	for _, x := range agg.Args {
		if vector.PhysOf(x.Type()) == vector.PhysNone {
			return nil, sqlerr.Newf(sqlerr.Unsupported, agg.P, "%s of %v is not supported", agg.Func, x.Type())
		}
	}
	double := func(i int) bool { return agg.Args[i].Type().Kind == sqltype.Float64 }
	switch fn := agg.Func; {
	case fn == "array_agg" && (agg.Typ.Kind != sqltype.List || !agg.Typ.Elem.Equal(agg.Args[0].Type())),
		fn == "string_agg" && (vector.PhysOf(agg.Typ) != vector.PhysString || !agg.Args[0].Type().Equal(agg.Typ) || !agg.Args[1].Type().Equal(agg.Typ)),
		(fn == "median" || fn == "percentile_cont") && (!double(0) || agg.Typ.Kind != sqltype.Float64),
		(fn == "percentile_cont" || fn == "percentile_disc") && !double(1),
		fn != "array_agg" && !agg.Typ.Equal(agg.Args[0].Type()):
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, agg.P, "%s cannot be %v", fn, agg.Typ)
	}
	e := &everyRow{agg: agg, needs: needs}
	kept := func(i int, t sqltype.Type) expr.Expr { return &expr.Input{Index: i, Typ: t, Nullable: true} }
	var order []physical.SortKey
	by := agg.OrderBy
	if valued := agg.Func == "mode" || agg.Func == "percentile_cont" || agg.Func == "percentile_disc"; valued && len(by) > 0 && !sameInput(by[0].Expr, agg.Args[0]) {
		by = nil // they are about the order of their values
	}
	for _, k := range by {
		at := slices.IndexFunc(agg.Args, func(x expr.Expr) bool { return sameInput(x, k.Expr) })
		if at < 0 {
			at = args + len(e.keys)
			e.keys = append(e.keys, k.Expr)
		}
		order = append(order, physical.SortKey{Expr: kept(at, k.Expr.Type()), Desc: k.Desc, NullsFirst: k.NullsFirst})
	}
	byArg := func(i int, desc bool) {
		order = append(order, physical.SortKey{Expr: kept(i, agg.Args[i].Type()), Desc: desc})
	}
	// What comes out depends on the rows alone where it can.
	switch {
	case agg.Func == "arg_min" || agg.Func == "arg_max":
		order = nil
		byArg(1, agg.Func == "arg_max")
		byArg(0, false)
	case len(order) == 0 && (agg.Func == "median" || agg.Func == "mode" || args == 2 && agg.Func != "string_agg" || agg.Distinct):
		byArg(0, false)
	}
	if len(order) == 0 {
		return e, nil
	}
	var err error
	e.order, err = newSortOrder(order)
	return e, err
}

func sameInput(a, b expr.Expr) bool {
	x, ok1 := a.(*expr.Input)
	y, ok2 := b.(*expr.Input)
	return a == b || ok1 && ok2 && x.Index == y.Index
}

// rowLists keeps the rows of every group. Until finish they stand as they came.
type rowLists struct {
	spec *everyRow
	agg  *aggregate
	rows *store // arguments, keys of the order, the group
	err  error  // there was no room
	lane lane

	from  []int32 // group g's rows are ids[from[g]:from[g+1]], in order
	ids   []int32
	picks []int32 // per group, where the result is the first argument of a row: that row, −1 for NULL
	means []float64
	known []uint64 // which of means are not NULL
	held  int64
}

func newRowLists(s *stateSpec, a *aggregate) *rowLists {
	types := append(slices.Clone(s.argTypes), sqltype.Of(sqltype.Uint32))
	return &rowLists{spec: s.all, agg: a, rows: newStore(types, a.acct)}
}

func (*rowLists) size(int) {}

func (*rowLists) seal() {}

// merge is never called: there are no columns of states.
func (*rowLists) merge([]*vector.Vector, *rows) {}

func (a *rowLists) update(vs []*vector.Vector, r *rows) {
	n := r.n()
	if n == 0 || a.err != nil {
		return
	}
	copy(room[uint32](&a.lane, r.len), r.groups[:r.len])
	group := a.lane.flat(sqltype.Of(sqltype.Uint32), vector.PhysUint32, r.len, nil)
	a.err = a.rows.append(append(slices.Clone(vs), group), r.sel, n)
}

// adopt takes over b's rows, whose groups are to's here.
func (a *rowLists) adopt(ctx context.Context, b *rowLists, to []int32) error {
	var ids identity
	lanes, vs := make([]lane, len(b.rows.cols)), make([]*vector.Vector, len(b.rows.cols))
	for at := 0; at < b.rows.n; at += a.agg.env.BatchRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		end := min(at+a.agg.env.BatchRows, b.rows.n)
		for i, c := range b.rows.cols {
			vs[i] = c.window(&lanes[i], at, end, &ids)
		}
		old := vector.Values[uint32](vs[len(vs)-1])
		groups := make([]uint32, len(old))
		for i, g := range old {
			groups[i] = uint32(to[g])
		}
		var moved vector.Vector
		vector.SetFlat(&moved, sqltype.Of(sqltype.Uint32), groups, nil)
		vs[len(vs)-1] = &moved
		if err := a.rows.append(vs, nil, end-at); err != nil {
			return err
		}
	}
	a.agg.acct.release(b.rows.held)
	b.rows = newStore(nil, a.agg.acct)
	return nil
}

// finish puts the rows of n groups together and in order.
func (a *rowLists) finish(ctx context.Context, n int) error {
	total := a.rows.n
	if err := a.agg.acct.resize(&a.held, int64(n+1)*4+int64(total)*4); err != nil {
		return err
	}
	var group []uint32
	if total > 0 {
		group = a.rows.cols[len(a.rows.cols)-1].w4
	}
	a.from, a.ids = make([]int32, n+1), make([]int32, total)
	for _, g := range group {
		a.from[g+1]++
	}
	for g := range n {
		a.from[g+1] += a.from[g]
	}
	at := slices.Clone(a.from)
	for i, g := range group {
		a.ids[at[g]] = int32(i)
		at[g]++
	}
	if err := a.sort(ctx, n); err != nil {
		return err
	}
	return a.pick(n)
}

// of is the rows of group g.
func (a *rowLists) of(g int) []int32 { return a.ids[a.from[g]:a.from[g+1]] }

func (a *rowLists) sort(ctx context.Context, n int) error {
	if a.spec.order == nil || a.rows.n == 0 {
		return nil
	}
	held, want := int64(0), int64(a.rows.n)*24
	defer func() { a.agg.acct.release(held) }()
	if err := a.agg.acct.resize(&held, want); err != nil {
		return err
	}
	entries, long := make([]sortEntry, 0, a.rows.n), &longKeys{}
	enc := a.spec.order.encoder(a.agg.env)
	lanes := make([]lane, len(a.rows.cols))
	var ids identity
	b := &vector.Batch{Cols: make([]*vector.Vector, len(a.rows.cols))}
	for at := 0; at < a.rows.n; at += a.agg.env.BatchRows {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		end := min(at+a.agg.env.BatchRows, a.rows.n)
		for i, c := range a.rows.cols {
			b.Cols[i] = c.window(&lanes[i], at, end, &ids)
		}
		b.Len = end - at
		if err := enc.encode(b); err != nil {
			return err
		}
		for i, e := range enc.entries {
			e.row = int32(at + i)
			entries = append(entries, e)
		}
		if !a.spec.order.short() {
			if err := a.agg.acct.resize(&held, want+int64(len(long.data)+len(enc.buf)+8*end)*2); err != nil {
				return err
			}
			long.add(enc, ids.upTo(b.Len)[:b.Len])
		}
	}
	return parallel(ctx, a.agg.env.Threads, func(ctx context.Context, p int) error {
		done := 0
		for g := n * p / a.agg.env.Threads; g < n*(p+1)/a.agg.env.Threads; g++ {
			rows := a.of(g)
			if done += len(rows); done > checkEvery {
				if done = 0; ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
			slices.SortStableFunc(rows, func(x, y int32) int { return compareEntries(entries[x], entries[y], long, long) })
		}
		return nil
	})
}

// pick finds the results that are no lists.
func (a *rowLists) pick(n int) error {
	fn := a.spec.agg.Func
	if fn == "array_agg" || fn == "string_agg" {
		return nil
	}
	if err := a.agg.acct.resize(&a.held, a.held+int64(n)*8); err != nil {
		return err
	}
	if fn == "median" || fn == "percentile_cont" {
		a.means, a.known = make([]float64, n), make([]uint64, vector.Words(n))
	} else {
		a.picks = make([]int32, n)
	}
	for g := range n {
		rows := a.of(g)
		if a.picks != nil {
			a.picks[g] = -1
		}
		if len(rows) == 0 {
			continue
		}
		share := 0.5
		if fn == "percentile_cont" || fn == "percentile_disc" {
			f := a.rows.cols[1]
			if f.isNull(int(rows[0])) {
				continue
			}
			if share = math.Float64frombits(f.w8[rows[0]]); !(share >= 0 && share <= 1) {
				return sqlerr.Newf(sqlerr.OutOfRange, a.spec.agg.P, "percentile value %v is not between 0 and 1", share).WithHint("give a fraction, such as 0.5")
			}
		}
		switch fn {
		case "first", "arg_min", "arg_max":
			a.picks[g] = rows[0]
		case "last":
			a.picks[g] = rows[len(rows)-1]
		case "percentile_disc":
			a.picks[g] = rows[max(0, int(math.Ceil(share*float64(len(rows))))-1)]
		case "mode":
			a.picks[g] = a.mode(rows)
		default:
			value := func(i int) float64 { return math.Float64frombits(a.rows.cols[0].w8[rows[i]]) }
			at := share * float64(len(rows)-1)
			low := int(at)
			a.means[g] = value(low)
			if rest := at - float64(low); rest > 0 {
				a.means[g] += rest * (value(low+1) - value(low))
			}
			setBit(a.known, g)
		}
	}
	return nil
}

// mode is the first of the rows whose value is the most frequent; equal values stand together.
func (a *rowLists) mode(rows []int32) int32 {
	var l lane
	v := a.rows.cols[0].gather(&l, rows, nil, len(rows), false)
	best, most, from := rows[0], 0, 0
	var first, next []byte
	for i := range rows {
		if next = nested.AppendRow(next[:0], v, i); i == 0 || !slices.Equal(first, next) {
			first, next, from = next, first, i
		}
		if n := i + 1 - from; n > most {
			best, most = rows[from], n
		}
	}
	return best
}

// state gives the results, a column.
func (a *rowLists) state(ids []int32, out []lane) []*vector.Vector {
	l, c := &out[0], a.rows.cols[0]
	switch {
	case a.picks != nil:
		rows := make([]int32, len(ids))
		for i, g := range ids {
			rows[i] = a.picks[g]
		}
		return []*vector.Vector{c.gather(l, rows, nil, len(rows), true)}
	case a.means != nil:
		dst, valid := room[float64](l, len(ids)), l.roomValid(len(ids))
		for i, g := range ids {
			if dst[i] = a.means[g]; bitAt(a.known, int(g)) {
				setBit(valid, i)
			}
		}
		return []*vector.Vector{l.flat(a.spec.agg.Typ, vector.PhysFloat64, len(ids), valid)}
	}
	dst, valid := l.roomStrings(len(ids)), l.roomValid(len(ids))
	var value, sep lane
	for i, g := range ids {
		rows := a.of(int(g))
		if dst[i] = ""; len(rows) == 0 {
			continue
		}
		setBit(valid, i)
		v := c.gather(&value, rows, nil, len(rows), false)
		var text []byte
		if a.spec.agg.Func == "array_agg" {
			for k := range rows {
				text = nested.AppendRow(text, v, k)
			}
			dst[i] = string(nested.EndList(text))
			continue
		}
		between := a.rows.cols[1].gather(&sep, rows, nil, len(rows), false)
		for k := range rows {
			if s := nested.At(between, k); k > 0 && !s.Null {
				text = append(text, s.Str...)
			}
			text = append(text, nested.At(v, k).Str...)
		}
		dst[i] = string(text)
	}
	return []*vector.Vector{l.flat(a.spec.agg.Typ, vector.PhysString, len(ids), valid)}
}
