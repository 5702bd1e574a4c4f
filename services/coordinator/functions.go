package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
)

// maxLibraries is how many cohorts' functions are remembered.
const maxLibraries = 64

// libraries is the functions of cohorts that are not built in, read of each capability digest once.
type libraries struct {
	mu       sync.Mutex
	byDigest map[string]*function.Library
}

// of is the functions of a cohort; of none it is none. What a worker tells of a function that this build cannot read is left out: no
// query can call it.
func (l *libraries) of(k *cohort) *function.Library {
	if k == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.byDigest[k.key.Capabilities]; ok {
		return known
	}
	if len(l.byDigest) >= maxLibraries || l.byDigest == nil {
		l.byDigest = map[string]*function.Library{}
	}
	var all []*function.Signature
	for _, f := range k.workers[0].Info.GetCapabilities().GetFunctions() {
		if s, err := remote(f).Signature(); err == nil {
			all = append(all, s)
		}
	}
	library, err := function.NewLibrary(all)
	if err != nil {
		library = nil
	}
	l.byDigest[k.key.Capabilities] = library
	return library
}

func remote(f *identityv1.Function) bind.Remote {
	return bind.Remote{
		Name: f.GetName(), Parameters: f.GetArguments(), Result: f.GetResult(), Volatility: f.GetVolatility(), Version: f.GetVersion(), State: f.GetState(),
	}
}

// A planner plans a statement for the cohort which shall run it: cohorts may differ in the functions that it can call. It is
// of one attempt, since files may have changed for the next.
type planner struct {
	c       *Coordinator
	ctx     context.Context // of the one attempt
	q       *query
	made    map[*function.Library]planned
	refused error        // why a cohort that has the functions does not fit
	any     *engine.Plan // good for every cohort: it calls built-in functions only
}

func newPlanner(ctx context.Context, c *Coordinator, q *query) *planner {
	return &planner{c: c, ctx: ctx, q: q, made: map[*function.Library]planned{}}
}

type planned struct {
	plan *engine.Plan
	err  error
}

// on is the plan for a cohort, nil for what needs none.
func (p *planner) on(k *cohort) (*engine.Plan, error) {
	if p.any != nil {
		return p.any, nil
	}
	library := p.c.libraries.of(k)
	m, ok := p.made[library]
	if !ok {
		m.plan, m.err = p.q.session.PlanFor(p.ctx, p.q.statement, library)
		p.made[library] = m
		if m.err == nil && len(m.plan.Functions()) == 0 {
			p.any = m.plan
		}
	}
	return m.plan, m.err
}

// first plans for the cohort that w would choose now or, where that lacks a function, for another that has it.
func (p *planner) first(w wish) (*engine.Plan, error) {
	now, cancel := context.WithCancel(p.ctx)
	cancel()
	plan, err := p.on(p.c.pick(p.c.look(now), w))
	if sqlerr.CodeOf(err) != sqlerr.UnknownFunction {
		return plan, err
	}
	wait, cancel := context.WithTimeout(p.ctx, p.c.limits.admit) // of the first sweep
	defer cancel()
	v := p.c.look(wait)
	w.fits = p.fits
	if k := p.c.pick(v, w); k != nil {
		return p.on(k)
	}
	return nil, p.c.lacking(err, v, w.version)
}

// fits tells whether a cohort has the functions that the statement calls, and knows what its plan holds.
func (p *planner) fits(k *cohort) bool {
	plan, err := p.on(k)
	if err == nil && !plan.Local() {
		if err = p.c.takes(k, plan); err != nil {
			p.refused = err
		}
	}
	return err == nil
}

// lacking is err, which names a function that no usable cohort has, with the workers that would have it.
func (c *Coordinator) lacking(err error, v *view, version string) error {
	var missing *expr.MissingFunction
	var e *sqlerr.Error
	if !errors.As(err, &missing) || !errors.As(err, &e) {
		return err
	}
	choice, s := c.steering.decide(v)
	type who struct{ text, reason string }
	var have []who
	for _, w := range v.workers {
		for _, f := range w.Info.GetCapabilities().GetFunctions() {
			if f.GetName() != missing.Name {
				continue
			}
			_, reason := unused(w, v, choice, s, version)
			if reason == "" {
				reason = "its arguments are others"
			}
			of := fmt.Sprintf("%s(%s)", f.GetName(), strings.Join(f.GetArguments(), ", "))
			if f.GetVersion() != "" {
				of += fmt.Sprintf(" version %q", f.GetVersion())
			}
			one := who{fmt.Sprintf("workers of version %q have %s", w.Identity.GetVersion(), of), reason}
			if !slices.ContainsFunc(have, func(o who) bool { return o.text == one.text }) {
				have = append(have, one)
			}
		}
	}
	if len(have) == 0 {
		return err
	}
	told := *e
	var parts []string
	for _, h := range have[:min(2, len(have))] {
		parts = append(parts, h.text+": "+h.reason)
	}
	told.Message = fmt.Sprintf("%s on the workers that this query may use; %s", e.Message, strings.Join(parts, "; "))
	told.Hint = "fletch workers --connect URL shows all workers"
	return &told
}
