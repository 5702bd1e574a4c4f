package engine_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fletchdb/fletch/engine"

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// goList is what the go command says of packages and, with -deps, of all that they are built from.
func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var pkgs []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return pkgs
		case err != nil:
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// layers are the lines of layers.txt without comments.
func layers(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestLayers(t *testing.T) {
	order := layers(t)
	// place is the line of an own package; the module's root package stands on top of all.
	place := func(path string) int {
		if path == module {
			return len(order)
		}
		return slices.Index(order, strings.TrimPrefix(path, module+"/"))
	}
	left := slices.Clone(order)
	for _, p := range goList(t, "./...") {
		at := place(p.ImportPath)
		if at < 0 {
			t.Errorf("%s is not in layers.txt", p.ImportPath)
			continue
		}
		left = slices.DeleteFunc(left, func(name string) bool { return module+"/"+name == p.ImportPath })
		for _, in := range p.Imports {
			if strings.HasPrefix(in, module+"/") && place(in) >= at {
				t.Errorf("%s imports %s, which does not stand above it in layers.txt", p.ImportPath, in)
			}
			for _, no := range []string{"net/http", "connectrpc.com/", "github.com/fletchdb/fletch/services"} {
				if strings.HasPrefix(in, no) {
					t.Errorf("%s imports %s: the engine knows no network", p.ImportPath, in)
				}
			}
		}
	}
	for _, name := range left {
		t.Errorf("layers.txt lists %s, which is no package", name)
	}
}

// What embeds the engine must not get an RPC stack with it: neither through the engine's own dependencies nor through the plan's
// messages, which for that reason are a package apart from the worker protocol's.
func TestEngineHasNoRPC(t *testing.T) {
	for _, p := range append(goList(t, "./..."), goList(t, "github.com/fletchdb/fletch/gen/go/fletch/plan/v1")...) {
		for _, dep := range p.Deps {
			if strings.HasPrefix(dep, "google.golang.org/grpc") || strings.HasPrefix(dep, "connectrpc.com/") {
				t.Errorf("%s is built from %s", p.ImportPath, dep)
			}
		}
	}
}
