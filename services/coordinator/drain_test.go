package coordinator_test

import (
	"errors"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// A worker that is told to end takes no new query, serves those that it knows to their end, and exits with 0; new queries run
// elsewhere and count one attempt.
func TestDrainedWorker(t *testing.T) {
	tables := clustertest.TPCH(t)
	var workers []*clustertest.Process
	var urls []string
	for range 2 {
		w := clustertest.Start(t, "worker", "--listen", "127.0.0.1:0", "--version", "v1", "--read-root", tables)
		workers, urls = append(workers, w), append(urls, w.URL)
	}
	c := over(t, urls)
	known, err := c.Query(t.Context(), "SELECT a.l_comment FROM lineitem a, nation", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer known.Close()
	busy(t, urls...)
	if err := workers[0].Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		_, end, err := run(t.Context(), c, spread, client.Options{})
		if err != nil || end.GetAttempts() != 1 {
			t.Fatalf("while a worker drains: %v, %v", end, err)
		}
		return len(end.GetWorkers()) == 1 && end.GetWorkers()[0].GetUrl() == workers[1].URL
	})
	var n int64
	for {
		rec, err := known.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n += rec.NumRows()
	}
	if n != 60175*25 || known.End.GetAttempts() != 1 {
		t.Errorf("%d rows of the query that was known, %v", n, known.End)
	}
	if code, err := workers[0].Wait(10 * time.Second); err != nil || code != 0 {
		t.Errorf("exit code %d, %v", code, err)
	}
}
