package codec_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/codec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
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

// TestUserFunctions sends calls of functions that are not built in there and back: only a process that has the very function takes them.
func TestUserFunctions(t *testing.T) {
	call := func(context.Context, []arrow.Array, int) (arrow.Array, error) { return nil, nil }
	library := func(version string) *function.Library {
		l, err := bind.Functions([]function.Function{
			function.Scalar{Name: "half", Version: version, Signatures: []string{"(BIGINT, VARIADIC STRUCT(\"A b\" DECIMAL(9, 2)[])) RETURNS BIGINT"}, Call: call},
			function.Aggregate{
				Name: "most", Version: "1", Signatures: []string{"(BIGINT) RETURNS BIGINT"}, State: []string{"BIGINT", "VARCHAR"}, Finish: call,
				New: func() function.Accumulator { return nil },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	own := library("1")
	bigint, record := sqltype.Of(sqltype.Int64), own.Named("half")[0].Params[1]
	in := &physical.Values{Fields: []physical.Field{{Name: "n", Type: bigint}, {Name: "r", Type: record}}}
	n, r := &expr.Input{Index: 0, Name: "n", Typ: bigint}, &expr.Input{Index: 1, Name: "r", Typ: record}
	half := &expr.Call{Func: "half", Args: []expr.Expr{n, r, r}, Typ: bigint, User: own.Named("half")[0]}
	most := expr.Aggregate{Func: "most", Args: []expr.Expr{half}, Typ: bigint, User: own.Named("most")[0]}
	for _, root := range []physical.Node{
		&physical.Project{Input: in, Exprs: []expr.Expr{half}, Names: []string{"h"}},
		&physical.Aggregate{Input: in, Mode: physical.Partial, Aggs: []expr.Aggregate{most}, Names: []string{"a", "b"}, Est: physical.Est{Rows: 1}},
	} {
		f, err := codec.Encode(root, physical.Output{Kind: physical.Gather, Partitions: 1, Consumers: 1})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := codec.Decode(f, own)
		if err != nil || !reflect.DeepEqual(got.Schema(), root.Schema()) {
			t.Errorf("got %#v, %v", got, err)
		}
		for _, other := range []*function.Library{nil, library("2")} {
			if _, _, err := codec.Decode(f, other); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
				t.Errorf("a process without the function: %v", err)
			}
		}
	}
}

// TestRemoteSignatures: what a process tells of its functions reads as the same signature, without the code.
func TestRemoteSignatures(t *testing.T) {
	l, err := bind.Functions([]function.Function{function.Scalar{
		Name: "f", Version: "v 1", Volatility: function.Stable, Signatures: []string{"(DECIMAL(12,3)[], VARIADIC STRUCT(\"A\"\"b\" TIMESTAMP WITH TIME ZONE)) RETURNS UUID[]"},
		Call: func(context.Context, []arrow.Array, int) (arrow.Array, error) { return nil, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := l.All()[0]
	got, err := bind.Remote{Name: s.Name, Parameters: s.Parameters(), Result: function.Text(s.Result), Volatility: s.Volatility.String(), Version: s.Version}.Signature()
	if err != nil || got.String() != s.String() || !got.Result.Equal(s.Result) || got.Volatility != s.Volatility || got.Runs() {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []bind.Remote{
		{Name: "lower", Parameters: []string{"bigint"}, Result: "bigint"},
		{Name: "f", Parameters: []string{"any"}, Result: "bigint"},
		{Name: "f", Parameters: []string{"…"}, Result: "bigint"},
		{Name: "f", Result: "any"},
		{Name: "f g", Result: "bigint"},
		{Name: "f", Result: "bigint", State: []string{"bigint"}},
	} {
		if s, err := bad.Signature(); err == nil {
			t.Errorf("%v became %v", bad, s)
		}
	}
}
