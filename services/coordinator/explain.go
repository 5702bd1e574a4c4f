package coordinator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/physical"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// nowhere is the sink of rows that nobody wants.
type nowhere struct{}

func (nowhere) Head([]*apiv1.Column) error  { return nil }
func (nowhere) Message([]byte, int64) error { return nil }

// A ran is what was counted of the operators of a stage, added up over its tasks.
type ran struct {
	stage  engine.Task // the first of the stage's tasks
	tasks  int
	counts map[int]explain.Counts // by the operator's number in pre-order
}

// stages adds up what the tasks of the last attempt told, by stage.
func (q *query) stages() []ran {
	q.mu.Lock()
	defer q.mu.Unlock()
	var out []ran
	for _, t := range q.plan {
		if n := len(out); n == 0 || out[n-1].stage.Stage != t.Stage {
			out = append(out, ran{stage: t, counts: map[int]explain.Counts{}})
		}
		r := &out[len(out)-1]
		r.tasks++
		for _, o := range q.metrics[taskRef{t.Stage, t.Task}].GetOperators() {
			c := r.counts[int(o.GetNode())]
			c.Rows += int64(o.GetRowsOut())
			c.Bytes += int64(o.GetBytes())
			c.Time += o.GetBusy().AsDuration()
			c.Memory = max(c.Memory, int64(o.GetMemoryPeak()))
			r.counts[int(o.GetNode())] = c
		}
	}
	return out
}

// numbers gives every operator of a plan its number in pre-order.
func numbers(root physical.Node) map[physical.Node]int {
	out := map[physical.Node]int{}
	var visit func(physical.Node)
	visit = func(n physical.Node) {
		out[n] = len(out)
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(root)
	return out
}

func (r ran) run() func(physical.Node) (explain.Counts, bool) {
	at := numbers(r.stage.Root)
	return func(n physical.Node) (explain.Counts, bool) {
		c, ok := r.counts[at[n]]
		return c, ok
	}
}

// output says how a stage's rows are dealt out.
func (r ran) output() string {
	o := r.stage.Output
	names := r.stage.Root.Schema()
	switch o.Kind {
	case physical.Hash:
		var keys []string
		for _, k := range o.Keys {
			keys = append(keys, names[k].Name)
		}
		return fmt.Sprintf("hash(%s) to %d", strings.Join(keys, ", "), o.Partitions)
	case physical.Broadcast:
		return fmt.Sprintf("broadcast to %d", o.Consumers)
	case physical.Share:
		return fmt.Sprintf("shared by %d", o.Consumers)
	case physical.Robin:
		return fmt.Sprintf("in turn to %d", o.Partitions)
	}
	if r.stage.Stage == 0 {
		return ""
	}
	return "gather"
}

// analyzed is the text of EXPLAIN ANALYZE after an attempt.
func (q *query) analyzed(plan *engine.Plan) *engine.Plan {
	var b strings.Builder
	for _, r := range q.stages() {
		fmt.Fprintf(&b, "Stage %d, tasks: %d", r.stage.Stage, r.tasks)
		if out := r.output(); out != "" {
			b.WriteString(", " + out)
		}
		b.WriteString("\n" + explain.Physical(r.stage.Root, r.run()))
	}
	end := q.end(nil)
	fmt.Fprintf(&b, "Total: %s, memory %s at the peak of one worker\n", end.GetElapsed().AsDuration().Round(10*time.Microsecond), budget.Bytes(int64(end.GetMemoryPeak())))
	fmt.Fprintf(&b, "Cohort: version %q, protocol %d, attempts %d\n", end.GetCohort().GetVersion(), end.GetCohort().GetProtocol(), end.GetAttempts())
	for _, r := range end.GetRefusals() {
		fmt.Fprintf(&b, "Refused before anything ran: %s, %s: %s\n", r.GetUrl(), r.GetCode(), strings.ReplaceAll(r.GetMessage(), "\n", " "))
	}
	for _, w := range end.GetWorkers() {
		fmt.Fprintf(&b, "Worker: %s, version %q, instance %s\n", w.GetUrl(), w.GetVersion(), w.GetInstanceId())
	}
	return plan.Lines(b.String())
}

// Explain plans a statement, as it would be spread over the workers there are now, and runs it if it is asked to.
func (s *queryService) Explain(ctx context.Context, req *apiv1.ExplainRequest) (*apiv1.ExplainResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	c := s.coordinator
	ctx, q, err := c.start(ctx, req.GetStatement(), req.GetOptions())
	if err != nil {
		return nil, rpcerr.ToAPI(err, "", 0)
	}
	defer c.finish(q)
	out := &apiv1.ExplainResponse{QueryId: q.id}
	if req.GetAnalyze() {
		q.operators = true
		end, err := c.run(ctx, q, nowhere{})
		if err != nil {
			return nil, rpcerr.ToAPI(err, q.id, 0)
		}
		out.End = end
	} else {
		w := c.wishOf(q)
		p := newPlanner(ctx, c, q)
		plan, err := p.first(w)
		if err != nil {
			return nil, rpcerr.ToAPI(err, q.id, 0)
		}
		w.fits = p.fits
		n := 1
		if chosen := c.pick(c.look(ctx), w); chosen != nil {
			n = len(chosen.workers)
		}
		q.plan = c.engine.Tasks(plan, n)
	}
	for _, r := range q.stages() {
		run := r.run()
		if !req.GetAnalyze() {
			run = nil
		}
		out.Stages = append(out.Stages, &apiv1.ExplainStage{
			Stage: r.stage.Stage, Tasks: uint32(r.tasks), Output: r.output(), Root: explainNode(r.stage.Root, run),
		})
	}
	return out, nil
}

func explainNode(n physical.Node, run func(physical.Node) (explain.Counts, bool)) *apiv1.ExplainNode {
	operator, detail, _ := strings.Cut(explain.Line(n), " ")
	m := &apiv1.ExplainNode{Operator: operator}
	if detail != "" {
		m.Details = []string{detail}
	}
	if rows := explain.Expected(n); rows >= 0 {
		m.EstimatedRows = &rows
	}
	if run != nil {
		if c, ok := run(n); ok {
			m.Metrics = &apiv1.ExplainMetrics{Rows: uint64(c.Rows), Bytes: uint64(c.Bytes), Busy: durationpb.New(c.Time), MemoryPeak: uint64(max(0, c.Memory))}
		}
	}
	for _, k := range n.Children() {
		m.Children = append(m.Children, explainNode(k, run))
	}
	return m
}
