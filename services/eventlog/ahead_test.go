//go:build !nextlog

package eventlog

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// What a later release adds – kinds, fields, enum numbers – this one reads past; what a later schema version breaks it does not
// pretend to know.
func TestReadsTheNextRelease(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("go", "test", "-count=1", "-tags", "nextlog", "-run", "^TestWriteAsTheNextRelease$", ".")
	cmd.Env = append(os.Environ(), "FLETCH_NEXT_LOG="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]struct {
		states         map[string]State
		unknown, newer uint64
	}{
		"additions": {map[string]State{"q1": Finished, "q2": Finished, "q3": Crashed}, 3, 0},
		"break":     {map[string]State{"q1": Newer, "q2": Newer, "q3": Newer}, 0, 10},
	} {
		l, err := List(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		states := map[string]State{}
		totals, err := l.Instances[0].Walk(Visitor{
			Line: func(_ *Segment, l *Line) error {
				if l.Err != nil {
					if !errors.Is(l.Err, ErrNewer) || len(l.Kind) == 0 {
						t.Errorf("%s: %v", name, l.Err)
					}
					return nil
				}
				m, err := l.Decode()
				if end, ok := m.(*eventlogv1.QueryFinished); ok && string(l.Query) == "q1" && (end.GetStatus() != 9 || end.GetRows() != 3 || end.GetError().GetCode() != "new_code") {
					t.Errorf("%s: what is known of q1 is %v", name, end)
				}
				if err != nil && !errors.Is(err, ErrUnknownKind) {
					t.Errorf("%s: %v", name, err)
				}
				return nil
			},
			Query: func(id string, s State) error { states[id] = s; return nil },
			Fault: func(f Fault) { t.Errorf("%s: %v", name, &f) },
		})
		if err != nil || !maps.Equal(states, want.states) || totals.Unknown != want.unknown || totals.Newer != want.newer {
			t.Errorf("%s: %v, %+v, %v; want %+v", name, states, totals, err, want)
		}
	}
}
