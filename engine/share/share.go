// Package share finds subplans that a plan computes more than once and makes one of them: WITH queries that are named several times,
// and whatever a statement spells out twice. It never changes what a plan gives, and must never know where it will run.
package share

import (
	"encoding/binary"
	"fmt"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
)

// What is worth keeping for a second reader: few rows, made of many. Reading a file again costs less than keeping all of it, and what
// is small is soon done again, in every task if need be.
const (
	leastRead = 100_000
	mostRows  = 2_000_000
	mostShare = 0.5 // of the rows of the scans below
)

// Plan is root with every subplan that is worth it and stands in several places made once. A subplan that gives its rows in an order,
// or that may give others each time, stays as it is; so does one whose scans leave rows out for joins outside of it, wherever it
// stands: if it has to be computed whole in one place, the others may as well have that.
func Plan(root physical.Node) physical.Node {
	s := &sharer{
		classes: map[string]int{}, class: map[physical.Node]int{}, open: map[physical.Node]bool{}, seen: map[int]int{}, whole: map[int]physical.Node{},
		made: map[int]*physical.Shared{}, kept: map[physical.Node]physical.Node{},
	}
	s.classify(root)
	s.count(root)
	for c := range s.seen {
		if s.shared(c) {
			return s.replace(root)
		}
	}
	return root
}

type sharer struct {
	classes map[string]int
	class   map[physical.Node]int  // nodes of one class give the same rows; 0: like no other
	open    map[physical.Node]bool // a scan below looks at a runtime filter from outside
	seen    map[int]int            // places, by class
	whole   map[int]physical.Node  // a node of the class that is not open
	made    map[int]*physical.Shared
	kept    map[physical.Node]physical.Node // by what was shared already
}

// classify finds the class of n and everything below it, and gives the runtime filters that scans below look at and joins below make.
func (s *sharer) classify(n physical.Node) (probes, builds map[int32]bool) {
	var kids []int
	alike := true
	probes, builds = map[int32]bool{}, map[int32]bool{}
	for _, k := range n.Children() {
		p, b := s.classify(k)
		for f := range p {
			probes[f] = true
		}
		for f := range b {
			builds[f] = true
		}
		kids = append(kids, s.class[k])
		alike = alike && s.class[k] != 0
	}
	switch n := n.(type) {
	case *physical.Scan:
		for _, r := range n.Runtime {
			probes[r.Filter] = true
		}
	case *physical.HashJoin:
		for _, r := range n.Runtime {
			builds[r.Filter] = true
		}
	}
	for f := range probes {
		if !builds[f] {
			s.open[n] = true
		}
	}
	if !alike {
		return probes, builds
	}
	k := &key{}
	k.node(n)
	if k.unlike {
		return probes, builds
	}
	for _, c := range kids {
		k.number(c)
	}
	if s.classes[string(k.b)] == 0 {
		s.classes[string(k.b)] = len(s.classes) + 1
	}
	s.class[n] = s.classes[string(k.b)]
	return probes, builds
}

// count counts the places of each class, leaving out what stands within a subplan that was counted before.
func (s *sharer) count(n physical.Node) {
	if s.worthwhile(n) {
		c := s.class[n]
		if !s.open[n] {
			s.whole[c] = n
		}
		if s.seen[c]++; s.seen[c] > 1 {
			return
		}
	}
	if _, ok := n.(*physical.Recursive); ok {
		return // each of its rounds is a run of its own
	}
	for _, k := range n.Children() {
		s.count(k)
	}
}

func (s *sharer) shared(class int) bool { return s.seen[class] > 1 && s.whole[class] != nil }

func (s *sharer) replace(n physical.Node) physical.Node {
	if c := s.class[n]; s.worthwhile(n) && s.shared(c) {
		if s.made[c] == nil {
			s.made[c] = &physical.Shared{Input: s.below(s.whole[c])}
		}
		return s.made[c]
	}
	return s.below(n)
}

// below is n with what is shared below it.
func (s *sharer) below(n physical.Node) physical.Node {
	if _, ok := n.(*physical.Recursive); ok {
		return n
	}
	if s.kept[n] != nil {
		return s.kept[n]
	}
	kids := make([]physical.Node, len(n.Children()))
	for i, k := range n.Children() {
		kids[i] = s.replace(k)
	}
	out := physical.WithChildren(n, kids)
	if _, ok := n.(*physical.Shared); ok {
		s.kept[n] = out // it stays one
	}
	return out
}

func (s *sharer) worthwhile(n physical.Node) bool {
	if s.class[n] == 0 || ordered(n) {
		return false
	}
	if _, ok := n.(*physical.Shared); ok {
		return false
	}
	read, work := effort(n)
	rows := physical.Expected(n)
	return work && read >= leastRead && rows >= 0 && rows <= mostRows && rows <= read*mostShare
}

// ordered tells whether somebody may count on the order in which n gives its rows.
func ordered(n physical.Node) bool {
	switch n := n.(type) {
	case *physical.Sort:
		return true
	case *physical.Project:
		return ordered(n.Input)
	case *physical.Filter:
		return ordered(n.Input)
	case *physical.Limit:
		return ordered(n.Input)
	case *physical.Expand:
		return ordered(n.Input)
	case *physical.Window:
		return ordered(n.Input)
	}
	return false
}

// effort is how many rows the scans below n read, and whether more is done than reading and filtering them.
func effort(n physical.Node) (read float64, work bool) {
	switch n := n.(type) {
	case *physical.Scan:
		read = max(n.Est.Rows, 0)
	case *physical.Aggregate, *physical.HashJoin, *physical.LoopJoin, *physical.Window:
		work = true
	}
	for _, k := range n.Children() {
		r, w := effort(k)
		read, work = read+r, work || w
	}
	return read, work
}

// A key describes a node without its inputs: nodes with equal keys and inputs of equal classes give the same rows. Names and what
// the planner expects do not count, nor do runtime filters.
type key struct {
	b      []byte
	unlike bool // no other node gives the same
}

func (k *key) number(n int)  { k.b = binary.AppendVarint(k.b, int64(n)) }
func (k *key) text(s string) { k.number(len(s)); k.b = append(k.b, s...) }
func (k *key) flag(b bool)   { k.text(fmt.Sprint(b)) }
func (k *key) positions(p []int) {
	k.flag(p == nil)
	k.number(len(p))
	for _, x := range p {
		k.number(x)
	}
}

func (k *key) expr(e expr.Expr) {
	if e == nil {
		k.text("")
		return
	}
	k.unlike = k.unlike || expr.IsVolatile(e)
	k.text(expr.Key(e))
}

func (k *key) exprs(list []expr.Expr) {
	k.number(len(list))
	for _, e := range list {
		k.expr(e)
	}
}

func (k *key) order(keys []physical.SortKey) {
	k.number(len(keys))
	for _, x := range keys {
		k.expr(x.Expr)
		k.flag(x.Desc)
		k.flag(x.NullsFirst)
	}
}

func (k *key) aggregate(a expr.Aggregate) {
	k.unlike = k.unlike || a.User != nil
	k.text(a.Func)
	k.exprs(a.Args)
	k.flag(a.Distinct)
	k.expr(a.Filter)
	k.number(len(a.OrderBy))
	for _, o := range a.OrderBy {
		k.expr(o.Expr)
		k.flag(o.Desc)
		k.flag(o.NullsFirst)
	}
	k.text(a.Typ.String())
}

func (k *key) node(n physical.Node) {
	k.text(fmt.Sprintf("%T", n))
	switch n := n.(type) {
	case *physical.Scan:
		k.number(int(n.Format))
		k.text(fmt.Sprint(n.Files))
		for _, c := range n.Columns {
			k.number(c.Index)
			k.text(c.Name)
			k.text(c.Type.String())
		}
		k.expr(n.Filter)
	case *physical.Values:
		k.number(len(n.Fields))
		for _, row := range n.Rows {
			for _, v := range row {
				k.expr(&expr.Literal{Value: v})
			}
		}
	case *physical.Filter:
		k.expr(n.Cond)
	case *physical.Project:
		k.exprs(n.Exprs)
	case *physical.Aggregate:
		k.number(int(n.Mode))
		k.exprs(n.Groups)
		for _, a := range n.Aggs {
			k.aggregate(a)
		}
	case *physical.HashJoin:
		k.number(int(n.Kind))
		k.exprs(n.ProbeKeys)
		k.exprs(n.BuildKeys)
		k.expr(n.Residual)
		k.flag(n.NullAware)
		k.text(fmt.Sprint(n.NullEqual))
		k.positions(n.Output)
	case *physical.LoopJoin:
		k.number(int(n.Kind))
		k.expr(n.Cond)
		k.positions(n.Output)
	case *physical.Sort:
		k.order(n.Keys)
		k.number(int(n.Fetch))
		k.number(int(n.Offset))
	case *physical.Limit:
		k.number(int(n.Fetch))
		k.number(int(n.Offset))
	case *physical.Union:
	case *physical.Window:
		k.exprs(n.Partition)
		k.order(n.Order)
		for _, c := range n.Calls {
			k.text(c.Func)
			k.exprs(c.Args)
			k.flag(c.Distinct)
			k.expr(c.Filter)
			k.flag(c.IgnoreNulls)
			k.number(int(c.Frame.Unit))
			k.number(int(c.Frame.Exclude))
			for _, b := range []physical.Bound{c.Frame.Start, c.Frame.End} {
				k.number(int(b.Kind))
				k.expr(&expr.Literal{Value: b.Offset})
			}
			k.text(c.Typ.String())
		}
	case *physical.Expand:
		k.exprs(n.Lists)
		k.flag(n.Ordinality)
	case *physical.Shared:
	default: // a recursion's rows are its own
		k.unlike = true
	}
}
