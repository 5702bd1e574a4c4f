package optimize

import (
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// TestDriverChecksSchema runs rules that break their promise: the driver names them, and gives no plan.
func TestDriverChecksSchema(t *testing.T) {
	a := &expr.Column{ID: 1, Name: "a", Typ: sqltype.Of(sqltype.Int64)}
	b := &expr.Column{ID: 2, Name: "b", Typ: sqltype.Of(sqltype.Int64)}
	wider := *a
	wider.Typ = sqltype.Of(sqltype.Float64)
	p := &logical.Plan{Root: &logical.Values{Cols: []*expr.Column{a, b}}, Names: []string{"a", "b"}}
	for name, cols := range map[string][]*expr.Column{
		"drops":   {a},
		"adds":    {a, b, {ID: 3, Typ: a.Typ}},
		"swaps":   {b, a},
		"renames": {a, {ID: 3, Typ: a.Typ}},
		"retypes": {&wider, b},
	} {
		broken := []rule{{"faithful", func(_ *optimizer, n logical.Node) (logical.Node, error) { return n, nil }}, {name, func(*optimizer, logical.Node) (logical.Node, error) {
			return &logical.Values{Cols: cols}, nil
		}}}
		out, err := apply(t.Context(), broken, p, Config{})
		if out != nil || sqlerr.CodeOf(err) != sqlerr.Internal || !strings.Contains(err.Error(), "rule "+name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
