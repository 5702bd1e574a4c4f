// Package git asks the git of a repository the few questions that a release and its history need: trees, who added a file,
// what changed since. It must never change anything.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// A Repo is a folder that may lie in a git repository or worktree. Paths are relative to the folder.
type Repo struct{ Dir string }

// A History says whether the past of a repository is there to be asked.
type History int

// The states of a history.
const (
	None    History = iota // no repository, or none with a commit
	Shallow                // a clone that was cut off
	Full
)

// History tells which there is.
func (r Repo) History(ctx context.Context) History {
	out, err := r.run(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return None
	}
	if strings.TrimSpace(out) == "true" {
		return Shallow
	}
	if _, err := r.run(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return None
	}
	return Full
}

// Dirty are the changes that are not committed, one line of git status --porcelain each.
func (r Repo) Dirty(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return nil, err
	}
	return lines(out), nil
}

// Trees are the hashes of folders at a commit, in the order of the folders; "" for one that is not there.
func (r Repo) Trees(ctx context.Context, commit string, folders []string) ([]string, error) {
	objects := make([]string, len(folders))
	for i, f := range folders {
		objects[i] = commit + ":./" + f
	}
	return r.Objects(ctx, objects)
}

// Objects are the hashes that names such as COMMIT:./PATH stand for; "" where there is none.
func (r Repo) Objects(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	cmd := r.command(ctx, "cat-file", "--batch-check=%(objectname)")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	out, err := output(cmd)
	if err != nil {
		return nil, err
	}
	found := lines(out)
	if len(found) != len(names) {
		return nil, fmt.Errorf("git cat-file gave %d objects for %d names", len(found), len(names))
	}
	for i, line := range found {
		if strings.Contains(line, " ") { // NAME missing
			found[i] = ""
		}
	}
	return found, nil
}

// Added gives, for each path that matches the pattern and that a commit before HEAD ever added, the oldest commit that did.
func (r Repo) Added(ctx context.Context, pattern string) (map[string]string, error) {
	// -c shows of a merge what neither side has, so that nothing comes in through one unseen.
	out, err := r.run(ctx, "log", "-c", "--no-renames", "--diff-filter=A", "--name-only", "--relative", "--format=commit %H", "-z", "HEAD", "--", ":(glob)"+pattern)
	if err != nil {
		return nil, err
	}
	added := map[string]string{}
	commit := ""
	for _, field := range strings.FieldsFunc(out, func(c rune) bool { return c == 0 || c == '\n' }) {
		if hash, ok := strings.CutPrefix(field, "commit "); ok {
			commit = hash
		} else {
			added[field] = commit // newest first, so that the oldest stays
		}
	}
	return added, nil
}

// A Change is a file that differs from a commit.
type Change struct {
	Status string // as git diff --name-status: M, D, A, T
	Path   string
}

// Changed are the files below folder that differ from what they were at a commit, in the working tree.
func (r Repo) Changed(ctx context.Context, commit, folder string) ([]Change, error) {
	out, err := r.run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--relative", "--name-status", "-z", commit, "--", folder)
	if err != nil {
		return nil, err
	}
	var changes []Change
	fields := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		changes = append(changes, Change{fields[i], fields[i+1]})
	}
	return changes, nil
}

// Since are HEAD and all commits before it down to first, oldest first; a commit never stands before its parents.
func (r Repo) Since(ctx context.Context, first string) ([]string, error) {
	out, err := r.run(ctx, "rev-list", "--reverse", "--topo-order", "--ancestry-path", first+"..HEAD")
	if err != nil {
		return nil, err
	}
	return append([]string{first}, lines(out)...), nil
}

func (r Repo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", r.Dir, "-c", "core.quotePath=false"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0")
	return cmd
}

func (r Repo) run(ctx context.Context, args ...string) (string, error) {
	return output(r.command(ctx, args...))
}

func output(cmd *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("git is not in $PATH")
		}
		return "", fmt.Errorf("git: %w: %s", err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

func lines(s string) []string {
	if s = strings.TrimRight(s, "\n"); s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}
