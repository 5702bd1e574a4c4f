package coordinator_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// settings are what a query of TPC-DS is run under besides the defaults: q36 divides a DECIMAL by a sum that is zero, which is an
// error in PostgreSQL, so here too, and −Infinity to the peer whose answer this is.
var settings = map[string]string{"q36": "SET fletch.division_by_zero = 'infinity'"}

// Every query of TPC-DS that the peer answered gives its rows, embedded and on three workers.
func TestTPCDS(t *testing.T) {
	tables, answers := clustertest.Shared("tpcds-5pct"), clustertest.Shared("answers", "tpcds-5pct")
	if tables == "" {
		t.Log("did not run: FLETCH_TESTDATA is not set")
		return
	}
	var queries []clustertest.Query
	for _, q := range clustertest.Queries(t, clustertest.Shared("queries", "tpcds")) {
		if _, err := os.Stat(filepath.Join(answers, q.Name+".csv")); err == nil {
			queries = append(queries, q)
		}
	}
	e, err := engine.Open(engine.Config{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	workers := cluster(t, tables, 3)
	for _, w := range []struct {
		name string
		run  func(ctx context.Context, statements ...string) (clustertest.Rows, error)
	}{
		{"embedded", func(ctx context.Context, statements ...string) (out clustertest.Rows, err error) {
			session := e.NewSession()
			for _, s := range statements {
				rows, err := session.Query(ctx, s)
				if err != nil {
					return out, err
				}
				out, err = clustertest.Collect(rows)
				rows.Close()
				if err != nil {
					return out, err
				}
			}
			return out, nil
		}},
		{"3 workers", func(ctx context.Context, statements ...string) (out clustertest.Rows, err error) {
			id, err := workers.OpenSession(ctx)
			if err != nil {
				return out, err
			}
			defer func() { _ = workers.CloseSession(ctx, id) }()
			for _, s := range statements {
				rows, err := workers.Query(ctx, s, client.Options{SessionID: id})
				if err != nil {
					return out, err
				}
				out, err = clustertest.Collect(rows)
				rows.Close()
				if err != nil {
					return out, err
				}
			}
			return out, nil
		}},
	} {
		equal, begin := 0, time.Now()
		for _, q := range queries {
			statements := []string{q.SQL}
			if s := settings[q.Name]; s != "" {
				statements = []string{s, q.SQL}
			}
			began := time.Now()
			rows, err := w.run(t.Context(), statements...)
			if err == nil {
				// As multisets: rows that ORDER BY takes for equal stand in any order.
				err = clustertest.Same(rows, clustertest.Answer(t, filepath.Join(answers, q.Name+".csv")), false)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", q.Name, w.name, err)
				continue
			}
			equal++
			under := ""
			if s := settings[q.Name]; s != "" {
				under = ", under " + strings.TrimSpace(s)
			}
			t.Logf("%-4s %-10s equal, %d rows, %s%s", q.Name, w.name, len(rows), time.Since(began).Round(time.Millisecond), under)
		}
		t.Logf("TPC-DS, %s: %d of %d equal to the peer's answers, %s", w.name, equal, len(queries), time.Since(begin).Round(time.Second))
	}
}
