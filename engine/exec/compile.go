package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// compile turns the plan under n into pipelines: a switch over every type of node. What ends a pipeline (an aggregation, a
// sort, a join's build side) becomes a dep of the pipeline that reads it.
func (r *runner) compile(n physical.Node) (pipe, error) {
	switch n := n.(type) {
	case *physical.Scan:
		return pipe{{node: n, open: func(ctx context.Context) (Source, error) {
			if r.env.OpenScan == nil {
				return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "this process cannot open scans")
			}
			return r.env.OpenScan(ctx, n)
		}}}, nil
	case *physical.Remote:
		return r.compileRemote(n)
	case *physical.Values:
		return pipe{{node: n, ordered: true, open: func(context.Context) (Source, error) { return newValues(n, r.env), nil }}}, nil
	case *physical.Filter:
		op, err := newFilter(n, r.env)
		if err != nil {
			return nil, err
		}
		return r.compileRow(n.Input, op, n)
	case *physical.Project:
		op, err := newProject(n, r.env)
		if err != nil {
			return nil, err
		}
		return r.compileRow(n.Input, op, n)
	case *physical.Limit:
		p, err := r.compileRow(n.Input, newLimit(n), n)
		for _, l := range p {
			l.pinned = l.pinned || l.ordered
		}
		return p, err
	case *physical.Union:
		var all pipe
		for _, in := range n.Inputs {
			p, err := r.compile(in)
			if err != nil {
				return nil, err
			}
			all = append(all, p...)
		}
		return all, nil
	case *physical.Exchange:
		return r.compile(n.Input) // one process has nobody to exchange with
	case *physical.Aggregate:
		agg, err := newAggregate(n, r)
		if err != nil {
			return nil, err
		}
		return r.compileBreaker(n.Input, agg, n, agg.source, false)
	case *physical.Sort:
		return r.compileSort(n)
	case *physical.HashJoin:
		return r.compileHashJoin(n)
	case *physical.LoopJoin:
		return r.compileLoopJoin(n)
	case *physical.Expand:
		op, err := newExpand(n, r.env)
		if err != nil {
			return nil, err
		}
		return r.compileRow(n.Input, op, n)
	case *physical.Recursive:
		return r.compileRecursive(n)
	case *physical.Working:
		return r.compileWorking(n)
	case *physical.Window:
		return r.compileWindow(n)
	case *physical.Shared:
		return r.compileShared(n)
	}
	return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "a plan node %T is unknown to this build", n)
}

// compileRow appends a row-wise operator to the pipelines of input.
func (r *runner) compileRow(input physical.Node, op Operator, n physical.Node) (pipe, error) {
	r.onClose(op.Close)
	p, err := r.compile(input)
	if err != nil {
		return nil, err
	}
	p.push(op, n)
	return p, nil
}

// compileBreaker ends the pipelines of input in sink and begins one that reads what it has kept.
func (r *runner) compileBreaker(input physical.Node, sink Sink, n physical.Node, source func(context.Context) (Source, error), ordered bool) (pipe, error) {
	r.onClose(sink.Close)
	p, err := r.compile(input)
	if err != nil {
		return nil, err
	}
	s, ok := sink.(sequential)
	inOrder := ok && s.InOrder()
	d := &dep{run: func(ctx context.Context) error { return r.run(ctx, p, sink, n, inOrder) }}
	return pipe{{node: n, before: []*dep{d}, open: source, ordered: ordered}}, nil
}
