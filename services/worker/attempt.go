package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// How long, and how many of, ended attempts are remembered, so that a late SetPlan or a second Watch is refused.
const (
	tombstoneAge   = 10 * time.Minute
	tombstoneCount = 100_000
)

type attemptKey struct {
	query  string
	number uint32
}

type taskKey struct{ stage, task uint32 }

// registry is the attempts that a worker knows: open ones, and the tombstones of those that ended.
type registry struct {
	limit    int // of open attempts; 0: none
	log      *slog.Logger
	mu       sync.Mutex
	open     map[attemptKey]*attempt
	ended    map[attemptKey]time.Time
	order    []attemptKey // of ended, oldest first
	drains   bool
	idleSent bool
	idleCh   chan struct{}
}

func newRegistry(limit int, log *slog.Logger) *registry {
	return &registry{limit: limit, log: log, open: map[attemptKey]*attempt{}, ended: map[attemptKey]time.Time{}, idleCh: make(chan struct{})}
}

// attempt is one attempt at a query on this worker, from its Watch's first to its last moment.
type attempt struct {
	key    attemptKey
	ctx    context.Context
	cancel context.CancelCauseFunc
	memory *budget.Budget
	wg     sync.WaitGroup // its tasks' goroutines
	events *events

	mu    sync.Mutex
	tasks map[taskKey]*task
}

var (
	errExists   = connect.NewError(connect.CodeAlreadyExists, "the attempt was opened before")
	errNotFound = connect.NewError(connect.CodeNotFound, "no such attempt is open here")
)

// begin opens an attempt. It fails with ALREADY_EXISTS if it is open or was, with draining if the worker drains, and with
// RESOURCE_EXHAUSTED, code too_many_queries, if it has as many as it takes.
func (r *registry) begin(ctx context.Context, key attemptKey, draining error) (*attempt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expire(time.Now())
	if r.open[key] != nil {
		return nil, errExists
	}
	if _, was := r.ended[key]; was {
		return nil, errExists
	}
	if r.drains {
		return nil, draining
	}
	if r.limit > 0 && len(r.open) >= r.limit {
		return nil, rpcerr.ToWorker(sqlerr.Newf(sqlerr.TooManyQueries, sqlerr.Pos{}, "the worker has as many queries as it takes at a time: %d", r.limit))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a := &attempt{key: key, ctx: ctx, cancel: cancel, events: newEvents(), tasks: map[taskKey]*task{}}
	r.open[key] = a
	return a, nil
}

// end cancels an attempt, waits for its tasks and leaves a tombstone.
func (r *registry) end(a *attempt, cause error) {
	a.cancel(cause)
	r.mu.Lock()
	if r.open[a.key] == a {
		delete(r.open, a.key)
		r.ended[a.key] = time.Now()
		r.order = append(r.order, a.key)
	}
	r.mu.Unlock()
	a.mu.Lock()
	tasks := a.tasks
	a.tasks = map[taskKey]*task{}
	a.mu.Unlock()
	for _, t := range tasks {
		t.abandon()
	}
	a.wg.Wait()
	a.mu.Lock()
	if a.memory != nil && a.memory.Used() != 0 {
		r.log.Error("an attempt ended with memory reserved", "query", a.key.query, "attempt", a.key.number, "bytes", a.memory.Used())
	}
	a.mu.Unlock()
	r.mu.Lock()
	r.signalIdle()
	r.mu.Unlock()
}

func (r *registry) expire(now time.Time) {
	for len(r.order) > 0 && (len(r.order) > tombstoneCount || now.Sub(r.ended[r.order[0]]) > tombstoneAge) {
		delete(r.ended, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *registry) find(key attemptKey) (*attempt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.open[key]; a != nil {
		return a, nil
	}
	return nil, errNotFound
}

func (r *registry) draining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drains
}

// drain takes no new attempt from now on, and tells how many are open.
func (r *registry) drain() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drains = true
	r.signalIdle()
	return len(r.open)
}

func (r *registry) signalIdle() {
	if r.drains && len(r.open) == 0 && !r.idleSent {
		r.idleSent = true
		close(r.idleCh)
	}
}

// idle is closed once the registry drains and its last attempt has ended.
func (r *registry) idle() <-chan struct{} { return r.idleCh }

func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open)
}

// close ends every attempt, for cause.
func (r *registry) close(cause error) {
	r.mu.Lock()
	var open []*attempt
	for _, a := range r.open {
		open = append(open, a)
	}
	r.mu.Unlock()
	for _, a := range open {
		r.end(a, cause)
	}
}

func (r *registry) load(limit int64) *identityv1.Load {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := &identityv1.Load{Attempts: uint32(len(r.open)), MemoryLimit: uint64(max(0, limit))}
	for _, a := range r.open {
		a.mu.Lock()
		l.Tasks += uint32(len(a.tasks))
		if a.memory != nil {
			l.MemoryUsed += uint64(max(0, a.memory.Used()))
		}
		a.mu.Unlock()
	}
	return l
}

// events is what a Watch has still to say. Adding never blocks: nothing that watches a query can hold it up.
type events struct {
	mu     sync.Mutex
	queue  []*workerv1.WatchResponse
	notify chan struct{}
}

func newEvents() *events { return &events{notify: make(chan struct{}, 1)} }

func (e *events) add(m *workerv1.WatchResponse) {
	e.mu.Lock()
	e.queue = append(e.queue, m)
	e.mu.Unlock()
	select {
	case e.notify <- struct{}{}:
	default:
	}
}

func (e *events) take() []*workerv1.WatchResponse {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.queue
	e.queue = nil
	return out
}
