package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// A person is a terminal with fletch on it.
type person struct {
	*spawned
	terminal *os.File
	mu       sync.Mutex
	seen     strings.Builder
	more     chan struct{}
}

// sits starts fletch on a terminal of 60 columns.
func sits(t *testing.T, s *spawned) *person {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	p := &person{spawned: s, terminal: master, more: make(chan struct{}, 1)}
	s.Env = append(s.Env, "TERM=xterm", "NO_COLOR=")
	s.Stdin, s.Stdout, s.Stderr = slave, slave, slave
	s.SysProcAttr = controlling()
	s.given = append(s.given, slave)
	s.start(t)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(p, master) // ends with an error when the terminal does
	}()
	t.Cleanup(func() {
		_ = s.Process.Kill()
		<-read
		_ = master.Close()
	})
	return p
}

func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.seen.Write(b)
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// types types keys.
func (p *person) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.terminal.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// sees waits until a text is on the screen, and gives what came up to its end. Later calls look behind that.
func (p *person) sees(t *testing.T, text string) string {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		p.mu.Lock()
		all := p.seen.String()
		if i := strings.Index(all, text); i >= 0 {
			p.seen.Reset()
			p.seen.WriteString(all[i+len(text):])
			p.mu.Unlock()
			return all[:i+len(text)]
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-limit:
			t.Fatalf("%q does not come; there is %q", text, all)
		}
	}
}

func TestPrompt(t *testing.T) {
	s := spawn(t, "sql", "--tables", dataDir(t))
	p := sits(t, s)
	p.sees(t, "fletch> ")
	p.types(t, "SELECT r_name\r")
	p.sees(t, "...> ")
	p.types(t, "FROM region ORDER BY 1 LIMIT 1;\r")
	p.sees(t, "AFRICA")
	p.sees(t, "(1 row in ")
	p.sees(t, "fletch> ")

	p.types(t, "SELECT nonsense;\r") // an error does not end the session
	p.sees(t, `column "nonsense" does not exist`)
	p.sees(t, "fletch> ")

	p.types(t, "CREATE TABLE mine (a INT);\r")
	p.sees(t, "(done in ")
	p.sees(t, "fletch> ")
	p.types(t, `\d region`+"\r")
	p.sees(t, "r_regionkey")
	p.sees(t, "fletch> ")
	p.types(t, `\d`+"\r")
	p.sees(t, "partsupp")
	p.sees(t, "fletch> ")
	p.types(t, `\nonsense`+"\r")
	p.sees(t, `there is no command \nonsense`)
	p.sees(t, "fletch> ")
	if err := p.Process.Signal(os.Interrupt); err != nil { // between statements: nothing to end
		t.Fatal(err)
	}

	p.types(t, "SELECT 'half a line\x03") // Ctrl-C forgets what is typed
	p.sees(t, "^C")
	p.sees(t, "fletch> ")
	p.types(t, "SELECT 40 + 2 AS answer;\r")
	p.sees(t, "42")
	p.sees(t, "fletch> ")

	p.types(t, endless+";\r") // Ctrl-C ends the statement, not the session
	p.sees(t, "rows read")
	p.types(t, "\x03")
	p.sees(t, "canceling statement due to user request")
	p.sees(t, "fletch> ")

	p.types(t, "\x1b[A\x1b[A\r") // two up: the statement before, whole
	p.sees(t, "42")
	p.sees(t, "fletch> ")
	p.types(t, "\x04")
	if code := p.code(t, 2*time.Second); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	kept, err := os.ReadFile(filepath.Join(s.temp, ".local", "state", "fletch", "history"))
	if err != nil || !strings.HasPrefix(string(kept), "SELECT r_name FROM region ORDER BY 1 LIMIT 1;\nSELECT nonsense;\n") {
		t.Errorf("the history is %q, %v", kept, err)
	}
}

// A result on a terminal fits it, and nothing of the progress is left before it.
func TestTerminal(t *testing.T) {
	p := sits(t, spawn(t, "sql", "--tables", dataDir(t), "-c", "SELECT n_name, n_nationkey, NULL AS x, n_comment FROM nation ORDER BY 1 LIMIT 1"))
	out := p.sees(t, "has all)")
	if !strings.Contains(out, "\x1b[2mNULL\x1b[0m") || !strings.Contains(out, "…") {
		t.Errorf("it shows %q", out)
	}
	if code := p.code(t, 5*time.Second); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	binary := sits(t, spawn(t, "sql", "--format", "parquet", "-c", "SELECT 1"))
	binary.sees(t, "--format parquet is not for terminals")
	if code := binary.code(t, 5*time.Second); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	p := sits(t, spawn(t, "sql", "--connect", newCluster(t).server, "-c", endless))
	p.sees(t, "tasks, ")
	p.types(t, "\x03")
	p.sees(t, "canceling statement due to user request")
	if code := p.code(t, time.Second); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestJoined(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"SELECT 1;", "SELECT 1;"},
		{"SELECT 1 -- one\n  , 2\n;", "SELECT 1 , 2 ;"},
		{"SELECT '--'\n, '-- no'", "SELECT '--' , '-- no'"},
	} {
		if got := joined(tc.text); got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}
