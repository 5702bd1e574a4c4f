package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/services/worker"
)

func workerCommand(p *process) *cobra.Command {
	var (
		f       serverFlags
		version string
		drain   = span{5 * time.Minute}
		queries = count{n: worker.MaxQueries}
	)
	cmd := &cobra.Command{
		Use:   "worker [flags]",
		Short: "Run a worker",
		Long: `Runs a worker: it executes tasks for coordinators. --version is your own version string, such
as a commit or an image tag: workers of different versions never meet in one query. Without
it, workers are told apart by their build.

Its first line on standard error says where it listens: fletch worker at URL, version V. On
SIGTERM, or fletch worker drain URL, it drains: it takes no new query, serves those that it
knows to their end, and exits.`,
		Example: `  fletch worker --listen 127.0.0.1:8471 --version v1 --read-root /data
  FLETCH_WORKER_VERSION=$(git rev-parse HEAD) fletch worker`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			tether(p.in)
			if err := f.check(); err != nil {
				return err
			}
			traces, flush, err := tracing(cmd.Context(), "worker")
			if err != nil {
				return err
			}
			defer flush()
			options := []worker.Option{
				worker.WithTraces(traces),
				worker.WithListen(f.listen), worker.WithVersion(version), worker.WithReadRoots(f.readRoots...), worker.WithMemory(f.memory.bytes),
				worker.WithTLS(f.security.CertFile, f.security.KeyFile, f.security.CAFile), worker.WithSecretFile(f.security.SecretFile),
				worker.WithAllowHosts(f.allowHosts...), worker.WithLogger(f.logger(p)), worker.WithDrainTimeout(drain.d), worker.WithMaxQueries(queries.n),
			}
			if f.threads.n > 0 {
				options = append(options, worker.WithThreads(f.threads.n))
			}
			if f.security.Insecure {
				options = append(options, worker.WithInsecure())
			}
			w, err := worker.New(options...)
			if err != nil {
				return &usageError{err}
			}
			_, _ = fmt.Fprintf(p.err, "fletch worker at %s, version %q, instance %s\n", w.URL(), w.Version(), w.Instance())
			return serveUntilTold(cmd.Context(), p, w.Serve)
		},
	}
	cmd.AddCommand(drainCommand(p))
	cmd.Flags().StringVar(&version, "version", "", "your own `VERSION` string, at most 128 bytes (default none)")
	f.register(cmd, "8471")
	cmd.Flags().Var(&drain, "drain-timeout", "`TIME` for which known queries are served after SIGTERM")
	cmd.Flags().Var(&queries, "max-queries", "queries that have tasks here at a time; more are refused, and wait in their coordinator's queue; 0 is no limit")
	return cmd
}
