package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/eventlog"
)

// A logged is what an event log holds of a query.
type logged struct {
	state  eventlog.State
	events []proto.Message
}

func readLog(t *testing.T, dir string) (queries map[string]*logged, others []proto.Message) {
	t.Helper()
	l, err := eventlog.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	queries = map[string]*logged{}
	of := func(id string) *logged {
		if queries[id] == nil {
			queries[id] = &logged{}
		}
		return queries[id]
	}
	for _, i := range l.Instances {
		if _, err := i.Walk(eventlog.Visitor{
			Line: func(_ *eventlog.Segment, l *eventlog.Line) error {
				m, err := l.Decode()
				if err != nil {
					return err
				}
				if len(l.Query) == 0 {
					others = append(others, m)
					return nil
				}
				q := of(string(l.Query))
				q.events = append(q.events, m)
				return nil
			},
			Query: func(id string, s eventlog.State) error { of(id).state = s; return nil },
			Fault: func(f eventlog.Fault) { t.Error(&f) },
		}); err != nil {
			t.Fatal(err)
		}
	}
	return queries, others
}

// last is the last event of a kind.
func last[M proto.Message](events []proto.Message) (m M, n int) {
	for _, e := range events {
		if of, ok := e.(M); ok {
			m = of
			n++
		}
	}
	return m, n
}

// What a query was is on disk when its client hears of its end: where it ran, every task of it, and what came of it.
func TestEventLog(t *testing.T) {
	dir := t.TempDir()
	a, b := startWorker(t, "v1"), startWorker(t, "v1")
	c := over(t, []string{a.URL(), b.URL()}, coordinator.WithEventLog(dir, 0, 0))
	_, end, err := run(t.Context(), c, spread, client.Options{})
	if err != nil || end.Logged == nil || !end.GetLogged() {
		t.Fatalf("%v, %v", end, err)
	}
	queries, others := readLog(t, dir)
	q := queries[end.GetQueryId()]
	if q == nil || q.state != eventlog.Finished {
		t.Fatalf("the log has %v", q)
	}
	started, _ := last[*eventlogv1.QueryStarted](q.events)
	attempt, attempts := last[*eventlogv1.AttemptStarted](q.events)
	task, finished := last[*eventlogv1.TaskFinished](q.events)
	_, begun := last[*eventlogv1.TaskStarted](q.events)
	_, stages := last[*eventlogv1.StageFinished](q.events)
	done, _ := last[*eventlogv1.QueryFinished](q.events)
	tasks := 0
	for _, s := range attempt.GetStages() {
		tasks += int(s.GetTasks())
		if len(s.GetOperators()) == 0 || s.GetOperators()[0].GetDepth() != 0 {
			t.Errorf("stage %v", s)
		}
	}
	if started.GetStatement() != spread || !strings.HasPrefix(started.GetClient(), "fletch/") || started.GetClientApi() == "" || started.GetPeer() == "" {
		t.Errorf("it began as %v", started)
	}
	if attempts != 1 || attempt.GetCohort().GetVersion() != "v1" || len(attempt.GetWorkers()) != 2 || attempt.GetPolicy().GetKind() != eventlogv1.PolicyKind_POLICY_KIND_FOLLOW || len(attempt.GetColumns()) != 2 {
		t.Errorf("it was tried as %v", attempt)
	}
	if tasks < 3 || begun != tasks || finished != tasks || stages != len(attempt.GetStages()) {
		t.Errorf("of %d tasks %d began and %d ended, of %d stages %d", tasks, begun, finished, len(attempt.GetStages()), stages)
	}
	if task.GetWorker().GetInstanceId() == "" || task.GetWorker().GetVersion() != "v1" || task.GetElapsed().AsDuration() <= 0 || task.GetSinceStart().AsDuration() <= 0 {
		t.Errorf("the last task was %v", task)
	}
	if done.GetStatus() != eventlogv1.Status_STATUS_SUCCEEDED || done.GetRows() != 3 || done.GetDigest().GetRows() != 3 || done.GetDigest().GetUndetermined() || done.GetRowsScanned() == 0 {
		t.Errorf("it ended as %v", done)
	}
	if _, ok := q.events[len(q.events)-1].(*eventlogv1.QueryFinished); !ok {
		t.Errorf("something follows the end: %v", q.events[len(q.events)-1])
	}
	if _, seen := last[*eventlogv1.WorkerSeen](others); seen != 2 {
		t.Errorf("%d workers were seen", seen)
	}
	if r, _ := last[*eventlogv1.RolloutChanged](others); r.GetCohort().GetVersion() != "v1" {
		t.Errorf("the cohort is %v", r)
	}

	// Two runs of one statement have one digest, whatever the order of their rows; another statement has another.
	same, _ := runLogged(t, c, dir, strings.Replace(spread, "ORDER BY 1", "ORDER BY 2 DESC", 1))
	other, _ := runLogged(t, c, dir, strings.Replace(spread, "count(*)", "count(*) + 1", 1))
	if same.GetDigest().GetExact() != done.GetDigest().GetExact() || other.GetDigest().GetExact() == done.GetDigest().GetExact() {
		t.Errorf("digests are %v, %v and %v", done.GetDigest(), same.GetDigest(), other.GetDigest())
	}
}

// runLogged runs a statement and gives its end in the log, and all that the log has of it.
func runLogged(t *testing.T, c *client.Client, dir, statement string) (*eventlogv1.QueryFinished, []proto.Message) {
	t.Helper()
	before, _ := readLog(t, dir)
	_, _, _ = run(t.Context(), c, statement, client.Options{})
	after, _ := readLog(t, dir)
	for id, q := range after {
		if before[id] == nil {
			done, _ := last[*eventlogv1.QueryFinished](q.events)
			return done, q.events
		}
	}
	t.Fatalf("the log has nothing of %s", statement)
	return nil, nil
}

// Failures are logged, those of planning too; what is secret is not; and what a statement does not determine is said to be so.
func TestEventLogOf(t *testing.T) {
	dir := t.TempDir()
	c := over(t, []string{startWorker(t, "v1").URL()}, coordinator.WithEventLog(dir, 0, 0))
	for _, tc := range []struct {
		statement string
		holds     string // the query's events
		lacks     string
	}{
		{"SELECT nope", `code:"undefined_column"`, "attempt:"},
		{"SELECT 1 / (n_nationkey - 3) FROM nation", `code:"division_by_zero"`, "digest:"},
		{"SELECT r_name FROM region LIMIT 2", "undetermined:true", "error:"},
		{"SELECT r_name FROM region ORDER BY 1 LIMIT 2", "exact:", "undetermined:true"},
		{"SELECT random() < 2", "undetermined:true", "error:"},
		{"SET x_password = 'hunter2'", "x_password = '***'", "hunter2"},
		{"SELECT 'https://me:hunter2@h/x' FROM region", "https://***@h/x", "hunter2"},
		{`SELECT r_name AS "https://me:hunter2@h/x", count(*) FROM region GROUP BY 1`, `name:"https://***@h/x"`, "hunter2"},
		{"SELECT CAST(r_regionkey AS double precision) AS f FROM region", "sum:10", "exact:"},
		{"EXPLAIN ANALYZE SELECT count(*) FROM region", "status:STATUS_SUCCEEDED", "error:"},
	} {
		done, events := runLogged(t, c, dir, tc.statement)
		text := strings.ReplaceAll(fmt.Sprint(events), ":  ", ":")
		text = strings.ReplaceAll(text, ": ", ":")
		if done == nil || !strings.Contains(text, tc.holds) || strings.Contains(text, tc.lacks) {
			t.Errorf("%s: %s", tc.statement, text)
		}
	}
}

// Without a log nothing is said of one.
func TestNoEventLog(t *testing.T) {
	c := over(t, []string{startWorker(t, "v1").URL()})
	if _, end, err := run(t.Context(), c, "SELECT 1", client.Options{}); err != nil || end.Logged != nil {
		t.Errorf("%v, %v", end, err)
	}
}
