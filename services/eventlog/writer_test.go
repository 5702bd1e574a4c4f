package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func writerOn(t *testing.T, dir string, cfg Config) *Writer {
	t.Helper()
	cfg.Writer = &eventlogv1.SegmentStarted{Release: "v9.9.9", Build: "go:test", Protocol: 2, Api: "1.1", InstanceId: strings.Repeat("a", 32)}
	cfg.Logger = quiet
	w, err := Create(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A view is all that a reader makes of a log.
type view struct {
	states map[string]State
	counts map[State]int
	faults []error
	kinds  map[string]int
	totals Totals
}

func read(t testing.TB, dir string) view {
	t.Helper()
	v := view{states: map[string]State{}, counts: map[State]int{}, kinds: map[string]int{}}
	l, err := List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range l.Instances {
		totals, err := i.Walk(Visitor{
			Line:  func(_ *Segment, l *Line) error { v.kinds[string(l.Kind)]++; return nil },
			Query: func(id string, s State) error { v.states[id] = s; v.counts[s]++; return nil },
			Fault: func(f Fault) { v.faults = append(v.faults, &f) },
		})
		if err != nil {
			t.Fatal(err)
		}
		v.totals.Lines += totals.Lines
		v.totals.Lost += totals.Lost
		v.totals.Segments += totals.Segments
	}
	return v
}

func (v view) want(t *testing.T, want map[State]int) {
	t.Helper()
	if !maps.Equal(v.counts, want) {
		t.Errorf("states %v, want %v; faults %v", v.counts, want, v.faults)
	}
}

func started(id string) *eventlogv1.QueryStarted {
	return &eventlogv1.QueryStarted{Statement: "SELECT '" + id + "'"}
}

var succeeded = &eventlogv1.QueryFinished{Status: eventlogv1.Status_STATUS_SUCCEEDED}

func TestWrittenAndRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "log")
	w := writerOn(t, dir, Config{})
	w.Append("q1", started("q1"))
	w.Append("q2", started("q2"))
	if !w.Commit("q1", succeeded) {
		t.Error("not committed")
	}
	read(t, dir).want(t, map[State]int{Finished: 1, Running: 1})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v := read(t, dir)
	v.want(t, map[State]int{Finished: 1, Crashed: 1})
	if len(v.faults) > 0 || v.kinds[KindSegmentStarted] != 1 || v.kinds[KindSegmentEnded] != 1 {
		t.Errorf("faults %v, kinds %v", v.faults, v.kinds)
	}
}

// Each kind of event comes back as it was written.
func TestEveryKindRoundTrips(t *testing.T) {
	for _, m := range everyKind() {
		data, err := encode(m)
		if err != nil {
			t.Fatal(err)
		}
		line := appendLine(nil, version, KindOf(m), time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC), 7, "q1", data)
		if strings.ContainsAny(string(line[:len(line)-1]), "\n") {
			t.Errorf("%s is on more than one line", KindOf(m))
		}
		e, err := ParseLine(line[:len(line)-1])
		if err != nil {
			t.Fatal(err)
		}
		if e.Version != version || string(e.Query) != "q1" || e.Seq != 7 || e.Time() != time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) || !knownKind(e.Kind) {
			t.Errorf("envelope %+v", e)
		}
		var want bytes.Buffer
		if plain, err := (protojson.MarshalOptions{UseEnumNumbers: true}).Marshal(m); err != nil || json.Compact(&want, plain) != nil {
			t.Fatal(err)
		}
		// Of equal meaning and nearly equal bytes: protojson has short forms for some control characters.
		if !strings.Contains(string(data), `\u00`) && string(data) != want.String() {
			t.Errorf("%s is written as\n%s, protojson's is\n%s", KindOf(m), data, want.String())
		}
		back, err := e.Decode()
		if err != nil || !proto.Equal(back, m) {
			t.Errorf("%s came back as %v, %v; want %v", KindOf(m), back, err, m)
		}
	}
}

func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		w := writerOn(t, "", Config{files: d})
		defer func() { _ = w.Close() }()
		w.Append("q1", started("q1"))
		if !w.Commit("q1", succeeded) {
			t.Fatal("not committed")
		}
		w.Append("q2", started("q2"))
		w.Append("q3", started("q3"))
		<-time.After(time.Second) // of the bubble: they are written
		d.mu.Lock()
		d.full, d.room = true, 200
		d.mu.Unlock()
		if w.Commit("q2", &eventlogv1.QueryFinished{Error: &eventlogv1.Error{Message: strings.Repeat("x", 500)}}) {
			t.Error("committed on a full disk")
		}
		for i := range 1000 {
			w.Append(fmt.Sprint("x", i), started("x"))
		}
		if w.Commit("q4", succeeded) {
			t.Error("committed while stopped")
		}
		// q2 has ended and q3 runs, which nobody can know from the disk.
		read(t, d.now(t)).want(t, map[State]int{Finished: 1, Lost: 2})
		<-time.After(15 * time.Second)
		d.mu.Lock()
		d.full = false
		d.mu.Unlock()
		<-time.After(15 * time.Second)
		if !w.Commit("q3", succeeded) {
			t.Error("not committed after the disk had room again")
		}
		v := read(t, d.now(t))
		v.want(t, map[State]int{Finished: 2, Lost: 1})
		if v.totals.Lost != 1002 || len(v.faults) > 0 {
			t.Errorf("%d events lost, want 1002; faults %v", v.totals.Lost, v.faults)
		}
	})
}

// What a sync failed for is lost as a whole: the segment ends as if it had not been written, and the log goes on without it.
func TestFailingSyncIsNoCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		fails := func(err error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.fails = err
		}
		w := writerOn(t, "", Config{files: d})
		w.Append("q1", started("q1"))
		<-time.After(time.Second) // of the bubble: it is written
		fails(errors.New("input/output error"))
		if w.Commit("q1", succeeded) {
			t.Error("committed although the disk did not take it")
		}
		fails(nil)
		<-time.After(15 * time.Second)
		if !w.Commit("q2", succeeded) {
			t.Error("not committed after the disk worked again")
		}
		_ = w.Close()
		v := read(t, d.now(t))
		if v.totals.Lost != 1 || len(v.faults) > 0 || v.states["q1"] != Lost {
			t.Errorf("%d events lost, want 1; q1 is %q; faults %v", v.totals.Lost, v.states["q1"], v.faults)
		}
	})
}

// One sync serves all who wait for it.
func TestGroupCommit(t *testing.T) {
	d := newDisk()
	w := writerOn(t, "", Config{files: d})
	d.mu.Lock()
	d.held = make(chan struct{})
	held := d.held
	d.mu.Unlock()
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if !w.Commit(fmt.Sprint("q", i), succeeded) {
				t.Error("not committed")
			}
		})
	}
	close(held)
	wg.Wait()
	_ = w.Close()
	read(t, d.now(t)).want(t, map[State]int{Finished: 50})
}

// A power loss at any moment takes nothing that Commit had said is there.
func TestPowerLoss(t *testing.T) {
	for round := range 20 {
		d := newDisk()
		w := writerOn(t, "", Config{files: d, SegmentSize: 8 << 10, Size: 1 << 40})
		var (
			mu   sync.Mutex
			seen = map[string]bool{}
			wg   sync.WaitGroup
		)
		stop := make(chan struct{})
		for c := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					id := fmt.Sprintf("q%d_%d", c, i)
					w.Append(id, started(id))
					if w.Commit(id, succeeded) {
						mu.Lock()
						seen[id] = true
						mu.Unlock()
					}
				}
			})
		}
		for { // until some are done: then the power goes in the middle of the others
			mu.Lock()
			n := len(seen)
			mu.Unlock()
			if n > 50*round {
				break
			}
		}
		mu.Lock()
		told := maps.Clone(seen)
		mu.Unlock()
		dir := d.powerLoss(t, round*7)
		close(stop)
		wg.Wait()
		_ = w.Close()
		v := read(t, dir)
		for id := range told {
			if v.states[id] != Finished {
				t.Errorf("a client saw %s finished; the log says %q", id, v.states[id])
			}
		}
		for id, s := range v.states {
			if s != Finished && s != Crashed && s != Torn {
				t.Errorf("%s is %s; faults %v", id, s, v.faults)
			}
		}
	}
}

func TestRotationAndLimits(t *testing.T) {
	dir := t.TempDir()
	w := writerOn(t, dir, Config{SegmentSize: 2000, Size: 10_000})
	w.Append("long", started("long"))
	for i := range 200 {
		id := fmt.Sprint("q", i)
		w.Append(id, started(id))
		if !w.Commit(id, succeeded) {
			t.Fatal("not committed")
		}
	}
	if !w.Commit("long", succeeded) {
		t.Fatal("not committed")
	}
	_ = w.Close()
	l, err := List(dir)
	if err != nil || len(l.Instances) != 1 {
		t.Fatal(l, err)
	}
	total := int64(0)
	for _, s := range l.Instances[0].Segments {
		total += s.Size
	}
	if n := len(l.Instances[0].Segments); n < 3 || total > 10_000 || l.Instances[0].Segments[0].Number == 1 {
		t.Errorf("%d segments of %d bytes together", n, total)
	}
	v := read(t, dir)
	if v.states["long"] != Finished || len(v.faults) > 0 || v.counts[Finished] < 20 {
		t.Errorf("%v, faults %v", v.counts, v.faults)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Two coordinators in one folder are two logs, and neither deletes what is the other's.
func TestTwoInstancesInOneFolder(t *testing.T) {
	dir := t.TempDir()
	var ws []*Writer
	for _, id := range []string{"a", "b"} {
		w, err := Create(dir, Config{Logger: quiet, SegmentSize: 1000, Size: 3000, Writer: &eventlogv1.SegmentStarted{InstanceId: strings.Repeat(id, 32)}})
		if err != nil {
			t.Fatal(err)
		}
		ws = append(ws, w)
	}
	ws[0].Append("qa", started("qa"))
	for i := range 100 {
		ws[1].Commit(fmt.Sprint("qb", i), succeeded)
	}
	_ = ws[1].Close()
	v := read(t, dir)
	if v.states["qa"] != Running || len(v.faults) > 0 {
		t.Errorf("%v, faults %v", v.states, v.faults)
	}
	_ = ws[0].Close()
}

func TestFoldersThatAreNoLog(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "passwd"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, Config{Writer: &eventlogv1.SegmentStarted{InstanceId: strings.Repeat("a", 32)}}); !errors.Is(err, ErrNoLog) {
		t.Errorf("took a folder of something else: %v", err)
	}
	if _, err := List(dir); !errors.Is(err, ErrNoLog) {
		t.Errorf("listed a folder of something else: %v", err)
	}
	if _, err := List(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("listed a folder that is not there: %v", err)
	}
}

// An event that no line can hold leaves a mark, and one that can be made smaller is.
func TestLargeEvents(t *testing.T) {
	dir := t.TempDir()
	w := writerOn(t, dir, Config{})
	w.Append("q1", &eventlogv1.QueryStarted{Statement: strings.Repeat("\x01", 1<<20)})
	w.Append("q1", &eventlogv1.AttemptFailed{Error: &eventlogv1.Error{Message: strings.Repeat("x", 2<<20)}})
	if !w.Commit("q1", succeeded) {
		t.Error("not committed")
	}
	_ = w.Close()
	v := read(t, dir)
	v.want(t, map[State]int{Finished: 1})
	if len(v.faults) > 0 || v.kinds[KindEventTooLarge] != 1 || v.kinds[KindQueryStarted] != 1 {
		t.Errorf("faults %v, kinds %v", v.faults, v.kinds)
	}
}

// Text of any kind comes back as it was, but for what is no UTF-8.
func FuzzText(f *testing.F) {
	f.Add("a\x00\"\\\n\u2028\xff<")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(appendText(nil, s), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") && len(back) != len([]rune(s)) && !strings.Contains(back, "\ufffd") {
			t.Errorf("%q came back as %q, %v", s, back, err)
		}
	})
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: `"0s"`, 1: `"0.000000001s"`, time.Microsecond: `"0.000001s"`, 1500 * time.Millisecond: `"1.500s"`, -time.Second - 1: `"-1.000000001s"`, time.Hour: `"3600s"`,
	} {
		got, err := appendDuration(nil, durationpb.New(d))
		if err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", d, got, err, want)
		}
	}
}
