// Package clustertest starts coordinators and workers for tests: real servers on real loopback ports, in the test's process or in
// processes of their own that can be killed. Nothing that ships may import it.
package clustertest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

// Module is the folder of the module of that name in this workspace.
func Module(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := workspace()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// workspace is the folder of go.work: the first one above the working folder, as a binary built with -trimpath does not know it.
var workspace = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, none := os.Stat(filepath.Join(dir, "go.work")); none == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no folder above the test's has a go.work")
		}
		dir = above
	}
	return "", err
})

// Shared is a folder of the larger test data that FLETCH_TESTDATA names; "" where it names none. Tests that need it say that
// they did not run.
func Shared(parts ...string) string {
	root := os.Getenv("FLETCH_TESTDATA")
	if root == "" {
		return ""
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

type logWriter struct{ tb testing.TB }

func (w logWriter) Write(p []byte) (int, error) {
	w.tb.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// Logger logs into the test until it ends. What is logged as an error fails the test: servers log what users did wrong as
// information, and what Fletch did wrong as an error.
func Logger(tb testing.TB) *slog.Logger {
	quiet := &gate{w: logWriter{tb}}
	tb.Cleanup(quiet.shut)
	return slog.New(strict{slog.NewTextHandler(quiet, &slog.HandlerOptions{Level: slog.LevelDebug}), tb})
}

type strict struct {
	slog.Handler
	tb testing.TB
}

func (s strict) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		s.tb.Errorf("logged as an error: %s", r.Message)
	}
	return s.Handler.Handle(ctx, r)
}

type gate struct {
	mu sync.Mutex
	w  io.Writer
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.w == nil {
		return len(p), nil
	}
	return g.w.Write(p)
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.w = nil
}

// Worker starts a worker in this process, which ends with the test.
func Worker(tb testing.TB, options ...worker.Option) *worker.Worker {
	tb.Helper()
	w, err := worker.New(append([]worker.Option{worker.WithLogger(Logger(tb)), worker.WithThreads(2)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	serve(tb, w.Serve)
	return w
}

// Coordinator starts a coordinator in this process over the workers at urls, which ends with the test.
func Coordinator(tb testing.TB, urls []string, options ...coordinator.Option) *coordinator.Coordinator {
	tb.Helper()
	c, err := coordinator.New(resolver.Static(urls), append([]coordinator.Option{coordinator.WithLogger(Logger(tb))}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	serve(tb, c.Serve)
	return c
}

func serve(tb testing.TB, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				tb.Errorf("serve: %v", err)
			}
		case <-time.After(20 * time.Second):
			tb.Error("serve: it did not end within 20 s")
		}
	})
}

// Fletch is the fletch binary, built once per test process as the README builds it.
func Fletch(tb testing.TB) string {
	tb.Helper()
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("FLETCH_BINARY"); given != "" {
		return given, nil
	}
	root, err := workspace()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("fletch-test-%d-%08x", os.Getuid(), crc32.ChecksumIEEE([]byte(root))))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "fletch")
	cmd := exec.Command("go", "build", "-o", bin, "./cmd/fletch")
	cmd.Dir = filepath.Join(root, "services")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build fletch: %w\n%s", err, out)
	}
	return bin, nil
})

// A Process is fletch in a process of its own.
type Process struct {
	URL string
	cmd *exec.Cmd
	end chan struct{}
}

// Start starts fletch with args, a server, and waits until it says where it listens. It is killed at the end of the test.
func Start(tb testing.TB, args ...string) *Process {
	tb.Helper()
	p := &Process{cmd: exec.Command(Fletch(tb), args...), end: make(chan struct{})}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Kill)
	log := &gate{w: logWriter{tb}}
	tb.Cleanup(log.shut)
	said := make(chan string, 1)
	go func() {
		defer close(p.end)
		lines := bufio.NewScanner(out)
		first := true
		for lines.Scan() {
			if _, rest, ok := strings.Cut(lines.Text(), " at "); ok && first {
				url, _, _ := strings.Cut(rest, ",")
				said <- url
			} else if first {
				said <- ""
			}
			first = false
			_, _ = fmt.Fprintf(log, "%s[%d] %s", args[0], p.cmd.Process.Pid, lines.Text())
		}
		if first {
			said <- ""
		}
		_ = p.cmd.Wait()
	}()
	select {
	case p.URL = <-said:
	case <-time.After(20 * time.Second):
	}
	if p.URL == "" {
		tb.Fatalf("fletch %s did not start", strings.Join(args, " "))
	}
	return p
}

// Kill ends the process at once, as SIGKILL does, and waits until it is gone.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.end
}

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Wait waits until the process has ended by itself and gives its exit code.
func (p *Process) Wait(limit time.Duration) (int, error) {
	select {
	case <-p.end:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(limit):
		return 0, errors.New("the process did not end")
	}
}
