// Package exec runs physical plans: pipelines of source → operators → sink, each of N goroutines driving its own copy over
// morsels. It knows operators and memory; it must never know SQL text, files (a scan is a Source that it is given) or the
// network (a Remote likewise).
package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/vector"
)

// A Source begins a pipeline. NewReader may be called from any goroutine, once per goroutine that reads; the readers share
// the source's morsels. Close comes after the last reader is closed, at any point, and more than once.
type Source interface {
	NewReader() (Reader, error)
	Close() error
}

// A Reader gives a source's batches to one goroutine. Next gives nil, nil at the end; the batch is valid until the next call.
// An error is a *sqlerr.Error or the context's.
type Reader interface {
	Next(ctx context.Context) (*vector.Batch, error)
	Close() error
}

// An Emit hands a batch to whatever follows, for the time of the call. Its error ends the pipeline; ErrDone says that no
// more rows are wanted, which is no failure.
type Emit func(b *vector.Batch) error

// An Operator stands in the middle of a pipeline and is shared by its goroutines; each makes one Step.
type Operator interface {
	NewStep() (Step, error)
	Close() error
}

// A Step is one goroutine's copy of an operator. Push takes b for the time of the call and emits any number of batches;
// Flush is called once, after the last Push, and emits what is left.
type Step interface {
	Push(ctx context.Context, b *vector.Batch, emit Emit) error
	Flush(ctx context.Context, emit Emit) error
	Close() error
}

// A Sink ends a pipeline: it takes batches from many goroutines and gives its result once, when all are done. A hash
// aggregate, a join's build side, a sort and a result buffer are sinks.
//
// Each goroutine makes one Local and is the only one to use it. Push takes b for the time of the call: what the sink
// keeps, it copies. Combine is called once per Local, from any goroutine; Finalize once, after the last Combine. An error
// is a *sqlerr.Error or the context's, and ends the pipeline; Close may follow at any point, also before the first Push,
// and more than once.
type Sink interface {
	NewLocal() (Local, error)
	Combine(ctx context.Context, l Local) error
	Finalize(ctx context.Context) error
	Close() error
}

// A Local is one goroutine's part of a Sink.
type Local interface {
	Push(ctx context.Context, b *vector.Batch) error
}
