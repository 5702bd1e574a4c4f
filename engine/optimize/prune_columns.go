package optimize

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// pruneColumns drops what nobody reads: columns of scans and constants, items, aggregates. The columns of joins are theirs to
// give as long as somebody asks for them: lowering leaves the others out.
func pruneColumns(_ *optimizer, root logical.Node) (logical.Node, error) {
	return narrow(prune(root, logical.Output(root)), root.Columns()), nil
}

// prune is n with at least the columns of need that it has; others may be gone.
func prune(n logical.Node, need logical.ColSet) logical.Node {
	switch n := n.(type) {
	case *logical.Scan:
		return pruneScan(n, need)
	case *logical.Values:
		return pruneValues(n, need)
	case *logical.Project:
		return pruneProject(n, need)
	case *logical.Aggregate:
		return pruneAggregate(n, need)
	case *logical.Union:
		return pruneUnion(n, need)
	case *logical.Shared: // every place that reads it has to find the same
		return logical.WithChildren(n, []logical.Node{prune(n.Input, logical.SetOf(n.From))})
	case *logical.Recursive: // all of a row decides whether it is new
		return logical.MapChildren(n, func(k logical.Node) logical.Node { return narrow(prune(k, logical.Output(k)), k.Columns()) })
	case *logical.Window:
		return pruneWindow(n, need)
	case *logical.Join:
		if n.Kind == logical.Mark && !need[n.MarkCol.ID] {
			return prune(n.Left, need)
		}
	case *logical.Apply:
		return n
	}
	below := need.Clone()
	for _, e := range logical.Exprs(n) {
		below.AddExpr(e)
	}
	return logical.MapChildren(n, func(k logical.Node) logical.Node { return prune(k, below) })
}

func pruneScan(n *logical.Scan, need logical.ColSet) logical.Node {
	c := *n
	c.Cols, c.Index = nil, nil
	for i, col := range n.Cols {
		if need[col.ID] {
			c.Cols, c.Index = append(c.Cols, col), append(c.Index, n.Index[i])
		}
	}
	if len(c.Cols) == len(n.Cols) {
		return n
	}
	return &c
}

func pruneValues(n *logical.Values, need logical.ColSet) logical.Node {
	var keep []int
	c := &logical.Values{Rows: make([][]expr.Value, len(n.Rows))}
	for i, col := range n.Cols {
		if need[col.ID] {
			keep = append(keep, i)
			c.Cols = append(c.Cols, col)
		}
	}
	if len(keep) == len(n.Cols) {
		return n
	}
	for r, row := range n.Rows {
		c.Rows[r] = make([]expr.Value, len(keep))
		for j, i := range keep {
			c.Rows[r][j] = row[i]
		}
	}
	return c
}

func pruneProject(n *logical.Project, need logical.ColSet) logical.Node {
	c := &logical.Project{}
	below := logical.ColSet{}
	for _, it := range n.Items {
		if need[it.Col.ID] {
			c.Items = append(c.Items, it)
			below.AddExpr(it.Expr)
		}
	}
	c.Input = prune(n.Input, below)
	passes := true
	for _, it := range c.Items {
		passes = passes && it.IsPass()
	}
	switch {
	case passes && len(c.Items) < len(n.Items):
		return c.Input // what reads n knows its columns by id, in any order
	case len(c.Items) == len(n.Items):
		return logical.WithChildren(n, []logical.Node{c.Input})
	}
	return c
}

func pruneAggregate(n *logical.Aggregate, need logical.ColSet) logical.Node {
	c := *n
	c.Aggs = nil
	for _, a := range n.Aggs {
		if need[a.Col.ID] {
			c.Aggs = append(c.Aggs, a)
		}
	}
	if len(c.Aggs) == 0 && len(c.Groups) == 0 {
		return &logical.Values{Rows: [][]expr.Value{{}}} // the one row of no columns
	}
	below := logical.ColSet{}
	for _, e := range logical.Exprs(&c) {
		below.AddExpr(e)
	}
	in := prune(n.Input, below)
	if in == n.Input && len(c.Aggs) == len(n.Aggs) {
		return n
	}
	c.Input = in
	return &c
}

// pruneUnion drops columns by position, and puts the columns of every input into the union's order again.
func pruneUnion(n *logical.Union, need logical.ColSet) logical.Node {
	var keep []int
	c := &logical.Union{}
	for i, col := range n.Cols {
		if need[col.ID] {
			keep = append(keep, i)
			c.Cols = append(c.Cols, col)
		}
	}
	changed := len(keep) < len(n.Cols)
	for _, in := range n.Inputs {
		all := in.Columns()
		cols := make([]*expr.Column, len(keep))
		for j, i := range keep {
			cols[j] = all[i]
		}
		next := narrow(prune(in, logical.SetOf(cols)), cols)
		changed = changed || next != in
		c.Inputs = append(c.Inputs, next)
	}
	if !changed {
		return n
	}
	return c
}

func pruneWindow(n *logical.Window, need logical.ColSet) logical.Node {
	c := *n
	c.Calls = nil
	for _, call := range n.Calls {
		if need[call.Col.ID] {
			c.Calls = append(c.Calls, call)
		}
	}
	if len(c.Calls) == 0 {
		return prune(n.Input, need)
	}
	below := need.Clone()
	for _, e := range logical.Exprs(&c) {
		below.AddExpr(e)
	}
	in := prune(n.Input, below)
	if in == n.Input && len(c.Calls) == len(n.Calls) {
		return n
	}
	c.Input = in
	return &c
}
