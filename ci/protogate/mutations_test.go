package main

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/gate"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// A mutation is one entry of testdata/mutations/mutations.yaml.
type mutation struct {
	Change  string
	On      []string
	File    string
	Edit    [][2]string
	Is      string
	Also    string
	Version *int
	Write   map[string]string
	Remove  []string
	Rename  map[string]string
	Want    map[string][]string
	But     map[string][]string
}

var surfacesOfMutations = map[string]string{"link": "option (acme.options.v1.link_version) = 1;", "api": "option (acme.options.v1.api_minor) = 0;", "log": "option (acme.options.v1.log_version) = 1;", "identity": ""}

// follows are the verdicts that follow from what a change is.
func follows(surface, is string) []string {
	switch {
	case is == "break" && surface == "link":
		return []string{verdict.MissingBump}
	case is == "break" && surface == "log":
		return []string{verdict.MissingBump, verdict.NoUpcaster, verdict.NoFixture}
	case is == "break" && surface == "api":
		return []string{verdict.BreakInMajor}
	case is == "break" && surface == "identity":
		return []string{verdict.BreakForEver}
	case is == "addition" && surface == "api":
		return []string{verdict.MissingMinor}
	}
	return nil
}

func (m *mutation) want(surface string) []string {
	for _, stated := range []map[string][]string{m.Want, m.But} {
		if want, ok := stated[surface]; ok {
			return want
		}
	}
	return append(follows(surface, m.Is), follows(surface, m.Also)...)
}

// expand makes the text of a module of the surface.
func expand(text, surface string) string {
	version := surfacesOfMutations[surface]
	if version == "" {
		text = strings.ReplaceAll(text, "import \"acme/options/v1/options.proto\";\n\nVERSION", "VERSION")
	}
	return strings.NewReplacer("PKG", surface, "SURFACE", surface, "VERSION", version).Replace(text)
}

// mutationBase is a released repository to mutate.
func mutationBase(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/mutations/base")); err != nil {
		t.Fatal(err)
	}
	template := filepath.Join(root, "proto/surface")
	entries, err := os.ReadDir(template)
	if err != nil {
		t.Fatal(err)
	}
	for surface := range surfacesOfMutations {
		for _, e := range entries {
			write(t, root, path.Join("proto", surface, "acme", surface, "v1", e.Name()), expand(read(t, template, e.Name()), surface))
		}
	}
	if err := os.RemoveAll(template); err != nil {
		t.Fatal(err)
	}
	git(t, root, "init", "-q")
	commitAll(t, root, "the schemas")
	ok(t, root, "release", "v1.0.0")
	if err := os.RemoveAll(filepath.Join(root, ".git")); err != nil {
		t.Fatal(err)
	}
	return root
}

// apply makes the change on one surface of the repository at root.
func (m *mutation) apply(t *testing.T, root, surface string) {
	t.Helper()
	in := func(file string) string {
		if strings.Contains(file, "/") {
			return expand(file, surface)
		}
		return path.Join("proto", surface, "acme", surface, "v1", file)
	}
	file := m.File
	if file == "" {
		file = "thing.proto"
	}
	for _, e := range m.Edit {
		edit(t, root, in(file), expand(e[0], surface), expand(e[1], surface))
	}
	for p, text := range m.Write {
		write(t, root, expand(p, surface), expand(text, surface))
	}
	for _, p := range m.Remove {
		if err := os.Remove(filepath.Join(root, in(p))); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range m.Rename {
		if err := os.Rename(filepath.Join(root, in(from)), filepath.Join(root, in(to))); err != nil {
			t.Fatal(err)
		}
	}
	if m.Version != nil {
		option := surfacesOfMutations[surface]
		i := strings.LastIndexByte(option, ' ')
		edit(t, root, in("version.proto"), option, option[:i]+" "+string(rune('0'+*m.Version))+";")
	}
}

var everySurface = flag.Bool("every-surface", false, "run buf for each surface of each mutation, and not only for one of them")

// A mutation is checked on one surface as the program checks it. The others have the same rules and so the same findings: they
// are judged on those, each by its policy, unless -every-surface is given.
func TestMutations(t *testing.T) {
	text, err := os.ReadFile("testdata/mutations/mutations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var mutations []mutation
	if err := yaml.Unmarshal(text, &mutations); err != nil {
		t.Fatal(err)
	}
	base := mutationBase(t)
	cfg, err := config.Load(base, "protogate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := self()
	if err != nil {
		t.Fatal(err)
	}
	needed := &neededRules{alone: map[string]string{}}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)+1)
	verdicts := 0
	t.Run("all", func(t *testing.T) {
		for i, m := range mutations {
			on, alike := m.On, 0
			if len(on) == 0 {
				on = []string{"link", "api", "log", "identity"}
				alike = i % len(on)
			}
			verdicts += len(on)
			for j, surface := range on {
				if len(m.On) == 0 && len(m.Want) == 0 && j != alike && !*everySurface {
					continue
				}
				t.Run(m.Change+"/"+surface, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					root := t.TempDir()
					if err := os.CopyFS(root, os.DirFS(base)); err != nil {
						t.Fatal(err)
					}
					m.apply(t, root, surface)
					r := gate.Check(t.Context(), gate.Options{Root: root, Surfaces: []string{surface}, NoHistory: true, Plugin: plugin})
					for _, p := range r.Problems {
						t.Fatalf("could not decide: %s", p.Message)
					}
					s := r.Surfaces[0]
					m.judge(t, surface, s.Findings, append(r.Repository, s.Verdicts...))
					needed.add(m.Change+" on "+surface, s.Findings)
					if len(m.On) == 0 && len(m.Want) == 0 {
						for _, other := range on {
							m.judge(t, other, s.Findings, verdict.Decide(alikeFacts(t, cfg, other, surface, s.Findings)))
						}
					}
				})
			}
		}
	})
	t.Logf("%d mutations, %d verdicts", len(mutations), verdicts)
	if len(mutations) < 150 {
		t.Errorf("%d mutations, want 150", len(mutations))
	}
	if needed.seen >= len(mutations) { // not with -run for some
		needed.check(t)
	}
}

// alikeFacts are the facts of a surface that changed as another one did.
func alikeFacts(t *testing.T, cfg *config.Config, surface, other string, findings []verdict.Finding) verdict.Facts {
	s, _ := cfg.Surface(surface)
	o, _ := cfg.Surface(other)
	if !slices.Equal(s.Rules, o.Rules) {
		t.Errorf("%s and %s have not the same rules", surface, other)
	}
	f := verdict.Facts{Surface: s, Release: "v1.0.0"}
	for _, found := range findings {
		found.Package = strings.ReplaceAll(found.Package, "."+other+".", "."+surface+".")
		f.Findings = append(f.Findings, found)
	}
	if s.Version != "" {
		v := verdict.Version{Package: "acme." + surface + ".v1", Path: "version.proto"}
		if s.Policy != config.Stable {
			v.Value = 1
		}
		f.Released, f.Current = []verdict.Version{v}, []verdict.Version{v}
	}
	return f
}

// judge compares the verdicts with those the mutation must get.
func (m *mutation) judge(t *testing.T, surface string, findings []verdict.Finding, verdicts []verdict.Verdict) {
	t.Helper()
	var got []string
	for _, v := range verdicts {
		got = append(got, v.ID)
		if v.Message == "" || len(v.Next) == 0 {
			t.Errorf("verdict %s says %q and leads to %q", v.ID, v.Message, v.Next)
		}
	}
	want := slices.Clone(m.want(surface))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: verdicts %v, want %v; findings:", surface, got, want)
		for _, f := range findings {
			t.Logf("  %s %s %s:%d %s", f.Class, f.Rule, f.Path, f.Line, f.Message)
		}
	}
	for _, class := range []verdict.Class{verdict.Break, verdict.Addition, verdict.Look} {
		is := m.Is == string(class) || m.Also == string(class)
		if n := len(verdict.Of(findings, class)); is && n == 0 || n > 0 && m.Is == "benign" {
			t.Errorf("%d findings of class %s for what is %s", n, class, m.Is)
		}
	}
	if m.Is != "break" && m.Also != "break" && len(verdict.Of(findings, verdict.Break)) > 0 {
		t.Errorf("a break was found in what is %s", m.Is)
	}
	for _, f := range findings {
		if f.Path == "" || f.Why == "" || strings.Contains(f.Why, "goes by the old schema") {
			t.Errorf("finding %s has path %q and matters since %q", f.Rule, f.Path, f.Why)
		}
	}
}

// neededRules knows of each rule in a surface's list a mutation that no other rule of the list finds.
type neededRules struct {
	mu    sync.Mutex
	seen  int
	alone map[string]string
}

// wireJSON are the rules that buf has in its category WIRE_JSON, as far as mutations meet them.
var wireJSON = []string{
	"ENUM_SAME_JSON_FORMAT", "ENUM_VALUE_SAME_NAME", "FIELD_SAME_JSON_NAME", "FIELD_SAME_NAME", "MESSAGE_SAME_JSON_FORMAT", "FIELD_SAME_DEFAULT",
	"FIELD_SAME_ONEOF", "FILE_SAME_PACKAGE", "MESSAGE_SAME_REQUIRED_FIELDS", "RESERVED_ENUM_NO_DELETE", "RESERVED_MESSAGE_NO_DELETE",
	"RPC_SAME_CLIENT_STREAMING", "RPC_SAME_IDEMPOTENCY_LEVEL", "RPC_SAME_REQUEST_TYPE", "RPC_SAME_RESPONSE_TYPE", "RPC_SAME_SERVER_STREAMING",
	"ENUM_VALUE_NO_DELETE_UNLESS_NAME_RESERVED", "FIELD_NO_DELETE_UNLESS_NAME_RESERVED", "FIELD_WIRE_JSON_COMPATIBLE_CARDINALITY",
	"FIELD_WIRE_JSON_COMPATIBLE_TYPE", "ENUM_VALUE_NO_DELETE_UNLESS_NUMBER_RESERVED", "FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED",
}

func (n *neededRules) add(name string, findings []verdict.Finding) {
	var by []string
	for _, f := range verdict.Of(findings, verdict.Break) {
		rule := f.Rule
		if slices.Contains(wireJSON, rule) {
			rule = "WIRE_JSON"
		}
		if !slices.Contains(by, rule) {
			by = append(by, rule)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen++
	if len(by) == 1 {
		n.alone[by[0]] = name
	}
}

func (n *neededRules) check(t *testing.T) {
	for _, rule := range config.DefaultRules {
		if n.alone[rule] == "" {
			t.Errorf("no mutation needs rule %s", rule)
		}
	}
}
