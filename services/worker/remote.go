package worker

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/vector"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

func inputOf(r *physical.Remote) inputKey { return inputKey{r.Stage, r.Reader} }

// openRemote gives the rows that a stage's tasks send to this task.
func (t *task) openRemote(ctx context.Context, remote *physical.Remote) (exec.Source, error) {
	s := &remoteSource{task: t, remote: remote, metrics: t.env.Metrics.Of(remote), batches: make(chan arrow.RecordBatch, 2)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	in := t.inputs[inputOf(remote)]
	s.producers = in.GetProducers()
	if in.GetSupplied() {
		s.supply = t.supplies[remote.Stage]
	}
	return s, nil
}

// A remoteSource is the rows of a stage for one task: one stream per producer, read side by side into one channel or, where
// their order counts, each by its own reader.
type remoteSource struct {
	task      *task
	remote    *physical.Remote
	metrics   *exec.NodeMetrics
	ctx       context.Context
	cancel    context.CancelCauseFunc
	producers []*workerv1.Producer
	supply    *supply // instead of producers

	start   sync.Once
	pumps   sync.WaitGroup
	batches chan arrow.RecordBatch
}

// Streams gives each producer's rows apart, for a merge of sorted streams.
func (s *remoteSource) Streams() ([]exec.Reader, error) {
	out := make([]exec.Reader, len(s.producers))
	for i, p := range s.producers {
		in := s.open(p)
		out[i] = &remoteReader{source: s, next: in.next, close: in.close}
	}
	return out, nil
}

// NewReader gives the rows of all producers, as they come.
func (s *remoteSource) NewReader() (exec.Reader, error) {
	if s.supply != nil {
		return &remoteReader{source: s, next: s.supply.next, close: func() {}}, nil
	}
	s.start.Do(func() {
		s.pumps.Add(len(s.producers))
		for _, p := range s.producers {
			go s.pump(p)
		}
		go func() {
			s.pumps.Wait()
			close(s.batches)
		}()
	})
	return &remoteReader{source: s, next: s.any, close: func() {}}, nil
}

// pump reads one producer into the channel. The first error ends all.
func (s *remoteSource) pump(p *workerv1.Producer) {
	defer s.pumps.Done()
	in := s.open(p)
	defer in.close()
	for {
		rec, err := in.next(s.ctx)
		if err != nil {
			s.cancel(err)
			return
		}
		if rec == nil {
			return
		}
		select {
		case s.batches <- rec:
		case <-s.ctx.Done():
			rec.Release()
			return
		}
	}
}

// any is the next batch of any producer, the caller's to release; nil when all have ended well.
func (s *remoteSource) any(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case rec, ok := <-s.batches:
		if ok {
			return rec, nil
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	return nil, nil
}

func (s *remoteSource) Close() error {
	s.cancel(context.Canceled)
	if s.supply != nil {
		s.supply.close()
	}
	started := true
	s.start.Do(func() { started = false })
	if started {
		for rec := range s.batches {
			rec.Release()
		}
	}
	return nil
}

// An inflow is one producer's rows. next gives a batch that is the caller's to release, nil at the end.
type inflow struct {
	next  func(context.Context) (arrow.RecordBatch, error)
	close func()
}

// open reaches a producer: over the network or, where it is a task of this very process, directly. It asks when it is first
// read.
func (s *remoteSource) open(p *workerv1.Producer) inflow {
	w := s.task.worker
	req := s.task.request(inputOf(s.remote), p)
	if identity.Same(p.GetIdentity(), w.self) {
		var o *outlet
		return inflow{
			next: func(ctx context.Context) (arrow.RecordBatch, error) {
				if o == nil {
					s.task.ask(inputOf(s.remote), p.GetTask())
					var err error
					if o, err = w.claim(req); err != nil {
						return nil, rpcerr.FromWorker(ctx, w.URL(), err)
					}
				}
				return o.next(ctx)
			},
			close: func() {
				if o != nil {
					o.close()
				}
			},
		}
	}
	var stream *pull.Stream
	return inflow{
		next: func(context.Context) (arrow.RecordBatch, error) {
			if stream == nil {
				s.task.ask(inputOf(s.remote), p.GetTask())
				var err error
				if stream, err = pull.Open(s.ctx, w.dialer, p, req); err != nil {
					return nil, err
				}
			}
			before := stream.Bytes()
			rec, err := stream.Next()
			s.metrics.Bytes.Add(stream.Bytes() - before)
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			rec.Retain()
			return rec, nil
		},
		close: func() {
			if stream != nil {
				stream.Close()
			}
		},
	}
}

// A remoteReader turns batches of a stage into vectors, which are checked here, where they enter.
type remoteReader struct {
	source  *remoteSource
	next    func(context.Context) (arrow.RecordBatch, error)
	close   func()
	vectors *arrowio.Reader
	current arrow.RecordBatch // what came, up to row at given
	at      int64
	slice   arrow.RecordBatch // the part of current that was given last
}

func (r *remoteReader) Next(ctx context.Context) (*vector.Batch, error) {
	r.releaseSlice()
	for r.current == nil || r.at >= r.current.NumRows() {
		r.release()
		rec, err := r.next(ctx)
		if rec == nil || err != nil {
			return nil, err
		}
		r.current, r.at = rec, 0
		if r.vectors == nil {
			if r.vectors, err = arrowio.NewReader(r.source.remote.Fields, rec.Schema()); err != nil {
				return nil, err
			}
		}
	}
	to := min(r.current.NumRows(), r.at+r.source.task.batchRows())
	r.slice = r.current.NewSlice(r.at, to)
	r.at = to
	return r.vectors.Batch(r.slice)
}

func (r *remoteReader) releaseSlice() {
	if r.slice != nil {
		r.slice.Release()
		r.slice = nil
	}
}

func (r *remoteReader) release() {
	r.releaseSlice()
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

func (r *remoteReader) Close() error {
	r.release()
	r.close()
	return nil
}
