package expr

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/functions.md anew")

// The page is what the table says: go test ./expr -run TestFunctionsPage -update writes it.
func TestFunctionsPage(t *testing.T) {
	const path = "../../docs/functions.md"
	if *update {
		if err := os.WriteFile(path, []byte(FunctionsPage()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != FunctionsPage() {
		t.Error("docs/functions.md is not what the table says: run go test ./expr -run TestFunctionsPage -update")
	}
}

// records is what the .slt files say of a function, below a line "# function NAME".
type records struct{ all, nulls, failing int }

func readRecords(t *testing.T) map[string]*records {
	t.Helper()
	files, err := filepath.Glob("../slt/testdata/functions/*.slt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*records{}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		at := &records{}
		fails, sql := false, false
		for lines := bufio.NewScanner(f); lines.Scan(); {
			line := lines.Text()
			name, isName := strings.CutPrefix(line, "# function ")
			switch {
			case isName:
				if at = found[name]; at == nil {
					at = &records{}
					found[name] = at
				}
			case strings.HasPrefix(line, "query "), strings.HasPrefix(line, "statement error"):
				at.all++
				sql, fails = true, strings.Contains(line, "error")
				if fails {
					at.failing++
				}
			case line == "----", line == "":
				sql = false
			case sql && !fails && strings.Contains(line, "NULL"):
				at.nulls++
				sql = false
			}
		}
		_ = f.Close()
	}
	return found
}

// Every function has at least three records: a normal one, one with NULL and an error.
func TestEveryFunctionHasRecords(t *testing.T) {
	found := readRecords(t)
	scalars := 0
	for _, l := range Listings() {
		r := found[l.Name]
		if r == nil {
			r = &records{}
		}
		if l.Kind == "scalar" {
			scalars++
		}
		if r.all < 3 || r.nulls < 1 || r.failing < 1 || r.all-r.failing-r.nulls < 1 && l.Kind == "scalar" {
			t.Errorf("%s %s has %d records, %d with NULL, %d errors", l.Kind, l.Name, r.all, r.nulls, r.failing)
		}
	}
	if scalars < 150 {
		t.Errorf("%d scalar functions, fewer than 150", scalars)
	}
}
