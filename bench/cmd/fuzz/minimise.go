package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A statement is a whole query.
type statement struct {
	root *term
	tail *term // its ORDER BY, which leaves no two rows that differ in any order
	own  bool  // it is not for DuckDB
}

func (s statement) text() string { return s.root.text() }

// ordered tells whether the rows have an order.
func (s statement) ordered() bool {
	return s.tail != nil && s.root.holds(s.tail) && strings.Contains(s.tail.text(), "ORDER BY")
}

// try asks a query, and shows a difference as small as it can be made.
func (f *fuzz) try(q statement) error {
	f.made++
	before, text := f.accepted, q.text()
	d := f.judge(q, f.others, true)
	if f.accepted > before {
		f.reached.text(text)
		if f.accepted%3 == 0 { // planning once more is dear
			f.reached.plan(f.embedded, text)
		}
	}
	if d.kind != "" && len(f.seen) == 0 {
		fmt.Printf("first difference after %.1f s and %d queries: %s\n", time.Since(f.began).Seconds(), f.made, d.kind)
	}
	switch {
	case d.kind == "":
		return nil
	case d.kind == "hang":
		f.differences++
		fmt.Printf("# %s: %s\n%s\n\n", f.origin, d.why, text)
		return nil
	case d.kind != "rows" && f.seen[literals.ReplaceAllString(d.why, "…")]:
		return nil
	}
	f.seen[literals.ReplaceAllString(d.why, "…")] = true
	against := []peer{}
	if d.peer != nil {
		against = append(against, d.peer)
	}
	// What goes wrong now and then, by the order of work, is asked again.
	differs := func() bool {
		for range 3 {
			if f.judge(q, against, false).kind == d.kind {
				return true
			}
			if d.peer == nil || d.peer.name() == "duckdb" {
				break
			}
		}
		return false
	}
	q.root.shrink(400, differs)
	small, err := f.fewerRows(q, differs)
	if err != nil {
		return err
	}
	if err := f.load(small); err != nil {
		return err
	}
	q.root.shrink(200, differs)
	if now := f.judge(q, against, false); now.kind == d.kind {
		d = now
	} else {
		fmt.Printf("# %s: not always; the whole statement: %s\n", f.origin, text)
	}
	shape := literals.ReplaceAllString(regexp.MustCompile(`\b[a-z]\d+\b`).ReplaceAllString(q.text(), "x"), "…")
	if !f.seen[shape] {
		f.seen[shape] = true
		f.differences++
		if err := f.show(q, d, small); err != nil {
			return err
		}
	}
	return f.load(f.tables)
}

// fewerRows takes rows out of the tables while the answers differ.
func (f *fuzz) fewerRows(q statement, differs func() bool) ([]*table, error) {
	tables := slices.Clone(f.tables)
	text, budget := q.text(), 150
	for i := range tables {
		if !named(text, tables[i].name) {
			continue
		}
		for step := max(tables[i].rows/2, 1); step > 0 && tables[i].rows > 0 && budget > 0; step /= 2 {
			for at := 0; at < tables[i].rows && budget > 0; {
				old := tables[i]
				tables[i] = old.without(at, min(at+step, old.rows))
				budget--
				if err := f.load(tables); err != nil {
					return nil, err
				}
				if !differs() {
					tables[i] = old
					at += step
				}
			}
		}
	}
	return tables, nil
}

func named(text, table string) bool { return regexp.MustCompile(`\b` + table + `\b`).MatchString(text) }

// show prints a difference, and saves it.
func (f *fuzz) show(q statement, d difference, tables []*table) error {
	var script strings.Builder
	fmt.Fprintf(&script, "# %s\n# %s: %s\n\n", f.origin, d.kind, d.why)
	for _, t := range tables {
		if named(q.text(), t.name) {
			script.WriteString(t.statements())
		}
	}
	// DuckDB's answer, or that of Fletch in one process, where the other is Fletch too.
	judge := peer(f.embedded)
	if d.peer != nil && d.peer.name() == "duckdb" {
		judge = d.peer
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.deadline)
	defer cancel()
	want, err := func() (out rows, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = panicked{what: fmt.Sprint(v)}
			}
		}()
		return judge.query(ctx, q.text())
	}()
	if err != nil {
		fmt.Fprintf(&script, "statement error\n%s\n", q.text())
	} else {
		columns := 1
		if len(want) > 0 {
			columns = len(want[0])
		}
		sorted := lines(want)
		slices.Sort(sorted)
		fmt.Fprintf(&script, "query %s rowsort\n%s\n----\n%s\n", strings.Repeat("?", columns), q.text(), strings.Join(sorted, "\n"))
	}
	fmt.Println(script.String())
	if f.found == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(f.found, fmt.Sprintf("%d_%d.slt", f.seed, f.differences)), []byte(script.String()), 0o644)
}

func lines(r rows) (out []string) {
	for _, row := range r[:min(len(r), 40)] {
		var cells []string
		for _, v := range row {
			switch {
			case v == nil:
				cells = append(cells, "NULL")
			case *v == "":
				cells = append(cells, "(empty)")
			default:
				cells = append(cells, *v)
			}
		}
		out = append(out, strings.Join(cells, " "))
	}
	return out
}
