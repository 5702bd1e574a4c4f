package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/catalog/catalogtest"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/lower"
	"github.com/fletchdb/fletch/engine/optimize"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/share"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// groupRows is how many rows a row group of the test's tables has.
const groupRows = 7

// tables are small, with NULLs, repeated keys, keys without a partner, and one without rows.
func tables() map[string]batchtest.Table {
	rng := rand.New(rand.NewPCG(1, 2))
	null := func(x any, share float64) any {
		if rng.Float64() < share {
			return nil
		}
		return x
	}
	out := map[string]batchtest.Table{}
	var a, b, c, d []any
	for i := range 90 {
		a = append(a, i, null(rng.IntN(25), .1), rng.IntN(4), fmt.Sprintf("%d.%02d", rng.IntN(50), rng.IntN(100)), null(string(rune('a'+rng.IntN(6))), .1))
	}
	for range 40 {
		b = append(b, null(rng.IntN(30), .15), null(rng.IntN(5), .1), string(rune('a'+rng.IntN(8))))
	}
	for i := range 12 {
		c = append(c, i*2, null(rng.IntN(4), .2))
	}
	for i := range 9 {
		d = append(d, i, i%3)
	}
	out["a"] = batchtest.Rows("id int64, k int64, g int32, v decimal(15,2), s utf8", a...)
	out["b"] = batchtest.Rows("k int64, w int32, s utf8", b...)
	out["c"] = batchtest.Rows("k int64, n int32", c...)
	out["d"] = batchtest.Rows("x int64, y int32", d...)
	out["empty"] = batchtest.Rows("k int64, w int32")
	return out
}

// catalogOf describes tables to the planner, as having so many times the rows that they have.
func catalogOf(all map[string]batchtest.Table, times int64) catalogtest.Catalog {
	out := catalogtest.Catalog{}
	for name, t := range all {
		tab := &catalog.Table{Name: name, Rows: int64(len(t.Rows)) * times}
		groups := []int32{}
		for g := range (len(t.Rows) + groupRows - 1) / groupRows {
			groups = append(groups, int32(g))
		}
		tab.Files = []physical.File{{Path: "/" + name, Size: int64(len(t.Rows)) * times * 40, RowGroups: groups}}
		for i, f := range t.Fields {
			col := catalog.Column{Name: f.Name, Type: f.Type, Nullable: true}
			if i == 0 && name == "a" {
				col.Nullable = false
			}
			tab.Columns = append(tab.Columns, col)
		}
		out[name] = tab
	}
	return out
}

var queries = []string{
	"SELECT * FROM a",
	"SELECT id, v * 2 FROM a WHERE g = 1 OR s = 'b'",
	"SELECT count(*) FROM a",
	"SELECT count(*), sum(v), avg(v), min(s), max(id), count(k) FROM a WHERE id > 1000",
	"SELECT g, count(*), sum(v), avg(v), min(s), max(k) FROM a GROUP BY g",
	"SELECT k, g, avg(id), count(s) FROM a GROUP BY k, g",
	"SELECT id % 7, sum(v) FROM a GROUP BY 1 HAVING count(*) > 3",
	"SELECT g, count(DISTINCT k), sum(DISTINCT g), count(*) FROM a GROUP BY g",
	"SELECT count(DISTINCT s), stddev(g) FROM a",
	"SELECT g, count(DISTINCT k), sum(DISTINCT k) FROM a GROUP BY g",
	"SELECT count(DISTINCT k + 1) FROM a",
	"SELECT k, count(DISTINCT k) FROM a GROUP BY k",
	"SELECT DISTINCT k, s FROM a",
	"SELECT g, sum(v) FILTER (WHERE s > 'c') FROM a GROUP BY g",
	"SELECT id FROM a ORDER BY v DESC, id",
	"SELECT id, v FROM a ORDER BY v DESC, id LIMIT 5 OFFSET 3",
	"SELECT id FROM a ORDER BY k NULLS FIRST, id LIMIT 1000",
	"SELECT count(*) FROM (SELECT id FROM a LIMIT 13 OFFSET 4) t",
	"SELECT count(*) FROM (SELECT id FROM a WHERE g = 2 LIMIT 1000) t",
	"SELECT id FROM a UNION ALL SELECT k FROM b UNION ALL VALUES (1), (2)",
	"SELECT k FROM a UNION SELECT k FROM b",
	"SELECT k FROM a INTERSECT SELECT k FROM b",
	"SELECT k, s FROM a EXCEPT SELECT k, s FROM b",
	"SELECT sum(n) FROM (SELECT count(*) AS n FROM a UNION ALL SELECT 5) t",

	"SELECT a.id, b.w FROM a JOIN b ON a.k = b.k",
	"SELECT a.id, b.w FROM a JOIN b ON a.k = b.k AND a.s = b.s",
	"SELECT a.id, b.w FROM a JOIN b ON a.k = b.k AND a.s < b.s",
	"SELECT a.id, b.w FROM a LEFT JOIN b ON a.k = b.k",
	"SELECT a.id, b.w FROM a LEFT JOIN b ON a.k = b.k AND a.g > 1",
	"SELECT a.id, b.w FROM a RIGHT JOIN b ON a.k = b.k",
	"SELECT a.id, b.w, b.k FROM a FULL JOIN b ON a.k = b.k",
	"SELECT c.k, a.id FROM c LEFT JOIN a ON a.k = c.k",
	"SELECT c.k, a.id FROM c LEFT JOIN a ON a.k = c.k AND a.v > 20.00 WHERE a.id IS NULL OR a.g = 1",
	"SELECT a.id, c.n FROM a, c WHERE a.k < c.k AND a.g = 1",
	"SELECT a.id, c.n FROM a LEFT JOIN c ON a.k < c.k AND a.g = c.n",
	"SELECT c.n, a.id FROM a RIGHT JOIN c ON a.k < c.k",
	"SELECT c.n, d.x FROM c FULL JOIN d ON c.k < d.x",
	"SELECT a.id FROM a JOIN b ON a.k + 1 = b.k * 2",
	"SELECT a.id, b.w, c.n FROM a, b, c WHERE a.k = b.k AND b.k = c.k",
	"SELECT a.id, b.w, c.n, d.y FROM a, b, c, d WHERE a.k = b.k AND b.w = c.n AND c.k = d.x AND a.g < 3",
	"SELECT a.id, b.w, c.n FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k",
	"SELECT a.id, b.w, c.n FROM a JOIN b ON a.k = b.k LEFT JOIN c ON b.w = c.n WHERE a.g <> 2",
	"SELECT * FROM c NATURAL JOIN b",
	"SELECT k, c.n FROM c FULL JOIN b USING (k)",
	"SELECT g, count(*) FROM a JOIN b ON a.k = b.k GROUP BY g ORDER BY 2 DESC, 1",
	"SELECT b.k, count(*), sum(a.v) FROM a JOIN b ON a.k = b.k GROUP BY b.k",
	"SELECT x.k, x.n, y.n FROM (SELECT k, count(*) AS n FROM a GROUP BY k) x JOIN (SELECT k, count(*) AS n FROM b GROUP BY k) y ON x.k = y.k",
	"SELECT a.id FROM a JOIN empty e ON a.k = e.k",
	"SELECT a.id, e.w FROM a LEFT JOIN empty e ON a.k = e.k",
	"SELECT e.k, a.id FROM a FULL JOIN empty e ON a.k = e.k",
	"SELECT count(*), sum(w) FROM empty",
	"SELECT w, count(*) FROM empty GROUP BY w",

	"SELECT id FROM a WHERE k IN (SELECT k FROM b)",
	"SELECT id FROM a WHERE k NOT IN (SELECT k FROM b)",
	"SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)",
	"SELECT id FROM a WHERE k NOT IN (SELECT k FROM empty)",
	"SELECT id, k IN (SELECT k FROM b) AS x FROM a",
	"SELECT id, k IN (SELECT k FROM b WHERE b.s = a.s) AS x FROM a",
	"SELECT id FROM a WHERE k NOT IN (SELECT k FROM b WHERE b.s = a.s)",
	"SELECT id FROM a WHERE (k, s) IN (SELECT k, s FROM b) OR g = 1",
	"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w > a.g)",
	"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.w <> a.g)",
	"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k < a.k) AND g = 3",
	"SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k > a.k)",
	"SELECT c.k FROM c WHERE EXISTS (SELECT 1 FROM a WHERE a.k = c.k)",
	"SELECT c.k FROM c WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = c.k)",
	"SELECT id FROM a WHERE g > ALL (SELECT n FROM c WHERE n IS NOT NULL AND n < 2)",
	"SELECT id FROM a WHERE g >= ANY (SELECT n FROM c)",
	"SELECT id, g > ALL (SELECT n FROM c) AS x FROM a",
	"SELECT id, (SELECT count(*) FROM b WHERE b.k = a.k) AS n FROM a",
	"SELECT id, (SELECT sum(w) FROM b WHERE b.k = a.k) AS n FROM a",
	"SELECT id, (SELECT sum(w) + count(*) FROM b WHERE b.k = a.k) AS n FROM a",
	"SELECT id, (SELECT max(w) FROM b WHERE b.k = a.k HAVING count(*) > 1) AS n FROM a",
	"SELECT id, (SELECT count(*) FROM b WHERE b.k < a.k) AS n FROM a",
	"SELECT id FROM a WHERE v > (SELECT avg(v) FROM a)",
	"SELECT id FROM a WHERE v > (SELECT avg(x.v) FROM a x WHERE x.g = a.g)",
	"SELECT id, (SELECT n FROM c WHERE c.k = a.k) AS n FROM a",
	"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND EXISTS (SELECT 1 FROM c WHERE c.k = b.k AND c.n <> a.g))",
	"SELECT id FROM a WHERE id IN (SELECT x FROM d WHERE y IN (SELECT n FROM c WHERE c.k = d.x))",
	"SELECT c.k, x.m FROM c, LATERAL (SELECT max(v) AS m FROM a WHERE a.k = c.k) x",
	"SELECT c.k, x.id FROM c LEFT JOIN LATERAL (SELECT id FROM a WHERE a.k = c.k AND a.g = 1) x ON true",
	"SELECT c.k, x.t FROM c LEFT JOIN LATERAL (SELECT id + c.k AS t FROM a WHERE a.k = c.k) x ON true",
	"SELECT g, (SELECT count(*) FROM b WHERE b.w = a.g) FROM a GROUP BY g",
	"SELECT g FROM a GROUP BY g HAVING sum(v) > (SELECT sum(v) / 4 FROM a)",
	"WITH t AS (SELECT k, count(*) AS n FROM a GROUP BY k) SELECT x.k, y.n FROM t x JOIN t y ON x.k = y.k + 1",
	"WITH t AS (SELECT g, sum(v) AS n FROM a GROUP BY g) SELECT x.g, y.n FROM t x JOIN t y ON x.g = y.g",
	"WITH t AS (SELECT g, sum(v) AS n FROM a GROUP BY g) SELECT g, n FROM t WHERE n = (SELECT max(n) FROM t)",
	"WITH t AS (SELECT g, count(*) AS n FROM a GROUP BY g) SELECT * FROM t UNION ALL SELECT * FROM t UNION ALL SELECT 0, n FROM t",
	"WITH t AS (SELECT g, count(*) AS n FROM a GROUP BY g) SELECT * FROM t x FULL JOIN t y ON x.g = y.n LEFT JOIN t z ON z.n > y.n",
	"WITH t AS (SELECT g, count(*) AS n FROM a GROUP BY g), u AS (SELECT x.g, y.n FROM t x JOIN t y ON x.g = y.g) SELECT u.g, v.n, t.n FROM u JOIN u v ON u.g = v.g JOIN t ON t.g = v.g",
	"SELECT (SELECT max(k) FROM b), (SELECT n FROM c WHERE k = 4)",
	"SELECT id FROM a WHERE (a.k = 3 AND a.s = 'a') OR (a.k = 3 AND a.s = 'b') OR a.id = 4",
	"SELECT a.id, b.s FROM a, b WHERE (a.k = b.k AND a.s = 'a' AND b.w = 1) OR (a.k = b.k AND a.s = 'b' AND b.w = 2)",
	"SELECT g, 'x', count(*) FROM a GROUP BY g, g + 1, 2",
	"SELECT g, k, sum(v), grouping(g), grouping(k, g) FROM a GROUP BY ROLLUP (g, k)",
	"SELECT g, s, count(*) FROM a WHERE id IN (SELECT x FROM d) GROUP BY GROUPING SETS ((g), (s), ()) HAVING count(*) > 0 ORDER BY g, s, 3",
	"SELECT g, s, k, count(*) FROM a GROUP BY CUBE (g, s), k",
	"SELECT count(*) FROM a GROUP BY GROUPING SETS ((), ())",

	"SELECT id, row_number() OVER (ORDER BY id), count(*) OVER () FROM a",
	"SELECT id, rank() OVER (PARTITION BY g ORDER BY k), dense_rank() OVER (PARTITION BY g ORDER BY k), percent_rank() OVER (PARTITION BY g ORDER BY k), cume_dist() OVER (PARTITION BY g ORDER BY k) FROM a",
	"SELECT id, sum(v) OVER (PARTITION BY g ORDER BY id), avg(v) OVER (PARTITION BY g), min(s) OVER (PARTITION BY g, k ORDER BY id ROWS 1 PRECEDING) FROM a",
	"SELECT id, lag(id) OVER (PARTITION BY k ORDER BY id), lead(id, 2, -1) OVER (PARTITION BY k ORDER BY id), ntile(3) OVER (PARTITION BY g ORDER BY id) FROM a",
	"SELECT id, first_value(s) OVER w, last_value(s) OVER w, nth_value(id, 2) OVER w FROM a WINDOW w AS (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
	"SELECT id, sum(id) OVER (ORDER BY k RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING), count(*) OVER (ORDER BY g GROUPS 1 PRECEDING) FROM a",
	"SELECT id, sum(id) OVER (PARTITION BY k % 3 ORDER BY id) FROM a",
	"SELECT id, sum(id) OVER (PARTITION BY g ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW), count(s) FILTER (WHERE s > 'b') OVER (PARTITION BY g) FROM a",
	"SELECT g, sum(v), rank() OVER (ORDER BY sum(v) DESC), sum(sum(v)) OVER () FROM a GROUP BY g",
	"SELECT id, k FROM a QUALIFY row_number() OVER (PARTITION BY k ORDER BY id DESC) = 1",
	"SELECT * FROM (SELECT id, g, rank() OVER (PARTITION BY g ORDER BY id) AS r FROM a) t WHERE g = 2 AND r < 4",
	"SELECT a.id, b.w, count(*) OVER (PARTITION BY a.k) FROM a JOIN b ON a.k = b.k",
	"SELECT id, (SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY x) AS r FROM d WHERE d.y = a.g) t) FROM a",
	"SELECT DISTINCT ON (k) k, id, s FROM a ORDER BY k, id DESC",
	"SELECT DISTINCT ON (g + 1) id FROM a ORDER BY g + 1, v, id",
	"SELECT DISTINCT ON (x) sum(v) AS s, g % 2 AS x FROM a GROUP BY g ORDER BY x, s",
	"SELECT k FROM a INTERSECT ALL SELECT k FROM b",
	"SELECT k, s FROM a EXCEPT ALL SELECT k, s FROM b",
	"SELECT k FROM b EXCEPT ALL SELECT k FROM a",
	"SELECT id, k FROM a UNION ALL BY NAME SELECT k, w FROM b",
	"SELECT a.id FROM a JOIN b ON a.k = b.k AND b.w > (SELECT avg(n) FROM c WHERE c.k > a.g)",
	"SELECT id, (SELECT w FROM b WHERE b.k = a.k ORDER BY w, s LIMIT 1) FROM a",
	"SELECT id, (SELECT w FROM b WHERE b.k < a.k ORDER BY w DESC NULLS LAST, s LIMIT 1 OFFSET 2) FROM a",
	"SELECT c.k, t.id FROM c, LATERAL (SELECT id FROM a WHERE a.k = c.k ORDER BY id DESC LIMIT 2) t",
	"SELECT id FROM a WHERE k IN (SELECT k FROM b WHERE b.w = a.g ORDER BY b.k LIMIT 2)",
	"SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k LIMIT 1 OFFSET 1)",
}

// TestSpread holds every way of running a query to the plain one: optimized, and spread over tasks with exchanges of every kind.
func TestSpread(t *testing.T) {
	all := tables()
	for _, sql := range queries {
		t.Run(sql, func(t *testing.T) {
			plain, ordered := planOf(t, catalogOf(all, 1), sql, "unnest")
			want, err := run(t, all, plain)
			if err != nil {
				t.Fatalf("%v (%v)\n%s", err, errors.Unwrap(err), explain.Physical(plain, nil))
			}
			check := func(what string, plan physical.Node, execute func() (batchtest.Table, error)) {
				t.Helper()
				got, err := execute()
				if err != nil {
					t.Fatalf("%s: %v (%v)\n%s", what, err, errors.Unwrap(err), explain.Physical(plan, nil))
				}
				batchtest.Same(t, what, got, want, ordered)
				if t.Failed() {
					t.Fatalf("%s", explain.Physical(plan, nil))
				}
			}
			for _, times := range []int64{1, 100_000} {
				best, _ := planOf(t, catalogOf(all, times), sql, "")
				check(fmt.Sprintf("optimized for %d", times), best, func() (batchtest.Table, error) { return run(t, all, best) })
				for _, cfg := range []Config{{}, {ReplicateRows: -1, GatherGroups: -1}} {
					for _, tasks := range []int{2, 3} {
						spread := Distribute(best, tasks, cfg)
						checkSchema(t, best, spread)
						check(fmt.Sprintf("%d tasks, %+v, for %d", tasks, cfg, times), spread, func() (batchtest.Table, error) { return runTasks(t, all, spread, tasks) })
					}
				}
			}
		})
	}
}

func planOf(t *testing.T, c catalogtest.Catalog, sql, until string) (plan physical.Node, ordered bool) {
	t.Helper()
	st, err := parse.ParseOne(sql)
	if err != nil {
		t.Fatal(err)
	}
	q := st.(*ast.QueryStatement).Query
	p, err := bind.Query(t.Context(), q, c, bind.Config{})
	if err == nil {
		p, err = optimize.Plan(t.Context(), p, optimize.Config{Until: until})
	}
	if err != nil {
		t.Fatal(err)
	}
	if plan, err = lower.Plan(p); err != nil {
		t.Fatal(err)
	}
	if until == "" {
		plan = share.Plan(plan)
	}
	return plan, q.OrderBy != nil
}

// checkSchema holds spreading to the columns of the plan.
func checkSchema(t *testing.T, plan, spread physical.Node) {
	t.Helper()
	names := func(n physical.Node) string {
		var parts []string
		for _, f := range n.Schema() {
			parts = append(parts, f.Name+" "+f.Type.String())
		}
		return strings.Join(parts, ", ")
	}
	if a, b := names(plan), names(spread); a != b {
		t.Fatalf("schema %s became %s", a, b)
	}
}

// run executes a plan in one task.
func run(t *testing.T, all map[string]batchtest.Table, plan physical.Node) (batchtest.Table, error) {
	return execute(t, all, plan, nil)
}

func execute(t *testing.T, all map[string]batchtest.Table, plan physical.Node, remote func(*physical.Remote) exec.Source) (batchtest.Table, error) {
	sources := map[*physical.Scan]exec.Source{}
	root := overTables(plan, all, sources)
	env := &exec.Env{
		Threads: 2, BatchRows: 16, Budget: budget.New(32 << 20),
		OpenScan:   func(_ context.Context, s *physical.Scan) (exec.Source, error) { return sources[s], nil },
		OpenRemote: func(_ context.Context, r *physical.Remote) (exec.Source, error) { return remote(r), nil },
	}
	c := &bounded{}
	err := exec.Run(t.Context(), root, env, c)
	out := c.Table()
	out.Fields = root.Schema()
	return out, err
}

// A bounded sink fails once there are more rows than a test should compare.
type bounded struct {
	batchtest.Collect
	rows atomic.Int64
}

var errTooMany = sqlerr.New(sqlerr.MemoryLimit, sqlerr.Pos{}, "too many rows for a test")

func (b *bounded) NewLocal() (exec.Local, error) { return b, nil }

func (b *bounded) Push(ctx context.Context, batch *vector.Batch) error {
	if b.rows.Add(int64(batch.Rows())) > 30_000 {
		return errTooMany
	}
	return b.Collect.Push(ctx, batch)
}

// overTables replaces every scan by one of the rows of its row groups, with its filter above.
func overTables(n physical.Node, all map[string]batchtest.Table, sources map[*physical.Scan]exec.Source) physical.Node {
	s, ok := n.(*physical.Scan)
	if !ok {
		kids := make([]physical.Node, len(n.Children()))
		for i, k := range n.Children() {
			kids[i] = overTables(k, all, sources)
		}
		return physical.WithChildren(n, kids)
	}
	var part batchtest.Table
	for _, c := range s.Columns {
		part.Fields = append(part.Fields, physical.Field{Name: c.Name, Type: c.Type, Nullable: c.Nullable})
	}
	for _, f := range s.Files {
		rows := all[strings.TrimPrefix(f.Path, "/")].Rows
		for _, g := range f.RowGroups {
			for _, row := range rows[g*groupRows : min(int(g+1)*groupRows, len(rows))] {
				var cut []expr.Value
				for _, c := range s.Columns {
					cut = append(cut, row[c.Index])
				}
				part.Rows = append(part.Rows, cut)
			}
		}
	}
	leaf := batchtest.Scan(part)
	sources[leaf] = batchtest.NewSource(part, batchtest.Shape{Rows: 5, Select: true, Forms: true})
	if s.Filter == nil {
		return leaf
	}
	return &physical.Filter{Input: leaf, Cond: s.Filter}
}

// runTasks executes a spread plan stage by stage, producers first, and moves rows as its outputs say.
func runTasks(t *testing.T, all map[string]batchtest.Table, plan physical.Node, tasks int) (batchtest.Table, error) {
	stages := Cut(plan, tasks)
	byStage := make([][]Task, len(stages))
	for _, task := range Assign(stages) {
		byStage[task.Stage] = append(byStage[task.Stage], task)
	}
	outputs := make([][]batchtest.Table, len(stages)) // per stage and task
	var produce func(id int32) error
	produce = func(id int32) error {
		for _, in := range stages[id].Inputs {
			if outputs[in.Stage] == nil {
				if err := produce(in.Stage); err != nil {
					return err
				}
			}
			if from := stages[in.Stage]; from.Output.Kind == physical.Share && from.Tasks != stages[id].Tasks {
				t.Errorf("stage %d of %d tasks shares what %d tasks give", id, stages[id].Tasks, from.Tasks)
			}
		}
		if stages[id].Output.Kind == physical.Gather && stages[id].Output.Partitions != 1 {
			t.Errorf("stage %d gathers into %d partitions", id, stages[id].Output.Partitions)
		}
		for _, task := range byStage[id] {
			got, err := execute(t, all, task.Root, func(r *physical.Remote) exec.Source {
				return received(t, outputs[r.Stage], stages[r.Stage].Output, task.Index, r)
			})
			if err != nil {
				return err
			}
			outputs[id] = append(outputs[id], got)
		}
		return nil
	}
	if err := produce(0); err != nil {
		return batchtest.Table{}, err
	}
	if len(outputs[0]) != 1 {
		t.Fatalf("the result comes from %d tasks", len(outputs[0]))
	}
	return outputs[0][0], nil
}

// A streamed is the streams of a merge.
type streamed struct {
	exec.Source
	parts []batchtest.Table
}

func (s streamed) Streams() ([]exec.Reader, error) {
	var out []exec.Reader
	for _, p := range s.parts {
		r, err := batchtest.NewSource(p, batchtest.Shape{Rows: 4}).NewReader()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// received is what a task is sent by the tasks of a stage.
func received(t *testing.T, from []batchtest.Table, out physical.Output, task int, r *physical.Remote) exec.Source {
	parts := make([]batchtest.Table, len(from))
	whole := batchtest.Table{Fields: r.Fields}
	for i, f := range from {
		parts[i] = batchtest.Table{Fields: r.Fields, Rows: f.Rows}
		switch out.Kind {
		case physical.Share:
			if i != task {
				parts[i].Rows = nil
			}
		case physical.Hash:
			parts[i].Rows = partition(t, f, out.Keys, out.Partitions)[task]
		case physical.Robin:
			parts[i].Rows = nil
			for k, row := range f.Rows {
				if k%out.Partitions == task {
					parts[i].Rows = append(parts[i].Rows, row)
				}
			}
		}
		whole.Rows = append(whole.Rows, parts[i].Rows...)
	}
	src := batchtest.NewSource(whole, batchtest.Shape{Rows: 6, Forms: true})
	if r.Merge != nil {
		return streamed{src, parts}
	}
	return src
}

func partition(t *testing.T, table batchtest.Table, keys []int, n int) [][][]expr.Value {
	reader, err := batchtest.NewSource(table, batchtest.Shape{Rows: 16}).NewReader()
	if err != nil {
		t.Fatal(err)
	}
	out := make([][][]expr.Value, n)
	split := hash.NewSplitter(keys, n)
	for {
		b, err := reader.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return out
		}
		for p, rows := range split.Split(b) {
			for _, i := range rows {
				var row []expr.Value
				for _, c := range b.Cols {
					row = append(row, batchtest.ValueAt(c, int(i)))
				}
				out[p] = append(out[p], row)
			}
		}
	}
}

// TestAssign: every unit of work is one task's, and no task has much more than another.
func TestAssign(t *testing.T) {
	files := []physical.File{
		{Path: "a", Size: 1000, RowGroups: []int32{0, 1, 2, 3, 4}},
		{Path: "b", Size: 90},
		{Path: "c", Size: 600, RowGroups: []int32{2, 3}},
	}
	for _, tasks := range []int{1, 2, 3, 7, 20} {
		seen := map[string]bool{}
		for _, share := range deal(files, tasks) {
			if share == nil {
				t.Errorf("%d tasks: a task's files are nil", tasks)
			}
			for _, f := range share {
				if f.RowGroups == nil {
					seen[f.Path] = true
				}
				if !slices.IsSorted(f.RowGroups) {
					t.Errorf("%d tasks: row groups %v", tasks, f.RowGroups)
				}
				for _, g := range f.RowGroups {
					key := fmt.Sprint(f.Path, g)
					if seen[key] {
						t.Errorf("%d tasks: %s is read twice", tasks, key)
					}
					seen[key] = true
				}
			}
		}
		if len(seen) != 8 {
			t.Errorf("%d tasks: %d units of 8 are read", tasks, len(seen))
		}
	}
}
