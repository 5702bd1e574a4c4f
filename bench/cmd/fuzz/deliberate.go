package main

import (
	"regexp"
	"strings"
)

// deliberate are the differences between Fletch and DuckDB that are meant, each under its name in docs/dialect.md ("Against DuckDB"):
// a setting of DuckDB that does away with it, or a rewrite of the query that DuckDB is asked.
var deliberate = []struct {
	name    string
	setting string
	rewrite func(text string) string
}{
	{name: "integer division", setting: "SET integer_division = true"},
	{name: "order of NULL", setting: "SET default_null_order = 'nulls_last_on_asc_first_on_desc'"},
	{name: "zone of a session", setting: "SET TimeZone = 'UTC'"},
	{name: "constant in ORDER BY", setting: "SET order_by_non_integer_literal = true"},
	{name: "octet_length of text", rewrite: replacing("octet_length(", "strlen(")},
}

func replacing(from, to string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, from, to) }
}

func matching(pattern, to string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string { return re.ReplaceAllString(text, to) }
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
