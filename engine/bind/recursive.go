package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// recursive binds a WITH query that names itself: a UNION of a half that does not and one that does. Its columns have the names and
// types of the first.
func (b *binder) recursive(c *cte) (bound, error) {
	name, q := c.def.Name.Name, c.def.Query
	u, ok := q.Body.(*ast.SetOperation)
	if !ok || u.Op != ast.Union || u.ByName {
		return bound{}, sqlerr.Newf(sqlerr.InvalidReference, c.def.Pos, "recursive query %q does not have the form non-recursive-term UNION [ALL] recursive-term", name).
			WithHint("write the rows to begin with, UNION ALL, and the query that makes further rows of %q", name)
	}
	if mentions(u.Left, name) {
		return bound{}, sqlerr.Newf(sqlerr.InvalidReference, u.Left.At(), "recursive reference to query %q must not appear within its non-recursive term", name).
			WithHint("the part before UNION gives the first rows; %q is to stand in the part after it only", name)
	}
	for _, e := range []ast.Expr{q.Limit, q.Offset} {
		if e != nil {
			return bound{}, unsupported(e.At(), "LIMIT in a recursive query").WithHint("limit the query that reads %q", name)
		}
	}
	if len(q.OrderBy) > 0 {
		return bound{}, unsupported(q.OrderBy[0].At(), "ORDER BY in a recursive query").WithHint("order the query that reads %q", name)
	}
	sc, err := b.with(q.With, c.scope)
	if err != nil {
		return bound{}, err
	}
	base, err := b.body(u.Left, sc)
	if err != nil {
		return bound{}, err
	}
	if base, err = b.settleColumns(base); err != nil {
		return bound{}, err
	}
	if base, err = renameCTE(base, c.def); err != nil {
		return bound{}, err
	}
	b.recursions++
	rec := &logical.Recursive{ID: b.recursions, Name: name, All: u.All}
	work := &logical.Working{ID: rec.ID, Name: name}
	out := bound{node: rec}
	for _, col := range base.cols {
		own := b.recursiveColumn(col)
		rec.Cols, work.Cols = append(rec.Cols, own), append(work.Cols, b.recursiveColumn(col))
		out.cols = append(out.cols, column{name: col.name, col: own})
	}
	inner := sc.inner()
	inner.ctes = []*cte{{def: c.def, scope: sc, working: work}}
	step, err := b.body(u.Right, inner)
	if err != nil {
		return bound{}, err
	}
	if step, err = b.stepColumns(step, base, u.Right.At(), name); err != nil {
		return bound{}, err
	}
	rec.Base, rec.Step = narrow(base.node, base.cols), narrow(step.node, step.cols)
	if len(logical.Outer(rec)) > 0 {
		return bound{}, unsupported(c.def.Pos, "a recursive query that refers to a query around it").WithHint("put it into the WITH of the whole statement")
	}
	return out, nil
}

// recursiveColumn is a column like one of the first half; the second may make it NULL.
func (b *binder) recursiveColumn(like column) *expr.Column {
	b.last++
	return &expr.Column{ID: b.last, Name: like.name, Typ: like.col.Typ, Nullable: true}
}

// stepColumns brings the second half's columns to the types of the first. What grows from round to round has no type that it ends
// with, so only integers may be narrowed.
func (b *binder) stepColumns(step, base bound, pos sqlerr.Pos, name string) (bound, error) {
	if len(step.cols) != len(base.cols) {
		return bound{}, sqlerr.New(sqlerr.Syntax, pos, "each UNION query must have the same number of columns").
			WithHint("the first has %d, this one %d", len(base.cols), len(step.cols))
	}
	types := make([]sqltype.Type, len(step.cols))
	for i, c := range step.cols { // a bare string is of the type that its column has
		if types[i] = c.col.Typ; types[i].Kind == sqltype.Null {
			types[i] = base.cols[i].col.Typ
		}
	}
	step, err := b.coerceColumns(step, types)
	if err != nil {
		return bound{}, err
	}
	p := &logical.Project{Input: step.node}
	out, same := bound{node: p}, true
	for i, c := range step.cols {
		want, have := base.cols[i].col.Typ, c.col.Typ
		it := logical.Pass(c.col)
		if !have.Equal(want) {
			same = false
			common, ok := expr.CommonType(want, have)
			if !ok || !common.Equal(want) && !(isInteger(want) && isInteger(have)) {
				return bound{}, sqlerr.Newf(sqlerr.DatatypeMismatch, pos, "recursive query %q column %d has type %s in non-recursive term but type %s overall",
					name, i+1, want, have).WithHint("cast the output of the non-recursive term to the type that both can have")
			}
			e, err := expr.Coerce(c.col, want, expr.Assignment)
			if err != nil {
				return bound{}, err
			}
			it = logical.Item{Col: b.fresh(c.name, e), Expr: e}
		}
		p.Items = append(p.Items, it)
		out.cols = append(out.cols, column{name: c.name, col: it.Col})
	}
	if same {
		return step, nil
	}
	return out, nil
}

func isInteger(t sqltype.Type) bool {
	switch t.Kind {
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64:
		return true
	}
	return false
}

// workingUse is the rows of the last round, for one place that names the query within itself.
func (b *binder) workingUse(w *logical.Working) bound {
	n := &logical.Working{ID: w.ID, Name: w.Name}
	out := bound{node: n}
	for _, c := range w.Cols {
		own := b.recursiveColumn(column{name: c.Name, col: c})
		n.Cols = append(n.Cols, own)
		out.cols = append(out.cols, column{name: c.Name, col: own})
	}
	return out
}
