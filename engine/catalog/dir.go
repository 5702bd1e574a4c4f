package catalog

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Dir is the catalog of a folder: every Parquet file in it, or folder of them, is a table of that name. Files are looked at
// when a query first names them, and again when their size or modification time changes. Methods may be called from any
// goroutine.
type Dir struct {
	dir   string // "": no folder, paths only
	files Files

	mu    sync.Mutex
	cache map[string]*File // by path, current while size and modification time are
}

// cacheLimit bounds how many files a Dir remembers, since a statement may name any number of them.
const cacheLimit = 10_000

// NewDir makes the catalog of dir; with "" there are no names, only paths.
func NewDir(dir string, files Files) *Dir {
	return &Dir{dir: dir, files: files, cache: map[string]*File{}}
}

// Table finds the file or folder of that name.
func (d *Dir) Table(ctx context.Context, name string) (*Table, error) {
	entries, err := d.entries(ctx)
	if err != nil {
		return nil, err
	}
	entry, ok := entries[name]
	if !ok {
		return nil, unknown(name, entries)
	}
	return d.read(ctx, name, filepath.Join(d.dir, entry))
}

func unknown(name string, entries map[string]string) error {
	e := sqlerr.Newf(sqlerr.UnknownTable, sqlerr.Pos{}, "relation %q does not exist", name)
	names := make([]string, 0, len(entries))
	for n := range entries {
		names = append(names, n)
	}
	switch near := Near(name, names); {
	case near != "":
		return e.WithHint("did you mean %q?", near)
	case len(entries) == 0:
		return e.WithHint("there are no named tables; give a folder of them with --tables, or name a file: FROM 'file.parquet'")
	}
	return e.WithHint("a file is named in quotes: FROM 'file.parquet'")
}

// Path is the table of the files that pattern stands for.
func (d *Dir) Path(ctx context.Context, pattern string) (*Table, error) {
	name := path.Base(filepath.ToSlash(pattern))
	return d.read(ctx, strings.TrimSuffix(name, path.Ext(name)), pattern)
}

// Tables are the names in the folder.
func (d *Dir) Tables(ctx context.Context) ([]string, error) {
	entries, err := d.entries(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for n := range entries {
		names = append(names, n)
	}
	slices.Sort(names)
	return names, nil
}

// entries maps table names to the files and folders that hold them; a file goes before a folder of the same name.
func (d *Dir) entries(ctx context.Context) (map[string]string, error) {
	if d.dir == "" {
		return nil, nil
	}
	list, err := d.files.Entries(ctx, d.dir)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range list {
		if strings.HasPrefix(e, ".") || strings.HasPrefix(e, "_") {
			continue
		}
		if folder, ok := strings.CutSuffix(e, "/"); ok {
			if _, taken := out[folder]; !taken {
				out[folder] = folder
			}
		} else if name, ok := strings.CutSuffix(e, ".parquet"); ok && name != "" {
			out[name] = e
		}
	}
	return out, nil
}

func (d *Dir) read(ctx context.Context, name, pattern string) (*Table, error) {
	list, err := d.files.List(ctx, pattern)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file matches %q", pattern)
	}
	parts := make([]*File, len(list))
	for i, f := range list {
		if parts[i], err = d.open(ctx, f); err != nil {
			return nil, err
		}
	}
	return Merge(name, parts)
}

func (d *Dir) open(ctx context.Context, f physical.File) (*File, error) {
	d.mu.Lock()
	have := d.cache[f.Path]
	d.mu.Unlock()
	if have != nil && have.Files[0].Size == f.Size && have.Files[0].ModTime == f.ModTime {
		return have, nil
	}
	t, err := d.files.Open(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(t.Files) != 1 {
		return nil, errors.New("catalog: an opened file is a table of one file")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.cache) >= cacheLimit {
		clear(d.cache)
	}
	d.cache[f.Path] = t
	return t, nil
}
