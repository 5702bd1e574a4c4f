// Package cli is the fletch command: flags, configuration, prompts, tables and progress. It runs statements through the engine
// or the API like any other user of them, and must never know how either works.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
)

// Exit codes of fletch.
const (
	exitOK          = 0
	exitFailed      = 1   // the query failed
	exitUsage       = 2   // wrong use
	exitUnreachable = 3   // no server or no usable worker
	exitInterrupted = 130 // by Ctrl-C
)

// A streams is where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// terminal tells whether w is a terminal, and how many columns it has.
func terminal(w any) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width, true
}

// usageError is wrong use of a command: its exit code is 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// toldError is an error that the user has read already.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

// Run runs fletch with the arguments after its name and gives its exit code. It returns when the command is done or ctx ends,
// which is an interrupt.
func Run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	s := streams{in, out, errw}
	root := rootCommand(s)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errw)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, err)
	var told *toldError
	if err != nil && !errors.As(err, &told) {
		report(s, "", err)
		if code == exitUsage {
			_, _ = fmt.Fprintln(errw, "fletch --help, and fletch COMMAND --help, show how it is used")
		}
	}
	return code
}

func exitCode(ctx context.Context, err error) int {
	var (
		usage       *usageError
		unreachable *client.Unreachable
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return exitUsage
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &unreachable), sqlerr.CodeOf(err) == sqlerr.NoWorker:
		return exitUnreachable
	}
	return exitFailed
}

func rootCommand(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "fletch",
		Short: "Distributed Arrow SQL that stays correct while it is being upgraded",
		Long: `Fletch runs SQL over Parquet files: in this one process, or on a cluster of workers
behind a coordinator. Workers of different versions never meet in one query.`,
		Example: `  fletch demo                                        a small cluster on this machine, to look at
  fletch sql -c "SELECT count(*) FROM 'x.parquet'"   a statement in this process
  fletch worker --listen 127.0.0.1:8471              a worker
  fletch serve --workers http://127.0.0.1:8471       a coordinator
  fletch sql --connect http://127.0.0.1:8470         a prompt on the cluster`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().String("config", "", "a YAML file of flags and their values (default: fletch.yaml in the user's configuration folder, if there is one)")
	root.AddCommand(
		sqlCommand(s), serveCommand(s), workerCommand(s), workersCommand(s), versionCommand(s), configCommand(s), datagenCommand(s), demoCommand(s),
	)
	for _, c := range root.Commands() {
		configure(c)
	}
	return root
}

// configure makes every command below c take its flags from the environment and the configuration file, too, and treat wrong
// arguments as wrong use.
func configure(c *cobra.Command) {
	if args := c.Args; args != nil {
		c.Args = func(cmd *cobra.Command, given []string) error {
			if err := args(cmd, given); err != nil {
				return &usageError{err}
			}
			return nil
		}
	}
	if run := c.RunE; run != nil {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if err := fromSurroundings(cmd); err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
	for _, sub := range c.Commands() {
		configure(sub)
	}
}
