// Package invariants_test looks whether what docs/invariants.md names is there.
package invariants_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

var (
	named    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
	declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	script   = regexp.MustCompile("`(ci/\\w+)(?: (\\w+))?`")
)

// Every test and script that the invariants are said to be checked by exists.
func TestInvariantsAreChecked(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllSubmatch(text, -1) {
				tests[string(m[1])] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/invariants.md"))
	if err != nil {
		t.Fatal(err)
	}
	drills, err := os.ReadFile(filepath.Join(root, "ci/drill"))
	if err != nil {
		t.Fatal(err)
	}
	found := named.FindAllSubmatch(text, -1)
	if len(found) < 20 {
		t.Errorf("only %d tests are named", len(found))
	}
	for _, m := range found {
		if !tests[string(m[1])] {
			t.Errorf("no test %s", m[1])
		}
	}
	for _, m := range script.FindAllSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, string(m[1]))); err != nil {
			t.Error(err)
		}
		if string(m[1]) == "ci/drill" && !strings.Contains(string(drills), "ci/drill "+string(m[2])) {
			t.Errorf("no drill %s", m[2])
		}
	}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(cells) != 3 {
			t.Errorf("an invariant is statement, responsible and check: %s", line)
		}
	}
}
