package rpcerr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"go.uber.org/goleak"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rpcCodes is what every code of the engine is over the wire.
var rpcCodes = map[sqlerr.Code]connect.Code{
	sqlerr.Syntax: connect.CodeInvalidArgument, sqlerr.UnknownColumn: connect.CodeInvalidArgument, sqlerr.UnknownTable: connect.CodeInvalidArgument,
	sqlerr.UnknownFunction: connect.CodeInvalidArgument, sqlerr.AmbiguousColumn: connect.CodeInvalidArgument,
	sqlerr.AmbiguousFunction: connect.CodeInvalidArgument, sqlerr.DuplicateAlias: connect.CodeInvalidArgument,
	sqlerr.DuplicateObject: connect.CodeInvalidArgument, sqlerr.Grouping: connect.CodeInvalidArgument, sqlerr.Windowing: connect.CodeInvalidArgument,
	sqlerr.DatatypeMismatch: connect.CodeInvalidArgument, sqlerr.CannotCoerce: connect.CodeInvalidArgument,
	sqlerr.InvalidReference: connect.CodeInvalidArgument, sqlerr.Unsupported: connect.CodeUnimplemented,
	sqlerr.DivisionByZero: connect.CodeInvalidArgument, sqlerr.OutOfRange: connect.CodeInvalidArgument,
	sqlerr.InvalidText: connect.CodeInvalidArgument, sqlerr.InvalidDatetime: connect.CodeInvalidArgument,
	sqlerr.DatetimeOverflow: connect.CodeInvalidArgument, sqlerr.InvalidParameter: connect.CodeInvalidArgument,
	sqlerr.InvalidRegex: connect.CodeInvalidArgument, sqlerr.InvalidUTF8: connect.CodeInvalidArgument,
	sqlerr.Cardinality: connect.CodeInvalidArgument, sqlerr.StatementTooLarge: connect.CodeInvalidArgument,
	sqlerr.MemoryLimit: connect.CodeResourceExhausted, sqlerr.DiskFull: connect.CodeResourceExhausted,
	sqlerr.TooManyQueries: connect.CodeResourceExhausted, sqlerr.Canceled: connect.CodeCanceled, sqlerr.Timeout: connect.CodeDeadlineExceeded,
	sqlerr.FileNotFound: connect.CodeNotFound, sqlerr.FileCorrupt: connect.CodeInternal, sqlerr.FileChanged: connect.CodeAborted,
	sqlerr.FileDenied: connect.CodePermissionDenied, sqlerr.IO: connect.CodeInternal, sqlerr.InvalidPlan: connect.CodeInvalidArgument,
	sqlerr.NoWorker: connect.CodeUnavailable, sqlerr.WorkerLost: connect.CodeUnavailable, sqlerr.VersionMismatch: connect.CodeFailedPrecondition,
	sqlerr.Draining: connect.CodeUnavailable, sqlerr.Unauthenticated: connect.CodeUnauthenticated,
	sqlerr.NotNull: connect.CodeInvalidArgument, sqlerr.UniqueViolation: connect.CodeInvalidArgument, sqlerr.CheckViolation: connect.CodeInvalidArgument, sqlerr.ObjectNotInState: connect.CodeFailedPrecondition, sqlerr.UnknownSetting: connect.CodeInvalidArgument, sqlerr.FunctionFailed: connect.CodeInvalidArgument, sqlerr.Internal: connect.CodeInternal,
}

func TestEveryCodeHasAnRPCCode(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../engine/sqlerr/sqlerr.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		n++
		want, ok := rpcCodes[sqlerr.Code(text)]
		if got := ConnectCode(sqlerr.Code(text)); !ok || got != want {
			t.Errorf("%s: got %v, want %v (listed: %v)", text, got, want, ok)
		}
		return true
	})
	if n != len(rpcCodes) {
		t.Errorf("the engine has %d codes, the list above %d", n, len(rpcCodes))
	}
}

// A worker that answers every SetPlan with err.
type failing struct {
	workerv1connect.UnimplementedWorkerServiceHandler
	err func(context.Context) error
}

func (f failing) SetPlan(ctx context.Context, _ *workerv1.SetPlanRequest) (*workerv1.SetPlanResponse, error) {
	return nil, f.err(ctx)
}

func serve(t *testing.T, register func(*connect.Server)) (string, *http.Client) {
	t.Helper()
	srv := connect.NewServer()
	register(srv)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	s := httptest.NewUnstartedServer(mux)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	h2 := new(http.Protocols)
	h2.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: h2}}
	t.Cleanup(func() {
		c.CloseIdleConnections()
		s.Close()
	})
	return s.URL, c
}

var protocols = []struct {
	name   string
	option connecthttp.Option
}{
	{"gRPC", connecthttp.WithGRPC()},
	{"gRPC-Web", connecthttp.WithGRPCWeb()},
	{"Connect", nil},
}

func client(c *http.Client, url string, option connecthttp.Option) *connect.Client {
	if option == nil {
		return connect.NewClient(connecthttp.NewTransport(c, url))
	}
	return connect.NewClient(connecthttp.NewTransport(c, url, option))
}

var long = strings.Repeat("ü", 5000)

var examples = []struct {
	name string
	err  *sqlerr.Error
}{
	{"all there is", &sqlerr.Error{Code: sqlerr.DivisionByZero, Pos: sqlerr.Pos{Start: 7, End: 12}, Message: "division by zero", Hint: "guard it by NULLIF"}},
	{"no place, no hint", &sqlerr.Error{Code: sqlerr.MemoryLimit, Message: "the query needs more than 1 GiB"}},
	{"a place at the start", &sqlerr.Error{Code: sqlerr.Syntax, Pos: sqlerr.Pos{Start: 0, End: 1}, Message: "unexpected \"%\"", Hint: "100 % of it\nover two lines"}},
	{"a code that this build does not know", &sqlerr.Error{Code: "of_a_later_release", Message: "something new"}},
	{"text that is long and not ASCII", &sqlerr.Error{Code: sqlerr.InvalidText, Message: long, Hint: long}},
	{"text that is long and ASCII", &sqlerr.Error{Code: sqlerr.InvalidText, Message: strings.Repeat("x", 5000), Hint: strings.Repeat("y", 5000)}},
	{"bytes that are no text", &sqlerr.Error{Code: sqlerr.InvalidUTF8, Message: "a\xff\xfeb", Hint: "\xc3"}},
}

// Code, position, message and hint are the same after one hop, two and three.
func TestErrorsOverHops(t *testing.T) {
	for _, p := range protocols {
		for _, tc := range examples {
			t.Run(p.name+" "+tc.name, func(t *testing.T) {
				next := func(context.Context) error { return fmt.Errorf("run the task: %w", tc.err) }
				want := FromWorkerDetail(WorkerDetail(tc.err, nil, ""))
				if want.Code != tc.err.Code || want.Pos != tc.err.Pos {
					t.Fatalf("%+v became %+v", tc.err, want)
				}
				for hop := range 3 {
					inner := next
					url, c := serve(t, func(s *connect.Server) {
						workerv1connect.RegisterWorkerServiceHandler(s, failing{err: func(ctx context.Context) error { return ToWorker(inner(ctx)) }})
					})
					next = func(ctx context.Context) error {
						_, err := workerv1connect.NewWorkerServiceClient(client(c, url, p.option)).SetPlan(ctx, &workerv1.SetPlanRequest{})
						return FromWorker(ctx, url, err)
					}
					var got *sqlerr.Error
					if err := next(t.Context()); !errors.As(err, &got) {
						t.Fatalf("hop %d: got %v", hop+1, err)
					}
					if got.Code != want.Code || got.Pos != want.Pos || got.Message != want.Message || got.Hint != want.Hint {
						t.Fatalf("hop %d: got %+v, want %+v", hop+1, got, want)
					}
				}
			})
		}
	}
}

// The last hop is that to a client.
func TestErrorsOverTheAPI(t *testing.T) {
	for _, p := range protocols {
		for _, tc := range examples {
			t.Run(p.name+" "+tc.name, func(t *testing.T) {
				url, c := serve(t, func(s *connect.Server) {
					apiv1connect.RegisterVersionServiceHandler(s, version{func() error { return ToAPI(tc.err, "q-1", 42) }})
				})
				_, err := apiv1connect.NewVersionServiceClient(client(c, url, p.option)).GetVersion(t.Context(), &apiv1.GetVersionRequest{})
				got, detail, unreachable := FromAPI(err)
				if got.Code != tc.err.Code || got.Pos != tc.err.Pos || got.Message != Message(tc.err) || got.Hint != clip(tc.err.Hint, maxHint) {
					t.Errorf("got %+v, want %+v", got, tc.err)
				}
				if detail.GetQueryId() != "q-1" || detail.GetRows() != 42 || unreachable {
					t.Errorf("got detail %v, unreachable %v", detail, unreachable)
				}
			})
		}
	}
}

type version struct{ err func() error }

func (v version) GetVersion(context.Context, *apiv1.GetVersionRequest) (*apiv1.GetVersionResponse, error) {
	return nil, v.err()
}

// Whatever an error says, it takes at most 4 KiB of trailers.
func TestErrorsFitInTrailers(t *testing.T) {
	mismatched := &identityv1.Identity{
		Version: strings.Repeat("ü", 64), Protocol: 1 << 31, InstanceId: strings.Repeat("f", 32), Build: strings.Repeat("b", 128), Capabilities: strings.Repeat("c", 32),
	}
	worst := &sqlerr.Error{Code: sqlerr.Code(strings.Repeat("z", 128)), Pos: sqlerr.Pos{Start: 1 << 30, End: 1<<30 + 1}, Hint: long}
	for _, tc := range []struct {
		name string
		err  func(message string) error
	}{
		{"to another worker", func(m string) error { e := *worst; e.Message = m; return ToWorker(&e) }},
		{"to a client", func(m string) error { e := *worst; e.Message = m; return ToAPI(&e, strings.Repeat("q", 64), 1<<63) }},
		{"with task and worker", func(m string) error {
			e := *worst
			e.Message = m
			return with(connect.NewError(connect.CodeInternal, Message(&e)), WorkerDetail(&e, &workerv1.TaskRef{Stage: 1 << 31, Task: 1 << 31}, strings.Repeat("w", 500)))
		}},
		{"draining", func(string) error { return Draining(mismatched) }},
	} {
		for _, message := range []string{long, strings.Repeat("x", 5000), strings.Repeat("%", 5000), strings.Repeat("日", 5000), strings.Repeat("\n", 5000), "\xff\xff"} {
			t.Run(tc.name+" "+message[:2], func(t *testing.T) {
				url, c := serve(t, func(s *connect.Server) {
					workerv1connect.RegisterWorkerServiceHandler(s, failing{err: func(context.Context) error { return tc.err(message) }})
				})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+workerv1connect.WorkerServiceSetPlanProcedure, bytes.NewReader(make([]byte, 5)))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/grpc")
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					t.Fatal(err)
				}
				size := 0
				for k, vs := range res.Trailer {
					for _, v := range vs {
						size += len(k) + len(v)
					}
				}
				if res.Trailer.Get("Grpc-Status-Details-Bin") == "" || size > 4096 {
					t.Errorf("%d bytes of trailers: %v", size, res.Trailer)
				}
			})
		}
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"longer", 5, "lo…"},
		{"ü", 2, "ü"},
		{"üüü", 6, "üüü"},
		{"üüüü", 6, "ü…"},
		{"日日日", 8, "日…"},
		{"a\xffb", 3, "a?b"},
		{"", 0, ""},
		{"abc", 0, "…"},
	} {
		got := clip(tc.in, tc.n)
		if got != tc.want || !utf8.ValidString(got) {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.in, tc.n, got, tc.want)
		}
		if tc.n >= 3 && clip(got, tc.n) != got {
			t.Errorf("clip(%q, %d) cuts what was cut before", tc.in, tc.n)
		}
	}
}

func TestOf(t *testing.T) {
	known := sqlerr.New(sqlerr.Syntax, sqlerr.Pos{Start: 1, End: 2}, "no")
	for _, tc := range []struct {
		err  error
		want sqlerr.Code
	}{
		{fmt.Errorf("outer: %w", known), sqlerr.Syntax},
		{fmt.Errorf("outer: %w", context.Canceled), sqlerr.Canceled},
		{fmt.Errorf("outer: %w", context.DeadlineExceeded), sqlerr.Timeout},
		{errors.New("anything"), sqlerr.Internal},
	} {
		if got := Of(tc.err); got.Code != tc.want {
			t.Errorf("%v: got %s, want %s", tc.err, got.Code, tc.want)
		}
	}
}

// What a worker refuses before anything ran keeps who needs whom; what no worker of ours said means that the worker is lost.
func TestFromWorker(t *testing.T) {
	have := &identityv1.Identity{Version: "2", InstanceId: "abc"}
	for _, tc := range []struct {
		name string
		err  error
		want sqlerr.Code
		text string
	}{
		{"draining", Draining(have), sqlerr.Draining, "worker http://w is draining"},
		{"mismatch", with(connect.NewError(connect.CodeFailedPrecondition, "meant for another"), &identityv1.VersionMismatch{Have: have}), sqlerr.VersionMismatch, "http://w: meant for another"},
		{"no secret", connect.NewError(connect.CodeUnauthenticated, "401"), sqlerr.Unauthenticated, "worker http://w refused the call: 401"},
		{"forbidden", connect.NewError(connect.CodePermissionDenied, "403"), sqlerr.Unauthenticated, "worker http://w refused the call: 403"},
		{"a request it cannot read", connect.NewError(connect.CodeInvalidArgument, "bad"), sqlerr.InvalidPlan, "worker http://w: bad"},
		{"too much", connect.NewError(connect.CodeResourceExhausted, "too much"), sqlerr.TooManyQueries, "worker http://w: too much"},
		{"gone", connect.NewError(connect.CodeUnavailable, "connection refused"), sqlerr.WorkerLost, "lost worker http://w: unavailable: connection refused"},
		{"nobody listens", connect.NewError(connect.CodeUnavailable, "").WithCause(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}), sqlerr.WorkerLost, "lost worker http://w: nobody listens there"},
		{"a stream that broke off", connect.NewError(connect.CodeInvalidArgument, "protocol error: incomplete envelope: unexpected EOF").WithCause(io.ErrUnexpectedEOF), sqlerr.WorkerLost, "lost worker http://w: the connection to it broke"},
		{"no worker", connect.NewError(connect.CodeUnimplemented, "HTTP status 404 Not Found"), sqlerr.WorkerLost, "lost worker http://w: a server that is no worker listens there"},
		{"a time-out", connect.NewError(connect.CodeDeadlineExceeded, "context deadline exceeded"), sqlerr.WorkerLost, "lost worker http://w: it did not answer in time"},
		{"not connect's", io.EOF, sqlerr.WorkerLost, "lost worker http://w: the connection to it broke"},
		{"a detail of another kind", connect.NewError(connect.CodeNotFound, "gone").WithDetail(&connect.ErrorDetail{Type: "x.Y", Value: []byte{1}}), sqlerr.WorkerLost, "lost worker http://w: not_found: gone"},
		{"a detail that is none", connect.NewError(connect.CodeNotFound, "gone").WithDetail(&connect.ErrorDetail{Type: "fletch.worker.v1.ErrorDetail", Value: []byte{0xff}}), sqlerr.WorkerLost, "lost worker http://w: not_found: gone"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got *sqlerr.Error
			if err := FromWorker(t.Context(), "http://w", tc.err); !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if got.Code != tc.want || got.Message != tc.text {
				t.Errorf("got %s %q, want %s %q", got.Code, got.Message, tc.want, tc.text)
			}
		})
	}
	var mismatch *MismatchError
	if err := FromWorker(t.Context(), "u", with(connect.NewError(connect.CodeFailedPrecondition, "x"), &identityv1.VersionMismatch{Have: have})); !errors.As(err, &mismatch) || mismatch.Have.GetInstanceId() != "abc" {
		t.Errorf("the mismatch lost who answered: %v", err)
	}
	var draining *DrainingError
	if err := FromWorker(t.Context(), "u", Draining(have)); !errors.As(err, &draining) || draining.Have.GetVersion() != "2" {
		t.Errorf("the refusal lost who drains: %v", err)
	}
	if err := FromWorker(t.Context(), "u", nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if err := FromWorker(ended, "u", io.EOF); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want why the caller gave up", err)
	}
}

func TestFromAPI(t *testing.T) {
	refused := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })}
	_, err := apiv1connect.NewVersionServiceClient(client(refused, "http://nowhere", nil)).GetVersion(t.Context(), &apiv1.GetVersionRequest{})
	if e, _, unreachable := FromAPI(err); !unreachable || e.Code != sqlerr.NoWorker {
		t.Errorf("no server: got %+v, unreachable %v", e, unreachable)
	}
	for code, want := range map[connect.Code]sqlerr.Code{
		connect.CodeCanceled: sqlerr.Canceled, connect.CodeDeadlineExceeded: sqlerr.Timeout, connect.CodeUnauthenticated: sqlerr.Unauthenticated,
		connect.CodePermissionDenied: sqlerr.Unauthenticated, connect.CodeUnavailable: sqlerr.NoWorker, connect.CodeInvalidArgument: sqlerr.InvalidParameter,
		connect.CodeUnknown: sqlerr.Internal,
	} {
		if e, detail, _ := FromAPI(connect.NewError(code, "said so")); e.Code != want || e.Message != "said so" || detail != nil {
			t.Errorf("%v: got %+v, want %s", code, e, want)
		}
	}
	if e, _, _ := FromAPI(context.Canceled); e.Code != sqlerr.Canceled {
		t.Errorf("got %+v", e)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What a handler says itself goes as it is, what another server said does not.
func TestConnectErrors(t *testing.T) {
	own := connect.NewError(connect.CodeNotFound, "no such task")
	if ToWorker(own) != error(own) || ToAPI(own, "", 0) != error(own) {
		t.Error("a handler's own RPC error was changed")
	}
	if ToWorker(nil) != nil || ToAPI(nil, "", 0) != nil {
		t.Error("no error became one")
	}
}

func TestPositionsThatAreHuge(t *testing.T) {
	e := FromWorkerDetail(&workerv1.ErrorDetail{Position: &workerv1.Position{Start: 1<<32 - 1, End: 1<<32 - 1}})
	if e.Pos.Start != 1<<30 || e.Pos.End != 1<<30 {
		t.Errorf("got %+v", e.Pos)
	}
}

// The cause of an engine error is what broke on the way to somebody else: the caller is told the error, not its cause.
func TestCauseIsNotSent(t *testing.T) {
	lost := &sqlerr.Error{Code: sqlerr.WorkerLost, Message: "lost worker http://w", Err: connect.NewError(connect.CodeInternal, "read enveloped message: unexpected EOF")}
	for _, sent := range []error{ToAPI(lost, "q1", 7), ToWorker(lost)} {
		var rpc *connect.Error
		if !errors.As(sent, &rpc) || rpc.Message() != lost.Message || rpc.Code() != connect.CodeUnavailable {
			t.Errorf("sent: %v", sent)
		}
	}
	own := connect.NewError(connect.CodeNotFound, "no such task")
	if sent := ToAPI(fmt.Errorf("look: %w", own), "", 0); !errors.Is(sent, own) {
		t.Errorf("a handler's own refusal is sent as %v", sent)
	}
}
