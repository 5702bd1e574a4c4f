package coordinator

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
	"github.com/fletchdb/fletch/services/rollout"
)

// How often the rollout file is read again, and how many cohorts that were used are remembered.
const (
	refreshEvery = time.Second
	maxUsed      = 32
)

// steering is the policy in force and what it chose.
type steering struct {
	store   *rollout.Store
	version string // the coordinator's own, for match
	log     *slog.Logger

	mu     sync.Mutex
	policy rollout.Policy // that choice follows
	choice rollout.Choice
	used   []rollout.Key // that new queries used, the latest last
	moved  chan struct{} // closed and made anew when choice or policy changes
}

func newSteering(store *rollout.Store, version string, log *slog.Logger) *steering {
	return &steering{store: store, version: version, log: log, moved: make(chan struct{})}
}

// changed is closed when the policy or what it chose next changes.
func (s *steering) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.moved
}

// decide follows the policy in force.
func (s *steering) decide(v *view) (rollout.Choice, rollout.Situation) {
	policy, _ := s.store.Policy()
	now := rollout.Situation{
		Now: time.Now(), Version: s.version, Build: identity.Build(), Protocol: identity.Protocol(), Policy: policy, Cohorts: v.cohorts,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, last := s.choice, s.policy
	next := rollout.Decide(before, now)
	if !v.whole {
		return next, now // who answered first is not yet the largest
	}
	s.choice, s.policy = next, policy
	moved := before.Base != s.choice.Base || before.Ramp != s.choice.Ramp || before.Percent != s.choice.Percent
	if moved || last.Revision != policy.Revision || last.String() != policy.String() {
		close(s.moved)
		s.moved = make(chan struct{})
	}
	if moved {
		s.log.Info("cohort of new queries", "base", name(s.choice.Base), "before", name(before.Base), "ramp", name(s.choice.Ramp), "percent", s.choice.Percent, "reason", s.choice.Reason)
	}
	for _, k := range []rollout.Key{s.choice.Base, s.choice.Ramp} {
		if n := len(s.used); k.IsZero() || n > 0 && s.used[n-1] == k {
			continue
		}
		s.used = append(slices.DeleteFunc(s.used, func(u rollout.Key) bool { return u == k }), k)
		s.used = s.used[max(0, len(s.used)-maxUsed):]
	}
	return s.choice, now
}

func name(k rollout.Key) string {
	if k.IsZero() {
		return "none"
	}
	return k.String()
}

// takes tells whether a ramp takes what has that id.
func (s *steering) takes(id string) (version string, ok bool) {
	policy, _ := s.store.Policy()
	return policy.Ramp.Version, policy.Ramp.Takes(id)
}

// wasUsed are the cohorts that new queries used.
func (s *steering) wasUsed() []rollout.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.used)
}

// steer reads the rollout file again and again, and follows the policy also while no query comes, until ctx ends.
func (c *Coordinator) steer(ctx context.Context) {
	ticker := time.NewTicker(refreshEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if c.steering.store.Refresh() {
			switch policy, err := c.steering.store.Policy(); {
			case err != nil:
				c.log.Warn("the rollout file is not followed: the last policy that was good stays in force", "file", c.steering.store.Path(), "error", err, "policy", policy.String())
			default:
				c.log.Info("rollout policy", "policy", policy.String(), "revision", policy.Revision)
			}
		}
		c.steering.decide(c.look(ctx))
	}
}

// rolloutService shows and sets the policy.
type rolloutService struct{ coordinator *Coordinator }

func (s *rolloutService) GetRollout(ctx context.Context, req *apiv1.GetRolloutRequest) (*apiv1.GetRolloutResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	c := s.coordinator
	ctx, cancel := context.WithTimeout(ctx, c.limits.admit)
	defer cancel()
	v := c.look(ctx)
	choice, now := c.steering.decide(v)
	_, broken := c.steering.store.Policy()
	out := &apiv1.GetRolloutResponse{
		Rollout: now.Policy.Message(), Reason: choice.Reason, File: c.steering.store.Path(), InstanceId: c.instance, Version: c.steering.version, Protocol: identity.Protocol(),
	}
	if broken != nil {
		out.FileError = broken.Error()
	}
	queries := map[rollout.Key]uint32{}
	c.mu.Lock()
	out.Draining = c.draining
	for _, q := range c.queries {
		if k := q.runsOn(); !k.IsZero() {
			queries[k]++
		}
	}
	c.mu.Unlock()
	attempts := map[rollout.Key]uint32{}
	workers, _ := c.poller.Workers(ctx)
	for _, w := range workers {
		if w.Identity != nil && w.Err == nil {
			attempts[keyOf(w.Identity)] += w.Info.GetLoad().GetAttempts()
		}
	}
	used := c.steering.wasUsed()
	cohorts := slices.Clone(v.cohorts)
	for _, k := range used {
		if !slices.ContainsFunc(cohorts, func(g rollout.Cohort) bool { return g.Key == k }) {
			cohorts = append(cohorts, rollout.Cohort{Key: k})
		}
	}
	slices.SortFunc(cohorts, rollout.Larger)
	for _, g := range cohorts {
		m := &apiv1.CohortStatus{
			Cohort: g.Key.Message(), Workers: uint32(g.Workers), Ready: uint32(g.Ready), Slots: uint32(g.Slots), Queries: queries[g.Key], Attempts: attempts[g.Key],
			State: states[choice.StateOf(g.Key, slices.Contains(used, g.Key), queries[g.Key]+attempts[g.Key] > 0)],
		}
		switch g.Key {
		case choice.Ramp:
			m.Percent = choice.Percent
		case choice.Base:
			m.Percent = 100 - choice.Percent
		}
		out.Cohorts = append(out.Cohorts, m)
	}
	return out, nil
}

var states = map[rollout.State]apiv1.CohortState{
	rollout.Inactive: apiv1.CohortState_COHORT_STATE_INACTIVE, rollout.Current: apiv1.CohortState_COHORT_STATE_CURRENT,
	rollout.Ramping: apiv1.CohortState_COHORT_STATE_RAMPING, rollout.Draining: apiv1.CohortState_COHORT_STATE_DRAINING,
	rollout.Drained: apiv1.CohortState_COHORT_STATE_DRAINED,
}

func (s *rolloutService) SetRollout(ctx context.Context, req *apiv1.SetRolloutRequest) (*apiv1.SetRolloutResponse, error) {
	if err := known(req); err != nil {
		return nil, err
	}
	c := s.coordinator
	ctx, cancel := context.WithTimeout(ctx, c.limits.admit)
	defer cancel()
	policy, err := rollout.FromMessage(req.GetRollout())
	if err != nil {
		return nil, rpcerr.ToAPI(sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, err.Error()), "", 0)
	}
	now, err := c.steering.store.Set(ctx, policy)
	var conflict *rollout.Conflict
	switch {
	case errors.As(err, &conflict):
		return nil, connect.NewError(connect.CodeAborted, conflict.Error()+": look again, then decide")
	case err != nil:
		return nil, rpcerr.ToAPI(&sqlerr.Error{Code: sqlerr.IO, Message: err.Error(), Err: err}, "", 0)
	}
	c.log.Info("rollout policy set", "policy", now.String(), "revision", now.Revision)
	c.steering.decide(c.look(ctx))
	return &apiv1.SetRolloutResponse{Rollout: now.Message()}, nil
}
