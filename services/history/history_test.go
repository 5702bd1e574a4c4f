package history

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const instance = "0123456789abcdef0123456789abcdef"

func writer(t testing.TB, dir, instance string) *eventlog.Writer {
	t.Helper()
	w, err := eventlog.Create(dir, eventlog.Config{Writer: &eventlogv1.SegmentStarted{Release: "v0.2.0", Build: "b", Protocol: 2, Api: "1.1", InstanceId: instance}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func index(t testing.TB, dir, cache string) *Index {
	t.Helper()
	x, err := OpenIndex(dir, cache)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// log is what takes events: an event log, or a process's memory.
type log interface {
	Append(query string, m proto.Message)
}

func started(l log, id, statement string) {
	l.Append(id, &eventlogv1.QueryStarted{Statement: statement, Client: "fletch/v0.2.0", ClientApi: "1.1"})
}

func finished(version, code string) *eventlogv1.QueryFinished {
	m := &eventlogv1.QueryFinished{
		Status: eventlogv1.Status_STATUS_SUCCEEDED, Rows: 3, Attempts: 1, Elapsed: durationpb.New(time.Second),
		Cohort: &eventlogv1.Cohort{Version: version, Protocol: 2},
	}
	if code != "" {
		m.Status, m.Error = eventlogv1.Status_STATUS_FAILED, &eventlogv1.Error{Code: code, Message: "no", Position: &eventlogv1.Position{Start: 1, End: 2}}
	}
	return m
}

func list(t testing.TB, s *Service, req *apiv1.ListQueriesRequest) *apiv1.ListQueriesResponse {
	t.Helper()
	res, err := s.ListQueries(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func ids(res *apiv1.ListQueriesResponse) (out []string) {
	for _, q := range res.GetQueries() {
		out = append(out, q.GetQueryId())
	}
	return out
}

// What a log says of queries is listed by every filter, while its coordinator lives and after.
func TestList(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, instance)
	started(w, "q1", "SELECT 1 FROM Orders")
	w.Commit("q1", finished("v1", ""))
	started(w, "q2", "SELECT 1 / 0")
	w.Commit("q2", finished("v2", "division_by_zero"))
	started(w, "q3", "SELECT 3 FROM orders")
	w.Append("q3", &eventlogv1.AttemptStarted{Attempt: 1, Cohort: &eventlogv1.Cohort{Version: "v3"}})
	w.Commit("q4", &eventlogv1.QueryFinished{Status: eventlogv1.Status_STATUS_CANCELED}) // its beginning is not there
	w.Append("", &eventlogv1.WorkerSeen{})
	x := index(t, dir, t.TempDir())
	defer func() { _ = x.Close() }()
	s := NewService(x)
	failed, v3, none := apiv1.QueryStatus_QUERY_STATUS_FAILED, "v3", ""
	check := func(running apiv1.QueryStatus, version3 []string) {
		t.Helper()
		for _, tc := range []struct {
			name string
			req  *apiv1.ListQueriesRequest
			want []string
		}{
			{"all", &apiv1.ListQueriesRequest{}, []string{"q4", "q3", "q2", "q1"}},
			{"text", &apiv1.ListQueriesRequest{Text: "FROM ORDERS"}, []string{"q3", "q1"}},
			{"status", &apiv1.ListQueriesRequest{Statuses: []apiv1.QueryStatus{failed}}, []string{"q2"}},
			{"without an end", &apiv1.ListQueriesRequest{Statuses: []apiv1.QueryStatus{running}}, []string{"q3"}},
			{"code", &apiv1.ListQueriesRequest{ErrorCode: "division_by_zero"}, []string{"q2"}},
			{"version", &apiv1.ListQueriesRequest{WorkerVersion: &v3}, version3},
			{"no version", &apiv1.ListQueriesRequest{WorkerVersion: &none, Statuses: []apiv1.QueryStatus{apiv1.QueryStatus_QUERY_STATUS_CANCELED}}, []string{"q4"}},
			{"instance", &apiv1.ListQueriesRequest{InstanceId: "another"}, nil},
			{"future", &apiv1.ListQueriesRequest{Since: timestamppb.New(time.Now().Add(time.Hour))}, nil},
			{"past", &apiv1.ListQueriesRequest{Until: timestamppb.New(time.Now().Add(-time.Hour))}, nil},
			{"now", &apiv1.ListQueriesRequest{Since: timestamppb.New(time.Now().Add(-time.Hour)), Until: timestamppb.New(time.Now().Add(time.Hour)), Text: "1 / 0"}, []string{"q2"}},
		} {
			if got := ids(list(t, s, tc.req)); !slices.Equal(got, tc.want) {
				t.Errorf("%s, %s: %v, not %v", running, tc.name, got, tc.want)
			}
		}
	}
	check(apiv1.QueryStatus_QUERY_STATUS_RUNNING, nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(apiv1.QueryStatus_QUERY_STATUS_CRASHED, []string{"q3"})
	q := list(t, s, &apiv1.ListQueriesRequest{Text: "from Orders", PageSize: 10}).GetQueries()[1]
	if q.GetRows() != 3 || q.GetClient() != "fletch/v0.2.0" || q.GetCohort().GetVersion() != "v1" || q.GetInstanceId() != instance || q.GetElapsed().AsDuration() != time.Second {
		t.Errorf("%v", q)
	}
}

// Pages follow each other without a gap, also while queries come.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, instance)
	defer func() { _ = w.Close() }()
	for i := range 25 {
		started(w, fmt.Sprintf("q%02d", i), "SELECT 1")
		w.Commit(fmt.Sprintf("q%02d", i), finished("v1", ""))
	}
	x := index(t, dir, t.TempDir())
	defer func() { _ = x.Close() }()
	s := NewService(x)
	var got []string
	req := &apiv1.ListQueriesRequest{PageSize: 10}
	for pages := 0; ; pages++ {
		res := list(t, s, req)
		got = append(got, ids(res)...)
		if req.PageToken = res.GetNextPageToken(); req.GetPageToken() == "" {
			if pages != 2 {
				t.Errorf("%d more pages", pages)
			}
			break
		}
		started(w, fmt.Sprintf("r%02d", pages), "SELECT 2")
		w.Commit(fmt.Sprintf("r%02d", pages), finished("v1", ""))
		if err := x.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 25 || got[0] != "q24" || got[24] != "q00" || !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("%v", got)
	}
	if n := len(list(t, s, &apiv1.ListQueriesRequest{}).GetQueries()); n != 27 {
		t.Errorf("%d queries in the end", n)
	}
	for _, bad := range []*apiv1.ListQueriesRequest{{PageToken: "?"}, {PageToken: "AAAA"}, {PageSize: 10_001}} {
		if _, err := s.ListQueries(t.Context(), bad); err == nil {
			t.Errorf("taken: %v", bad)
		}
	}
}

// attempt is an attempt of one scan and one aggregate, which one task each did.
func attempt(l log, id string) {
	l.Append(id, &eventlogv1.AttemptStarted{
		Attempt: 1, Cohort: &eventlogv1.Cohort{Version: "v1"}, Workers: []*eventlogv1.Worker{{Url: "http://w", Version: "v1"}},
		Stages: []*eventlogv1.Stage{
			{Stage: 0, Tasks: 1, Operators: []*eventlogv1.Operator{{Name: "Aggregate", Detail: "count(*)"}, {Depth: 1, Name: "Remote"}}},
			{Stage: 1, Tasks: 1, Operators: []*eventlogv1.Operator{{Name: "Scan", Detail: "orders"}}, Output: "one"},
		},
	})
	for stage := range uint32(2) {
		l.Append(id, &eventlogv1.StageStarted{Attempt: 1, Stage: stage, Tasks: 1, SinceStart: durationpb.New(time.Millisecond)})
		l.Append(id, &eventlogv1.TaskStarted{Attempt: 1, Stage: stage, Worker: &eventlogv1.Worker{Url: "http://w"}, SinceStart: durationpb.New(time.Millisecond)})
	}
	l.Append(id, &eventlogv1.TaskFinished{
		Attempt: 1, Stage: 1, Worker: &eventlogv1.Worker{Url: "http://w", Version: "v1"}, Rows: 7, RowsScanned: 70, SinceStart: durationpb.New(time.Second),
		Operators: []*eventlogv1.OperatorMetrics{{Operator: 0, Rows: 7, Counters: map[string]uint64{"pruned": 2}}, {Operator: 9}},
	})
	l.Append(id, &eventlogv1.StageFinished{Attempt: 1, Stage: 1, Rows: 7})
	l.Append(id, &eventlogv1.TaskFinished{Attempt: 9, Stage: 9}) // of nothing that was told of
}

// A query is told of alike from memory and from a log.
func TestGet(t *testing.T) {
	dir := t.TempDir()
	w := writer(t, dir, instance)
	recent := NewRecent(instance, &apiv1.Recorder{Release: "v0.2.0"})
	end := finished("v1", "division_by_zero")
	end.Digest = &eventlogv1.Digest{Rule: 1, Rows: 7, Exact: "ff", Floats: []*eventlogv1.FloatColumn{{Column: 1, Sum: 2}}}
	for _, l := range []log{w, recent} {
		started(l, "q1", strings.Repeat("SELECT", 300))
		attempt(l, "q1")
		started(l, "q2", "SELECT 2")
		l.Append("q1", end)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x := index(t, dir, t.TempDir())
	defer func() { _ = x.Close() }()
	for name, source := range map[string]Source{"log": x, "memory": recent} {
		s := NewService(source)
		res, err := s.GetQuery(t.Context(), &apiv1.GetQueryRequest{QueryId: "q1", Events: true})
		if err != nil {
			t.Fatal(err)
		}
		q, a := res.GetQuery(), res.GetAttempts()
		if q.GetStatus() != apiv1.QueryStatus_QUERY_STATUS_FAILED || len(q.GetStatement()) != 1800 || res.GetError().GetDetail().GetPosition().GetEnd() != 2 || res.GetRecorder().GetRelease() != "v0.2.0" {
			t.Errorf("%s: %v", name, res)
		}
		if len(a) != 1 || len(a[0].GetStages()) != 2 || len(a[0].GetWorkers()) != 1 {
			t.Fatalf("%s: %v", name, a)
		}
		root, scan := a[0].GetStages()[0], a[0].GetStages()[1]
		if p := root.GetPlan().GetRoot(); p.GetOperator() != "Aggregate" || len(p.GetChildren()) != 1 || root.GetFinished() != nil || root.GetStarted() == nil {
			t.Errorf("%s: %v", name, root)
		}
		task := scan.GetTasks()[0]
		if len(scan.GetTasks()) != 1 || task.GetRows() != 7 || task.GetScanned().GetRows() != 70 || task.GetWorker().GetVersion() != "v1" || scan.GetRows() != 7 || scan.GetPlan().GetRoot().GetMetrics().GetCounters()["pruned"] != 2 {
			t.Errorf("%s: %v", name, scan)
		}
		if d := res.GetDigest(); d.GetExact() != "ff" || len(d.GetFloats()) != 1 {
			t.Errorf("%s: %v", name, d)
		}
		if n := len(res.GetEvents()); n != 10 || res.GetEvents()[0].GetKind() != "query_started" || res.GetEvents()[9].GetData().GetFields()["digest"] == nil {
			t.Errorf("%s: %d events", name, n)
		}
		if other, err := s.GetQuery(t.Context(), &apiv1.GetQueryRequest{QueryId: "q2"}); err != nil || other.GetQuery().GetStatement() != "SELECT 2" || len(other.GetEvents()) != 0 {
			t.Errorf("%s: %v, %v", name, other, err)
		}
		if _, err := s.GetQuery(t.Context(), &apiv1.GetQueryRequest{QueryId: "nope"}); err == nil {
			t.Errorf("%s knows a query that never was", name)
		}
	}
}

// What a process has in memory and what it has in its log is listed once.
func TestMemoryAndLog(t *testing.T) {
	dir := t.TempDir()
	before := writer(t, dir, strings.Repeat("a", 32))
	started(before, "q0", "SELECT 0")
	before.Commit("q0", finished("v1", ""))
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	w := writer(t, dir, instance)
	defer func() { _ = w.Close() }()
	recent := NewRecent(instance, nil)
	for _, id := range []string{"q1", "q2"} {
		started(recent, id, "SELECT 1")
		started(w, id, "SELECT 1")
		w.Commit(id, finished("v1", ""))
	}
	started(recent, "q3", "SELECT 1") // not on disk yet
	x := index(t, dir, t.TempDir())
	defer func() { _ = x.Close() }()
	res := list(t, NewService(recent, x), &apiv1.ListQueriesRequest{})
	if got := ids(res); !slices.Equal(got, []string{"q3", "q2", "q1", "q0"}) {
		t.Errorf("%v", got)
	}
	if q := res.GetQueries()[0]; q.GetStatus() != apiv1.QueryStatus_QUERY_STATUS_RUNNING || q.GetElapsed().AsDuration() <= 0 {
		t.Errorf("%v", q)
	}
}

// Memory holds the last queries that ended, and all that run.
func TestRecentIsBounded(t *testing.T) {
	r := NewRecent(instance, nil)
	started(r, "running", "SELECT 1")
	for i := range recentQueries + 50 {
		id := fmt.Sprintf("q%04d", i)
		started(r, id, "SELECT 1")
		r.Append(id, finished("v1", ""))
	}
	if len(r.queries) != recentQueries+1 || !r.knows("running") || r.knows("q0049") || !r.knows("q0050") {
		t.Errorf("%d queries", len(r.queries))
	}
}

// The index is a cache: one of another form is made anew, one that another process has is left to it, and queries whose segments were
// deleted go.
func TestIndexIsACache(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	w := writer(t, dir, instance)
	started(w, "q1", "SELECT 1")
	w.Commit("q1", finished("v1", ""))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x := index(t, dir, cache)
	other := index(t, dir, cache)
	for _, x := range []*Index{x, other} {
		if got := ids(list(t, NewService(x), &apiv1.ListQueriesRequest{})); !slices.Equal(got, []string{"q1"}) {
			t.Errorf("%v", got)
		}
	}
	files, err := filepath.Glob(filepath.Join(cache, "*.index"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := x.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketAbout).Put([]byte("form"), []byte("0")) }); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Index{x, other} {
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(files[1], []byte(strings.Repeat("garbage ", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	x = index(t, dir, cache)
	other = index(t, dir, cache)
	for _, x := range []*Index{x, other} {
		if got := ids(list(t, NewService(x), &apiv1.ListQueriesRequest{})); !slices.Equal(got, []string{"q1"}) {
			t.Errorf("anew: %v", got)
		}
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("%v, %v", segments, err)
	}
	if err := os.Remove(segments[0]); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*Index{x, other} {
		if err := x.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := ids(list(t, NewService(x), &apiv1.ListQueriesRequest{})); len(got) != 0 {
			t.Errorf("deleted, and still there: %v", got)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A query without an end is told of as the log's reader tells: by what its part of the log looks like.
func TestStates(t *testing.T) {
	for _, tc := range []struct {
		name   string
		damage func(b []byte) []byte
		want   apiv1.QueryStatus
	}{
		{"whole", func(b []byte) []byte { return b }, apiv1.QueryStatus_QUERY_STATUS_SUCCEEDED},
		{"cut after its beginning", func(b []byte) []byte { return b[:bytes.Index(b, []byte("query_finished"))-len(`{"v":1,"kind":"`)] }, apiv1.QueryStatus_QUERY_STATUS_CRASHED},
		{"cut in its end", func(b []byte) []byte { return b[:bytes.Index(b, []byte("query_finished"))+40] }, apiv1.QueryStatus_QUERY_STATUS_TORN},
		{"its end damaged", func(b []byte) []byte {
			b[bytes.Index(b, []byte("query_finished"))+100] ^= 1
			return b
		}, apiv1.QueryStatus_QUERY_STATUS_CORRUPT},
	} {
		dir := t.TempDir()
		w := writer(t, dir, instance)
		started(w, "q1", "SELECT 1")
		w.Commit("q1", finished("v1", ""))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		segments, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(segments) != 1 {
			t.Fatalf("%v, %v", segments, err)
		}
		b, err := os.ReadFile(segments[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(segments[0], tc.damage(b), 0o600); err != nil {
			t.Fatal(err)
		}
		// The file was written a moment ago; only its age and its lock say that nobody writes it.
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(segments[0], old, old); err != nil {
			t.Fatal(err)
		}
		x := index(t, dir, t.TempDir())
		res := list(t, NewService(x), &apiv1.ListQueriesRequest{})
		if len(res.GetQueries()) != 1 || res.GetQueries()[0].GetStatus() != tc.want {
			t.Errorf("%s: %v", tc.name, res)
		}
		one, err := NewService(x).GetQuery(t.Context(), &apiv1.GetQueryRequest{QueryId: "q1"})
		if err != nil || one.GetQuery().GetStatus() != tc.want || one.GetQuery().GetStatement() != "SELECT 1" {
			t.Errorf("%s: %v, %v", tc.name, one, err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
