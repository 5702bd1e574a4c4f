package files

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// Find is the files that a name stands for, at least one, by path: the file of that name; the files below the directory
// of that name that end in ext (".parquet"), but for those whose name, or the name of a directory above them, begins
// with "." or "_"; or the files that match the glob. In a glob * is any part of a name, ? one character, [a-z] one of
// some, and a component ** any number of directories, symbolic links not followed. A name that exists is never a glob.
//
// It fails with FileNotFound, and a near name where there is one, with FileDenied also where a single match may not be
// read, since leaving it out would be a wrong answer, and with InvalidParameter for a malformed glob.
func Find(ctx context.Context, in FS, name, ext string) ([]Info, error) {
	p, err := in.Abs(name)
	if err != nil {
		return nil, err
	}
	info, dir, err := in.Stat(ctx, p)
	switch {
	case err == nil && !dir:
		return []Info{info}, nil
	case err == nil:
		w := walk{ctx: ctx, fs: in}
		if err := w.below(p, ext); err != nil {
			return nil, err
		}
		if len(w.found) == 0 {
			return nil, sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no %s file in directory %q", ext, name).
				WithHint("name the files by a glob, such as '%s'", filepath.Join(name, "*.data"))
		}
		return w.sorted(), nil
	case sqlerr.CodeOf(err) == sqlerr.FileNotFound && isGlob(p):
		return findGlob(ctx, in, name, p)
	case sqlerr.CodeOf(err) == sqlerr.FileNotFound:
		return nil, notFound(ctx, in, name, p)
	}
	return nil, err
}

func findGlob(ctx context.Context, in FS, name, p string) ([]Info, error) {
	dir, parts := split(p)
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "malformed glob %q: %w", name, err).
				WithHint("close every [, and write \\[ for a bracket that is meant")
		}
	}
	if _, isDir, err := in.Stat(ctx, dir); err != nil {
		if sqlerr.CodeOf(err) == sqlerr.FileNotFound {
			return nil, notFound(ctx, in, dir, dir)
		}
		return nil, err
	} else if !isDir {
		return nil, sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "%q is no directory", dir)
	}
	w := walk{ctx: ctx, fs: in}
	if err := w.match(dir, parts); err != nil {
		return nil, err
	}
	if len(w.found) == 0 {
		return nil, sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file matches %q", name).WithHint("it was looked for below %s", dir)
	}
	return w.sorted(), nil
}

func isGlob(p string) bool { return strings.ContainsAny(p, "*?[") }

// split parts a glob into the directory that all its matches are in and the components to match below it.
func split(p string) (dir string, parts []string) {
	all := strings.Split(p, string(filepath.Separator))
	n := slices.IndexFunc(all, isGlob)
	dir = strings.Join(all[:n], string(filepath.Separator))
	if dir == filepath.VolumeName(p) {
		dir += string(filepath.Separator)
	}
	return dir, all[n:]
}

type walk struct {
	ctx   context.Context
	fs    FS
	found []Info
}

// sorted is what was found, once each: ** can reach a file by two ways.
func (w *walk) sorted() []Info {
	slices.SortFunc(w.found, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(w.found)
}

func (w *walk) below(dir, ext string) error {
	entries, err := w.fs.ReadDir(w.ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name)
		switch {
		case strings.HasPrefix(e.Name, ".") || strings.HasPrefix(e.Name, "_"):
		case e.Dir:
			err = w.below(p, ext)
		case strings.EqualFold(filepath.Ext(e.Name), ext):
			err = w.add(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) match(dir string, parts []string) error {
	if parts[0] == "**" {
		if len(parts) > 1 {
			if err := w.match(dir, parts[1:]); err != nil {
				return err
			}
		}
	}
	entries, err := w.fs.ReadDir(w.ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name)
		hidden := strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(parts[0], ".")
		matched, _ := path.Match(parts[0], e.Name)
		switch {
		case hidden || !matched:
		case parts[0] == "**" && e.Dir:
			err = w.match(p, parts)
		case parts[0] == "**" && len(parts) > 1:
		case len(parts) == 1 && !e.Dir:
			err = w.add(p)
		case len(parts) > 1 && e.Dir:
			err = w.match(p, parts[1:])
		case len(parts) > 1 && e.Symlink:
			if _, isDir, statErr := w.fs.Stat(w.ctx, p); statErr == nil && isDir {
				err = w.match(p, parts[1:])
			} else if sqlerr.CodeOf(statErr) == sqlerr.FileDenied {
				err = statErr
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a file; a symbolic link to a directory, or to nothing, is passed over.
func (w *walk) add(p string) error {
	info, dir, err := w.fs.Stat(w.ctx, p)
	if err == nil && !dir {
		w.found = append(w.found, info)
	}
	if sqlerr.CodeOf(err) == sqlerr.FileNotFound {
		return nil
	}
	return err
}

// notFound is the error for a path that does not exist, with the nearest name beside the first component that is missing.
func notFound(ctx context.Context, in FS, name, p string) error {
	err := sqlerr.Newf(sqlerr.FileNotFound, sqlerr.Pos{}, "no file %q", name)
	missing, rest := filepath.Base(p), ""
	for dir := filepath.Dir(p); ; dir = filepath.Dir(dir) {
		entries, readErr := in.ReadDir(ctx, dir)
		if readErr == nil {
			names := make([]string, len(entries))
			for i, e := range entries {
				names[i] = e.Name
			}
			if slices.Contains(names, missing) { // it was not found all the same
				return err.WithHint("%s is a symbolic link to what is not there", filepath.Join(dir, missing))
			}
			if near := nearest(missing, names); near != "" {
				return err.WithHint("did you mean %q?", filepath.Join(dir, near, rest))
			}
			if rest != "" {
				return err.WithHint("there is no %q in %s", missing, dir)
			}
			return err.WithHint("it was looked for in %s", dir)
		}
		if errors.Is(readErr, ctx.Err()) || dir == filepath.Dir(dir) {
			return err
		}
		missing, rest = filepath.Base(dir), filepath.Join(missing, rest)
	}
}

// nearest is the name with the fewest edits from s, "" where none is near.
func nearest(s string, names []string) string {
	best, most := "", max(1, len(s)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(n), most); d < most {
			best, most = n, d
		}
	}
	return best
}

// distance is the edit distance of a and b, or limit where it is no less.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(diag+cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(limit, row[len(b)])
}
