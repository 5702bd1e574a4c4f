package explain

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// Counts is what was counted of one node in a run, summed over its goroutines and tasks.
type Counts struct {
	Rows   int64         // given to its parent
	Bytes  int64         // a scan: read from files; a remote: received; else 0
	Time   time.Duration // in the node itself, all goroutines together
	Memory int64         // bytes at its peak
}

// Physical is a physical plan as text, with the rows that were expected; run, if not nil, adds what was counted: ok is false for a
// node that did not run.
func Physical(n physical.Node, run func(physical.Node) (c Counts, ok bool)) string {
	shared := numbering{}
	t := tree[physical.Node]{
		children: shared.children,
		line: func(n physical.Node) string {
			s := shared.line(n)
			if est := Expected(n); est >= 0 {
				s += "  ~" + count(est)
			}
			if run == nil {
				return s
			}
			c, ok := run(n)
			if !ok {
				return s + "  (not run)"
			}
			return s + "  (" + c.text() + ")"
		},
	}
	t.write(n, "", "")
	return t.out.String()
}

// numbering tells the shared nodes of a plan apart, and leaves out the inputs of one that was written before: its number is then
// negative.
type numbering map[*physical.Shared]int

func (s numbering) line(n physical.Node) string {
	x, ok := n.(*physical.Shared)
	switch {
	case !ok:
		return Line(n)
	case s[x] == 0:
		s[x] = len(s) + 1
		return fmt.Sprintf("Shared #%d", s[x])
	}
	return fmt.Sprintf("Shared #%d again", max(s[x], -s[x]))
}

// children are called after line.
func (s numbering) children(n physical.Node) []physical.Node {
	if x, ok := n.(*physical.Shared); ok {
		if s[x] < 0 {
			return nil
		}
		defer func() { s[x] = -s[x] }()
	}
	return n.Children()
}

func (c Counts) text() string {
	parts := []string{fmt.Sprintf("rows %d", c.Rows), "time " + duration(c.Time)}
	if c.Bytes > 0 {
		parts = append(parts, "read "+budget.Bytes(c.Bytes))
	}
	if c.Memory > 0 {
		parts = append(parts, "memory "+budget.Bytes(c.Memory))
	}
	return strings.Join(parts, ", ")
}

func duration(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// Expected is how many rows the planner expects of a node; negative where it expects nothing.
func Expected(n physical.Node) float64 {
	switch n := n.(type) {
	case *physical.Scan:
		return n.Est.Rows
	case *physical.Filter:
		return n.Est.Rows
	case *physical.Expand:
		return n.Est.Rows
	case *physical.Aggregate:
		return n.Est.Rows
	case *physical.HashJoin:
		return n.Est.Rows
	case *physical.LoopJoin:
		return n.Est.Rows
	case *physical.Sort:
		return n.Est.Rows
	case *physical.Remote:
		return n.Est.Rows
	case *physical.Shared:
		return Expected(n.Input)
	case *physical.Values:
		return float64(len(n.Rows))
	}
	return -1
}

// distinctly says of a recursion whether it gives each row once.
func distinctly(all bool) string {
	if all {
		return ""
	}
	return " distinct"
}

var joinKinds = [...]string{"inner", "left", "right", "full", "semi", "anti", "right semi", "right anti", "mark"}

var exchangeKinds = [...]string{"gather", "hash", "broadcast", "robin", "share"}

// Line is a node without its inputs.
func Line(n physical.Node) string {
	switch n := n.(type) {
	case *physical.Scan:
		return scanLine(n)
	case *physical.Values:
		return plural(len(n.Rows), "row", "Values ")
	case *physical.Expand:
		s := "Expand" + list(mapTo(n.Lists, expr.String))
		if n.Ordinality {
			s += " with ordinality"
		}
		return s
	case *physical.Recursive:
		return fmt.Sprintf("Recursive #%d", n.ID) + distinctly(n.All)
	case *physical.Working:
		return fmt.Sprintf("Working #%d", n.ID)
	case *physical.Filter:
		return "Filter [" + expr.String(n.Cond) + "]"
	case *physical.Project:
		parts := make([]string, len(n.Exprs))
		for i, e := range n.Exprs {
			parts[i] = expr.String(e)
			if parts[i] != n.Names[i] {
				parts[i] += " AS " + n.Names[i]
			}
		}
		return "Project" + list(parts)
	case *physical.Aggregate:
		return aggregateLine(n)
	case *physical.HashJoin:
		return hashJoinLine(n)
	case *physical.LoopJoin:
		if n.Cond == nil {
			return "LoopJoin " + joinKinds[n.Kind]
		}
		return "LoopJoin " + joinKinds[n.Kind] + " [" + expr.String(n.Cond) + "]"
	case *physical.Sort:
		if n.Fetch >= 0 {
			return fmt.Sprintf("TopN %d", n.Fetch) + offset(n.Offset) + list(mapTo(n.Keys, keyText))
		}
		return "Sort" + offset(n.Offset) + list(mapTo(n.Keys, keyText))
	case *physical.Limit:
		return limit(n.Fetch, n.Offset)
	case *physical.Union:
		return "Union"
	case *physical.Window:
		return windowLine(n)
	case *physical.Exchange:
		s := "Exchange " + exchangeKinds[n.Kind]
		fields := n.Schema()
		if n.Kind == physical.Hash {
			s += list(mapTo(n.Keys, func(i int) string { return fields[i].Name }))
		}
		if n.Merge != nil {
			s += " merge" + list(mapTo(n.Merge, keyText))
		}
		return s
	case *physical.Remote:
		s := fmt.Sprintf("Remote stage %d", n.Stage)
		if n.Merge != nil {
			s += " merge" + list(mapTo(n.Merge, keyText))
		}
		return s
	}
	return fmt.Sprintf("%T", n)
}

func keyText(k physical.SortKey) string { return expr.String(k.Expr) + direction(k.Desc, k.NullsFirst) }

func scanLine(n *physical.Scan) string {
	s := "Scan " + n.Table + " [" + strings.Join(mapTo(n.Columns, func(c physical.ScanColumn) string { return c.Name }), ", ") + "]"
	if n.Filter != nil {
		s += " where [" + expr.String(n.Filter) + "]"
	}
	for _, r := range n.Runtime {
		s += fmt.Sprintf(" runtime #%d [%s]", r.Filter, n.Columns[r.Column].Name)
	}
	return s
}

func aggregateLine(n *physical.Aggregate) string {
	s := "Aggregate"
	if len(n.Aggs) == 0 && len(n.Groups) > 0 {
		s = "Distinct"
	}
	s += [...]string{"", " partial", " final"}[n.Mode]
	if len(n.Groups) > 0 {
		if len(n.Aggs) > 0 {
			s += " by"
		}
		s += list(mapTo(n.Groups, expr.String))
	}
	return s + list(mapTo(n.Aggs, expr.AggregateString))
}

func hashJoinLine(n *physical.HashJoin) string {
	s := "HashJoin " + joinKinds[n.Kind]
	if n.NullAware {
		s += " null-aware"
	}
	var conds []string
	for i := range n.ProbeKeys {
		op := expr.Eq
		if n.NullEqual != nil && n.NullEqual[i] {
			op = expr.NotDistinct
		}
		conds = append(conds, expr.String(&expr.Compare{Op: op, L: n.ProbeKeys[i], R: n.BuildKeys[i]}))
	}
	if n.Residual != nil {
		conds = append(conds, expr.String(n.Residual))
	}
	s += " [" + strings.Join(conds, " AND ") + "]"
	for _, r := range n.Runtime {
		s += fmt.Sprintf(" runtime #%d [%s]", r.Filter, expr.String(n.BuildKeys[r.Key]))
	}
	return s
}

// A jsonNode is a node in EXPLAIN (FORMAT json): part of what programs rely on, so fields are only ever added.
type jsonNode struct {
	Node      string       `json:"node"`
	Detail    string       `json:"detail"`
	Columns   []jsonColumn `json:"columns"`
	Estimated *float64     `json:"estimated_rows,omitempty"`
	Run       *jsonCounts  `json:"run,omitempty"`
	Inputs    []*jsonNode  `json:"inputs,omitempty"`
}

type jsonColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type jsonCounts struct {
	Rows        int64   `json:"rows"`
	Bytes       int64   `json:"bytes"`
	Millis      float64 `json:"time_ms"`
	MemoryBytes int64   `json:"memory_bytes"`
}

// JSON is a physical plan as one JSON object, indented; run is as Physical's.
func JSON(n physical.Node, run func(physical.Node) (Counts, bool)) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(toJSON(n, run, numbering{}))
	return strings.TrimSuffix(b.String(), "\n"), err
}

func toJSON(n physical.Node, run func(physical.Node) (Counts, bool), shared numbering) *jsonNode {
	line := shared.line(n)
	name, _, _ := strings.Cut(line, " ")
	j := &jsonNode{Node: name, Detail: line, Columns: []jsonColumn{}}
	for _, f := range n.Schema() {
		j.Columns = append(j.Columns, jsonColumn{f.Name, f.Type.String()})
	}
	if est := Expected(n); est >= 0 {
		est = math.Round(est)
		j.Estimated = &est
	}
	if run != nil {
		if c, ok := run(n); ok {
			j.Run = &jsonCounts{c.Rows, c.Bytes, c.Time.Seconds() * 1e3, c.Memory}
		}
	}
	for _, k := range shared.children(n) {
		j.Inputs = append(j.Inputs, toJSON(k, run, shared))
	}
	return j
}
