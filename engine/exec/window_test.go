package exec_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// windowCase is a window over a table whose rows are in its order.
type windowCase struct {
	in        batchtest.Table
	partition []int
	order     []orderOf
	calls     []physical.WindowCall
}

type orderOf struct {
	col              int
	desc, nullsFirst bool
}

func (c *windowCase) plan(in physical.Node) physical.Node {
	w := &physical.Window{Input: in, Calls: c.calls}
	for _, p := range c.partition {
		w.Partition = append(w.Partition, c.in.In(p))
	}
	for _, o := range c.order {
		w.Order = append(w.Order, physical.SortKey{Expr: c.in.In(o.col), Desc: o.desc, NullsFirst: o.nullsFirst})
	}
	for i := range c.calls {
		w.Names = append(w.Names, fmt.Sprint("w", i))
	}
	return w
}

// compare orders rows a and b by o.
func (o orderOf) compare(a, b []expr.Value) int {
	x, y := a[o.col], b[o.col]
	switch {
	case x.Null && y.Null:
		return 0
	case x.Null:
		return 1 - 2*bitOf(o.nullsFirst)
	case y.Null:
		return 2*bitOf(o.nullsFirst) - 1
	case o.desc:
		return -order(x, y)
	}
	return order(x, y)
}

func (c *windowCase) compare(a, b []expr.Value) int {
	for _, o := range c.order {
		if k := o.compare(a, b); k != 0 {
			return k
		}
	}
	return 0
}

func (c *windowCase) key(row []expr.Value) string {
	k := ""
	for _, p := range c.partition {
		k += batchtest.Format(row[p]) + "|"
	}
	return k
}

func (c *windowCase) sort() {
	slices.SortStableFunc(c.in.Rows, func(a, b []expr.Value) int {
		if x, y := c.key(a), c.key(b); x != y {
			return 2*bitOf(x > y) - 1
		}
		return c.compare(a, b)
	})
}

// want computes every call of every row from the definition, looking at all rows of the partition for each.
func (c *windowCase) want() batchtest.Table {
	out := batchtest.Table{Fields: c.plan(batchtest.Scan(c.in)).Schema()}
	for from := 0; from < len(c.in.Rows); {
		to := from
		for to < len(c.in.Rows) && c.key(c.in.Rows[to]) == c.key(c.in.Rows[from]) {
			to++
		}
		part := c.in.Rows[from:to]
		for i, row := range part {
			r := slices.Clone(row)
			for k := range c.calls {
				r = append(r, c.value(&c.calls[k], part, i))
			}
			out.Rows = append(out.Rows, r)
		}
		from = to
	}
	return out
}

func (c *windowCase) value(call *physical.WindowCall, part [][]expr.Value, i int) expr.Value {
	arg := func(j, k int) expr.Value { return part[j][call.Args[k].(*expr.Input).Index] }
	before, peers, groups := 0, 0, 0
	for j := range part {
		k := c.compare(part[j], part[i])
		if k < 0 {
			before++
			if j == 0 || c.compare(part[j-1], part[j]) != 0 {
				groups++
			}
		}
		if k == 0 {
			peers++
		}
	}
	n := len(part)
	switch call.Func {
	case "row_number":
		return expr.IntValue(bigint, int64(i+1))
	case "rank":
		return expr.IntValue(bigint, int64(before+1))
	case "dense_rank":
		return expr.IntValue(bigint, int64(groups+1))
	case "percent_rank":
		return expr.Value{Type: double, Float: float64(before) / float64(max(n-1, 1))}
	case "cume_dist":
		return expr.Value{Type: double, Float: float64(before+peers) / float64(n)}
	case "ntile":
		tiles := arg(0, 0)
		if tiles.Null {
			return expr.NullOf(bigint)
		}
		tile := int64(0)
		for at := 0; at <= i; tile++ {
			size := n / int(tiles.Int)
			if tile < int64(n)%tiles.Int {
				size++
			}
			at += size
		}
		return expr.IntValue(bigint, tile)
	case "lag", "lead":
		step := int64(1)
		if len(call.Args) > 1 {
			v := arg(i, 1)
			if v.Null {
				return expr.NullOf(call.Typ)
			}
			step = v.Int
		}
		if call.Func == "lag" {
			step = -step
		}
		at, dir := int64(i), int64(1)
		if step < 0 {
			step, dir = -step, -1
		}
		for step > 0 {
			at += dir
			if at < 0 || at >= int64(n) {
				if len(call.Args) > 2 {
					return arg(i, 2)
				}
				return expr.NullOf(call.Typ)
			}
			if !call.IgnoreNulls || !arg(int(at), 0).Null {
				step--
			}
		}
		return arg(int(at), 0)
	}
	var frame [][]expr.Value
	for j := range part {
		if c.inFrame(call.Frame, part, i, j) {
			frame = append(frame, part[j])
		}
	}
	switch call.Func {
	case "first_value", "last_value", "nth_value":
		nth := int64(1)
		if call.Func == "nth_value" {
			v := arg(i, 1)
			if v.Null {
				return expr.NullOf(call.Typ)
			}
			nth = v.Int
		}
		if call.Func == "last_value" {
			slices.Reverse(frame)
		}
		for _, row := range frame {
			if v := row[call.Args[0].(*expr.Input).Index]; !call.IgnoreNulls || !v.Null {
				if nth--; nth == 0 {
					return v
				}
			}
		}
		return expr.NullOf(call.Typ)
	}
	return reference(expr.Aggregate{Func: call.Func, Args: call.Args, Distinct: call.Distinct, Filter: call.Filter, Typ: call.Typ}, frame)
}

// inFrame tells whether row j of a partition is in the frame of row i.
func (c *windowCase) inFrame(f physical.Frame, part [][]expr.Value, i, j int) bool {
	switch same := c.compare(part[i], part[j]) == 0; f.Exclude {
	case physical.ExcludeCurrentRow:
		if i == j {
			return false
		}
	case physical.ExcludeGroup:
		if same {
			return false
		}
	case physical.ExcludeTies:
		if same && i != j {
			return false
		}
	}
	return c.side(f, f.Start, part, i, j) >= 0 && c.side(f, f.End, part, i, j) <= 0
}

// side tells where row j lies from an edge of row i's frame: before it, on it or after it.
func (c *windowCase) side(f physical.Frame, b physical.Bound, part [][]expr.Value, i, j int) int {
	offset := b.Offset.Int
	switch b.Kind {
	case physical.UnboundedPreceding:
		return 1
	case physical.UnboundedFollowing:
		return -1
	case physical.CurrentRow:
		offset = 0
	case physical.Preceding:
		offset = -offset
	}
	sign := func(x int64) int { return bitOf(x > 0) - bitOf(x < 0) }
	switch f.Unit {
	case physical.FrameRows:
		return sign(int64(j) - int64(i) - offset)
	case physical.FrameGroups:
		group := func(k int) int64 {
			g := int64(0)
			for at := 1; at <= k; at++ {
				g += int64(bitOf(c.compare(part[at-1], part[at]) != 0))
			}
			return g
		}
		return sign(group(j) - group(i) - offset)
	}
	if b.Kind == physical.CurrentRow {
		return c.compare(part[j], part[i])
	}
	o := c.order[0]
	edge := slices.Clone(part[i])
	if !edge[o.col].Null {
		edge[o.col] = added(edge[o.col], b.Offset, (b.Kind == physical.Preceding) != o.desc)
	}
	return o.compare(part[j], edge)
}

// added is a key and an offset.
func added(v, offset expr.Value, back bool) expr.Value {
	way := int64(1 - 2*bitOf(back))
	switch v.Type.Kind {
	case sqltype.Decimal:
		v.Wide = v.Wide.Add(int128.MulInt64s(int64(offset.Wide.Lo), way))
	case sqltype.Float64:
		v.Float += offset.Float * float64(way)
	case sqltype.Date:
		day := time.Unix(v.Int*86400, 0).UTC().AddDate(0, int(offset.Months)*int(way), int(offset.Days)*int(way))
		v.Int = day.Unix() / 86400
	case sqltype.Timestamp:
		at := time.UnixMicro(v.Int).UTC().AddDate(0, int(offset.Months)*int(way), int(offset.Days)*int(way))
		v.Int = at.UnixMicro() + offset.Int*way
	default:
		v.Int += offset.Int * way
	}
	return v
}

const windowed = "p int32, q utf8, i int64, d decimal(9,2), f float64, t date, ts timestamp, v int32, x float64, s utf8, w decimal(38,3), n int64, keep bool, u int32"

// windowRows is random rows whose keys have many ties.
func windowRows(rng *rand.Rand, n, parts int) batchtest.Table {
	in := random(rng, windowed, n, true)
	for _, row := range in.Rows {
		row[0].Int = int64(rng.IntN(parts))
		for c := 2; c < len(row); c++ {
			k := int64(rng.IntN(12))
			switch {
			case c == 5: // days that every month has, so that months add alike
				row[c].Int = time.Date(2024, time.Month(k), 1+rng.IntN(27), 0, 0, 0, 0, time.UTC).Unix() / 86400
			case c == 6:
				row[c].Int = time.Date(2024, time.Month(k), 1+rng.IntN(3), rng.IntN(3), 0, 0, 0, time.UTC).UnixMicro()
			case c == 8:
				row[c].Float = float64(k) / 4
			case c == 11:
				row[c].Int = 1 + k%4
			case row[c].Type.Kind == sqltype.Int64, row[c].Type.Kind == sqltype.Int32:
				row[c].Int = k
			}
		}
	}
	return in
}

func randomFrame(rng *rand.Rand, c *windowCase) physical.Frame {
	f := physical.Frame{Exclude: physical.FrameExclude(rng.IntN(4))}
	if rng.IntN(2) == 0 {
		f.Exclude = physical.ExcludeNone
	}
	if len(c.order) > 0 {
		f.Unit = physical.FrameUnit(rng.IntN(3))
	}
	offset := func(k physical.BoundKind) physical.Bound {
		b := physical.Bound{Kind: k}
		if k != physical.Preceding && k != physical.Following {
			return b
		}
		n := int64(rng.IntN(4))
		b.Offset = expr.IntValue(bigint, n)
		if f.Unit != physical.FrameRange {
			return b
		}
		switch t := c.in.Fields[c.order[0].col].Type; t.Kind {
		case sqltype.Float64:
			b.Offset = expr.Value{Type: double, Float: float64(n) / 2}
		case sqltype.Decimal:
			b.Offset = expr.Value{Type: t, Wide: int128.FromInt64(n)}
		case sqltype.Date, sqltype.Timestamp:
			b.Offset = expr.Value{Type: sqltype.Of(sqltype.Interval), Months: int32(n % 2), Days: int32(rng.IntN(3))}
			if t.Kind == sqltype.Timestamp {
				b.Offset.Int = int64(rng.IntN(2)) * 3600e6
			}
		}
		return b
	}
	for {
		start, end := physical.BoundKind(rng.IntN(4)), physical.BoundKind(1+rng.IntN(4))
		f.Start, f.End = offset(start), offset(end)
		numeric := len(c.order) == 1 && slices.Contains([]int{2, 3, 4, 5, 6}, c.order[0].col)
		offsets := start == physical.Preceding || start == physical.Following || end == physical.Preceding || end == physical.Following
		if start <= end && (f.Unit != physical.FrameRange || !offsets || numeric) {
			return f
		}
	}
}

func randomCall(rng *rand.Rand, c *windowCase) physical.WindowCall {
	pick := func(cols ...int) *expr.Input { return c.in.In(cols[rng.IntN(len(cols))]) }
	out := physical.WindowCall{Frame: randomFrame(rng, c), Typ: bigint}
	if rng.IntN(2) == 0 {
		names := []string{"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"}
		out.Func = names[rng.IntN(len(names))]
		switch out.Func {
		case "percent_rank", "cume_dist":
			out.Typ = double
		case "ntile":
			out.Args = []expr.Expr{c.in.In(11)}
		case "lag", "lead", "first_value", "last_value", "nth_value":
			out.IgnoreNulls = rng.IntN(2) == 0
			arg := pick(7, 8, 9, 10, 12)
			out.Args, out.Typ = []expr.Expr{arg}, arg.Typ
			if out.Func == "nth_value" || out.Func[1] != 'i' && out.Func != "last_value" && rng.IntN(2) == 0 {
				out.Args = append(out.Args, c.in.In(11))
			}
			if len(out.Args) == 2 && out.Func != "nth_value" && arg.Index == 7 {
				out.Args = append(out.Args, c.in.In(13))
			}
		}
		return out
	}
	var a expr.Aggregate
	switch rng.IntN(5) {
	case 0:
		a = countStar()
	case 1:
		a = call("sum", pick(7, 8, 10))
	case 2:
		a = call("avg", pick(7, 8))
	case 3:
		a = call([]string{"min", "max"}[rng.IntN(2)], pick(7, 8, 9, 10))
	case 4:
		a = call([]string{"count", "stddev_pop"}[rng.IntN(2)], pick(8))
	}
	out.Func, out.Args, out.Typ = a.Func, a.Args, a.Typ
	out.Distinct = len(a.Args) > 0 && rng.IntN(4) == 0
	if rng.IntN(3) == 0 {
		out.Filter = c.in.In(12)
	}
	return out
}

func TestWindowsAgainstReference(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 11))
		n := rng.IntN(60)
		if seed%10 == 0 {
			n = 250 // long frames are put together of states
		}
		c := &windowCase{in: windowRows(rng, n, 1+rng.IntN(4))}
		for _, p := range []int{0, 1} {
			if rng.IntN(2) == 0 {
				c.partition = append(c.partition, p)
			}
		}
		for range rng.IntN(3) {
			c.order = append(c.order, orderOf{2 + rng.IntN(8), rng.IntN(2) == 0, rng.IntN(2) == 0})
		}
		c.sort()
		for range 4 {
			c.calls = append(c.calls, randomCall(rng, c))
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			batchtest.RunOrdered(t, c.want(), func(in ...physical.Node) physical.Node { return c.plan(in[0]) }, c.in)
			if t.Failed() {
				t.Logf("partition %v, order %v", c.partition, c.order)
				for i, call := range c.calls {
					t.Logf("w%d: %+v", i, call)
				}
			}
		})
	}
}

// Partitions are computed a block at a time, and none is cut.
func TestWindowOfManyRows(t *testing.T) {
	in := batchtest.Rows("p int64, v int64")
	for i := range 150000 {
		p := i / 7
		if i >= 10000 && i < 90000 {
			p = 10000 / 7 // longer than a block
		}
		in.Rows = append(in.Rows, []expr.Value{expr.IntValue(bigint, int64(p)), expr.IntValue(bigint, int64(i))})
	}
	whole := physical.Frame{Start: physical.Bound{Kind: physical.UnboundedPreceding}, End: physical.Bound{Kind: physical.CurrentRow}}
	plan := func(n ...physical.Node) physical.Node {
		return &physical.Window{
			Input: n[0], Partition: []expr.Expr{in.In(0)}, Names: []string{"n", "s"},
			Calls: []physical.WindowCall{{Func: "row_number", Typ: bigint}, {Func: "max", Args: []expr.Expr{in.In(1)}, Typ: bigint, Frame: whole}},
		}
	}
	got, err := batchtest.Execute(t, plan, 2, batchtest.Shape{Rows: 4096}, in)
	if err != nil {
		t.Fatal(err)
	}
	number, part := int64(0), int64(-1)
	for i, row := range got.Rows {
		if number++; row[0].Int != part {
			number, part = 1, row[0].Int
		}
		if row[1].Int != int64(i) || row[2].Int != number || row[3].Int != int64(i) {
			t.Fatalf("row %d is %v, where row_number is %d", i, row, number)
		}
	}
	if len(got.Rows) != len(in.Rows) {
		t.Fatalf("%d rows", len(got.Rows))
	}
}

// What has no partial state sees every row of every frame, some frames at a time: a running median of a long partition stays within
// little memory.
func TestWindowOfLongFrames(t *testing.T) {
	in := batchtest.Rows("v float64")
	const n = 3500 // 6 million pairs
	for i := range n {
		in.Rows = append(in.Rows, []expr.Value{expr.FloatValue(float64(i))})
	}
	running := physical.Frame{Start: physical.Bound{Kind: physical.UnboundedPreceding}, End: physical.Bound{Kind: physical.CurrentRow}}
	got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		return &physical.Window{Input: n[0], Names: []string{"m"}, Calls: []physical.WindowCall{{Func: "median", Args: []expr.Expr{in.In(0)}, Typ: double, Frame: running}}}
	}, 1, batchtest.Shape{Rows: 4096}, in)
	if err != nil || len(got.Rows) != n {
		t.Fatalf("%d rows, %v", len(got.Rows), err)
	}
	for i, row := range got.Rows {
		if row[1].Float != float64(i)/2 {
			t.Fatalf("row %d is %v", i, row)
		}
	}
}

func TestWindowArgumentsOutOfRange(t *testing.T) {
	in := batchtest.Rows("n int64", 1, 0)
	for _, fn := range []string{"ntile", "nth_value"} {
		call := physical.WindowCall{Func: fn, Args: []expr.Expr{in.In(0)}, Typ: bigint, Frame: physical.Frame{End: physical.Bound{Kind: physical.UnboundedFollowing}}}
		if fn == "nth_value" {
			call.Args = append(call.Args, in.In(0))
		}
		order := []physical.SortKey{{Expr: in.In(0)}}
		_, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
			return &physical.Window{Input: &physical.Sort{Input: n[0], Keys: order, Fetch: -1}, Order: order, Calls: []physical.WindowCall{call}, Names: []string{"w"}}
		}, 1, batchtest.Shape{Rows: 8}, in)
		if sqlerr.CodeOf(err) != sqlerr.InvalidParameter {
			t.Errorf("%s of 0: %v", fn, err)
		}
	}
}
