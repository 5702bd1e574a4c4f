package identity

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect/v2"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
)

func id(version string) *identityv1.Identity {
	return &identityv1.Identity{Version: version, Protocol: 3, InstanceId: strings.Repeat("a", 32), Capabilities: strings.Repeat("c", 32)}
}

func TestHeadersThereAndBack(t *testing.T) {
	for _, version := range []string{
		"", "2.4.1", "v1 (build 7), final", "50 %", "%41", "a/b?c#d;e,f", "grün 日本", " spaces at both ends ", strings.Repeat("ü", 64), strings.Repeat("日", 42), strings.Repeat("x", 128),
	} {
		t.Run(version, func(t *testing.T) {
			if err := CheckVersion(version); err != nil {
				t.Fatal(err)
			}
			var h connect.Header
			write(&h, id(version))
			size := 0
			for name, values := range h.All() {
				size += len(name) + len(values[0])
				if strings.ContainsFunc(values[0], func(r rune) bool { return r <= ' ' || r > '~' }) {
					t.Errorf("%s: %q cannot stand in a header", name, values[0])
				}
			}
			if size > 1024 {
				t.Errorf("%d bytes of headers", size)
			}
			if got, missing := read(&h); len(missing) > 0 || !Same(got, id(version)) {
				t.Errorf("got %v, missing %v", got, missing)
			}
		})
	}
}

func TestHeadersThatAreWrong(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*connect.Header)
		missing string // names, or empty: they are read, but they are another identity
	}{
		{"all absent", func(h *connect.Header) { *h = connect.Header{} }, "Fletch-Instance Fletch-Worker-Version Fletch-Protocol Fletch-Capabilities"},
		{"no instance", func(h *connect.Header) { h.Delete(HeaderInstance) }, HeaderInstance},
		{"no version", func(h *connect.Header) { h.Delete(HeaderVersion) }, HeaderVersion},
		{"no protocol", func(h *connect.Header) { h.Delete(HeaderProtocol) }, HeaderProtocol},
		{"no capabilities", func(h *connect.Header) { h.Delete(HeaderCapabilities) }, HeaderCapabilities},
		{"an instance twice", func(h *connect.Header) { h.Add(HeaderInstance, "another") }, HeaderInstance},
		{"a version twice", func(h *connect.Header) { h.Add(HeaderVersion, "1.0") }, HeaderVersion},
		{"a broken escape", func(h *connect.Header) { h.Set(HeaderVersion, "1.0%4") }, HeaderVersion},
		{"an escaped control character", func(h *connect.Header) { h.Set(HeaderVersion, "1.0%0a") }, HeaderVersion},
		{"an escaped NUL", func(h *connect.Header) { h.Set(HeaderVersion, "1.0%00") }, HeaderVersion},
		{"escaped bytes that are no text", func(h *connect.Header) { h.Set(HeaderVersion, "%ff%fe") }, HeaderVersion},
		{"an oversized version", func(h *connect.Header) { h.Set(HeaderVersion, strings.Repeat("x", 129)) }, HeaderVersion},
		{"a huge version", func(h *connect.Header) { h.Set(HeaderVersion, strings.Repeat("%41", 10_000)) }, HeaderVersion},
		{"a protocol that is no number", func(h *connect.Header) { h.Set(HeaderProtocol, "three") }, HeaderProtocol},
		{"a negative protocol", func(h *connect.Header) { h.Set(HeaderProtocol, "-1") }, HeaderProtocol},
		{"a protocol that is too large", func(h *connect.Header) { h.Set(HeaderProtocol, "4294967299") }, HeaderProtocol},
		{"a protocol with a space", func(h *connect.Header) { h.Set(HeaderProtocol, "3 ") }, HeaderProtocol},
		{"an empty protocol", func(h *connect.Header) { h.Set(HeaderProtocol, "") }, HeaderProtocol},
		{"an empty instance", func(h *connect.Header) { h.Set(HeaderInstance, "") }, ""},
		{"an oversized instance", func(h *connect.Header) { h.Set(HeaderInstance, strings.Repeat("a", 30_000)) }, ""},
		{"oversized text", func(h *connect.Header) { h.Set(HeaderCapabilities, "c"+strings.Repeat("ü", 100)) }, ""},
		{"bytes that are no text", func(h *connect.Header) { h.Set(HeaderCapabilities, "\xff\xfe\x80") }, ""},
		{"control characters", func(h *connect.Header) { h.Set(HeaderInstance, "a\tb\x7f") }, ""},
		{"another version", func(h *connect.Header) { h.Set(HeaderVersion, "1.1") }, ""},
		{"another protocol", func(h *connect.Header) { h.Set(HeaderProtocol, "4") }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h connect.Header
			write(&h, id("1.0"))
			tc.change(&h)
			got, missing := read(&h)
			if strings.Join(missing, " ") != tc.missing {
				t.Errorf("missing %v, want %s", missing, tc.missing)
			}
			if tc.missing == "" && Same(got, id("1.0")) {
				t.Errorf("%v is the right one", got)
			}
			// What was wrong is sent back in the refusal, bounded and clean.
			refusal := Mismatch(got, id("1.0"))
			details := refusal.Details()
			if len(details) != 1 || len(details[0].Value) > 1024 || len(refusal.Message()) > 512 {
				t.Fatalf("the refusal is %v with details %v", refusal, details)
			}
			if strings.ContainsFunc(refusal.Message(), func(r rune) bool { return r < ' ' || r == '\ufffd' }) {
				t.Errorf("the refusal says %q", refusal.Message())
			}
		})
	}
}

func TestCheckVersion(t *testing.T) {
	for _, tc := range []struct{ version, want string }{
		{"", ""},
		{strings.Repeat("ü", 64), ""},
		{strings.Repeat("ü", 64) + "x", "at most 128 bytes, this one has 129"},
		{"a\xff", "is UTF-8 text"},
		{"a\nb", "no control characters"},
		{"a\u0085b", "no control characters"},
	} {
		err := CheckVersion(tc.version)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: got %v, want %q", tc.version, err, tc.want)
		}
	}
}

// The digest is compared between builds: it must never change for the same capabilities.
func TestDigestGolden(t *testing.T) {
	c := &identityv1.Capabilities{
		Messages:  []*identityv1.KnownMessage{{Name: "fletch.plan.v1.Filter", Fields: []uint32{1, 2, 10}}, {Name: "fletch.plan.v1.Empty"}},
		Enums:     []*identityv1.KnownEnum{{Name: "fletch.plan.v1.JoinKind", Values: []int32{-1, 0, 1}}},
		Functions: []*identityv1.Function{{Name: "f", Arguments: []string{"BIGINT", "TEXT…"}, Result: "any", Volatility: "immutable", Version: "2"}, {Name: "now", Result: "TIMESTAMP", Volatility: "stable"}},
		HashSpec:  1, AggregateStateSpec: 3,
	}
	// The first 32 digits of what sha256sum says of:
	//   aggregate_state_spec 3
	//   enum fletch.plan.v1.JoinKind -1,0,1
	//   function f(BIGINT,TEXT…) any immutable 2
	//   function now() TIMESTAMP stable
	//   hash_spec 1
	//   message fletch.plan.v1.Empty
	//   message fletch.plan.v1.Filter 1,2,10
	// where the lines of now() and Empty end in a space.
	const want = "63d1135ea36fe0a750955d107504f763"
	if got := Digest(c); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, change := range []func(){
		func() { c.HashSpec = 2 },
		func() { c.Functions[0].Version = "3" },
		func() { c.Messages[0].Fields = append(c.Messages[0].Fields, 11) },
		func() { c.Enums[0].Values = c.Enums[0].Values[:2] },
	} {
		before := Digest(c)
		change()
		if Digest(c) == before {
			t.Errorf("a change left the digest as it was: %v", c)
		}
	}
	if got := Digest(&identityv1.Capabilities{}); len(got) != 32 {
		t.Errorf("got %q", got)
	}
}

func TestKnown(t *testing.T) {
	messages, enums := Known(planv1.File_fletch_plan_v1_plan_proto, planv1.File_fletch_plan_v1_expression_proto)
	if len(messages) == 0 || len(enums) == 0 {
		t.Fatalf("%d messages and %d enums", len(messages), len(enums))
	}
	seen := map[string]bool{}
	last := ""
	for _, m := range messages {
		if m.GetName() <= last || seen[m.GetName()] {
			t.Errorf("%s stands after %s", m.GetName(), last)
		}
		last = m.GetName()
		seen[last] = true
		for i, f := range m.GetFields() {
			if f == 0 || i > 0 && f <= m.GetFields()[i-1] {
				t.Errorf("%s: fields %v", m.GetName(), m.GetFields())
			}
		}
	}
	last = ""
	for _, e := range enums {
		if e.GetName() <= last {
			t.Errorf("%s stands after %s", e.GetName(), last)
		}
		last = e.GetName()
		if vs := e.GetValues(); len(vs) == 0 || vs[0] != 0 {
			t.Errorf("%s: values %v", e.GetName(), vs)
		}
	}
	for _, want := range []string{"fletch.plan.v1.Fragment", "fletch.plan.v1.Filter"} {
		if !seen[want] {
			t.Errorf("%s is not listed", want)
		}
	}
	if seen["fletch.plan.v1.Type"] {
		t.Error("a message of a file that was not asked for is listed")
	}
	// Nested messages and enums are listed too, entries of maps are not.
	nested, inner := Known(identityv1.File_fletch_identity_v1_identity_proto)
	if len(nested) == 0 || len(inner) != 1 || inner[0].GetName() != "fletch.identity.v1.WorkerState" {
		t.Errorf("got %v and %v", nested, inner)
	}
}

func TestVersions(t *testing.T) {
	if Protocol() == 0 {
		t.Error("worker.proto says no protocol version")
	}
	if API().Major != 1 || APIMinimum().Minor > API().Minor {
		t.Errorf("API %v, minimum %v", API(), APIMinimum())
	}
	for _, tc := range []struct {
		in   string
		want APIVersion
		ok   bool
	}{
		{"1.0", APIVersion{1, 0}, true},
		{"12.345", APIVersion{12, 345}, true},
		{"1", APIVersion{}, false},
		{"", APIVersion{}, false},
		{"1.x", APIVersion{}, false},
		{"1.2.3", APIVersion{}, false},
		{"-1.0", APIVersion{}, false},
		{"99999.0", APIVersion{}, false},
	} {
		got, ok := ParseAPI(tc.in)
		if ok != tc.ok || ok && got != tc.want {
			t.Errorf("%q: got %v, %v", tc.in, got, ok)
		}
		if ok && got.String() != tc.in {
			t.Errorf("%q is printed as %q", tc.in, got)
		}
	}
}

func TestInstancesAndBuild(t *testing.T) {
	a, b := NewInstance(), NewInstance()
	if a == b || len(a) != 32 || strings.Trim(a, "0123456789abcdef") != "" {
		t.Errorf("instances %q and %q", a, b)
	}
	if got := Build(); !strings.HasPrefix(got, "go:") && !strings.HasPrefix(got, "sha256:") || len(got) > 128 {
		t.Errorf("build %q", got)
	}
	if got := Release(); got == "" {
		t.Error("no release")
	}
}

func TestDescribe(t *testing.T) {
	for _, tc := range []struct {
		id   *identityv1.Identity
		want string
	}{
		{id("2.4.1"), "2.4.1 (protocol 3, instance aaaaaaaa, capabilities cccccccc)"},
		{&identityv1.Identity{}, "unversioned (protocol none, instance none, capabilities none)"},
		{nil, "unversioned (protocol none, instance none, capabilities none)"},
	} {
		if got := Describe(tc.id); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

// The shipped build checks every call, and the tag that turns it off is known to nobody but the drill that needs it.
func TestNoSwitch(t *testing.T) {
	const tag = "fletch_" + "unchecked"
	if !enforced {
		t.Error("calls are not checked")
	}
	root := filepath.Join("..", "..", "..")
	allowed := []string{"ci/drills/rollout.go", "services/internal/identity/enforced.go", "services/internal/identity/unenforced.go"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if name, _ := filepath.Rel(root, path); bytes.Contains(text, []byte(tag)) && !slices.Contains(allowed, filepath.ToSlash(name)) {
			t.Errorf("%s knows the tag", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
