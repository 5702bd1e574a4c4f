package coordinator_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// counters is what a server shows at /metrics, by name and labels as they stand there.
func counters(t *testing.T, url string) map[string]string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", res.Status, err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if at := strings.LastIndexByte(line, ' '); line[0] != '#' && at > 0 {
			out[line[:at]] = strings.TrimSpace(line[at:])
		}
	}
	return out
}

// What operators count: queries by how they ended, calls by who called, workers by cohort, tasks on the worker.
func TestMetrics(t *testing.T) {
	url, workerURL := server(t)
	q := query(url)
	if _, err := q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT count(*) FROM region"}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT 1 / (r_regionkey - r_regionkey) FROM region"}); err == nil {
		t.Fatal("a division by zero succeeds")
	}
	if _, err := q.Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT 1", Options: &apiv1.QueryOptions{WorkerVersion: "none such"}}); err != nil {
		t.Fatal(err)
	}
	fetch := "/fletch.api.v1.QueryService/Fetch"
	for _, said := range []string{"1.0", "1.65000", "7.0", "?"} {
		post(t, url, fetch, `{"statement": "SELECT 1"}`, "Fletch-Api-Version", said)
	}
	got := counters(t, url)
	for name, want := range map[string]string{
		`fletch_queries_total{code="",status="succeeded"}`:                                  "4", // two of them of versioned clients
		`fletch_queries_total{code="division_by_zero",status="failed"}`:                     "1",
		`fletch_query_duration_seconds_count{status="succeeded"}`:                           "4",
		`fletch_attempts_total{outcome="finished"}`:                                         "1",
		`fletch_attempts_total{outcome="failed"}`:                                           "1",
		`fletch_scanned_total{unit="rows"}`:                                                 "5",
		fmt.Sprintf(`fletch_api_calls_total{client_version="none",procedure=%q}`, fetch):    "3",
		fmt.Sprintf(`fletch_api_calls_total{client_version="1.0",procedure=%q}`, fetch):     "1",
		fmt.Sprintf(`fletch_api_calls_total{client_version="newer",procedure=%q}`, fetch):   "1",
		fmt.Sprintf(`fletch_api_calls_total{client_version="other",procedure=%q}`, fetch):   "1",
		fmt.Sprintf(`fletch_api_calls_total{client_version="invalid",procedure=%q}`, fetch): "1",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, not %s", name, got[name], want)
		}
	}
	cohort := ""
	for name, n := range got {
		if strings.HasPrefix(name, "fletch_workers{") {
			cohort += name + " " + n
		}
	}
	if !strings.Contains(cohort, `state="ready",used="true",version="v1"} 1`) {
		t.Errorf("cohorts: %s", cohort)
	}
	tasks := counters(t, workerURL)
	page, err := os.ReadFile(filepath.Join(clustertest.Module(t, "docs"), "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []map[string]string{got, tasks} {
		for name := range shown {
			family, _, _ := strings.Cut(name, "{")
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				family = strings.TrimSuffix(family, part)
			}
			if strings.HasPrefix(family, "fletch_") && !strings.Contains(string(page), "`"+family+"`") {
				t.Errorf("docs/operations.md does not say what %s is", family)
			}
		}
	}
	if tasks[`fletch_tasks_total{code="",status="finished"}`] == "" || tasks[`fletch_tasks_total{code="division_by_zero",status="failed"}`] != "1" {
		t.Errorf("the worker's tasks: %v", tasks)
	}
}

// A query that finds no worker, and one that a worker refuses, are counted by their reasons.
func TestRefusalsAreCounted(t *testing.T) {
	url, _ := server(t)
	_, err := query(url).Fetch(t.Context(), &apiv1.FetchRequest{Statement: "SELECT count(*) FROM region", Options: &apiv1.QueryOptions{WorkerVersion: "none such"}})
	if err == nil {
		t.Fatal("a query ran on a version that nobody has")
	}
	if n := counters(t, url)[`fletch_refusals_total{reason="no_worker"}`]; n != "1" {
		t.Errorf("%q refusals", n)
	}
}

// ended is the spans that have ended, as an exporter gets them.
type ended chan sdktrace.ReadOnlySpan

func (e ended) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		e <- s
	}
	return nil
}

func (ended) Shutdown(context.Context) error { return nil }

// A query's spans are one tree over coordinator and workers.
func TestTraces(t *testing.T) {
	spans := make(ended, 100)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	var urls []string
	for range 2 {
		urls = append(urls, clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(clustertest.TPCH(t)), worker.WithTraces(provider)).URL())
	}
	url := clustertest.Coordinator(t, urls, coordinator.WithTables(clustertest.TPCH(t)), coordinator.WithTraces(provider)).URL()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	const caller = "0af7651916cd43dd8448eb211c80319c"
	_, body := post(t, url, "/fletch.api.v1.QueryService/Fetch", `{"statement": "SELECT o_orderpriority, count(*) FROM orders GROUP BY 1"}`,
		"Traceparent", "00-"+caller+"-b7ad6b7169203331-01")
	if !strings.Contains(body, `"rows":"5"`) {
		t.Fatal(body)
	}
	// A task's span ends with the task, which may be a moment after its last row was read.
	byName := map[string][]sdktrace.ReadOnlySpan{}
	for len(byName["query"]) == 0 || len(byName["attempt"]) == 0 || len(byName["task"]) < 3 {
		select {
		case s := <-spans:
			byName[s.Name()] = append(byName[s.Name()], s)
		case <-time.After(10 * time.Second):
			t.Fatalf("spans that came: %v", byName)
		}
	}
	q, attempt := byName["query"][0], byName["attempt"][0]
	if q.SpanContext().TraceID().String() != caller || attempt.Parent().SpanID() != q.SpanContext().SpanID() {
		t.Errorf("query %v, attempt within %v", q.SpanContext(), attempt.Parent())
	}
	for _, task := range byName["task"] {
		if task.SpanContext().TraceID() != q.SpanContext().TraceID() || task.Parent().SpanID() != attempt.SpanContext().SpanID() || !task.Parent().IsRemote() {
			t.Errorf("a task within %v", task.Parent())
		}
	}
}

// What is secret in a statement is not in its spans.
func TestTracesHaveNoSecrets(t *testing.T) {
	spans := make(ended, 100)
	c := over(t, []string{startWorker(t, "v1").URL()}, coordinator.WithTraces(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))))
	for _, sql := range []string{"SELECT CAST('https://me:hunter2@h' AS integer)", "SELECT CAST('https://me:hunter2@h' || r_name AS integer) FROM region"} {
		if _, _, err := run(t.Context(), c, sql, client.Options{}); err == nil {
			t.Fatalf("%s gives a number", sql)
		}
	}
	close(spans) // each has ended before its query
	failed := map[string]int{}
	for s := range spans {
		if text := s.Status().Description; text != "" {
			failed[s.Name()]++
			if strings.Contains(text, "hunter2") {
				t.Errorf("the span %s says %s", s.Name(), text)
			}
		}
	}
	if failed["query"] != 2 || failed["attempt"] != 1 {
		t.Errorf("spans with an error: %v", failed)
	}
}
