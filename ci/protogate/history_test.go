package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	image1  = "released/v1.0.0/link.binpb"
	vector1 = "released/v1.0.0/vectors/link/chutes.txt"
	lock1   = "released/v1.0.0/lock"
)

func remove(t *testing.T, root, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, filepath.FromSlash(path))); err != nil {
		t.Fatal(err)
	}
}

// relock makes the lock agree with a file that was changed.
func relock(t *testing.T, root, path, file string) {
	t.Helper()
	out, err := exec.Command("sha256sum", filepath.Join(root, path)).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(read(t, root, lock1), "\n")
	for i, l := range lines {
		if strings.HasSuffix(l, " "+file) {
			lines[i] = "file " + strings.Fields(string(out))[0] + " " + file
		}
	}
	write(t, root, lock1, strings.Join(lines, "\n"))
}

// Every way to bend what a release froze has a verdict of its own.
func TestTampering(t *testing.T) {
	base := released(t)
	for _, tc := range []struct {
		name string
		bend func(t *testing.T, root string)
		code int
		id   string // verdict, or the beginning of what could not be decided
	}{
		{"nothing", func(*testing.T, string) {}, 0, ""},
		{"a baseline gets one more byte", func(t *testing.T, root string) { write(t, root, image1, read(t, root, image1)+"\x00") }, 1, "baseline-touched"},
		{"a vector is changed", func(t *testing.T, root string) { edit(t, root, vector1, "4", "5") }, 1, "baseline-touched"},
		{"a vector is deleted", func(t *testing.T, root string) { remove(t, root, vector1) }, 1, "baseline-deleted"},
		{"a baseline is deleted", func(t *testing.T, root string) { remove(t, root, image1) }, 2, "released/v1.0.0/link.binpb is missing: the lock of v1.0.0 lists it"},
		{"a vector is edited together with its lock", func(t *testing.T, root string) {
			edit(t, root, vector1, "4", "5")
			relock(t, root, vector1, "vectors/link/chutes.txt")
		}, 1, "history-touched"},
		{"the same, committed", func(t *testing.T, root string) {
			edit(t, root, vector1, "4", "5")
			relock(t, root, vector1, "vectors/link/chutes.txt")
			commitAll(t, root, "no harm")
		}, 1, "history-touched"},
		{"the lock is edited", func(t *testing.T, root string) { edit(t, root, lock1, "lockstep", "stable") }, 1, "history-touched"},
		{"the lock is no lock", func(t *testing.T, root string) { write(t, root, lock1, "release v1.0.0\n") }, 1, "lock-broken"},
		{"the lock is deleted", func(t *testing.T, root string) { remove(t, root, lock1) }, 1, "lock-broken"},
		{"the release is deleted", func(t *testing.T, root string) { remove(t, root, "released/v1.0.0") }, 1, "release-deleted"},
		{"all releases are deleted, committed", func(t *testing.T, root string) { remove(t, root, "released"); commitAll(t, root, "tidy") }, 1, "release-deleted"},
		{"a file is put among the frozen ones", func(t *testing.T, root string) { write(t, root, "released/v1.0.0/vectors/link/more.txt", "x") }, 1, "baseline-unlisted"},
		{"a folder is put among the releases", func(t *testing.T, root string) { write(t, root, "released/next/lock", "x") }, 1, "baseline-unlisted"},
		{"the version option is removed", func(t *testing.T, root string) {
			edit(t, root, "proto/link/depot/link/v1/link.proto", "option (depot.options.v1.link_version) = 1;", "")
		}, 1, "version-removed"},
		{"a surface is taken from the configuration", func(t *testing.T, root string) {
			text := read(t, root, "protogate.yaml")
			write(t, root, "protogate.yaml", text[:strings.Index(text, "  - name: track")])
		}, 1, "surface-removed"},
		{"a policy is loosened", func(t *testing.T, root string) {
			edit(t, root, "protogate.yaml", "policy: lockstep", "policy: stable")
		}, 1, "gate-loosened"},
		{"rules are loosened", func(t *testing.T, root string) {
			edit(t, root, "protogate.yaml", "    policy: lockstep\n", "    policy: lockstep\n    rules: [WIRE]\n")
		}, 1, "gate-loosened"},
		{"vectors are no longer written", func(t *testing.T, root string) {
			edit(t, root, "protogate.yaml", "    vectors: [sh, vectors.sh]\n", "")
		}, 1, "gate-loosened"},
		{"the schema does not compile", func(t *testing.T, root string) {
			edit(t, root, "proto/link/depot/link/v1/link.proto", "uint32 weight = 2;", "uint33 weight = 2;")
		}, 2, "proto/link does not compile"},
		{"the vectors cannot be written", func(t *testing.T, root string) { write(t, root, "vectors.sh", "echo broken >&2; exit 3\n") }, 2, "the golden vectors of link could not be written"},
		{"buf is missing", func(t *testing.T, root string) {
			edit(t, root, "protogate.yaml", "released: released\n", "released: released\nbuf: {path: \"no/such/buf\"}\n")
		}, 2, "buf is missing"},
		{"buf is another", func(t *testing.T, root string) {
			edit(t, root, "protogate.yaml", "released: released\n", "released: released\nbuf: {version: 0.0.1}\n")
		}, 2, "buf is "},
		{"there is no repository", func(t *testing.T, root string) { remove(t, root, ".git") }, 2, "the history could not be checked"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.CopyFS(root, os.DirFS(base)); err != nil {
				t.Fatal(err)
			}
			tc.bend(t, root)
			code, out, errs := protogate(t, root, "check", "-format", "json")
			if code != tc.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tc.code, out, errs)
			}
			var r struct {
				Surfaces []struct {
					Verdicts []struct{ ID, Message string }
				}
				Repository []struct{ ID, Message string }
				Problems   []struct{ Message string }
			}
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatal(err)
			}
			var said []string
			for _, v := range r.Repository {
				said = append(said, v.ID)
			}
			for _, s := range r.Surfaces {
				for _, v := range s.Verdicts {
					said = append(said, v.ID)
				}
			}
			for _, p := range r.Problems {
				said = append(said, p.Message)
			}
			found := tc.id == "" && len(said) == 0
			for _, s := range said {
				found = found || tc.id != "" && strings.HasPrefix(s, tc.id)
			}
			if !found {
				t.Errorf("the check says %q, want %q", said, tc.id)
			}
		})
	}
}

func TestNoHistory(t *testing.T) {
	root := released(t)
	remove(t, root, ".git")
	if out := ok(t, root, "check", "-no-history"); !strings.Contains(out, "history not checked: --no-history") {
		t.Errorf("the check does not say that it asked no history:\n%s", out)
	}
}

func TestShallow(t *testing.T) {
	root, clone := released(t), filepath.Join(t.TempDir(), "clone")
	git(t, root, "clone", "-q", "--depth", "1", "file://"+root, clone)
	if code, out, _ := protogate(t, clone, "check"); code != 2 || !strings.Contains(out, "git fetch --unshallow") {
		t.Errorf("a shallow clone: exit code %d\n%s", code, out)
	}
	if code, _, errs := protogate(t, clone, "commit", "v1.0.0"); code != 2 || !strings.Contains(errs, "git fetch --unshallow") {
		t.Errorf("commit in a shallow clone: exit code %d\n%s", code, errs)
	}
	ok(t, clone, "check", "-no-history")
}

func TestWorktree(t *testing.T) {
	root, tree := released(t), filepath.Join(t.TempDir(), "tree")
	git(t, root, "worktree", "add", "-q", "--detach", tree)
	if out := ok(t, tree, "check"); !strings.Contains(out, "history checked") {
		t.Errorf("in a worktree:\n%s", out)
	}
}

// Baselines may be images, a tag of git, or a tarball.
func TestAgainst(t *testing.T) {
	root := released(t)
	git(t, root, "tag", "v1.0.0")
	tarball := filepath.Join(t.TempDir(), "old.tar.gz")
	git(t, root, "archive", "-o", tarball, "HEAD")
	overlay(t, root, "testdata/example/after")
	for _, against := range []string{"released/v1.0.0", ".git#tag=v1.0.0", tarball} {
		code, out, errs := protogate(t, root, "check", "-against", against)
		if code != 1 || !strings.Contains(out, "missing-bump") || !strings.Contains(out, "break-in-major") {
			t.Errorf("against %s: exit code %d\n%s%s", against, code, out, errs)
		}
	}
}

// The commit of a release is found whatever was done to the history, as long as one has its lock and its sources.
func TestCommit(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/example/before")); err != nil {
		t.Fatal(err)
	}
	edit(t, root, "protogate.yaml", "released: released\n", "released: released\ntrees: [proto]\n")
	git(t, root, "init", "-q")
	first := commitAll(t, root, "the schemas")
	ok(t, root, "release", "v1.0.0")
	if _, _, errs := protogate(t, root, "commit", "v1.0.0"); !strings.Contains(errs, "not yet committed") {
		t.Errorf("before it is committed: %s", errs)
	}
	release := commitAll(t, root, "Release v1.0.0")
	write(t, root, "other.txt", "x")
	commitAll(t, root, "later")
	if got := strings.TrimSpace(ok(t, root, "commit", "v1.0.0")); got != release {
		t.Errorf("the commit is %s, want %s", got, release)
	}
	t.Run("squash that ends with it", func(t *testing.T) {
		git(t, root, "checkout", "-q", "--detach", release)
		tree := git(t, root, "rev-parse", "HEAD^{tree}")
		squashed := git(t, root, "commit-tree", tree, "-m", "all at once")
		git(t, root, "checkout", "-q", "--detach", squashed)
		if got := strings.TrimSpace(ok(t, root, "commit", "v1.0.0")); got != squashed {
			t.Errorf("the commit is %s, want %s", got, squashed)
		}
	})
	t.Run("committed together with other changes", func(t *testing.T) {
		git(t, root, "checkout", "-q", "--detach", first)
		ok(t, root, "release", "v1.0.0")
		edit(t, root, "proto/track/depot/track/v1/track.proto", "Where a parcel is.", "Where a parcel was.")
		commitAll(t, root, "release and more")
		if code, out, _ := protogate(t, root, "check"); code != 1 || !strings.Contains(out, "release-stale") {
			t.Errorf("exit code %d\n%s", code, out)
		}
		if code, _, errs := protogate(t, root, "commit", "v1.0.0"); code != 2 || !strings.Contains(errs, "no commit has both") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
	t.Run("brought by a merge", func(t *testing.T) {
		git(t, root, "checkout", "-q", "-f", "--detach", first)
		git(t, root, "clean", "-qfd")
		write(t, root, "side.txt", "x")
		commitAll(t, root, "side")
		git(t, root, "merge", "-q", "--no-ff", "-m", "merge", release)
		if out := ok(t, root, "check"); !strings.Contains(out, "history checked\n") {
			t.Errorf("after a merge:\n%s", out)
		}
		if got := strings.TrimSpace(ok(t, root, "commit", "v1.0.0")); got != release {
			t.Errorf("the commit is %s, want %s", got, release)
		}
	})
}

// A release refuses what it cannot freeze.
func TestReleaseRefuses(t *testing.T) {
	root := released(t)
	for _, tc := range []struct {
		version, want string
		before        func()
	}{
		{"1.1", "write vX.Y.Z", func() {}},
		{"v1.0.0", "is not after v1.0.0", func() {}},
		{"v0.9.0", "is not after v1.0.0", func() {}},
		{"v1.1.0", "the tree is dirty", func() { write(t, root, "stray.txt", "x") }},
		{"v1.1.0", "does not pass", func() {
			remove(t, root, "stray.txt")
			overlay(t, root, "testdata/example/after")
			commitAll(t, root, "breaks")
		}},
	} {
		tc.before()
		code, out, errs := protogate(t, root, "release", tc.version)
		if code == 0 || !strings.Contains(errs, tc.want) {
			t.Errorf("release %s: exit code %d, want %q\n%s%s", tc.version, code, tc.want, out, errs)
		}
		if _, err := os.Stat(filepath.Join(root, "released", "v1.1.0")); err == nil {
			t.Fatal("a refused release left something behind")
		}
	}
}

// A fixture that an archive keeps is held by the lock where it stands.
func TestFixtures(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/example/before")); err != nil {
		t.Fatal(err)
	}
	edit(t, root, "protogate.yaml", "    policy: lockstep\n", "    policy: archive\n    upcaster: code/from_{version}.txt\n    fixtures: kept/v{version}/*\n")
	write(t, root, "kept/v1/segment", "old bytes\n")
	git(t, root, "init", "-q")
	commitAll(t, root, "the schemas")
	ok(t, root, "release", "v1.0.0")
	commitAll(t, root, "Release v1.0.0")
	ok(t, root, "check")
	write(t, root, "kept/v1/segment", "new bytes\n")
	if _, out, _ := protogate(t, root, "check"); !strings.Contains(out, "fixture-touched") {
		t.Errorf("a changed fixture:\n%s", out)
	}
	remove(t, root, "kept")
	if _, out, _ := protogate(t, root, "check"); !strings.Contains(out, "fixture-deleted") {
		t.Errorf("a deleted fixture:\n%s", out)
	}
}

// Each format holds the verdict and the place.
func TestFormats(t *testing.T) {
	root := released(t)
	overlay(t, root, "testdata/example/after")
	for format, want := range map[string][]string{
		"text":     {"against  missing-bump"},
		"json":     {`"id": "missing-bump"`, `"verdict": "against"`},
		"github":   {"::error file=proto/link/depot/link/v1/link.proto,line=8,title=link%3A missing-bump::", "::notice file=proto/link/depot/link/v1/link.proto,line=19"},
		"sarif":    {`"ruleId": "missing-bump"`, `"startLine": 8`, `"version": "2.1.0"`},
		"markdown": {"### protogate: **against**", "| link | lockstep | link_version 1 |", "```diff"},
	} {
		code, out, _ := protogate(t, root, "check", "-format", format)
		again := ""
		if _, again, _ = protogate(t, root, "check", "-format", format); again != out {
			t.Errorf("%s: two runs differ", format)
		}
		if code != 1 {
			t.Errorf("%s: exit code %d", format, code)
		}
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s has no %q:\n%s", format, w, out)
			}
		}
		if format == "json" || format == "sarif" {
			if !json.Valid([]byte(out)) {
				t.Errorf("%s is no JSON", format)
			}
		}
	}
}

func TestInit(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/example/before")); err != nil {
		t.Fatal(err)
	}
	remove(t, root, "protogate.yaml")
	ok(t, root, "init")
	text := read(t, root, "protogate.yaml")
	for _, want := range []string{"path: proto/track", "version: depot.options.v1.track_minor", "name: options"} {
		if !strings.Contains(text, want) {
			t.Errorf("the configuration has no %q:\n%s", want, text)
		}
	}
	git(t, root, "init", "-q")
	commitAll(t, root, "the schemas")
	write(t, root, "protogate.yaml", strings.ReplaceAll(text, "link_version\n", "link_version\n    vectors: [sh, vectors.sh]\n"))
	if code, out, _ := protogate(t, root, "check"); code != 1 || !strings.Contains(out, "first-version") {
		t.Errorf("link has version 1 and is stable, so its minor must be 0: exit code %d\n%s", code, out)
	}
	if code, _, errs := protogate(t, root, "init"); code != 2 || !strings.Contains(errs, "is there already") {
		t.Errorf("a second init: exit code %d, %s", code, errs)
	}
}

func TestExplain(t *testing.T) {
	for _, word := range []string{"missing-bump", "lockstep", "FIELD_SAME_TYPE", "PROTOGATE_OPTION_SAME_VALUE", "GOLDEN_VECTOR_CHANGED"} {
		var out, errs strings.Builder
		if code := run(t.Context(), []string{"explain", word}, strings.NewReader(""), &out, &errs); code != 0 || len(out.String()) < len(word)+40 {
			t.Errorf("explain %s: exit code %d, %s%s", word, code, out.String(), errs.String())
		}
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"explain", "nonsense"}, strings.NewReader(""), &out, &errs); code != 2 {
		t.Errorf("explain nonsense: exit code %d", code)
	}
}
