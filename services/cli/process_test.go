package cli

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endless is a statement that takes hours.
const endless = "SELECT count(*) FROM lineitem a, lineitem b, lineitem c WHERE a.l_quantity + b.l_tax + c.l_tax < a.l_tax"

// A spawned is fletch in a process of its own.
type spawned struct {
	*exec.Cmd
	temp   string // its folder for temporary files
	stderr bytes.Buffer
	given  []*os.File // the process's ends of pipes
	ended  chan struct{}
}

// spawn prepares fletch with args: start runs it. It is killed at the end of the test, with the tethered children that it has.
func spawn(t *testing.T, args ...string) *spawned {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &spawned{Cmd: exec.Command(self, args...), temp: t.TempDir(), ended: make(chan struct{})}
	s.Args[0] = "fletch"
	s.Env = append(os.Environ(), "TMPDIR="+s.temp, "HOME="+s.temp, "XDG_STATE_HOME=", "XDG_CONFIG_HOME=")
	s.Stderr = &s.stderr
	return s
}

// pipe is where the process's standard output, or other output, can be read. Unlike exec's own pipes it stays open at the end.
func (s *spawned) pipe(t *testing.T, output *io.Writer) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	*output = w
	s.given = append(s.given, w)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func (s *spawned) start(t *testing.T) {
	t.Helper()
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range s.given {
		_ = f.Close()
	}
	go func() {
		_ = s.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = s.Process.Kill()
		<-s.ended
	})
}

// code is the exit code, once the process has ended within limit. An end by SIGINT counts as 130, as it does for a shell.
func (s *spawned) code(t *testing.T, limit time.Duration) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(limit):
		t.Fatalf("%v has not ended after %s; it said %q", s.Args, limit, s.stderr.String())
	}
	if status := s.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && status.Signal() == syscall.SIGINT {
		return exitInterrupted
	}
	return s.ProcessState.ExitCode()
}

// eventually checks again and again for up to limit whether nothing is wrong any more.
func eventually(t *testing.T, limit time.Duration, wrong func() string) {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		what := wrong()
		if what == "" {
			return
		}
		select {
		case <-end:
			t.Fatalf("after %s: %s", limit, what)
		case <-tick.C:
		}
	}
}

// Ctrl-C ends a statement at any moment within a second, here and on a cluster, where nothing of it is left.
func TestInterrupt(t *testing.T) {
	c := newCluster(t)
	for _, where := range [][]string{{"--tables", dataDir(t)}, {"--connect", c.server}} {
		for _, after := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond} {
			t.Run(where[0][2:]+" "+after.String(), func(t *testing.T) {
				s := spawn(t, append([]string{"sql", "--stats", "-c", endless}, where...)...)
				s.start(t)
				<-time.After(after)
				_ = s.Process.Signal(os.Interrupt)
				if code := s.code(t, time.Second); code != exitInterrupted {
					t.Errorf("exit code %d", code)
				}
				if s.ProcessState.ExitCode() == exitInterrupted && after >= 500*time.Millisecond && !strings.Contains(s.stderr.String(), `"error":{"code":"query_canceled"`) {
					t.Errorf("it says %q", s.stderr.String())
				}
				c.idle(t)
			})
		}
	}
}

// A reader that leaves ends the statement, quietly.
func TestBrokenPipe(t *testing.T) {
	c := newCluster(t)
	for _, where := range [][]string{{"--tables", dataDir(t)}, {"--connect", c.server}} {
		t.Run(where[0][2:], func(t *testing.T) {
			s := spawn(t, append([]string{"sql", "--format", "csv", "-c", "SELECT a.l_comment FROM lineitem a, nation b, nation c"}, where...)...)
			out := s.pipe(t, &s.Stdout)
			s.start(t)
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "l_comment\n" {
				t.Fatalf("%q, %v", line, err)
			}
			_ = out.Close()
			if code := s.code(t, 5*time.Second); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			if s.stderr.Len() > 0 {
				t.Errorf("it says %q", s.stderr.String())
			}
			c.idle(t)
		})
	}
}

// A disk that is full is an error that says so.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	s := spawn(t, "sql", "--format", "csv", "-c", "SELECT 1")
	s.Stdout = full
	s.start(t)
	if code := s.code(t, 5*time.Second); code != exitFailed || !strings.Contains(s.stderr.String(), "no space is left") {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// A statement runs as soon as its semicolon has come, while the program that writes statements waits for what they give.
func TestConversation(t *testing.T) {
	s := spawn(t, "sql", "--format", "csv", "--tables", dataDir(t))
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := s.pipe(t, &s.Stdout)
	s.start(t)
	lines := bufio.NewReader(out)
	for _, step := range []struct{ say, want string }{
		{"SELECT count(*) AS n FROM region;", "n\n5\n"},
		{" SELECT ';' AS s; SELECT", "s\n;\n"},
		{" 7 AS x;\n\n", "x\n7\n"},
	} {
		if _, err := io.WriteString(in, step.say); err != nil {
			t.Fatal(err)
		}
		got := ""
		for len(got) < len(step.want) {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			got += line
		}
		if got != step.want {
			t.Errorf("after %q: %q, want %q", step.say, got, step.want)
		}
	}
	_ = in.Close()
	if code := s.code(t, 5*time.Second); code != exitOK {
		t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
}

// Servers say where they are on their first line, end by SIGTERM with code 0 and by Ctrl-C at once, also while a query runs.
func TestServersEnd(t *testing.T) {
	for _, tc := range []struct {
		signal os.Signal
		want   int
	}{{syscall.SIGTERM, exitOK}, {os.Interrupt, exitInterrupted}} {
		t.Run(tc.signal.String(), func(t *testing.T) {
			w, worker := server(t, "worker", "--listen", "127.0.0.1:0", "--version", "v9", "--read-root", dataDir(t))
			c, coordinator := server(t, "serve", "--listen", "127.0.0.1:0", "--workers", worker, "--tables", dataDir(t))
			if tc.signal == os.Interrupt {
				client := spawn(t, "sql", "--connect", coordinator, "-c", endless)
				client.start(t)
				<-time.After(300 * time.Millisecond)
			}
			log := t.TempDir() // of one segment and a file that is none, which history tells of, but not first
			for _, name := range []string{"20260102T150405Z-0123456789abcdef0123456789abcdef-000001.jsonl", "notes.txt"} {
				if err := os.WriteFile(filepath.Join(log, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h, _ := server(t, "history", "--listen", "127.0.0.1:0", "--dir", log, "--cache-dir", t.TempDir())
			for _, s := range []*spawned{h, c, w} {
				if err := s.Process.Signal(tc.signal); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range []*spawned{h, c, w} {
				if code := s.code(t, 3*time.Second); code != tc.want {
					t.Errorf("%s: exit code %d: %s", s.Args[1], code, s.stderr.String())
				}
			}
		})
	}
}

// server starts a server and gives the URL that its first line on standard error says.
func server(t *testing.T, args ...string) (*spawned, string) {
	t.Helper()
	s := spawn(t, args...)
	out := s.pipe(t, &s.Stderr)
	s.start(t)
	said := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		said <- line
		_, _ = io.Copy(io.Discard, lines)
	}()
	select {
	case line := <-said:
		_, rest, ok := strings.Cut(line, " at ")
		url, _, comma := strings.Cut(rest, ",")
		if !ok || !comma {
			t.Fatalf("fletch %s says %q", args[0], line)
		}
		return s, url
	case <-time.After(10 * time.Second):
		t.Fatalf("fletch %s says nothing", args[0])
	}
	return nil, ""
}

// tetheredTo are the children of a demo whose temporary files are in temp.
func tetheredTo(t *testing.T, temp string) (pids []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	token := []byte(envTether + "=" + temp)
	for _, path := range list {
		if env, err := os.ReadFile(path); err == nil && bytes.Contains(env, token) {
			pids = append(pids, strings.Split(path, "/")[2])
		}
	}
	return pids
}

// nothingLeft checks that a demo has left neither process nor file within two seconds.
func nothingLeft(t *testing.T, temp string) {
	t.Helper()
	eventually(t, 2*time.Second, func() string {
		if pids := tetheredTo(t, temp); len(pids) > 0 {
			return "processes are left: " + strings.Join(pids, " ")
		}
		if files, err := os.ReadDir(temp); err != nil || len(files) > 0 {
			return "a file is left: " + files[0].Name()
		}
		return ""
	})
}

func TestDemo(t *testing.T) {
	s := spawn(t, "demo")
	var out bytes.Buffer
	s.Stdout = &out
	s.start(t)
	if code := s.code(t, time.Minute); code != exitOK {
		t.Fatalf("exit code %d: %s\n%s", code, s.stderr.String(), out.String())
	}
	for _, want := range []string{"version v2", "│ N            │ O            │", "HashJoin", "its cohort is not larger", "Everything is gone"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, out.String())
		}
	}
	if s.stderr.Len() > 0 {
		t.Errorf("it says %q", s.stderr.String())
	}
	nothingLeft(t, s.temp)
}

// However and whenever a demo is killed, itself or the program that started it, nothing of it is left.
func TestDemoKilled(t *testing.T) {
	for _, tc := range []struct {
		name   string
		parent bool // the demo has one of its own, which is killed
		at     string
		signal syscall.Signal
	}{
		{"itself, at once", false, "fletch demo", syscall.SIGKILL},
		{"itself, while it makes data", false, "version v2", syscall.SIGKILL},
		{"itself, while it runs queries", false, "coordinator", syscall.SIGKILL},
		{"its parent, while it makes data", true, "version v1", syscall.SIGKILL},
		{"its parent, while it stays", true, "stays until", syscall.SIGKILL},
		{"Ctrl-C while it makes data", false, "version v1", syscall.SIGINT},
		{"Ctrl-C while it stays", false, "stays until", syscall.SIGINT},
		{"SIGTERM while it stays", false, "stays until", syscall.SIGTERM},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := spawn(t, "demo", "--keep")
			if tc.parent { // as go run does: it passes no signal on
				s.Cmd.Args = []string{"sh", "-c", "exec -a fletch \"$0\" demo --keep & wait", s.Path}
				s.Path = "/bin/bash"
			}
			out := s.pipe(t, &s.Stdout)
			s.start(t)
			lines := bufio.NewScanner(out)
			seen := false
			for !seen && lines.Scan() {
				seen = strings.Contains(lines.Text(), tc.at)
			}
			if !seen {
				t.Fatalf("it never said %q: %s", tc.at, s.stderr.String())
			}
			if err := s.Process.Signal(tc.signal); err != nil {
				t.Fatal(err)
			}
			nothingLeft(t, s.temp)
			if tc.signal != syscall.SIGKILL {
				if code := s.code(t, time.Second); code != exitInterrupted {
					t.Errorf("exit code %d: %s", code, s.stderr.String())
				}
			}
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, out) // ends when the demo, which holds the other end, has
				ended <- err
			}()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(2 * time.Second):
				t.Error("the demo itself goes on")
			}
		})
	}
}

// controlling makes the process the leader of a session of its own, whose terminal is its standard input: Ctrl-C there is for it.
func controlling() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
