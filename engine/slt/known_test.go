package slt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/slt"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// answers gives each statement its rows of one text column; others fail.
type answers map[string][]string

func (answers) Close() error { return nil }

func (a answers) Run(_ context.Context, sql string) (*slt.Result, error) {
	rows, ok := a[sql]
	if !ok {
		return nil, errors.New("no such statement")
	}
	res := &slt.Result{Changed: -1, Types: []sqltype.Type{sqltype.Of(sqltype.Utf8)}}
	for _, r := range rows {
		res.Rows = append(res.Rows, []*string{&r})
	}
	return res, nil
}

// A list accounts for each record that does not pass, and for none that does.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	suite := write("a.slt", "query T\nright\n----\nx\n\nquery T\nwrong\n----\nx\n\nquery T\nEXPLAIN right\n----\nx\n\nstatement error\nright\n")
	for _, tc := range []struct{ name, list, wrong string }{
		{"complete", "left out: expects another engine's plan\na.slt:11\nfails: not yet\na.slt:6 # soon\notherwise: answered\na.slt:16\n", ""},
		{"a failure that is not listed", "left out: expects another engine's plan\na.slt:11\notherwise: answered\na.slt:16\n", "a.slt:6 fails, and is not listed"},
		{"one that passes", "left out: expects another engine's plan\na.slt:11\nfails: not yet\na.slt:6\na.slt:16\na.slt:1\n", "a.slt:1 is listed in list, and passes"},
		{"one that may pass", "left out: expects another engine's plan\na.slt:11\nfails: not yet\na.slt:6\na.slt:16\nundecided: any\na.slt:1\n", ""},
		{"left out for another reason", "left out: a whim\na.slt:11\nfails: not yet\na.slt:6\na.slt:16\n", "a.slt:11 is left out"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			script, err := slt.Read(suite, "postgresql")
			if err != nil {
				t.Fatal(err)
			}
			report, err := slt.Play(t.Context(), script, answers{"right": {"x"}, "wrong": {"y"}}, slt.Config{})
			if err != nil {
				t.Fatal(err)
			}
			known, err := slt.ReadKnown(write("list", tc.list))
			if err != nil {
				t.Fatal(err)
			}
			wrong := strings.Join(known.Settle(&report, dir), "\n")
			if tc.wrong == "" && wrong != "" || !strings.Contains(wrong, tc.wrong) {
				t.Errorf("says %q, expected %q", wrong, tc.wrong)
			}
			if report.Run != 3 || report.Passed != 1 || report.Failed != 2 && tc.wrong == "" {
				t.Errorf("run %d, passed %d, failed %d", report.Run, report.Passed, report.Failed)
			}
		})
	}
	for _, list := range []string{"a.slt:1\n", "whatever: reason\na.slt:1\n", "fails: x\na.slt:1\na.slt:1\n"} {
		if _, err := slt.ReadKnown(write("list", list)); err == nil {
			t.Errorf("%q is read", list)
		}
	}
}
