package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/worker"
)

// plus is a function that adds n, its version, to an integer.
func plus(n int64) function.Scalar {
	return function.Scalar{
		Name: "plus", Version: fmt.Sprint(n), Signatures: []string{"(BIGINT) RETURNS BIGINT"},
		Call: func(_ context.Context, args []arrow.Array, rows int) (arrow.Array, error) {
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range rows {
				b.Append(args[0].(*array.Int64).Value(i) + n)
			}
			return b.NewArray(), nil
		},
	}
}

// spanOf is an aggregate: the greatest of the values less the least.
var spanOf = function.Aggregate{
	Name: "span_of", Version: "1", Signatures: []string{"(BIGINT) RETURNS BIGINT"}, State: []string{"BIGINT", "BIGINT"},
	New: func() function.Accumulator { return &spans{} },
	Finish: func(_ context.Context, state []arrow.Array, rows int) (arrow.Array, error) {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rows {
			if state[0].IsNull(i) {
				b.AppendNull()
				continue
			}
			b.Append(state[1].(*array.Int64).Value(i) - state[0].(*array.Int64).Value(i))
		}
		return b.NewArray(), nil
	},
}

type spans struct{ least, greatest []int64 }

func (s *spans) Grow(n int) {
	for len(s.least) < n {
		s.least, s.greatest = append(s.least, 1<<62), append(s.greatest, -1<<62)
	}
}

func (s *spans) Update(ctx context.Context, args []arrow.Array, groups []uint32) error {
	return s.Merge(ctx, []arrow.Array{args[0], args[0]}, groups)
}

func (s *spans) Merge(_ context.Context, state []arrow.Array, groups []uint32) error {
	least, greatest := state[0].(*array.Int64), state[1].(*array.Int64)
	for i, g := range groups {
		if !least.IsNull(i) {
			s.least[g], s.greatest[g] = min(s.least[g], least.Value(i)), max(s.greatest[g], greatest.Value(i))
		}
	}
	return nil
}

func (s *spans) State(_ context.Context, groups []uint32) ([]arrow.Array, error) {
	least, greatest := array.NewInt64Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	for _, g := range groups {
		if s.least[g] > s.greatest[g] {
			least.AppendNull()
			greatest.AppendNull()
			continue
		}
		least.Append(s.least[g])
		greatest.Append(s.greatest[g])
	}
	return []arrow.Array{least.NewArray(), greatest.NewArray()}, nil
}

func (s *spans) Size() int64 { return int64(16 * len(s.least)) }

// The coordinator knows functions from its workers only: it plans with them, and they run there, in halves where that pays.
func TestFunctionsOfWorkers(t *testing.T) {
	var urls []string
	for range 3 {
		urls = append(urls, startWorker(t, "v1", worker.WithFunction(plus(1)), worker.WithFunction(spanOf)).URL())
	}
	c := over(t, urls)
	for sql, want := range map[string]string{
		"SELECT plus(41)": "[[42]]",
		"SELECT sum(plus(n_nationkey)) FROM nation":                                                                 "[[325]]",
		"SELECT n_name FROM nation WHERE plus(n_nationkey) = 3":                                                     "[[BRAZIL]]",
		"SELECT span_of(l_orderkey) FROM lineitem":                                                                  "[[59999]]",
		"SELECT l_returnflag, span_of(l_orderkey) FROM lineitem GROUP BY 1 ORDER BY 1":                              "",
		"SELECT count(*), max(s) FROM (SELECT l_orderkey % 4000, span_of(l_suppkey) AS s FROM lineitem GROUP BY 1)": "",
		"SELECT (SELECT span_of(plus(n_nationkey)) FROM nation WHERE n_regionkey = 99) IS NULL":                     "[[true]]",
		"SELECT DISTINCT span_of(n_nationkey) OVER (PARTITION BY n_regionkey) FROM nation WHERE n_regionkey = 1":    "",
	} {
		rows, end, err := run(t.Context(), c, sql, client.Options{})
		if want == "" {
			want = reference(t, sql)
		}
		if err != nil || rows != want {
			t.Errorf("%s: %s, want %s, %v", sql, rows, want, err)
		}
		if len(end.GetWorkers()) == 0 {
			t.Errorf("%s did not run on workers", sql)
		}
	}
	if rows, _, err := run(t.Context(), c, "SHOW FUNCTIONS", client.Options{}); err != nil || !strings.Contains(rows, "plus  scalar") {
		t.Errorf("SHOW FUNCTIONS: %v", err)
	}
	if _, _, err := run(t.Context(), c, "CREATE TABLE made AS SELECT plus(1)", client.Options{}); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("a table of rows that only workers can make: %v", err)
	}
}

// reference is what a query gives when built-in functions say what spanOf and plus do.
func reference(t *testing.T, sql string) string {
	t.Helper()
	for from, to := range map[string]string{"span_of(l_orderkey)": "max(l_orderkey) - min(l_orderkey)", "span_of(l_suppkey)": "max(l_suppkey) - min(l_suppkey)", "span_of(n_nationkey) OVER": "max(n_nationkey) OVER (PARTITION BY n_regionkey) - min(n_nationkey) OVER"} {
		sql = strings.ReplaceAll(sql, from, to)
	}
	rows, _, err := run(t.Context(), over(t, []string{startWorker(t, "plain").URL()}), sql, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// A query that needs a function runs on the cohort that has it, however small; others where the policy says.
func TestFunctionChoosesTheCohort(t *testing.T) {
	urls := []string{
		startWorker(t, "old").URL(), startWorker(t, "old").URL(), startWorker(t, "new", worker.WithFunction(plus(1))).URL(),
	}
	c := over(t, urls)
	for sql, version := range map[string]string{spread: "old", "SELECT sum(plus(l_suppkey)) FROM lineitem": "new", "SELECT plus(1)": "new"} {
		for range 5 {
			_, end, err := run(t.Context(), c, sql, client.Options{})
			if err != nil || end.GetCohort().GetVersion() != version || end.GetAttempts() != 1 {
				t.Errorf("%s ran on %v, %v", sql, end.GetCohort(), err)
			}
		}
	}
	if _, _, err := run(t.Context(), c, "CREATE VIEW v AS SELECT sum(plus(l_suppkey)) AS s FROM lineitem", client.Options{}); err != nil {
		t.Errorf("a view: %v", err)
	}
	pinned := over(t, urls, coordinator.WithWorkerVersion("old"), coordinator.WithAdmitWait(10*time.Second))
	began := time.Now()
	for sql, says := range map[string][]string{
		"SELECT plus(n_nationkey) FROM nation": {"function plus(", `workers of version "new" have plus(bigint) version "1"`, `queries run on "old"`},
		"SELECT minus(1)":                      {"function minus(INTEGER) does not exist"},
		"SELECT plus(DATE '2000-01-01')":       {"function plus(DATE) does not exist"},
	} {
		_, _, err := run(t.Context(), pinned, sql, client.Options{})
		if sqlerr.CodeOf(err) != sqlerr.UnknownFunction {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		for _, s := range says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v does not say %s", sql, err, s)
			}
		}
	}
	if d := time.Since(began); d > 8*time.Second {
		t.Errorf("they waited %s for a worker that has the function", d)
	}
}

// Workers whose function differs in its version alone never meet: every row is of one version.
func TestFunctionVersionsNeverMix(t *testing.T) {
	var urls []string
	for _, n := range []int64{100, 200, 100, 200} {
		urls = append(urls, startWorker(t, "v1", worker.WithFunction(plus(n))).URL())
	}
	c := over(t, urls)
	for range 10 {
		rows, end, err := run(t.Context(), c, "SELECT DISTINCT plus(l_orderkey) - l_orderkey FROM lineitem", client.Options{})
		if err != nil || rows != "[[100]]" && rows != "[[200]]" || len(end.GetWorkers()) != 2 {
			t.Errorf("%s on %v, %v", rows, end.GetWorkers(), err)
		}
	}
}
