package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// ErrDone says that no more rows are wanted. It ends a pipeline early and is never seen outside of one.
var ErrDone = errors.New("no more rows are wanted")

// Run executes the plan under root and gives its rows to out, which it combines, finalizes and leaves open: Close is the
// caller's. Where the plan is sorted, one goroutine pushes its batches in order. The error is a *sqlerr.Error or the
// context's cause; a panic below becomes an internal_error with the stack as its cause. When Run returns, everything that
// it reserved from the budget is given back and every goroutine that it started has ended.
func Run(ctx context.Context, root physical.Node, env *Env, out Sink) error {
	r := &runner{env: env.withDefaults(), cause: causeOf(ctx)}
	r.env.ctx = ctx
	err := guard(func() error {
		p, err := r.compile(root)
		if err != nil {
			return err
		}
		return r.run(ctx, p, out, nil, true)
	})
	for _, c := range r.closers {
		if cerr := guard(c); err == nil {
			err = cerr
		}
	}
	return err
}

func (e *Env) withDefaults() *Env {
	c := *e
	c.Threads = max(c.Threads, 1)
	if c.BatchRows <= 0 {
		c.BatchRows = vector.DefaultBatch
	}
	if c.Budget == nil {
		c.Budget = budget.New(0)
	}
	if c.Filters == nil {
		c.Filters = &RuntimeFilters{}
	}
	return &c
}

// A runner executes one plan.
type runner struct {
	env     *Env
	cause   func() error // why the query shall end
	closers []func() error
	shared  map[*physical.Shared]*keep
}

func (r *runner) onClose(f func() error) { r.closers = append(r.closers, f) }

// A pipe is a plan's rows as pipelines that end in the same place: its legs run one after the other, so that a leg sees
// what those before it left behind (an outer join's last leg gives the rows that no probe marked).
type pipe []*leg

// A leg is one pipeline without its sink.
type leg struct {
	before  []*dep // in the order they run, before the source opens
	open    func(ctx context.Context) (Source, error)
	node    physical.Node // the source's, for metrics
	ops     []stage
	ordered bool // the source's order means something to whoever reads the plan's result
	pinned  bool // an operator needs that order: one goroutine, whatever the sink
}

// A stage is an operator and the node it belongs to.
type stage struct {
	op   Operator
	node physical.Node
}

// A dep is a pipeline that must have run before another can.
type dep struct {
	run   func(ctx context.Context) error
	empty func() bool // after run: whether the legs that wait for it can give no row at all; nil: never
	ran   bool
}

// A bounded source knows how many readers can find something to do. It is optional for a Source.
type bounded interface {
	MaxReaders() int
}

// A finite operator or sink can tell that it wants no more rows. It is optional for an Operator and a Sink.
type finite interface {
	Done() bool
}

// A sequential sink can tell that what it makes of rows follows from their order: where they come sorted, it gets them so, from one
// goroutine. It is optional for a Sink.
type sequential interface {
	InOrder() bool
}

// push appends an operator to every leg.
func (p pipe) push(op Operator, node physical.Node) {
	for _, l := range p {
		l.ops = append(l.ops, stage{op, node})
	}
}

// run drives every leg of p into sink and finalizes it. node is the sink's, for metrics.
func (r *runner) run(ctx context.Context, p pipe, sink Sink, node physical.Node, keepOrder bool) error {
	locals := make([]Local, r.env.Threads)
	for _, l := range p {
		if err := r.runLeg(ctx, l, sink, node, locals, keepOrder); err != nil {
			return err
		}
	}
	started := locals[:0]
	for _, l := range locals {
		if l != nil {
			started = append(started, l)
		}
	}
	if len(started) == 0 {
		l, err := sink.NewLocal()
		if err != nil {
			return err
		}
		started = append(started, l)
	}
	m := r.env.Metrics.Of(node)
	err := parallel(ctx, len(started), func(ctx context.Context, i int) error {
		defer m.clock()()
		return sink.Combine(ctx, started[i])
	})
	if err != nil {
		return err
	}
	defer m.clock()()
	return sink.Finalize(ctx)
}

func (r *runner) runLeg(ctx context.Context, l *leg, sink Sink, node physical.Node, locals []Local, keepOrder bool) error {
	enough := func() bool {
		if f, ok := sink.(finite); ok && f.Done() {
			return true
		}
		for _, s := range l.ops {
			if f, ok := s.op.(finite); ok && f.Done() {
				return true
			}
		}
		return false
	}
	for _, d := range l.before {
		if enough() {
			return nil
		}
		if !d.ran {
			d.ran = true
			if err := d.run(ctx); err != nil {
				return err
			}
		}
		if d.empty != nil && d.empty() {
			return nil // nothing comes out of that join, and no operator above makes rows out of none
		}
	}
	if enough() {
		return nil
	}
	src, err := l.open(ctx)
	if err != nil {
		return err
	}
	n := len(locals)
	if l.pinned || keepOrder && l.ordered {
		n = 1
	}
	if b, ok := src.(bounded); ok {
		n = max(1, min(n, b.MaxReaders()))
	}
	var stop atomic.Bool
	err = parallel(ctx, n, func(ctx context.Context, i int) error {
		if locals[i] == nil {
			var err error
			if locals[i], err = sink.NewLocal(); err != nil {
				return err
			}
		}
		d := driver{ctx: ctx, stop: &stop, metrics: r.env.Metrics != nil}
		err := d.drive(r.env.Metrics, src, l.node, l.ops, locals[i], node)
		if errors.Is(err, ErrDone) {
			stop.Store(true)
			return nil
		}
		return err
	})
	if cerr := src.Close(); err == nil {
		err = cerr
	}
	return err
}

// A driver is one goroutine's run through one leg.
type driver struct {
	ctx     context.Context
	stop    *atomic.Bool // another goroutine saw ErrDone
	metrics bool

	current *NodeMetrics // whose time passes
	since   time.Time
}

// enter charges the time since the last call to whom it was for, and gives that one back.
func (d *driver) enter(m *NodeMetrics) *NodeMetrics {
	if !d.metrics {
		return nil
	}
	now := time.Now()
	if d.current != nil {
		d.current.Nanos.Add(int64(now.Sub(d.since)))
	}
	was := d.current
	d.current, d.since = m, now
	return was
}

func (d *driver) drive(metrics *Metrics, src Source, srcNode physical.Node, ops []stage, local Local, sinkNode physical.Node) (err error) {
	at := metrics.Of(srcNode)
	d.enter(at)
	defer d.enter(nil)
	reader, err := src.NewReader()
	if err != nil {
		return err
	}
	defer func() {
		if cerr := reader.Close(); err == nil {
			err = cerr
		}
	}()

	sinkMetrics := metrics.Of(sinkNode)
	steps := make([]Step, 0, len(ops))
	defer func() {
		for _, s := range steps {
			if cerr := s.Close(); err == nil {
				err = cerr
			}
		}
	}()
	for _, o := range ops {
		s, err := o.op.NewStep()
		if err != nil {
			return err
		}
		steps = append(steps, s)
	}
	// emits[i] takes what comes before operator i; the last goes into the sink.
	emits := make([]Emit, len(ops)+1)
	for i := len(ops); i >= 0; i-- {
		from, to := at, sinkMetrics
		push := func(b *vector.Batch) error { return local.Push(d.ctx, b) }
		if i > 0 {
			from = metrics.Of(ops[i-1].node)
		}
		if i < len(ops) {
			to = metrics.Of(ops[i].node)
			step, next := steps[i], emits[i+1]
			push = func(b *vector.Batch) error { return step.Push(d.ctx, b, next) }
		}
		emits[i] = d.counted(from, to, push)
	}

	done := false
	for !done && !d.stop.Load() {
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
		b, err := reader.Next(d.ctx)
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if err := emits[0](b); errors.Is(err, ErrDone) {
			done = true
		} else if err != nil {
			return err
		}
	}
	for i, s := range steps {
		d.enter(metrics.Of(ops[i].node))
		if err := s.Flush(d.ctx, emits[i+1]); errors.Is(err, ErrDone) {
			done = true
		} else if err != nil {
			return err
		}
	}
	if done {
		return ErrDone
	}
	return nil
}

// counted is inner with the rows and the time that pass through it charged to the nodes on either side. Empty batches end
// here.
func (d *driver) counted(from, to *NodeMetrics, inner Emit) Emit {
	return func(b *vector.Batch) error {
		rows := b.Rows()
		if rows == 0 {
			return nil
		}
		if d.ctx.Err() != nil {
			return context.Cause(d.ctx)
		}
		if !d.metrics {
			return inner(b)
		}
		from.Rows.Add(int64(rows))
		from.Batches.Add(1)
		was := d.enter(to)
		err := inner(b)
		d.enter(was)
		return err
	}
}

// clock charges the time until the call of what it returns.
func (c *NodeMetrics) clock() func() {
	start := time.Now()
	return func() { c.Nanos.Add(int64(time.Since(start))) }
}

// parallel runs f(0) … f(n−1), each on a goroutine of its own but the first, and waits for all. The first error, or the
// cause of ctx's end, cancels the others and is returned.
func parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if n == 1 {
		return guard(func() error { return f(ctx, 0) })
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	one := func(i int) {
		if err := guard(func() error { return f(inner, i) }); err != nil {
			cancel(err) // only the first counts
		}
	}
	for i := 1; i < n; i++ {
		wg.Go(func() { one(i) })
	}
	if n > 0 {
		one(0)
	}
	wg.Wait()
	if inner.Err() != nil {
		return context.Cause(inner)
	}
	return nil
}

// guard turns a panic of f into an error: a fault in one query must not end the process.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &sqlerr.Error{
				Code:    sqlerr.Internal,
				Message: "the query met a fault of Fletch itself",
				Hint:    "please report it with the statement and the log",
				Err:     fmt.Errorf("panic: %v\n%s", p, debug.Stack()),
			}
		}
	}()
	return f()
}
