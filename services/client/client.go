// Package client talks to a coordinator: it runs statements and gives their results as Arrow record batches, says which API
// version it speaks, and moves on to the next address where no server answers. It must never know how a result is shown.
package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/api"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/resolver"
)

// A Config is how a client reaches its servers; the zero value is plain text without a token.
type Config struct {
	Security Security
	Differ   func(string) // told once, in a sentence for people, when a server speaks another API version; nil: nobody is
}

// A Security is certificates, and the token that is shown.
type Security = httpserve.Security

// A Client is for one cluster. Its methods may be called from any goroutine.
type Client struct {
	urls    []string
	clients []*connect.Client
	dialer  *httpserve.Dialer
	current atomic.Int32

	mu       sync.Mutex
	sessions map[string]session // by the id that OpenSession gave
}

// New makes a client of the coordinators at urls, of which the first that answers is used.
func New(urls []string, cfg Config) (*Client, error) {
	credentials, err := cfg.Security.Load()
	if err != nil {
		return nil, err
	}
	if len(urls) == 0 {
		return nil, errors.New("no server to connect to")
	}
	differ := cfg.Differ
	if differ == nil {
		differ = func(string) {}
	}
	c := &Client{dialer: httpserve.NewDialer(credentials, credentials.Token), sessions: map[string]session{}}
	interceptor := api.Client(differ)
	for _, u := range urls {
		u, err := resolver.CheckURL(u)
		if err != nil {
			return nil, err
		}
		c.urls = append(c.urls, u)
		c.clients = append(c.clients, connect.NewClient(
			connecthttp.NewTransport(c.dialer.Client(), u, connecthttp.WithGRPC(), connecthttp.WithCompressors(), connecthttp.WithReadMaxBytes(80<<20)),
			interceptor,
		))
	}
	return c, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.dialer.Close() }

// An Unreachable says that no server answered.
type Unreachable struct {
	URLs []string
	Err  error
}

func (e *Unreachable) Error() string {
	return fmt.Sprintf("no server answers at %s: %v", strings.Join(e.URLs, ", "), e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// each calls f with the current server and, while no server answers, with the others in turn.
func (c *Client) each(ctx context.Context, f func(*connect.Client) error) error {
	var last error
	first := int(c.current.Load())
	for i := range c.clients {
		at := (first + i) % len(c.clients)
		err := f(c.clients[at])
		if err == nil {
			c.current.Store(int32(at))
			return nil
		}
		e, detail, unreachable := rpcerr.FromAPI(err)
		if detail == nil && connect.CodeOf(err) == connect.CodeUnimplemented {
			e, unreachable = unimplemented(ctx, c.clients[at])
		}
		if !unreachable && e.Code != sqlerr.Draining {
			return e
		}
		last = e
	}
	return &Unreachable{c.urls, last}
}

// ask is each for a call that may be made twice: where the connection breaks in the call, too, the others are asked.
func (c *Client) ask(ctx context.Context, f func(*connect.Client) error) error {
	return c.each(ctx, func(cl *connect.Client) error { return anew(ctx, f(cl)) })
}

// anew makes of a connection that broke a server that does not answer.
func anew(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !broken(err) || !rpcerr.Broke(err) {
		return err
	}
	return connect.NewError(connect.CodeUnavailable, err.Error()).WithCause(err)
}

// unimplemented is the error of a call that whoever answers does not have: an older coordinator, a worker, or a stranger.
func unimplemented(ctx context.Context, c *connect.Client) (e *sqlerr.Error, stranger bool) {
	v, err := apiv1connect.NewVersionServiceClient(c).GetVersion(ctx, &apiv1.GetVersionRequest{})
	if err != nil {
		return sqlerr.New(sqlerr.NoWorker, sqlerr.Pos{}, "what answers there is no coordinator"), true
	}
	e = sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "the server, release %s with API version %d.%d, has no such call", v.GetRelease(), v.GetApi().GetMajor(), v.GetApi().GetMinor())
	if own := identity.API(); v.GetApi().GetMajor() == own.Major && v.GetApi().GetMinor() < own.Minor {
		return e.WithHint("upgrade the server to API version %s, which this client speaks", own), false
	}
	return e.WithHint("a history server tells of queries and runs none: connect to a coordinator"), false
}

// An Options is how to run a statement; the zero value is the server's defaults.
type Options struct {
	WorkerVersion string
	Timeout       time.Duration
	Memory        int64 // bytes
	Threads       int
	BatchRows     int
	SessionID     string                     // of OpenSession; empty: the statement stands alone
	Progress      func(*apiv1.QueryProgress) // called now and then while the statement runs; nil: never
}

func (o Options) message() *apiv1.QueryOptions {
	m := &apiv1.QueryOptions{WorkerVersion: o.WorkerVersion, MemoryLimit: uint64(max(0, o.Memory)), Threads: uint32(max(0, o.Threads)), BatchRows: uint32(max(0, o.BatchRows)), SessionId: o.SessionID}
	if o.Timeout > 0 {
		m.Timeout = durationpb.New(o.Timeout)
	}
	return m
}

// A Result is a statement's rows on their way. It is for one goroutine.
type Result struct {
	QueryID string
	Columns []*apiv1.Column
	End     *apiv1.QueryEnd // once Next has given io.EOF or an error; nil if the server did not come to it

	stream   apiv1connect.QueryServiceExecuteClientStream
	cancel   context.CancelFunc
	ctx      context.Context
	progress func(*apiv1.QueryProgress)
	reader   *ipc.Reader
	message  *ipc.Message
	rows     int64 // given by Next so far
	finished bool
	err      error
}

// Query runs a statement. It returns as soon as the statement was accepted.
func (c *Client) Query(ctx context.Context, statement string, o Options) (*Result, error) {
	if err := parse.Check(statement); err != nil { // what is not UTF-8 the wire does not carry, and does not say why
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &Result{ctx: ctx, cancel: cancel, progress: o.Progress}
	req := &apiv1.ExecuteRequest{Statement: statement, Options: o.message()}
	if o.Progress != nil {
		req.ProgressInterval = durationpb.New(200 * time.Millisecond)
	}
	err := c.each(ctx, func(cl *connect.Client) error {
		return c.inSession(ctx, cl, o.SessionID, func(id string) error {
			req.Options.SessionId = id
			return r.execute(cl, req)
		})
	})
	if err != nil {
		cancel()
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return nil, cause
		}
		if unreachable := (*Unreachable)(nil); !errors.As(err, &unreachable) && broken(err) {
			return nil, r.incomplete(err)
		}
		if connect.CodeOf(err) == connect.CodeResourceExhausted && sqlerr.CodeOf(err) == sqlerr.Internal {
			return nil, sqlerr.Newf(sqlerr.StatementTooLarge, sqlerr.Pos{}, "the statement has %d bytes, more than the server reads: %w", len(statement), err).
				WithHint("put the data into a file and query that")
		}
		return nil, err
	}
	return r, nil
}

// execute sends the statement and waits until it is accepted.
func (r *Result) execute(cl *connect.Client, req *apiv1.ExecuteRequest) error {
	stream, err := apiv1connect.NewQueryServiceClient(cl).Execute(r.ctx, req)
	if err != nil {
		return err
	}
	first, err := stream.Receive()
	if err != nil {
		_ = stream.Close()
		return err
	}
	head := first.GetHead()
	if head == nil {
		_ = stream.Close()
		return connect.NewError(connect.CodeInternal, "the server's answer does not begin with its head")
	}
	r.stream, r.QueryID, r.Columns = stream, head.GetQueryId(), head.GetColumns()
	return nil
}

// Schema is the columns' Arrow types; nil if the statement gives no rows at all. It waits for the result to begin.
func (r *Result) Schema() (*arrow.Schema, error) {
	if r.reader == nil && r.err == nil && !r.finished {
		reader, err := ipc.NewReaderFromMessageReader(messages{r})
		if r.err != nil || r.finished {
			return nil, r.err
		}
		if err != nil {
			r.err = sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "decode result: %w", err)
			return nil, r.err
		}
		r.reader = reader
	}
	if r.reader == nil {
		return nil, r.err
	}
	return r.reader.Schema(), nil
}

// Next gives the next rows, valid until the call after it; io.EOF when the result is complete.
func (r *Result) Next() (arrow.RecordBatch, error) {
	if _, err := r.Schema(); err != nil {
		return nil, err
	}
	if r.reader != nil && r.reader.Next() {
		b := r.reader.RecordBatch()
		r.rows += b.NumRows()
		return b, nil
	}
	switch {
	case r.err != nil:
		return nil, r.err
	case r.End != nil:
		return nil, io.EOF
	case r.reader != nil && r.reader.Err() != nil:
		return nil, sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "decode result: %w", r.reader.Err())
	}
	return nil, r.incomplete(io.ErrUnexpectedEOF)
}

// incomplete says that a result broke off. The wire's clean end is no cause to tell: io.EOF is the end of a whole result.
func (r *Result) incomplete(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	message := "the connection to the server broke before the result was complete"
	if r.rows > 0 {
		message += fmt.Sprintf("; %d rows had come", r.rows)
	}
	return &sqlerr.Error{Code: sqlerr.WorkerLost, Message: message, Hint: "run the statement again", Err: err}
}

// broken tells whether err is this side's own, of a server that answered and then was gone. A message too large to read is not.
func broken(err error) bool {
	var rpc *connect.Error
	return errors.As(err, &rpc) && !rpc.IsRemote() && rpc.Code() != connect.CodeResourceExhausted
}

// Close ends the statement, if it still runs, and gives everything back.
func (r *Result) Close() {
	r.cancel()
	if r.reader != nil {
		r.reader.Release()
	}
	if r.message != nil {
		r.message.Release()
	}
	_ = r.stream.Close()
}

// messages is the result as arrow's ipc wants it.
type messages struct{ r *Result }

func (messages) Retain()  {}
func (messages) Release() {}

func (s messages) Message() (*ipc.Message, error) {
	r := s.r
	if r.message != nil {
		r.message.Release()
		r.message = nil
	}
	for {
		if r.err != nil || r.finished {
			return nil, io.EOF
		}
		event, err := r.stream.Receive()
		if err != nil {
			r.fail(err)
			return nil, io.EOF
		}
		switch e := event.GetEvent().(type) {
		case *apiv1.ExecuteResponse_Progress:
			if r.progress != nil {
				r.progress(e.Progress)
			}
		case *apiv1.ExecuteResponse_End:
			r.End = e.End
			if e.End.GetError() == nil {
				r.finished = true
			}
		case *apiv1.ExecuteResponse_Arrow:
			m, err := split(e.Arrow)
			if err != nil {
				r.err = err
				return nil, err
			}
			if m == nil {
				continue // the end of the Arrow stream; the query's own end follows
			}
			r.message = m
			return m, nil
		}
	}
}

func (r *Result) fail(err error) {
	if cause := context.Cause(r.ctx); cause != nil {
		r.err = cause
		return
	}
	if r.End.GetError() != nil {
		r.err = failure(r.End.GetError())
		return
	}
	e, detail, _ := rpcerr.FromAPI(err)
	if detail == nil && (errors.Is(err, io.EOF) || e.Code == sqlerr.NoWorker || broken(err)) {
		r.err = r.incomplete(err)
		return
	}
	r.err = e
}

// failure is what a query says of its own end.
func failure(m *apiv1.QueryError) error {
	d := m.GetDetail()
	return &sqlerr.Error{
		Code: sqlerr.Code(d.GetCode()), Message: m.GetMessage(), Hint: d.GetHint(),
		Pos: sqlerr.Pos{Start: int32(min(d.GetPosition().GetStart(), 1<<30)), End: int32(min(d.GetPosition().GetEnd(), 1<<30))},
	}
}

// split takes one encapsulated Arrow IPC message apart; nil is the end of the stream.
func split(b []byte) (*ipc.Message, error) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != 0xffffffff {
		return nil, sqlerr.New(sqlerr.Internal, sqlerr.Pos{}, "decode result: malformed message")
	}
	n := int(binary.LittleEndian.Uint32(b[4:]))
	if n == 0 {
		return nil, nil
	}
	if n < 8 || n > len(b)-8 {
		return nil, sqlerr.New(sqlerr.Internal, sqlerr.Pos{}, "decode result: malformed message")
	}
	return ipc.NewMessage(memory.NewBufferBytes(b[8:8+n]), memory.NewBufferBytes(b[8+n:])), nil
}

// Workers shows the workers that the coordinator sees.
func (c *Client) Workers(ctx context.Context) (out []*apiv1.Worker, err error) {
	err = c.ask(ctx, func(cl *connect.Client) error {
		res, err := apiv1connect.NewClusterServiceClient(cl).ListWorkers(ctx, &apiv1.ListWorkersRequest{})
		out = res.GetWorkers()
		return err
	})
	return out, err
}

// Rollout is the coordinator's policy, and its view of the cohorts.
func (c *Client) Rollout(ctx context.Context) (out *apiv1.GetRolloutResponse, err error) {
	err = c.ask(ctx, func(cl *connect.Client) error {
		out, err = apiv1connect.NewRolloutServiceClient(cl).GetRollout(ctx, &apiv1.GetRolloutRequest{})
		return err
	})
	return out, err
}

// SetRollout replaces the policy, if its revision is still that of r, and gives the one that is in force then.
func (c *Client) SetRollout(ctx context.Context, r *apiv1.Rollout) (out *apiv1.Rollout, err error) {
	r = proto.CloneOf(r)
	r.ChangedAt = nil
	err = c.each(ctx, func(cl *connect.Client) error {
		res, err := apiv1connect.NewRolloutServiceClient(cl).SetRollout(ctx, &apiv1.SetRolloutRequest{Rollout: r})
		out = res.GetRollout()
		return err
	})
	return out, err
}

// Version tells what the server is.
func (c *Client) Version(ctx context.Context) (out *apiv1.GetVersionResponse, err error) {
	err = c.ask(ctx, func(cl *connect.Client) error {
		out, err = apiv1connect.NewVersionServiceClient(cl).GetVersion(ctx, &apiv1.GetVersionRequest{})
		return err
	})
	return out, err
}

// Cancel ends a query by its id.
func (c *Client) Cancel(ctx context.Context, queryID string) error {
	return c.ask(ctx, func(cl *connect.Client) error {
		_, err := apiv1connect.NewQueryServiceClient(cl).Cancel(ctx, &apiv1.CancelRequest{QueryId: queryID})
		return err
	})
}

// Queries lists queries that the server knows: a page of those that req asks for.
func (c *Client) Queries(ctx context.Context, req *apiv1.ListQueriesRequest) (out *apiv1.ListQueriesResponse, err error) {
	err = c.ask(ctx, func(cl *connect.Client) error {
		out, err = apiv1connect.NewHistoryServiceClient(cl).ListQueries(ctx, req)
		return err
	})
	return out, err
}

// QueryByID tells all that the server knows of one query.
func (c *Client) QueryByID(ctx context.Context, req *apiv1.GetQueryRequest) (out *apiv1.GetQueryResponse, err error) {
	err = c.ask(ctx, func(cl *connect.Client) error {
		out, err = apiv1connect.NewHistoryServiceClient(cl).GetQuery(ctx, req)
		return err
	})
	return out, err
}
