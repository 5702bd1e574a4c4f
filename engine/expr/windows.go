package expr

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A WindowFunction is a function of the rows around a row that is no aggregate. Every aggregate is one as well, over its frame.
type WindowFunction struct {
	Name      string // canonical: what a call holds; wire format
	Overloads []Overload
	Framed    bool // its frame matters; the others see the whole partition
	Nulls     bool // takes IGNORE NULLS
	Source    string
	Doc       string
}

const postgres9_22 = "PostgreSQL 17 §9.22"

var windowList = []*WindowFunction{
	{Name: "cume_dist", Overloads: over(gives(pDouble)), Source: postgres9_22, Doc: "share of the partition's rows that come before or are peers"},
	{Name: "dense_rank", Overloads: over(gives(pInt64)), Source: postgres9_22, Doc: "number of the row's group of peers, from 1"},
	{Name: "first_value", Overloads: over(with(sameAs(0), Any)), Framed: true, Nulls: true, Source: postgres9_22, Doc: "value at the frame's first row"},
	{Name: "lag", Overloads: over(with(sameAs(0), Any), with(sameAs(0), Any, pInt64), with(sameAs(0), Common, pInt64, Common)), Nulls: true, Source: postgres9_22, Doc: "value so many rows before, 1 unless given; the third argument where there is no such row"},
	{Name: "last_value", Overloads: over(with(sameAs(0), Any)), Framed: true, Nulls: true, Source: postgres9_22, Doc: "value at the frame's last row"},
	{Name: "lead", Overloads: over(with(sameAs(0), Any), with(sameAs(0), Any, pInt64), with(sameAs(0), Common, pInt64, Common)), Nulls: true, Source: postgres9_22, Doc: "value so many rows after, 1 unless given; the third argument where there is no such row"},
	{Name: "nth_value", Overloads: over(with(sameAs(0), Any, pInt64)), Framed: true, Nulls: true, Source: postgres9_22, Doc: "value at the frame's n-th row, from 1; NULL where there is none"},
	{Name: "ntile", Overloads: over(gives(pInt64, pInt64)), Source: postgres9_22, Doc: "number, from 1, of the part that the row falls into when the partition is cut into n parts as equal as can be"},
	{Name: "percent_rank", Overloads: over(gives(pDouble)), Source: postgres9_22, Doc: "(rank - 1) / (rows - 1)"},
	{Name: "rank", Overloads: over(gives(pInt64)), Source: postgres9_22, Doc: "number of the first row of the row's group of peers, from 1"},
	{Name: "row_number", Overloads: over(gives(pInt64)), Source: postgres9_22, Doc: "number of the row in its partition, from 1"},
}

// WindowFunctions are all window functions that are no aggregates, ordered by name.
func WindowFunctions() []*WindowFunction { return slices.Clone(windowList) }

// LookupWindow finds a window function by name, in any case; nil where there is none.
func LookupWindow(name string) *WindowFunction {
	name = strings.ToLower(name)
	for _, w := range windowList {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// NewWindow resolves a call of a window function or an aggregate over a window, and coerces its arguments: an Aggregate whose Func may
// be a window function's.
func NewWindow(name string, args []Expr, pos sqlerr.Pos) (Aggregate, error) {
	w := LookupWindow(name)
	if w == nil {
		return NewAggregate(name, args, pos)
	}
	sig, ok, err := choose(w.Overloads, typesOf(args))
	switch {
	case err != nil:
		return Aggregate{}, sqlerr.At(err, pos)
	case !ok:
		return Aggregate{}, sqlerr.Newf(sqlerr.UnknownFunction, pos, "function %s(%s) does not exist", name, typeList(typesOf(args))).
			WithHint("there is %s; an explicit cast may help", overloadList(w.Name, w.Overloads))
	}
	coerced, err := coerceAll(args, sig.Args)
	if err != nil {
		return Aggregate{}, err
	}
	return Aggregate{At: At{pos}, Func: w.Name, Args: coerced, Typ: sig.Result}, nil
}
