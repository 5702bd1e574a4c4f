package worker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// metrics is what operators count of a worker. Every label has few values, whatever callers send.
type metrics struct {
	registry *prometheus.Registry

	tasks     *prometheus.CounterVec // by status, and code where one failed
	durations prometheus.Histogram
	rows      *prometheus.CounterVec // by direction: scanned, out
	bytes     *prometheus.CounterVec // by direction
	memory    prometheus.Histogram
	refusals  *prometheus.CounterVec // by reason
}

func newMetrics(w *Worker) *metrics {
	m := &metrics{
		registry: telemetry.NewRegistry("worker"),
		tasks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_tasks_total", Help: "Tasks that ended, by status (finished, failed, canceled) and the error's code.",
		}, []string{"status", "code"}),
		durations: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fletch_task_duration_seconds", Help: "From the first request for a task's rows to its end.", Buckets: telemetry.Seconds,
		}),
		rows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_task_rows_total", Help: "Rows of tasks that ended, by direction: scanned, or out to whoever reads them.",
		}, []string{"direction"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_task_bytes_total", Help: "Bytes of tasks that ended, by direction: scanned as they are on disk, or out.",
		}, []string{"direction"}),
		memory: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "fletch_task_memory_peak_bytes", Help: "The most memory that a task's attempt accounted for here.", Buckets: telemetry.Bytes,
		}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fletch_refusals_total", Help: "Calls that were refused, by reason.",
		}, []string{"reason"}),
	}
	now := func(name, help string, of func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, of)
	}
	m.registry.MustRegister(
		m.tasks, m.durations, m.rows, m.bytes, m.memory, m.refusals,
		now("fletch_attempts_open", "Attempts at queries that are open here.", func() float64 { return float64(w.info().GetLoad().GetAttempts()) }),
		now("fletch_tasks_open", "Tasks of open attempts.", func() float64 { return float64(w.info().GetLoad().GetTasks()) }),
		now("fletch_attempts_memory_bytes", "Memory that open attempts account for.", func() float64 { return float64(w.info().GetLoad().GetMemoryUsed()) }),
	)
	return m
}

// ended counts a task that ran.
func (m *metrics) ended(t *task, err error, took time.Duration) {
	status, code := "finished", ""
	if err != nil {
		status, code = "failed", string(rpcerr.Of(err).Code)
		if code == string(sqlerr.Canceled) {
			status = "canceled"
		}
	}
	m.tasks.WithLabelValues(status, code).Inc()
	m.durations.Observe(took.Seconds())
	p := t.progress()
	m.rows.WithLabelValues("scanned").Add(float64(p.GetRowsScanned()))
	m.rows.WithLabelValues("out").Add(float64(p.GetRowsOut()))
	m.bytes.WithLabelValues("scanned").Add(float64(p.GetBytesScanned()))
	m.bytes.WithLabelValues("out").Add(float64(p.GetBytesOut()))
	m.memory.Observe(float64(max(0, t.env.Budget.Peak())))
}
