package eventlog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// saw is what the client of a query saw, as a fixture's queries.json has it.
type saw struct {
	Statement, State, Status, Code string
	Rows                           uint64
}

// fixtures are the logs that releases wrote, by folder.
func fixtures(t *testing.T) map[string]map[string]saw {
	t.Helper()
	dirs, err := filepath.Glob("testdata/v*/*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no fixture", err)
	}
	out := map[string]map[string]saw{}
	for _, dir := range dirs {
		b, err := os.ReadFile(filepath.Join(dir, "queries.json"))
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Queries map[string]saw }
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		out[dir] = f.Queries
	}
	return out
}

// inMemory is a log with its segments' bytes, whose writers are gone.
func inMemory(t *testing.T, dir string) []Instance {
	t.Helper()
	l, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Instances {
		for j := range l.Instances[i].Segments {
			s := &l.Instances[i].Segments[j]
			if s.content, err = os.ReadFile(s.Path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l.Instances
}

// A known is what a reader knows of a query.
type known struct {
	state    State
	started  *eventlogv1.QueryStarted
	finished *eventlogv1.QueryFinished
}

// know reads an instance, and every payload where deep is set.
func know(i Instance, deep bool) (queries map[string]*known, faults []Fault, ended bool, kinds map[string]bool, err error) {
	queries, kinds = map[string]*known{}, map[string]bool{}
	of := func(id []byte) *known {
		q := queries[string(id)]
		if q == nil {
			q = &known{}
			queries[string(id)] = q
		}
		return q
	}
	_, err = i.Walk(Visitor{
		Line: func(_ *Segment, l *Line) error {
			if len(l.Kind) == 0 {
				return nil // damaged
			}
			ended = string(l.Kind) == KindSegmentEnded
			q := &known{}
			if len(l.Query) > 0 {
				q = of(l.Query)
			}
			if !deep {
				return nil
			}
			m, err := l.Decode()
			if err != nil {
				return err
			}
			kinds[string(l.Kind)] = true
			switch m := m.(type) {
			case *eventlogv1.QueryStarted:
				q.started = m
			case *eventlogv1.QueryFinished:
				q.finished = m
			}
			return nil
		},
		Query: func(id string, s State) error {
			q := of([]byte(id))
			if q.state != "" {
				return errors.New(id + " has two states")
			}
			q.state = s
			return nil
		},
		Fault: func(f Fault) { faults = append(faults, f) },
	})
	return queries, faults, ended, kinds, err
}

// This build reads what every release wrote, and finds in it what clients saw.
func TestFixtures(t *testing.T) {
	for dir, clients := range fixtures(t) {
		all := map[string]bool{}
		found := 0
		for _, i := range inMemory(t, dir) {
			queries, faults, _, kinds, err := know(i, true)
			if err != nil || len(faults) > 0 {
				t.Fatal(dir, err, faults)
			}
			for k := range kinds {
				all[k] = true
			}
			for id, q := range queries {
				c, ok := clients[id]
				if !ok {
					t.Errorf("%s: no client saw %s", dir, id)
					continue
				}
				found++
				status := strings.ToLower(strings.TrimPrefix(q.finished.GetStatus().String(), "STATUS_"))
				if q.finished == nil {
					status = ""
				}
				if string(q.state) != c.State || q.started.GetStatement() != c.Statement || status != c.Status || q.finished.GetError().GetCode() != c.Code || q.finished.GetRows() != c.Rows {
					t.Errorf("%s: %s is %s %s %v, its client saw %+v", dir, id, q.state, q.started, q.finished, c)
				}
			}
		}
		if found != len(clients) {
			t.Errorf("%s: %d queries, clients saw %d", dir, found, len(clients))
		}
		if !strings.HasPrefix(dir, "testdata/v1/") {
			continue // a later version's kinds are its own fixture's matter
		}
		for _, m := range everyKind() {
			if !all[KindOf(m)] {
				t.Errorf("%s has no %s", dir, KindOf(m))
			}
		}
	}
}

// Every fixture cut at every byte, and with every byte flipped: what a reader says of a query is true, or it says that it does not know.
func TestFixturesCutAndFlipped(t *testing.T) {
	for dir := range fixtures(t) {
		for _, i := range inMemory(t, dir) {
			truth, _, ended, _, err := know(i, true)
			if err != nil {
				t.Fatal(err)
			}
			mutate(t, i, truth, ended)
		}
	}
}

// mutate tries every mutation of every segment, on all processors.
func mutate(t *testing.T, i Instance, truth map[string]*known, ended bool) {
	type job struct{ segment, at int }
	jobs := make(chan job, 1024)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				if t.Failed() {
					continue
				}
				c := copyOf(i)
				c.Segments[j.segment].content = i.Segments[j.segment].content[:j.at]
				judge(t, c, truth, ended, j.segment, j.at, false)
				flipped := append([]byte{}, i.Segments[j.segment].content...)
				flipped[j.at] ^= 1 << (j.at % 8)
				c.Segments[j.segment].content = flipped
				judge(t, c, truth, ended, j.segment, j.at, true)
			}
		})
	}
	for s := range i.Segments {
		for at := range i.Segments[s].content {
			jobs <- job{s, at}
		}
	}
	close(jobs)
	wg.Wait()
}

func copyOf(i Instance) Instance {
	return Instance{ID: i.ID, Segments: append([]Segment{}, i.Segments...)}
}

// judge reads a damaged instance. Where a query's state is not the true one, it is one that says that its end may be missing.
func judge(t *testing.T, i Instance, truth map[string]*known, ended bool, segment, at int, flip bool) {
	got, faults, stillEnded, _, err := know(i, false)
	if err != nil {
		t.Errorf("segment %d, byte %d, flip %v: %v", segment, at, flip, err)
		return
	}
	seen := len(faults) > 0
	if !flip && segment == len(i.Segments)-1 && ended && !stillEnded {
		seen = true // cut at a line's end: what is left is what a crash leaves
	}
	whole := !flip && segment == len(i.Segments)-1 && !ended && (at == 0 || i.Segments[segment].content[at-1] == '\n')
	if !seen && !whole {
		t.Errorf("segment %d, byte %d, flip %v: nothing is wrong, it says", segment, at, flip)
	}
	for id, q := range got {
		was := truth[id]
		switch {
		case was == nil:
			t.Errorf("segment %d, byte %d, flip %v: there is no query %q", segment, at, flip, id)
		case q.state == was.state:
		case q.state == Crashed && !flip && segment == len(i.Segments)-1: // its end is behind the cut
		case q.state == Torn || q.state == Corrupt:
		default:
			t.Errorf("segment %d, byte %d, flip %v: %s is %s, and was %s", segment, at, flip, id, q.state, was.state)
		}
	}
	for id, was := range truth {
		if got[id] == nil && was.state == Finished && flip {
			t.Errorf("segment %d, byte %d: %s is gone", segment, at, id)
		}
	}
}

// No byte of a line can be another without its checksum telling.
func TestEveryFlipOfALineIsSeen(t *testing.T) {
	data, err := encode(&eventlogv1.QueryFinished{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	line := appendLine(nil, version, KindQueryFinished, timeOf([]byte("2026-01-02T03:04:05.000000Z")), 7, "q1", data)
	for i := range len(line) - 1 {
		for bit := range 8 {
			bad := append([]byte{}, line[:len(line)-1]...)
			bad[i] ^= 1 << bit
			if _, err := ParseLine(bad); !errors.Is(err, ErrCorrupt) {
				t.Errorf("byte %d, bit %d: %v", i, bit, err)
			}
		}
	}
}
