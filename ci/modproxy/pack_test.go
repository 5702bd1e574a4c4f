package modproxy_test

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fletchdb/fletch/ci/modproxy"
	"golang.org/x/mod/module"
)

func TestPack(t *testing.T) {
	root, proxy := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		".gitignore":       "*.out\n",
		"m/go.mod":         "module example.com/m\n",
		"m/m.go":           "package m\n",
		"m/sub/sub.go":     "package sub\n",
		"m/left.out":       "ignored by git",
		"m/nested/go.mod":  "module example.com/m/nested\n",
		"m/nested/x/n.go":  "package x\n",
		"outside/other.go": "package other\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	v := module.Version{Path: "example.com/m", Version: "v0.1.0"}
	if err := modproxy.Pack(t.Context(), proxy, root, "m", v); err != nil {
		t.Fatal(err)
	}
	packed, err := zip.OpenReader(filepath.Join(proxy, "example.com/m/@v/v0.1.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	var names []string
	for _, f := range packed.File {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	want := []string{"example.com/m@v0.1.0/go.mod", "example.com/m@v0.1.0/m.go", "example.com/m@v0.1.0/sub/sub.go"}
	if !slices.Equal(names, want) {
		t.Errorf("the zip has %v, want %v", names, want)
	}
	for _, name := range []string{"list", "v0.1.0.info", "v0.1.0.mod"} {
		if _, err := os.Stat(filepath.Join(proxy, "example.com/m/@v", name)); err != nil {
			t.Error(err)
		}
	}
}
