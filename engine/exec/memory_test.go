package exec_test

import (
	"context"
	"errors"
	"testing"

	"github.com/fletchdb/fletch/engine/batchtest"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// runLimited runs a plan whose scans all read in, with limit bytes, and checks that none stays reserved.
func runLimited(t *testing.T, root physical.Node, in batchtest.Table, limit int64) error {
	t.Helper()
	mem := budget.New(limit)
	err := exec.Run(t.Context(), root, &exec.Env{
		Threads: 2, Budget: mem,
		OpenScan: func(context.Context, *physical.Scan) (exec.Source, error) {
			return batchtest.NewSource(in, batchtest.Shape{Rows: 1024}), nil
		},
	}, &batchtest.Collect{})
	if mem.Used() != 0 {
		t.Errorf("%d bytes stay reserved", mem.Used())
	}
	return err
}

func asError(err error, e **sqlerr.Error) bool { return errors.As(err, e) }
