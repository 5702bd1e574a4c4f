package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
)

// serverFlags are what coordinator and worker have in common.
type serverFlags struct {
	listen     string
	readRoots  folders
	threads    count
	memory     memorySize
	security   httpserve.Security
	allowHosts []string
	logFormat  choice
	logLevel   choice
}

func (f *serverFlags) register(cmd *cobra.Command, port string) {
	flags := cmd.Flags()
	flags.Var(&f.readRoots, "read-root", "`DIR` that may be read; may repeat (default the working folder)")
	flags.Var(&f.threads, "threads", "goroutines per task (default one per CPU)")
	flags.Var(&f.memory, "memory", "memory that one query may use, such as 4GB (default no limit)")
	f.registerServer(cmd, port)
}

// registerServer adds what any server has.
func (f *serverFlags) registerServer(cmd *cobra.Command, port string) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:"+port, "`HOST:PORT` to listen on; port 0 takes a free one")
	choiceFlag(cmd, &f.logFormat, "log-format", "`FORM` of the log on standard error", "text", "json")
	choiceFlag(cmd, &f.logLevel, "log-level", "what the log tells of, `LEVEL`", "info", "debug")
	flags.StringVar(&f.security.CertFile, "tls-cert", "", "PEM `FILE` of this process's certificate")
	flags.StringVar(&f.security.KeyFile, "tls-key", "", "PEM `FILE` of the certificate's key")
	flags.StringVar(&f.security.CAFile, "tls-ca", "", "PEM `FILE` of the authorities that sign the other side's certificate; callers are then asked for one")
	flags.StringVar(&f.security.SecretFile, "secret-file", "", "`FILE` of the secret that coordinators and workers share")
	flags.BoolVar(&f.security.Insecure, "insecure", false, "listen beyond loopback without TLS and a secret")
	flags.StringSliceVar(&f.allowHosts, "allow-host", nil, "further host `NAME` that callers may use for this server; may repeat")
	groupFlags(cmd, "Security", "tls-cert", "tls-key", "tls-ca", "secret-file", "insecure", "allow-host")
}

// check finds folders that are not there.
func (f *serverFlags) check() error {
	for _, root := range f.readRoots {
		if err := checkFolder("read-root", root); err != nil {
			return err
		}
	}
	return nil
}

func (f *serverFlags) logger(p *process) *slog.Logger {
	level := slog.LevelInfo
	if f.logLevel.value == "debug" { // every query, too, not only those that fail
		level = slog.LevelDebug
	}
	if f.logFormat.value == "json" {
		return slog.New(slog.NewJSONHandler(p.err, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: level}))
}

// serveUntilTold runs a server: until SIGTERM, after which it drains, or Ctrl-C, which ends it.
func serveUntilTold(ctx context.Context, p *process, serve func(context.Context) error) error {
	p.signals.drains()
	if err := serve(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil && !p.signals.draining(ctx) {
		return &toldError{context.Cause(ctx)}
	}
	return nil
}

func serveCommand(p *process) *cobra.Command {
	var (
		f             serverFlags
		workers       workerFlags
		workerVersion string
		version       string
		rolloutFile   string
		tables        string
		origins       []string
		timeout       span
		queueTimeout  = span{time.Minute}
		eventLog      string
		cache         string
		eventLogSize  memorySize
		eventLogAge   span
	)
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run a coordinator",
		Long: `Runs a coordinator: it plans statements and runs each on one cohort of workers. It serves gRPC,
gRPC-Web and Connect on one port, and JSON to curl. Workers are asked every second who they
are; name them by URL, by a file of URLs that is read again, or by a DNS name.

Its first line on standard error says where it listens: fletch serve at URL, version V. On
SIGTERM it takes no new query and lets those that run end.`,
		Example: `  fletch serve --workers http://127.0.0.1:8471,http://127.0.0.1:8472 --tables /data
  fletch serve --workers-file workers.txt --worker-version v1 --read-root /data --read-root /more
  curl -d '{"statement": "SELECT 1"}' -H 'Content-Type: application/json' \
    http://127.0.0.1:8470/fletch.api.v1.QueryService/Fetch`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tether(p.in)
			if err := errors.Join(f.check(), checkFolder("tables", tables)); err != nil {
				return err
			}
			r, err := workers.resolver(f.security)
			if err != nil {
				return err
			}
			traces, flush, err := tracing(cmd.Context(), "coordinator")
			if err != nil {
				return err
			}
			defer flush()
			c, err := coordinator.New(
				r, coordinator.WithListen(f.listen), coordinator.WithWorkerVersion(workerVersion), coordinator.WithTables(tables),
				coordinator.WithVersion(version), coordinator.WithRolloutFile(rolloutFile),
				coordinator.WithReadRoots(f.readRoots...), coordinator.WithThreads(f.threads.n), coordinator.WithMemory(f.memory.bytes),
				coordinator.WithStatementTimeout(timeout.d), coordinator.WithQueueTimeout(queueTimeout.d), coordinator.WithSecurity(f.security), coordinator.WithAllowHosts(f.allowHosts...),
				coordinator.WithAllowOrigins(origins...), coordinator.WithLogger(f.logger(p)), coordinator.WithTraces(traces),
				coordinator.WithEventLog(eventLog, eventLogSize.bytes, eventLogAge.d), coordinator.WithHistoryCache(cache),
			)
			if err != nil {
				return &usageError{err}
			}
			_, _ = fmt.Fprintf(p.err, "fletch serve at %s, worker version %q\n", c.URL(), workerVersion)
			return serveUntilTold(cmd.Context(), p, c.Serve)
		},
	}
	flags := cmd.Flags()
	workers.register(cmd)
	flags.StringVar(&workerVersion, "worker-version", "", "`VERSION` of the workers that queries run on, until fletch rollout or the rollout file says otherwise (default the largest cohort's)")
	flags.StringVar(&version, "version", "", "the coordinator's own `VERSION`, for the policy match (default none: its build is matched)")
	flags.StringVar(&rolloutFile, "rollout-file", "", "`FILE` of the policy that all coordinators share, read again every second (default the policy is kept in memory)")
	flags.StringVar(&tables, "tables", "", "`DIR` whose Parquet files, and folders of them, are tables by name; it may be read")
	flags.Var(&timeout, "timeout", "`TIME` that any statement may take, such as 5m (default no limit)")
	flags.StringVar(&eventLog, "event-log", "", "`DIR` to log every query in; it is made if it is not there, and several coordinators may share it")
	flags.Var(&eventLogSize, "event-log-size", "bytes that this process's part of the log may take before its oldest segments go (default 1GiB)")
	flags.Var(&eventLogAge, "event-log-age", "`TIME` after which this process's segments go (default 720h)")
	cacheFlag(cmd, &cache)
	groupFlags(cmd, "Event log", "event-log", "event-log-size", "event-log-age", "cache-dir")
	flags.Var(&queueTimeout, "queue-timeout", "`TIME` that a query waits for workers that have room for it")
	f.register(cmd, "8470")
	flags.StringSliceVar(&origins, "allow-origin", nil, "`URL` of web pages' origin that may call, such as http://localhost:3000; may repeat")
	flags.StringVar(&f.security.TokenFile, "token-file", "", "`FILE` of the token that clients must show")
	groupFlags(cmd, "Security", "allow-origin", "token-file")
	return cmd
}

// workerFlags are the ways to name a coordinator's workers.
type workerFlags struct {
	urls      []string
	file, dns string
}

func (f *workerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.urls, "workers", nil, "`URL[,URL]` of workers")
	flags.StringVar(&f.file, "workers-file", "", "`FILE` with one worker URL per line, read again every second")
	flags.StringVar(&f.dns, "workers-dns", "", "`NAME:PORT` whose every address is a worker, looked up again every second")
}

func (f *workerFlags) resolver(sec httpserve.Security) (resolver.Resolver, error) {
	given := 0
	for _, set := range []bool{len(f.urls) > 0, f.file != "", f.dns != ""} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, usagef("name the workers by one of --workers, --workers-file and --workers-dns")
	}
	switch {
	case f.file != "":
		return resolver.File(f.file), nil
	case f.dns != "":
		scheme := "http"
		if sec.CertFile != "" || sec.CAFile != "" {
			scheme = "https"
		}
		return resolver.DNS{Name: f.dns, Scheme: scheme}, nil
	}
	list := make(resolver.Static, len(f.urls))
	for i, u := range f.urls {
		checked, err := resolver.CheckURL(u)
		if err != nil {
			return nil, usagef("--workers: %w", err)
		}
		list[i] = checked
	}
	return list, nil
}
