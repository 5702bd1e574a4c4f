//go:build unix

package exec_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A slab is columns in memory, given in batches without a copy.
type slab struct {
	cols []*vector.Vector
	rows int
}

func (s *slab) scan() *physical.Scan {
	n := &physical.Scan{}
	for i, v := range s.cols {
		n.Columns = append(n.Columns, physical.ScanColumn{Name: fmt.Sprint("c", i), Index: i, Type: v.Type})
	}
	return n
}

func (s *slab) in(i int) *expr.Input { return &expr.Input{Index: i, Typ: s.cols[i].Type} }

type slabSource struct {
	*slab
	next atomic.Int64
}

func (s *slabSource) NewReader() (exec.Reader, error) { return &slabReader{slabSource: s}, nil }
func (*slabSource) Close() error                      { return nil }

type slabReader struct {
	*slabSource
	at, to int
	vecs   []vector.Vector
	cols   []*vector.Vector
}

func (r *slabReader) Next(context.Context) (*vector.Batch, error) {
	const morsel = 32 * vector.DefaultBatch
	if r.at == r.to {
		r.at = int(r.slabSource.next.Add(morsel)) - morsel
		r.to = min(r.at+morsel, r.rows)
		if r.at >= r.to {
			r.at, r.to = 0, 0
			return nil, nil
		}
	}
	from, to := r.at, min(r.at+vector.DefaultBatch, r.to)
	r.at = to
	if r.vecs == nil {
		r.vecs, r.cols = make([]vector.Vector, len(r.slab.cols)), make([]*vector.Vector, len(r.slab.cols))
	}
	for i, v := range r.slab.cols {
		d := &r.vecs[i]
		switch {
		case v.Form == vector.Dict:
			vector.SetDict(d, v.Dict, v.DictID, v.Codes8()[from:to], nil)
		case v.Phys == vector.PhysInt32:
			vector.SetFlat(d, v.Type, vector.Values[int32](v)[from:to], nil)
		default:
			vector.SetFlat(d, v.Type, vector.Values[int64](v)[from:to], nil)
		}
		r.cols[i] = d
	}
	return &vector.Batch{Cols: r.cols, Len: to - from}, nil
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func int64s(t sqltype.Type, n int, f func(i int) int64) *vector.Vector {
	vals := make([]int64, n)
	for i := range vals {
		vals[i] = f(i)
	}
	v := &vector.Vector{}
	vector.SetFlat(v, t, vals, nil)
	return v
}

// sink drops rows.
type sink struct{}

func (sink) NewLocal() (exec.Local, error)             { return sink{}, nil }
func (sink) Push(context.Context, *vector.Batch) error { return nil }
func (sink) Combine(context.Context, exec.Local) error { return nil }
func (sink) Finalize(context.Context) error            { return nil }
func (sink) Close() error                              { return nil }

func bench(b *testing.B, rows int, root physical.Node, slabs map[physical.Node]*slab) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprint(threads, "threads"), func(b *testing.B) {
			// Other processes come and go: only the processor's time can be compared.
			least, before := time.Duration(math.MaxInt64), cpuTime()
			for b.Loop() {
				env := &exec.Env{Threads: threads, OpenScan: func(_ context.Context, n *physical.Scan) (exec.Source, error) {
					return &slabSource{slab: slabs[n]}, nil
				}}
				if err := exec.Run(b.Context(), root, env, sink{}); err != nil {
					b.Fatal(err)
				}
				now := cpuTime()
				least, before = min(least, now-before), now
			}
			b.ReportMetric(float64(least.Microseconds())/1e3, "min-cpu-ms")
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

const (
	buildRows = 1_500_000
	probeRows = 6_000_000
)

func BenchmarkJoin(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		name string
		key  func(i int) int64 // of build row i
		row  func(i int) int   // the build row of probe row i
	}{
		{"dense sorted", func(i int) int64 { return int64(i) }, func(i int) int { return i / 4 }},
		{"dense shuffled", func(i int) int64 { return int64(i) }, func(int) int { return rng.IntN(buildRows) }},
		{"sparse sorted", func(i int) int64 { return int64(i) * 1_000_003 }, func(i int) int { return i / 4 }},
		{"sparse shuffled", func(i int) int64 { return int64(i) * 1_000_003 }, func(int) int { return rng.IntN(buildRows) }},
	} {
		build := &slab{rows: buildRows, cols: []*vector.Vector{int64s(bigint, buildRows, tc.key), int64s(bigint, buildRows, func(i int) int64 { return int64(i) })}}
		probe := &slab{rows: probeRows, cols: []*vector.Vector{
			int64s(bigint, probeRows, func(i int) int64 { return tc.key(tc.row(i)) }), int64s(bigint, probeRows, func(i int) int64 { return int64(i) }),
		}}
		p, d := probe.scan(), build.scan()
		join := &physical.HashJoin{Probe: p, Build: d, ProbeKeys: []expr.Expr{probe.in(0)}, BuildKeys: []expr.Expr{build.in(0)}, Output: []int{1, 3}}
		sum := func(i int) expr.Aggregate {
			return expr.Aggregate{Func: "sum", Args: []expr.Expr{&expr.Input{Index: i, Typ: bigint}}, Typ: expr.SumType(bigint)}
		}
		root := aggregate(join, physical.Single, nil, []expr.Aggregate{sum(0), sum(1)})
		b.Run(tc.name, func(b *testing.B) { bench(b, probeRows, root, map[physical.Node]*slab{p: probe, d: build}) })
	}
}

func BenchmarkGroupBy(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct {
		name string
		key  func(i int) int64
	}{
		{"sorted", func(i int) int64 { return int64(i / 4) }},
		{"shuffled", func(int) int64 { return int64(rng.IntN(buildRows)) }},
		{"sparse shuffled", func(int) int64 { return int64(rng.IntN(buildRows)) * 1_000_003 }},
	} {
		in := &slab{rows: probeRows, cols: []*vector.Vector{
			int64s(bigint, probeRows, tc.key), int64s(sqltype.DecimalOf(15, 2), probeRows, func(i int) int64 { return int64(i % 5000) }),
		}}
		scan := in.scan()
		root := aggregate(scan, physical.Single, []expr.Expr{in.in(0)}, []expr.Aggregate{call("sum", in.in(1))})
		b.Run(tc.name, func(b *testing.B) { bench(b, probeRows, root, map[physical.Node]*slab{scan: in}) })
	}
}

// BenchmarkFewGroups is TPC-H's first query behind its scan and its expressions: two coded keys, four groups, eight aggregates.
func BenchmarkFewGroups(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	coded := func(values ...string) *vector.Vector {
		codes := make([]uint8, probeRows)
		for i := range codes {
			codes[i] = uint8(rng.IntN(len(values)))
		}
		d, v := &vector.Vector{}, &vector.Vector{}
		vector.SetFlat(d, sqltype.Of(sqltype.Utf8), values, nil)
		vector.SetDict(v, d, vector.NewDictID(), codes, nil)
		return v
	}
	dec := func(limit int64) *vector.Vector {
		return int64s(sqltype.DecimalOf(15, 2), probeRows, func(int) int64 { return rng.Int64N(limit) })
	}
	in := &slab{rows: probeRows, cols: []*vector.Vector{coded("A", "R"), coded("F", "O"), dec(5000), dec(1e7), dec(11), dec(1e9), dec(1e11)}}
	scan := in.scan()
	aggs := []expr.Aggregate{
		call("sum", in.in(2)), call("sum", in.in(3)), call("sum", in.in(5)), call("sum", in.in(6)),
		call("avg", in.in(2)), call("avg", in.in(3)), call("avg", in.in(4)), countStar(),
	}
	root := aggregate(scan, physical.Single, []expr.Expr{in.in(0), in.in(1)}, aggs)
	bench(b, probeRows, root, map[physical.Node]*slab{scan: in})
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	in := &slab{rows: buildRows, cols: []*vector.Vector{
		int64s(bigint, buildRows, func(int) int64 { return rng.Int64() }), int64s(bigint, buildRows, func(i int) int64 { return int64(i) }),
	}}
	for _, fetch := range []int64{-1, 10} {
		scan := in.scan()
		root := &physical.Sort{Input: scan, Keys: []physical.SortKey{{Expr: in.in(0)}}, Fetch: fetch}
		b.Run(fmt.Sprint("fetch ", fetch), func(b *testing.B) { bench(b, buildRows, root, map[physical.Node]*slab{scan: in}) })
	}
}
