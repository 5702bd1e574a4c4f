package exec

import (
	"context"
	"sync"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A keep is the sink of a shared subplan: it keeps all rows, for as many sources as places read them.
type keep struct {
	node  *physical.Shared
	env   *Env
	acct  *account
	types []sqltype.Type
	dep   *dep
	rows  *store

	mu    sync.Mutex
	parts []*store
}

// compileShared gives the rows of n, which the first place that asks for them has computed.
func (r *runner) compileShared(n *physical.Shared) (pipe, error) {
	k := r.shared[n]
	if k == nil {
		k = &keep{node: n, env: r.env, acct: r.account("shared subplan", n)}
		for _, f := range n.Schema() {
			k.types = append(k.types, f.Type)
		}
		p, err := r.compile(n.Input)
		if err != nil {
			return nil, err
		}
		k.dep = &dep{run: func(ctx context.Context) error { return r.run(ctx, p, k, n, false) }}
		if r.shared == nil {
			r.shared = map[*physical.Shared]*keep{}
		}
		r.shared[n] = k
	}
	return pipe{{node: n, before: []*dep{k.dep}, open: func(context.Context) (Source, error) {
		return &storeSource{store: k.rows, batch: r.env.BatchRows}, nil
	}}}, nil
}

func (k *keep) NewLocal() (Local, error) { return newStore(k.types, k.acct), nil }

func (*keep) Close() error { return nil }

// Push copies the rows of b.
func (s *store) Push(_ context.Context, b *vector.Batch) error {
	return s.append(b.Cols, b.Sel, b.Rows())
}

func (k *keep) Combine(_ context.Context, l Local) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.parts = append(k.parts, l.(*store))
	return nil
}

func (k *keep) Finalize(ctx context.Context) error {
	k.rows = newStore(k.types, k.acct)
	return k.rows.adoptAll(ctx, k.parts, k.env.Threads)
}
