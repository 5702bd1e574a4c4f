package coordinator_test

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// A worker that is told to end takes no new query, serves those that it knows to their end, and exits with 0; new queries run
// elsewhere and count one attempt.
func TestDrainedWorker(t *testing.T) {
	t.Run("SIGTERM", func(t *testing.T) {
		testDrainedWorker(t, func(w *clustertest.Process) {
			if err := w.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("fletch worker drain", func(t *testing.T) {
		testDrainedWorker(t, func(w *clustertest.Process) {
			out, err := exec.Command(clustertest.Fletch(t), "worker", "drain", w.URL, "--instance", strings.Repeat("0", 32)).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "the call is meant for worker") {
				t.Fatalf("draining another instance: %s, %v", out, err)
			}
			out, err = exec.Command(clustertest.Fletch(t), "worker", "drain", w.URL).CombinedOutput()
			if err != nil || !strings.Contains(string(out), `version "v1"`) {
				t.Fatalf("%s, %v", out, err)
			}
		})
	})
}

func testDrainedWorker(t *testing.T, tell func(*clustertest.Process)) {
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
	tell(workers[0])
	until(t, func() bool {
		list, err := c.Workers(t.Context())
		return err == nil && slices.ContainsFunc(list, func(w *apiv1.Worker) bool {
			return w.GetUrl() == workers[0].URL && w.GetState() == apiv1.WorkerState_WORKER_STATE_DRAINING
		})
	})
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
