package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/fletchdb/fletch/engine/catalog"
)

// flagSource is the annotation of a flag that tells where its value came from.
const flagSource = "fletch_source"

const envPrefix = "FLETCH_"

// A setting is a flag's value outside of the command line. A list has several texts.
type setting struct {
	values []string
	source string
}

// settings is what the environment and the configuration file hold.
type settings struct {
	file map[string]setting // by the words of command and flag, joined with dots
	env  func(string) (string, bool)
}

// configPath is the configuration file to read, and whether somebody asked for it.
func configPath(cmd *cobra.Command) (path string, asked bool) {
	if path, _ := cmd.Flags().GetString("config"); path != "" {
		return path, true
	}
	if path := os.Getenv(envPrefix + "CONFIG"); path != "" {
		return path, true
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", false // no home: no file of the user's
	}
	return filepath.Join(dir, "fletch", "fletch.yaml"), false
}

func readSettings(cmd *cobra.Command) (*settings, error) {
	s := &settings{file: map[string]setting{}, env: os.LookupEnv}
	path, asked := configPath(cmd)
	if path == "" {
		return s, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !asked {
		return s, nil
	}
	if err != nil {
		return nil, usagef("read the configuration file: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, usagef("configuration file %s: %w", path, err)
	}
	if len(document.Content) == 0 {
		return s, nil // empty
	}
	return s, s.read(path, cmd.Root(), "", document.Content[0])
}

// read takes a mapping of flags and, below their names, of commands. A name that is neither is an error: it would else be a flag
// that silently does nothing.
func (s *settings) read(path string, cmd *cobra.Command, prefix string, node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return usagef("configuration file %s, line %d: flags and their values are expected here, as in threads: 4", path, node.Line)
	}
	commands, flags := known(cmd)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		if sub := commands[key.Value]; sub != nil && value.Kind == yaml.MappingNode {
			if err := s.read(path, sub, prefix+key.Value+".", value); err != nil {
				return err
			}
			continue
		}
		if !flags[key.Value] {
			return usagef("configuration file %s, line %d: there is no flag %q%s", path, key.Line, key.Value, didYouMean(key.Value, flags))
		}
		values, err := scalars(value)
		if err != nil {
			return usagef("configuration file %s, line %d: %s: %w", path, value.Line, key.Value, err)
		}
		s.file[prefix+key.Value] = setting{values, fmt.Sprintf("%s, line %d", path, key.Line)}
	}
	return nil
}

// known are the commands directly below cmd, and the flags of cmd and all commands below it.
func known(cmd *cobra.Command) (commands map[string]*cobra.Command, flags map[string]bool) {
	commands, flags = map[string]*cobra.Command{}, map[string]bool{}
	each(cmd, func(c *cobra.Command, f *pflag.Flag) {
		if c == cmd || len(names(c, f.Name)) > 1 {
			flags[f.Name] = true
		}
	})
	for _, c := range cmd.Commands() {
		commands[c.Name()] = c
	}
	return commands, flags
}

// each calls f with every flag that can be configured, of cmd and of the commands below it.
func each(cmd *cobra.Command, f func(*cobra.Command, *pflag.Flag)) {
	if cmd.HasParent() {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if configurable(flag) {
				f(cmd, flag)
			}
		})
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "completion" && c.Name() != "help" {
			each(c, f)
		}
	}
}

// configurable tells whether a flag makes sense outside of a command line.
func configurable(f *pflag.Flag) bool {
	return !f.Hidden && !slices.Contains([]string{"help", "config", "command", "file"}, f.Name)
}

func didYouMean(name string, among map[string]bool) string {
	var names []string
	for n := range among {
		names = append(names, n)
	}
	if near := catalog.Near(name, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// scalars are the texts of a value, or of a list of values, as they are written.
func scalars(n *yaml.Node) ([]string, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		var out []string
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				return nil, errors.New("a list of plain values is expected here")
			}
			out = append(out, c.Value)
		}
		return out, nil
	}
	return nil, errors.New("a value or a list of values is expected here")
}

// names are the ways to name a flag of cmd outside of the command line, the nearest first: below its command, and for all. Only
// a command's own name will do for a worker's --version, as "version" means too many things.
func names(cmd *cobra.Command, flag string) [][]string {
	own := append(strings.Fields(cmd.CommandPath())[1:], flag)
	if flag == "version" {
		return [][]string{own}
	}
	return [][]string{own, {flag}}
}

// variable is FLETCH_WORKER_READ_ROOT for the flag read-root of the command worker.
func variable(name []string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(strings.Join(name, "_"), "-", "_"))
}

// of finds what the environment or else the file says of a flag.
func (s *settings) of(cmd *cobra.Command, flag *pflag.Flag) (setting, bool) {
	for _, name := range names(cmd, flag.Name) {
		v, ok := s.env(variable(name))
		if _, list := flag.Value.(*folders); ok && list {
			return setting{filepath.SplitList(v), variable(name)}, true
		}
		if ok {
			return setting{[]string{v}, variable(name)}, true
		}
	}
	for _, name := range names(cmd, flag.Name) {
		if v, ok := s.file[strings.Join(name, ".")]; ok {
			return v, true
		}
	}
	return setting{}, false
}

// fromSurroundings sets the flags that the command line left alone from FLETCH_* variables and from the configuration file.
func fromSurroundings(cmd *cobra.Command) error {
	s, err := readSettings(cmd)
	if err != nil {
		return err
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if err != nil || !configurable(f) || f.Changed {
			return
		}
		found, ok := s.of(cmd, f)
		if !ok {
			return
		}
		annotate(f, flagSource, found.source)
		for _, v := range found.values {
			if e := f.Value.Set(v); e != nil {
				err = usagef("--%s, from %s: %w", f.Name, found.source, plain(f, v, e))
				return
			}
		}
		f.Changed = true
	})
	return err
}

// typed tells whether a flag was on the command line.
func typed(cmd *cobra.Command, flag string) bool {
	f := cmd.Flags().Lookup(flag)
	return f.Changed && annotation(f, flagSource) == ""
}

func configCommand(p *process) *cobra.Command {
	var format choice
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show what configuration holds, and where each value comes from",
		Long: `Shows every flag of every command with the value that it has without a command line, and where
that comes from. A flag's value comes from the command line, else from its variable, else
from the configuration file, else it is the default.

A variable is FLETCH_ and the flag's name, for every command that has the flag: FLETCH_THREADS.
With the command's name in between it is for that one: FLETCH_WORKER_THREADS. A worker's
--version is FLETCH_WORKER_VERSION.

The file is YAML, flags by name: at the top for every command, below a command's name for that
one. It is --config FILE, else $FLETCH_CONFIG, else fletch/fletch.yaml in the user's
configuration folder.

  connect: http://127.0.0.1:8470
  worker:
    listen: 127.0.0.1:8471
    read-root: [/data, /more]`,
		Example: `  fletch config
  FLETCH_THREADS=2 fletch config --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			t := &listing{columns: []string{"command", "flag", "value", "source"}}
			each(cmd.Root(), func(c *cobra.Command, f *pflag.Flag) {
				value, source := strings.Trim(f.DefValue, "[]"), "default"
				if found, ok := s.of(c, f); ok {
					value, source = strings.Join(found.values, ","), found.source
				}
				if c == cmd && typed(cmd, f.Name) {
					value, source = f.Value.String(), "command line"
				}
				t.rows = append(t.rows, []any{strings.Join(strings.Fields(c.CommandPath())[1:], " "), f.Name, value, source})
			})
			return t.print(p, format.value)
		},
	}
	listingFlag(cmd, &format)
	return cmd
}
