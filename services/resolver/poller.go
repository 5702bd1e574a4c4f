package resolver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// How workers are asked: each once per pollEvery, a little jittered, no more than pollAtOnce at a time, none for longer than
// pollTimeout.
const (
	pollEvery   = time.Second
	pollTimeout = 2 * time.Second
	pollAtOnce  = 64
)

// A Worker is an address that the resolver names and who was there when it was last asked. It is a value: nobody changes it.
type Worker struct {
	URL      string
	Identity *identityv1.Identity           // nil: never answered
	Info     *identityv1.WorkerInfoResponse // nil: never answered
	Seen     time.Time                      // when it last answered, by the monotonic clock; zero: never
	Err      error                          // why it does not answer now; nil: it does
}

// Ready tells whether the worker answers and takes new attempts.
func (w Worker) Ready() bool {
	return w.Err == nil && w.Info.GetState() == identityv1.WorkerState_WORKER_STATE_READY
}

// A Poller asks every worker who it is, for as long as it is there. One that hangs holds up nobody but itself.
type Poller struct {
	resolver Resolver
	dialer   *httpserve.Dialer
	log      *slog.Logger

	again chan struct{} // asks before the next turn
	slots chan struct{}
	asks  sync.WaitGroup
	swept chan struct{} // closed when each worker of the first list has answered or not

	mu      sync.Mutex
	urls    []string
	err     error             // of the resolver
	workers map[string]Worker // those of urls that were asked
	asking  map[string]bool   // calls on their way; true: their answers came too early to count
	changed chan struct{}     // closed and made anew when anything changes
}

// NewPoller makes a poller; Run makes it ask.
func NewPoller(r Resolver, d *httpserve.Dialer, log *slog.Logger) *Poller {
	return &Poller{
		resolver: r, dialer: d, log: log, again: make(chan struct{}, 1), slots: make(chan struct{}, pollAtOnce), swept: make(chan struct{}),
		workers: map[string]Worker{}, asking: map[string]bool{}, changed: make(chan struct{}),
	}
}

// Run asks until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	defer p.asks.Wait()
	p.turn(ctx)
	p.asks.Wait()
	close(p.swept)
	for {
		pause := time.NewTimer(pollEvery - pollEvery/10 + rand.N(pollEvery/5))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-p.again:
			pause.Stop()
		case <-pause.C:
		}
		p.turn(ctx)
	}
}

// Workers is the last view, ascending by URL, and why the resolver gave no newer list, if it did not. It waits for the first
// sweep, at most until ctx ends.
func (p *Poller) Workers(ctx context.Context) ([]Worker, error) {
	select {
	case <-p.swept:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Worker, 0, len(p.workers))
	for _, w := range p.workers {
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Worker) int { return strings.Compare(a.URL, b.URL) })
	return out, p.err
}

// Changed is closed when the view next changes.
func (p *Poller) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Suspect says that a call to a worker failed as err tells: until it answers a poll again, it counts as not answering. If it
// was another process than the one named, it was replaced already and nothing is said of the new one.
func (p *Poller) Suspect(url, instance string, err error) {
	p.mu.Lock()
	w, ok := p.workers[url]
	if ok && w.Identity.GetInstanceId() == instance && w.Err == nil {
		w.Err = err
		p.set(w)
		if _, asking := p.asking[url]; asking {
			p.asking[url] = true
		}
	}
	p.mu.Unlock()
	select {
	case p.again <- struct{}{}:
	default:
	}
}

// set keeps w and wakes those who wait for a change. p.mu is held.
func (p *Poller) set(w Worker) {
	p.workers[w.URL] = w
	close(p.changed)
	p.changed = make(chan struct{})
}

// turn looks where workers are and begins to ask each that is not being asked.
func (p *Poller) turn(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, pollTimeout)
	urls, err := p.resolver.Resolve(bounded)
	cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.urls = slices.Clone(urls)
	} else if ctx.Err() == nil && (p.err == nil || p.err.Error() != err.Error()) {
		p.log.Warn("cannot resolve workers; keeping those known", "error", err)
	}
	p.err = err
	for url := range p.workers {
		if !slices.Contains(p.urls, url) {
			p.log.Info("worker gone from the resolver", "url", url)
			delete(p.workers, url)
			close(p.changed)
			p.changed = make(chan struct{})
		}
	}
	for _, url := range p.urls {
		if _, asking := p.asking[url]; !asking {
			p.asking[url] = false
			p.asks.Go(func() { p.ask(ctx, url) })
		}
	}
}

// ask asks a worker until an answer counts.
func (p *Poller) ask(ctx context.Context, url string) {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	for {
		info, err := Info(ctx, p.dialer, url)
		p.mu.Lock()
		early := p.asking[url] && ctx.Err() == nil
		if early {
			p.asking[url] = false
		} else {
			delete(p.asking, url)
			if ctx.Err() == nil && slices.Contains(p.urls, url) {
				p.take(url, info, err)
			}
		}
		p.mu.Unlock()
		if !early {
			return
		}
	}
}

// take notes what a worker answered. p.mu is held.
func (p *Poller) take(url string, info *identityv1.WorkerInfoResponse, err error) {
	old, known := p.workers[url]
	w := old
	w.URL, w.Err = url, err
	if err == nil {
		w.Info, w.Seen = info, time.Now()
		w.Identity = &identityv1.Identity{
			Version: info.GetVersion(), Protocol: info.GetProtocol(), InstanceId: info.GetInstanceId(), Build: info.GetBuild(), Capabilities: info.GetCapabilitiesDigest(),
		}
	}
	switch {
	case err != nil && (!known || old.Err == nil):
		p.log.Warn("worker does not answer", "url", url, "error", err)
	case err == nil && (!known || old.Identity.GetInstanceId() != w.Identity.GetInstanceId()):
		p.log.Info("worker", "url", url, "identity", identity.Describe(w.Identity))
	case err == nil && old.Err != nil:
		p.log.Info("worker answers again", "url", url)
	}
	same := known && (old.Err == nil) == (w.Err == nil) && old.Identity.GetInstanceId() == w.Identity.GetInstanceId() && old.Info.GetState() == w.Info.GetState()
	if same {
		p.workers[url] = w
		return
	}
	p.set(w)
}

// Info asks the worker at url who it is, for at most two seconds.
func Info(ctx context.Context, d *httpserve.Dialer, url string) (*identityv1.WorkerInfoResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	info, err := workerv1connect.NewWorkerServiceClient(pull.Client(d, url, nil)).WorkerInfo(ctx, &identityv1.WorkerInfoRequest{})
	if err != nil {
		return nil, rpcerr.FromWorker(context.WithoutCancel(ctx), url, err)
	}
	if err := checkInfo(info); err != nil {
		return nil, err
	}
	return info, nil
}

// digits is an instance id or a digest.
var digits = regexp.MustCompile(`^[0-9a-f]{32}$`)

// checkInfo refuses what a worker may not say of itself: its version and digest end up in headers and logs, and a digest that
// is not that of the capabilities would put it into a cohort it does not belong to.
func checkInfo(info *identityv1.WorkerInfoResponse) error {
	switch {
	case identity.CheckVersion(info.GetVersion()) != nil:
		return fmt.Errorf("the worker says it has version %q: %w", info.GetVersion(), identity.CheckVersion(info.GetVersion()))
	case info.GetProtocol() == 0 || !digits.MatchString(info.GetInstanceId()) || !digits.MatchString(info.GetCapabilitiesDigest()) || info.GetBuild() == "" || len(info.GetBuild()) > 128:
		return errors.New("the worker does not say who it is")
	case info.GetProtocol() == identity.Protocol() && info.GetCapabilitiesDigest() != identity.Digest(info.GetCapabilities()):
		return errors.New("the worker's capability digest is not that of its capabilities")
	}
	return nil
}
