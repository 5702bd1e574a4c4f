package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// annotationSource is where a flag's value came from, noted on the flag.
const annotationSource = "fletch_source"

const envPrefix = "FLETCH_"

// envName is the variable of a flag: FLETCH_READ_ROOT of --read-root. A worker's --version is FLETCH_WORKER_VERSION.
func envName(cmd *cobra.Command, flag string) string {
	if cmd.Name() == "worker" && flag == "version" {
		flag = "worker-version"
	}
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settings is what a configuration file holds: flags by name, for all commands at the top, for one below its name.
type settings struct {
	file   *koanf.Koanf
	path   string
	envVar *koanf.Koanf
}

func readSettings(cmd *cobra.Command) (*settings, error) {
	s := &settings{file: koanf.New("."), envVar: koanf.New("\x00")}
	if err := s.envVar.Load(env.Provider("\x00", env.Opt{Prefix: envPrefix}), nil); err != nil {
		return nil, fmt.Errorf("read the environment: %w", err)
	}
	path, _ := cmd.Flags().GetString("config")
	required := path != ""
	if path == "" {
		path = os.Getenv(envPrefix + "CONFIG")
		required = path != ""
	}
	if path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return s, nil
		}
		path = filepath.Join(dir, "fletch", "fletch.yaml")
	}
	if err := s.file.Load(file.Provider(path), yaml.Parser()); err != nil {
		if errors.Is(err, fs.ErrNotExist) && !required {
			return s, nil
		}
		return nil, usagef("read configuration %s: %w", path, err)
	}
	s.path = path
	return s, nil
}

// value finds a flag's value outside of the command line, and tells where.
func (s *settings) value(cmd *cobra.Command, flag string) (values []string, source string) {
	name := envName(cmd, flag)
	if v, ok := s.envVar.Get(name).(string); ok {
		return []string{v}, name
	}
	for _, key := range []string{cmd.Name() + "." + flag, flag} {
		if !s.file.Exists(key) {
			continue
		}
		if list := s.file.Strings(key); len(list) > 0 {
			return list, s.path
		}
		return []string{s.file.String(key)}, s.path
	}
	return nil, ""
}

// fromSurroundings sets the flags that the command line left alone from FLETCH_* variables and from the configuration file.
func fromSurroundings(cmd *cobra.Command) error {
	s, err := readSettings(cmd)
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err != nil || f.Name == "help" || f.Name == "config" {
			return
		}
		if f.Changed {
			annotate(f, "the command line")
			return
		}
		values, source := s.value(cmd, f.Name)
		for _, v := range values {
			if e := cmd.Flags().Set(f.Name, v); e != nil {
				err = usagef("%s, from %s: %w", f.Name, source, e)
				return
			}
		}
		if values != nil {
			annotate(f, source)
		}
	})
	return err
}

func annotate(f *pflag.Flag, source string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[annotationSource] = []string{source}
}

func configCommand(s streams) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show what configuration holds, and where each value comes from",
		Long: `A flag's value comes from the command line, else from its FLETCH_* variable, else from the
configuration file, else it is the default. The file is YAML: flags by name, at the top for
every command, below a command's name for that one:

  connect: http://127.0.0.1:8470
  worker:
    listen: 127.0.0.1:8471
    read-root: [/data]`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := &tableData{columns: []string{"command", "flag", "value", "source"}}
			for _, c := range cmd.Root().Commands() {
				if c.Hidden || c.RunE == nil || c == cmd {
					continue
				}
				set, err := readSettings(cmd)
				if err != nil {
					return err
				}
				c.LocalFlags().VisitAll(func(f *pflag.Flag) {
					if f.Name == "help" || f.Name == "config" {
						return
					}
					value, source := f.DefValue, "default"
					if values, from := set.value(c, f.Name); values != nil {
						value, source = strings.Join(values, ","), from
					}
					t.rows = append(t.rows, []any{c.Name(), f.Name, value, source})
				})
			}
			return t.print(s, format)
		},
	}
	formatFlag(cmd, &format)
	return cmd
}

// formatFlag is --format of the commands that print a table.
func formatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "table", "table or json")
}
