package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/physical"
)

// An account is an operator's memory: reserved from the query's budget before it is used, and shown in the node's metrics.
// It may be used from any goroutine.
type account struct {
	name    string
	user    *budget.User
	metrics *NodeMetrics
	cause   func() error // why the query shall end; nil: it cannot be told to
}

// causeOf tells why ctx has ended, nil if it has not.
func causeOf(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// goOn is asked by loops over memory that has become large, every checkEvery steps; its error says that the query shall end.
func (a *account) goOn() error {
	if a.cause == nil {
		return nil
	}
	return a.cause()
}

func (r *runner) account(name string, node physical.Node) *account {
	a := &account{name: name, user: r.env.Budget.User(name), metrics: r.env.Metrics.Of(node), cause: r.cause}
	r.onClose(func() error {
		a.user.ReleaseAll()
		return nil
	})
	return a
}

// resize changes a reservation from *held to want bytes. Growing fails with code memory_limit where the budget has no
// room, and then changes nothing.
func (a *account) resize(held *int64, want int64) error {
	switch d := want - *held; {
	case d > 0:
		if err := a.user.Reserve(d); err != nil {
			return err
		}
		a.metrics.Memory.Store(a.user.Peak())
	case d < 0:
		a.user.Release(-d)
	}
	*held = want
	return nil
}

// reserve adds n bytes that stay until the query ends.
func (a *account) reserve(n int64) error {
	var held int64
	return a.resize(&held, n)
}

// release gives n bytes back.
func (a *account) release(n int64) { a.user.Release(n) }
