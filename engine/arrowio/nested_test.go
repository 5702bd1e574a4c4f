package arrowio_test

import (
	"slices"
	"testing"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

var (
	int4 = sqltype.Of(sqltype.Int32)
	text = sqltype.Of(sqltype.Utf8)
)

// nestedRows are values of a struct of a text, a list of lists and an interval.
func nestedRows() (sqltype.Type, []expr.Value) {
	list := sqltype.ListOf(int4)
	lists := sqltype.ListOf(list)
	t := sqltype.StructOf(sqltype.Field{Name: "s", Type: text}, sqltype.Field{Name: "l", Type: lists}, sqltype.Field{Name: "iv", Type: sqltype.Of(sqltype.Interval)})
	one := expr.NestedOf(list, []expr.Value{expr.IntValue(int4, 1), expr.NullOf(int4), expr.IntValue(int4, -7)})
	return t, []expr.Value{
		expr.NestedOf(t, []expr.Value{expr.StringValue("a\x00b"), expr.NestedOf(lists, []expr.Value{one, expr.NestedOf(list, nil), expr.NullOf(list)}), expr.IntervalValue(1, -2, 3)}),
		expr.NullOf(t),
		expr.NestedOf(t, []expr.Value{expr.NullOf(text), expr.NullOf(lists), expr.NullOf(sqltype.Of(sqltype.Interval))}),
		expr.NestedOf(t, []expr.Value{expr.StringValue(""), expr.NestedOf(lists, nil), expr.IntervalValue(0, 0, 0)}),
	}
}

func TestNestedRoundTrip(t *testing.T) {
	typ, rows := nestedRows()
	col := nested.NewColumn(typ)
	for _, v := range rows {
		col.Add(nested.Scalar{Null: v.Null, Str: v.Str})
	}
	fields := []physical.Field{{Name: "c", Type: typ, Nullable: true}}
	build, err := arrowio.NewBuilder(fields, arrowio.Narrow)
	if err != nil {
		t.Fatal(err)
	}
	in := &vector.Batch{Cols: []*vector.Vector{col.Vector()}, Len: len(rows)}
	if err := build.Append(in); err != nil {
		t.Fatal(err)
	}
	rec := build.Finish()
	defer rec.Release()
	if text := string(arrowio.CellOf(rec.Column(0))(nil, 0)); text != rows[0].Text() {
		t.Errorf("text %q, want %q", text, rows[0].Text())
	}
	back, err := arrowio.NewReader(fields, rec.Schema())
	if err != nil {
		t.Fatal(err)
	}
	for from := range int64(len(rows)) { // also what begins inside of memory
		part := rec.NewSlice(from, int64(len(rows)))
		b, err := back.Batch(part)
		if err != nil {
			t.Fatal(err)
		}
		var got []expr.Value
		for i := range b.Len {
			got = append(got, expr.ScalarValue(typ, nested.At(b.Cols[0], i)))
		}
		if !slices.EqualFunc(got, rows[from:], expr.Value.Identical) {
			t.Errorf("from %d: got %v", from, got)
		}
		part.Release()
	}
}

func TestNestedIntervalOutOfRange(t *testing.T) {
	typ := sqltype.ListOf(sqltype.Of(sqltype.Interval))
	long := expr.NestedOf(typ, []expr.Value{expr.IntervalValue(0, 0, 1<<62)})
	col := nested.NewColumn(typ)
	col.Add(nested.Scalar{Str: long.Str})
	build, err := arrowio.NewBuilder([]physical.Field{{Name: "c", Type: typ}}, arrowio.Wide)
	if err != nil {
		t.Fatal(err)
	}
	err = build.Append(&vector.Batch{Cols: []*vector.Vector{col.Vector()}, Len: 1})
	if sqlerr.CodeOf(err) != sqlerr.OutOfRange {
		t.Errorf("got %v", err)
	}
}
