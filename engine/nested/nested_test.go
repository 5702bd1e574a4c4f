package nested_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func of(k sqltype.Kind) sqltype.Type { return sqltype.Of(k) }

// ascending are values of each type in their order.
var ascending = []struct {
	typ  sqltype.Type
	vals []nested.Scalar
}{
	{of(sqltype.Bool), []nested.Scalar{{Int: 0}, {Int: 1}}},
	{of(sqltype.Int8), []nested.Scalar{{Int: -128}, {Int: -1}, {Int: 0}, {Int: 127}}},
	{of(sqltype.Int32), []nested.Scalar{{Int: math.MinInt32}, {Int: -1}, {Int: 0}, {Int: math.MaxInt32}}},
	{of(sqltype.Int64), []nested.Scalar{{Int: math.MinInt64}, {Int: -1}, {Int: 0}, {Int: math.MaxInt64}}},
	{of(sqltype.Uint8), []nested.Scalar{{Int: 0}, {Int: 200}, {Int: 255}}},
	{of(sqltype.Uint64), []nested.Scalar{{Int: 0}, {Int: math.MaxInt64}, {Int: -1}}},
	{of(sqltype.Float32), []nested.Scalar{{Float: math.Inf(-1)}, {Float: -1.5}, {Float: 0}, {Float: 2}, {Float: math.Inf(1)}, {Float: math.NaN()}}},
	{of(sqltype.Float64), []nested.Scalar{{Float: math.Inf(-1)}, {Float: -1e300}, {Float: 0}, {Float: 5e-324}, {Float: math.Inf(1)}, {Float: math.NaN()}}},
	{sqltype.DecimalOf(9, 2), []nested.Scalar{{Wide: int128.FromInt64(-5)}, {}, {Wide: int128.FromInt64(7)}}},
	{sqltype.DecimalOf(38, 0), []nested.Scalar{{Wide: int128.Int128{Hi: -3}}, {Wide: int128.FromInt64(-1)}, {}, {Wide: int128.Int128{Hi: 3}}}},
	{of(sqltype.UUID), []nested.Scalar{{}, {Wide: int128.Int128{Hi: 1}}, {Wide: int128.Int128{Hi: -1}}}},
	{of(sqltype.Utf8), []nested.Scalar{{Str: ""}, {Str: "\x00"}, {Str: "\x00\x00"}, {Str: "\x00a"}, {Str: "a"}, {Str: "a\x00"}, {Str: "a\x01"}, {Str: "ab"}, {Str: "b"}}},
	{of(sqltype.Interval), []nested.Scalar{{Interval: vector.Interval{Months: -1}}, {Interval: vector.Interval{Micros: 1}}, {Interval: vector.Interval{Days: 29}}, {Interval: vector.Interval{Months: 1}}}},
}

// Items compare as values do, NULL is above all, and what goes in comes out.
func TestOrder(t *testing.T) {
	for _, tc := range ascending {
		t.Run(tc.typ.String(), func(t *testing.T) {
			var items []string
			for _, s := range append(slices.Clone(tc.vals), nested.Scalar{Null: true}) {
				item := string(nested.Append(nil, tc.typ, s))
				items = append(items, item)
				if n := nested.Len(tc.typ, item+"\x01more"); n != len(item) {
					t.Errorf("%v: length %d, want %d", s, n, len(item))
				}
				got := nested.Get(tc.typ, item)
				if got != s && !(math.IsNaN(got.Float) && math.IsNaN(s.Float)) {
					t.Errorf("%v comes back as %v", s, got)
				}
			}
			if !slices.IsSortedFunc(items, func(a, b string) int { return cmp.Or(cmp.Compare(a, b), 1) }) {
				t.Errorf("not ascending: %q", items)
			}
		})
	}
	if zero, minus := nested.Append(nil, of(sqltype.Float64), nested.Scalar{}), nested.Append(nil, of(sqltype.Float64), nested.Scalar{Float: math.Copysign(0, -1)}); string(zero) != string(minus) {
		t.Error("−0 is not 0")
	}
}

// Lists compare element by element, a shorter one before those that begin with it, with NULL above all.
func TestListOrder(t *testing.T) {
	elem := of(sqltype.Utf8)
	typ := sqltype.ListOf(elem)
	list := func(parts ...nested.Scalar) string {
		var dst []byte
		for _, p := range parts {
			dst = nested.Append(dst, elem, p)
		}
		return string(nested.EndList(dst))
	}
	a, b, null := nested.Scalar{Str: "a"}, nested.Scalar{Str: "b"}, nested.Scalar{Null: true}
	lists := []string{list(), list(a), list(a, a), list(a, b), list(a, null), list(b), list(null), list(null, a)}
	if !slices.IsSorted(lists) {
		t.Errorf("not ascending: %q", lists)
	}
	if got := string(nested.AppendText(nil, typ, lists[4])); got != "[a, NULL]" {
		t.Errorf("text %q", got)
	}
	if n := nested.Count(typ, lists[3]); n != 2 {
		t.Errorf("%d elements, want 2", n)
	}
}

// A column gives what was put in, in every type.
func TestColumn(t *testing.T) {
	for _, tc := range ascending {
		t.Run(tc.typ.String(), func(t *testing.T) {
			c := nested.NewColumn(tc.typ)
			for round := range 2 { // the second over the memory of the first
				want := append([]nested.Scalar{{Null: round == 0}}, tc.vals...)
				for _, s := range want {
					c.AddItem(string(nested.Append(nil, tc.typ, s)))
				}
				v := c.Vector()
				for i, s := range want {
					if got := nested.At(v, i); got != s && !(math.IsNaN(got.Float) && math.IsNaN(s.Float)) {
						t.Errorf("row %d is %v, want %v", i, got, s)
					}
				}
				c.Reset()
			}
		})
	}
}
