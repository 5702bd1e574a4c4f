package coordinator

import (
	"context"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// metrics is what operators count of a coordinator. Every label has few values, whatever clients send.
type metrics struct {
	registry *prometheus.Registry

	queries     *prometheus.CounterVec   // by status, and code where one failed
	durations   *prometheus.HistogramVec // by status
	attempts    *prometheus.CounterVec   // by outcome
	refusals    *prometheus.CounterVec   // by reason
	memory      prometheus.Histogram
	resultRows  prometheus.Counter
	resultBytes prometheus.Counter
	scanned     *prometheus.CounterVec // by unit: rows, bytes
	calls       *prometheus.CounterVec // by procedure and the client's API version
}

func newMetrics(c *Coordinator) *metrics {
	m := &metrics{
		registry: telemetry.NewRegistry("coordinator"),
		queries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_queries_total", Help: "Queries that ended, by status (succeeded, failed, canceled) and the error's code.",
		}, []string{"status", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "fletch_query_duration_seconds", Help: "From a query's acceptance to its end.", Buckets: telemetry.Seconds,
		}, []string{"status"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_attempts_total", Help: "Attempts at queries, by outcome: finished, failed, refused (nothing had run).",
		}, []string{"outcome"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_refusals_total", Help: "Attempts that ran nothing and queries that were not admitted, by reason.",
		}, []string{"reason"}),
		memory: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fletch_query_memory_peak_bytes", Help: "The most memory that one process accounted for in a query.", Buckets: telemetry.Bytes,
		}),
		resultRows:  prometheus.NewCounter(prometheus.CounterOpts{Name: "fletch_result_rows_total", Help: "Rows sent to clients."}),
		resultBytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "fletch_result_bytes_total", Help: "Bytes of Arrow sent to clients."}),
		scanned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_scanned_total", Help: "What scans read in the last attempts of queries, by unit: rows, or bytes as they are on disk.",
		}, []string{"unit"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_api_calls_total", Help: "Calls by procedure and the API version that the client said it speaks; none where it said nothing.",
		}, []string{"procedure", "client_version"}),
	}
	m.registry.MustRegister(m.queries, m.durations, m.attempts, m.refusals, m.memory, m.resultRows, m.resultBytes, m.scanned, m.calls, newFleet(c))
	return m
}

// refused counts what kept an attempt from running anything, or a query from being admitted.
func (m *metrics) refused(reason string) { m.refusals.WithLabelValues(reason).Inc() }

// called counts a call of the API.
func (m *metrics) called(procedure, version string) {
	m.calls.WithLabelValues(procedure, version).Inc()
}

// attempted counts an attempt. One that ran nothing was refused, for the reason that its error's code names.
func (m *metrics) attempted(ran bool, err error) {
	switch {
	case err == nil:
		m.attempts.WithLabelValues("finished").Inc()
	case ran:
		m.attempts.WithLabelValues("failed").Inc()
	default:
		m.attempts.WithLabelValues("refused").Inc()
		m.refused(string(sqlerr.CodeOf(err)))
	}
}

// ended counts a query.
func (m *metrics) ended(q *query, end *apiv1.QueryEnd) {
	status := statusOf(end.GetError())
	m.queries.WithLabelValues(status, end.GetError().GetDetail().GetCode()).Inc()
	m.durations.WithLabelValues(status).Observe(end.GetElapsed().AsDuration().Seconds())
	m.memory.Observe(float64(end.GetMemoryPeak()))
	q.mu.Lock()
	m.resultBytes.Add(float64(q.bytes))
	q.mu.Unlock()
	m.resultRows.Add(float64(end.GetRows()))
	m.scanned.WithLabelValues("rows").Add(float64(end.GetScanned().GetRows()))
	m.scanned.WithLabelValues("bytes").Add(float64(end.GetScanned().GetBytes()))
}

// statusOf is how a query ended, in one word.
func statusOf(e *apiv1.QueryError) string {
	switch {
	case e == nil:
		return "succeeded"
	case e.GetDetail().GetCode() == string(sqlerr.Canceled):
		return "canceled"
	}
	return "failed"
}

// A fleet shows, when it is asked, what the coordinator sees of its workers and what it is doing.
type fleet struct {
	c                        *Coordinator
	workers, running, memory *prometheus.Desc
}

func newFleet(c *Coordinator) *fleet {
	return &fleet{
		c: c,
		workers: prometheus.NewDesc("fletch_workers", "Workers of each cohort: by version, protocol, capabilities, state, and whether a query admitted now could run there.",
			[]string{"version", "protocol", "capabilities", "state", "used"}, nil),
		running: prometheus.NewDesc("fletch_queries_running", "Queries that run now.", nil, nil),
		memory:  prometheus.NewDesc("fletch_queries_memory_bytes", "Memory that running queries account for now, on all workers.", nil, nil),
	}
}

func (f *fleet) Describe(out chan<- *prometheus.Desc) {
	out <- f.workers
	out <- f.running
	out <- f.memory
}

func (f *fleet) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // what is known now: a scrape waits for nobody
	type group struct{ version, protocol, capabilities, state, used string }
	groups := map[group]int{}
	if list, err := (&clusterService{f.c}).ListWorkers(ctx, nil); err == nil {
		for _, w := range list.GetWorkers() {
			state := strings.ToLower(strings.TrimPrefix(w.GetState().String(), "WORKER_STATE_"))
			groups[group{w.GetVersion(), strconv.FormatUint(uint64(w.GetProtocol()), 10), w.GetCapabilities(), state, strconv.FormatBool(w.GetUsed())}]++
		}
	}
	for g, n := range groups {
		out <- prometheus.MustNewConstMetric(f.workers, prometheus.GaugeValue, float64(n), g.version, g.protocol, g.capabilities, g.state, g.used)
	}
	f.c.mu.Lock()
	queries := make([]*query, 0, len(f.c.queries))
	for _, q := range f.c.queries {
		queries = append(queries, q)
	}
	f.c.mu.Unlock()
	var memory float64
	for _, q := range queries {
		memory += float64(q.now().GetMemoryUsed())
	}
	out <- prometheus.MustNewConstMetric(f.running, prometheus.GaugeValue, float64(len(queries)))
	out <- prometheus.MustNewConstMetric(f.memory, prometheus.GaugeValue, memory)
}
