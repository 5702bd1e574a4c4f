package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

// ErrTorn is the last line of a segment without its end: its writer was cut off in the middle of it.
var ErrTorn = errors.New("torn")

// ErrNoLog is a folder that holds no segment.
var ErrNoLog = errors.New("no event log")

// A Log is the segments of a folder as they were when it was listed.
type Log struct {
	Dir       string
	Instances []Instance // in the order of their starts, by their writers' clocks
	Foreign   []string   // names of files that are no segments
}

// An Instance is the segments that one coordinator process wrote, ascending by number.
type Instance struct {
	ID       string
	Segments []Segment
}

// A Segment is a file of a log.
type Segment struct {
	Path     string
	Instance string // as its name says
	Number   uint32 // from 1
	Size     int64

	content []byte // of a test's segment, which is no file
}

// segmentName is SECOND-INSTANCE-NUMBER.jsonl; the second is that of the instance's start, so that names sort as instances began.
var segmentName = regexp.MustCompile(`^(\d{8}T\d{6}Z-([0-9a-f]{32}))-(\d{6})\.jsonl$`)

func nameSegment(started time.Time, instance string, number uint32) string {
	return fmt.Sprintf("%s-%s-%06d.jsonl", started.UTC().Format("20060102T150405Z"), instance, number)
}

// List finds the segments in dir. It fails with ErrNoLog where there is none, which an empty folder also is.
func List(dir string) (*Log, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the event log: %w", err)
	}
	l := &Log{Dir: dir}
	at := map[string]int{} // by start and instance
	for _, e := range entries {
		m := segmentName.FindStringSubmatch(e.Name())
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			return nil, fmt.Errorf("read the event log: %w", err)
		}
		if m == nil || !info.Mode().IsRegular() {
			l.Foreign = append(l.Foreign, e.Name())
			continue
		}
		number, _ := strconv.ParseUint(m[3], 10, 32)
		i, ok := at[m[1]]
		if !ok {
			i = len(l.Instances)
			at[m[1]] = i
			l.Instances = append(l.Instances, Instance{ID: m[2]})
		}
		l.Instances[i].Segments = append(l.Instances[i].Segments, Segment{Path: filepath.Join(dir, e.Name()), Instance: m[2], Number: uint32(number), Size: info.Size()})
	}
	if len(l.Instances) == 0 {
		return l, fmt.Errorf("%w: %s holds no segment; segments are named 20060102T150405Z-INSTANCE-000001.jsonl", ErrNoLog, dir)
	}
	for _, i := range l.Instances {
		slices.SortFunc(i.Segments, func(a, b Segment) int { return int(a.Number) - int(b.Number) })
	}
	return l, nil
}

// A Line is a line of a segment.
type Line struct {
	Envelope        // valid until the next line is read, where Err is nil or ErrNewer
	Offset   int64  // of its first byte in the segment
	Raw      []byte // without the line feed; may be cut where it is longer than a line can be
	Err      error  // ErrCorrupt, ErrNewer, ErrTorn
}

// Tail is what a torn line still says, unproved: its kind and its query, nil where it does not reach so far.
func (l *Line) tail() (kind, query []byte) {
	c := cursor{rest: l.Raw}
	c.number(`{"v":`)
	kind = c.word(`,"kind":"`, maxKind)
	c.take(`","at":"`, len(timeLayout))
	if c.failed {
		return nil, nil
	}
	c.number(`","seq":`)
	if c.next(`,"query":"`) {
		query = c.word("", maxQuery)
		c.expect(`"`)
	}
	if c.failed {
		return kind, nil
	}
	return kind, query
}

// Lines reads the lines of one segment, in memory that does not grow.
type Lines struct {
	r      io.Reader
	buf    []byte
	from   int // of what is not given yet
	to     int
	offset int64 // of buf[from]
	next   uint64
	synced bool // next is known
	eof    bool
	long   bool // in the middle of a line that is longer than one may be
}

const readAtOnce = 64 << 10

// ReadLines reads lines from r, whose first byte is the one at offset of a segment: the first of a line.
func ReadLines(r io.Reader, offset int64) *Lines {
	return &Lines{r: r, offset: offset, synced: offset == 0}
}

// Next gives the next line, io.EOF after the last one. What is wrong with a line stands in it; an error is the reader's own.
func (l *Lines) Next(line *Line) error {
	for {
		if i := bytes.IndexByte(l.buf[l.from:l.to], '\n'); i >= 0 {
			raw := l.buf[l.from : l.from+i]
			*line = Line{Offset: l.offset, Raw: raw}
			l.from += i + 1
			l.offset += int64(i + 1)
			if l.long {
				l.long = false
				continue // its beginning was given
			}
			l.parse(line)
			return nil
		}
		if l.eof {
			if l.from == l.to {
				return io.EOF
			}
			*line = Line{Offset: l.offset, Raw: l.buf[l.from:l.to], Err: fmt.Errorf("%w: the last line has no end", ErrTorn)}
			l.offset += int64(l.to - l.from)
			l.from = l.to
			if l.long {
				continue
			}
			return nil
		}
		if l.to-l.from >= MaxLine {
			*line = Line{Offset: l.offset, Raw: l.buf[l.from:l.to], Err: fmt.Errorf("%w: a line of more than %d bytes", ErrCorrupt, MaxLine)}
			l.offset += int64(l.to - l.from)
			l.from, l.to, l.synced = 0, 0, false
			if l.long {
				continue
			}
			l.long = true
			return nil
		}
		if err := l.fill(); err != nil {
			return err
		}
	}
}

// fill reads on, behind what is there already.
func (l *Lines) fill() error {
	if l.from > 0 {
		copy(l.buf, l.buf[l.from:l.to])
		l.from, l.to = 0, l.to-l.from
	}
	if l.to == len(l.buf) {
		l.buf = append(l.buf, make([]byte, max(len(l.buf), readAtOnce))...) // to twice MaxLine at most
	}
	n, err := l.r.Read(l.buf[l.to:])
	l.to += n
	if errors.Is(err, io.EOF) {
		l.eof = true
		return nil
	}
	return err
}

// parse reads a whole line and compares its number with the one that is due.
func (l *Lines) parse(line *Line) {
	line.Envelope, line.Err = ParseLine(line.Raw)
	if line.Err != nil && !errors.Is(line.Err, ErrNewer) {
		l.synced = false // a line feed may have come or gone
		return
	}
	if line.Seq < l.next || l.synced && line.Seq > l.next {
		line.Err = fmt.Errorf("%w: line %d where line %d is due", ErrCorrupt, line.Seq, l.next)
	}
	l.next, l.synced = line.Seq+1, true
}

// Read gives every line of a segment to take; none of one that was deleted since it was listed.
func (s *Segment) Read(take func(l *Line) error) error {
	_, err := s.read(take)
	return err
}

// read is Read; it tells whether the segment is there.
func (s *Segment) read(take func(l *Line) error) (there bool, err error) {
	r, size := io.Reader(bytes.NewReader(s.content)), len(s.content)
	if s.content == nil {
		f, err := os.Open(s.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read the event log: %w", err)
		}
		defer func() { _ = f.Close() }()
		r, size = f, readAtOnce
	}
	lines := ReadLines(r, 0)
	lines.buf = make([]byte, max(size, 1))
	for {
		var l Line
		if err := lines.Next(&l); err != nil {
			if errors.Is(err, io.EOF) {
				return true, nil
			}
			return true, fmt.Errorf("read the event log: %w", err)
		}
		if err := take(&l); err != nil {
			return true, err
		}
	}
}

// Started is the first line of the segment, which says who wrote it.
func (s *Segment) Started() (*eventlogv1.SegmentStarted, error) {
	var started *eventlogv1.SegmentStarted
	err := s.Read(func(l *Line) error {
		if l.Err != nil && !errors.Is(l.Err, ErrNewer) {
			return l.Err
		}
		m, err := l.Decode()
		if err != nil {
			return err
		}
		var ok bool
		if started, ok = m.(*eventlogv1.SegmentStarted); !ok {
			return fmt.Errorf("%w: the first line is %s", ErrCorrupt, l.Kind)
		}
		return io.EOF
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if started == nil {
		return nil, fmt.Errorf("%w: the segment is empty", ErrTorn)
	}
	return started, nil
}

// How long ago the last heartbeat may be for a writer to count as alive whose lock cannot be trusted: by the file system's clock, and by
// the writer's, which may be wrong.
const (
	freshness = 3 * heartbeatEvery
	skew      = 5 * time.Minute
)

// Running tells whether the segment's writer still has it: it is locked or, where locks do not tell, was written to a moment ago.
func (s *Segment) Running() bool {
	if s.content != nil {
		return false
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	held, known := lockedByOther(f)
	if held {
		return true
	}
	if known {
		if started, err := s.Started(); err == nil && started.GetBoot() != "" && started.GetBoot() == bootID() {
			return false
		}
	}
	info, err := f.Stat()
	return err == nil && time.Since(info.ModTime()).Abs() < freshness && time.Since(lastTime(f, info.Size())).Abs() < skew // a copy is no heartbeat
}

// lastTime is the time of the last whole line of a segment.
func lastTime(f io.ReaderAt, size int64) time.Time {
	from := max(0, size-MaxLine)
	tail := make([]byte, size-from)
	n, err := f.ReadAt(tail, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return time.Time{}
	}
	lines := bytes.Split(tail[:n], []byte{'\n'})
	for _, line := range slices.Backward(lines[:len(lines)-1]) {
		if e, err := ParseLine(line); err == nil || errors.Is(err, ErrNewer) {
			return e.Time()
		}
	}
	return time.Time{}
}
