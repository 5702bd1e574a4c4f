package bind

import (
	"slices"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// An item is an entry of a SELECT list, * spelled out.
type item struct {
	name string
	ast  ast.Expr     // nil for a column of *
	col  *expr.Column // of *
	expr expr.Expr    // once bound
	pos  sqlerr.Pos
}

// A sortKey is an ORDER BY item: an output column by position, or an expression over FROM.
type sortKey struct {
	order *ast.OrderItem
	at    int       // −1: expr
	expr  expr.Expr // over FROM
}

// A selection is a SELECT being bound.
type selection struct {
	b         *binder
	sel       *ast.Select
	scope     *scope
	node      logical.Node
	group     *grouping
	items     []item
	having    expr.Expr
	keys      []sortKey
	on        []sortKey // DISTINCT ON; an item's where expr is nil
	windows   *windowing
	qualify   expr.Expr
	ofQualify []*logical.Apply // subqueries of QUALIFY
	ofHaving  []*logical.Apply // subqueries of HAVING
	ofOutputs []*logical.Apply // of the SELECT list and ORDER BY
	rows      expansion        // lists of the SELECT list whose elements are rows
}

// selectBody binds a SELECT with its ORDER BY. With keepUnknown, bare strings and NULLs in the list keep having no type.
func (b *binder) selectBody(sel *ast.Select, order []*ast.OrderItem, outer *scope, keepUnknown bool) (bound, error) {
	src, err := b.from(sel.From, outer)
	if err != nil {
		return bound{}, err
	}
	s := &selection{b: b, sel: sel, scope: outer.inner(src.rels...), node: src.node, group: &grouping{}, windows: &windowing{}}
	s.rows.below = &s.group.rows
	keepUnknown = keepUnknown && sel.Distinct == nil && sel.GroupBy == nil
	for _, step := range []func() error{
		s.nameWindows,
		s.where,
		s.expand,
		s.groupBy,
		func() error { return s.bindItems(keepUnknown) },
		s.bindHaving,
		func() error { return s.bindOrder(order) },
		s.bindQualify,
		s.bindOn,
		s.aggregate,
		s.overWindows,
		s.expandLists,
	} {
		if err := step(); err != nil {
			return bound{}, err
		}
	}
	return s.output()
}

// nameWindows takes the WINDOW clause.
func (s *selection) nameWindows() error {
	s.windows.named = map[string]*ast.WindowSpec{}
	for _, w := range s.sel.Windows {
		if s.windows.named[w.Name.Name] != nil {
			return sqlerr.Newf(sqlerr.Windowing, w.Name.Pos, "window %q is already defined", w.Name.Name).WithHint("give it another name")
		}
		s.windows.named[w.Name.Name] = w.Spec
	}
	return nil
}

func (s *selection) where() error {
	if s.sel.Where == nil {
		return nil
	}
	var applies []*logical.Apply
	x := &exprBinder{b: s.b, scope: s.scope, clause: "WHERE", applies: &applies}
	cond, err := x.condition(s.sel.Where, "WHERE")
	if err != nil {
		return err
	}
	s.node = &logical.Filter{Input: attach(s.node, applies), Cond: cond}
	return nil
}

// expand spells out the stars of the SELECT list.
func (s *selection) expand() error {
	for _, it := range s.sel.Items {
		switch it := it.(type) {
		case *ast.SelectExpr:
			name := outputName(it.Expr)
			if it.Alias != nil {
				name = it.Alias.Name
			}
			s.items = append(s.items, item{name: name, ast: it.Expr, pos: it.Expr.At()})
		case *ast.Star:
			items, err := s.star(it)
			if err != nil {
				return err
			}
			s.items = append(s.items, items...)
		}
	}
	return nil
}

func (s *selection) star(st *ast.Star) ([]item, error) {
	var cols []column
	switch {
	case len(st.Qualifier) > 1:
		return nil, unsupported(st.Pos, "a qualified table name before *").WithHint("write table.*")
	case len(st.Qualifier) == 1:
		rel, err := s.scope.relation(st.Qualifier[0])
		if err != nil {
			return nil, err
		}
		if rel == nil {
			return nil, s.scope.noRelation(st.Qualifier[0])
		}
		cols = rel.cols
	case len(s.scope.rels) == 0:
		return nil, sqlerr.New(sqlerr.Syntax, st.Pos, "SELECT * with no tables specified is not valid").WithHint("add FROM")
	default:
		cols = starColumns(s.scope.rels)
	}
	known := names(cols)
	check := func(id ast.Ident) error {
		if !slices.Contains(known, id.Name) {
			return noColumn(id.Pos, id.Name, "", known)
		}
		return nil
	}
	exclude, replace, rename := map[string]bool{}, map[string]ast.Expr{}, map[string]string{}
	for _, id := range st.Exclude {
		if err := check(id); err != nil {
			return nil, err
		}
		if exclude[id.Name] {
			return nil, sqlerr.Newf(sqlerr.DuplicateAlias, id.Pos, "column %q is excluded more than once", id.Name).WithHint("name it once")
		}
		exclude[id.Name] = true
	}
	for _, r := range st.Replace {
		if r.Alias == nil {
			return nil, sqlerr.New(sqlerr.Syntax, r.Pos, "REPLACE needs a column name for each expression").WithHint("write REPLACE (expression AS column)")
		}
		if err := check(*r.Alias); err != nil {
			return nil, err
		}
		replace[r.Alias.Name] = r.Expr
	}
	for _, r := range st.Rename {
		if err := check(r.From); err != nil {
			return nil, err
		}
		rename[r.From.Name] = r.To.Name
	}
	var out []item
	for _, c := range cols {
		if exclude[c.name] {
			continue
		}
		it := item{name: c.name, col: c.col, pos: st.Pos}
		if e := replace[c.name]; e != nil {
			it = item{name: c.name, ast: e, pos: e.At()}
		}
		if to := rename[c.name]; to != "" {
			it.name = to
		}
		out = append(out, it)
	}
	if len(out) == 0 {
		return nil, sqlerr.New(sqlerr.Syntax, st.Pos, "the SELECT list is empty").WithHint("leave a column in it")
	}
	return out, nil
}

// bindItem binds an item, once, in x's clause.
func (s *selection) bindItem(x *exprBinder, it item) (expr.Expr, error) {
	if it.ast == nil {
		c := *it.col
		c.P = it.pos
		return &c, nil
	}
	return x.expr(it.ast)
}

func (s *selection) bindItems(keepUnknown bool) error {
	x := &exprBinder{b: s.b, scope: s.scope, clause: "SELECT", applies: &s.ofOutputs, group: s.group, windows: s.windows, rows: &s.rows}
	for i := 0; i < len(s.items); i++ {
		parts, err := s.fields(x, s.items[i])
		if err != nil {
			return err
		}
		if parts != nil {
			s.items = slices.Replace(s.items, i, i+1, parts...)
			i += len(parts) - 1
			continue
		}
		if x.named = nil; s.items[i].name != outputName(s.items[i].ast) {
			x.named, x.as = s.items[i].ast, s.items[i].name
		}
		e, err := s.bindItem(x, s.items[i])
		if err == nil && !keepUnknown {
			e, err = settle(e)
		}
		if err != nil {
			return err
		}
		s.items[i].expr = e
	}
	return nil
}

func (s *selection) bindHaving() error {
	if s.sel.Having == nil {
		return nil
	}
	x := &exprBinder{b: s.b, scope: s.scope, clause: "HAVING", applies: &s.ofHaving, group: s.group}
	var err error
	s.having, err = x.condition(s.sel.Having, "HAVING")
	return err
}

// bindOrder resolves ORDER BY: a bare name is an output column first, a number a position; anything else is an expression over
// FROM, in which output columns are known where FROM has no such name.
func (s *selection) bindOrder(order []*ast.OrderItem) error {
	x := &exprBinder{b: s.b, scope: s.scope, clause: "ORDER BY", applies: &s.ofOutputs, group: s.group, windows: s.windows, alias: s.itemNamed, rows: &s.rows}
	for _, o := range order {
		if o.All {
			for i := range s.items {
				s.keys = append(s.keys, sortKey{order: o, at: i})
			}
			continue
		}
		if n, ok, err := ordinal(o.Expr, "ORDER BY", len(s.items)); err != nil {
			return err
		} else if ok {
			s.keys = append(s.keys, sortKey{order: o, at: n})
			continue
		}
		at, err := s.outputNamed(o.Expr)
		if err != nil {
			return err
		}
		if at >= 0 {
			s.keys = append(s.keys, sortKey{order: o, at: at})
			continue
		}
		e, err := x.value(o.Expr)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, sortKey{order: o, at: -1, expr: e})
	}
	return nil
}

// itemNamed is the expression of the first item of that name, nil where there is none.
func (s *selection) itemNamed(name string) expr.Expr {
	for _, it := range s.items {
		if it.name == name {
			return it.expr
		}
	}
	return nil
}

// bindQualify binds the filter on what window functions give; names of items are known where FROM has no such name.
func (s *selection) bindQualify() error {
	if s.sel.Qualify == nil {
		return nil
	}
	x := &exprBinder{b: s.b, scope: s.scope, clause: "QUALIFY", applies: &s.ofQualify, group: s.group, windows: s.windows, alias: s.itemNamed}
	var err error
	s.qualify, err = x.condition(s.sel.Qualify, "QUALIFY")
	return err
}

// overWindows computes the windows, over the groups where there are any, and filters by QUALIFY.
func (s *selection) overWindows() error {
	if len(s.windows.windows) == 0 {
		if s.qualify != nil {
			return sqlerr.New(sqlerr.Windowing, s.sel.Qualify.At(), "QUALIFY without a window function").WithHint("use WHERE or HAVING")
		}
		return nil
	}
	s.node = s.windows.stack(s.node)
	if s.qualify != nil {
		s.node = &logical.Filter{Input: attach(s.node, s.ofQualify), Cond: s.qualify}
	}
	return nil
}

// outputNamed is the item that a bare name in ORDER BY means, −1 where it is no item's.
func (s *selection) outputNamed(e ast.Expr) (int, error) {
	ref, ok := e.(*ast.ColumnRef)
	if !ok || len(ref.Parts) != 1 {
		return -1, nil
	}
	hit := -1
	for i, it := range s.items {
		if it.name != ref.Parts[0].Name {
			continue
		}
		if hit >= 0 && !expr.Equal(s.items[hit].expr, it.expr) {
			return 0, sqlerr.Newf(sqlerr.AmbiguousColumn, e.At(), "ORDER BY %q is ambiguous", it.name).WithHint("give the columns different aliases")
		}
		if hit < 0 {
			hit = i
		}
	}
	return hit, nil
}

// output makes the SELECT list, DISTINCT and ORDER BY.
func (s *selection) output() (bound, error) {
	p := &logical.Project{Input: attach(s.node, s.ofOutputs)}
	taken := logical.ColSet{}
	add := func(name string, e expr.Expr) *expr.Column {
		c, isColumn := e.(*expr.Column)
		if !isColumn || taken[c.ID] {
			c = s.b.fresh(name, e)
		}
		taken[c.ID] = true
		p.Items = append(p.Items, logical.Item{Col: c, Expr: e})
		return c
	}
	out := bound{}
	for _, it := range s.items {
		out.cols = append(out.cols, column{name: it.name, col: add(it.name, it.expr)})
	}
	on := s.distinctOn(add)
	var keys []expr.SortOrder
	for _, k := range s.keys {
		at := k.at
		if at < 0 {
			at = slices.IndexFunc(p.Items, func(it logical.Item) bool { return expr.Equal(it.Expr, k.expr) })
		}
		if at < 0 {
			if s.sel.Distinct != nil && on == nil {
				return bound{}, sqlerr.New(sqlerr.InvalidReference, k.order.Pos, "for SELECT DISTINCT, ORDER BY expressions must appear in select list").
					WithHint("add the expression to the list, or sort by one that is there")
			}
			at = len(p.Items)
			add("sort", k.expr)
		}
		keys = append(keys, sortOrder(k.order, p.Items[at].Col))
	}
	out.node = p
	switch {
	case on != nil: // of rows that are equal in on, the first in the order of ORDER BY
		n, number := s.b.numbered(p, on, keys)
		first := &expr.Compare{Op: expr.Eq, L: number, R: expr.NewLiteral(expr.IntValue(bigint, 1), s.sel.Distinct.Pos)}
		out.node = &logical.Filter{Input: n, Cond: first}
	case s.sel.Distinct != nil:
		out.node = distinct(p)
	}
	if len(keys) > 0 {
		out.node = &logical.Sort{Input: out.node, Keys: keys, Fetch: -1}
	}
	out.node = narrow(out.node, out.cols)
	return out, nil
}

// distinctOn adds columns for the keys of DISTINCT ON: bare names of items, positions, or expressions over FROM. nil without.
func (s *selection) distinctOn(add func(string, expr.Expr) *expr.Column) []expr.Expr {
	var out []expr.Expr
	for _, k := range s.on {
		e := k.expr
		if e == nil {
			e = s.items[k.at].expr
		}
		out = append(out, add("on", e))
	}
	return out
}

// bindOn binds the keys of DISTINCT ON.
func (s *selection) bindOn() error {
	if s.sel.Distinct == nil {
		return nil
	}
	x := &exprBinder{b: s.b, scope: s.scope, clause: "DISTINCT ON", applies: &s.ofOutputs, group: s.group, windows: s.windows, alias: s.itemNamed}
	for _, e := range s.sel.Distinct.On {
		n, ok, err := ordinal(e, "DISTINCT ON", len(s.items))
		if err == nil && !ok {
			n, err = s.outputNamed(e)
			ok = n >= 0
		}
		k := sortKey{at: n}
		if err == nil && !ok {
			k.expr, err = x.value(e)
		}
		if err != nil {
			return err
		}
		s.on = append(s.on, k)
	}
	return nil
}

// outputName is what PostgreSQL calls a column without an alias.
func outputName(e ast.Expr) string {
	if n := ownName(e); n != "" {
		return n
	}
	return "?column?"
}

func ownName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.ColumnRef:
		return e.Parts[len(e.Parts)-1].Name
	case *ast.FuncCall:
		return e.Name.Last().Name
	case *ast.Cast:
		if n := ownName(e.Expr); n != "" {
			return n
		}
		return typeLabel(e.Type)
	case *ast.TypedLiteral:
		return typeLabel(e.Type)
	case *ast.Interval:
		return "interval"
	case *ast.Literal:
		if e.Kind == ast.BooleanLiteral {
			return "bool"
		}
	case *ast.Case:
		if e.Else != nil {
			if n := ownName(e.Else); n != "" {
				return n
			}
		}
		return "case"
	case *ast.Exists:
		return "exists"
	case *ast.ScalarSubquery:
		return queryName(e.Query)
	case *ast.ArraySubquery, *ast.Array:
		return "array"
	case *ast.Row:
		return "row"
	case *ast.Collate:
		return ownName(e.Expr)
	case *ast.FieldAccess:
		return e.Field.Name
	}
	return ""
}

func queryName(q *ast.Query) string {
	if s, ok := q.Body.(*ast.Select); ok && len(s.Items) == 1 {
		if it, ok := s.Items[0].(*ast.SelectExpr); ok {
			if it.Alias != nil {
				return it.Alias.Name
			}
			return ownName(it.Expr)
		}
	}
	return ""
}

// typeLabels are PostgreSQL's own names of types, which it uses for columns.
var typeLabels = map[string]string{
	"boolean": "bool", "integer": "int4", "int": "int4", "bigint": "int8", "smallint": "int2", "real": "float4", "double precision": "float8",
	"double": "float8", "decimal": "numeric", "dec": "numeric", "character varying": "varchar", "character": "bpchar", "char": "bpchar",
	"timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz", "time without time zone": "time",
}

func typeLabel(t *ast.TypeName) string {
	if n := typeLabels[t.Name]; n != "" {
		return n
	}
	return t.Name
}
