package physical

import (
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Validate tells why a plan does not fit together: a column that is not there, operands of different types, keys that do not
// pair up. Operators trust what it has checked, so every plan that comes from elsewhere passes here first. An error has code
// invalid_plan.
func Validate(root Node) error {
	v := &validator{}
	v.node(root)
	return v.err
}

// validator keeps the first error.
type validator struct {
	err     error
	working map[int32][]Field // of the recursions around
}

func (v *validator) fail(n Node, format string, args ...any) {
	if v.err == nil {
		v.err = sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: %T: %s", n, fmt.Sprintf(format, args...))
	}
}

// node checks n and everything below it, and gives its schema, which is only asked for once its inputs are known to be good.
func (v *validator) node(n Node) []Field {
	if n == nil {
		v.fail(n, "an operator is missing")
	}
	if v.err != nil {
		return nil
	}
	var in []Field
	var sides [][]Field
	for i, c := range n.Children() {
		if r, ok := n.(*Recursive); ok && i == 1 {
			defer v.within(r)()
		}
		sides = append(sides, v.node(c))
		if v.err != nil {
			return nil
		}
		in = append(in, sides[len(sides)-1]...)
	}
	switch n := n.(type) {
	case *Scan:
		for _, c := range n.Columns {
			in = append(in, Field{c.Name, c.Type, c.Nullable})
		}
		v.optionalBool(n, n.Filter, in)
		for _, r := range n.Runtime {
			if r.Column < 0 || r.Column >= len(n.Columns) {
				v.fail(n, "runtime filter of column %d of %d", r.Column, len(n.Columns))
			}
		}
	case *Values:
		for _, row := range n.Rows {
			if len(row) != len(n.Fields) {
				v.fail(n, "a row of %d values for %d columns", len(row), len(n.Fields))
				return nil
			}
			for i, x := range row {
				if !x.Type.Equal(n.Fields[i].Type) {
					v.fail(n, "a %s in a column of %s", x.Type, n.Fields[i].Type)
				}
			}
		}
	case *Filter:
		v.boolean(n, n.Cond, in)
	case *Project:
		v.exprs(n, n.Exprs, in)
		if len(n.Names) != len(n.Exprs) {
			v.fail(n, "%d names for %d columns", len(n.Names), len(n.Exprs))
		}
	case *Aggregate:
		v.aggregate(n, in)
	case *HashJoin:
		v.exprs(n, n.ProbeKeys, sides[0])
		v.exprs(n, n.BuildKeys, sides[1])
		if len(n.ProbeKeys) != len(n.BuildKeys) || len(n.ProbeKeys) == 0 || n.NullEqual != nil && len(n.NullEqual) != len(n.ProbeKeys) {
			v.fail(n, "%d keys against %d", len(n.ProbeKeys), len(n.BuildKeys))
			return nil
		}
		for i, k := range n.ProbeKeys {
			if v.err == nil && !k.Type().Equal(n.BuildKeys[i].Type()) {
				v.fail(n, "a key of %s against one of %s", k.Type(), n.BuildKeys[i].Type())
			}
		}
		if n.NullAware && (len(n.ProbeKeys) != 1 || n.Kind != Anti && n.Kind != Mark) {
			v.fail(n, "NULL-aware with %d keys and kind %d", len(n.ProbeKeys), n.Kind)
		}
		for _, r := range n.Runtime {
			if r.Key < 0 || r.Key >= len(n.BuildKeys) {
				v.fail(n, "runtime filter of key %d of %d", r.Key, len(n.BuildKeys))
			}
		}
		v.optionalBool(n, n.Residual, in)
		v.joinOutput(n, n.Kind, sides, n.Output)
	case *LoopJoin:
		if n.Kind == BuildSemi || n.Kind == BuildAnti {
			v.fail(n, "kind %d", n.Kind)
		}
		v.optionalBool(n, n.Cond, in)
		v.joinOutput(n, n.Kind, sides, n.Output)
	case *Sort:
		if len(n.Keys) == 0 {
			v.fail(n, "no keys")
		}
		v.keys(n, n.Keys, in)
		v.bounds(n, n.Fetch, n.Offset)
	case *Limit:
		v.bounds(n, n.Fetch, n.Offset)
	case *Union:
		if len(sides) == 0 {
			v.fail(n, "no inputs")
			return nil
		}
		for _, side := range sides[1:] {
			if len(side) != len(sides[0]) {
				v.fail(n, "inputs of %d and %d columns", len(sides[0]), len(side))
				return nil
			}
			for i, f := range side {
				if !f.Type.Equal(sides[0][i].Type) {
					v.fail(n, "a column of %s and of %s", sides[0][i].Type, f.Type)
				}
			}
		}
	case *Expand:
		v.expand(n, in)
	case *Recursive:
		v.fields(n, n.Fields, sides[0])
		v.fields(n, n.Fields, sides[1])
	case *Working:
		have, ok := v.working[n.ID]
		if !ok {
			v.fail(n, "outside of recursion %d", n.ID)
			return nil
		}
		v.fields(n, n.Fields, have)
	case *Window:
		v.window(n, in)
	case *Exchange:
		for _, k := range n.Keys {
			if k < 0 || k >= len(in) {
				v.fail(n, "key %d of %d columns", k, len(in))
			}
		}
		v.keys(n, n.Merge, in)
	case *Remote:
		v.keys(n, n.Merge, n.Fields)
	default:
		v.fail(n, "an operator that this build does not know")
	}
	if v.err != nil {
		return nil
	}
	return n.Schema()
}

func (v *validator) expand(n *Expand, in []Field) {
	v.exprs(n, n.Lists, in)
	names := len(n.Lists)
	if n.Ordinality {
		names++
	}
	if len(n.Lists) == 0 || len(n.Names) != names {
		v.fail(n, "%d names for %d lists", len(n.Names), len(n.Lists))
	}
	for _, l := range n.Lists {
		if v.err == nil && (l.Type().Kind != sqltype.List || l.Type().Elem == nil) {
			v.fail(n, "the elements of a %s", l.Type())
		}
	}
}

// within lets the working rows of r be read until the call of what it returns.
func (v *validator) within(r *Recursive) func() {
	if v.working == nil {
		v.working = map[int32][]Field{}
	}
	outer, had := v.working[r.ID]
	v.working[r.ID] = r.Fields
	return func() {
		if delete(v.working, r.ID); had {
			v.working[r.ID] = outer
		}
	}
}

// fields checks that rows of have can be given as rows of want.
func (v *validator) fields(n Node, want, have []Field) {
	if len(want) != len(have) {
		v.fail(n, "%d columns where %d are due", len(have), len(want))
		return
	}
	for i, f := range have {
		v.same(n, f.Type, want[i].Type)
		if f.Nullable && !want[i].Nullable {
			v.fail(n, "column %d may be NULL", i)
		}
	}
}

func (v *validator) window(n *Window, in []Field) {
	v.exprs(n, n.Partition, in)
	v.keys(n, n.Order, in)
	if len(n.Names) != len(n.Calls) || len(n.Calls) == 0 {
		v.fail(n, "%d names for %d calls", len(n.Names), len(n.Calls))
	}
	for _, c := range n.Calls {
		v.exprs(n, c.Args, in)
		v.optionalBool(n, c.Filter, in)
		f := c.Frame
		offset := func(b Bound) bool { return b.Kind == Preceding || b.Kind == Following }
		switch {
		case c.Typ.Kind == sqltype.Invalid:
			v.fail(n, "call of %s without type", c.Func)
		case f.Start.Kind == UnboundedFollowing || f.End.Kind == UnboundedPreceding || f.Start.Kind > f.End.Kind:
			v.fail(n, "a frame that ends before it starts")
		case f.Unit == FrameRange && (offset(f.Start) || offset(f.End)) && len(n.Order) != 1:
			v.fail(n, "a range with an offset and %d order keys", len(n.Order))
		case f.Unit == FrameGroups && len(n.Order) == 0:
			v.fail(n, "groups without an order")
		}
		for _, b := range []Bound{f.Start, f.End} {
			if !offset(b) {
				continue
			}
			if b.Offset.Null || f.Unit != FrameRange && (b.Offset.Type.Kind != sqltype.Int64 || b.Offset.Int < 0) {
				v.fail(n, "a frame offset that is no count")
			}
		}
	}
}

func (v *validator) aggregate(n *Aggregate, in []Field) {
	v.exprs(n, n.Groups, in)
	names := len(n.Groups)
	for _, a := range n.Aggs {
		if n.Mode == Single || n.Mode == Partial {
			v.exprs(n, a.Args, in)
		} else {
			for _, x := range a.Args {
				if _, ok := x.(*expr.Input); !ok {
					v.fail(n, "a final aggregate of an expression")
				}
			}
			v.exprs(n, a.Args, in)
		}
		v.optionalBool(n, a.Filter, in)
		for _, k := range a.OrderBy {
			v.expr(n, k.Expr, in)
		}
		if a.Typ.Kind == sqltype.Invalid {
			v.fail(n, "aggregate %s without type", a.Func)
		}
		if v.err != nil {
			return
		}
		switch {
		case n.Mode != Partial:
			names++
		case len(a.Args) == 0 && a.Func != "count_star":
			v.fail(n, "aggregate %s without arguments", a.Func)
			return
		default:
			names += len(expr.StateTypes(a))
		}
	}
	if len(n.Names) != names {
		v.fail(n, "%d names for %d columns", len(n.Names), names)
	}
}

func (v *validator) bounds(n Node, fetch, offset int64) {
	if fetch < -1 || offset < 0 {
		v.fail(n, "fetch %d, offset %d", fetch, offset)
	}
}

func (v *validator) joinOutput(n Node, kind JoinKind, sides [][]Field, output []int) {
	width := len(sides[0]) + len(sides[1])
	switch kind {
	case Semi, Anti:
		width = len(sides[0])
	case BuildSemi, BuildAnti:
		width = len(sides[1])
	case Mark:
		width = len(sides[0]) + 1
	}
	for _, o := range output {
		if o < 0 || o >= width {
			v.fail(n, "output column %d of %d", o, width)
		}
	}
}

func (v *validator) keys(n Node, keys []SortKey, in []Field) {
	for _, k := range keys {
		v.expr(n, k.Expr, in)
	}
}

func (v *validator) exprs(n Node, es []expr.Expr, in []Field) {
	for _, e := range es {
		v.expr(n, e, in)
	}
}

func (v *validator) optionalBool(n Node, e expr.Expr, in []Field) {
	if e != nil {
		v.boolean(n, e, in)
	}
}

func (v *validator) boolean(n Node, e expr.Expr, in []Field) {
	v.expr(n, e, in)
	if v.err == nil && e.Type().Kind != sqltype.Bool && e.Type().Kind != sqltype.Null {
		v.fail(n, "a condition of type %s", e.Type())
	}
}

func (v *validator) expr(n Node, e expr.Expr, in []Field) {
	if v.err != nil {
		return
	}
	if e == nil {
		v.fail(n, "an expression is missing")
		return
	}
	operand := func(x expr.Expr, kind sqltype.Kind) {
		if v.err == nil && x.Type().Kind != kind && x.Type().Kind != sqltype.Null {
			v.fail(n, "an operand of type %s", x.Type())
		}
	}
	for _, c := range expr.Children(e) {
		v.expr(n, c, in)
	}
	if v.err != nil {
		return
	}
	switch e := e.(type) {
	case *expr.Input:
		switch {
		case e.Index < 0 || e.Index >= len(in):
			v.fail(n, "column %d of %d", e.Index, len(in))
		case !in[e.Index].Type.Equal(e.Typ):
			v.fail(n, "column %d is %s, not %s", e.Index, in[e.Index].Type, e.Typ)
		case in[e.Index].Nullable && !e.Nullable:
			v.fail(n, "column %d may be NULL", e.Index)
		}
	case *expr.Column, *expr.Param:
		v.fail(n, "a %T in a physical plan", e)
	case *expr.Compare:
		if !e.L.Type().Equal(e.R.Type()) {
			v.fail(n, "%s compared with %s", e.L.Type(), e.R.Type())
		}
	case *expr.Logic:
		if len(e.Args) < 2 {
			v.fail(n, "%s of %d operands", e.Op, len(e.Args))
		}
		for _, x := range e.Args {
			operand(x, sqltype.Bool)
		}
	case *expr.Not:
		operand(e.X, sqltype.Bool)
	case *expr.Case:
		if len(e.Whens) == 0 {
			v.fail(n, "CASE without arms")
		}
		for _, w := range e.Whens {
			operand(w.Cond, sqltype.Bool)
			v.same(n, w.Then.Type(), e.Typ)
		}
		if e.Else != nil {
			v.same(n, e.Else.Type(), e.Typ)
		}
	case *expr.In:
		if len(e.List) == 0 {
			v.fail(n, "IN of nothing")
		}
		for _, x := range e.List {
			if !x.Null {
				v.same(n, x.Type, e.X.Type())
			}
		}
	}
}

func (v *validator) same(n Node, a, b sqltype.Type) {
	if v.err == nil && !a.Equal(b) {
		v.fail(n, "%s where %s is due", a, b)
	}
}
