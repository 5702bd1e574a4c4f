package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

// How long something runs before its progress is shown, and how often it is shown anew.
const (
	progressAfter = 400 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// A progress is a line on standard error that shows how far something has come, on a terminal only and once it has taken a while.
// A nil progress shows nothing. Its methods may be called from any goroutine.
type progress struct {
	out   io.Writer
	width int
	from  time.Time

	mu     sync.Mutex
	share  float64
	what   string
	drawn  time.Time // zero: nothing is on the screen
	closed bool
	stop   chan struct{}
	done   chan struct{}
}

func newProgress(p *process) *progress {
	width, ok := terminal(p.err)
	if !ok {
		return nil
	}
	return &progress{out: p.err, width: width, from: time.Now()}
}

// set shows a share, from 0 to 1, and what it is of.
func (s *progress) set(share float64, what string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share, s.what = min(1, max(0, share)), what
	now := time.Now()
	if s.closed || now.Sub(s.from) < progressAfter || now.Sub(s.drawn) < progressEvery {
		return
	}
	s.drawn = now
	_, _ = fmt.Fprintf(s.out, "\r%s\x1b[K", s.line(now.Sub(s.from)))
}

func (s *progress) line(elapsed time.Duration) string {
	const cells = 24
	full := int(s.share * cells)
	line := fmt.Sprintf("%s%s %3.0f%%  %s  %.1fs", strings.Repeat("█", full), strings.Repeat("░", cells-full), s.share*100, s.what, elapsed.Seconds())
	return cut(line, s.width-1)
}

// query shows what a server tells of a query.
func (s *progress) query(p *apiv1.QueryProgress) {
	what := fmt.Sprintf("%d/%d tasks, %s rows read", p.GetTasksFinished(), p.GetTasks(), spaced(p.GetRowsScanned()))
	if p.GetAttempt() > 1 {
		what += fmt.Sprintf(", attempt %d", p.GetAttempt())
	}
	if n := p.GetQueuePosition(); n > 0 {
		what = fmt.Sprintf("number %d in the queue for workers that have room", n)
	}
	s.set(p.GetFraction(), what)
}

// follow asks how far something has come, until s is closed.
func (s *progress) follow(ask func() (share float64, what string)) {
	if s == nil {
		return
	}
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.done)
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-t.C:
				s.set(ask())
			}
		}
	}()
}

// close takes the line away. It may be called more than once.
func (s *progress) close() {
	if s == nil {
		return
	}
	s.clear()
	if s.stop != nil {
		close(s.stop)
		<-s.done
		s.stop = nil
	}
}

// clear takes the line away for good.
func (s *progress) clear() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.drawn.IsZero() && !s.closed {
		_, _ = io.WriteString(s.out, "\r\x1b[K")
	}
	s.closed = true
}

// clearing takes a progress away before anything else is written to its terminal.
type clearing struct {
	io.Writer
	progress *progress
}

func (c *clearing) Write(b []byte) (int, error) {
	c.progress.clear()
	return c.Writer.Write(b)
}

// spaced is n with a space between groups of three digits.
func spaced(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
