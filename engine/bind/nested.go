package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// nested binds literals of lists and structs, and access to their parts.
func (x *exprBinder) nested(e ast.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *ast.Row:
		items, err := x.exprs(e.Items)
		if err != nil {
			return nil, err
		}
		return expr.NewStruct(nil, items, e.Pos)
	case *ast.Array:
		items, err := x.exprs(e.Items)
		if err != nil {
			return nil, err
		}
		return expr.NewList(items, e.Pos)
	case *ast.Struct:
		names, values := make([]string, len(e.Fields)), make([]expr.Expr, len(e.Fields))
		for i, f := range e.Fields {
			v, err := x.expr(f.Value)
			if err != nil {
				return nil, err
			}
			names[i], values[i] = f.Name.Name, v
		}
		return expr.NewStruct(names, values, e.Pos)
	case *ast.Index:
		of, err := x.exprs([]ast.Expr{e.Expr, e.Index})
		if err != nil {
			return nil, err
		}
		return expr.NewIndex(of[0], of[1], e.Pos)
	case *ast.Slice:
		return x.slice(e)
	case *ast.FieldAccess:
		v, err := x.expr(e.Expr)
		if err != nil {
			return nil, err
		}
		return expr.NewField(v, e.Field.Name, e.Pos)
	}
	return nil, unsupported(e.At(), "this expression")
}

func (x *exprBinder) slice(e *ast.Slice) (expr.Expr, error) {
	var parts [4]expr.Expr
	for i, p := range []ast.Expr{e.Expr, e.Low, e.High, e.Step} {
		if p == nil {
			continue
		}
		var err error
		if parts[i], err = x.expr(p); err != nil {
			return nil, err
		}
	}
	return expr.NewSlice(parts[0], parts[1], parts[2], parts[3], e.Pos)
}

// structColumn reads a.b.c as field c of the struct column a.b, or fields b and c of column a; ok is false where no start of the
// name is a struct column.
func (x *exprBinder) structColumn(e *ast.ColumnRef) (found expr.Expr, ok bool, err error) {
	for n := len(e.Parts) - 1; n > 0; n-- {
		start := *e
		start.Parts = e.Parts[:n]
		c, err := x.scope.find(&start)
		if err != nil || c.Typ.Kind != sqltype.Struct {
			continue
		}
		at := *c
		at.P = e.Pos
		found = &at
		for _, f := range e.Parts[n:] {
			if found, err = expr.NewField(found, f.Name, e.Pos); err != nil {
				return nil, true, err
			}
		}
		return found, true, nil
	}
	return nil, false, nil
}

// structPack is struct_pack(a := 1, …), whose arguments have names.
func (x *exprBinder) structPack(e *ast.FuncCall) (expr.Expr, error) {
	var names []string
	for _, a := range e.Args {
		if a.Name == nil {
			return nil, sqlerr.New(sqlerr.Syntax, a.Pos, "an argument of struct_pack needs a name").WithHint("write struct_pack(a := 1)")
		}
		names = append(names, a.Name.Name)
	}
	values, err := x.args(e)
	if err != nil {
		return nil, err
	}
	return expr.NewStruct(names, values, e.Pos)
}

// nestedType is LIST<t>, ARRAY<t>, STRUCT(…) or t[]; ok is false for any other.
func nestedType(t *ast.TypeName) (typ sqltype.Type, ok bool, err error) {
	if n := len(t.Dims); n > 0 {
		elem := *t
		elem.Dims = t.Dims[:n-1]
		typ, err = typeName(&elem)
		return sqltype.ListOf(typ), true, err
	}
	switch {
	case (t.Name == "list" || t.Name == "array") && len(t.Fields) == 1:
		typ, err = typeName(t.Fields[0].Type)
		return sqltype.ListOf(typ), true, err
	case (t.Name == "struct" || t.Name == "row") && len(t.Fields) > 0:
		typ.Kind = sqltype.Struct
		for _, f := range t.Fields {
			part, err := typeName(f.Type)
			if err != nil {
				return typ, true, err
			}
			typ.Fields = append(typ.Fields, sqltype.Field{Name: f.Name.Name, Type: part})
		}
		return typ, true, nil
	}
	return typ, false, nil
}
