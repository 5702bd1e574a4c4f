package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// bound is an aggregate with its types by binding, over columns whose types need no coercion.
func bound(t *testing.T, fn string, args ...expr.Expr) expr.Aggregate {
	t.Helper()
	a, err := expr.NewAggregate(fn, args, sqlerr.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// holistic computes an aggregate over rows from its definition.
func holistic(t *testing.T, a expr.Aggregate, rows [][]expr.Value) expr.Value {
	t.Helper()
	col := func(row []expr.Value, k int) expr.Value { return row[a.Args[k].(*expr.Input).Index] }
	needs := len(a.Args)
	switch a.Func {
	case "array_agg", "first", "last":
		needs = 0
	case "string_agg", "percentile_cont", "percentile_disc":
		needs = 1
	}
	var kept [][]expr.Value
	seen := map[string]bool{}
	for _, row := range rows {
		ok, key := a.Filter == nil || row[a.Filter.(*expr.Input).Index].IsTrue(), ""
		for k := range a.Args {
			ok = ok && (k >= needs || !col(row, k).Null)
			key += batchtest.Format(col(row, k)) + "|"
		}
		if ok && (!a.Distinct || !seen[key]) {
			kept, seen[key] = append(kept, row), true
		}
	}
	by := make([]orderOf, 0, len(a.OrderBy))
	for _, o := range a.OrderBy {
		by = append(by, orderOf{o.Expr.(*expr.Input).Index, o.Desc, o.NullsFirst})
	}
	switch a.Func {
	case "arg_min", "arg_max":
		by = []orderOf{{a.Args[1].(*expr.Input).Index, a.Func == "arg_max", false}, {col: a.Args[0].(*expr.Input).Index}}
	case "median", "mode", "percentile_cont", "percentile_disc":
		if len(by) == 0 {
			by = []orderOf{{col: a.Args[0].(*expr.Input).Index}}
		}
	}
	slices.SortStableFunc(kept, func(x, y []expr.Value) int {
		for _, o := range by {
			if k := o.compare(x, y); k != 0 {
				return k
			}
		}
		return 0
	})
	null := expr.NullOf(a.Typ)
	n := len(kept)
	switch a.Func {
	case "approx_distinct":
		seen := map[string]bool{}
		for _, row := range kept {
			seen[batchtest.Format(col(row, 0))] = true
		}
		return expr.IntValue(bigint, int64(len(seen)))
	case "count_if":
		yes := 0
		for _, row := range kept {
			yes += bitOf(col(row, 0).IsTrue())
		}
		return expr.IntValue(bigint, int64(yes))
	case "regr_count":
		return expr.IntValue(bigint, int64(n))
	}
	if n == 0 {
		return null
	}
	share := 0.5
	if strings.HasPrefix(a.Func, "percentile") {
		if col(kept[0], 1).Null {
			return null
		}
		share = col(kept[0], 1).Float
	}
	double := func(f float64) expr.Value { return expr.FloatValue(f) }
	switch a.Func {
	case "array_agg":
		var list []byte
		for _, row := range kept {
			list = nested.Append(list, *a.Typ.Elem, scalar(col(row, 0)))
		}
		return expr.Value{Type: a.Typ, Str: string(nested.EndList(list))}
	case "string_agg":
		text := ""
		for i, row := range kept {
			if sep := col(row, 1); i > 0 && !sep.Null {
				text += sep.Str
			}
			text += col(row, 0).Str
		}
		return expr.Value{Type: a.Typ, Str: text}
	case "first", "arg_min", "arg_max":
		return col(kept[0], 0)
	case "last":
		return col(kept[n-1], 0)
	case "percentile_disc":
		for i, row := range kept {
			if float64(i+1) >= share*float64(n) {
				return col(row, 0)
			}
		}
	case "median", "percentile_cont":
		at := share * float64(n-1)
		low, high := col(kept[int(at)], 0).Float, col(kept[int(math.Ceil(at))], 0).Float
		return double(low + (high-low)*(at-math.Floor(at)))
	case "mode":
		best, most := null, 0
		for _, row := range kept {
			same := 0
			for _, other := range kept {
				same += bitOf(order(col(row, 0), col(other, 0)) == 0)
			}
			if same > most {
				best, most = col(row, 0), same
			}
		}
		return best
	case "bit_and", "bit_or", "bit_xor":
		v := col(kept[0], 0)
		for _, row := range kept[1:] {
			switch x := col(row, 0).Int; a.Func {
			case "bit_and":
				v.Int &= x
			case "bit_or":
				v.Int |= x
			default:
				v.Int ^= x
			}
		}
		return v
	case "product":
		p := 1.0
		for _, row := range kept {
			p *= col(row, 0).Float
		}
		return double(p)
	}
	var my, mx, yy, xx, xy float64
	for _, row := range kept {
		my += col(row, 0).Float / float64(n)
		mx += col(row, 1).Float / float64(n)
	}
	for _, row := range kept {
		dy, dx := col(row, 0).Float-my, col(row, 1).Float-mx
		yy, xx, xy = yy+dy*dy, xx+dx*dx, xy+dx*dy
	}
	unless := func(none bool, f float64) expr.Value {
		if none {
			return null
		}
		return double(f)
	}
	switch a.Func {
	case "corr":
		return unless(xx == 0 || yy == 0, xy/math.Sqrt(xx*yy))
	case "covar_pop":
		return double(xy / float64(n))
	case "covar_samp":
		return unless(n == 1, xy/float64(n-1))
	case "regr_avgx":
		return double(mx)
	case "regr_avgy":
		return double(my)
	case "regr_slope":
		return unless(xx == 0, xy/xx)
	case "regr_intercept":
		return unless(xx == 0, my-mx*xy/xx)
	case "regr_r2":
		if yy == 0 {
			xy, yy = xx, xx
		}
		return unless(xx == 0, xy*xy/(xx*yy))
	case "regr_sxx":
		return double(xx)
	case "regr_syy":
		return double(yy)
	case "regr_sxy":
		return double(xy)
	}
	t.Fatalf("no reference of %s", a.Func)
	return null
}

func scalar(v expr.Value) nested.Scalar {
	return nested.Scalar{Null: v.Null, Int: v.Int, Float: v.Float, Wide: v.Wide, Str: v.Str}
}

const sampled = "k int64, i int32, y float64, x float64, s utf8, sep utf8, b bool, share float64, d decimal(9,2), t date, keep bool, id int64"

// sample is random rows; id is the number of the row, which makes an order complete.
func sample(rng *rand.Rand, n int) batchtest.Table {
	in := random(rng, sampled, n, true)
	share := map[int64]expr.Value{}
	for r, row := range in.Rows {
		row[0] = expr.IntValue(bigint, int64(rng.IntN(6)))
		row[1].Int = int64(rng.IntN(100))
		row[2].Float, row[3].Float = float64(rng.IntN(16))/3-1, float64(rng.IntN(16))/7
		row[11] = expr.IntValue(bigint, int64(r))
		if _, ok := share[row[0].Int]; !ok { // one per group
			share[row[0].Int] = expr.FloatValue([]float64{0, 0.3, 0.5, 0.75, 1}[rng.IntN(5)])
		}
		row[7] = share[row[0].Int]
	}
	return in
}

// everyAggregate is all aggregates there are over columns of the sample, ordered where order matters, with and without FILTER.
func everyAggregate(t *testing.T, in batchtest.Table) []expr.Aggregate {
	t.Helper()
	var out []expr.Aggregate
	for _, f := range expr.AggregateFunctions() {
		var each [][]expr.Expr
		switch {
		case f.Name == "count_star":
			each = [][]expr.Expr{{}}
		case f.Name == "string_agg":
			each = [][]expr.Expr{{in.In(4), in.In(5)}}
		case f.Name == "count_if", strings.HasPrefix(f.Name, "bool_"):
			each = [][]expr.Expr{{in.In(6)}}
		case strings.HasPrefix(f.Name, "percentile"):
			each = [][]expr.Expr{{in.In(2), in.In(7)}}
		case strings.HasPrefix(f.Name, "bit_"):
			each = [][]expr.Expr{{in.In(1)}}
		case expr.Paired(f.Name):
			each = [][]expr.Expr{{in.In(2), in.In(3)}}
		case strings.HasPrefix(f.Name, "arg_"):
			each = [][]expr.Expr{{in.In(4), in.In(2)}, {in.In(8), in.In(4)}}
		case slices.Contains([]string{"array_agg", "mode", "first", "last", "min", "approx_distinct"}, f.Name):
			each = [][]expr.Expr{{in.In(4)}, {in.In(8)}, {in.In(9)}, {in.In(6)}}
		default:
			each = [][]expr.Expr{{in.In(2)}}
		}
		for i, args := range each {
			a := bound(t, f.Name, args...)
			switch {
			case f.Name == "mode", strings.HasPrefix(f.Name, "percentile"):
				if i%2 == 1 {
					a.OrderBy = []expr.SortOrder{{Expr: args[0], Desc: true}}
				}
			case expr.Ordered(f.Name):
				a.OrderBy = []expr.SortOrder{{Expr: in.In(3), Desc: i%2 == 1, NullsFirst: i%2 == 0}, {Expr: in.In(11)}}
			}
			out = append(out, a)
			a.Filter = in.In(10)
			out = append(out, a)
		}
	}
	return out
}

// ofAny is reference for every aggregate.
func ofAny(t *testing.T, a expr.Aggregate, rows [][]expr.Value) expr.Value {
	switch a.Func {
	case "any_value", "avg", "bool_and", "bool_or", "count", "count_star", "max", "min", "stddev_pop", "stddev_samp", "sum", "var_pop", "var_samp":
		return reference(a, rows)
	}
	return holistic(t, a, rows)
}

func wantGroups(t *testing.T, in batchtest.Table, groups []expr.Expr, aggs []expr.Aggregate) batchtest.Table {
	t.Helper()
	out := referenceGroups(in, groups, nil, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
	for r, key := range out.Rows {
		var rows [][]expr.Value
		for _, row := range in.Rows {
			if len(groups) == 0 || batchtest.Format(row[groups[0].(*expr.Input).Index]) == batchtest.Format(key[0]) {
				rows = append(rows, row)
			}
		}
		for _, a := range aggs {
			out.Rows[r] = append(out.Rows[r], ofAny(t, a, rows))
		}
	}
	return out
}

// without any_value, whose answer is any.
func decided(aggs []expr.Aggregate) []expr.Aggregate {
	return slices.DeleteFunc(aggs, func(a expr.Aggregate) bool { return a.Func == "any_value" })
}

func TestEveryAggregate(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	in := sample(rng, 160)
	for _, row := range in.Rows { // without groups there is one share
		row[7] = expr.FloatValue(0.4)
	}
	aggs := decided(everyAggregate(t, in))
	for _, groups := range [][]expr.Expr{nil, {in.In(0)}} {
		t.Run(fmt.Sprint(len(groups), " keys"), func(t *testing.T) {
			batchtest.Run(t, wantGroups(t, in, groups, aggs), func(n ...physical.Node) physical.Node {
				return aggregate(n[0], physical.Single, groups, aggs)
			}, in)
		})
		halves := slices.DeleteFunc(slices.Clone(aggs), func(a expr.Aggregate) bool { return !expr.HasState(a) })
		t.Run(fmt.Sprint(len(groups), " keys in two phases"), func(t *testing.T) {
			batchtest.Run(t, wantGroups(t, in, groups, halves), func(n ...physical.Node) physical.Node { return twoPhases(n[0], groups, halves) }, in)
		})
	}
}

func TestEveryAggregateOverWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	for _, n := range []int{0, 1, 90} {
		c := &windowCase{in: sample(rng, n), partition: []int{0}, order: []orderOf{{col: 3}, {col: 11}}}
		c.sort()
		for i, a := range decided(everyAggregate(t, c.in)) {
			f := physical.Frame{Start: physical.Bound{Kind: physical.UnboundedPreceding}, End: physical.Bound{Kind: physical.CurrentRow}}
			if i%3 == 0 {
				f.Start = physical.Bound{Kind: physical.Preceding, Offset: expr.IntValue(bigint, 3)}
			}
			c.calls = append(c.calls, physical.WindowCall{Func: a.Func, Args: a.Args, Filter: a.Filter, Typ: a.Typ, Frame: f})
		}
		want := batchtest.Table{Fields: c.plan(batchtest.Scan(c.in)).Schema()}
		for i, row := range c.in.Rows {
			row = slices.Clone(row)
			for _, call := range c.calls {
				var frame [][]expr.Value
				for j, other := range c.in.Rows[:i+1] {
					if c.key(other) == c.key(row) && (call.Frame.Start.Kind == physical.UnboundedPreceding || j >= i-3) {
						frame = append(frame, other)
					}
				}
				row = append(row, ofAny(t, expr.Aggregate{Func: call.Func, Args: call.Args, Filter: call.Filter, Typ: call.Typ}, frame))
			}
			want.Rows = append(want.Rows, row)
		}
		batchtest.RunOrdered(t, want, func(in ...physical.Node) physical.Node { return c.plan(in[0]) }, c.in)
	}
}

func TestDistinctLists(t *testing.T) {
	in := sample(rand.New(rand.NewPCG(25, 26)), 200)
	texts, joined := bound(t, "array_agg", in.In(4)), bound(t, "string_agg", in.In(4), in.In(4))
	days, products := bound(t, "array_agg", in.In(9)), bound(t, "product", in.In(2))
	for i, a := range []*expr.Aggregate{&texts, &joined, &days, &products} {
		a.Distinct = true
		if i < 3 {
			a.OrderBy = []expr.SortOrder{{Expr: a.Args[0], Desc: i == 1}}
		}
	}
	texts.Filter = in.In(10)
	aggs := []expr.Aggregate{texts, joined, days, products}
	for _, groups := range [][]expr.Expr{nil, {in.In(1)}} {
		batchtest.Run(t, wantGroups(t, in, groups, aggs), func(n ...physical.Node) physical.Node {
			return aggregate(n[0], physical.Single, groups, aggs)
		}, in)
	}
	days.OrderBy = nil // then the values are in their order all the same
	got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		return aggregate(n[0], physical.Single, nil, []expr.Aggregate{days})
	}, 3, batchtest.Shape{Rows: 7}, in)
	if err != nil {
		t.Fatal(err)
	}
	var items []string
	for item := range nested.Items(days.Typ, got.Rows[0][0].Str) {
		items = append(items, item)
	}
	if !slices.IsSorted(items) || len(items) < 4 {
		t.Errorf("items %q", items)
	}
}

// Without an order of its own an aggregate takes sorted rows as they come, whatever the number of goroutines.
func TestListsKeepTheOrderOfTheirInput(t *testing.T) {
	in := batchtest.Rows("k int64, v int64")
	for i := range 30000 {
		in.Rows = append(in.Rows, []expr.Value{expr.IntValue(bigint, int64(i%3)), expr.IntValue(bigint, int64(i*7919%30011))})
	}
	list := bound(t, "array_agg", in.In(1))
	got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		sorted := &physical.Sort{Input: n[0], Keys: []physical.SortKey{{Expr: in.In(1)}}, Fetch: -1}
		return aggregate(sorted, physical.Single, []expr.Expr{in.In(0)}, []expr.Aggregate{list})
	}, 4, batchtest.Shape{Rows: 512}, in)
	if err != nil || len(got.Rows) != 3 {
		t.Fatal(err)
	}
	for _, row := range got.Rows {
		items := slices.Collect(nested.Items(list.Typ, row[1].Str))
		if len(items) != 10000 || !slices.IsSorted(items) { // items compare as their values do
			t.Errorf("group %d has %d items out of order", row[0].Int, len(items))
		}
	}
}

func TestAggregatesOfAllRowsRefuse(t *testing.T) {
	in := batchtest.Rows("x float64, share float64, k int64", 1.0, 1.5, 1)
	run := func(mode physical.AggMode, a expr.Aggregate) error {
		_, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
			return aggregate(n[0], mode, nil, []expr.Aggregate{a})
		}, 1, batchtest.Shape{Rows: 8}, in)
		return err
	}
	if err := run(physical.Single, bound(t, "percentile_cont", in.In(0), in.In(1))); sqlerr.CodeOf(err) != sqlerr.OutOfRange {
		t.Errorf("a share of 1.5: %v", err)
	}
	for name, a := range map[string]expr.Aggregate{
		"state":     bound(t, "median", in.In(0)),
		"unknown":   {Func: "frobnicate", Args: []expr.Expr{in.In(0)}, Typ: double},
		"type":      {Func: "array_agg", Args: []expr.Expr{in.In(0)}, Typ: double},
		"arguments": {Func: "string_agg", Args: []expr.Expr{in.In(0)}, Typ: sqltype.Of(sqltype.Utf8)},
	} {
		if err := run(physical.AggMode(bitOf(name == "state")), a); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := batchtest.Rows("x float64")
	for i := range 100000 {
		many.Rows = append(many.Rows, []expr.Value{expr.FloatValue(float64(i))})
	}
	err := runLimited(t, aggregate(batchtest.Scan(many), physical.Single, nil, []expr.Aggregate{bound(t, "median", many.In(0))}), many, 1<<20)
	if sqlerr.CodeOf(err) != sqlerr.MemoryLimit {
		t.Errorf("all rows in a megabyte: %v", err)
	}
}
