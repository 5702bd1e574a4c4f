package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
)

var joinKinds = []physical.JoinKind{
	physical.Inner, physical.ProbeOuter, physical.BuildOuter, physical.FullOuter, physical.Semi, physical.Anti,
	physical.BuildSemi, physical.BuildAnti, physical.Mark,
}

// truth is a SQL truth value: 0 false, 1 true, 2 NULL.
type truth int

func and(a, b truth) truth {
	switch {
	case a == 0 || b == 0:
		return 0
	case a == 2 || b == 2:
		return 2
	}
	return 1
}

// keyEqual is whether two rows' keys are equal.
func keyEqual(p, b []expr.Value, keys [][2]int, nullEqual []bool) truth {
	all := truth(1)
	for i, k := range keys {
		x, y := p[k[0]], b[k[1]]
		switch {
		case x.Null && y.Null && nullEqual != nil && nullEqual[i]:
		case (x.Null || y.Null) && nullEqual != nil && nullEqual[i]:
			all = and(all, 0)
		case x.Null || y.Null:
			all = and(all, 2)
		default:
			all = and(all, truth(bitOf(order(x, y) == 0)))
		}
	}
	return all
}

// referenceJoin is a join by its definition, a pair at a time. match is a pair's condition beside the keys.
func referenceJoin(kind physical.JoinKind, probe, build batchtest.Table, equal, match func(p, b []expr.Value) truth, nullAware bool) batchtest.Table {
	var out batchtest.Table
	nulls := func(t batchtest.Table) []expr.Value {
		row := make([]expr.Value, len(t.Fields))
		for i, f := range t.Fields {
			row[i] = expr.NullOf(f.Type)
		}
		return row
	}
	glue := func(a, b []expr.Value) []expr.Value { return append(append([]expr.Value{}, a...), b...) }
	matched := make([]bool, len(build.Rows))
	for _, p := range probe.Rows {
		found := truth(0)
		for k, b := range build.Rows {
			e := equal(p, b)
			if match(p, b) != 1 {
				continue
			}
			if e == 2 && found == 0 && nullAware {
				found = 2
			}
			if e != 1 {
				continue
			}
			found, matched[k] = 1, true
			switch kind {
			case physical.Inner, physical.ProbeOuter, physical.BuildOuter, physical.FullOuter:
				out.Rows = append(out.Rows, glue(p, b))
			}
		}
		switch {
		case kind == physical.Semi && found == 1, kind == physical.Anti && found == 0:
			out.Rows = append(out.Rows, p)
		case (kind == physical.ProbeOuter || kind == physical.FullOuter) && found != 1:
			out.Rows = append(out.Rows, glue(p, nulls(build)))
		case kind == physical.Mark:
			m := expr.BoolValue(found == 1)
			m.Null = found == 2
			out.Rows = append(out.Rows, glue(p, []expr.Value{m}))
		}
	}
	for k, b := range build.Rows {
		switch {
		case (kind == physical.BuildOuter || kind == physical.FullOuter) && !matched[k]:
			out.Rows = append(out.Rows, glue(nulls(probe), b))
		case kind == physical.BuildSemi && matched[k], kind == physical.BuildAnti && !matched[k]:
			out.Rows = append(out.Rows, b)
		}
	}
	return out
}

func always(_, _ []expr.Value) truth { return 1 }

const joinSchema = "i int64, n int32, d decimal(20,2), s utf8, f float64, u uuid, date date, keep bool, p utf8"

func TestHashJoinsAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	probe, build := random(rng, joinSchema, 60, true), random(rng, joinSchema, 40, true)
	for i := range build.Rows { // most integers are far apart, so that hashing is tried too
		if v := &build.Rows[i][0]; i%3 == 0 && !v.Null {
			v.Int *= 1 << 40
		}
	}
	empty, full := batchtest.Table{Fields: build.Fields}, batchtest.Table{Fields: build.Fields}
	for _, row := range build.Rows {
		if !slices.ContainsFunc(row, func(v expr.Value) bool { return v.Null }) {
			full.Rows = append(full.Rows, row)
		}
	}
	// The residual is that the build row's column "keep" is true.
	residual := &expr.Input{Index: len(probe.Fields) + 7, Typ: boolean, Nullable: true}
	match := func(_, b []expr.Value) truth { return truth(bitOf(b[7].IsTrue())) }
	for k, keys := range [][]int{{0}, {3}, {1}, {4}, {1, 6}, {0, 2}, {3, 0}, {5}} {
		var pk, bk []expr.Expr
		var at [][2]int
		for _, c := range keys {
			pk, bk, at = append(pk, probe.In(c)), append(bk, build.In(c)), append(at, [2]int{c, c})
		}
		for _, kind := range joinKinds {
			for variant := range 7 {
				n := &physical.HashJoin{Kind: kind, ProbeKeys: pk, BuildKeys: bk}
				right, cond := build, always
				switch variant {
				case 1:
					n.Residual, cond = residual, match
				case 2:
					n.NullEqual = make([]bool, len(keys))
					n.NullEqual[rng.IntN(len(keys))] = true
				case 3, 4, 6:
					if len(keys) > 1 || kind != physical.Anti && kind != physical.Mark {
						continue
					}
					n.NullAware = true
					switch variant {
					case 4:
						n.Residual, cond = residual, match
					case 6: // no NULL on the build side
						right = full
					}
				case 5:
					right = empty
				}
				equal := func(p, b []expr.Value) truth { return keyEqual(p, b, at, n.NullEqual) }
				want := referenceJoin(kind, probe, right, equal, cond, n.NullAware)
				t.Run(fmt.Sprintf("keys %v kind %d variant %d", keys, kind, variant), func(t *testing.T) {
					plan := func(in ...physical.Node) physical.Node {
						c := *n
						c.Probe, c.Build = in[0], in[1]
						return &c
					}
					if k < 2 {
						batchtest.Run(t, want, plan, probe, right)
						return
					}
					// The kinds have been seen in every shape; the keys have not in every kind.
					for _, threads := range []int{1, 4} {
						got, err := batchtest.Execute(t, plan, threads, batchtest.Shape{Rows: 13, Select: true, Forms: true, Seed: uint64(k)}, probe, right)
						if err != nil {
							t.Fatal(err)
						}
						batchtest.Same(t, fmt.Sprint(threads, " goroutines"), got, want, false)
					}
				})
			}
		}
	}
}

func TestLoopJoinsAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	probe, build := random(rng, "a int32, s utf8", 40, true), random(rng, "b int64, keep bool", 30, true)
	cond := &expr.Input{Index: 3, Typ: boolean, Nullable: true}
	match := func(_, b []expr.Value) truth { return truth(bitOf(b[1].IsTrue())) }
	for _, kind := range joinKinds {
		if kind == physical.BuildSemi || kind == physical.BuildAnti {
			continue
		}
		for _, with := range []bool{false, true} {
			n, m := &physical.LoopJoin{Kind: kind}, always
			if with {
				n.Cond, m = cond, match
			}
			for _, right := range []batchtest.Table{build, {Fields: build.Fields}} {
				want := referenceJoin(kind, probe, right, always, m, false)
				t.Run(fmt.Sprintf("kind %d condition %v build %d", kind, with, len(right.Rows)), func(t *testing.T) {
					batchtest.Run(t, want, func(in ...physical.Node) physical.Node {
						c := *n
						c.Probe, c.Build = in[0], in[1]
						return &c
					}, probe, right)
				})
			}
		}
	}
}

func TestIntervalsJoinByLength(t *testing.T) {
	month, days := vector.Interval{Months: 1}, vector.Interval{Days: 30}
	probe, build := batchtest.Rows("a interval", month, vector.Interval{Days: 31}), batchtest.Rows("b interval, n int64", days, 1, month, 2)
	batchtest.Run(t, batchtest.Rows("n int64", 1, 2), func(in ...physical.Node) physical.Node {
		return &physical.HashJoin{Probe: in[0], Build: in[1], ProbeKeys: []expr.Expr{probe.In(0)}, BuildKeys: []expr.Expr{build.In(0)}, Output: []int{2}}
	}, probe, build)
}

func TestJoinOutputIsCut(t *testing.T) {
	probe, build := batchtest.Rows("a int64, b utf8", 1, "x", 2, "y"), batchtest.Rows("c int64, d utf8", 1, "one", 3, "three")
	want := batchtest.Rows("d utf8, a int64, e utf8", "one", 1, "one")
	batchtest.Run(t, want, func(in ...physical.Node) physical.Node {
		return &physical.HashJoin{
			Probe: in[0], Build: in[1], ProbeKeys: []expr.Expr{probe.In(0)}, BuildKeys: []expr.Expr{build.In(0)}, Output: []int{3, 0, 3},
		}
	}, probe, build)
}

// TestJoinOfMany has enough rows for tables built side by side, dense and sparse, with and without duplicates.
func TestJoinOfMany(t *testing.T) {
	const n = 80000
	rng := rand.New(rand.NewPCG(15, 16))
	for _, tc := range []struct {
		name string
		key  func(i int) int64
	}{
		{"dense", func(i int) int64 { return int64(i) - 1000 }},
		{"dense, duplicates", func(i int) int64 { return int64(i / 2) }},
		{"sparse", func(i int) int64 { return int64(i) * 1_000_003 }},
		{"sparse, duplicates", func(i int) int64 { return int64(i/3) * 1_000_003 }},
	} {
		probe, build := batchtest.Rows("a int64"), batchtest.Rows("k int64, v int64")
		byKey := map[int64][]int64{}
		for i := range n {
			k := tc.key(i)
			byKey[k] = append(byKey[k], int64(i))
			build.Rows = append(build.Rows, []expr.Value{expr.IntValue(bigint, k), expr.IntValue(bigint, int64(i))})
		}
		var want batchtest.Table
		for range 20000 {
			k := tc.key(rng.IntN(n)) + int64(rng.IntN(2))
			a := expr.IntValue(bigint, k)
			probe.Rows = append(probe.Rows, []expr.Value{a})
			for _, v := range byKey[k] {
				want.Rows = append(want.Rows, []expr.Value{a, expr.IntValue(bigint, v)})
			}
		}
		t.Run(tc.name, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				got, err := batchtest.Execute(t, func(in ...physical.Node) physical.Node {
					return &physical.HashJoin{
						Probe: in[0], Build: in[1], ProbeKeys: []expr.Expr{probe.In(0)}, BuildKeys: []expr.Expr{build.In(0)}, Output: []int{0, 2},
					}
				}, threads, batchtest.Shape{Rows: 4096, Select: true}, probe, build)
				if err != nil {
					t.Fatal(err)
				}
				batchtest.Same(t, fmt.Sprint(threads, " goroutines"), got, want, false)
			}
		})
	}
}

func TestRuntimeFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const schema = "i int64, n int32, d decimal(9,2), s utf8, f float64, u uuid, b bool, w uint64"
	build := random(rng, schema, 60, false)
	for c := range build.Fields {
		t.Run(build.Fields[c].Name, func(t *testing.T) {
			env := &exec.Env{Threads: 2, Filters: &exec.RuntimeFilters{}, OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
				return batchtest.NewSource(build, batchtest.Shape{Rows: 16, Select: true, Forms: true}), nil
			}}
			join := &physical.HashJoin{
				Kind: physical.Semi, Probe: &physical.Values{Fields: build.Fields}, Build: batchtest.Scan(build),
				ProbeKeys: []expr.Expr{build.In(c)}, BuildKeys: []expr.Expr{build.In(c)}, Runtime: []physical.RuntimeBuild{{Filter: 7}},
			}
			if err := exec.Run(t.Context(), join, env, &batchtest.Collect{}); err != nil {
				t.Fatal(err)
			}
			f := env.Filters.Get(7)
			if f == nil || f.Empty() {
				t.Fatal("no filter, or an empty one")
			}
			others := random(rng, schema, 200, false)
			others.Rows = append(others.Rows, build.Rows...)
			for seed := range uint64(3) {
				src := batchtest.NewSource(others, batchtest.Shape{Rows: 50, Forms: true, Seed: seed})
				checkFilter(t, f, src, build, c)
			}
		})
	}
}

// checkFilter checks that f lets every value of column c of build pass, no NULL, and not nearly all others.
func checkFilter(t *testing.T, f exec.KeyFilter, src exec.Source, build batchtest.Table, c int) {
	t.Helper()
	keys := map[string]bool{}
	lo, hi, ranged := f.Range()
	for _, row := range build.Rows {
		if v := row[c]; !v.Null {
			keys[batchtest.Format(v)] = true
			if x := v.Int; ranged && v.Type.IsInteger() && (x < lo || x > hi) {
				t.Errorf("%d is outside of %d … %d", x, lo, hi)
			}
		}
	}
	r, _ := src.NewReader()
	defer r.Close()
	strangers, passed := 0, 0
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			break
		}
		bits := []uint64{1<<uint(b.Len) - 1}
		f.Narrow(b.Cols[c], bits)
		for i := range b.Len {
			v, pass := batchtest.ValueAt(b.Cols[c], i), bits[0]>>uint(i)&1 != 0
			switch key := keys[batchtest.Format(v)]; {
			case key && !pass:
				t.Errorf("the filter drops %s, a key", batchtest.Format(v))
			case v.Null && pass:
				t.Error("the filter lets NULL pass")
			case !key && !v.Null:
				strangers++
				passed += bitOf(pass)
			}
		}
	}
	if strangers > 50 && passed > strangers/4 {
		t.Errorf("%d of %d strangers pass", passed, strangers)
	}
}

func TestEmptyBuildOpensNoProbe(t *testing.T) {
	probe, build := numbered(10), batchtest.Rows("k int64")
	scan := batchtest.Scan(probe)
	for _, kind := range joinKinds {
		opened := false
		env := &exec.Env{OpenScan: func(_ context.Context, s *physical.Scan) (exec.Source, error) {
			if s == scan {
				opened = true
				return batchtest.NewSource(probe, batchtest.Shape{Rows: 4}), nil
			}
			return batchtest.NewSource(build, batchtest.Shape{Rows: 4}), nil
		}}
		join := &physical.HashJoin{Kind: kind, Probe: scan, Build: batchtest.Scan(build), ProbeKeys: []expr.Expr{probe.In(0)}, BuildKeys: []expr.Expr{build.In(0)}}
		if err := exec.Run(t.Context(), join, env, &batchtest.Collect{}); err != nil {
			t.Fatal(err)
		}
		needs := kind == physical.ProbeOuter || kind == physical.FullOuter || kind == physical.Anti || kind == physical.Mark
		if opened != needs {
			t.Errorf("kind %d: opened %v", kind, opened)
		}
	}
}

// A join on several keys gives a filter of each that is asked for.
func TestRuntimeFilterOfEveryKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	const schema = "a int64, b int32, s utf8"
	build := random(rng, schema, 60, false)
	env := &exec.Env{Threads: 2, Filters: &exec.RuntimeFilters{}, OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
		return batchtest.NewSource(build, batchtest.Shape{Rows: 16, Select: true, Forms: true}), nil
	}}
	keys := []expr.Expr{build.In(0), build.In(1), build.In(2)}
	join := &physical.HashJoin{
		Probe: &physical.Values{Fields: build.Fields}, Build: batchtest.Scan(build), ProbeKeys: keys, BuildKeys: keys,
		Runtime: []physical.RuntimeBuild{{Filter: 3, Key: 2}, {Filter: 4, Key: 1}},
	}
	if err := exec.Run(t.Context(), join, env, &batchtest.Collect{}); err != nil {
		t.Fatal(err)
	}
	others := random(rng, schema, 200, false)
	others.Rows = append(others.Rows, build.Rows...)
	for id, c := range map[int32]int{3: 2, 4: 1} {
		f := env.Filters.Get(id)
		if f == nil || f.Empty() {
			t.Fatalf("no filter %d, or an empty one", id)
		}
		// Rows with NULL in any key match nothing, and need not pass.
		strict := batchtest.Table{Fields: build.Fields}
		for _, row := range build.Rows {
			if !row[0].Null && !row[1].Null && !row[2].Null {
				strict.Rows = append(strict.Rows, row)
			}
		}
		checkFilter(t, f, batchtest.NewSource(others, batchtest.Shape{Rows: 50, Forms: true}), strict, c)
	}
}
