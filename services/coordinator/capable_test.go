package coordinator_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/codec"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// A worker that knows less of plans gets one without what is only a hint; what it cannot do without is named.
func TestPlansForWorkersThatKnowLess(t *testing.T) {
	e, err := engine.Open(engine.Config{Tables: clustertest.TPCH(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	const join = "SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_totalprice < 1000"
	for _, tc := range []struct {
		name, sql string
		lacks     map[string]uint32 // message → field that the worker does not know
		gone      []string          // of the plan's JSON
		unknown   []string
	}{
		{name: "nothing", sql: join},
		{
			name: "hints", sql: join, gone: []string{"runtimeBuilds", "runtimeProbes", "estimatedRows"},
			lacks: map[string]uint32{"fletch.plan.v1.Node": 1, "fletch.plan.v1.Scan": 6, "fletch.plan.v1.HashJoin": 10},
		},
		{
			name: "an operator", sql: "SELECT rank() OVER (ORDER BY n_name) FROM nation", lacks: map[string]uint32{"fletch.plan.v1.Node": 14},
			unknown: []string{"fletch.plan.v1.Node.window"},
		},
		{name: "an operator that is not there", sql: join, lacks: map[string]uint32{"fletch.plan.v1.Node": 14}},
	} {
		caps := &identityv1.Capabilities{}
		caps.Messages, caps.Enums = identity.KnownPlan()
		for _, m := range caps.GetMessages() {
			if n, ok := tc.lacks[m.GetName()]; ok {
				m.Fields = slices.DeleteFunc(m.GetFields(), func(f uint32) bool { return f == n })
			}
		}
		plan, err := e.Plan(t.Context(), tc.sql)
		if err != nil {
			t.Fatal(err)
		}
		fragment, err := codec.Encode(plan.Root, e.Tasks(plan, 1)[0].Output)
		if err != nil {
			t.Fatal(err)
		}
		before := protojson.Format(fragment)
		unknown := coordinator.Cut(caps, fragment)
		after := protojson.Format(fragment)
		for _, field := range tc.gone {
			if !strings.Contains(before, field) || strings.Contains(after, field) {
				t.Errorf("%s: %s was there: %v, is: %v", tc.name, field, strings.Contains(before, field), strings.Contains(after, field))
			}
		}
		if !slices.Equal(unknown, tc.unknown) || len(tc.gone) == 0 && before != after {
			t.Errorf("%s: unknown are %v, want %v", tc.name, unknown, tc.unknown)
		}
		if _, _, err := codec.Decode(fragment, nil); err != nil {
			t.Errorf("%s: what is left is no plan: %v", tc.name, err)
		}
	}
}
