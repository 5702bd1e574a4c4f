package parse_test

import (
	"fmt"
	"reflect"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// misread tells what is wrong with the trees that were made of sql, "" if nothing is: every node's place must be within its parent's,
// Children must give all there is, and what Format writes must parse to the same tree.
func misread(sql string, stmts []ast.Statement) string {
	for _, s := range stmts {
		if bad := misplaced(s, sqlerr.Pos{End: int32(len(sql))}); bad != "" {
			return bad
		}
		text := ast.Format(s)
		again, err := parse.ParseOne(text)
		if err != nil {
			return fmt.Sprintf("Format gave %q: %s", text, where(text, err))
		}
		if d := difference(reflect.ValueOf(s), reflect.ValueOf(again), ""); d != "" {
			return fmt.Sprintf("Format gave %q, which differs at %s", text, d)
		}
	}
	return ""
}

// misplaced tells whether n or a node below is outside of outer, or is not among its parent's children.
func misplaced(n ast.Node, outer sqlerr.Pos) string {
	p := n.At()
	if p.Start < outer.Start || p.End > outer.End || p.Start >= p.End {
		return fmt.Sprintf("%T is at %v, its parent at %v", n, p, outer)
	}
	children := 0
	for c := range ast.Children(n) {
		children++
		if bad := misplaced(c, p); bad != "" {
			return bad
		}
	}
	if fields := nodes(reflect.ValueOf(n).Elem()); fields != children {
		return fmt.Sprintf("%T has %d nodes in its fields, Children gives %d", n, fields, children)
	}
	return ""
}

// nodes counts the nodes in the fields of a struct, names aside.
func nodes(v reflect.Value) int {
	n := 0
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n += nodes(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += nodes(v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		switch v.Interface().(type) {
		case nil, *ast.Ident, *ast.ObjectName:
		default:
			if !v.IsNil() {
				n++
			}
		}
	}
	return n
}

// difference tells where two trees differ, places aside; "" where they do not.
func difference(a, b reflect.Value, path string) string {
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %v and %v", path, a.Type(), b.Type())
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			if a.IsNil() != b.IsNil() {
				return path + ": one is nil"
			}
			return ""
		}
		return difference(a.Elem(), b.Elem(), path)
	case reflect.Struct:
		switch a.Type() {
		case reflect.TypeFor[ast.Span](), reflect.TypeFor[sqlerr.Pos]():
			return ""
		}
		for i := range a.NumField() {
			if d := difference(a.Field(i), b.Field(i), path+"."+a.Type().Field(i).Name); d != "" {
				return d
			}
		}
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d and %d items", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := difference(a.Index(i), b.Index(i), fmt.Sprintf("%s[%d]", path, i)); d != "" {
				return d
			}
		}
	default:
		if !a.Equal(b) {
			return fmt.Sprintf("%s: %v and %v", path, a, b)
		}
	}
	return ""
}
