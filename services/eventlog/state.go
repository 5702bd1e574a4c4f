package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// A State is what a log tells of a query.
type State string

// The states. A query without an end is running or crashed only where every line since its beginning is there and can be read.
const (
	Finished State = "finished" // its end is on disk, whatever it was
	Running  State = "running"  // its writer is alive
	Crashed  State = "crashed"  // its writer stopped without an end of it
	Torn     State = "torn"     // the line that is cut may be its end
	Corrupt  State = "corrupt"  // a damaged or missing line may be its end
	Newer    State = "newer"    // lines of it have a schema version above this build's
	Lost     State = "lost"     // its writer could not write for a while, in which it may have ended
)

// States lists them in the order in which they are shown.
func States() []State { return []State{Finished, Running, Crashed, Torn, Corrupt, Newer, Lost} }

// Totals counts what was read.
type Totals struct {
	Segments uint64
	Lines    uint64
	Bytes    uint64
	Unknown  uint64 // lines of kinds that this build does not know
	Newer    uint64 // lines of newer schema versions
	Lost     uint64 // events that the writer says it could not write
	Back     uint64 // lines that are more than a second earlier than the one before: the writer's clock was put back
}

// A Visitor is told what an instance's segments hold. A nil function is not called.
type Visitor struct {
	Line  func(s *Segment, l *Line) error    // every line, in order; an error ends the walk
	Query func(id string, state State) error // every query, once, when its end was read; those without one last, ascending by id
	Fault func(f Fault)
}

// Walk reads an instance from its first segment to its last, also those that come while it reads, in memory that grows with the
// queries that are open at a time only.
func (i *Instance) Walk(v Visitor) (Totals, error) {
	q := &queries{visitor: v, open: map[string]*openQuery{}}
	running := false
	for n := 0; n < len(i.Segments); n++ {
		s := &i.Segments[n]
		last := n == len(i.Segments)-1
		if last {
			running = s.Running() // before it is read: a writer that is not there now adds nothing behind what is read
		}
		q.Segments++
		there, err := s.read(func(l *Line) error { return q.take(s, l) })
		if err != nil {
			return q.Totals, err
		}
		if there && q.seg != s {
			q.empty(s, last)
		}
		if last && q.continued {
			next, err := s.next()
			if err != nil {
				return q.Totals, err
			}
			if next == nil && s.Running() {
				break // it is being begun
			}
			if next == nil {
				q.damage()
				q.fault(Fault{s.Path, s.Size, fmt.Errorf("%w: it goes on in segment %d, which is not there", ErrCorrupt, s.Number+1)})
				break
			}
			i.Segments = append(i.Segments, *next)
		}
	}
	return q.Totals, q.close(running)
}

// next finds the segment after s, nil if it is not there.
func (s *Segment) next() (*Segment, error) {
	if s.content != nil {
		return nil, nil
	}
	dir, name := filepath.Split(s.Path)
	m := segmentName.FindStringSubmatch(name)
	path := filepath.Join(dir, fmt.Sprintf("%s-%06d.jsonl", m[1], s.Number+1))
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the event log: %w", err)
	}
	return &Segment{Path: path, Instance: s.Instance, Number: s.Number + 1, Size: info.Size()}, nil
}

// queries follows the queries of one instance line by line. It holds the open ones only.
type queries struct {
	Totals
	visitor   Visitor
	open      map[string]*openQuery
	seg       *Segment
	at        []byte // of the line before
	ended     bool   // the segment's last line was seen
	continued bool   // and it says that there is another segment
	torn      *tornLine
}

type openQuery struct{ newer, corrupt, lost bool }

type tornLine struct {
	kind, query string
	line        Fault
}

// A Fault is something wrong with a log.
type Fault struct {
	Path   string
	Offset int64
	Err    error // ErrTorn, ErrCorrupt or ErrNewer
}

func (f *Fault) Error() string { return fmt.Sprintf("%s, byte %d: %v", f.Path, f.Offset, f.Err) }
func (f *Fault) Unwrap() error { return f.Err }

// take follows a line.
func (q *queries) take(s *Segment, l *Line) error {
	q.Lines++
	q.Bytes += uint64(len(l.Raw)) + 1
	newer := errors.Is(l.Err, ErrNewer)
	intact := l.Err == nil || newer
	if q.seg != s {
		q.begin(s, l, intact)
	} else if q.ended && intact {
		q.damage()
		q.fault(Fault{s.Path, l.Offset, fmt.Errorf("%w: a line after the segment's end", ErrCorrupt)})
	}
	switch {
	case intact:
		if bytes.Compare(l.At, q.at) < 0 && timeOf(q.at).Sub(l.Time()) > time.Second { // lines that waited are a little late
			q.Back++
		}
		q.at = append(q.at[:0], l.At...)
		if newer {
			q.Newer++
		} else if !knownKind(l.Kind) {
			q.Unknown++
		}
		if err := q.follow(l, newer); err != nil {
			return err
		}
	case errors.Is(l.Err, ErrTorn):
		kind, query := l.tail()
		q.torn = &tornLine{string(kind), string(query), Fault{s.Path, l.Offset, l.Err}}
	default:
		q.damage()
		q.fault(Fault{s.Path, l.Offset, l.Err})
	}
	if q.visitor.Line != nil {
		return q.visitor.Line(s, l)
	}
	return nil
}

func (q *queries) fault(f Fault) {
	if q.visitor.Fault != nil {
		q.visitor.Fault(f)
	}
}

func (q *queries) ends(id string, state State) error {
	if q.visitor.Query != nil {
		return q.visitor.Query(id, state)
	}
	return nil
}

// empty is a segment without a line: there never was one.
func (q *queries) empty(s *Segment, last bool) {
	kind := ErrCorrupt
	if last {
		kind = ErrTorn
	}
	if !last || q.seg != nil && !q.ended {
		q.damage()
	}
	q.fault(Fault{s.Path, 0, fmt.Errorf("%w: the segment is empty", kind)})
	q.seg, q.ended, q.continued, q.torn = s, false, false, nil
}

// begin looks at the first line of a segment, and at how the one before it ended.
func (q *queries) begin(s *Segment, l *Line, intact bool) {
	damaged := func(format string, args ...any) {
		q.damage()
		q.fault(Fault{s.Path, l.Offset, fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)})
	}
	lost := uint64(0)
	if l.Err == nil {
		m, err := l.Decode()
		started, ok := m.(*eventlogv1.SegmentStarted)
		lost = started.GetLost()
		switch {
		case !ok && (err == nil || !errors.Is(err, ErrCorrupt)):
			damaged("the first line is %s", l.Kind)
		case err != nil:
			damaged("%v", err)
		case started.GetInstanceId() != s.Instance || started.GetSegment() != s.Number:
			damaged("it says that it is segment %d of instance %s", started.GetSegment(), started.GetInstanceId())
		}
	}
	switch {
	case q.seg == nil:
	case lost > 0:
		q.Lost += lost
		q.lose()
	case s.Number != q.seg.Number+1:
		damaged("segment %d follows segment %d", s.Number, q.seg.Number)
	case !q.ended:
		damaged("the segment before has no end")
	}
	q.seg, q.ended, q.continued, q.torn = s, false, false, nil
}

// damage says of all open queries that their ends may be missing.
func (q *queries) damage() {
	for _, o := range q.open {
		o.corrupt = true
	}
}

// lose says of all open queries that they may have ended without a line.
func (q *queries) lose() {
	for _, o := range q.open {
		o.lost = true
	}
}

func (q *queries) follow(l *Line, newer bool) error {
	switch string(l.Kind) {
	case KindSegmentEnded:
		m, _ := l.Decode()
		ended, _ := m.(*eventlogv1.SegmentEnded)
		q.ended, q.continued = true, ended.GetContinued()
		if ended.GetStopped() {
			q.lose()
		}
	case KindQueryFinished:
		state := Finished
		if newer {
			state = Newer
		}
		delete(q.open, string(l.Query))
		return q.ends(string(l.Query), state)
	}
	if len(l.Query) == 0 {
		return nil
	}
	o := q.open[string(l.Query)]
	if o == nil {
		o = &openQuery{}
		q.open[string(l.Query)] = o
	}
	o.newer = o.newer || newer
	return nil
}

// close tells what became of the queries that have no end, and what is wrong with the end of the log. running says whether the
// instance's writer is alive.
func (q *queries) close(running bool) error {
	torn := q.torn
	if running {
		torn = nil // a line on its way
	}
	states := map[string]State{}
	for id, o := range q.open {
		switch {
		case o.newer:
			states[id] = Newer
		case o.corrupt:
			states[id] = Corrupt
		case o.lost:
			states[id] = Lost
		case running:
			states[id] = Running
		case torn != nil && (torn.kind == "" || torn.kind == KindQueryFinished && (torn.query == "" || torn.query == id)):
			states[id] = Torn
		default:
			states[id] = Crashed
		}
	}
	if torn != nil {
		q.fault(torn.line)
	}
	for _, id := range slices.Sorted(maps.Keys(states)) {
		if err := q.ends(id, states[id]); err != nil {
			return err
		}
	}
	return nil
}
