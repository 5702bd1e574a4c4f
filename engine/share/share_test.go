package share_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/lower"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/share"
)

// TestPlan runs the golden cases over TPC-H's tables at scale factor 1: "share" gives the plan, "unchanged" where nothing is shared.
func TestPlan(t *testing.T) {
	datadriven.RunTest(t, "testdata/share", func(t *testing.T, d *datadriven.TestData) string {
		st, err := parse.ParseOne(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{})
		if err == nil {
			p, err = optimize.Plan(t.Context(), p, optimize.Config{})
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		root, err := lower.Plan(p)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		if out := share.Plan(root); out != root {
			return explain.Physical(out, nil)
		}
		return "unchanged"
	})
}
