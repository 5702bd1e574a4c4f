// Package coordinator serves the API: it plans statements, admits each attempt to one cohort of workers, runs it there and
// streams the result. It must never mix workers of two cohorts in one attempt, and it trusts no client.
package coordinator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"
	"connectrpc.com/grpchealth"
	"connectrpc.com/grpcreflect/v2"
	"go.opentelemetry.io/otel/trace"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/gen/go/fletch/api/v1/apiv1connect"
	"github.com/fletchdb/fletch/services/api"
	"github.com/fletchdb/fletch/services/history"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/internal/identity"
	"github.com/fletchdb/fletch/services/internal/telemetry"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/rollout"
)

// An Option sets what a coordinator is told at its start.
type Option func(*config)

type config struct {
	listen       string
	resolver     resolver.Resolver
	version      string
	policy       rollout.Policy
	rolloutFile  string
	tables       string
	readRoots    []string
	threads      int
	memory       int64
	timeout      time.Duration
	security     httpserve.Security
	allowHosts   []string
	allowOrigins []string
	eventLog     string
	eventLogSize int64
	eventLogAge  time.Duration
	historyCache string
	logger       *slog.Logger
	traces       trace.TracerProvider
	limits       limits
}

// WithListen sets HOST:PORT to listen on; the default is 127.0.0.1:0, a free port.
func WithListen(addr string) Option { return func(c *config) { c.listen = addr } }

// WithWorkerVersion runs queries only on workers of this version, until a policy says otherwise; the default, and what "" stands for,
// is to follow the largest cohort.
func WithWorkerVersion(v string) Option {
	return func(c *config) {
		c.policy = rollout.Policy{}
		if v != "" {
			c.policy = rollout.Policy{Mode: rollout.Pin, Version: v}
		}
	}
}

// WithVersion sets the coordinator's own version, which the policy match compares with the workers'; the default is none, and then
// it compares builds.
func WithVersion(v string) Option { return func(c *config) { c.version = v } }

// WithRolloutFile keeps the policy in a file that all coordinators of a cluster share: it is read every second, and written by
// rename. Where there is none yet, the policy is that of WithWorkerVersion. The default is to keep the policy in memory.
func WithRolloutFile(path string) Option { return func(c *config) { c.rolloutFile = path } }

// WithTables makes every Parquet file, or folder of them, in dir a table of that name.
func WithTables(dir string) Option { return func(c *config) { c.tables = dir } }

// WithReadRoots sets the folders that statements may read; the default is the working folder. The folder of WithTables is one.
func WithReadRoots(dirs ...string) Option { return func(c *config) { c.readRoots = dirs } }

// WithThreads sets the goroutines per task; 0, the default, is each worker's own number.
func WithThreads(n int) Option { return func(c *config) { c.threads = n } }

// WithMemory sets the bytes that one query may use on each process; 0, the default, is each worker's own limit.
func WithMemory(bytes int64) Option { return func(c *config) { c.memory = bytes } }

// WithStatementTimeout bounds every statement; 0, the default, is no bound.
func WithStatementTimeout(d time.Duration) Option { return func(c *config) { c.timeout = d } }

// WithSecurity sets certificates, secrets and tokens.
func WithSecurity(s httpserve.Security) Option { return func(c *config) { c.security = s } }

// WithAllowHosts adds names that clients may use for this server.
func WithAllowHosts(hosts ...string) Option { return func(c *config) { c.allowHosts = hosts } }

// WithAllowOrigins sets the origins of web pages that may call.
func WithAllowOrigins(origins ...string) Option { return func(c *config) { c.allowOrigins = origins } }

// WithEventLog logs what happens in dir, of which this coordinator writes its own part: at most size bytes, nothing older than age; 0
// is 1 GiB and 30 days.
func WithEventLog(dir string, size int64, age time.Duration) Option {
	return func(c *config) { c.eventLog, c.eventLogSize, c.eventLogAge = dir, size, age }
}

// WithHistoryCache keeps an index of the event log in dir, so that queries of earlier processes, and of other coordinators that share
// the log, are told of, too. Without it, or without a log, only this process's last queries are.
func WithHistoryCache(dir string) Option { return func(c *config) { c.historyCache = dir } }

// WithQueueTimeout bounds how long a query waits for workers that have room for it; the default is a minute.
func WithQueueTimeout(d time.Duration) Option { return func(c *config) { c.limits.queue = d } }

// WithLogger sets where the coordinator logs; the default is slog's.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// WithTraces sets who takes the spans of queries; the default is nobody.
func WithTraces(p trace.TracerProvider) Option { return func(c *config) { c.traces = p } }

// A Coordinator plans and runs queries on workers. Its methods may be called from any goroutine.
type Coordinator struct {
	cfg      config
	instance string
	started  time.Time
	engine   *engine.Engine
	server   *httpserve.Server
	dialer   *httpserve.Dialer
	poller   *resolver.Poller
	seen     atomic.Pointer[view]
	steering *steering
	line     *line
	limits   limits
	log      *slog.Logger
	events   eventLog // nil: there is none
	recent   *history.Recent
	past     *history.Index // nil: there is none
	metrics  *metrics
	tracer   trace.Tracer

	libraries  libraries
	ignorances ignorances
	pages      *pages
	sessions   *sessions
	running    sync.WaitGroup // queries

	mu       sync.Mutex
	draining bool
	queries  map[string]*query
	turn     int // where the next attempt's single tasks begin
}

// New makes a coordinator over the workers that r names. It listens, but answers only in Serve.
func New(r resolver.Resolver, options ...Option) (*Coordinator, error) {
	c := config{listen: "127.0.0.1:0", resolver: r, logger: slog.Default(), limits: defaultLimits()}
	for _, o := range options {
		o(&c)
	}
	if err := identity.CheckVersion(c.version); err != nil {
		return nil, fmt.Errorf("--version: %w", err)
	}
	store, err := rollout.Open(c.rolloutFile, c.policy)
	if err != nil {
		return nil, err
	}
	credentials, err := c.security.Load()
	if err != nil {
		return nil, err
	}
	if len(c.readRoots) == 0 {
		wd, err := os.Getwd()
		if err != nil {
			return nil, fmt.Errorf("find the working folder: %w", err)
		}
		c.readRoots = []string{wd}
	}
	if c.tables != "" {
		c.readRoots = append(c.readRoots, c.tables)
	}
	local, err := engine.Open(engine.Config{Tables: c.tables, ReadRoots: c.readRoots, Threads: runtime.GOMAXPROCS(0), Memory: c.memory, SessionMemory: sessionMemory})
	if err != nil {
		return nil, err
	}
	co := &Coordinator{
		cfg: c, instance: identity.NewInstance(), started: time.Now(), engine: local, limits: c.limits, log: c.logger,
		dialer: httpserve.NewDialer(credentials, credentials.Secret), queries: map[string]*query{},
	}
	co.metrics, co.tracer = newMetrics(co), telemetry.Tracer(c.traces)
	co.recent = history.NewRecent(co.instance, &apiv1.Recorder{
		Release: identity.Release(), Build: identity.Build(), Protocol: identity.Protocol(), Api: identity.API().String(),
	})
	co.line = newLine(c.limits.queue)
	co.steering = newSteering(store, c.version, c.logger)
	co.pages, co.sessions = newPages(co), newSessions(local, co.steering)
	co.poller = resolver.NewPoller(c.resolver, co.dialer, c.logger)
	co.server, err = httpserve.Listen(httpserve.Config{
		Listen: c.listen, Credentials: credentials, Bearer: credentials.Token, AllowHosts: c.allowHosts, AllowOrigins: c.allowOrigins,
		OwnHeaders: api.Headers(), Ready: co.ready, WriteTimeout: c.limits.patience,
		Open: func(path string) bool { return path == "/grpc.health.v1.Health/Check" },
	})
	if err != nil {
		return nil, errors.Join(err, local.Close())
	}
	if err := co.openLog(); err != nil {
		return nil, errors.Join(err, co.server.Close(), local.Close())
	}
	return co, nil
}

// URL is where the coordinator listens.
func (c *Coordinator) URL() string { return c.server.URL() }

// Serve answers calls until ctx ends, then lets running queries end for up to 30 seconds and returns nil.
func (c *Coordinator) Serve(ctx context.Context) error {
	polling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { c.poller.Run(polling) })
	if c.events != nil {
		wg.Go(func() { c.observe(polling) })
	}
	if c.past != nil { // what earlier processes wrote: the first who lists queries needs not wait for it
		wg.Go(func() { _ = c.past.Refresh(polling) })
	}
	wg.Go(func() { c.steer(polling) })
	serving, stopServing := context.WithCancel(polling)
	wg.Go(func() {
		select {
		case <-ctx.Done():
			c.drain()
		case <-serving.Done():
		}
		stopServing()
	})
	err := c.server.Serve(serving, c.handler(), c.limits.cut+time.Second)
	stopServing()
	c.cancelAll()
	c.running.Wait()
	c.pages.close()
	c.sessions.close()
	stop()
	wg.Wait()
	c.dialer.Close()
	return errors.Join(err, c.closeLog(), c.engine.Close())
}

// Close gives the port back, for a coordinator whose Serve was never called.
func (c *Coordinator) Close() error {
	return errors.Join(c.server.Close(), c.closeLog(), c.engine.Close())
}

// drain takes no new statement, and returns when those that run have ended or, at the time-out, were ended. Results that are
// fetched page by page may take as long.
func (c *Coordinator) drain() {
	c.mu.Lock()
	c.draining = true
	n := len(c.queries)
	c.mu.Unlock()
	if n > 0 {
		c.log.Info("draining", "queries", n, "timeout", c.limits.stop)
	}
	if n := c.sessions.count(); n > 0 {
		c.log.Warn("sessions end with this process: their settings, prepared statements, tables and views are lost", "sessions", n)
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		c.running.Wait()
	}()
	limit := time.NewTimer(c.limits.stop)
	defer limit.Stop()
	select {
	case <-idle:
	case <-limit.C:
		c.log.Warn("drain time-out: cancelling what still runs")
		c.cancelAll()
		<-idle
	}
}

func (c *Coordinator) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.queries {
		q.cancel(sqlerr.New(sqlerr.Draining, sqlerr.Pos{}, "the server is stopping"))
	}
}

func (c *Coordinator) ready() error {
	c.mu.Lock()
	draining := c.draining
	c.mu.Unlock()
	if draining {
		return errors.New("draining")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err := c.admit(ctx, wish{})
	return err
}

// history tells of queries: those of this process from memory, others from the log.
func (c *Coordinator) history() *history.Service {
	if c.past == nil {
		return history.NewService(c.recent)
	}
	return history.NewService(c.recent, c.past)
}

func (c *Coordinator) handler() http.Handler {
	mux := http.NewServeMux()
	srv := connect.NewServer(api.Server(c.metrics.called), telemetry.Join)
	apiv1connect.RegisterQueryServiceHandler(srv, &queryService{coordinator: c})
	apiv1connect.RegisterClusterServiceHandler(srv, &clusterService{coordinator: c})
	apiv1connect.RegisterSessionServiceHandler(srv, &sessionService{coordinator: c})
	apiv1connect.RegisterHistoryServiceHandler(srv, c.history())
	apiv1connect.RegisterVersionServiceHandler(srv, api.Version{Instance: c.instance, Started: c.started})
	apiv1connect.RegisterRolloutServiceHandler(srv, &rolloutService{coordinator: c})
	grpcreflect.Register(srv)
	connecthttp.Mount(
		mux, srv,
		connecthttp.WithReadMaxBytes(2<<20),
		connecthttp.WithCodecs(connectproto.NewBinaryCodec(), api.StrictJSON()),
		connecthttp.WithConditionalOptions(func(s connect.Spec) []connecthttp.Option {
			if s.StreamType == connect.StreamTypeServer {
				return []connecthttp.Option{connecthttp.WithCompressors()}
			}
			return nil
		}),
	)
	api.Describe(mux)
	mux.Handle("GET "+telemetry.Path, telemetry.Handler(c.metrics.registry))
	mux.Handle(grpchealth.NewHandler(grpchealth.NewStaticChecker(
		apiv1connect.QueryServiceName, apiv1connect.SessionServiceName, apiv1connect.ClusterServiceName, apiv1connect.HistoryServiceName, apiv1connect.RolloutServiceName,
		apiv1connect.VersionServiceName,
	)))
	return mux
}
