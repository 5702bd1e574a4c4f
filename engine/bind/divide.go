package bind

import (
	"math"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

var double = sqltype.Of(sqltype.Float64)

// divided is a call; one that divides gives, where the divisor is zero, what the session asks for.
func (x *exprBinder) divided(name string, args []expr.Expr, pos sqlerr.Pos) (expr.Expr, error) {
	divides := name == "/" || name == "//" || name == "div" || name == "%" || name == "mod"
	if x.b.cfg.Zero == ZeroFails || !divides || len(args) != 2 {
		return expr.NewCall(name, args, pos)
	}
	plain, err := expr.NewCall(name, args, pos)
	if err != nil {
		return nil, err
	}
	c, ok := plain.(*expr.Call)
	if !ok || !c.Args[1].Type().IsNumeric() {
		return plain, nil
	}
	a, b := c.Args[0], c.Args[1] // coerced to what is divided
	if infinite := x.b.cfg.Zero == ZeroInfinity && name == "/" && a.Type().IsNumeric() && !c.Typ.IsInteger(); infinite {
		return x.quotient(a, b, pos)
	}
	zero, err := expr.NewCast(expr.NewLiteral(expr.IntValue(integer, 0), pos), b.Type(), false, pos)
	if err != nil {
		return nil, err
	}
	divisor, err := expr.NewCall("nullif", []expr.Expr{b, zero}, pos)
	if err != nil {
		return nil, err
	}
	return expr.NewCall(name, []expr.Expr{a, divisor}, pos)
}

// quotient is a / b as IEEE 754 has it: CASE WHEN b = 0 THEN Infinity by the sign of a, NaN for a of zero, ELSE a / b END.
func (x *exprBinder) quotient(a, b expr.Expr, pos sqlerr.Pos) (expr.Expr, error) {
	var err error
	for _, v := range []*expr.Expr{&a, &b} {
		if *v, err = expr.NewCast(*v, double, false, pos); err != nil {
			return nil, err
		}
	}
	number := func(f float64) expr.Expr { return expr.NewLiteral(expr.Value{Type: double, Float: f}, pos) }
	when := func(op expr.CompareOp, v expr.Expr, then expr.Expr) expr.When {
		cond, e := expr.NewCompare(op, v, number(0), pos)
		if e != nil {
			err = e
		}
		return expr.When{Cond: cond, Then: then}
	}
	plain, e := expr.NewCall("/", []expr.Expr{a, b}, pos)
	if e != nil {
		return nil, e
	}
	nan, e := expr.NewCase([]expr.When{when(expr.Gt, a, number(math.Inf(1))), when(expr.Lt, a, number(math.Inf(-1))), when(expr.Eq, a, number(math.NaN()))}, nil, pos)
	if e != nil {
		return nil, e
	}
	out, e := expr.NewCase([]expr.When{when(expr.Eq, b, nan)}, plain, pos)
	if err != nil {
		return nil, err
	}
	return out, e
}
