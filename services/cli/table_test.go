package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/rivo/uniseg"
)

// recordOf is a record of columns given as JSON rows.
func recordOf(t *testing.T, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rec.Release)
	return rec
}

func schemaOf(columns ...any) *arrow.Schema {
	var fields []arrow.Field
	for i := 0; i < len(columns); i += 2 {
		fields = append(fields, arrow.Field{Name: columns[i].(string), Type: columns[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

var (
	text    = arrow.BinaryTypes.String
	integer = arrow.PrimitiveTypes.Int64
)

// written is what a format makes of records; abort, if it is not empty, breaks off with it.
func written(t *testing.T, to destination, abort string, schema *arrow.Schema, recs ...arrow.RecordBatch) string {
	t.Helper()
	var out bytes.Buffer
	to.out = &out
	w, err := newWriter(to, schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if abort != "" {
		err = w.Abort(abort)
	} else {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	for _, tc := range []struct {
		name   string
		to     destination
		schema *arrow.Schema
		rows   string
		want   string
	}{
		{
			"as wide as it needs",
			destination{},
			schemaOf("n", integer, "name", text),
			`[{"n": 1, "name": "one"}, {"n": 1000, "name": null}, {"n": null, "name": "NULL"}, {"n": 4, "name": ""}]`, `
┌──────┬────────┐
│    n │ name   │
├──────┼────────┤
│    1 │ one    │
│ 1000 │ NULL   │
│ NULL │ "NULL" │
│    4 │        │
└──────┴────────┘
(4 rows)
`,
		},
		{
			"null is dim on a terminal",
			destination{width: 40, color: true},
			schemaOf("a", text, "b", integer),
			`[{"a": null, "b": 12345}]`, `
┌──────┬───────┐
│ a    │     b │
├──────┼───────┤
│ ` + "\x1b[2mNULL\x1b[0m" + ` │ 12345 │
└──────┴───────┘
(1 row)
`,
		},
		{
			"no rows", destination{}, schemaOf("a", text, "b", integer), `[]`, `
┌───┬───┐
│ a │ b │
├───┼───┤
└───┴───┘
(0 rows)
`,
		},
		{
			"characters of two columns and of none",
			destination{},
			schemaOf("a", text, "b", text),
			`[{"a": "日本", "b": "|"}, {"a": "e\u0301", "b": "|"}, {"a": "👩‍👩‍👧", "b": "|"}]`, `
┌──────┬───┐
│ a    │ b │
├──────┼───┤
│ 日本 │ | │
│ é    │ | │
│ 👩‍👩‍👧   │ | │
└──────┴───┘
(3 rows)
`,
		},
		{
			"what moves a cursor",
			destination{},
			schemaOf("a", text, "b", text),
			`[{"a": "x\u001b[2Jy", "b": "l1\nl2\tz\u202e"}]`, `
┌────────┬──────────┐
│ a      │ b        │
├────────┼──────────┤
│ x�[2Jy │ l1↵l2 z� │
└────────┴──────────┘
(1 row)
`,
		},
		{
			"text gives way, numbers and names do not",
			destination{width: 44},
			schemaOf("number", integer, "t", text, "longer", text),
			`[{"number": 1234567890123456, "t": "abc", "longer": "a text that is longer than the terminal"}]`, `
┌──────────────────┬─────┬─────────────────┐
│           number │ t   │ longer          │
├──────────────────┼─────┼─────────────────┤
│ 1234567890123456 │ abc │ a text that is… │
└──────────────────┴─────┴─────────────────┘
(1 row; … marks what did not fit, --format csv has all)
`,
		},
		{
			"a number's name gives way",
			destination{width: 30},
			schemaOf("sum(l_extendedprice * l_discount)", integer, "b", text),
			`[{"sum(l_extendedprice * l_discount)": 12, "b": "x"}]`, `
┌────────────────────────┬───┐
│ sum(l_extendedprice *… │ b │
├────────────────────────┼───┤
│                     12 │ x │
└────────────────────────┴───┘
(1 row; … marks what did not fit, --format csv has all)
`,
		},
		{
			"row by row where nothing else fits",
			destination{width: 26},
			schemaOf("first", integer, "second", integer, "third", text),
			`[{"first": 1234567890, "second": 1234567890, "third": "a text that does not fit"}, {"first": 2, "second": null, "third": ""}]`, `
── row 1 ──
first  │ 1234567890
second │ 1234567890
third  │ a text that does 
       │ not fit
── row 2 ──
first  │ 2
second │ NULL
third  │ 
(2 rows)
`,
		},
		{
			"row by row when asked for", destination{record: true}, schemaOf("a", integer, "note", text), `[{"a": 1, "note": "x\ny"}]`, `
── row 1 ──
a    │ 1
note │ x
     │ y
(1 row)
`,
		},
		{
			"one column is wrapped", destination{width: 20}, schemaOf("plan", text), `[{"plan": "Project\n└─ Scan lineitem [l_orderkey]"}, {"plan": "Total"}]`, `
┌──────────────────┐
│ plan             │
├──────────────────┤
│ Project          │
│ └─ Scan lineitem │
│  [l_orderkey]    │
│ Total            │
└──────────────────┘
(2 rows)
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := written(t, tc.to, "", tc.schema, recordOf(t, tc.schema, tc.rows))
			if want := strings.TrimPrefix(tc.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// However many columns there are, and however narrow the terminal is, no line is wider than the terminal.
func TestTableFits(t *testing.T) {
	names := []string{"a", "l_extendedprice", "日本語の名前", "comment"}
	for columns := 1; columns <= 12; columns++ {
		var fields []any
		for c := range columns {
			fields = append(fields, names[c%len(names)]+strings.Repeat("x", c), []arrow.DataType{text, integer}[c%2])
		}
		schema := schemaOf(fields...)
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for c := range columns {
			switch b := b.Field(c).(type) {
			case *array.StringBuilder:
				b.AppendValues([]string{strings.Repeat("日本 und mehr ", c), "short"}, nil)
			case *array.Int64Builder:
				b.AppendValues([]int64{1 << (c * 4), -1}, nil)
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		for wide := 24; wide < 200; wide += 7 {
			for line := range strings.SplitSeq(written(t, destination{width: wide}, "", schema, rec), "\n") {
				if w := uniseg.StringWidth(line); w > wide && !strings.HasPrefix(line, "(2 rows") {
					t.Fatalf("%d columns on a terminal of %d: a line takes %d: %s", columns, wide, w, line)
				}
			}
		}
		rec.Release()
	}
}

// A table that is longer than what its columns are measured by is shown whole all the same.
func TestLongTable(t *testing.T) {
	schema := schemaOf("n", integer, "t", text)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range tableSample + 5 {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(strings.Repeat("x", i/tableSample*20))
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	got := written(t, destination{}, "", schema, rec)
	if n := strings.Count(got, "\n"); n != tableSample+5+5 {
		t.Errorf("%d lines", n)
	}
	if !strings.HasSuffix(got, "(10005 rows)\n") {
		t.Errorf("it ends with %q", got[len(got)-40:])
	}
	broken := written(t, destination{}, "gone", schema, rec)
	if !strings.HasSuffix(broken, "INCOMPLETE RESULT: gone\n") || strings.Contains(broken, "└") {
		t.Errorf("what breaks off ends with %q", broken[len(broken)-80:])
	}
	short := recordOf(t, schema, `[{"n": 1, "t": "x"}]`)
	if got := written(t, destination{}, "gone", schema, short); got != "" {
		t.Errorf("of a table that breaks off at once is shown %q", got)
	}
}
