package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

var intervalUnits = map[string]bool{
	"year": true, "quarter": true, "month": true, "week": true, "day": true, "hour": true, "minute": true, "second": true,
	"millisecond": true, "microsecond": true, "decade": true, "century": true, "millennium": true,
}

// interval binds INTERVAL '…', with a unit after it where there is one, and INTERVAL n unit as n times the unit.
func (x *exprBinder) interval(e *ast.Interval) (expr.Expr, error) {
	typ := sqltype.Of(sqltype.Interval)
	if e.To != "" {
		return nil, unsupported(e.Pos, "INTERVAL %s TO %s", e.From, e.To).WithHint("write the units into the text: INTERVAL '1 day 2 hours'")
	}
	if e.From != "" && !intervalUnits[e.From] {
		return nil, sqlerr.Newf(sqlerr.Syntax, e.Pos, "%q is no unit of an interval", e.From).WithHint("the units are year, month, week, day, hour, minute, second")
	}
	if l, ok := e.Value.(*ast.Literal); ok && (l.Kind == ast.StringLiteral || l.Kind == ast.IntegerLiteral || l.Kind == ast.DecimalLiteral) {
		txt := l.Value
		if e.From != "" {
			if _, err := expr.ParseNumber(txt); err == nil {
				txt += " " + e.From
			}
		}
		v, err := expr.Coerce(expr.Unknown(txt, e.Pos), typ, expr.Explicit)
		return v, err
	}
	n, err := x.expr(e.Value)
	if err != nil {
		return nil, err
	}
	unit, err := expr.Coerce(expr.Unknown("1 "+e.From, e.Pos), typ, expr.Explicit)
	if err != nil {
		return nil, err
	}
	return expr.NewCall("*", []expr.Expr{n, unit}, e.Pos)
}
