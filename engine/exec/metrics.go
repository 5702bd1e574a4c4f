package exec

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/fletchdb/fletch/engine/physical"
)

// Metrics counts what each node of a plan did, for EXPLAIN ANALYZE and progress. It can be read while the plan runs.
type Metrics struct {
	mu    sync.Mutex
	nodes map[physical.Node]*NodeMetrics
}

// NodeMetrics is the counts of one node, summed over its goroutines.
type NodeMetrics struct {
	Rows    atomic.Int64 // given to its parent
	Batches atomic.Int64
	Bytes   atomic.Int64 // a scan: read from its files; a remote: received
	Nanos   atomic.Int64 // in the node itself, without its children, all goroutines together
	Memory  atomic.Int64 // bytes at its peak
	Total   atomic.Int64 // a scan: bytes it will have read at its end, 0 while unknown
}

// Of is n's counts, made when first asked for. A nil Metrics gives a place that nobody reads.
func (m *Metrics) Of(n physical.Node) *NodeMetrics {
	if m == nil {
		return &NodeMetrics{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.nodes == nil {
		m.nodes = map[physical.Node]*NodeMetrics{}
	}
	c := m.nodes[n]
	if c == nil {
		c = &NodeMetrics{}
		m.nodes[n] = c
	}
	return c
}

// Elapsed is the time that n's goroutines spent in it together.
func (c *NodeMetrics) Elapsed() time.Duration { return time.Duration(c.Nanos.Load()) }
