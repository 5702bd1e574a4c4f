// Package parquet reads Parquet files into vectors: the footer for whoever plans, and the pages for whoever runs, kept as
// dictionary codes where the file has them and decoded only where rows are left. It trusts no byte of a file.
// It must never know SQL text, how a plan came about, or where files lie (package files does).
package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A File is what the footer of a Parquet file says. It is immutable and holds no file open.
type File struct {
	files.Info
	FooterHash uint64 // xxHash64, seed 0, of the footer's bytes: from the file metadata's first to the last before its length
	CreatedBy  string // the writer, as it calls itself
	Rows       int64
	Columns    []Column // the top-level columns
	RowGroups  []RowGroup

	end  int64 // where the footer begins: no page is behind
	meta fileMeta
}

// A Column is a top-level column of a file.
type Column struct {
	Name     string
	Type     sqltype.Type
	Nullable bool

	problem string // why it cannot be read; empty: it can
	leaf    int    // the first of its leaves
	leaves  int
	element schemaElement // of a column that can be read
}

// Check is nil for a column that can be read. Else it is an Unsupported error at pos that names the column: a file may have
// such columns, but no query may use them.
func (c *Column) Check(pos sqlerr.Pos) error {
	if c.problem == "" {
		return nil
	}
	return sqlerr.Newf(sqlerr.Unsupported, pos, "column %q cannot be read: %s", c.Name, c.problem).
		WithHint("leave it out: name the other columns, or SELECT * EXCLUDE (%s)", c.Name)
}

// A RowGroup is a run of a file's rows. Columns is in the order of the file's.
type RowGroup struct {
	Rows    int64
	Columns []Chunk
}

// A Chunk is what the footer says of the values that one column has in one row group.
type Chunk struct {
	Compressed   int64 // bytes in the file, all leaves of a nested column together
	Uncompressed int64
	Stats        Stats
}

// Open reads the footer of the file of a path that in.Abs gave. Errors are *sqlerr.Error: what files.FS.Open gives,
// FileCorrupt for what is no Parquet file, Unsupported for one that is encrypted.
func Open(ctx context.Context, in files.FS, path string) (*File, error) {
	f, err := in.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	file, err := readFooter(ctx, f, f.Info())
	return file, errors.Join(err, f.Close())
}

// A Cache keeps the footers of files by path, size and modification time, so that a query over files that have been
// seen reads none. Methods may be called from any goroutine; a nil Cache keeps nothing.
type Cache struct {
	limit int64

	mu    sync.Mutex
	used  int64
	files map[string]*File
}

// NewCache is a cache of footers of at most limit bytes in all, as they are in their files; 0 is 64 MiB.
func NewCache(limit int64) *Cache {
	if limit == 0 {
		limit = 64 << 20
	}
	return &Cache{limit: limit, files: map[string]*File{}}
}

// Open is the function Open, but reads nothing where the cache has the footer of the very file.
func (c *Cache) Open(ctx context.Context, in files.FS, path string) (*File, error) {
	if c == nil {
		return Open(ctx, in, path)
	}
	info, dir, err := in.Stat(ctx, path)
	if err == nil && !dir {
		c.mu.Lock()
		f := c.files[path]
		c.mu.Unlock()
		if f != nil && f.Info == info {
			return f, nil
		}
	}
	f, err := Open(ctx, in, path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.files[path]; old != nil {
		c.used -= old.footerSize()
	}
	c.files[path] = f
	c.used += f.footerSize()
	for p, old := range c.files { // any other: what is asked for again costs one read
		if c.used <= c.limit {
			break
		}
		if p != path {
			delete(c.files, p)
			c.used -= old.footerSize()
		}
	}
	return f, nil
}

func (f *File) footerSize() int64 { return f.Size - f.end }

const (
	magic          = "PAR1"
	magicEncrypted = "PARE"
	tailSize       = 8         // length of the footer and magic
	firstRead      = 64 << 10  // of the file's end: most footers are in it
	maxFooter      = 256 << 20 // bytes
)

func readFooter(ctx context.Context, r io.ReaderAt, info files.Info) (*File, error) {
	bad := func(format string, args ...any) error {
		return corrupt(info.Path, fmt.Sprintf(format, args...))
	}
	if info.Size == 0 {
		return nil, bad("it is empty")
	}
	if info.Size < int64(len(magic))+tailSize {
		return nil, bad("%d bytes are too few for a Parquet file", info.Size)
	}
	buf := make([]byte, min(info.Size, firstRead))
	if err := readAt(ctx, r, buf, info.Size-int64(len(buf)), info.Path); err != nil {
		return nil, err
	}
	tail := buf[len(buf)-tailSize:]
	switch string(tail[4:]) {
	case magic:
	case magicEncrypted:
		return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "cannot read %q: its footer is encrypted", info.Path)
	default:
		return nil, bad("it does not end as a Parquet file does")
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > info.Size-tailSize-int64(len(magic)) || n > maxFooter {
		return nil, bad("its footer would have %d bytes, the file has %d", n, info.Size)
	}
	if n+tailSize > int64(len(buf)) {
		buf = make([]byte, n+tailSize)
		if err := readAt(ctx, r, buf, info.Size-int64(len(buf)), info.Path); err != nil {
			return nil, err
		}
	}
	footer := buf[int64(len(buf))-tailSize-n : len(buf)-tailSize]
	d := thrift{b: footer}
	f := &File{Info: info, FooterHash: xxhash.Sum64(footer), end: info.Size - tailSize - n, meta: d.fileMeta()}
	if d.bad != "" {
		return nil, bad("its footer cannot be read: %s", d.bad)
	}
	if f.meta.encrypted {
		return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "cannot read %q: it is encrypted", info.Path)
	}
	if problem := f.resolve(); problem != "" {
		return nil, bad("its footer makes no sense: %s", problem)
	}
	return f, nil
}

// readAt fills buf from offset at, after a look at ctx.
func readAt(ctx context.Context, r io.ReaderAt, buf []byte, at int64, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n, err := r.ReadAt(buf, at)
	if n == len(buf) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return corrupt(path, fmt.Sprintf("it ends at byte %d, in the middle of what it says it has", at+int64(n)))
	}
	return sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot read %q at byte %d: %w", path, at+int64(n), err)
}

func corrupt(path, what string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.FileCorrupt, sqlerr.Pos{}, "cannot read %q: %s", path, what).
		WithHint("check that it is a Parquet file and was written to its end")
}

// resolve makes the columns and row groups out of what the file says, and tells what about it cannot be.
func (f *File) resolve() (problem string) {
	m := &f.meta
	leaves, problem := f.resolveColumns()
	if problem != "" {
		return problem
	}
	f.CreatedBy, f.Rows = m.createdBy, m.rows
	var rows int64
	f.RowGroups = make([]RowGroup, len(m.rowGroups))
	for i := range m.rowGroups {
		g := &m.rowGroups[i]
		if len(g.chunks) != leaves {
			return fmt.Sprintf("row group %d has %d column chunks, the schema %d leaves", i, len(g.chunks), leaves)
		}
		if g.rows < 0 || rows+g.rows < rows {
			return fmt.Sprintf("row group %d has %d rows", i, g.rows)
		}
		rows += g.rows
		f.RowGroups[i] = RowGroup{Rows: g.rows, Columns: make([]Chunk, len(f.Columns))}
		for j := range f.Columns {
			col, chunk := &f.Columns[j], &f.RowGroups[i].Columns[j]
			chunk.Stats = Stats{NullCount: -1, DistinctCount: -1}
			for k := col.leaf; k < col.leaf+col.leaves; k++ {
				c := &g.chunks[k]
				if c.compressed < 0 || c.compressed > f.end || c.uncompressed < 0 {
					return fmt.Sprintf("column %q of row group %d has %d bytes", col.Name, i, c.compressed)
				}
				chunk.Compressed += c.compressed
				chunk.Uncompressed += c.uncompressed
			}
			if col.problem == "" {
				c := &g.chunks[col.leaf]
				if c.typ != col.element.typ {
					return fmt.Sprintf("column %q of row group %d is %v, the schema says %v", col.Name, i, c.typ, col.element.typ)
				}
				chunk.Stats = col.stats(c, g.rows, m.orders)
			}
		}
	}
	if rows != m.rows {
		return fmt.Sprintf("it says %d rows, its row groups have %d", m.rows, rows)
	}
	return ""
}
