package gate

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/lock"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// writeVectors runs the surface's command: its last two arguments are the folder to write into and the folder with the vectors
// of the last release, "" where there are none.
func (c *check) writeVectors(ctx context.Context, s config.Surface, out, released string) error {
	command := append(slices.Clone(s.Vectors), out, released)
	if strings.Contains(command[0], "/") {
		command[0] = c.path(command[0])
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = c.opts.Root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the golden vectors of %s could not be written: %s: %w\n  %s", s.Name, strings.Join(s.Vectors, " "), err, strings.ReplaceAll(strings.TrimSpace(stderr.String()), "\n", "\n  "))
	}
	return nil
}

// vectors compares what the tree computes now with what was frozen. What is new is nobody's loss.
func (c *check) vectors(ctx context.Context, s config.Surface, peer verdict.Peer) (found []verdict.Finding, compared int, err error) {
	last := c.last()
	if len(s.Vectors) == 0 || last == nil || c.opts.Against != "" {
		return nil, 0, nil
	}
	prefix := lock.Vectors(s.Name) + "/"
	var frozen []string
	for p := range last.Lock.Files {
		if strings.HasPrefix(p, prefix) {
			frozen = append(frozen, p)
		}
	}
	if len(frozen) == 0 {
		return nil, 0, nil
	}
	slices.Sort(frozen)
	dir, err := os.MkdirTemp("", "protogate-")
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := c.writeVectors(ctx, s, dir, filepath.Join(last.Dir, filepath.FromSlash(prefix))); err != nil {
		return nil, 0, err
	}
	for _, p := range frozen {
		name := path.Join(c.cfg.Released, last.Lock.Release, p)
		was, err := os.ReadFile(filepath.Join(last.Dir, filepath.FromSlash(p)))
		if err != nil {
			continue // a fault of the release, which has its own verdict
		}
		is, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(p, prefix))))
		f := verdict.Finding{Class: verdict.Break, Path: name}
		switch {
		case err != nil:
			f.Rule, f.Message = verdict.VectorRemoved, fmt.Sprintf("Golden vector %s is no longer written: what it held in place is gone.", strings.TrimPrefix(p, prefix))
		case !bytes.Equal(was, is):
			f.Rule = verdict.VectorChanged
			f.Line, f.Message = difference(strings.TrimPrefix(p, prefix), was, is)
		default:
			continue
		}
		f.Why = verdict.Why(f.Rule, peer)
		found = append(found, f)
	}
	return found, len(frozen), nil
}

// difference says where two vectors part.
func difference(name string, was, is []byte) (line int, message string) {
	if bytes.IndexByte(was, 0) >= 0 || bytes.IndexByte(is, 0) >= 0 {
		return 0, fmt.Sprintf("Golden vector %s changed: %d bytes were frozen, %d are written now.", name, len(was), len(is))
	}
	a, b := strings.Split(string(was), "\n"), strings.Split(string(is), "\n")
	line = 1
	for line <= min(len(a), len(b)) && a[line-1] == b[line-1] {
		line++
	}
	at := func(lines []string) string {
		if line > len(lines) {
			return "the end"
		}
		return fmt.Sprintf("%q", clip(lines[line-1]))
	}
	return line, fmt.Sprintf("Golden vector %s changed in line %d from %s to %s.", name, line, at(a), at(b))
}

// clip cuts a long line.
func clip(s string) string {
	const most = 160
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
