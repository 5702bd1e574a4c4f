package history

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// response makes of events what the API shows. Events of attempts, stages and tasks that no earlier event told of are left out: the log
// may be damaged.
func (r *recording) response(withEvents bool) *apiv1.GetQueryResponse {
	f := folded{out: &apiv1.GetQueryResponse{
		Query: &apiv1.QuerySummary{QueryId: r.id, InstanceId: r.instance, Status: r.status}, Recorder: r.recorder,
	}}
	for _, e := range r.events {
		f.add(e.At, e.Message)
		if withEvents {
			f.out.Events = append(f.out.Events, &apiv1.QueryEvent{At: timestamppb.New(e.At), Kind: e.Kind, Data: structOf(e.Message)})
		}
	}
	f.close()
	if q := f.out.GetQuery(); r.live && q.GetElapsed() == nil && len(r.events) > 0 {
		q.Elapsed = durationpb.New(time.Since(r.events[0].At))
	}
	return f.out
}

// structOf is an event as the log's own JSON has it; nil for one that is not known.
func structOf(m proto.Message) *structpb.Struct {
	if m == nil {
		return nil
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil
	}
	s := &structpb.Struct{}
	if protojson.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// folded is a response on its way.
type folded struct{ out *apiv1.GetQueryResponse }

func (f *folded) add(at time.Time, m proto.Message) {
	q := f.out.GetQuery()
	switch m := m.(type) {
	case *eventlogv1.QueryStarted:
		q.StartedAt, q.Statement, q.Client, q.ClientApi = timestamppb.New(at), m.GetStatement(), m.GetClient(), m.GetClientApi()
		f.out.StatementBytes = m.GetStatementBytes()
	case *eventlogv1.AttemptStarted:
		f.begin(m)
	case *eventlogv1.StageStarted:
		if s := f.stage(m.GetAttempt(), m.GetStage()); s != nil {
			s.Started = m.GetSinceStart()
		}
	case *eventlogv1.StageFinished:
		if s := f.stage(m.GetAttempt(), m.GetStage()); s != nil {
			s.Finished, s.Rows, s.Bytes = m.GetSinceStart(), m.GetRows(), m.GetBytes()
		}
	case *eventlogv1.TaskStarted:
		if t := f.task(m.GetAttempt(), m.GetStage(), m.GetTask()); t != nil {
			t.Worker, t.Started = workerOf(m.GetWorker()), m.GetSinceStart()
		}
	case *eventlogv1.TaskFinished:
		f.taskFinished(m)
	case *eventlogv1.AttemptFailed:
		if a := f.attempt(m.GetAttempt()); a != nil {
			a.Error, a.FailedSinceStart = errorOf(m.GetError(), q.GetQueryId()), m.GetSinceStart()
		}
	case *eventlogv1.QueryFinished:
		finish(q, m)
		f.out.Error, f.out.Digest = errorOf(m.GetError(), q.GetQueryId()), digestOf(m.GetDigest())
	}
}

// finish says in a summary how its query ended.
func finish(q *apiv1.QuerySummary, m *eventlogv1.QueryFinished) {
	q.Status = map[eventlogv1.Status]apiv1.QueryStatus{
		eventlogv1.Status_STATUS_SUCCEEDED: apiv1.QueryStatus_QUERY_STATUS_SUCCEEDED,
		eventlogv1.Status_STATUS_FAILED:    apiv1.QueryStatus_QUERY_STATUS_FAILED,
		eventlogv1.Status_STATUS_CANCELED:  apiv1.QueryStatus_QUERY_STATUS_CANCELED,
	}[m.GetStatus()]
	q.Elapsed, q.Rows, q.Attempts, q.MemoryPeak, q.ErrorCode = m.GetElapsed(), m.GetRows(), m.GetAttempts(), m.GetMemoryPeak(), m.GetError().GetCode()
	q.Scanned = &apiv1.ScanTotals{Rows: m.GetRowsScanned(), Bytes: m.GetBytesScanned()}
	if m.GetCohort() != nil {
		q.Cohort = cohortOf(m.GetCohort())
	}
}

func (f *folded) begin(m *eventlogv1.AttemptStarted) {
	a := &apiv1.QueryAttempt{Attempt: m.GetAttempt(), Cohort: cohortOf(m.GetCohort()), SinceStart: m.GetSinceStart()}
	for _, w := range m.GetWorkers() {
		a.Workers = append(a.Workers, workerOf(w))
	}
	for _, s := range m.GetStages() {
		a.Stages = append(a.Stages, &apiv1.QueryStage{Plan: &apiv1.ExplainStage{Stage: s.GetStage(), Tasks: s.GetTasks(), Output: s.GetOutput(), Root: tree(s.GetOperators())}})
	}
	f.out.Attempts = append(f.out.Attempts, a)
	if a.GetCohort() != nil {
		f.out.Query.Cohort = a.GetCohort()
	}
}

// tree is a plan of operators in pre-order, each with how deep it stands.
func tree(operators []*eventlogv1.Operator) *apiv1.ExplainNode {
	var path []*apiv1.ExplainNode
	for _, o := range operators {
		n := &apiv1.ExplainNode{Operator: o.GetName(), EstimatedRows: o.EstimatedRows} //nolint:protogetter // absent is not 0
		if o.GetDetail() != "" {
			n.Details = []string{o.GetDetail()}
		}
		depth := min(int(o.GetDepth()), len(path))
		if depth == 0 && len(path) > 0 {
			depth = 1 // there is one root
		}
		if depth > 0 {
			parent := path[depth-1]
			parent.Children = append(parent.Children, n)
		}
		path = append(path[:depth], n)
	}
	if len(path) == 0 {
		return nil
	}
	return path[0]
}

// nodes is the operators of a plan in pre-order.
func nodes(n *apiv1.ExplainNode) (out []*apiv1.ExplainNode) {
	if n == nil {
		return nil
	}
	out = append(out, n)
	for _, c := range n.GetChildren() {
		out = append(out, nodes(c)...)
	}
	return out
}

func (f *folded) taskFinished(m *eventlogv1.TaskFinished) {
	t := f.task(m.GetAttempt(), m.GetStage(), m.GetTask())
	if t == nil {
		return
	}
	t.Worker, t.Finished, t.Elapsed, t.Busy = workerOf(m.GetWorker()), m.GetSinceStart(), m.GetElapsed(), m.GetBusy()
	t.Rows, t.Bytes, t.MemoryPeak = m.GetRows(), m.GetBytes(), m.GetMemoryPeak()
	t.Scanned = &apiv1.ScanTotals{Rows: m.GetRowsScanned(), Bytes: m.GetBytesScanned()}
	t.Error = errorOf(m.GetError(), f.out.GetQuery().GetQueryId())
	plan := nodes(f.stage(m.GetAttempt(), m.GetStage()).GetPlan().GetRoot())
	for _, o := range m.GetOperators() {
		if int(o.GetOperator()) >= len(plan) {
			continue
		}
		n := plan[o.GetOperator()]
		if n.GetMetrics() == nil {
			n.Metrics = &apiv1.ExplainMetrics{}
		}
		n.Metrics.Rows += o.GetRows()
		n.Metrics.Bytes += o.GetBytes()
		n.Metrics.Busy = durationpb.New(n.GetMetrics().GetBusy().AsDuration() + o.GetBusy().AsDuration())
		n.Metrics.MemoryPeak = max(n.GetMetrics().GetMemoryPeak(), o.GetMemoryPeak())
		for name, count := range o.GetCounters() {
			if n.Metrics.Counters == nil {
				n.Metrics.Counters = map[string]uint64{}
			}
			n.Metrics.Counters[name] += count
		}
	}
}

// close says of a query without an end what its events tell.
func (f *folded) close() {
	for _, a := range f.out.GetAttempts() {
		for _, s := range a.GetStages() {
			slices.SortFunc(s.GetTasks(), func(a, b *apiv1.QueryTask) int { return cmp.Compare(a.GetTask(), b.GetTask()) })
		}
	}
	if q := f.out.GetQuery(); q.GetElapsed() == nil {
		q.Attempts = uint32(len(f.out.GetAttempts()))
	}
}

func (f *folded) attempt(number uint32) *apiv1.QueryAttempt {
	for _, a := range slices.Backward(f.out.GetAttempts()) {
		if a.GetAttempt() == number {
			return a
		}
	}
	return nil
}

func (f *folded) stage(attempt, number uint32) *apiv1.QueryStage {
	for _, s := range f.attempt(attempt).GetStages() {
		if s.GetPlan().GetStage() == number {
			return s
		}
	}
	return nil
}

// task is a task of a known stage, made where it was not told of yet.
func (f *folded) task(attempt, stage, number uint32) *apiv1.QueryTask {
	s := f.stage(attempt, stage)
	if s == nil {
		return nil
	}
	for _, t := range s.GetTasks() {
		if t.GetTask() == number {
			return t
		}
	}
	t := &apiv1.QueryTask{Task: number}
	s.Tasks = append(s.Tasks, t)
	return t
}

func cohortOf(c *eventlogv1.Cohort) *apiv1.Cohort {
	if c == nil {
		return nil
	}
	return &apiv1.Cohort{Version: c.GetVersion(), Protocol: c.GetProtocol(), Capabilities: c.GetCapabilities(), Build: c.GetBuild()}
}

func workerOf(w *eventlogv1.Worker) *apiv1.WorkerUse {
	return &apiv1.WorkerUse{Url: w.GetUrl(), InstanceId: w.GetInstanceId(), Version: w.GetVersion()}
}

func errorOf(e *eventlogv1.Error, queryID string) *apiv1.QueryError {
	if e == nil {
		return nil
	}
	detail := &apiv1.ErrorDetail{Code: e.GetCode(), Hint: e.GetHint(), QueryId: queryID}
	if p := e.GetPosition(); p != nil {
		detail.Position = &apiv1.Position{Start: p.GetStart(), End: p.GetEnd()}
	}
	return &apiv1.QueryError{Message: e.GetMessage(), Detail: detail}
}

func digestOf(d *eventlogv1.Digest) *apiv1.ResultDigest {
	if d == nil {
		return nil
	}
	out := &apiv1.ResultDigest{Rule: d.GetRule(), Rows: d.GetRows(), Exact: d.GetExact(), Undetermined: d.GetUndetermined()}
	for _, c := range d.GetFloats() {
		out.Floats = append(out.Floats, &apiv1.FloatDigest{
			Column: c.GetColumn(), Values: c.GetValues(), Nulls: c.GetNulls(), Nans: c.GetNans(), Min: c.Min, Max: c.Max, Sum: c.GetSum(), //nolint:protogetter // absent is not 0
		})
	}
	return out
}
