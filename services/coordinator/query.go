package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/internal/telemetry"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/rollout"
)

// How often a query is tried: attempts that ran something, and refusals that ran nothing.
const (
	maxAttempts = 2
	maxRefusals = 20
)

// maxRefusalText is how many bytes are told of a refusal.
const maxRefusalText = 512

// holdBack is how many bytes of a result are kept until the first are sent: up to there a lost worker costs the client nothing.
const holdBack = 1 << 20

// A sink takes a query's result. Head comes once, before anything else; Message is one Arrow IPC message, the schema first. Once
// Message was called, the query cannot be tried again.
type sink interface {
	Head(columns []*apiv1.Column) error
	Message(encapsulated []byte, rows int64) error
}

// A query is one statement on its way.
type query struct {
	id        string
	statement string
	options   *apiv1.QueryOptions
	session   *session
	wants     string // version of the workers that the call's header names
	started   time.Time
	cancel    context.CancelCauseFunc
	done      chan struct{}

	mu       sync.Mutex
	opened   uint32 // attempts that were opened, refused ones too
	attempts uint32 // attempts that ran
	queued   time.Duration
	position int              // in the queue for workers with room, from 1; 0: not in it
	refusals []*apiv1.Refusal // the last maxRefusals
	cohort   *cohort
	workers  []resolver.Worker
	progress map[taskRef]*workerv1.TaskProgress
	tasks    int
	finished int
	metrics  map[taskRef]*workerv1.TaskMetrics
	memory   map[string]uint64 // peak by worker URL
	usedNow  map[string]uint64
	rows     int64 // sent to the client
	bytes    int64 // of Arrow, likewise
	plan     []engine.Task

	queuedAt time.Time // of line, as is tries: when it first had to wait; zero: it never had
	tries    int       // how often it was found that there is no room

	operators bool // count per operator
	record    *record
}

type taskRef struct{ stage, task uint32 }

// start registers a query under a fresh id. The returned context ends with the client's, at the time-out, or by Cancel.
func (c *Coordinator) start(ctx context.Context, statement string, options *apiv1.QueryOptions) (context.Context, *query, error) {
	if len(statement) > 1<<20 {
		return nil, nil, sqlerr.Newf(sqlerr.StatementTooLarge, sqlerr.Pos{}, "the statement has %d bytes, the limit is 1 MiB", len(statement)).
			WithHint("put the data into a file and query that")
	}
	if options.GetBatchRows() > 65536 {
		return nil, nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "batch_rows is 1 to 65536, not %d", options.GetBatchRows())
	}
	if err := c.refuseDraining(); err != nil {
		return nil, nil, err
	}
	wants, err := wantedVersion(ctx)
	if err != nil {
		return nil, nil, err
	}
	session, err := c.sessions.of(options.GetSessionId())
	if err != nil {
		return nil, nil, err
	}
	var b [8]byte
	_, _ = rand.Read(b[:])
	q := &query{
		id: "q" + hex.EncodeToString(b[:]), statement: statement, options: options, session: session, wants: wants, started: time.Now(), done: make(chan struct{}),
		progress: map[taskRef]*workerv1.TaskProgress{}, metrics: map[taskRef]*workerv1.TaskMetrics{}, memory: map[string]uint64{}, usedNow: map[string]uint64{},
	}
	ctx, q.cancel = context.WithCancelCause(ctx)
	timeout := c.cfg.timeout
	if asked := options.GetTimeout().AsDuration(); asked > 0 && (timeout <= 0 || asked < timeout) {
		timeout = asked
	}
	if own := session.Timeout(); own > 0 && (timeout <= 0 || own < timeout) {
		timeout = own
	}
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "canceling statement due to statement timeout"))
		context.AfterFunc(ctx, stop) // at the latest when finish cancels
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		q.cancel(context.Canceled)
		return nil, nil, errStopping()
	}
	c.queries[q.id] = q
	c.running.Add(1)
	return ctx, q, nil
}

// errStopping is what a coordinator that drains says to whoever wants something new.
func errStopping() error {
	return sqlerr.New(sqlerr.Draining, sqlerr.Pos{}, "the server is stopping: what sessions hold there – settings, prepared statements, tables and views of theirs – ends with it").
		WithHint("connect to another coordinator; --connect takes several")
}

// refuseDraining refuses what is new on a coordinator that drains.
func (c *Coordinator) refuseDraining() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return errStopping()
	}
	return nil
}

// finish forgets a query.
func (c *Coordinator) finish(q *query) {
	q.cancel(context.Canceled)
	close(q.done)
	c.mu.Lock()
	delete(c.queries, q.id)
	c.mu.Unlock()
	c.line.freed()
	c.running.Done()
}

// run plans and runs q, again where that is safe, and gives its end, with the error in it if there was one.
func (c *Coordinator) run(ctx context.Context, q *query, out sink) (*apiv1.QueryEnd, error) {
	traced, span := c.tracer.Start(ctx, "query", trace.WithAttributes(attribute.String("fletch.query", q.id)))
	q.record = c.record(ctx, q)
	err := c.attempts(traced, q, &counting{sink: out, query: q, record: q.record})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx) // what failed, failed because the query ended
		}
		err = q.explainRows(rpcerr.Of(err))
	}
	end := q.end(err)
	q.record.finished(end, err)
	c.ended(q, end)
	telemetry.End(span, q.record.struck(err))
	return end, err
}

// ended counts and logs a query's end.
func (c *Coordinator) ended(q *query, end *apiv1.QueryEnd) {
	c.metrics.ended(q, end)
	about := []any{"query", q.id, "rows", end.GetRows(), "attempts", end.GetAttempts(), "elapsed", end.GetElapsed().AsDuration()}
	if e := end.GetError(); e != nil {
		c.log.Info("query failed", append(about, "code", e.GetDetail().GetCode(), "error", q.record.secrets.Strike(e.GetMessage()))...)
		return
	}
	c.log.Debug("query finished", about...)
}

// explainRows tells, of a failure after rows had reached the client, how many had.
func (q *query) explainRows(e *sqlerr.Error) *sqlerr.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.rows == 0 {
		return e
	}
	c := *e
	c.Message = fmt.Sprintf("%s; %d rows had reached the client, they are no complete result", e.Message, q.rows)
	if c.Hint == "" && e.Code == sqlerr.WorkerLost {
		c.Hint = "run the statement again"
	}
	return &c
}

// counting notes what reached the client.
type counting struct {
	sink
	query  *query
	record *record // nil where the rows are not the result
	began  bool
}

func (s *counting) Message(encapsulated []byte, rows int64) error {
	s.began = true
	if err := s.sink.Message(encapsulated, rows); err != nil {
		return err
	}
	s.query.mu.Lock()
	s.query.rows += rows
	s.query.bytes += int64(len(encapsulated))
	s.query.mu.Unlock()
	s.record.message(encapsulated)
	return nil
}

// attempts makes one attempt after the other until one succeeds, or trying again is not safe or not sensible.
func (c *Coordinator) attempts(ctx context.Context, q *query, out *counting) error {
	var head []*apiv1.Column // as the client was told it
	refusals := 0
	next := c.wishOf(q)
	defer c.line.leave(q)
	for {
		plan, chosen, err := c.plan(ctx, q, next)
		if err != nil {
			return err
		}
		switch now := columns(plan); {
		case head == nil:
			if err := out.Head(now); err != nil {
				return err
			}
			head = now
		case !slices.EqualFunc(head, now, func(a, b *apiv1.Column) bool { return proto.Equal(a, b) }):
			return sqlerr.New(sqlerr.FileChanged, sqlerr.Pos{}, "the columns of the result changed during the query, with a file or a function").
				WithHint("run the query again; write new data to new files, so that running queries keep the old ones")
		}
		q.record.planned(plan, head)
		if chosen == nil {
			q.record.local(plan)
			return c.local(ctx, plan, out)
		}
		next.cohort = &chosen.key
		if waited, err := c.line.wait(ctx, q, chosen.key, false); err != nil {
			return err
		} else if waited {
			continue // who is there may be others now
		}
		result := out
		if plan.Analyze() {
			result = &counting{sink: nowhere{}, query: q}
		}
		ran, err := c.attempt(ctx, q, plan, chosen, result)
		c.metrics.attempted(ran, err)
		if err != nil {
			q.record.failed(ran, err)
		}
		if err == nil && plan.Analyze() {
			return c.local(ctx, q.analyzed(plan), out)
		}
		if err == nil || ctx.Err() != nil || out.began {
			return err
		}
		c.log.Info("attempt failed", "query", q.id, "ran", ran, "error", q.record.struck(err))
		if !ran {
			c.refused(q, err)
		}
		if from := c.suspect(err); from != nil {
			next.avoid[from.URL] = true
		}
		switch {
		case !ran && sqlerr.CodeOf(err) == sqlerr.TooManyQueries:
			if _, err := c.line.wait(ctx, q, chosen.key, true); err != nil {
				return err
			}
		case !ran && again(err) && refusals < maxRefusals:
			refusals++
			pause(ctx, time.Duration(min(refusals, 10))*20*time.Millisecond)
		case ran && again(err) && q.tried() < maxAttempts:
		default:
			return err
		}
	}
}

// refused tells of a worker's no before anything ran: operators, by log and table, and the query's own end.
func (c *Coordinator) refused(q *query, err error) {
	var from *workerError
	if !errors.As(err, &from) {
		return
	}
	e := rpcerr.Of(err)
	what := text(rpcerr.Message(e), maxRefusalText)
	c.poller.Refused(from.worker.URL, what)
	var mismatch *rpcerr.MismatchError
	if errors.As(err, &mismatch) {
		c.log.Warn("a worker refused a query meant for another", "query", q.id, "url", from.worker.URL, "need", identity.Describe(mismatch.Need), "have", identity.Describe(mismatch.Have))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusals = append(q.refusals, &apiv1.Refusal{Url: from.worker.URL, Code: string(e.Code), Message: what})
	q.refusals = q.refusals[max(0, len(q.refusals)-maxRefusals):]
}

// plan plans q for its next attempt and admits that to a cohort, nil where the plan is this process's own to run.
func (c *Coordinator) plan(ctx context.Context, q *query, w wish) (*engine.Plan, *cohort, error) {
	planning, span := c.tracer.Start(ctx, "plan")
	p := newPlanner(planning, c, q)
	plan, err := p.first(w)
	telemetry.End(span, q.record.struck(err))
	if err != nil || plan.Local() {
		return plan, nil, err
	}
	w.fits = p.fits
	began := time.Now()
	chosen, err := c.admit(ctx, w)
	q.waited(time.Since(began))
	if err != nil {
		if p.refused != nil {
			err = p.refused
		}
		c.metrics.refused(string(sqlerr.CodeOf(err)))
		return nil, nil, err
	}
	plan, err = p.on(chosen)
	return plan, chosen, err
}

// wishOf is what q asks of its first attempt's cohort. What the call names goes before what its header names, and that before what
// its session was told.
func (c *Coordinator) wishOf(q *query) wish {
	w := wish{version: cmp.Or(q.options.GetWorkerVersion(), q.wants, q.session.WorkerVersion()), avoid: map[string]bool{}}
	if w.version == "" {
		w.ramped = q.session.ramped(c.steering, q.id)
	}
	return w
}

// waited adds to the time that q has waited to be admitted.
func (q *query) waited(d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued += d
}

// runsOn is the cohort of q's last attempt; zero while there was none.
func (q *query) runsOn() rollout.Key {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.cohort == nil {
		return rollout.Key{}
	}
	return q.cohort.key
}

// again tells whether an attempt that failed so may be made anew.
func again(err error) bool {
	switch sqlerr.CodeOf(err) {
	case sqlerr.WorkerLost, sqlerr.VersionMismatch, sqlerr.Draining, sqlerr.FileChanged:
		return true
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (q *query) tried() uint32 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.attempts
}

func columns(p *engine.Plan) []*apiv1.Column {
	out := make([]*apiv1.Column, len(p.Fields))
	for i, f := range p.Fields {
		out[i] = &apiv1.Column{Name: f.Name, Type: strings.ToLower(f.Type.String())}
	}
	return out
}

// end is what is known of q at its end.
func (q *query) end(err error) *apiv1.QueryEnd {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := &apiv1.QueryEnd{
		QueryId: q.id, Rows: uint64(q.rows), Attempts: q.attempts, Elapsed: durationpb.New(time.Since(q.started)), Queued: durationpb.New(q.queued), Refusals: slices.Clone(q.refusals), Scanned: &apiv1.ScanTotals{},
	}
	if q.cohort != nil {
		e.Cohort = q.cohort.key.Message()
	}
	for _, w := range q.workers {
		e.Workers = append(e.Workers, &apiv1.WorkerUse{Url: w.URL, InstanceId: w.Identity.GetInstanceId(), Version: w.Identity.GetVersion()})
	}
	slices.SortFunc(e.Workers, func(a, b *apiv1.WorkerUse) int { return strings.Compare(a.GetUrl(), b.GetUrl()) })
	for _, p := range q.progress {
		e.Scanned.Rows += p.GetRowsScanned()
		e.Scanned.Bytes += p.GetBytesScanned()
	}
	for _, m := range q.memory {
		e.MemoryPeak = max(e.MemoryPeak, m)
	}
	if err != nil {
		s := rpcerr.Of(err)
		e.Error = &apiv1.QueryError{Message: rpcerr.Message(s), Detail: rpcerr.APIDetail(s, q.id, uint64(q.rows))}
	}
	return e
}

// now is how far q has come.
func (q *query) now() *apiv1.QueryProgress {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &apiv1.QueryProgress{Attempt: q.attempts, Tasks: uint32(q.tasks), TasksFinished: uint32(q.finished), QueuePosition: uint32(q.position)}
	var share float64
	n := 0
	for _, t := range q.progress {
		p.RowsScanned += t.GetRowsScanned()
		p.BytesScanned += t.GetBytesScanned()
		if t.Fraction != nil {
			share += t.GetFraction()
			n++
		}
	}
	if n > 0 && q.tasks > 0 {
		share /= float64(n)
		p.Fraction = &share
	}
	for _, m := range q.usedNow {
		p.MemoryUsed += m
	}
	return p
}
