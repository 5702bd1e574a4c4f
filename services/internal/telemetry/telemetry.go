// Package telemetry is what operators see of a process: its counters at /metrics and, where an exporter is configured, the way of
// a query through coordinator and workers. It must never know what a query or a worker is.
package telemetry

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fletchdb/fletch/services/internal/identity"
)

// Path is where a process shows its counters.
const Path = "/metrics"

// Seconds are the bounds of histograms of durations: from a lookup in memory to a night's report.
var Seconds = []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000}

// Bytes are the bounds of histograms of sizes: powers of 4 from 64 KiB to 1 TiB.
var Bytes = prometheus.ExponentialBuckets(64<<10, 4, 13)

// NewRegistry makes a registry of its own, so that two servers in one process do not mix: with what any Go process tells of
// itself, and with which build and versions this one is.
func NewRegistry(role string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "fletch_build_info", Help: "1, with what this process is.",
	}, []string{"role", "release", "build", "protocol", "api"})
	info.WithLabelValues(role, identity.Release(), identity.Build(), strconv.FormatUint(uint64(identity.Protocol()), 10), identity.API().String()).Set(1)
	r.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Handler shows what r has counted.
func Handler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
