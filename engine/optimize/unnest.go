package optimize

import (
	"context"
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// unnest turns every Apply into joins, innermost first; marks that a filter alone reads may be gone afterwards, and columns may come
// that nobody reads. A subquery whose tie to the outer query is a filter has the filter pulled
// up into the join's condition; one whose tie lies deeper is computed once for all different values that the outer query gives
// it (see bindDomain). Nothing is ever evaluated row by row.
func unnest(o *optimizer, root logical.Node) (logical.Node, error) {
	u := &unnester{o: o}
	out := u.node(root)
	if u.err != nil {
		return nil, u.err
	}
	return out, nil
}

// An unnester holds the first error.
type unnester struct {
	o        *optimizer
	err      error
	repeated int // nodes of outer queries that subqueries compute again
}

func (u *unnester) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

func (u *unnester) node(n logical.Node) logical.Node {
	if u.err != nil {
		return n
	}
	if u.o.ctx.Err() != nil {
		u.fail(context.Cause(u.o.ctx))
	}
	if f, ok := n.(*logical.Filter); ok {
		if _, isApply := f.Input.(*logical.Apply); isApply {
			return u.filter(f)
		}
	}
	n = logical.MapChildren(n, u.node)
	if a, ok := n.(*logical.Apply); ok && u.err == nil {
		return u.apply(a)
	}
	return n
}

// filter unnests the subqueries of a WHERE or HAVING. One that a conjunct tests as it is becomes a semi or anti join.
func (u *unnester) filter(f *logical.Filter) logical.Node {
	var applies []*logical.Apply // outermost first
	in := f.Input
	for a, ok := in.(*logical.Apply); ok; a, ok = in.(*logical.Apply) {
		applies = append(applies, a)
		in = a.Input
	}
	conds := expr.Conjuncts(f.Cond)
	uses := map[expr.ColumnID]int{}
	count := func(e expr.Expr) {
		expr.Walk(e, func(e expr.Expr) bool {
			if c, ok := e.(*expr.Column); ok {
				uses[c.ID]++
			}
			return true
		})
	}
	for _, c := range conds {
		count(c)
	}
	for _, a := range applies {
		if a.On != nil {
			count(a.On)
		}
	}
	out := u.node(in)
	// What needs no subquery is decided before one is looked at.
	first, conds := split(conds, logical.Output(out))
	out = filter(out, first)
	for i := len(applies) - 1; i >= 0 && u.err == nil; i-- {
		a := *applies[i]
		a.Input, a.Sub = out, u.node(a.Sub)
		if a.Kind == logical.ApplyMark && uses[a.Col.ID] == 1 {
			if at, negated := markTest(conds, a.Col.ID); at >= 0 {
				if j := u.exists(&a, negated); j != nil {
					out = j
					conds = append(append([]expr.Expr(nil), conds[:at]...), conds[at+1:]...)
					continue
				}
			}
		}
		out = u.apply(&a)
	}
	return filter(out, conds)
}

// markTest finds the conjunct that is the mark or NOT the mark, −1 where none is.
func markTest(conds []expr.Expr, mark expr.ColumnID) (at int, negated bool) {
	for i, c := range conds {
		x := c
		not, isNot := c.(*expr.Not)
		if isNot {
			x = not.X
		}
		if col, ok := x.(*expr.Column); ok && col.ID == mark {
			return i, isNot
		}
	}
	return -1, false
}

// exists makes a semi join of a tested mark, or an anti join; nil where the subquery cannot be pulled apart.
func (u *unnester) exists(a *logical.Apply, negated bool) logical.Node {
	sub, ties, ok := u.pull(a)
	if !ok {
		return nil
	}
	on := expr.Conjuncts(a.On)
	on = replaceAll(on, ties.with)
	j := &logical.Join{Kind: logical.Semi, Left: a.Input, Right: sub}
	if !negated {
		j.On = and(append(on, ties.conds...))
		return j
	}
	j.Kind = logical.Anti
	nullAware := a.NullAware && anyNullable(on)
	switch {
	case nullAware && len(ties.conds) == 0 && len(on) == 1 && isEquality(on[0]):
		j.NullAware, j.On = true, on[0]
	case nullAware:
		// x NOT IN (…) wants every comparison to be false: one that is NULL counts as a hit.
		x := expr.NewAnd(on...)
		hit := expr.NewOr(x, &expr.IsNull{X: x})
		j.On = and(append([]expr.Expr{hit}, ties.conds...))
	default:
		j.On = and(append(on, ties.conds...))
	}
	return j
}

func isEquality(e expr.Expr) bool {
	c, ok := e.(*expr.Compare)
	return ok && c.Op == expr.Eq
}

func anyNullable(conds []expr.Expr) bool {
	for _, c := range conds {
		if nullable(c) {
			return true
		}
	}
	return false
}

func replaceAll(conds []expr.Expr, with map[expr.ColumnID]expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(conds))
	for i, c := range conds {
		out[i] = logical.Replace(c, with)
	}
	return out
}

// apply makes joins of a, whose inputs hold no Apply.
func (u *unnester) apply(a *logical.Apply) logical.Node {
	switch a.Kind {
	case logical.ApplyScalar:
		return u.scalar(a)
	case logical.ApplyMark:
		return u.mark(a)
	}
	return u.lateral(a)
}

func (u *unnester) mark(a *logical.Apply) logical.Node {
	sub, ties, ok := u.pull(a)
	if !ok {
		sub, ties = u.domain(a)
	}
	on := replaceAll(expr.Conjuncts(a.On), ties.with)
	nullAware := a.NullAware && anyNullable(on)
	if !nullAware || len(ties.conds) == 0 && len(on) == 1 && isEquality(on[0]) {
		return &logical.Join{Kind: logical.Mark, Left: a.Input, Right: sub, On: and(append(on, ties.conds...)), MarkCol: a.Col, NullAware: nullAware}
	}
	return u.twoMarks(a.Input, sub, on, ties.conds, a.Col)
}

// twoMarks computes IN's three values where a join cannot: mark is TRUE where some row of right for which ties hold has on true, else
// NULL where some has it NULL, else FALSE.
func (u *unnester) twoMarks(left, right logical.Node, on, ties []expr.Expr, mark *expr.Column) logical.Node {
	copied, to := logical.Clone(right, u.o.like)
	with := map[expr.ColumnID]expr.Expr{}
	for id, c := range to {
		with[id] = c
	}
	x := expr.NewAnd(on...)
	hit, maybe := u.o.fresh("hit", x), u.o.fresh("maybe", x)
	out := logical.Node(&logical.Join{Kind: logical.Mark, Left: left, Right: right, On: and(append(slices.Clone(on), ties...)), MarkCol: hit})
	unknown := append([]expr.Expr{&expr.IsNull{X: logical.Replace(x, with)}}, replaceAll(ties, with)...)
	out = &logical.Join{Kind: logical.Mark, Left: out, Right: copied, On: and(unknown), MarkCol: maybe}
	at := x.Pos()
	return computed(out, left.Columns(), logical.Item{Col: mark, Expr: &expr.Case{
		Whens: []expr.When{
			{Cond: hit, Then: expr.NewLiteral(expr.BoolValue(true), at)},
			{Cond: maybe, Then: expr.Null(mark.Typ, at)},
		},
		Else: expr.NewLiteral(expr.BoolValue(false), at), Typ: mark.Typ,
	}})
}

// computed is n cut to cols, with more.
func computed(n logical.Node, cols []*expr.Column, more ...logical.Item) logical.Node {
	p := &logical.Project{Input: n}
	for _, c := range cols {
		p.Items = append(p.Items, logical.Pass(c))
	}
	p.Items = append(p.Items, more...)
	return p
}

// like makes a column as c is.
func (o *optimizer) like(c *expr.Column) *expr.Column {
	o.last++
	d := *c
	d.ID = o.last
	return &d
}

// scalar joins the value of a scalar subquery to its row. A subquery that is an aggregate without groups has one row for each outer
// one: correlated, it is grouped by what ties it, and where a group is missing its counts are 0 and its other aggregates NULL.
// Any other is cut to one row by an aggregate that fails on a second.
func (u *unnester) scalar(a *logical.Apply) logical.Node {
	value := expr.Expr(a.Sub.Columns()[0])
	if len(logical.Outer(a.Sub)) == 0 {
		sub := u.oneRow(a.Sub, a.Pos)
		return &logical.Join{Left: a.Input, Right: computed(sub, nil, logical.Item{Col: a.Col, Expr: sub.Columns()[0]})}
	}
	if top, ok := findAggregate(a.Sub, value); ok {
		if out := u.groupedScalar(a, top); out != nil {
			return out
		}
	}
	sub, ties := u.domain(a)
	if !atMostOne(a.Sub) {
		sub = u.single(sub, a.Sub.Columns()[0], ties.domain, a.Pos)
		value = sub.Columns()[len(ties.domain)]
	}
	j := &logical.Join{Kind: logical.Left, Left: a.Input, Right: sub, On: and(ties.conds)}
	return computed(j, a.Input.Columns(), logical.Item{Col: a.Col, Expr: logical.Replace(value, ties.with)})
}

// oneRow is sub, whose rows are the value of an uncorrelated scalar subquery, as exactly one row of one column.
func (u *unnester) oneRow(sub logical.Node, pos sqlerr.Pos) logical.Node {
	if exactlyOne(sub) {
		return sub
	}
	return u.single(sub, sub.Columns()[0], nil, pos)
}

// single is value of the rows of sub, by groups, which are passed first: one row of each, and an error where there are more.
func (u *unnester) single(sub logical.Node, value *expr.Column, groups []*expr.Column, pos sqlerr.Pos) logical.Node {
	at := expr.At{P: pos}
	bigint := sqltype.Of(sqltype.Int64)
	found, rows := u.o.like(value), u.o.fresh("rows", &expr.Column{Typ: bigint})
	found.Nullable = true
	agg := &logical.Aggregate{Input: sub, Aggs: []logical.Agg{
		{Col: found, Aggregate: expr.Aggregate{At: at, Func: "any_value", Args: []expr.Expr{value}, Typ: value.Typ}},
		{Col: rows, Aggregate: expr.Aggregate{At: at, Func: "count_star", Typ: bigint}},
	}}
	for _, c := range groups {
		agg.Groups = append(agg.Groups, logical.Pass(c))
	}
	one := &expr.Call{At: at, Func: "single_row", Args: []expr.Expr{found, rows}, Typ: value.Typ}
	return computed(agg, groups, logical.Item{Col: u.o.fresh(value.Name, one), Expr: one})
}

// counting tells whether an aggregate gives 0 of no rows; all others give NULL.
func counting(name string) bool {
	switch name {
	case "count", "count_star", "count_if", "approx_distinct", "regr_count":
		return true
	}
	return false
}

// exactlyOne tells whether n surely gives one row.
func exactlyOne(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Project:
		return exactlyOne(n.Input)
	case *logical.Sort:
		return n.Fetch != 0 && n.Offset == 0 && exactlyOne(n.Input)
	case *logical.Limit:
		return n.Fetch != 0 && n.Offset == 0 && exactlyOne(n.Input)
	case *logical.Aggregate:
		return len(n.Groups) == 0
	case *logical.Values:
		return len(n.Rows) == 1
	}
	return false
}

// atMostOne tells whether the subquery surely gives no second row for any outer row.
func atMostOne(n logical.Node) bool {
	switch n := n.(type) {
	case *logical.Filter:
		return atMostOne(n.Input)
	case *logical.Project:
		return atMostOne(n.Input)
	case *logical.Sort:
		if n.Fetch == 0 || n.Fetch == 1 {
			return true
		}
	case *logical.Limit:
		if n.Fetch == 0 || n.Fetch == 1 {
			return true
		}
	}
	return exactlyOne(n)
}

// A topAggregate is the aggregate without groups that a scalar subquery is, taken apart: value and guard are over the
// aggregate's output; where guard is not true there is no row.
type topAggregate struct {
	agg   *logical.Aggregate
	value expr.Expr
	guard []expr.Expr
}

func findAggregate(n logical.Node, value expr.Expr) (topAggregate, bool) {
	t := topAggregate{value: value}
	for {
		switch x := n.(type) {
		case *logical.Project:
			with := map[expr.ColumnID]expr.Expr{}
			for _, it := range x.Items {
				with[it.Col.ID] = it.Expr
			}
			t.value = logical.Replace(t.value, with)
			t.guard = replaceAll(t.guard, with)
			n = x.Input
		case *logical.Filter:
			t.guard = append(t.guard, expr.Conjuncts(x.Cond)...)
			n = x.Input
		case *logical.Sort:
			if x.Offset != 0 || x.Fetch == 0 {
				return t, false
			}
			n = x.Input
		case *logical.Limit:
			if x.Offset != 0 || x.Fetch == 0 {
				return t, false
			}
			n = x.Input
		case *logical.Aggregate:
			t.agg = x
			return t, len(x.Groups) == 0
		default:
			return t, false
		}
	}
}

// groupedScalar joins with the aggregate grouped by what ties it; nil where the ties are no equalities.
func (u *unnester) groupedScalar(a *logical.Apply, top topAggregate) logical.Node {
	p := u.puller(a.Input)
	in, ok := p.pull(top.agg.Input)
	if !ok {
		return nil
	}
	outer := logical.Output(a.Input)
	grouped := &logical.Aggregate{Input: in}
	var on []expr.Expr
	for _, c := range p.conds {
		inside, outside, ok := tie(c, outer)
		if !ok {
			return nil
		}
		g, ok := inside.(*expr.Column)
		if !ok {
			g = u.o.fresh("key", inside)
		}
		grouped.Groups = append(grouped.Groups, logical.Item{Col: g, Expr: inside})
		cmp := *c.(*expr.Compare)
		cmp.L, cmp.R = outside, g
		on = append(on, &cmp)
	}
	if len(on) == 0 {
		return nil
	}
	grouped.Groups = distinctItems(grouped.Groups)
	missing := map[expr.ColumnID]expr.Expr{}
	for _, agg := range top.agg.Aggs {
		moved, _ := logical.MapAggregate(agg.Aggregate, func(e expr.Expr) expr.Expr { return logical.Replace(e, p.with) })
		for _, e := range append(append([]expr.Expr(nil), moved.Args...), moved.Filter) {
			if e != nil && outer.Touches(e) {
				return nil
			}
		}
		col := u.o.like(agg.Col)
		col.Nullable = true
		grouped.Aggs = append(grouped.Aggs, logical.Agg{Col: col, Aggregate: moved})
		missing[agg.Col.ID] = col
		if counting(moved.Func) {
			zero := expr.NewLiteral(expr.IntValue(col.Typ, 0), a.Pos)
			missing[agg.Col.ID] = &expr.Case{Whens: []expr.When{{Cond: &expr.IsNull{X: col}, Then: zero}}, Else: col, Typ: col.Typ}
		}
	}
	value := logical.Replace(top.value, missing)
	if len(top.guard) == 0 && !outer.Touches(value) && nullOfNothing(value, grouped.Aggs) {
		keys := make([]*expr.Column, len(grouped.Groups))
		for i, g := range grouped.Groups {
			keys[i] = g.Col
		}
		return &logical.Join{Kind: logical.Left, Left: a.Input, Right: computed(grouped, keys, logical.Item{Col: a.Col, Expr: value}), On: and(on)}
	}
	if len(top.guard) > 0 {
		value = &expr.Case{Whens: []expr.When{{Cond: expr.NewAnd(replaceAll(top.guard, missing)...), Then: value}}, Typ: value.Type()}
	}
	j := &logical.Join{Kind: logical.Left, Left: a.Input, Right: grouped, On: and(on)}
	return computed(j, a.Input.Columns(), logical.Item{Col: a.Col, Expr: value})
}

// nullOfNothing tells whether value is NULL where the aggregates are: then the outer join itself gives it where the group is missing.
func nullOfNothing(value expr.Expr, aggs []logical.Agg) bool {
	strict := logical.ColSet{}
	strictColumns(value, strict)
	for _, a := range aggs {
		if strict[a.Col.ID] {
			return true
		}
	}
	return false
}

func distinctItems(items []logical.Item) []logical.Item {
	var out []logical.Item
	seen := map[expr.ColumnID]bool{}
	for _, it := range items {
		if !seen[it.Col.ID] {
			out = append(out, it)
		}
		seen[it.Col.ID] = true
	}
	return out
}

// tie takes apart an equality of what the subquery computes and what the outer query does.
func tie(c expr.Expr, outer logical.ColSet) (inside, outside expr.Expr, ok bool) {
	cmp, isCompare := c.(*expr.Compare)
	if !isCompare || cmp.Op != expr.Eq && cmp.Op != expr.NotDistinct {
		return nil, nil, false
	}
	switch l, r := outer.Touches(cmp.L), outer.Touches(cmp.R); {
	case !l && r && outer.Holds(cmp.R):
		return cmp.L, cmp.R, true
	case !r && l && outer.Holds(cmp.L):
		return cmp.R, cmp.L, true
	}
	return nil, nil, false
}

// lateral joins each row with the rows that its subquery gives for it.
func (u *unnester) lateral(a *logical.Apply) logical.Node {
	sub, ties, ok := u.pull(a)
	if ok && a.Kind == logical.ApplyLeft && len(ties.with) > 0 {
		ok = false // what the subquery computes of the outer row would have to be NULL where it gives no row
	}
	if !ok {
		sub, ties = u.domain(a)
	}
	kind := logical.Inner
	if a.Kind == logical.ApplyLeft {
		kind = logical.Left
	}
	on := append(replaceAll(expr.Conjuncts(a.On), ties.with), ties.conds...)
	j := &logical.Join{Kind: kind, Left: a.Input, Right: sub, On: and(on)}
	var more []logical.Item
	for _, c := range a.Sub.Columns() {
		it := logical.Pass(c)
		if e := ties.with[c.ID]; e != nil {
			it.Expr = e
		}
		more = append(more, it)
	}
	return computed(j, a.Input.Columns(), more...)
}
