// Package catalog says which tables there are: their columns, their files as they are now, and what is known of their values.
// It holds inert descriptions; it must never know how a file is read (a Files tells it) or what a query does with a table.
package catalog

import (
	"context"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Catalog finds tables. Its methods may be called from any goroutine. What it returns is shared and never changed. Errors
// are *sqlerr.Error without a position, which the caller knows.
type Catalog interface {
	// Table is the table of that name, spelled as it is known after folding. No such table: code undefined_table, with
	// near names in the hint.
	Table(ctx context.Context, name string) (*Table, error)
	// Path is the table that a file, folder or glob is, as FROM 'x.parquet' names it. Relative paths are the process's.
	Path(ctx context.Context, pattern string) (*Table, error)
	// Tables are the names that Table knows, sorted.
	Tables(ctx context.Context) ([]string, error)
}

// A Table is a set of files of one format and schema, as they were when they were looked at.
type Table struct {
	Name    string
	Format  physical.Format
	Columns []Column
	Files   []physical.File
	Rows    int64 // in all files; negative: unknown
	Key     []int // positions of the columns of the primary key, which are different in all rows and never NULL; nil: none is known
}

// A Column is a column of a table.
type Column struct {
	Name     string
	Type     sqltype.Type
	Nullable bool
	Stats    Stats
	// Problem says why no query may use the column; nil: it can be read.
	Problem error
}

// Stats is what is known of the values of a column before they are read. Answers never depend on it. The zero Stats knows
// nothing.
type Stats struct {
	Min, Max expr.Value // bounds, not necessarily reached; of kind Invalid where unknown
	Nulls    int64      // meaningful with HasNulls
	HasNulls bool       // Nulls is known
	Distinct float64    // estimated number of different values but NULL; 0: unknown
	Width    float64    // average bytes of a value on disk; 0: unknown
}

// HasRange tells whether Min and Max are known.
func (s Stats) HasRange() bool {
	return s.Min.Type.Kind != sqltype.Invalid && s.Max.Type.Kind != sqltype.Invalid
}

// Column is the position of the column of that name, −1 where there is none.
func (t *Table) Column(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

// Bytes is the size of all files.
func (t *Table) Bytes() int64 {
	var n int64
	for _, f := range t.Files {
		n += f.Size
	}
	return n
}

// Files is the file system as a catalog sees it; whoever can list folders and read footers implements it, read roots and
// all. Its methods may be called from any goroutine; errors are *sqlerr.Error.
type Files interface {
	// List gives the data files that pattern stands for: itself, those in a folder, or those that match a glob; absolute,
	// sorted by path, with size and modification time. None is an error, code file_not_found.
	List(ctx context.Context, pattern string) ([]physical.File, error)
	// Entries gives the names of the files and folders directly in dir, folders with a trailing slash.
	Entries(ctx context.Context, dir string) ([]string, error)
	// Open reads the schema and the statistics of a file that List gave.
	Open(ctx context.Context, f physical.File) (*File, error)
}

// A File is what Files tells of one file: a table of its own. Its Table has one file, with FooterHash and RowGroups filled in.
type File = Table
