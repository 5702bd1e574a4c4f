package explain_test

import (
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
)

var bigint = sqltype.Of(sqltype.Int64)

func in(i int, name string) *expr.Input { return &expr.Input{Index: i, Name: name, Typ: bigint} }

// plan is a join under a top-n, with the scan of one side by itself.
func plan() (root, scan physical.Node) {
	left := &physical.Scan{
		Table: "orders", Columns: []physical.ScanColumn{{Name: "id", Type: bigint}, {Name: "cust", Type: bigint}},
		Filter:  &expr.Compare{Op: expr.Gt, L: in(0, "id"), R: &expr.Literal{Value: expr.IntValue(bigint, 5)}},
		Runtime: []physical.RuntimeProbe{{Filter: 1, Column: 1}}, Est: physical.Est{Rows: 1_234_567},
	}
	right := &physical.Scan{Table: "customers", Columns: []physical.ScanColumn{{Name: "id", Type: bigint}}, Est: physical.Est{Rows: -1}}
	join := &physical.HashJoin{
		Probe: left, Build: right, ProbeKeys: []expr.Expr{in(1, "cust")}, BuildKeys: []expr.Expr{in(0, "id")},
		Residual: &expr.Compare{Op: expr.Ne, L: in(0, "id"), R: in(2, "id")}, Output: []int{0},
		Runtime: []physical.RuntimeBuild{{Filter: 1, Key: 0}}, Est: physical.Est{Rows: 12_345},
	}
	top := &physical.Sort{Input: join, Keys: []physical.SortKey{{Expr: in(0, "id"), Desc: true}}, Fetch: 10, Offset: 2, Est: physical.Est{Rows: 10}}
	return &physical.Project{Input: top, Exprs: []expr.Expr{in(0, "id")}, Names: []string{"order"}}, left
}

func TestPhysical(t *testing.T) {
	root, scan := plan()
	const want = `Project [id AS order]
└─ TopN 10 offset 2 [id DESC NULLS LAST]  ~10
   └─ HashJoin inner [cust = id AND id <> id] runtime #1 [id]  ~12k
      ├─ Scan orders [id, cust] where [id > 5] runtime #1 [cust]  ~1.2M
      └─ Scan customers [id]
`
	if got := explain.Physical(root, nil); got != want {
		t.Errorf("got\n%s", got)
	}
	ran := func(n physical.Node) (explain.Counts, bool) {
		if n == scan {
			return explain.Counts{Rows: 1000, Bytes: 3 << 20, Time: 1500 * time.Microsecond}, true
		}
		return explain.Counts{Rows: 7, Time: 12 * time.Millisecond, Memory: 2048}, n == root
	}
	const analyzed = `Project [id AS order]  (rows 7, time 12.0 ms, memory 2.0 KiB)
└─ TopN 10 offset 2 [id DESC NULLS LAST]  ~10  (not run)
   └─ HashJoin inner [cust = id AND id <> id] runtime #1 [id]  ~12k  (not run)
      ├─ Scan orders [id, cust] where [id > 5] runtime #1 [cust]  ~1.2M  (rows 1000, time 1.50 ms, read 3.0 MiB)
      └─ Scan customers [id]  (not run)
`
	if got := explain.Physical(root, ran); got != analyzed {
		t.Errorf("got\n%s", got)
	}
}

func TestJSON(t *testing.T) {
	_, scan := plan()
	got, err := explain.JSON(&physical.Limit{Input: scan, Fetch: 3}, func(n physical.Node) (explain.Counts, bool) {
		return explain.Counts{Rows: 3, Bytes: 10, Time: 2 * time.Millisecond}, n == scan
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "node": "Limit",
  "detail": "Limit 3",
  "columns": [
    {
      "name": "id",
      "type": "BIGINT"
    },
    {
      "name": "cust",
      "type": "BIGINT"
    }
  ],
  "inputs": [
    {
      "node": "Scan",
      "detail": "Scan orders [id, cust] where [id > 5] runtime #1 [cust]",
      "columns": [
        {
          "name": "id",
          "type": "BIGINT"
        },
        {
          "name": "cust",
          "type": "BIGINT"
        }
      ],
      "estimated_rows": 1234567,
      "run": {
        "rows": 3,
        "bytes": 10,
        "time_ms": 2,
        "memory_bytes": 0
      }
    }
  ]
}`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
