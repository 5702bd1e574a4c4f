package parse_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestQueries parses whole files of SQL: the package's own, and the TPC-H and TPC-DS queries where FLETCH_TESTDATA is.
func TestQueries(t *testing.T) {
	files := glob(t, 5, "testdata", "corpus", "*.sql")
	if data := os.Getenv("FLETCH_TESTDATA"); data != "" {
		files = append(files, glob(t, 22, data, "queries", "tpch", "*.sql")...)
		files = append(files, glob(t, 99, data, "queries", "tpcds", "*.sql")...)
	} else {
		t.Log("TPC-H and TPC-DS queries did not run: FLETCH_TESTDATA is not set")
	}
	for _, file := range files {
		sql, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		stmts, err := parse.Parse(string(sql))
		if err != nil {
			t.Errorf("%s: %s", file, where(string(sql), err))
			continue
		}
		if len(stmts) == 0 {
			t.Errorf("%s: no statement", file)
		}
		if bad := misread(string(sql), stmts); bad != "" {
			t.Errorf("%s: %s", file, bad)
		}
	}
}

// glob finds n files.
func glob(t *testing.T, n int, path ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path...))
	if err != nil || len(files) != n {
		t.Fatalf("%v: %d files, want %d (%v)", path, len(files), n, err)
	}
	return files
}

// where shows an error with the text around its place.
func where(sql string, err error) string {
	e, _ := errors.AsType[*sqlerr.Error](err)
	at := min(int(e.Pos.Start), len(sql))
	return e.Error() + " at: " + strings.ReplaceAll(sql[max(0, at-30):at]+"⟨here⟩"+sql[at:min(len(sql), at+30)], "\n", " ")
}

// refusals are the records of the logic tests that do not parse although their authors expect them to, by a part of their text.
var refusals = []struct{ part, why string }{
	{"ORDER BY start, end", "END is reserved in PostgreSQL: the column must be quoted"},
	{"DISTRIBUTE BY", "no clause of PostgreSQL or DuckDB"},
	{"LIMIT 3,3", "MySQL's order of LIMIT and OFFSET; the error says what to write"},
	{"join (select * from testSubQueryLimit limit", "a join without a condition is an error in PostgreSQL and DuckDB"},
	{"CREATE TABLE empty_table;", "a table without columns is written CREATE TABLE t ()"},
}

// TestLogicTests parses every record of the SQL logic tests that ought to succeed.
func TestLogicTests(t *testing.T) {
	data := os.Getenv("FLETCH_TESTDATA")
	if data == "" {
		t.Log("SQL logic tests did not run: FLETCH_TESTDATA is not set")
		return
	}
	records := 0
	met := make([]bool, len(refusals))
	err := filepath.WalkDir(filepath.Join(data, "slt"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for sql := range logicTestRecords(string(text)) {
			records++
			stmts, err := parse.Parse(sql)
			if err != nil {
				if i := refusal(sql); i >= 0 {
					met[i] = true
				} else {
					t.Errorf("%s: %s\n%s", filepath.Base(path), where(sql, err), sql)
				}
				continue
			}
			if bad := misread(sql, stmts); bad != "" {
				t.Errorf("%s: %s", filepath.Base(path), bad)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range refusals {
		if !met[i] {
			t.Errorf("nothing with %q is refused any more: take it off the list", r.part)
		}
	}
	t.Logf("%d records, of which %d kinds are refused", records, len(refusals))
}

func refusal(sql string) int {
	for i, r := range refusals {
		if strings.Contains(sql, r.part) {
			return i
		}
	}
	return -1
}

// logicTestRecords gives the statements of a logic test that ought to succeed in PostgreSQL.
func logicTestRecords(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for record := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
			var sql []string
			in := false
			for line := range strings.SplitSeq(record, "\n") {
				directive, rest, _ := strings.Cut(line, " ")
				switch {
				case in && line == "----":
					in = false
				case in:
					sql = append(sql, line)
				case sql != nil:
				case directive == "statement" && strings.HasPrefix(rest, "ok"), directive == "query" && !strings.HasPrefix(rest, "error"):
					in = true
				}
				if directive == "onlyif" && !strings.HasPrefix(rest, "postgresql") || directive == "skipif" && strings.HasPrefix(rest, "postgresql") {
					break
				}
			}
			if sql != nil && !yield(strings.Join(sql, "\n")) {
				return
			}
		}
	}
}
