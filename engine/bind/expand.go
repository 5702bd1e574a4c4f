package bind

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// tableFunction binds a function of FROM that gives rows: the elements of lists, side by side. A series is the list of that name.
func (b *binder) tableFunction(t *ast.TableFunction, name string, outer *scope, before source) (source, error) {
	var applies []*logical.Apply
	x := &exprBinder{b: b, scope: outer.inner(before.rels...), clause: "functions in FROM", applies: &applies}
	var lists []expr.Expr
	if name == "unnest" {
		args, err := x.args(t.Call)
		if err != nil {
			return source{}, err
		}
		if len(args) == 0 {
			return source{}, sqlerr.New(sqlerr.UnknownFunction, t.Call.Pos, "function unnest() does not exist").WithHint("give it a list")
		}
		lists = args
	} else {
		list, err := x.expr(t.Call)
		if err != nil {
			return source{}, err
		}
		lists = []expr.Expr{list}
	}
	e := &logical.Expand{Input: attach(&logical.Values{Rows: [][]expr.Value{{}}}, applies)}
	rel := &relation{name: name, pos: t.Pos}
	if t.Alias != nil {
		rel.name = t.Alias.Name.Name
	}
	if len(lists) == 1 && lists[0].Type().Kind == sqltype.Struct && !t.Ordinality { // one row of its fields
		p := &logical.Project{Input: e.Input}
		for _, f := range lists[0].Type().Fields {
			v, err := expr.NewField(lists[0], f.Name, t.Pos)
			if err == nil {
				v, err = settle(v)
			}
			if err != nil {
				return source{}, err
			}
			c := b.fresh(f.Name, v)
			p.Items = append(p.Items, logical.Item{Col: c, Expr: v})
			rel.cols = append(rel.cols, column{name: f.Name, col: c})
		}
		return source{p, []*relation{rel}}, renameColumns(rel, t.Alias)
	}
	for _, l := range lists {
		it, err := b.elements(l, name)
		if err != nil {
			return source{}, err
		}
		if t.Alias != nil && len(lists) == 1 { // PostgreSQL: a function's only column is called as the function is
			it.Col.Name = t.Alias.Name.Name
		}
		e.Lists = append(e.Lists, it)
		rel.cols = append(rel.cols, column{name: it.Col.Name, col: it.Col})
	}
	if t.Ordinality {
		b.last++
		e.Ordinality = &expr.Column{ID: b.last, Name: "ordinality", Typ: bigint}
		rel.cols = append(rel.cols, column{name: "ordinality", col: e.Ordinality})
	}
	return source{narrow(e, rel.cols), []*relation{rel}}, renameColumns(rel, t.Alias)
}

// An expansion is lists whose elements are rows, side by side. Lists within lists are rows before: all that stand as deep.
type expansion struct {
	lists  []logical.Item
	nested [][]logical.Item // the innermost first
	below  *expansion       // rows already where these are computed; may be nil
}

// add is the column of a list's elements, the same for equal lists. depth is 0 for a list that stands in no other, else how many lists
// deep it is, itself among them.
func (x *expansion) add(it logical.Item, depth int) *expr.Column {
	for at := x; at != nil; at = at.below {
		for _, have := range *at.level(depth) {
			if expr.Equal(have.Expr, it.Expr) {
				return have.Col
			}
		}
	}
	level := x.level(depth)
	*level = append(*level, it)
	return it.Col
}

func (x *expansion) level(depth int) *[]logical.Item {
	if depth == 0 {
		return &x.lists
	}
	for len(x.nested) < depth {
		x.nested = append(x.nested, nil)
	}
	return &x.nested[depth-1]
}

// over is n with the elements, n itself where there are no lists.
func (x *expansion) over(n logical.Node) logical.Node {
	for _, lists := range append(x.nested[:len(x.nested):len(x.nested)], x.lists) {
		if len(lists) > 0 {
			n = &logical.Expand{Input: n, Lists: lists}
		}
	}
	return n
}

// unnest binds a list of the SELECT list whose elements are rows.
func (x *exprBinder) unnest(e *ast.FuncCall) (expr.Expr, error) {
	if x.rows == nil {
		return nil, sqlerr.Newf(sqlerr.Unsupported, e.Pos, "set-returning functions are not allowed in %s", x.clause).WithHint("call unnest in FROM")
	}
	depth := 0
	inner := *x
	inner.within = &depth
	args, err := inner.args(e)
	if err != nil {
		return nil, err
	}
	if len(args) != 1 {
		return nil, sqlerr.New(sqlerr.UnknownFunction, e.Pos, "unnest takes one list in a SELECT list").WithHint("call it in FROM to unnest several")
	}
	it, err := x.b.elements(args[0], "unnest")
	if err != nil {
		return nil, err
	}
	if x.within == nil {
		return x.rows.add(it, 0), nil
	}
	*x.within = max(*x.within, depth+1)
	return x.rows.add(it, depth+1), nil
}

// fields are the items of an item unnest(struct), one for each field, called as the field is; nil for any other item.
func (s *selection) fields(x *exprBinder, it item) ([]item, error) {
	call, ok := it.ast.(*ast.FuncCall)
	if !ok || call.Name.Last().Name != "unnest" || len(call.Args) != 1 || call.Over != nil {
		return nil, nil
	}
	try := *x // its type says what the call means: nothing of this may stay
	group, windows := *s.group, *s.windows
	try.applies, try.group, try.windows, try.rows = new([]*logical.Apply), &group, &windows, &expansion{}
	if like, err := try.expr(call.Args[0].Value); err != nil || like.Type().Kind != sqltype.Struct {
		return nil, nil //nolint:nilerr // whoever binds the call says what is wrong
	}
	of, err := x.expr(call.Args[0].Value)
	if err != nil {
		return nil, err
	}
	var out []item
	for _, f := range of.Type().Fields {
		e, err := expr.NewField(of, f.Name, it.pos)
		if err == nil {
			e, err = settle(e)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, item{name: f.Name, expr: e, pos: it.pos})
	}
	return out, nil
}

// expandLists makes rows of the SELECT list's lists, once groups and windows are computed. A subquery that is compared with an
// element comes after that.
func (s *selection) expandLists() error {
	if len(s.rows.lists) == 0 {
		return nil
	}
	elems := logical.ColSet{}
	for _, lists := range append(s.rows.nested, s.rows.lists) {
		for _, it := range lists {
			elems[it.Col.ID] = true
		}
	}
	var before, after []*logical.Apply
	for _, a := range s.ofOutputs {
		if a.On != nil && elems.Touches(a.On) {
			after = append(after, a)
		} else {
			before = append(before, a)
		}
	}
	s.node, s.ofOutputs = s.rows.over(attach(s.node, before)), after
	return nil
}

// elements is the column of a list's elements.
func (b *binder) elements(list expr.Expr, name string) (logical.Item, error) {
	t := list.Type()
	if t.Kind != sqltype.List {
		return logical.Item{}, sqlerr.Newf(sqlerr.UnknownFunction, list.Pos(), "function %s(%s) does not exist", name, t).
			WithHint("it takes a list; write [x] for a list of one")
	}
	b.last++
	return logical.Item{Col: &expr.Column{ID: b.last, Name: name, Typ: *t.Elem, Nullable: true}, Expr: list}, nil
}

// isUnit tells whether n is one row without columns.
func isUnit(n logical.Node) bool {
	v, ok := n.(*logical.Values)
	return ok && len(v.Rows) == 1 && len(v.Cols) == 0
}
