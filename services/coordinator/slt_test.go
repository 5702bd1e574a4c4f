package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/slt"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/clustertest"
	"github.com/fletchdb/fletch/services/worker"
)

// The suites of SQL logic tests, embedded and on three workers. What does not pass is listed, with its reason, in engine/slt; nothing that
// passes is. Workers get one record of some of SQLite's, all with FLETCH_SOAK.
func TestLogicSuites(t *testing.T) {
	root := clustertest.Shared("slt")
	if root == "" {
		t.Log("did not run: FLETCH_TESTDATA is not set")
		return
	}
	lists := filepath.Join(clustertest.Module(t, "engine"), "slt")
	some := 25
	if os.Getenv("FLETCH_SOAK") != "" {
		some = 1
	}
	for _, suite := range []struct {
		name, files string
		known       string // list of records; "": all pass
		some        int    // of the queries one in so many is asked of workers
	}{
		{"datafusion", "*.slt", "datafusion.txt", 1},
		{"sqlite", "*.test", "", some},
	} {
		t.Run(suite.name, func(t *testing.T) {
			dir := filepath.Join(root, suite.name)
			files, err := filepath.Glob(filepath.Join(dir, suite.files))
			if err != nil {
				t.Fatal(err)
			}
			deeper, err := filepath.Glob(filepath.Join(dir, "*", suite.files))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, deeper...)
			play := func(t *testing.T, where string, open func() slt.Querier, cfg slt.Config) {
				begin := time.Now()
				var report slt.Report
				for _, f := range files {
					script, err := slt.Read(f, "postgresql")
					if err != nil {
						t.Fatal(err)
					}
					q := open()
					r, err := slt.Play(t.Context(), script, q, cfg)
					if err = errors.Join(err, q.Close()); err != nil {
						t.Fatal(err)
					}
					report.Add(r)
				}
				k := &slt.Known{}
				if suite.known != "" {
					if k, err = slt.ReadKnown(filepath.Join(lists, suite.known)); err != nil {
						t.Fatal(err)
					}
				}
				for _, wrong := range k.Settle(&report, dir) {
					t.Error(wrong)
				}
				t.Logf("%s, %s, %s\n%s", suite.name, where, time.Since(begin).Round(time.Second), &report)
			}
			e, err := engine.Open(engine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			play(t, "embedded", func() slt.Querier { return e.NewSession().Querier() }, slt.Config{})
			play(t, "3 workers", spreadOut(t), slt.Config{AnyOrder: true, Some: suite.some})
		})
	}
}

// A mirror asks a cluster, whose tables are what an embedded engine made of the same statements: each in three Parquet files, so that
// workers share its rows. Tables that Parquet cannot hold, or that have keys, are tables of the cluster's session.
type mirror struct {
	local   *engine.Session
	dir     string // the cluster's tables
	client  *client.Client
	session string
	kept    map[string]bool // tables of the session
}

// spreadOut opens sessions on three workers, one after the other: each begins without tables.
func spreadOut(t *testing.T) func() slt.Querier {
	t.Helper()
	dir := t.TempDir()
	e, err := engine.Open(engine.Config{Threads: 1}) // that OFFSET counts the rows in one order
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for range 3 {
		urls = append(urls, clustertest.Worker(t, worker.WithVersion("v1"), worker.WithReadRoots(os.TempDir())).URL())
	}
	c := connectTo(t, clustertest.Coordinator(t, urls, coordinator.WithTables(dir), coordinator.WithReadRoots(os.TempDir())).URL())
	return func() slt.Querier {
		tables, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			if err := os.RemoveAll(table); err != nil {
				t.Fatal(err)
			}
		}
		id, err := c.OpenSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return &mirror{e.NewSession(), dir, c, id, map[string]bool{}}
	}
}

func (s *mirror) Close() error { return s.client.CloseSession(context.Background(), s.session) }

func (s *mirror) Run(ctx context.Context, sql string) (*slt.Result, error) {
	parsed, err := parse.ParseOne(sql)
	if err != nil {
		return nil, err
	}
	switch st := parsed.(type) {
	case *ast.CreateTable:
		keyed := len(st.Constraints) > 0
		for _, c := range st.Columns {
			keyed = keyed || c.PrimaryKey || c.Unique
		}
		return s.change(ctx, sql, st.Name.Last().Name, keyed)
	case *ast.Insert:
		return s.change(ctx, sql, st.Table.Last().Name, false)
	case *ast.Drop:
		res, err := s.local.Querier().Run(ctx, sql)
		if err != nil {
			return nil, err
		}
		for _, n := range st.Names {
			name := n.Last().Name
			if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
				return nil, err
			}
			if s.kept[name] || st.Kind == ast.ViewObject {
				delete(s.kept, name)
				if _, err := s.remote(ctx, fmt.Sprintf("DROP %s %s", st.Kind, quoted(name))); err != nil {
					return nil, err
				}
			}
		}
		return res, nil
	case *ast.Copy:
		return s.local.Querier().Run(ctx, sql)
	case *ast.CreateExternalTable:
		if _, err := s.local.Querier().Run(ctx, sql); err != nil {
			return nil, err
		}
		s.kept[st.Name.Last().Name] = true
		return s.remote(ctx, sql)
	case *ast.CreateView, *ast.Set, *ast.Reset:
		if _, err := s.local.Querier().Run(ctx, sql); err != nil {
			return nil, err
		}
		return s.remote(ctx, sql)
	}
	return s.remote(ctx, sql)
}

// change runs what makes or fills a table, and lets the cluster see it.
func (s *mirror) change(ctx context.Context, sql, name string, keyed bool) (*slt.Result, error) {
	local := s.local.Querier()
	res, err := local.Run(ctx, sql)
	if err != nil {
		return nil, err
	}
	if s.kept[name] {
		_, err := s.remote(ctx, sql)
		return res, err
	}
	folder := filepath.Join(s.dir, name)
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	if !keyed {
		if err = s.write(ctx, name, folder); err == nil {
			return res, nil
		}
		if err := os.RemoveAll(folder); err != nil {
			return nil, err
		}
	}
	s.kept[name] = true
	_, err = s.remote(ctx, sql)
	return res, err
}

// write writes a table's rows as three files of a folder.
func (s *mirror) write(ctx context.Context, name, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	local := s.local.Querier()
	count, err := local.Run(ctx, "SELECT (count(*) + 2) // 3 FROM "+quoted(name))
	if err != nil {
		return err
	}
	each := *count.Rows[0][0]
	for i := range 3 {
		file := filepath.Join(folder, fmt.Sprintf("%d.parquet", i))
		if _, err := local.Run(ctx, fmt.Sprintf("COPY (SELECT * FROM %s LIMIT %s OFFSET %d * %s) TO '%s'", quoted(name), each, i, each, file)); err != nil {
			return err
		}
	}
	return nil
}

// remote asks the cluster.
func (s *mirror) remote(ctx context.Context, sql string) (*slt.Result, error) {
	r, err := s.client.Query(ctx, sql, client.Options{SessionID: s.session})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	schema, err := r.Schema()
	if err != nil {
		return nil, err
	}
	out := &slt.Result{Changed: -1}
	if schema != nil {
		for _, f := range schema.Fields() {
			typ, ok := arrowio.SQLType(f.Type)
			if !ok {
				return nil, fmt.Errorf("no SQL type is %s", f.Type)
			}
			out.Types = append(out.Types, typ)
		}
	}
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.Add(rec)
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
