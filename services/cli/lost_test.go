package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A worker that is killed after rows have come fails the statement: the error says how many rows had come, and what is printed by
// then is no complete result of any format.
func TestWorkerLostAfterRows(t *testing.T) {
	complete := map[string]func(string) bool{
		"csv":    func(s string) bool { _, err := csv.NewReader(strings.NewReader(s)).ReadAll(); return err == nil },
		"json":   func(s string) bool { return json.Valid([]byte(s)) },
		"ndjson": func(s string) bool { lines := strings.Fields(s); return json.Valid([]byte(lines[len(lines)-1])) },
		"arrow":  func(s string) bool { return readArrow(s) == nil },
		"table":  func(s string) bool { return strings.Contains(s, "┘") || strings.HasSuffix(s, "rows)\n") },
	}
	for format, complete := range complete {
		t.Run(format, func(t *testing.T) {
			w, worker := server(t, "worker", "--listen", "127.0.0.1:0", "--read-root", dataDir(t))
			_, coordinator := server(t, "serve", "--listen", "127.0.0.1:0", "--workers", worker, "--tables", dataDir(t))
			s := spawn(t, "sql", "--connect", coordinator, "--format", format, "-c", "SELECT l_orderkey, l_comment FROM lineitem, nation, region")
			out := s.pipe(t, &s.Stdout)
			s.start(t)
			var printed bytes.Buffer
			if _, err := io.CopyN(&printed, out, 2<<20); err != nil {
				t.Fatal(err, s.stderr.String())
			}
			_ = w.Process.Kill()
			if _, err := io.Copy(&printed, out); err != nil {
				t.Fatal(err)
			}
			if code := s.code(t, 20*time.Second); code != exitFailed {
				t.Errorf("exit code %d", code)
			}
			if !regexp.MustCompile(`(?m)^error: .*[1-9][0-9]* rows had reached the client`).MatchString(s.stderr.String()) {
				t.Errorf("it says %q", s.stderr.String())
			}
			if complete(printed.String()) {
				t.Errorf("what is printed passes for a result; it ends with %q", printed.String()[max(0, printed.Len()-200):])
			}
		})
	}
}
