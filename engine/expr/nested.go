package expr

import (
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// NewList is ARRAY[items] or [items]: a list of their common type.
func NewList(items []Expr, pos sqlerr.Pos) (Expr, error) { return NewCall("make_array", items, pos) }

// NewStruct is {'name': value, …}; without names ROW(value, …), whose fields are c0, c1 and so on.
func NewStruct(names []string, values []Expr, pos sqlerr.Pos) (Expr, error) {
	if len(values) == 0 {
		return nil, sqlerr.New(sqlerr.Unsupported, pos, "a struct without fields").WithHint("give it a field")
	}
	e, err := newCall("row", values, pos)
	if err != nil || names == nil {
		return e, err
	}
	c := e.(*Call)
	for i, name := range names {
		for _, other := range names[:i] {
			if other == name {
				return nil, sqlerr.Newf(sqlerr.DuplicateAlias, pos, "struct field %q specified more than once", name).WithHint("name each field once")
			}
		}
		c.Typ.Fields[i].Name = name
	}
	return c, nil
}

// NewField is the field of a struct by its name; it fails with undefined_column where there is none. Names are compared as they
// are, and where none is equal, in any case.
func NewField(x Expr, name string, pos sqlerr.Pos) (Expr, error) {
	t := x.Type()
	if t.Kind != sqltype.Struct {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, pos, "column notation .%s applied to type %s, which is not a struct", name, typeText(t))
	}
	at := -1
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		names[i] = f.Name
		if f.Name == name {
			at = i
			break
		}
		if at < 0 && strings.EqualFold(f.Name, name) {
			at = i
		}
	}
	if at < 0 {
		err := sqlerr.Newf(sqlerr.UnknownColumn, pos, "no field %q in %s", name, t)
		if near := nearest(name, names); near != "" {
			err = err.WithHint("did you mean %q?", near)
		}
		return nil, err
	}
	return fieldAt(x, at, pos), nil
}

func fieldAt(x Expr, i int, pos sqlerr.Pos) Expr {
	index := NewLiteral(IntValue(sqltype.Of(sqltype.Int64), int64(i+1)), pos)
	return &Call{At: At{pos}, Func: "struct_extract", Args: []Expr{x, index}, Typ: x.Type().Fields[i].Type}
}

// NewIndex is x[i]: an element of a list, or a field of a struct by its name or place.
func NewIndex(x, i Expr, pos sqlerr.Pos) (Expr, error) {
	if x.Type().Kind == sqltype.Struct {
		return newStructExtract([]Expr{x, i}, pos)
	}
	if k := x.Type().Kind; k != sqltype.List && k != sqltype.Null {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, pos, "cannot subscript type %s", typeText(x.Type())).WithHint("lists and structs have parts")
	}
	return NewCall("list_extract", []Expr{x, i}, pos)
}

// NewSlice is x[low:high:step]; each of the three may be nil.
func NewSlice(x, low, high, step Expr, pos sqlerr.Pos) (Expr, error) {
	bigint := sqltype.Of(sqltype.Int64)
	bound := func(e Expr, otherwise int64) Expr {
		if e == nil {
			return NewLiteral(IntValue(bigint, otherwise), pos)
		}
		return e
	}
	args := []Expr{x, bound(low, 1), bound(high, -1)}
	if step != nil {
		args = append(args, step)
	}
	return NewCall("list_slice", args, pos)
}

func newStructExtract(args []Expr, pos sqlerr.Pos) (Expr, error) {
	if len(args) != 2 || args[0].Type().Kind != sqltype.Struct {
		_, err := Resolve("struct_extract", typesOf(args), pos)
		if err == nil {
			err = sqlerr.New(sqlerr.UnknownFunction, pos, "struct_extract needs a struct")
		}
		return nil, err
	}
	l, ok := args[1].(*Literal)
	switch {
	case !ok || l.Value.Null:
		return nil, sqlerr.New(sqlerr.InvalidParameter, args[1].Pos(), "the field of a struct must be a constant").WithHint("write s['name']")
	case l.Value.Type.IsInteger():
		if l.Value.Int < 1 || l.Value.Int > int64(len(args[0].Type().Fields)) {
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, l.P, "no field %d in %s", l.Value.Int, args[0].Type()).WithHint("fields are counted from 1")
		}
		return fieldAt(args[0], int(l.Value.Int)-1, pos), nil
	}
	return NewField(args[0], l.Value.Str, pos)
}

// newNamedStruct is named_struct('a', 1, …).
func newNamedStruct(args []Expr, pos sqlerr.Pos) (Expr, error) {
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, sqlerr.New(sqlerr.UnknownFunction, pos, "named_struct needs names and values in turn").WithHint("write named_struct('a', 1, 'b', 2)")
	}
	var names []string
	var values []Expr
	for i := 0; i < len(args); i += 2 {
		l, ok := args[i].(*Literal)
		if !ok || l.Value.Null || l.Value.Type.Kind != sqltype.Utf8 && l.Value.Type.Kind != sqltype.Null {
			return nil, sqlerr.New(sqlerr.InvalidParameter, args[i].Pos(), "the name of a field must be a constant text")
		}
		names, values = append(names, l.Value.Str), append(values, args[i+1])
	}
	return NewStruct(names, values, pos)
}
