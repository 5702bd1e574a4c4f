package coordinator

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/eventlog"
	"github.com/fletchdb/fletch/services/history"
	"github.com/fletchdb/fletch/services/internal/digest"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/rollout"
)

// An eventLog takes what happens. Append keeps an event; Commit keeps one and returns when it is on disk, false when it is not. Neither
// ever fails: a coordinator goes on without its log.
type eventLog interface {
	Append(query string, event proto.Message)
	Commit(query string, event proto.Message) bool
	Close() error
}

// openLog begins this coordinator's part of the event log, where there is to be one.
func (c *Coordinator) openLog() error {
	if c.cfg.eventLog == "" {
		return nil
	}
	w, err := eventlog.Create(c.cfg.eventLog, eventlog.Config{
		Writer: &eventlogv1.SegmentStarted{
			Release: identity.Release(), Build: identity.Build(), Protocol: identity.Protocol(), Api: identity.API().String(), InstanceId: c.instance,
		},
		Size: c.cfg.eventLogSize, Age: c.cfg.eventLogAge, Logger: c.log,
		Running: func() int {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.queries)
		},
	})
	if err != nil {
		return err
	}
	c.events = w
	if c.cfg.historyCache != "" {
		if c.past, err = history.OpenIndex(c.cfg.eventLog, c.cfg.historyCache); err != nil {
			c.past = nil
			c.log.Warn("queries of earlier processes are not told of", "error", err)
		}
	}
	return nil
}

func (c *Coordinator) closeLog() error {
	var index, log error
	if c.past != nil {
		index = c.past.Close()
	}
	if c.events != nil {
		log = c.events.Close()
	}
	return errors.Join(index, log)
}

// tee keeps the events of queries in memory and, where there is a log, on disk.
type tee struct {
	recent *history.Recent
	disk   eventLog // nil: none
}

func (t tee) Append(query string, event proto.Message) {
	t.recent.Append(query, event)
	if t.disk != nil {
		t.disk.Append(query, event)
	}
}

// Commit returns when the event is on disk, if it is to be there.
func (t tee) Commit(query string, event proto.Message) bool {
	synced := t.disk != nil && t.disk.Commit(query, event)
	t.recent.Append(query, event) // who sees that a query ended, finds it in the log after a crash
	return synced
}

// A record is what is recorded of a query: in memory and, where there is an event log, there. A nil record is of a query of which
// nothing is; its methods do nothing.
type record struct {
	log          tee
	query        *query
	secrets      eventlog.Secrets
	digest       *digest.Stream // nil without a log, and once the result could not be followed
	undetermined bool
	columns      []*apiv1.Column
}

// record begins q's part of the log.
func (c *Coordinator) record(ctx context.Context, q *query) *record {
	r := &record{log: tee{c.recent, c.events}, query: q}
	if c.events != nil {
		r.digest = &digest.Stream{}
	}
	started := &eventlogv1.QueryStarted{WorkerVersion: q.options.GetWorkerVersion(), Explain: q.operators}
	started.Statement, r.secrets = eventlog.Redact(text(q.statement, math.MaxInt))
	if n := len(started.Statement); n > 256<<10 {
		started.Statement, started.StatementBytes = text(started.Statement, 256<<10), uint32(n)
	}
	if info, ok := connect.CallInfoForServerContext(ctx); ok {
		started.Client = text(info.RequestHeader().Get("User-Agent"), 256)
		started.ClientApi = text(info.RequestHeader().Get(identity.HeaderAPI), 16)
		started.Peer = info.PeerAddr
	}
	r.log.Append(q.id, started)
	return r
}

// text is at most limit bytes of s that JSON can hold.
func text(s string, limit int) string {
	return strings.ToValidUTF8(s[:min(len(s), limit)], "")
}

func (r *record) since() *durationpb.Duration { return durationpb.New(time.Since(r.query.started)) }

// planned notes what the result will look like.
func (r *record) planned(plan *engine.Plan, columns []*apiv1.Column) {
	if r != nil {
		r.columns = columns
		r.undetermined = !plan.Determined() || plan.Analyze()
	}
}

// local says that the coordinator runs the statement itself.
func (r *record) local(plan *engine.Plan) {
	if r == nil {
		return
	}
	r.attempt(&eventlogv1.AttemptStarted{
		Attempt: r.query.number() + 1, Stages: []*eventlogv1.Stage{r.stage(ran{stage: engine.Task{Root: plan.Root}, tasks: 1})},
	})
}

// spread says where an attempt runs.
func (r *record) spread(a *attempt, chosen *cohort, policy *eventlogv1.Policy) {
	if r == nil {
		return
	}
	m := &eventlogv1.AttemptStarted{Attempt: a.number, Cohort: logCohort(chosen.key)}
	if r.query.options.GetWorkerVersion() == "" {
		m.Policy = policy
	}
	used := map[string]resolver.Worker{}
	for _, w := range a.on {
		used[w.URL] = w
	}
	for _, url := range slices.Sorted(maps.Keys(used)) {
		m.Workers = append(m.Workers, logWorker(used[url]))
	}
	for _, s := range r.query.stages() {
		m.Stages = append(m.Stages, r.stage(s))
	}
	r.attempt(m)
}

func (r *record) attempt(m *eventlogv1.AttemptStarted) {
	m.SinceStart = r.since()
	for _, c := range r.columns {
		m.Columns = append(m.Columns, &eventlogv1.Column{Name: text(r.secrets.Strike(c.GetName()), 1024), Type: c.GetType()})
	}
	r.log.Append(r.query.id, m)
}

func (r *record) stage(s ran) *eventlogv1.Stage {
	m := &eventlogv1.Stage{Stage: s.stage.Stage, Tasks: uint32(s.tasks), Output: text(r.secrets.Strike(s.output()), 4096)}
	var visit func(n physical.Node, depth uint32)
	visit = func(n physical.Node, depth uint32) {
		name, detail, _ := strings.Cut(explain.Line(n), " ")
		o := &eventlogv1.Operator{Depth: depth, Name: name, Detail: text(r.secrets.Strike(detail), 4096)}
		if rows := explain.Expected(n); rows >= 0 {
			o.EstimatedRows = &rows
		}
		m.Operators = append(m.Operators, o)
		for _, c := range n.Children() {
			visit(c, depth+1)
		}
	}
	visit(s.stage.Root, 0)
	return m
}

// running says that every worker of an attempt has its plans, so that tasks run.
func (r *record) running(a *attempt) {
	if r == nil {
		return
	}
	tasks := map[uint32]uint32{}
	for _, t := range a.tasks {
		tasks[t.Stage]++
	}
	for i, t := range a.tasks {
		if n, first := tasks[t.Stage]; first {
			r.log.Append(r.query.id, &eventlogv1.StageStarted{Attempt: a.number, Stage: t.Stage, Tasks: n, SinceStart: r.since()})
			delete(tasks, t.Stage)
		}
		r.log.Append(r.query.id, &eventlogv1.TaskStarted{Attempt: a.number, Stage: t.Stage, Task: t.Task, Worker: logPlace(a.on[i]), SinceStart: r.since()})
	}
}

// task says what a task did, and with the last one of a stage what the stage did.
func (r *record) task(a *attempt, w resolver.Worker, m *workerv1.TaskFinished, last bool) {
	if r == nil {
		return
	}
	p, did := m.GetProgress(), m.GetMetrics()
	ref := taskRef{p.GetTask().GetStage(), p.GetTask().GetTask()}
	out := &eventlogv1.TaskFinished{
		Attempt: a.number, Stage: ref.stage, Task: ref.task, Worker: logPlace(w), SinceStart: r.since(),
		RowsScanned: p.GetRowsScanned(), BytesScanned: p.GetBytesScanned(), Rows: p.GetRowsOut(), Bytes: p.GetBytesOut(),
		Elapsed: did.GetElapsed(), Busy: did.GetBusy(), MemoryPeak: did.GetMemoryPeak(),
	}
	for _, o := range did.GetOperators() {
		out.Operators = append(out.Operators, &eventlogv1.OperatorMetrics{
			Operator: o.GetNode(), Rows: o.GetRowsOut(), Bytes: o.GetBytes(), Busy: o.GetBusy(), MemoryPeak: o.GetMemoryPeak(), Counters: o.GetCounters(),
		})
	}
	r.log.Append(r.query.id, out)
	if !last {
		return
	}
	stage := &eventlogv1.StageFinished{Attempt: a.number, Stage: ref.stage, SinceStart: out.SinceStart}
	r.query.mu.Lock()
	for other, p := range r.query.progress {
		if other.stage == ref.stage {
			stage.Rows += p.GetRowsOut()
			stage.Bytes += p.GetBytesOut()
		}
	}
	r.query.mu.Unlock()
	r.log.Append(r.query.id, stage)
}

// taskFailed says that a task ended with an error.
func (r *record) taskFailed(a *attempt, w resolver.Worker, ref *workerv1.TaskRef, err *sqlerr.Error) {
	if r != nil {
		r.log.Append(r.query.id, &eventlogv1.TaskFinished{
			Attempt: a.number, Stage: ref.GetStage(), Task: ref.GetTask(), Worker: logPlace(w), SinceStart: r.since(), Error: r.error(err),
		})
	}
}

// failed says that an attempt gave no result.
func (r *record) failed(ran bool, err error) {
	if r != nil {
		r.log.Append(r.query.id, &eventlogv1.AttemptFailed{Attempt: r.query.number(), Error: r.error(err), Ran: ran, SinceStart: r.since()})
	}
}

// message follows the result.
func (r *record) message(encapsulated []byte) {
	if r != nil && r.digest != nil && r.digest.Message(encapsulated) != nil {
		r.digest.Close()
		r.digest = nil
	}
}

// finished says what came of the query, and returns when that is on disk. It sets whether it is.
func (r *record) finished(end *apiv1.QueryEnd, err error) {
	if r == nil {
		return
	}
	m := &eventlogv1.QueryFinished{
		Status: eventlogv1.Status_STATUS_SUCCEEDED, Rows: end.GetRows(), Attempts: end.GetAttempts(), Elapsed: end.GetElapsed(),
		RowsScanned: end.GetScanned().GetRows(), BytesScanned: end.GetScanned().GetBytes(), MemoryPeak: end.GetMemoryPeak(),
	}
	if c := r.query.lastCohort(); c != nil {
		m.Cohort = logCohort(c.key)
	}
	switch {
	case err != nil:
		m.Error, m.Status = r.error(err), eventlogv1.Status_STATUS_FAILED
		if sqlerr.CodeOf(err) == sqlerr.Canceled {
			m.Status = eventlogv1.Status_STATUS_CANCELED
		}
	case r.digest != nil:
		m.Digest = r.result()
	}
	if r.digest != nil {
		r.digest.Close()
	}
	if logged := r.log.Commit(r.query.id, m); r.log.disk != nil {
		end.Logged = &logged
	}
}

func (r *record) result() *eventlogv1.Digest {
	d := r.digest.Digest()
	m := &eventlogv1.Digest{Rule: digest.Rule, Rows: d.Rows, Exact: d.Exact, Undetermined: r.undetermined}
	for _, f := range d.Floats {
		c := &eventlogv1.FloatColumn{Column: uint32(f.Column), Values: f.Values, Nulls: f.Nulls, Nans: f.NaNs, Sum: f.Sum}
		if f.Values > f.NaNs {
			c.Min, c.Max = &f.Min, &f.Max
		}
		m.Floats = append(m.Floats, c)
	}
	return m
}

// struck is err for people who may not see the statement's secrets: in logs and traces.
func (r *record) struck(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(r.secrets.Strike(err.Error()))
}

func (r *record) error(err error) *eventlogv1.Error {
	e := rpcerr.Of(err)
	m := &eventlogv1.Error{Code: string(e.Code), Message: text(r.secrets.Strike(e.Message), 1024), Hint: text(r.secrets.Strike(e.Hint), 1024)}
	if e.Pos != (sqlerr.Pos{}) {
		m.Position = &eventlogv1.Position{Start: uint32(e.Pos.Start), End: uint32(e.Pos.End)}
	}
	return m
}

func (q *query) lastCohort() *cohort {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cohort
}

func logCohort(k rollout.Key) *eventlogv1.Cohort {
	if k.IsZero() {
		return nil
	}
	return &eventlogv1.Cohort{Version: k.Version, Build: k.Build, Protocol: k.Protocol, Capabilities: k.Capabilities}
}

func logWorker(w resolver.Worker) *eventlogv1.Worker {
	return &eventlogv1.Worker{Url: w.URL, InstanceId: w.Identity.GetInstanceId(), Version: w.Identity.GetVersion(), Build: w.Identity.GetBuild()}
}

// logPlace is a worker where its build is known from its attempt.
func logPlace(w resolver.Worker) *eventlogv1.Worker {
	return &eventlogv1.Worker{Url: w.URL, InstanceId: w.Identity.GetInstanceId(), Version: w.Identity.GetVersion()}
}

// policy is the policy by which cohorts are chosen now.
func (c *Coordinator) policy() *eventlogv1.Policy {
	switch p, _ := c.steering.store.Policy(); {
	case p.Ramp.Percent > 0:
		return &eventlogv1.Policy{Kind: eventlogv1.PolicyKind_POLICY_KIND_RAMP, Version: p.Ramp.Version, Percent: p.Ramp.Percent}
	case p.Mode == rollout.Pin:
		return &eventlogv1.Policy{Kind: eventlogv1.PolicyKind_POLICY_KIND_PIN, Version: p.Version}
	case p.Mode == rollout.Match:
		return &eventlogv1.Policy{Kind: eventlogv1.PolicyKind_POLICY_KIND_MATCH}
	}
	return &eventlogv1.Policy{Kind: eventlogv1.PolicyKind_POLICY_KIND_FOLLOW}
}

// observe logs which workers come and go, and which cohort new queries use, until ctx ends.
func (c *Coordinator) observe(ctx context.Context) {
	seen := map[string]resolver.Worker{} // by URL, those that answer
	last := &eventlogv1.RolloutChanged{}
	for {
		steered := c.steering.changed()
		v := c.look(ctx)
		if ctx.Err() != nil {
			return
		}
		now := map[string]resolver.Worker{}
		for _, w := range v.workers {
			before, known := seen[w.URL]
			switch {
			case w.Err != nil && known:
				c.events.Append("", &eventlogv1.WorkerGone{Worker: logWorker(before), Reason: text(w.Err.Error(), 512)})
			case w.Err == nil && w.Identity != nil:
				now[w.URL] = w
				if !known || before.Identity.GetInstanceId() != w.Identity.GetInstanceId() {
					if known {
						c.events.Append("", &eventlogv1.WorkerGone{Worker: logWorker(before), Reason: "another process answers there"})
					}
					c.events.Append("", &eventlogv1.WorkerSeen{Worker: logWorker(w), Protocol: w.Identity.GetProtocol(), Capabilities: w.Identity.GetCapabilities()})
				}
			}
			delete(seen, w.URL)
		}
		for _, url := range slices.Sorted(maps.Keys(seen)) {
			c.events.Append("", &eventlogv1.WorkerGone{Worker: logWorker(seen[url]), Reason: "the resolver does not name it any more"})
		}
		seen = now
		choice, _ := c.steering.decide(v)
		next := &eventlogv1.RolloutChanged{Policy: c.policy(), Cohort: logCohort(choice.Base), Ramp: logCohort(choice.Ramp)}
		if !proto.Equal(next, last) {
			last = next
			c.events.Append("", next)
		}
		select {
		case <-v.of:
		case <-steered:
		case <-ctx.Done():
			return
		}
	}
}
