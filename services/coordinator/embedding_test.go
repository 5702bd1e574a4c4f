package coordinator_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/clustertest"
)

// programs are the Go programs of a page, built.
func programs(t *testing.T, page string) []string {
	t.Helper()
	module := clustertest.Module(t, "services")
	text, err := os.ReadFile(filepath.Join(module, "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)\n```go\n(package main\n.*?)```\n").FindAllSubmatch(text, -1) {
		dir := t.TempDir()
		source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
		if err := os.WriteFile(source, m[1], 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"vet", source}, {"build", "-o", binary, source}} {
			cmd := exec.Command("go", args...)
			cmd.Dir = module
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %s", page, text)
			}
		}
		out = append(out, binary)
	}
	return out
}

// startProgram starts a program that prints its URL, in the folder of the test's tables. At the end of the test it is told to end.
func startProgram(t *testing.T, env []string, name string, args ...string) (url string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stderr = append(os.Environ(), env...), clustertest.TPCH(t), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		kill.Stop()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("%s says nothing", name)
	}
	return lines.Text()
}

// The programs of docs/embedding.md are what the page says: a worker with a version and a function, and a coordinator whose resolver names
// the workers of one version.
func TestEmbedding(t *testing.T) {
	built := programs(t, "embedding.md")
	if len(built) != 2 {
		t.Fatalf("the page has %d programs", len(built))
	}
	v1 := startProgram(t, []string{"FLETCH_WORKER_VERSION=v1"}, built[0])
	v2 := startProgram(t, []string{"FLETCH_WORKER_VERSION=v2"}, built[0])
	c := connectTo(t, startProgram(t, nil, built[1], "v1", v1, v2))
	rows, end, err := run(t.Context(), c, "SELECT half(r_regionkey) FROM 'region.parquet' WHERE half(r_regionkey) > 1", client.Options{})
	if err != nil || rows != "[[1.5] [2]]" {
		t.Errorf("%s, %v", rows, err)
	}
	if w := end.GetWorkers(); len(w) != 1 || w[0].GetUrl() != v1 || w[0].GetVersion() != "v1" {
		t.Errorf("it ran on %v", w)
	}
	if _, _, err := run(t.Context(), c, "SELECT third(r_regionkey) FROM 'region.parquet'", client.Options{}); sqlerr.CodeOf(err) != sqlerr.UnknownFunction {
		t.Errorf("a function that is not there: %v", err)
	}
}
