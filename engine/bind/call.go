package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A grouping is what a SELECT with aggregates computes per group.
type grouping struct {
	items   []logical.Item   // GROUP BY
	sets    [][]int          // grouping sets: positions of items; one, or none with GROUP BY ALL, is all of them
	aggs    []logical.Agg    // met so far
	applies []*logical.Apply // subqueries within aggregates and GROUP BY, evaluated before grouping
	calls   []groupingCall   // of GROUPING
}

// aggregate is the column of a, the same for equal ones.
func (g *grouping) aggregate(b *binder, a expr.Aggregate, name string) *expr.Column {
	for _, have := range g.aggs {
		if have.Equal(a) {
			return have.Col
		}
	}
	b.last++
	col := &expr.Column{ID: b.last, Name: name, Typ: a.Typ, Nullable: a.Func != "count" && a.Func != "count_star"}
	g.aggs = append(g.aggs, logical.Agg{Col: col, Aggregate: a})
	return col
}

func (x *exprBinder) call(e *ast.FuncCall) (expr.Expr, error) {
	name := e.Name.Last().Name
	if len(e.Name.Parts) > 1 && e.Name.Parts[0].Name != "pg_catalog" {
		return nil, sqlerr.Newf(sqlerr.UnknownFunction, e.Name.Pos, "function %s does not exist", e.Name.String()).
			WithHint("functions stand in no schema: write %s", name)
	}
	switch {
	case e.WithinGroup != nil:
		return nil, unsupported(e.Pos, "WITHIN GROUP")
	case e.Nulls != ast.NullTreatmentDefault && e.Over == nil:
		return nil, unsupported(e.Pos, "%s", e.Nulls)
	}
	if name == "struct_pack" {
		return x.structPack(e)
	}
	for _, a := range e.Args {
		if a.Name != nil {
			return nil, unsupported(a.Pos, "an argument by name").WithHint("give the arguments in their order")
		}
	}
	if e.Over != nil {
		return x.window(e, name)
	}
	if expr.LookupWindow(name) != nil {
		return nil, sqlerr.Newf(sqlerr.Windowing, e.Pos, "window function %s requires an OVER clause", name).WithHint("write %s(…) OVER (…)", name)
	}
	if name == "grouping" {
		return x.groupingCall(e)
	}
	if expr.LookupAggregate(name) != nil {
		return x.aggregate(e, name)
	}
	for what, used := range map[string]bool{"DISTINCT": e.Distinct, "ORDER BY": e.OrderBy != nil, "FILTER": e.Filter != nil} {
		if used {
			return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, e.Pos, "%s specified, but %s is not an aggregate function", what, name).
				WithHint("leave %s out", what)
		}
	}
	if e.Star {
		return nil, sqlerr.Newf(sqlerr.UnknownFunction, e.Pos, "%s(*) specified, but %s is not an aggregate function", name, name).WithHint("only count takes *")
	}
	args, err := x.args(e)
	if err != nil {
		return nil, err
	}
	if f := expr.LookupFunction(name); f != nil && len(args) == 0 {
		if v, ok := expr.StableValue(f.Name, x.b.cfg.Now); ok {
			return expr.NewLiteral(v, e.Pos), nil
		}
	}
	c, err := expr.NewCall(name, args, e.Pos)
	if err != nil {
		return nil, err
	}
	return expr.SettleStable(c, x.b.cfg.Now), nil
}

func (x *exprBinder) args(e *ast.FuncCall) ([]expr.Expr, error) {
	args := make([]expr.Expr, len(e.Args))
	for i, a := range e.Args {
		v, err := x.expr(a.Value)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	return args, nil
}

func (x *exprBinder) aggregate(e *ast.FuncCall, name string) (expr.Expr, error) {
	if x.inAggregate {
		return nil, sqlerr.New(sqlerr.Grouping, e.Pos, "aggregate function calls cannot be nested").
			WithHint("compute the inner one in a subquery")
	}
	if x.group == nil {
		return nil, sqlerr.Newf(sqlerr.Grouping, e.Pos, "aggregate functions are not allowed in %s", x.clause).
			WithHint("compute it in a subquery, or filter groups with HAVING")
	}
	if e.Star && name != "count" {
		return nil, sqlerr.Newf(sqlerr.UnknownFunction, e.Pos, "function %s(*) does not exist", name).WithHint("only count takes *")
	}
	if e.Distinct && len(e.Args) == 0 {
		return nil, sqlerr.Newf(sqlerr.Syntax, e.Pos, "DISTINCT needs an argument of %s", name).WithHint("write %s(DISTINCT x)", name)
	}
	in := &exprBinder{b: x.b, scope: x.scope, clause: "aggregate arguments", applies: &x.group.applies, inAggregate: true}
	args, err := in.args(e)
	if err != nil {
		return nil, err
	}
	if err := x.ofThisQuery(args, e.Pos); err != nil {
		return nil, err
	}
	a, err := expr.NewAggregate(name, args, e.Pos)
	if err != nil {
		return nil, err
	}
	a.Distinct = e.Distinct && a.Func != "min" && a.Func != "max" && a.Func != "bool_and" && a.Func != "bool_or" && a.Func != "any_value"
	if e.Filter != nil {
		in.clause = "FILTER"
		if a.Filter, err = in.condition(e.Filter, "FILTER"); err != nil {
			return nil, err
		}
	}
	// None of the aggregates there are depends on the order of its input: an ORDER BY is checked, and has no effect.
	for _, o := range e.OrderBy {
		if o.All {
			return nil, unsupported(o.Pos, "ORDER BY ALL within an aggregate")
		}
		if _, err := in.value(o.Expr); err != nil {
			return nil, err
		}
	}
	label := expr.AggregateString(a)
	if len(label) > 32 {
		label = name
	}
	if x.named == e {
		label = x.as
	}
	c := *x.group.aggregate(x.b, a, label)
	c.P = e.Pos
	return &c, nil
}

// ofThisQuery refuses an aggregate over columns of outer queries only, which SQL evaluates in the outer query.
func (x *exprBinder) ofThisQuery(args []expr.Expr, pos sqlerr.Pos) error {
	used, here := logical.ColSet{}, logical.ColSet{}
	for _, a := range args {
		used.AddExpr(a)
	}
	for _, r := range x.scope.rels {
		for _, c := range r.cols {
			here[c.col.ID] = true
		}
	}
	for id := range used {
		if here[id] {
			return nil
		}
	}
	for id := range used {
		if _, ofTable := x.b.names[id]; ofTable {
			return unsupported(pos, "an aggregate of an outer query within a subquery").WithHint("compute it in the outer query")
		}
	}
	return nil
}
