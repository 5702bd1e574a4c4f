package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// referenceSort is t's rows in order, a window of them.
func referenceSort(t batchtest.Table, keys []physical.SortKey, fetch, offset int64) batchtest.Table {
	rows := slices.Clone(t.Rows)
	slices.SortStableFunc(rows, func(a, b []expr.Value) int {
		for _, k := range keys {
			x, y := a[k.Expr.(*expr.Input).Index], b[k.Expr.(*expr.Input).Index]
			if x.Null != y.Null {
				if x.Null == k.NullsFirst {
					return -1
				}
				return 1
			}
			if x.Null {
				continue
			}
			if o := order(x, y); o != 0 {
				if k.Desc {
					return -o
				}
				return o
			}
		}
		return 0
	})
	rows = rows[min(offset, int64(len(rows))):]
	if fetch >= 0 {
		rows = rows[:min(fetch, int64(len(rows)))]
	}
	return batchtest.Table{Fields: t.Fields, Rows: rows}
}

// unique sets column c of every row to a number of its own, so that an order by it has no ties.
func unique(rng *rand.Rand, t batchtest.Table, c int) batchtest.Table {
	for i, k := range rng.Perm(len(t.Rows)) {
		t.Rows[i][c] = expr.IntValue(bigint, int64(k))
	}
	return t
}

func TestSortAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, small := range []bool{true, false} {
		in := unique(rng, random(rng, every, 300, small), 19)
		last := physical.SortKey{Expr: in.In(19)}
		for c := range 19 {
			for variant := range 4 {
				keys := []physical.SortKey{{Expr: in.In(c), Desc: variant&1 != 0, NullsFirst: variant&2 != 0}}
				if variant == 3 { // more keys, so that they do not fit an entry
					keys = append(keys, physical.SortKey{Expr: in.In(rng.IntN(19)), Desc: rng.IntN(2) == 0}, physical.SortKey{Expr: in.In(rng.IntN(19))})
				}
				keys = append(keys, last)
				for _, w := range []struct{ fetch, offset int64 }{{-1, 0}, {10, 0}, {7, 20}, {-1, 290}, {0, 0}} {
					if small && w.fetch == 10 {
						continue
					}
					want := referenceSort(in, keys, w.fetch, w.offset)
					t.Run(fmt.Sprintf("%s variant %d fetch %d offset %d", in.Fields[c].Name, variant, w.fetch, w.offset), func(t *testing.T) {
						for _, threads := range []int{1, 3} {
							got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
								return &physical.Sort{Input: n[0], Keys: keys, Fetch: w.fetch, Offset: w.offset}
							}, threads, batchtest.Shape{Rows: 16, Select: true, Forms: true}, in)
							if err != nil {
								t.Fatal(err)
							}
							batchtest.Same(t, fmt.Sprint(threads, " goroutines"), got, want, true)
						}
					})
				}
			}
		}
	}
}

func TestSortShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	in := unique(rng, random(rng, "s utf8, k int64", 200, true), 1)
	keys := []physical.SortKey{{Expr: in.In(0), Desc: true}, {Expr: in.In(1)}}
	for _, fetch := range []int64{-1, 5} {
		batchtest.RunOrdered(t, referenceSort(in, keys, fetch, 0), func(n ...physical.Node) physical.Node {
			s := &physical.Sort{Input: n[0], Keys: keys, Fetch: fetch}
			// What follows a sort keeps its order.
			return &physical.Project{Input: &physical.Exchange{Input: s}, Exprs: []expr.Expr{in.In(0), in.In(1)}, Names: []string{"s", "k"}}
		}, in)
	}
}

func TestLimitAfterSortTakesTheFirst(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 26))
	in := unique(rng, random(rng, "a int64", 30000, false), 0)
	keys := []physical.SortKey{{Expr: in.In(0), Desc: true}}
	sum := call("sum", in.In(0))
	want := batchtest.Rows("s decimal(38,0)", 29999+29998+29997)
	got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
		l := &physical.Limit{Input: &physical.Sort{Input: n[0], Keys: keys, Fetch: -1}, Fetch: 3}
		return aggregate(l, physical.Single, nil, []expr.Aggregate{sum})
	}, 4, batchtest.Shape{Rows: 100}, in)
	if err != nil {
		t.Fatal(err)
	}
	batchtest.Same(t, "sum of the first", got, want, true)
}

// TestSortOfMany has runs long enough to be merged in parts, and a top-n that prunes.
func TestSortOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(27, 28))
	in := unique(rng, random(rng, "s utf8, d decimal(9,2), k int64", 60000, false), 2)
	for _, keys := range [][]physical.SortKey{
		{{Expr: in.In(2)}},
		{{Expr: in.In(1), Desc: true}, {Expr: in.In(2)}},
		{{Expr: in.In(0)}, {Expr: in.In(2), Desc: true}},
	} {
		for _, fetch := range []int64{-1, 10} {
			want := referenceSort(in, keys, fetch, 0)
			for _, threads := range []int{1, 3} {
				got, err := batchtest.Execute(t, func(n ...physical.Node) physical.Node {
					return &physical.Sort{Input: n[0], Keys: keys, Fetch: fetch}
				}, threads, batchtest.Shape{Rows: 1000}, in)
				if err != nil {
					t.Fatal(err)
				}
				batchtest.Same(t, fmt.Sprint(len(keys), " keys, fetch ", fetch, ", ", threads, " goroutines"), got, want, true)
			}
		}
	}
}

// streams gives tables as the sorted streams of a Remote.
type streams struct {
	exec.Source
	tables []batchtest.Table
	shape  batchtest.Shape
}

func (s *streams) Close() error { return nil }

func (s *streams) Streams() ([]exec.Reader, error) {
	var out []exec.Reader
	for i, t := range s.tables {
		shape := s.shape
		shape.Seed = uint64(i)
		r, err := batchtest.NewSource(t, shape).NewReader()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func TestMergeOfStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 30))
	in := unique(rng, random(rng, "s utf8, k int64", 500, true), 1)
	keys := []physical.SortKey{{Expr: in.In(0), NullsFirst: true}, {Expr: in.In(1), Desc: true}}
	want := referenceSort(in, keys, -1, 0)
	for _, n := range []int{1, 2, 5, 9} {
		parts := make([]batchtest.Table, n)
		for i := range parts {
			parts[i].Fields = in.Fields
		}
		for _, row := range want.Rows {
			p := rng.IntN(max(n-1, 1)) // the last of many is empty
			parts[p].Rows = append(parts[p].Rows, row)
		}
		for _, rows := range []int{1, 7, 100} {
			shape := batchtest.Shape{Rows: rows, Select: true, Forms: true}
			mem := budget.New(0)
			env := &exec.Env{Threads: 3, BatchRows: rows, Budget: mem, OpenRemote: func(context.Context, *physical.Remote) (exec.Source, error) {
				return &streams{tables: parts, shape: shape}, nil
			}}
			c := &batchtest.Collect{}
			if err := exec.Run(t.Context(), &physical.Remote{Fields: in.Fields, Merge: keys}, env, c); err != nil {
				t.Fatal(err)
			}
			batchtest.Same(t, fmt.Sprint(n, " streams, batches of ", rows), c.Table(), want, true)
			if mem.Used() != 0 {
				t.Errorf("%d bytes stay reserved", mem.Used())
			}
		}
	}
}

func TestSortOverMemoryLimit(t *testing.T) {
	in := batchtest.Rows("k int64")
	for i := range 100000 {
		in.Rows = append(in.Rows, []expr.Value{expr.IntValue(sqltype.Of(sqltype.Int64), int64(i))})
	}
	keys := []physical.SortKey{{Expr: in.In(0), Desc: true}}
	if err := runLimited(t, &physical.Sort{Input: batchtest.Scan(in), Keys: keys, Fetch: -1}, in, 1<<20); err == nil {
		t.Error("it did not fail")
	}
	// A top-n keeps little.
	if err := runLimited(t, &physical.Sort{Input: batchtest.Scan(in), Keys: keys, Fetch: 10}, in, 1<<20); err != nil {
		t.Error(err)
	}
}

func TestStringsWithZeroBytesSort(t *testing.T) {
	in := batchtest.Rows("s utf8, k int64", "a\x00", 1, "a", 2, "a\x00b", 3, "a\x00\x00", 4, "", 5, "\x00", 6, "a\x01", 7, "b", 8)
	for _, desc := range []bool{false, true} {
		keys := []physical.SortKey{{Expr: in.In(0), Desc: desc}, {Expr: in.In(1)}}
		batchtest.RunOrdered(t, referenceSort(in, keys, -1, 0), func(n ...physical.Node) physical.Node {
			return &physical.Sort{Input: n[0], Keys: keys, Fetch: -1}
		}, in)
	}
}
