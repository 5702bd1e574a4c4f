package worker

import (
	"context"
	"strings"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// opener opens the files of scans, within the read roots.
type opener struct {
	roots   *files.Roots
	scanner *engine.Scanner
}

// newOpener opens the folders that may be read. view, which may be nil, is how they are looked at.
func newOpener(dirs []string, view func(files.FS) files.FS) (opener, error) {
	roots, err := files.OpenRoots(dirs...)
	if err != nil {
		return opener{}, err
	}
	fs := files.FS(roots)
	if view != nil {
		fs = view(fs)
	}
	return opener{roots, engine.NewScanner(fs)}, nil
}

func (o opener) scan(ctx context.Context, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	return o.scanner.Open(ctx, scan, env)
}

func (o opener) Close() error { return o.roots.Close() }

// fileError is what is wrong with a file, told by the worker that met it: to others the file may be right.
func (w *Worker) fileError(e *sqlerr.Error) *sqlerr.Error {
	if strings.HasPrefix(e.Message, "worker ") { // another worker's
		return e
	}
	c := *e
	switch e.Code {
	case sqlerr.FileChanged:
		c.Message = e.Message + ", or this worker sees another file there than the coordinator"
		c.Hint = "write new data to new files; every worker needs the same files at the same paths, below a --read-root of its own"
	case sqlerr.FileNotFound:
		c.Hint = "the coordinator sees it: every worker needs the same files at the same paths, below a --read-root of its own"
	case sqlerr.FileDenied, sqlerr.FileCorrupt, sqlerr.IO:
	default:
		return e
	}
	c.Message = "worker " + w.URL() + ": " + c.Message
	return &c
}
