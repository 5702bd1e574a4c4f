package estimate

import (
	"math"
	"strings"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Filter is what is left of s where cond is true.
func (s *Stats) Filter(cond expr.Expr) *Stats {
	conds := expr.Conjuncts(cond)
	part := s.Selectivity(conds...)
	out := s.thin(s.Rows * part)
	for id, r := range s.bounds(conds) {
		c := out.Cols[id]
		whole := s.Cols[id]
		kept := r.part(whole)
		c.Distinct = min(max(whole.Distinct*kept, 1), max(out.Rows, 1))
		c.Domain = max(whole.Domain*kept, 1)
		c.Lo, c.Hi = max(c.Lo, r.lo), min(c.Hi, r.hi)
		out.Cols[id] = c
	}
	for _, x := range conds {
		id, n, ok := values(x)
		if !ok {
			continue
		}
		c := out.Cols[id]
		c.Distinct, c.Domain = min(c.Distinct, n), min(c.Domain, n)
		out.Cols[id] = c
	}
	return out
}

// values gives how many values of a column a condition allows.
func values(x expr.Expr) (expr.ColumnID, float64, bool) {
	switch x := x.(type) {
	case *expr.Compare:
		c, lit, op := columnAndLiteral(x)
		if c != nil && lit != nil && (op == expr.Eq || op == expr.NotDistinct) {
			return c.ID, 1, true
		}
	case *expr.In:
		if c, ok := x.X.(*expr.Column); ok && !x.Negated {
			return c.ID, float64(len(x.List)), true
		}
	}
	return 0, 0, false
}

// A span is what inequalities leave of a column's range.
type span struct{ lo, hi float64 }

// part is how much of c lies within r.
func (r span) part(c Column) float64 {
	width := c.Hi - c.Lo
	lo, hi := max(r.lo, c.Lo), min(r.hi, c.Hi)
	switch {
	case hi < lo:
		return 0
	case width <= 0:
		return 1
	}
	// An interval that both ends bound has at least one value's worth of rows.
	return min(1, max((hi-lo)/width, 1/max(c.Domain, 1)))
}

// bounds collects, per column with a known range, the inequalities with constants: two of them on one column are no two
// independent filters.
func (s *Stats) bounds(conds []expr.Expr) map[expr.ColumnID]span {
	var out map[expr.ColumnID]span
	for _, x := range conds {
		id, lo, hi, ok := s.bound(x)
		if !ok {
			continue
		}
		if out == nil {
			out = map[expr.ColumnID]span{}
		}
		r, have := out[id]
		if !have {
			r = span{math.Inf(-1), math.Inf(1)}
		}
		out[id] = span{max(r.lo, lo), min(r.hi, hi)}
	}
	return out
}

func (s *Stats) bound(x expr.Expr) (id expr.ColumnID, lo, hi float64, ok bool) {
	cmp, isCompare := x.(*expr.Compare)
	if !isCompare {
		return 0, 0, 0, false
	}
	c, lit, op := columnAndLiteral(cmp)
	if c == nil || lit == nil || !s.Cols[c.ID].HasRange {
		return 0, 0, 0, false
	}
	n, isNumber := catalog.Number(lit.Value)
	if !isNumber {
		return 0, 0, 0, false
	}
	switch op {
	case expr.Lt, expr.Le:
		return c.ID, math.Inf(-1), n, true
	case expr.Gt, expr.Ge:
		return c.ID, n, math.Inf(1), true
	}
	return 0, 0, 0, false
}

// columnAndLiteral takes a comparison of a column, perhaps cast, with a constant apart; op is as if the column stood left.
func columnAndLiteral(x *expr.Compare) (*expr.Column, *expr.Literal, expr.CompareOp) {
	l, r, op := x.L, x.R, x.Op
	if _, ok := l.(*expr.Literal); ok {
		l, r, op = r, l, op.Flip()
	}
	lit, ok := r.(*expr.Literal)
	if !ok {
		return nil, nil, op
	}
	if c, ok := l.(*expr.Cast); ok && c.To.IsNumeric() && c.X.Type().IsNumeric() {
		l = c.X
	}
	c, ok := l.(*expr.Column)
	if !ok {
		return nil, lit, op
	}
	return c, lit, op
}

// Selectivity is the share of rows for which all conds are true.
func (s *Stats) Selectivity(conds ...expr.Expr) float64 {
	part := 1.0
	ranges := s.bounds(conds)
	for id, r := range ranges {
		part *= r.part(s.Cols[id]) * (1 - s.Cols[id].Nulls)
	}
	for _, x := range conds {
		if _, _, _, ok := s.bound(x); ok {
			continue
		}
		part *= s.one(x)
	}
	return min(max(part, 0), 1)
}

func (s *Stats) one(x expr.Expr) float64 {
	switch x := x.(type) {
	case *expr.Literal:
		if x.Value.IsTrue() {
			return 1
		}
		return 0
	case *expr.Logic:
		if x.Op == expr.And {
			return s.Selectivity(x.Args...)
		}
		none := 1.0
		for _, a := range x.Args {
			none *= 1 - s.Selectivity(expr.Conjuncts(a)...)
		}
		return 1 - none
	case *expr.Not:
		return 1 - s.one(x.X)
	case *expr.IsNull:
		part := otherPart
		if c, ok := x.X.(*expr.Column); ok {
			part = s.Cols[c.ID].Nulls
		}
		if x.Negated {
			return 1 - part
		}
		return part
	case *expr.In:
		part := float64(len(x.List)) * s.equalTo(x.X)
		part = min(part, 0.9)
		if x.Negated {
			return 1 - part
		}
		return part
	case *expr.Compare:
		return s.compare(x)
	case *expr.Call:
		switch x.Func {
		case "like", "ilike", "similar_to", "regexp_like", "~", "~*", "starts_with", "ends_with", "contains":
			return s.like(x)
		}
	case *expr.Column:
		if x.Type().Kind == sqltype.Bool {
			return 0.5
		}
	}
	return otherPart
}

// like knows that a pattern of one letter says less than one of ten.
func (s *Stats) like(x *expr.Call) float64 {
	lit, ok := x.Args[1].(*expr.Literal)
	if !ok {
		return likePart
	}
	letters := len(lit.Value.Str) - strings.Count(lit.Value.Str, "%")
	switch {
	case letters == 0:
		return 1
	case !strings.ContainsAny(lit.Value.Str, "%_") && x.Func == "like":
		return s.equalTo(x.Args[0])
	case letters < 3:
		return 0.3
	}
	return likePart
}

// equalTo is the share of rows where x is equal to some constant.
func (s *Stats) equalTo(x expr.Expr) float64 {
	c := s.Column(x)
	if _, ok := x.(*expr.Column); ok {
		return (1 - c.Nulls) / max(c.Distinct, 1)
	}
	return max(min(equalPart, 1/max(math.Sqrt(c.Distinct), 1)), 1/max(c.Distinct, 1))
}

func (s *Stats) compare(x *expr.Compare) float64 {
	c, lit, op := columnAndLiteral(x)
	equal := 0.0
	switch {
	case lit != nil && lit.Value.Null && op != expr.Distinct && op != expr.NotDistinct:
		return 0
	case c != nil:
		col := s.Cols[c.ID]
		equal = s.equalTo(c)
		if n, ok := catalog.Number(lit.Value); ok && col.HasRange && (n < col.Lo || n > col.Hi) {
			equal = 0
		}
	case lit != nil:
		other := x.L
		if _, ok := other.(*expr.Literal); ok {
			other = x.R
		}
		equal = s.equalTo(other)
	default:
		equal = 1 / max(s.Column(x.L).Distinct, s.Column(x.R).Distinct, 1)
	}
	switch op {
	case expr.Eq, expr.NotDistinct:
		return equal
	case expr.Ne, expr.Distinct:
		return 1 - equal
	}
	return rangePart
}
