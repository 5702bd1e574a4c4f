package ast

// A Statement is what stands between two semicolons.
type Statement interface {
	Node
	statement()
}

// A QueryStatement is a query for its rows.
type QueryStatement struct {
	Span
	Query *Query
}

// Explain asks for a plan. EXPLAIN's words and its parenthesised options come to the same fields; what has no field of
// its own is in Options.
type Explain struct {
	Span
	Analyze   bool
	Verbose   bool
	Format    string // "", "text", "json", "tree" and so on, lower case; not checked
	Options   []Option
	Statement Statement
}

// CreateTable is CREATE TABLE with columns, with AS, or both (then the columns have names and perhaps types).
type CreateTable struct {
	Span
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        ObjectName
	Columns     []*ColumnDef
	Constraints []*TableConstraint
	Query       *Query // after AS; nil without
	NoData      bool   // WITH NO DATA
}

// A ColumnDef is a column in CREATE TABLE. Type is nil where only a name was given (CREATE TABLE t (a, b) AS …).
type ColumnDef struct {
	Span
	Name       Ident
	Type       *TypeName
	NotNull    bool
	PrimaryKey bool
	Unique     bool
	Default    Expr
	Check      Expr
	Collation  *ObjectName
}

// A ConstraintKind says what a TableConstraint demands.
type ConstraintKind string

// The constraints that can follow the columns of a table.
const (
	PrimaryKey ConstraintKind = "PRIMARY KEY"
	Unique     ConstraintKind = "UNIQUE"
	Check      ConstraintKind = "CHECK"
)

// A TableConstraint is a constraint over several columns. Check is set for kind Check, Columns for the others.
type TableConstraint struct {
	Span
	Name    *Ident
	Kind    ConstraintKind
	Columns []Ident
	Check   Expr
}

// CreateView is CREATE VIEW. Columns may be empty.
type CreateView struct {
	Span
	OrReplace   bool
	Temporary   bool
	IfNotExists bool
	Name        ObjectName
	Columns     []Ident
	Query       *Query
}

// CreateExternalTable is a table over files: CREATE EXTERNAL TABLE t (…) STORED AS PARQUET LOCATION '…'.
type CreateExternalTable struct {
	Span
	OrReplace     bool
	Temporary     bool
	Unbounded     bool
	IfNotExists   bool
	Name          ObjectName
	Columns       []*ColumnDef
	Constraints   []*TableConstraint
	StoredAs      string // the format, lower case; "" where it was not said
	PartitionedBy []*ColumnDef
	WithOrder     [][]*OrderItem
	Location      *Literal // a string
	Options       []Option
}

// CreateSchema is CREATE SCHEMA, or CREATE DATABASE with Database set.
type CreateSchema struct {
	Span
	Database    bool
	IfNotExists bool
	Name        ObjectName
}

// An ObjectKind is what DROP drops and SHOW CREATE shows.
type ObjectKind string

// The kinds of catalog objects that statements name.
const (
	TableObject    ObjectKind = "TABLE"
	ViewObject     ObjectKind = "VIEW"
	SchemaObject   ObjectKind = "SCHEMA"
	DatabaseObject ObjectKind = "DATABASE"
)

// Drop is DROP TABLE, VIEW, SCHEMA or DATABASE of one or more names.
type Drop struct {
	Span
	Kind     ObjectKind
	IfExists bool
	Names    []ObjectName
	Cascade  bool
}

// Insert adds the rows of a query. Query is nil for INSERT … DEFAULT VALUES. VALUES rows may hold *Default.
type Insert struct {
	Span
	Table   ObjectName
	Columns []Ident
	ByName  bool // INSERT INTO t BY NAME SELECT …: columns match by name
	Query   *Query
}

// Copy writes a query's or a table's rows to a file. Exactly one of Query and Table is set.
type Copy struct {
	Span
	Query         *Query
	Table         *ObjectName
	Columns       []Ident
	To            *Literal // a string
	StoredAs      string   // COPY … STORED AS PARQUET, lower case; "" where it was not said
	PartitionedBy []Ident
	Options       []Option
}

// Describe asks for the columns of a table or of a query. Exactly one of Table and Query is set.
type Describe struct {
	Span
	Table *ObjectName
	File  *Literal // DESCRIBE 'file.parquet'
	Query *Query
}

// A ShowKind is what SHOW shows.
type ShowKind string

// What SHOW can show.
const (
	ShowTables    ShowKind = "TABLES"
	ShowColumns   ShowKind = "COLUMNS"
	ShowFunctions ShowKind = "FUNCTIONS"
	ShowSchemas   ShowKind = "SCHEMAS"
	ShowDatabases ShowKind = "DATABASES"
	ShowViews     ShowKind = "VIEWS"
	ShowCreate    ShowKind = "CREATE" // Object and Name say of what
	ShowAll       ShowKind = "ALL"    // every setting
	ShowSetting   ShowKind = "SETTING"
)

// Show is SHOW TABLES, SHOW COLUMNS FROM t, SHOW ALL, SHOW name and so on.
type Show struct {
	Span
	Kind   ShowKind
	Full   bool        // SHOW FULL …, SHOW ALL TABLES
	Object ObjectKind  // for ShowCreate
	Name   *ObjectName // the table, the schema, or the setting
	Like   *Literal    // a string pattern
	Where  Expr
}

// Set changes a setting. Values is empty for SET x TO DEFAULT; a bare word is a string literal, as in PostgreSQL. SET TIME
// ZONE is the setting "timezone".
type Set struct {
	Span
	Local  bool
	Name   ObjectName
	Values []Expr
}

// Reset takes a setting back to its default; Name is nil for RESET ALL.
type Reset struct {
	Span
	Name *ObjectName
}

// Prepare names a statement with parameters. Types may be shorter than the parameters used.
type Prepare struct {
	Span
	Name      Ident
	Types     []*TypeName
	Statement Statement
}

// Execute runs a prepared statement.
type Execute struct {
	Span
	Name Ident
	Args []*Arg
}

// Deallocate forgets a prepared statement; Name is nil for ALL.
type Deallocate struct {
	Span
	Name *Ident
}

// A TransactionKind is what a Transaction statement does.
type TransactionKind string

// The transaction statements.
const (
	Begin    TransactionKind = "BEGIN"
	Commit   TransactionKind = "COMMIT"
	Rollback TransactionKind = "ROLLBACK"
)

// Transaction is BEGIN, START TRANSACTION, COMMIT, END, ROLLBACK or ABORT; isolation levels and such are accepted and dropped.
type Transaction struct {
	Span
	Kind TransactionKind
}

// An Option is a name with a value, as in COPY … (FORMAT parquet, COMPRESSION zstd). Name is lower case when it was
// unquoted; dotted names and string names ('format.has_header') are joined. Value is nil where only a name was given; a
// bare word is a string literal, a parenthesised list a *Row.
type Option struct {
	Span
	Name  string
	Value Expr
}

func (*QueryStatement) statement()      {}
func (*Explain) statement()             {}
func (*CreateTable) statement()         {}
func (*CreateView) statement()          {}
func (*CreateExternalTable) statement() {}
func (*CreateSchema) statement()        {}
func (*Drop) statement()                {}
func (*Insert) statement()              {}
func (*Copy) statement()                {}
func (*Describe) statement()            {}
func (*Show) statement()                {}
func (*Set) statement()                 {}
func (*Reset) statement()               {}
func (*Prepare) statement()             {}
func (*Execute) statement()             {}
func (*Deallocate) statement()          {}
func (*Transaction) statement()         {}
