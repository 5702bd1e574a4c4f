package exec

import (
	"context"
	"sync"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
)

// An Env is what a plan runs in. It is made per task and shared by its goroutines.
type Env struct {
	Threads   int // goroutines per pipeline; 0: 1
	BatchRows int // rows per batch; 0: vector.DefaultBatch
	Budget    *budget.Budget
	Filters   *RuntimeFilters

	// OpenScan and OpenRemote give the sources of the leaves that exec knows nothing of. A scan is opened when its pipeline
	// starts, after the joins whose runtime filters it probes have published them.
	OpenScan   func(ctx context.Context, scan *physical.Scan) (Source, error)
	OpenRemote func(ctx context.Context, remote *physical.Remote) (Source, error)

	Metrics *Metrics // nil: nothing is counted

	working map[int32]*rounds // of the recursions that this plan is the step of, by id
	ctx     context.Context   // of the run, which ends before Run returns: what functions that are not built in are called with
}

// context is the run's.
func (e *Env) context() context.Context {
	if e.ctx == nil {
		return context.Background()
	}
	return e.ctx
}

// newFilter makes the filter of one goroutine of the run.
func (e *Env) newFilter(cond expr.Expr) (*eval.Filter, error) {
	return eval.NewFilter(e.context(), cond, e.BatchRows)
}

// A KeyFilter tells of join keys whether the build side may have them: false positives are allowed, false negatives are not.
// It is immutable once published.
type KeyFilter interface {
	// Narrow clears the bits of rows – v.Len of them – whose value is surely not among the build side's. NULL never is.
	Narrow(v *vector.Vector, bits []uint64)
	// Range gives the least and greatest key as integers, ok only for integer-like keys (ints, DATE, TIMESTAMP, narrow
	// DECIMAL unscaled) and at least one key.
	Range() (lo, hi int64, ok bool)
	// Empty tells that the build side has no key at all.
	Empty() bool
}

// RuntimeFilters holds the published filters of one task by their id in the plan.
type RuntimeFilters struct {
	mu sync.Mutex
	m  map[int32]KeyFilter
}

// Publish sets the filter of an id.
func (r *RuntimeFilters) Publish(id int32, f KeyFilter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[int32]KeyFilter{}
	}
	r.m[id] = f
}

// Get is the filter of an id, nil where none was published.
func (r *RuntimeFilters) Get(id int32) KeyFilter {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.m[id]
}
