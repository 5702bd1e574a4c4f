package coordinator_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// A way is one of the ways in which a query can be run.
type way struct {
	name string
	run  func(ctx context.Context, statement string, threads, batch int) (clustertest.Rows, error)
}

// ways are the engine embedded, and on one and on three workers.
func ways(t *testing.T, tables string) []way {
	out := []way{{"embedded", func(ctx context.Context, statement string, threads, batch int) (clustertest.Rows, error) {
		e, err := engine.Open(engine.Config{Tables: tables, Threads: threads, BatchRows: batch})
		if err != nil {
			return nil, err
		}
		defer func() { _ = e.Close() }()
		rows, err := e.Query(ctx, statement)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		return clustertest.Collect(rows)
	}}}
	for _, n := range []int{1, 3} {
		c := cluster(t, tables, n)
		out = append(out, way{fmt.Sprintf("%d workers", n), func(ctx context.Context, statement string, threads, batch int) (clustertest.Rows, error) {
			r, err := c.Query(ctx, statement, client.Options{Threads: threads, BatchRows: batch})
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return clustertest.Collect(r)
		}})
	}
	return out
}

// cluster is a client of a coordinator over n workers of one version.
func cluster(t *testing.T, tables string, n int, options ...coordinator.Option) *client.Client {
	t.Helper()
	var urls []string
	for range n {
		urls = append(urls, clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(tables), worker.WithThreads(4)).URL())
	}
	return connectTo(t, clustertest.Coordinator(t, urls, append([]coordinator.Option{coordinator.WithTables(tables)}, options...)...).URL())
}

func connectTo(t *testing.T, urls ...string) *client.Client {
	t.Helper()
	c, err := client.New(urls, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Every query gives the same rows in every way to run it, and they are the peer's.
func TestTPCH(t *testing.T) {
	shared := clustertest.Shared()
	own := filepath.Join(clustertest.Module(t, "engine"), "testdata", "tpch")
	type set struct {
		name, tables, answers, queries string
		batches                        []int
	}
	sets := []set{{"sf0.01", clustertest.TPCH(t), filepath.Join(own, "answers"), filepath.Join(own, "queries"), []int{0, 7, 1}}}
	if shared == "" {
		t.Log("only on the tree's own data: FLETCH_TESTDATA is not set")
	} else {
		for _, name := range []string{"tpch-sf0.01", "tpch-sf0.1"} {
			tables, answers := filepath.Join(shared, name), filepath.Join(shared, "answers", name)
			sets = append(
				sets, set{name, tables, answers, filepath.Join(own, "queries"), []int{0, 7}},
				set{name + ", all queries", tables, answers, filepath.Join(shared, "queries", "tpch"), []int{0}},
			)
		}
	}
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			queries := clustertest.Queries(t, s.queries)
			for _, w := range ways(t, s.tables) {
				for _, threads := range []int{1, 4} {
					for _, batch := range s.batches {
						begin, equal := time.Now(), 0
						for _, q := range queries {
							rows, err := w.run(t.Context(), q.SQL, threads, batch)
							if err == nil {
								err = clustertest.Same(rows, clustertest.Answer(t, filepath.Join(s.answers, q.Name+".csv")), q.Ordered())
							}
							if err != nil {
								t.Errorf("%s, %s, %d threads, batches of %d: %v", q.Name, w.name, threads, batch, err)
								continue
							}
							equal++
						}
						t.Logf("TPC-H %s, %s, %d threads, batches of %d: %d of %d equal to the peer's answers, %s", s.name, w.name, threads, batch, equal, len(queries), time.Since(begin).Round(time.Millisecond))
					}
				}
			}
		})
	}
}
