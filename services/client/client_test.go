package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a server that answers every statement with the same events.
type script struct {
	apiv1connect.QueryServiceHandler
	events  []*apiv1.ExecuteResponse
	err     error
	aborts  bool // the connection breaks after the events
	version string
}

func (s script) Execute(ctx context.Context, _ *apiv1.ExecuteRequest, stream apiv1connect.QueryServiceExecuteServerStream) error {
	if info, ok := connect.CallInfoForServerContext(ctx); ok && s.version != "" {
		info.ResponseHeader().Set("fletch-api-version", s.version)
	}
	for _, e := range s.events {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	if s.aborts {
		panic(http.ErrAbortHandler)
	}
	return s.err
}

// serve answers on a port of its own until the test ends.
func serve(t *testing.T, s apiv1connect.QueryServiceHandler) string {
	t.Helper()
	srv := connect.NewServer()
	apiv1connect.RegisterQueryServiceHandler(srv, s)
	if sessions, ok := s.(apiv1connect.SessionServiceHandler); ok {
		apiv1connect.RegisterSessionServiceHandler(srv, sessions)
	}
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}

// nobody is a URL where no server answers.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

func head() *apiv1.ExecuteResponse {
	return &apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_Head{Head: &apiv1.QueryHead{QueryId: "q1", Columns: []*apiv1.Column{{Name: "n", Type: "bigint"}}}}}
}

func arrowEvent(b []byte) *apiv1.ExecuteResponse {
	return &apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_Arrow{Arrow: b}}
}

func end(e *apiv1.QueryError) *apiv1.ExecuteResponse {
	return &apiv1.ExecuteResponse{Event: &apiv1.ExecuteResponse_End{End: &apiv1.QueryEnd{QueryId: "q1", Rows: 2, Error: e}}}
}

// numbers is an Arrow stream of one column and two rows, message by message.
func numbers(t *testing.T) (out []*apiv1.ExecuteResponse) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues([]int64{1, 2}, nil)
	column := b.NewArray()
	defer column.Release()
	rec := array.NewRecordBatch(schema, []arrow.Array{column}, 2)
	defer rec.Release()
	var parts messages
	w := ipc.NewWriter(&parts, ipc.WithSchema(schema))
	for _, step := range []func() error{func() error { return w.Write(rec) }, w.Close} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		out = append(out, arrowEvent(parts.take()))
	}
	// The writer puts the schema before the first batch.
	first := out[0].GetArrow()
	n := 8 + int(first[4]) + int(first[5])<<8
	return append([]*apiv1.ExecuteResponse{arrowEvent(first[:n]), arrowEvent(first[n:])}, out[1:]...)
}

type messages struct{ b []byte }

func (m *messages) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

func (m *messages) take() []byte {
	b := m.b
	m.b = nil
	return b
}

func connectTo(t *testing.T, cfg client.Config, urls ...string) *client.Client {
	t.Helper()
	c, err := client.New(urls, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A result is complete only with its end; everything else is an error that says what happened.
func TestResultsThatBreakOff(t *testing.T) {
	rows := numbers(t)
	lost := &apiv1.QueryError{Message: "lost worker w; 2 rows had reached the client", Detail: &apiv1.ErrorDetail{
		Code: string(sqlerr.WorkerLost), Hint: "again", Rows: 2, Position: &apiv1.Position{Start: 3, End: 5},
	}}
	for _, tc := range []struct {
		name   string
		script script
		rows   int
		code   sqlerr.Code
		says   string
	}{
		{"whole", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], rows[2], end(nil)}}, 2, "", ""},
		{"no rows", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[2], end(nil)}}, 0, "", ""},
		{"an event of the future", script{events: []*apiv1.ExecuteResponse{head(), {}, rows[0], rows[1], {}, rows[2], end(nil)}}, 2, "", ""},
		{"no end", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], rows[2]}}, 2, sqlerr.WorkerLost, "before the result was complete"},
		{"no end of the stream either", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1]}}, 2, sqlerr.WorkerLost, "before the result was complete"},
		{"a connection that breaks", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1]}, aborts: true}, 2, sqlerr.WorkerLost, "2 rows had come"},
		{"an end without rows before it", script{events: []*apiv1.ExecuteResponse{head()}}, 0, sqlerr.WorkerLost, "before the result was complete"},
		{"an end with an error", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], end(lost)}, err: rpcerr.ToAPI(&sqlerr.Error{Code: sqlerr.WorkerLost, Message: "x"}, "q1", 2)}, 2, sqlerr.WorkerLost, "2 rows had reached"},
		{"an end with an error, cleanly closed", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], end(lost)}}, 2, sqlerr.WorkerLost, "2 rows had reached"},
		{"an error alone", script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1]}, err: rpcerr.ToAPI(sqlerr.New(sqlerr.DivisionByZero, sqlerr.Pos{}, "division by zero"), "q1", 2)}, 2, sqlerr.DivisionByZero, "division by zero"},
		{"garbage", script{events: []*apiv1.ExecuteResponse{head(), rows[0], arrowEvent([]byte("garbage")), end(nil)}}, 0, sqlerr.Internal, "malformed"},
		{"a length that is not there", script{events: []*apiv1.ExecuteResponse{head(), arrowEvent([]byte{255, 255, 255, 255, 255, 255, 255, 127})}}, 0, sqlerr.Internal, "malformed"},
		{"a batch first", script{events: []*apiv1.ExecuteResponse{head(), rows[1], end(nil)}}, 0, sqlerr.Internal, "decode"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := connectTo(t, client.Config{}, serve(t, tc.script)).Query(t.Context(), "SELECT 1", client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := clustertest.Collect(r)
			if len(got) != tc.rows || (err == nil) != (tc.code == "") || err != nil && (sqlerr.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("%d rows, %v (%s)", len(got), err, sqlerr.CodeOf(err))
			}
			if _, again := r.Next(); err != nil && again == nil || err == nil && !errors.Is(again, io.EOF) {
				t.Errorf("asked again it gives %v after %v", again, err)
			}
		})
	}
}

// A statement that no server takes is refused for what it is, and not as a connection that broke.
func TestStatementsThatCannotBe(t *testing.T) {
	tooLarge := script{err: connect.NewError(connect.CodeResourceExhausted, "message size 5000061 is larger than configured max 2097152")}
	for _, tc := range []struct {
		statement string
		code      sqlerr.Code
		says      string
	}{
		{"SELECT '\xff'", sqlerr.InvalidUTF8, "byte 0xff is not valid UTF-8"},
		{"SELECT 'a\x00'", sqlerr.Syntax, "zero byte"},
		{"SELECT 1", sqlerr.StatementTooLarge, "the statement has 8 bytes, more than the server reads"},
	} {
		_, err := connectTo(t, client.Config{}, serve(t, tooLarge)).Query(t.Context(), tc.statement, client.Options{})
		if sqlerr.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%q: %v (%s)", tc.statement, err, sqlerr.CodeOf(err))
		}
	}
}

// The first server that answers is used; what a server says of a statement is final.
func TestSeveralServers(t *testing.T) {
	rows := numbers(t)
	good := serve(t, script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], rows[2], end(nil)}})
	draining := serve(t, script{err: rpcerr.ToAPI(sqlerr.New(sqlerr.Draining, sqlerr.Pos{}, "the server is stopping"), "", 0)})
	wrong := serve(t, script{err: rpcerr.ToAPI(sqlerr.New(sqlerr.UnknownTable, sqlerr.Pos{}, "no table"), "", 0)})
	for _, tc := range []struct {
		name string
		urls []string
		code sqlerr.Code
	}{
		{"the first is not there", []string{nobody(t), good}, ""},
		{"the first is stopping", []string{draining, good}, ""},
		{"the first says no", []string{wrong, good}, sqlerr.UnknownTable},
	} {
		c := connectTo(t, client.Config{}, tc.urls...)
		for range 2 {
			r, err := c.Query(t.Context(), "SELECT 1", client.Options{})
			if (err == nil) != (tc.code == "") || err != nil && sqlerr.CodeOf(err) != tc.code {
				t.Errorf("%s: %v", tc.name, err)
			}
			if err == nil {
				r.Close()
			}
		}
	}
	if _, err := connectTo(t, client.Config{}, serve(t, script{aborts: true})).Query(t.Context(), "SELECT 1", client.Options{}); sqlerr.CodeOf(err) != sqlerr.WorkerLost {
		t.Errorf("a connection that breaks before the head: %v (%s)", err, sqlerr.CodeOf(err))
	}
	urls := []string{nobody(t), nobody(t)}
	_, err := connectTo(t, client.Config{}, urls...).Query(t.Context(), "SELECT 1", client.Options{})
	var unreachable *client.Unreachable
	if !errors.As(err, &unreachable) || len(unreachable.URLs) != 2 || !strings.Contains(err.Error(), urls[1]) {
		t.Errorf("nobody answers: %v", err)
	}
	for _, bad := range [][]string{nil, {"127.0.0.1:8470"}, {"http://x/y"}} {
		if _, err := client.New(bad, client.Config{}); err == nil {
			t.Errorf("a client of %q", bad)
		}
	}
}

// keeping is a server with sessions; one that stops refuses statements.
type keeping struct {
	script
	apiv1connect.SessionServiceHandler
	mu    sync.Mutex
	ids   []string // of open sessions
	ran   []string // sessions that statements ran in
	stops bool
}

func (k *keeping) OpenSession(context.Context, *apiv1.OpenSessionRequest) (*apiv1.OpenSessionResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := fmt.Sprintf("%p-%d", k, len(k.ids))
	k.ids = append(k.ids, id)
	return &apiv1.OpenSessionResponse{SessionId: id}, nil
}

func (k *keeping) Execute(ctx context.Context, req *apiv1.ExecuteRequest, stream apiv1connect.QueryServiceExecuteServerStream) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	id := req.GetOptions().GetSessionId()
	switch {
	case k.stops:
		return rpcerr.ToAPI(sqlerr.New(sqlerr.Draining, sqlerr.Pos{}, "the server is stopping"), "", 0)
	case !slices.Contains(k.ids, id):
		return connect.NewError(connect.CodeNotFound, "no such session")
	}
	k.ran = append(k.ran, id)
	return k.script.Execute(ctx, req, stream)
}

// TestConnectionsThatBreak has a server that is going as it is asked: its kernel took the connection, and nobody reads.
func TestConnectionsThatBreak(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-gone })
	going, good := "http://"+l.Addr().String(), serve(t, &keeping{})
	if _, err := connectTo(t, client.Config{}, going, good).OpenSession(t.Context()); err != nil {
		t.Errorf("a session: %v", err)
	}
	var unreachable *client.Unreachable
	if _, err := connectTo(t, client.Config{}, going).Workers(t.Context()); !errors.As(err, &unreachable) {
		t.Errorf("the only server: %v", err)
	}
}

// A session whose server goes before anything ran in it is opened where the statement runs; one that was used is lost, by an error that
// says so and not by a statement without its settings.
func TestSessionsWhoseServerGoes(t *testing.T) {
	rows := numbers(t)
	answer := script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1], rows[2], end(nil)}}
	for _, tc := range []struct {
		name string
		used bool
		goes func(first *keeping)
	}{
		{"it stops", false, func(first *keeping) { first.stops = true }},
		{"it was replaced", false, func(first *keeping) { first.ids = nil }},
		{"it stops, the session was used", true, func(first *keeping) { first.stops = true }},
		{"it was replaced, the session was used", true, func(first *keeping) { first.ids = nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			first, second := &keeping{script: answer}, &keeping{script: answer}
			c := connectTo(t, client.Config{}, serve(t, first), serve(t, second))
			id, err := c.OpenSession(t.Context())
			if err != nil || id == "" {
				t.Fatal(id, err)
			}
			query := func() error {
				r, err := c.Query(t.Context(), "SELECT 1", client.Options{SessionID: id})
				if err == nil {
					r.Close()
				}
				return err
			}
			if tc.used {
				if err := query(); err != nil {
					t.Fatal(err)
				}
			}
			first.mu.Lock()
			tc.goes(first)
			first.mu.Unlock()
			err = query()
			if lost := errors.Is(err, client.ErrSessionLost); lost != tc.used || !lost && err != nil {
				t.Errorf("%v", err)
			}
			if err := query(); (err == nil) == tc.used {
				t.Errorf("afterwards: %v", err)
			}
			if n := len(first.ran) + len(second.ran); !tc.used && n != 2 || tc.used && n != 1 {
				t.Errorf("statements ran in %v and %v", first.ran, second.ran)
			}
		})
	}
}

// A server of another API version is told of once.
func TestOtherVersion(t *testing.T) {
	rows := numbers(t)
	for version, times := range map[string]int{"": 0, identity.API().String(): 0, "1.0": 1, "1.700": 1} {
		var told []string
		c := connectTo(t, client.Config{Differ: func(s string) { told = append(told, s) }}, serve(t, script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[2], end(nil)}, version: version}))
		for range 3 {
			r, err := c.Query(t.Context(), "SELECT 1", client.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := clustertest.Collect(r); err != nil {
				t.Error(err)
			}
			r.Close()
		}
		if len(told) != times || times > 0 && !strings.Contains(told[0], version) {
			t.Errorf("%q: %q", version, told)
		}
	}
}

// A caller whose context ends is told so, whatever the wire says.
func TestCallerLeaves(t *testing.T) {
	rows := numbers(t)
	url := serve(t, script{events: []*apiv1.ExecuteResponse{head(), rows[0], rows[1]}})
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := connectTo(t, client.Config{}, url).Query(ctx, "SELECT 1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel(reason)
	if _, err := clustertest.Collect(r); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
}
