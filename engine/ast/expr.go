package ast

import "github.com/fletchdb/fletch/engine/sqlerr"

// An Expr is anything that has a value. The implementations are the nodes of this file.
//
// What SQL writes with words inside parentheses comes as an ordinary *FuncCall with positional arguments, under the name that
// PostgreSQL gives it, so that the function table is the only place that knows it:
//
//	EXTRACT(year FROM x)               extract('year', x)
//	SUBSTRING(x FROM a FOR b)          substring(x, a, b); FOR alone: substring(x, 1, b)
//	POSITION(a IN b)                   position(b, a)
//	OVERLAY(x PLACING y FROM a FOR b)  overlay(x, y, a, b)
//	TRIM(x), TRIM(BOTH c FROM x)       btrim(x), btrim(x, c)
//	TRIM(LEADING c FROM x)             ltrim(x, c)
//	TRIM(TRAILING c FROM x)            rtrim(x, c)
//	x AT TIME ZONE z, x AT LOCAL       timezone(z, x), timezone(x)
//	COALESCE, NULLIF, GREATEST, GROUPING, … are calls under their own names
type Expr interface {
	Node
	expr()
}

// A LiteralKind is how a literal was written.
type LiteralKind string

// The kinds of literal.
const (
	NullLiteral    LiteralKind = "null"
	BooleanLiteral LiteralKind = "boolean" // Value is "true" or "false"
	IntegerLiteral LiteralKind = "integer" // decimal digits, of any length, without sign
	DecimalLiteral LiteralKind = "decimal" // digits with a point, without sign: "1.50", ".5", "1."
	FloatLiteral   LiteralKind = "float"   // with an exponent: "1e10", "2.5E-3"
	StringLiteral  LiteralKind = "string"  // '…', E'…', $$…$$
	BinaryLiteral  LiteralKind = "binary"  // X'…'; Value holds the bytes
)

// A Literal is a constant that names no type. Value is its text with quotes, escapes and digit separators resolved; hexadecimal,
// octal and binary integers are decimal here. Negative numbers are a Unary around a Literal.
type Literal struct {
	Span
	Kind  LiteralKind
	Value string
}

// A TypedLiteral is a string under a type: DATE '1994-01-01', TIMESTAMP WITH TIME ZONE '…'. Unlike a cast it must be constant.
type TypedLiteral struct {
	Span
	Type  *TypeName
	Value string
}

// An Interval is INTERVAL '1 day', INTERVAL '90' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL 3 DAY or INTERVAL (x) DAY. Value is a
// string literal in the first forms, any expression in the last two. From and To are the unit words in lower case singular ("day"),
// "" where there was none; Precision is the n of SECOND(n), -1 where there was none.
type Interval struct {
	Span
	Value     Expr
	From, To  string
	Precision int
}

// A ColumnRef is a name: column, table.column, schema.table.column, or a column with fields of a struct. Only the binder can
// tell which.
type ColumnRef struct {
	Span
	Parts []Ident
}

// A Param is a place for a value that comes later: $3 and ? have a Number from 1 (? is numbered in order of appearance
// within its statement), $name has a Name and Number 0.
type Param struct {
	Span
	Number int
	Name   string
}

// A Default is the word DEFAULT in a row of INSERT's VALUES.
type Default struct {
	Span
}

// An Operator is the spelling of an operator: one of the constants below or any other run of operator characters. != is <> here
// and == is =.
type Operator string

// The operators that the grammar knows by name. Unary ones are Add, Sub and BitNot.
const (
	Add           Operator = "+"
	Sub           Operator = "-"
	Mul           Operator = "*"
	Div           Operator = "/"
	IntDiv        Operator = "//"
	Mod           Operator = "%"
	Pow           Operator = "^"
	Concat        Operator = "||"
	Eq            Operator = "="
	Ne            Operator = "<>"
	Lt            Operator = "<"
	Le            Operator = "<="
	Gt            Operator = ">"
	Ge            Operator = ">="
	BitAnd        Operator = "&"
	BitOr         Operator = "|"
	BitXor        Operator = "#"
	BitNot        Operator = "~"
	ShiftLeft     Operator = "<<"
	ShiftRight    Operator = ">>"
	RegexMatch    Operator = "~" // the binary one
	RegexIMatch   Operator = "~*"
	RegexNotMatch Operator = "!~"
	RegexNotIM    Operator = "!~*"
	LikeOp        Operator = "~~" // also what LIKE is in a Quantified
	ILikeOp       Operator = "~~*"
	NotLikeOp     Operator = "!~~"
	NotILikeOp    Operator = "!~~*"
	Arrow         Operator = "->"
	LongArrow     Operator = "->>"
	Contains      Operator = "@>"
	ContainedBy   Operator = "<@"
	Overlaps      Operator = "&&"
	StartsWith    Operator = "^@"
)

// A Unary is a prefix operator: -x, +x, ~x.
type Unary struct {
	Span
	Op   Operator
	Expr Expr
}

// A Binary is an operator between two values, comparisons included. OpPos is the operator's own place. Chains group to the left.
type Binary struct {
	Span
	Op    Operator
	OpPos sqlerr.Pos
	Left  Expr
	Right Expr
}

// And is a AND b AND …: at least two Args, in order. Parenthesised ANDs within stay nodes of their own.
type And struct {
	Span
	Args []Expr
}

// Or is a OR b OR …: at least two Args, in order. Parenthesised ORs within stay nodes of their own.
type Or struct {
	Span
	Args []Expr
}

// Not is NOT x. Predicates with a NOT of their own (NOT IN, NOT LIKE, IS NOT NULL) carry it themselves.
type Not struct {
	Span
	Expr Expr
}

// A Truth is what Is tests for.
type Truth string

// The tests of IS.
const (
	IsNull    Truth = "NULL"
	IsTrue    Truth = "TRUE"
	IsFalse   Truth = "FALSE"
	IsUnknown Truth = "UNKNOWN"
)

// Is is x IS [NOT] NULL, TRUE, FALSE or UNKNOWN; x ISNULL and x NOTNULL come here too.
type Is struct {
	Span
	Expr Expr
	Test Truth
	Not  bool
}

// IsDistinct is x IS DISTINCT FROM y; Not for IS NOT DISTINCT FROM, which <=> is as well.
type IsDistinct struct {
	Span
	Left  Expr
	Right Expr
	Not   bool
}

// Between is x [NOT] BETWEEN [SYMMETRIC] low AND high.
type Between struct {
	Span
	Expr      Expr
	Low, High Expr
	Not       bool
	Symmetric bool
}

// InList is x [NOT] IN (a, b, …). The list may be empty.
type InList struct {
	Span
	Expr Expr
	List []Expr
	Not  bool
}

// InSubquery is x [NOT] IN (SELECT …). Expr is a *Row for (a, b) IN (SELECT …).
type InSubquery struct {
	Span
	Expr  Expr
	Query *Query
	Not   bool
}

// A LikeKind is a pattern language.
type LikeKind string

// The pattern predicates.
const (
	LikePattern    LikeKind = "LIKE"
	ILikePattern   LikeKind = "ILIKE"
	SimilarPattern LikeKind = "SIMILAR TO"
)

// Like is x [NOT] LIKE, ILIKE or SIMILAR TO pattern [ESCAPE e]; Escape is nil without.
type Like struct {
	Span
	Kind    LikeKind
	Expr    Expr
	Pattern Expr
	Escape  Expr
	Not     bool
}

// A Quantified is x op ANY (…) or x op ALL (…): over a Query, or over the elements of Array. Exactly one of them is set. SOME is ANY.
type Quantified struct {
	Span
	Left  Expr
	Op    Operator
	All   bool
	Query *Query
	Array Expr
}

// Exists is EXISTS (SELECT …).
type Exists struct {
	Span
	Query *Query
}

// A ScalarSubquery is a query in parentheses where a value stands.
type ScalarSubquery struct {
	Span
	Query *Query
}

// An ArraySubquery is ARRAY(SELECT …): the rows of a query as one list.
type ArraySubquery struct {
	Span
	Query *Query
}

// Case is CASE [operand] WHEN … THEN … [ELSE …] END. Operand and Else may be nil.
type Case struct {
	Span
	Operand Expr
	Whens   []*When
	Else    Expr
}

// A When is one branch of a CASE.
type When struct {
	Span
	Cond   Expr
	Result Expr
}

// A Cast is CAST(x AS t), x::t, or with Try TRY_CAST(x AS t), which gives NULL where the value does not fit.
type Cast struct {
	Span
	Expr Expr
	Type *TypeName
	Try  bool
}

// Collate is x COLLATE name.
type Collate struct {
	Span
	Expr      Expr
	Collation ObjectName
}

// A NullTreatment is what a window function does with NULL arguments.
type NullTreatment string

// The null treatments.
const (
	NullTreatmentDefault NullTreatment = ""
	RespectNulls         NullTreatment = "RESPECT NULLS"
	IgnoreNulls          NullTreatment = "IGNORE NULLS"
)

// A FuncCall is a call of a scalar, aggregate, window or table function; the binder tells which. Star is count(*): then Args is
// empty. NoParens is set for CURRENT_DATE and its like, written without parentheses.
type FuncCall struct {
	Span
	Name        ObjectName
	Args        []*Arg
	Star        bool
	NoParens    bool
	Distinct    bool
	OrderBy     []*OrderItem // within the parentheses
	WithinGroup []*OrderItem // WITHIN GROUP (ORDER BY …)
	Filter      Expr         // FILTER (WHERE …)
	Nulls       NullTreatment
	Over        *WindowSpec // nil: not a window call
}

// An Arg is an argument; Name is nil unless it was written name => value or name := value.
type Arg struct {
	Span
	Name  *Ident
	Value Expr
}

// A Row is (a, b, …) or ROW(a, b, …). Without the word ROW it has at least two items, save that the rows of a VALUES may
// have one.
type Row struct {
	Span
	Items    []Expr
	Explicit bool // the word ROW was there
}

// An Array is ARRAY[a, b] or [a, b]; it may be empty.
type Array struct {
	Span
	Items []Expr
}

// A Struct is {'a': 1, b: 2}.
type Struct struct {
	Span
	Fields []StructField
}

// A StructField is one field of a Struct. Its name counts as quoted when it was a string or a quoted identifier.
type StructField struct {
	Span
	Name  Ident
	Value Expr
}

// A Map is MAP {key: value, …}, whose keys are any expressions.
type Map struct {
	Span
	Keys   []Expr
	Values []Expr
}

// An Index is x[i]: an element of a list, a value of a map, a field of a struct.
type Index struct {
	Span
	Expr  Expr
	Index Expr
}

// A Slice is x[low:high:step], each of which may be nil.
type Slice struct {
	Span
	Expr Expr
	Low  Expr
	High Expr
	Step Expr
}

// A FieldAccess is (x).f: a field of any expression but a plain name, for which see ColumnRef.
type FieldAccess struct {
	Span
	Expr  Expr
	Field Ident
}

func (*Literal) expr()        {}
func (*TypedLiteral) expr()   {}
func (*Interval) expr()       {}
func (*ColumnRef) expr()      {}
func (*Param) expr()          {}
func (*Default) expr()        {}
func (*Unary) expr()          {}
func (*Binary) expr()         {}
func (*And) expr()            {}
func (*Or) expr()             {}
func (*Not) expr()            {}
func (*Is) expr()             {}
func (*IsDistinct) expr()     {}
func (*Between) expr()        {}
func (*InList) expr()         {}
func (*InSubquery) expr()     {}
func (*Like) expr()           {}
func (*Quantified) expr()     {}
func (*Exists) expr()         {}
func (*ScalarSubquery) expr() {}
func (*ArraySubquery) expr()  {}
func (*Case) expr()           {}
func (*Cast) expr()           {}
func (*Collate) expr()        {}
func (*FuncCall) expr()       {}
func (*Row) expr()            {}
func (*Array) expr()          {}
func (*Struct) expr()         {}
func (*Map) expr()            {}
func (*Index) expr()          {}
func (*Slice) expr()          {}
func (*FieldAccess) expr()    {}
