package optimize

import (
	"math"
	"slices"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// domain makes a's subquery independent in the general way: the different values of the outer columns that it reads are
// joined into it where it reads them, and carried up to its output. Then the outer rows are joined with what belongs to their
// values. The outer query is computed twice, once for its values.
func (u *unnester) domain(a *logical.Apply) (logical.Node, tied) {
	inputCols := logical.Output(a.Input)
	d := &domain{u: u, pos: a.Pos, outer: logical.ColSet{}}
	used := logical.Outer(a.Sub)
	from := source(a.Input, used)
	u.repeat(from, a.Pos)
	values, copies := logical.Clone(from, u.o.like)
	group := &logical.Aggregate{Input: values}
	for _, c := range a.Input.Columns() {
		if used[c.ID] && inputCols[c.ID] {
			d.cols = append(d.cols, c)
			d.outer[c.ID] = true
			group.Groups = append(group.Groups, logical.Pass(copies[c.ID]))
		}
	}
	d.values = group
	sub, domain := d.bind(a.Sub)
	t := tied{with: map[expr.ColumnID]expr.Expr{}, domain: domain}
	for i, c := range d.cols {
		if domain != nil {
			t.conds = append(t.conds, &expr.Compare{Op: equalOp(c), L: c, R: domain[i]})
		}
	}
	return sub, t
}

// maxRepeated bounds the nodes that are copied because a subquery computes its outer query again: each that does so after another
// doubles what there is.
const maxRepeated = 100_000

// repeat counts a copy of n against the limit.
func (u *unnester) repeat(n logical.Node, pos sqlerr.Pos) {
	logical.Walk(n, func(logical.Node) bool {
		u.repeated++
		return u.repeated <= maxRepeated
	})
	if u.repeated > maxRepeated {
		u.fail(sqlerr.New(sqlerr.StatementTooLarge, pos, "the statement has too many correlated subqueries that build on each other").
			WithHint("join with the subqueries in FROM, or compute some of them in a WITH query"))
	}
}

// source is the part of n that has all of used that n has, and every row of n once at least: what other subqueries have added to the
// rows is not computed again.
func source(n logical.Node, used logical.ColSet) logical.Node {
	var need []expr.ColumnID
	for id := range logical.Output(n) {
		if used[id] {
			need = append(need, id)
		}
	}
	for {
		var in logical.Node
		switch n := n.(type) {
		case *logical.Project:
			if slices.ContainsFunc(n.Items, func(it logical.Item) bool { return !it.IsPass() && slices.Contains(need, it.Col.ID) }) {
				break
			}
			in = n.Input
		case *logical.Join:
			if n.Kind == logical.Left || n.Kind == logical.Mark {
				in = n.Left
			}
		}
		if in == nil {
			return n
		}
		have := logical.Output(in)
		if slices.ContainsFunc(need, func(id expr.ColumnID) bool { return !have[id] }) {
			return n
		}
		n = in
	}
}

// equalOp compares a column of the outer query with its domain: NULL is a value there.
func equalOp(c *expr.Column) expr.CompareOp {
	if c.Nullable {
		return expr.NotDistinct
	}
	return expr.Eq
}

// A domain is the values of outer columns on their way into a subquery.
type domain struct {
	u      *unnester
	pos    sqlerr.Pos
	cols   []*expr.Column // of the outer query
	outer  logical.ColSet
	values *logical.Aggregate // rows of different values of cols
}

// copy is a fresh copy of the values and its columns.
func (d *domain) copy() (logical.Node, []*expr.Column) {
	d.u.repeat(d.values, d.pos)
	n, _ := logical.Clone(d.values, d.u.o.like)
	return n, n.Columns()
}

func (d *domain) reads(n logical.Node) bool {
	for id := range logical.Outer(n) {
		if d.outer[id] {
			return true
		}
	}
	return false
}

// replace is e over a copy of the values.
func (d *domain) replace(e expr.Expr, cols []*expr.Column) expr.Expr {
	with := map[expr.ColumnID]expr.Expr{}
	for i, c := range d.cols {
		with[c.ID] = cols[i]
	}
	return logical.Replace(e, with)
}

func (d *domain) equal(a, b []*expr.Column) []expr.Expr {
	out := make([]expr.Expr, len(a))
	for i := range a {
		out[i] = &expr.Compare{Op: equalOp(d.cols[i]), L: a[i], R: b[i]}
	}
	return out
}

// bind is n computed for every value of the domain: its own columns and the domain's, which are given back.
func (d *domain) bind(n logical.Node) (logical.Node, []*expr.Column) {
	if !d.reads(n) {
		values, cols := d.copy()
		return &logical.Join{Left: n, Right: values}, cols
	}
	switch n := n.(type) {
	case *logical.Filter:
		in, cols := d.bind(n.Input)
		return &logical.Filter{Input: in, Cond: d.replace(n.Cond, cols)}, cols
	case *logical.Project:
		in, cols := d.bind(n.Input)
		p := &logical.Project{Input: in}
		for _, it := range n.Items {
			p.Items = append(p.Items, logical.Item{Col: it.Col, Expr: d.replace(it.Expr, cols)})
		}
		for _, c := range cols {
			p.Items = append(p.Items, logical.Pass(c))
		}
		return p, cols
	case *logical.Expand:
		in, cols := d.bind(n.Input)
		c := *logical.MapExprs(n, func(e expr.Expr) expr.Expr { return d.replace(e, cols) }).(*logical.Expand)
		c.Input = in
		return &c, cols
	case *logical.Aggregate:
		return d.aggregate(n)
	case *logical.Join:
		return d.join(n)
	case *logical.Union:
		return d.union(n)
	case *logical.Window:
		in, cols := d.bind(n.Input)
		c := *logical.MapExprs(n, func(e expr.Expr) expr.Expr { return d.replace(e, cols) }).(*logical.Window)
		c.Input, c.Partition = in, append([]expr.Expr(nil), c.Partition...)
		for _, col := range cols {
			c.Partition = append(c.Partition, col)
		}
		return &c, cols
	case *logical.Sort:
		if n.Fetch < 0 && n.Offset == 0 {
			return d.bind(n.Input)
		}
		return d.firstRows(n.Input, n.Keys, n.Fetch, n.Offset)
	case *logical.Limit:
		switch in := n.Input.(type) {
		case *logical.Project: // which keeps rows and their order
			return d.bind(logical.WithChildren(in, []logical.Node{&logical.Limit{Input: in.Input, Fetch: n.Fetch, Offset: n.Offset}}))
		case *logical.Sort:
			if in.Fetch < 0 && in.Offset == 0 {
				return d.firstRows(in.Input, in.Keys, n.Fetch, n.Offset)
			}
		}
		return d.firstRows(n.Input, nil, n.Fetch, n.Offset)
	}
	d.u.fail(sqlerr.New(sqlerr.Unsupported, d.pos, "a correlated subquery of this form is not supported").
		WithHint("join with the subquery in FROM"))
	values, cols := d.copy()
	return &logical.Join{Left: n, Right: values}, cols
}

// firstRows gives, for each value of the domain, what a limit lets through: rows are numbered within it.
func (d *domain) firstRows(n logical.Node, keys []expr.SortOrder, fetch, offset int64) (logical.Node, []*expr.Column) {
	in, cols := d.bind(n)
	bigint := sqltype.Of(sqltype.Int64)
	number := d.u.o.fresh("n", &expr.Column{Typ: bigint})
	w := &logical.Window{Input: in, Calls: []logical.WindowCall{{
		Col: number, Aggregate: expr.Aggregate{Func: "row_number", Typ: bigint},
		Frame: physical.Frame{Unit: physical.FrameRange, End: physical.Bound{Kind: physical.UnboundedFollowing}},
	}}}
	for _, c := range cols {
		w.Partition = append(w.Partition, c)
	}
	for _, k := range keys {
		k.Expr = d.replace(k.Expr, cols)
		w.Order = append(w.Order, k)
	}
	compare := func(op expr.CompareOp, n int64) expr.Expr {
		return &expr.Compare{Op: op, L: number, R: expr.NewLiteral(expr.IntValue(bigint, n), d.pos)}
	}
	conds := []expr.Expr{compare(expr.Gt, offset)}
	if fetch >= 0 && fetch <= math.MaxInt64-offset {
		conds = append(conds, compare(expr.Le, offset+fetch))
	}
	return &logical.Filter{Input: w, Cond: expr.NewAnd(conds...)}, cols
}

// aggregate groups by the domain too. Without groups of its own it gives a row for every value, also where nothing was found.
func (d *domain) aggregate(n *logical.Aggregate) (logical.Node, []*expr.Column) {
	in, cols := d.bind(n.Input)
	out := &logical.Aggregate{Input: in}
	for _, g := range n.Groups {
		out.Groups = append(out.Groups, logical.Item{Col: g.Col, Expr: d.replace(g.Expr, cols)})
	}
	for _, c := range cols {
		out.Groups = append(out.Groups, logical.Pass(c))
	}
	counts := map[expr.ColumnID]bool{}
	for _, a := range n.Aggs {
		moved, _ := logical.MapAggregate(a.Aggregate, func(e expr.Expr) expr.Expr { return d.replace(e, cols) })
		out.Aggs = append(out.Aggs, logical.Agg{Col: a.Col, Aggregate: moved})
		counts[a.Col.ID] = counting(moved.Func)
	}
	if len(n.Groups) > 0 {
		return out, cols
	}
	values, all := d.copy()
	j := &logical.Join{Kind: logical.Left, Left: values, Right: out, On: and(d.equal(all, cols))}
	p := &logical.Project{Input: j}
	for i, a := range n.Aggs {
		if !counts[a.Col.ID] {
			p.Items = append(p.Items, logical.Pass(a.Col))
			continue
		}
		found := d.u.o.like(a.Col)
		out.Aggs[i].Col = found
		zero := expr.NewLiteral(expr.IntValue(found.Typ, 0), d.pos)
		p.Items = append(p.Items, logical.Item{Col: a.Col, Expr: &expr.Case{Whens: []expr.When{{Cond: &expr.IsNull{X: found}, Then: zero}}, Else: found, Typ: found.Typ}})
	}
	for _, c := range all {
		p.Items = append(p.Items, logical.Pass(c))
	}
	return p, all
}

func (d *domain) join(n *logical.Join) (logical.Node, []*expr.Column) {
	c := *n
	onReads := n.On != nil && d.outer.Touches(n.On)
	bindRight := d.reads(n.Right) || n.Kind != logical.Inner && onReads
	bindLeft := d.reads(n.Left) || n.Kind != logical.Inner || !bindRight
	if bindRight && n.NullAware {
		if n.Kind == logical.Mark {
			return d.bind(d.u.twoMarks(n.Left, n.Right, expr.Conjuncts(n.On), nil, n.MarkCol))
		}
		// A list for each value of the domain: it is no longer one equality that decides.
		c.NullAware = false
		c.On = expr.NewOr(n.On, &expr.IsNull{X: n.On})
		return d.join(&c)
	}
	if n.Kind > logical.Left && n.Kind != logical.Semi && n.Kind != logical.Anti && n.Kind != logical.Mark {
		d.u.fail(sqlerr.New(sqlerr.Unsupported, d.pos, "a correlated subquery with this join is not supported").
			WithHint("join with the subquery in FROM"))
	}
	var l, r []*expr.Column
	if bindLeft {
		c.Left, l = d.bind(n.Left)
	}
	if bindRight && (n.Kind != logical.Inner || d.reads(n.Right)) {
		c.Right, r = d.bind(n.Right)
	}
	cols := l
	if cols == nil {
		cols = r
	}
	var on []expr.Expr
	if n.On != nil {
		on = expr.Conjuncts(d.replace(n.On, cols))
	}
	if l != nil && r != nil {
		on = append(on, d.equal(l, r)...)
	}
	c.On = and(on)
	return &c, cols
}

func (d *domain) union(n *logical.Union) (logical.Node, []*expr.Column) {
	out := &logical.Union{Cols: append([]*expr.Column(nil), n.Cols...)}
	for _, in := range n.Inputs {
		own := in.Columns()
		bound, cols := d.bind(in)
		out.Inputs = append(out.Inputs, narrow(bound, append(append([]*expr.Column(nil), own...), cols...)))
	}
	var cols []*expr.Column
	for _, c := range d.cols {
		cols = append(cols, d.u.o.like(c))
	}
	out.Cols = append(out.Cols, cols...)
	return out, cols
}
