package cli

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/spf13/cobra"
)

// A listing is what a command shows that runs no query: rows for people, or for scripts.
type listing struct {
	columns []string
	rows    [][]any // strings, booleans, unsigned numbers and floats, of one type per column
}

// listingFlag is --format of the commands that print a listing.
func listingFlag(cmd *cobra.Command, format *choice) {
	choiceFlag(cmd, format, "format", "`FORM` of the list", "table", "json", "ndjson", "csv")
}

// print writes t in a format.
func (t *listing) print(p *process, format string) error {
	rec := t.record()
	defer rec.Release()
	w, err := newWriter(destinationOf(p, format), rec.Schema())
	if err != nil {
		return err
	}
	if err := w.Write(rec); err != nil {
		return err
	}
	return w.Close()
}

// record is t as Arrow, so that it is shown just as results are.
func (t *listing) record() arrow.RecordBatch {
	arrays := make([]arrow.Array, len(t.columns))
	fields := make([]arrow.Field, len(t.columns))
	for c, name := range t.columns {
		arrays[c] = t.column(c)
		defer arrays[c].Release()
		fields[c] = arrow.Field{Name: name, Type: arrays[c].DataType()}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(len(t.rows)))
}

func (t *listing) column(c int) arrow.Array {
	is := func(f func(any) bool) bool { return len(t.rows) > 0 && f(t.rows[0][c]) }
	switch {
	case is(func(v any) bool { _, ok := v.(bool); return ok }):
		b := array.NewBooleanBuilder(memory.DefaultAllocator)
		for _, row := range t.rows {
			b.Append(row[c] == true)
		}
		return b.NewArray()
	case is(func(v any) bool { _, ok := v.(uint32); return ok }):
		b := array.NewUint32Builder(memory.DefaultAllocator)
		for _, row := range t.rows {
			n, _ := row[c].(uint32)
			b.Append(n)
		}
		return b.NewArray()
	case is(func(v any) bool { _, ok := v.(uint64); return ok }):
		b := array.NewUint64Builder(memory.DefaultAllocator)
		for _, row := range t.rows {
			n, _ := row[c].(uint64)
			b.Append(n)
		}
		return b.NewArray()
	case is(func(v any) bool { _, ok := v.(uint64); return ok }):
		b := array.NewUint64Builder(memory.DefaultAllocator)
		for _, row := range t.rows {
			n, _ := row[c].(uint64)
			b.Append(n)
		}
		return b.NewArray()
	case is(func(v any) bool { _, ok := v.(float64); return ok }):
		b := array.NewFloat64Builder(memory.DefaultAllocator)
		for _, row := range t.rows {
			n, _ := row[c].(float64)
			b.Append(n)
		}
		return b.NewArray()
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, row := range t.rows {
		b.Append(fmt.Sprint(row[c]))
	}
	return b.NewArray()
}

// without is t without columns that people can do without.
func (t *listing) without(names ...string) *listing {
	out := &listing{}
	for c, name := range t.columns {
		if slices.Contains(names, name) {
			continue
		}
		out.columns = append(out.columns, name)
		for r, row := range t.rows {
			if len(out.rows) <= r {
				out.rows = append(out.rows, nil)
			}
			out.rows[r] = append(out.rows[r], row[c])
		}
	}
	return out
}
