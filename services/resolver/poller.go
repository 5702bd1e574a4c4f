package resolver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// How workers are asked: each once per pollEvery, a little jittered so that they spread over it, none for longer than pollTimeout. At
// most wellAtOnce of those that answered last time are asked at a time, and apart from them, so that what is dead delays nobody, at
// most sickAtOnce of the others. These are asked again sooner at first: retryFirst after the first failure, then twice as long each
// time.
const (
	pollEvery   = time.Second
	pollTimeout = 2 * time.Second
	wellAtOnce  = 64
	sickAtOnce  = 256
	retryFirst  = 100 * time.Millisecond
	tick        = 10 * time.Millisecond // asks that are due closer to each other begin together
)

// maxAbilities is how many workers' capabilities are kept for others that have the same.
const maxAbilities = 64

// A Worker is an address that the resolver names and who was there when it was last asked. It is a value: nobody changes it.
type Worker struct {
	URL      string
	Identity *identityv1.Identity           // nil: never answered
	Info     *identityv1.WorkerInfoResponse // nil: never answered
	Seen     time.Time                      // when it last answered, by the monotonic clock; zero: never
	Err      error                          // why it does not answer now; nil: it does, or was not asked yet
	Refusals uint64                         // calls that it refused since the address is known, as its caller told Refused
	Refusal  string                         // what it said when it last refused; "": it never did
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

	wake  chan struct{} // something is due sooner than it was
	asks  sync.WaitGroup
	swept chan struct{} // closed when each worker of the first list has answered or not

	mu         sync.Mutex
	err        error // of the resolver
	places     map[string]*place
	urls       []string // of places, ascending
	first      int      // places of the first list that were not asked yet; -1: there was no list yet
	well, sick int      // asks on their way
	changed    chan struct{}
	abilities  map[string]*identityv1.Capabilities // by digest, so that workers that can run the same share one
}

// A place is an address and what is known of it.
type place struct {
	worker   Worker
	client   workerv1connect.WorkerServiceClient
	due      time.Time // when it is asked next
	failures int       // since it last answered
	asked    bool      // whether any ask has ended
	asking   bool
	early    bool // the answer on its way was asked for too early to count
	awaited  bool // the first sweep is not over without it
}

// NewPoller makes a poller; Run makes it ask.
func NewPoller(r Resolver, d *httpserve.Dialer, log *slog.Logger) *Poller {
	return &Poller{
		resolver: r, dialer: d, log: log, wake: make(chan struct{}, 1), swept: make(chan struct{}), first: -1, places: map[string]*place{}, changed: make(chan struct{}),
	}
}

// Run asks until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	defer p.asks.Wait()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { p.resolve(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
		timer.Reset(max(tick, time.Until(p.askDue(ctx, time.Now()))))
	}
}

// resolve looks where workers are, again and again.
func (p *Poller) resolve(ctx context.Context) {
	for {
		bounded, cancel := context.WithTimeout(ctx, pollTimeout)
		urls, err := p.resolver.Resolve(bounded)
		cancel()
		if ctx.Err() == nil {
			p.named(urls, err)
		}
		pause := time.NewTimer(jittered(pollEvery))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

func jittered(d time.Duration) time.Duration { return d - d/10 + rand.N(d/5) }

// named takes a list of the resolver's.
func (p *Poller) named(urls []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && (p.err == nil || p.err.Error() != err.Error()) {
		p.log.Warn("cannot resolve workers; keeping those known", "error", err)
	}
	if (err == nil) != (p.err == nil) {
		p.announce()
	}
	p.err = err
	begins := p.first < 0
	p.first = max(0, p.first)
	if err == nil {
		p.keep(urls, begins)
	}
	if begins {
		p.sweep(0)
	}
}

// keep makes places of exactly those urls. p.mu is held.
func (p *Poller) keep(urls []string, begins bool) {
	named := make(map[string]bool, len(urls))
	moved := false
	for _, url := range urls {
		named[url] = true
		if p.places[url] == nil {
			p.places[url] = &place{
				worker: Worker{URL: url}, client: workerv1connect.NewWorkerServiceClient(pull.Client(p.dialer, url, nil)), awaited: begins,
			}
			moved = true
			if begins {
				p.first++
			}
		}
	}
	for url, at := range p.places {
		if !named[url] {
			p.log.Info("worker gone from the resolver", "url", url)
			delete(p.places, url)
			moved = true
			p.sweep(at.counts())
		}
	}
	if !moved {
		return
	}
	p.urls = make([]string, 0, len(p.places))
	for url := range p.places {
		p.urls = append(p.urls, url)
	}
	slices.Sort(p.urls)
	p.announce()
	p.hurry()
}

// counts is 1 once for a place that the first sweep waits for.
func (a *place) counts() int {
	if !a.awaited {
		return 0
	}
	a.awaited = false
	return 1
}

// sweep notes that n places fewer are left of the first list. p.mu is held.
func (p *Poller) sweep(n int) {
	p.first -= n
	if p.first == 0 && !p.Swept() {
		close(p.swept)
	}
}

// Swept tells whether each worker of the first list has answered or not.
func (p *Poller) Swept() bool {
	select {
	case <-p.swept:
		return true
	default:
		return false
	}
}

// hurry makes Run look what is due.
func (p *Poller) hurry() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// announce wakes those who wait for a change. p.mu is held.
func (p *Poller) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
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
	out := make([]Worker, len(p.urls))
	for i, url := range p.urls {
		out[i] = p.places[url].worker
	}
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
	defer p.mu.Unlock()
	at := p.places[url]
	if at == nil {
		return
	}
	at.due = time.Time{}
	if w := &at.worker; w.Identity.GetInstanceId() == instance && w.Err == nil {
		w.Err = err
		at.early = at.asking
		p.announce()
	}
	p.hurry()
}

// Refused notes that a worker refused a call, with what it said.
func (p *Poller) Refused(url, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.places[url]; at != nil {
		at.worker.Refusals++
		at.worker.Refusal = what
	}
}

// askDue begins to ask those that are due, and tells when the next one is.
func (p *Poller) askDue(ctx context.Context, now time.Time) (next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = now.Add(pollEvery)
	for _, at := range p.places {
		if at.asking {
			continue
		}
		if at.due.After(now) {
			if at.due.Before(next) {
				next = at.due
			}
			continue
		}
		running, limit := &p.sick, sickAtOnce
		if at.asked && at.failures == 0 {
			running, limit = &p.well, wellAtOnce
		}
		if *running >= limit {
			next = now
			continue
		}
		*running++
		at.asking = true
		p.asks.Go(func() { p.ask(ctx, at, running) })
	}
	return next
}

// ask asks a worker until an answer counts.
func (p *Poller) ask(ctx context.Context, at *place, running *int) {
	for {
		p.mu.Lock()
		before := at.worker
		p.mu.Unlock()
		began := time.Now()
		info, err := at.info(ctx, before)
		p.mu.Lock()
		again := at.early && ctx.Err() == nil
		at.early = false
		if !again {
			*running--
			at.asking = false
			if ctx.Err() == nil && p.places[before.URL] == at {
				p.take(at, began, info, err)
			}
		}
		p.mu.Unlock()
		if !again {
			return
		}
	}
}

// info asks who is there. What an instance can run never changes, so it tells that once.
func (a *place) info(ctx context.Context, before Worker) (*identityv1.WorkerInfoResponse, error) {
	info, err := ask(ctx, a.client, before.URL, before.Info.GetCapabilitiesDigest())
	if err == nil && info.GetCapabilities() == nil && before.Info != nil {
		if info.GetInstanceId() == before.Info.GetInstanceId() && info.GetCapabilitiesDigest() == before.Info.GetCapabilitiesDigest() {
			info.Capabilities = before.Info.GetCapabilities()
			return info, checkNames(info)
		}
		info, err = ask(ctx, a.client, before.URL, "")
	}
	if err == nil {
		err = checkInfo(info)
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

// share gives all workers that can run the same one copy of what that is: it is most of what is known of them. p.mu is held.
func (p *Poller) share(info *identityv1.WorkerInfoResponse) {
	digest := info.GetCapabilitiesDigest()
	if known := p.abilities[digest]; known != nil && info.GetProtocol() == identity.Protocol() {
		info.Capabilities = known
		return
	}
	if len(p.abilities) >= maxAbilities || p.abilities == nil {
		p.abilities = map[string]*identityv1.Capabilities{}
	}
	if info.GetProtocol() == identity.Protocol() { // of others the digest was not compared
		p.abilities[digest] = info.GetCapabilities()
	}
}

// take notes what a worker answered that was asked at a time. p.mu is held.
func (p *Poller) take(at *place, began time.Time, info *identityv1.WorkerInfoResponse, err error) {
	old, asked := at.worker, at.asked
	w := &at.worker
	w.Err = err
	at.asked = true
	p.sweep(at.counts())
	pause := jittered(pollEvery)
	if err != nil {
		pause = jittered(min(pollEvery, retryFirst<<min(at.failures, 8)))
		at.failures++
	} else {
		if !asked {
			pause = rand.N(pollEvery) // workers that came together are asked apart from now on
		}
		at.failures = 0
		p.share(info)
		w.Info, w.Seen = info, time.Now()
		if !isOf(old.Identity, info) {
			w.Identity = &identityv1.Identity{
				Version: info.GetVersion(), Protocol: info.GetProtocol(), InstanceId: info.GetInstanceId(), Build: info.GetBuild(), Capabilities: info.GetCapabilitiesDigest(),
			}
		}
	}
	at.due = began.Add(pause)
	switch {
	case err != nil && (!asked || old.Err == nil):
		p.log.Warn("worker does not answer", "url", w.URL, "error", err)
	case err == nil && old.Identity != w.Identity:
		p.log.Info("worker", "url", w.URL, "identity", identity.Describe(w.Identity))
	case err == nil && old.Err != nil:
		p.log.Info("worker answers again", "url", w.URL)
	}
	if !asked || (old.Err == nil) != (w.Err == nil) || old.Identity != w.Identity || old.Info.GetState() != w.Info.GetState() {
		p.announce()
	}
	if pause < pollEvery/2 {
		p.hurry()
	}
}

// isOf tells whether an identity is all that a worker says of itself.
func isOf(id *identityv1.Identity, info *identityv1.WorkerInfoResponse) bool {
	return id.GetInstanceId() == info.GetInstanceId() && id.GetVersion() == info.GetVersion() && id.GetProtocol() == info.GetProtocol() &&
		id.GetBuild() == info.GetBuild() && id.GetCapabilities() == info.GetCapabilitiesDigest()
}

// Info asks the worker at url who it is, for at most two seconds.
func Info(ctx context.Context, d *httpserve.Dialer, url string) (*identityv1.WorkerInfoResponse, error) {
	info, err := ask(ctx, workerv1connect.NewWorkerServiceClient(pull.Client(d, url, nil)), url, "")
	if err == nil {
		err = checkInfo(info)
	}
	if err != nil {
		return nil, err
	}
	return info, nil
}

func ask(ctx context.Context, c workerv1connect.WorkerServiceClient, url, held string) (*identityv1.WorkerInfoResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	info, err := c.WorkerInfo(bounded, &identityv1.WorkerInfoRequest{HeldCapabilities: held})
	if err != nil {
		told := rpcerr.FromWorker(context.WithoutCancel(ctx), url, err)
		if sqlerr.CodeOf(told) == sqlerr.WorkerLost { // it may never have been there
			told = &sqlerr.Error{Code: sqlerr.WorkerLost, Message: "no answer: " + rpcerr.Happened(err), Err: err}
		}
		return nil, told
	}
	return info, nil
}

// digits is an instance id or a digest.
var digits = regexp.MustCompile(`^[0-9a-f]{32}$`)

// checkInfo refuses what a worker may not say of itself: its version and digest end up in headers and logs, and a digest that
// is not that of the capabilities would put it into a cohort it does not belong to.
func checkInfo(info *identityv1.WorkerInfoResponse) error {
	if err := checkNames(info); err != nil {
		return err
	}
	if info.GetProtocol() == identity.Protocol() && info.GetCapabilitiesDigest() != identity.Digest(info.GetCapabilities()) {
		return errors.New("the worker's capability digest is not that of its capabilities")
	}
	return nil
}

func checkNames(info *identityv1.WorkerInfoResponse) error {
	switch {
	case identity.CheckVersion(info.GetVersion()) != nil:
		return fmt.Errorf("the worker says it has version %q: %w", info.GetVersion(), identity.CheckVersion(info.GetVersion()))
	case info.GetProtocol() == 0 || !digits.MatchString(info.GetInstanceId()) || !digits.MatchString(info.GetCapabilitiesDigest()) || info.GetBuild() == "" || len(info.GetBuild()) > 128:
		return errors.New("the worker does not say who it is")
	}
	return nil
}
