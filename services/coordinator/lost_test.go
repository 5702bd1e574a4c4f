package coordinator_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	workerv1 "github.com/fletchdb/fletch/gen/go/fletch/worker/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
)

// A worker that hangs before it acknowledges costs no attempt; one that hangs later costs one. Either way the rows are right and
// come in time.
func TestWorkerThatHangs(t *testing.T) {
	steady, hangs := startWorker(t, "v1"), startWorker(t, "v1")
	proxy := clustertest.NewProxy(t, hangs.URL())
	c := over(t, []string{steady.URL(), proxy.URL}, coordinator.WithSilence(500*time.Millisecond))
	for range 3 {
		proxy.Freeze()
		begin := time.Now()
		rows, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || rows != spreadRows || end.GetAttempts() != 1 || len(end.GetWorkers()) != 1 {
			t.Errorf("it hangs before: %s, %v, %v", rows, end, err)
		}
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("it hangs before: %s", took)
		}
		proxy.Thaw()
		until(t, func() bool {
			_, end, err := run(t.Context(), c, spread, client.Options{})
			return err == nil && len(end.GetWorkers()) == 2
		})
	}
	// The count takes long enough for the wire to freeze under it. If it freezes before the worker's last acknowledgement has come, that was
	// a refusal, as above.
	statement := "SELECT count(*) FROM lineitem a, nation, nation n"
	for try := range 10 {
		idle(t, steady.URL(), hangs.URL())
		attempts := make(chan uint32)
		go func() {
			rows, end, err := run(t.Context(), c, statement, client.Options{})
			if err != nil || rows != "[[37609375]]" || len(end.GetWorkers()) != 1 || end.GetAttempts() != 2 && len(end.GetRefusals()) == 0 {
				t.Errorf("it hangs during the query: %s, %v, %v", rows, end, err)
			}
			attempts <- end.GetAttempts()
		}()
		busy(t, hangs.URL())
		proxy.Freeze()
		if <-attempts == 2 {
			idle(t, steady.URL())
			return
		}
		t.Logf("try %d: it froze before the query ran", try)
		proxy.Thaw()
		until(t, func() bool {
			_, end, err := run(t.Context(), c, spread, client.Options{})
			return err == nil && len(end.GetWorkers()) == 2
		})
	}
	t.Error("it froze before the query ran every time")
}

// With no other worker to go to, a worker that hangs is an error that names it.
func TestOnlyWorkerHangs(t *testing.T) {
	w := startWorker(t, "v1")
	proxy := clustertest.NewProxy(t, w.URL())
	c := over(t, []string{proxy.URL}, coordinator.WithSilence(300*time.Millisecond), coordinator.WithAdmitWait(time.Second))
	proxy.Freeze()
	_, _, err := run(t.Context(), c, spread, client.Options{})
	if code := sqlerr.CodeOf(err); code != sqlerr.NoWorker && code != sqlerr.WorkerLost || !strings.Contains(fmt.Sprint(err), proxy.URL) {
		t.Errorf("%v (%s)", err, code)
	}
}

// liar is a worker that answers WorkerInfo as it is told, and everything else well.
type liar struct {
	workerv1connect.WorkerServiceHandler
	info *identityv1.WorkerInfoResponse
}

func (l liar) WorkerInfo(context.Context, *identityv1.WorkerInfoRequest) (*identityv1.WorkerInfoResponse, error) {
	return l.info, nil
}

func (l liar) Watch(_ context.Context, _ *workerv1.WatchRequest, s workerv1connect.WorkerServiceWatchServerStream) error {
	return s.Send(&workerv1.WatchResponse{Event: &workerv1.WatchResponse_Opened{}})
}

// What does not answer like a worker that says who it is, and is it, is never used; the table of workers says why.
func TestGarbage(t *testing.T) {
	good := startWorker(t, "v1")
	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	defer dialer.Close()
	truth, err := resolver.Info(t.Context(), dialer, good.URL())
	if err != nil {
		t.Fatal(err)
	}
	lies := func(change func(*identityv1.WorkerInfoResponse)) http.Handler {
		info := &identityv1.WorkerInfoResponse{
			Version: truth.GetVersion(), Protocol: truth.GetProtocol(), InstanceId: strings.Repeat("a", 32), Build: truth.GetBuild(),
			Capabilities: truth.GetCapabilities(), CapabilitiesDigest: truth.GetCapabilitiesDigest(), State: identityv1.WorkerState_WORKER_STATE_READY,
		}
		change(info)
		srv := connect.NewServer()
		workerv1connect.RegisterWorkerServiceHandler(srv, liar{info: info})
		mux := http.NewServeMux()
		connecthttp.Mount(mux, srv)
		return mux
	}
	unreachable, protocol, draining := apiv1.UnusedReason_UNUSED_REASON_UNREACHABLE, apiv1.UnusedReason_UNUSED_REASON_PROTOCOL, apiv1.UnusedReason_UNUSED_REASON_DRAINING
	for _, tc := range []struct {
		name   string
		answer http.Handler
		reason apiv1.UnusedReason
	}{
		{"a web page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), unreachable},
		{"an error page", http.NotFoundHandler(), unreachable},
		{"a login", http.RedirectHandler("https://example.com/", http.StatusFound), unreachable},
		{"no instance", lies(func(i *identityv1.WorkerInfoResponse) { i.InstanceId = "" }), unreachable},
		{"an instance of the wrong form", lies(func(i *identityv1.WorkerInfoResponse) { i.InstanceId = "a\nb" }), unreachable},
		{"no build", lies(func(i *identityv1.WorkerInfoResponse) { i.Build = "" }), unreachable},
		{"no protocol", lies(func(i *identityv1.WorkerInfoResponse) { i.Protocol = 0 }), unreachable},
		{"a version that is none", lies(func(i *identityv1.WorkerInfoResponse) { i.Version = strings.Repeat("v", 129) }), unreachable},
		{"another's digest", lies(func(i *identityv1.WorkerInfoResponse) { i.CapabilitiesDigest = strings.Repeat("0", 32) }), unreachable},
		{"fewer capabilities than the digest says", lies(func(i *identityv1.WorkerInfoResponse) { i.Capabilities = nil }), unreachable},
		{"the next protocol", lies(func(i *identityv1.WorkerInfoResponse) { i.Protocol++ }), protocol},
		{"no state", lies(func(i *identityv1.WorkerInfoResponse) { i.State = 0 }), draining},
		{"a state of the future", lies(func(i *identityv1.WorkerInfoResponse) { i.State = 99 }), draining},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := serve(t, tc.answer)
			c := over(t, []string{good.URL(), url})
			rows, end, err := run(t.Context(), c, spread, client.Options{})
			if err != nil || rows != spreadRows || len(end.GetWorkers()) != 1 || end.GetWorkers()[0].GetUrl() != good.URL() {
				t.Errorf("%s, %v, %v", rows, end, err)
			}
			workers, err := c.Workers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range workers {
				if w.GetUrl() == url && (w.GetReason() != tc.reason || w.GetUsed() || w.GetReasonDetail() == "") {
					t.Errorf("%v", w)
				}
			}
		})
	}
	// One that says it is v1 but does not answer as the instance that it says it is gets no plan, and costs no attempt.
	t.Run("another's name", func(t *testing.T) {
		c := over(t, []string{good.URL(), serve(t, lies(func(*identityv1.WorkerInfoResponse) {}))}, coordinator.WithSilence(time.Second))
		rows, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || rows != spreadRows || end.GetAttempts() != 1 || len(end.GetWorkers()) != 1 {
			t.Errorf("%s, %v, %v", rows, end, err)
		}
	})
}

// serve answers on a port of its own until the test ends.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	srv := &http.Server{Handler: h, Protocols: protocols, ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return "http://" + l.Addr().String()
}
