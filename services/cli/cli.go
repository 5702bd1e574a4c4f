// Package cli is the fletch command: flags, configuration, prompts, tables and progress. It runs statements through the engine
// or the API like any other user of them, and must never know how either works.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine/catalog"
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

// interruptGrace is how long a command may take to end once ctx has. What it has not given back then, the process's end does.
const interruptGrace = 800 * time.Millisecond

// Run runs fletch with the arguments after its name and gives its exit code. It returns when the command is done, or shortly
// after ctx ended, which is an interrupt.
func Run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	return run(ctx, args, &process{in: in, out: out, err: errw, signals: newSignals()})
}

func run(ctx context.Context, args []string, p *process) int {
	root := rootCommand(p)
	root.SetArgs(args)
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	var unknown error // the command whose --help is asked for is not there
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if names := cmd.Flags().Args(); cmd.HasAvailableSubCommands() && len(names) > 0 {
			unknown = knownCommand(cmd, names)
			return
		}
		help(cmd)
	})
	type end struct {
		cmd *cobra.Command
		err error
	}
	ended := make(chan end, 1)
	go func() {
		cmd, err := root.ExecuteContextC(ctx)
		if err == nil {
			err = unknown
		}
		ended <- end{cmd, err}
	}()
	select {
	case e := <-ended:
		return finish(ctx, p, e.cmd, e.err)
	case <-ctx.Done():
	}
	var patience <-chan time.Time
	if !p.signals.draining(ctx) {
		patience = time.After(interruptGrace)
	}
	select {
	case e := <-ended:
		return finish(ctx, p, e.cmd, e.err)
	case <-patience:
		return exitInterrupted
	}
}

// finish tells what is left to tell of a command's end, and gives the exit code.
func finish(ctx context.Context, p *process, cmd *cobra.Command, err error) int {
	code := exitCode(ctx, err)
	var told *toldError
	if err == nil || errors.As(err, &told) {
		return code
	}
	report(p, source{}, err)
	if code == exitUsage {
		if cmd.Name() == "help" {
			cmd = cmd.Root()
		}
		_, _ = fmt.Fprintf(p.err, "hint: %s --help shows how it is used\n", cmd.CommandPath())
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

// usageError is wrong use of a command: its exit code is 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// toldError is an error that the user has read already.
type toldError struct{ err error }

func (e *toldError) Error() string { return e.err.Error() }
func (e *toldError) Unwrap() error { return e.err }

func rootCommand(p *process) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "fletch",
		Short: "Distributed Arrow SQL that stays correct while it is being upgraded",
		Long: `Fletch runs SQL over Parquet files: in this one process, or on a cluster of workers behind
a coordinator. Workers of different versions never meet in one query.`,
		Example: `  fletch demo                                        a small cluster on this machine, to look at
  fletch sql -c "SELECT count(*) FROM 'x.parquet'"   a statement in this process
  fletch worker --listen 127.0.0.1:8471              a worker
  fletch serve --workers http://127.0.0.1:8471       a coordinator
  fletch sql --connect http://127.0.0.1:8470         a prompt on the cluster`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return showVersions(cmd.Context(), p, connectFlags{}, "table")
			}
			return cmd.Help()
		},
	}
	root.AddGroup(
		&cobra.Group{ID: groupQueries, Title: "Queries"}, &cobra.Group{ID: groupCluster, Title: "Clusters"}, &cobra.Group{ID: groupMore, Title: "More"},
	)
	root.SetCompletionCommandGroupID(groupMore)
	root.SetHelpCommand(helpCommand())
	root.SetUsageFunc(func(cmd *cobra.Command) error { help(cmd); return nil })
	root.SetFlagErrorFunc(flagError)
	root.Flags().BoolVar(&version, "version", false, "show this build's versions, as fletch version does")
	root.PersistentFlags().String("config", "", "`FILE` of flags and their values in YAML (default fletch.yaml in the user's configuration folder, if there is one)")
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			prepare(c)
			root.AddCommand(c)
		}
	}
	add(groupQueries, sqlCommand(p), queriesCommand(p), queryCommand(p), demoCommand(p))
	add(groupCluster, serveCommand(p), workerCommand(p), workersCommand(p), rolloutCommand(p), logCommand(p), historyCommand(p))
	add(groupMore, versionCommand(p), configCommand(p), datagenCommand(p))
	root.AddCommand(sltCommand(p))
	return root
}

// prepare makes c and every command below it take flags from the environment and the configuration file, too, and treat arguments
// as wrong use unless it says otherwise.
func prepare(c *cobra.Command) {
	if c.Args == nil {
		c.Args = knownCommand
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
		prepare(sub)
	}
}

// knownCommand refuses arguments, for commands that have none: each is a command that is not, or a flag's value without it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		if cmd.Name() == "sql" {
			return usagef("fletch sql takes no argument %q: give a statement with -c, a file of them with -f", args[0])
		}
		return usagef("%s takes no argument %q: everything it is told is a flag", cmd.CommandPath(), args[0])
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := catalog.Near(args[0], names); near != "" {
		return usagef("%s has no command %q; did you mean %s?", cmd.CommandPath(), args[0], near)
	}
	if cmd.HasParent() && cmd.Runnable() {
		return usagef("%s takes no argument %q, and has no command of that name", cmd.CommandPath(), args[0])
	}
	return usagef("%s has no command %q", cmd.CommandPath(), args[0])
}
