package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the output in docs/gate.md anew")

// page is the documentation, whose output is that of the worked example.
const page = "../../docs/gate.md"

// released is the worked example, released as v1.0.0 and committed.
func released(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/example/before")); err != nil {
		t.Fatal(err)
	}
	git(t, root, "init", "-q")
	commitAll(t, root, "the schemas")
	ok(t, root, "release", "v1.0.0")
	commitAll(t, root, "Release v1.0.0")
	return root
}

// overlay puts the files of a folder over those of root.
func overlay(t *testing.T, root, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(folder, p)
		if err != nil {
			return err
		}
		write(t, root, filepath.ToSlash(rel), read(t, folder, rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The output that the documentation shows is what the program prints.
func TestWorkedExample(t *testing.T) {
	root := released(t)
	overlay(t, root, "testdata/example/after")
	code, out, errs := protogate(t, root, "check")
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s%s", code, out, errs)
	}
	const begin, end = "<!-- example: protogate check -->\n```\n", "```\n<!-- end -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(text), begin)
	shown, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the example", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+out+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != out {
		t.Errorf("%s shows\n%s\nand the program prints\n%s\n(go test -run TestWorkedExample -update .)", page, shown, out)
	}
}

// Following the next steps of the verdicts leads to a pass.
func TestWorkedExampleIsMended(t *testing.T) {
	root := released(t)
	overlay(t, root, "testdata/example/after")
	edit(t, root, "proto/link/depot/link/v1/link.proto", "link_version) = 1;", "link_version) = 2;")
	edit(t, root, "proto/track/depot/track/v1/track.proto", "track_minor) = 0;", "track_minor) = 1;")
	edit(t, root, "proto/track/depot/track/v1/track.proto", "string town = 2;", "string city = 2;")
	ok(t, root, "check")
	commitAll(t, root, "the second version")
	ok(t, root, "release", "v2.0.0")
	upgrading := read(t, root, "docs/upgrading/v2.0.0.md")
	for _, want := range []string{"Upgrading from v1.0.0 to v2.0.0", "link_version 1 | link_version 2", "Who notices", "chutes.txt changed"} {
		if !strings.Contains(upgrading, want) {
			t.Errorf("the upgrading page does not say %q:\n%s", want, upgrading)
		}
	}
	commitAll(t, root, "Release v2.0.0")
	if out := ok(t, root, "check"); !strings.Contains(out, "compared with v2.0.0; history checked\n") {
		t.Errorf("after the second release the check says\n%s", out)
	}
}
