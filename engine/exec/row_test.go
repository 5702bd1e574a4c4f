package exec_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is a table of n rows: a counts from 0, b is whether a is even and NULL for every fifth.
func numbered(n int) batchtest.Table {
	var vals []any
	for i := range n {
		var even any = i%2 == 0
		if i%5 == 4 {
			even = nil
		}
		vals = append(vals, i, even)
	}
	return batchtest.Rows("a int64, b bool", vals...)
}

func TestFilterAndProject(t *testing.T) {
	in := numbered(200)
	var want []any
	for i := range 200 {
		if i%2 == 0 && i%5 != 4 {
			want = append(want, true, i)
		}
	}
	batchtest.Run(t, batchtest.Rows("b bool, a int64", want...), func(n ...physical.Node) physical.Node {
		f := &physical.Filter{Input: n[0], Cond: in.In(1)}
		return &physical.Project{Input: f, Exprs: []expr.Expr{in.In(1), in.In(0)}, Names: []string{"b", "a"}}
	}, in)
}

func TestLimitIsExact(t *testing.T) {
	same := make([]any, 300)
	for i := range same {
		same[i] = 7
	}
	in := batchtest.Rows("a int64", same...)
	for _, tc := range []struct {
		name          string
		fetch, offset int64
		want          int
	}{
		{"none", 0, 0, 0},
		{"inside", 5, 3, 5},
		{"over batches", 100, 50, 100},
		{"more than there are", 1000, 10, 290},
		{"no end", -1, 290, 10},
		{"behind the end", 5, 300, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := batchtest.Rows("a int64", same[:tc.want]...)
			batchtest.Run(t, want, func(n ...physical.Node) physical.Node {
				return &physical.Limit{Input: n[0], Fetch: tc.fetch, Offset: tc.offset}
			}, in)
		})
	}
}

func TestUnionAndValues(t *testing.T) {
	a, b := batchtest.Rows("a int32, s utf8", 1, "x", nil, nil), batchtest.Rows("a int32, s utf8", 2, "y")
	v := batchtest.Rows("a int32, s utf8", 3, "", 4, nil)
	want := batchtest.Rows("a int32, s utf8", 1, "x", nil, nil, 2, "y", 3, "", 4, nil)
	batchtest.Run(t, want, func(n ...physical.Node) physical.Node {
		return &physical.Union{Inputs: []physical.Node{n[0], n[1], &physical.Values{Fields: v.Fields, Rows: v.Rows}}}
	}, a, b)
}

func TestLimitOpensNoMoreThanItNeeds(t *testing.T) {
	in := numbered(10)
	opened := 0
	env := &exec.Env{OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
		opened++
		return batchtest.NewSource(in, batchtest.Shape{Rows: 4}), nil
	}}
	union := &physical.Union{Inputs: []physical.Node{batchtest.Scan(in), batchtest.Scan(in)}}
	c := &batchtest.Collect{}
	if err := exec.Run(t.Context(), &physical.Limit{Input: union, Fetch: 5}, env, c); err != nil {
		t.Fatal(err)
	}
	if len(c.Table().Rows) != 5 || opened != 1 {
		t.Errorf("%d rows of %d scans, want 5 of 1", len(c.Table().Rows), opened)
	}
}

// endless gives the same batch for ever.
type endless struct{ batch vector.Batch }

func (e *endless) NewReader() (exec.Reader, error)                           { return e, nil }
func (e *endless) Next(context.Context) (*vector.Batch, error)               { return &e.batch, nil }
func (*endless) Close() error                                                { return nil }
func (e *endless) open(context.Context, *physical.Scan) (exec.Source, error) { return e, nil }

func newEndless() *endless {
	var v vector.Vector
	vector.SetFlat(&v, batchtest.Rows("a int64").Fields[0].Type, make([]int64, 1000), nil)
	return &endless{vector.Batch{Cols: []*vector.Vector{&v}, Len: 1000}}
}

func TestCancelStopsSoon(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	in := batchtest.Rows("a int64")
	plan := &physical.Aggregate{
		Input: batchtest.Scan(in), Groups: []expr.Expr{in.In(0)}, Names: []string{"a"},
	}
	var at time.Time
	timer := time.AfterFunc(50*time.Millisecond, func() {
		at = time.Now()
		cancel(cause)
	})
	defer timer.Stop()
	err := exec.Run(ctx, plan, &exec.Env{Threads: 3, OpenScan: newEndless().open}, &batchtest.Collect{})
	if !errors.Is(err, cause) {
		t.Errorf("Run gave %v, want the cause", err)
	}
	if d := time.Since(at); d > 100*time.Millisecond {
		t.Errorf("it took %v to stop", d)
	}
}

// panicking is a source with a fault.
type panicking struct{ endless }

func (*panicking) Next(context.Context) (*vector.Batch, error) { panic("a fault") }
func (p *panicking) NewReader() (exec.Reader, error)           { return p, nil }

func TestPanicIsAnInternalError(t *testing.T) {
	in := batchtest.Rows("a int64")
	for _, threads := range []int{1, 3} {
		env := &exec.Env{Threads: threads, OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) { return &panicking{}, nil }}
		err := exec.Run(t.Context(), batchtest.Scan(in), env, &batchtest.Collect{})
		if sqlerr.CodeOf(err) != sqlerr.Internal || errors.Unwrap(err) == nil {
			t.Errorf("%d goroutines: %v", threads, err)
		}
	}
}

func TestMetrics(t *testing.T) {
	in := numbered(100)
	scan := batchtest.Scan(in)
	filter := &physical.Filter{Input: scan, Cond: in.In(1)}
	m := &exec.Metrics{}
	env := &exec.Env{Threads: 2, Metrics: m, OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
		return batchtest.NewSource(in, batchtest.Shape{Rows: 10}), nil
	}}
	if err := exec.Run(t.Context(), filter, env, &batchtest.Collect{}); err != nil {
		t.Fatal(err)
	}
	if got := m.Of(scan).Rows.Load(); got != 100 {
		t.Errorf("the scan gave %d rows, want 100", got)
	}
	if got := m.Of(filter).Rows.Load(); got != 40 {
		t.Errorf("the filter gave %d rows, want 40", got)
	}
	if m.Of(scan).Elapsed() <= 0 || m.Of(filter).Elapsed() <= 0 {
		t.Error("no time passed")
	}
}

func TestResult(t *testing.T) {
	in := numbered(1000)
	env := &exec.Env{Threads: 2, OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
		return batchtest.NewSource(in, batchtest.Shape{Rows: 10, Select: true, Forms: true}), nil
	}}
	r, err := exec.RunToArrow(t.Context(), batchtest.Scan(in), env, exec.ResultConfig{Rows: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := int64(0)
	for {
		rec, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rec == nil {
			break
		}
		rows += rec.NumRows()
		rec.Release()
	}
	if rows != 1000 {
		t.Errorf("%d rows, want 1000", rows)
	}
}

func TestResultWaitsAndEndsEarly(t *testing.T) {
	in := batchtest.Rows("a int64")
	r, err := exec.RunToArrow(t.Context(), batchtest.Scan(in), &exec.Env{Threads: 2, OpenScan: newEndless().open}, exec.ResultConfig{})
	if err != nil {
		t.Fatal(err)
	}
	rec, err := r.Next(t.Context())
	if err != nil || rec == nil {
		t.Fatal(rec, err)
	}
	rec.Release()
	if err := r.Close(); err != nil { // goleak sees whether the writers ended
		t.Fatal(err)
	}
}
