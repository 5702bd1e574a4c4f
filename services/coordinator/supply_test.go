package coordinator_test

import (
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// A query of files and of tables that only its session has runs on workers, which get the tables' rows from the coordinator.
func TestSessionTablesOnWorkers(t *testing.T) {
	var urls []string
	for range 3 {
		urls = append(urls, startWorker(t, "v1", worker.WithFunction(plus(1))).URL())
	}
	c := over(t, urls)
	id, err := c.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options{SessionID: id}
	for _, sql := range []string{
		"CREATE TABLE few AS SELECT * FROM (VALUES (0::BIGINT, 'zero'), (1, 'one'), (NULL, 'none'), (3, NULL)) t(k, name)",
		"CREATE TABLE many AS SELECT x AS k, repeat('x', 60) || x AS pad, (x / 3)::DECIMAL(30, 4) AS d FROM generate_series(1, 200000) s(x)",
		"CREATE TABLE nobody (k BIGINT)",
	} {
		if _, _, err := run(t.Context(), c, sql, o); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for sql, want := range map[string]string{
		"SELECT name, count(*) FROM few JOIN nation ON k = n_regionkey GROUP BY 1 ORDER BY 1":                                    "[[one 5] [zero 5] [ 5]]",
		"SELECT count(*), max(length(pad)), count(d) FROM many JOIN orders ON k = o_orderkey":                                    "[[15000 65 15000]]",
		"SELECT count(*) FROM lineitem WHERE l_orderkey IN (SELECT k FROM many WHERE k % 2 = 0)":                                 "",
		"SELECT count(*) FROM lineitem WHERE l_orderkey NOT IN (SELECT k FROM few WHERE k IS NOT NULL)":                          "",
		"SELECT count(*) FROM (SELECT k FROM many UNION ALL SELECT n_nationkey FROM nation) u":                                   "[[200025]]",
		"SELECT m.k, name, n_name FROM many m LEFT JOIN few USING (k) JOIN nation ON m.k = n_nationkey WHERE m.k < 3 ORDER BY 1": "[[1 one ARGENTINA] [2  BRAZIL]]",
		"SELECT count(*) FROM nobody RIGHT JOIN region ON k = r_regionkey":                                                       "[[5]]",
		"SELECT (SELECT max(k) FROM many), n_name FROM nation ORDER BY n_name LIMIT 1":                                           "[[200000 ALGERIA]]",
		"SELECT 1 FROM many, nation LIMIT 1":                                                                                     "[[1]]",
		"SELECT count(*) FROM many a JOIN many b USING (k) JOIN orders ON k = o_orderkey":                                        "[[15000]]",
		"SELECT sum(plus(k)) FROM few WHERE plus(k) > 1":                                                                         "[[6]]",
		"SELECT name FROM few JOIN region ON k = r_regionkey AND plus(r_regionkey) = 2":                                          "[[one]]",
	} {
		rows, end, err := run(t.Context(), c, sql, o)
		if want == "" {
			want = rows // that it ran is looked at below; the rows are compared with those of one process
			alone, _, err := run(t.Context(), c, strings.NewReplacer("many", "(SELECT x AS k FROM generate_series(1, 200000) s(x)) many", "few", "(SELECT k FROM (VALUES (0::BIGINT), (1), (3)) t(k)) few").Replace(sql), client.Options{})
			if err != nil || rows != alone {
				t.Errorf("%s: %s, want %s, %v", sql, rows, alone, err)
			}
		}
		if err != nil || rows != want || len(end.GetWorkers()) == 0 || end.GetAttempts() != 1 {
			t.Errorf("%s: %s, want %s, on %v in %d attempts, %v", sql, rows, want, end.GetWorkers(), end.GetAttempts(), err)
		}
	}
	// What reads no file stays here.
	if rows, end, err := run(t.Context(), c, "SELECT count(*) FROM many JOIN few USING (k)", o); err != nil || rows != "[[2]]" || len(end.GetWorkers()) != 0 {
		t.Errorf("%s on %v, %v", rows, end.GetWorkers(), err)
	}
	recursion := "WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION SELECT k FROM few, r WHERE k > n) SELECT count(*) FROM r, region"
	if rows, end, err := run(t.Context(), c, recursion, o); err != nil || rows != "[[10]]" || len(end.GetWorkers()) != 0 {
		t.Errorf("a recursion: %s on %v, %v", rows, end.GetWorkers(), err)
	}
	// What waits for the task counts in the query's memory.
	if _, _, err := run(t.Context(), c, "SELECT max(pad) FROM many JOIN orders ON k = o_orderkey", client.Options{SessionID: id, Memory: 256 << 10}); sqlerr.CodeOf(err) != sqlerr.MemoryLimit {
		t.Errorf("without memory: %v", err)
	}
	// A table that cannot be read is what the query fails of, not that its rows stopped coming.
	for range 20 {
		if _, _, err := run(t.Context(), c, "SELECT count(*) FROM many JOIN nation ON k = n_regionkey WHERE 1 / (k - 150000) < 5", o); sqlerr.CodeOf(err) != sqlerr.DivisionByZero {
			t.Errorf("a division by zero: %v", err)
		}
	}
	text, _, err := run(t.Context(), c, "EXPLAIN ANALYZE SELECT count(*) FROM few JOIN nation ON k = n_regionkey", o)
	if err != nil || !strings.Contains(text, "Worker:") {
		t.Errorf("EXPLAIN ANALYZE: %s, %v", text, err)
	}
}

// A worker that is lost while it is supplied costs an attempt, not the query.
func TestSuppliedWorkerIsLost(t *testing.T) {
	lost := clustertest.Start(t, "worker", "--listen", "127.0.0.1:0", "--version", "v1", "--read-root", clustertest.TPCH(t))
	stays := clustertest.Start(t, "worker", "--listen", "127.0.0.1:0", "--version", "v1", "--read-root", clustertest.TPCH(t))
	c := over(t, []string{lost.URL, stays.URL})
	id, err := c.OpenSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := client.Options{SessionID: id}
	if _, _, err := run(t.Context(), c, "CREATE TABLE many AS SELECT x AS k FROM generate_series(1, 60000) s(x)", o); err != nil {
		t.Fatal(err)
	}
	const sql = "SELECT count(*) FROM many JOIN lineitem ON k = l_orderkey"
	if rows, _, err := run(t.Context(), c, sql, o); err != nil || rows != "[[60175]]" {
		t.Fatalf("%s, %v", rows, err)
	}
	lost.Kill()
	if rows, end, err := run(t.Context(), c, sql, o); err != nil || rows != "[[60175]]" {
		t.Errorf("%s, %v, %v", rows, end, err)
	}
}
