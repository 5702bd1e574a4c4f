package worker_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/sqlerr"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/pull"
)

// wide is much data by the hash of its keys, shared a little of it by two readers.
const (
	wide   = "SELECT l_orderkey, l_comment, count(*) FROM lineitem GROUP BY 1, 2"
	shared = `WITH r AS (SELECT l_suppkey AS k, l_shipmode AS d, l_linenumber AS e, count(*) AS n FROM (SELECT * FROM lineitem UNION ALL SELECT * FROM lineitem) l GROUP BY 1, 2, 3)
		SELECT count(*) FROM r x JOIN r y ON x.k = y.k AND x.n = y.n + 1`
)

// producer is the plan of the first task whose output is of that kind.
func producer(t *testing.T, plans []*workerv1.SetPlanRequest, kind planv1.ExchangeKind) *workerv1.SetPlanRequest {
	t.Helper()
	for _, p := range plans {
		if o := p.GetFragment().GetOutput(); o.GetKind() == kind && p.GetKey().GetTask() == 0 && len(p.GetInputs()) == 0 {
			return p
		}
	}
	t.Fatalf("no task deals its rows out by %v", kind)
	return nil
}

// Rows for one partition never wait for the reader of another, whichever is read first; and more streams than HTTP/2 usually has on a
// connection are open at once.
func TestPartitionsDoNotWaitForEachOther(t *testing.T) {
	for _, n := range []int{3, 300} {
		c := start(t)
		c.open("q", 1, 0)
		p := producer(t, c.plans("q", wide, n), planv1.ExchangeKind_EXCHANGE_KIND_HASH)
		if got := p.GetFragment().GetOutput().GetPartitions(); got != uint32(n) {
			t.Fatalf("%d partitions, not %d", got, n)
		}
		c.set(p)
		streams := make([]*pull.Stream, n)
		for i := range streams {
			streams[i] = c.pull(t.Context(), p.GetKey(), uint32(i), uint32(i), token)
		}
		var all int64
		for i := n - 1; i >= 0; i-- {
			all += rows(t, streams[i])
		}
		if all == 0 {
			t.Error("the task gave no rows")
		}
	}
}

// A reader of what is shared never waits for another, and each gets all rows.
func TestReadersDoNotWaitForEachOther(t *testing.T) {
	c := start(t)
	c.open("q", 1, 0)
	plans := c.plans("q", shared, 1)
	var p *workerv1.SetPlanRequest
	for _, x := range plans {
		if x.GetFragment().GetOutput().GetKind() == planv1.ExchangeKind_EXCHANGE_KIND_SHARE {
			p = x
		}
	}
	if p == nil || p.GetFragment().GetOutput().GetConsumers() != 2 {
		t.Fatalf("nothing is shared by two: %v", plans)
	}
	c.set(p)
	first := c.pull(t.Context(), p.GetKey(), 0, 0, token)
	second := c.pull(t.Context(), p.GetKey(), 0, 1, token)
	if a, b := rows(t, second), rows(t, first); a != b || a == 0 {
		t.Errorf("the readers got %d and %d rows", b, a)
	}
}

// What nobody has read yet counts in the query's memory: over the limit the task fails, it does not hang.
func TestUnreadPartitionsAreLimited(t *testing.T) {
	c := start(t)
	c.open("q", 1, 0)
	p := producer(t, c.plans("q", "SELECT a.*, count(*) FROM lineitem a, (VALUES (1), (2)) b GROUP BY ALL", 3), planv1.ExchangeKind_EXCHANGE_KIND_HASH)
	p.Options = &workerv1.TaskOptions{MemoryLimit: 8 << 20}
	c.set(p)
	s := c.pull(t.Context(), p.GetKey(), 1, 1, token)
	for {
		_, err := s.Next()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) || sqlerr.CodeOf(err) != sqlerr.MemoryLimit || !strings.Contains(err.Error(), "Exchange needs") {
			t.Errorf("the stream ended with %v", err)
		}
		return
	}
}

// A merge whose reader is slow waits with all that is behind it, and nothing else does: another query runs to its end over the same
// connection meanwhile, and the slow reader gets every row in the end.
func TestMergeWithASlowReader(t *testing.T) {
	c := start(t)
	c.open("slow", 1, 0)
	slow := c.plans("slow", "SELECT l.* FROM lineitem l, (VALUES (1), (2), (3), (4)) v ORDER BY l_orderkey, l_linenumber", 3)
	c.set(slow...)
	reader := c.pull(t.Context(), slow[0].GetKey(), 0, 0, token)
	first, err := reader.Next()
	if err != nil {
		t.Fatal(err)
	}
	got := first.NumRows()

	c.open("other", 1, 0)
	other := c.plans("other", wide, 3)
	c.set(other...)
	if n := rows(t, c.pull(t.Context(), other[0].GetKey(), 0, 0, token)); n == 0 {
		t.Error("the other query gave no rows")
	}
	if got += rows(t, reader); got != 4*60175 {
		t.Errorf("the slow reader got %d rows", got)
	}
}
