package ast

// A TableRef is an item of FROM: *Table, *FileTable, *TableFunction, *DerivedTable or *Join.
type TableRef interface {
	Node
	tableRef()
}

// A TableAlias names a table reference and, where Columns is not empty, its first columns.
type TableAlias struct {
	Span
	Name    Ident
	Columns []Ident
}

// A Table is a table, view or CTE by name.
type Table struct {
	Span
	Name  ObjectName
	Alias *TableAlias
}

// A FileTable is a file, folder or glob as a table: FROM 'data/*.parquet'. Its Pos without an alias is the literal's.
type FileTable struct {
	Span
	Path  string
	Alias *TableAlias
}

// A TableFunction is a function in FROM, UNNEST among them. Without LATERAL it may still refer to what stands before it, as
// in PostgreSQL.
type TableFunction struct {
	Span
	Lateral    bool
	Call       *FuncCall
	Ordinality bool // WITH ORDINALITY
	Alias      *TableAlias
}

// A DerivedTable is a query in FROM; VALUES is one as well. Alias may be nil.
type DerivedTable struct {
	Span
	Lateral bool
	Query   *Query
	Alias   *TableAlias
}

// A JoinKind is what becomes of rows without a partner.
type JoinKind string

// The joins. Semi and anti joins keep only one side's columns; a plain SEMI JOIN is the left one.
const (
	InnerJoin     JoinKind = "JOIN"
	LeftJoin      JoinKind = "LEFT JOIN"
	RightJoin     JoinKind = "RIGHT JOIN"
	FullJoin      JoinKind = "FULL JOIN"
	CrossJoin     JoinKind = "CROSS JOIN"
	LeftSemiJoin  JoinKind = "LEFT SEMI JOIN"
	RightSemiJoin JoinKind = "RIGHT SEMI JOIN"
	LeftAntiJoin  JoinKind = "LEFT ANTI JOIN"
	RightAntiJoin JoinKind = "RIGHT ANTI JOIN"
)

// A Join has a condition in exactly one form: On, Using, Natural, or none for CrossJoin. Only a parenthesised join has an Alias,
// which then hides the names of the tables within.
type Join struct {
	Span
	Kind    JoinKind
	Natural bool
	Left    TableRef
	Right   TableRef
	On      Expr
	Using   []Ident
	Alias   *TableAlias
}

func (*Table) tableRef()         {}
func (*FileTable) tableRef()     {}
func (*TableFunction) tableRef() {}
func (*DerivedTable) tableRef()  {}
func (*Join) tableRef()          {}
