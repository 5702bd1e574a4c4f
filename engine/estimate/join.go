package estimate

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// JoinRows is how many rows are expected of a join of l and r on conds, of that kind.
func JoinRows(kind logical.JoinKind, l, r *Stats, conds []expr.Expr) float64 {
	switch kind {
	case logical.RightSemi, logical.RightAnti:
		l, r = r, l
		kind, _ = kind.Swap()
	}
	part, matched := joinPart(l, r, conds)
	inner := l.Rows * r.Rows * part
	switch kind {
	case logical.Left:
		return max(inner, l.Rows)
	case logical.Right:
		return max(inner, r.Rows)
	case logical.Full:
		return max(inner, l.Rows, r.Rows)
	case logical.Semi:
		return l.Rows * matched
	case logical.Anti:
		return l.Rows * max(1-matched, 0.1)
	case logical.Mark:
		return l.Rows
	}
	return inner
}

// Join is what is expected of a join of l and r on conds, of that kind; mark is the column of Mark.
func Join(kind logical.JoinKind, l, r *Stats, conds []expr.Expr, mark *expr.Column) *Stats {
	rows := JoinRows(kind, l, r, conds)
	switch kind {
	case logical.Semi, logical.Anti:
		return l.thin(rows)
	case logical.RightSemi, logical.RightAnti:
		return r.thin(rows)
	case logical.Mark:
		out := l.clone()
		out.Cols[mark.ID] = Column{Distinct: 2, Domain: 2}
		return out
	}
	out := l.thin(min(rows, l.Rows))
	for id, c := range r.thin(min(rows, r.Rows)).Cols {
		out.Cols[id] = c
	}
	out.Rows, out.Base = rows, max(l.Base, r.Base)
	return out
}

// joinPart is the share of all pairs that conds let pass, and the share of l's rows that have a partner.
//
// Keys of several columns are one key: columns of a foreign key are anything but independent. Where the combinations of
// one side are bounded by its rows, it is taken for the side in which the key is unique.
func joinPart(l, r *Stats, conds []expr.Expr) (part, matched float64) {
	part, matched = 1, 1
	lKey, rKey, keys := 1.0, 1.0, 0
	for _, x := range conds {
		a, b, ok := sides(l, r, x)
		if !ok {
			p := beside(l, r, x).Selectivity(x)
			part *= p
			matched *= max(p, 0.5)
			continue
		}
		keys++
		lc, rc := l.Column(a), r.Column(b)
		lKey *= max(lc.Domain, 1)
		rKey *= max(rc.Domain, 1)
		matched *= min(1, max(rc.Distinct, 1)/max(lc.Domain, 1))
		part *= (1 - lc.Nulls) * (1 - rc.Nulls)
	}
	switch {
	case keys == 1:
		part /= max(lKey, rKey)
	case keys > 1:
		// A side's combinations cannot be more than the rows it had, which are at least its rows now.
		lCut, rCut := min(lKey, max(l.Base, 1)), min(rKey, max(r.Base, 1))
		switch {
		case lCut < lKey && rCut < rKey:
			part /= min(lCut, rCut)
		case lCut < lKey:
			part /= max(lCut, 1)
		case rCut < rKey:
			part /= max(rCut, 1)
		default:
			part /= max(lKey, rKey)
		}
		matched = min(1, max(matched, min(r.Rows/max(rCut, 1), 1)*otherPart))
	}
	return part, matched
}

// beside is what is expected of all pairs, as far as x reads their columns.
func beside(l, r *Stats, x expr.Expr) *Stats {
	both := &Stats{Rows: l.Rows * r.Rows, Cols: map[expr.ColumnID]Column{}}
	expr.Walk(x, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			if col, has := r.Cols[c.ID]; has {
				both.Cols[c.ID] = col
			} else if col, has := l.Cols[c.ID]; has {
				both.Cols[c.ID] = col
			}
		}
		return true
	})
	return both
}

// sides takes an equality apart into what it reads of l and of r.
func sides(l, r *Stats, x expr.Expr) (a, b expr.Expr, ok bool) {
	c, isCompare := x.(*expr.Compare)
	if !isCompare || c.Op != expr.Eq && c.Op != expr.NotDistinct {
		return nil, nil, false
	}
	switch {
	case l.has(c.L) && r.has(c.R):
		return c.L, c.R, true
	case l.has(c.R) && r.has(c.L):
		return c.R, c.L, true
	}
	return nil, nil, false
}

func (s *Stats) has(x expr.Expr) bool {
	any, all := false, true
	expr.Walk(x, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			_, has := s.Cols[c.ID]
			any, all = true, all && has
		}
		return all
	})
	return any && all
}
