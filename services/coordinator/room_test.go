package coordinator_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// endless is a statement that runs until it is cancelled.
const endless = "SELECT count(*) FROM lineitem a, lineitem b, nation"

// Two coordinators over workers that take two queries at a time each: none of many queries fails, none runs on a part of the workers, and
// who waits is told his place.
func TestWorkersHaveRoom(t *testing.T) {
	var urls []string
	for range 2 {
		urls = append(urls, startWorker(t, "v1", worker.WithMaxQueries(2)).URL())
	}
	clients := []*client.Client{over(t, urls), over(t, urls)}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			rows, end, err := run(t.Context(), clients[i%2], spread, client.Options{})
			if err != nil || rows != spreadRows || end.GetAttempts() != 1 || len(end.GetWorkers()) != 2 {
				t.Errorf("%s, %v, %v", rows, end, err)
			}
		})
	}
	wg.Wait()
}

// A query that finds no room waits, says so, and gives up in time; when there is room it runs.
func TestQueueTimesOut(t *testing.T) {
	w := startWorker(t, "v1", worker.WithMaxQueries(1))
	c := over(t, []string{w.URL()}, coordinator.WithQueueTimeout(400*time.Millisecond))
	holds, err := c.Query(t.Context(), endless, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	busy(t, w.URL())
	var mu sync.Mutex
	var last uint32
	_, _, err = run(t.Context(), c, spread, client.Options{Progress: func(p *apiv1.QueryProgress) {
		mu.Lock()
		defer mu.Unlock()
		last = p.GetQueuePosition()
	}})
	if sqlerr.CodeOf(err) != sqlerr.TooManyQueries || last != 1 {
		t.Errorf("number %d: %v", last, err)
	}
	holds.Close()
	idle(t, w.URL())
	rows, end, err := run(t.Context(), c, spread, client.Options{})
	if err != nil || rows != spreadRows || end.GetAttempts() != 1 {
		t.Errorf("%s, %v, %v", rows, end, err)
	}
}

// An address that another process of another version has taken between two polls: it refuses the query, which its own cohort then
// answers. Who refused, and why, is in the query's end, in EXPLAIN ANALYZE, in the list of workers and in the counters.
func TestAddressUsedAnew(t *testing.T) {
	steady, gone, other := startWorker(t, "v1"), startWorker(t, "v1"), startWorker(t, "v2")
	proxy := clustertest.NewProxy(t, gone.URL())
	co := clustertest.Coordinator(t, []string{steady.URL(), proxy.URL}, coordinator.WithTables(clustertest.TPCH(t)))
	c := connectTo(t, co.URL())
	until(t, func() bool {
		_, end, err := run(t.Context(), c, spread, client.Options{})
		return err == nil && len(end.GetWorkers()) == 2
	})
	for try := range 20 {
		proxy.Switch(other.URL())
		text, end, err := run(t.Context(), c, "EXPLAIN ANALYZE "+spread, client.Options{})
		if err != nil || end.GetAttempts() != 1 || len(end.GetWorkers()) != 1 || end.GetWorkers()[0].GetUrl() != steady.URL() || end.GetCohort().GetVersion() != "v1" {
			t.Fatalf("%s, %v, %v", text, end, err)
		}
		if len(end.GetRefusals()) == 0 || end.GetRefusals()[0].GetCode() != string(sqlerr.VersionMismatch) {
			t.Logf("try %d: a poll came in between, or the connection broke first: %v", try, end.GetRefusals())
			proxy.Switch(gone.URL())
			until(t, func() bool {
				_, end, err := run(t.Context(), c, spread, client.Options{})
				return err == nil && len(end.GetWorkers()) == 2
			})
			continue
		}
		said := end.GetRefusals()[0].GetMessage()
		if end.GetRefusals()[0].GetUrl() != proxy.URL || !strings.Contains(said, "v1 (") || !strings.Contains(said, "v2 (") {
			t.Errorf("both sides are named by %v", end.GetRefusals())
		}
		if !strings.Contains(text, "Refused before anything ran: "+proxy.URL+", version_mismatch") || !strings.Contains(text, "attempts 1") {
			t.Errorf("EXPLAIN ANALYZE says %s", text)
		}
		workers, err := c.Workers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range workers {
			if w.GetUrl() == proxy.URL && (w.GetRefusals() == 0 || !strings.Contains(w.GetLastRefusal(), "v2 (") || w.GetUsed()) {
				t.Errorf("the list of workers says %v", w)
			}
		}
		res, err := http.Get(co.URL() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		counters, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || !strings.Contains(string(counters), `fletch_refusals_total{reason="version_mismatch"}`) {
			t.Errorf("the counters do not tell of it: %v", err)
		}
		return
	}
	t.Error("a poll came in between every time")
}

// A coordinator that is told to end finishes what runs, is not ready, and sends what is new elsewhere; a client of two goes there at once.
func TestCoordinatorDrains(t *testing.T) {
	w := startWorker(t, "v1")
	tables := clustertest.TPCH(t)
	first := clustertest.Start(t, "serve", "--listen", "127.0.0.1:0", "--workers", w.URL(), "--tables", tables)
	second := clustertest.Coordinator(t, []string{w.URL()}, coordinator.WithTables(tables))
	c, alone := connectTo(t, first.URL, second.URL()), connectTo(t, first.URL)
	known, err := alone.Query(t.Context(), "SELECT a.l_comment FROM lineitem a, nation", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	unused, err := alone.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		res, err := http.Get(first.URL + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable
	})
	for _, o := range []client.Options{{}, {SessionID: unused}} {
		var unreachable *client.Unreachable
		if _, _, err := run(t.Context(), alone, spread, o); sqlerr.CodeOf(err) != sqlerr.Draining || !errors.As(err, &unreachable) {
			t.Errorf("what is new is told %v", err)
		}
	}
	if _, err := alone.OpenSession(t.Context()); sqlerr.CodeOf(err) != sqlerr.Draining {
		t.Errorf("a new session: %v", err)
	}
	began := time.Now()
	if rows, _, err := run(t.Context(), c, spread, client.Options{}); err != nil || rows != spreadRows || time.Since(began) > 5*time.Second {
		t.Errorf("a client of both: %s, %v after %s", rows, err, time.Since(began))
	}
	var n int64
	for {
		rec, err := known.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += rec.NumRows()
	}
	if n != 60175*25 {
		t.Errorf("%d rows of what ran", n)
	}
	if code, err := first.Wait(10 * time.Second); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}
