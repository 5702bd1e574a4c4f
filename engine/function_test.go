package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/slt"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// twice doubles numbers, or repeats texts.
var twice = function.Scalar{
	Name: "twice", Version: "1", Signatures: []string{"(BIGINT) RETURNS BIGINT", "(VARCHAR) RETURNS VARCHAR"},
	Call: func(_ context.Context, args []arrow.Array, rows int) (arrow.Array, error) {
		switch in := args[0].(type) {
		case *array.Int64:
			b := array.NewInt64Builder(memory.DefaultAllocator)
			for i := range rows {
				b.Append(2 * in.Value(i))
			}
			return b.NewArray(), nil
		case *array.String:
			b := array.NewStringBuilder(memory.DefaultAllocator)
			for i := range rows {
				b.Append(in.Value(i) + in.Value(i))
			}
			return b.NewArray(), nil
		}
		return nil, errors.ErrUnsupported
	},
}

// call is a function of this code and signature.
func call(name, signature string, nulls function.Nulls, code func(args []arrow.Array, rows int) (arrow.Array, error)) function.Scalar {
	return function.Scalar{
		Name: name, Signatures: []string{signature}, Nulls: nulls, Volatility: function.Volatile,
		Call: func(_ context.Context, args []arrow.Array, rows int) (arrow.Array, error) { return code(args, rows) },
	}
}

// longest is an aggregate: the longest text, the least of those that are equally long.
var longest = function.Aggregate{
	Name: "longest", Version: "1", Signatures: []string{"(VARCHAR) RETURNS VARCHAR"}, State: []string{"BIGINT", "VARCHAR"},
	New: func() function.Accumulator { return &longestTexts{} },
	Finish: func(_ context.Context, state []arrow.Array, _ int) (arrow.Array, error) {
		state[1].Retain()
		return state[1], nil
	},
}

type longestTexts struct {
	texts []string
	has   []bool
	size  int64
}

func (l *longestTexts) Grow(n int) {
	for len(l.texts) < n {
		l.texts, l.has = append(l.texts, ""), append(l.has, false)
	}
}

func (l *longestTexts) take(group uint32, text string) {
	have := l.texts[group]
	if !l.has[group] || len(text) > len(have) || len(text) == len(have) && text < have {
		l.texts[group], l.has[group] = strings.Clone(text), true
		l.size += int64(len(text))
	}
}

func (l *longestTexts) Update(_ context.Context, args []arrow.Array, groups []uint32) error {
	for i, g := range groups {
		l.take(g, args[0].(*array.String).Value(i))
	}
	return nil
}

func (l *longestTexts) Merge(_ context.Context, state []arrow.Array, groups []uint32) error {
	for i, g := range groups {
		if !state[1].IsNull(i) {
			l.take(g, state[1].(*array.String).Value(i))
		}
	}
	return nil
}

func (l *longestTexts) State(_ context.Context, groups []uint32) ([]arrow.Array, error) {
	lengths, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for _, g := range groups {
		if !l.has[g] {
			lengths.AppendNull()
			texts.AppendNull()
			continue
		}
		lengths.Append(int64(len(l.texts[g])))
		texts.Append(l.texts[g])
	}
	return []arrow.Array{lengths.NewArray(), texts.NewArray()}, nil
}

func (l *longestTexts) Size() int64 { return l.size + int64(17*len(l.texts)) }

func int64s(values ...int64) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func answer(t *testing.T, e *engine.Engine, sql string) string {
	t.Helper()
	text, err := ask(t.Context(), e, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// ask is the rows of a query, values apart by spaces and rows by commas.
func ask(ctx context.Context, e *engine.Engine, sql string) (string, error) {
	q := e.NewSession().Querier()
	res, err := q.Run(ctx, sql)
	if err != nil {
		return "", err
	}
	return show(res), nil
}

func show(res *slt.Result) string {
	var rows []string
	for _, r := range res.Rows {
		var cells []string
		for _, c := range r {
			if c == nil {
				cells = append(cells, "NULL")
				continue
			}
			cells = append(cells, *c)
		}
		rows = append(rows, strings.Join(cells, " "))
	}
	return strings.Join(rows, ",")
}

func TestUserFunctions(t *testing.T) {
	e, err := engine.New(engine.WithFunction(twice), engine.WithFunction(longest))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	for sql, want := range map[string]string{
		"SELECT twice(21)":                "42",
		"SELECT Twice('ab'), twice(NULL)": "abab NULL",
		"SELECT twice(x) FROM (VALUES (1), (NULL), (3)) t(x) ORDER BY x":                                                              "2,6,NULL",
		"SELECT x FROM (VALUES (1), (2), (3)) t(x) WHERE twice(x) > 2 AND x < 3":                                                      "2",
		"SELECT longest(x) FROM (VALUES ('a'), ('ccc'), (NULL), ('bbb')) t(x)":                                                        "bbb",
		"SELECT longest(x) FROM (VALUES ('a')) t(x) WHERE x = 'b'":                                                                    "NULL",
		"SELECT k, longest(x) FROM (VALUES (1, 'a'), (2, 'b'), (1, 'cc')) t(k, x) GROUP BY k ORDER BY k":                              "1 cc,2 b",
		"SELECT longest(DISTINCT x), longest(x) FILTER (WHERE x <> 'cc') FROM (VALUES ('a'), ('cc'), ('cc')) t(x)":                    "cc a",
		"SELECT longest(x) OVER (ORDER BY x ROWS 1 PRECEDING) FROM (VALUES ('aaa'), ('b'), ('cc')) t(x) ORDER BY x":                   "aaa,aaa,cc",
		"SELECT max(length(l)) FROM (SELECT longest(twice(x::VARCHAR)) AS l FROM generate_series(1, 100000) s(x) GROUP BY x % 50000)": "12",
		"SELECT count(DISTINCT twice(x)) FROM generate_series(1, 10000) s(x)":                                                         "10000",
	} {
		if got := answer(t, e, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if got := answer(t, e, "SHOW FUNCTIONS"); !strings.Contains(got, "twice  scalar twice(bigint), version \"1\" user") || !strings.Contains(got, "longest  aggregate") {
		t.Errorf("SHOW FUNCTIONS does not show them")
	}
	if got := answer(t, e, "EXPLAIN SELECT twice(21)"); !strings.Contains(got, "42") {
		t.Errorf("an immutable function is not folded: %s", got)
	}
}

// What a function does wrong is an error of the query, which names it.
func TestFaultyFunctions(t *testing.T) {
	const sig = "(BIGINT) RETURNS BIGINT"
	e, err := engine.New(
		engine.WithFunction(call("panics", sig, function.Strict, func(a []arrow.Array, _ int) (arrow.Array, error) { return a[1], nil })),
		engine.WithFunction(call("fails", sig, function.Strict, func([]arrow.Array, int) (arrow.Array, error) { return nil, errors.New("no luck") })),
		engine.WithFunction(call("short", sig, function.Strict, func(_ []arrow.Array, rows int) (arrow.Array, error) { return int64s(make([]int64, rows-1)...), nil })),
		engine.WithFunction(call("mistyped", "(BIGINT) RETURNS VARCHAR", function.Strict, func(_ []arrow.Array, rows int) (arrow.Array, error) { return int64s(make([]int64, rows)...), nil })),
		engine.WithFunction(call("nothing", sig, function.Strict, func([]arrow.Array, int) (arrow.Array, error) { return nil, nil })),
		engine.WithFunction(function.Aggregate{
			Name: "stateless", Signatures: []string{sig}, State: []string{"BIGINT"}, Finish: twice.Call, New: func() function.Accumulator { return nil },
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	for name, want := range map[string]string{
		"panics": "panicked: runtime error", "fails": "failed: no luck", "short": "values where", "mistyped": "where VARCHAR is due", "nothing": "gave no array",
		"stateless": "no accumulator",
	} {
		_, err := ask(t.Context(), e, "SELECT "+name+"(x) FROM generate_series(1, 10) s(x)")
		if sqlerr.CodeOf(err) != sqlerr.FunctionFailed || !strings.Contains(err.Error(), "function "+name) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A function that waits ends with its query.
func TestFunctionIsCanceled(t *testing.T) {
	started := make(chan struct{}, 1)
	e, err := engine.New(engine.WithFunction(function.Scalar{
		Name: "waits", Signatures: []string{"(BIGINT) RETURNS BIGINT"}, Volatility: function.Volatile,
		Call: func(ctx context.Context, _ []arrow.Array, _ int) (arrow.Array, error) {
			select {
			case started <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	ctx, cancel := context.WithCancelCause(t.Context())
	why := sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "too late")
	go func() {
		<-started
		cancel(why)
	}()
	if _, err := ask(ctx, e, "SELECT waits(x) FROM generate_series(1, 10) s(x)"); !errors.Is(err, why) {
		t.Error(err)
	}
}

func TestFunctionsAreChecked(t *testing.T) {
	code := twice.Call
	ok := function.Scalar{Name: "f", Signatures: []string{"(BIGINT) RETURNS BIGINT"}, Call: code}
	with := func(change func(*function.Scalar)) function.Function {
		f := ok
		change(&f)
		return f
	}
	for want, list := range map[string][]function.Function{
		"built-in":              {with(func(f *function.Scalar) { f.Name = "lower" })},
		"built-in function has": {with(func(f *function.Scalar) { f.Name = "sum" })},
		"a built-in":            {with(func(f *function.Scalar) { f.Name = "extract" })},
		"a name is":             {with(func(f *function.Scalar) { f.Name = "F" })},
		"its code":              {with(func(f *function.Scalar) { f.Call = nil })},
		"no signature":          {with(func(f *function.Scalar) { f.Signatures = nil })},
		"RETURNS":               {with(func(f *function.Scalar) { f.Signatures = []string{"(BIGINT)"} })},
		`type "bigit" does not`: {with(func(f *function.Scalar) { f.Signatures = []string{"(BIGIT) RETURNS BIGINT"} })},
		"control characters":    {with(func(f *function.Scalar) { f.Version = "a\nb" })},
		"there twice":           {ok, with(func(f *function.Scalar) { f.Version = "2" })},
		"scalar and aggregate":  {ok, function.Aggregate{Name: "f", Signatures: []string{"(DATE) RETURNS DATE"}, State: []string{"DATE"}, New: longest.New, Finish: code}},
		"1 to 6 columns":        {function.Aggregate{Name: "f", Signatures: []string{"(DATE) RETURNS DATE"}, New: longest.New, Finish: code}},
		"New is missing":        {function.Aggregate{Name: "f", Signatures: []string{"(DATE) RETURNS DATE"}, State: []string{"DATE"}, Finish: code}},
	} {
		var opts []engine.Option
		for _, f := range list {
			opts = append(opts, engine.WithFunction(f))
		}
		if _, err := engine.New(opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Values of every type go to a function and come back as they are, whichever rows are alive and NULL.
func TestFunctionsOfEveryType(t *testing.T) {
	echo := func(args []arrow.Array, _ int) (arrow.Array, error) { args[0].Retain(); return args[0], nil }
	values := map[string]string{
		"boolean": "x % 2 = 0", "tinyint": "x", "usmallint": "x", "ubigint": "x", "real": "x / 4", "double precision": "x / 3", "decimal(9,2)": "x", "decimal(38,4)": "x * 1e20",
		"varchar": "repeat('ä', x::integer)", "bytea": "'a' || x", "date": "DATE '2000-01-01' + x::integer", "time": "TIME '10:00' + x * INTERVAL '1 s'", "timestamp": "TIMESTAMP '2000-01-01 10:00' + x * INTERVAL '1 s'",
		"timestamp with time zone": "TIMESTAMP '2000-01-01 10:00' + x * INTERVAL '1 s'", "interval": "x * INTERVAL '1 month 1 s'", "bigint[]": "array[x, NULL]", `struct("a b" varchar, n bigint[])`: "ROW('q', array[x])",
	}
	for typ, value := range values {
		strict := call("echo", "("+typ+") RETURNS "+typ, function.Strict, echo)
		called := call("called", "("+typ+") RETURNS "+typ, function.Called, echo)
		e, err := engine.New(engine.WithFunction(strict), engine.WithFunction(called))
		if err != nil {
			t.Fatal(err)
		}
		from := " FROM (SELECT x, CASE WHEN x % 5 <> 0 THEN CAST(" + value + " AS " + typ + ") END AS v FROM generate_series(0, 99) s(x)) t WHERE x % 3 = 0 ORDER BY x"
		want, err := ask(t.Context(), e, "SELECT v, v"+from)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if got := answer(t, e, "SELECT echo(v), called(v)"+from); got != want {
			t.Errorf("%s: %s, want %s", typ, got, want)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestVariadicAndCalledOnNull(t *testing.T) {
	count := func(args []arrow.Array, rows int) (arrow.Array, error) {
		out := make([]int64, rows)
		for _, a := range args {
			for i := range rows {
				if a.IsValid(i) {
					out[i]++
				}
			}
		}
		return int64s(out...), nil
	}
	e, err := engine.New(
		engine.WithFunction(call("given", "(BIGINT, VARIADIC BIGINT) RETURNS BIGINT", function.Called, count)),
		engine.WithFunction(call("all_given", "(BIGINT, VARIADIC BIGINT) RETURNS BIGINT", function.Strict, count)),
		engine.WithFunction(call("nothing_given", "() RETURNS BIGINT", function.Strict, count)),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	for sql, want := range map[string]string{
		"SELECT given(1, NULL, 3), given(NULL, NULL), all_given(1, 2, 3), all_given(1, NULL)":                             "2 0 3 NULL",
		"SELECT given(x, y), all_given(x, y) FROM (VALUES (1, 2), (NULL, 2), (NULL, NULL::BIGINT)) t(x, y) ORDER BY y, x": "2 2,1 NULL,0 NULL",
		"SELECT nothing_given() FROM (VALUES (1), (2)) t(x)":                                                              "0,0",
		// NULL is no reason to drop the rows of an outer join: a function that sees it may make something of it.
		"SELECT count(*) FROM (VALUES (1), (2)) a(x) LEFT JOIN (VALUES (1)) b(y) ON x = y WHERE given(y, y) = 0":     "1",
		"SELECT count(*) FROM (VALUES (1), (2)) a(x) LEFT JOIN (VALUES (1)) b(y) ON x = y WHERE all_given(y, y) = 2": "1",
	} {
		if got := answer(t, e, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if _, err := ask(t.Context(), e, "SELECT given(1)"); sqlerr.CodeOf(err) != sqlerr.UnknownFunction || !strings.Contains(err.Error(), "given(bigint, bigint, …)") {
		t.Errorf("too few arguments: %v", err)
	}
}
