package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/resolver"
)

// A cohort is workers that may serve one attempt together: equal user version (or build, where that is empty), protocol and
// capability digest.
type cohort struct {
	key     cohortKey
	workers []resolver.Worker // ascending by URL, at least one
}

type cohortKey struct {
	version, build string // build only where version is empty
	protocol       uint32
	capabilities   string
}

func keyOf(id *identityv1.Identity) cohortKey {
	k := cohortKey{version: id.GetVersion(), protocol: id.GetProtocol(), capabilities: id.GetCapabilities()}
	if k.version == "" {
		k.build = id.GetBuild()
	}
	return k
}

func (k cohortKey) message() *apiv1.Cohort {
	return &apiv1.Cohort{Version: k.version, Protocol: k.protocol, Capabilities: k.capabilities, Build: k.build}
}

// A wish is what a query asks of its next attempt's cohort. The zero wish is the coordinator's policy.
type wish struct {
	version string             // of the workers; empty: any
	cohort  *cohortKey         // of the attempt before, which is kept while there is a worker of it
	avoid   map[string]bool    // addresses where a worker failed the query; they are used again only where there is no other
	fits    func(*cohort) bool // whether a cohort can run the query; nil: any can
}

// choose groups the ready workers of this build's protocol and gives the cohort to use: of the version that was asked for,
// of those that fit, and of those the largest; of equal ones the first by key, so that every coordinator chooses alike. nil: there is
// none.
func choose(workers []resolver.Worker, w wish) *cohort {
	groups := map[cohortKey]*cohort{}
	avoided := false
	for _, worker := range workers {
		if !worker.Ready() || worker.Identity.GetProtocol() != identity.Protocol() || w.version != "" && worker.Identity.GetVersion() != w.version {
			continue
		}
		if w.avoid[worker.URL] {
			avoided = true
			continue
		}
		k := keyOf(worker.Identity)
		if groups[k] == nil {
			groups[k] = &cohort{key: k}
		}
		groups[k].workers = append(groups[k].workers, worker)
	}
	if w.cohort != nil && groups[*w.cohort] != nil && w.suits(groups[*w.cohort]) {
		return groups[*w.cohort]
	}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *cohort) int {
		return cmp.Or(len(b.workers)-len(a.workers), a.key.compare(b.key))
	}) {
		if w.suits(g) {
			return g
		}
	}
	if avoided {
		w.avoid = nil
		return choose(workers, w)
	}
	return nil
}

// suits tells whether a cohort can run the query.
func (w wish) suits(k *cohort) bool { return w.fits == nil || w.fits(k) }

func (k cohortKey) compare(o cohortKey) int {
	return cmp.Or(strings.Compare(k.version, o.version), strings.Compare(k.build, o.build), strings.Compare(k.capabilities, o.capabilities))
}

// admit gives the cohort for an attempt, waiting a little for one to appear.
func (c *Coordinator) admit(ctx context.Context, w wish) (*cohort, error) {
	w.version = cmp.Or(w.version, c.cfg.workerVersion)
	limit := time.NewTimer(c.limits.admit)
	defer limit.Stop()
	for {
		changed := c.poller.Changed()
		workers, err := c.poller.Workers(ctx)
		if best := choose(workers, w); best != nil {
			return best, nil
		}
		select {
		case <-changed:
			continue
		case <-ctx.Done():
		case <-limit.C:
		}
		return nil, noWorker(workers, w.version, err)
	}
}

func noWorker(workers []resolver.Worker, version string, resolveErr error) error {
	what := "no usable worker"
	if version != "" {
		what = fmt.Sprintf("no usable worker of version %q", version)
	}
	e := sqlerr.New(sqlerr.NoWorker, sqlerr.Pos{}, what)
	switch {
	case resolveErr != nil:
		e.Message += ": " + resolveErr.Error()
	case len(workers) == 0:
		e.Message += ": none is known"
		_ = e.WithHint("start one with fletch worker, and name it with --workers")
	default:
		var parts []string
		for _, w := range workers[:min(3, len(workers))] {
			_, reason := unused(w, nil, version)
			parts = append(parts, w.URL+": "+reason)
		}
		if more := len(workers) - len(parts); more > 0 {
			parts = append(parts, fmt.Sprintf("and %d more", more))
		}
		e.Message += ": " + strings.Join(parts, "; ")
		_ = e.WithHint("fletch workers --connect URL shows all")
	}
	return e
}

// unused tells why a query admitted now would not run on w; used is the cohort that it would run on, nil if there is none.
func unused(w resolver.Worker, used *cohort, version string) (apiv1.UnusedReason, string) {
	switch {
	case w.Err != nil && sqlerr.CodeOf(w.Err) == sqlerr.Unauthenticated:
		return apiv1.UnusedReason_UNUSED_REASON_REFUSED, w.Err.Error()
	case w.Err != nil:
		return apiv1.UnusedReason_UNUSED_REASON_UNREACHABLE, w.Err.Error()
	case w.Identity.GetProtocol() != identity.Protocol():
		return apiv1.UnusedReason_UNUSED_REASON_PROTOCOL, fmt.Sprintf("it speaks protocol %d, this coordinator speaks %d", w.Identity.GetProtocol(), identity.Protocol())
	case !w.Ready():
		return apiv1.UnusedReason_UNUSED_REASON_DRAINING, "it is draining"
	case version != "" && w.Identity.GetVersion() != version:
		return apiv1.UnusedReason_UNUSED_REASON_VERSION, fmt.Sprintf("its version is %q, queries run on %q", w.Identity.GetVersion(), version)
	case used != nil && keyOf(w.Identity) != used.key:
		return apiv1.UnusedReason_UNUSED_REASON_COHORT, fmt.Sprintf("its cohort is not larger than that of version %q with %d workers", used.key.version, len(used.workers))
	}
	return apiv1.UnusedReason_UNUSED_REASON_UNSPECIFIED, ""
}

// member finds the worker of an instance in a cohort.
func (c *cohort) member(instance string) int {
	return slices.IndexFunc(c.workers, func(w resolver.Worker) bool { return w.Identity.GetInstanceId() == instance })
}
