// Package bind turns a statement's tree into a logical plan: names become column ids, types are settled, * is spelled out, every
// subquery is an Apply. Scoping, coercion and the words of errors are PostgreSQL's. It must never know how a plan is improved
// or run, nor read a row.
package bind

import (
	"context"
	"time"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Config is what a statement is bound with besides its tables. The zero Config has no parameters and starts at the zero time.
type Config struct {
	Params    []expr.Value      // $1 and on
	Functions *function.Library // that may be called besides the built-in ones
	Now       time.Time         // when the query started: what now() and its like stand for; its location is the session's time zone

	Zero ZeroDivision // what dividing by zero gives
}

// A ZeroDivision is what a / b and its like give where b is zero.
type ZeroDivision uint8

// What dividing by zero gives.
const (
	ZeroFails    ZeroDivision = iota // an error, as in PostgreSQL
	ZeroNull                         // NULL
	ZeroInfinity                     // a / b of DECIMAL and floats is DOUBLE PRECISION: ±Infinity, or NaN; of integers, and a % b, NULL
)

// maxRelations bounds how many tables and subqueries a bound query has, since a WITH query is bound again wherever it is named.
const maxRelations = 20_000

// Query binds a query. The error is a *sqlerr.Error, of a catalog or with a place in the statement: what the statement asks for and
// Fletch has not is code feature_not_supported.
func Query(ctx context.Context, q *ast.Query, cat catalog.Catalog, cfg Config) (*logical.Plan, error) {
	b := &binder{ctx: ctx, catalog: cat, cfg: cfg, names: map[expr.ColumnID]string{}, keys: map[expr.ColumnID]determinant{}}
	rel, err := b.query(q, &scope{})
	if err != nil {
		return nil, err
	}
	p := &logical.Plan{Root: rel.node, Functions: b.called}
	for _, c := range rel.cols {
		p.Names = append(p.Names, c.name)
	}
	return p, nil
}

// A binder binds one statement.
type binder struct {
	ctx        context.Context // of this one call to Query
	catalog    catalog.Catalog
	cfg        Config
	last       expr.ColumnID
	relations  int
	carried    int // columns that joins see
	recursions int32
	called     []*function.Signature         // that are not built in, each once
	names      map[expr.ColumnID]string      // columns of tables with their table, for messages
	keys       map[expr.ColumnID]determinant // of columns of which others are known to decide the value
}

// A determinant is a column and those that decide its value: rows with the same values in them have the same in it. They are the primary
// key of its table, or the groups of its aggregate.
type determinant struct {
	of  *expr.Column
	key []expr.ColumnID
}

// A bound is a relation that is bound: a plan and the names of its columns, which are node's in this order but may be fewer
// and may repeat.
type bound struct {
	node logical.Node
	cols []column
}

// A column is a name for a column. Hidden ones are found with their table's name only: those that USING merged.
type column struct {
	name   string
	col    *expr.Column
	hidden bool
}

// fresh makes a column that nothing gives yet.
func (b *binder) fresh(name string, like expr.Expr) *expr.Column {
	b.last++
	return &expr.Column{ID: b.last, Name: name, Typ: like.Type(), Nullable: nullable(like)}
}

// count counts a relation against the limit.
func (b *binder) count(pos sqlerr.Pos) error {
	if b.relations++; b.relations > maxRelations {
		return sqlerr.Newf(sqlerr.StatementTooLarge, pos, "the statement reads more than %d tables and subqueries", maxRelations).
			WithHint("a WITH query counts each time that it is named; name it less often")
	}
	return b.ctx.Err()
}

func unsupported(pos sqlerr.Pos, format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.Unsupported, pos, format+" is not supported", args...).WithHint("docs/dialect.md lists what Fletch knows")
}
