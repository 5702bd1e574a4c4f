package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A ref is a column that an expression can name.
type ref struct {
	text    string
	kind    kind
	extreme bool
}

// A scope is the columns that an expression sees.
type scope struct {
	refs    []ref
	outer   *scope
	rows    int  // at most so many, more or less
	ties    bool // rows may be equal in all columns
	ordered bool // a window orders them already: another might order equal rows otherwise
}

// A grammar makes random queries that have one answer: what order or which of equal rows may not tell is never asked for.
type grammar struct {
	r      *rand.Rand
	tables []*table
	names  int
	large  bool // the large table is in the query already
	bound  int  // of the rows of the query made last
	own    bool // the query may have what DuckDB does not
	ctes   []relation
	used   map[string]int // how often these tables have had a call
}

func newGrammar(r *rand.Rand, tables []*table) *grammar {
	return &grammar{r: r, tables: tables, used: map[string]int{}}
}

type relation struct {
	name string
	refs []ref // without the name before them
	rows int
}

func (g *grammar) one(texts ...string) string { return texts[g.r.IntN(len(texts))] }
func (g *grammar) p(percent int) bool         { return g.r.IntN(100) < percent }

func (g *grammar) name(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *grammar) perhaps(percent int, parts ...any) *term {
	if !g.p(percent) {
		return seq()
	}
	return maybe(parts...)
}

// outputs are the columns of a subquery, and their names.
func outputs(out []ref) (refs []ref, names []any) {
	for i, o := range out {
		n := fmt.Sprintf("c%d", i)
		refs, names = append(refs, ref{n, o.kind, o.extreme}), append(names, n)
	}
	return refs, names
}

func qualified(alias string, refs []ref) (out []ref) {
	for _, r := range refs {
		out = append(out, ref{alias + "." + r.text, r.kind, r.extreme})
	}
	return out
}

// statement is a whole query.
func (g *grammar) statement() statement {
	g.names, g.large, g.ctes, g.own = 0, false, nil, g.p(25)
	with := seq()
	if g.p(20) {
		with = g.with()
	}
	q, _, tail := g.query(3, nil, nil)
	return statement{root: seq(with, q), tail: tail, own: g.own}
}

func (g *grammar) with() *term {
	if g.p(25) {
		return g.recursive()
	}
	var parts []any
	for range 1 + g.r.IntN(2) {
		q, out, _ := g.query(1, nil, nil)
		refs, names := outputs(out)
		rel := relation{g.name("w"), refs, g.bound}
		parts = append(parts, seq(rel.name, "(", list(", ", names...), ") AS (", q, ")"))
		g.ctes = append(g.ctes, rel)
	}
	return maybe("WITH ", list(", ", parts...), " ")
}

// recursive is a query that ends: by a bound, or because nothing new comes.
func (g *grammar) recursive() *term {
	name, t := g.name("w"), g.tables[1+g.r.IntN(2)]
	g.ctes = append(g.ctes, relation{name, []ref{{"c0", kInt, false}, {"c1", kInt, false}}, 60})
	head := "WITH RECURSIVE " + name + "(c0, c1) AS ("
	switch g.r.IntN(3) {
	case 0:
		return maybe(head, "SELECT 1, ", g.constant(kInt), " UNION ALL SELECT c0 + 1, c1 ", g.one("+", "-"), " c0 FROM ", name, " WHERE c0 < ", g.one("0", "3", "20"), ") ")
	case 1:
		return maybe(head, "SELECT k, k FROM ", t.name, " UNION SELECT ", name, ".c0, (c1 + 1) % 7 FROM ", name, " WHERE c1 IS NOT NULL) ")
	}
	return maybe(head, "SELECT id, k FROM ", t.name, g.one(" UNION ALL ", " UNION "), "SELECT t.id, t.k FROM ", name, " JOIN ", t.name, " AS t ON t.id = ", name, ".c0 + ", g.one("1", "3"), ") ")
}

// query is a SELECT, or several and a set operation; want is the kinds of its columns, nil for any. Its ORDER BY is tail.
func (g *grammar) query(depth int, outer *scope, want []kind) (q *term, out []ref, tail *term) {
	q, out = g.sel(depth, outer, want)
	bound := g.bound
	for n := 0; depth > 0 && n < 2 && g.p(18); n++ {
		var need []kind
		for _, o := range out {
			need = append(need, o.kind)
		}
		other, refs := g.sel(depth-1, outer, need)
		bound += g.bound
		for i := range out {
			out[i].extreme = out[i].extreme || refs[i].extreme
		}
		q = of("query", "(", q, ")", g.one(" UNION ", " UNION ALL ", " UNION ALL ", " INTERSECT ", " EXCEPT ", " INTERSECT ALL ", " EXCEPT ALL "), "(", other, ")")
	}
	tail = seq()
	if g.p(30) {
		var keys []any
		for i := range out {
			keys = append(keys, fmt.Sprint(i+1)+g.one("", "", " DESC", " ASC NULLS FIRST", " DESC NULLS LAST"))
		}
		if g.p(8) {
			keys = []any{"ALL"}
		}
		tail = maybe(" ORDER BY ", list(", ", keys...), g.limit())
	}
	g.bound = bound
	return of("query", q, tail), out, tail
}

func (g *grammar) limit() *term {
	if !g.p(75) {
		return seq()
	}
	return maybe(fmt.Sprintf(" LIMIT %d", []int{0, 1, 2, 3, 10, 50, 1000}[g.r.IntN(7)]), g.perhaps(25, " OFFSET ", g.one("0", "1", "5", "40")))
}

// relation is an item of FROM.
func (g *grammar) relation(depth int) (from *term, s *scope) {
	a := g.name("a")
	if len(g.ctes) > 0 && g.p(40) {
		c := g.ctes[g.r.IntN(len(g.ctes))]
		return seq(c.name, " AS ", a), &scope{refs: qualified(a, c.refs), rows: c.rows, ties: true}
	}
	if depth > 0 && g.p(22) {
		q, out, _ := g.query(depth-1, nil, nil)
		refs, names := outputs(out)
		if len(refs) > 1 && g.p(15) {
			change := "EXCLUDE (c0)"
			if g.p(50) {
				change = "REPLACE (nullif(c0, c0) AS c0)"
			} else {
				refs = refs[1:]
			}
			inner := seq("(SELECT * ", change, " FROM (", q, ") AS ", g.name("a"), "(", list(", ", names...), ")) AS ", a)
			return inner, &scope{refs: qualified(a, refs), rows: g.bound, ties: true}
		}
		return seq("(", q, ") AS ", a, "(", list(", ", names...), ")"), &scope{refs: qualified(a, refs), rows: g.bound, ties: true}
	}
	limited := false
	switch pick(g.r, 85, 6, 3, 3, 3) {
	case 1:
		return g.values(a)
	case 2:
		return seq(g.one("generate_series(1, 5)", "range(0, 4)", "generate_series(3, 1, -1)"), " AS ", a, "(c0)"), &scope{refs: []ref{{a + ".c0", kInt, false}}, rows: 5}
	case 4:
		limited = true
	case 3:
		e := g.call(kInts, 1, &scope{})
		return seq("unnest(", e, ") AS ", a, "(c0)"), &scope{refs: []ref{{a + ".c0", kInt, true}}, rows: 5, ties: true}
	}
	t := g.tables[pick(g.r, 4, 6, 25, 40, 25)]
	if limited { // which rows does not matter: all are equal
		n := g.r.IntN(30)
		k := kinds[g.r.IntN(len(kinds))]
		from := seq("(SELECT ", g.constant(k), " FROM ", t.name, fmt.Sprintf(" LIMIT %d", n), g.perhaps(30, " OFFSET ", g.one("1", "20")), ") AS ", a, "(c0)")
		return from, &scope{refs: []ref{{a + ".c0", k, false}}, rows: n, ties: true}
	}
	if t.rows > 1000 {
		if g.large {
			t = g.tables[2]
		}
		g.large = true
	}
	return t.as(a)
}

// as is the table in FROM.
func (t *table) as(alias string) (*term, *scope) {
	var refs []ref
	for _, c := range t.columns {
		refs = append(refs, ref{c.name, c.kind, c.extreme})
	}
	return seq(t.name, " AS ", alias), &scope{refs: qualified(alias, refs), rows: t.rows}
}

func (g *grammar) values(a string) (*term, *scope) {
	s := &scope{rows: 1 + g.r.IntN(4), ties: true}
	var names []any
	for i := range 1 + g.r.IntN(3) {
		n := fmt.Sprintf("c%d", i)
		names = append(names, n)
		s.refs = append(s.refs, ref{a + "." + n, kinds[g.r.IntN(len(kinds))], false})
	}
	var rows []any
	for i := range s.rows {
		var row []any
		for _, r := range s.refs {
			c := g.constant(r.kind)
			if i == 0 { // it says what type the column has
				c = exprOf(r.kind, "CAST(", c, " AS ", plain["expr:"+string(r.kind)].typ, ")")
			}
			row = append(row, c)
		}
		t := seq("(", list(", ", row...), ")")
		t.optional = i > 0
		rows = append(rows, t)
	}
	return seq("(VALUES ", list(", ", rows...), ") AS ", a, "(", list(", ", names...), ")"), s
}

// from is FROM with its joins.
func (g *grammar) from(depth int, outer *scope) (*term, *scope) {
	t, s := g.relation(depth)
	s.outer = outer
	for n := pick(g.r, 45, 40, 15); n > 0; n-- {
		join := g.join(depth, s)
		join.optional = true
		t = seq(t, join)
	}
	return t, s
}

// maxPairs is how many pairs of rows a join may give at worst.
const maxPairs = 300_000

// join is one more relation joined to those of s, which gets its columns.
func (g *grammar) join(depth int, s *scope) *term {
	if depth > 0 && g.p(8) && s.rows < 1000 {
		q, out, _ := g.query(0, &scope{refs: s.refs}, nil)
		a := g.name("a")
		refs, names := outputs(out)
		more := qualified(a, refs)
		on := g.joinCondition(s.refs, more, &scope{refs: slices.Concat(s.refs, more)})
		s.refs, s.ties, s.rows = append(slices.Clone(s.refs), more...), true, s.rows*max(g.bound, 1)
		return seq(g.one(" JOIN", " LEFT JOIN"), " LATERAL (", q, ") AS ", a, "(", list(", ", names...), ") ON ", on)
	}
	if g.p(4) {
		a := g.name("a")
		e := g.call(kInts, 1, &scope{refs: s.refs})
		s.refs, s.ties = append(slices.Clone(s.refs), ref{a + ".c0", kInt, true}), true
		return seq(" CROSS JOIN unnest(", e, ") AS ", a, "(c0)")
	}
	right, more := g.relation(depth - 1)
	if (s.ties || more.ties) && s.rows*more.rows > maxPairs { // all rows may be equal
		right, more = g.tables[2].as(g.name("a"))
	}
	if s.rows*more.rows > 10*maxPairs {
		return seq()
	}
	both := &scope{refs: slices.Concat(s.refs, more.refs)}
	kind := g.one("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN")
	small := max(s.rows, 1)*max(more.rows, 1) <= 20_000
	ties := s.ties || more.ties
	s.ties = ties
	pairs := func(refs []ref) bool {
		_, ok := g.pair(s.refs, refs)
		return ok
	}
	var on *term
	id := func(refs []ref) int {
		n := 0
		for _, r := range refs {
			if strings.HasSuffix(r.text, ".id") {
				n++
			}
		}
		return n
	}
	switch {
	case id(s.refs) == 1 && id(more.refs) == 1 && g.p(12):
		on = seq(g.one(" USING (id)", " USING (k)", " USING (id, k)"))
		if g.p(30) && kind != "SEMI JOIN" && kind != "ANTI JOIN" {
			kind, on = "NATURAL "+kind, seq()
		}
		s.rows = max(s.rows, more.rows) * 3
	case small && g.p(6):
		on = seq()
		kind = g.one("CROSS JOIN", "POSITIONLESS")
		if kind != "CROSS JOIN" {
			kind, on = g.one("JOIN", "LEFT JOIN", "FULL JOIN"), seq(" ON true")
		}
		s.rows *= max(more.rows, 1)
	case small && g.p(12) || !pairs(more.refs):
		if !small {
			on = seq(" ON false")
			break
		}
		on = seq(" ON ", g.expr(kBool, 1, both))
		s.rows *= max(more.rows, 1)
	default:
		on = seq(" ON ", g.joinCondition(s.refs, more.refs, both))
		if ties {
			s.rows *= max(more.rows, 1)
		} else {
			s.rows = max(s.rows, more.rows) * 3
		}
	}
	if kind != "SEMI JOIN" && kind != "ANTI JOIN" {
		s.refs = both.refs
	}
	return seq(" ", kind, " ", right, on)
}

// pair is an equality between two sides of a join, which no join of makes millions of rows.
func (g *grammar) pair(left, right []ref) (*term, bool) {
	for range 20 {
		l, r := left[g.r.IntN(len(left))], right[g.r.IntN(len(right))]
		if l.kind == r.kind && l.kind != kBool {
			return seq(l.text, g.one(" = ", " = ", " = ", " IS NOT DISTINCT FROM "), r.text), true
		}
	}
	return seq("false"), false
}

// joinCondition has at least one equality.
func (g *grammar) joinCondition(left, right []ref, both *scope) *term {
	first, ok := g.pair(left, right)
	if !ok {
		return first
	}
	parts := []any{first}
	if g.p(20) {
		more, _ := g.pair(left, right)
		more.optional = true
		parts = append(parts, more)
	}
	if g.p(25) {
		parts = append(parts, maybe("(", g.expr(kBool, 1, both), ")"))
	}
	return list(" AND ", parts...)
}

// kind is one of all kinds, the seven of every day more often.
func (g *grammar) kind() kind {
	all := append(slices.Clone(kinds), kTime, kTZ, kBin, kInts, kTxts)
	return all[pick(g.r, 30, 12, 12, 18, 8, 8, 12, 2, 2, 2, 3, 2)]
}

// sel is one SELECT.
func (g *grammar) sel(depth int, outer *scope, want []kind) (*term, []ref) {
	if want == nil {
		for range 1 + g.r.IntN(4) {
			want = append(want, g.kind())
		}
	}
	from, s := g.from(depth, outer)
	where := g.perhaps(60, " WHERE ", g.expr(kBool, min(depth+1, 3), s))
	var items []any
	var out []ref
	add := func(k kind, e *term) {
		items = append(items, e)
		out = append(out, ref{kind: k, extreme: true})
	}
	tail := seq()
	distinct := g.perhaps(12, "DISTINCT ")
	switch pick(g.r, 45, 33, 17, 5) {
	case 0: // rows
		for _, k := range want {
			add(k, g.expr(k, 2, s))
		}
		if i := slices.Index(want, kInt); i >= 0 && g.p(4) {
			items[i] = exprOf(kInt, "unnest(", g.call(kInts, 1, s), ")")
		}
	case 1:
		return g.grouped(from, where, distinct, s, want)
	case 2: // windows
		named, name := seq(), ""
		if !s.ties && g.p(15) {
			name = g.name("v")
			named = seq(" WINDOW ", name, " AS (", g.partition(s), g.total(s), ")")
		}
		for _, k := range want {
			switch {
			case g.p(60):
				add(k, g.window(k, s, name))
			default:
				add(k, g.expr(k, 1, s))
			}
		}
		tail = seq(named, g.perhaps(30, " QUALIFY ", g.window(kInt, s, ""), g.one(" = ", " < ", " > "), fmt.Sprint(g.r.IntN(6))))
	case 3: // the first row of each
		for _, k := range want {
			add(k, g.expr(k, 1, s))
		}
		on := s.refs[g.r.IntN(len(s.refs))].text
		inner := seq("SELECT DISTINCT ON (", on, ") ", list(", ", items...), " FROM ", from, where, " ORDER BY ", on, g.one("", " DESC"), ", ", g.all(s))
		g.bound = s.rows
		return of("query", "SELECT * FROM (", inner, ") AS ", g.name("a")), out
	}
	g.bound = s.rows
	return of("query", "SELECT ", distinct, list(", ", items...), " FROM ", from, where, tail), out
}

// grouped is a SELECT with groups.
func (g *grammar) grouped(from, where, distinct *term, s *scope, want []kind) (*term, []ref) {
	var keys []ref
	for range pick(g.r, 15, 45, 30, 10) {
		if r := s.refs[g.r.IntN(len(s.refs))]; !slices.Contains(keys, r) {
			keys = append(keys, r)
		}
	}
	by, sets, listed := seq(), false, false
	if len(keys) > 0 {
		var texts []any
		for _, k := range keys {
			texts = append(texts, k.text)
		}
		clause := seq(list(", ", texts...))
		switch pick(g.r, 52, 13, 13, 14, 8) {
		case 4:
			clause, listed = seq("ALL"), true // by the items that are no aggregates
		case 1:
			clause, sets = seq("ROLLUP(", clause, ")"), true
		case 2:
			clause, sets = seq("CUBE(", clause, ")"), true
		case 3:
			clause, sets = seq("GROUPING SETS ((", clause, "), ()", g.perhaps(50, ", (", keys[0].text, ")"), ")"), true
		}
		by = seq(" GROUP BY ", clause, g.perhaps(30, " HAVING ", g.having(s)))
	}
	var items []any
	var out []ref
	for _, k := range want {
		i := slices.IndexFunc(keys, func(r ref) bool { return r.kind == k })
		e := g.aggregate(k, s)
		switch {
		case i >= 0 && !sets && !listed && g.p(10):
			e = exprOf(k, "any_value(", keys[i].text, ")")
		case i >= 0 && g.p(60):
			e = exprOf(k, keys[i].text)
		case sets && k == kInt && g.p(25):
			e = exprOf(k, "grouping(", keys[0].text, ")")
		}
		items, out = append(items, e), append(out, ref{kind: k, extreme: true})
	}
	if g.bound = 1; len(keys) > 0 {
		g.bound = s.rows
	}
	return of("query", "SELECT ", distinct, list(", ", items...), " FROM ", from, where, by), out
}

func (g *grammar) having(s *scope) *term {
	k := []kind{kInt, kInt, kDec, kTxt}[g.r.IntN(4)]
	return exprOf(kBool, g.aggregate(k, s), g.one(" > ", " = ", " < ", " <> "), g.constant(k))
}

// aggregate is a call that gives k.
func (g *grammar) aggregate(k kind, s *scope) *term {
	own := &scope{refs: s.refs}
	arg := func(k kind) *term { return g.expr(k, g.r.IntN(2), own) }
	tame := func(k kind) *term { return g.column(k, own, true) }
	any := func() *term { return arg(kinds[g.r.IntN(len(kinds))]) }
	var call *term
	exact := false
	switch k {
	case kInt:
		switch g.r.IntN(12) {
		case 0, 1:
			call = seq("count(*)")
		case 2:
			call = seq("count(", any(), ")")
		case 3, 4:
			call = seq("count(DISTINCT ", any(), ")")
		case 5:
			call = seq("sum(", tame(kInt), ")")
		case 6:
			call = seq("sum(DISTINCT ", tame(kInt), ")")
		case 7:
			call = seq("count_if(", arg(kBool), ")")
		case 8:
			call = seq("regr_count(", tame(kInt), ", ", tame(kDec), ")")
		case 9:
			a := tame(kInt).text()
			call = seq(g.one("arg_min(", "arg_max("), a, ", ", a, ")")
		case 10:
			a := tame(kInt).text()
			call = seq(g.one("percentile_disc(0.5) WITHIN GROUP (ORDER BY "+a+")", "first("+a+" ORDER BY "+a+")", "last("+a+" ORDER BY "+a+")"))
			if g.own {
				call = seq(g.one("mode() WITHIN GROUP (ORDER BY "+a+")", "approx_distinct("+a+")"))
			}
		default:
			call = seq(g.one("min(", "max(", "bit_and(", "bit_or(", "bit_xor("), "CAST(", arg(kInt), " AS BIGINT))")
		}
	case kDec:
		// At its 38 digits DuckDB drops digits after the point where types meet.
		call = seq("CAST(", g.one("min(", "max(", "sum(", "sum(DISTINCT "), tame(kDec), ") AS DECIMAL(24,2))")
	case kDbl:
		number := []kind{kInt, kDec}[g.r.IntN(2)]
		switch g.r.IntN(6) {
		case 0:
			call = seq(g.one("min(", "max(", "sum("), tame(kDbl), ")")
		case 1:
			of := []kind{kInt, kDec, kDbl}[g.r.IntN(3)]
			exact = of != kDbl
			call = seq("avg(", tame(of), ")")
		case 2:
			exact = true
			call = seq(g.one("stddev_pop(", "var_samp(", "var_pop(", "stddev("), tame(number), ")")
		case 3:
			exact = true
			call = seq(g.one("covar_pop(", "covar_samp(", "regr_avgx(", "regr_avgy(", "regr_sxx(", "regr_sxy(", "regr_syy("), tame(number), ", ", tame(kInt), ")")
		case 4:
			exact = true
			call = seq(g.one("median(", "quantile_cont("), "CAST(", tame(number), " AS DOUBLE PRECISION)")
			if strings.HasPrefix(call.text(), "quantile") {
				call = seq(call, ", 0.25")
			}
			call = seq(call, ")")
			if g.p(50) {
				call = seq("percentile_cont(", g.one("0", "0.5", "0.9"), ") WITHIN GROUP (ORDER BY CAST(", tame(number), " AS DOUBLE PRECISION))")
			}
		default:
			exact = true
			x := tame(kInt).text()
			call = seq(g.one("corr(", "regr_slope(", "regr_intercept(", "regr_r2("), "CAST(", x, " AS DOUBLE PRECISION), CAST(", x, " * 2 AS DOUBLE PRECISION))")
			if g.p(50) {
				call = seq("product(CAST(", tame(kInt), " % 3 AS DOUBLE PRECISION))")
			}
		}
	case kTxt:
		if g.p(35) {
			a := arg(kTxt).text()
			distinct := g.one("", "DISTINCT ")
			if !strings.ContainsAny(a, "(.") {
				distinct = "" // DISTINCT wants the same argument, not the same constant
			}
			call = seq("string_agg(", distinct, a, ", '|' ORDER BY ", a, g.one("", " DESC"), ")")
		} else {
			call = seq(g.one("min(", "max("), arg(kTxt), ")")
		}
	case kBool:
		call = seq(g.one("bool_and(", "bool_or("), arg(kBool), ")")
	case kInts:
		a := tame(kInt).text()
		distinct := g.one("", "DISTINCT ")
		if !strings.Contains(a, ".") {
			distinct = ""
		}
		call = seq("array_agg(", distinct, a, " ORDER BY ", a, g.one("", " DESC"), ")")
	case kTxts:
		a := arg(kTxt).text()
		call = seq("array_agg(", a, " ORDER BY ", a, ")")
	default:
		call = seq(g.one("min(", "max("), arg(k), ")")
	}
	if k == kDec {
		return exprOf(k, call)
	}
	if !strings.Contains(call.text(), "WITHIN GROUP") {
		call = seq(call, g.perhaps(15, " FILTER (WHERE ", g.expr(kBool, 1, own), ")"))
	}
	switch {
	case exact: // to so many digits, and off the ties, that the order of the work does not show
		return exprOf(k, "CAST(CAST(", call, " + 0.00012345678::DOUBLE PRECISION AS DECIMAL(24,6)) AS DOUBLE PRECISION)")
	case k == kDbl:
		return exprOf(k, "CAST(", call, " AS DOUBLE PRECISION)")
	case k == kInt && g.p(10):
		return exprOf(k, "coalesce(", call, ", 0)")
	}
	return exprOf(k, call)
}

// all is every column in sight, as keys of an ORDER BY that leaves no two rows that differ in any order.
func (g *grammar) all(s *scope) *term {
	var all []any
	for _, r := range s.refs {
		all = append(all, r.text+g.one("", "", " DESC", " NULLS FIRST"))
	}
	g.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return list(", ", all...)
}

func (g *grammar) total(s *scope) *term { return seq("ORDER BY ", g.all(s)) }

func (g *grammar) partition(s *scope) *term {
	return g.perhaps(60, "PARTITION BY ", s.refs[g.r.IntN(len(s.refs))].text, " ")
}

var bounds = []string{"UNBOUNDED PRECEDING", "3 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING", "3 FOLLOWING", "UNBOUNDED FOLLOWING"}

// frame is a frame of a unit; offset is how a bound's number is written.
func (g *grammar) frame(unit, offset string) string {
	i, j := g.r.IntN(5), 2+g.r.IntN(5)
	if i > j {
		i, j = j, i
	}
	bound := func(i int) string {
		n, rest, ok := strings.Cut(bounds[i], " ")
		if !ok || n == "UNBOUNDED" || n == "CURRENT" {
			return bounds[i]
		}
		return fmt.Sprintf(offset, n) + " " + rest
	}
	return " " + unit + " BETWEEN " + bound(i) + " AND " + bound(j) + g.one("", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE TIES", " EXCLUDE GROUP", " EXCLUDE NO OTHERS")
}

// window is a window call whose answer does not hang on the order of equal rows: it orders by every column in sight where that
// could matter. name is that of a window of the query with such an order.
func (g *grammar) window(k kind, s *scope, name string) *term {
	own := &scope{refs: s.refs}
	arg := g.expr(k, g.r.IntN(2), own)
	number := k == kInt || k == kDec
	if number {
		arg = g.column(k, own, true)
	}
	filter := g.perhaps(12, " FILTER (WHERE ", g.expr(kBool, 1, own), ")")
	some := s.refs[g.r.IntN(len(s.refs))]
	if (number || k == kBool) && g.p(35) { // peers come together
		fn := g.one("min(", "max(", "sum(", "count(")
		if k == kBool {
			fn = g.one("bool_and(", "bool_or(")
		} else if k == kDec {
			fn = g.one("min(", "max(", "sum(")
		}
		unit, offset := "GROUPS", "%s"
		if g.p(50) {
			switch some.kind {
			case kInt, kDec:
				unit = "RANGE"
			case kDate, kTS:
				unit, offset = "RANGE", "INTERVAL '%s days'"
			}
			if some.extreme {
				unit = "GROUPS"
			}
			if unit == "GROUPS" {
				offset = "%s"
			}
		}
		call := seq(fn, arg, ")", filter, " OVER (", g.partition(s), "ORDER BY ", some.text, g.one("", " DESC", " NULLS FIRST"), g.frame(unit, offset), ")")
		if k == kDec {
			call = seq("CAST(", call, " AS DECIMAL(24,2))")
		}
		return exprOf(k, call)
	}
	if k == kDbl && g.p(60) {
		return exprOf(k, g.one("percent_rank()", "cume_dist()"), " OVER (", g.partition(s), "ORDER BY ", some.text, g.one("", " DESC"), ")")
	}
	if k == kInt && g.p(30) {
		return exprOf(k, g.one("rank()", "dense_rank()"), " OVER (", g.partition(s), "ORDER BY ", some.text, g.one("", " DESC"), ")")
	}
	if s.ties && s.ordered {
		return g.expr(k, 1, s)
	}
	s.ordered = true
	over, spec := seq(" OVER ", name), true
	if name == "" || g.p(50) {
		over, spec = seq(" OVER (", g.partition(s), g.total(s)), false
	}
	end := func(frame string) *term {
		switch {
		case !spec:
			return seq(over, frame, ")")
		case frame == "":
			return over
		}
		return seq(" OVER (", name, frame, ")")
	}
	if k == kInt && g.p(40) {
		return exprOf(k, g.one("row_number()", "ntile("+fmt.Sprint(1+g.r.IntN(5))+")", "count(*)"), end(""))
	}
	frame := g.frame("ROWS", "%s")
	nulls := g.one("", "", " IGNORE NULLS")
	switch g.r.IntN(4) {
	case 0:
		return exprOf(k, g.one("lag(", "lead("), arg, g.one("", ", 2", ", 0"), nulls, ")", end(""))
	case 1:
		return exprOf(k, g.one("first_value(", "last_value("), arg, nulls, ")", end(frame))
	case 2:
		return exprOf(k, "nth_value(", arg, ", ", fmt.Sprint(1+g.r.IntN(3)), nulls, ")", end(frame))
	}
	fn := g.one("min(", "max(")
	switch k {
	case kBool:
		fn = g.one("bool_and(", "bool_or(")
	case kInt:
		fn = g.one("min(", "max(", "sum(")
	case kDec:
		return exprOf(k, "CAST(", g.one("min(", "max(", "sum("), arg, ")", filter, end(frame), " AS DECIMAL(24,2))")
	}
	return exprOf(k, fn, arg, ")", filter, end(frame))
}

func (g *grammar) constant(k kind) *term {
	p := plain["expr:"+string(k)]
	if g.p(6) {
		return exprOf(k, "NULL::"+p.typ)
	}
	switch k {
	case kInt:
		return exprOf(k, g.one("0", "1", "2", "5", "-1", "17", "100"))
	case kDec:
		return exprOf(k, g.one("0.00", "1.50", "-2.25", "99.99", "0.05"))
	case kDbl:
		return exprOf(k, g.one("0.0", "1.5", "-0.25", "'NaN'", "'-0.0'", "1e3")+"::DOUBLE PRECISION")
	case kTxt:
		return exprOf(k, (&column{}).literal(words[g.r.IntN(len(words))]))
	case kDate:
		return exprOf(k, "DATE '"+g.one("2020-02-29", "2019-12-31", "1970-01-01", "2021-03-01")+"'")
	case kTS:
		return exprOf(k, "TIMESTAMP '"+g.one("2017-07-14 02:40:00", "2018-01-01 00:00:00", "1969-12-31 23:59:59.999999")+"'")
	case kBool:
		return exprOf(k, g.one("true", "false"))
	case kTime:
		return exprOf(k, "TIME '"+g.one("00:00:00", "12:34:56.789", "23:59:59.999999")+"'")
	}
	return exprOf(k, p.value)
}

// column is a column of kind k in sight, more seldom of a query around.
func (g *grammar) column(k kind, s *scope, tame bool) *term {
	var own, outer []string
	for sc := s; sc != nil; sc = sc.outer {
		for _, r := range sc.refs {
			if r.kind == k && !(tame && r.extreme) {
				if sc == s {
					own = append(own, r.text)
				} else {
					outer = append(outer, r.text)
				}
			}
		}
	}
	if len(outer) > 0 && (len(own) == 0 || g.p(25)) {
		return exprOf(k, outer[g.r.IntN(len(outer))])
	}
	if len(own) > 0 {
		return exprOf(k, own[g.r.IntN(len(own))])
	}
	return g.constant(k)
}

// expr is an expression of kind k.
func (g *grammar) expr(k kind, depth int, s *scope) *term {
	if depth <= 0 {
		if g.p(85) {
			return g.column(k, s, false)
		}
		return g.constant(k)
	}
	sub := func() *term { return g.expr(k, depth-1, s) }
	if k == kBool {
		return g.condition(depth, s)
	}
	if k != kIvl {
		switch g.r.IntN(12) {
		case 0:
			return exprOf(k, "CASE WHEN ", g.expr(kBool, depth-1, s), " THEN ", sub(), maybe(" ELSE ", sub()), " END")
		case 1:
			return exprOf(k, "coalesce(", sub(), ", ", sub(), ")")
		case 2:
			return exprOf(k, "nullif(", sub(), ", ", sub(), ")")
		case 3:
			if k != kDbl {
				return exprOf(k, g.one("greatest(", "least("), sub(), ", ", sub(), ")")
			}
		case 4:
			if depth > 1 {
				return g.scalar(k, depth, s)
			}
		case 5:
			return g.column(k, s, false)
		}
	}
	return g.call(k, depth, s)
}

func (g *grammar) condition(depth int, s *scope) *term {
	sub := func(k kind) *term { return g.expr(k, depth-1, s) }
	k := kinds[pick(g.r, 30, 12, 14, 20, 8, 8, 3)]
	switch g.r.IntN(22) {
	case 0, 1, 2:
		return exprOf(kBool, "(", sub(k), g.one(" = ", " <> ", " < ", " <= ", " > ", " >= "), sub(k), ")")
	case 3:
		return exprOf(kBool, "(", sub(k), g.one(" = ", " <> ", " < ", " <= ", " > ", " >= "), g.constant(k), ")")
	case 4, 5:
		return exprOf(kBool, "(", sub(kBool), g.one(" AND ", " OR "), sub(kBool), ")")
	case 6:
		return exprOf(kBool, "(NOT ", sub(kBool), ")")
	case 7:
		return exprOf(kBool, "(", sub(k), g.one(" IS NULL", " IS NOT NULL"), ")")
	case 8:
		return exprOf(kBool, "(", sub(k), g.one(" IS DISTINCT FROM ", " IS NOT DISTINCT FROM "), sub(k), ")")
	case 9:
		return exprOf(kBool, "(", sub(k), g.one(" IN (", " NOT IN ("), list(", ", g.constant(k), g.constant(k), g.constant(k)), "))")
	case 10, 11, 18, 19, 20:
		return g.call(kBool, depth, s)
	case 12:
		return exprOf(kBool, "(", sub(k), g.one(" BETWEEN ", " NOT BETWEEN "), sub(k), " AND ", sub(k), ")")
	case 13: // in DuckDB rows with NULL are equal
		pair := func() *term {
			return seq("(coalesce(", sub(kInt), ", 0), coalesce(", sub(kTxt), ", ''))")
		}
		return exprOf(kBool, "(", pair(), g.one(" = ", " <> ", " < ", " >= "), pair(), ")")
	case 14, 15, 16, 17:
		if depth > 1 {
			return g.predicate(depth, s, k)
		}
	}
	return exprOf(kBool, "(", sub(kBool), g.one(" IS TRUE", " IS NOT TRUE", " IS FALSE", " IS NOT FALSE", " IS UNKNOWN", " IS NOT UNKNOWN"), ")")
}

// scalar is a subquery of one row.
func (g *grammar) scalar(k kind, depth int, s *scope) *term {
	from, in := g.from(0, s)
	return exprOf(k, "(SELECT ", g.aggregate(k, in), " FROM ", from, g.correlated(depth-1, in, s), ")")
}

// correlated is a WHERE that ties a subquery to the queries around, by an equality more often than not.
func (g *grammar) correlated(depth int, in, outer *scope) *term {
	parts := []any{}
	if outer.outer != nil && g.p(20) {
		outer = outer.outer
	}
	if g.p(70) && len(outer.refs) > 0 {
		for range 20 {
			l, r := in.refs[g.r.IntN(len(in.refs))], outer.refs[g.r.IntN(len(outer.refs))]
			if l.kind == r.kind {
				parts = append(parts, maybe(l.text, g.one(" = ", " = ", " = ", " < ", " IS NOT DISTINCT FROM "), r.text))
				break
			}
		}
	}
	if g.p(40) {
		parts = append(parts, maybe(g.expr(kBool, min(depth, 2), &scope{refs: in.refs, outer: outer})))
	}
	if len(parts) == 0 {
		return seq()
	}
	return maybe(" WHERE ", list(" AND ", parts...))
}

// predicate is a subquery as a condition.
func (g *grammar) predicate(depth int, s *scope, k kind) *term {
	from, in := g.from(0, s)
	where := g.correlated(depth-1, in, s)
	inner := &scope{refs: in.refs}
	switch g.r.IntN(6) {
	case 0, 1:
		return exprOf(kBool, "(", g.one("EXISTS", "NOT EXISTS"), " (SELECT 1 FROM ", from, where, "))")
	case 2:
		return exprOf(kBool, "(", g.column(k, s, false), g.one(" = ", " < ", " >= ", " <> "), g.one("ANY", "ALL"), " (SELECT ", g.expr(k, 0, inner), " FROM ", from, where, "))")
	case 3:
		column := func(k kind, s *scope) *term {
			if g.own {
				return g.column(k, s, false)
			}
			return seq("coalesce(", g.column(k, s, false), ", ", plain["expr:"+string(k)].value, ")") // DuckDB takes a row with NULL for NULL
		}
		return exprOf(kBool, "((", column(k, s), ", ", column(kInt, s), ")", g.one(" IN ", " NOT IN "), "(SELECT ", column(k, inner), ", ", column(kInt, inner), " FROM ", from, where, "))")
	}
	return exprOf(kBool, "(", g.column(k, s, false), g.one(" IN ", " NOT IN "), "(SELECT ", g.expr(k, 0, inner), " FROM ", from, where, "))")
}
