package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// elsewhere is a machine that has other files in a folder than this one: those of another folder.
type elsewhere struct {
	files.FS
	folder, really string
}

func (e elsewhere) there(path string) string {
	if rest, ok := strings.CutPrefix(path, e.folder); ok {
		return e.really + rest
	}
	return path
}

func (e elsewhere) Stat(ctx context.Context, path string) (files.Info, bool, error) {
	info, dir, err := e.FS.Stat(ctx, e.there(path))
	info.Path = path
	return info, dir, err
}

func (e elsewhere) Open(ctx context.Context, path string) (files.File, error) {
	f, err := e.FS.Open(ctx, e.there(path))
	if err != nil {
		return nil, err
	}
	return renamed{f, path}, nil
}

type renamed struct {
	files.File
	path string
}

func (r renamed) Info() files.Info {
	info := r.File.Info()
	info.Path = r.path
	return info
}

// copyTo copies a table of TPC-H to a file with a time of its own.
func copyTo(t *testing.T, path, table string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(clustertest.TPCH(t), table+".parquet"))
	if err != nil {
		t.Fatal(err)
	}
	part := path + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1e9+times.Add(1), 0)
	if err := os.Chtimes(part, at, at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, path); err != nil {
		t.Fatal(err)
	}
}

var times atomic.Int64

// ask runs a statement on a worker that is started with options.
func ask(t *testing.T, dir, statement string, options ...worker.Option) (string, uint32, error) {
	t.Helper()
	urls := []string{clustertest.Worker(t, append([]worker.Option{worker.WithReadRoots(dir)}, options...)...).URL()}
	c, err := client.New([]string{clustertest.Coordinator(t, urls, coordinator.WithReadRoots(dir)).URL()}, client.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r, err := c.Query(t.Context(), statement, client.Options{})
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	rows, err := clustertest.Collect(r)
	return fmt.Sprint(rows), r.End.GetAttempts(), err
}

// Workers that do not see the same files say so: which file, which worker, which flag.
func TestWorkersThatSeeOtherFiles(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, folder, really string) worker.Option
		code    sqlerr.Code
	}{
		{"another time", func(t *testing.T, folder, really string) worker.Option {
			copyTo(t, filepath.Join(really, "t.parquet"), "lineitem")
			return worker.WithReadRoots(folder, really)
		}, sqlerr.FileChanged},
		{"another table", func(t *testing.T, folder, really string) worker.Option {
			copyTo(t, filepath.Join(really, "t.parquet"), "orders")
			return worker.WithReadRoots(folder, really)
		}, sqlerr.FileChanged},
		{"no file", func(_ *testing.T, folder, really string) worker.Option { return worker.WithReadRoots(folder, really) }, sqlerr.FileNotFound},
		{"another root", func(t *testing.T, _, really string) worker.Option {
			copyTo(t, filepath.Join(really, "t.parquet"), "lineitem")
			return worker.WithReadRoots(t.TempDir())
		}, sqlerr.FileDenied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			folder, really := t.TempDir(), t.TempDir()
			copyTo(t, filepath.Join(folder, "t.parquet"), "lineitem")
			_, _, err := ask(t, folder, fmt.Sprintf("SELECT count(*) FROM '%s/t.parquet'", folder), tc.prepare(t, folder, really), worker.WithView(func(fs files.FS) files.FS { return elsewhere{fs, folder, really} }))
			if sqlerr.CodeOf(err) != tc.code {
				t.Fatalf("%v (%s)", err, sqlerr.CodeOf(err))
			}
			for _, part := range []string{"t.parquet", "worker http://127.0.0.1:", "--read-root"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
		})
	}
}

// changing replaces a file when it is opened, as often as it is told.
type changing struct {
	files.FS
	left   *atomic.Int32
	change func()
}

func (c changing) Open(ctx context.Context, path string) (files.File, error) {
	if c.left.Add(-1) >= 0 {
		c.change()
	}
	return c.FS.Open(ctx, path)
}

// A file that changes between plan and scan is planned anew, once; then it is an error. So is one whose columns are others then.
func TestFileThatChanges(t *testing.T) {
	for _, tc := range []struct {
		name, statement, to string
		times               int32
		rows                string
		code                sqlerr.Code
	}{
		{"once", "SELECT count(*) FROM '%s'", "orders", 1, "[[15000]]", ""},
		{"all the time", "SELECT count(*) FROM '%s'", "orders", 100, "", sqlerr.FileChanged},
		{"its columns", "SELECT * FROM '%s' LIMIT 1", "nation", 1, "", sqlerr.FileChanged},
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "t.parquet")
		copyTo(t, path, "lineitem")
		var left atomic.Int32
		left.Store(tc.times)
		rows, attempts, err := ask(t, folder, fmt.Sprintf(tc.statement, path), worker.WithView(func(fs files.FS) files.FS {
			return changing{fs, &left, func() { copyTo(t, path, tc.to) }}
		}))
		if sqlerr.CodeOf(err) != tc.code && err != nil || (err == nil) != (tc.code == "") || err == nil && (rows != tc.rows || attempts != 2) {
			t.Errorf("%s: %s in %d attempts, %v", tc.name, rows, attempts, err)
		}
	}
}
