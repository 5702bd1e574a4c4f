package eval

import (
	"context"
	"strings"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// Fold is e with everything computed that depends on no row: constant operands, decided conditions, and a timestamp compared with
// a date column, which becomes a date. What fails stays as it is, so that the error is raised only if a row gets there.
// It gives e itself where nothing changed.
func Fold(e expr.Expr) expr.Expr {
	if isLeaf(e) {
		if c, ok := e.(*expr.Call); ok {
			return compute1(c)
		}
		return e
	}
	e = expr.Map(e, Fold)
	switch x := e.(type) {
	case *expr.Logic:
		return foldLogic(x)
	case *expr.Case:
		return foldCase(x)
	case *expr.Compare:
		if x.Op < expr.Distinct && (isNullLiteral(x.L) || isNullLiteral(x.R)) {
			return expr.Null(boolType, x.P)
		}
		if u := unwrapDate(x); u != nil {
			return u
		}
	case *expr.Call:
		if x.Func == "coalesce" {
			return foldCoalesce(x)
		}
		if x.Func == "generate_series" || x.Func == "range" {
			return e // which is shorter than what it gives
		}
		if x.Strict() {
			for _, a := range x.Args {
				if isNullLiteral(a) {
					return expr.Null(x.Typ, x.P)
				}
			}
		}
	}
	for _, kid := range expr.Children(e) {
		if _, ok := kid.(*expr.Literal); !ok {
			return e
		}
	}
	return compute1(e)
}

// compute1 is the literal that e, of constant operands, gives; e where it is not immutable, fails or has no literal form.
func compute1(e expr.Expr) expr.Expr {
	if !expr.IsImmutable(e) || e.Type().Kind == sqltype.Null {
		return e
	}
	p, err := Compile(e)
	if err != nil {
		return e
	}
	v, err := p.NewEvaluator(context.Background(), 1).Eval(&vector.Batch{Len: 1})
	if err != nil {
		return e
	}
	value := ValueAt(v, 0)
	if len(value.Str) > maxFolded {
		return e
	}
	value.Type = e.Type()
	value.Str = strings.Clone(value.Str)
	return expr.NewLiteral(value, e.Pos())
}

// maxFolded is the most bytes of a text or list that a plan carries instead of the call that makes it.
const maxFolded = 64 << 10

func isNullLiteral(e expr.Expr) bool {
	l, ok := e.(*expr.Literal)
	return ok && l.Value.Null
}

// truthLiteral is the value of a boolean literal; ok is false for NULL and for what is no literal.
func truthLiteral(e expr.Expr) (value, ok bool) {
	l, isLiteral := e.(*expr.Literal)
	if !isLiteral || l.Value.Null || l.Value.Type.Kind != sqltype.Bool {
		return false, false
	}
	return l.Value.IsTrue(), true
}

// foldLogic leaves out operands that decide nothing and stops at one that decides all.
func foldLogic(e *expr.Logic) expr.Expr {
	kept := make([]expr.Expr, 0, len(e.Args))
	nested := false
	for _, a := range e.Args {
		if value, ok := truthLiteral(a); ok {
			if value == (e.Op == expr.Or) {
				return expr.NewLiteral(expr.BoolValue(value), e.P)
			}
			continue
		}
		inner, ok := a.(*expr.Logic)
		nested = nested || ok && inner.Op == e.Op
		kept = append(kept, a)
	}
	if len(kept) == len(e.Args) && !nested {
		if len(kept) > 0 && !allLiterals(kept) {
			return e
		}
		return compute1(e)
	}
	if e.Op == expr.And {
		return expr.NewAnd(kept...)
	}
	return expr.NewOr(kept...)
}

func allLiterals(es []expr.Expr) bool {
	for _, e := range es {
		if _, ok := e.(*expr.Literal); !ok {
			return false
		}
	}
	return true
}

// foldCase leaves out arms that are never taken.
func foldCase(e *expr.Case) expr.Expr {
	whens, els := make([]expr.When, 0, len(e.Whens)), e.Else
	for _, w := range e.Whens {
		value, ok := truthLiteral(w.Cond)
		if isNullLiteral(w.Cond) || ok && !value {
			continue
		}
		if ok {
			els = w.Then
			break
		}
		whens = append(whens, w)
	}
	switch {
	case len(whens) == 0 && els == nil:
		return expr.Null(e.Typ, e.P)
	case len(whens) == 0:
		return els
	case len(whens) == len(e.Whens):
		return e
	}
	c := *e
	c.Whens, c.Else = whens, els
	return &c
}

// foldCoalesce leaves out NULLs and what comes after a constant.
func foldCoalesce(e *expr.Call) expr.Expr {
	kept := make([]expr.Expr, 0, len(e.Args))
	for _, a := range e.Args {
		if isNullLiteral(a) {
			continue
		}
		kept = append(kept, a)
		if _, ok := a.(*expr.Literal); ok {
			break
		}
	}
	switch len(kept) {
	case 0:
		return expr.Null(e.Typ, e.P)
	case 1:
		return kept[0]
	case len(e.Args):
		return e
	}
	c := *e
	c.Args = kept
	return &c
}

// unwrapDate makes of d::timestamp < TIMESTAMP '…' a comparison of dates, which scans can use; nil where e is no such thing.
func unwrapDate(e *expr.Compare) expr.Expr {
	op, l, r := e.Op, e.L, e.R
	if _, ok := l.(*expr.Literal); ok {
		op, l, r = op.Flip(), r, l
	}
	cast, ok := l.(*expr.Cast)
	lit, isLiteral := r.(*expr.Literal)
	if !ok || !isLiteral || lit.Value.Null || cast.X.Type().Kind != sqltype.Date {
		return nil
	}
	if k := cast.To.Kind; k != sqltype.Timestamp && k != sqltype.TimestampTZ {
		return nil
	}
	day, of := calendar.Split(lit.Value.Int)
	if of != 0 {
		switch op {
		case expr.Lt, expr.Le:
			op = expr.Le
		case expr.Gt, expr.Ge:
			op = expr.Gt
		default:
			return nil
		}
	}
	date := expr.NewLiteral(expr.IntValue(cast.X.Type(), day), lit.P)
	return &expr.Compare{At: e.At, Op: op, L: cast.X, R: date}
}
