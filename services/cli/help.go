package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Groups of commands, by what people come for.
const (
	groupQueries = "queries"
	groupCluster = "cluster"
	groupMore    = "more"
)

// exitCodes is the part of the help that scripts are written by.
const exitCodes = `Exit codes
  0    done
  1    the query, or the command, failed
  2    wrong use: the message names the flag
  3    no server, or no usable worker
  130  interrupted
`

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show how a command is used",
		GroupID: groupMore,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := knownCommand(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			help(about)
			return nil
		},
	}
}

// help writes what a command is for, examples, its flags by group and how it ends.
func help(cmd *cobra.Command) {
	var b strings.Builder
	what := cmd.Long
	if what == "" {
		what = cmd.Short
	}
	fmt.Fprintf(&b, "%s\n\nUsage\n", what)
	if cmd.HasParent() && cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", cmd.CommandPath())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples\n%s\n", cmd.Example)
	}
	helpCommands(&b, cmd)
	helpFlags(&b, cmd)
	if !cmd.HasParent() || cmd.Name() == "sql" {
		b.WriteString("\n" + exitCodes)
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help tells more of each. A flag that the command line leaves out comes from its variable\n(--read-root from FLETCH_READ_ROOT), else from the configuration file: see fletch config --help.\n", cmd.CommandPath())
	}
	_, _ = fmt.Fprint(cmd.OutOrStdout(), b.String())
}

func helpCommands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	list := func(title, group string) {
		fmt.Fprintf(b, "\n%s\n", title)
		for _, c := range cmd.Commands() {
			if c.GroupID == group && (c.IsAvailableCommand() || c.Name() == "help") {
				fmt.Fprintf(b, "  %-11s %s\n", c.Name(), c.Short)
			}
		}
	}
	if len(cmd.Groups()) == 0 {
		list("Commands", "")
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
}

func helpFlags(b *strings.Builder, cmd *cobra.Command) {
	sets := map[string]*pflag.FlagSet{}
	titles := []string{"Flags"}
	add := func(f *pflag.Flag) {
		title := annotation(f, flagGroup)
		switch {
		case title != "":
		case f.Name == "help" || f.Name == "config":
			title = "Always"
		default:
			title = "Flags"
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet("", pflag.ContinueOnError)
			sets[title].SortFlags = false
		}
		if !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
		sets[title].AddFlag(f)
	}
	cmd.Flags().SortFlags = false
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	if i := slices.Index(titles, "Always"); i >= 0 {
		titles = append(slices.Delete(titles, i, i+1), "Always")
	}
	for _, title := range titles {
		if sets[title] != nil && sets[title].HasAvailableFlags() {
			fmt.Fprintf(b, "\n%s\n%s", title, sets[title].FlagUsagesWrapped(100))
		}
	}
}
