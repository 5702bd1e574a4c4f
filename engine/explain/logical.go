package explain

import (
	"fmt"
	"strings"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// Logical is a logical plan as text. rows gives what a node is expected to give, negative where unknown; nil writes no numbers.
func Logical(n logical.Node, rows func(logical.Node) float64) string {
	t := tree[logical.Node]{
		children: logical.Node.Children,
		line: func(n logical.Node) string {
			if rows == nil {
				return LogicalLine(n)
			}
			return LogicalLine(n) + "  ~" + count(rows(n))
		},
	}
	t.write(n, "", "")
	return t.out.String()
}

// LogicalLine is a node without its inputs.
func LogicalLine(n logical.Node) string {
	switch n := n.(type) {
	case *logical.Scan:
		s := "Scan " + n.Name
		if len(n.Cols) < len(n.Table.Columns) {
			s += " [" + strings.Join(mapTo(n.Cols, columnName), ", ") + "]"
		}
		for _, r := range n.Runtime {
			name := fmt.Sprint(r.Column)
			for _, c := range n.Cols {
				if c.ID == r.Column {
					name = columnName(c)
				}
			}
			s += fmt.Sprintf(" runtime #%d [%s]", r.Filter, name)
		}
		return s
	case *logical.Values:
		return plural(len(n.Rows), "row", "Values ")
	case *logical.Expand:
		s := "Expand" + list(mapTo(n.Lists, itemText))
		if n.Ordinality != nil {
			s += " with ordinality"
		}
		return s
	case *logical.Shared:
		return fmt.Sprintf("Shared #%d %s", n.ID, n.Name)
	case *logical.Recursive:
		return "Recursive" + distinctly(n.All) + " " + n.Name
	case *logical.Working:
		return "Working " + n.Name
	case *logical.Filter:
		return "Filter [" + expr.String(n.Cond) + "]"
	case *logical.Project:
		return "Project" + list(mapTo(n.Items, itemText))
	case *logical.Aggregate:
		if len(n.Aggs) == 0 && len(n.Groups) > 0 {
			return "Distinct" + list(mapTo(n.Groups, itemText))
		}
		s := "Aggregate"
		if len(n.Groups) > 0 {
			s += " by" + list(mapTo(n.Groups, itemText))
		}
		return s + list(mapTo(n.Aggs, func(a logical.Agg) string { return expr.AggregateString(a.Aggregate) }))
	case *logical.Join:
		kind := n.Kind.String()
		if n.On == nil && n.Kind == logical.Inner {
			return "Join cross"
		}
		if n.NullAware {
			kind += " null-aware"
		}
		s := "Join " + kind
		if n.On != nil {
			s += " [" + expr.String(n.On) + "]"
		}
		for _, r := range n.Runtime {
			s += fmt.Sprintf(" runtime #%d [%s]", r.Filter, expr.String(r.Key))
		}
		return s
	case *logical.Apply:
		s := "Apply " + n.Kind.String()
		if n.NullAware {
			s += " null-aware"
		}
		if n.On != nil {
			s += " [" + expr.String(n.On) + "]"
		}
		return s
	case *logical.Sort:
		if n.Fetch >= 0 {
			return fmt.Sprintf("TopN %d", n.Fetch) + offset(n.Offset) + list(mapTo(n.Keys, orderText))
		}
		return "Sort" + list(mapTo(n.Keys, orderText))
	case *logical.Limit:
		return limit(n.Fetch, n.Offset)
	case *logical.Union:
		return "Union"
	case *logical.Window:
		calls := make([]string, len(n.Calls))
		for i, c := range n.Calls {
			calls[i] = windowText(expr.AggregateString(c.Aggregate), c.IgnoreNulls, c.Frame)
		}
		return "Window" + list(calls) + over(mapTo(n.Partition, expr.String), mapTo(n.Order, orderText))
	}
	return fmt.Sprintf("%T", n)
}

func columnName(c *expr.Column) string { return c.Name }

func itemText(it logical.Item) string {
	s := expr.String(it.Expr)
	if it.IsPass() || s == it.Col.Name {
		return s
	}
	return s + " AS " + it.Col.Name
}

func orderText(o expr.SortOrder) string {
	return expr.String(o.Expr) + direction(o.Desc, o.NullsFirst)
}

func direction(desc, nullsFirst bool) string {
	s := ""
	if desc {
		s = " DESC"
	}
	if nullsFirst != desc {
		if nullsFirst {
			return s + " NULLS FIRST"
		}
		return s + " NULLS LAST"
	}
	return s
}

func offset(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" offset %d", n)
}

func limit(fetch, off int64) string {
	if fetch < 0 {
		return "Limit" + offset(off)
	}
	return fmt.Sprintf("Limit %d", fetch) + offset(off)
}

func plural(n int, one, before string) string {
	if n == 1 {
		return before + "1 " + one
	}
	return fmt.Sprintf("%s%d %ss", before, n, one)
}
