package lower_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/lower"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestLower runs the golden cases: the physical plan of a query, after its result's columns.
func TestLower(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			st, err := parse.ParseOne(d.Input)
			if err != nil {
				return err.Error()
			}
			p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{})
			if err == nil {
				p, err = optimize.Plan(t.Context(), p, optimize.Config{})
			}
			if err != nil {
				return err.Error()
			}
			n, err := lower.Plan(p)
			if err != nil {
				return err.Error()
			}
			var cols []string
			for _, f := range n.Schema() {
				cols = append(cols, f.Name)
			}
			return "(" + strings.Join(cols, ", ") + ")\n" + explain.Physical(n, nil)
		})
	})
}

// TestNoApply: a plan that was not optimized is refused, not lowered to something else.
func TestNoApply(t *testing.T) {
	st, err := parse.ParseOne("SELECT 1 FROM region WHERE EXISTS (SELECT 1 FROM nation WHERE n_regionkey = r_regionkey)")
	if err != nil {
		t.Fatal(err)
	}
	p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lower.Plan(p); sqlerr.CodeOf(err) != sqlerr.Internal {
		t.Errorf("lowered: %v", err)
	}
}

// TestUnreadableColumn: a column that cannot be read stands in nobody's way who does not ask for it.
func TestUnreadableColumn(t *testing.T) {
	tables := catalogtest.TPCH()
	problem := sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "column cannot be read")
	region, err := tables.Table(t.Context(), "region")
	if err != nil {
		t.Fatal(err)
	}
	region.Columns[region.Column("r_comment")].Problem = problem
	for sql, want := range map[string]error{"SELECT r_name FROM region": nil, "SELECT * FROM region": problem, "SELECT max(r_comment) FROM region": problem} {
		st, err := parse.ParseOne(sql)
		if err != nil {
			t.Fatal(err)
		}
		p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, tables, bind.Config{})
		if err == nil {
			p, err = optimize.Plan(t.Context(), p, optimize.Config{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lower.Plan(p); !errors.Is(err, want) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
