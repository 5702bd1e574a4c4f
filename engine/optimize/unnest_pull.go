package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// tied is what ties a subquery, made independent, to the outer row: conds over the columns of both; with says what became of
// columns that the subquery computed from outer ones.
type tied struct {
	conds  []expr.Expr
	with   map[expr.ColumnID]expr.Expr
	domain []*expr.Column // of bindDomain
}

// pull makes a's subquery independent of the outer row by moving the conditions that read it up to the top. ok is false where
// they lie below what they cannot pass: a limit, an aggregate that they would split, the other side of an outer join.
func (u *unnester) pull(a *logical.Apply) (sub logical.Node, t tied, ok bool) {
	p := u.puller(a.Input)
	sub = a.Sub
	if a.Kind == logical.ApplyMark && a.On == nil {
		sub = anyRow(sub)
	}
	sub, ok = p.pull(sub)
	return sub, tied{conds: p.conds, with: p.with}, ok
}

// anyRow is n without what does not change whether it has a row.
func anyRow(n logical.Node) logical.Node {
	switch x := n.(type) {
	case *logical.Sort:
		if x.Fetch != 0 && x.Offset == 0 {
			return anyRow(x.Input)
		}
	case *logical.Limit:
		if x.Fetch != 0 && x.Offset == 0 {
			return anyRow(x.Input)
		}
	case *logical.Project:
		return anyRow(x.Input)
	case *logical.Aggregate:
		if len(x.Groups) > 0 {
			return anyRow(x.Input) // as many groups as there are, there is one if there is a row
		}
	}
	return n
}

func (u *unnester) puller(input logical.Node) *puller {
	return &puller{u: u, outer: logical.Output(input), with: map[expr.ColumnID]expr.Expr{}}
}

// A puller takes correlated conditions out of a tree.
type puller struct {
	u     *unnester
	outer logical.ColSet
	conds []expr.Expr
	with  map[expr.ColumnID]expr.Expr
}

func (p *puller) free(n logical.Node) bool {
	for id := range logical.Outer(n) {
		if p.outer[id] {
			return false
		}
	}
	return true
}

// pull is n without what reads outer columns; conds over its output and the outer columns make up for it.
func (p *puller) pull(n logical.Node) (logical.Node, bool) {
	if p.free(n) {
		return n, true
	}
	switch n := n.(type) {
	case *logical.Filter:
		in, ok := p.pull(n.Input)
		if !ok {
			return nil, false
		}
		var stay []expr.Expr
		for _, c := range replaceAll(expr.Conjuncts(n.Cond), p.with) {
			if p.outer.Touches(c) {
				p.conds = append(p.conds, c)
			} else {
				stay = append(stay, c)
			}
		}
		return filter(in, stay), true
	case *logical.Project:
		return p.project(n)
	case *logical.Aggregate:
		return p.aggregate(n)
	case *logical.Join:
		return p.join(n)
	case *logical.Sort:
		if n.Fetch < 0 && n.Offset == 0 {
			return p.pull(n.Input) // nobody sees the order of a subquery's rows
		}
	}
	return nil, false
}

func (p *puller) project(n *logical.Project) (logical.Node, bool) {
	in, ok := p.pull(n.Input)
	if !ok {
		return nil, false
	}
	out := &logical.Project{Input: in}
	have := logical.ColSet{}
	for _, it := range n.Items {
		e := logical.Replace(it.Expr, p.with)
		if p.outer.Touches(e) {
			p.with[it.Col.ID] = e
			continue
		}
		have[it.Col.ID] = true
		out.Items = append(out.Items, logical.Item{Col: it.Col, Expr: e})
	}
	// What the conditions, and what was computed from outer columns, read must come along.
	need := logical.ColSet{}
	for _, c := range p.conds {
		need.AddExpr(c)
	}
	for _, e := range p.with {
		need.AddExpr(e)
	}
	for _, c := range in.Columns() {
		if need[c.ID] && !have[c.ID] {
			out.Items = append(out.Items, logical.Pass(c))
		}
	}
	return out, true
}

// aggregate lets a condition pass where it reads groups only, or is an equality by which the rows can be grouped as well: the
// outer row then picks its groups.
func (p *puller) aggregate(n *logical.Aggregate) (logical.Node, bool) {
	if len(n.Groups) == 0 {
		return nil, false
	}
	before := len(p.conds)
	in, ok := p.pull(n.Input)
	if !ok {
		return nil, false
	}
	out := *n
	out.Input = in
	out.Groups, _ = mapGroups(n.Groups, p.with)
	out.Aggs = nil
	for _, a := range n.Aggs {
		moved, _ := logical.MapAggregate(a.Aggregate, func(e expr.Expr) expr.Expr { return logical.Replace(e, p.with) })
		out.Aggs = append(out.Aggs, logical.Agg{Col: a.Col, Aggregate: moved})
	}
	for _, e := range logical.Exprs(&out) {
		if p.outer.Touches(e) {
			return nil, false
		}
	}
	have := logical.ColSet{}
	for _, g := range out.Groups {
		have[g.Col.ID] = g.IsPass()
	}
	inner := logical.Output(in)
	for i, c := range p.conds[before:] {
		used := logical.ColSet{}
		used.AddExpr(c)
		grouped := true
		for id := range used {
			grouped = grouped && (p.outer[id] || have[id])
		}
		if grouped {
			continue
		}
		inside, outside, ok := tie(c, p.outer)
		if !ok || !inner.Holds(inside) {
			return nil, false
		}
		g, isColumn := inside.(*expr.Column)
		if !isColumn {
			g = p.u.o.fresh("key", inside)
		}
		if !have[g.ID] {
			out.Groups = append(out.Groups, logical.Item{Col: g, Expr: inside})
			have[g.ID] = true
		}
		cmp := *c.(*expr.Compare)
		cmp.L, cmp.R = outside, g
		p.conds[before+i] = &cmp
	}
	return &out, true
}

func mapGroups(items []logical.Item, with map[expr.ColumnID]expr.Expr) ([]logical.Item, bool) {
	out := make([]logical.Item, len(items))
	for i, it := range items {
		out[i] = logical.Item{Col: it.Col, Expr: logical.Replace(it.Expr, with)}
	}
	return out, true
}

func (p *puller) join(n *logical.Join) (logical.Node, bool) {
	rightFree := p.free(n.Right)
	if n.Kind != logical.Inner && !rightFree || n.Kind > logical.Left && n.Kind != logical.Semi && n.Kind != logical.Anti && n.Kind != logical.Mark {
		return nil, false
	}
	left, ok := p.pull(n.Left)
	if !ok {
		return nil, false
	}
	right, ok := p.pull(n.Right)
	if !ok {
		return nil, false
	}
	c := *n
	c.Left, c.Right = left, right
	var stay []expr.Expr
	for _, x := range replaceAll(expr.Conjuncts(n.On), p.with) {
		switch {
		case !p.outer.Touches(x):
			stay = append(stay, x)
		case n.Kind == logical.Inner:
			p.conds = append(p.conds, x)
		default:
			return nil, false
		}
	}
	c.On = and(stay)
	return &c, true
}
