package logical

import (
	"testing"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

func column(id expr.ColumnID) *expr.Column {
	return &expr.Column{ID: id, Typ: sqltype.Of(sqltype.Int64)}
}

func scan(ids ...expr.ColumnID) *Scan {
	s := &Scan{Table: &catalog.Table{}}
	for i, id := range ids {
		s.Cols, s.Index = append(s.Cols, column(id)), append(s.Index, i)
	}
	return s
}

func equal(a, b expr.ColumnID) expr.Expr {
	return &expr.Compare{Op: expr.Eq, L: column(a), R: column(b)}
}

// correlated is a subquery over column 1, which reads columns 7 and 8 of queries around it.
func correlated() Node {
	inner := &Filter{Input: scan(3), Cond: expr.NewAnd(equal(3, 1), equal(3, 7))}
	return &Project{
		Input: &Apply{Kind: ApplyScalar, Input: &Filter{Input: scan(1, 2), Cond: equal(2, 8)}, Sub: inner, Col: column(4)},
		Items: []Item{Pass(column(1)), {column(5), equal(4, 2)}},
	}
}

func TestOuter(t *testing.T) {
	got := Outer(correlated())
	if len(got) != 2 || !got[7] || !got[8] {
		t.Errorf("Outer = %v", got)
	}
}

func TestClone(t *testing.T) {
	n := correlated()
	next := expr.ColumnID(100)
	c, to := Clone(n, func(like *expr.Column) *expr.Column {
		next++
		d := *like
		d.ID = next
		return &d
	})
	seen := map[expr.ColumnID]bool{}
	Walk(n, func(n Node) bool {
		for id := range Output(n) {
			seen[id] = true
		}
		return true
	})
	Walk(c, func(n Node) bool {
		for id := range Output(n) {
			if seen[id] {
				t.Errorf("%T still gives column %d", n, id)
			}
		}
		return true
	})
	if got := Outer(c); len(got) != 2 || !got[7] || !got[8] {
		t.Errorf("the copy reads %v of outer queries", got)
	}
	if cols := c.Columns(); cols[0].ID != to[1].ID || cols[1].ID != to[5].ID {
		t.Errorf("columns %v", cols)
	}
}

func TestJoinColumns(t *testing.T) {
	for _, tc := range []struct {
		kind     JoinKind
		ids      []expr.ColumnID
		nullable []bool
	}{
		{Inner, []expr.ColumnID{1, 2}, []bool{false, false}},
		{Left, []expr.ColumnID{1, 2}, []bool{false, true}},
		{Right, []expr.ColumnID{1, 2}, []bool{true, false}},
		{Full, []expr.ColumnID{1, 2}, []bool{true, true}},
		{Semi, []expr.ColumnID{1}, []bool{false}},
		{Anti, []expr.ColumnID{1}, []bool{false}},
		{RightSemi, []expr.ColumnID{2}, []bool{false}},
		{RightAnti, []expr.ColumnID{2}, []bool{false}},
		{Mark, []expr.ColumnID{1, 9}, []bool{false, false}},
	} {
		j := &Join{Kind: tc.kind, Left: scan(1), Right: scan(2), MarkCol: column(9)}
		cols := j.Columns()
		if len(cols) != len(tc.ids) {
			t.Errorf("%s: %d columns", tc.kind, len(cols))
			continue
		}
		for i, c := range cols {
			if c.ID != tc.ids[i] || c.Nullable != tc.nullable[i] {
				t.Errorf("%s: column %d is %+v", tc.kind, i, c)
			}
		}
		if k, ok := tc.kind.Swap(); ok {
			if back, _ := k.Swap(); back != tc.kind {
				t.Errorf("%s swapped twice is %s", tc.kind, back)
			}
		}
	}
}
