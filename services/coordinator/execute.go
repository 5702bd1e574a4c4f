package coordinator

import (
	"context"
	"sync"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// progressMinimum is the least pause between two progress events.
const progressMinimum = 50 * time.Millisecond

// queryService runs statements.
type queryService struct{ coordinator *Coordinator }

var _ apiv1connect.QueryServiceHandler = (*queryService)(nil)

// Execute streams a result as it comes.
func (s *queryService) Execute(ctx context.Context, req *apiv1.ExecuteRequest, stream apiv1connect.QueryServiceExecuteServerStream) error {
	if err := known(req); err != nil {
		return err
	}
	c := s.coordinator
	call := ctx
	ctx, q, err := c.start(ctx, req.GetStatement(), req.GetOptions())
	if err != nil {
		return rpcerr.ToAPI(err, "", 0)
	}
	defer c.finish(q)
	defer httpserve.CutOff(call, ctx, c.limits.cut)() // a client that does not read holds nothing up
	out := &eventSink{ctx: ctx, query: q, stream: stream}
	stop := out.tick(req)
	end, err := c.run(ctx, q, out)
	stop()
	if err != nil && !out.headed {
		return rpcerr.ToAPI(err, q.id, 0)
	}
	if serr := out.send(&apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_End{End: end}}); err == nil && serr != nil {
		return serr
	}
	return rpcerr.ToAPI(err, q.id, end.GetRows())
}

// eventSink sends a query's events. Progress comes from another goroutine than the rest.
type eventSink struct {
	ctx    context.Context
	query  *query
	stream apiv1connect.QueryServiceExecuteServerStream
	headed bool

	mu sync.Mutex
}

func (s *eventSink) send(m *apiv1.ExecuteResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stream.Send(m); err != nil {
		if cause := context.Cause(s.ctx); cause != nil {
			return cause
		}
		return &sqlerr.Error{Code: sqlerr.Canceled, Message: "the client stopped reading", Err: err}
	}
	return nil
}

func (s *eventSink) Head(columns []*apiv1.Column) error {
	s.headed = true
	return s.send(&apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_Head{Head: &apiv1.QueryHead{QueryId: s.query.id, Columns: columns}}})
}

func (s *eventSink) Message(encapsulated []byte, _ int64) error {
	return s.send(&apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_Arrow{Arrow: encapsulated}})
}

// tick sends progress as often as the client wants it, until the returned function is called.
func (s *eventSink) tick(req *apiv1.ExecuteRequest) (stop func()) {
	if req.GetProgressInterval() == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(max(progressMinimum, req.GetProgressInterval().AsDuration()))
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if p := s.query.now(); p.GetTasks() > 0 || p.GetQueuePosition() > 0 {
					_ = s.send(&apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_Progress{Progress: p}})
				}
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// Cancel ends a query, and answers when it has ended.
func (s *queryService) Cancel(ctx context.Context, req *apiv1.CancelRequest) (*apiv1.CancelResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	c := s.coordinator
	c.mu.Lock()
	q := c.queries[req.GetQueryId()]
	c.mu.Unlock()
	if q == nil {
		return nil, connect.NewError(connect.CodeNotFound, "no such query runs here: it has ended, or never was")
	}
	q.cancel(sqlerr.New(sqlerr.Canceled, sqlerr.Pos{}, "canceling statement due to user request"))
	select {
	case <-q.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return &apiv1.CancelResponse{}, nil
}
