package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/sqlerr"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/internal/telemetry"
	"github.com/fletchdb/fletch/services/resolver"
)

// limits bounds every wait. What is silent for longer, although it tells of progress five times a second, counts as lost.
type limits struct {
	admit    time.Duration // for a usable worker to appear
	queue    time.Duration // for workers to have room
	open     time.Duration // for a worker to acknowledge an attempt
	plan     time.Duration // for a worker to take its plans
	silence  time.Duration // between two messages of a Watch
	metrics  time.Duration // for final metrics, once the result is whole
	cut      time.Duration // for a client to take what is being written when its query is cancelled
	patience time.Duration // for a client to take any write; 0 is httpserve's
	page     time.Duration // for somebody to ask for a result's next page
	stop     time.Duration // for running queries to end when the process is told to
}

func defaultLimits() limits {
	return limits{
		admit: 3 * time.Second, queue: time.Minute, open: 5 * time.Second, plan: 10 * time.Second, silence: 10 * time.Second, metrics: time.Second,
		cut: 500 * time.Millisecond, page: time.Minute, stop: 30 * time.Second,
	}
}

// An attempt is one try at a query on one cohort.
type attempt struct {
	c       *Coordinator
	q       *query
	number  uint32
	plan    *engine.Plan
	tasks   []engine.Task
	on      []resolver.Worker // worker of each task
	ctx     context.Context
	cancel  context.CancelCauseFunc
	token   []byte
	unknown ignorance // of the cohort
	wg      sync.WaitGroup

	mu      sync.Mutex
	pending map[taskRef]bool // tasks whose end has not been told
	ended   chan struct{}    // closed when pending is empty
}

// attempt runs q's plan on a cohort. ran tells whether any task may have run.
func (c *Coordinator) attempt(ctx context.Context, q *query, plan *engine.Plan, chosen *cohort, out *counting) (ran bool, err error) {
	tasks := c.engine.Tasks(plan, len(chosen.workers))
	a := &attempt{c: c, q: q, plan: plan, tasks: tasks, unknown: c.ignorances.of(chosen), token: make([]byte, 16), pending: map[taskRef]bool{}, ended: make(chan struct{})}
	_, _ = rand.Read(a.token)
	ctx, span := c.tracer.Start(ctx, "attempt", trace.WithAttributes(attribute.String("fletch.query", q.id), attribute.String("fletch.version", chosen.key.Version)))
	defer func() { telemetry.End(span, q.record.struck(err)) }()
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	defer func() {
		a.cancel(context.Canceled)
		a.wg.Wait()
	}()
	c.mu.Lock()
	turn := c.turn
	c.turn++
	c.mu.Unlock()
	used := map[string]resolver.Worker{}
	for _, t := range tasks {
		w := chosen.workers[(int(t.Task)+turn)%len(chosen.workers)]
		a.on = append(a.on, w)
		used[w.URL] = w
		a.pending[taskRef{t.Stage, t.Task}] = true
	}
	q.begin(chosen, used, tasks)
	a.number = q.number()
	span.SetAttributes(attribute.Int64("fletch.attempt", int64(a.number)))
	q.record.spread(a, chosen, c.policy())
	if err := a.open(used); err != nil {
		return false, err
	}
	c.line.leave(q)
	q.counted()
	q.record.running(a)
	a.supplyAll()
	if err := a.relay(out); err != nil {
		if a.ctx.Err() != nil {
			err = a.cause(err)
		}
		return true, replaced(err)
	}
	// The result is whole. Metrics may take a moment, never more.
	select {
	case <-a.ended:
	case <-time.After(a.c.limits.metrics):
	case <-a.ctx.Done():
	}
	return true, nil
}

// cause is why the attempt ended: what was told first, not what broke in its wake.
func (a *attempt) cause(err error) error {
	if cause := context.Cause(a.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// suspect is the worker whose loss or refusal an error tells of, nil if there is none. The poller is told to look again.
func (c *Coordinator) suspect(err error) *resolver.Worker {
	var from *workerError
	if !errors.As(err, &from) {
		return nil
	}
	switch sqlerr.CodeOf(from.err) {
	case sqlerr.WorkerLost, sqlerr.VersionMismatch, sqlerr.Draining:
		c.poller.Suspect(from.worker.URL, from.worker.Identity.GetInstanceId(), from.err)
		return &from.worker
	}
	return nil
}

// replaced says of a worker that was another one in the middle of an attempt that it is lost: to its rows it is.
func replaced(err error) error {
	if sqlerr.CodeOf(err) != sqlerr.VersionMismatch {
		return err
	}
	return sqlerr.Newf(sqlerr.WorkerLost, sqlerr.Pos{}, "lost a worker that was replaced during the query: %w", err)
}

// A workerError is an error with the worker that it speaks of.
type workerError struct {
	worker resolver.Worker
	err    error
}

func (e *workerError) Error() string { return e.err.Error() }
func (e *workerError) Unwrap() error { return e.err }

// begin notes where a new attempt runs.
func (q *query) begin(chosen *cohort, used map[string]resolver.Worker, tasks []engine.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cohort, q.plan, q.tasks, q.finished, q.workers = chosen, tasks, len(tasks), 0, nil
	for _, w := range used {
		q.workers = append(q.workers, w)
	}
	clear(q.progress)
	clear(q.metrics)
	clear(q.memory)
	clear(q.usedNow)
	q.opened++
}

// number is the attempt's number on the wire: refusals have one too, so that no number is ever used twice.
func (q *query) number() uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.opened
}

func (q *query) counted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.attempts++
}

// open opens a Watch on every worker and, as soon as one is acknowledged, hands it its plans. Nothing runs before all are.
func (a *attempt) open(used map[string]resolver.Worker) error {
	var wg sync.WaitGroup
	for _, w := range used {
		acknowledged := make(chan error, 1)
		a.wg.Go(func() { a.watch(w, acknowledged) })
		wg.Go(func() {
			limit := time.NewTimer(a.c.limits.open)
			defer limit.Stop()
			var err error
			select {
			case err = <-acknowledged:
			case <-limit.C:
				err = sqlerr.Newf(sqlerr.WorkerLost, sqlerr.Pos{}, "lost worker %s: it did not acknowledge the attempt within %s", w.URL, a.c.limits.open)
			case <-a.ctx.Done():
				return
			}
			if err == nil {
				err = a.setPlans(w)
			}
			if err != nil {
				a.cancel(&workerError{w, err})
			}
		})
	}
	wg.Wait()
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	return nil
}

func (a *attempt) client(w resolver.Worker) workerv1connect.WorkerServiceClient {
	return workerv1connect.NewWorkerServiceClient(pull.Client(a.c.dialer, w.URL, w.Identity))
}

func (a *attempt) timeout() *durationpb.Duration {
	if deadline, ok := a.ctx.Deadline(); ok {
		return durationpb.New(time.Until(deadline))
	}
	return nil
}

// watch holds the attempt's lease on a worker and takes what it tells, until the attempt ends.
func (a *attempt) watch(w resolver.Worker, acknowledged chan<- error) {
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(context.Canceled)
	silence := time.AfterFunc(a.c.limits.silence, func() {
		cancel(sqlerr.Newf(sqlerr.WorkerLost, sqlerr.Pos{}, "lost worker %s: nothing came from it for %s", w.URL, a.c.limits.silence))
	})
	defer silence.Stop()
	fail := func(err error) {
		err = rpcerr.FromWorker(ctx, w.URL, err)
		select {
		case acknowledged <- err:
		default:
			a.cancel(&workerError{w, err})
		}
	}
	stream, err := a.client(w).Watch(ctx, &workerv1.WatchRequest{Query: a.q.id, Attempt: a.number, Timeout: a.timeout()})
	if err != nil {
		fail(err)
		return
	}
	defer func() { _ = stream.Close() }()
	told := false
	for {
		m, err := stream.Receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			fail(err)
			return
		}
		silence.Reset(a.c.limits.silence)
		switch e := m.GetEvent().(type) {
		case *workerv1.WatchResponse_Opened:
			if !told {
				told = true
				acknowledged <- nil
			}
		case *workerv1.WatchResponse_Progress:
			a.q.progressed(w.URL, e.Progress)
		case *workerv1.WatchResponse_Finished:
			last := a.finished(w, e.Finished)
			a.q.record.task(a, w, e.Finished, last)
		case *workerv1.WatchResponse_Failed:
			err := rpcerr.FromWorkerDetail(e.Failed.GetError())
			if err.Code != sqlerr.Canceled {
				a.q.record.taskFailed(a, w, e.Failed.GetTask(), err)
				a.failed(err)
			}
		}
	}
}

// failed ends the attempt by a task's own failure. A task that lost its producer is the messenger only: the producer's own
// Watch says more of it, if it says anything.
func (a *attempt) failed(err *sqlerr.Error) {
	if err.Code == sqlerr.WorkerLost || err.Code == sqlerr.VersionMismatch {
		for _, w := range a.on {
			if containsURL(err.Message, w.URL) {
				a.cancel(&workerError{w, err})
				return
			}
		}
	}
	a.cancel(err)
}

// finished notes a task's end, and tells whether it was the last of its stage.
func (a *attempt) finished(w resolver.Worker, m *workerv1.TaskFinished) (last bool) {
	ref := taskRef{m.GetProgress().GetTask().GetStage(), m.GetProgress().GetTask().GetTask()}
	a.q.mu.Lock()
	a.q.progress[ref] = m.GetProgress()
	a.q.metrics[ref] = m.GetMetrics()
	a.q.memory[w.URL] = max(a.q.memory[w.URL], m.GetMetrics().GetMemoryPeak())
	a.q.finished++
	a.q.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.pending[ref] {
		return false
	}
	delete(a.pending, ref)
	if len(a.pending) == 0 {
		close(a.ended)
	}
	for other := range a.pending {
		if other.stage == ref.stage {
			return false
		}
	}
	return true
}

func (q *query) progressed(url string, p *workerv1.AttemptProgress) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range p.GetTasks() {
		q.progress[taskRef{t.GetTask().GetStage(), t.GetTask().GetTask()}] = t
	}
	q.usedNow[url] = p.GetMemoryUsed()
	q.memory[url] = max(q.memory[url], p.GetMemoryPeak())
}

// setPlans hands a worker all its plans.
func (a *attempt) setPlans(w resolver.Worker) error {
	ctx, cancel := context.WithTimeout(a.ctx, a.c.limits.plan)
	defer cancel()
	client := a.client(w)
	for i, t := range a.tasks {
		if a.on[i].URL != w.URL {
			continue
		}
		fragment, err := codec.Encode(t.Root, t.Output)
		if err != nil {
			return err
		}
		a.unknown.cut(fragment)
		req := &workerv1.SetPlanRequest{
			Key: a.key(t), Fragment: fragment, Token: a.token,
			Options: &workerv1.TaskOptions{
				Timeout: a.timeout(), MemoryLimit: a.memory(), Threads: a.threads(), BatchRows: a.q.options.GetBatchRows(), OperatorMetrics: a.q.operators || a.plan.Analyze(),
			},
		}
		for _, in := range t.Inputs {
			input := &workerv1.StageInput{Stage: in.Stage, Partitioned: in.Partitioned, Shared: in.Shared, Reader: in.Reader}
			for j, p := range a.tasks {
				if p.Stage == in.Stage && in.Reads(t.Task, p.Task) {
					input.Producers = append(input.Producers, a.producer(j))
				}
			}
			req.Inputs = append(req.Inputs, input)
		}
		for _, s := range t.Supplies {
			req.Inputs = append(req.Inputs, &workerv1.StageInput{Stage: s.Stage, Supplied: true})
		}
		if _, err := client.SetPlan(ctx, req); err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) && a.ctx.Err() == nil {
				return sqlerr.Newf(sqlerr.WorkerLost, sqlerr.Pos{}, "lost worker %s: it did not take a plan within %s", w.URL, a.c.limits.plan)
			}
			return rpcerr.FromWorker(a.ctx, w.URL, err)
		}
	}
	return nil
}

func (a *attempt) key(t engine.Task) *workerv1.TaskKey {
	return &workerv1.TaskKey{Query: a.q.id, Attempt: a.number, Stage: t.Stage, Task: t.Task}
}

func (a *attempt) producer(i int) *workerv1.Producer {
	return &workerv1.Producer{Task: a.tasks[i].Task, Url: a.on[i].URL, Identity: a.on[i].Identity}
}

func (a *attempt) memory() uint64 {
	own := uint64(max(0, a.c.cfg.memory))
	if asked := a.q.options.GetMemoryLimit(); asked > 0 && (own == 0 || asked < own) {
		return asked
	}
	return own
}

func (a *attempt) threads() uint32 {
	if asked := a.q.options.GetThreads(); asked > 0 {
		return asked
	}
	return uint32(max(0, a.c.cfg.threads))
}

// relay pulls the root's rows and hands them on, the first of them only once holdBack bytes have come or all have.
func (a *attempt) relay(out *counting) error {
	root := -1
	for i, t := range a.tasks {
		if t.Stage == 0 {
			root = i
		}
	}
	stream, err := pull.Open(a.ctx, a.c.dialer, a.producer(root), &workerv1.ExecuteTaskRequest{Key: a.key(a.tasks[root]), Token: a.token})
	if err != nil {
		return &workerError{a.on[root], err}
	}
	defer stream.Close()
	type held struct {
		message []byte
		rows    int64
	}
	var early []held
	size := 0
	flush := func() error {
		for _, h := range early {
			if err := out.Message(h.message, h.rows); err != nil {
				return err
			}
		}
		early = nil
		return nil
	}
	relay := arrowwire.NewRelay(stream.Receive)
	for {
		message, rows, err := relay.Next()
		if errors.Is(err, io.EOF) {
			if err := flush(); err != nil {
				return err
			}
			return out.Message(arrowwire.EndOfStream, 0)
		}
		if err != nil {
			return a.explain(a.on[root], err)
		}
		if !out.began {
			early = append(early, held{message, rows})
			if size += len(message); size >= holdBack {
				err = flush()
			}
		} else {
			err = out.Message(message, rows)
		}
		if err != nil {
			return err
		}
	}
}

// explain gives the reason of a failed stream time to come by Watch, which names the task that failed first.
func (a *attempt) explain(w resolver.Worker, err error) error {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		e = rpcerr.Lost(w.URL, err)
	}
	if e.Code == sqlerr.WorkerLost || e.Code == sqlerr.Canceled {
		select {
		case <-a.ctx.Done():
		case <-time.After(a.c.limits.metrics / 4):
		}
		if a.ctx.Err() == nil {
			return &workerError{w, e}
		}
	}
	return e
}
