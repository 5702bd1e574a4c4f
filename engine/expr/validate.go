package expr

import (
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Validate tells whether e, which may have come from another process, is well typed: what evaluation trusts without looking
// again. The error is an invalid_plan.
func Validate(e Expr) error {
	var bad Expr
	Walk(e, func(x Expr) bool {
		if bad == nil && !wellTyped(x) {
			bad = x
		}
		return bad == nil
	})
	if bad == nil {
		return nil
	}
	return sqlerr.Newf(sqlerr.InvalidPlan, bad.Pos(), "the plan has an expression that this build cannot compute: %s", String(bad)).
		WithHint("coordinator and workers must be of one version")
}

// wellTyped looks at e and the types of its operands.
func wellTyped(e Expr) bool {
	switch e := e.(type) {
	case *Input:
		return e.Index >= 0
	case *Compare:
		return e.L != nil && e.R != nil && e.Op <= NotDistinct && e.L.Type().Equal(e.R.Type())
	case *Logic:
		return len(e.Args) > 0 && e.Op <= Or && areBool(e.Args...)
	case *Not:
		return areBool(e.X)
	case *IsNull:
		return e.X != nil
	case *Case:
		for _, w := range e.Whens {
			if !areBool(w.Cond) || w.Then == nil || !w.Then.Type().Equal(e.Typ) {
				return false
			}
		}
		return e.Else == nil || e.Else.Type().Equal(e.Typ)
	case *Cast:
		return e.X != nil
	case *In:
		if e.X == nil {
			return false
		}
		for _, v := range e.List {
			if !v.Type.Equal(e.X.Type()) {
				return false
			}
		}
	case *Call:
		return wellTypedCall(e)
	case nil:
		return false
	}
	return true
}

func areBool(es ...Expr) bool {
	for _, e := range es {
		if e == nil || e.Type().Kind != sqltype.Bool {
			return false
		}
	}
	return true
}

// wellTypedCall tells whether e is what Resolve makes of its arguments' types.
func wellTypedCall(e *Call) bool {
	if e.User != nil {
		return !e.User.IsAggregate() && wellTypedUser(e.User, e.Args, e.Typ)
	}
	f := functionByName[e.Func]
	if f == nil || f.Name != e.Func {
		return false
	}
	for _, a := range e.Args {
		if a == nil {
			return false
		}
	}
	sig, ok, err := choose(f.Overloads, typesOf(e.Args))
	if !ok || err != nil {
		return false
	}
	for i, a := range e.Args {
		if !a.Type().Equal(sig.Args[i]) {
			return false
		}
	}
	switch e.Func {
	case "row": // has names of its own
		if e.Typ.Kind != sqltype.Struct || len(e.Typ.Fields) != len(e.Args) {
			return false
		}
		for i, a := range e.Args {
			if !a.Type().Equal(e.Typ.Fields[i].Type) {
				return false
			}
		}
		return true
	case "struct_extract":
		l, ok := e.Args[1].(*Literal)
		fields := e.Args[0].Type().Fields
		return ok && l.Value.Type.Kind == sqltype.Int64 && !l.Value.Null && l.Value.Int >= 1 && l.Value.Int <= int64(len(fields)) && e.Typ.Equal(fields[l.Value.Int-1].Type)
	}
	if (e.Func == "round" || e.Func == "trunc") && sig.Result.Kind == sqltype.Decimal { // a constant number of digits cuts the scale
		return e.Typ.Kind == sqltype.Decimal && e.Typ.Scale <= sig.Result.Scale
	}
	return e.Typ.Equal(sig.Result)
}
