package catalog

import (
	"context"
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

var bigint = sqltype.Of(sqltype.Int64)

func TestNear(t *testing.T) {
	names := []string{"lineitem", "orders", "part", "partsupp", "l_shipdate"}
	for _, tc := range []struct{ in, want string }{
		{"linitem", "lineitem"},
		{"LINEITEM", "lineitem"},
		{"l_shipdaet", "l_shipdate"},
		{"parts", "part"},
		{"ordres", "orders"},
		{"zebra", ""},
		{"", ""},
	} {
		if got := Near(tc.in, names); got != tc.want {
			t.Errorf("Near(%q) = %q, want %q", tc.in, got, tc.want)
		}
	}
}

// memory is a folder of one-column files.
type memory struct {
	list   map[string][]physical.File
	tables map[string]*File
	opened int
}

func (m *memory) List(_ context.Context, pattern string) ([]physical.File, error) {
	return m.list[pattern], nil
}

func (m *memory) Entries(context.Context, string) ([]string, error) {
	return []string{"a.parquet", "b/", "readme.md", ".hidden/"}, nil
}

func (m *memory) Open(_ context.Context, f physical.File) (*File, error) {
	m.opened++
	t := *m.tables[f.Path]
	t.Files = []physical.File{f}
	return &t, nil
}

func intFile(name string, typ sqltype.Type, lo, hi, rows int64) *File {
	return &File{Rows: rows, Columns: []Column{{Name: name, Type: typ, Stats: Stats{Min: expr.IntValue(typ, lo), Max: expr.IntValue(typ, hi)}}}}
}

func TestDir(t *testing.T) {
	m := &memory{
		list: map[string][]physical.File{
			"/d/a.parquet": {{Path: "/d/a.parquet", Size: 1}},
			"/d/b":         {{Path: "/d/b/1.parquet"}, {Path: "/d/b/2.parquet"}},
			"x*":           {{Path: "/d/a.parquet", Size: 1}, {Path: "/d/c.parquet"}},
		},
		tables: map[string]*File{
			"/d/a.parquet":   intFile("k", bigint, 1, 9, 100),
			"/d/b/1.parquet": intFile("k", bigint, 1, 5, 100),
			"/d/b/2.parquet": intFile("k", bigint, 3, 20, 50),
			"/d/c.parquet":   intFile("k", sqltype.Of(sqltype.Utf8), 0, 0, 1),
		},
	}
	d, ctx := NewDir("/d", m), t.Context()

	names, err := d.Tables(ctx)
	if err != nil || len(names) != 2 || names[0] != "a" || names[1] != "b" {
		t.Fatalf("Tables = %v, %v", names, err)
	}
	b, err := d.Table(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	s := b.Columns[0].Stats
	if b.Rows != 150 || len(b.Files) != 2 || s.Min.Int != 1 || s.Max.Int != 20 || s.Distinct != 20 {
		t.Errorf("b = %+v", b)
	}
	if _, err := d.Table(ctx, "b"); err != nil || m.opened != 2 {
		t.Errorf("files opened %d times, %v", m.opened, err)
	}
	if _, err := d.Table(ctx, "c"); sqlerr.CodeOf(err) != sqlerr.UnknownTable {
		t.Errorf("unknown table: %v", err)
	}
	_, err = d.Path(ctx, "x*")
	if want := `column "k" is VARCHAR in file "c.parquet" but BIGINT in "a.parquet"`; err == nil || err.(*sqlerr.Error).Message != want {
		t.Errorf("different schemas: %v", err)
	}
	m.list["/d/a.parquet"][0].Size = 2
	if _, err := d.Table(ctx, "a"); err != nil || m.opened != 5 {
		t.Errorf("a changed file is opened again: %d, %v", m.opened, err)
	}
}

func TestDistinctByWidth(t *testing.T) {
	for _, tc := range []struct {
		rows, bytes int64
		least, most float64
	}{
		{100_000, 100_000 * 3 / 8, 5, 10},         // three bits a row
		{100_000, 100_000, 150, 300},              // eight
		{100_000, 100_000 * 20, 100_000, 100_000}, // texts
		{25, 25 * 11, 25, 25},                     // a small table
		{0, 0, 0, 0},
	} {
		if got := DistinctByWidth(tc.rows, tc.bytes); got < tc.least || got > tc.most {
			t.Errorf("DistinctByWidth(%d, %d) = %g", tc.rows, tc.bytes, got)
		}
	}
}
