package eval

import (
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// paramType is a type that a parameter takes.
func paramType(p expr.Parameter) []sqltype.Type {
	switch {
	case p == expr.AnyList:
		return []sqltype.Type{sqltype.ListOf(of(sqltype.Int32)), sqltype.ListOf(of(sqltype.Utf8)), sqltype.ListOf(sqltype.ListOf(of(sqltype.Float64)))}
	case p == expr.AnyElem:
		return []sqltype.Type{of(sqltype.Int32), of(sqltype.Utf8), sqltype.ListOf(of(sqltype.Float64))}
	case p == expr.AnyStruct:
		return []sqltype.Type{sqltype.StructOf(sqltype.Field{Name: "a", Type: of(sqltype.Int32)}, sqltype.Field{Name: "b", Type: of(sqltype.Utf8)})}
	case p == expr.Any, p == expr.Common, p == expr.AsText:
		return []sqltype.Type{of(sqltype.Int32), of(sqltype.Utf8), sqltype.DecimalOf(38, 4), of(sqltype.Date)}
	case sqltype.Kind(p) == sqltype.Decimal:
		return []sqltype.Type{sqltype.DecimalOf(15, 2), sqltype.DecimalOf(38, 4), sqltype.DecimalOf(9, 0)}
	}
	return []sqltype.Type{of(sqltype.Kind(p))}
}

// wantConstants are the functions that NewCall makes something else of, with the help of a constant.
var wantConstants = map[string]bool{"extract": true, "date_part": true, "named_struct": true, "struct_extract": true, "arrow_cast": true}

// Every overload in the table computes, in all forms, with NULLs and selections, what the reference does.
func TestEveryFunction(t *testing.T) {
	for _, f := range expr.Functions() {
		if f.Volatility != expr.Immutable || wantConstants[f.Name] {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, o := range f.Overloads {
				for variant := range 4 {
					var types []sqltype.Type
					var args []expr.Expr
					more := false
					for i, p := range o.Params {
						choices := paramType(p)
						more = more || variant < len(choices)
						types = append(types, choices[min(variant, len(choices)-1)])
						args = append(args, input(i, types[i]))
					}
					if variant > 0 && !more {
						break
					}
					e, err := expr.NewCall(f.Name, args, sqlerr.Pos{})
					if sqlerr.CodeOf(err) == sqlerr.OutOfRange {
						continue // a product of too many digits
					}
					if sqlerr.CodeOf(err) == sqlerr.UnknownFunction && more {
						continue // no sum of text
					}
					if err == nil && !expr.IsImmutable(e) {
						continue // age of one argument
					}
					if err != nil {
						t.Fatal(err)
					}
					checkAll(t, e, types)
				}
			}
		})
	}
}

var everyType = []sqltype.Type{
	of(sqltype.Bool), of(sqltype.Int8), of(sqltype.Int16), of(sqltype.Int32), of(sqltype.Int64), of(sqltype.Uint8), of(sqltype.Uint16),
	of(sqltype.Uint32), of(sqltype.Uint64), of(sqltype.Float32), of(sqltype.Float64), sqltype.DecimalOf(9, 2), sqltype.DecimalOf(18, 4),
	sqltype.DecimalOf(38, 6), of(sqltype.Utf8), of(sqltype.Binary), of(sqltype.Date), of(sqltype.Time), of(sqltype.Timestamp),
	of(sqltype.TimestampTZ), of(sqltype.Interval), of(sqltype.UUID), sqltype.ListOf(of(sqltype.Int32)), sqltype.ListOf(of(sqltype.Utf8)),
	sqltype.StructOf(sqltype.Field{Name: "a", Type: of(sqltype.Int32)}, sqltype.Field{Name: "b", Type: of(sqltype.Utf8)}),
}

func TestCompare(t *testing.T) {
	for _, typ := range everyType {
		t.Run(typ.String(), func(t *testing.T) {
			types := []sqltype.Type{typ, typ}
			for op := expr.Eq; op <= expr.NotDistinct; op++ {
				checkAll(t, &expr.Compare{Op: op, L: input(0, typ), R: input(1, typ)}, types)
				some := pool(typ)
				for _, v := range append(some[:min(3, len(some))], expr.NullOf(typ)) {
					checkAll(t, &expr.Compare{Op: op, L: input(0, typ), R: expr.NewLiteral(v, sqlerr.Pos{})}, types[:1])
					checkAll(t, &expr.Compare{Op: op, L: expr.NewLiteral(v, sqlerr.Pos{}), R: input(0, typ)}, types[:1])
				}
			}
		})
	}
}

func TestIn(t *testing.T) {
	for _, typ := range everyType {
		t.Run(typ.String(), func(t *testing.T) {
			all := pool(typ)
			for _, list := range [][]expr.Value{all[:1], all[1:], all, append(all[:2:2], expr.NullOf(typ)), {expr.NullOf(typ)}} {
				checkAll(t, &expr.In{X: input(0, typ), List: list}, []sqltype.Type{typ})
				checkAll(t, &expr.In{X: input(0, typ), List: list, Negated: true}, []sqltype.Type{typ})
			}
		})
	}
}

func TestCast(t *testing.T) {
	for _, from := range everyType {
		t.Run(from.String(), func(t *testing.T) {
			for _, to := range append(everyType, sqltype.DecimalOf(5, 1), sqltype.DecimalOf(38, 30)) {
				if !expr.CastAllowed(from, to, expr.Explicit) {
					continue
				}
				checkAll(t, &expr.Cast{X: input(0, from), To: to}, []sqltype.Type{from})
				checkAll(t, &expr.Cast{X: input(0, from), To: to, Try: true}, []sqltype.Type{from})
			}
		})
	}
}

func TestLogic(t *testing.T) {
	b := of(sqltype.Bool)
	i := of(sqltype.Int32)
	zero, two := expr.NewLiteral(expr.IntValue(i, 0), sqlerr.Pos{}), expr.NewLiteral(expr.IntValue(i, 2), sqlerr.Pos{})
	compare := func(op expr.CompareOp, l, r expr.Expr) expr.Expr { return &expr.Compare{Op: op, L: l, R: r} }
	x, y, z := input(0, b), input(1, b), input(2, b)
	n := input(3, i)
	inverse := &expr.Call{Func: "/", Args: []expr.Expr{two, n}, Typ: i}
	types := []sqltype.Type{b, b, b, i}
	for name, e := range map[string]expr.Expr{
		"and":           expr.NewAnd(x, y, z),
		"or":            expr.NewOr(x, y, z),
		"nested":        expr.NewOr(expr.NewAnd(x, y), &expr.Not{X: z}, expr.NewAnd(y, &expr.IsNull{X: x})),
		"not":           &expr.Not{X: x},
		"is null":       &expr.IsNull{X: expr.NewAnd(x, y)},
		"is not null":   &expr.IsNull{X: n, Negated: true},
		"safe and":      expr.NewAnd(compare(expr.Ne, n, zero), compare(expr.Gt, inverse, zero), x),
		"safe or":       expr.NewOr(compare(expr.Eq, n, zero), compare(expr.Gt, inverse, zero), x),
		"unsafe and":    expr.NewAnd(x, compare(expr.Gt, inverse, zero)),
		"safe case":     &expr.Case{Whens: []expr.When{{Cond: compare(expr.Eq, n, zero), Then: n}, {Cond: x, Then: two}}, Else: inverse, Typ: i},
		"case no else":  &expr.Case{Whens: []expr.When{{Cond: x, Then: n}, {Cond: y, Then: zero}}, Typ: i},
		"case of bools": &expr.Case{Whens: []expr.When{{Cond: compare(expr.Gt, n, zero), Then: x}}, Else: expr.NewOr(y, z), Typ: b},
		"coalesce":      &expr.Call{Func: "coalesce", Args: []expr.Expr{&expr.Call{Func: "nullif", Args: []expr.Expr{n, zero}, Typ: i}, inverse}, Typ: i},
	} {
		t.Run(name, func(t *testing.T) { checkAll(t, e, types) })
	}
}

// A condition that fails is kept from the rows that another excludes, however they are ordered.
func TestFilterOrder(t *testing.T) {
	i := of(sqltype.Int32)
	n, m := input(0, i), input(1, i)
	zero := expr.NewLiteral(expr.IntValue(i, 0), sqlerr.Pos{})
	one := expr.NewLiteral(expr.IntValue(i, 100), sqlerr.Pos{})
	quotient := &expr.Call{Func: "/", Args: []expr.Expr{one, n}, Typ: i}
	e := expr.NewAnd(&expr.Compare{Op: expr.Gt, L: m, R: zero}, &expr.Compare{Op: expr.Ne, L: n, R: zero}, &expr.Compare{Op: expr.Gt, L: quotient, R: zero})
	checkAll(t, e, []sqltype.Type{i, i})
}
