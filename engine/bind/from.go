package bind

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A source is a bound part of FROM: its plan and what names it gives.
type source struct {
	node logical.Node
	rels []*relation
}

// from binds a FROM clause; its items see each other only where they are LATERAL. No items give one row without columns.
func (b *binder) from(items []ast.TableRef, outer *scope) (source, error) {
	if len(items) == 0 {
		return source{node: &logical.Values{Rows: [][]expr.Value{{}}}}, nil
	}
	var all source
	for i, it := range items {
		next, err := b.tableRef(it, outer, all)
		if err != nil {
			return source{}, err
		}
		if i == 0 {
			all = next
			continue
		}
		all = source{b.pair(logical.Inner, all.node, next.node, nil, it.At()), append(all.rels, next.rels...)}
		if err := b.room(all.rels, it.At()); err != nil {
			return source{}, err
		}
	}
	return all, checkNames(all.rels)
}

// What joins may take: tables of one FROM, and columns that all joins of a statement see together. A plan of joins is a tree as tall as
// there are joins, and every level of it lists its columns.
const (
	maxJoined  = 2_000
	maxCarried = 4_000_000
)

// room counts a join of rels against the limits.
func (b *binder) room(rels []*relation, pos sqlerr.Pos) error {
	if len(rels) > maxJoined {
		return sqlerr.Newf(sqlerr.StatementTooLarge, pos, "more than %d tables are joined", maxJoined).WithHint("join some of them in a WITH query or a table of their own")
	}
	for _, r := range rels {
		b.carried += len(r.cols)
	}
	if b.carried > maxCarried {
		return sqlerr.Newf(sqlerr.StatementTooLarge, pos, "the statement's joins see more than %d columns in all", maxCarried).
			WithHint("select the columns that are needed before joining, or join fewer tables at once")
	}
	return b.ctx.Err()
}

// pair joins left and right, which may refer to left: then it is lateral.
func (b *binder) pair(kind logical.JoinKind, left, right logical.Node, on expr.Expr, pos sqlerr.Pos) logical.Node {
	if e, ok := right.(*logical.Expand); ok && kind == logical.Inner && isUnit(e.Input) { // which may as well begin with left's rows
		c := *e
		c.Input = left
		if on == nil {
			return &c
		}
		return &logical.Filter{Input: &c, Cond: on}
	}
	have := logical.Output(left)
	for id := range logical.Outer(right) {
		if have[id] {
			a := &logical.Apply{Kind: logical.ApplyInner, Input: left, Sub: right, On: on, Pos: pos}
			if kind == logical.Left {
				a.Kind = logical.ApplyLeft
			}
			return a
		}
	}
	return &logical.Join{Kind: kind, Left: left, Right: right, On: on}
}

// tableRef binds an item of FROM. Lateral items see what stands before it.
func (b *binder) tableRef(t ast.TableRef, outer *scope, before source) (source, error) {
	if err := b.count(t.At()); err != nil {
		return source{}, err
	}
	switch t := t.(type) {
	case *ast.Table:
		return b.table(t, outer)
	case *ast.FileTable:
		tab, err := b.catalog.Path(b.ctx, t.Path)
		if err != nil {
			return source{}, sqlerr.At(err, t.Pos)
		}
		name := path.Base(filepath.ToSlash(t.Path))
		return b.scan(tab, strings.TrimSuffix(name, path.Ext(name)), t.Alias, t.Pos)
	case *ast.DerivedTable:
		sees := outer
		if t.Lateral {
			sees = outer.inner(before.rels...)
		}
		q, err := b.query(t.Query, sees)
		if err != nil {
			return source{}, err
		}
		return b.named(b.owned(q), "", t.Alias, t.Pos)
	case *ast.Join:
		return b.join(t, outer, before)
	case *ast.TableFunction:
		if name := t.Call.Name.Last().Name; name == "unnest" || name == "generate_series" || name == "range" {
			return b.tableFunction(t, name, outer, before)
		}
		return source{}, unsupported(t.Pos, "table function %q", t.Call.Name).WithHint("read from a table, a file or a subquery")
	}
	return source{}, unsupported(t.At(), "this item of FROM")
}

// owned gives a query's columns ids of their own where it hands on those of a query around it: beside these they may be NULL.
func (b *binder) owned(q bound) bound {
	outer := logical.Outer(q.node)
	if len(outer) == 0 {
		return q
	}
	to := map[expr.ColumnID]*expr.Column{}
	p := &logical.Project{Input: q.node}
	for _, c := range q.node.Columns() {
		if !outer[c.ID] {
			p.Items = append(p.Items, logical.Pass(c))
			continue
		}
		if to[c.ID] == nil {
			to[c.ID] = b.fresh(c.Name, c)
			p.Items = append(p.Items, logical.Item{Col: to[c.ID], Expr: c})
		}
	}
	if len(to) == 0 {
		return q
	}
	out := bound{p, append([]column(nil), q.cols...)}
	for i, c := range out.cols {
		if own := to[c.col.ID]; own != nil {
			out.cols[i].col = own
		}
	}
	return out
}

func (b *binder) table(t *ast.Table, outer *scope) (source, error) {
	name := t.Name.Last().Name
	if len(t.Name.Parts) == 1 {
		if c := outer.cte(name); c != nil {
			q, err := b.cteUse(c)
			if err != nil {
				return source{}, err
			}
			return b.named(q, name, t.Alias, t.Pos)
		}
	}
	if len(t.Name.Parts) == 2 && t.Name.Parts[0].Name == "information_schema" {
		tab, err := b.catalog.Table(b.ctx, "information_schema."+name)
		if err != nil {
			return source{}, sqlerr.At(err, t.Name.Pos)
		}
		return b.scan(tab, name, t.Alias, t.Pos)
	}
	for _, p := range t.Name.Parts[:len(t.Name.Parts)-1] {
		if p.Name != "public" && p.Name != "main" && p.Name != "fletch" {
			return source{}, sqlerr.Newf(sqlerr.UnknownTable, t.Name.Pos, "relation %q does not exist", t.Name.String()).
				WithHint("there is one schema, named public")
		}
	}
	tab, err := b.catalog.Table(b.ctx, name)
	if err != nil {
		if near := b.nearCTE(outer, name); near != "" && sqlerr.CodeOf(err) == sqlerr.UnknownTable {
			err = sqlerr.Newf(sqlerr.UnknownTable, t.Name.Pos, "relation %q does not exist", name).WithHint("did you mean %q?", near)
		}
		return source{}, sqlerr.At(err, t.Name.Pos)
	}
	return b.scan(tab, name, t.Alias, t.Pos)
}

func (b *binder) nearCTE(s *scope, name string) string {
	var have []string
	for ; s != nil; s = s.parent {
		for _, c := range s.ctes {
			have = append(have, c.def.Name.Name)
		}
	}
	return catalog.Near(name, have)
}

func (b *binder) scan(tab *catalog.Table, name string, alias *ast.TableAlias, pos sqlerr.Pos) (source, error) {
	prefix := ""
	shown := name
	if alias != nil {
		shown = alias.Name.Name
		prefix = shown + "."
	}
	s := &logical.Scan{Table: tab, Name: shown}
	rel := &relation{name: shown, pos: pos}
	for i, c := range tab.Columns {
		b.last++
		col := &expr.Column{ID: b.last, Name: prefix + c.Name, Typ: c.Type, Nullable: c.Nullable}
		b.names[col.ID] = shown + "." + c.Name
		s.Cols, s.Index = append(s.Cols, col), append(s.Index, i)
		rel.cols = append(rel.cols, column{name: c.Name, col: col})
	}
	if len(tab.Key) > 0 {
		var key []expr.ColumnID
		for _, at := range tab.Key {
			key = append(key, s.Cols[at].ID)
		}
		for _, c := range s.Cols {
			b.keys[c.ID] = determinant{c, key}
		}
	}
	return source{s, []*relation{rel}}, renameColumns(rel, alias)
}

// named gives a query's columns to FROM under an alias.
func (b *binder) named(q bound, name string, alias *ast.TableAlias, pos sqlerr.Pos) (source, error) {
	rel := &relation{name: name, cols: append([]column(nil), q.cols...), pos: pos}
	if alias != nil {
		rel.name = alias.Name.Name
	}
	return source{q.node, []*relation{rel}}, renameColumns(rel, alias)
}

func renameColumns(rel *relation, alias *ast.TableAlias) error {
	if alias == nil {
		return nil
	}
	if len(alias.Columns) > len(rel.cols) {
		return sqlerr.Newf(sqlerr.InvalidReference, alias.Pos, "table %q has %d columns available but %d columns specified",
			rel.name, len(rel.cols), len(alias.Columns)).WithHint("name at most %d columns", len(rel.cols))
	}
	for i, id := range alias.Columns {
		rel.cols[i].name = id.Name
	}
	return nil
}

var joinKinds = map[ast.JoinKind]logical.JoinKind{
	ast.InnerJoin: logical.Inner, ast.CrossJoin: logical.Inner, ast.LeftJoin: logical.Left, ast.RightJoin: logical.Right, ast.FullJoin: logical.Full,
	ast.LeftSemiJoin: logical.Semi, ast.LeftAntiJoin: logical.Anti, ast.RightSemiJoin: logical.RightSemi, ast.RightAntiJoin: logical.RightAnti,
}

func (b *binder) join(t *ast.Join, outer *scope, before source) (source, error) {
	left, err := b.tableRef(t.Left, outer, before)
	if err != nil {
		return source{}, err
	}
	right, err := b.tableRef(t.Right, outer, source{rels: append(append([]*relation(nil), before.rels...), left.rels...)})
	if err != nil {
		return source{}, err
	}
	rels := append(append([]*relation(nil), left.rels...), right.rels...)
	if err := b.room(rels, t.At()); err != nil {
		return source{}, err
	}
	if err := checkNames(rels); err != nil {
		return source{}, err
	}
	kind := joinKinds[t.Kind]
	var on expr.Expr
	var using []merged
	var applies []*logical.Apply
	switch {
	case t.Natural || len(t.Using) > 0:
		if using, on, err = b.using(t, left.rels, right.rels); err != nil {
			return source{}, err
		}
	case t.On != nil:
		x := &exprBinder{b: b, scope: outer.inner(rels...), clause: "JOIN conditions"}
		if kind == logical.Inner {
			x.applies = &applies // an inner join's condition is a filter on all pairs
		}
		if on, err = x.condition(t.On, "JOIN/ON"); err != nil {
			return source{}, err
		}
	}
	var node logical.Node
	if len(applies) > 0 {
		node = attach(b.pair(kind, left.node, right.node, nil, t.Right.At()), applies)
		node = &logical.Filter{Input: node, Cond: on}
	} else if kind == logical.Inner || kind == logical.Left {
		node = b.pair(kind, left.node, right.node, on, t.Right.At())
	} else {
		node = &logical.Join{Kind: kind, Left: left.node, Right: right.node, On: on}
		have := logical.Output(left.node)
		for id := range logical.Outer(right.node) {
			if have[id] {
				return source{}, sqlerr.Newf(sqlerr.InvalidReference, t.Right.At(), "invalid reference to a table of a %s from its other side", t.Kind).
					WithHint("the combining JOIN type must be INNER or LEFT for a LATERAL reference")
			}
		}
	}
	out := b.joined(kind, node, left, right)
	if len(using) > 0 {
		if out, err = b.merge(kind, out, using); err != nil {
			return source{}, err
		}
	}
	if t.Alias != nil {
		return b.named(bound{out.node, starColumns(out.rels)}, "", t.Alias, t.Pos)
	}
	return out, nil
}

// joined gives the names that a join leaves: without those of a side that it drops, and nullable where rows may lack it.
func (b *binder) joined(kind logical.JoinKind, node logical.Node, left, right source) source {
	nullable := map[expr.ColumnID]*expr.Column{}
	for _, c := range node.Columns() {
		nullable[c.ID] = c
	}
	out := source{node: node}
	add := func(rels []*relation) {
		for _, r := range rels {
			c := *r
			c.cols = append([]column(nil), r.cols...)
			for i := range c.cols {
				c.cols[i].col = nullable[c.cols[i].col.ID]
			}
			out.rels = append(out.rels, &c)
		}
	}
	if kind.HasLeft() {
		add(left.rels)
	}
	if kind.HasRight() {
		add(right.rels)
	}
	return out
}

// merged is a column of USING, of both sides.
type merged struct {
	name        string
	left, right *expr.Column
}

func (b *binder) using(t *ast.Join, left, right []*relation) ([]merged, expr.Expr, error) {
	ids := t.Using
	if t.Natural {
		have := map[string]bool{}
		for _, c := range starColumns(right) {
			have[c.name] = true
		}
		for _, c := range starColumns(left) {
			if have[c.name] {
				ids = append(ids, ast.Ident{Span: t.Span, Name: c.name})
			}
		}
	}
	var out []merged
	var conds []expr.Expr
	for _, id := range ids {
		l, err := usingColumn(id, left, "left")
		if err != nil {
			return nil, nil, err
		}
		r, err := usingColumn(id, right, "right")
		if err != nil {
			return nil, nil, err
		}
		eq, err := expr.NewCompare(expr.Eq, l, r, id.Pos)
		if err != nil {
			return nil, nil, err
		}
		out, conds = append(out, merged{id.Name, l, r}), append(conds, eq)
	}
	if len(conds) == 0 {
		return nil, nil, nil // NATURAL without a common column is a cross join
	}
	return out, expr.NewAnd(conds...), nil
}

func usingColumn(id ast.Ident, rels []*relation, side string) (*expr.Column, error) {
	var hit *expr.Column
	var have []string
	for _, c := range starColumns(rels) {
		have = append(have, c.name)
		if c.name != id.Name {
			continue
		}
		if hit != nil {
			return nil, sqlerr.Newf(sqlerr.AmbiguousColumn, id.Pos, "common column name %q appears more than once in %s table", id.Name, side).
				WithHint("join with ON and say of which table")
		}
		hit = c.col
	}
	if hit == nil {
		e := sqlerr.Newf(sqlerr.UnknownColumn, id.Pos, "column %q specified in USING clause does not exist in %s table", id.Name, side)
		if near := catalog.Near(id.Name, have); near != "" {
			return nil, e.WithHint("did you mean %q?", near)
		}
		return nil, e.WithHint("join with ON where the names differ")
	}
	return hit, nil
}

// merge puts the columns of USING, each once, before all others.
func (b *binder) merge(kind logical.JoinKind, s source, using []merged) (source, error) {
	if !kind.HasLeft() || !kind.HasRight() {
		return s, nil
	}
	first := &relation{}
	hide := map[string]bool{}
	current := map[expr.ColumnID]*expr.Column{}
	for _, c := range s.node.Columns() {
		current[c.ID] = c
	}
	var computed []logical.Item
	for _, m := range using {
		hide[m.name] = true
		l, r := current[m.left.ID], current[m.right.ID]
		col := l
		switch kind {
		case logical.Right:
			col = r
		case logical.Full:
			e, err := expr.NewCall("coalesce", []expr.Expr{l, r}, sqlerr.Pos{})
			if err != nil {
				return source{}, err
			}
			col = b.fresh(m.name, e)
			computed = append(computed, logical.Item{Col: col, Expr: e})
		}
		first.cols = append(first.cols, column{name: m.name, col: col})
	}
	if computed != nil {
		items := computed
		for _, c := range s.node.Columns() {
			items = append(items, logical.Pass(c))
		}
		s.node = &logical.Project{Input: s.node, Items: items}
	}
	for _, r := range s.rels {
		for i := range r.cols {
			if hide[r.cols[i].name] {
				r.cols[i].hidden = true
			}
		}
	}
	s.rels = append([]*relation{first}, s.rels...)
	return s, nil
}

// starColumns is what * stands for.
func starColumns(rels []*relation) []column {
	var out []column
	for _, r := range rels {
		for _, c := range r.cols {
			if !c.hidden {
				out = append(out, c)
			}
		}
	}
	return out
}
