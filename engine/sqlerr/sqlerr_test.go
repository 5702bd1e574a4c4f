package sqlerr_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// Whoever reads rows takes io.EOF for the end of a whole result: no error of ours may be taken for one.
func TestAnErrorIsNoEnd(t *testing.T) {
	for _, cause := range []error{io.EOF, fmt.Errorf("read: %w", io.EOF)} {
		err := fmt.Errorf("rows: %w", sqlerr.Newf(sqlerr.IO, sqlerr.Pos{}, "cannot read: %w", cause))
		if errors.Is(err, io.EOF) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%v is taken for the end of the rows", err)
		}
	}
	if err := sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file: %w", fs.ErrNotExist); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v hides its cause", err)
	}
}
