package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// A task is one task's plan and, once somebody has asked for its output, its run.
type task struct {
	worker    *Worker
	attempt   *attempt
	key       taskKey
	content   [32]byte // of the request, to tell a repetition from another plan
	root      physical.Node
	out       physical.Output
	inputs    map[inputKey]*workerv1.StageInput
	supplies  map[int32]*supply // of those inputs that the coordinator sends, by stage
	token     []byte
	operators bool
	schema    *arrow.Schema
	env       *exec.Env
	caller    trace.SpanContext // within which the plan was set

	ctx     context.Context
	cancel  context.CancelCauseFunc
	outlets []*outlet // partition-major: partitions × consumers

	mu       sync.Mutex
	started  bool
	asked    map[producerKey]bool // producers that were asked for rows
	open     int                  // outlets that are not closed
	exchange *budget.User         // what the outlets hold
}

// An inputKey is a stage that a task reads, and as which of its readers.
type inputKey struct{ stage, reader int32 }

// A producerKey is a task of a stage that a task reads.
type producerKey struct {
	input inputKey
	task  uint32
}

// errUnread ends a task whose output nobody reads any more.
var errUnread = errors.New("nobody reads the task's output any more")

// prepare makes what a run needs. It fails for a plan whose rows cannot travel.
func (t *task) prepare(threads, batchRows int) (err error) {
	if t.schema, err = arrowio.SchemaOf(t.root.Schema(), t.form()); err != nil {
		return err
	}
	t.asked = map[producerKey]bool{}
	t.ctx, t.cancel = context.WithCancelCause(t.attempt.ctx)
	t.env = &exec.Env{Threads: threads, BatchRows: batchRows, Filters: &exec.RuntimeFilters{}, Metrics: &exec.Metrics{}}
	t.env.OpenScan = func(ctx context.Context, scan *physical.Scan) (exec.Source, error) {
		return t.worker.files.scan(ctx, scan, t.env)
	}
	t.env.OpenRemote = t.openRemote
	for p := range t.out.Partitions {
		for c := range t.out.Consumers {
			consumer := c
			if t.out.Kind == physical.Hash || t.out.Kind == physical.Robin {
				consumer = p
			}
			t.outlets = append(t.outlets, &outlet{task: t, consumer: uint32(consumer), changed: make(chan struct{}, 1), taken: make(chan struct{}, 1)})
		}
	}
	t.open = len(t.outlets)
	return nil
}

// form is how decimals travel: as clients want them from the stage that gives the result, else as workers do.
func (t *task) form() arrowio.Form {
	if t.key.stage == 0 {
		return arrowio.Wide
	}
	return arrowio.Narrow
}

func (t *task) batchRows() int64 {
	if t.env.BatchRows > 0 {
		return int64(t.env.BatchRows)
	}
	return vector.DefaultBatch
}

// claim gives the outlet of a partition to one consumer, once, and starts the task if it is the first to ask for rows. An
// unwanted outlet is closed. The attempt's mutex is held, and the attempt is open.
func (t *task) claim(partition, consumer uint32, unwanted bool) (*outlet, error) {
	if int64(partition) >= int64(t.out.Partitions) {
		return nil, connect.Errorf(connect.CodeInvalidArgument, "partition %d of %d", partition, t.out.Partitions)
	}
	at := t.outlets[int(partition)*t.out.Consumers:][:t.out.Consumers]
	t.mu.Lock()
	i := slices.IndexFunc(at, func(o *outlet) bool { return o.consumer == consumer })
	switch {
	case i < 0:
		t.mu.Unlock()
		return nil, connect.Errorf(connect.CodeInvalidArgument, "partition %d is not for consumer %d", partition, consumer)
	case at[i].claimed:
		t.mu.Unlock()
		return nil, connect.NewError(connect.CodeAlreadyExists, "the partition was handed out before")
	}
	at[i].claimed = true
	run := t.run
	if unwanted {
		run = t.skip
	}
	begin := !t.started && (!unwanted || t.open == 1)
	t.started = t.started || begin
	t.mu.Unlock()
	if unwanted {
		at[i].close()
	}
	if begin {
		t.attempt.wg.Go(run)
	}
	return at[i], nil
}

// skip ends a task of which nobody wanted a row.
func (t *task) skip() {
	t.closeSupplies()
	for _, o := range t.outlets {
		o.finish(nil)
	}
	t.attempt.events.add(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Finished{Finished: &workerv1.TaskFinished{
		Progress: t.progress(), Metrics: t.metrics(0),
	}}})
	t.leave()
}

// run executes the plan into the outlets and reports how it ended.
func (t *task) run() {
	begin := time.Now()
	ctx, span := t.worker.tracer.Start(trace.ContextWithRemoteSpanContext(t.ctx, t.caller), "task", trace.WithAttributes(
		attribute.String("fletch.query", t.attempt.key.query), attribute.Int64("fletch.attempt", int64(t.attempt.key.number)),
		attribute.Int64("fletch.stage", int64(t.key.stage)), attribute.Int64("fletch.task", int64(t.key.task)),
	))
	sink := newDeal(t)
	err := exec.Run(ctx, t.root, t.env, sink)
	if cerr := sink.Close(); err == nil {
		err = cerr
	}
	if t.ctx.Err() != nil && errors.Is(context.Cause(t.ctx), errUnread) {
		err = nil // every reader left: that is a task's end like any other
	}
	if err != nil {
		err = t.worker.fileError(rpcerr.Of(err))
	}
	t.closeSupplies()
	for _, o := range t.outlets {
		o.finish(err)
	}
	t.cancel(nil)
	t.worker.metrics.ended(t, err, time.Since(begin))
	telemetry.End(span, err)
	if err == nil {
		t.attempt.events.add(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Finished{Finished: &workerv1.TaskFinished{
			Progress: t.progress(), Metrics: t.metrics(time.Since(begin)),
		}}})
		t.leave()
		return
	}
	switch e := rpcerr.Of(err); e.Code {
	case sqlerr.Canceled:
	case sqlerr.Internal:
		t.worker.log.Error("task met a fault", "query", t.attempt.key.query, "attempt", t.attempt.key.number, "stage", t.key.stage, "task", t.key.task, "error", e, "cause", e.Err)
	default:
		t.worker.log.Info("task failed", "query", t.attempt.key.query, "attempt", t.attempt.key.number, "stage", t.key.stage, "task", t.key.task, "error", e)
	}
	t.attempt.events.add(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Failed{Failed: &workerv1.TaskFailed{
		Task: t.ref(), Error: rpcerr.WorkerDetail(rpcerr.Of(err), t.ref(), t.worker.URL()),
	}}})
}

// ask notes that a producer is being asked for rows.
func (t *task) ask(input inputKey, task uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[producerKey{input, task}] = true
}

// leave tells the producers that were not asked that they need not keep rows for this task. It can fail nothing: what is left
// untold ends with the attempt.
func (t *task) leave() {
	var wg sync.WaitGroup
	for input, in := range t.inputs {
		for _, p := range in.GetProducers() {
			t.mu.Lock()
			asked := t.asked[producerKey{input, p.GetTask()}]
			t.mu.Unlock()
			if asked {
				continue
			}
			req := t.request(input, p)
			req.Unwanted = true
			wg.Go(func() {
				if identity.Same(p.GetIdentity(), t.worker.self) {
					_, _ = t.worker.claim(req)
					return
				}
				if s, err := pull.Open(t.attempt.ctx, t.worker.dialer, p, req); err == nil {
					_ = s.Receive(&arrowwire.Message{})
					s.Close()
				}
			})
		}
	}
	wg.Wait()
}

// request is what this task asks of a producer.
func (t *task) request(input inputKey, p *workerv1.Producer) *workerv1.ExecuteTaskRequest {
	req := &workerv1.ExecuteTaskRequest{
		Key: &workerv1.TaskKey{Query: t.attempt.key.query, Attempt: t.attempt.key.number, Stage: uint32(input.stage), Task: p.GetTask()}, Consumer: t.key.task, Token: t.token,
	}
	switch in := t.inputs[input]; {
	case in.GetPartitioned():
		req.Partition = t.key.task // its own; of an output that is not dealt out, the one there is
	case in.GetShared():
		req.Consumer = in.GetReader()
	}
	return req
}

func (t *task) ref() *workerv1.TaskRef {
	return &workerv1.TaskRef{Stage: t.key.stage, Task: t.key.task}
}

// abandon gives up what the outlets hold; the attempt's context has ended.
func (t *task) abandon() {
	t.cancel(context.Canceled)
	t.closeSupplies()
	for _, o := range t.outlets {
		o.drop()
	}
}

// nodes calls f for every operator in pre-order, which is how metrics number them.
func nodes(n physical.Node, f func(int, physical.Node)) {
	i := 0
	var visit func(physical.Node)
	visit = func(n physical.Node) {
		f(i, n)
		i++
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(n)
}

func (t *task) progress() *workerv1.TaskProgress {
	p := &workerv1.TaskProgress{Task: t.ref()}
	var done, total int64
	nodes(t.root, func(_ int, n physical.Node) {
		if _, ok := n.(*physical.Scan); ok {
			m := t.env.Metrics.Of(n)
			p.RowsScanned += uint64(m.Rows.Load())
			p.BytesScanned += uint64(m.Bytes.Load())
			done += m.Bytes.Load()
			total += m.Total.Load()
		}
	})
	if total > 0 {
		share := min(1, float64(done)/float64(total))
		p.Fraction = &share
	}
	for _, o := range t.outlets {
		rows, bytes := o.totals()
		p.RowsOut += uint64(rows)
		p.BytesOut += uint64(bytes)
	}
	return p
}

func (t *task) metrics(elapsed time.Duration) *workerv1.TaskMetrics {
	m := &workerv1.TaskMetrics{Elapsed: durationpb.New(elapsed), MemoryPeak: uint64(max(0, t.env.Budget.Peak()))}
	var busy time.Duration
	nodes(t.root, func(i int, n physical.Node) {
		c := t.env.Metrics.Of(n)
		busy += c.Elapsed()
		if t.operators {
			m.Operators = append(m.Operators, &workerv1.OperatorMetrics{
				Node: uint32(i), RowsOut: uint64(c.Rows.Load()), Bytes: uint64(c.Bytes.Load()), Busy: durationpb.New(c.Elapsed()),
				MemoryPeak: uint64(max(0, c.Memory.Load())),
			})
		}
	})
	m.Busy = durationpb.New(busy)
	return m
}

// progress is how far the attempt's tasks have come.
func (a *attempt) progress() *workerv1.WatchResponse {
	p := &workerv1.AttemptProgress{}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		t.mu.Lock()
		started := t.started
		t.mu.Unlock()
		if started {
			p.Tasks = append(p.Tasks, t.progress())
		}
	}
	if a.memory != nil {
		p.MemoryUsed, p.MemoryPeak = uint64(max(0, a.memory.Used())), uint64(max(0, a.memory.Peak()))
	}
	return &workerv1.WatchResponse{Event: &workerv1.WatchResponse_Progress{Progress: p}}
}
