package explain

import (
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

func over(partition, order []string) string {
	s := ""
	if len(partition) > 0 {
		s += " by" + list(partition)
	}
	if len(order) > 0 {
		s += " order" + list(order)
	}
	return s
}

var frameUnits = [...]string{"rows", "range", "groups"}

var exclusions = [...]string{"", " exclude current row", " exclude group", " exclude ties"}

// windowText is a call with its frame, where it is not the whole partition.
func windowText(call string, ignoreNulls bool, f physical.Frame) string {
	if ignoreNulls {
		call += " ignore nulls"
	}
	if f.Start.Kind == physical.UnboundedPreceding && f.End.Kind == physical.UnboundedFollowing && f.Exclude == physical.ExcludeNone {
		return call
	}
	return fmt.Sprintf("%s %s %s to %s%s", call, frameUnits[f.Unit], boundText(f.Start), boundText(f.End), exclusions[f.Exclude])
}

func boundText(b physical.Bound) string {
	switch b.Kind {
	case physical.Preceding:
		return b.Offset.SQL() + " preceding"
	case physical.Following:
		return b.Offset.SQL() + " following"
	case physical.CurrentRow:
		return "current"
	}
	return "unbounded"
}

func windowLine(n *physical.Window) string {
	calls := make([]string, len(n.Calls))
	for i, c := range n.Calls {
		a := expr.Aggregate{Func: c.Func, Args: c.Args, Distinct: c.Distinct, Filter: c.Filter}
		calls[i] = windowText(expr.AggregateString(a), c.IgnoreNulls, c.Frame)
	}
	return "Window" + list(calls) + over(mapTo(n.Partition, expr.String), mapTo(n.Order, keyText))
}
