package bind

import (
	"slices"
	"strings"

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
	rows    expansion        // lists of GROUP BY whose elements are rows
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
	if l := e.Name.Last(); l.Quoted && name != strings.ToLower(name) {
		return nil, sqlerr.Newf(sqlerr.UnknownFunction, e.Name.Pos, "function %s does not exist", e.Name.String()).
			WithHint("names in double quotes keep their case: write %s", strings.ToLower(name))
	}
	switch {
	case e.WithinGroup != nil && (e.Over != nil || !orders(name)):
		return nil, unsupported(e.Pos, "WITHIN GROUP")
	case e.Nulls != ast.NullTreatmentDefault && e.Over == nil && !takesNulls(name):
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
	if name == "unnest" {
		return x.unnest(e)
	}
	if expr.LookupWindow(name) != nil && expr.LookupAggregate(name) == nil {
		return nil, sqlerr.Newf(sqlerr.Windowing, e.Pos, "window function %s requires an OVER clause", name).WithHint("write %s(…) OVER (…)", name)
	}
	if name == "grouping" {
		return x.groupingCall(e)
	}
	if x.b.isAggregate(name) {
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
	if own := x.b.cfg.Functions.Named(name); own != nil {
		return x.b.newUserCall(own, args, e.Pos)
	}
	c, err := x.divided(name, args, e.Pos)
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
	by, valued, err := in.orderWithin(e, name)
	if err != nil {
		return nil, err
	}
	if valued {
		args = append([]expr.Expr{by[0].Expr}, args...)
	}
	if err := x.ofThisQuery(args, e.Pos); err != nil {
		return nil, err
	}
	a, err := x.b.newAggregate(name, args, e.Pos)
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
	if e.Nulls == ast.IgnoreNulls {
		present := expr.Expr(&expr.IsNull{At: expr.At{P: e.Pos}, X: a.Args[0], Negated: true})
		if a.Filter != nil {
			present = expr.NewAnd(a.Filter, present)
		}
		a.Filter = present
	}
	for _, k := range by {
		at := slices.IndexFunc(args, func(arg expr.Expr) bool { return expr.Equal(arg, k.Expr) })
		switch {
		case at >= 0:
			k.Expr = a.Args[at] // as it is coerced
		case a.Distinct:
			return nil, sqlerr.New(sqlerr.Grouping, e.Pos, "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list").
				WithHint("order by the argument")
		}
		if expr.Ordered(a.Func) { // of others the order is checked, and has no effect
			a.OrderBy = append(a.OrderBy, k)
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

// takesNulls tells whether IGNORE NULLS or RESPECT NULLS may follow an aggregate: where rows with NULL are counted.
func takesNulls(name string) bool {
	a := expr.LookupAggregate(name)
	return a != nil && (a.Name == "first" || a.Name == "last" || a.Name == "array_agg")
}

// orders tells whether WITHIN GROUP may follow a call of name.
func orders(name string) bool {
	a := expr.LookupAggregate(name)
	return a != nil && expr.Ordered(a.Name)
}

// orderWithin is the order of an aggregate's rows, in its parentheses or after WITHIN GROUP; valued tells that what it orders by is
// the aggregate's first argument, which percentiles and mode have there.
func (x *exprBinder) orderWithin(e *ast.FuncCall, name string) (by []expr.SortOrder, valued bool, err error) {
	items := e.OrderBy
	if e.WithinGroup != nil {
		if items != nil {
			return nil, false, sqlerr.New(sqlerr.Syntax, e.Pos, "cannot use multiple ORDER BY clauses with WITHIN GROUP").WithHint("leave one out")
		}
		items = e.WithinGroup
		fn := expr.LookupAggregate(name).Name // built in: no other orders
		if valued = fn == "mode" || fn == "percentile_cont" || fn == "percentile_disc"; valued && len(items) != 1 {
			return nil, false, sqlerr.Newf(sqlerr.Syntax, e.Pos, "%s takes one ORDER BY expression", name).WithHint("write WITHIN GROUP (ORDER BY x)")
		}
	}
	for _, o := range items {
		if o.All {
			return nil, false, unsupported(o.Pos, "ORDER BY ALL within an aggregate")
		}
		v, err := x.value(o.Expr)
		if err != nil {
			return nil, false, err
		}
		by = append(by, sortOrder(o, v))
	}
	return by, valued, nil
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
