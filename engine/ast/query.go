package ast

// A Query is a body with what holds for its whole result. Parentheses that add nothing are gone: a body is itself a *Query
// only where an inner WITH, ORDER BY or LIMIT must stay inside.
type Query struct {
	Span
	With     *With // nil without
	Body     QueryBody
	OrderBy  []*OrderItem
	Limit    Expr // nil without, and for LIMIT ALL
	Offset   Expr // nil without
	WithTies bool // FETCH FIRST n ROWS WITH TIES
}

// A QueryBody is what makes the rows: *Select, *SetOperation, *Values, *TableQuery or a nested *Query.
type QueryBody interface {
	Node
	queryBody()
}

// With is the list of common table expressions before a query.
type With struct {
	Span
	Recursive bool
	CTEs      []*CTE
}

// A Materialization is what a CTE's author asked for.
type Materialization string

// The choices for a CTE.
const (
	MaterializeDefault Materialization = ""
	Materialized       Materialization = "MATERIALIZED"
	NotMaterialized    Materialization = "NOT MATERIALIZED"
)

// A CTE is one named query of a WITH. Columns may be fewer than the query's; then the rest keep their names.
type CTE struct {
	Span
	Name         Ident
	Columns      []Ident
	Materialized Materialization
	Query        *Query
}

// A Select is one SELECT. It has at least one item: FROM t without a SELECT list has a Star.
type Select struct {
	Span
	Distinct *Distinct // nil without, and for SELECT ALL
	Items    []SelectItem
	From     []TableRef // items separated by commas, that is cross joins; empty without FROM
	Where    Expr
	GroupBy  *GroupBy
	Having   Expr
	Windows  []*NamedWindow
	Qualify  Expr
}

// Distinct is SELECT DISTINCT; On is empty unless it was DISTINCT ON (…).
type Distinct struct {
	Span
	On []Expr
}

// A SelectItem is one entry of a SELECT list: *SelectExpr or *Star.
type SelectItem interface {
	Node
	selectItem()
}

// A SelectExpr is an expression with or without an alias.
type SelectExpr struct {
	Span
	Expr  Expr
	Alias *Ident
}

// A Star is * or t.*, with what is left out, replaced or renamed.
type Star struct {
	Span
	Qualifier []Ident // empty for a plain *
	Exclude   []Ident // EXCLUDE or EXCEPT
	Replace   []*SelectExpr
	Rename    []StarRename
}

// A StarRename is one entry of * RENAME (a AS b).
type StarRename struct {
	Span
	From, To Ident
}

// A SetOp is what a SetOperation does.
type SetOp string

// The set operations.
const (
	Union     SetOp = "UNION"
	Intersect SetOp = "INTERSECT"
	Except    SetOp = "EXCEPT"
)

// A SetOperation joins the rows of two bodies. INTERSECT binds tighter than the others, which group to the left; the tree
// has the grouping already.
type SetOperation struct {
	Span
	Op     SetOp
	All    bool
	ByName bool // columns match by name, not by position
	Left   QueryBody
	Right  QueryBody
}

// Values is VALUES (…), (…). Rows need not have equal lengths: that is the binder's check. In INSERT an entry may be *Default.
type Values struct {
	Span
	Rows []*Row
}

// TableQuery is TABLE t, short for SELECT * FROM t.
type TableQuery struct {
	Span
	Name ObjectName
}

// GroupBy is a GROUP BY clause: the cross product of its Sets, as the standard has it, or ALL.
type GroupBy struct {
	Span
	All      bool // GROUP BY ALL: every item that holds no aggregate
	Distinct bool // GROUP BY DISTINCT: repeated grouping sets count once
	Sets     []*Grouping
}

// A GroupingKind says how to read a Grouping.
type GroupingKind string

// The kinds of Grouping.
const (
	GroupingSet  GroupingKind = ""              // one set: Exprs; () has none, a has one, (a, b) two
	Rollup       GroupingKind = "ROLLUP"        // the prefixes of Sets, each of which is a GroupingSet
	Cube         GroupingKind = "CUBE"          // the subsets of Sets, each of which is a GroupingSet
	GroupingSets GroupingKind = "GROUPING SETS" // the union of Sets, of any kind
)

// A Grouping is an item of GROUP BY. An expression may be an integer literal (a position) or an output alias; the binder tells.
type Grouping struct {
	Span
	Kind  GroupingKind
	Exprs []Expr
	Sets  []*Grouping
}

// A NullsOrder says where NULLs sort.
type NullsOrder string

// Where NULLs sort; by default last when ascending, first when descending, as in PostgreSQL.
const (
	NullsDefault NullsOrder = ""
	NullsFirst   NullsOrder = "NULLS FIRST"
	NullsLast    NullsOrder = "NULLS LAST"
)

// An OrderItem is one sort key. All is set, and Expr nil, for ORDER BY ALL; then it is the only item.
type OrderItem struct {
	Span
	All   bool
	Expr  Expr
	Desc  bool
	Nulls NullsOrder
}

// A NamedWindow is an entry of the WINDOW clause.
type NamedWindow struct {
	Span
	Name Ident
	Spec *WindowSpec
}

// A WindowSpec is what stands after OVER or in a WINDOW clause. Base names a window that this one builds on; with Bare set
// it was OVER w without parentheses and nothing else is set.
type WindowSpec struct {
	Span
	Base        *Ident
	Bare        bool
	PartitionBy []Expr
	OrderBy     []*OrderItem
	Frame       *Frame // nil without
}

// A FrameUnit is what a frame counts.
type FrameUnit string

// The frame units.
const (
	Rows   FrameUnit = "ROWS"
	Range  FrameUnit = "RANGE"
	Groups FrameUnit = "GROUPS"
)

// A FrameExclusion is what a frame leaves out.
type FrameExclusion string

// The frame exclusions.
const (
	ExcludeNoOthers   FrameExclusion = ""
	ExcludeCurrentRow FrameExclusion = "CURRENT ROW"
	ExcludeGroup      FrameExclusion = "GROUP"
	ExcludeTies       FrameExclusion = "TIES"
)

// A Frame is a window frame. A frame written with a start only ends at CURRENT ROW: End is filled in, with a zero place.
type Frame struct {
	Span
	Unit    FrameUnit
	Start   FrameBound
	End     FrameBound
	Exclude FrameExclusion
}

// A BoundKind is one end of a frame.
type BoundKind string

// The frame bounds; Preceding and Following have an offset.
const (
	UnboundedPreceding BoundKind = "UNBOUNDED PRECEDING"
	Preceding          BoundKind = "PRECEDING"
	CurrentRow         BoundKind = "CURRENT ROW"
	Following          BoundKind = "FOLLOWING"
	UnboundedFollowing BoundKind = "UNBOUNDED FOLLOWING"
)

// A FrameBound is one end of a frame; Offset is nil unless Kind is Preceding or Following.
type FrameBound struct {
	Span
	Kind   BoundKind
	Offset Expr
}

func (*Select) queryBody()       {}
func (*SetOperation) queryBody() {}
func (*Values) queryBody()       {}
func (*TableQuery) queryBody()   {}
func (*Query) queryBody()        {}

func (*SelectExpr) selectItem() {}
func (*Star) selectItem()       {}
