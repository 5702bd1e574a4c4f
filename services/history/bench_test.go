//go:build unix

package history

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// BenchmarkList measures lists of a log of 100,000 queries: the first page, a text that two queries have, and all of them in pages.
func BenchmarkList(b *testing.B) {
	const queries = 100_000
	dir := b.TempDir()
	w := writer(b, dir, instance)
	for i := range queries {
		id := fmt.Sprintf("q%015x", i)
		w.Append(id, &eventlogv1.QueryStarted{
			Statement: fmt.Sprintf("SELECT o_orderpriority, count(*) AS order_count FROM orders WHERE o_orderkey = %d GROUP BY o_orderpriority", i), Client: "fletch/v0.2.0", ClientApi: "1.1",
		})
		w.Append(id, &eventlogv1.AttemptStarted{Attempt: 1, Cohort: &eventlogv1.Cohort{Version: "v1"}})
		m := finished("v1", "")
		m.Elapsed = durationpb.New(1234567)
		if i%1000 == 0 {
			w.Commit(id, m) // the queue is bounded
		} else {
			w.Append(id, m)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	x := index(b, dir, b.TempDir())
	defer func() { _ = x.Close() }()
	s := NewService(x)
	began := time.Now()
	if err := x.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Logf("the log is indexed in %s, once", time.Since(began))
	b.Run("page", func(b *testing.B) {
		defer processor(b)()
		for b.Loop() {
			if n := len(list(b, s, &apiv1.ListQueriesRequest{}).GetQueries()); n != 100 {
				b.Fatal(n)
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		defer processor(b)()
		for b.Loop() {
			if n := len(list(b, s, &apiv1.ListQueriesRequest{Text: "o_orderkey = 1234 "}).GetQueries()); n != 1 {
				b.Fatal(n)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		defer processor(b)()
		for b.Loop() {
			n, req := 0, &apiv1.ListQueriesRequest{PageSize: 10_000}
			for {
				res := list(b, s, req)
				n += len(res.GetQueries())
				if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
					break
				}
			}
			if n != queries {
				b.Fatal(n)
			}
		}
	})
}

// processor reports the processor's time per turn, too: what the clock shows depends on who else is on the machine.
func processor(b *testing.B) func() {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}
