package expr

import (
	"math"
	"slices"
)

// Equal tells whether a and b are the same expression, wherever in the statement they stand.
func Equal(a, b Expr) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch a := a.(type) {
	case *Column:
		b, ok := b.(*Column)
		return ok && a.ID == b.ID
	case *Input:
		b, ok := b.(*Input)
		return ok && a.Index == b.Index
	case *Literal:
		b, ok := b.(*Literal)
		return ok && a.Value.Identical(b.Value)
	case *Param:
		b, ok := b.(*Param)
		return ok && a.Number == b.Number && a.Typ.Equal(b.Typ)
	case *Compare:
		b, ok := b.(*Compare)
		return ok && a.Op == b.Op && Equal(a.L, b.L) && Equal(a.R, b.R)
	case *Logic:
		b, ok := b.(*Logic)
		return ok && a.Op == b.Op && slices.EqualFunc(a.Args, b.Args, Equal)
	case *Not:
		b, ok := b.(*Not)
		return ok && Equal(a.X, b.X)
	case *IsNull:
		b, ok := b.(*IsNull)
		return ok && a.Negated == b.Negated && Equal(a.X, b.X)
	case *Case:
		b, ok := b.(*Case)
		return ok && a.Typ.Equal(b.Typ) && Equal(a.Else, b.Else) && slices.EqualFunc(a.Whens, b.Whens, func(v, w When) bool {
			return Equal(v.Cond, w.Cond) && Equal(v.Then, w.Then)
		})
	case *Cast:
		b, ok := b.(*Cast)
		return ok && a.Try == b.Try && a.To.Equal(b.To) && Equal(a.X, b.X)
	case *In:
		b, ok := b.(*In)
		return ok && a.Negated == b.Negated && Equal(a.X, b.X) && slices.EqualFunc(a.List, b.List, Value.Identical)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Func == b.Func && a.Typ.Equal(b.Typ) && slices.EqualFunc(a.Args, b.Args, Equal)
	}
	return false
}

// Equal tells whether a and b are the same aggregate, wherever they stand.
func (a Aggregate) Equal(b Aggregate) bool {
	return a.Func == b.Func && a.Distinct == b.Distinct && a.Typ.Equal(b.Typ) && Equal(a.Filter, b.Filter) &&
		slices.EqualFunc(a.Args, b.Args, Equal) && slices.EqualFunc(a.OrderBy, b.OrderBy, func(x, y SortOrder) bool {
		return x.Desc == y.Desc && x.NullsFirst == y.NullsFirst && Equal(x.Expr, y.Expr)
	})
}

// Identical tells whether v and w are the same constant: equal types and bits, NULL like NULL.
func (v Value) Identical(w Value) bool {
	if !v.Type.Equal(w.Type) || v.Null != w.Null {
		return false
	}
	if v.Null {
		return true
	}
	return v.Int == w.Int && v.Str == w.Str && v.Wide == w.Wide && v.Months == w.Months && v.Days == w.Days &&
		math.Float64bits(v.Float) == math.Float64bits(w.Float) && slices.EqualFunc(v.Elems, w.Elems, Value.Identical)
}
