package eval

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func of(k sqltype.Kind) sqltype.Type { return sqltype.Of(k) }

// pool is values of a type, with those at its edges.
func pool(t sqltype.Type) []expr.Value {
	var out []expr.Value
	ints := func(vs ...int64) []expr.Value {
		for _, v := range vs {
			out = append(out, expr.IntValue(t, v))
		}
		return out
	}
	switch t.Kind {
	case sqltype.Bool:
		return []expr.Value{expr.BoolValue(false), expr.BoolValue(true)}
	case sqltype.Int8:
		return ints(0, 1, -1, 2, 7, 100, math.MinInt8, math.MaxInt8)
	case sqltype.Int16:
		return ints(0, 1, -1, 2, 7, 100, math.MinInt16, math.MaxInt16)
	case sqltype.Int32:
		return ints(0, 1, -1, 2, 7, 100, math.MinInt32, math.MaxInt32)
	case sqltype.Int64:
		return ints(0, 1, -1, 2, 7, 100, math.MinInt64, math.MaxInt64)
	case sqltype.Uint8:
		return ints(0, 1, 2, 7, 100, math.MaxUint8)
	case sqltype.Uint16:
		return ints(0, 1, 2, 7, 100, math.MaxUint16)
	case sqltype.Uint32:
		return ints(0, 1, 2, 7, 100, math.MaxUint32)
	case sqltype.Uint64:
		return ints(0, 1, 2, 7, 100, -1)
	case sqltype.Float32:
		for _, f := range []float64{0, 1, -1, 0.5, 2.5, 3, math.MaxFloat32, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			out = append(out, expr.Value{Type: t, Float: f})
		}
	case sqltype.Float64:
		for _, f := range []float64{0, 1, -1, 0.5, 2.5, 3, 1e300, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			out = append(out, expr.FloatValue(f))
		}
	case sqltype.Decimal:
		most := int128.Pow10(int(t.Precision)).Sub(int128.FromInt64(1))
		for _, v := range []int128.Int128{{}, int128.FromInt64(1), int128.FromInt64(-5), int128.FromInt64(50), int128.FromInt64(100), int128.FromInt64(-249), most, most.Neg()} {
			if v.FitsDigits(int(t.Precision)) {
				out = append(out, expr.Value{Type: t, Wide: v})
			}
		}
	case sqltype.Utf8:
		for _, s := range []string{"", "a", "A", "PROMO BRUSHED", "PROMO", "special requests", "日本語", "%_\\", " x ", "12", "-3.50", "1994-01-31", "true", "axxb", "1 day", "b%"} {
			out = append(out, expr.StringValue(s))
		}
	case sqltype.Binary:
		for _, s := range []string{"", "\x00", "ab", "\xff\xfe", `\x61`} {
			out = append(out, expr.Value{Type: t, Str: s})
		}
	case sqltype.Date:
		return ints(0, 1, -1, 8766, 10957, 19782, calendar.MinDay, calendar.MaxDay)
	case sqltype.Time:
		return ints(0, 1, calendar.Hour, calendar.Day-1, 12*calendar.Hour+34*calendar.Minute+56789012)
	case sqltype.Timestamp, sqltype.TimestampTZ:
		return ints(0, 1, -1, 8766*calendar.Day, 757382400123456, calendar.MinMicro, calendar.MaxMicro)
	case sqltype.Interval:
		for _, v := range []vector.Interval{{}, {Months: 1}, {Months: -13, Days: 3}, {Days: 30}, {Micros: calendar.Hour}, {Micros: -1}, {Months: math.MaxInt32, Days: math.MaxInt32, Micros: math.MaxInt64}} {
			out = append(out, expr.IntervalValue(v.Months, v.Days, v.Micros))
		}
	case sqltype.List:
		elem := pool(*t.Elem)
		few := elem[:min(4, len(elem))]
		for _, parts := range [][]expr.Value{{}, few[:1], few, {few[1], expr.NullOf(*t.Elem), few[0]}, {few[2], few[2]}} {
			out = append(out, expr.NestedOf(t, parts))
		}
	case sqltype.Struct:
		for k := range 4 {
			var parts []expr.Value
			for _, f := range t.Fields {
				parts = append(parts, append(pool(f.Type), expr.NullOf(f.Type))[k*2])
			}
			out = append(out, expr.NestedOf(t, parts))
		}
	case sqltype.UUID:
		for _, v := range []int128.Int128{{}, {Lo: 1}, {Hi: -1}, {Hi: 1, Lo: math.MaxUint64}} {
			out = append(out, expr.Value{Type: t, Wide: v})
		}
	}
	return out
}

var forms = []string{"flat", "dict8", "dict16", "dict32", "const"}

// columnOf makes a vector of vals, which are of type t, NULLs among them. A dictionary has all of dict, wanted or not; const takes
// the first value for all.
func columnOf(t sqltype.Type, vals, dict []expr.Value, form string) *vector.Vector {
	v := &vector.Vector{}
	if form == "const" {
		SetConst(v, vals[0], len(vals))
		return v
	}
	var valid []uint64
	if slices.ContainsFunc(vals, func(v expr.Value) bool { return v.Null }) {
		valid = make([]uint64, vector.Words(len(vals)))
		for i, x := range vals {
			valid[i>>6] |= bit(!x.Null) << (uint(i) & 63)
		}
	}
	if form == "flat" {
		setFlat(v, t, vals, valid)
		return v
	}
	d := &vector.Vector{}
	setFlat(d, t, dict, nil)
	codes := make([]uint32, len(vals))
	for i, x := range vals {
		codes[i] = uint32(max(slices.IndexFunc(dict, x.Identical), 0))
	}
	switch id := vector.NewDictID(); form {
	case "dict8":
		vector.SetDict(v, d, id, narrowCodes[uint8](codes), valid)
	case "dict16":
		vector.SetDict(v, d, id, narrowCodes[uint16](codes), valid)
	default:
		vector.SetDict(v, d, id, codes, valid)
	}
	return v
}

func narrowCodes[C uint8 | uint16](codes []uint32) []C {
	out := make([]C, len(codes))
	for i, c := range codes {
		out[i] = C(c)
	}
	return out
}

func setFlat(v *vector.Vector, t sqltype.Type, vals []expr.Value, valid []uint64) {
	switch vector.PhysOf(t) {
	case vector.PhysBool:
		bits := make([]uint64, vector.Words(len(vals)))
		for i, x := range vals {
			bits[i>>6] |= uint64(x.Int) << (uint(i) & 63)
		}
		vector.SetBits(v, t, bits, len(vals), valid)
	case vector.PhysInt8:
		setValues(v, t, vals, valid, func(x expr.Value) int8 { return int8(x.Int) })
	case vector.PhysInt16:
		setValues(v, t, vals, valid, func(x expr.Value) int16 { return int16(x.Int) })
	case vector.PhysInt32:
		setValues(v, t, vals, valid, func(x expr.Value) int32 { return int32(x.Int) })
	case vector.PhysInt64:
		setValues(v, t, vals, valid, func(x expr.Value) int64 { return x.Int | int64(x.Wide.Lo) })
	case vector.PhysUint8:
		setValues(v, t, vals, valid, func(x expr.Value) uint8 { return uint8(x.Int) })
	case vector.PhysUint16:
		setValues(v, t, vals, valid, func(x expr.Value) uint16 { return uint16(x.Int) })
	case vector.PhysUint32:
		setValues(v, t, vals, valid, func(x expr.Value) uint32 { return uint32(x.Int) })
	case vector.PhysUint64:
		setValues(v, t, vals, valid, func(x expr.Value) uint64 { return uint64(x.Int) })
	case vector.PhysFloat32:
		setValues(v, t, vals, valid, func(x expr.Value) float32 { return float32(x.Float) })
	case vector.PhysFloat64:
		setValues(v, t, vals, valid, func(x expr.Value) float64 { return x.Float })
	case vector.PhysInt128:
		fits := func(x expr.Value) bool { _, ok := x.Wide.Int64(); return ok }
		if t.Kind == sqltype.Decimal && !slices.ContainsFunc(vals, func(x expr.Value) bool { return !fits(x) }) {
			setValues(v, t, vals, valid, func(x expr.Value) int64 { return int64(x.Wide.Lo) })
			return
		}
		setValues(v, t, vals, valid, func(x expr.Value) int128.Int128 { return x.Wide })
	case vector.PhysString:
		setValues(v, t, vals, valid, func(x expr.Value) string { return x.Str })
	case vector.PhysInterval:
		setValues(v, t, vals, valid, func(x expr.Value) vector.Interval {
			return vector.Interval{Months: x.Months, Days: x.Days, Micros: x.Int}
		})
	}
}

func setValues[T vector.Element](v *vector.Vector, t sqltype.Type, vals []expr.Value, valid []uint64, get func(expr.Value) T) {
	out := make([]T, len(vals))
	for i, x := range vals {
		out[i] = get(x)
	}
	vector.SetFlat(v, t, out, valid)
}

// A trial is batches to compute an expression over.
type trial struct {
	types []sqltype.Type
	rows  int
	forms []string // per column
	nulls float64  // share of NULLs
	alive float64  // share of rows alive; 1: no selection
	calm  bool     // leave out values that overflow
}

// batch makes the trial's rows and the batch of them.
func (tr trial) batch(r *rand.Rand) (rows [][]expr.Value, b *vector.Batch) {
	rows = make([][]expr.Value, tr.rows)
	for i := range rows {
		rows[i] = make([]expr.Value, len(tr.types))
	}
	b = &vector.Batch{Len: tr.rows}
	for c, t := range tr.types {
		all := pool(t)
		used := all
		if tr.calm {
			used = all[:min(len(all), 6)]
		}
		vals := make([]expr.Value, tr.rows)
		for i := range vals {
			vals[i] = used[r.IntN(len(used))]
			if r.Float64() < tr.nulls {
				vals[i] = expr.NullOf(t)
			}
			if tr.forms[c] == "const" {
				vals[i] = vals[0]
			}
			rows[i][c] = vals[i]
		}
		b.Cols = append(b.Cols, columnOf(t, vals, all, tr.forms[c]))
	}
	if tr.alive < 1 {
		b.Sel = []int32{}
		for i := range tr.rows {
			if r.Float64() < tr.alive {
				b.Sel = append(b.Sel, int32(i))
			}
		}
	}
	return rows, b
}

func trials(types []sqltype.Type) []trial {
	var out []trial
	for i, form := range forms {
		for _, n := range []int{1, 7, 130} {
			for _, nulls := range []float64{0, 0.3} {
				for _, alive := range []float64{1, 0.5, 0.05} {
					if n == 1 && alive < 1 {
						continue
					}
					tr := trial{types: types, rows: n, nulls: nulls, alive: alive, calm: n == 130}
					for c := range types {
						f := form
						if c > 0 && n == 7 {
							f = forms[(i+c*2+1)%len(forms)]
						}
						tr.forms = append(tr.forms, f)
					}
					out = append(out, tr)
				}
			}
		}
	}
	return append(out, trial{types: types, rows: 300, alive: 1, calm: true, forms: slices.Repeat([]string{"flat"}, len(types))})
}

// check computes e over a batch and compares each live row with the reference.
func check(t *testing.T, e expr.Expr, ev *Evaluator, rows [][]expr.Value, b *vector.Batch) {
	t.Helper()
	got, err := ev.Eval(b)
	codes := map[sqlerr.Code]bool{}
	live := b.Sel
	if live == nil {
		live = (&instance{}).identity(b.Len)
	}
	want := make([]expr.Value, b.Len)
	for _, i := range live {
		v, refErr := reference(e, rows[i])
		if refErr != nil {
			codes[sqlerr.CodeOf(refErr)] = true
		}
		want[i] = v
	}
	switch {
	case err != nil && !codes[sqlerr.CodeOf(err)]:
		t.Fatalf("%s: error %v, want one of %v", expr.String(e), err, codes)
	case err == nil && len(codes) > 0:
		t.Fatalf("%s: no error, want one of %v", expr.String(e), codes)
	case err != nil:
		return
	case got.Len != b.Len || !got.Type.Equal(e.Type()):
		t.Fatalf("%s: a vector of %d %v, want %d %v", expr.String(e), got.Len, got.Type, b.Len, e.Type())
	}
	for _, i := range live {
		if v := ValueAt(got, int(i)); !sameValue(v, want[i]) {
			t.Fatalf("%s at row %d %s: got %s, want %s", expr.String(e), i, describe(rows[i]), v.SQL(), want[i].SQL())
		}
	}
}

func describe(row []expr.Value) string {
	s := ""
	for _, v := range row {
		s += " " + v.SQL()
	}
	return "[" + s + " ]"
}

func sameValue(a, b expr.Value) bool {
	if a.Null || b.Null {
		return a.Null == b.Null
	}
	if a.Type.IsFloat() && math.IsNaN(a.Float) && math.IsNaN(b.Float) {
		return true
	}
	return a.Int == b.Int && a.Str == b.Str && a.Wide == b.Wide && a.Months == b.Months && a.Days == b.Days &&
		math.Float64bits(a.Float) == math.Float64bits(b.Float)
}

// checkAll runs e through all trials, as a value and, if it is a truth value, as a filter.
func checkAll(t *testing.T, e expr.Expr, types []sqltype.Type) {
	t.Helper()
	p, err := Compile(e)
	if err != nil {
		t.Fatalf("%s: %v", expr.String(e), err)
	}
	ev := p.NewEvaluator(context.Background(), 130)
	r := rand.New(rand.NewPCG(1, 2))
	for _, tr := range trials(types) {
		rows, b := tr.batch(r)
		check(t, e, ev, rows, b)
		if t.Failed() {
			return
		}
		if e.Type().Kind == sqltype.Bool {
			checkFilter(t, e, rows, b)
		}
	}
}

func checkFilter(t *testing.T, e expr.Expr, rows [][]expr.Value, b *vector.Batch) {
	t.Helper()
	f, err := NewFilter(context.Background(), e, b.Len)
	if err != nil {
		t.Fatal(err)
	}
	out := *b
	if err := f.Apply(&out); err != nil {
		return // whether an error is right is Eval's test; conjuncts may hide one
	}
	live := b.Sel
	if live == nil {
		live = (&instance{}).identity(b.Len)
	}
	var want []int32
	for _, i := range live {
		if v, err := reference(e, rows[i]); err == nil && v.IsTrue() {
			want = append(want, i)
		}
	}
	got := out.Sel
	if got == nil {
		got = live
	}
	if !slices.Equal(got, want) {
		t.Fatalf("filter %s keeps %v, want %v", expr.String(e), got, want)
	}
}

// input is column i of type t.
func input(i int, t sqltype.Type) expr.Expr {
	return &expr.Input{Index: i, Name: fmt.Sprintf("c%d", i), Typ: t, Nullable: true}
}
