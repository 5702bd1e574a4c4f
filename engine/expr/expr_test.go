package expr

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

func of(k sqltype.Kind) sqltype.Type { return sqltype.Of(k) }

var (
	unknown = of(sqltype.Null)
	int2    = of(sqltype.Int16)
	int4    = of(sqltype.Int32)
	int8    = of(sqltype.Int64)
	uint8_  = of(sqltype.Uint64)
	real_   = of(sqltype.Float32)
	double  = of(sqltype.Float64)
	text    = of(sqltype.Utf8)
	date    = of(sqltype.Date)
	stamp   = of(sqltype.Timestamp)
	span    = of(sqltype.Interval)
	money   = sqltype.DecimalOf(15, 2)
)

func TestResolve(t *testing.T) {
	for _, tc := range []struct {
		call string
		args []sqltype.Type
		want string // arguments, then the result
	}{
		{"+", []sqltype.Type{int2, int8}, "BIGINT BIGINT BIGINT"},
		{"+", []sqltype.Type{of(sqltype.Uint8), of(sqltype.Int8)}, "SMALLINT SMALLINT SMALLINT"},
		{"+", []sqltype.Type{uint8_, int4}, "DECIMAL(20,0) DECIMAL(10,0) DECIMAL(21,0)"},
		{"+", []sqltype.Type{int4, money}, "DECIMAL(10,0) DECIMAL(15,2) DECIMAL(16,2)"},
		{"+", []sqltype.Type{money, double}, "DOUBLE PRECISION DOUBLE PRECISION DOUBLE PRECISION"},
		{"+", []sqltype.Type{real_, real_}, "REAL REAL REAL"},
		{"+", []sqltype.Type{real_, int4}, "DOUBLE PRECISION DOUBLE PRECISION DOUBLE PRECISION"},
		{"+", []sqltype.Type{date, int4}, "DATE INTEGER DATE"},
		{"+", []sqltype.Type{date, span}, "DATE INTERVAL TIMESTAMP"},
		{"-", []sqltype.Type{date, unknown}, "DATE DATE INTEGER"},
		{"-", []sqltype.Type{date, stamp}, "TIMESTAMP TIMESTAMP INTERVAL"},
		{"-", []sqltype.Type{int2}, "SMALLINT SMALLINT"},
		{"*", []sqltype.Type{money, money}, "DECIMAL(15,2) DECIMAL(15,2) DECIMAL(30,4)"},
		{"*", []sqltype.Type{sqltype.DecimalOf(31, 4), sqltype.DecimalOf(16, 2)}, "DECIMAL(31,4) DECIMAL(16,2) DECIMAL(38,6)"},
		{"/", []sqltype.Type{money, int4}, "DECIMAL(15,2) DECIMAL(10,0) DECIMAL(38,16)"},
		{"/", []sqltype.Type{int4, int4}, "INTEGER INTEGER INTEGER"},
		{"MOD", []sqltype.Type{int4, money}, "DECIMAL(10,0) DECIMAL(15,2) DECIMAL(15,2)"},
		{"||", []sqltype.Type{text, int4}, "VARCHAR VARCHAR VARCHAR"},
		{"||", []sqltype.Type{unknown, unknown}, "VARCHAR VARCHAR VARCHAR"},
		{"lower", []sqltype.Type{unknown}, "VARCHAR VARCHAR"},
		{"abs", []sqltype.Type{unknown}, "DOUBLE PRECISION DOUBLE PRECISION"},
		{"sqrt", []sqltype.Type{money}, "DOUBLE PRECISION DOUBLE PRECISION"},
		{"round", []sqltype.Type{money, int2}, "DECIMAL(15,2) INTEGER DECIMAL(16,2)"},
		{"substr", []sqltype.Type{text, int4, int4}, "VARCHAR BIGINT BIGINT VARCHAR"},
		{"coalesce", []sqltype.Type{unknown, int4, money}, "DECIMAL(15,2) DECIMAL(15,2) DECIMAL(15,2) DECIMAL(15,2)"},
		{"greatest", []sqltype.Type{date, stamp}, "TIMESTAMP TIMESTAMP TIMESTAMP"},
		{"date_trunc", []sqltype.Type{unknown, date}, "VARCHAR TIMESTAMP TIMESTAMP"},
		{"year", []sqltype.Type{stamp}, "TIMESTAMP BIGINT"},
	} {
		sig, err := Resolve(tc.call, tc.args, sqlerr.Pos{})
		if err != nil {
			t.Errorf("%s%v: %v", tc.call, tc.args, err)
			continue
		}
		got := ""
		for _, a := range append(sig.Args, sig.Result) {
			got += " " + a.String()
		}
		if got = got[1:]; got != tc.want {
			t.Errorf("%s%v: got %s, want %s", tc.call, tc.args, got, tc.want)
		}
	}
}

func TestResolveErrors(t *testing.T) {
	pos := sqlerr.Pos{Start: 7, End: 12}
	for _, tc := range []struct {
		call string
		args []sqltype.Type
		want string
	}{
		{"lengtth", []sqltype.Type{text}, `undefined_function: function lengtth(VARCHAR) does not exist (did you mean "length"?)`},
		{"summ", []sqltype.Type{int4}, `undefined_function: function summ(INTEGER) does not exist (did you mean "sum"?)`},
		{"sum", []sqltype.Type{int4}, `undefined_function: function sum(INTEGER) does not exist (sum is an aggregate function)`},
		{"frobnicate", nil, `undefined_function: function frobnicate() does not exist (docs/functions.md lists the functions)`},
		{"+", []sqltype.Type{int4, text}, `undefined_function: operator does not exist: INTEGER + VARCHAR (an explicit cast may help)`},
		{"lower", []sqltype.Type{int4}, `undefined_function: function lower(INTEGER) does not exist (there is lower(VARCHAR); an explicit cast may help)`},
		{"left", []sqltype.Type{text}, `undefined_function: function left(VARCHAR) does not exist (there is left(VARCHAR, BIGINT); an explicit cast may help)`},
		{"*", []sqltype.Type{sqltype.DecimalOf(38, 20), sqltype.DecimalOf(38, 20)}, `numeric_value_out_of_range: the product of DECIMAL(38,20) and DECIMAL(38,20) would have 40 digits after the point, more than 38 (cast an operand to a DECIMAL of less scale, or to DOUBLE PRECISION)`},
	} {
		_, err := Resolve(tc.call, tc.args, pos)
		if err == nil {
			t.Errorf("%s%v: no error", tc.call, tc.args)
			continue
		}
		if got := string(sqlerr.CodeOf(err)) + ": " + err.Error(); got != tc.want {
			t.Errorf("%s%v:\ngot  %s\nwant %s", tc.call, tc.args, got, tc.want)
		}
		var e *sqlerr.Error
		if e, _ = err.(*sqlerr.Error); e == nil || e.Pos != pos {
			t.Errorf("%s%v: no place in %v", tc.call, tc.args, err)
		}
	}
}

func TestAggregates(t *testing.T) {
	for _, tc := range []struct {
		name string
		arg  sqltype.Type
		want string
		fn   string
	}{
		{"SUM", int4, "BIGINT", "sum"},
		{"sum", int8, "DECIMAL(38,0)", "sum"},
		{"sum", money, "DECIMAL(38,2)", "sum"},
		{"sum", real_, "REAL", "sum"},
		{"avg", int4, "DECIMAL(38,16)", "avg"},
		{"avg", money, "DECIMAL(38,16)", "avg"},
		{"avg", real_, "DOUBLE PRECISION", "avg"},
		{"min", text, "VARCHAR", "min"},
		{"every", of(sqltype.Bool), "BOOLEAN", "bool_and"},
		{"stddev", int4, "DOUBLE PRECISION", "stddev_samp"},
		{"count", text, "BIGINT", "count"},
	} {
		sig, err := ResolveAggregate(tc.name, []sqltype.Type{tc.arg}, sqlerr.Pos{})
		if err != nil || sig.Result.String() != tc.want || sig.Func != tc.fn {
			t.Errorf("%s(%v): got %s of %v, %v, want %s of %s", tc.name, tc.arg, sig.Func, sig.Result, err, tc.fn, tc.want)
		}
	}
	if sig, err := ResolveAggregate("count", nil, sqlerr.Pos{}); err != nil || sig.Func != "count_star" {
		t.Errorf("count(): got %v, %v", sig, err)
	}
	if _, err := ResolveAggregate("sum", []sqltype.Type{text}, sqlerr.Pos{}); sqlerr.CodeOf(err) != sqlerr.UnknownFunction {
		t.Errorf("sum of text: %v", err)
	}
}

// The table is in order, has no name twice, and every overload resolves to itself.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	list := Functions()
	if !slices.IsSortedFunc(list, func(a, b *Function) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("functions are not in order")
	}
	for _, f := range list {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			if seen[name] || name != strings.ToLower(name) {
				t.Errorf("name %q is taken, or not in lower case", name)
			}
			seen[name] = true
		}
		if f.Source == "" || f.Doc == "" {
			t.Errorf("%s has no source or no description", f.Name)
		}
		if f.Group == "" || f.Lenient != (f.Nulls != "") {
			t.Errorf("%s has no group, or does not say what becomes of NULL", f.Name)
		}
		for _, o := range f.Overloads {
			args := make([]sqltype.Type, len(o.Params))
			for i, p := range o.Params {
				switch {
				case p == AnyList:
					args[i] = sqltype.ListOf(int4)
				case p == AnyStruct:
					args[i] = sqltype.StructOf(sqltype.Field{Name: "a", Type: int4})
				case p >= Any:
					args[i] = int4
				case sqltype.Kind(p) == sqltype.Decimal:
					args[i] = money
				default:
					args[i] = of(sqltype.Kind(p))
				}
			}
			sig, err := Resolve(f.Name, args, sqlerr.Pos{})
			if err != nil {
				t.Errorf("%s: %v", o.text(f.Name), err)
				continue
			}
			for i, p := range o.Params {
				if p < Any && !sig.Args[i].Equal(args[i]) {
					t.Errorf("%s resolves to another overload, of %v", o.text(f.Name), sig.Args)
				}
			}
		}
	}
}

func col(name string, t sqltype.Type) Expr {
	return &Column{ID: ColumnID(len(name)), Name: name, Typ: t}
}

func lit(t *testing.T, s string) Expr {
	t.Helper()
	v, err := ParseNumber(s)
	if err != nil {
		t.Fatal(err)
	}
	return NewLiteral(v, sqlerr.Pos{})
}

func TestString(t *testing.T) {
	call := func(name string, args ...Expr) Expr {
		e, err := NewCall(name, args, sqlerr.Pos{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	x, y, s, d := col("x", int4), col("yy", int4), col("sss", text), col("dddd", date)
	in, err := NewIn(s, []Expr{Unknown("a", sqlerr.Pos{}), Unknown("it's", sqlerr.Pos{})}, true, sqlerr.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	for want, e := range map[string]Expr{
		"[x, yy]":                               call("make_array", x, y),
		"{'c0': x}":                             call("row", x),
		"({'c0': sss}).c0":                      call("struct_extract", call("row", s), NewLiteral(IntValue(of(sqltype.Int64), 1), sqlerr.Pos{})),
		"(x + yy) * 2":                          call("*", call("+", x, y), lit(t, "2")),
		"x + yy * 2":                            call("+", x, call("*", y, lit(t, "2"))),
		"x - (yy - 2)":                          call("-", x, call("-", y, lit(t, "2"))),
		"x - yy - 2":                            call("-", call("-", x, y), lit(t, "2")),
		"-x":                                    call("-", x),
		"x > 1 AND (x = 2 OR yy = 3)":           NewAnd(call(">", x, lit(t, "1")), NewOr(call("=", x, lit(t, "2")), call("=", y, lit(t, "3")))),
		"NOT (x = 1 AND yy = 2)":                NewNot(NewAnd(call("=", x, lit(t, "1")), call("=", y, lit(t, "2")))),
		"x <> 1":                                NewNot(call("=", x, lit(t, "1"))),
		"sss NOT LIKE 'a%'":                     NewNot(call("like", s, Unknown("a%", sqlerr.Pos{}))),
		"sss NOT IN ('a', 'it''s')":             in,
		"dddd >= DATE '1994-01-01'":             call(">=", d, Unknown("1994-01-01", sqlerr.Pos{})),
		"x IS NULL":                             &IsNull{X: x},
		"CASE WHEN x = 1 THEN yy END":           &Case{Whens: []When{{call("=", x, lit(t, "1")), y}}, Typ: int4},
		"(x + 1)::VARCHAR || sss":               call("||", call("+", x, lit(t, "1")), s),
		"year(dddd)":                            call("extract", Unknown("YEAR", sqlerr.Pos{}), d),
		"x::DECIMAL(10,0) * 0.05":               call("*", x, lit(t, "0.05")),
		"coalesce(x, yy)":                       call("coalesce", x, y),
		"x IS NOT DISTINCT FROM yy":             &Compare{Op: NotDistinct, L: x, R: y},
		"extract_epoch(dddd)::DOUBLE PRECISION": call("date_part", Unknown("epoch", sqlerr.Pos{}), d),
	} {
		if got := String(e); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	a := Aggregate{Func: "sum", Args: []Expr{x}, Distinct: true, Filter: call(">", y, lit(t, "1")), OrderBy: []SortOrder{{Expr: y, Desc: true, NullsFirst: true}}}
	if got, want := AggregateString(a), "sum(DISTINCT x ORDER BY yy DESC) FILTER (WHERE yy > 1)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIdentity(t *testing.T) {
	x, y := col("x", int4), col("yy", int4)
	at := At{sqlerr.Pos{Start: 3, End: 4}}
	one := IntValue(int4, 1)
	exprs := []Expr{
		x, y, NewLiteral(one, sqlerr.Pos{}), NewLiteral(IntValue(int8, 1), sqlerr.Pos{}), NewLiteral(StringValue("1"), sqlerr.Pos{}), Null(int4, sqlerr.Pos{}),
		&Compare{Op: Eq, L: x, R: y}, &Compare{Op: Eq, L: y, R: x}, &Compare{Op: Ne, L: x, R: y}, NewAnd(x, y), NewOr(x, y), &Not{X: x}, &IsNull{X: x},
		&IsNull{X: x, Negated: true}, &Cast{X: x, To: int8}, &Cast{X: x, To: int8, Try: true}, &Cast{X: x, To: money}, &In{X: x, List: []Value{one}},
		&In{X: x, List: []Value{one, one}}, &In{X: x, List: []Value{one}, Negated: true}, &Call{Func: "+", Args: []Expr{x, y}, Typ: int4}, &Call{Func: "-", Args: []Expr{x, y}, Typ: int4},
		&Case{Whens: []When{{x, y}}, Typ: int4}, &Case{Whens: []When{{x, y}}, Else: x, Typ: int4}, &Input{Index: 1, Typ: int4}, &Param{Number: 1, Typ: int4},
	}
	for i, a := range exprs {
		for j, b := range exprs {
			if Equal(a, b) != (i == j) || (Key(a) == Key(b)) != (i == j) {
				t.Errorf("%s and %s: equal %v, one key %v", String(a), String(b), Equal(a, b), Key(a) == Key(b))
			}
		}
	}
	if !Equal(&Compare{At: at, Op: Eq, L: x, R: y}, &Compare{Op: Eq, L: &Column{At: at, ID: 1, Name: "other", Typ: int4}, R: y}) {
		t.Error("places and names count")
	}
}

func TestCoercion(t *testing.T) {
	pos := sqlerr.Pos{Start: 1, End: 2}
	e, err := NewCompare(Lt, col("a", money), lit(t, "24"), pos)
	if err != nil || String(e) != "a < 24.00" {
		t.Errorf("a literal takes the column's type: got %s, %v", String(e), err)
	}
	e, err = NewCompare(Lt, col("a", int2), lit(t, "70000"), pos)
	if err != nil || String(e) != "a::INTEGER < 70000" {
		t.Errorf("unless it does not fit: got %s, %v", String(e), err)
	}
	if _, err = NewCompare(Eq, col("a", int4), Unknown("x", pos), pos); sqlerr.CodeOf(err) != sqlerr.InvalidText {
		t.Errorf("a literal that does not read as INTEGER: %v", err)
	}
	if _, err = NewCompare(Eq, col("a", int4), col("bb", text), pos); sqlerr.CodeOf(err) != sqlerr.UnknownFunction {
		t.Errorf("INTEGER = VARCHAR: %v", err)
	}
	if _, err = NewCase([]When{{col("c", of(sqltype.Bool)), lit(t, "1")}}, col("bb", text), pos); sqlerr.CodeOf(err) != sqlerr.DatatypeMismatch {
		t.Errorf("CASE of INTEGER and VARCHAR: %v", err)
	}
	for _, tc := range []struct{ a, b, want sqltype.Type }{
		{int4, unknown, int4}, {date, stamp, stamp}, {money, sqltype.DecimalOf(5, 4), sqltype.DecimalOf(17, 4)}, {int8, money, sqltype.DecimalOf(21, 2)}, {real_, int4, double},
	} {
		if got, ok := CommonType(tc.a, tc.b); !ok || !got.Equal(tc.want) {
			t.Errorf("CommonType(%v, %v) = %v, %v, want %v", tc.a, tc.b, got, ok, tc.want)
		}
		if got, ok := CommonType(tc.b, tc.a); !ok || !got.Equal(tc.want) {
			t.Errorf("CommonType(%v, %v) = %v, %v, want %v", tc.b, tc.a, got, ok, tc.want)
		}
	}
	if CastAllowed(double, int4, Implicit) || !CastAllowed(double, int4, Assignment) || CastAllowed(text, int4, Assignment) || !CastAllowed(text, int4, Explicit) {
		t.Error("casts are allowed in the wrong contexts")
	}
}

func TestStableValue(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 3600))
	if v, ok := StableValue("current_date", start); !ok || v.Text() != "2026-02-28" {
		t.Errorf("current_date is %v", v)
	}
	if v, ok := StableValue("now", start); !ok || v.Text() != "2026-02-28 23:30:00+00" {
		t.Errorf("now is %v", v)
	}
}

func TestValidate(t *testing.T) {
	x, s, b := &Input{Typ: int4}, &Input{Index: 1, Typ: text}, &Input{Index: 2, Typ: of(sqltype.Bool)}
	good := []Expr{
		x, &Compare{Op: Eq, L: x, R: x}, NewAnd(b, b), &Not{X: b}, &Case{Whens: []When{{b, x}}, Else: x, Typ: int4}, &Call{Func: "+", Args: []Expr{x, x}, Typ: int4},
		&Call{Func: "lower", Args: []Expr{s}, Typ: text}, &Call{Func: "coalesce", Args: []Expr{x, x, x}, Typ: int4}, &In{X: x, List: []Value{IntValue(int4, 1)}},
	}
	for _, e := range good {
		if err := Validate(e); err != nil {
			t.Errorf("%s: %v", String(e), err)
		}
	}
	bad := []Expr{
		&Input{Index: -1, Typ: int4}, &Compare{Op: Eq, L: x, R: s}, &Compare{Op: 77, L: x, R: x}, &Logic{Op: And}, NewAnd(b, x), &Not{X: x}, &Case{Whens: []When{{x, x}}, Typ: int4},
		&Case{Whens: []When{{b, s}}, Typ: int4}, &Call{Func: "+", Args: []Expr{x, x}, Typ: int8}, &Call{Func: "+", Args: []Expr{x}, Typ: text}, &Call{Func: "lower", Args: []Expr{x}, Typ: text},
		&Call{Func: "lower", Typ: text}, &Call{Func: "no_such", Typ: text}, &Call{Func: "substr", Args: []Expr{s, x}, Typ: text}, &In{X: x, List: []Value{StringValue("")}},
		&Not{X: &Not{X: x}}, &Call{Func: "like", Typ: of(sqltype.Bool)}, &Cast{To: int4}, &Logic{Op: 9, Args: []Expr{b, b}},
	}
	for i, e := range bad {
		if err := Validate(e); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
			t.Errorf("case %d: %v, want an invalid plan", i, err)
		}
	}
}
