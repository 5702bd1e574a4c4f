package coordinator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// A query's own wish goes before its header's, that before its session's, and all before the policy.
func TestOwnWish(t *testing.T) {
	urls := []string{startWorker(t, "v1").URL(), startWorker(t, "v1").URL(), startWorker(t, "v2").URL(), startWorker(t, "v 3").URL()}
	co := clustertest.Coordinator(t, urls, coordinator.WithTables(clustertest.TPCH(t)))
	c := connectTo(t, co.URL())
	session, err := c.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := run(t.Context(), c, "SET fletch.worker_version = 'v2'", client.Options{SessionID: session}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ session, header, option, want string }{
		{"", "", "", "v1"}, {session, "", "", "v2"}, {session, "v%203", "", "v 3"}, {session, "v%203", "v1", "v1"}, {"", "v2", "", "v2"}, {"", "%zz", "", ""}, {"", "v%01", "", ""},
	} {
		body, err := json.Marshal(map[string]any{"statement": "SELECT count(*) FROM region", "options": map[string]string{"sessionId": tc.session, "workerVersion": tc.option}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, co.URL()+"/fletch.api.v1.QueryService/Fetch", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if tc.header != "" {
			req.Header.Set("fletch-want-version", tc.header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Message string
			End     struct{ Cohort struct{ Version string } }
		}
		err = json.NewDecoder(res.Body).Decode(&got)
		_ = res.Body.Close()
		if err != nil || got.End.Cohort.Version != tc.want || tc.want == "" && (res.StatusCode != http.StatusBadRequest || !strings.Contains(got.Message, "fletch-want-version")) {
			t.Errorf("%+v: %+v, %v", tc, got, err)
		}
	}
}

// A ramp takes new sessions, by their id and for good; those that were there before stay, and a revision that nobody saw is not
// overwritten.
func TestRampTakesNewSessions(t *testing.T) {
	urls := []string{startWorker(t, "v1").URL(), startWorker(t, "v1").URL(), startWorker(t, "v2").URL()}
	c := over(t, urls)
	open := func() string {
		id, err := c.OpenSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ranOn := func(session string) string {
		_, end, err := run(t.Context(), c, spread, client.Options{SessionID: session})
		if err != nil {
			t.Fatal(err)
		}
		return end.GetCohort().GetVersion()
	}
	before := open()
	set := func(percent uint32, revision uint64) *apiv1.Rollout {
		r, err := c.SetRollout(t.Context(), &apiv1.Rollout{Revision: revision, Ramp: &apiv1.Ramp{Version: "v2", Percent: percent}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	set(50, 0)
	if _, err := c.SetRollout(t.Context(), &apiv1.Rollout{Policy: &apiv1.Rollout_Match{Match: &apiv1.Match{}}}); sqlerr.CodeOf(err) == "" || !strings.Contains(err.Error(), "revision 1 is in force") {
		t.Errorf("a policy that nobody saw: %v (%s)", err, connect.CodeOf(err))
	}
	taken := map[string]string{}
	count := map[string]int{}
	for range 40 {
		id := open()
		taken[id] = ranOn(id)
		count[taken[id]]++
	}
	if count["v2"] < 8 || count["v2"] > 32 || count["v1"]+count["v2"] != 40 {
		t.Errorf("half of new sessions: %v", count)
	}
	for id, version := range taken {
		if again := ranOn(id); again != version {
			t.Errorf("a session ran on %s, then on %s", version, again)
		}
	}
	if v := ranOn(before); v != "v1" {
		t.Errorf("a session that was there before runs on %s", v)
	}
	set(100, 1)
	for id, version := range taken {
		if now := ranOn(id); now != version {
			t.Errorf("a session of %s runs on %s since the ramp grew", version, now)
		}
	}
	if v := ranOn(open()); v != "v2" {
		t.Errorf("with 100%% a new session runs on %s", v)
	}
	view, err := c.Rollout(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]apiv1.CohortState{}
	for _, g := range view.GetCohorts() {
		states[g.GetCohort().GetVersion()] = g.GetState()
	}
	if states["v1"] != apiv1.CohortState_COHORT_STATE_CURRENT || states["v2"] != apiv1.CohortState_COHORT_STATE_RAMPING {
		t.Errorf("states %v", states)
	}
}
