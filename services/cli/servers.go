package cli

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/coordinator"
	"github.com/fletchdb/fletch/services/internal/httpserve"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

// serverFlags are what coordinator and worker have in common.
type serverFlags struct {
	listen     string
	readRoots  []string
	threads    int
	memory     string
	security   httpserve.Security
	allowHosts []string
	logFormat  string
}

func (f *serverFlags) register(cmd *cobra.Command, port string) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:"+port, "HOST:PORT to listen on; port 0 takes a free one")
	flags.StringArrayVar(&f.readRoots, "read-root", nil, "folder that may be read; may repeat (default: the working folder)")
	flags.IntVar(&f.threads, "threads", 0, "goroutines per task (default: one per CPU)")
	flags.StringVar(&f.memory, "memory", "", "memory that one query may use, such as 4GB (default: no limit)")
	flags.StringVar(&f.security.CertFile, "tls-cert", "", "PEM file of this process's certificate")
	flags.StringVar(&f.security.KeyFile, "tls-key", "", "PEM file of the certificate's key")
	flags.StringVar(&f.security.CAFile, "tls-ca", "", "PEM file of the authorities that sign the other side's certificate; callers are then asked for one")
	flags.StringVar(&f.security.SecretFile, "secret-file", "", "file of the secret that coordinators and workers share")
	flags.BoolVar(&f.security.Insecure, "insecure", false, "listen beyond loopback without TLS and a secret")
	flags.StringSliceVar(&f.allowHosts, "allow-host", nil, "further host name that callers may use for this server; may repeat")
	flags.StringVar(&f.logFormat, "log-format", "text", "form of the log on standard error: text or json")
}

func (f *serverFlags) logger(s streams) (*slog.Logger, error) {
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(s.err, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(s.err, nil)), nil
	}
	return nil, usagef("--log-format is text or json, not %q", f.logFormat)
}

func workerCommand(s streams) *cobra.Command {
	var (
		f       serverFlags
		version string
		drain   time.Duration
	)
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker",
		Long: `Runs a worker: it executes tasks for coordinators. --version is your own version string, such
as a commit or an image tag: workers of different versions never meet in one query. Without
it, workers are told apart by their build. On SIGTERM the worker drains: it takes no new
query, serves those that it knows to their end, and exits.`,
		Example: `  fletch worker --listen 127.0.0.1:8471 --version v1 --read-root /data`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			memory, err := parseBytes("--memory", f.memory)
			if err != nil {
				return err
			}
			log, err := f.logger(s)
			if err != nil {
				return err
			}
			options := []worker.Option{
				worker.WithListen(f.listen), worker.WithVersion(version), worker.WithReadRoots(f.readRoots...), worker.WithMemory(memory),
				worker.WithTLS(f.security.CertFile, f.security.KeyFile, f.security.CAFile), worker.WithSecretFile(f.security.SecretFile),
				worker.WithAllowHosts(f.allowHosts...), worker.WithLogger(log), worker.WithDrainTimeout(drain),
			}
			if f.threads > 0 {
				options = append(options, worker.WithThreads(f.threads))
			}
			if f.security.Insecure {
				options = append(options, worker.WithInsecure())
			}
			w, err := worker.New(options...)
			if err != nil {
				return &usageError{err}
			}
			ctx, release := tethered(cmd.Context(), s.in)
			defer release()
			_, _ = fmt.Fprintf(s.err, "fletch worker at %s, version %q, instance %s\n", w.URL(), w.Version(), w.Instance())
			return w.Serve(ctx)
		},
	}
	f.register(cmd, "8471")
	cmd.Flags().StringVar(&version, "version", "", "your own version string, at most 128 bytes (default: none; $FLETCH_WORKER_VERSION)")
	cmd.Flags().DurationVar(&drain, "drain-timeout", 5*time.Minute, "how long known queries are served after SIGTERM")
	return cmd
}

func serveCommand(s streams) *cobra.Command {
	var (
		f             serverFlags
		workers       []string
		workersFile   string
		workersDNS    string
		workerVersion string
		tables        string
		origins       []string
		timeout       time.Duration
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a coordinator",
		Long: `Runs a coordinator: it plans statements and runs each on one cohort of workers. It serves gRPC,
gRPC-Web and Connect on one port, and JSON to curl. Workers are asked every second who they
are; name them by URL, by a file of URLs that is read again, or by a DNS name.`,
		Example: `  fletch serve --workers http://127.0.0.1:8471,http://127.0.0.1:8472 --tables /data
  curl -d '{"statement": "SELECT 1"}' -H 'Content-Type: application/json' \
    http://127.0.0.1:8470/fletch.api.v1.QueryService/Fetch`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			memory, err := parseBytes("--memory", f.memory)
			if err != nil {
				return err
			}
			log, err := f.logger(s)
			if err != nil {
				return err
			}
			r, err := resolverOf(workers, workersFile, workersDNS, f.security)
			if err != nil {
				return err
			}
			c, err := coordinator.New(
				r, coordinator.WithListen(f.listen), coordinator.WithWorkerVersion(workerVersion), coordinator.WithTables(tables),
				coordinator.WithReadRoots(f.readRoots...), coordinator.WithThreads(f.threads), coordinator.WithMemory(memory),
				coordinator.WithStatementTimeout(timeout), coordinator.WithSecurity(f.security), coordinator.WithAllowHosts(f.allowHosts...),
				coordinator.WithAllowOrigins(origins...), coordinator.WithLogger(log),
			)
			if err != nil {
				return &usageError{err}
			}
			ctx, release := tethered(cmd.Context(), s.in)
			defer release()
			_, _ = fmt.Fprintf(s.err, "fletch serve at %s\n", c.URL())
			return c.Serve(ctx)
		},
	}
	f.register(cmd, "8470")
	flags := cmd.Flags()
	flags.StringSliceVar(&workers, "workers", nil, "URLs of workers")
	flags.StringVar(&workersFile, "workers-file", "", "file with one worker URL per line, read again every second")
	flags.StringVar(&workersDNS, "workers-dns", "", "NAME:PORT whose every address is a worker, looked up again every second")
	flags.StringVar(&workerVersion, "worker-version", "", "run queries only on workers of this version (default: the largest cohort)")
	flags.StringVar(&tables, "tables", "", "folder whose Parquet files, and folders of them, are tables by name; it may be read")
	flags.StringSliceVar(&origins, "allow-origin", nil, "origin of web pages that may call, such as http://localhost:3000; may repeat")
	flags.DurationVar(&timeout, "timeout", 0, "time that any statement may take, such as 5m (default: no limit)")
	flags.StringVar(&f.security.TokenFile, "token-file", "", "file of the token that clients must show")
	return cmd
}

func resolverOf(urls []string, file, dns string, sec httpserve.Security) (resolver.Resolver, error) {
	given := 0
	for _, set := range []bool{len(urls) > 0, file != "", dns != ""} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, usagef("name the workers by one of --workers, --workers-file and --workers-dns")
	}
	switch {
	case file != "":
		return resolver.File(file), nil
	case dns != "":
		scheme := "http"
		if sec.CertFile != "" || sec.CAFile != "" {
			scheme = "https"
		}
		return resolver.DNS{Name: dns, Scheme: scheme}, nil
	}
	list := make(resolver.Static, len(urls))
	for i, u := range urls {
		checked, err := resolver.CheckURL(u)
		if err != nil {
			return nil, usagef("--workers: %w", err)
		}
		list[i] = checked
	}
	return list, nil
}
