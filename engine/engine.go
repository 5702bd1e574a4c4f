// Package engine is SQL over files in one process: text in, Arrow record batches out. It is what a program embeds, and what a
// coordinator plans with. It must never know a network: plans that other processes run leave here as tasks.
package engine

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Config is what an engine may read and use. The zero Config reads whatever the process may, on every CPU, without a limit.
type Config struct {
	Tables    string   // folder whose Parquet files, and folders of them, are tables by name; "": none
	ReadRoots []string // folders that statements may read; nil: all that the process may
	Threads   int      // goroutines per query; 0: one per CPU
	Memory    int64    // bytes that a query may use; 0: no limit
	BatchRows int      // rows per batch; 0: vector.DefaultBatch

	SessionMemory int64 // bytes that the tables of a session may take; 0: no limit
}

// An Engine runs queries. Its methods may be called from any goroutine.
type Engine struct {
	cfg       Config
	roots     *files.Roots // nil: unrestricted
	scanner   *Scanner
	functions *function.Library
	catalog   catalog.Catalog
}

// An Option sets what an engine has besides its Config.
type Option func(*options)

type options struct {
	functions []function.Function
}

// WithFunction adds a function that statements may call. It may be given more than once.
func WithFunction(f function.Function) Option {
	return func(o *options) { o.functions = append(o.functions, f) }
}

// New makes an engine of the zero Config.
func New(opts ...Option) (*Engine, error) { return Open(Config{}, opts...) }

// Open makes an engine. It fails where a folder of cfg cannot be opened, or a function is none: see function.Function.
func Open(cfg Config, opts ...Option) (*Engine, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	functions, err := bind.Functions(o.functions)
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, functions: functions}
	fs := files.Unrestricted()
	if cfg.ReadRoots != nil {
		roots, err := files.OpenRoots(cfg.ReadRoots...)
		if err != nil {
			return nil, err
		}
		e.roots, fs = roots, roots
	}
	e.scanner = NewScanner(fs)
	if cfg.Tables != "" {
		if _, err := e.scanner.Entries(context.Background(), cfg.Tables); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	e.catalog = catalog.NewDir(cfg.Tables, catalogFiles{e.scanner})
	return e, nil
}

// Close gives the engine's folders back. Queries that run are not ended by it.
func (e *Engine) Close() error {
	if e.roots == nil {
		return nil
	}
	return e.roots.Close()
}

// Query runs one statement in a session of its own: see Session.Query.
func (e *Engine) Query(ctx context.Context, statement string) (*Rows, error) {
	return e.NewSession().Query(ctx, statement)
}

// env is what a plan runs in, made for one run.
func (e *Engine) env(plan *Plan) *exec.Env {
	threads := e.cfg.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	env := &exec.Env{
		Threads: threads, BatchRows: e.cfg.BatchRows, Budget: budget.New(e.cfg.Memory), Filters: &exec.RuntimeFilters{}, Metrics: &exec.Metrics{},
	}
	env.OpenScan = func(ctx context.Context, scan *physical.Scan) (exec.Source, error) {
		if scan.Format == physical.Memory {
			return plan.scanMemory(ctx, scan, env)
		}
		return e.scanner.Open(ctx, scan, env)
	}
	return env
}

// Run runs a plan of this engine in this process.
func (e *Engine) Run(ctx context.Context, plan *Plan) (*Rows, error) {
	r := &Rows{plan: plan, env: e.env(plan)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	root := plan.Root
	if plan.analyze {
		began := time.Now()
		if err := exec.Run(r.ctx, root, r.env, discard{}); err != nil {
			r.cancel()
			return nil, err
		}
		root = plan.Text(plan.Analyzed(r.env.Metrics, time.Since(began), r.env.Budget.Peak()))
	}
	var err error
	if r.result, err = exec.RunToArrow(r.ctx, root, r.env, exec.ResultConfig{Form: arrowio.Wide}); err != nil {
		r.cancel()
		return nil, err
	}
	return r, nil
}

// Rows is the result of a query on its way. It is for one goroutine, but for Progress and MemoryPeak.
type Rows struct {
	plan    *Plan
	env     *exec.Env
	ctx     context.Context // the query's: a Rows is a call that has not returned yet
	cancel  context.CancelFunc
	result  *exec.Result
	current arrow.RecordBatch
}

// Schema is the result's columns. A DECIMAL is decimal128, a VARCHAR utf8, a TIMESTAMP timestamp[us].
func (r *Rows) Schema() (*arrow.Schema, error) { return r.result.Schema(), nil }

// Next is the next rows, valid until the call after it; io.EOF at the end. An error is a *sqlerr.Error or the context's, and
// what came before it is then no complete result.
func (r *Rows) Next() (arrow.RecordBatch, error) {
	r.release()
	rec, err := r.result.Next(r.ctx)
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, io.EOF
	}
	r.current = rec
	return rec, nil
}

func (r *Rows) release() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// Close ends the query, if it still runs, and gives everything back.
func (r *Rows) Close() {
	r.cancel()
	_ = r.result.Close()
	r.release()
}

// MemoryPeak is the most bytes that the query had reserved at once.
func (r *Rows) MemoryPeak() int64 { return r.env.Budget.Peak() }

// Progress is the share of the files' bytes that has been read, 0 to 1, and the rows that scans have given.
func (r *Rows) Progress() (share float64, rows int64) {
	var read, total int64
	shared := map[physical.Node]bool{}
	var visit func(n physical.Node)
	visit = func(n physical.Node) {
		if _, ok := n.(*physical.Shared); ok {
			if shared[n] {
				return
			}
			shared[n] = true
		}
		if _, ok := n.(*physical.Scan); ok {
			m := r.env.Metrics.Of(n)
			read += m.Bytes.Load()
			total += m.Total.Load()
			rows += m.Rows.Load()
		}
		for _, c := range n.Children() {
			visit(c)
		}
	}
	visit(r.plan.Root)
	if total > 0 {
		share = min(1, float64(read)/float64(total))
	}
	return share, rows
}

// discard is a sink that keeps nothing.
type discard struct{}

func (discard) NewLocal() (exec.Local, error)             { return discard{}, nil }
func (discard) Push(context.Context, *vector.Batch) error { return nil }
func (discard) Combine(context.Context, exec.Local) error { return nil }
func (discard) Finalize(context.Context) error            { return nil }
func (discard) Close() error                              { return nil }
