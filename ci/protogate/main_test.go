package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain is also what buf calls as the plugin when a test runs a check.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "plugin" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	// The pinned buf of this repository goes before any other.
	if found, err := filepath.Glob("../tools/node_modules/@bufbuild/buf-*/bin"); err == nil && len(found) == 1 {
		if dir, err := filepath.Abs(found[0]); err == nil {
			_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
	}
	if _, err := exec.LookPath("buf"); err != nil {
		fmt.Fprintln(os.Stderr, "these tests run buf, and there is none: npm --prefix ci/tools ci")
		os.Exit(1)
	}
	for key, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com",
	} {
		_ = os.Setenv(key, value)
	}
	os.Exit(m.Run())
}

// protogate runs a command in the repository at root.
func protogate(t *testing.T, root, command string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(t.Context(), append([]string{command, "-C", root}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// ok fails the test unless the command ends with 0; it gives what it printed.
func ok(t *testing.T, root, command string, args ...string) string {
	t.Helper()
	code, out, errs := protogate(t, root, command, args...)
	if code != 0 {
		t.Fatalf("protogate %s %s: exit code %d\n%s%s", command, strings.Join(args, " "), code, out, errs)
	}
	return out
}

func git(t *testing.T, root string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root, "-c", "init.defaultBranch=main"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits all that is there.
func commitAll(t *testing.T, root, message string) string {
	t.Helper()
	git(t, root, "add", "-A")
	git(t, root, "commit", "-q", "--allow-empty", "-m", message)
	return git(t, root, "rev-parse", "HEAD")
}

func write(t *testing.T, root, path, text string) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// edit replaces what stands exactly once in a file.
func edit(t *testing.T, root, path, from, to string) {
	t.Helper()
	text := read(t, root, path)
	if n := strings.Count(text, from); n != 1 {
		t.Fatalf("%q stands %d times in %s, want once", from, n, path)
	}
	write(t, root, path, strings.Replace(text, from, to, 1))
}
