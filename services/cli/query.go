package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

func queryCommand(p *process) *cobra.Command {
	var (
		f      connectFlags
		format choice
		events bool
	)
	cmd := &cobra.Command{
		Use:   "query ID [ID] [flags]",
		Short: "Show all of one query, or two side by side",
		Long: `Shows what a coordinator or a history server knows of a query: the statement, how it ended, its
attempts with workers, plan, stages and tasks, and when each began and ended since the query was
accepted. Of two queries, such as runs of one statement on two versions, it shows side by side
what they did and whether their results are the same.`,
		Example: `  fletch query q5f2c91c0a7be8d31 --connect http://127.0.0.1:8470
  fletch query q5f2c91c0a7be8d31 --events --format json --connect http://127.0.0.1:8470
  fletch query q5f2c91c0a7be8d31 q9b1de07735a2c460 --connect http://127.0.0.1:8470`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%s takes the id of a query, or of two to compare; fletch queries lists them", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := f.client(p)
			if err != nil {
				return err
			}
			defer c.Close()
			var found []*apiv1.GetQueryResponse
			for _, id := range args {
				res, err := c.QueryByID(cmd.Context(), &apiv1.GetQueryRequest{QueryId: id, Events: events})
				if err != nil {
					return fmt.Errorf("query %s: %w", id, err)
				}
				found = append(found, res)
			}
			switch {
			case len(found) == 2:
				return compared(found[0], found[1]).print(p, format.value)
			case format.value == "json":
				text, err := protojson.MarshalOptions{Multiline: true, EmitDefaultValues: true}.Marshal(found[0])
				if err != nil {
					return err
				}
				_, err = p.out.Write(append(text, '\n'))
				return err
			}
			return showQuery(p, found[0])
		},
	}
	choiceFlag(cmd, &format, "format", "`FORM` of what is shown", "table", "json")
	cmd.Flags().BoolVar(&events, "events", false, "also show the events as they were recorded")
	f.register(cmd)
	return cmd
}

// showQuery shows a query to people.
func showQuery(p *process, r *apiv1.GetQueryResponse) error {
	out := bufio.NewWriter(p.out)
	q := r.GetQuery()
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%-10s %s\n", name, readable(fmt.Sprintf(format, args...)))
	}
	line("query", "%s", q.GetQueryId())
	line("status", "%s", statusWord(q.GetStatus()))
	line("started", "%s", q.GetStartedAt().AsTime().Format("2006-01-02 15:04:05.000 MST"))
	if q.GetElapsed() != nil {
		line("elapsed", "%s", elapsed(q.GetElapsed().AsDuration()))
	}
	line("rows", "%d, in %s", q.GetRows(), several(uint64(q.GetAttempts()), "attempt"))
	if s := q.GetScanned(); s != nil {
		line("scanned", "%d rows, %s; memory at most %s on one process", s.GetRows(), sizeOf(s.GetBytes()), sizeOf(q.GetMemoryPeak()))
	}
	if c := q.GetCohort(); c != nil {
		line("workers", "version %q, protocol %d", c.GetVersion(), c.GetProtocol())
	}
	if q.GetClient() != "" {
		line("client", "%s, API %s", q.GetClient(), cmp.Or(q.GetClientApi(), "not said"))
	}
	if rec := r.GetRecorder(); rec != nil {
		line("server", "release %s, API %s, instance %s", rec.GetRelease(), rec.GetApi(), q.GetInstanceId())
	}
	if d := r.GetDigest(); d != nil {
		line("result", "%s", digestWords(d))
	}
	if e := r.GetError(); e != nil {
		line("error", "%s: %s", e.GetDetail().GetCode(), e.GetMessage())
	}
	_, _ = fmt.Fprintf(out, "statement\n%s\n", indented(readable(strings.TrimSpace(q.GetStatement())), "  "))
	if n := r.GetStatementBytes(); n > 0 {
		_, _ = fmt.Fprintf(out, "  … of %d bytes\n", n)
	}
	for _, a := range r.GetAttempts() {
		showAttempt(out, a)
	}
	if len(r.GetEvents()) > 0 {
		_, _ = fmt.Fprintf(out, "\nevents\n")
	}
	for _, e := range r.GetEvents() {
		text, err := protojson.Marshal(e.GetData())
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "  %s %-16s %s\n", e.GetAt().AsTime().Format("15:04:05.000000"), oneLine(e.GetKind()), oneLine(string(text)))
	}
	return out.Flush()
}

func showAttempt(out *bufio.Writer, a *apiv1.QueryAttempt) {
	where := "on the coordinator"
	if a.GetCohort() != nil {
		where = fmt.Sprintf("on %s of version %q", several(uint64(len(a.GetWorkers())), "worker"), a.GetCohort().GetVersion())
	}
	_, _ = fmt.Fprintf(out, "\nattempt %d, %s, at %s\n", a.GetAttempt(), readable(where), offset(a.GetSinceStart()))
	for _, s := range a.GetStages() {
		plan := s.GetPlan()
		_, _ = fmt.Fprintf(out, "  stage %d, %s%s", plan.GetStage(), several(uint64(plan.GetTasks()), "task"), between(s.GetStarted(), s.GetFinished()))
		if s.GetFinished() != nil {
			_, _ = fmt.Fprintf(out, ", %d rows, %s", s.GetRows(), sizeOf(s.GetBytes()))
		}
		if plan.GetOutput() != "" {
			_, _ = fmt.Fprintf(out, ", dealt out by %s", oneLine(plan.GetOutput()))
		}
		_, _ = fmt.Fprintln(out)
		showNode(out, plan.GetRoot(), "    ")
		for _, t := range s.GetTasks() {
			_, _ = fmt.Fprintf(out, "    task %d at %s%s", t.GetTask(), oneLine(t.GetWorker().GetUrl()), between(t.GetStarted(), t.GetFinished()))
			if t.GetFinished() != nil {
				_, _ = fmt.Fprintf(out, ", busy %s, %d rows, memory %s", elapsed(t.GetBusy().AsDuration()), t.GetRows(), sizeOf(t.GetMemoryPeak()))
			}
			if e := t.GetError(); e != nil {
				_, _ = fmt.Fprintf(out, ", failed: %s", oneLine(e.GetMessage()))
			}
			_, _ = fmt.Fprintln(out)
		}
	}
	if e := a.GetError(); e != nil {
		_, _ = fmt.Fprintf(out, "  failed at %s: %s: %s\n", offset(a.GetFailedSinceStart()), e.GetDetail().GetCode(), oneLine(e.GetMessage()))
	}
}

func showNode(out *bufio.Writer, n *apiv1.ExplainNode, indent string) {
	if n == nil {
		return
	}
	text := strings.Join(append([]string{n.GetOperator()}, n.GetDetails()...), " ")
	if n.EstimatedRows != nil {
		text += fmt.Sprintf("  (%.0f rows expected)", n.GetEstimatedRows())
	}
	if m := n.GetMetrics(); m != nil {
		text += fmt.Sprintf("  (%d rows, busy %s)", m.GetRows(), elapsed(m.GetBusy().AsDuration()))
	}
	_, _ = fmt.Fprintf(out, "%s%s\n", indent, oneLine(text))
	for _, c := range n.GetChildren() {
		showNode(out, c, indent+"  ")
	}
}

// several is a number of things: "1 task", "2 tasks".
func several(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func indented(s, by string) string { return by + strings.ReplaceAll(s, "\n", "\n"+by) }

// offset is a time since the query was accepted.
func offset(d *durationpb.Duration) string {
	if d == nil {
		return "+?"
	}
	return "+" + elapsed(d.AsDuration())
}

// between is from when until when something ran, since the query was accepted; nothing where it has not begun.
func between(started, finished *durationpb.Duration) string {
	switch {
	case started == nil && finished == nil:
		return ""
	case finished == nil:
		return ", from " + offset(started)
	}
	return ", " + offset(started) + " to " + offset(finished)
}

// sizeOf is a number of bytes as people read it.
func sizeOf(bytes uint64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	n, i := float64(bytes), 0
	for n >= 1000 && i < len(units)-1 {
		n /= 1000
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

func digestWords(d *apiv1.ResultDigest) string {
	exact := d.GetExact()
	if len(exact) > 12 {
		exact = exact[:12]
	}
	words := fmt.Sprintf("%d rows, digest %s", d.GetRows(), cmp.Or(exact, "of floats only"))
	if d.GetUndetermined() {
		words += ", not determined by the statement"
	}
	return words
}

// compared is two queries side by side: what is the same, and what is not.
func compared(a, b *apiv1.GetQueryResponse) *listing {
	t := &listing{columns: []string{"what", "first", "second", "compared"}}
	row := func(what, first, second, result string) { t.rows = append(t.rows, []any{what, first, second, result}) }
	text := func(what, first, second string) {
		result := "same"
		if first != second {
			result = "differs"
		}
		row(what, first, second, result)
	}
	number := func(what string, first, second uint64, show func(uint64) string) {
		row(what, show(first), show(second), ratio(float64(first), float64(second)))
	}
	plain := func(n uint64) string { return fmt.Sprint(n) }
	duration := func(what string, first, second *durationpb.Duration) {
		show := func(d *durationpb.Duration) string {
			if d == nil {
				return ""
			}
			return elapsed(d.AsDuration())
		}
		row(what, show(first), show(second), ratio(first.AsDuration().Seconds(), second.AsDuration().Seconds()))
	}
	qa, qb := a.GetQuery(), b.GetQuery()
	row("query", qa.GetQueryId(), qb.GetQueryId(), "")
	text("statement", statementOf(qa), statementOf(qb))
	row("result", resultOf(a), resultOf(b), sameResult(a.GetDigest(), b.GetDigest()))
	text("status", statusWord(qa.GetStatus()), statusWord(qb.GetStatus()))
	text("error", qa.GetErrorCode(), qb.GetErrorCode())
	row("started", qa.GetStartedAt().AsTime().Format(time.RFC3339), qb.GetStartedAt().AsTime().Format(time.RFC3339), "")
	text("version of workers", qa.GetCohort().GetVersion(), qb.GetCohort().GetVersion())
	text("release of server", a.GetRecorder().GetRelease(), b.GetRecorder().GetRelease())
	duration("elapsed", qa.GetElapsed(), qb.GetElapsed())
	number("rows", qa.GetRows(), qb.GetRows(), plain)
	number("attempts", uint64(qa.GetAttempts()), uint64(qb.GetAttempts()), plain)
	number("scanned rows", qa.GetScanned().GetRows(), qb.GetScanned().GetRows(), plain)
	number("scanned bytes", qa.GetScanned().GetBytes(), qb.GetScanned().GetBytes(), sizeOf)
	number("memory", qa.GetMemoryPeak(), qb.GetMemoryPeak(), sizeOf)
	sa, sb := lastStages(a), lastStages(b)
	for i := range max(len(sa), len(sb)) {
		var x, y *apiv1.QueryStage
		if i < len(sa) {
			x = sa[i]
		}
		if i < len(sb) {
			y = sb[i]
		}
		name := fmt.Sprintf("stage %d ", i)
		text(name+"plan", planOf(x), planOf(y))
		number(name+"tasks", uint64(x.GetPlan().GetTasks()), uint64(y.GetPlan().GetTasks()), plain)
		number(name+"rows", x.GetRows(), y.GetRows(), plain)
		duration(name+"busy", busyOf(x), busyOf(y))
	}
	return t
}

// statementOf is a statement on one line.
func statementOf(q *apiv1.QuerySummary) string {
	return strings.Join(strings.Fields(q.GetStatement()), " ")
}

func resultOf(r *apiv1.GetQueryResponse) string {
	if r.GetDigest() == nil {
		return "not kept"
	}
	return digestWords(r.GetDigest())
}

func lastStages(r *apiv1.GetQueryResponse) []*apiv1.QueryStage {
	if n := len(r.GetAttempts()); n > 0 {
		return r.GetAttempts()[n-1].GetStages()
	}
	return nil
}

// planOf is a stage's operators, the root first.
func planOf(s *apiv1.QueryStage) string {
	var names []string
	var visit func(*apiv1.ExplainNode)
	visit = func(n *apiv1.ExplainNode) {
		if n != nil {
			names = append(names, n.GetOperator())
		}
		for _, c := range n.GetChildren() {
			visit(c)
		}
	}
	visit(s.GetPlan().GetRoot())
	return strings.Join(names, " ← ")
}

func busyOf(s *apiv1.QueryStage) *durationpb.Duration {
	var busy time.Duration
	for _, t := range s.GetTasks() {
		busy += t.GetBusy().AsDuration()
	}
	return durationpb.New(busy)
}

func ratio(first, second float64) string {
	switch {
	case first == second:
		return "same"
	case first == 0 || second == 0:
		return "differs"
	}
	return fmt.Sprintf("× %.2f", second/first)
}

// sameResult tells what two digests say of two results.
func sameResult(a, b *apiv1.ResultDigest) string {
	switch {
	case a == nil || b == nil || a.GetRule() != b.GetRule():
		return "unknown"
	case a.GetRows() == b.GetRows() && a.GetExact() == b.GetExact() && sameFloats(a.GetFloats(), b.GetFloats()):
		return "same"
	case a.GetUndetermined() || b.GetUndetermined():
		return "differs, as it may: the statement does not determine its rows"
	}
	return "DIFFERS"
}

func sameFloats(a, b []*apiv1.FloatDigest) bool {
	if len(a) != len(b) {
		return false
	}
	for i, x := range a {
		y := b[i]
		if x.GetColumn() != y.GetColumn() || x.GetValues() != y.GetValues() || x.GetNulls() != y.GetNulls() || x.GetNans() != y.GetNans() ||
			!near(x.GetMin(), y.GetMin()) || !near(x.GetMax(), y.GetMax()) || !near(x.GetSum(), y.GetSum()) {
			return false
		}
	}
	return true
}

// near tells whether two sums of the same numbers, added up in another order, could be these.
func near(x, y float64) bool {
	return x == y || math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}
