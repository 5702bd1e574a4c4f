package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/resolver"
	"github.com/fletchdb/fletch/services/worker"
)

func drainCommand(p *process) *cobra.Command {
	var (
		security resolver.Security
		instance string
	)
	cmd := &cobra.Command{
		Use:   "drain URL [flags]",
		Short: "Make a worker end as SIGTERM would",
		Long: `Tells the worker at URL to drain: it takes no new query, serves those that it knows to their
end or to its --drain-timeout, and exits with code 0. The command returns as soon as the worker
has said so; fletch workers shows it as draining until it is gone. Telling it again changes
nothing.

It is meant for one process. With --instance, which fletch workers and the worker's first line
show, a worker that was restarted in place meanwhile refuses and goes on.

The worker asks for the secret that it shares with its coordinators. One without a secret is
drained from its own host only.`,
		Example: `  fletch worker drain http://127.0.0.1:8471
  fletch worker drain http://10.0.0.7:8471 --secret-file /etc/fletch/secret --instance 5f0c…`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("name one worker: fletch worker drain URL")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := resolver.CheckURL(args[0]); err != nil {
				return &usageError{err}
			}
			d, err := worker.Drain(cmd.Context(), args[0], instance, security)
			if err != nil {
				if sqlerr.CodeOf(err) == sqlerr.WorkerLost {
					return &client.Unreachable{URLs: args, Err: err}
				}
				return err
			}
			_, err = fmt.Fprintf(p.out, "worker at %s, version %q, instance %s drains; it serves %d attempts to their end\n", args[0], d.Version, d.Instance, d.Attempts)
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&instance, "instance", "", "`ID` of the one process that is meant (default whoever is there now)")
	flags.StringVar(&security.SecretFile, "secret-file", "", "`FILE` of the secret that the worker shares with its coordinators")
	flags.StringVar(&security.CAFile, "tls-ca", "", "PEM `FILE` of the authorities that may sign the worker's certificate (default the system's)")
	flags.StringVar(&security.CertFile, "tls-cert", "", "PEM `FILE` of this caller's certificate, for workers that ask for one")
	flags.StringVar(&security.KeyFile, "tls-key", "", "PEM `FILE` of the certificate's key")
	groupFlags(cmd, "Security", "secret-file", "tls-ca", "tls-cert", "tls-key")
	return cmd
}
