package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// subquery binds q where a value stands.
func (x *exprBinder) subquery(q *ast.Query, pos sqlerr.Pos) (bound, error) {
	if x.applies == nil {
		return bound{}, unsupported(pos, "a subquery in %s", x.clause).WithHint("join with the subquery in FROM")
	}
	if len(*x.applies) >= maxJoined { // each is joined with what is before it
		return bound{}, sqlerr.Newf(sqlerr.StatementTooLarge, pos, "the %s has more than %d subqueries", x.clause, maxJoined).WithHint("join with the subqueries in FROM")
	}
	if err := x.b.count(pos); err != nil {
		return bound{}, err
	}
	return x.b.query(q, x.scope)
}

// apply puts a subquery onto the clause's plan and gives its column.
func (x *exprBinder) apply(a *logical.Apply) expr.Expr {
	*x.applies = append(*x.applies, a)
	c := *a.Col
	c.P = a.Pos
	return &c
}

func (x *exprBinder) mark(sub bound, on expr.Expr, nullAware bool, pos sqlerr.Pos) expr.Expr {
	x.b.last++
	return x.apply(&logical.Apply{
		Kind: logical.ApplyMark, Sub: sub.node, On: on, NullAware: nullAware, Pos: pos,
		Col: &expr.Column{ID: x.b.last, Name: "mark", Typ: boolean, Nullable: nullAware},
	})
}

func (x *exprBinder) exists(e *ast.Exists) (expr.Expr, error) {
	sub, err := x.subquery(e.Query, e.Pos)
	if err != nil {
		return nil, err
	}
	return x.mark(sub, nil, false, e.Pos), nil
}

func (x *exprBinder) scalar(e *ast.ScalarSubquery) (expr.Expr, error) {
	sub, err := x.subquery(e.Query, e.Pos)
	if err != nil {
		return nil, err
	}
	if len(sub.cols) != 1 {
		return nil, sqlerr.New(sqlerr.Syntax, e.Pos, "subquery must return only one column").WithHint("it returns %d", len(sub.cols))
	}
	x.b.last++
	col := &expr.Column{ID: x.b.last, Name: sub.cols[0].name, Typ: sub.cols[0].col.Typ, Nullable: true}
	return x.apply(&logical.Apply{Kind: logical.ApplyScalar, Sub: sub.node, Col: col, Pos: e.Pos}), nil
}

func (x *exprBinder) inSubquery(e *ast.InSubquery) (expr.Expr, error) {
	m, err := x.any(e.Expr, e.Query, expr.Eq, e.Pos)
	if err != nil || !e.Not {
		return m, err
	}
	return expr.NewNot(m), nil
}

func (x *exprBinder) quantified(e *ast.Quantified) (expr.Expr, error) {
	op, ok := comparisons[e.Op]
	if e.Array != nil && ok {
		return x.quantifiedList(e)
	}
	if e.Query == nil || !ok {
		return nil, unsupported(e.Pos, "operator %s with ANY or ALL of this", e.Op).WithHint("use a comparison with a subquery or a list")
	}
	if !e.All {
		return x.any(e.Left, e.Query, op, e.Pos)
	}
	m, err := x.any(e.Left, e.Query, op.Negate(), e.Pos) // x op ALL is NOT (x negated ANY)
	if err != nil {
		return nil, err
	}
	return expr.NewNot(m), nil
}

// quantifiedList is left op ANY (list): of its elements as rows, NULL for a list that is NULL.
func (x *exprBinder) quantifiedList(e *ast.Quantified) (expr.Expr, error) {
	list, err := x.value(e.Array)
	if err != nil {
		return nil, err
	}
	at := ast.Span{Pos: e.Array.At()}
	element := ast.Ident{Span: at, Name: "element"}
	rows := *e
	rows.Array, rows.Query = nil, &ast.Query{Span: at, Body: &ast.Select{
		Span: at, Items: []ast.SelectItem{&ast.SelectExpr{Span: at, Expr: &ast.ColumnRef{Span: at, Parts: []ast.Ident{element}}}},
		From: []ast.TableRef{&ast.TableFunction{
			Span:  at,
			Call:  &ast.FuncCall{Span: at, Name: ast.ObjectName{Span: at, Parts: []ast.Ident{{Span: at, Name: "unnest"}}}, Args: []*ast.Arg{{Span: at, Value: e.Array}}},
			Alias: &ast.TableAlias{Span: at, Name: element, Columns: []ast.Ident{element}},
		}},
	}}
	m, err := x.quantified(&rows)
	if err != nil {
		return nil, err
	}
	absent := &expr.IsNull{At: expr.At{P: e.Pos}, X: list}
	return expr.NewCase([]expr.When{{Cond: absent, Then: expr.Null(boolean, e.Pos)}}, m, e.Pos)
}

// any is left op ANY (query); left may be a row.
func (x *exprBinder) any(left ast.Expr, q *ast.Query, op expr.CompareOp, pos sqlerr.Pos) (expr.Expr, error) {
	parts := []ast.Expr{left}
	if row, ok := left.(*ast.Row); ok {
		parts = row.Items
		if op != expr.Eq {
			return nil, unsupported(pos, "operator %s of a row and a subquery", op)
		}
	}
	ls, err := x.exprs(parts)
	if err != nil {
		return nil, err
	}
	sub, err := x.subquery(q, pos)
	if err != nil {
		return nil, err
	}
	switch {
	case len(sub.cols) > len(ls):
		return nil, sqlerr.New(sqlerr.Syntax, q.Pos, "subquery has too many columns").WithHint("it needs %d", len(ls))
	case len(sub.cols) < len(ls):
		return nil, sqlerr.New(sqlerr.Syntax, q.Pos, "subquery has too few columns").WithHint("it needs %d", len(ls))
	}
	var conds []expr.Expr
	for i, l := range ls {
		c, err := expr.NewCompare(op, l, sub.cols[i].col, pos)
		if err != nil {
			return nil, err
		}
		conds = append(conds, c)
	}
	return x.mark(sub, expr.NewAnd(conds...), true, pos), nil
}
