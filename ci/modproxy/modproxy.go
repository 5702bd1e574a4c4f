// Package modproxy lays the tree's own modules out as a Go module proxy in a folder, so that a test can install and embed
// Fletch the way a stranger does, before a release exists. It must never change the tree it packs.
package modproxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// Pack writes the module in folder dir of the git work tree at root, as version v, to the proxy in folder proxy: what
// git tracks or would track, as a checkout of the commit to come has it. Modules nested in dir are left out.
func Pack(ctx context.Context, proxy, root, dir string, v module.Version) error {
	escaped, err := module.EscapePath(v.Path)
	if err != nil {
		return err
	}
	files, err := tracked(ctx, filepath.Join(root, dir))
	if err != nil {
		return err
	}
	at := filepath.Join(proxy, escaped, "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		return err
	}
	gomod, err := os.ReadFile(filepath.Join(root, dir, "go.mod"))
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	if err := zip.Create(&packed, v, files); err != nil {
		return fmt.Errorf("packing %s: %w", v, err)
	}
	info := fmt.Sprintf(`{"Version":%q,"Time":%q}`, v.Version, time.Unix(0, 0).UTC().Format(time.RFC3339))
	for name, content := range map[string][]byte{
		"list":              []byte(v.Version + "\n"),
		v.Version + ".info": []byte(info),
		v.Version + ".mod":  gomod,
		v.Version + ".zip":  packed.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(at, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// tracked are the files of the module in dir that git tracks or would track.
func tracked(ctx context.Context, dir string) ([]zip.File, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", dir, err)
	}
	var files []zip.File
	nested := map[string]bool{}
	names := bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0})
	for _, name := range names {
		if folder, file := path.Split(string(name)); file == "go.mod" && folder != "" {
			nested[folder] = true
		}
	}
	for _, name := range names {
		f := file{dir: dir, name: string(name)}
		if _, err := f.Lstat(); os.IsNotExist(err) || inside(nested, f.name) {
			continue // deleted in the work tree, or of another module
		}
		files = append(files, f)
	}
	return files, nil
}

// inside tells whether a file lies in one of the folders, which end in a slash.
func inside(folders map[string]bool, name string) bool {
	for i, c := range name {
		if c == '/' && folders[name[:i+1]] {
			return true
		}
	}
	return false
}

// A file is one of a module's, as zip wants to see it.
type file struct{ dir, name string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(f.dir, f.name)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.dir, f.name)) }
