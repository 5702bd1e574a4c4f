package eval

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A scope is which rows an operand is computed on, where those before it have decided some.
type scope uint8

const (
	everywhere scope = iota // all: cheaper than making a list of those that are left
	whereFew                // those left, if they are few
	whereLeft               // never more than those left: it may fail, or is dear
)

// scopeOf is where e, one of several conditions, is best computed.
func scopeOf(e expr.Expr) scope {
	switch c := cost(e); {
	case fallible(e) || c >= 12:
		return whereLeft
	case c <= 2:
		return everywhere
	}
	return whereFew
}

// neverFail are the functions that give a result for all arguments. Some arithmetic is decided by its types instead.
var neverFail = map[string]bool{
	"like": true, "ilike": true, "lower": true, "upper": true, "initcap": true, "length": true, "octet_length": true, "bit_length": true,
	"left": true, "right": true, "btrim": true, "ltrim": true, "rtrim": true, "reverse": true, "position": true, "starts_with": true,
	"ends_with": true, "contains": true, "ascii": true, "translate": true, "coalesce": true, "nullif": true, "greatest": true,
	"least": true, "sign": true, "year": true, "month": true, "day": true, "hour": true, "minute": true, "second": true,
	"millisecond": true, "microsecond": true, "quarter": true, "decade": true, "century": true, "millennium": true, "week": true, "dow": true,
	"isodow": true, "doy": true, "isoyear": true, "julian": true, "extract_second": true, "extract_millisecond": true, "extract_epoch": true,
	"&": true, "|": true, "#": true, "~": true, "~*": true, "regexp_like": true, "similar_to": true, "pi": true,
}

// fallible tells whether computing e may raise an error on some row.
func fallible(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Cast:
			found = found || !x.Try && !safeCast(x.X.Type(), x.To)
		case *expr.Call:
			found = found || !safeCall(x)
		}
		return !found
	})
	return found
}

func safeCast(from, to sqltype.Type) bool {
	if to.Kind == sqltype.Utf8 {
		return true
	}
	if from.IsInteger() && to.Kind == sqltype.Decimal {
		return int(to.Precision)-int(to.Scale) >= from.Digits()
	}
	if from.Kind == sqltype.Date || to.Kind == sqltype.Float32 {
		return false // a date may be no timestamp, a double no real
	}
	return expr.CastAllowed(from, to, expr.Implicit)
}

func safeCall(c *expr.Call) bool {
	switch c.Func {
	case "+", "-", "*", "abs":
		return c.Typ.Kind == sqltype.Decimal && c.Typ.Precision < sqltype.MaxPrecision
	case "substring":
		return len(c.Args) == 2
	case "||", "concat":
		return true
	case "like", "ilike", "~", "~*", "regexp_like", "similar_to":
		for _, a := range c.Args[1:] { // a constant pattern was checked when it was compiled
			if _, ok := a.(*expr.Literal); !ok {
				return false
			}
		}
		return true
	}
	return neverFail[c.Func]
}

// cost is how long e takes per row, roughly in quarters of a nanosecond.
func cost(e expr.Expr) int {
	total := 0
	expr.Walk(e, func(x expr.Expr) bool {
		total += ownCost(x)
		return true
	})
	return total
}

func ownCost(e expr.Expr) int {
	switch e := e.(type) {
	case *expr.Compare:
		return 1 + typeCost(e.L.Type())
	case *expr.In:
		return 2 + 2*typeCost(e.X.Type()) + min(len(e.List), 20)
	case *expr.Cast:
		if e.To.Kind == sqltype.Utf8 || e.X.Type().Kind == sqltype.Utf8 {
			return 100
		}
		return 2
	case *expr.Case:
		return 4
	case *expr.Call:
		switch e.Func {
		case "+", "-", "*", "abs":
			return 1 + typeCost(e.Typ)/2
		case "~", "~*", "regexp_like", "regexp_replace", "similar_to":
			return 800
		case "like", "ilike", "contains":
			return 80
		}
		return 20
	}
	return 0
}

func typeCost(t sqltype.Type) int {
	switch t.Kind {
	case sqltype.Utf8, sqltype.Binary:
		return 16
	case sqltype.Interval, sqltype.UUID:
		return 20
	case sqltype.Decimal:
		if t.Precision > 18 {
			return 6
		}
	}
	return 0
}

// CanFail tells whether computing e may raise an error on some row: such a condition must stay behind those before it.
func CanFail(e expr.Expr) bool { return fallible(e) }

// Cost guesses how long e takes per row, in nanoseconds.
func Cost(e expr.Expr) float64 { return float64(cost(e)) / 4 }
