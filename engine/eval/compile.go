package eval

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A compiler turns expressions into factories. Inside a dictNode it makes no further ones.
type compiler struct {
	inDict bool
}

func (c *compiler) compile(e expr.Expr) (factory, error) {
	if c.inDict || isLeaf(e) {
		return c.build(e)
	}
	column, ok := soleColumn(e)
	if !ok || e.Type().IsNested() || !expr.IsImmutable(e) {
		return c.build(e)
	}
	inner, err := (&compiler{inDict: true}).build(e)
	if err != nil {
		return nil, err
	}
	t := e.Type()
	return func(in *instance) node {
		return &dictNode{ctx: in.ctx, typ: t, index: column.Index, column: column.Typ, rows: inner(in), make: inner}
	}, nil
}

func (c *compiler) compileAll(es []expr.Expr) ([]factory, error) {
	out := make([]factory, len(es))
	for i, e := range es {
		var err error
		if out[i], err = c.compile(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func isLeaf(e expr.Expr) bool { return len(expr.Children(e)) == 0 }

// soleColumn is the one column that e reads, ok only if it reads one and that is of no nested type.
func soleColumn(e expr.Expr) (column *expr.Input, ok bool) {
	ok = true
	expr.Walk(e, func(x expr.Expr) bool {
		if in, isInput := x.(*expr.Input); isInput {
			ok = ok && (column == nil || column.Index == in.Index && column.Typ.Equal(in.Typ)) && !in.Typ.IsNested()
			column = in
		}
		return ok
	})
	return column, ok && column != nil
}

func (c *compiler) build(e expr.Expr) (factory, error) {
	switch e := e.(type) {
	case *expr.Input:
		return func(*instance) node { return inputNode{e.Index, e.Typ} }, nil
	case *expr.Literal:
		f, err := constant(e.Value)
		return f, sqlerr.At(err, e.P)
	case *expr.Compare:
		return c.compare(e)
	case *expr.Logic:
		return c.logic(e)
	case *expr.Not:
		x, err := c.compile(e.X)
		return func(in *instance) node { return &notNode{x: x(in)} }, err
	case *expr.IsNull:
		x, err := c.compile(e.X)
		return func(in *instance) node { return &isNullNode{x: x(in), negated: e.Negated} }, err
	case *expr.Case:
		return c.switchCase(e)
	case *expr.Cast:
		return c.cast(e)
	case *expr.In:
		return c.in(e)
	case *expr.Call:
		return c.call(e)
	case *expr.Param:
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, e.P, "there is no value for parameter $%d", e.Number)
	}
	return nil, sqlerr.Newf(sqlerr.InvalidPlan, e.Pos(), "expression %s cannot be computed", expr.String(e))
}

func unsupported(e expr.Expr) error {
	return sqlerr.Newf(sqlerr.Unsupported, e.Pos(), "%s is not supported for these types", expr.String(e))
}

// call compiles a function, which stands in the file of its subject.
func (c *compiler) call(e *expr.Call) (factory, error) {
	args, err := c.compileAll(e.Args)
	if err != nil {
		return nil, err
	}
	k := call{Call: e, args: args}
	if e.User != nil {
		return k.user()
	}
	switch e.Func {
	case "coalesce":
		return k.coalesce()
	case "nullif":
		return k.nullif()
	case "single_row":
		return k.singleRow()
	case "greatest", "least":
		return k.extreme(e.Func == "greatest")
	case "+", "-", "*", "/", "%", "//", "&", "|", "#", "<<", ">>", "abs":
		if f, ok := k.arithmetic(); ok {
			return f, nil
		}
	}
	for _, subject := range []func() (factory, bool, error){k.lists, k.structs, k.math, k.text, k.pattern, k.bytes, k.system, k.datetime} {
		f, ok, err := subject()
		if err != nil {
			return nil, sqlerr.At(err, e.P)
		}
		if ok {
			return f, nil
		}
	}
	if fn := expr.LookupFunction(e.Func); fn != nil && fn.Volatility == expr.Stable {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, e.P, "%s must be a constant before the plan runs", e.Func)
	}
	return nil, unsupported(e)
}

// A call is a function call whose arguments are compiled.
type call struct {
	*expr.Call
	args []factory
}

// kind is the kind of argument i, Invalid where there is none.
func (k call) kind(i int) sqltype.Kind {
	if i >= len(k.Args) {
		return sqltype.Invalid
	}
	return k.Args[i].Type().Kind
}

func (k call) nodes(in *instance) []node {
	out := make([]node, len(k.args))
	for i, a := range k.args {
		out[i] = a(in)
	}
	return out
}
