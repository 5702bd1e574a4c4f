// Package buf runs the pinned buf: it compiles modules to images and compares two images. It reads buf's exit codes as what they
// are, so that a schema that does not compile is never taken for one that breaks, nor for one that does not. It must never know
// what a finding means.
package buf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
)

// A Buf is a program that was found.
type Buf struct {
	path string
	root string // where it runs
}

// Find looks for the buf of a repository at root. An error says how it is to be installed.
func Find(root string, c config.Buf) (*Buf, error) {
	if c.Path == "" {
		path, err := exec.LookPath("buf")
		if err != nil {
			return nil, errors.New("buf is not in $PATH: install it (npm install @bufbuild/buf), or name the program as buf.path in the configuration")
		}
		return &Buf{path, root}, nil
	}
	matches, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(c.Path)))
	switch {
	case err != nil:
		return nil, fmt.Errorf("buf.path %q is no pattern: %w", c.Path, err)
	case len(matches) == 0:
		return nil, fmt.Errorf("buf is missing: nothing matches %s; install the repository's tools first", c.Path)
	case len(matches) > 1:
		return nil, fmt.Errorf("buf.path %q matches %d files, it must match one", c.Path, len(matches))
	}
	return &Buf{matches[0], root}, nil
}

// CheckVersion compares what buf says of itself with the pinned version. An empty one is not compared.
func (b *Buf) CheckVersion(ctx context.Context, want string) error {
	if want == "" {
		return nil
	}
	out, _, err := b.run(ctx, "--version")
	if err != nil {
		return fmt.Errorf("run buf: %w", err)
	}
	if have := strings.TrimSpace(string(out)); have != want {
		return fmt.Errorf("buf is %s, the configuration pins %s: install that, other rules would give other verdicts", have, want)
	}
	return nil
}

// Build compiles an input, a folder or any reference that buf takes, to an image with its imports.
func (b *Buf) Build(ctx context.Context, input string) ([]byte, error) {
	out, stderr, err := b.run(ctx, "build", input, "-o", "-#format=binpb", "--error-format", "text")
	if err != nil {
		return nil, fmt.Errorf("%s does not compile:\n%s", input, indent(stderr, err))
	}
	return out, nil
}

// An Annotation is one finding of buf breaking.
type Annotation struct {
	Path    string `json:"path"` // in the module; empty where a whole module is meant
	Line    int    `json:"start_line"`
	Column  int    `json:"start_column"`
	Rule    string `json:"type"`
	Message string `json:"message"`
}

// A Plugin is a program of further rules.
type Plugin struct {
	Command []string
	Options map[string][]string
}

// exitFindings is buf's exit code for findings, and for a schema that does not compile.
const exitFindings = 100

// Breaking compares two images by rules, of which some may be the plugin's.
func (b *Buf) Breaking(ctx context.Context, current, baseline []byte, rules []string, plugin *Plugin) ([]Annotation, error) {
	dir, err := os.MkdirTemp("", "protogate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := map[string]any{"version": "v2", "breaking": map[string]any{"use": rules}}
	if plugin != nil {
		cfg["plugins"] = []any{map[string]any{"plugin": plugin.Command, "options": plugin.Options}}
	}
	cfgText, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	current1, baseline1 := filepath.Join(dir, "current.binpb"), filepath.Join(dir, "baseline.binpb")
	for path, data := range map[string][]byte{current1: current, baseline1: baseline} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return nil, err
		}
	}
	out, stderr, err := b.run(ctx, "breaking", current1, "--against", baseline1, "--config", string(cfgText), "--error-format", "json")
	if err == nil {
		return nil, nil
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != exitFindings {
		return nil, fmt.Errorf("buf breaking failed:\n%s", indent(stderr, err))
	}
	var found []Annotation
	for line := range bytes.Lines(out) {
		var a Annotation
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("read the findings of buf breaking: %w", err)
		}
		if a.Rule == "COMPILE" {
			return nil, fmt.Errorf("%s:%d:%d: %s", a.Path, a.Line, a.Column, a.Message)
		}
		found = append(found, a)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("buf breaking says that it has findings and gives none:\n%s", indent(stderr, err))
	}
	return found, nil
}

func (b *Buf) run(ctx context.Context, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.Bytes(), errs.Bytes(), err
}

func indent(stderr []byte, err error) string {
	text := strings.TrimSpace(string(stderr))
	if text == "" {
		text = err.Error()
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
