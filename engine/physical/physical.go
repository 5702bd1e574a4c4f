// Package physical holds plans that can run: inert, immutable trees of operators over columns by position. They are what
// crosses from coordinator to worker (codec), so every field here is wire format. Nothing here runs, opens a file or
// knows where it will run.
package physical

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Field is a column of an operator's output.
type Field struct {
	Name     string
	Type     sqltype.Type
	Nullable bool
}

// A Node is an operator of a plan. The set of its types is closed; exec, codec and explain switch over it.
type Node interface {
	// Schema is the output's columns, in order.
	Schema() []Field
	// Children are the inputs, in order; a join's are probe, build.
	Children() []Node
	isNode()
}

// Est is what the planner expects of a node, for people and for sizing; never needed for a right answer.
type Est struct {
	Rows float64 // rows out; negative: unknown
}

func (*Scan) isNode()      {}
func (*Values) isNode()    {}
func (*Filter) isNode()    {}
func (*Project) isNode()   {}
func (*Aggregate) isNode() {}
func (*HashJoin) isNode()  {}
func (*LoopJoin) isNode()  {}
func (*Sort) isNode()      {}
func (*Limit) isNode()     {}
func (*Union) isNode()     {}
func (*Exchange) isNode()  {}
func (*Remote) isNode()    {}
func (*Window) isNode()    {}
func (*Recursive) isNode() {}
func (*Working) isNode()   {}
func (*Expand) isNode()    {}
func (*Shared) isNode()    {}

// A Format is a file format.
type Format uint8

// The formats.
const (
	Parquet Format = iota
	CSV
	JSON
	Memory // no file: a table of the process that planned, which Files[0].Path names; it never leaves that process
)

// A File is a file as it was when the query was planned. Whoever opens it and finds another size, modification time or
// footer refuses with sqlerr.FileChanged.
type File struct {
	Path       string  // absolute
	Size       int64   // bytes
	ModTime    int64   // nanoseconds since 1970 UTC
	FooterHash uint64  // Parquet: of the footer's bytes, see scan/parquet; 0 elsewhere
	RowGroups  []int32 // Parquet: which to read, ascending; nil: all
}

// A Scan reads columns of files, rows in no particular order. Rows for which Filter is not true are left out, as early as
// the format allows. Filter refers to Columns by position.
type Scan struct {
	Table   string // for people
	Format  Format
	Files   []File
	Columns []ScanColumn
	Filter  expr.Expr // nil: none
	Runtime []RuntimeProbe
	Est     Est
}

// A ScanColumn is a column that a Scan reads: the file's column of this name and position, as Type.
type ScanColumn struct {
	Name     string
	Index    int // position among the file's top-level columns
	Type     sqltype.Type
	Nullable bool
}

// A RuntimeProbe says that rows whose column is not in the runtime filter of this id may be left out: a join above would
// drop them. It is a hint; a filter that does not come costs only time.
type RuntimeProbe struct {
	Filter int32
	Column int
}

// Values is rows of constants.
type Values struct {
	Fields []Field
	Rows   [][]expr.Value
}

// A Filter passes the rows for which Cond is true.
type Filter struct {
	Input Node
	Cond  expr.Expr
	Est   Est
}

// A Project computes one column per expression.
type Project struct {
	Input Node
	Exprs []expr.Expr
	Names []string
}

// An AggMode says which half of an aggregation a node does.
type AggMode uint8

// The modes. Partial gives the group columns, then each aggregate's state columns (expr.Aggregates says which); Final
// takes that as its input: Groups refer to its first columns, and an aggregate's Args to its state columns.
const (
	Single AggMode = iota
	Partial
	Final
)

// An Aggregate groups its input by Groups – no Groups: one group, even of no rows – and gives the groups, then the Aggs.
type Aggregate struct {
	Input  Node
	Mode   AggMode
	Groups []expr.Expr
	Aggs   []expr.Aggregate
	Names  []string // of all output columns
	Est    Est
}

// A JoinKind is a kind of join, seen from the probe side, which is the first child and the side that streams.
type JoinKind uint8

// The kinds. Output columns are the probe's then the build's, but only the probe's of Semi and Anti, only the build's of
// BuildSemi and BuildAnti, and the probe's and one BOOLEAN of Mark (NULL as SQL's IN gives it).
const (
	Inner      JoinKind = iota
	ProbeOuter          // every probe row at least once: LEFT JOIN with probe on the left
	BuildOuter          // every build row at least once
	FullOuter
	Semi // probe rows with a match
	Anti // probe rows without; see NullAware
	BuildSemi
	BuildAnti
	Mark
)

// A HashJoin finds, for each row of Probe, the rows of Build with equal keys (NULL equals nothing) for which Residual,
// over the columns of both, is true.
type HashJoin struct {
	Kind      JoinKind
	Probe     Node
	Build     Node
	ProbeKeys []expr.Expr
	BuildKeys []expr.Expr // same length and types
	Residual  expr.Expr   // nil: none; Inputs count through probe's columns, then build's
	NullAware bool        // Anti and Mark: NOT IN's and IN's rules for NULL; needs exactly one key
	NullEqual []bool      // per key: NULL equals NULL (IS NOT DISTINCT FROM); nil: none
	Output    []int       // which of the output columns to give, in order; nil: all
	Runtime   []RuntimeBuild
	Est       Est

	settled settled
}

// A RuntimeBuild asks the join to publish a runtime filter of the given key's build values under an id.
type RuntimeBuild struct {
	Filter int32
	Key    int
}

// A LoopJoin pairs every row of Probe with every row of Build for which Cond is true (nil: all): for joins without equal
// keys. Kinds and output are as a HashJoin's, without BuildSemi, BuildAnti.
type LoopJoin struct {
	Kind   JoinKind
	Probe  Node
	Build  Node
	Cond   expr.Expr
	Output []int
	Est    Est

	settled settled
}

// A Sort orders its input. Fetch ≥ 0: only the first Fetch rows after Offset are given (top-n); −1: all. The sort is stable
// only for rows of one goroutine: equal keys may come in any order.
type Sort struct {
	Input  Node
	Keys   []SortKey
	Fetch  int64
	Offset int64
	Est    Est
}

// A SortKey is one key of an ordering.
type SortKey struct {
	Expr       expr.Expr
	Desc       bool
	NullsFirst bool
}

// A Limit passes Fetch rows (−1: all) after the first Offset.
type Limit struct {
	Input  Node
	Fetch  int64
	Offset int64
}

// A Union gives all rows of its inputs, whose schemas have equal types.
type Union struct {
	Inputs []Node
}

// A Recursive gives the rows of Base, then those of Step over the rows that came last, until none come; without All, those that were
// given before are left out. One task runs all of it: its scans are read whole, and it holds no exchange.
type Recursive struct {
	ID         int32 // by which Working nodes in Step find it
	Base, Step Node
	All        bool
	Fields     []Field
}

// Working is the rows that came last of the nearest Recursive of this ID around it.
type Working struct {
	ID     int32
	Fields []Field
}

// Shared is the rows of Input, which are computed once for all places of a plan that hold this very node: a plan is a tree but for
// these. It is of plans that are run whole: spreading a plan over tasks makes a stage with several readers of it.
type Shared struct {
	Input Node
}

// An Expand gives each row once per element of its lists, side by side, and then how many that were: NULL past the end of a list
// shorter than another; no row where all are NULL or empty.
type Expand struct {
	Input      Node
	Lists      []expr.Expr
	Ordinality bool     // a last column counts the elements from 1
	Names      []string // of the added columns
	Est        Est
}

// An ExchangeKind is how rows of the producer's tasks find a consumer's task.
type ExchangeKind uint8

// The kinds.
const (
	Gather    ExchangeKind = iota // all rows to the one consumer
	Hash                          // by HashSpec v1 over Keys
	Broadcast                     // all rows to every consumer
	Robin                         // batches in turn: any consumer will do
	Share                         // a task's rows, all of them, to the task of the same number of each stage that reads them
)

// An Exchange is where a plan is cut into stages (package stage). In one process it is a no-op but for Merge.
type Exchange struct {
	Input Node
	Kind  ExchangeKind
	Keys  []int     // Hash: positions of input columns
	Merge []SortKey // Gather: inputs are sorted by this and stay so; nil: any order
}

// A Remote is the consumer's end of a cut: the rows of stage Stage, sent by its tasks for this task. It stands in the plans of
// tasks only.
type Remote struct {
	Stage  int32
	Reader int32 // which of the stage's readers this is; 0 unless its kind is Share
	Fields []Field
	Merge  []SortKey // not nil: streams are sorted by this and are merged
	Est    Est
}

// An Output is how a stage's rows are dealt out to the tasks that read it.
type Output struct {
	Kind       ExchangeKind
	Keys       []int // Hash: columns of the root
	Partitions int   // at least 1; more than 1 only for Hash and Robin
	Consumers  int   // that read each partition: of Broadcast all tasks, of Share all readers, else 1
}

// A Window adds one column per call to its input's, computed over the rows around each row. The input comes partition by
// partition – rows equal in Partition stand together – and within one by Order: lowering puts a Sort below. Its own output
// keeps that order.
type Window struct {
	Input     Node
	Partition []expr.Expr
	Order     []SortKey
	Calls     []WindowCall
	Names     []string // of the added columns
}

// A WindowCall is a window function: one of expr.WindowFunctions or an aggregate, over the rows of its frame.
type WindowCall struct {
	Func        string // canonical
	Args        []expr.Expr
	Distinct    bool
	Filter      expr.Expr // nil: all rows of the frame
	IgnoreNulls bool
	Frame       Frame
	Typ         sqltype.Type
	Pos         expr.At
	User        *function.Signature // nil: built in
}

// A FrameUnit says what a frame's bounds count.
type FrameUnit uint8

// The units.
const (
	FrameRows   FrameUnit = iota
	FrameRange            // values of the one order key, or peers where no bound has an offset
	FrameGroups           // groups of peers
)

// A BoundKind is where a frame begins or ends.
type BoundKind uint8

// The bounds, in order of place.
const (
	UnboundedPreceding BoundKind = iota
	Preceding                    // Offset before the current row
	CurrentRow
	Following // Offset after it
	UnboundedFollowing
)

// A Bound is one end of a frame. Offset is a constant: a BIGINT for rows and groups; for a range of a type that can be added to
// the order key.
type Bound struct {
	Kind   BoundKind
	Offset expr.Value
}

// A FrameExclude says which rows of a frame are left out.
type FrameExclude uint8

// The exclusions.
const (
	ExcludeNone FrameExclude = iota
	ExcludeCurrentRow
	ExcludeGroup
	ExcludeTies
)

// A Frame is the rows that a call sees, of the current row's partition.
type Frame struct {
	Unit       FrameUnit
	Start, End Bound
	Exclude    FrameExclude
}
