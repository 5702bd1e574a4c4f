package engine

import (
	"context"
	"path/filepath"

	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/scan/parquet"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Scanner opens the files of scans, and remembers their footers. Its methods may be called from any goroutine.
type Scanner struct {
	fs    files.FS
	cache *parquet.Cache
}

// NewScanner makes a scanner of the files that fs lets see.
func NewScanner(fs files.FS) *Scanner { return &Scanner{fs: fs, cache: parquet.NewCache(0)} }

// Open gives the source of a scan for exec.Env.OpenScan. A file that is not the one that was planned fails with file_changed.
func (s *Scanner) Open(ctx context.Context, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	if scan.Format != physical.Parquet {
		return nil, sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "only Parquet files can be scanned")
	}
	return parquet.NewSource(ctx, s.fs, s.cache, scan, env)
}

// List gives the Parquet files that a name stands for.
func (s *Scanner) List(ctx context.Context, pattern string) ([]physical.File, error) {
	found, err := files.Find(ctx, s.fs, pattern, ".parquet")
	if err != nil {
		return nil, err
	}
	out := make([]physical.File, len(found))
	for i, f := range found {
		out[i] = physical.File{Path: f.Path, Size: f.Size, ModTime: f.ModTime}
	}
	return out, nil
}

// Entries is the names directly in dir, folders with a trailing slash.
func (s *Scanner) Entries(ctx context.Context, dir string) ([]string, error) {
	path, err := s.fs.Abs(dir)
	if err != nil {
		return nil, err
	}
	list, err := s.fs.ReadDir(ctx, path)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		name := e.Name
		isDir := e.Dir
		if e.Symlink {
			if _, isDir, err = s.fs.Stat(ctx, filepath.Join(path, name)); err != nil {
				continue // a link that leads nowhere is no table
			}
		}
		if isDir {
			name += "/"
		}
		out = append(out, name)
	}
	return out, nil
}

// catalogFiles is a Scanner as a catalog sees it.
type catalogFiles struct{ *Scanner }

// Open reads the schema and the statistics of a file.
func (s catalogFiles) Open(ctx context.Context, f physical.File) (*catalog.File, error) {
	p, err := s.cache.Open(ctx, s.fs, f.Path)
	if err != nil {
		return nil, err
	}
	whole := physical.File{Path: p.Path, Size: p.Size, ModTime: p.ModTime, FooterHash: p.FooterHash, RowGroups: []int32{}}
	parts := make([]*catalog.File, 0, len(p.RowGroups))
	for i, g := range p.RowGroups {
		whole.RowGroups = append(whole.RowGroups, int32(i))
		parts = append(parts, rowGroup(p, g.Rows, func(c int) catalog.Stats { return stats(g.Columns[c], p.Columns[c].Type, g.Rows) }))
	}
	if len(parts) == 0 {
		parts = append(parts, rowGroup(p, 0, func(int) catalog.Stats { return catalog.Stats{HasNulls: true} }))
	}
	t, err := catalog.Merge("", parts)
	if err != nil {
		return nil, err
	}
	t.Files = []physical.File{whole}
	return t, nil
}

func rowGroup(p *parquet.File, rows int64, stats func(column int) catalog.Stats) *catalog.File {
	t := &catalog.Table{Format: physical.Parquet, Rows: rows, Files: []physical.File{{Path: p.Path}}}
	for i, c := range p.Columns {
		t.Columns = append(t.Columns, catalog.Column{Name: c.Name, Type: c.Type, Nullable: c.Nullable, Stats: stats(i), Problem: c.Check(sqlerr.Pos{})})
	}
	return t
}

func stats(c parquet.Chunk, t sqltype.Type, rows int64) catalog.Stats {
	out := catalog.Stats{HasNulls: c.Stats.NullCount >= 0, Nulls: max(0, c.Stats.NullCount), Distinct: float64(max(0, c.Stats.DistinctCount))}
	if c.Stats.HasMin && c.Stats.HasMax {
		out.Min, out.Max = c.Stats.Min, c.Stats.Max
	}
	if out.Distinct == 0 && (t.Kind == sqltype.Utf8 || t.Kind == sqltype.Binary) {
		out.Distinct = catalog.DistinctByWidth(rows, c.Uncompressed)
	}
	if rows > 0 {
		out.Width = float64(c.Compressed) / float64(rows)
	}
	return out
}
