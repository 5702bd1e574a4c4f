package parse_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// TestErrors holds messages, places and hints to what testdata/errors says; -rewrite writes it anew.
func TestErrors(t *testing.T) {
	datadriven.RunTest(t, "testdata/errors", func(t *testing.T, d *datadriven.TestData) string {
		_, err := parse.Parse(d.Input)
		if err == nil {
			t.Errorf("%s: parses", d.Pos)
			return "ok\n"
		}
		e, _ := errors.AsType[*sqlerr.Error](err)
		out := caret(d.Input, e.Pos) + fmt.Sprintf("%s: %s\n", e.Code, e.Message)
		if e.Hint != "" {
			out += "hint: " + e.Hint + "\n"
		}
		return out
	})
}

// caret shows a place under its line.
func caret(sql string, pos sqlerr.Pos) string {
	start := strings.LastIndexByte(sql[:pos.Start], '\n') + 1
	line, _, _ := strings.Cut(sql[start:], "\n")
	mark := strings.Repeat(" ", len([]rune(sql[start:pos.Start]))) + strings.Repeat("^", max(1, len([]rune(sql[pos.Start:min(int(pos.End), start+len(line))]))))
	return line + "\n" + mark + "\n"
}

// TestPrecedence compares an expression with one that has all its parentheses.
func TestPrecedence(t *testing.T) {
	for _, tc := range []struct{ sql, want string }{
		{"1 + 2 * 3", "1 + (2 * 3)"},
		{"1 - 2 - 3", "(1 - 2) - 3"},
		{"2 ^ 3 ^ 2", "(2 ^ 3) ^ 2"},
		{"-2 ^ 2", "(-2) ^ 2"},
		{"-a::int", "-(a::int)"},
		{"-a.b[1]", "-((a.b)[1])"},
		{"a % b * c", "(a % b) * c"},
		{"a || b + c", "a || (b + c)"},
		{"a + b || c", "(a + b) || c"},
		{"~ a + b", "~ (a + b)"},
		{"a & b = c", "(a & b) = c"},
		{"a -> 'x' = b", "(a -> 'x') = b"},
		{"a = b AND c", "(a = b) AND c"},
		{"NOT a = b", "NOT (a = b)"},
		{"NOT a AND b", "(NOT a) AND b"},
		{"NOT a IS NULL", "NOT (a IS NULL)"},
		{"NOT a IN (1)", "NOT (a IN (1))"},
		{"a OR b AND c", "a OR (b AND c)"},
		{"a = b IS NULL", "(a = b) IS NULL"},
		{"a < b IS NOT DISTINCT FROM c = d", "(a < b) IS NOT DISTINCT FROM (c = d)"},
		{"a LIKE b || c", "a LIKE (b || c)"},
		{"a = b LIKE c", "a = (b LIKE c)"},
		{"a LIKE b = c", "(a LIKE b) = c"},
		{"a BETWEEN b AND c AND d", "(a BETWEEN b AND c) AND d"},
		{"a BETWEEN b + 1 AND c * 2 OR d", "(a BETWEEN (b + 1) AND (c * 2)) OR d"},
		{"a NOT BETWEEN b AND c = d", "(a NOT BETWEEN b AND c) = d"},
		{"a + b IN (1)", "(a + b) IN (1)"},
		{"a AT TIME ZONE b || c", "(a AT TIME ZONE b) || c"},
		{"a * b AT TIME ZONE c", "a * (b AT TIME ZONE c)"},
		{"- a AT TIME ZONE c", "(- a) AT TIME ZONE c"},
		{"a COLLATE x < b", "(a COLLATE x) < b"},
		{"a AT TIME ZONE b COLLATE c", "a AT TIME ZONE (b COLLATE c)"},
		{"a::int::text", "(a::int)::text"},
		{"a::int[1]", "a::int[1]"},
		{"a <= b + c", "a <= (b + c)"},
		{"a = ANY (b) AND c", "(a = ANY (b)) AND c"},
		{"a IS NULL = b", "(a IS NULL) = b"},
		{"CASE WHEN a THEN b END + 1", "(CASE WHEN a THEN b END) + 1"},
	} {
		got, want := ast.Format(parseExpr(t, tc.sql)), ast.Format(parseExpr(t, tc.want))
		if got != want {
			t.Errorf("%s is read as %s, want %s", tc.sql, got, want)
		}
	}
}

func parseExpr(t *testing.T, sql string) ast.Expr {
	t.Helper()
	s, err := parse.ParseOne("SELECT " + sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s.(*ast.QueryStatement).Query.Body.(*ast.Select).Items[0].(*ast.SelectExpr).Expr
}

// TestFlat holds AND and OR to one node for a chain.
func TestFlat(t *testing.T) {
	or, ok := parseExpr(t, "a OR b OR (c AND d AND e) OR (f OR g)").(*ast.Or)
	if !ok || len(or.Args) != 4 {
		t.Fatalf("%#v", or)
	}
	if and, ok := or.Args[2].(*ast.And); !ok || len(and.Args) != 3 {
		t.Errorf("%#v", or.Args[2])
	}
	if or, ok := or.Args[3].(*ast.Or); !ok || len(or.Args) != 2 {
		t.Errorf("parentheses: %#v", or)
	}
}

// TestPlaces holds places to the bytes that a node was made of.
func TestPlaces(t *testing.T) {
	const sql = " SELECT a + b AS c, sum(x) OVER w FROM t AS u JOIN (VALUES (1)) v ON u.a = v.b ; SELECT $1"
	stmts, err := parse.Parse(sql)
	if err != nil || len(stmts) != 2 {
		t.Fatal(stmts, err)
	}
	var got []string
	for _, s := range stmts {
		ast.Walk(s, func(n ast.Node) bool {
			p := n.At()
			got = append(got, strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast.")+" "+sql[p.Start:p.End])
			return true
		})
	}
	want := []string{
		"QueryStatement SELECT a + b AS c, sum(x) OVER w FROM t AS u JOIN (VALUES (1)) v ON u.a = v.b",
		"Query SELECT a + b AS c, sum(x) OVER w FROM t AS u JOIN (VALUES (1)) v ON u.a = v.b",
		"Select SELECT a + b AS c, sum(x) OVER w FROM t AS u JOIN (VALUES (1)) v ON u.a = v.b",
		"SelectExpr a + b AS c", "Binary a + b", "ColumnRef a", "ColumnRef b",
		"SelectExpr sum(x) OVER w", "FuncCall sum(x) OVER w", "Arg x", "ColumnRef x", "WindowSpec w",
		"Join t AS u JOIN (VALUES (1)) v ON u.a = v.b",
		"Table t AS u", "TableAlias AS u",
		"DerivedTable (VALUES (1)) v", "Query VALUES (1)", "Values VALUES (1)", "Row (1)", "Literal 1", "TableAlias v",
		"Binary u.a = v.b", "ColumnRef u.a", "ColumnRef v.b",
		"QueryStatement SELECT $1", "Query SELECT $1", "Select SELECT $1", "SelectExpr $1", "Param $1",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestParseOne(t *testing.T) {
	for _, tc := range []struct {
		sql  string
		code sqlerr.Code
	}{
		{"SELECT 1", ""},
		{" ; SELECT 1 ; ; -- done", ""},
		{"", sqlerr.Syntax},
		{"/* nothing */ ;", sqlerr.Syntax},
		{"SELECT 1; SELECT 2", sqlerr.Syntax},
	} {
		_, err := parse.ParseOne(tc.sql)
		if code := codeOf(err); code != tc.code {
			t.Errorf("%q: %q, want %q (%v)", tc.sql, code, tc.code, err)
		}
	}
}

func codeOf(err error) sqlerr.Code {
	if err == nil {
		return ""
	}
	return sqlerr.CodeOf(err)
}

// TestLimits holds what is large to parsing, or to a clean error with a short message; nothing may overflow the stack.
func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	for _, tc := range []struct {
		name, sql string
		code      sqlerr.Code
	}{
		{"5,000 parentheses", "SELECT " + repeat("(", 5000) + "1" + repeat(")", 5000), ""},
		{"1,000,000 parentheses", "SELECT " + repeat("(", 1_000_000), sqlerr.StatementTooLarge},
		{"1,000 subqueries", repeat("SELECT (", 1000) + "SELECT 1" + repeat(")", 1000), ""},
		{"1,000,000 subqueries", repeat("SELECT (", 1_000_000), sqlerr.StatementTooLarge},
		{"parenthesised queries", repeat("(", 100_000) + "SELECT 1" + repeat(")", 100_000), sqlerr.StatementTooLarge},
		{"parentheses in FROM", "SELECT * FROM " + repeat("(", 100_000) + "t" + repeat(")", 100_000), sqlerr.StatementTooLarge},
		{"5,000 parentheses in FROM", "SELECT * FROM " + repeat("(", 5000) + "t" + repeat(")", 5000), ""},
		{"a sum of 5,000", "SELECT " + repeat("a + ", 5000) + "1", ""},
		{"a sum of 100,000", "SELECT " + repeat("a + ", 100_000) + "1", sqlerr.StatementTooLarge},
		{"sums in sums", "SELECT " + repeat("(", 300) + "a" + repeat(repeat(" + a", 300)+")", 300), sqlerr.StatementTooLarge},
		{"casts", "SELECT a" + repeat("::int", 100_000), sqlerr.StatementTooLarge},
		{"signs", "SELECT " + repeat("- ", 100_000) + "1", sqlerr.StatementTooLarge},
		{"NOTs", "SELECT " + repeat("NOT ", 100_000) + "a", sqlerr.StatementTooLarge},
		{"indexes", "SELECT a" + repeat("[", 100_000), sqlerr.StatementTooLarge},
		{"lists", "SELECT " + repeat("[", 100_000), sqlerr.StatementTooLarge},
		{"structs", "SELECT " + repeat("{a:", 100_000), sqlerr.StatementTooLarge},
		{"CASEs", "SELECT " + repeat("CASE ", 100_000), sqlerr.StatementTooLarge},
		{"calls", "SELECT " + repeat("f(", 100_000), sqlerr.StatementTooLarge},
		{"types", "SELECT a::" + repeat("list<", 100_000), sqlerr.StatementTooLarge},
		{"PREPAREs", repeat("PREPARE p AS ", 100_000), sqlerr.Unsupported},
		{"settings", "SET x = " + repeat("(", 100_000), sqlerr.StatementTooLarge},
		{"CTEs in CTEs", repeat("WITH a AS (", 100_000), sqlerr.StatementTooLarge},
		{"grouping sets", "SELECT 1 GROUP BY " + repeat("GROUPING SETS (", 100_000), sqlerr.StatementTooLarge},
		{"joins", "SELECT * FROM t" + repeat(" CROSS JOIN t", 100_000), sqlerr.StatementTooLarge},
		{"joins to the right", "SELECT * FROM t" + repeat(" JOIN t", 100_000), sqlerr.StatementTooLarge},
		{"5,000 set operations", "SELECT 1" + repeat(" UNION ALL SELECT 1", 5000), ""},
		{"100,000 set operations", "SELECT 1" + repeat(" UNION ALL SELECT 1", 100_000), sqlerr.StatementTooLarge},
		{"a name of many parts", "SELECT a" + repeat(".a", 100_000), sqlerr.StatementTooLarge},
		{"AND", "SELECT " + repeat("a = 1 AND ", 100_000) + "b", ""},
		{"OR", "SELECT " + repeat("a = 1 OR b AND ", 100_000) + "b", ""},
		{"IN", "SELECT a IN (" + repeat("1, ", 200_000) + "1)", ""},
		{"VALUES", "VALUES (1, 2)" + repeat(", (-1, 'a')", 100_000), ""},
		{"columns", "SELECT " + repeat("a + 1, ", 10_000) + "1 FROM t" + repeat(", t", 10_000), ""},
		{"statements", repeat("SELECT 1;", 100_000), ""},
		{"a long string", "SELECT '" + repeat("x", 1<<20) + "'", ""},
		{"a long name where none can stand", "SELECT a b " + repeat("x", 1<<20), sqlerr.Syntax},
		{"more than 16 MiB", "SELECT '" + repeat("x", 16<<20) + "'", sqlerr.StatementTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stmts, err := parse.Parse(tc.sql)
			if code := codeOf(err); code != tc.code {
				t.Fatalf("code %q, want %q (%v)", code, tc.code, err)
			}
			if err != nil {
				e, _ := errors.AsType[*sqlerr.Error](err)
				if len(e.Message)+len(e.Hint) > 400 {
					t.Errorf("the message has %d bytes", len(e.Message)+len(e.Hint))
				}
				return
			}
			if bad := misread(tc.sql, stmts); bad != "" {
				t.Error(bad[:min(len(bad), 300)])
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for _, tc := range []struct {
		text   string
		pieces string // joined by |
		rest   string
	}{
		{"", "", ""},
		{" ; ;", "", ""},
		{"SELECT 1", "", "SELECT 1"},
		{" SELECT 1 ;", "SELECT 1", ""},
		{"a;b ; c", "a|b", "c"},
		{"SELECT ';'; -- x;\n b", "SELECT ';'", "b"},
		{"SELECT 1; -- done;", "SELECT 1", ""},
		{"SELECT 'a", "", "SELECT 'a"},
		{"a; 'b;", "a", "'b;"},
		{`a "b;`, "", `a "b;`},
		{"a; /* b; */", "a", ""},
		{"a; /* b;", "a", "/* b;"},
		{"a $x$ ; $x$; $$ ;", "a $x$ ; $x$", "$$ ;"},
		{"SELECT 1a; `b;", "SELECT 1a|`b", ""},
		{"SELECT (1;", "SELECT (1", ""},
	} {
		pieces, rest := parse.Split(tc.text)
		var got []string
		for _, p := range pieces {
			got = append(got, p.Text)
			if tc.text[p.Pos.Start:p.Pos.End] != p.Text {
				t.Errorf("%q: %q is not at %v", tc.text, p.Text, p.Pos)
			}
		}
		if g := strings.Join(got, "|"); g != tc.pieces || rest != tc.rest {
			t.Errorf("%q: %q and %q, want %q and %q", tc.text, g, rest, tc.pieces, tc.rest)
		}
	}
}

// FuzzParse holds any text to a tree that is read right, or to an error within the text.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/corpus/*.sql")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		pieces, _ := parse.Split(string(text))
		for _, p := range pieces {
			f.Add(p.Text)
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		parse.Split(sql)
		stmts, err := parse.Parse(sql)
		if err == nil {
			if bad := misread(sql, stmts); bad != "" {
				t.Fatalf("%q: %s", sql, bad)
			}
			return
		}
		e, _ := errors.AsType[*sqlerr.Error](err)
		if e.Pos.Start < 0 || e.Pos.Start > e.Pos.End || int(e.Pos.End) > len(sql) || len(e.Message) > 300 {
			t.Fatalf("%q: %v: %s", sql, e.Pos, e.Message)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("testdata/corpus/query.sql")
	if err != nil {
		b.Fatal(err)
	}
	sql := string(text)
	pieces, _ := parse.Split(sql)
	b.SetBytes(int64(len(sql)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse.Parse(sql); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(pieces)), "µs/statement")
}
