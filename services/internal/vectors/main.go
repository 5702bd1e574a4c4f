// Vectors writes the golden vectors of a surface: what this build computes, frames and limits that no schema shows. It calls the
// code that ships, and must never hold a copy of it.
//
//	vectors identity|worker|api OUT [RELEASED]
//
// OUT is the folder to write into. RELEASED holds the vectors of the last release: the plans frozen there are decoded and run by
// this build, where without it new ones are encoded. It runs at the repository's root.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "vectors:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 || len(args) > 3 {
		return fmt.Errorf("usage: vectors identity|worker|api OUT [RELEASED]")
	}
	w := &writer{out: args[1]}
	if len(args) == 3 {
		w.released = args[2]
	}
	switch args[0] {
	case "identity":
		headers(w)
		refusals(w)
	case "worker":
		hashes(w)
		functions(ctx, w)
		aggregates(ctx, w)
		stream(ctx, w)
		workerErrors(w)
		workerLimits(w)
		plans(ctx, w)
	case "api":
		apiVersions(w)
		apiErrors(w)
		answers(w)
	default:
		return fmt.Errorf("no surface %q", args[0])
	}
	return w.err
}

// A writer writes the vectors and keeps the first error.
type writer struct {
	out, released string
	err           error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// file writes one vector.
func (w *writer) file(name string, content []byte) {
	path := filepath.Join(w.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		w.fail(err)
		return
	}
	if err := os.WriteFile(path, content, 0o666); err != nil {
		w.fail(err)
	}
}

// lines writes one vector of text.
func (w *writer) lines(name string, lines ...string) {
	w.file(name, []byte(strings.Join(lines, "\n")+"\n"))
}

// fileName is a function's name as a file has it: operators are spelled out.
func fileName(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, "x%02x", c)
		}
	}
	return b.String()
}
