package optimize

import (
	"slices"

	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
)

func nullable(e expr.Expr) bool { return physical.Nullable(e) }

// fold computes constants and simplifies conditions; a filter that is never true gives no rows, one that always is goes. A constant
// that cannot be computed stays: its row may never come, and then it is no error.
func fold(_ *optimizer, root logical.Node) (logical.Node, error) {
	return logical.Rewrite(root, func(n logical.Node) logical.Node {
		n = logical.MapExprs(n, func(e expr.Expr) expr.Expr { return simplify(eval.Fold(e)) })
		switch n := n.(type) {
		case *logical.Filter:
			cond := onlyTrue(n.Cond)
			l, ok := cond.(*expr.Literal)
			switch {
			case ok && l.Value.IsTrue():
				return n.Input
			case ok:
				return empty(n)
			case cond != n.Cond:
				return &logical.Filter{Input: n.Input, Cond: cond}
			}
		case *logical.Join:
			if l, ok := n.On.(*expr.Literal); ok && l.Value.IsTrue() && !n.NullAware {
				c := *n
				c.On = nil
				return &c
			}
		}
		return n
	}), nil
}

// simplify is e in fewer words, operands first.
func simplify(e expr.Expr) expr.Expr {
	e = expr.Map(e, simplify)
	switch x := e.(type) {
	case *expr.Logic:
		return simplifyLogic(x)
	case *expr.Not:
		switch x.X.(type) {
		case *expr.Not, *expr.IsNull, *expr.In, *expr.Compare:
			return expr.NewNot(x.X)
		}
	case *expr.Compare:
		if c := narrowCast(x); c != nil {
			return c
		}
	case *expr.IsNull:
		if !nullable(x.X) {
			return expr.NewLiteral(expr.BoolValue(x.Negated), x.P)
		}
	}
	return e
}

// simplifyLogic leaves out what decides nothing and what stands twice, and makes a list of the constants that an expression is
// compared with: a = 1 OR a = 2 is a IN (1, 2), a <> 1 AND a <> 2 is a NOT IN (1, 2).
func simplifyLogic(e *expr.Logic) expr.Expr {
	absorbing := e.Op == expr.Or // TRUE decides an OR, FALSE an AND
	var args []expr.Expr
	seen := make(map[string]bool, len(e.Args))
	lists := map[string]*valueList{} // by the key of what is compared
	changed := false
	for _, a := range e.Args {
		if l, ok := a.(*expr.Literal); ok && !l.Value.Null {
			if l.Value.IsTrue() == absorbing {
				return l
			}
			changed = true
			continue
		}
		key := expr.Key(a)
		if seen[key] {
			changed = true
			continue
		}
		seen[key] = true
		if l, ok := a.(*expr.Logic); ok && l.Op == e.Op {
			changed = true
		}
		if in := asList(a, e.Op == expr.And); in != nil {
			x := expr.Key(in.X)
			if l := lists[x]; l != nil {
				l.values = append(l.values, in.List...)
				changed = true
				continue
			}
			lists[x] = &valueList{at: len(args), in: in, values: slices.Clone(in.List)}
		}
		args = append(args, a)
	}
	for _, l := range lists {
		if len(l.values) > len(l.in.List) {
			c := *l.in
			c.List = l.values
			args[l.at] = &c
		}
	}
	if !changed {
		return e
	}
	if e.Op == expr.Or {
		return expr.NewOr(args...)
	}
	return expr.NewAnd(args...)
}

// A valueList is the constants that one expression is compared with, and its place among the operands.
type valueList struct {
	at     int
	in     *expr.In
	values []expr.Value
}

// asList is a comparison with a constant, or a list of them, as a list; nil where a is neither, or not negated as wanted.
func asList(a expr.Expr, negated bool) *expr.In {
	switch a := a.(type) {
	case *expr.In:
		if a.Negated == negated {
			return a
		}
	case *expr.Compare:
		want := expr.Eq
		if negated {
			want = expr.Ne
		}
		x, l := a.L, a.R
		if _, ok := x.(*expr.Literal); ok {
			x, l = l, x
		}
		lit, ok := l.(*expr.Literal)
		if _, constant := x.(*expr.Literal); a.Op == want && ok && !constant && !lit.Value.Null && expr.IsImmutable(x) {
			return &expr.In{At: a.At, X: x, List: []expr.Value{lit.Value}, Negated: negated}
		}
	}
	return nil
}

// narrowCast compares a column with a constant in the column's own type where both sides were cast to a wider one and the
// constant fits: the scan can then use the column's statistics, and no row is cast.
func narrowCast(e *expr.Compare) expr.Expr {
	l, r, op := e.L, e.R, e.Op
	if _, ok := l.(*expr.Literal); ok {
		l, r, op = r, l, op.Flip()
	}
	cast, isCast := l.(*expr.Cast)
	lit, isLiteral := r.(*expr.Literal)
	if !isCast || !isLiteral || cast.Try || !exactCast(cast.X.Type(), cast.To) {
		return nil
	}
	small, err := expr.Coerce(lit, cast.X.Type(), expr.Explicit)
	if err != nil {
		return nil
	}
	v, ok := small.(*expr.Literal)
	if !ok {
		return nil
	}
	return &expr.Compare{At: e.At, Op: op, L: cast.X, R: v}
}

// exactCast tells whether a cast keeps every value and the order of values.
func exactCast(from, to sqltype.Type) bool {
	switch {
	case from.IsInteger() && to.IsInteger(), from.IsInteger() && to.Kind == sqltype.Decimal:
		return expr.CastAllowed(from, to, expr.Implicit)
	case from.Kind == sqltype.Decimal && to.Kind == sqltype.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	}
	return false
}

// onlyTrue simplifies a condition of which only the rows where it is true are kept: NULL is as good as FALSE.
func onlyTrue(e expr.Expr) expr.Expr {
	switch x := e.(type) {
	case *expr.Literal:
		if x.Value.Null {
			return expr.NewLiteral(expr.BoolValue(false), x.P)
		}
	case *expr.Compare:
		// x IS TRUE
		if l, ok := x.R.(*expr.Literal); ok && x.Op == expr.NotDistinct && l.Value.IsTrue() {
			return onlyTrue(x.L)
		}
	case *expr.Logic:
		m := expr.Map(e, onlyTrue)
		if l, ok := m.(*expr.Logic); ok && m != e {
			return simplifyLogic(l)
		}
		return m
	}
	return e
}
