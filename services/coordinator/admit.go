package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/rollout"
)

// A cohort is workers that may serve one attempt together.
type cohort struct {
	key     rollout.Key
	workers []resolver.Worker // that are ready, ascending by URL, at least one
}

func keyOf(id *identityv1.Identity) rollout.Key {
	k := rollout.Key{Version: id.GetVersion(), Protocol: id.GetProtocol(), Capabilities: id.GetCapabilities()}
	if k.Version == "" {
		k.Build = id.GetBuild()
	}
	return k
}

// A view is what the poller saw last, by cohort. It is a value: nobody changes it.
type view struct {
	of      <-chan struct{} // closed once it is no longer the last
	whole   bool            // each worker of the first list has answered or not
	workers []resolver.Worker
	err     error                   // of the resolver
	ready   map[rollout.Key]*cohort // those with a ready worker
	cohorts []rollout.Cohort        // all, whatever their workers' state, the largest first
}

// look gives the last view. It waits for the first sweep, at most until ctx ends.
func (c *Coordinator) look(ctx context.Context) *view {
	changed := c.poller.Changed()
	if v := c.seen.Load(); v != nil && v.of == changed {
		return v
	}
	workers, err := c.poller.Workers(ctx)
	whole := c.poller.Swept()
	v := grouped(workers)
	v.of, v.err, v.whole = changed, err, whole
	if whole {
		c.seen.Store(v)
	}
	return v
}

// grouped puts workers that have said who they are into cohorts.
func grouped(workers []resolver.Worker) *view {
	v := &view{workers: workers, ready: map[rollout.Key]*cohort{}}
	at := map[rollout.Key]int{}
	for _, w := range workers {
		if w.Identity == nil {
			continue
		}
		k := keyOf(w.Identity)
		i, ok := at[k]
		if !ok {
			i = len(v.cohorts)
			at[k] = i
			v.cohorts = append(v.cohorts, rollout.Cohort{Key: k, BuildOfAll: w.Identity.GetBuild()})
		}
		g := &v.cohorts[i]
		g.Workers++
		if g.BuildOfAll != w.Identity.GetBuild() {
			g.BuildOfAll = ""
		}
		if !w.Ready() {
			continue
		}
		g.Ready++
		g.Slots += int(w.Info.GetSlots())
		if v.ready[k] == nil {
			v.ready[k] = &cohort{key: k}
		}
		v.ready[k].workers = append(v.ready[k].workers, w)
	}
	slices.SortFunc(v.cohorts, rollout.Larger)
	return v
}

// A wish is what a query asks of its next attempt's cohort. The zero wish is the coordinator's policy.
type wish struct {
	version string             // of the workers; empty: the policy's
	ramped  bool               // it is of the share that a ramp takes
	cohort  *rollout.Key       // of the attempt before, which is kept while there is a worker of it
	avoid   map[string]bool    // addresses where a worker failed the query; they are used again only where there is no other
	fits    func(*cohort) bool // whether a cohort can run the query; nil: any can
}

// pick gives the cohort to use for a wish; nil: there is none.
func (c *Coordinator) pick(v *view, w wish) *cohort {
	choice, s := c.steering.decide(v)
	ready := v.ready
	if len(w.avoid) > 0 {
		ready = without(v.ready, w.avoid)
	}
	if w.cohort != nil && w.suits(ready[*w.cohort]) {
		return ready[*w.cohort]
	}
	allows := s.Allows
	if w.version != "" {
		allows = func(c rollout.Cohort) bool { return c.Protocol == s.Protocol && c.Version == w.version }
	}
	first := choice.For(w.ramped)
	if w.suits(ready[first]) && (w.version == "" || first.Version == w.version) {
		return ready[first]
	}
	for _, g := range v.cohorts {
		if r := ready[g.Key]; allows(g) && w.suits(r) {
			return r
		}
	}
	if len(w.avoid) > 0 {
		w.avoid = nil
		return c.pick(v, w)
	}
	return nil
}

// suits tells whether there is such a cohort, and it can run the query.
func (w wish) suits(k *cohort) bool { return k != nil && (w.fits == nil || w.fits(k)) }

// without is the cohorts that are left without some addresses.
func without(ready map[rollout.Key]*cohort, avoid map[string]bool) map[rollout.Key]*cohort {
	out := map[rollout.Key]*cohort{}
	for k, g := range ready {
		rest := slices.DeleteFunc(slices.Clone(g.workers), func(w resolver.Worker) bool { return avoid[w.URL] })
		if len(rest) > 0 {
			out[k] = &cohort{k, rest}
		}
	}
	return out
}

// admit gives the cohort for an attempt, waiting a little for one to appear.
func (c *Coordinator) admit(ctx context.Context, w wish) (*cohort, error) {
	limit := time.NewTimer(c.limits.admit)
	defer limit.Stop()
	for {
		steered := c.steering.changed()
		v := c.look(ctx)
		if best := c.pick(v, w); best != nil {
			return best, nil
		}
		select {
		case <-v.of:
			continue
		case <-steered:
			continue
		case <-ctx.Done():
		case <-limit.C:
		}
		return nil, c.noWorker(v, w.version)
	}
}

func (c *Coordinator) noWorker(v *view, version string) error {
	choice, s := c.steering.decide(v)
	what := "no usable worker"
	if version = cmp.Or(version, s.Policy.Version); version != "" {
		what = fmt.Sprintf("no usable worker of version %q", version)
	}
	e := sqlerr.New(sqlerr.NoWorker, sqlerr.Pos{}, what)
	switch {
	case v.err != nil:
		e.Message += ": " + v.err.Error()
	case len(v.workers) == 0:
		e.Message += ": none is known"
		_ = e.WithHint("start one with fletch worker, and name it with --workers")
	default:
		var parts []string
		for _, w := range v.workers[:min(3, len(v.workers))] {
			_, reason := unused(w, v, choice, s, version)
			parts = append(parts, w.URL+": "+reason)
		}
		if more := len(v.workers) - len(parts); more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		e.Message += ": " + strings.Join(parts, "; ")
		_ = e.WithHint("fletch workers --connect URL shows all")
	}
	return e
}

// unused tells why a query admitted now would not run on w. version is one that was asked for, empty if none was.
func unused(w resolver.Worker, v *view, choice rollout.Choice, s rollout.Situation, version string) (apiv1.UnusedReason, string) {
	base := v.ready[choice.Base]
	switch {
	case w.Err != nil && sqlerr.CodeOf(w.Err) == sqlerr.Unauthenticated:
		return apiv1.UnusedReason_UNUSED_REASON_REFUSED, w.Err.Error()
	case w.Err != nil && sqlerr.CodeOf(w.Err) == sqlerr.VersionMismatch:
		return apiv1.UnusedReason_UNUSED_REASON_REPLACED, w.Err.Error()
	case w.Err != nil:
		return apiv1.UnusedReason_UNUSED_REASON_UNREACHABLE, w.Err.Error()
	case w.Identity == nil:
		return apiv1.UnusedReason_UNUSED_REASON_NOT_ASKED, "it was not asked yet who it is"
	case w.Identity.GetProtocol() != identity.Protocol():
		return apiv1.UnusedReason_UNUSED_REASON_PROTOCOL, fmt.Sprintf("it speaks protocol %d, this coordinator speaks %d", w.Identity.GetProtocol(), identity.Protocol())
	case !w.Ready():
		return apiv1.UnusedReason_UNUSED_REASON_DRAINING, "it is draining"
	}
	key := keyOf(w.Identity)
	if version == "" && (key == choice.Base || key == choice.Ramp) {
		return apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED, ""
	}
	wants := func(what string) (apiv1.UnusedReason, string) {
		return apiv1.UnusedReason_UNUSED_REASON_VERSION, fmt.Sprintf("its version is %q, queries run on %s", w.Identity.GetVersion(), what)
	}
	switch {
	case version != "" && key.Version != version:
		return wants(fmt.Sprintf("%q", version))
	case version != "":
		return apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED, ""
	case s.Policy.Mode == rollout.Pin && key.Version != s.Policy.Version:
		return wants(fmt.Sprintf("%q", s.Policy.Version))
	case s.Policy.Mode == rollout.Match && key.Version != s.Version:
		return wants(fmt.Sprintf("this coordinator's own, %q", s.Version))
	case base != nil && key != choice.Rising:
		return apiv1.UnusedReason_UNUSED_REASON_COHORT, fmt.Sprintf("its cohort is not larger than that of version %q with %d workers", base.key.Version, len(base.workers))
	}
	return apiv1.UnusedReason_UNUSED_REASON_COHORT, choice.Reason
}

// wantedVersion is the version of workers that a call's header names; empty: none.
func wantedVersion(ctx context.Context) (string, error) {
	info, ok := connect.CallInfoForServerContext(ctx)
	if !ok {
		return "", nil
	}
	v, err := url.PathUnescape(info.RequestHeader().Get(identity.HeaderWantVersion))
	if err == nil {
		err = identity.CheckVersion(v)
	}
	if err != nil {
		return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "the header fletch-want-version holds no version: %.100s", err).WithHint("it is percent-encoded UTF-8 of at most 128 bytes")
	}
	return v, nil
}
