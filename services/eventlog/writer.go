package eventlog

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
)

const (
	heartbeatEvery = 10 * time.Second
	// linger is how long an event that nobody waits for is kept, to be written together with others.
	linger = 10 * time.Millisecond
	// Where so many queries run, an end waits a moment for others to be synced together with it.
	siblings = 4
	gather   = 2 * time.Millisecond
	// queueLimit is how many bytes may wait for a disk that is slow. What comes then is lost, as on a full disk.
	queueLimit = 32 << 20
	// patience is how long a query's end waits for the disk.
	patience = 10 * time.Second
)

// Config is what a writer is told. A limit of 0 is its default.
type Config struct {
	// Writer says who writes. The number of the segment, what was lost, host and boot are filled in.
	Writer *eventlogv1.SegmentStarted
	// Size is how many bytes this instance's segments may take together before the oldest go; 1 GiB.
	Size int64
	// SegmentSize is how many bytes a segment takes before the next begins; 64 MiB, and at most an eighth of Size.
	SegmentSize int64
	// Age is how long after its end a segment of this instance goes; 30 days.
	Age time.Duration
	// Running tells how many queries run, for the heartbeat.
	Running func() int
	Logger  *slog.Logger

	files Files // the folder; tests have their own
}

// A Writer appends events to a log. Its methods may be called from any goroutine. None of them ever fails a query: what cannot be
// written is lost, loudly, and the log says so when it goes on.
type Writer struct {
	cfg     Config
	files   Files
	log     *slog.Logger
	started time.Time

	some, urgent chan struct{} // there is something to write; somebody waits for it
	quit, done   chan struct{}

	mu      sync.Mutex
	batch   *batch
	stopped bool   // nothing is written until a segment can be begun again
	lost    uint64 // events, since the segment began

	// The flusher's own.
	file   File
	number uint32 // of the segment
	seq    uint64 // of the next line
	size   int64
	line   []byte
	spare  batch     // memory of the last batch, for the next
	own    []segment // that ended
}

type segment struct {
	name  string
	size  int64
	ended time.Time
}

// A batch is events that are written at once.
type batch struct {
	events  []event
	data    []byte // their payloads
	awaited bool
	done    chan struct{} // closed when it is written, or is not going to be
	synced  bool          // it is on disk
}

type event struct {
	kind, query string
	at          time.Time
	from, to    int // of its payload in the batch's data
}

func (b *batch) add(kind, query string, data []byte) {
	from := len(b.data)
	b.data = append(b.data, data...)
	b.events = append(b.events, event{kind, query, time.Now(), from, len(b.data)})
}

// size is at most the bytes that the batch takes on disk.
func (b *batch) size() int { return len(b.data) + len(b.events)*lineOverhead }

// scratch is memory to encode in.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// Create begins this instance's part of the log in dir, which is made if it is not there. It leaves other instances' parts alone. A
// folder that holds files and no segment is refused with ErrNoLog.
func Create(dir string, cfg Config) (*Writer, error) {
	if cfg.files == nil {
		f, err := openFolder(dir)
		if err != nil {
			return nil, err
		}
		cfg.files = f
	}
	if cfg.Size <= 0 {
		cfg.Size = 1 << 30
	}
	if cfg.SegmentSize <= 0 {
		cfg.SegmentSize = min(64<<20, cfg.Size/8)
	}
	if cfg.Age <= 0 {
		cfg.Age = 30 * 24 * time.Hour
	}
	if cfg.Running == nil {
		cfg.Running = func() int { return 0 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	w := &Writer{
		cfg: cfg, files: cfg.files, log: cfg.Logger, started: time.Now(), batch: &batch{done: make(chan struct{})},
		some: make(chan struct{}, 1), urgent: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if err := w.begin(0); err != nil {
		return nil, fmt.Errorf("begin the event log in %s: %w", dir, err)
	}
	go w.run()
	return w, nil
}

// Append keeps an event; query is the id of its query, empty for an event of no one query. It never waits for the disk.
func (w *Writer) Append(query string, m proto.Message) {
	if w.add(query, m, false) != nil {
		signal(w.some)
	}
}

// Commit keeps an event and returns when it is on disk, with everything before it; false says that it is not, or not for certain.
func (w *Writer) Commit(query string, m proto.Message) bool {
	b := w.add(query, m, true)
	if b == nil {
		return false
	}
	signal(w.urgent)
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-b.done:
		return b.synced
	case <-limit.C:
		w.log.Error("the event log's disk is slow: the end of a query is told before it is there", "query", query, "waited", patience)
		return false
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add puts an event into the batch that is written next, which is given; nil says that it is lost.
func (w *Writer) add(query string, m proto.Message, awaited bool) *batch {
	kind := KindOf(m)
	buf := scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	data, err := encodeWithin((*buf)[:0], m, MaxLine-lineOverhead)
	if data == nil && err == nil { // no line can hold it
		kind, awaited = KindEventTooLarge, false
		data, err = encode(&eventlogv1.EventTooLarge{Kind: KindOf(m), Bytes: uint64(proto.Size(m))})
	}
	if cap(data) > cap(*buf) {
		*buf = data
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.log.Error("an event cannot be written", "kind", kind, "query", query, "error", err)
	}
	if err != nil || w.stopped || w.batch.size() > queueLimit {
		w.lost++
		return nil
	}
	w.batch.add(kind, query, data)
	w.batch.awaited = w.batch.awaited || awaited
	return w.batch
}

// run writes what comes, until the writer is closed.
func (w *Writer) run() {
	defer close(w.done)
	beat := time.NewTicker(heartbeatEvery)
	defer beat.Stop()
	for {
		select {
		case <-w.urgent:
			w.gather()
		case <-w.some:
			wait := time.NewTimer(linger)
			select {
			case <-wait.C:
			case <-w.urgent:
				w.gather()
			case <-w.quit:
			}
			wait.Stop()
		case <-beat.C:
			w.beat()
		case <-w.quit:
			w.flush()
			w.end(&eventlogv1.SegmentEnded{})
			return
		}
		w.flush()
	}
}

// gather lets other ends come, where some are likely to.
func (w *Writer) gather() {
	if w.cfg.Running() < siblings {
		return
	}
	wait := time.NewTimer(gather)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-w.quit:
	}
}

// Close writes what is kept, ends the log and returns. Nothing may be added after it.
func (w *Writer) Close() error {
	close(w.quit)
	<-w.done
	return nil
}

// beat says that the writer lives, tries to go on where it had to stop, and deletes what is too old.
func (w *Writer) beat() {
	w.mu.Lock()
	stopped, lost := w.stopped, w.lost
	w.mu.Unlock()
	if stopped {
		if err := w.begin(lost); err != nil {
			w.log.Error("the event log stays stopped: queries go on and are not logged", "lost", lost, "error", err)
			return
		}
		w.mu.Lock()
		w.stopped, w.lost = false, w.lost-lost
		w.mu.Unlock()
		w.log.Warn("the event log goes on", "lost", lost)
	}
	w.add("", &eventlogv1.Heartbeat{Running: uint32(w.cfg.Running())}, false)
	w.retain()
}

// flush writes the batch.
func (w *Writer) flush() {
	w.mu.Lock()
	b, lost := w.batch, w.lost
	w.batch = &batch{events: w.spare.events[:0], data: w.spare.data[:0], done: make(chan struct{})}
	stopped := w.stopped
	w.mu.Unlock()
	if stopped {
		lost = 0
	}
	b.synced = w.write(b) && b.awaited
	w.spare.events, w.spare.data = b.events, b.data // who waits for b looks at neither
	close(b.done)
	if lost > 0 && w.file != nil && w.rotate(lost) {
		w.mu.Lock()
		w.lost -= lost
		w.mu.Unlock()
	}
}

// write appends a batch to the segment, and says whether it is there.
func (w *Writer) write(b *batch) bool {
	if len(b.events) == 0 {
		return w.file != nil
	}
	if w.file != nil && w.seq > 1 && w.size+int64(b.size()) > w.cfg.SegmentSize {
		w.rotate(0)
	}
	if w.file == nil {
		w.mu.Lock()
		w.lost += uint64(len(b.events))
		w.mu.Unlock()
		return false
	}
	w.line = w.line[:0]
	seq := w.seq
	for _, e := range b.events {
		w.line = appendLine(w.line, version, e.kind, e.at, seq, e.query, b.data[e.from:e.to])
		seq++
	}
	if err := w.append(w.line, b.awaited); err != nil {
		w.halt(err, len(b.events))
		return false
	}
	w.seq = seq
	return true
}

// append writes whole lines; after an error the segment is as it was, where the disk allows that.
func (w *Writer) append(lines []byte, sync bool) error {
	_, err := w.file.Write(lines)
	if err == nil && sync {
		err = w.file.Sync()
	}
	if err != nil {
		_ = w.file.Truncate(w.size) // what comes next has the numbers of these lines
		return err
	}
	w.size += int64(len(lines))
	return nil
}

// halt ends logging until a heartbeat can begin it again.
func (w *Writer) halt(err error, events int) {
	w.log.Error("the event log has stopped: queries go on and are not logged", "error", err)
	w.mu.Lock()
	w.stopped = true
	w.lost += uint64(events)
	w.mu.Unlock()
	w.end(&eventlogv1.SegmentEnded{Stopped: true}) // a few bytes may find room where a batch did not
}

// end writes the segment's last line and gives the segment up.
func (w *Writer) end(how *eventlogv1.SegmentEnded) {
	if w.file == nil {
		return
	}
	if err := w.append(line(how, w.seq), true); err != nil && !how.GetStopped() {
		w.log.Error("a segment of the event log has no end", "error", err)
	}
	_ = w.file.Close()
	w.own = append(w.own, segment{w.name(w.number), w.size, time.Now()})
	w.file = nil
}

// line is a line of the writer's own.
func line(m proto.Message, seq uint64) []byte {
	data, err := encode(m)
	if err != nil {
		data = []byte("{}") // what is said of the writer is no UTF-8
	}
	return appendLine(nil, version, KindOf(m), time.Now(), seq, "", data)
}

func (w *Writer) name(number uint32) string {
	return nameSegment(w.started, w.cfg.Writer.GetInstanceId(), number)
}

// begin ends the segment, if there is one, and begins the next. That has its name only when its first line is on disk and the one
// before it has its last, so that every segment has a first line, and a reader who misses one knows that it is to come.
func (w *Writer) begin(lost uint64) error {
	name := w.name(w.number + 1)
	f, err := w.files.Create(name + ".tmp")
	if err != nil {
		return err
	}
	m := proto.CloneOf(w.cfg.Writer)
	m.Segment, m.Lost, m.Boot = w.number+1, lost, bootID()
	m.Host, _ = os.Hostname()
	header := line(m, 0)
	_, err = f.Write(header)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		w.end(&eventlogv1.SegmentEnded{Continued: true, Stopped: lost > 0})
		err = w.files.Rename(name+".tmp", name)
	}
	if err == nil {
		if err = w.files.Sync(); err != nil {
			_ = w.files.Remove(name)
		}
	}
	if err != nil {
		_ = f.Close()
		_ = w.files.Remove(name + ".tmp")
		return err
	}
	w.file, w.number, w.seq, w.size = f, w.number+1, 1, int64(len(header))
	return nil
}

// rotate goes on in another segment.
func (w *Writer) rotate(lost uint64) bool {
	if err := w.begin(lost); err != nil {
		w.halt(err, 0)
		return false
	}
	w.retain()
	return true
}

// retain deletes this instance's oldest segments, as the limits ask.
func (w *Writer) retain() {
	total := w.cfg.SegmentSize // of the one that is being written
	for _, s := range w.own {
		total += s.size
	}
	for len(w.own) > 0 && (total > w.cfg.Size || time.Since(w.own[0].ended) > w.cfg.Age) {
		if err := w.files.Remove(w.own[0].name); err != nil && !os.IsNotExist(err) {
			w.log.Error("an old segment of the event log cannot be deleted", "segment", w.own[0].name, "error", err)
			return
		}
		total -= w.own[0].size
		w.own = w.own[1:]
	}
}
