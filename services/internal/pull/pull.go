// Package pull reads one partition of a task's output from the worker that runs it, and only from that very worker. Workers
// pull from workers with it, the coordinator pulls the result.
package pull

import (
	"context"
	"errors"
	"io"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// Client makes calls to the worker at url. With need, every call is meant for that very worker and no other's answer is
// used; without, only WorkerInfo will be answered.
func Client(d *httpserve.Dialer, url string, need *identityv1.Identity) *connect.Client {
	transport := connecthttp.NewTransport(
		d.Client(), url, connecthttp.WithGRPC(), connecthttp.WithCompressors(), connecthttp.WithCodecs(arrowwire.NewCodec()),
		connecthttp.WithReadMaxBytes(arrowwire.ReadLimit),
	)
	if need == nil {
		return connect.NewClient(transport)
	}
	return connect.NewClient(transport, identity.Expect(need), telemetry.Propagate)
}

var executeSpec = connect.Spec{
	StreamType: connect.StreamTypeServer,
	Schema:     workerv1.File_fletch_worker_v1_worker_proto.Services().ByName("WorkerService").Methods().ByName("ExecuteTask"),
	Procedure:  workerv1connect.WorkerServiceExecuteTaskProcedure,
}

// A Stream is a partition on its way. It is for one goroutine.
type Stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	url    string
	stream connect.ClientStream
	reader *arrowwire.Reader
}

// Open asks the producer for a partition, and returns when it has begun to answer or has refused; a refusal may come from Next or
// Receive instead. The stream ends with ctx, or with Close.
func Open(ctx context.Context, d *httpserve.Dialer, producer *workerv1.Producer, req *workerv1.ExecuteTaskRequest) (*Stream, error) {
	s := &Stream{url: producer.GetUrl()}
	s.ctx, s.cancel = context.WithCancel(ctx)
	stream, err := Client(d, producer.GetUrl(), producer.GetIdentity()).CallServerStream(s.ctx, executeSpec, req)
	if err != nil {
		s.cancel()
		return nil, rpcerr.FromWorker(ctx, s.url, err)
	}
	s.stream = stream
	return s, nil
}

// Receive gives the next message as it came, for one who relays it: the end message is one, and io.EOF comes only after it.
func (s *Stream) Receive(m *arrowwire.Message) error {
	err := s.stream.Receive(m)
	if err == nil {
		return nil
	}
	m.Release() // a message of another worker is refused after it was read
	if errors.Is(err, io.EOF) {
		return err
	}
	var own *connect.Error
	if errors.As(err, &own) && !own.IsRemote() && (own.Code() == connect.CodeInvalidArgument || own.Code() == connect.CodeResourceExhausted) {
		err = errors.New(own.Message()) // of this side, which cannot read what came: the worker did not say that
	}
	return rpcerr.FromWorker(s.ctx, s.url, err)
}

// Next gives the next batch, valid until the call after it; io.EOF when all have come and their counts agree.
func (s *Stream) Next() (arrow.RecordBatch, error) {
	if s.reader == nil {
		r, err := arrowwire.NewReader(s.Receive)
		if err != nil {
			return nil, s.explain(err)
		}
		s.reader = r
	}
	rec, err := s.reader.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.explain(err)
	}
	return rec, err
}

// Bytes is the bytes of bodies that have come.
func (s *Stream) Bytes() int64 {
	if s.reader == nil {
		return 0
	}
	return s.reader.Bytes()
}

// explain turns what is wrong with a stream into a lost worker: the rows it still owes are gone.
func (s *Stream) explain(err error) error {
	var e *sqlerr.Error
	if errors.As(err, &e) {
		return err
	}
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return rpcerr.Lost(s.url, err)
}

// Close ends the stream; the producer's task stops making what nobody reads.
func (s *Stream) Close() {
	s.cancel()
	if s.reader != nil {
		s.reader.Close()
	}
	_ = s.stream.Close()
}
