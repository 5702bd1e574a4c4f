package modproxy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/ci/modproxy"
	"golang.org/x/mod/module"
)

// next is the version that the tree's modules require each other at.
const next = "v0.2.0"

// A stranger is someone who has the Go command, and a proxy with Fletch's next release; nothing of this tree.
type stranger struct{ env []string }

func newStranger(t *testing.T) stranger {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	proxy, home := t.TempDir(), t.TempDir()
	for _, dir := range []string{"engine", "gen", "services"} {
		v := module.Version{Path: "github.com/fletchdb/fletch/" + dir, Version: next}
		if err := modproxy.Pack(t.Context(), proxy, root, dir, v); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	cache, public, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return stranger{append(
		os.Environ(),
		// What this machine has downloaded already stands before the public proxy.
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+public,
		"GONOSUMDB=github.com/fletchdb/*",
		"GOWORK=off",
		"GOFLAGS=-mod=mod -modcacherw -trimpath", // trimmed, packages compiled elsewhere are found in the build cache
		"GOMODCACHE="+filepath.Join(home, "mod"),
		"GOBIN="+filepath.Join(home, "bin"),
		"CGO_ENABLED=0",
		"PATH="+filepath.Join(home, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
	)}
}

// run runs a command in folder and gives what it printed to both outputs.
func (s stranger) run(t *testing.T, folder string, command ...string) string {
	t.Helper()
	// A shell looks the program up in the stranger's PATH, not in this test's.
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `exec "$@"`, "sh"}, command...)...)
	cmd.Dir, cmd.Env = folder, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

// A stranger installs the command, and builds and runs each program in testdata as a module of its own.
func TestStranger(t *testing.T) {
	s := newStranger(t)
	t.Run("install", func(t *testing.T) {
		folder := t.TempDir()
		s.run(t, folder, "go", "install", "github.com/fletchdb/fletch/services/cmd/fletch@"+next)
		if out := s.run(t, folder, "fletch", "version"); !strings.Contains(out, next) {
			t.Errorf("fletch version prints %q, want %s in it", out, next)
		}
	})
	for _, tc := range []struct {
		program, needs, want string
	}{
		{"engine", "github.com/fletchdb/fletch/engine", "42\n"},
		{"worker", "github.com/fletchdb/fletch/services", "2.4.1 <nil> <nil>\n"},
	} {
		t.Run(tc.program, func(t *testing.T) {
			folder := t.TempDir()
			source, err := os.ReadFile(filepath.Join("testdata", tc.program, "main.go"))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "main.go"), source, 0o666); err != nil {
				t.Fatal(err)
			}
			s.run(t, folder, "go", "mod", "init", "example.com/embed")
			s.run(t, folder, "go", "get", tc.needs+"@"+next)
			s.run(t, folder, "go", "build", "-o", "embed", ".")
			if out := s.run(t, folder, "./embed"); out != tc.want {
				t.Errorf("it prints %q, want %q", out, tc.want)
			}
		})
	}
}
