package logical

import (
	"maps"

	"github.com/fletchdb/fletch/engine/expr"
)

// A ColSet is a set of column ids.
type ColSet map[expr.ColumnID]bool

// SetOf is the ids of columns.
func SetOf(cols []*expr.Column) ColSet {
	s := make(ColSet, len(cols))
	for _, c := range cols {
		s[c.ID] = true
	}
	return s
}

// Output is the ids of n's columns. It is shared: it is not changed.
func Output(n Node) ColSet {
	switch n := n.(type) {
	case *Join:
		return n.cols.ids(n.Columns())
	case *Apply:
		return n.cols.ids(n.Columns())
	}
	return SetOf(n.Columns())
}

// Clone is a copy.
func (s ColSet) Clone() ColSet { return maps.Clone(s) }

// AddExpr adds the columns that e reads; e may be nil.
func (s ColSet) AddExpr(e expr.Expr) {
	expr.Walk(e, func(e expr.Expr) bool {
		if c, ok := e.(*expr.Column); ok {
			s[c.ID] = true
		}
		return true
	})
}

// Holds tells whether s has every column that e reads.
func (s ColSet) Holds(e expr.Expr) bool {
	ok := true
	expr.Walk(e, func(e expr.Expr) bool {
		if c, is := e.(*expr.Column); is && !s[c.ID] {
			ok = false
		}
		return ok
	})
	return ok
}

// Touches tells whether e reads a column of s.
func (s ColSet) Touches(e expr.Expr) bool {
	hit := false
	expr.Walk(e, func(e expr.Expr) bool {
		if c, is := e.(*expr.Column); is && s[c.ID] {
			hit = true
		}
		return !hit
	})
	return hit
}

// Outer is the columns that the tree n reads but does not make: of a correlated subquery, those of the queries around it.
func Outer(n Node) ColSet {
	out := ColSet{}
	outer(n, ColSet{}, out)
	return out
}

// outer adds to out what n reads of neither its inputs nor the given outer queries within the tree.
func outer(n Node, inner, out ColSet) {
	visible := inner.Clone()
	if a, ok := n.(*Apply); ok {
		outer(a.Input, inner, out)
		for _, c := range a.Input.Columns() {
			visible[c.ID] = true
		}
		outer(a.Sub, visible, out)
		for _, c := range a.Sub.Columns() {
			visible[c.ID] = true
		}
	} else {
		for _, k := range n.Children() {
			outer(k, inner, out)
			for _, c := range k.Columns() {
				visible[c.ID] = true
			}
		}
	}
	used := ColSet{}
	for _, e := range Exprs(n) {
		used.AddExpr(e)
	}
	for id := range used {
		if !visible[id] {
			out[id] = true
		}
	}
}

// Replace is e with columns replaced by what with says of their ids.
func Replace(e expr.Expr, with map[expr.ColumnID]expr.Expr) expr.Expr {
	if c, ok := e.(*expr.Column); ok {
		if x := with[c.ID]; x != nil {
			return x
		}
		return e
	}
	return expr.Map(e, func(x expr.Expr) expr.Expr { return Replace(x, with) })
}
