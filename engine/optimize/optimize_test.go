package optimize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/estimate"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestRules runs the golden cases: testdata has a file per rule, with a case where it does its work and one where it must not.
//
//	tables              catalogtest's text: replaces the tables
//	optimize rule=NAME  the plan after that rule and all before it; "unchanged" where the rule did nothing
//	plan                the plan after all rules, with the expected rows
//	query file=NAME     plan, of a query of TPC-H
func TestRules(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		tables := catalogtest.TPCH()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "tables":
				var err error
				if tables, err = catalogtest.Parse(d.Input); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return ""
			case "optimize":
				var rule string
				d.ScanArgs(t, "rule", &rule)
				return optimized(t, tables, d.Input, rule)
			case "plan":
				return planned(t, tables, d.Input)
			case "query":
				var name string
				d.ScanArgs(t, "file", &name)
				sql, err := os.ReadFile(filepath.Join("../testdata/tpch/queries", name+".sql"))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return planned(t, tables, string(sql))
			}
			d.Fatalf(t, "no command %q", d.Cmd)
			return ""
		})
	})
}

// TestRulesHaveBothCases demands of every rule a golden file of its name with a case in which it does something and one in which it
// leaves the plan alone.
func TestRulesHaveBothCases(t *testing.T) {
	type cases struct{ changed, unchanged int }
	have := map[string]cases{}
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "optimize" && d.HasArg("rule") {
				var rule string
				d.ScanArgs(t, "rule", &rule)
				c := have[rule]
				switch {
				case rule != filepath.Base(path):
				case strings.HasPrefix(d.Expected, "unchanged\n"):
					c.unchanged++
				case !strings.HasPrefix(d.Expected, "error"):
					c.changed++
				}
				have[rule] = c
			}
			return d.Expected
		})
	})
	for _, rule := range optimize.Rules() {
		if c := have[rule]; c.changed == 0 || c.unchanged == 0 {
			t.Errorf("testdata/%s has %d cases in which the rule changes the plan and %d in which it does not: it needs one of each", rule, c.changed, c.unchanged)
		}
	}
}

func bound(t *testing.T, tables catalogtest.Catalog, sql string) (*logical.Plan, error) {
	t.Helper()
	st, err := parse.ParseOne(sql)
	if err != nil {
		return nil, err
	}
	return bind.Query(t.Context(), st.(*ast.QueryStatement).Query, tables, bind.Config{})
}

func optimized(t *testing.T, tables catalogtest.Catalog, sql, rule string) string {
	t.Helper()
	p, err := bound(t, tables, sql)
	if err != nil {
		return failure(err, sql)
	}
	changed := false
	out, err := optimize.Plan(t.Context(), p, optimize.Config{Until: rule, Trace: func(name string, _ logical.Node) { changed = name == rule }})
	if err != nil {
		return failure(err, sql)
	}
	s := explain.Logical(out.Root, nil)
	if !changed {
		return "unchanged\n" + s
	}
	return s
}

func planned(t *testing.T, tables catalogtest.Catalog, sql string) string {
	t.Helper()
	p, err := bound(t, tables, sql)
	if err != nil {
		return failure(err, sql)
	}
	out, err := optimize.Plan(t.Context(), p, optimize.Config{})
	if err != nil {
		return failure(err, sql)
	}
	return explain.Logical(out.Root, estimate.New().Rows)
}

// TestPlanStops plans a statement whose client leaves after the first rule: no rule follows.
func TestPlanStops(t *testing.T) {
	p, err := bound(t, catalogtest.TPCH(), "SELECT o_orderkey FROM orders JOIN customer ON o_custkey = c_custkey WHERE 1 + 1 = 2 AND c_acctbal > 0")
	if err != nil {
		t.Fatal(err)
	}
	left := errors.New("the client left")
	ctx, leave := context.WithCancelCause(t.Context())
	last := ""
	_, err = optimize.Plan(ctx, p, optimize.Config{Trace: func(rule string, _ logical.Node) {
		if last = rule; rule == "fold" {
			leave(left)
		}
	}})
	if !errors.Is(err, left) || last != "fold" {
		t.Errorf("error %v, the last rule was %q", err, last)
	}
}

func failure(err error, sql string) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	at := ""
	if !e.Pos.IsZero() {
		at = fmt.Sprintf(" at %q", sql[e.Pos.Start:e.Pos.End])
	}
	return strings.TrimSpace(fmt.Sprintf("error %s%s: %s\nhint: %s", e.Code, at, e.Message, e.Hint))
}
