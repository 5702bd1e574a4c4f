package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// tree makes files, and symbolic links where the content begins with "->".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		err := error(nil)
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(target, p)
		} else {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFind(t *testing.T) {
	dir := tree(t, map[string]string{
		"lineitem.parquet": "1", "b/2.parquet": "22", "b/1.PARQUET": "1", "b/_tmp/x.parquet": "", "b/.h.parquet": "", "b/notes.txt": "",
		"b/c/3.parquet": "", "odd/a[1].parquet": "", "odd/a1.parquet": "", "empty/readme": "", "loop/self": "->.", "loop/4.parquet": "", "gone.parquet": "->nowhere.parquet",
	})
	roots, err := OpenRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	for _, tc := range []struct {
		name string
		want string      // space-separated, relative
		code sqlerr.Code // of the error
		says []string    // in the error
	}{
		{name: "lineitem.parquet", want: "lineitem.parquet"},
		{name: "b", want: "b/1.PARQUET b/2.parquet b/c/3.parquet"},
		{name: "b/*.parquet", want: "b/2.parquet"},
		{name: "b/*", want: "b/1.PARQUET b/2.parquet b/notes.txt"},
		{name: "b/.*", want: "b/.h.parquet"},
		{name: "b/?.p*", want: "b/2.parquet"},
		{name: "b/[1-2].*", want: "b/1.PARQUET b/2.parquet"},
		{name: "*/c/*", want: "b/c/3.parquet"},
		{name: "b/**/*.parquet", want: "b/2.parquet b/_tmp/x.parquet b/c/3.parquet"},
		{name: "**/3.parquet", want: "b/c/3.parquet"},
		{name: "b/**", want: "b/1.PARQUET b/2.parquet b/_tmp/x.parquet b/c/3.parquet b/notes.txt"},
		{name: "loop/**/*.parquet", want: "loop/4.parquet"},
		{name: "*/*/4.parquet", want: "loop/self/4.parquet"},
		{name: "odd/a[1].parquet", want: "odd/a[1].parquet"},
		{name: "odd/a[1-3].parquet", want: "odd/a1.parquet"},
		{name: "lineitme.parquet", code: sqlerr.FileNotFound, says: []string{"did you mean", "lineitem.parquet"}},
		{name: "bb/2.parquet", code: sqlerr.FileNotFound, says: []string{"did you mean", "b/2.parquet"}},
		{name: "gone.parquet", code: sqlerr.FileNotFound, says: []string{"symbolic link to what is not there"}},
		{name: "nowhere/at/all.parquet", code: sqlerr.FileNotFound, says: []string{`there is no "nowhere"`}},
		{name: "empty", code: sqlerr.FileNotFound, says: []string{"no .parquet file in directory"}},
		{name: "b/*.csv", code: sqlerr.FileNotFound, says: []string{"no file matches"}},
		{name: "bx/*.csv", code: sqlerr.FileNotFound, says: []string{"did you mean"}},
		{name: "b/[", code: sqlerr.InvalidParameter, says: []string{"malformed glob"}},
	} {
		t.Run(strings.ReplaceAll(tc.name, "/", "|"), func(t *testing.T) {
			for _, fs := range []FS{Unrestricted(), roots} {
				got, err := Find(context.Background(), fs, filepath.Join(dir, tc.name), ".parquet")
				if tc.code != "" {
					if sqlerr.CodeOf(err) != tc.code {
						t.Fatalf("%T: got %v, %v", fs, got, err)
					}
					for _, s := range tc.says {
						if !strings.Contains(err.Error(), s) {
							t.Errorf("%T: %q does not say %q", fs, err, s)
						}
					}
					continue
				}
				if err != nil {
					t.Fatalf("%T: %v", fs, err)
				}
				names := make([]string, len(got))
				for i, f := range got {
					names[i], _ = filepath.Rel(dir, f.Path)
				}
				if want := strings.Fields(tc.want); !slices.Equal(names, want) {
					t.Errorf("%T: got %q, want %q", fs, names, want)
				}
			}
		})
	}
}

func TestRootsRefuse(t *testing.T) {
	outside := tree(t, map[string]string{"secret.parquet": "s"})
	dir := tree(t, map[string]string{
		"in.parquet": "abc", "ok.parquet": "->in.parquet", "out.parquet": "->" + filepath.Join(outside, "secret.parquet"),
		"up.parquet": "->../../secret.parquet", "d/e": "->" + outside,
	})
	roots, err := OpenRoots(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	ctx := context.Background()
	f, err := roots.Open(ctx, filepath.Join(dir, "ok.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Info(); got.Size != 3 || got.ModTime == 0 || got.Path != filepath.Join(dir, "ok.parquet") {
		t.Errorf("info %+v", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{
		filepath.Join(outside, "secret.parquet"), filepath.Join(dir, "out.parquet"), filepath.Join(dir, "up.parquet"),
		filepath.Join(dir, "d/e/secret.parquet"), filepath.Join(dir, "*.parquet"), filepath.Join(dir, "d/*/secret.parquet"),
		dir + "x", filepath.Join(dir, "..", "*"), dir,
	} {
		got, err := Find(ctx, roots, name, ".parquet")
		if sqlerr.CodeOf(err) != sqlerr.FileDenied || !strings.Contains(err.Error(), "--read-root") {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"d/x": ""})
	ctx, stop := context.WithCancel(context.Background())
	if _, err := Unrestricted().Open(ctx, filepath.Join(dir, "d")); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Find(ctx, Unrestricted(), "s3://bucket/x.parquet", ".parquet"); sqlerr.CodeOf(err) != sqlerr.Unsupported {
		t.Errorf("scheme: %v", err)
	}
	if _, err := OpenRoots(filepath.Join(dir, "none")); sqlerr.CodeOf(err) != sqlerr.FileNotFound {
		t.Errorf("missing root: %v", err)
	}
	stop()
	if _, err := Find(ctx, Unrestricted(), filepath.Join(dir, "d/x"), ".parquet"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
