package verdict_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

var (
	link = config.Surface{Name: "link", Path: "proto/link", Policy: config.Lockstep, Peer: "worker", Version: "acme.v1.link_version", Reasons: "bumps"}
	api  = config.Surface{Name: "api", Path: "proto/api", Policy: config.Stable, Peer: "client", Version: "acme.v1.api_minor"}
	log  = config.Surface{Name: "log", Path: "proto/log", Policy: config.Archive, Peer: "reader", Version: "acme.v1.log_version", Upcaster: "from_{version}.go", Fixtures: "v{version}/*"}
	id   = config.Surface{Name: "id", Path: "proto/id", Policy: config.Stable, Peer: "process"}
)

func at(pkg string, values ...uint64) []verdict.Version {
	var out []verdict.Version
	for _, v := range values {
		out = append(out, verdict.Version{Package: pkg, Value: v, Path: fmt.Sprintf("v%d.proto", len(out)), Line: 3})
	}
	return out
}

func found(classes ...verdict.Class) []verdict.Finding {
	var out []verdict.Finding
	for i, c := range classes {
		out = append(out, verdict.Finding{Rule: "SOME_RULE", Class: c, Path: "a.proto", Line: i + 1, Package: "acme.api.v1"})
	}
	return out
}

func TestDecide(t *testing.T) {
	const b, a, l = verdict.Break, verdict.Addition, verdict.Look
	for _, tc := range []struct {
		name  string
		facts verdict.Facts
		want  []string
	}{
		{"lockstep, nothing", verdict.Facts{Surface: link, Released: at("p", 1), Current: at("p", 1)}, nil},
		{"lockstep, addition", verdict.Facts{Surface: link, Released: at("p", 1), Current: at("p", 1), Findings: found(a)}, nil},
		{"lockstep, break", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 4), Findings: found(b)}, []string{verdict.MissingBump}},
		{"lockstep, break and bump", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 5), Findings: found(b, b, a, l)}, nil},
		{"lockstep, bump too far", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 6), Findings: found(b)}, []string{verdict.BumpTooFar}},
		{"lockstep, bump back", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 3)}, []string{verdict.BumpBack}},
		{"lockstep, needless", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 5), Findings: found(a)}, []string{verdict.NeedlessBump}},
		{"lockstep, meaning without words", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 5), Findings: found(l)}, []string{verdict.ReasonMissing}},
		{"lockstep, meaning in words", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 5), Reasons: map[uint64]bool{5: true}}, nil},
		{"lockstep, words of an old bump", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 4), Reasons: map[uint64]bool{3: true, 4: true}}, nil},
		{"lockstep, words of a bump to come", verdict.Facts{Surface: link, Released: at("p", 4), Current: at("p", 4), Reasons: map[uint64]bool{5: true}}, []string{verdict.ReasonWithout}},
		{"lockstep, new", verdict.Facts{Surface: link, Current: at("p", 1)}, nil},
		{"lockstep, new with 2", verdict.Facts{Surface: link, Current: at("p", 2)}, []string{verdict.FirstVersion}},
		{"lockstep, new without", verdict.Facts{Surface: link}, []string{verdict.VersionMissing}},
		{"lockstep, gone", verdict.Facts{Surface: link, Released: at("p", 1)}, []string{verdict.VersionRemoved}},
		{"lockstep, twice", verdict.Facts{Surface: link, Released: at("p", 1), Current: at("p", 1, 1)}, []string{verdict.VersionTwice}},

		{"stable, nothing", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 2)}, nil},
		{"stable, addition", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 2), Findings: found(a)}, []string{verdict.MissingMinor}},
		{"stable, addition and minor", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 3), Findings: found(a, l)}, nil},
		{"stable, minor too far", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 4), Findings: found(a)}, []string{verdict.BumpTooFar}},
		{"stable, minor back", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 1)}, []string{verdict.BumpBack}},
		{"stable, needless minor", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 3)}, []string{verdict.NeedlessMinor}},
		{"stable, break", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v1", 2), Findings: found(b)}, []string{verdict.BreakInMajor}},
		{"stable, next major", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: append(at("acme.api.v1", 2), at("acme.api.v2", 0)...)}, nil},
		{"stable, old major gone", verdict.Facts{Surface: api, Released: at("acme.api.v1", 2), Current: at("acme.api.v2", 0), Findings: found(b)}, []string{verdict.BreakInMajor, verdict.VersionRemoved}},
		{"stable, new", verdict.Facts{Surface: api, Current: at("acme.api.v1", 0)}, nil},
		{"stable, new with 1", verdict.Facts{Surface: api, Current: at("acme.api.v1", 1)}, []string{verdict.FirstVersion}},

		{"for ever, addition", verdict.Facts{Surface: id, Findings: found(a, l)}, nil},
		{"for ever, break", verdict.Facts{Surface: id, Findings: found(b)}, []string{verdict.BreakForEver}},

		{"archive, addition", verdict.Facts{Surface: log, Released: at("p", 1), Current: at("p", 1), Findings: found(a)}, nil},
		{"archive, break", verdict.Facts{Surface: log, Released: at("p", 1), Current: at("p", 1), Findings: found(b)}, []string{verdict.MissingBump, verdict.NoUpcaster, verdict.NoFixture}},
		{"archive, break as it should be", verdict.Facts{Surface: log, Released: at("p", 1), Current: at("p", 2), Findings: found(b), Upcaster: true, Fixtures: true}, nil},
		{"archive, new form beside the old", verdict.Facts{Surface: log, Released: at("p", 1), Current: at("p", 2), Findings: found(a), Upcaster: true, Fixtures: true}, nil},
		{"archive, needless", verdict.Facts{Surface: log, Released: at("p", 1), Current: at("p", 2), Fixtures: true}, []string{verdict.NeedlessBump, verdict.NoUpcaster}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.facts.Release = "v1.0.0"
			var got []string
			for _, v := range verdict.Decide(tc.facts) {
				got = append(got, v.ID)
				if v.Message == "" || len(v.Next) == 0 || slices.Contains(v.Next, "") {
					t.Errorf("%s says %q and leads to %q", v.ID, v.Message, v.Next)
				}
				if verdict.Explain(v.ID) == "" {
					t.Errorf("%s is explained nowhere", v.ID)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("verdicts %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWhy(t *testing.T) {
	live, stored := verdict.Peer{Name: "worker", Policy: config.Lockstep, Of: "protocol 1"}, verdict.Peer{Name: "reader", Policy: config.Archive, Of: "log version 1"}
	for rule, want := range map[string][2]string{
		"FIELD_NO_DELETE":    {"A worker of protocol 1 goes on sending the field, which is dropped in silence, and reads an empty one where it needs a value.", "A reader of log version 1 wrote the field: what stands in it can no longer be read."},
		"UNHEARD_OF":         {"A worker of protocol 1 goes by the old schema.", "A reader of log version 1 goes by the old schema."},
		"RPC_SAME_STREAMING": {"A worker of protocol 1 sends or awaits one message where the other end has many: the call hangs or fails.", "A reader of log version 1 sends or awaits one message where the other end has many: the call hangs or fails."},
	} {
		if got := [2]string{verdict.Why(rule, live), verdict.Why(rule, stored)}; got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}
