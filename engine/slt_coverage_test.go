package engine_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/slt"
)

// Every function is called in three records at least below slt/testdata: two of what it gives, one of them with NULL, and one of what it
// refuses.
func TestEveryFunctionIsTested(t *testing.T) {
	type kinds struct{ answers, nulls, errors int }
	met := map[string]*kinds{}
	names := map[string]string{} // of functions by their aliases
	for _, f := range expr.Functions() {
		if f.Operator || f.Name == "single_row" { // which a scalar subquery is inside
			continue
		}
		met[f.Name] = &kinds{}
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			names[n] = f.Name
		}
	}
	for _, f := range expr.AggregateFunctions() {
		if f.Name == "count_star" || f.Name == "single_row" { // which count(*) and a scalar subquery are
			continue
		}
		met[f.Name] = &kinds{}
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			names[n] = f.Name
		}
	}
	for _, f := range expr.WindowFunctions() {
		met[f.Name] = &kinds{}
		names[f.Name] = f.Name
	}
	files, err := filepath.Glob("slt/testdata/*/*.slt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		script, err := slt.Read(file, "postgresql")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range script.Records {
			statements, err := parse.Parse(r.SQL)
			if err != nil {
				continue
			}
			used := map[string]bool{}
			for _, st := range statements {
				ast.Walk(st, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.FuncCall:
						used[names[n.Name.Last().Name]] = true
					case *ast.Row:
						used["row"] = true
					case *ast.Like:
						used[map[ast.LikeKind]string{ast.LikePattern: "like", ast.ILikePattern: "ilike", ast.SimilarPattern: "similar_to"}[n.Kind]] = true
					}
					return true
				})
			}
			for name := range used {
				k := met[name]
				switch {
				case k == nil:
				case r.Kind == slt.QueryError || r.Kind == slt.StatementError:
					k.errors++
				case strings.Contains(strings.ToUpper(r.SQL), "NULL") || strings.Contains(strings.Join(r.Want, " "), "NULL"):
					k.nulls++
				default:
					k.answers++
				}
			}
		}
	}
	for name, k := range met {
		if k.answers+k.nulls < 2 || k.nulls == 0 || k.errors == 0 {
			t.Errorf("%s: %d records of what it gives, %d with NULL, %d of what it refuses", name, k.answers+k.nulls, k.nulls, k.errors)
		}
	}
	t.Logf("%d functions", len(met))
}
