package coordinator_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/worker"
)

// spread is a statement whose work is spread over every worker, with the rows that it gives.
const (
	spread     = "SELECT l_returnflag, count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey GROUP BY 1 ORDER BY 1"
	spreadRows = "[[A 14876] [N 30397] [R 14902]]"
)

// run gives a statement's rows as text, and its end.
func run(ctx context.Context, c *client.Client, statement string, o client.Options) (string, *apiv1.QueryEnd, error) {
	r, err := c.Query(ctx, statement, o)
	if err != nil {
		return "", nil, err
	}
	defer r.Close()
	rows, err := clustertest.Collect(r)
	return fmt.Sprint(rows), r.End, err
}

func startWorker(t *testing.T, version string, options ...worker.Option) *worker.Worker {
	t.Helper()
	return clustertest.Worker(t, append([]worker.Option{worker.WithVersion(version), worker.WithReadRoots(clustertest.TPCH(t))}, options...)...)
}

// over is a client of a coordinator over the workers at urls, which knows them all.
func over(t *testing.T, urls []string, options ...coordinator.Option) *client.Client {
	t.Helper()
	c := connectTo(t, clustertest.Coordinator(t, urls, append([]coordinator.Option{coordinator.WithTables(clustertest.TPCH(t))}, options...)...).URL())
	if _, err := c.Workers(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// One version runs the queries, and only it, whoever asks; the others say why not.
func TestOneVersionIsUsed(t *testing.T) {
	var urls []string
	for _, version := range []string{"v1", "v1", "v1", "v2"} {
		urls = append(urls, startWorker(t, version).URL())
	}
	c := over(t, urls, coordinator.WithWorkerVersion("v1"), coordinator.WithAdmitWait(100*time.Millisecond))
	for range 20 {
		rows, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || rows != spreadRows {
			t.Fatalf("%s, %v", rows, err)
		}
		if len(end.GetWorkers()) != 3 || end.GetCohort().GetVersion() != "v1" || end.GetAttempts() != 1 {
			t.Errorf("it ran on %v of %v in %d attempts", end.GetWorkers(), end.GetCohort(), end.GetAttempts())
		}
		for _, w := range end.GetWorkers() {
			if w.GetUrl() == urls[3] || w.GetVersion() != "v1" {
				t.Errorf("it ran on %v", w)
			}
		}
	}
	workers, err := c.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		reason := apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED
		if w.GetUrl() == urls[3] {
			reason = apiv1.UnusedReason_UNUSED_REASON_VERSION
		}
		if w.GetReason() != reason || w.GetUsed() != (w.GetUrl() != urls[3]) || (w.GetReasonDetail() == "") != w.GetUsed() {
			t.Errorf("%v", w)
		}
	}
	if _, end, err := run(t.Context(), c, spread, client.Options{WorkerVersion: "v2"}); err != nil || end.GetCohort().GetVersion() != "v2" || len(end.GetWorkers()) != 1 {
		t.Errorf("a query that names v2: %v, %v", end, err)
	}
	if _, _, err := run(t.Context(), c, spread, client.Options{WorkerVersion: "v3"}); sqlerr.CodeOf(err) != sqlerr.NoWorker {
		t.Errorf("a query that names v3: %v", err)
	}
}

// Workers without a version are equal only if their builds and their capabilities are.
func TestUnversionedWorkers(t *testing.T) {
	urls := []string{
		startWorker(t, "").URL(), startWorker(t, "").URL(), startWorker(t, "", worker.WithFunction(plus(1))).URL(),
		clustertest.Start(t, "worker", "--listen", "127.0.0.1:0", "--read-root", clustertest.TPCH(t)).URL, // another executable
	}
	c := over(t, urls)
	for range 5 {
		rows, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || rows != spreadRows || len(end.GetWorkers()) != 2 || end.GetCohort().GetBuild() == "" {
			t.Errorf("%s on %v of %v, %v", rows, end.GetWorkers(), end.GetCohort(), err)
		}
		for _, w := range end.GetWorkers() {
			if w.GetUrl() != urls[0] && w.GetUrl() != urls[1] {
				t.Errorf("it ran on %v", w)
			}
		}
	}
	workers, err := c.Workers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range workers {
		if equal := w.GetUrl() == urls[0] || w.GetUrl() == urls[1]; w.GetUsed() != equal || (w.GetReason() == apiv1.UnusedReason_UNUSED_REASON_COHORT) == equal {
			t.Errorf("%v", w)
		}
	}
}

// A call that is meant for another worker, or for nobody, is refused by the worker itself, whatever coordinators believe.
func TestCallsForAnotherWorkerAreRefused(t *testing.T) {
	v1, v2 := startWorker(t, "v1"), startWorker(t, "v2")
	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	t.Cleanup(dialer.Close)
	for name, transport := range map[string]*connect.Client{
		"v1's identity": pull.Client(dialer, v2.URL(), &identityv1.Identity{Version: "v1", InstanceId: v1.Instance(), Protocol: 1, Capabilities: strings.Repeat("0", 32)}),
		"no identity":   pull.Client(dialer, v2.URL(), nil),
		"as Connect":    connect.NewClient(connecthttp.NewTransport(dialer.Client(), v2.URL())),
	} {
		c := workerv1connect.NewWorkerServiceClient(transport)
		_, err := c.SetPlan(t.Context(), &workerv1.SetPlanRequest{})
		if sqlerr.CodeOf(rpcerr.FromWorker(t.Context(), v2.URL(), err)) != sqlerr.VersionMismatch || connect.CodeOf(err) != connect.CodeFailedPrecondition {
			t.Errorf("SetPlan with %s: %v", name, err)
		}
		for _, call := range []func() (interface{ Close() error }, error){
			func() (interface{ Close() error }, error) {
				s, err := c.Watch(t.Context(), &workerv1.WatchRequest{Query: "q", Attempt: 1})
				if err == nil {
					_, err = s.Receive()
				}
				return s, err
			},
			func() (interface{ Close() error }, error) {
				s, err := c.ExecuteTask(t.Context(), &workerv1.ExecuteTaskRequest{})
				if err == nil {
					_, err = s.Receive()
				}
				return s, err
			},
		} {
			s, err := call()
			if s != nil {
				_ = s.Close()
			}
			if connect.CodeOf(err) != connect.CodeFailedPrecondition {
				t.Errorf("a stream with %s: %v", name, err)
			}
		}
	}
}

// mark tells when something is logged.
type mark struct {
	slog.Handler
	text string
	seen chan struct{}
}

func (m mark) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, m.text) {
		select {
		case m.seen <- struct{}{}:
		default:
		}
	}
	return m.Handler.Handle(ctx, r)
}

// A worker that another one has replaced between two polls refuses; the query runs on the right cohort and counts one attempt.
func TestReplacedInPlace(t *testing.T) {
	first, second := startWorker(t, "v1"), startWorker(t, "v1")
	refused := mark{clustertest.Logger(t).Handler(), "refused a call", make(chan struct{}, 1)}
	replacement := startWorker(t, "v2", worker.WithLogger(slog.New(refused)))
	proxy := clustertest.NewProxy(t, second.URL())
	c := over(t, []string{first.URL(), proxy.URL})
	for try := range 20 {
		proxy.Switch(replacement.URL())
		rows, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || rows != spreadRows || end.GetAttempts() != 1 {
			t.Fatalf("%s, %v, %v", rows, end, err)
		}
		// Two cohorts of one worker each are left, of which v1 comes first.
		if len(end.GetWorkers()) != 1 || end.GetWorkers()[0].GetUrl() != first.URL() {
			t.Fatalf("it ran on %v", end.GetWorkers())
		}
		select {
		case <-refused.seen:
			return
		default:
		}
		t.Logf("try %d: a poll came in between", try)
		proxy.Switch(second.URL())
		until(t, func() bool {
			_, end, err := run(t.Context(), c, spread, client.Options{})
			return err == nil && len(end.GetWorkers()) == 2
		})
	}
	t.Error("a poll came in between every time")
}

// until waits for a condition for up to ten seconds.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	limit := time.After(10 * time.Second)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !ok() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatal("it did not come about within ten seconds")
		}
	}
}

// While workers of two versions come, go and take each other's place, no query ever runs on both, and every row is right.
func TestVersionsNeverMix(t *testing.T) {
	versions := []string{"v1", "v2"}
	var standing [2][4]*worker.Worker // by version and address
	var proxies []*clustertest.Proxy
	var urls []string
	for at := range 4 {
		for v := range versions {
			standing[v][at] = startWorker(t, versions[v])
		}
		proxies = append(proxies, clustertest.NewProxy(t, standing[at%2][at].URL()))
		urls = append(urls, proxies[at].URL)
	}
	c := over(t, urls)
	ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
	defer stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	ran := map[string]int{}
	attempts := uint32(0)
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				rows, end, err := run(t.Context(), c, spread, client.Options{})
				if err != nil {
					// Two attempts that ran may both meet a worker that goes; nothing else may fail.
					if code := sqlerr.CodeOf(err); code != sqlerr.WorkerLost && code != sqlerr.NoWorker {
						t.Errorf("%v (%s)", err, code)
					}
					mu.Lock()
					ran["failed"]++
					mu.Unlock()
					continue
				}
				if rows != spreadRows {
					t.Errorf("wrong rows: %s", rows)
				}
				mu.Lock()
				ran[end.GetCohort().GetVersion()]++
				attempts = max(attempts, end.GetAttempts())
				mu.Unlock()
				for _, w := range end.GetWorkers() {
					if w.GetVersion() != end.GetCohort().GetVersion() {
						t.Errorf("a query of cohort %v ran on %v", end.GetCohort(), end.GetWorkers())
					}
				}
			}
		})
	}
	ticker := time.NewTicker(150 * time.Millisecond)
	defer ticker.Stop()
	for turn := 0; ctx.Err() == nil; turn++ {
		select {
		case <-ticker.C:
			at := turn % 4
			proxies[at].Switch(standing[(turn/4+at+1)%2][at].URL())
		case <-ctx.Done():
		}
	}
	wg.Wait()
	t.Logf("queries by version: %v, at most %d attempts", ran, attempts)
	if ran["v1"] == 0 || ran["v2"] == 0 {
		t.Error("one of the versions never ran a query")
	}
}
