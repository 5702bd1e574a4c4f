package main

import "strings"

// deliberate are the differences between Fletch and DuckDB that are meant, each under its name in docs/dialect.md ("Against DuckDB"):
// a statement that tells DuckDB to do as Fletch, or a rewrite of the query that it is asked.
var deliberate = []struct {
	name    string
	setting string
	rewrite func(text string) string
}{
	{name: "integer division", setting: "SET integer_division = true"},
	{name: "order of NULL", setting: "SET default_null_order = 'nulls_last_on_asc_first_on_desc'; CREATE MACRO list_reverse_sort(l) AS list_sort(l, 'DESC', 'NULLS LAST')"},
	{name: "zone of a session", setting: "SET TimeZone = 'UTC'"},
	{name: "constant in ORDER BY", setting: "SET order_by_non_integer_literal = true"},
	{name: "length in bytes", setting: "CREATE MACRO octet_length(x) AS strlen(x)"},
	{name: "hexadecimal digits", setting: "CREATE MACRO to_hex(x) AS lower(hex(x))"},
	{name: "counts of nothing", setting: "CREATE MACRO if_both(a, b) AS CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN 1 END", rewrite: func(text string) string {
		return around("regr_count", "count(if_both(", "))")(around("count_if", "count(CASE WHEN ", " THEN 1 END)")(text))
	}},
	{name: "text of a list of NULL", setting: "CREATE MACRO array_to_string(l, s) AS CASE WHEN len(l) > 0 AND s IS NOT NULL THEN coalesce(list_aggr(l, 'string_agg', s), '') WHEN len(l) = 0 AND s IS NOT NULL THEN '' END"},
	{name: "NULL in a list that is searched", setting: "CREATE MACRO list_has_all(a, b) AS CASE WHEN a IS NOT NULL AND list_count(b) < len(b) THEN false ELSE system.main.list_has_all(a, b) END"},
}

// missing are functions of Fletch that DuckDB has under another name.
var missing = []string{
	"CREATE MACRO make_timestamp_us(x) AS make_timestamp(x)",
	"CREATE MACRO dow(x) AS dayofweek(x)",
	"CREATE MACRO doy(x) AS dayofyear(x)",
}

// around puts other text around the argument of each call of a function.
func around(name, before, after string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for {
			i := strings.Index(text, name+"(")
			if i < 0 {
				return b.String() + text
			}
			from := i + len(name) + 1
			to := from + closing(text[from:])
			b.WriteString(text[:i] + before)
			text = text[from:to] + after + text[min(to+1, len(text)):]
		}
	}
}

// closing is the place of the parenthesis that closes the one before s.
func closing(s string) int {
	depth, inText := 1, false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'':
			inText = !inText
		case inText:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

// forDuck is a query as DuckDB must be asked it.
func forDuck(text string) string {
	for _, d := range deliberate {
		if d.rewrite != nil {
			text = d.rewrite(text)
		}
	}
	return text
}
