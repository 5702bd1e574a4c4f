package eval

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/invoke"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// user compiles a call of a function that is not built in.
func (k call) user() (factory, error) {
	sig, pos := k.User, k.P
	types := make([]sqltype.Type, len(k.Args))
	for i, a := range k.Args {
		types[i] = a.Type()
	}
	out := []sqltype.Type{sig.Result}
	if _, err := invoke.New(sig, types, out, pos); err != nil {
		return nil, err
	}
	return func(in *instance) node {
		caller, err := invoke.New(sig, types, out, pos)
		return &userNode{sig: sig, in: in, args: k.nodes(in), caller: caller, err: err}
	}, nil
}

// A userNode calls a function that is not built in for the rows that are alive, one after the other in arrays of their own. A strict one
// does not see rows with NULL.
type userNode struct {
	sig    *function.Signature
	in     *instance
	args   []node
	caller *invoke.Caller
	err    error

	vals  []*vector.Vector
	sel   []int32
	codes []uint32
	bits  []uint64
	valid []uint64
	dict  vector.Vector
	out   vector.Vector
}

func (u *userNode) eval(f frame) (*vector.Vector, error) {
	if u.err != nil {
		return nil, u.err
	}
	u.vals = u.vals[:0]
	for _, a := range u.args {
		v, err := a.eval(f)
		if err != nil {
			return nil, err
		}
		u.vals = append(u.vals, v)
	}
	sel := u.called(f)
	rows := f.n
	if sel != nil {
		rows = len(sel)
	}
	if rows == 0 {
		vector.SetNull(&u.out, u.sig.Result, f.n)
		return &u.out, nil
	}
	var result []*vector.Vector
	err := u.caller.Do(u.in.ctx, u.vals, f.n, sel, func(args []arrow.Array, rows int) error {
		a, err := u.sig.Call(u.in.ctx, args, rows)
		if err != nil {
			return err
		}
		result, err = u.caller.Results(u.in.ctx, []arrow.Array{a}, rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	if sel == nil {
		return result[0], nil
	}
	u.spread(result[0], f.n, sel)
	return &u.out, nil
}

// called is the rows that the function sees, nil for all of f.n.
func (u *userNode) called(f frame) []int32 {
	if u.sig.Lenient {
		return f.sel
	}
	nullable := false
	for _, v := range u.vals {
		nullable = nullable || !v.NoNulls()
	}
	if !nullable {
		return f.sel
	}
	u.sel = grow(&u.sel, f.n)[:0]
rows:
	for _, i := range u.in.rows(f) {
		for _, v := range u.vals {
			if v.IsNull(int(i)) {
				continue rows
			}
		}
		u.sel = append(u.sel, i)
	}
	return u.sel
}

// spread makes out of the values of the rows sel, in order; the others are NULL.
func (u *userNode) spread(v *vector.Vector, n int, sel []int32) {
	valid := grow(&u.valid, vector.Words(n))
	clear(valid)
	if v.Phys == vector.PhysBool {
		bits := grow(&u.bits, vector.Words(n))
		clear(bits)
		for k, i := range sel {
			if v.IsNull(k) {
				continue
			}
			at, e := v.At(k)
			valid[i>>6] |= 1 << (uint(i) & 63)
			bits[i>>6] |= vector.Bits(at)[e>>6] >> (uint(e) & 63) & 1 << (uint(i) & 63)
		}
		vector.SetBits(&u.out, u.sig.Result, bits, n, valid)
		return
	}
	codes := grow(&u.codes, n)
	clear(codes)
	for k, i := range sel {
		if v.IsNull(k) {
			continue
		}
		_, e := v.At(k)
		valid[i>>6] |= 1 << (uint(i) & 63)
		codes[i] = uint32(e)
	}
	values, _ := v.At(0)
	u.dict = *values
	u.dict.Valid = nil
	vector.SetDict(&u.out, &u.dict, vector.NewDictID(), codes, valid)
}
