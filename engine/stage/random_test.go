package stage

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/explain"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A writer writes random queries over the test's tables. They are meant to be bound, not to make sense.
type writer struct {
	*rand.Rand
	alias int
}

// A source is a table in scope: its alias, and its columns by kind.
type source struct {
	name          string
	numbers, text []string
}

var shapes = map[string]source{
	"a": {numbers: []string{"id", "k", "g"}, text: []string{"s"}},
	"b": {numbers: []string{"k", "w"}, text: []string{"s"}},
	"c": {numbers: []string{"k", "n"}},
	"d": {numbers: []string{"x", "y"}},
}

func pick1[T any](w *writer, list ...T) T { return list[w.IntN(len(list))] }

func (w *writer) source() (sql string, s source) {
	name := pick1(w, "a", "a", "b", "b", "c", "d")
	s = shapes[name]
	w.alias++
	s.name = fmt.Sprintf("t%d", w.alias)
	switch w.IntN(8) {
	case 0:
		return fmt.Sprintf("(SELECT * FROM %s WHERE %s) %s", name, w.condition([]source{{numbers: s.numbers, text: s.text}}, 1), s.name), s
	case 1:
		n := s.numbers
		s.numbers, s.text = []string{"p", "q"}, nil
		return fmt.Sprintf("(SELECT %s AS p, count(*) AS q FROM %s GROUP BY 1) %s", n[len(n)-1], name, s.name), s
	}
	return name + " " + s.name, s
}

func (w *writer) number(from []source) string {
	s := from[w.IntN(len(from))]
	col := pick1(w, s.numbers...)
	if s.name != "" {
		col = s.name + "." + col
	}
	switch w.IntN(8) {
	case 0:
		return fmt.Sprintf("(%s + %d)", col, w.IntN(4))
	case 1:
		return fmt.Sprintf("coalesce(%s, %d)", col, w.IntN(4))
	case 2:
		return fmt.Sprintf("CASE WHEN %s > %d THEN %[1]s ELSE %d END", col, w.IntN(9), w.IntN(5))
	}
	return col
}

func (w *writer) condition(from []source, depth int) string {
	if depth > 0 {
		switch w.IntN(9) {
		case 0:
			return "(" + w.condition(from, depth-1) + " OR " + w.condition(from, depth-1) + ")"
		case 1:
			return "(" + w.condition(from, depth-1) + " AND " + w.condition(from, depth-1) + ")"
		case 2:
			return "NOT (" + w.condition(from, depth-1) + ")"
		case 3, 4:
			if from[0].name != "" {
				return w.subquery(from, depth)
			}
		}
	}
	switch w.IntN(7) {
	case 0:
		return w.number(from) + " IS " + pick1(w, "", "NOT ") + "NULL"
	case 1:
		return fmt.Sprintf("%s IN (%d, %d)", w.number(from), w.IntN(10), w.IntN(10))
	case 2:
		for _, s := range from {
			if s.text != nil {
				prefix := ""
				if s.name != "" {
					prefix = s.name + "."
				}
				return fmt.Sprintf("%s%s %s '%c'", prefix, s.text[0], pick1(w, "=", "<", ">=", "<>"), 'a'+rune(w.IntN(6)))
			}
		}
	case 3:
		return w.number(from) + " = " + w.number(from)
	}
	return fmt.Sprintf("%s %s %d", w.number(from), pick1(w, "=", "<", ">", "<=", "<>"), w.IntN(20))
}

func (w *writer) subquery(outer []source, depth int) string {
	sql, s := w.source()
	inner := []source{s}
	where := w.condition(inner, 0)
	if w.IntN(3) > 0 {
		where += " AND " + w.number(inner) + pick1(w, " = ", " = ", " < ", " <> ") + w.number(outer)
	}
	if w.IntN(4) == 0 {
		where += " AND " + w.condition(append(inner, outer...), depth-1)
	}
	switch w.IntN(5) {
	case 0:
		return fmt.Sprintf("%sEXISTS (SELECT 1 FROM %s WHERE %s)", pick1(w, "", "NOT "), sql, where)
	case 1, 2:
		return fmt.Sprintf("%s %sIN (SELECT %s FROM %s WHERE %s)", w.number(outer), pick1(w, "", "NOT "), w.number(inner), sql, where)
	case 3:
		return fmt.Sprintf("%s %s %s (SELECT %s FROM %s WHERE %s)", w.number(outer), pick1(w, "<", ">=", "<>", "="), pick1(w, "ANY", "ALL"), w.number(inner), sql, where)
	}
	agg := pick1(w, "max(%s)", "count(%s)", "sum(%s)", "count(*) + 0 * max(%s)")
	return fmt.Sprintf("%s %s (SELECT "+agg+" FROM %s WHERE %s)", w.number(outer), pick1(w, "<", ">", "="), w.number(inner), sql, where)
}

func (w *writer) from() (string, []source) {
	sql, s := w.source()
	all := []source{s}
	for range w.IntN(4) {
		next, t := w.source()
		switch w.IntN(6) {
		case 0:
			sql = fmt.Sprintf("%s CROSS JOIN %s", sql, next)
			if len(all) > 1 {
				continue // products of three tables tell no more
			}
			all = append(all, t)
		default:
			on := w.number(all) + " = " + w.number([]source{t})
			if w.IntN(3) == 0 {
				on += " AND " + w.condition(append(append([]source{}, all...), t), 0)
			}
			sql = fmt.Sprintf("%s %s %s ON %s", sql, pick1(w, "JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"), next, on)
			all = append(all, t)
		}
	}
	return sql, all
}

func (w *writer) query() string {
	sql, from := w.from()
	where := ""
	if w.IntN(4) > 0 {
		where = " WHERE " + w.condition(from, 2)
		if w.IntN(3) == 0 {
			where += " AND " + w.condition(from, 2)
		}
	}
	switch w.IntN(8) {
	case 6:
		by := pick1(w, "", "PARTITION BY "+w.number(from), "PARTITION BY "+w.number(from))
		call := pick1(w, "rank()", "dense_rank()", "sum("+w.number(from)+")", "count("+w.number(from)+")", "max("+w.number(from)+")", "cume_dist()")
		over := fmt.Sprintf("%s OVER (%s ORDER BY %s %s)", call, by, w.number(from), pick1(w, "", "DESC"))
		qualify := pick1(w, "", "", " QUALIFY rank() OVER ("+by+" ORDER BY "+w.number(from)+") < 3")
		return fmt.Sprintf("SELECT %s, %s FROM %s%s%s", w.number(from), over, sql, where, qualify)
	case 7:
		a, b := w.number(from), w.number(from)
		if a == b {
			b += " + 1" // of one expression in two sets engines differ
		}
		sets := pick1(w, "ROLLUP (1, 2)", "CUBE (1, 2)", "GROUPING SETS ((1), (2), (1, 2))", "GROUPING SETS ((1), ())")
		return fmt.Sprintf("SELECT %s, %s, count(*), sum(%s) FROM %s%s GROUP BY %s, 2", a, b, w.number(from), sql, where, sets)
	case 0:
		return fmt.Sprintf("SELECT DISTINCT %s, %s FROM %s%s", w.number(from), w.number(from), sql, where)
	case 1, 2:
		key := w.number(from)
		agg := pick1(w, "count(*), sum(%[1]s)", "max(%[1]s), count(%[1]s)", "count(DISTINCT %[1]s)", "count(DISTINCT %[1]s), count(*)", "avg(%[1]s), min(%[1]s)",
			"median(%[1]s), array_agg(%[1]s ORDER BY %[1]s DESC)", "array_agg(DISTINCT %[1]s), count(*)", "bit_or(%[1]s), regr_count(%[1]s, 1)")
		having := pick1(w, "", "", " HAVING count(*) > 1")
		return fmt.Sprintf("SELECT %s, "+fmt.Sprintf(agg, w.number(from))+" FROM %s%s GROUP BY 1%s", key, sql, where, having)
	case 3:
		a, b := w.number(from), w.number(from)
		return fmt.Sprintf("SELECT %s, %s FROM %s%s ORDER BY 1 DESC, 2 LIMIT %d OFFSET %d", a, b, sql, where, 1+w.IntN(9), w.IntN(4))
	case 4:
		other, of := w.from()
		return fmt.Sprintf("SELECT %s FROM %s%s %s SELECT %s FROM %s", w.number(from), sql, where, pick1(w, "UNION", "UNION ALL", "INTERSECT", "EXCEPT"), w.number(of), other)
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s%s", w.number(from), w.number(from), sql, where)
}

// TestRandom holds the plans of random queries, as TestSpread does those of chosen ones. FLETCH_RANDOM sets how many, from which
// seed: "100000,7".
func TestRandom(t *testing.T) {
	n, seed := 150, uint64(1)
	if s := os.Getenv("FLETCH_RANDOM"); s != "" {
		count, from, _ := strings.Cut(s, ",")
		n, _ = strconv.Atoi(count)
		seed, _ = strconv.ParseUint(from, 10, 64)
	}
	all := tables()
	for i := range n {
		w := &writer{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		sql := w.query()
		if !t.Run(fmt.Sprint(i), func(t *testing.T) { checkRandom(t, all, sql, w) }) {
			t.Logf("%d: %s", i, sql)
		}
	}
}

func checkRandom(t *testing.T, all map[string]batchtest.Table, sql string, w *writer) {
	plain, _ := planOf(t, catalogOf(all, 1), sql, "unnest")
	want, err := run(t, all, plain)
	if sqlerr.CodeOf(err) == sqlerr.MemoryLimit {
		return // a product: it tells nothing more, for much
	}
	if sqlerr.CodeOf(err) == sqlerr.Unsupported {
		return
	}
	if err != nil {
		t.Fatalf("%v (%v)\n%s\n%s", err, errors.Unwrap(err), sql, explain.Physical(plain, nil))
	}
	times := pick1(w, int64(1), 100_000)
	best, _ := planOf(t, catalogOf(all, times), sql, "")
	cfg := pick1(w, Config{}, Config{ReplicateRows: -1, GatherGroups: -1})
	tasks := 2 + w.IntN(2)
	spread := Distribute(best, tasks, cfg)
	for _, way := range []struct {
		name string
		plan physical.Node
		run  func() (batchtest.Table, error)
	}{
		{"optimized", best, func() (batchtest.Table, error) { return run(t, all, best) }},
		{"spread", spread, func() (batchtest.Table, error) { return runTasks(t, all, spread, tasks) }},
	} {
		got, err := way.run()
		if sqlerr.CodeOf(err) == sqlerr.MemoryLimit {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v (%v)\n%s\n%s", way.name, err, errors.Unwrap(err), sql, explain.Physical(way.plan, nil))
		}
		batchtest.Same(t, way.name, got, want, false)
		if t.Failed() {
			t.Fatalf("%s\nplain\n%s\n%s\n%s", sql, explain.Physical(plain, nil), way.name, explain.Physical(way.plan, nil))
		}
	}
}
