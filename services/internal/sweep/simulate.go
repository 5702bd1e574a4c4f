package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/resolver"
)

// Simulated workers have versions in turn, and while they churn one is replaced by another process every so often.
const (
	versions   = 10
	churnEvery = 50 * time.Millisecond
)

// A report is what the simulated workers saw.
type report struct {
	Asked, Least uint64
	Gap          time.Duration
	Replaced     uint64
}

// A pretender answers WorkerInfo as a worker does, and nothing else.
type pretender struct {
	workerv1connect.WorkerServiceHandler
	info identityv1.WorkerInfoResponse

	mu    sync.Mutex
	asked uint64
	last  time.Time
	gap   time.Duration
}

func (p *pretender) WorkerInfo(_ context.Context, req *identityv1.WorkerInfoRequest) (*identityv1.WorkerInfoResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.asked > 0 {
		p.gap = max(p.gap, now.Sub(p.last))
	}
	p.asked, p.last = p.asked+1, now
	m := &identityv1.WorkerInfoResponse{
		Version: p.info.Version, Protocol: p.info.Protocol, InstanceId: p.info.InstanceId, Build: p.info.Build, CapabilitiesDigest: p.info.CapabilitiesDigest,
		State: p.info.State, StartedAt: p.info.StartedAt, Slots: p.info.Slots, Load: &identityv1.Load{},
	}
	if req.GetHeldCapabilities() != m.CapabilitiesDigest {
		m.Capabilities = p.info.Capabilities
	}
	return m, nil
}

func (p *pretender) replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.info.InstanceId = identity.NewInstance()
}

// simulate serves n workers that can run what the real one at like can, until standard input ends.
func simulate(ctx context.Context, n int, like string) error {
	credentials := &httpserve.Credentials{}
	dialer := httpserve.NewDialer(credentials, "")
	real, err := resolver.Info(ctx, dialer, like)
	dialer.Close()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	var all []*pretender
	var urls []string
	for i := range n {
		p := &pretender{info: identityv1.WorkerInfoResponse{
			Version: fmt.Sprintf("sim%d", i%versions), Protocol: identity.Protocol(), InstanceId: identity.NewInstance(), Build: real.GetBuild(),
			Capabilities: real.GetCapabilities(), CapabilitiesDigest: real.GetCapabilitiesDigest(), State: identityv1.WorkerState_WORKER_STATE_READY, StartedAt: timestamppb.Now(), Slots: 2,
		}}
		s, err := httpserve.Listen(httpserve.Config{Listen: "127.0.0.1:0", Credentials: credentials})
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		srv := connect.NewServer()
		workerv1connect.RegisterWorkerServiceHandler(srv, p)
		connecthttp.Mount(mux, srv)
		wg.Go(func() { _ = s.Serve(ctx, mux, time.Second) })
		all, urls = append(all, p), append(urls, s.URL())
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(urls); err != nil {
		return err
	}
	churning := make(chan bool)
	replaced := make(chan uint64)
	wg.Go(func() { churn(ctx, all, churning, replaced) })
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var err error
		switch word := lines.Text(); {
		case word == "report":
			r := collect(all)
			r.Replaced = <-replaced
			err = out.Encode(r)
		case strings.HasPrefix(word, "churn "):
			churning <- word == "churn true"
		}
		if err != nil {
			return err
		}
	}
	return lines.Err()
}

// churn replaces one worker after the other while it is told to, and tells how many it has.
func churn(ctx context.Context, all []*pretender, on <-chan bool, replaced chan<- uint64) {
	ticker := time.NewTicker(churnEvery)
	defer ticker.Stop()
	var n uint64
	active := false
	for {
		select {
		case <-ctx.Done():
			return
		case active = <-on:
		case replaced <- n:
		case <-ticker.C:
			if active {
				all[int(n)%len(all)].replace()
				n++
			}
		}
	}
}

// collect gives what was seen since the last time, and forgets it.
func collect(all []*pretender) report {
	r := report{Least: 1 << 62}
	for _, p := range all {
		p.mu.Lock()
		r.Asked += p.asked
		r.Least = min(r.Least, p.asked)
		r.Gap = max(r.Gap, p.gap, time.Since(p.last))
		p.asked, p.gap = 0, 0
		p.mu.Unlock()
	}
	return r
}
