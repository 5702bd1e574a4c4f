package exec

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/invoke"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// userWidth is the bytes per group that are reserved before a user's accumulator tells how many it holds.
const userWidth = 8

// userStates keeps the states of an aggregate function that is not built in. What goes wrong in its code is kept, and ends the query as
// soon as somebody looks (see settle and failed).
type userStates struct {
	spec *stateSpec
	env  *Env
	args *invoke.Caller // of rows or, where merging, of states
	held int64

	mu     sync.Mutex // state is asked for by several goroutines
	acc    function.Accumulator
	states *invoke.Caller // of states that are merged
	err    error
	groups []uint32
}

func newUserStates(s *stateSpec, a *aggregate) (*userStates, error) {
	sig, pos := s.user.User, s.user.P
	types := make([]sqltype.Type, len(s.user.Args))
	for i, x := range s.user.Args {
		types[i] = x.Type()
	}
	u := &userStates{spec: s, env: a.env}
	var err error
	if u.args, err = invoke.New(sig, types, nil, pos); err != nil {
		return nil, err
	}
	if u.states, err = invoke.New(sig, sig.State, nil, pos); err != nil {
		return nil, err
	}
	u.fail(u.args.Guard(a.env.context(), func() error {
		if u.acc = sig.NewAcc(); u.acc == nil {
			return errors.New("there is no accumulator")
		}
		return nil
	}))
	return u, nil
}

func (u *userStates) fail(err error) {
	if u.err == nil {
		u.err = err
	}
}

func (u *userStates) size(n int) {
	if u.err == nil {
		u.fail(u.args.Guard(u.env.context(), func() error {
			u.acc.Grow(n)
			return nil
		}))
	}
}

func (u *userStates) update(vs []*vector.Vector, r *rows) {
	u.take(u.args, vs, r, func(ctx context.Context, in []arrow.Array, groups []uint32) error {
		return u.acc.Update(ctx, in, groups)
	})
}

func (u *userStates) merge(vs []*vector.Vector, r *rows) {
	u.take(u.states, vs, r, func(ctx context.Context, in []arrow.Array, groups []uint32) error {
		return u.acc.Merge(ctx, in, groups)
	})
}

func (u *userStates) take(c *invoke.Caller, vs []*vector.Vector, r *rows, f func(context.Context, []arrow.Array, []uint32) error) {
	if u.err != nil || r.n() == 0 {
		return
	}
	u.groups = u.groups[:0]
	r.each(func(_ int, g uint32) { u.groups = append(u.groups, g) })
	ctx := u.env.context()
	u.fail(c.Do(ctx, vs, r.len, r.sel, func(in []arrow.Array, _ int) error { return f(ctx, in, u.groups) }))
}

// state gives the states of groups; where that fails they are NULL, and failed tells why.
func (u *userStates) state(ids []int32, _ []lane) []*vector.Vector {
	u.mu.Lock()
	defer u.mu.Unlock()
	sig := u.spec.user.User
	groups := make([]uint32, len(ids))
	for i, id := range ids {
		groups[i] = uint32(id)
	}
	var out []*vector.Vector
	// The columns outlast the next call, so they get memory of their own.
	c, err := invoke.New(sig, nil, sig.State, u.spec.user.P)
	if err == nil && u.err == nil {
		ctx := u.env.context()
		err = c.Guard(ctx, func() error {
			arrays, err := u.acc.State(ctx, groups)
			if err != nil {
				return err
			}
			out, err = c.Results(ctx, arrays, len(groups))
			return err
		})
	}
	u.fail(err)
	if u.err != nil {
		out = nil
		for _, t := range sig.State {
			v := &vector.Vector{}
			vector.SetNull(v, t, len(ids))
			out = append(out, v)
		}
	}
	for i, v := range out {
		out[i] = widest(v)
	}
	return out
}

func (u *userStates) seal() {}

// widest is a decimal of more than 18 digits in its wide form, in which all parts of a column must be.
func widest(v *vector.Vector) *vector.Vector {
	if v.Type.Kind != sqltype.Decimal || vector.PhysOf(v.Type) != vector.PhysInt128 || v.Phys != vector.PhysInt64 {
		return v
	}
	wide := make([]int128.Int128, v.Len)
	for i := range wide {
		if !v.IsNull(i) {
			at, e := v.At(i)
			wide[i] = int128.FromInt64(vector.Values[int64](at)[e])
		}
	}
	out := &vector.Vector{}
	vector.SetFlat(out, v.Type, wide, v.Valid)
	return out
}

// settle reserves what the accumulator holds beyond userWidth, and tells what went wrong.
func (u *userStates) settle(acct *account) error {
	if u.err == nil {
		var size int64
		u.fail(u.args.Guard(u.env.context(), func() error {
			size = max(0, u.acc.Size())
			return nil
		}))
		u.fail(acct.resize(&u.held, size))
	}
	return u.err
}

// failed is what went wrong in an accumulator that could not say so at once.
func failed(acc accumulator) error {
	u, ok := acc.(*userStates)
	if !ok {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// finishUser makes the results of aggregate i, of a function that is not built in, of its states.
func (r *aggReader) finishUser(ctx context.Context, i int, states []*vector.Vector) (*vector.Vector, error) {
	agg := &r.source.agg.node.Aggs[i]
	sig := agg.User
	c := r.users[i]
	if c == nil {
		var err error
		if c, err = invoke.New(sig, sig.State, []sqltype.Type{sig.Result}, agg.P); err != nil {
			return nil, err
		}
		if r.users == nil {
			r.users = map[int]*invoke.Caller{}
		}
		r.users[i] = c
	}
	var out []*vector.Vector
	err := c.Do(ctx, states, len(r.ids), nil, func(in []arrow.Array, rows int) error {
		a, err := sig.Call(ctx, in, rows)
		if err != nil {
			return err
		}
		out, err = c.Results(ctx, []arrow.Array{a}, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
