package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func written(t *testing.T, surface, released string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := run(t.Context(), []string{surface, dir, released}); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var b []byte
			b, err = os.ReadFile(filepath.Join(dir, p))
			files[p] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if released == "" {
		if again := written(t, surface, dir); !maps.Equal(files, again) {
			t.Errorf("%s: the same build gives other vectors against its own", surface)
		}
	}
	return files
}

// Vectors are the same each time, and hold what they are for.
func TestVectors(t *testing.T) {
	t.Chdir("../../..")
	identity, worker, api := written(t, "identity", ""), written(t, "worker", ""), written(t, "api", "")
	for path, want := range map[string]string{
		"hash/spec.txt": "1\n", "stream/read_whole.txt": "complete, 3 rows\n", "stream/read_without_end.txt": "refused after 3 rows\n",
		"stream/read_end_of_other_rows.txt": "refused after 3 rows\n", "limits/partitions.txt": "1024\n", "limits/plan_depth.txt": "500\n",
	} {
		if worker[path] != want {
			t.Errorf("worker: %s is %q, want %q", path, worker[path], want)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(worker)) {
		text := worker[path]
		if strings.HasPrefix(path, "plans/") && strings.HasSuffix(path, ".txt") && !strings.HasPrefix(text, "decodes to the same plan\n") {
			t.Errorf("worker: %s: %s", path, text)
		}
		if strings.HasPrefix(path, "aggregates/") && strings.Contains(text, "internal_error") {
			t.Errorf("worker: %s: %s", path, text)
		}
	}
	if !strings.Contains(identity["refusals/mismatch.txt"], "fletch.identity.v1.VersionMismatch") || identity["headers/instance.txt"] != "fletch-instance\n" {
		t.Errorf("identity: %q", identity)
	}
	if !strings.Contains(api["errors/division_by_zero.txt"], "fletch.api.v1.ErrorDetail") {
		t.Errorf("api: %q", api["errors/division_by_zero.txt"])
	}
}
