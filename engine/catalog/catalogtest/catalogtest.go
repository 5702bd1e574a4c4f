// Package catalogtest makes catalogs from text, for tests of the planner: tables with columns and statistics, and no data.
package catalogtest

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

//go:embed tpch.txt
var tpch string

// TPCH is the catalog of TPC-H at scale factor 1.
func TPCH() Catalog { return must(Parse(tpch)) }

func must(c Catalog, err error) Catalog {
	if err != nil {
		panic(err)
	}
	return c
}

// A Catalog is tables by name. Paths name them too: 'dir/name.parquet' is the table name.
type Catalog map[string]*catalog.Table

// Table finds a table.
func (c Catalog) Table(_ context.Context, name string) (*catalog.Table, error) {
	if t := c[name]; t != nil {
		return t, nil
	}
	err := sqlerr.Newf(sqlerr.UnknownTable, sqlerr.Pos{}, "relation %q does not exist", name)
	if near := catalog.Near(name, slices.Sorted(maps.Keys(c))); near != "" {
		return nil, err.WithHint("did you mean %q?", near)
	}
	return nil, err
}

// Path finds a table by the file's name.
func (c Catalog) Path(_ context.Context, pattern string) (*catalog.Table, error) {
	name := pattern[strings.LastIndexByte(pattern, '/')+1:]
	if t := c[strings.TrimSuffix(name, ".parquet")]; t != nil {
		return t, nil
	}
	return nil, sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file matches %q", pattern)
}

// Tables are the names.
func (c Catalog) Tables(context.Context) ([]string, error) { return slices.Sorted(maps.Keys(c)), nil }

// Parse reads tables. A line that is not indented is "name rows bytes", each indented one below it a column: its name, its
// type, then in any order "null" (may be NULL), least..greatest, and a number of distinct values.
func Parse(text string) (Catalog, error) {
	out := Catalog{}
	var t *catalog.Table
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
			continue
		case !strings.HasPrefix(lines.Text(), " "):
			t = &catalog.Table{Name: f[0], Rows: number(f, 1)}
			const group = 122_880
			file := physical.File{Path: "/data/" + f[0] + ".parquet", Size: number(f, 2), ModTime: 1, FooterHash: 1}
			for g := range (max(t.Rows, 1) + group - 1) / group {
				file.RowGroups = append(file.RowGroups, int32(g))
			}
			t.Files = []physical.File{file}
			out[f[0]] = t
		default:
			c, err := column(f)
			if err != nil {
				return nil, err
			}
			t.Columns = append(t.Columns, c)
		}
	}
	for name, t := range out {
		merged, err := catalog.Merge(name, []*catalog.File{t})
		if err != nil {
			return nil, err
		}
		out[name] = merged
	}
	return out, lines.Err()
}

func number(f []string, i int) int64 {
	if i >= len(f) {
		return 1000
	}
	n, _ := strconv.ParseInt(f[i], 10, 64)
	return n
}

var kinds = map[string]sqltype.Type{
	"int": sqltype.Of(sqltype.Int32), "bigint": sqltype.Of(sqltype.Int64), "varchar": sqltype.Of(sqltype.Utf8), "date": sqltype.Of(sqltype.Date),
	"decimal": sqltype.DecimalOf(15, 2), "double": sqltype.Of(sqltype.Float64), "bool": sqltype.Of(sqltype.Bool), "timestamp": sqltype.Of(sqltype.Timestamp),
}

func column(f []string) (catalog.Column, error) {
	c := catalog.Column{Name: f[0]}
	t, ok := kinds[f[1]]
	if !ok {
		return c, fmt.Errorf("catalogtest: no type %q", f[1])
	}
	c.Type = t
	c.Stats.HasNulls = true
	for _, w := range f[2:] {
		lo, hi, isRange := strings.Cut(w, "..")
		switch {
		case w == "null":
			c.Nullable, c.Stats.HasNulls = true, false
		case isRange:
			var err error
			if c.Stats.Min, err = expr.ParseValue(t, lo); err != nil {
				return c, err
			}
			if c.Stats.Max, err = expr.ParseValue(t, hi); err != nil {
				return c, err
			}
		default:
			d, err := strconv.ParseFloat(w, 64)
			if err != nil {
				return c, fmt.Errorf("catalogtest: column %s: what is %q", f[0], w)
			}
			c.Stats.Distinct = d
		}
	}
	return c, nil
}
