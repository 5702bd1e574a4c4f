// Package memory holds tables that live in a process: immutable runs of Arrow record batches, and their scan. It must never know who
// a table belongs to, or what it is called.
package memory

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Table is rows as they were at one moment. It is immutable: who adds rows makes another Table. Its memory is Go's to free.
type Table struct {
	fields  []physical.Field
	batches []arrow.RecordBatch // each in the form Narrow of fields
	rows    int64
	bytes   int64
}

// New is a table without rows.
func New(fields []physical.Field) *Table { return &Table{fields: fields} }

// With is t and the rows of more, whose schema is that of t's fields in arrowio's Narrow form. It keeps more.
func (t *Table) With(more ...arrow.RecordBatch) *Table {
	c := *t
	c.batches = append(c.batches[:len(c.batches):len(c.batches)], more...)
	for _, b := range more {
		c.rows += b.NumRows()
		for _, col := range b.Columns() {
			c.bytes += int64(col.Data().SizeInBytes())
		}
	}
	return &c
}

// Fields is the table's columns.
func (t *Table) Fields() []physical.Field { return t.fields }

// Rows is how many rows there are.
func (t *Table) Rows() int64 { return t.rows }

// Bytes is the memory that they take.
func (t *Table) Bytes() int64 { return t.bytes }

// Nulls is how many rows have NULL in a column.
func (t *Table) Nulls(column int) int64 {
	var n int64
	for _, b := range t.batches {
		n += int64(b.Column(column).NullN())
	}
	return n
}

// NewSource is the scan of a table. Rows come in the table's order for a single reader.
func NewSource(ctx context.Context, t *Table, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	for _, c := range scan.Columns {
		if c.Index < 0 || c.Index >= len(t.fields) || !t.fields[c.Index].Type.Equal(c.Type) {
			return nil, sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "invalid plan: table %q has no column %d of type %s", scan.Table, c.Index, c.Type)
		}
	}
	s := &source{ctx: ctx, table: t, scan: scan, env: env, rows: int64(env.BatchRows)}
	if s.rows <= 0 {
		s.rows = vector.DefaultBatch
	}
	return s, nil
}

// A source reads a table; its morsels are record batches.
type source struct {
	table *Table
	scan  *physical.Scan
	env   *exec.Env
	rows  int64           // per batch
	ctx   context.Context // the scan's, which is open no longer
	next  atomic.Int64
}

// MaxReaders is how many readers find something to do.
func (s *source) MaxReaders() int { return max(1, len(s.table.batches)) }

func (s *source) NewReader() (exec.Reader, error) {
	r := &reader{source: s}
	if s.scan.Filter != nil {
		f, err := eval.NewFilter(s.ctx, s.scan.Filter, int(s.rows))
		if err != nil {
			return nil, err
		}
		r.filter = f
	}
	return r, nil
}

func (s *source) Close() error { return nil }

type reader struct {
	source  *source
	vectors *arrowio.Reader
	filter  *eval.Filter
	batch   arrow.RecordBatch
	at      int64
	slice   arrow.RecordBatch
	out     vector.Batch
}

func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		r.release()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		for r.batch == nil || r.at >= r.batch.NumRows() {
			i := r.source.next.Add(1) - 1
			if i >= int64(len(r.source.table.batches)) {
				return nil, nil
			}
			r.batch, r.at = r.source.table.batches[i], 0
		}
		to := min(r.batch.NumRows(), r.at+r.source.rows)
		r.slice = r.batch.NewSlice(r.at, to)
		r.at = to
		b, err := r.read()
		if err != nil || b.Rows() > 0 {
			return b, err
		}
	}
}

// read gives the scan's columns of the slice, filtered.
func (r *reader) read() (*vector.Batch, error) {
	if r.vectors == nil {
		var err error
		if r.vectors, err = arrowio.NewReader(r.source.table.fields, r.slice.Schema()); err != nil {
			return nil, err
		}
	}
	all, err := r.vectors.Batch(r.slice)
	if err != nil {
		return nil, err
	}
	r.out = vector.Batch{Len: all.Len, Cols: r.out.Cols[:0]}
	for _, c := range r.source.scan.Columns {
		r.out.Cols = append(r.out.Cols, all.Cols[c.Index])
	}
	if r.filter != nil {
		if err := r.filter.Apply(&r.out); err != nil {
			return nil, err
		}
	}
	return &r.out, nil
}

func (r *reader) release() {
	if r.slice != nil {
		r.slice.Release()
		r.slice = nil
	}
}

func (r *reader) Close() error {
	r.release()
	return nil
}
