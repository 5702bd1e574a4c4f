package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/datagen"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/pull"
	"github.com/fletchdb/fletch/services/worker"
)

// The test binary is fletch, too, where it runs by that name: scripts and tests with processes of their own need no other build.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){
		"fletch": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// leakless runs tests and fails them for goroutines that they leave, and removes what they share.
type leakless struct{ m *testing.M }

func (l leakless) Run() int {
	code := l.m.Run()
	if dir, err := data(); err == nil {
		_ = os.RemoveAll(dir)
	}
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// data is the folder of TPC-H at scale factor 0.01, made once.
var data = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "fletch-cli-test-")
	if err != nil {
		return "", err
	}
	return dir, datagen.TPCH(context.Background(), dir, datagen.TPCHOptions{Scale: 0.01})
})

func dataDir(tb testing.TB) string {
	tb.Helper()
	dir, err := data()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// nowhere is a URL at which nobody listens.
func nowhere(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

// A testCluster is a coordinator for workers of version v1 over two of these and one of v2.
type testCluster struct {
	server  string
	workers []string
}

// steered starts two coordinators over c's workers that share a rollout file, and one that has its policy to itself.
func (c *testCluster) steered(tb testing.TB) (shared [2]string, alone, file string) {
	tb.Helper()
	file = filepath.Join(tb.TempDir(), "rollout.json")
	for i := range shared {
		shared[i] = clustertest.Coordinator(tb, c.workers, coordinator.WithTables(dataDir(tb)), coordinator.WithRolloutFile(file)).URL()
	}
	return shared, clustertest.Coordinator(tb, c.workers, coordinator.WithTables(dataDir(tb))).URL(), file
}

func newCluster(tb testing.TB) *testCluster {
	tb.Helper()
	c := &testCluster{}
	for _, version := range []string{"v1", "v1", "v2"} {
		c.workers = append(c.workers, clustertest.Worker(tb, worker.WithVersion(version), worker.WithReadRoots(dataDir(tb))).URL())
	}
	c.server = clustertest.Coordinator(tb, c.workers, coordinator.WithTables(dataDir(tb)), coordinator.WithWorkerVersion("v1")).URL()
	return c
}

// idle checks that within a second no worker has an attempt or a task.
func (c *testCluster) idle(t *testing.T) {
	t.Helper()
	credentials, err := httpserve.Security{}.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := httpserve.NewDialer(credentials, "")
	defer d.Close()
	for _, url := range c.workers {
		client := workerv1connect.NewWorkerServiceClient(pull.Client(d, url, nil))
		eventually(t, time.Second, func() string {
			info, err := client.WorkerInfo(t.Context(), &identityv1.WorkerInfoRequest{})
			if err != nil {
				return err.Error()
			}
			if load := info.GetLoad(); load.GetAttempts()+load.GetTasks() > 0 {
				return fmt.Sprintf("worker %s has %v", url, load)
			}
			return ""
		})
	}
}

func TestScripts(t *testing.T) {
	c := newCluster(t)
	idle := clustertest.Coordinator(t, []string{nowhere(t)}, coordinator.WithTables(dataDir(t))).URL()
	shared, alone, file := c.steered(t)
	testscript.Run(t, testscript.Params{
		Deadline: time.Now().Add(time.Minute), // a server that a mistake starts
		Dir:      filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("DATA", dataDir(t))
			env.Setenv("LOG", filepath.Join(clustertest.Module(t, "services"), "eventlog", "testdata", "v1", "v0.2.0"))
			env.Setenv("SERVER", c.server)
			env.Setenv("WORKER", c.workers[0])
			env.Setenv("SHARED1", shared[0])
			env.Setenv("SHARED2", shared[1])
			env.Setenv("ALONE", alone)
			env.Setenv("ROLLOUT", file)
			env.Setenv("IDLE", idle) // has no worker
			env.Setenv("NOWHERE", nowhere(t))
			env.Setenv("BADVERSION", "v1\x01")
			env.Setenv("TMPDIR", env.WorkDir)
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

// exits is the script command "exits CODE COMMAND ARGS…": it runs a command that must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}
