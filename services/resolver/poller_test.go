package resolver_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/proto"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
)

// terse is a worker that leaves out what its caller holds, and counts how often it was asked for everything.
type terse struct {
	workerv1connect.WorkerServiceHandler

	mu    sync.Mutex
	info  *identityv1.WorkerInfoResponse
	held  []string // of the requests
	never bool     // says never what it can run
}

func (s *terse) WorkerInfo(_ context.Context, req *identityv1.WorkerInfoRequest) (*identityv1.WorkerInfoResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, req.GetHeldCapabilities())
	m := proto.CloneOf(s.info)
	if s.never || req.GetHeldCapabilities() == m.GetCapabilitiesDigest() {
		m.Capabilities = nil
	}
	return m, nil
}

func (s *terse) serve(t *testing.T) string {
	t.Helper()
	srv := connect.NewServer()
	workerv1connect.RegisterWorkerServiceHandler(srv, s)
	mux := http.NewServeMux()
	connecthttp.Mount(mux, srv)
	h := httptest.NewUnstartedServer(mux)
	h.Config.Protocols = new(http.Protocols)
	h.Config.Protocols.SetUnencryptedHTTP2(true)
	h.Start()
	t.Cleanup(h.Close)
	return h.URL
}

// An instance says once what it can run. One that takes its place is another, whatever it leaves out.
func TestWhatIsHeld(t *testing.T) {
	dialer := httpserve.NewDialer(&httpserve.Credentials{}, "")
	defer dialer.Close()
	truth, err := resolver.Info(t.Context(), dialer, clustertest.Worker(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	once, never := &terse{info: truth}, &terse{info: truth, never: true}
	urls := resolver.Static{once.serve(t), never.serve(t)}
	p := resolver.NewPoller(urls, dialer, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	defer wg.Wait()
	defer stop()
	at := func(url string) resolver.Worker {
		workers, _ := p.Workers(t.Context())
		for _, w := range workers {
			if w.URL == url {
				return w
			}
		}
		return resolver.Worker{}
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		limit := time.After(10 * time.Second)
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for !ok() {
			select {
			case <-again.C:
			case <-limit:
				t.Fatalf("waited in vain until %s: %+v", what, at(urls[0]))
			}
		}
	}
	asked := func() (full, short int) {
		once.mu.Lock()
		defer once.mu.Unlock()
		for _, h := range once.held {
			if h == "" {
				full++
			} else {
				short++
			}
		}
		return full, short
	}
	until("it was asked twice in short", func() bool { _, short := asked(); return short >= 2 })
	if full, _ := asked(); full != 1 {
		t.Errorf("asked %d times what it can run", full)
	}
	if w := at(urls[0]); !w.Ready() || len(w.Info.GetCapabilities().GetFunctions()) == 0 {
		t.Errorf("after an answer in short: %v", w.Info)
	}
	if w := at(urls[1]); w.Ready() || !strings.Contains(w.Err.Error(), "digest") {
		t.Errorf("one that never says what it can run: %+v", w)
	}
	once.mu.Lock()
	once.info = proto.CloneOf(truth)
	once.info.InstanceId, once.info.Version = strings.Repeat("b", 32), "v2"
	once.mu.Unlock()
	until("another took its place", func() bool { return at(urls[0]).Identity.GetVersion() == "v2" })
	if full, _ := asked(); full != 2 {
		t.Errorf("asked %d times what they can run", full)
	}
	if w := at(urls[0]); w.Identity.GetInstanceId() != strings.Repeat("b", 32) || !w.Ready() || len(w.Info.GetCapabilities().GetFunctions()) == 0 {
		t.Errorf("it is %+v", w)
	}
}
