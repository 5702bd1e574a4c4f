package coordinator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// lines is enough rows that what is made of them is shared.
const lines = "(SELECT * FROM lineitem UNION ALL SELECT * FROM lineitem) l"

// Subplans with several readers give the same rows in every way to run them, and none waits for a reader that waits for another.
func TestSharedSubplans(t *testing.T) {
	all := ways(t, clustertest.TPCH(t))
	for name, sql := range map[string]string{
		"self-join": "WITH r AS (SELECT l_suppkey AS k, count(*) AS n FROM " + lines + " GROUP BY 1) SELECT x.k, x.n, y.n FROM r x JOIN r y ON x.k = y.k ORDER BY 1",
		"diamond": "WITH r AS (SELECT l_suppkey AS k, l_shipmode AS m, count(*) AS n FROM " + lines + ` GROUP BY 1, 2)
			SELECT x.k, x.n, y.n FROM (SELECT k, sum(n) AS n FROM r GROUP BY k) x JOIN (SELECT m, max(k) AS k, sum(n) AS n FROM r GROUP BY m) y ON x.k = y.k ORDER BY 1, 2, 3`,
		"diamond of diamonds": "WITH r AS (SELECT l_suppkey AS k, l_shipmode AS m, count(*) AS n FROM " + lines + ` GROUP BY 1, 2),
			s AS (SELECT x.k, y.n FROM r x JOIN r y ON x.k = y.k AND x.m < y.m) SELECT count(*), sum(a.n), sum(b.k) FROM s a JOIN s b ON a.k = b.n JOIN r ON r.k = a.k`,
		"three readers, one that leaves early": "WITH r AS (SELECT l_suppkey AS k, count(*) AS n FROM " + lines + ` GROUP BY 1)
			SELECT * FROM r UNION ALL (SELECT * FROM r ORDER BY k LIMIT 1) UNION ALL SELECT 0, sum(n) FROM r ORDER BY 1, 2`,
		"a reader that nobody asks": "WITH r AS (SELECT l_suppkey AS k, count(*) AS n FROM " + lines + ` GROUP BY 1)
			SELECT (SELECT sum(n) FROM r), count(*) FROM nation JOIN r ON r.k = n_nationkey AND r.n < n_regionkey WHERE n_name = 'nowhere'`,
		"merge above": "WITH r AS (SELECT l_suppkey AS k, l_linenumber AS m, sum(l_quantity) AS n FROM " + lines + ` GROUP BY 1, 2)
			SELECT x.k, x.m, x.n, y.n FROM r x JOIN r y ON x.k = y.k AND x.m = y.m ORDER BY 3 DESC, 1, 2`,
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := all[0].run(t.Context(), "EXPLAIN "+sql, 1, 0)
			if err != nil || !strings.Contains(fmt.Sprint(plan), "Shared #1 again") {
				t.Fatalf("nothing is shared: %v %v", plan, err)
			}
			var want clustertest.Rows
			for i, w := range all {
				got, err := w.run(t.Context(), sql, 2, 0)
				if err != nil {
					t.Fatalf("%s: %v", w.name, err)
				}
				if i == 0 {
					if want = got; len(want) == 0 {
						t.Fatal("the statement gives no rows, it tests nothing")
					}
				} else if err := clustertest.Same(got, want, strings.Contains(sql, "ORDER BY 1")); err != nil {
					t.Errorf("%s: %v", w.name, err)
				}
			}
		})
	}
}

// A shared subplan that does not fit fails the query with memory_limit well before its deadline.
func TestSharedSubplanOverTheLimit(t *testing.T) {
	c := cluster(t, clustertest.TPCH(t), 3)
	sql := "WITH r AS (SELECT l_suppkey AS k, l_comment AS c, count(*) AS n FROM (SELECT * FROM lineitem UNION ALL SELECT * FROM lineitem UNION ALL SELECT * FROM lineitem) l GROUP BY 1, 2) SELECT count(*), sum(x.n) FROM r x JOIN r y ON x.k = y.k AND x.c = y.c"
	began := time.Now()
	r, err := c.Query(t.Context(), sql, client.Options{Memory: 5 << 20, Timeout: time.Minute})
	if err == nil {
		_, err = clustertest.Collect(r)
		r.Close()
	}
	if sqlerr.CodeOf(err) != sqlerr.MemoryLimit || time.Since(began) > 30*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
