package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var kills = []drill{
	{"worker before rows", "a worker is killed while it works, before the first row", 20, 3, killBeforeRows},
	{"worker after rows", "a worker is killed after the first rows", 20, 4, killAfterRows},
	{"coordinator", "the coordinator is killed before the first row", 5, 1, killCoordinator},
	{"coordinator after rows", "the coordinator is killed after the first rows", 5, 2, killCoordinatorAfterRows},
	{"client", "a client is killed", 5, 1, killClient},
	{"worker stops", "a worker's process is stopped, and hangs", 2, 1, stopWorker},
}

// counting takes a while on every worker, and gives its few rows at the end.
const counting = "SELECT l_returnflag, count(*) AS n FROM lineitem, nation a, nation b GROUP BY 1 ORDER BY 1"

// everything gives far more rows than fit between a worker and a client that does not read.
const everything = "SELECT * FROM lineitem"

// answers runs a statement in one process.
func (c *cluster) answers(ctx context.Context, statement string) ([]byte, error) {
	return exec.CommandContext(ctx, c.bin, "sql", "--tables", c.data, "--format", "csv", "-c", statement).Output()
}

// judge notes what ended a query that should give the right rows all the same.
func (r *result) judge(q *query, want []byte, attempts int) error {
	out, s, code, took, err := q.end(nil)
	if err != nil {
		return err
	}
	r.Queries++
	r.Slowest = max(r.Slowest, float64(took.Milliseconds()))
	switch {
	case took >= queryLimit:
		r.Hung++
	case code != 0:
		r.Failed++
		r.fault("exit code %d: %s", code, q.errors.String())
	case !bytes.Equal(out, want):
		r.Wrong++
		r.fault("%q, not %q", out, want)
	case s.Attempts != attempts:
		r.fault("%d attempts, not %d", s.Attempts, attempts)
	}
	if s.Attempts > 1 {
		r.Again++
	}
	for _, w := range s.Workers {
		if w.Version != "v1" {
			r.Mixed++
		}
	}
	return nil
}

func killBeforeRows(ctx context.Context, c *cluster, times int) (r result, err error) {
	want, err := c.answers(ctx, counting)
	if err != nil {
		return r, err
	}
	for i := range times {
		q, err := c.query(ctx, "csv", counting)
		if err != nil {
			return r, err
		}
		if err := c.working(ctx); err != nil {
			return r, err
		}
		victim := c.workers[i%len(c.workers)]
		victim.kill()
		if err := r.judge(q, want, 2); err != nil {
			return r, err
		}
		if err := c.again(victim); err != nil {
			return r, err
		}
		if err := c.settle(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// working waits until every worker has tasks and the query runs: until its progress says so to whoever asks.
func (c *cluster) working(ctx context.Context) error {
	if err := c.busy(ctx); err != nil {
		return err
	}
	return until(ctx, 20*time.Second, "a worker uses memory", func() bool {
		for _, w := range c.workers {
			if l, err := w.load(ctx); err == nil && l.MemoryUsed != "" && l.MemoryUsed != "0" {
				return true
			}
		}
		return false
	})
}

var rowsHadCome = regexp.MustCompile(`(\d+) rows had reached the client`)

func killAfterRows(ctx context.Context, c *cluster, times int) (r result, err error) {
	all, err := c.answers(ctx, everything)
	if err != nil {
		return r, err
	}
	right := map[string]int{}
	for line := range strings.Lines(string(all)) {
		right[line]++
	}
	for i := range times {
		format := formats[i%len(formats)]
		q, err := c.query(ctx, format, everything)
		if err != nil {
			return r, err
		}
		first := make([]byte, 64<<10)
		if _, err := io.ReadFull(q.out, first); err != nil {
			return r, fmt.Errorf("read the first rows: %w: %s", err, q.errors.String())
		}
		victim := c.workers[(i/len(formats)+i)%len(c.workers)]
		victim.kill()
		out, s, code, took, err := q.end(first)
		if err != nil {
			return r, err
		}
		r.Queries++
		r.Slowest = max(r.Slowest, float64(took.Milliseconds()))
		said := rowsHadCome.FindStringSubmatch(q.errors.String())
		switch {
		case took >= queryLimit:
			r.Hung++
		case code == 0:
			r.Wrong++
			r.fault("%s: exit code 0 with %d of %d bytes", format, len(out), len(all))
		case len(said) != 2:
			r.fault("%s: the error does not say how many rows had come: %s", format, q.errors.String())
		case s.Error == nil || s.Error.Code != "worker_lost":
			r.fault("%s: the error is %+v", format, s.Error)
		case looksComplete(format, out):
			r.Wrong++
			r.fault("%s: what was written looks complete", format)
		}
		if code != 0 {
			r.Failed++
			r.AfterRows++
		}
		if format == "csv" && len(said) == 2 {
			told, _ := strconv.Atoi(said[1])
			if n, wrong := countRows(out, right); wrong != "" || n > told {
				r.Wrong++
				r.fault("%d rows were written, %d are said to have come; wrong row: %q", n, told, wrong)
			}
		}
		if err := c.again(victim); err != nil {
			return r, err
		}
		if err := c.settle(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

func killCoordinatorAfterRows(ctx context.Context, c *cluster, times int) (r result, err error) {
	for i := range times {
		format := formats[i%len(formats)]
		q, err := c.query(ctx, format, everything)
		if err != nil {
			return r, err
		}
		first := make([]byte, 64<<10)
		if _, err := io.ReadFull(q.out, first); err != nil {
			return r, fmt.Errorf("read the first rows: %w: %s", err, q.errors.String())
		}
		c.coordinator.kill()
		out, s, code, took, err := q.end(first)
		if err != nil {
			return r, err
		}
		r.Queries++
		r.Failed++
		r.AfterRows++
		r.Slowest = max(r.Slowest, float64(took.Milliseconds()))
		switch {
		case took >= queryLimit:
			r.Hung++
		case code == 0 || looksComplete(format, out):
			r.Wrong++
			r.fault("%s: exit code %d, what was written looks complete", format, code)
		case s.Error == nil:
			r.fault("%s: no error is told of: %s", format, q.errors.String())
		}
		if took, err := c.idle(ctx); err != nil || took > time.Second {
			r.fault("the workers held the query for %s: %v", took, err)
		}
		if err := c.again(c.coordinator); err != nil {
			return r, err
		}
		if err := c.settle(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// formats are what is written in turn.
var formats = []string{"csv", "json", "arrow", "parquet", "ndjson"}

// looksComplete tells whether a reader of the format would take out for a whole result.
func looksComplete(format string, out []byte) bool {
	switch format {
	case "csv":
		_, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
		return err == nil
	case "json":
		return json.Valid(out)
	case "ndjson":
		for line := range bytes.Lines(out) {
			if !json.Valid(line) {
				return false
			}
		}
		return true
	case "arrow":
		// A message of a length that is not there: a stream that merely stops is whole to most readers.
		return !bytes.HasSuffix(out, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	case "parquet":
		return bytes.HasSuffix(out, []byte("PAR1"))
	}
	return true
}

// countRows counts the rows of a CSV that broke off, and gives the first that should not be there.
func countRows(out []byte, right map[string]int) (n int, wrong string) {
	seen := map[string]int{}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, `"INCOMPLETE`) {
			break
		}
		if seen[line]++; seen[line] > right[line] {
			return n, line
		}
		n++
	}
	return n - 1, "" // but for the header
}

func killCoordinator(ctx context.Context, c *cluster, times int) (r result, err error) {
	for range times {
		q, err := c.query(ctx, "csv", counting)
		if err != nil {
			return r, err
		}
		if err := c.working(ctx); err != nil {
			return r, err
		}
		c.coordinator.kill()
		took, err := c.idle(ctx)
		if err != nil {
			return r, err
		}
		if took > time.Second {
			r.fault("the workers held the query for %s", took)
		}
		if err := r.failed(q); err != nil {
			return r, err
		}
		if err := c.again(c.coordinator); err != nil {
			return r, err
		}
		if err := c.settle(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// failed notes the end of a query that cannot give its rows.
func (r *result) failed(q *query) error {
	out, _, code, took, err := q.end(nil)
	if err != nil {
		return err
	}
	r.Queries++
	r.Failed++
	r.Slowest = max(r.Slowest, float64(took.Milliseconds()))
	if code == 0 || len(out) > 0 {
		r.Wrong++
		r.fault("exit code %d: %s", code, out)
	}
	if took >= queryLimit {
		r.Hung++
	}
	return nil
}

func killClient(ctx context.Context, c *cluster, times int) (r result, err error) {
	for i := range times {
		q, err := c.query(ctx, "csv", []string{counting, everything}[i%2])
		if err != nil {
			return r, err
		}
		if err := c.working(ctx); err != nil {
			return r, err
		}
		if err := q.cmd.Process.Kill(); err != nil {
			return r, err
		}
		_ = q.cmd.Wait()
		r.Queries++
		r.Failed++
		took, err := c.idle(ctx)
		if err != nil {
			return r, err
		}
		if took > time.Second {
			r.fault("the workers held the query for %s", took)
		}
	}
	return r, nil
}

// stopWorker stops a worker's process, which its connections outlive: it hangs.
func stopWorker(ctx context.Context, c *cluster, times int) (r result, err error) {
	want, err := c.answers(ctx, counting)
	if err != nil {
		return r, err
	}
	for i := range times {
		q, err := c.query(ctx, "csv", counting)
		if err != nil {
			return r, err
		}
		if err := c.working(ctx); err != nil {
			return r, err
		}
		victim := c.workers[i%len(c.workers)].cmd.Process
		if err := victim.Signal(syscall.SIGSTOP); err != nil {
			return r, err
		}
		judged := r.judge(q, want, 2)
		if err := victim.Signal(syscall.SIGCONT); err != nil {
			return r, err
		}
		if judged != nil {
			return r, judged
		}
		if err := c.settle(ctx); err != nil {
			return r, err
		}
		if _, err := c.idle(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}
