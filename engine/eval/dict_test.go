package eval

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// words is a batch of one column over a dictionary of n words with a prefix, its bytes in mem, which the caller may overwrite when
// the batch is done.
func words(prefix string, n int, id uint64) (b *vector.Batch, mem []byte) {
	var ends []int
	for i := range n {
		mem = fmt.Appendf(mem, "%s%d", prefix, i)
		ends = append(ends, len(mem))
	}
	dict, start := make([]string, n), 0
	for i, end := range ends {
		dict[i] = unsafe.String(&mem[start], end-start)
		start = end
	}
	codes := make([]uint16, 100)
	for i := range codes {
		codes[i] = uint16(i * 7 % n)
	}
	d, v := &vector.Vector{}, &vector.Vector{}
	vector.SetFlat(d, of(sqltype.Utf8), dict, nil)
	vector.SetDict(v, d, id, codes, nil)
	return &vector.Batch{Cols: []*vector.Vector{v}, Len: len(codes)}, mem
}

// What is kept per dictionary outlives the dictionary's memory, is not mixed up with another's, and is given as a dictionary.
func TestDictionaryCache(t *testing.T) {
	for _, size := range []int{20, 1000} { // the second is not worth computing before many rows have come
		x := input(0, of(sqltype.Utf8))
		part := must(expr.NewCall("substring", []expr.Expr{x, expr.NewLiteral(expr.IntValue(of(sqltype.Int32), 2), sqlerr.Pos{})}, sqlerr.Pos{}))
		like := must(expr.NewCall("like", []expr.Expr{x, text("%7")}, sqlerr.Pos{}))
		var evs []*Evaluator
		for _, e := range []expr.Expr{part, like} {
			p, err := Compile(e)
			if err != nil {
				t.Fatal(err)
			}
			evs = append(evs, p.NewEvaluator(context.Background(), 100))
		}
		ids := make([]uint64, 6)
		for i := range ids {
			ids[i] = vector.NewDictID()
		}
		for round := range 12 {
			for i, id := range ids {
				b, mem := words(string(rune('a'+i))+"-", size, id)
				v, err := evs[0].Eval(b)
				if err != nil {
					t.Fatal(err)
				}
				hit, err := evs[1].Eval(b)
				if err != nil {
					t.Fatal(err)
				}
				if size == 20 && v.Form != vector.Dict {
					t.Fatalf("form %d, want a dictionary", v.Form)
				}
				for row := range b.Len {
					code := row * 7 % size
					if got, want := ValueAt(v, row).Str, fmt.Sprintf("-%d", code); got != want {
						t.Fatalf("size %d, round %d, dictionary %d, row %d: got %q, want %q", size, round, i, row, got, want)
					}
					if got, want := ValueAt(hit, row).IsTrue(), code%10 == 7; got != want {
						t.Fatalf("size %d, round %d, dictionary %d, row %d: LIKE is %v, want %v", size, round, i, row, got, want)
					}
				}
				clear(mem)
			}
		}
	}
}

func TestFold(t *testing.T) {
	x, d, c := input(0, of(sqltype.Int32)), input(1, of(sqltype.Date)), input(2, of(sqltype.Bool))
	call := func(name string, args ...expr.Expr) expr.Expr { return must(expr.NewCall(name, args, sqlerr.Pos{})) }
	yes, no := expr.NewLiteral(expr.BoolValue(true), sqlerr.Pos{}), expr.NewLiteral(expr.BoolValue(false), sqlerr.Pos{})
	null := expr.Null(of(sqltype.Bool), sqlerr.Pos{})
	year := must(expr.Coerce(expr.Unknown("1 year", sqlerr.Pos{}), of(sqltype.Interval), expr.Explicit))
	start := must(expr.Coerce(expr.Unknown("1994-01-01", sqlerr.Pos{}), of(sqltype.Date), expr.Explicit))
	noon := must(expr.Coerce(expr.Unknown("1994-01-01 12:00", sqlerr.Pos{}), of(sqltype.Timestamp), expr.Explicit))
	failing := call("/", digits("1"), digits("0"))
	for _, tc := range []struct {
		e    expr.Expr
		want string
	}{
		{call("+", digits("1"), digits("2")), "3"},
		{call("+", x, call("*", digits("2"), digits("3"))), "c0 + 6"},
		{failing, "1 / 0"},
		{expr.NewAnd(yes, c), "c2"},
		{expr.NewAnd(no, call("=", failing, x)), "false"},
		{expr.NewOr(c, yes), "true"},
		{expr.NewOr(c, no, c), "c2 OR c2"},
		{expr.NewAnd(null, c), "NULL AND c2"},
		{expr.NewAnd(null, yes), "NULL"},
		{call("=", x, expr.Null(of(sqltype.Int32), sqlerr.Pos{})), "NULL"},
		{call("<", d, call("+", start, year)), "c1 < DATE '1995-01-01'"},
		{call("<", d, noon), "c1 <= DATE '1994-01-01'"},
		{call(">", noon, d), "c1 <= DATE '1994-01-01'"},
		{call(">=", d, noon), "c1 > DATE '1994-01-01'"},
		{must(expr.NewCase([]expr.When{{Cond: no, Then: x}, {Cond: yes, Then: digits("7")}}, x, sqlerr.Pos{})), "7"},
		{must(expr.NewCase([]expr.When{{Cond: null, Then: x}, {Cond: c, Then: digits("7")}}, x, sqlerr.Pos{})), "CASE WHEN c2 THEN 7 ELSE c0 END"},
		{call("coalesce", expr.Null(of(sqltype.Int32), sqlerr.Pos{}), x, digits("1"), x), "coalesce(c0, 1)"},
		{call("coalesce", digits("1"), x), "1"},
		{call("pi"), "3.141592653589793e0"},
		{call("now"), "now()"},
		{call("lower", text("ABC")), "'abc'"},
	} {
		if got := expr.String(Fold(tc.e)); got != tc.want {
			t.Errorf("%s: got %s, want %s", expr.String(tc.e), got, tc.want)
		}
	}
	if e := call("+", x, x); Fold(e) != e {
		t.Error("nothing changed, yet it is another expression")
	}
}
