package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A process is what a command has of the process it runs in: where it reads and writes, and who takes signals.
type process struct {
	in       io.Reader
	out, err io.Writer
	signals  *signals
}

// terminal tells whether f is a terminal, and how many columns it has.
func terminal(f any) (width int, ok bool) {
	file, isFile := f.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// colors tells whether f is a terminal that wants them.
func colors(f any) bool {
	_, ok := terminal(f)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Main is the whole of fletch but the process's end: Run, with Ctrl-C and SIGTERM ending what runs. A second signal ends the
// process on the spot. A reader of standard output that goes away is an error like any other, not a signal.
func Main(args []string, in, out, errw *os.File) int {
	p := &process{in: in, out: out, err: errw, signals: newSignals()}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, os.Interrupt, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for s := range arrived {
			if s == os.Interrupt && p.signals.take() {
				continue
			}
			if ctx.Err() != nil {
				os.Exit(exitInterrupted)
			}
			p.signals.note(s)
			cancel(errInterrupted)
		}
	}()
	return run(ctx, args, p)
}

// errInterrupted is why a command ends that Ctrl-C ends, in PostgreSQL's words.
var errInterrupted = sqlerr.New(sqlerr.Canceled, sqlerr.Pos{}, "canceling statement due to user request")

// signals is who takes the process's signals.
type signals struct {
	mu       sync.Mutex
	catcher  context.CancelCauseFunc // of Ctrl-C; nil: it ends the command
	last     os.Signal               // that ended the command
	graceful bool                    // the command has its own way to end by SIGTERM
}

func newSignals() *signals { return &signals{} }

// catch makes Ctrl-C end the returned context instead of the command, or of what caught it so far, until release is called.
func (s *signals) catch(ctx context.Context) (caught context.Context, release func()) {
	caught, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.catcher
	s.catcher = cancel
	return caught, func() {
		s.mu.Lock()
		s.catcher = before
		s.mu.Unlock()
		cancel(nil)
	}
}

func (s *signals) take() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catcher == nil {
		return false
	}
	s.catcher(errInterrupted)
	return true
}

func (s *signals) note(last os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = last
}

// drains says that the command ends by itself, in its own time, after SIGTERM.
func (s *signals) drains() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.graceful = true
}

// draining tells whether ctx, that of the command, ended in a way that the command takes its time to follow.
func (s *signals) draining(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ctx.Err() != nil && s.graceful && s.last == syscall.SIGTERM
}
