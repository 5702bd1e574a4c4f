package estimate_test

import (
	"testing"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/estimate"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/parse"
)

// TestRows compares guesses with what TPC-H at scale factor 1 really has: they may be off by the given factor.
func TestRows(t *testing.T) {
	for _, tc := range []struct {
		sql   string
		rows  float64
		times float64
	}{
		{"SELECT 1 FROM lineitem", 6_001_215, 1},
		{"SELECT 1 FROM lineitem WHERE l_shipdate <= date '1998-09-02'", 5_916_591, 1.1},
		{"SELECT 1 FROM lineitem WHERE l_shipdate >= date '1994-01-01' AND l_shipdate < date '1995-01-01'", 909_455, 1.2},
		{"SELECT 1 FROM lineitem WHERE l_shipdate > date '2005-01-01'", 1, 2},
		{"SELECT 1 FROM lineitem WHERE l_shipmode IN ('MAIL', 'SHIP')", 1_714_000, 1.1},
		{"SELECT 1 FROM lineitem WHERE l_returnflag <> 'R'", 4_523_000, 1.3},
		{"SELECT 1 FROM lineitem WHERE l_quantity = 7", 120_000, 1.1},
		{"SELECT 1 FROM part WHERE p_name LIKE '%green%'", 10_664, 3},
		{"SELECT 1 FROM part WHERE p_type = 'ECONOMY ANODIZED STEEL'", 1_451, 1.2},
		{"SELECT 1 FROM customer WHERE c_mktsegment = 'BUILDING' OR c_mktsegment = 'FURNITURE'", 60_000, 1.1},
		{"SELECT 1 FROM nation WHERE n_regionkey IS NULL", 0, 1},

		{"SELECT 1 FROM lineitem, orders WHERE l_orderkey = o_orderkey", 6_001_215, 4.1}, // orderkeys are sparse
		{"SELECT 1 FROM lineitem, part WHERE l_partkey = p_partkey AND p_size = 15", 121_000, 1.2},
		{"SELECT 1 FROM lineitem, partsupp WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey", 6_001_215, 1.1},
		{"SELECT 1 FROM customer, nation, region WHERE c_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'", 30_000, 1.1},
		{"SELECT 1 FROM customer LEFT JOIN orders ON c_custkey = o_custkey", 1_550_000, 1.1},
		{"SELECT 1 FROM orders WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem WHERE l_quantity = 1)", 115_000, 4.1},
		{"SELECT 1 FROM supplier WHERE s_nationkey NOT IN (SELECT n_nationkey FROM nation WHERE n_regionkey = 1)", 8_000, 1.2},
		{"SELECT DISTINCT l_returnflag, l_linestatus FROM lineitem", 4, 1.6},
		{"SELECT o_custkey, count(*) FROM orders GROUP BY 1", 99_996, 1.6},
		{"SELECT extract(year FROM o_orderdate), count(*) FROM orders GROUP BY 1", 7, 5},
		{"SELECT count(*) FROM orders", 1, 1},
		{"SELECT * FROM orders LIMIT 10", 10, 1},
		{"SELECT n_name FROM nation UNION ALL SELECT r_name FROM region", 30, 1},
	} {
		st, err := parse.ParseOne(tc.sql)
		if err != nil {
			t.Fatal(err)
		}
		p, err := bind.Query(t.Context(), st.(*ast.QueryStatement).Query, catalogtest.TPCH(), bind.Config{})
		if err == nil {
			p, err = optimize.Plan(t.Context(), p, optimize.Config{})
		}
		if err != nil {
			t.Fatal(err)
		}
		got := estimate.New().Rows(top(p.Root))
		if got > tc.rows*tc.times+1 || got*tc.times+1 < tc.rows {
			t.Errorf("%s\nguessed %.0f, has %.0f", tc.sql, got, tc.rows)
		}
	}
}

// top is the node below projections, which change no rows.
func top(n logical.Node) logical.Node {
	for {
		p, ok := n.(*logical.Project)
		if !ok {
			return n
		}
		n = p.Input
	}
}
