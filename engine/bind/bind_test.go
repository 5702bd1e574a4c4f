package bind_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestBind runs the golden cases: "bind" gives the result's columns and the plan, or the error with the text that it points at.
func TestBind(t *testing.T) {
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
			case "bind", "columns":
				return bound(t, tables, d.Input, d.Cmd == "bind")
			}
			d.Fatalf(t, "no command %q", d.Cmd)
			return ""
		})
	})
}

func bound(t *testing.T, tables catalogtest.Catalog, sql string, plan bool) string {
	t.Helper()
	st, err := parse.ParseOne(sql)
	if err != nil {
		d := failure(err, sql)
		return d
	}
	q, ok := st.(*ast.QueryStatement)
	if !ok {
		t.Fatalf("%s is no query", sql)
	}
	p, err := bind.Query(t.Context(), q.Query, tables, bind.Config{Now: time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		return failure(err, sql)
	}
	parts := make([]string, len(p.Names))
	for i, c := range p.Root.Columns() {
		parts[i] = p.Names[i] + " " + c.Typ.String()
		if !c.Nullable {
			parts[i] += " not null"
		}
	}
	out := "(" + strings.Join(parts, ", ") + ")\n"
	if plan {
		out += explain.Logical(p.Root, nil)
	}
	return out
}

func failure(err error, sql string) string {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return "not typed: " + err.Error()
	}
	if e.Pos.IsZero() {
		return fmt.Sprintf("error %s nowhere: %s\nhint: %s", e.Code, e.Message, e.Hint)
	}
	return fmt.Sprintf("error %s at %q: %s\nhint: %s", e.Code, sql[e.Pos.Start:e.Pos.End], e.Message, e.Hint)
}

// TestWide binds what a machine might write: nothing here may take minutes or a gigabyte.
func TestWide(t *testing.T) {
	cols := make([]string, 10_000)
	for i := range cols {
		cols[i] = fmt.Sprintf("%d AS c%d", i, i)
	}
	ctes := []string{"c0 AS (SELECT 1 AS x)"}
	for i := range 40 {
		ctes = append(ctes, fmt.Sprintf("c%d AS (SELECT a.x FROM c%d a, c%d b)", i+1, i, i))
	}
	for _, tc := range []struct {
		name, sql string
		code      sqlerr.Code // "": binds
	}{
		{"columns", "SELECT * FROM (SELECT " + strings.Join(cols, ", ") + ") t ORDER BY c9999", ""},
		{"terms", "SELECT " + strings.Repeat("1 + ", 5000) + "1", ""},
		{"parentheses", "SELECT " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000), ""},
		{"not", "SELECT " + strings.Repeat("NOT ", 5000) + "true", ""},
		{"conjuncts", "SELECT 1 FROM region WHERE " + strings.Repeat("r_regionkey <> 7 AND ", 5000) + "true", ""},
		{"doubling", "WITH " + strings.Join(ctes, ", ") + " SELECT * FROM c40", sqlerr.StatementTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			st, err := parse.ParseOne(tc.sql)
			if err != nil {
				t.Fatal(err)
			}
			_, err = bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{})
			if got := sqlerr.Code(""); err != nil {
				if got = sqlerr.CodeOf(err); got != tc.code {
					t.Fatalf("%s: %v", got, err)
				}
			} else if tc.code != "" {
				t.Fatal("it was bound")
			}
		})
	}
}
