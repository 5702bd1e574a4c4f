// Package estimate guesses how many rows the nodes of a logical plan give, from what the catalog knows: ranges from least and
// greatest values, equality from counts of distinct values, no histograms. It must never decide anything, and an answer must
// never depend on it.
package estimate

import (
	"math"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// Stats is what is expected of a node's output.
type Stats struct {
	Rows float64
	Base float64 // rows that there would be without filters: no key has more combinations
	Cols map[expr.ColumnID]Column
}

// A Column is what is expected of a column's values.
type Column struct {
	Distinct float64 // different values among the rows
	Domain   float64 // different values that there would be without filters on other columns: what joins reckon with
	Lo, Hi   float64 // as catalog.Number has them; meaningful with HasRange
	HasRange bool
	Nulls    float64 // share of rows, 0 to 1
	Width    float64 // bytes on disk; 0: unknown
}

// What is taken for granted where nothing is known.
const (
	unknownRows   = 10_000
	rangePart     = 1.0 / 3 // of rows within an inequality
	likePart      = 0.1
	equalPart     = 0.1 // of rows where some expression is equal to a constant
	otherPart     = 0.25
	nullPart      = 0.05
	distinctShare = 0.1 // of rows, in a column
)

// An Estimator remembers what it has estimated. It is for one goroutine.
type Estimator struct {
	memo map[logical.Node]*Stats
}

// New is an Estimator that remembers nothing yet.
func New() *Estimator { return &Estimator{memo: map[logical.Node]*Stats{}} }

// Rows is the expected number of rows of n.
func (e *Estimator) Rows(n logical.Node) float64 { return e.Of(n).Rows }

// Of is what is expected of n. The result is shared: it is not changed.
func (e *Estimator) Of(n logical.Node) *Stats {
	if s := e.memo[n]; s != nil {
		return s
	}
	s := e.estimate(n)
	s.Rows = max(s.Rows, 0)
	s.Base = max(s.Base, s.Rows, 1)
	e.memo[n] = s
	return s
}

// unknown is so many rows that may all be different.
func unknown(cols []*expr.Column, rows float64) *Stats {
	s := &Stats{Rows: rows, Cols: map[expr.ColumnID]Column{}}
	for _, c := range cols {
		s.Cols[c.ID] = Column{Distinct: rows, Domain: rows}
	}
	return s
}

func (e *Estimator) estimate(n logical.Node) *Stats {
	switch n := n.(type) {
	case *logical.Scan:
		return scan(n)
	case *logical.Values:
		return unknown(n.Cols, float64(len(n.Rows)))
	case *logical.Expand:
		const elements = 10 // of a list, as long as nothing is known of any
		s := e.Of(n.Input).clone()
		s.Rows *= elements
		return s
	case *logical.Shared:
		in := e.Of(n.Input)
		s := &Stats{Rows: in.Rows, Base: in.Base, Cols: map[expr.ColumnID]Column{}}
		for i, c := range n.Cols {
			s.Cols[c.ID] = in.Cols[n.From[i].ID]
		}
		return s
	case *logical.Recursive: // how many rounds there will be is anyone's guess
		return unknown(n.Cols, 10*max(e.Of(n.Base).Rows, e.Of(n.Step).Rows))
	case *logical.Working:
		return unknown(n.Cols, 100)
	case *logical.Filter:
		return e.Of(n.Input).Filter(n.Cond)
	case *logical.Project:
		in := e.Of(n.Input)
		s := &Stats{Rows: in.Rows, Base: in.Base, Cols: map[expr.ColumnID]Column{}}
		for _, it := range n.Items {
			s.Cols[it.Col.ID] = in.Column(it.Expr)
		}
		return s
	case *logical.Aggregate:
		return e.aggregate(n)
	case *logical.Join:
		return Join(n.Kind, e.Of(n.Left), e.Of(n.Right), expr.Conjuncts(n.On), n.MarkCol)
	case *logical.Apply:
		return e.apply(n)
	case *logical.Sort:
		in := e.Of(n.Input)
		return in.limit(n.Fetch, n.Offset)
	case *logical.Limit:
		in := e.Of(n.Input)
		return in.limit(n.Fetch, n.Offset)
	case *logical.Window:
		s := e.Of(n.Input).clone()
		for _, c := range n.Calls {
			s.Cols[c.Col.ID] = Column{Distinct: s.Rows, Domain: s.Rows}
		}
		return s
	case *logical.Union:
		s := &Stats{Cols: map[expr.ColumnID]Column{}}
		for _, k := range n.Inputs {
			in := e.Of(k)
			s.Rows += in.Rows
			for i, c := range k.Columns() {
				o := s.Cols[n.Cols[i].ID]
				o.Distinct += in.Cols[c.ID].Distinct
				o.Domain = max(o.Domain, in.Cols[c.ID].Domain)
				s.Cols[n.Cols[i].ID] = o
			}
		}
		return s
	}
	return &Stats{Rows: unknownRows, Cols: map[expr.ColumnID]Column{}}
}

func scan(n *logical.Scan) *Stats {
	s := &Stats{Rows: float64(n.Table.Rows), Cols: make(map[expr.ColumnID]Column, len(n.Cols))}
	if n.Table.Rows < 0 {
		s.Rows = unknownRows
	}
	for i, c := range n.Cols {
		st := n.Table.Columns[n.Index[i]].Stats
		col := Column{Distinct: st.Distinct, Width: st.Width}
		if col.Distinct <= 0 {
			col.Distinct = max(1, s.Rows*distinctShare)
		}
		col.Distinct = min(col.Distinct, max(s.Rows, 1))
		col.Domain = col.Distinct
		if st.HasRange() {
			lo, ok1 := catalog.Number(st.Min)
			hi, ok2 := catalog.Number(st.Max)
			if ok1 && ok2 {
				col.Lo, col.Hi, col.HasRange = lo, hi, true
			}
		}
		switch {
		case !c.Nullable:
		case st.HasNulls && s.Rows > 0:
			col.Nulls = float64(st.Nulls) / s.Rows
		case !st.HasNulls:
			col.Nulls = nullPart
		}
		s.Cols[c.ID] = col
	}
	return s
}

func (e *Estimator) aggregate(n *logical.Aggregate) *Stats {
	in := e.Of(n.Input)
	s := &Stats{Rows: 1, Cols: map[expr.ColumnID]Column{}}
	for _, g := range n.Groups {
		c := in.Column(g.Expr)
		s.Rows *= max(c.Distinct, 1)
	}
	s.Rows = min(s.Rows, in.Rows)
	if len(n.Groups) == 0 {
		s.Rows = 1
	}
	for _, g := range n.Groups {
		c := in.Column(g.Expr)
		c.Distinct = min(c.Distinct, s.Rows)
		s.Cols[g.Col.ID] = c
	}
	for _, a := range n.Aggs {
		s.Cols[a.Col.ID] = Column{Distinct: s.Rows, Domain: s.Rows}
	}
	return s
}

func (e *Estimator) apply(n *logical.Apply) *Stats {
	in := e.Of(n.Input)
	s := in.clone()
	if n.Kind == logical.ApplyInner || n.Kind == logical.ApplyLeft {
		return Join(logical.Inner, in, e.Of(n.Sub), expr.Conjuncts(n.On), nil)
	}
	s.Cols[n.Col.ID] = Column{Distinct: s.Rows, Domain: s.Rows}
	return s
}

func (s *Stats) clone() *Stats {
	c := &Stats{Rows: s.Rows, Base: s.Base, Cols: make(map[expr.ColumnID]Column, len(s.Cols)+1)}
	for id, col := range s.Cols {
		c.Cols[id] = col
	}
	return c
}

// thin is s with rows of its rows, whichever they are.
func (s *Stats) thin(rows float64) *Stats {
	c := s.clone()
	c.Rows = rows
	if s.Rows <= 0 || rows >= s.Rows {
		return c
	}
	for id, col := range c.Cols {
		col.Distinct = surviving(col.Distinct, s.Rows, rows)
		c.Cols[id] = col
	}
	return c
}

// surviving is how many of d different values are left when rows of all remain.
func surviving(d, all, rows float64) float64 {
	if d <= 1 || all <= 0 {
		return min(d, max(rows, 1))
	}
	perValue := all / d
	left := d * (1 - math.Pow(1-rows/all, perValue))
	return max(min(left, rows), min(d, 1))
}

func (s *Stats) limit(fetch, offset int64) *Stats {
	rows := max(s.Rows-float64(offset), 0)
	if fetch >= 0 {
		rows = min(rows, float64(fetch))
	}
	return s.thin(rows)
}

// Column is what is expected of an expression over s's columns.
func (s *Stats) Column(x expr.Expr) Column {
	switch x := x.(type) {
	case *expr.Column:
		if c, ok := s.Cols[x.ID]; ok {
			return c
		}
	case *expr.Literal:
		return Column{Distinct: 1, Domain: 1}
	case *expr.Cast:
		c := s.Column(x.X)
		if !x.X.Type().IsNumeric() || !x.To.IsNumeric() {
			c.HasRange = false
		}
		return c
	}
	// No more different values than there are combinations of what it is computed from.
	d, seen := 1.0, false
	expr.Walk(x, func(x expr.Expr) bool {
		if c, ok := x.(*expr.Column); ok {
			d *= max(s.Cols[c.ID].Distinct, 1)
			seen = true
		}
		return true
	})
	if c, ok := x.(*expr.Call); ok && seen {
		d = min(d, fewValues(c.Func))
	}
	if x.Type().Kind == sqltype.Bool {
		d = min(d, 2)
	}
	d = min(d, max(s.Rows, 1))
	return Column{Distinct: d, Domain: d}
}

// fewValues bounds the results of functions with small ranges.
func fewValues(name string) float64 {
	switch name {
	case "year":
		return 30
	case "month":
		return 12
	case "day":
		return 31
	case "hour":
		return 24
	case "minute":
		return 60
	case "quarter":
		return 4
	case "dow", "isodow":
		return 7
	}
	return math.Inf(1)
}
