// Package logical holds what a query means: inert, immutable trees of relational operators over columns with ids. Binding
// makes them, optimizing rewrites them, lowering turns them into physical plans. Nothing here runs, and nothing here knows a
// file's format, a position of a column or how many tasks there will be.
package logical

import (
	"slices"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Node is an operator. The set of its types is closed. Nodes are shared between plans and never changed: a rule that changes
// nothing returns the node that it was given. A tree is for one goroutine: joins remember their columns.
type Node interface {
	// Columns is the output's columns, in order. No id stands twice. The same id may be nullable here and not below.
	Columns() []*expr.Column
	// Children are the inputs, in order.
	Children() []Node
	isNode()
}

func (*Scan) isNode()      {}
func (*Values) isNode()    {}
func (*Filter) isNode()    {}
func (*Project) isNode()   {}
func (*Aggregate) isNode() {}
func (*Join) isNode()      {}
func (*Apply) isNode()     {}
func (*Sort) isNode()      {}
func (*Limit) isNode()     {}
func (*Union) isNode()     {}
func (*Window) isNode()    {}
func (*Recursive) isNode() {}
func (*Working) isNode()   {}
func (*Expand) isNode()    {}
func (*Shared) isNode()    {}

// A Scan reads columns of a table.
type Scan struct {
	Table   *catalog.Table
	Name    string         // as the statement calls it, for people
	Cols    []*expr.Column // what is read
	Index   []int          // Cols[i] is Table.Columns[Index[i]]
	Runtime []RuntimeProbe
}

// A RuntimeProbe says that a join above drops rows whose column is not in the runtime filter of this number.
type RuntimeProbe struct {
	Filter int32
	Column expr.ColumnID
}

// Values is rows of constants. One row without columns is what a SELECT without FROM reads.
type Values struct {
	Cols []*expr.Column
	Rows [][]expr.Value
}

// A Filter passes the rows for which Cond is true.
type Filter struct {
	Input Node
	Cond  expr.Expr
}

// An Item is a computed column. Where Expr is a bare column of the input, Col has its id: an item never renames.
type Item struct {
	Col  *expr.Column
	Expr expr.Expr
}

// Pass is the item that hands c on as it is.
func Pass(c *expr.Column) Item { return Item{c, c} }

// IsPass tells whether the item hands a column on as it is.
func (it Item) IsPass() bool {
	c, ok := it.Expr.(*expr.Column)
	return ok && c.ID == it.Col.ID
}

// A Project computes one column per item.
type Project struct {
	Input Node
	Items []Item
}

// An Agg is an aggregate and the column that it gives.
type Agg struct {
	Col *expr.Column
	expr.Aggregate
}

// An Aggregate groups its input by Groups – no Groups: one group, even of no rows – and gives the groups, then the Aggs. Without
// Aggs it is DISTINCT.
type Aggregate struct {
	Input  Node
	Groups []Item
	Aggs   []Agg
}

// A JoinKind says what becomes of rows with and without a partner. Left is the side that streams, Right the one that is
// built, once a plan is lowered.
type JoinKind uint8

// The kinds. Columns are the left's then the right's, but only the left's of Semi, Anti and, with the mark's, Mark; only the
// right's of RightSemi and RightAnti.
const (
	Inner JoinKind = iota
	Left
	Right
	Full
	Semi
	Anti
	RightSemi
	RightAnti
	Mark // whether there is a partner, as a BOOLEAN
)

var joinNames = [...]string{"inner", "left", "right", "full", "semi", "anti", "right semi", "right anti", "mark"}

func (k JoinKind) String() string { return joinNames[k] }

// Swap is the kind that gives the same rows with the sides exchanged; ok is false for Mark.
func (k JoinKind) Swap() (swapped JoinKind, ok bool) {
	switch k {
	case Left:
		return Right, true
	case Right:
		return Left, true
	case Semi:
		return RightSemi, true
	case Anti:
		return RightAnti, true
	case RightSemi:
		return Semi, true
	case RightAnti:
		return Anti, true
	case Mark:
		return Mark, false
	}
	return k, true
}

// LeftNullable and RightNullable tell whether rows may come without that side's columns.
func (k JoinKind) LeftNullable() bool { return k == Right || k == Full }

// RightNullable tells whether rows may come without the right side's columns.
func (k JoinKind) RightNullable() bool { return k == Left || k == Full }

// HasLeft tells whether the output has the left side's columns.
func (k JoinKind) HasLeft() bool { return k != RightSemi && k != RightAnti }

// HasRight tells whether the output has the right side's columns.
func (k JoinKind) HasRight() bool { return k <= Full || !k.HasLeft() }

// A Join pairs rows for which On is true.
type Join struct {
	Kind        JoinKind
	Left, Right Node
	On          expr.Expr    // nil: every pair
	MarkCol     *expr.Column // of Mark
	NullAware   bool         // Anti and Mark: On is one equality, with NOT IN's and IN's rules for NULL
	Runtime     []RuntimeBuild

	cols memo
}

// A RuntimeBuild asks for a runtime filter of the right side's values of an expression that On holds equal to something of
// the left side.
type RuntimeBuild struct {
	Filter int32
	Key    expr.Expr
}

// An ApplyKind is what a subquery is to the row it is evaluated for.
type ApplyKind uint8

// The kinds.
const (
	ApplyScalar ApplyKind = iota // Col is the one column of Sub's only row; NULL without a row; more are an error
	ApplyMark                    // Col tells whether Sub has a row for which On is true; with NullAware, NULL where On may be
	ApplyInner                   // LATERAL: the row with each row of Sub for which On is true
	ApplyLeft                    // LEFT JOIN LATERAL
)

var applyNames = [...]string{"scalar", "mark", "inner", "left"}

func (k ApplyKind) String() string { return applyNames[k] }

// An Apply evaluates Sub, which may refer to columns of Input, for each row of Input. No plan that runs holds one: optimizing
// turns each into joins.
type Apply struct {
	Kind       ApplyKind
	Input, Sub Node
	On         expr.Expr    // over the columns of both; nil: always true. Not of ApplyScalar
	Col        *expr.Column // of ApplyScalar, ApplyMark
	NullAware  bool
	Pos        sqlerr.Pos // the subquery's

	cols memo
}

// A Sort orders its input. Fetch ≥ 0: only that many rows after Offset are given; −1: all.
type Sort struct {
	Input  Node
	Keys   []expr.SortOrder
	Fetch  int64
	Offset int64
}

// A Limit passes Fetch rows (−1: all) after the first Offset.
type Limit struct {
	Input  Node
	Fetch  int64
	Offset int64
}

// A Union gives all rows of all inputs: Cols[i] is the i-th column of each, whose types are equal.
type Union struct {
	Inputs []Node
	Cols   []*expr.Column
}

// A Recursive gives the rows of Base, then those of Step over the rows that came last, again and again until none come: Cols[i] is
// the i-th column of both, whose types are equal. Without All, rows that were given before are left out. Rows come round by round.
type Recursive struct {
	ID         int32 // by which Working nodes in Step find it
	Name       string
	Base, Step Node
	All        bool
	Cols       []*expr.Column
}

// Working is the rows that came last of the Recursive of this ID around it.
type Working struct {
	ID   int32
	Name string
	Cols []*expr.Column
}

// A Shared is the rows of a WITH query that has to be computed once however often it is named. Every Shared of an ID has the same
// query as its input, of which one is computed; Cols[i] is From[i] of it, known to this place only.
type Shared struct {
	ID    int32
	Name  string
	Input Node
	From  []*expr.Column // of the input
	Cols  []*expr.Column
}

// An Expand gives each row once per element of its lists, side by side: the elements of Lists[i].Expr, a list, are in Lists[i].Col,
// which is NULL past the end of a list shorter than another. A row whose lists are all NULL or empty is gone. Ordinality, if not
// nil, counts the elements from 1.
type Expand struct {
	Input      Node
	Lists      []Item
	Ordinality *expr.Column
}

// A WindowCall is a window function and the column that it gives.
type WindowCall struct {
	Col *expr.Column
	expr.Aggregate
	IgnoreNulls bool
	Frame       physical.Frame
}

// A Window adds a column per call, computed over the rows that are equal in Partition, in the order of Order.
type Window struct {
	Input     Node
	Partition []expr.Expr
	Order     []expr.SortOrder
	Calls     []WindowCall
}

// A Plan is a bound statement: the root, whose columns are the result's, and what the result calls them.
type Plan struct {
	Root      Node
	Names     []string
	Functions []*function.Signature // that it calls besides the built-in ones
}

// Columns are the columns read.
func (n *Scan) Columns() []*expr.Column { return n.Cols }

// Columns are the rows' columns.
func (n *Values) Columns() []*expr.Column { return n.Cols }

// Columns are the input's.
func (n *Filter) Columns() []*expr.Column { return n.Input.Columns() }

// Columns are one per item.
func (n *Project) Columns() []*expr.Column { return itemColumns(n.Items, nil) }

// Columns are the groups, then the aggregates.
func (n *Aggregate) Columns() []*expr.Column {
	out := itemColumns(n.Groups, make([]*expr.Column, 0, len(n.Groups)+len(n.Aggs)))
	for _, a := range n.Aggs {
		out = append(out, a.Col)
	}
	return out
}

func itemColumns(items []Item, out []*expr.Column) []*expr.Column {
	for _, it := range items {
		out = append(out, it.Col)
	}
	return out
}

// A memo is the columns that a node gave last, and what they were made of: up a tall tree they would else be put together from its
// leaves at every node. A copy of the node that has other inputs has to make its own.
type memo struct {
	left, right Node
	kind        uint8
	own         *expr.Column
	cols        []*expr.Column
	set         ColSet // of cols, once somebody has asked for it
}

// ids is the set of cols, which are the memo's.
func (m *memo) ids(cols []*expr.Column) ColSet {
	if m.set == nil {
		m.set = SetOf(cols)
	}
	return m.set
}

// of is the columns for a node like this, made by build where they are not known.
func (m *memo) of(left, right Node, kind uint8, own *expr.Column, build func() []*expr.Column) []*expr.Column {
	if m.cols == nil || m.left != left || m.right != right || m.kind != kind || m.own != own {
		*m = memo{left, right, kind, own, slices.Clip(build()), nil}
	}
	return m.cols
}

// Columns are as the kind says.
func (n *Join) Columns() []*expr.Column {
	return n.cols.of(n.Left, n.Right, uint8(n.Kind), n.MarkCol, n.columns)
}

func (n *Join) columns() []*expr.Column {
	var out []*expr.Column
	if n.Kind.HasLeft() {
		out = appendColumns(out, n.Left.Columns(), n.Kind.LeftNullable())
	}
	if n.Kind.HasRight() {
		out = appendColumns(out, n.Right.Columns(), n.Kind.RightNullable())
	}
	if n.Kind == Mark {
		out = append(out, n.MarkCol)
	}
	return out
}

func appendColumns(out, cols []*expr.Column, nullable bool) []*expr.Column {
	if !nullable {
		return append(out, cols...)
	}
	for _, c := range cols {
		if !c.Nullable {
			d := *c
			d.Nullable = true
			c = &d
		}
		out = append(out, c)
	}
	return out
}

// Columns are the input's, then Sub's of a lateral join, else Col.
func (n *Apply) Columns() []*expr.Column {
	return n.cols.of(n.Input, n.Sub, uint8(n.Kind), n.Col, n.columns)
}

func (n *Apply) columns() []*expr.Column {
	out := appendColumns(nil, n.Input.Columns(), false)
	if n.Kind == ApplyInner || n.Kind == ApplyLeft {
		return appendColumns(out, n.Sub.Columns(), n.Kind == ApplyLeft)
	}
	return append(out, n.Col)
}

// Columns are the input's.
func (n *Sort) Columns() []*expr.Column { return n.Input.Columns() }

// Columns are the input's.
func (n *Limit) Columns() []*expr.Column { return n.Input.Columns() }

// Columns are the union's own.
func (n *Union) Columns() []*expr.Column { return n.Cols }

// Columns are the input's, then the elements, then the count.
func (n *Expand) Columns() []*expr.Column {
	out := itemColumns(n.Lists, appendColumns(nil, n.Input.Columns(), false))
	if n.Ordinality != nil {
		out = append(out, n.Ordinality)
	}
	return out
}

// Children is the input.
func (n *Expand) Children() []Node { return []Node{n.Input} }

// Columns are the recursion's own.
func (n *Recursive) Columns() []*expr.Column { return n.Cols }

// Columns are the place's own.
func (n *Shared) Columns() []*expr.Column { return n.Cols }

// Children is the input.
func (n *Shared) Children() []Node { return []Node{n.Input} }

// Columns are the rows' columns.
func (n *Working) Columns() []*expr.Column { return n.Cols }

// Children are base and step.
func (n *Recursive) Children() []Node { return []Node{n.Base, n.Step} }

// Children is none.
func (n *Working) Children() []Node { return nil }

// Columns are the input's, then the calls'.
func (n *Window) Columns() []*expr.Column {
	out := appendColumns(nil, n.Input.Columns(), false)
	for _, c := range n.Calls {
		out = append(out, c.Col)
	}
	return out
}

// Children is the input.
func (n *Window) Children() []Node { return []Node{n.Input} }

// Children is none.
func (n *Scan) Children() []Node { return nil }

// Children is none.
func (n *Values) Children() []Node { return nil }

// Children is the input.
func (n *Filter) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Project) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Aggregate) Children() []Node { return []Node{n.Input} }

// Children are left and right.
func (n *Join) Children() []Node { return []Node{n.Left, n.Right} }

// Children are the input and the subquery.
func (n *Apply) Children() []Node { return []Node{n.Input, n.Sub} }

// Children is the input.
func (n *Sort) Children() []Node { return []Node{n.Input} }

// Children is the input.
func (n *Limit) Children() []Node { return []Node{n.Input} }

// Children are the inputs.
func (n *Union) Children() []Node { return n.Inputs }
