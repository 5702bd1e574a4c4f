package worker

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"sync"

	"connectrpc.com/connect/v2"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/sqlerr"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// A supply is the rows of an input that the coordinator sends, on their way to the task. They are taken as they come, so that no call is
// held up by a task that has other things to do first; what waits counts in the attempt's memory.
type supply struct {
	mu      sync.Mutex
	queue   []arrow.RecordBatch
	sizes   []int64
	memory  *budget.User // nil until the first batch
	claimed bool         // somebody sends it
	ended   bool         // no more comes
	err     error        // why it ended, nil if it is complete
	closed  bool         // the task wants no more
	changed chan struct{}
}

// batchCost is about what a batch takes beside its columns' bytes, of which it may have none.
const batchCost = 1 << 10

func newSupply() *supply { return &supply{changed: make(chan struct{})} }

// tell wakes those who wait for a change. s.mu is held.
func (s *supply) tell() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// put takes one reference of rec. more is false once the task wants no more.
func (s *supply) put(rec arrow.RecordBatch, memory *budget.Budget) (more bool, err error) {
	size := int64(batchCost)
	for _, c := range rec.Columns() {
		size += int64(c.Data().SizeInBytes())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		rec.Release()
		return false, nil
	}
	if s.memory == nil {
		s.memory = memory.User("table of the session")
	}
	if err := s.memory.Reserve(size); err != nil {
		rec.Release()
		return false, err
	}
	s.queue, s.sizes = append(s.queue, rec), append(s.sizes, size)
	s.tell()
	return true, nil
}

// end says that no more comes: all has, or err is why not.
func (s *supply) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended, s.err = true, err
		s.tell()
	}
}

// next is the next batch, the caller's to release; nil at the end.
func (s *supply) next(ctx context.Context) (arrow.RecordBatch, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			rec := s.queue[0]
			s.memory.Release(s.sizes[0])
			s.queue, s.sizes = s.queue[1:], s.sizes[1:]
			s.mu.Unlock()
			return rec, nil
		}
		ended, err, changed := s.ended || s.closed, s.err, s.changed
		s.mu.Unlock()
		if ended {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// close gives up what the task has not read. It may be called more than once.
func (s *supply) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	for i, rec := range s.queue {
		rec.Release()
		s.memory.Release(s.sizes[i])
	}
	s.queue, s.sizes = nil, nil
	s.tell()
}

// claim makes the caller the one who sends it.
func (s *supply) claim() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.claimed {
		return connect.NewError(connect.CodeAlreadyExists, "the input was supplied before")
	}
	s.claimed = true
	return nil
}

// closeSupplies tells whoever supplies the task that it wants no more.
func (t *task) closeSupplies() {
	for _, s := range t.supplies {
		s.close()
	}
}

func (h *handler) Supply(ctx context.Context, _ workerv1connect.WorkerServiceSupplyServerStream) (*workerv1.SupplyResponse, error) {
	receive, err := arrowwire.Receive(ctx)
	if err != nil {
		return nil, err
	}
	start, err := arrowwire.ReadStart(receive)
	if err != nil {
		return nil, connect.Errorf(connect.CodeInvalidArgument, "%v", err)
	}
	t, s, err := h.worker.supplied(start)
	if err != nil {
		return nil, err
	}
	err = t.take(ctx, s, receive)
	s.end(err)
	if err != nil {
		return nil, rpcerr.ToWorker(err)
	}
	return &workerv1.SupplyResponse{}, nil
}

// supplied finds the input that a Supply is for, once.
func (w *Worker) supplied(start *workerv1.SupplyStart) (*task, *supply, error) {
	key := start.GetKey()
	a, err := w.attempts.find(attemptKey{key.GetQuery(), key.GetAttempt()})
	if err != nil {
		return nil, nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.tasks[taskKey{key.GetStage(), key.GetTask()}]
	if t == nil {
		return nil, nil, connect.NewError(connect.CodeNotFound, "no such task is planned here")
	}
	if subtle.ConstantTimeCompare(t.token, start.GetToken()) != 1 {
		return nil, nil, connect.NewError(connect.CodePermissionDenied, "the attempt's token is missing or wrong")
	}
	s := t.supplies[int32(min(start.GetStage(), 1<<30))]
	if s == nil {
		return nil, nil, connect.NewError(connect.CodeNotFound, "the task has no such input")
	}
	return t, s, s.claim()
}

func notWhole(err error) error {
	return sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "the rows of a table of the session did not come whole: %w", err)
}

// take reads a stream into s, until it ends, the task wants no more of it, or the attempt ends.
func (t *task) take(ctx context.Context, s *supply, receive func(*arrowwire.Message) error) error {
	r, err := arrowwire.NewReader(receive)
	if err != nil {
		return notWhole(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case t.attempt.ctx.Err() != nil:
			return context.Cause(t.attempt.ctx)
		case err != nil:
			return notWhole(err)
		}
		rec.Retain()
		if more, err := s.put(rec, t.env.Budget); err != nil || !more {
			return err
		}
	}
}
