package codec_test

import (
	"reflect"
	"testing"

	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// TestExpand sends an expansion there and back; there are no elements of what is no list.
func TestExpand(t *testing.T) {
	bigint := sqltype.Of(sqltype.Int64)
	list := sqltype.Type{Kind: sqltype.List, Elem: &bigint}
	fields := []physical.Field{{Name: "l", Type: list}, {Name: "n", Type: bigint}}
	root := &physical.Expand{
		Input: &physical.Values{Fields: fields}, Lists: []expr.Expr{&expr.Input{Index: 0, Name: "l", Typ: list}}, Ordinality: true,
		Names: []string{"x", "at"}, Est: physical.Est{Rows: 3},
	}
	out := physical.Output{Kind: physical.Gather, Partitions: 1, Consumers: 1}
	f, err := codec.Encode(root, out)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := codec.Decode(f, nil); err != nil || !reflect.DeepEqual(got, root) {
		t.Errorf("got %#v, %v", got, err)
	}
	bad := *root
	bad.Lists = []expr.Expr{&expr.Input{Index: 1, Name: "n", Typ: bigint}}
	if f, err = codec.Encode(&bad, out); err != nil {
		t.Fatal(err)
	}
	if _, _, err := codec.Decode(f, nil); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
		t.Errorf("elements of a number: %v", err)
	}
}

// TestRecursive sends a recursion there and back; its working rows mean nothing outside of it.
func TestRecursive(t *testing.T) {
	bigint := sqltype.Of(sqltype.Int64)
	fields := []physical.Field{{Name: "n", Type: bigint, Nullable: true}}
	working := &physical.Working{ID: 3, Fields: fields}
	root := &physical.Recursive{
		ID: 3, Fields: fields,
		Base: &physical.Values{Fields: fields, Rows: [][]expr.Value{{expr.IntValue(bigint, 1)}}},
		Step: &physical.Limit{Input: working, Fetch: 1},
	}
	out := physical.Output{Kind: physical.Gather, Partitions: 1, Consumers: 1}
	f, err := codec.Encode(root, out)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := codec.Decode(f, nil)
	if err != nil || !reflect.DeepEqual(got, root) {
		t.Errorf("got %#v, %v", got, err)
	}
	for _, bad := range []physical.Node{working, &physical.Recursive{ID: 4, Fields: fields, Base: root.Base, Step: root.Step}} {
		if f, err = codec.Encode(bad, out); err != nil {
			t.Fatal(err)
		}
		if _, _, err := codec.Decode(f, nil); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
			t.Errorf("%#v: %v", bad, err)
		}
	}
}
