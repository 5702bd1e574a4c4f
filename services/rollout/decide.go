package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// How follow changes over: a cohort must have been the larger one for hold, unless it is twice as large or the one in use is gone,
// and it must have at least half the slots of the one in use.
const hold = 3 * time.Second

// A Situation is all that a decision depends on, beside the decision before it.
type Situation struct {
	Now      time.Time
	Version  string // the coordinator's own, for match; may be empty
	Build    string // the coordinator's own
	Protocol uint32 // the coordinator's own: no other is ever used
	Policy   Policy
	Cohorts  []Cohort // in any order, one per key
}

// A Choice is what new queries use, and what the next decision must know. The zero Choice is that of a coordinator that begins.
type Choice struct {
	Base    Key    // zero: there is none
	Ramp    Key    // gets a share of what is new; zero: none does
	Percent uint32 // the share, 0 to 100; 0 where Ramp is zero
	Rising  Key    // larger than Base, which follow still keeps; zero: none
	Reason  string // for people

	since time.Time // since when Rising is the larger
}

// Decide chooses the cohorts for new queries. It is pure: what it gives depends on its arguments only. Where a cohort that the policy
// allows has a ready worker, Base is one that has, of the coordinator's own protocol.
func Decide(before Choice, s Situation) Choice {
	usable := func(allowed func(Cohort) bool) (out []Cohort) {
		for _, c := range s.Cohorts {
			if c.Protocol == s.Protocol && c.Ready > 0 && allowed(c) {
				out = append(out, c)
			}
		}
		slices.SortFunc(out, Larger)
		return out
	}
	var next Choice
	ramped := usable(func(c Cohort) bool { return s.Policy.Ramp.Version != "" && c.Version == s.Policy.Ramp.Version })
	if len(ramped) > 0 && s.Policy.Ramp.Percent > 0 {
		next.Ramp, next.Percent = steady(before.Ramp, ramped).Key, s.Policy.Ramp.Percent
	}
	candidates := usable(func(c Cohort) bool {
		return s.Allows(c) && (s.Policy.Mode != Follow || s.Policy.Ramp.Version == "" || c.Version != s.Policy.Ramp.Version)
	})
	if len(candidates) == 0 && s.Policy.Mode == Follow {
		candidates = ramped
	}
	if len(candidates) == 0 {
		next.Reason = s.none()
		return next
	}
	held := before.Base
	if s.Policy.Held != nil {
		held = *s.Policy.Held
	}
	next.follow(before, candidates, held, s)
	if now, _ := find(next.Base, candidates); len(candidates) == 1 {
		switch s.Policy.Mode {
		case Pin:
			next.Reason = fmt.Sprintf("%s is pinned: %d ready", now, now.Ready)
		case Match:
			next.Reason = fmt.Sprintf("%s matches this coordinator: %d ready", now, now.Ready)
		}
	}
	if next.Ramp == next.Base {
		next.Ramp, next.Percent = Key{}, 0
	}
	return next
}

// Allows tells whether the policy's rule lets queries that wish nothing of their own run on c.
func (s Situation) Allows(c Cohort) bool {
	switch {
	case c.Protocol != s.Protocol:
		return false
	case s.Policy.Mode == Pin:
		return c.Version == s.Policy.Version
	case s.Policy.Mode == Match && s.Version != "":
		return c.Version == s.Version
	case s.Policy.Mode == Match:
		return c.BuildOfAll == s.Build
	}
	return true
}

// none says that no cohort is allowed and ready.
func (s Situation) none() string {
	switch {
	case s.Policy.Mode == Pin:
		return fmt.Sprintf("no ready worker has the pinned version %q", s.Policy.Version)
	case s.Policy.Mode == Match && s.Version != "":
		return fmt.Sprintf("no ready worker has this coordinator's version %q", s.Version)
	case s.Policy.Mode == Match:
		return "no ready worker has this coordinator's build"
	}
	return "no worker is ready"
}

// Larger orders cohorts for use: the one with more ready workers first; of equal ones the first by key, so that every coordinator
// chooses alike.
func Larger(a, b Cohort) int {
	if a.Ready != b.Ready {
		return b.Ready - a.Ready
	}
	return a.compare(b.Key)
}

func find(k Key, among []Cohort) (Cohort, bool) {
	i := slices.IndexFunc(among, func(c Cohort) bool { return c.Key == k })
	if i < 0 {
		return Cohort{}, false
	}
	return among[i], true
}

// steady is the cohort of k while it is no smaller than another; candidates are the largest first, and there is one.
func steady(k Key, candidates []Cohort) Cohort {
	if now, ok := find(k, candidates); ok && now.Ready == candidates[0].Ready {
		return now
	}
	return candidates[0]
}

// follow sets Base to one of candidates, of which there is at least one, the largest first.
func (c *Choice) follow(before Choice, candidates []Cohort, kept Key, s Situation) {
	now, ok := find(kept, candidates)
	best := steady(kept, candidates)
	switch {
	case !ok && s.Policy.Held != nil:
		c.Base = best.Key
		c.Reason = fmt.Sprintf("paused on %s, of which no worker is ready: %s is the largest", *s.Policy.Held, best)
	case !ok:
		c.Base = best.Key
		c.Reason = fmt.Sprintf("%s is the largest: %d ready", best, best.Ready)
	case s.Policy.Held != nil:
		c.Base = now.Key
		c.Reason = fmt.Sprintf("paused on %s: %d ready", now, now.Ready)
	case best.Key == now.Key:
		c.Base = now.Key
		c.Reason = fmt.Sprintf("%s is in use, and none is larger: %d ready", now, now.Ready)
	case 2*best.Slots < now.Slots:
		c.Base, c.Rising, c.since = now.Key, best.Key, s.Now
		c.Reason = fmt.Sprintf("%s is in use: %s has more workers but less than half of its %d slots", now, best, now.Slots)
	case best.Ready >= 2*now.Ready:
		c.Base = best.Key
		c.Reason = fmt.Sprintf("%s has taken over: %d ready, twice as many as of %s", best, best.Ready, now)
	default:
		c.Base, c.Rising, c.since = now.Key, best.Key, s.Now
		if before.Rising == best.Key {
			c.since = before.since
		}
		if s.Now.Sub(c.since) >= hold {
			c.Base, c.Rising = best.Key, Key{}
			c.Reason = fmt.Sprintf("%s has taken over: it was larger than %s for %s", best, now, hold)
			return
		}
		c.Reason = fmt.Sprintf("%s is in use: %s takes over when it was larger for %s", now, best, hold)
	}
}

// For is the cohort of what is new: of a session, or of a query without one.
func (c Choice) For(ramped bool) Key {
	if (ramped || c.Base.IsZero()) && !c.Ramp.IsZero() {
		return c.Ramp
	}
	return c.Base
}

// Takes tells whether a ramp takes the session or query of that id. Whom it takes at one percentage it takes at every higher one.
func (r Ramp) Takes(id string) bool {
	if r.Version == "" {
		return false
	}
	sum := sha256.Sum256([]byte(r.Version + "\x00" + id))
	return binary.BigEndian.Uint64(sum[:])%10_000 < uint64(r.Percent)*100
}
