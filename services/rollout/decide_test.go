package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// of reads cohorts from a text: "v1:3 v2:1/8" is three ready workers of v1 with two slots each, and one of v2 with eight.
func of(text string) (out []Cohort) {
	for _, f := range strings.Fields(text) {
		c := Cohort{Key: Key{Protocol: 2, Capabilities: strings.Repeat("a", 32)}, BuildOfAll: "go:x"}
		version, count, _ := strings.Cut(f, ":")
		c.Version = version
		if version == "old" {
			c.Protocol = 1
		}
		if version == "bare" {
			c.Version, c.Build = "", "go:x"
		}
		slots := 2
		if _, err := fmt.Sscanf(count, "%d/%d", &c.Ready, &slots); err != nil {
			_, _ = fmt.Sscanf(count, "%d", &c.Ready)
		}
		c.Workers, c.Slots = c.Ready, c.Ready*slots
		out = append(out, c)
	}
	return out
}

func label(k Key) string {
	if k.IsZero() {
		return "-"
	}
	return strings.TrimSuffix(k.Version+k.Build, "go:x")
}

func TestDecide(t *testing.T) {
	follow := Policy{}
	pin := Policy{Mode: Pin, Version: "v2"}
	ramp := Policy{Ramp: Ramp{"v2", 20}}
	held := func(version string) Policy {
		return Policy{Held: &Key{Version: version, Protocol: 2, Capabilities: strings.Repeat("a", 32)}}
	}
	type step struct {
		after   time.Duration
		cohorts string
		base    string // and "+" the ramp's, "~" the one that rises
	}
	for _, tc := range []struct {
		name   string
		policy Policy
		steps  []step
	}{
		{"nobody", follow, []step{{0, "", "-"}, {0, "v1:0", "-"}}},
		{"the largest", follow, []step{{0, "v1:2 v2:3", "v2"}}},
		{"of equal ones the first", follow, []step{{0, "v2:2 v1:2", "v1"}}},
		{"another protocol never", follow, []step{{0, "old:9 v1:1", "v1"}, {time.Hour, "old:9 v1:0", "-"}}},
		{"a tie moves nobody", follow, []step{{0, "v2:2 v1:1", "v2"}, {time.Minute, "v2:2 v1:2", "v2"}}},
		{"one more takes over after three seconds", follow, []step{
			{0, "v1:3 v2:2", "v1"}, {time.Second, "v1:2 v2:3", "v1~v2"}, {2 * time.Second, "v1:2 v2:3", "v1~v2"}, {time.Second, "v1:2 v2:3", "v2"},
		}},
		{"a lead that was lost begins anew", follow, []step{
			{0, "v1:3 v2:2", "v1"}, {0, "v1:2 v2:3", "v1~v2"}, {2 * time.Second, "v1:3 v2:3", "v1"}, {2 * time.Second, "v1:2 v2:3", "v1~v2"}, {2 * time.Second, "v1:2 v2:3", "v1~v2"},
		}},
		{"twice as many take over at once", follow, []step{{0, "v1:3", "v1"}, {0, "v1:2 v2:4", "v2"}}},
		{"so do any where none is left", follow, []step{{0, "v1:5", "v1"}, {0, "v1:0 v2:1", "v2"}}},
		{"more workers with too few slots never", follow, []step{{0, "v1:2/16 v2:1/2", "v1"}, {0, "v1:2/16 v2:5/2", "v1~v2"}, {time.Hour, "v1:2/16 v2:7/2", "v1~v2"}, {0, "v1:2/16 v2:8/2", "v2"}}},
		{"a roll of six in place", follow, []step{
			{0, "v1:6", "v1"},
			{time.Second, "v1:5", "v1"},
			{time.Second, "v1:5 v2:1", "v1"},
			{time.Second, "v1:4 v2:1", "v1"},
			{time.Second, "v1:4 v2:2", "v1"},
			{time.Second, "v1:3 v2:2", "v1"},
			{time.Second, "v1:3 v2:3", "v1"},
			{time.Second, "v1:2 v2:3", "v1~v2"},
			{time.Second, "v1:2 v2:4", "v2"},
			{time.Second, "v1:1 v2:4", "v2"},
			{time.Second, "v1:1 v2:5", "v2"},
			{time.Second, "v2:5", "v2"},
			{time.Second, "v2:6", "v2"},
		}},
		{"pinned", pin, []step{{0, "v1:5 v2:1", "v2"}, {0, "v1:5 v2:0", "-"}}},
		{"its own version", Policy{Mode: Match}, []step{{0, "v1:1 v2:5", "v1"}, {0, "v2:5", "-"}}},
		{"a ramp beside the rest", ramp, []step{{0, "v1:3", "v1"}, {0, "v1:3 v2:1", "v1+v2"}, {time.Hour, "v1:1 v2:6", "v1+v2"}, {0, "v1:2 v2:0", "v1"}}},
		{"a ramp alone", ramp, []step{{0, "v2:3", "v2"}}},
		{"a ramp of nothing", Policy{Ramp: Ramp{"v2", 0}}, []step{{0, "v1:1 v2:3", "v1"}}},
		{"paused", held("v1"), []step{{0, "v1:1 v2:5", "v1"}, {time.Hour, "v1:1 v2:5", "v1"}, {0, "v1:0 v2:5", "v2"}, {0, "v1:1 v2:5", "v1"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c Choice
			now := time.Unix(1000, 0)
			for i, st := range tc.steps {
				now = now.Add(st.after)
				c = Decide(c, Situation{Now: now, Version: "v1", Build: "go:x", Protocol: 2, Policy: tc.policy, Cohorts: of(st.cohorts)})
				got := label(c.Base)
				if !c.Ramp.IsZero() {
					got += "+" + label(c.Ramp)
				}
				if !c.Rising.IsZero() {
					got += "~" + label(c.Rising)
				}
				if got != st.base || c.Reason == "" {
					t.Errorf("step %d, %s: %s (%s), want %s", i, st.cohorts, got, c.Reason, st.base)
				}
			}
		})
	}
}

func TestMatchWithoutVersion(t *testing.T) {
	s := Situation{Now: time.Unix(1, 0), Build: "go:x", Protocol: 2, Policy: Policy{Mode: Match}, Cohorts: of("v1:1 bare:2")}
	s.Cohorts[0].BuildOfAll = "go:y"
	if c := Decide(Choice{}, s); label(c.Base) != "" || c.Base.IsZero() {
		t.Errorf("it uses %v", c.Base)
	}
	s.Cohorts[1].BuildOfAll = "" // workers of several builds
	if c := Decide(Choice{}, s); !c.Base.IsZero() {
		t.Errorf("it uses %v", c.Base)
	}
}

// Whatever comes and goes: what is used is ready, allowed and of the own protocol; there is something where there can be; follow
// moves only to what is larger and has half the slots, and stays for the time it says unless it must go; what stays larger is used.
func TestDecideHolds(t *testing.T) {
	names := []string{"v1", "v2", "v3", "old"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		policies := []Policy{
			{},
			{},
			{Mode: Pin, Version: names[r.IntN(3)]},
			{Mode: Match},
			{Ramp: Ramp{names[r.IntN(3)], uint32(r.IntN(101))}},
			{Held: &Key{Version: names[r.IntN(3)], Protocol: 2, Capabilities: strings.Repeat("a", 32)}},
		}
		var c Choice
		now, moved, largerSince := time.Unix(1000, 0), time.Time{}, time.Time{}
		policy := policies[0]
		for step := range 200 {
			if r.IntN(40) == 0 {
				policy = policies[r.IntN(len(policies))]
				moved, largerSince = time.Time{}, time.Time{}
			}
			now = now.Add(time.Duration(r.IntN(1500)) * time.Millisecond)
			var text []string
			for _, n := range names {
				text = append(text, fmt.Sprintf("%s:%d/%d", n, r.IntN(6), 1+r.IntN(4)))
			}
			s := Situation{Now: now, Version: "v1", Build: "go:x", Protocol: 2, Policy: policy, Cohorts: of(strings.Join(text, " "))}
			r.Shuffle(len(s.Cohorts), func(i, j int) { s.Cohorts[i], s.Cohorts[j] = s.Cohorts[j], s.Cohorts[i] })
			before := c
			c = Decide(before, s)
			fail := func(what string) {
				t.Fatalf("seed %d, step %d: %s: %v after %v, %s, %+v", seed, step, what, c, before, policy, s.Cohorts)
			}
			if again := Decide(before, s); again != c {
				fail("it is not a function")
			}
			some := slices.ContainsFunc(s.Cohorts, func(g Cohort) bool { return g.Ready > 0 && s.Allows(g) })
			base, ok := find(c.Base, s.Cohorts)
			if some != ok || ok && (base.Ready == 0 || !s.Allows(base) || base.Protocol != 2) {
				fail("it uses what it must not, or nothing")
			}
			if ramp, ok := find(c.Ramp, s.Cohorts); !c.Ramp.IsZero() && (!ok || ramp.Ready == 0 || ramp.Version != policy.Ramp.Version || ramp.Protocol != 2) {
				fail("its ramp")
			}
			if policy.Mode != Follow || policy.Held != nil || policy.Ramp.Version != "" || !ok {
				continue
			}
			old, was := find(before.Base, s.Cohorts)
			was = was && old.Ready > 0
			if was && c.Base != before.Base {
				if base.Ready <= old.Ready || 2*base.Slots < old.Slots {
					fail("it moved to what is smaller")
				}
				if base.Ready < 2*old.Ready && now.Sub(moved) < hold && !moved.IsZero() {
					fail("it moved again too soon")
				}
			}
			if c.Base != before.Base {
				moved, largerSince = now, time.Time{}
			}
			best := slices.MinFunc(slices.DeleteFunc(slices.Clone(s.Cohorts), func(g Cohort) bool { return g.Protocol != 2 }), Larger)
			switch {
			case best.Ready <= base.Ready || best.Key != c.Rising:
				largerSince = time.Time{}
			case before.Rising != c.Rising || largerSince.IsZero():
				largerSince = now
			case now.Sub(largerSince) >= hold && 2*best.Slots >= base.Slots:
				fail("it starves on the smaller one")
			}
		}
	}
}

// A ramp takes its share, the same sessions always, and never lets go of one as it grows.
func TestRampTakes(t *testing.T) {
	const sessions = 20_000
	taken := map[uint32]int{}
	for i := range sessions {
		id := fmt.Sprintf("s%d", i)
		before := false
		for _, percent := range []uint32{0, 1, 20, 50, 100} {
			takes := Ramp{"v2", percent}.Takes(id)
			if before && !takes {
				t.Fatalf("%s is in below %d%% and not at it", id, percent)
			}
			if before = takes; takes {
				taken[percent]++
			}
		}
	}
	for percent, n := range map[uint32]float64{0: 0, 1: .01, 20: .2, 50: .5, 100: 1} {
		if share := float64(taken[percent]) / sessions; share < n*.9 || share > n*1.1 {
			t.Errorf("%d%%: %f", percent, share)
		}
	}
	if (Ramp{}).Takes("s1") {
		t.Error("no ramp takes a session")
	}
}

func TestStateOf(t *testing.T) {
	c := Choice{Base: Key{Version: "v2"}, Ramp: Key{Version: "v3"}, Rising: Key{Version: "v4"}}
	for _, tc := range []struct {
		version    string
		used, busy bool
		want       State
	}{
		{"v2", true, true, Current},
		{"v2", false, false, Current},
		{"v3", true, true, Ramping},
		{"v4", false, false, Ramping},
		{"v1", true, true, Draining},
		{"v1", true, false, Drained},
		{"v1", false, false, Inactive},
		{"v1", false, true, Inactive},
	} {
		if got := c.StateOf(Key{Version: tc.version}, tc.used, tc.busy); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
}
