package parquet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A source reads the files of a scan. Its morsels are row groups, or parts of large ones, which its readers share.
type source struct {
	scan    *physical.Scan
	in      files.FS
	files   []*openFile
	morsels []morsel
	next    atomic.Int64
	batch   int             // rows
	ctx     context.Context // the scan's, which is open no longer
	filter  []expr.Expr
	runtime []runtimeFilter
	budget  *budget.Budget
	metrics *exec.NodeMetrics
}

// A morsel is rows of one row group.
type morsel struct {
	file  *openFile
	group int
	first int64 // row of the row group
	rows  int64
	skip  []bool       // conjuncts of the filter that statistics show to be true of every row; nil: none
	parts [][]location // per column of the scan: the pages of the row group; nil: the morsel is all of it
}

// A runtimeFilter is a published filter of a column of the scan.
type runtimeFilter struct {
	column int
	keys   exec.KeyFilter
}

// NewSource opens a scan of Parquet files: it looks at every file's footer, which cache may already have, and leaves out
// the row groups that cannot have a row for the scan's filter or the runtime filters published in env by now. It fails with
// FileChanged where a file is not the one that was planned, with Unsupported for a column that cannot be read, and as
// files.FS and Open do. The order of rows is the files' only for a single reader.
func NewSource(ctx context.Context, in files.FS, cache *Cache, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	s := &source{ctx: ctx, scan: scan, in: in, batch: env.BatchRows, budget: env.Budget, metrics: env.Metrics.Of(scan)}
	if s.batch <= 0 {
		s.batch = vector.DefaultBatch
	}
	if scan.Filter != nil {
		s.filter = expr.Conjuncts(scan.Filter)
	}
	for _, p := range scan.Runtime {
		if keys := env.Filters.Get(p.Filter); keys != nil {
			s.runtime = append(s.runtime, runtimeFilter{column: p.Column, keys: keys})
		}
	}
	for i := range scan.Files {
		if err := s.add(ctx, cache, &scan.Files[i]); err != nil {
			return nil, err
		}
	}
	var total int64
	for i := range s.morsels {
		for j := range scan.Columns {
			if run, err := s.morsels[i].extent(j); err == nil { // else reading it says what is wrong
				total += run.bytes()
			}
		}
	}
	s.metrics.Total.Add(total)
	return s, nil
}

// add makes morsels of the row groups of a file that may have rows.
func (s *source) add(ctx context.Context, cache *Cache, planned *physical.File) error {
	f, err := cache.Open(ctx, s.in, planned.Path)
	if err != nil {
		return err
	}
	if f.Size != planned.Size || f.ModTime != planned.ModTime || planned.FooterHash != 0 && f.FooterHash != planned.FooterHash {
		return changed(planned.Path)
	}
	open := &openFile{File: f, columns: make([]*Column, len(s.scan.Columns))}
	for i := range s.scan.Columns {
		if open.columns[i], err = f.column(&s.scan.Columns[i]); err != nil {
			return err
		}
	}
	s.files = append(s.files, open)
	groups := planned.RowGroups
	if groups == nil {
		for g := range f.RowGroups {
			groups = append(groups, int32(g))
		}
	}
	for _, g := range groups {
		if g < 0 || int(g) >= len(f.RowGroups) {
			return sqlerr.Newf(sqlerr.InvalidPlan, sqlerr.Pos{}, "the plan reads row group %d of %q, which has %d", g, f.Path, len(f.RowGroups))
		}
		m := morsel{file: open, group: int(g), rows: f.RowGroups[g].Rows}
		if m.rows == 0 || !s.prune(&m) {
			continue
		}
		cut, err := s.split(ctx, m)
		if err != nil {
			return err
		}
		s.morsels = append(s.morsels, cut...)
		open.left.Add(int64(len(cut)))
	}
	return nil
}

func changed(path string) error {
	return sqlerr.Newf(sqlerr.FileChanged, sqlerr.Pos{}, "%q has changed since the query was planned", path).
		WithHint("run the query again; write new data to new files, so that running queries keep the old ones")
}

// column is the file's column that a scan wants: at the position that it says, or of the name where another file of the
// table has the columns in another order.
func (f *File) column(want *physical.ScanColumn) (*Column, error) {
	i := want.Index
	if i < 0 || i >= len(f.Columns) || f.Columns[i].Name != want.Name {
		i = slices.IndexFunc(f.Columns, func(c Column) bool { return c.Name == want.Name })
	}
	if i < 0 {
		return nil, sqlerr.Newf(sqlerr.UnknownColumn, sqlerr.Pos{}, "%q has no column %q", f.Path, want.Name).
			WithHint("all files of one table must have its columns")
	}
	c := &f.Columns[i]
	if err := c.Check(sqlerr.Pos{}); err != nil {
		return nil, err
	}
	if !c.Type.Equal(want.Type) {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, sqlerr.Pos{}, "column %q of %q is %v, not %v as planned", c.Name, f.Path, c.Type, want.Type).
			WithHint("all files of one table must have the same types")
	}
	if c.Nullable && !want.Nullable {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, sqlerr.Pos{}, "column %q of %q may be NULL, which was planned as NOT NULL", c.Name, f.Path)
	}
	return c, nil
}

// prune looks at what statistics say of m, and tells whether it may have rows.
func (s *source) prune(m *morsel) bool {
	stats := func(column int) *Stats { return m.file.stats(m.group, column) }
	for i, cond := range s.filter {
		switch judge(cond, m.rows, stats) {
		case never:
			return false
		case always:
			if m.skip == nil {
				m.skip = make([]bool, len(s.filter))
			}
			m.skip[i] = true
		}
	}
	for _, f := range s.runtime {
		if excludes(f.keys, stats(f.column), m.rows) {
			return false
		}
	}
	return true
}

// NewReader is a reader for one goroutine.
func (s *source) NewReader() (exec.Reader, error) { return newReader(s) }

// Close closes the files.
func (s *source) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.close())
	}
	return errors.Join(errs...)
}

// An openFile is a file of a scan, open from its first morsel to its last.
type openFile struct {
	*File
	columns []*Column    // of the scan, in its order
	left    atomic.Int64 // morsels to do

	mu sync.Mutex
	f  files.File
}

func (f *openFile) stats(group, column int) *Stats {
	return &f.RowGroups[group].Columns[f.index(column)].Stats
}

func (f *openFile) index(column int) int {
	for i := range f.Columns {
		if &f.Columns[i] == f.columns[column] {
			return i
		}
	}
	return -1
}

// open gives the open file, which is still the one whose footer was read.
func (f *openFile) open(ctx context.Context, in files.FS) (files.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f != nil {
		return f.f, nil
	}
	r, err := in.Open(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	if r.Info() != f.Info {
		return nil, errors.Join(changed(f.Path), r.Close())
	}
	f.f = r
	return r, nil
}

// done tells that a morsel is read; after the last one the file is closed.
func (f *openFile) done() error {
	if f.left.Add(-1) > 0 {
		return nil
	}
	return f.close()
}

func (f *openFile) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// chunk is what the file says of a column in the morsel's row group.
func (m *morsel) chunk(c *Column) *chunkMeta { return &m.file.meta.rowGroups[m.group].chunks[c.leaf] }
