package bind

import (
	"fmt"
	"slices"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// query binds a query; its columns are exactly those of the plan, in order, and have types.
func (b *binder) query(q *ast.Query, outer *scope) (bound, error) {
	sc, err := b.with(q.With, outer)
	if err != nil {
		return bound{}, err
	}
	var out bound
	if s, ok := q.Body.(*ast.Select); ok {
		out, err = b.selectBody(s, q.OrderBy, sc, false)
	} else if out, err = b.body(q.Body, sc); err == nil {
		if out, err = b.settleColumns(out); err == nil && q.OrderBy != nil {
			out, err = b.orderRows(out, q.OrderBy, sc)
		}
	}
	if err != nil {
		return bound{}, err
	}
	return b.limit(out, q, sc)
}

// with gives a scope in which the queries of w have their names; each sees those before it.
func (b *binder) with(w *ast.With, outer *scope) (*scope, error) {
	if w == nil {
		return outer, nil
	}
	sc := outer
	seen := map[string]bool{}
	for _, c := range w.CTEs {
		if seen[c.Name.Name] {
			return nil, sqlerr.Newf(sqlerr.DuplicateAlias, c.Name.Pos, "WITH query name %q specified more than once", c.Name.Name).
				WithHint("give one of them another name")
		}
		seen[c.Name.Name] = true
		next := sc.inner()
		next.ctes = []*cte{{def: c, scope: sc, recursive: w.Recursive && mentions(c.Query, c.Name.Name)}}
		// One that is never named still has to be right.
		checked, err := b.cteUse(next.ctes[0])
		if err != nil {
			return nil, err
		}
		if next.ctes[0].checked = &checked; once(c, checked.node) {
			if checked, err = b.settleColumns(checked); err != nil {
				return nil, err
			}
			b.recursions++
			s := &logical.Shared{ID: b.recursions, Name: c.Name.Name, Input: checked.node}
			for _, col := range checked.cols {
				s.From = append(s.From, col.col)
			}
			next.ctes[0].checked, next.ctes[0].shared = &checked, s
		}
		sc = next
	}
	return sc, nil
}

// once tells whether a WITH query is to be computed once however often it is named: it says so, or would give other rows each time.
func once(def *ast.CTE, n logical.Node) bool {
	switch def.Materialized {
	case ast.Materialized:
	case ast.NotMaterialized:
		return false
	default:
		volatile := false
		logical.Walk(n, func(n logical.Node) bool {
			for _, e := range logical.Exprs(n) {
				volatile = volatile || expr.IsVolatile(e)
			}
			return !volatile
		})
		if !volatile {
			return false
		}
	}
	return len(logical.Outer(n)) == 0
}

func mentions(q ast.Node, name string) bool {
	hit := false
	ast.Walk(q, func(n ast.Node) bool {
		if t, ok := n.(*ast.Table); ok && len(t.Name.Parts) == 1 && t.Name.Parts[0].Name == name {
			hit = true
		}
		return !hit
	})
	return hit
}

// cteUse binds a WITH query for one place that names it.
func (b *binder) cteUse(c *cte) (bound, error) {
	if c.shared != nil {
		s := *c.shared
		s.Cols = make([]*expr.Column, len(s.From))
		out := bound{node: &s, cols: append([]column(nil), c.checked.cols...)}
		for i, like := range s.From {
			s.Cols[i] = b.fresh(like.Name, like)
			out.cols[i].col = s.Cols[i]
		}
		return out, nil
	}
	if c.checked != nil { // no column may have two places: the plan made to check the query serves one use only
		out := *c.checked
		c.checked = nil
		return out, nil
	}
	if c.working != nil {
		return b.workingUse(c.working), nil
	}
	if c.recursive {
		return b.recursive(c)
	}
	out, err := b.query(c.def.Query, c.scope)
	if err != nil {
		return bound{}, err
	}
	return renameCTE(out, c.def)
}

// renameCTE gives a WITH query's columns the names that its head lists.
func renameCTE(out bound, def *ast.CTE) (bound, error) {
	out.cols = append([]column(nil), out.cols...)
	if len(def.Columns) > len(out.cols) {
		return bound{}, sqlerr.Newf(sqlerr.InvalidReference, def.Pos, "WITH query %q has %d columns available but %d columns specified",
			def.Name.Name, len(out.cols), len(def.Columns)).WithHint("name at most %d columns", len(out.cols))
	}
	for i, id := range def.Columns {
		out.cols[i].name = id.Name
	}
	return out, nil
}

// body binds a part of a set operation: bare strings and NULLs of a SELECT list may still be without a type.
func (b *binder) body(q ast.QueryBody, sc *scope) (bound, error) {
	if err := b.count(q.At()); err != nil {
		return bound{}, err
	}
	switch q := q.(type) {
	case *ast.Query:
		return b.query(q, sc)
	case *ast.Select:
		return b.selectBody(q, nil, sc, true)
	case *ast.SetOperation:
		return b.setOperation(q, sc)
	case *ast.Values:
		return b.values(q, sc)
	case *ast.TableQuery:
		src, err := b.table(&ast.Table{Span: q.Span, Name: q.Name}, sc)
		if err != nil {
			return bound{}, err
		}
		return bound{src.node, src.rels[0].cols}, nil
	}
	return bound{}, unsupported(q.At(), "this form of query")
}

// setOperation binds UNION, INTERSECT and EXCEPT. The last two are joins in which NULL equals NULL.
func (b *binder) setOperation(q *ast.SetOperation, sc *scope) (bound, error) {
	l, err := b.body(q.Left, sc)
	if err != nil {
		return bound{}, err
	}
	r, err := b.body(q.Right, sc)
	if err != nil {
		return bound{}, err
	}
	if q.ByName {
		if l, r, err = b.byName(l, r); err != nil {
			return bound{}, err
		}
	}
	if len(l.cols) != len(r.cols) {
		return bound{}, sqlerr.Newf(sqlerr.Syntax, q.Right.At(), "each %s query must have the same number of columns", q.Op).
			WithHint("the first has %d, this one %d", len(l.cols), len(r.cols))
	}
	types := make([]sqltype.Type, len(l.cols))
	for i := range types {
		lt, rt := l.cols[i].col.Typ, r.cols[i].col.Typ
		t, ok := expr.CommonType(lt, rt)
		if !ok {
			return bound{}, sqlerr.Newf(sqlerr.DatatypeMismatch, q.Right.At(), "%s types %s and %s cannot be matched", q.Op, lt, rt).
				WithHint("column %d: cast one of them", i+1)
		}
		if t.Kind == sqltype.Null {
			t = text // two bare literals: nothing further out can give them a type any more
		}
		types[i] = t
	}
	if l, err = b.coerceColumns(l, types); err != nil {
		return bound{}, err
	}
	if r, err = b.coerceColumns(r, types); err != nil {
		return bound{}, err
	}
	if q.Op == ast.Union {
		return b.union([]bound{l, r}, q.All), nil
	}
	conds := make([]expr.Expr, len(l.cols), len(l.cols)+1)
	for i := range conds {
		conds[i] = &expr.Compare{Op: expr.NotDistinct, L: l.cols[i].col, R: r.cols[i].col}
	}
	kind := logical.Semi
	if q.Op == ast.Except {
		kind = logical.Anti
	}
	left, right := distinct(l.node), r.node
	if q.All { // the n-th of equal rows needs an n-th on the other side
		var ln, rn *expr.Column
		left, ln = b.numbered(l.node, passColumns(l.node), nil)
		right, rn = b.numbered(r.node, passColumns(r.node), nil)
		conds = append(conds, &expr.Compare{Op: expr.Eq, L: ln, R: rn})
	}
	j := &logical.Join{Kind: kind, Left: left, Right: right, On: expr.NewAnd(conds...)}
	return bound{narrow(j, l.cols), l.cols}, nil
}

func passColumns(n logical.Node) []expr.Expr {
	var out []expr.Expr
	for _, c := range n.Columns() {
		out = append(out, c)
	}
	return out
}

// numbered is n with the number, from 1, of each row among those that are equal in partition, in that order.
func (b *binder) numbered(n logical.Node, partition []expr.Expr, order []expr.SortOrder) (logical.Node, *expr.Column) {
	b.last++
	col := &expr.Column{ID: b.last, Name: "n", Typ: bigint}
	return &logical.Window{Input: n, Partition: partition, Order: order, Calls: []logical.WindowCall{{
		Col: col, Aggregate: expr.Aggregate{Func: "row_number", Typ: bigint}, Frame: wholePartition,
	}}}, col
}

// byName puts the columns of both sides into one order by their names; one that only one side has is NULL on the other.
func (b *binder) byName(l, r bound) (left, right bound, err error) {
	order := names(l.cols)
	for _, n := range names(r.cols) {
		if !slices.Contains(order, n) {
			order = append(order, n)
		}
	}
	arrange := func(in bound) bound {
		p := &logical.Project{Input: in.node}
		out := bound{node: p}
		for _, n := range order {
			at := slices.IndexFunc(in.cols, func(c column) bool { return c.name == n })
			it := logical.Item{}
			if at >= 0 {
				it = logical.Pass(in.cols[at].col)
			} else {
				null := expr.Null(sqltype.Of(sqltype.Null), sqlerr.Pos{})
				it = logical.Item{Col: b.fresh(n, null), Expr: null}
			}
			p.Items = append(p.Items, it)
			out.cols = append(out.cols, column{name: n, col: it.Col})
		}
		return out
	}
	for _, in := range []bound{l, r} {
		if len(names(in.cols)) != len(in.cols) {
			return l, r, sqlerr.New(sqlerr.AmbiguousColumn, sqlerr.Pos{}, "columns match by name, and a name stands twice").WithHint("give the columns different names")
		}
	}
	if l, err = b.settleColumns(l); err != nil {
		return l, r, err
	}
	if r, err = b.settleColumns(r); err != nil {
		return l, r, err
	}
	return arrange(l), arrange(r), nil
}

func (b *binder) union(parts []bound, all bool) bound {
	u := &logical.Union{}
	out := bound{node: u}
	for _, p := range parts {
		// A left-deep chain of UNION ALLs is one union.
		if in, ok := p.node.(*logical.Union); ok && all && len(u.Inputs) == 0 {
			u.Inputs = append(u.Inputs, in.Inputs...)
			continue
		}
		u.Inputs = append(u.Inputs, p.node)
	}
	for i, c := range parts[0].cols {
		b.last++
		col := &expr.Column{ID: b.last, Name: c.name, Typ: c.col.Typ}
		for _, p := range parts {
			col.Nullable = col.Nullable || p.cols[i].col.Nullable
		}
		u.Cols = append(u.Cols, col)
		out.cols = append(out.cols, column{name: c.name, col: col})
	}
	if !all {
		out.node = distinct(u)
	}
	return out
}

func distinct(n logical.Node) logical.Node {
	a := &logical.Aggregate{Input: n}
	for _, c := range n.Columns() {
		a.Groups = append(a.Groups, logical.Pass(c))
	}
	return a
}

// settleColumns gives a type to every column.
func (b *binder) settleColumns(in bound) (bound, error) {
	types := make([]sqltype.Type, len(in.cols))
	for i, c := range in.cols {
		if types[i] = c.col.Typ; types[i].Kind == sqltype.Null {
			types[i] = text
		}
	}
	return b.coerceColumns(in, types)
}

// coerceColumns brings columns to types, which they become without asking. A literal of a SELECT list that has no type yet is read
// as its new one.
func (b *binder) coerceColumns(in bound, types []sqltype.Type) (bound, error) {
	same := true
	for i, c := range in.cols {
		same = same && c.col.Typ.Equal(types[i])
	}
	if same {
		return in, nil
	}
	p := &logical.Project{Input: in.node}
	below, isProject := in.node.(*logical.Project)
	if isProject {
		p.Input = below.Input
	}
	out := bound{node: p}
	for i, c := range in.cols {
		it := logical.Pass(c.col)
		if isProject {
			it = below.Items[i]
		}
		if !c.col.Typ.Equal(types[i]) {
			e, err := expr.Coerce(it.Expr, types[i], expr.Implicit)
			if err != nil {
				return bound{}, err
			}
			it = logical.Item{Col: b.fresh(c.name, e), Expr: e}
		}
		p.Items = append(p.Items, it)
		out.cols = append(out.cols, column{name: c.name, col: it.Col})
	}
	return out, nil
}

// orderRows sorts rows that are no SELECT's by their own columns.
func (b *binder) orderRows(in bound, order []*ast.OrderItem, sc *scope) (bound, error) {
	var applies []*logical.Apply
	x := &exprBinder{b: b, scope: sc.inner(&relation{cols: in.cols}), clause: "ORDER BY", applies: &applies}
	var keys []expr.SortOrder
	for _, o := range order {
		if o.All {
			for _, c := range in.cols {
				keys = append(keys, sortOrder(o, c.col))
			}
			continue
		}
		if n, ok, err := ordinal(o.Expr, "ORDER BY", len(in.cols)); err != nil {
			return bound{}, err
		} else if ok {
			keys = append(keys, sortOrder(o, in.cols[n].col))
			continue
		}
		e, err := x.value(o.Expr)
		if err != nil {
			return bound{}, err
		}
		keys = append(keys, sortOrder(o, e))
	}
	sorted := &logical.Sort{Input: attach(in.node, applies), Keys: keys, Fetch: -1}
	return bound{narrow(sorted, in.cols), in.cols}, nil
}

// narrow passes only cols, n itself where it has no other.
func narrow(n logical.Node, cols []column) logical.Node {
	if len(n.Columns()) == len(cols) {
		return n
	}
	p := &logical.Project{Input: n}
	for _, c := range cols {
		p.Items = append(p.Items, logical.Pass(c.col))
	}
	return p
}

// sortOrder is o over e, with PostgreSQL's default: NULL counts as greatest.
func sortOrder(o *ast.OrderItem, e expr.Expr) expr.SortOrder {
	k := expr.SortOrder{Expr: e, Desc: o.Desc, NullsFirst: o.Desc}
	if o.Nulls != ast.NullsDefault {
		k.NullsFirst = o.Nulls == ast.NullsFirst
	}
	return k
}

// ordinal tells whether e is a position in a list of n items, and gives it from 0.
func ordinal(e ast.Expr, clause string, n int) (at int, ok bool, err error) {
	l, isLiteral := e.(*ast.Literal)
	if !isLiteral {
		return 0, false, nil
	}
	if l.Kind != ast.IntegerLiteral {
		return 0, false, sqlerr.Newf(sqlerr.Syntax, l.Pos, "non-integer constant in %s", clause).WithHint("name a column or its position")
	}
	if _, err := fmt.Sscan(l.Value, &at); err != nil || at < 1 || at > n {
		return 0, false, sqlerr.Newf(sqlerr.InvalidReference, l.Pos, "%s position %s is not in select list", clause, l.Value).
			WithHint("the list has %d", n)
	}
	return at - 1, true, nil
}

func (b *binder) limit(in bound, q *ast.Query, sc *scope) (bound, error) {
	if q.Limit == nil && q.Offset == nil {
		return in, nil
	}
	if q.WithTies {
		return bound{}, unsupported(q.Limit.At(), "WITH TIES")
	}
	l := &logical.Limit{Input: in.node, Fetch: -1}
	for _, part := range []struct {
		e    ast.Expr
		name string
		n    *int64
	}{{q.Limit, "LIMIT", &l.Fetch}, {q.Offset, "OFFSET", &l.Offset}} {
		if part.e == nil {
			continue
		}
		n, null, err := b.constant(part.e, part.name, sc)
		if err != nil {
			return bound{}, err
		}
		if !null {
			*part.n = n
		}
	}
	return bound{l, in.cols}, nil
}

// constant is the number that a LIMIT or OFFSET stands for.
func (b *binder) constant(e ast.Expr, clause string, sc *scope) (n int64, null bool, err error) {
	x := &exprBinder{b: b, scope: &scope{}, clause: clause}
	v, err := x.expr(e)
	if err != nil {
		if sqlerr.CodeOf(err) == sqlerr.UnknownColumn || sqlerr.CodeOf(err) == sqlerr.UnknownTable {
			err = sqlerr.Newf(sqlerr.InvalidReference, e.At(), "argument of %s must not contain variables", clause).WithHint("write a number")
		}
		return 0, false, err
	}
	if v, err = expr.Coerce(fold(v), bigint, expr.Assignment); err != nil {
		return 0, false, err
	}
	l, ok := fold(v).(*expr.Literal)
	if c, is := fold(v).(*expr.Cast); is {
		if _, is := c.X.(*expr.Literal); is { // a constant that the cast fails for
			return 0, false, sqlerr.Newf(sqlerr.OutOfRange, e.At(), "%s is out of range for type bigint", clause).WithHint("leave the clause out: it would keep every row")
		}
	}
	if !ok {
		return 0, false, unsupported(e.At(), "a %s that is not constant", clause).WithHint("write a number")
	}
	if !l.Value.Null && l.Value.Int < 0 {
		return 0, false, sqlerr.Newf(sqlerr.InvalidParameter, e.At(), "%s must not be negative", clause).WithHint("write 0 or more")
	}
	return l.Value.Int, l.Value.Null, nil
}

// values binds VALUES. Rows of constants are a table of them; others are computed one by one.
func (b *binder) values(q *ast.Values, sc *scope) (bound, error) {
	var applies []*logical.Apply
	x := &exprBinder{b: b, scope: sc, clause: "VALUES", applies: &applies}
	rows := make([][]expr.Expr, len(q.Rows))
	var types []sqltype.Type
	for i, r := range q.Rows {
		row, err := x.exprs(r.Items)
		if err != nil {
			return bound{}, err
		}
		if i == 0 {
			types = make([]sqltype.Type, len(row))
			for j := range types {
				types[j] = sqltype.Of(sqltype.Null)
			}
		}
		if len(row) != len(types) {
			return bound{}, sqlerr.New(sqlerr.Syntax, r.Pos, "VALUES lists must all be the same length").WithHint("the first has %d entries, this one %d", len(types), len(row))
		}
		for j, e := range row {
			t, ok := expr.CommonType(types[j], e.Type())
			if !ok {
				return bound{}, sqlerr.Newf(sqlerr.DatatypeMismatch, e.Pos(), "VALUES types %s and %s cannot be matched", types[j], e.Type()).
					WithHint("cast one of them")
			}
			types[j] = t
		}
		rows[i] = row
	}
	v := &logical.Values{}
	out := bound{node: v}
	for j, t := range types {
		if t.Kind == sqltype.Null {
			types[j] = text
		}
		b.last++
		col := &expr.Column{ID: b.last, Name: fmt.Sprintf("column%d", j+1), Typ: types[j]}
		v.Cols = append(v.Cols, col)
		out.cols = append(out.cols, column{name: col.Name, col: col})
	}
	constant := len(applies) == 0
	for _, row := range rows {
		vals := make([]expr.Value, len(row))
		for j, e := range row {
			e, err := expr.Coerce(e, types[j], expr.Implicit)
			if err != nil {
				return bound{}, err
			}
			e = fold(e)
			row[j] = e
			if l, ok := e.(*expr.Literal); ok {
				vals[j] = l.Value
			} else {
				constant = false
			}
			v.Cols[j].Nullable = v.Cols[j].Nullable || nullable(e)
		}
		v.Rows = append(v.Rows, vals)
	}
	if constant {
		return out, nil
	}
	return b.valuesByRow(out, rows, applies)
}

func (b *binder) valuesByRow(out bound, rows [][]expr.Expr, applies []*logical.Apply) (bound, error) {
	parts := make([]bound, len(rows))
	for i, row := range rows {
		p := &logical.Project{Input: attach(&logical.Values{Rows: [][]expr.Value{{}}}, applies)}
		for j, e := range row {
			col := b.fresh(out.cols[j].name, e)
			p.Items = append(p.Items, logical.Item{Col: col, Expr: e})
			parts[i].cols = append(parts[i].cols, column{name: col.Name, col: col})
		}
		parts[i].node = p
	}
	if len(parts) > 1 && len(applies) > 0 {
		return bound{}, unsupported(applies[0].Pos, "a subquery in VALUES of several rows").WithHint("use SELECT … UNION ALL")
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return b.union(parts, true), nil
}
