package expr

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/sqltype"
)

// Equal tells whether a and b are the same expression: the same shape, functions, types and values. Places and the names that
// columns have for people do not count.
func Equal(a, b Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
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
		return ok && a.Typ.Equal(b.Typ) && Equal(a.Else, b.Else) && slices.EqualFunc(a.Whens, b.Whens, func(x, y When) bool {
			return Equal(x.Cond, y.Cond) && Equal(x.Then, y.Then)
		})
	case *Cast:
		b, ok := b.(*Cast)
		return ok && a.Try == b.Try && a.To.Equal(b.To) && Equal(a.X, b.X)
	case *In:
		b, ok := b.(*In)
		return ok && a.Negated == b.Negated && Equal(a.X, b.X) && slices.EqualFunc(a.List, b.List, Value.Identical)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Func == b.Func && a.User == b.User && a.Typ.Equal(b.Typ) && slices.EqualFunc(a.Args, b.Args, Equal)
	}
	return false
}

// Identical tells whether v and w are the same value of the same type; NULLs of one type are, and so are NaNs.
func (v Value) Identical(w Value) bool {
	if !v.Type.Equal(w.Type) || v.Null != w.Null {
		return false
	}
	return v.Null || v.Int == w.Int && math.Float64bits(v.Float) == math.Float64bits(w.Float) && v.Str == w.Str &&
		v.Wide == w.Wide && v.Months == w.Months && v.Days == w.Days
}

// Key is a string that two expressions share only if they are Equal: for maps. It is no wire format.
func Key(e Expr) string { return string(appendKey(nil, e)) }

func appendKey(dst []byte, e Expr) []byte {
	switch e := e.(type) {
	case nil:
		return append(dst, 'z')
	case *Column:
		return binary.AppendVarint(append(dst, 'c'), int64(e.ID))
	case *Input:
		return binary.AppendVarint(append(dst, 'i'), int64(e.Index))
	case *Literal:
		return appendValueKey(append(dst, 'l'), e.Value)
	case *Param:
		return appendTypeKey(binary.AppendVarint(append(dst, 'p'), int64(e.Number)), e.Typ)
	case *Compare:
		return appendKey(appendKey(append(dst, 'o', byte(e.Op)), e.L), e.R)
	case *Logic:
		return appendKeys(append(dst, 'a', byte(e.Op)), e.Args)
	case *Not:
		return appendKey(append(dst, 'n'), e.X)
	case *IsNull:
		return appendKey(append(dst, 'u', byte(b2i(e.Negated))), e.X)
	case *Case:
		dst = binary.AppendVarint(append(dst, 'w'), int64(len(e.Whens)))
		for _, w := range e.Whens {
			dst = appendKey(appendKey(dst, w.Cond), w.Then)
		}
		return appendTypeKey(appendKey(dst, e.Else), e.Typ)
	case *Cast:
		return appendKey(appendTypeKey(append(dst, 't', byte(b2i(e.Try))), e.To), e.X)
	case *In:
		dst = appendKey(append(dst, 'm', byte(b2i(e.Negated))), e.X)
		dst = binary.AppendVarint(dst, int64(len(e.List)))
		for _, v := range e.List {
			dst = appendValueKey(dst, v)
		}
		return dst
	case *Call:
		return appendKeys(appendTypeKey(appendText(append(dst, 'f'), e.Func), e.Typ), e.Args)
	}
	return dst
}

func appendKeys(dst []byte, args []Expr) []byte {
	dst = binary.AppendVarint(dst, int64(len(args)))
	for _, a := range args {
		dst = appendKey(dst, a)
	}
	return dst
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func appendTypeKey(dst []byte, t sqltype.Type) []byte {
	dst = append(dst, byte(t.Kind), t.Precision, t.Scale)
	if t.Elem != nil {
		dst = appendTypeKey(dst, *t.Elem)
	}
	if t.Kind == sqltype.Struct {
		dst = binary.AppendVarint(dst, int64(len(t.Fields)))
		for _, f := range t.Fields {
			dst = appendTypeKey(appendText(dst, f.Name), f.Type)
		}
	}
	return dst
}

func appendValueKey(dst []byte, v Value) []byte {
	dst = append(appendTypeKey(dst, v.Type), byte(b2i(v.Null)))
	if v.Null {
		return dst
	}
	dst = binary.AppendVarint(dst, v.Int)
	dst = binary.BigEndian.AppendUint64(dst, math.Float64bits(v.Float))
	dst = appendText(dst, v.Str)
	dst = binary.AppendUvarint(binary.AppendVarint(dst, v.Wide.Hi), v.Wide.Lo)
	return binary.AppendVarint(binary.AppendVarint(dst, int64(v.Months)), int64(v.Days))
}

// Equal tells whether a and b are the same aggregate, wherever they stand.
func (a Aggregate) Equal(b Aggregate) bool {
	return a.Func == b.Func && a.User == b.User && a.Distinct == b.Distinct && a.Typ.Equal(b.Typ) && Equal(a.Filter, b.Filter) &&
		slices.EqualFunc(a.Args, b.Args, Equal) && slices.EqualFunc(a.OrderBy, b.OrderBy, func(x, y SortOrder) bool {
		return x.Desc == y.Desc && x.NullsFirst == y.NullsFirst && Equal(x.Expr, y.Expr)
	})
}
