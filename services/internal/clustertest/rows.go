package clustertest

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// Rows is a result as text, NULL as the empty string.
type Rows [][]string

// Collect reads a result to its end.
func Collect(r interface {
	Next() (arrow.RecordBatch, error)
},
) (Rows, error) {
	var out Rows
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for c, col := range rec.Columns() {
				if !col.IsNull(i) {
					row[c] = strings.Clone(col.ValueStr(i))
				}
			}
			out = append(out, row)
		}
	}
}

// Answer reads what a peer answered: fields between '|', a header, NULL as an empty field.
func Answer(tb testing.TB, path string) Rows {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	// A row of one NULL is an empty line, which a reader of CSV passes by.
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, l := range lines {
		if l == "" {
			lines[i] = `""`
		}
	}
	r := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	r.Comma = '|'
	records, err := r.ReadAll()
	if err != nil || len(records) == 0 {
		tb.Fatalf("%s: %v", path, err)
	}
	return records[1:]
}

// Same tells how got differs from want. Numbers may differ by 1e-9 of their size; rows stand in the same order if it is decided,
// else in any.
func Same(got, want Rows, ordered bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d rows, not %d", len(got), len(want))
	}
	if !ordered {
		got, want = slices.Clone(got), slices.Clone(want)
		slices.SortFunc(got, compareRows)
		slices.SortFunc(want, compareRows)
	}
	for i := range got {
		if !slices.EqualFunc(got[i], want[i], sameCell) {
			return fmt.Errorf("row %d is %q, not %q", i+1, got[i], want[i])
		}
	}
	return nil
}

func sameCell(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && (x == y || math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y)))
}

// compareRows orders rows so that those that may be the same stand at the same place: by text first, by numbers last.
func compareRows(a, b []string) int {
	return cmp.Or(slices.CompareFunc(a, b, func(x, y string) int {
		_, err1 := strconv.ParseFloat(x, 64)
		_, err2 := strconv.ParseFloat(y, 64)
		switch {
		case err1 == nil && err2 == nil:
			return 0
		case err1 == nil: // numbers after all texts, NULL among them, or the order would be none
			return 1
		case err2 == nil:
			return -1
		}
		return strings.Compare(x, y)
	}), slices.CompareFunc(a, b, func(x, y string) int {
		f, _ := strconv.ParseFloat(x, 64)
		g, _ := strconv.ParseFloat(y, 64)
		return cmp.Compare(f, g)
	}))
}

// A Query is a statement with its name.
type Query struct{ Name, SQL string }

// Ordered tells whether the order of the result's rows is decided.
func (q Query) Ordered() bool { return strings.Contains(strings.ToLower(q.SQL), "order by") }

// Queries reads dir/q*.sql, ascending by name.
func Queries(tb testing.TB, dir string) []Query {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "q*.sql"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no query in %s: %v", dir, err)
	}
	var out []Query
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, Query{strings.TrimSuffix(filepath.Base(f), ".sql"), string(text)})
	}
	return out
}

// TPCH is the folder of TPC-H's tables at scale 0.01, which Fletch generated.
func TPCH(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(Module(tb, "engine"), "testdata", "tpch", "sf0.01")
}
