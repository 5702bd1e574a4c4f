package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/rollout"
)

// followTime is how long a coordinator may take to read a rollout file that another one wrote.
const followTime = 3 * time.Second

// A change makes another policy of the one in force on a coordinator.
type change func(view *apiv1.GetRolloutResponse) (*apiv1.Rollout, error)

func rolloutCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout COMMAND",
		Short: "Inspect and steer which cohort of workers new queries use",
		Long: `Shows and sets the policy by which coordinators choose the cohort that new queries run on. A
query that runs keeps its cohort to its end. With several URLs every coordinator is told and
shown, and where they differ, that is said.

States of a cohort: inactive (never used), current (new queries use it), ramping (a share does, or
it is about to take over), draining (its last queries run), drained (its workers may go).`,
		Example: `  fletch rollout status --connect http://127.0.0.1:8470,http://127.0.0.1:8480
  fletch rollout ramp v2 20% --connect http://127.0.0.1:8470`,
	}
	add := func(use, short, long string, args cobra.PositionalArgs, of func(args []string) (change, error)) {
		var (
			f      connectFlags
			format choice
		)
		sub := &cobra.Command{Use: use + " [flags]", Short: short, Long: long, Args: args}
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			var to change
			if of != nil {
				var err error
				if to, err = of(args); err != nil {
					return err
				}
			}
			return steer(cmd.Context(), p, f, to, format.value)
		}
		listingFlag(sub, &format)
		f.register(sub)
		cmd.AddCommand(sub)
	}
	none := func(cmd *cobra.Command, args []string) error { return knownCommand(cmd, args) }
	add("status", "Show the policy and every cohort", `Shows each coordinator's policy, and the cohorts as it sees them.`, none, nil)
	add("follow", "Use the largest ready cohort", `Uses the largest ready cohort of the coordinator's own protocol, and ends a ramp and a pause. The
cohort in use stays while none is larger. A larger one takes over once it was that for three
seconds, or at once when it is twice as large.`, none, rule(func() *apiv1.Rollout {
		return &apiv1.Rollout{Policy: &apiv1.Rollout_Follow{Follow: &apiv1.Follow{}}}
	}))
	add("match", "Use workers of the coordinator's own version", `Uses workers of the version that a coordinator was started with (fletch serve --version) or,
without one, of its own build. It ends a ramp and a pause.`, none, rule(func() *apiv1.Rollout {
		return &apiv1.Rollout{Policy: &apiv1.Rollout_Match{Match: &apiv1.Match{}}}
	}))
	add("pin VERSION", "Use workers of one version only", `Uses workers of one version only, and refuses queries while there is none. It ends a ramp and a
pause.`, exactly("a version", 1), func(args []string) (change, error) {
		return rule(func() *apiv1.Rollout {
			return &apiv1.Rollout{Policy: &apiv1.Rollout_Pin{Pin: &apiv1.Pin{Version: args[0]}}}
		})(nil)
	})
	add("ramp VERSION PERCENT", "Give a share of new sessions to a version", `Gives a share of new sessions to workers of a version; all others stay on the cohort that the rule
gives without it. Sessions that are in at one percentage are in at every higher one. While no
worker of the version is ready, nobody is sent there. 0% ends the ramp.`, exactly("a version and a share, such as v2 20%", 2), func(args []string) (change, error) {
		n, err := strconv.ParseUint(strings.TrimSuffix(args[1], "%"), 10, 32)
		if err != nil || n > 100 {
			return nil, usagef("%q is no share from 0%% to 100%%", args[1])
		}
		return func(view *apiv1.GetRolloutResponse) (*apiv1.Rollout, error) {
			next := view.GetRollout()
			next.Ramp = nil
			if n > 0 {
				next.Ramp = &apiv1.Ramp{Version: args[0], Percent: uint32(n)}
			}
			return next, nil
		}, nil
	})
	add("pause", "Keep the cohort in use, whatever comes", `Keeps the cohort that is in use, also when another one becomes larger, until resume or a new rule.
A ramp's share stays as it is. If the cohort has no ready worker left, the largest other one is
used, since no answer is worse than either.`, none, func([]string) (change, error) {
		return func(view *apiv1.GetRolloutResponse) (*apiv1.Rollout, error) {
			next := view.GetRollout()
			for _, c := range view.GetCohorts() {
				if c.GetState() == apiv1.CohortState_COHORT_STATE_CURRENT {
					next.Held = c.GetCohort()
					return next, nil
				}
			}
			return nil, sqlerr.New(sqlerr.NoWorker, sqlerr.Pos{}, "no cohort is in use that could stay so").WithHint("fletch workers shows why")
		}, nil
	})
	add("resume", "End a pause", `Ends a pause: the rule holds again.`, none, func([]string) (change, error) {
		return func(view *apiv1.GetRolloutResponse) (*apiv1.Rollout, error) {
			view.GetRollout().Held = nil
			return view.GetRollout(), nil
		}, nil
	})
	return cmd
}

// rule is a command that sets a rule, and so ends what else there was.
func rule(to func() *apiv1.Rollout) func([]string) (change, error) {
	return func([]string) (change, error) {
		return func(view *apiv1.GetRolloutResponse) (*apiv1.Rollout, error) {
			next := to()
			next.Revision = view.GetRollout().GetRevision()
			return next, nil
		}, nil
	}
}

func exactly(what string, n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// A seat is one coordinator that is steered, and what it said last.
type seat struct {
	url    string
	client *client.Client
	view   *apiv1.GetRolloutResponse // nil: it did not answer
	err    error
}

// steer makes a change, which may be nil, on every coordinator that is named, and shows what they then say.
func steer(ctx context.Context, p *process, f connectFlags, to change, format string) error {
	if _, err := f.client(p); err != nil {
		return err // says what is wrong with the flags
	}
	var seats []*seat
	for _, u := range f.urls {
		one := f
		one.urls = []string{u}
		c, err := one.client(p)
		if err != nil {
			return err
		}
		defer c.Close()
		seats = append(seats, &seat{url: u, client: c})
	}
	answered := 0
	for _, s := range seats {
		if s.view, s.err = s.client.Rollout(ctx); s.err == nil {
			answered++
		}
	}
	if answered == 0 {
		return seats[0].err
	}
	var failed error
	if to != nil {
		failed = errors.Join(failed, set(ctx, seats, to))
	}
	for _, s := range seats {
		if s.err != nil {
			_, _ = fmt.Fprintf(p.err, "note: %s\n", oneLine(s.err.Error()))
			if to != nil {
				failed = errors.Join(failed, s.err)
			}
		}
	}
	if err := showSeats(p, seats, format); err != nil {
		return err
	}
	return failed
}

// set makes a change on the first coordinator that answers. Others that share its file follow by themselves; those that do not are
// told, too.
func set(ctx context.Context, seats []*seat, to change) error {
	var done *apiv1.Rollout
	for _, s := range seats {
		if s.err != nil {
			continue
		}
		if done != nil && s.view.GetFile() != "" && s.follows(ctx, done) {
			continue
		}
		next, err := to(s.view)
		if err != nil {
			return err
		}
		made, err := s.client.SetRollout(ctx, next)
		if err != nil {
			return fmt.Errorf("%s: %w", s.url, err)
		}
		done = made
		s.view, s.err = s.client.Rollout(ctx)
	}
	return nil
}

// follows waits until a coordinator has the policy, for a little while.
func (s *seat) follows(ctx context.Context, want *apiv1.Rollout) bool {
	ctx, cancel := context.WithTimeout(ctx, followTime)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		view, err := s.client.Rollout(ctx)
		if err == nil {
			s.view = view
			if proto.Equal(view.GetRollout(), want) {
				return true
			}
		}
		select {
		case <-ctx.Done():
			return false
		case <-again.C:
		}
	}
}

func showSeats(p *process, seats []*seat, format string) error {
	t := &listing{columns: []string{
		"coordinator", "version", "build", "protocol", "capabilities", "state", "workers", "ready", "slots", "queries", "attempts", "percent", "policy", "revision", "file", "error", "reason",
	}}
	people := format == "table"
	id := func(s string) string {
		if people && len(s) > 11 {
			return s[:11]
		}
		return s
	}
	var first *seat
	for _, s := range seats {
		if s.view == nil || s.err != nil {
			continue
		}
		policy := policyOf(s.view.GetRollout())
		if people {
			_, _ = fmt.Fprintf(p.out, "%s: %s%s\n  %s\n", s.url, oneLine(policy), kept(s.view), oneLine(s.view.GetReason()))
			if e := s.view.GetFileError(); e != "" {
				_, _ = fmt.Fprintf(p.out, "  the rollout file is NOT followed, the last good policy holds: %s\n", oneLine(e))
			}
			if s.view.GetDraining() {
				_, _ = fmt.Fprintln(p.out, "  it drains: it takes no new query")
			}
		}
		cohorts := s.view.GetCohorts()
		if len(cohorts) == 0 {
			cohorts = []*apiv1.CohortStatus{{}} // the policy is worth a row
		}
		for _, c := range cohorts {
			k := c.GetCohort()
			t.rows = append(t.rows, []any{
				s.url, k.GetVersion(), id(k.GetBuild()), k.GetProtocol(), id(k.GetCapabilities()), cohortState(c.GetState()), c.GetWorkers(), c.GetReady(), c.GetSlots(), c.GetQueries(),
				c.GetAttempts(), c.GetPercent(), policy, strconv.FormatUint(s.view.GetRollout().GetRevision(), 10), s.view.GetFile(), s.view.GetFileError(), s.view.GetReason(),
			})
		}
		if first == nil {
			first = s
			continue
		}
		if a, b := policyOf(first.view.GetRollout()), policy; a != b {
			_, _ = fmt.Fprintf(p.err, "note: the coordinators differ in their policy: %s has %s, %s has %s\n", first.url, oneLine(a), s.url, oneLine(b))
		}
		if a, b := currentOf(first.view), currentOf(s.view); a != b {
			_, _ = fmt.Fprintf(p.err, "note: the coordinators differ in the cohort in use: %s uses %s, %s uses %s\n", first.url, oneLine(a), s.url, oneLine(b))
		}
	}
	if people {
		t = t.without("policy", "revision", "file", "error", "reason", "slots")
		if len(seats) == 1 {
			t = t.without("coordinator")
		}
	}
	return t.print(p, format)
}

// kept says where a policy is kept.
func kept(v *apiv1.GetRolloutResponse) string {
	if v.GetFile() == "" {
		return fmt.Sprintf(" (revision %d, in memory only)", v.GetRollout().GetRevision())
	}
	return fmt.Sprintf(" (revision %d, in %s)", v.GetRollout().GetRevision(), oneLine(v.GetFile()))
}

// policyOf is a policy in words; one that this build does not know is said to be.
func policyOf(m *apiv1.Rollout) string {
	p, err := rollout.FromMessage(m)
	if err != nil {
		return "a policy that this client does not know"
	}
	return p.String()
}

func currentOf(v *apiv1.GetRolloutResponse) string {
	for _, c := range v.GetCohorts() {
		if k := c.GetCohort(); c.GetState() == apiv1.CohortState_COHORT_STATE_CURRENT {
			return rollout.Key{Version: k.GetVersion(), Build: k.GetBuild()}.String()
		}
	}
	return "none"
}

// cohortState is a state in words; one that this build does not know is shown as its number.
func cohortState(s apiv1.CohortState) string {
	name, ok := apiv1.CohortState_name[int32(s)]
	switch {
	case !ok:
		return fmt.Sprintf("unknown (%d)", s)
	case s == apiv1.CohortState_COHORT_STATE_UNSPECIFIED:
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(name, "COHORT_STATE_"))
}
