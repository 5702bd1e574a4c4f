package worker

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/hash"
	"github.com/fletchdb/fletch/engine/sqltype"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	planv1 "github.com/fletchdb/fletch/gen/go/fletch/plan/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// Capabilities is what this build can run.
func Capabilities() *identityv1.Capabilities {
	c := &identityv1.Capabilities{HashSpec: hash.Spec, AggregateStateSpec: expr.StateSpec}
	c.Messages, c.Enums = identity.Known(
		planv1.File_fletch_plan_v1_plan_proto, planv1.File_fletch_plan_v1_expression_proto, planv1.File_fletch_plan_v1_type_proto, planv1.File_fletch_plan_v1_value_proto,
	)
	for _, f := range expr.Functions() {
		for _, o := range f.Overloads {
			c.Functions = append(c.Functions, function(f.Name, volatilities[f.Volatility], o))
		}
	}
	for _, a := range expr.AggregateFunctions() {
		for _, o := range a.Overloads {
			c.Functions = append(c.Functions, function(a.Name, volatilities[expr.Immutable], o))
		}
	}
	slices.SortFunc(c.Functions, func(a, b *identityv1.Function) int {
		if n := strings.Compare(a.GetName(), b.GetName()); n != 0 {
			return n
		}
		return slices.Compare(a.GetArguments(), b.GetArguments())
	})
	return c
}

var volatilities = map[expr.Volatility]string{expr.Immutable: "immutable", expr.Stable: "stable", expr.Volatile: "volatile"}

// function is one overload. Its result is told where it does not depend on more than the kinds of the arguments.
func function(name, volatility string, o expr.Overload) *identityv1.Function {
	m := &identityv1.Function{Name: name, Result: "any", Volatility: volatility}
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
