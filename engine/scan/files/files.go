// Package files finds and opens the files that a statement names: a path, a directory or a glob, in a place of which it
// may see all or only some roots. It knows names, sizes and times; it must never know what is inside a file.
package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// An Info says which file a file is. Two files of equal Info are taken to have equal bytes.
type Info struct {
	Path    string // absolute and clean
	Size    int64  // bytes
	ModTime int64  // nanoseconds since 1970 UTC
}

// A File is open for reading at any offset, by any number of goroutines at once. Info is what it was when it was opened.
type File interface {
	io.ReaderAt
	io.Closer
	Info() Info
}

// An Entry is a name in a directory.
type Entry struct {
	Name    string
	Dir     bool
	Symlink bool // Dir is false then, whatever it points to
}

// A FS is a tree of files. Paths are those that Abs gave. Errors are *sqlerr.Error: FileNotFound, FileDenied, IO, or
// Unsupported for what is no local file; they quote the path. Methods may be called from any goroutine.
type FS interface {
	// Abs makes a path of a statement absolute and clean; it looks at nothing.
	Abs(path string) (string, error)
	// Stat looks at a file or a directory, through symbolic links. dir tells which; the Size of a directory means nothing.
	Stat(ctx context.Context, path string) (info Info, dir bool, err error)
	// Open opens a regular file.
	Open(ctx context.Context, path string) (File, error)
	// ReadDir is the entries of a directory, by name.
	ReadDir(ctx context.Context, path string) ([]Entry, error)
}

// A place is one tree that os can open names in: the whole file system or a root.
type place interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (*os.File, error)
}

type everywhere struct{}

func (everywhere) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (everywhere) Open(name string) (*os.File, error)    { return os.Open(name) }

// Unrestricted is all files that the process may read: for an embedded engine, whose user could open them anyway.
func Unrestricted() FS { return unrestricted{} }

type unrestricted struct{}

func (unrestricted) Abs(path string) (string, error) { return abs(path) }

func (unrestricted) Stat(ctx context.Context, path string) (Info, bool, error) {
	return stat(ctx, everywhere{}, path, path)
}

func (unrestricted) Open(ctx context.Context, path string) (File, error) {
	return open(ctx, everywhere{}, path, path)
}

func (unrestricted) ReadDir(ctx context.Context, path string) ([]Entry, error) {
	return readDir(ctx, everywhere{}, path, path)
}

// Roots is the files below some directories. What lies elsewhere, and what a symbolic link would lead to outside of its
// root, is refused with FileDenied. It holds the directories open until Close.
type Roots struct{ roots []root }

type root struct {
	names []string // absolute: as given, and with its symbolic links resolved
	dir   *os.Root
}

// OpenRoots opens directories as roots; paths are relative to the working directory. No root at all is no file at all.
func OpenRoots(paths ...string) (*Roots, error) {
	r := &Roots{}
	for _, p := range paths {
		name, err := filepath.Abs(p)
		if err != nil {
			return nil, errors.Join(sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot resolve read root %q: %w", p, err), r.Close())
		}
		dir, err := os.OpenRoot(name)
		if err != nil {
			return nil, errors.Join(failed("open read root", name, err), r.Close())
		}
		names := []string{name}
		if real, err := filepath.EvalSymlinks(name); err == nil && real != name {
			names = append(names, real)
		}
		r.roots = append(r.roots, root{names: names, dir: dir})
	}
	return r, nil
}

// Close closes the roots. Files that were opened stay open.
func (r *Roots) Close() error {
	var errs []error
	for _, root := range r.roots {
		errs = append(errs, root.dir.Close())
	}
	r.roots = nil
	return errors.Join(errs...)
}

// find is the root that path lies in – the innermost, where roots lie in each other – and path's name there.
func (r *Roots) find(path string) (*os.Root, string, error) {
	var dir *os.Root
	rel, longest := "", -1
	for _, root := range r.roots {
		for _, name := range root.names {
			if rest, ok := below(name, path); ok && len(name) > longest {
				dir, rel, longest = root.dir, rest, len(name)
			}
		}
	}
	if dir == nil {
		return nil, "", denied(path, "it is outside of every read root")
	}
	return dir, rel, nil
}

func below(dir, path string) (rest string, ok bool) {
	if path == dir {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	return strings.CutPrefix(path, dir)
}

// Abs is filepath.Abs.
func (r *Roots) Abs(path string) (string, error) { return abs(path) }

// Stat looks at a file or a directory of a root.
func (r *Roots) Stat(ctx context.Context, path string) (Info, bool, error) {
	dir, rel, err := r.find(path)
	if err != nil {
		return Info{}, false, err
	}
	return stat(ctx, dir, rel, path)
}

// Open opens a file of a root.
func (r *Roots) Open(ctx context.Context, path string) (File, error) {
	dir, rel, err := r.find(path)
	if err != nil {
		return nil, err
	}
	return open(ctx, dir, rel, path)
}

// ReadDir lists a directory of a root.
func (r *Roots) ReadDir(ctx context.Context, path string) ([]Entry, error) {
	dir, rel, err := r.find(path)
	if err != nil {
		return nil, err
	}
	return readDir(ctx, dir, rel, path)
}

func abs(path string) (string, error) {
	if scheme, _, ok := strings.Cut(path, "://"); ok {
		return "", sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "cannot read %q: there is no reader for %s://", path, scheme).
			WithHint("copy the file to where the engine runs, and name it by its path")
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return "", sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "%q is no file name", path)
	}
	p, err := filepath.Abs(path)
	if err != nil {
		return "", sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot resolve %q: %w", path, err)
	}
	return p, nil
}

func stat(ctx context.Context, in place, name, path string) (Info, bool, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, false, err
	}
	fi, err := in.Stat(name)
	if err != nil {
		return Info{}, false, failed("look at", path, err)
	}
	return infoOf(path, fi), fi.IsDir(), nil
}

func infoOf(path string, fi fs.FileInfo) Info {
	return Info{Path: path, Size: fi.Size(), ModTime: fi.ModTime().UnixNano()}
}

type osFile struct {
	*os.File
	info Info
}

func (f *osFile) Info() Info { return f.info }

func open(ctx context.Context, in place, name, path string) (File, error) {
	// Looked at before it is opened, since opening a pipe waits for its writer; and after, since it may have been replaced.
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fi, err := in.Stat(name)
	if err == nil && !fi.Mode().IsRegular() {
		return nil, irregular(path, fi)
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	f, err := in.Open(name)
	if err != nil {
		return nil, failed("open", path, err)
	}
	fi, err = f.Stat()
	if err == nil && fi.Mode().IsRegular() {
		return &osFile{File: f, info: infoOf(path, fi)}, nil
	}
	if err != nil {
		return nil, errors.Join(failed("look at", path, err), f.Close())
	}
	return nil, errors.Join(irregular(path, fi), f.Close())
}

func irregular(path string, fi fs.FileInfo) error {
	what := "is no regular file"
	if fi.IsDir() {
		what = "is a directory"
	}
	return sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "%q %s", path, what)
}

func readDir(ctx context.Context, in place, name, path string) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := in.Open(name)
	if err != nil {
		return nil, failed("open", path, err)
	}
	list, err := d.ReadDir(-1)
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, failed("list", path, err)
	}
	entries := make([]Entry, len(list))
	for i, e := range list {
		entries[i] = Entry{Name: e.Name(), Dir: e.IsDir(), Symlink: e.Type()&fs.ModeSymlink != 0}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// failed is the user's error for what the operating system said.
func failed(doing, path string, err error) *sqlerr.Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file %q", path)
		e.Err = err
		return e
	case errors.Is(err, fs.ErrPermission):
		e := sqlerr.Newf(sqlerr.FileDenied, sqlerr.Pos{}, "cannot %s %q: permission denied", doing, path)
		e.Err = err
		return e.WithHint("let the user that the engine runs as read it")
	case escapes(err):
		return denied(path, "a symbolic link leads out of its read root")
	}
	var pe *fs.PathError // whose path is the root's name for it, which the user never wrote
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot %s %q: %w", doing, path, err)
}

// escapes tells whether err is os.Root's refusal, which has no exported value.
func escapes(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "escapes from parent")
}

func denied(path, why string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.FileDenied, sqlerr.Pos{}, "may not read %q: %s", path, why).
		WithHint("start with --read-root %s, or move the file below a read root", filepath.Dir(path))
}
