package worker

import (
	"context"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
)

// opener opens the files of scans, within the read roots.
type opener struct {
	roots   *files.Roots
	scanner *engine.Scanner
}

func newOpener(dirs []string) (opener, error) {
	roots, err := files.OpenRoots(dirs...)
	if err != nil {
		return opener{}, err
	}
	return opener{roots, engine.NewScanner(roots)}, nil
}

func (o opener) scan(ctx context.Context, scan *physical.Scan, env *exec.Env) (exec.Source, error) {
	return o.scanner.Open(ctx, scan, env)
}

func (o opener) Close() error { return o.roots.Close() }
