package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/coordinator"
	queryhistory "github.com/fletchdb/fletch/services/history"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// command runs fletch and gives what it prints; it must end with that code.
func command(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	if got := Run(t.Context(), args, strings.NewReader(""), &o, &e); got != code {
		t.Errorf("%v: exit code %d, not %d: %s", args, got, code, e.String())
	}
	return o.String(), e.String()
}

// A line is a line of fletch queries --format ndjson.
type line struct {
	Query, Status, Statement, Version, Code string
	Rows                                    uint64
	Elapsed                                 float64 `json:"elapsed_ms"`
}

func queries(t *testing.T, server string, args ...string) (list []line) {
	t.Helper()
	out, _ := command(t, exitOK, append([]string{"queries", "--connect", server, "--format", "ndjson"}, args...)...)
	d := json.NewDecoder(strings.NewReader(out))
	for {
		var l line
		if err := d.Decode(&l); err != nil {
			if err != io.EOF { //nolint:errorlint // what a decoder gives
				t.Fatalf("%v in %s", err, out)
			}
			return list
		}
		list = append(list, l)
	}
}

// Queries are listed and shown alike by the coordinator that ran them, by the one after it, and by a history server.
func TestQueries(t *testing.T) {
	log, cache := t.TempDir(), t.TempDir()
	w := clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(dataDir(t))).URL()
	serve := func() string {
		return clustertest.Coordinator(t, []string{w}, coordinator.WithTables(dataDir(t)), coordinator.WithEventLog(log, 0, 0), coordinator.WithHistoryCache(cache)).URL()
	}
	first := serve()
	statement := "SELECT r_name, avg(r_regionkey)\nFROM region GROUP BY 1"
	for range 2 {
		command(t, exitOK, "sql", "--connect", first, "-c", statement, "--format", "csv")
	}
	command(t, exitFailed, "sql", "--connect", first, "-c", "SELECT 1 / (r_regionkey - r_regionkey) FROM region")
	h, err := queryhistory.NewServer(log, t.TempDir(), queryhistory.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- h.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	servers := map[string]string{"the coordinator": first, "the next one": serve(), "a history server": h.URL()}
	for name, server := range servers {
		list := queries(t, server)
		if len(list) != 3 || list[0].Code != "division_by_zero" || list[1].Status != "succeeded" || list[1].Version != "v1" || list[1].Rows != 5 || list[2].Statement != statement {
			t.Fatalf("%s lists %v", name, list)
		}
		failed := queries(t, server, "--status", "failed,crashed", "--since", "1h", "--error-code", "division_by_zero", "--worker-version", "v1")
		if !slices.Equal(failed, list[:1]) {
			t.Errorf("%s lists %v as failed", name, failed)
		}
		if found := queries(t, server, "--text", "GROUP by", "--limit", "1"); !slices.Equal(found, list[1:2]) {
			t.Errorf("%s finds %v by its text", name, found)
		}
		out, _ := command(t, exitOK, "query", list[1].Query, "--connect", server, "--events")
		for _, want := range []string{"status     succeeded\n", "\n  FROM region GROUP BY 1\n", "attempt 1, on 1 worker of version \"v1\"", "Scan region", "task 0 at " + w, "query_finished"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not say %q of a query: %s", name, want, out)
			}
		}
		out, _ = command(t, exitOK, "query", list[1].Query, list[2].Query, "--connect", server, "--format", "json")
		for _, want := range []string{`"what":"statement"`, `"what":"result"`, `"what":"stage 0 busy"`} {
			if !strings.Contains(out, want) {
				t.Errorf("%s does not compare %s: %s", name, want, out)
			}
		}
		if strings.Contains(out, "DIFFERS") || !strings.Contains(out, `digest`) {
			t.Errorf("%s says of two results: %s", name, out)
		}
		if _, errs := command(t, exitFailed, "query", "nosuch", "--connect", server); !strings.Contains(errs, "query nosuch: no such query is known here") {
			t.Errorf("%s says %q", name, errs)
		}
	}
	if _, errs := command(t, exitFailed, "sql", "--connect", h.URL(), "-c", "SELECT 1"); !strings.Contains(errs, "runs none: connect to a coordinator") {
		t.Errorf("a history server says of a statement: %s", errs)
	}
}

// Wrong use of the commands is told with what would be right.
func TestQueriesUsage(t *testing.T) {
	server := nowhere(t)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"queries", "--connect", server, "--status", "runnin"}, "did you mean running?"},
		{[]string{"queries", "--connect", server, "--since", "yesterday"}, "no time such as"},
		{[]string{"queries"}, "--connect"},
		{[]string{"query", "--connect", server}, "fletch queries lists them"},
		{[]string{"history"}, "--dir"},
		{[]string{"history", "--dir", t.TempDir()}, "no segment"},
		{[]string{"history", "--dir", "/no/such/folder"}, "there is no folder"},
		{[]string{"log", "stat", "queries_test.go"}, "not a directory"},
		{[]string{"rollout", "pni", "v1"}, "did you mean pin?"},
	} {
		if _, errs := command(t, exitUsage, tc.args...); !strings.Contains(errs, tc.says) {
			t.Errorf("%v: %s", tc.args, errs)
		}
	}
	if _, errs := command(t, exitUnreachable, "queries", "--connect", server); !strings.Contains(errs, "fletch serve starts a coordinator") {
		t.Error(errs)
	}
	if out, _ := command(t, exitOK, "rollout", "--help"); strings.Count(out, "fletch rollout COMMAND [flags]") != 1 {
		t.Errorf("its use is said more than once, or never: %s", out)
	}
}

// Results are the same by their digests, floats within what another order of adding up gives.
func TestSameResult(t *testing.T) {
	of := func(exact string, sum float64, undetermined bool) *apiv1.ResultDigest {
		return &apiv1.ResultDigest{Rule: 1, Rows: 2, Exact: exact, Floats: []*apiv1.FloatDigest{{Column: 1, Values: 2, Sum: sum}}, Undetermined: undetermined}
	}
	for _, tc := range []struct {
		a, b *apiv1.ResultDigest
		want string
	}{
		{of("aa", 1, false), of("aa", 1, false), "same"},
		{of("aa", 1, false), of("aa", 1+1e-12, false), "same"},
		{of("aa", 1, false), of("aa", 1+1e-6, false), "DIFFERS"},
		{of("aa", 1, false), of("bb", 1, false), "DIFFERS"},
		{of("aa", 1, true), of("bb", 1, true), "differs, as it may"},
		{of("aa", 1, false), &apiv1.ResultDigest{Rule: 2, Rows: 2, Exact: "aa"}, "unknown"},
		{of("aa", 1, false), nil, "unknown"},
	} {
		if got := sameResult(tc.a, tc.b); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%v and %v: %s, not %s", tc.a, tc.b, got, tc.want)
		}
	}
}
