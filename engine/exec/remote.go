package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

func (r *runner) compileRemote(n *physical.Remote) (pipe, error) {
	return pipe{{node: n, ordered: n.Merge != nil, open: func(ctx context.Context) (Source, error) {
		if r.env.OpenRemote == nil {
			return nil, sqlerr.New(sqlerr.InvalidPlan, sqlerr.Pos{}, "this process cannot reach other tasks")
		}
		return r.env.OpenRemote(ctx, n)
	}}}, nil
}

func (r *runner) compileSort(n *physical.Sort) (pipe, error) { return nil, nil }
