package worker

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/sqltype"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// capabilities is what this build can run, with the functions that it was given.
func capabilities(library *function.Library) *identityv1.Capabilities {
	c := &identityv1.Capabilities{HashSpec: hash.Spec, AggregateStateSpec: expr.StateSpec}
	c.Messages, c.Enums = identity.KnownPlan()
	for _, f := range expr.Functions() {
		for _, o := range f.Overloads {
			c.Functions = append(c.Functions, builtIn(f.Name, f.Volatility, o))
		}
	}
	for _, a := range expr.AggregateFunctions() {
		for _, o := range a.Overloads {
			c.Functions = append(c.Functions, builtIn(a.Name, expr.Immutable, o))
		}
	}
	for _, s := range library.All() {
		c.Functions = append(c.Functions, &identityv1.Function{
			Name: s.Name, Arguments: s.Parameters(), Result: function.Text(s.Result), Volatility: s.Volatility.String(), Version: s.Version, State: function.Texts(s.State),
		})
	}
	slices.SortFunc(c.Functions, func(a, b *identityv1.Function) int {
		if n := strings.Compare(a.GetName(), b.GetName()); n != 0 {
			return n
		}
		return slices.Compare(a.GetArguments(), b.GetArguments())
	})
	return c
}

// builtIn is one overload of a built-in function. Its result is told where it does not depend on more than the kinds of the arguments.
func builtIn(name string, volatility expr.Volatility, o expr.Overload) *identityv1.Function {
	m := &identityv1.Function{Name: name, Result: "any", Volatility: volatility.String()}
	fixed := true
	var args []sqltype.Type
	for _, p := range o.Params {
		m.Arguments = append(m.Arguments, strings.ToLower(p.String()))
		fixed = fixed && p < expr.Any && sqltype.Kind(p) != sqltype.Decimal
		args = append(args, sqltype.Of(sqltype.Kind(p)))
	}
	if o.Variadic {
		m.Arguments = append(m.Arguments, "…")
	}
	if fixed {
		if t, err := o.Result(args); err == nil {
			m.Result = strings.ToLower(t.String())
		}
	}
	return m
}
