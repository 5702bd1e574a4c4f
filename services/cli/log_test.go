package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

// logOf is a folder with the log of n queries, q0 to the last.
func logOf(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	w, err := eventlog.Create(dir, eventlog.Config{Writer: &eventlogv1.SegmentStarted{InstanceId: strings.Repeat("a", 32)}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		w.Append(fmt.Sprint("q", i), &eventlogv1.QueryStarted{Statement: "SELECT 1"})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The last events of a long log are given without keeping all of it.
func TestTailOfALongLog(t *testing.T) {
	const n = 20 * tailMost
	tail := tailer{dir: logOf(t, n), at: map[string]int64{}, take: func(l *eventlog.Line) bool { return len(l.Query) > 0 }}
	lines, err := tail.read(3)
	if err != nil || len(lines) != 3 || cap(lines) > 4*tailMost {
		t.Fatalf("%d lines in room for %d, %v", len(lines), cap(lines), err)
	}
	for i, l := range lines {
		if want := fmt.Sprintf(" q%d ", n-3+i); !strings.Contains(l.text, want) {
			t.Errorf("line %d is %s, not of %s", i, l.text, want)
		}
	}
	if more, err := tail.read(math.MaxInt); err != nil || len(more) != 0 {
		t.Errorf("what was read comes again: %v, %v", more, err)
	}
}

// full takes nothing, as a full disk.
type full struct{}

var errFull = errors.New("no space left on device")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Events that could not be printed are no success.
func TestCatOnAFullDisk(t *testing.T) {
	dir := logOf(t, 1)
	var said strings.Builder
	if code := Run(t.Context(), []string{"log", "cat", dir}, strings.NewReader(""), io.Discard, &said); code != 0 {
		t.Fatalf("code %d: %s", code, said.String())
	}
	if code := Run(t.Context(), []string{"log", "cat", dir}, strings.NewReader(""), full{}, &said); code == 0 {
		t.Error("code 0, and nothing was printed")
	}
}
