package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/duckdb/duckdb-go/v2"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/slt"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

// rows are an answer: the text of each value, nil for NULL.
type rows [][]*string

// A peer answers queries over the tables of a folder.
type peer interface {
	name() string
	// load takes other tables. Fletch runs with so many threads, and batches of so many rows.
	load(dir string, threads, batch int, tables []*table) error
	query(ctx context.Context, text string) (rows, error)
	Close()
}

// embedded is the engine in this process.
type embedded struct {
	threads, batch int
	engine         *engine.Engine
}

func (*embedded) name() string { return "embedded" }

func (e *embedded) load(dir string, threads, batch int, _ []*table) (err error) {
	e.Close()
	e.threads, e.batch = threads, batch
	e.engine, err = engine.Open(engine.Config{Tables: dir, Threads: threads, BatchRows: batch})
	return err
}

func (e *embedded) query(ctx context.Context, text string) (rows, error) {
	r, err := e.engine.Query(ctx, text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return collect(r)
}

func (e *embedded) Close() {
	if e.engine != nil {
		_ = e.engine.Close()
	}
}

func collect(r interface {
	Next() (arrow.RecordBatch, error)
},
) (rows, error) {
	var out slt.Result
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.Rows, nil
		}
		if err != nil {
			return nil, err
		}
		out.Add(rec)
	}
}

// duck is DuckDB in this process. It has the tables in memory: of files it skips row groups by statistics that leave NaN out, and so
// loses rows.
type duck struct {
	db   *sql.DB
	conn *sql.Conn
}

func (*duck) name() string { return "duckdb" }

func (d *duck) load(dir string, _, _ int, tables []*table) (err error) {
	d.Close()
	if d.db, err = sql.Open("duckdb", ""); err != nil {
		return err
	}
	ctx := context.Background()
	if d.conn, err = d.db.Conn(ctx); err != nil {
		return err
	}
	// Its rewrites of expressions make NULL <> x true under date_trunc, and drop NULL from x IS NOT TRUE OR x IS FALSE.
	settings := []string{"SET threads = 1", "SET disabled_optimizers = 'expression_rewriter'"}
	for _, r := range deliberate {
		if r.setting != "" {
			settings = append(settings, r.setting)
		}
	}
	settings = append(settings, missing...)
	for _, t := range tables {
		settings = append(settings, fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_parquet('%s')", t.name, filepath.Join(dir, t.name, "*.parquet")))
	}
	for _, s := range settings {
		if _, err := d.conn.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (d *duck) query(ctx context.Context, text string) (rows, error) {
	r, err := d.conn.QueryContext(ctx, forDuck(text))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	types, err := r.ColumnTypes()
	if err != nil {
		return nil, err
	}
	var out rows
	for r.Next() {
		values, cells := make([]any, len(types)), make([]any, len(types))
		for i := range cells {
			cells[i] = &values[i]
		}
		if err := r.Scan(cells...); err != nil {
			return nil, err
		}
		row := make([]*string, len(types))
		for i, v := range values {
			row[i] = text1(v, types[i].DatabaseTypeName())
		}
		out = append(out, row)
	}
	return out, r.Err()
}

// text1 is a value as Fletch writes it, but for the digits of numbers; nil for NULL.
func text1(v any, typ string) *string {
	if v == nil {
		return nil
	}
	var s string
	switch v := v.(type) {
	case time.Time:
		switch micros := v.UnixMicro(); typ {
		case "DATE":
			s = string(sqltext.AppendDate(nil, int32(v.Unix()/86_400)))
		case "TIME":
			s = string(sqltext.AppendTime(nil, micros-time.Date(v.Year(), v.Month(), v.Day(), 0, 0, 0, 0, time.UTC).UnixMicro()))
		case "TIMESTAMPTZ":
			s = string(sqltext.AppendTimestampTZ(nil, micros))
		default:
			s = string(sqltext.AppendTimestamp(nil, micros))
		}
	case float64:
		s = strconv.FormatFloat(v, 'g', -1, 64)
	case float32:
		s = strconv.FormatFloat(float64(v), 'g', -1, 64)
	case *big.Int:
		s = v.String()
	case duckdb.Decimal:
		s = v.String()
	case duckdb.Interval:
		s = string(sqltext.AppendInterval(nil, v.Months, v.Days, v.Micros))
	case []byte:
		s = string(sqltext.AppendBinary(nil, string(v)))
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = "NULL"
			if t := text1(e, strings.TrimSuffix(typ, "[]")); t != nil {
				parts[i] = *t
			}
		}
		s = "[" + strings.Join(parts, ", ") + "]"
	default:
		s = fmt.Sprint(v)
	}
	return &s
}

func (d *duck) Close() {
	if d.conn != nil {
		_ = d.conn.Close()
		_ = d.db.Close()
	}
}

// cluster is a coordinator and workers in this process, spoken to through a client.
type cluster struct {
	workers, threads, batch int
	cancel                  context.CancelFunc
	running                 sync.WaitGroup
	client                  *client.Client
}

func (*cluster) name() string { return "cluster" }

func (c *cluster) load(dir string, threads, batch int, _ []*table) error {
	c.Close()
	c.threads, c.batch = threads, batch
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(context.Background())
	quiet := slog.New(slog.DiscardHandler)
	var urls []string
	serve := func(run func(context.Context) error) { c.running.Go(func() { _ = run(ctx) }) }
	for range c.workers {
		w, err := worker.New(worker.WithVersion("v1"), worker.WithReadRoots(dir), worker.WithThreads(threads), worker.WithLogger(quiet))
		if err != nil {
			return err
		}
		urls = append(urls, w.URL())
		serve(w.Serve)
	}
	co, err := coordinator.New(resolver.Static(urls), coordinator.WithTables(dir), coordinator.WithLogger(quiet))
	if err != nil {
		return err
	}
	serve(co.Serve)
	c.client, err = client.New([]string{co.URL()}, client.Config{})
	return err
}

func (c *cluster) query(ctx context.Context, text string) (rows, error) {
	r, err := c.client.Query(ctx, text, client.Options{Threads: c.threads, BatchRows: c.batch})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return collect(r)
}

func (c *cluster) Close() {
	if c.client != nil {
		c.client.Close()
	}
	if c.cancel != nil {
		c.cancel()
		c.running.Wait()
	}
}
