package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
)

// A ResultConfig says how a Result cuts and holds its record batches. The zero value is the defaults.
type ResultConfig struct {
	Form   arrowio.Form
	Rows   int            // per record batch, at most about; 0: 65,536
	Bytes  int            // per record batch, at most about; 0: 1 MiB
	Ahead  int            // record batches made before the reader wants them; 0: 2
	Budget *budget.Budget // counts what is held; nil: nothing does
}

// A Result is the sink at the edge: one reader takes its rows as Arrow record batches, in the order they came where one
// goroutine pushes them. A writer waits while the reader does not read. Next, End and Close may be called from different
// goroutines.
type Result struct {
	fields []physical.Field
	cfg    ResultConfig
	schema *arrow.Schema
	user   *budget.User

	records chan arrow.RecordBatch
	closed  chan struct{} // by Close: the reader has gone
	ended   chan struct{} // by End: no writer is left
	close   sync.Once
	end     sync.Once
	err     error // set before ended closes

	cancel context.CancelFunc // of the run that belongs to the Result, nil where none does
}

// NewResult makes a Result for columns of these fields. Whoever runs a plan into it calls End when Run has returned.
func NewResult(fields []physical.Field, cfg ResultConfig) (*Result, error) {
	if cfg.Rows <= 0 {
		cfg.Rows = 64 << 10
	}
	if cfg.Bytes <= 0 {
		cfg.Bytes = 1 << 20
	}
	if cfg.Ahead <= 0 {
		cfg.Ahead = 2
	}
	if cfg.Budget == nil {
		cfg.Budget = budget.New(0)
	}
	schema, err := arrowio.SchemaOf(fields, cfg.Form)
	if err != nil {
		return nil, err
	}
	return &Result{
		fields: fields, cfg: cfg, schema: schema, user: cfg.Budget.User("result"),
		records: make(chan arrow.RecordBatch, cfg.Ahead), closed: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// RunToArrow starts root and gives its result. The run ends by itself, with ctx, or with the result's Close, which must be
// called.
func RunToArrow(ctx context.Context, root physical.Node, env *Env, cfg ResultConfig) (*Result, error) {
	if cfg.Budget == nil {
		cfg.Budget = env.Budget
	}
	r, err := NewResult(root.Schema(), cfg)
	if err != nil {
		return nil, err
	}
	ctx, r.cancel = context.WithCancel(ctx)
	go func() { r.End(Run(ctx, root, env, r)) }()
	return r, nil
}

// Schema is the record batches' schema.
func (r *Result) Schema() *arrow.Schema { return r.schema }

// Next waits for the next record batch, which the caller releases: nil, nil at the end, the run's error if it failed, or
// the cause of ctx's end.
func (r *Result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case rec := <-r.records:
		return r.hand(rec), nil
	case <-r.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select { // the last records came before the end did
	case rec := <-r.records:
		if r.err == nil {
			return r.hand(rec), nil
		}
		r.hand(rec).Release()
	default:
	}
	return nil, r.err
}

func (r *Result) hand(rec arrow.RecordBatch) arrow.RecordBatch {
	r.user.Release(bytesOf(rec))
	return rec
}

// bytesOf is the memory of a record batch's buffers, those of lists' elements and structs' fields among them.
func bytesOf(rec arrow.RecordBatch) int64 {
	var n int64
	for _, c := range rec.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}

// End tells the reader that nothing more comes, and why if err is not nil. Only the first call counts.
func (r *Result) End(err error) {
	r.end.Do(func() {
		r.err = err
		close(r.ended)
	})
}

// Close lets writers go on to nowhere, ends the run that RunToArrow started, and waits for it. It may be called more than
// once. A Result that is the sink of a Run is closed by its reader, not by Run.
func (r *Result) Close() error {
	r.close.Do(func() { close(r.closed) })
	if r.cancel != nil {
		r.cancel()
		<-r.ended
	}
	for {
		select {
		case rec := <-r.records:
			r.hand(rec).Release()
		default:
			return nil
		}
	}
}

// Done tells that the reader has gone.
func (r *Result) Done() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// NewLocal is one goroutine's builder.
func (r *Result) NewLocal() (Local, error) {
	b, err := arrowio.NewBuilder(r.fields, r.cfg.Form)
	return &resultLocal{r, b}, err
}

// Combine sends what a goroutine has left.
func (r *Result) Combine(ctx context.Context, l Local) error {
	if err := l.(*resultLocal).flush(ctx); err != nil && !errors.Is(err, ErrDone) {
		return err
	}
	return nil
}

// Finalize has nothing left to do: End comes when Run has returned.
func (*Result) Finalize(context.Context) error { return nil }

type resultLocal struct {
	result  *Result
	builder *arrowio.Builder
}

func (l *resultLocal) Push(ctx context.Context, b *vector.Batch) error {
	if err := l.builder.Append(b); err != nil {
		return err
	}
	if l.builder.Rows() >= l.result.cfg.Rows || l.builder.Bytes() >= l.result.cfg.Bytes {
		return l.flush(ctx)
	}
	if l.result.Done() {
		return ErrDone
	}
	return nil
}

func (l *resultLocal) flush(ctx context.Context) error {
	r := l.result
	if l.builder.Rows() == 0 {
		return nil
	}
	rec := l.builder.Finish()
	n := bytesOf(rec)
	if err := r.user.Reserve(n); err != nil {
		rec.Release()
		return err
	}
	select {
	case r.records <- rec:
		if r.Done() { // Close may have looked before
			return ErrDone
		}
		return nil
	case <-r.closed:
	case <-ctx.Done():
	}
	r.user.Release(n)
	rec.Release()
	if r.Done() {
		return ErrDone
	}
	return context.Cause(ctx)
}
