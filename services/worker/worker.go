// Package worker runs tasks of queries for coordinators: it takes plans, streams their output to whoever reads it, and forgets
// an attempt when its lease ends. It must never know a catalog or a statement, and it trusts no plan bytes.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect/v2"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/fletchdb/fletch/engine/bind"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/scan/files"
	"github.com/fletchdb/fletch/engine/sqlerr"
	identityv1 "github.com/fletchdb/fletch/gen/go/fletch/identity/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/worker/v1/workerv1connect"
	"github.com/fletchdb/fletch/services/internal/arrowwire"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/telemetry"
)

// An Option sets what a worker is told at its start.
type Option func(*config)

type config struct {
	version      string
	listen       string
	readRoots    []string
	threads      int
	memory       int64
	security     httpserve.Security
	allowHosts   []string
	logger       *slog.Logger
	traces       trace.TracerProvider
	drainTimeout time.Duration
	maxQueries   int
	patience     time.Duration // with a reader that stops reading
	view         func(files.FS) files.FS
	functions    []function.Function
}

// WithVersion sets the user's own version string: workers of different versions never meet in one query. It is at most 128
// bytes of UTF-8 without control characters; the default is empty, and then workers are told apart by their build.
func WithVersion(version string) Option { return func(c *config) { c.version = version } }

// WithFunction adds a function that queries may call. It may be given more than once. Workers that differ in their functions, or in
// these' versions, never meet in one query.
func WithFunction(f function.Function) Option {
	return func(c *config) { c.functions = append(c.functions, f) }
}

// WithListen sets HOST:PORT to listen on; the default is 127.0.0.1:0, a free port.
func WithListen(addr string) Option { return func(c *config) { c.listen = addr } }

// WithReadRoots sets the folders that the worker may read; the default is the working folder.
func WithReadRoots(dirs ...string) Option { return func(c *config) { c.readRoots = dirs } }

// WithThreads sets the goroutines per task; the default is one per CPU.
func WithThreads(n int) Option { return func(c *config) { c.threads = n } }

// WithMemory sets the bytes that one query may use on this worker; 0, the default, is no limit.
func WithMemory(bytes int64) Option { return func(c *config) { c.memory = bytes } }

// WithTLS sets the worker's certificate and key and, if ca is not empty, asks callers for a certificate signed by it. All are
// names of PEM files.
func WithTLS(cert, key, ca string) Option {
	return func(c *config) { c.security.CertFile, c.security.KeyFile, c.security.CAFile = cert, key, ca }
}

// WithSecretFile names the file that holds the secret shared with coordinators and other workers.
func WithSecretFile(path string) Option {
	return func(c *config) { c.security.SecretFile = path }
}

// WithInsecure lets the worker listen beyond loopback without TLS and a secret.
func WithInsecure() Option { return func(c *config) { c.security.Insecure = true } }

// WithAllowHosts adds names that callers may use for this worker.
func WithAllowHosts(hosts ...string) Option { return func(c *config) { c.allowHosts = hosts } }

// WithLogger sets where the worker logs; the default is slog's.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithTraces sets who takes the spans of tasks; the default is nobody.
func WithTraces(p trace.TracerProvider) Option { return func(c *config) { c.traces = p } }

// MaxQueries is how many queries may have tasks on a worker at a time, unless WithMaxQueries says otherwise.
const MaxQueries = 64

// WithMaxQueries sets how many queries may have tasks on this worker at a time; 0 is no limit. Another one is refused before anything
// of it runs, and waits in its coordinator's queue.
func WithMaxQueries(n int) Option { return func(c *config) { c.maxQueries = n } }

// WithDrainTimeout bounds how long a worker that was told to end serves the attempts it knows; the default is 5 minutes.
func WithDrainTimeout(d time.Duration) Option { return func(c *config) { c.drainTimeout = d } }

// A Worker is one worker process's part of a cluster. Its methods may be called from any goroutine.
type Worker struct {
	cfg     config
	self    *identityv1.Identity
	caps    *identityv1.Capabilities
	library *function.Library
	started time.Time
	server  *httpserve.Server
	dialer  *httpserve.Dialer
	files   opener
	log     *slog.Logger
	metrics *metrics
	tracer  trace.Tracer

	attempts *registry
	open     bool          // no secret keeps callers out
	told     chan struct{} // closed when a caller has told the worker to end
	tellOnce sync.Once
}

// New makes a worker that listens, but answers only in Serve.
func New(options ...Option) (*Worker, error) {
	c := config{listen: "127.0.0.1:0", threads: runtime.GOMAXPROCS(0), logger: slog.Default(), drainTimeout: 5 * time.Minute, maxQueries: MaxQueries}
	for _, o := range options {
		o(&c)
	}
	if err := identity.CheckVersion(c.version); err != nil {
		return nil, fmt.Errorf("--version: %w", err)
	}
	if len(c.readRoots) == 0 {
		wd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working folder: %w", err)
		}
		c.readRoots = []string{wd}
	}
	credentials, err := c.security.Load()
	if err != nil {
		return nil, err
	}
	library, err := bind.Functions(c.functions)
	if err != nil {
		return nil, err
	}
	files, err := newOpener(c.readRoots, c.view)
	if err != nil {
		return nil, err
	}
	caps := capabilities(library)
	w := &Worker{
		cfg: c, caps: caps, library: library, open: credentials.Secret == "", started: time.Now(), log: c.logger, files: files,
		self: &identityv1.Identity{
			Version: c.version, Protocol: identity.Protocol(), InstanceId: identity.NewInstance(), Build: identity.Build(), Capabilities: identity.Digest(caps),
		},
		dialer: httpserve.NewDialer(credentials, credentials.Secret),
	}
	w.attempts, w.told = newRegistry(c.maxQueries, c.logger), make(chan struct{})
	w.metrics, w.tracer = newMetrics(w), telemetry.Tracer(c.traces)
	w.server, err = httpserve.Listen(httpserve.Config{
		Listen: c.listen, Credentials: credentials, Bearer: credentials.Secret, AnyHost: true, AllowHosts: c.allowHosts,
		Open: func(path string) bool { return path == "/grpc.health.v1.Health/Check" }, WriteTimeout: c.patience,
		Ready: func() error {
			if w.attempts.draining() {
				return errors.New("draining")
			}
			return nil
		},
	})
	if err != nil {
		_ = files.Close()
		return nil, err
	}
	return w, nil
}

// URL is where the worker listens.
func (w *Worker) URL() string { return w.server.URL() }

// Instance is the id of this process's start: 32 hex digits.
func (w *Worker) Instance() string { return w.self.GetInstanceId() }

// Version is the user's own version string.
func (w *Worker) Version() string { return w.self.GetVersion() }

// Serve answers calls until ctx ends, or Drain is called here or by another process. Then it drains: it takes no new attempt, serves those that it knows to their end or to the
// drain time-out, and returns nil.
func (w *Worker) Serve(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		select {
		case <-ctx.Done():
			w.drain()
		case <-w.told:
			w.drain()
		case <-serving.Done():
		}
		stop()
	}()
	err := w.server.Serve(serving, w.handler(), 2*time.Second)
	stop()
	<-drained
	w.attempts.close(w.stopping())
	w.dialer.Close()
	return errors.Join(err, w.files.Close())
}

// Drain makes Serve drain and return. It does not wait for that, and may be called more than once.
func (w *Worker) Drain() {
	w.attempts.drain()
	w.tellOnce.Do(func() { close(w.told) })
}

// Close gives the port back, for a worker whose Serve was never called.
func (w *Worker) Close() error {
	return errors.Join(w.server.Close(), w.files.Close())
}

// stopping is why a worker that ends cancels what still runs: to its coordinator it is lost.
func (w *Worker) stopping() error {
	return sqlerr.Newf(sqlerr.WorkerLost, sqlerr.Pos{}, "lost worker %s: it stops", w.URL())
}

// drain takes no new attempt, and returns when those that are open have ended or, at the time-out, were ended.
func (w *Worker) drain() {
	open := w.attempts.drain()
	if open > 0 {
		w.log.Info("draining", "attempts", open, "timeout", w.cfg.drainTimeout)
	}
	limit := time.NewTimer(w.cfg.drainTimeout)
	defer limit.Stop()
	select {
	case <-w.attempts.idle():
	case <-limit.C:
		w.log.Warn("drain time-out: cancelling what still runs", "attempts", w.attempts.count())
		w.attempts.close(w.stopping())
	}
}

func (w *Worker) handler() http.Handler {
	mux := http.NewServeMux()
	refused := func(procedure string, need *identityv1.Identity, missing []string) {
		w.metrics.refusals.WithLabelValues(string(sqlerr.VersionMismatch)).Inc()
		w.log.Warn("refused a call meant for another worker", "call", procedure, "need", identity.Describe(need), "have", identity.Describe(w.self), "absent", missing)
	}
	srv := connect.NewServer(identity.Require(w.self, refused), telemetry.Join, arrowwire.RawStream)
	workerv1connect.RegisterWorkerServiceHandler(srv, &handler{worker: w})
	grpcreflect.Register(srv)
	connecthttp.Mount(
		mux, srv,
		connecthttp.WithCodecs(arrowwire.NewCodec(), connectproto.NewJSONCodec()),
		connecthttp.WithReadMaxBytes(MaxRequest),
		connecthttp.WithCompressors(),
		connecthttp.WithConditionalOptions(func(s connect.Spec) []connecthttp.Option {
			if s.Procedure == workerv1connect.WorkerServiceSupplyProcedure { // a row may be larger than other calls' bodies
				return []connecthttp.Option{connecthttp.WithReadMaxBytes(arrowwire.ReadLimit)}
			}
			return nil
		}),
	)
	mux.Handle("GET "+telemetry.Path, telemetry.Handler(w.metrics.registry))
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(workerv1connect.WorkerServiceName)))
	return mux
}

func (w *Worker) info() *identityv1.WorkerInfoResponse {
	state := identityv1.WorkerState_WORKER_STATE_READY
	if w.attempts.draining() {
		state = identityv1.WorkerState_WORKER_STATE_DRAINING
	}
	return &identityv1.WorkerInfoResponse{
		Version: w.self.GetVersion(), Protocol: w.self.GetProtocol(), InstanceId: w.self.GetInstanceId(), Build: w.self.GetBuild(),
		Capabilities: w.caps, CapabilitiesDigest: w.self.GetCapabilities(), State: state, StartedAt: timestamppb.New(w.started),
		Slots: uint32(max(1, w.cfg.threads)), Load: w.attempts.load(w.cfg.memory),
	}
}
