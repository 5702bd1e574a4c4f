package expr

import (
	"strings"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// NewUserCall is a call of a function that is not built in, resolved among its signatures and with its arguments coerced.
func NewUserCall(signatures []*function.Signature, args []Expr, pos sqlerr.Pos) (*Call, error) {
	sig, coerced, err := resolveUser(signatures, args, pos)
	if err != nil {
		return nil, err
	}
	return &Call{At: At{pos}, Func: sig.Name, Args: coerced, Typ: sig.Result, User: sig}, nil
}

// NewUserAggregate is NewUserCall for an aggregate function. The caller sets DISTINCT and FILTER.
func NewUserAggregate(signatures []*function.Signature, args []Expr, pos sqlerr.Pos) (Aggregate, error) {
	sig, coerced, err := resolveUser(signatures, args, pos)
	if err != nil {
		return Aggregate{}, err
	}
	return Aggregate{At: At{pos}, Func: sig.Name, Args: coerced, Typ: sig.Result, User: sig}, nil
}

func resolveUser(signatures []*function.Signature, args []Expr, pos sqlerr.Pos) (*function.Signature, []Expr, error) {
	types := typesOf(args)
	var best *function.Signature
	least := 0
	for _, s := range signatures {
		if cost, ok := userCost(s, types); ok && (best == nil || cost < least) {
			best, least = s, cost
		}
	}
	if best == nil {
		known := make([]string, len(signatures))
		for i, s := range signatures {
			known[i] = s.String()
		}
		err := sqlerr.Newf(sqlerr.UnknownFunction, pos, "function %s(%s) does not exist", signatures[0].Name, typeList(types)).
			WithHint("there is %s; an explicit cast may help", strings.Join(known, "; "))
		err.Err = &MissingFunction{signatures[0].Name}
		return nil, nil, err
	}
	to := make([]sqltype.Type, len(args))
	for i := range args {
		to[i] = best.Param(i)
	}
	coerced, err := coerceAll(args, to)
	return best, coerced, err
}

// userCost tells how far arguments are from a signature's parameters; ok is false where one does not become its parameter's type.
func userCost(s *function.Signature, args []sqltype.Type) (cost int, ok bool) {
	if !s.Takes(len(args)) {
		return 0, false
	}
	for i, a := range args {
		p := s.Param(i)
		switch {
		case a.Equal(p):
		case !CastAllowed(a, p, Implicit):
			return 0, false
		default:
			c, _ := coercionCost(a.Kind, p.Kind)
			cost += 1 + c
		}
	}
	return cost, true
}

// CallsForeign tells whether e calls a function that this process does not have.
func CallsForeign(e Expr) bool {
	found := false
	Walk(e, func(x Expr) bool {
		c, ok := x.(*Call)
		found = found || ok && c.User != nil && !c.User.Runs()
		return !found
	})
	return found
}

// Strict tells whether c is NULL where an argument is.
func (e *Call) Strict() bool {
	if e.User != nil {
		return !e.User.Lenient
	}
	f := LookupFunction(e.Func)
	return f != nil && !f.Lenient
}

// volatility is what c's result depends on.
func (e *Call) volatility() Volatility {
	if e.User != nil {
		return e.User.Volatility
	}
	if f := LookupFunction(e.Func); f != nil {
		return f.Volatility
	}
	return Volatile
}

// wellTypedUser tells whether args and result are a signature's.
func wellTypedUser(s *function.Signature, args []Expr, result sqltype.Type) bool {
	if !s.Takes(len(args)) || !result.Equal(s.Result) {
		return false
	}
	for i, a := range args {
		if a == nil || !a.Type().Equal(s.Param(i)) {
			return false
		}
	}
	return true
}

// CheckUser tells whether an aggregate of a function that is not built in, with the rows' arguments, or its states where merging, is well
// typed. The error is an invalid_plan.
func (a *Aggregate) CheckUser(merging bool) error {
	ok := a.User != nil && a.User.IsAggregate()
	if ok && merging {
		ok = len(a.Args) == len(a.User.State) && a.Typ.Equal(a.User.Result)
		for i := 0; ok && i < len(a.Args); i++ {
			ok = a.Args[i].Type().Equal(a.User.State[i])
		}
	} else if ok {
		ok = wellTypedUser(a.User, a.Args, a.Typ)
	}
	if ok {
		return nil
	}
	return sqlerr.Newf(sqlerr.InvalidPlan, a.P, "invalid plan: a call of %s that does not fit it", a.Func)
}
