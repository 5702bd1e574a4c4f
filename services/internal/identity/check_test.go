package identity_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/grpcreflect/v2"
	"go.uber.org/goleak"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func self() *identityv1.Identity {
	return &identityv1.Identity{Version: "grün 1", Protocol: 7, InstanceId: strings.Repeat("a", 32), Capabilities: strings.Repeat("c", 32), Build: "go:x"}
}

// A worker counts the calls that reach it, and answers Watch with two events.
type worker struct {
	workerv1connect.UnimplementedWorkerServiceHandler
	calls atomic.Int32
}

func (w *worker) WorkerInfo(context.Context, *identityv1.WorkerInfoRequest) (*identityv1.WorkerInfoResponse, error) {
	w.calls.Add(1)
	return &identityv1.WorkerInfoResponse{Version: "grün 1"}, nil
}

func (w *worker) SetPlan(context.Context, *workerv1.SetPlanRequest) (*workerv1.SetPlanResponse, error) {
	w.calls.Add(1)
	return &workerv1.SetPlanResponse{}, nil
}

func (w *worker) Watch(_ context.Context, _ *workerv1.WatchRequest, stream workerv1connect.WorkerServiceWatchServerStream) error {
	w.calls.Add(1)
	for range 2 {
		if err := stream.Send(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Opened{}}); err != nil {
			return err
		}
	}
	return nil
}

// serve starts a worker that is who, and gives its URL.
func serve(t *testing.T, w *worker, interceptors ...connect.ServerInterceptor) string {
	t.Helper()
	credentials, err := httpserve.Security{}.Load()
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpserve.Listen(httpserve.Config{Listen: "127.0.0.1:0", Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	srv := connect.NewServer(interceptors...)
	workerv1connect.RegisterWorkerServiceHandler(srv, w)
	grpcreflect.Register(srv)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, mux, time.Second) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// clients are HTTP clients of every kind.
func clients(t *testing.T) map[string]*http.Client {
	out := map[string]*http.Client{}
	for name, set := range map[string]func(*http.Protocols){"h1": func(p *http.Protocols) { p.SetHTTP1(true) }, "h2": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }} {
		p := new(http.Protocols)
		set(p)
		c := &http.Client{Transport: &http.Transport{Protocols: p}}
		t.Cleanup(c.CloseIdleConnections)
		out[name] = c
	}
	return out
}

func headers(h http.Header, id *identityv1.Identity) {
	h.Set("Fletch-Instance", id.GetInstanceId())
	h.Set("Fletch-Worker-Version", strings.ReplaceAll(strings.ReplaceAll(id.GetVersion(), " ", "%20"), "ü", "%C3%BC"))
	h.Set("Fletch-Protocol", "7")
	h.Set("Fletch-Capabilities", id.GetCapabilities())
}

// A refusal comes before the body is read: here it never comes. It carries who refuses, in headers and in the detail, whatever
// protocol the caller speaks.
func TestRefusalBeforeTheBody(t *testing.T) {
	w := &worker{}
	var refusals atomic.Int32
	url := serve(t, w, identity.Require(self(), func(string, *identityv1.Identity, []string) { refusals.Add(1) }))
	other := self()
	other.InstanceId = strings.Repeat("b", 32)
	sent := int32(0)
	for _, client := range []string{"h1", "h2"} {
		for _, contentType := range []string{"application/grpc", "application/grpc-web", "application/proto", "application/connect+proto"} {
			for _, procedure := range []string{workerv1connect.WorkerServiceSetPlanProcedure, workerv1connect.WorkerServiceExecuteTaskProcedure, workerv1connect.WorkerServiceWatchProcedure} {
				for _, who := range []string{"another instance", "nobody"} {
					unary := procedure == workerv1connect.WorkerServiceSetPlanProcedure
					if contentType == "application/grpc" && client == "h1" || unary != (contentType == "application/proto") && !strings.Contains(contentType, "grpc") {
						continue
					}
					t.Run(strings.Join([]string{client, contentType, procedure, who}, " "), func(t *testing.T) {
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
						defer cancel()
						never, unused := io.Pipe()
						defer context.AfterFunc(ctx, func() { unused.Close() })()
						defer unused.Close()
						req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+procedure, never)
						if err != nil {
							t.Fatal(err)
						}
						req.Header.Set("Content-Type", contentType)
						req.Header.Set("Connect-Protocol-Version", "1")
						if who != "nobody" {
							headers(req.Header, other)
						}
						sent++
						res, err := clients(t)[client].Do(req)
						if err != nil {
							t.Fatal(err)
						}
						defer res.Body.Close()
						said := make([]byte, 4096)
						n := 0
						for n < len(said) && !strings.Contains(string(said[:n]), "is meant for worker") && err == nil {
							var k int
							k, err = res.Body.Read(said[n:])
							n += k
						}
						text := string(said[:n])
						for k, v := range res.Trailer {
							text += k + ":" + strings.ReplaceAll(strings.Join(v, ","), "%20", " ") + "\n"
						}
						if !strings.Contains(text, "is meant for worker") {
							t.Errorf("the answer is %d %q, %v", res.StatusCode, text, err)
						}
						want := http.Header{}
						headers(want, self())
						for k := range want {
							if res.Header.Get(k) != want.Get(k) {
								t.Errorf("%s: got %q, want %q", k, res.Header.Get(k), want.Get(k))
							}
						}
					})
				}
			}
		}
	}
	if w.calls.Load() != 0 || refusals.Load() != sent {
		t.Errorf("%d calls, %d were told of as refused, %d reached the worker", sent, refusals.Load(), w.calls.Load())
	}
}

func dial(t *testing.T, url string, options []connecthttp.Option, interceptors ...connect.ClientInterceptor) workerv1connect.WorkerServiceClient {
	t.Helper()
	return workerv1connect.NewWorkerServiceClient(connect.NewClient(connecthttp.NewTransport(clients(t)["h2"], url, options...), interceptors...))
}

var protocols = []struct {
	name    string
	options []connecthttp.Option
}{
	{"gRPC", []connecthttp.Option{connecthttp.WithGRPC()}},
	{"gRPC-Web", []connecthttp.Option{connecthttp.WithGRPCWeb()}},
	{"Connect", nil},
}

func TestCallsBetweenTheRightProcesses(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			w := &worker{}
			c := dial(t, serve(t, w, identity.Require(self(), nil)), p.options, identity.Expect(self()))
			if _, err := c.SetPlan(t.Context(), &workerv1.SetPlanRequest{}); err != nil {
				t.Error(err)
			}
			stream, err := c.Watch(t.Context(), &workerv1.WatchRequest{})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for err == nil {
				if _, err = stream.Receive(); err == nil {
					n++
				}
			}
			if !errors.Is(err, io.EOF) || n != 2 || w.calls.Load() != 2 {
				t.Errorf("%d events, then %v; %d calls came", n, err, w.calls.Load())
			}
		})
	}
}

// The detail of a refusal names both sides, over every protocol.
func TestRefusalsNameBothSides(t *testing.T) {
	url := serve(t, &worker{}, identity.Require(self(), nil))
	other := self()
	other.Version, other.Protocol = "2", 8
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			_, err := dial(t, url, p.options, identity.Expect(other)).SetPlan(t.Context(), &workerv1.SetPlanRequest{})
			if connect.CodeOf(err) != connect.CodeFailedPrecondition {
				t.Fatalf("got %v", err)
			}
			var m *rpcerr.MismatchError
			if !errors.As(rpcerr.FromWorker(t.Context(), url, err), &m) || m.Need.GetVersion() != "2" || m.Need.GetProtocol() != 8 || m.Have.GetVersion() != "grün 1" || m.Have.GetProtocol() != 7 {
				t.Errorf("got %v with %+v", err, m)
			}
		})
	}
}

// WorkerInfo, health and reflection answer whoever asks; the answer says who gives it.
func TestExemptCalls(t *testing.T) {
	w := &worker{}
	url := serve(t, w, identity.Require(self(), nil))
	for _, p := range protocols {
		if res, err := dial(t, url, p.options).WorkerInfo(t.Context(), &identityv1.WorkerInfoRequest{}); err != nil || res.GetVersion() != "grün 1" {
			t.Errorf("%s: got %v, %v", p.name, res, err)
		}
	}
	for _, c := range clients(t) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+workerv1connect.WorkerServiceWorkerInfoProcedure, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		err = json.NewDecoder(res.Body).Decode(&body)
		res.Body.Close()
		if err != nil || body["version"] != "grün 1" || res.Header.Get("Fletch-Worker-Version") != "gr%C3%BCn%201" {
			t.Errorf("got %v, %v with headers %v", body, err, res.Header)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", bytes.NewReader([]byte{0, 0, 0, 0, 2, 0x3a, 0}))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	res, err := clients(t)["h2"].Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err != nil || !bytes.Contains(b, []byte("fletch.worker.v1.WorkerService")) {
		t.Errorf("reflection says %q, %v, %v", b, err, res.Trailer)
	}
}

// An answer of another process is not used, however well it looks: here by a server that checks nobody and says it is another,
// or says nothing at all.
func TestAnswersOfAnotherAreNotUsed(t *testing.T) {
	other := self()
	other.InstanceId = strings.Repeat("b", 32)
	for _, tc := range []struct {
		name string
		says connect.ServerInterceptor
	}{
		{"another instance", func(next connect.ServerFunc) connect.ServerFunc {
			return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
				info, _ := connect.CallInfoForServerContext(ctx)
				h := http.Header{}
				headers(h, other)
				for k := range h {
					info.ResponseHeader().Set(k, h.Get(k))
				}
				return next(ctx, spec, stream)
			}
		}},
		{"nobody", func(next connect.ServerFunc) connect.ServerFunc { return next }},
	} {
		for _, p := range protocols {
			t.Run(tc.name+" over "+p.name, func(t *testing.T) {
				w := &worker{}
				c := dial(t, serve(t, w, tc.says), p.options, identity.Expect(self()))
				if _, err := c.SetPlan(t.Context(), &workerv1.SetPlanRequest{}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
					t.Errorf("SetPlan: %v", err)
				}
				stream, err := c.Watch(t.Context(), &workerv1.WatchRequest{})
				if err != nil {
					t.Fatal(err)
				}
				defer stream.Close()
				for range 3 {
					if m, err := stream.Receive(); err == nil || errors.Is(err, io.EOF) {
						t.Fatalf("an event was used: %v, %v", m, err)
					}
				}
				if w.calls.Load() != 2 {
					t.Errorf("%d calls came", w.calls.Load())
				}
			})
		}
	}
}

// A worker without a version of its own is not one whose version is not said.
func TestAbsentIsNotEmpty(t *testing.T) {
	unversioned := self()
	unversioned.Version = ""
	w := &worker{}
	drop := func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			info, _ := connect.CallInfoForServerContext(ctx)
			info.RequestHeader().Delete(identity.HeaderVersion)
			return next(ctx, spec, stream)
		}
	}
	hide := func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			info, _ := connect.CallInfoForServerContext(ctx)
			info.ResponseHeader().Delete(identity.HeaderVersion)
			return next(ctx, spec, stream)
		}
	}
	require := identity.Require(unversioned, nil)
	for _, tc := range []struct {
		name   string
		server []connect.ServerInterceptor
		want   connect.Code // 0: none
		calls  int32
	}{
		{"said", []connect.ServerInterceptor{require}, 0, 1},
		{"not by the caller", []connect.ServerInterceptor{drop, require}, connect.CodeFailedPrecondition, 0},
		{"not by the worker", []connect.ServerInterceptor{require, hide}, connect.CodeFailedPrecondition, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w.calls.Store(0)
			_, err := dial(t, serve(t, w, tc.server...), protocols[0].options, identity.Expect(unversioned)).SetPlan(t.Context(), &workerv1.SetPlanRequest{})
			if (err == nil) != (tc.want == 0) || err != nil && connect.CodeOf(err) != tc.want || w.calls.Load() != tc.calls {
				t.Errorf("got %v after %d calls", err, w.calls.Load())
			}
		})
	}
}
