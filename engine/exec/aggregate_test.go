package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

var (
	double  = sqltype.Of(sqltype.Float64)
	bigint  = sqltype.Of(sqltype.Int64)
	boolean = sqltype.Of(sqltype.Bool)
)

// call is an aggregate function over a column, with its type by the rules of binding.
func call(fn string, arg *expr.Input) expr.Aggregate {
	a := expr.Aggregate{Func: fn, Args: []expr.Expr{arg}}
	switch fn {
	case "count":
		a.Typ = bigint
	case "sum":
		a.Typ = expr.SumType(arg.Typ)
	case "avg":
		a.Typ = double
		if arg.Typ.Kind == sqltype.Decimal {
			a.Typ = sqltype.DecimalOf(38, int(arg.Typ.Scale)+6)
		}
	case "stddev_samp", "stddev_pop", "var_samp", "var_pop":
		a.Typ = double
	default:
		a.Typ = arg.Typ
	}
	return a
}

func countStar() expr.Aggregate { return expr.Aggregate{Func: "count_star", Typ: bigint} }

func aggregate(in physical.Node, mode physical.AggMode, groups []expr.Expr, aggs []expr.Aggregate) *physical.Aggregate {
	n := &physical.Aggregate{Input: in, Mode: mode, Groups: groups, Aggs: aggs}
	for i := range len(groups) + 6*len(aggs) {
		n.Names = append(n.Names, fmt.Sprint("c", i))
	}
	return n
}

// twoPhases is the same aggregation as a partial and a final half.
func twoPhases(in physical.Node, groups []expr.Expr, aggs []expr.Aggregate) *physical.Aggregate {
	partial := aggregate(in, physical.Partial, groups, aggs)
	schema := partial.Schema()
	at := func(i int) expr.Expr { return &expr.Input{Index: i, Typ: schema[i].Type, Nullable: true} }
	var finalGroups []expr.Expr
	for i := range groups {
		finalGroups = append(finalGroups, at(i))
	}
	var finalAggs []expr.Aggregate
	next := len(groups)
	for _, a := range aggs {
		f := expr.Aggregate{Func: a.Func, Typ: a.Typ}
		for range expr.StateTypes(a) {
			f.Args = append(f.Args, at(next))
			next++
		}
		finalAggs = append(finalAggs, f)
	}
	return aggregate(partial, physical.Final, finalGroups, finalAggs)
}

// order compares two values of one type as SQL does, NaN greatest.
func order(a, b expr.Value) int {
	switch k := a.Type.Kind; {
	case k == sqltype.Decimal:
		return a.Wide.Cmp(b.Wide)
	case k == sqltype.UUID:
		if x, y := uint64(a.Wide.Hi), uint64(b.Wide.Hi); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		if a.Wide.Lo < b.Wide.Lo {
			return -1
		}
		return 1 - bitOf(a.Wide.Lo == b.Wide.Lo)
	case a.Type.IsFloat():
		x, y := a.Float, b.Float
		switch {
		case math.IsNaN(x) && math.IsNaN(y), x == y:
			return 0
		case math.IsNaN(y), x < y:
			return -1
		}
		return 1
	case k == sqltype.Utf8 || k == sqltype.Binary:
		return strings.Compare(a.Str, b.Str)
	case k == sqltype.Uint64:
		if uint64(a.Int) < uint64(b.Int) {
			return -1
		}
		return 1 - bitOf(a.Int == b.Int)
	case k == sqltype.Interval:
		total := func(v expr.Value) int128.Int128 {
			return int128.MulInt64s(int64(v.Months)*30+int64(v.Days), 86400e6).Add(int128.FromInt64(v.Int))
		}
		return total(a).Cmp(total(b))
	}
	if a.Int < b.Int {
		return -1
	}
	return 1 - bitOf(a.Int == b.Int)
}

func bitOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reference computes one aggregate over rows, one row at a time.
func reference(a expr.Aggregate, rows [][]expr.Value) expr.Value {
	var vals []expr.Value
	seen := map[string]bool{}
	for _, row := range rows {
		if a.Filter != nil && !row[a.Filter.(*expr.Input).Index].IsTrue() {
			continue
		}
		if len(a.Args) == 0 {
			vals = append(vals, expr.Value{})
			continue
		}
		v := row[a.Args[0].(*expr.Input).Index]
		if v.Null || a.Distinct && seen[batchtest.Format(v)] {
			continue
		}
		seen[batchtest.Format(v)] = true
		vals = append(vals, v)
	}
	null := expr.NullOf(a.Typ)
	if a.Func == "count" || a.Func == "count_star" {
		return expr.IntValue(bigint, int64(len(vals)))
	}
	if len(vals) == 0 {
		return null
	}
	var sum int128.Int128
	var floats, squares float64
	best := vals[0]
	for _, v := range vals {
		w, f := v.Wide, v.Float
		if v.Type.IsInteger() {
			w = int128.FromInt64(v.Int)
			if v.Type.Kind == sqltype.Uint64 {
				w = int128.FromUint64(uint64(v.Int))
			}
		}
		if !v.Type.IsFloat() {
			f = w.Float64(int(v.Type.Scale))
		}
		sum, floats = sum.Add(w), floats+f
		if o := order(v, best); o < 0 && (a.Func == "min" || a.Func == "bool_and") || o > 0 && (a.Func == "max" || a.Func == "bool_or") {
			best = v
		}
	}
	n := float64(len(vals))
	for _, v := range vals {
		d := v.Float - floats/n
		squares += d * d
	}
	out := expr.Value{Type: a.Typ}
	switch a.Func {
	case "sum":
		out.Float, out.Wide, out.Int = floats, sum, int64(sum.Lo)
	case "avg":
		out.Float = floats / n
		if a.Typ.Kind == sqltype.Decimal {
			up := int(a.Typ.Scale) - int(vals[0].Type.Scale)
			out.Wide, _ = int128.MulDivRound(sum, int128.Pow10(up), int128.FromInt64(int64(len(vals))))
		}
	case "var_pop":
		out.Float = squares / n
	case "stddev_pop":
		out.Float = math.Sqrt(squares / n)
	case "var_samp", "stddev_samp":
		if len(vals) == 1 {
			return null
		}
		out.Float = squares / (n - 1)
		if a.Func == "stddev_samp" {
			out.Float = math.Sqrt(out.Float)
		}
	default:
		return best
	}
	return out
}

// referenceGroups is the result of a whole aggregation.
func referenceGroups(in batchtest.Table, groups []expr.Expr, aggs []expr.Aggregate, schema []physical.Field) batchtest.Table {
	var keys []string
	byKey := map[string][][]expr.Value{}
	for _, row := range in.Rows {
		var key []string
		for _, g := range groups {
			key = append(key, batchtest.Format(row[g.(*expr.Input).Index]))
		}
		k := strings.Join(key, "|")
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], row)
	}
	if len(groups) == 0 {
		keys, byKey = []string{""}, map[string][][]expr.Value{"": in.Rows}
	}
	out := batchtest.Table{Fields: schema}
	for _, k := range keys {
		var row []expr.Value
		for _, g := range groups {
			row = append(row, byKey[k][0][g.(*expr.Input).Index])
		}
		for _, a := range aggs {
			row = append(row, reference(a, byKey[k]))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// every is a column of every type, and after it a few narrow ones: columns keys … are made for grouping.
const every = "i8 int8, i16 int16, i32 int32, i64 int64, u8 uint8, u16 uint16, u32 uint32, u64 uint64, f32 float32, f64 float64, " +
	"d9 decimal(9,2), d38 decimal(38,3), s utf8, bin binary, date date, ts timestamp, iv interval, uuid uuid, b bool, k int64, keep bool"

// random is n rows of the schema, of small domains where small, with extremes otherwise.
func random(rng *rand.Rand, schema string, n int, small bool) batchtest.Table {
	t := batchtest.Rows(schema)
	for range n {
		row := make([]expr.Value, len(t.Fields))
		for c, f := range t.Fields {
			row[c] = randomValue(rng, f.Type, small)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func randomValue(rng *rand.Rand, t sqltype.Type, small bool) expr.Value {
	v := expr.Value{Type: t}
	if rng.IntN(6) == 0 {
		v.Null = true
		return v
	}
	i := int64(rng.IntN(5) - 1)
	if !small {
		i = int64(rng.Uint64())
		if rng.IntN(8) == 0 {
			i = []int64{0, math.MaxInt64, math.MinInt64, -1}[rng.IntN(4)]
		}
	}
	switch t.Kind {
	case sqltype.Bool:
		v.Int = i & 1
	case sqltype.Int8:
		v.Int = int64(int8(i))
	case sqltype.Int16:
		v.Int = int64(int16(i))
	case sqltype.Int32, sqltype.Date:
		v.Int = int64(int32(i))
	case sqltype.Uint8:
		v.Int = int64(uint8(i))
	case sqltype.Uint16:
		v.Int = int64(uint16(i))
	case sqltype.Uint32:
		v.Int = int64(uint32(i))
	case sqltype.Float32, sqltype.Float64:
		v.Float = float64(rng.IntN(1000)-500) / 4
		if small {
			v.Float = []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.NaN()}[rng.IntN(5)]
		}
	case sqltype.Decimal:
		v.Wide = int128.FromInt64(i % 1000000000)
		if t.Precision > 18 && !small {
			v.Wide = int128.MulInt64s(i, int64(rng.Uint32()))
		}
	case sqltype.Utf8, sqltype.Binary:
		v.Str = []string{"", "a", "ab", "abc\x00d", "été", strings.Repeat("long ", 9)}[rng.IntN(6)]
		if !small {
			v.Str += fmt.Sprint(i % 100)
		}
	case sqltype.UUID:
		v.Wide = int128.Int128{Lo: uint64(i), Hi: int64(rng.IntN(3)) - 1}
	case sqltype.Interval:
		v.Months, v.Days, v.Int = int32(i%7), int32(rng.IntN(3)), i%1000
	default:
		v.Int = i
	}
	return v
}

func TestAggregatesAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	in := random(rng, every, 500, false)
	k := 19
	for r := range in.Rows {
		in.Rows[r][k] = expr.IntValue(bigint, int64(rng.IntN(12)))
	}
	var aggs []expr.Aggregate
	aggs = append(aggs, countStar())
	for c := range 19 {
		col := in.In(c)
		aggs = append(aggs, call("min", col), call("max", col), call("count", col))
		switch {
		case col.Typ.Kind == sqltype.Bool:
			aggs = append(aggs, call("bool_and", col), call("bool_or", col))
		case col.Typ.IsNumeric():
			aggs = append(aggs, call("sum", col), call("avg", col))
		}
	}
	f64 := in.In(9)
	for _, fn := range []string{"stddev_samp", "stddev_pop", "var_samp", "var_pop"} {
		aggs = append(aggs, call(fn, f64))
	}
	for i := range 2 * len(aggs) {
		if a := aggs[i%len(aggs)]; i%3 == 0 && len(a.Args) > 0 {
			a.Filter = in.In(20)
			aggs = append(aggs, a)
		}
	}
	for _, groups := range [][]expr.Expr{nil, {in.In(k)}, {in.In(12), in.In(18)}} {
		single := aggregate(batchtest.Scan(in), physical.Single, groups, aggs)
		want := referenceGroups(in, groups, aggs, single.Schema())
		t.Run(fmt.Sprint(len(groups), " keys"), func(t *testing.T) {
			batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, groups, aggs) }, in)
		})
		t.Run(fmt.Sprint(len(groups), " keys in two phases"), func(t *testing.T) {
			batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return twoPhases(n[0], groups, aggs) }, in)
		})
	}
}

func TestGroupKeysOfEveryType(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	in := random(rng, every, 400, true)
	aggs := []expr.Aggregate{countStar(), call("sum", in.In(3))}
	var keys [][]expr.Expr
	for c := range in.Fields {
		keys = append(keys, []expr.Expr{in.In(c)})
	}
	for range 12 {
		var some []expr.Expr
		for range 2 + rng.IntN(4) {
			some = append(some, in.In(rng.IntN(len(in.Fields))))
		}
		keys = append(keys, some)
	}
	for _, groups := range keys {
		want := referenceGroups(in, groups, aggs, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
		name := ""
		for _, g := range groups {
			name += g.(*expr.Input).Name + " "
		}
		t.Run(name, func(t *testing.T) {
			batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, groups, aggs) }, in)
		})
	}
}

func TestManyGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	in := batchtest.Rows("k int64, v int32, s utf8")
	for i := range 60000 {
		in.Rows = append(in.Rows, []expr.Value{
			expr.IntValue(bigint, int64(rng.IntN(40000))), expr.IntValue(sqltype.Of(sqltype.Int32), int64(i%7)),
			expr.StringValue(fmt.Sprint("name ", rng.IntN(30000))),
		})
	}
	aggs := []expr.Aggregate{countStar(), call("sum", in.In(1)), call("max", in.In(2))}
	for _, groups := range [][]expr.Expr{{in.In(0)}, {in.In(2)}, {in.In(0), in.In(1)}} {
		want := referenceGroups(in, groups, aggs, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
		for _, threads := range []int{1, 3, 5} {
			got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
				return aggregate(n[0], physical.Single, groups, aggs)
			}, threads, batchtest.Shape{Rows: 2048, Select: true}, in)
			if err != nil {
				t.Fatal(err)
			}
			batchtest.Same(t, fmt.Sprint(len(groups), " keys, ", threads, " goroutines"), got, want, false)
		}
	}
}

func TestDistinctAggregates(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	in := random(rng, "k int32, d decimal(9,2), s utf8, f float64, keep bool", 300, true)
	distinct := func(fn string, c int) expr.Aggregate {
		a := call(fn, in.In(c))
		a.Distinct = true
		return a
	}
	filtered := distinct("count", 2)
	filtered.Filter = in.In(4)
	aggs := []expr.Aggregate{countStar(), distinct("count", 1), distinct("sum", 1), distinct("count", 2), filtered, distinct("count", 3), distinct("min", 2), call("sum", in.In(1))}
	for _, groups := range [][]expr.Expr{nil, {in.In(0)}} {
		want := referenceGroups(in, groups, aggs, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
		batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, groups, aggs) }, in)
	}
}

func TestAggregateOfNoRows(t *testing.T) {
	in := batchtest.Rows("a int32, b utf8")
	aggs := []expr.Aggregate{countStar(), call("count", in.In(0)), call("sum", in.In(0)), call("avg", in.In(0)), call("min", in.In(1)), call("var_pop", in.In(0))}
	batchtest.Run(t, batchtest.Rows("n int64, m int64, s int64, a float64, x utf8, v float64", 0, 0, nil, nil, nil, nil),
		func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, nil, aggs) }, in)
	batchtest.Run(t, batchtest.Rows("a int32, n int64"),
		func(n ...physical.Node) physical.Node {
			return aggregate(n[0], physical.Single, []expr.Expr{in.In(0)}, aggs[:1])
		}, in)
}

func TestSumOutOfRange(t *testing.T) {
	nines := strings.Repeat("9", 38)
	in := batchtest.Rows("d decimal(38,0)", nines, nines, 5)
	sum := call("sum", in.In(0))
	sum.P = sqlerr.Pos{Start: 7, End: 13}
	_, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		return aggregate(n[0], physical.Single, nil, []expr.Aggregate{sum})
	}, 2, batchtest.Shape{Rows: 1}, in)
	var e *sqlerr.Error
	if sqlerr.CodeOf(err) != sqlerr.OutOfRange {
		t.Fatalf("got %v", err)
	}
	if asError(err, &e); e.Pos != sum.P {
		t.Errorf("the error is at %v", e.Pos)
	}
}

func TestAggregateOverMemoryLimit(t *testing.T) {
	in := batchtest.Rows("k int64")
	for i := range 100000 {
		in.Rows = append(in.Rows, []expr.Value{expr.IntValue(bigint, int64(i))})
	}
	err := runLimited(t, aggregate(batchtest.Scan(in), physical.Single, []expr.Expr{in.In(0)}, []expr.Aggregate{countStar()}), in, 1<<20)
	if sqlerr.CodeOf(err) != sqlerr.MemoryLimit || !strings.Contains(err.Error(), "Aggregate") {
		t.Errorf("got %v", err)
	}
}

func TestGroupsOfExtremeIntegers(t *testing.T) {
	for _, keys := range [][]int64{
		{math.MaxInt64, math.MaxInt64 - 1, math.MaxInt64 - 3, 0},
		{math.MinInt64, math.MinInt64 + 5, math.MaxInt64},
		{-5, 70000, 3, 1 << 40, -70000},
		{100, 90, 80, 0, -100, -1000, -100000, 200000},
		// a batch of one key, then those around it
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt32, 0, 1, 2, 3},
	} {
		in := batchtest.Rows("k int64")
		for i := range 60 {
			v := expr.IntValue(bigint, keys[i%len(keys)])
			v.Null = i%13 == 5
			in.Rows = append(in.Rows, []expr.Value{v})
		}
		groups, aggs := []expr.Expr{in.In(0)}, []expr.Aggregate{countStar()}
		want := referenceGroups(in, groups, aggs, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
		batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, groups, aggs) }, in)
	}
}

// TestSumsOutgrow64Bits has values that prove a batch safe, but not all batches.
func TestSumsOutgrow64Bits(t *testing.T) {
	in := batchtest.Rows("k int32, v int64")
	for i := range 2000 {
		in.Rows = append(in.Rows, []expr.Value{expr.IntValue(sqltype.Of(sqltype.Int32), int64(i%20)), expr.IntValue(bigint, 1<<57-int64(i))})
	}
	aggs := []expr.Aggregate{call("sum", in.In(1))}
	for _, groups := range [][]expr.Expr{nil, {in.In(0)}} {
		want := referenceGroups(in, groups, aggs, aggregate(batchtest.Scan(in), physical.Single, groups, aggs).Schema())
		batchtest.Run(t, want, func(n ...physical.Node) physical.Node { return aggregate(n[0], physical.Single, groups, aggs) }, in)
	}
}

// A month is 30 days wherever intervals are compared: one of the spellings stands for the group.
func TestGroupsOfEqualIntervals(t *testing.T) {
	month, days := vector.Interval{Months: 1}, vector.Interval{Days: 30}
	hours := vector.Interval{Days: 29, Micros: 24 * 3600e6}
	in := batchtest.Rows("iv interval, k int32", month, 1, days, 1, nil, 1, hours, 1, days, 2, vector.Interval{Days: 31}, 2, month, 2)
	distinct := call("count", in.In(0))
	distinct.Distinct = true
	for _, tc := range []struct {
		groups []expr.Expr
		want   batchtest.Table
	}{
		{[]expr.Expr{in.In(0)}, batchtest.Rows("n int64, d int64", 5, 1, 1, 0, 1, 1)},
		{[]expr.Expr{in.In(0), in.In(1)}, batchtest.Rows("n int64, d int64", 3, 1, 1, 0, 2, 1, 1, 1)},
		{[]expr.Expr{in.In(1)}, batchtest.Rows("n int64, d int64", 4, 1, 3, 2)},
	} {
		batchtest.Run(t, tc.want, func(n ...physical.Node) physical.Node {
			agg := aggregate(n[0], physical.Single, tc.groups, []expr.Aggregate{countStar(), distinct})
			p := &physical.Project{Input: agg, Names: []string{"n", "d"}}
			for i := range 2 {
				p.Exprs = append(p.Exprs, &expr.Input{Index: len(tc.groups) + i, Typ: bigint, Nullable: agg.Schema()[len(tc.groups)+i].Nullable})
			}
			return p
		}, in)
	}
	got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		return aggregate(n[0], physical.Single, []expr.Expr{in.In(0)}, []expr.Aggregate{countStar()})
	}, 1, batchtest.Shape{Rows: 8}, in)
	if err != nil || batchtest.Format(got.Rows[0][0]) != batchtest.Format(in.Rows[0][0]) {
		t.Errorf("the group is %v, %v", got.Lines(), err)
	}
}
