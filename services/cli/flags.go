package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fletchdb/fletch/engine/catalog"
)

// flagError says what is wrong with a flag, by its name, in the words of this program.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		missing *pflag.ValueRequiredError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if near := catalog.Near(unknown.GetSpecifiedName(), names); near != "" {
			return usagef("%s has no flag --%s; did you mean --%s?", cmd.CommandPath(), unknown.GetSpecifiedName(), near)
		}
		return usagef("%s has no flag --%s", cmd.CommandPath(), unknown.GetSpecifiedName())
	case errors.As(err, &value):
		return usagef("--%s: %w", value.GetFlag().Name, plain(value.GetFlag(), value.GetValue(), value.Unwrap()))
	case errors.As(err, &missing):
		return usagef("--%s needs a value", missing.GetFlag().Name)
	}
	return &usageError{err}
}

// plain is what a flag's value should be, for those whose own error speaks of Go.
func plain(f *pflag.Flag, value string, err error) error {
	switch f.Value.Type() {
	case "bool":
		return fmt.Errorf("%q is neither true nor false", value)
	case "float64":
		return fmt.Errorf("%q is no number", value)
	}
	return err
}

// A choice is a flag with a few possible values, the first of which is its default.
type choice struct {
	value   string
	choices []string
}

func (c *choice) Type() string   { return "choice" }
func (c *choice) String() string { return c.value }

func (c *choice) Set(s string) error {
	for _, possible := range c.choices {
		if s == possible {
			c.value = s
			return nil
		}
	}
	if near := catalog.Near(s, c.choices); near != "" {
		return fmt.Errorf("%q is not one of %s; did you mean %s?", s, c.list(), near)
	}
	return fmt.Errorf("%q is not one of %s", s, c.list())
}

func (c *choice) list() string { return strings.Join(c.choices, ", ") }

// choiceFlag adds a flag of choices to cmd; usage goes on with what they are.
func choiceFlag(cmd *cobra.Command, c *choice, name, usage string, choices ...string) {
	c.value, c.choices = choices[0], choices
	cmd.Flags().Var(c, name, usage+": "+c.list())
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// A memorySize is a flag of bytes: "64MB", "1.5GiB", or a number of bytes. Decimal units are powers of 1000, binary ones of 1024.
type memorySize struct {
	bytes int64
	text  string
}

func (m *memorySize) Type() string   { return "SIZE" }
func (m *memorySize) String() string { return m.text }

func (m *memorySize) Set(s string) error {
	if s == "" {
		*m = memorySize{}
		return nil
	}
	number, unit := s, ""
	if i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		number, unit = s[:i], strings.TrimSpace(s[i:])
	}
	factor, known := map[string]float64{
		"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
	}[strings.ToUpper(unit)]
	n, err := strconv.ParseFloat(number, 64)
	if !known || err != nil || n*factor < 1 || n*factor > 1<<60 {
		return fmt.Errorf("%q is no amount of memory such as 512MB or 4GiB", s)
	}
	*m = memorySize{int64(n * factor), s}
	return nil
}

// A count is a flag of a whole number that is not negative, and at most max where that is set.
type count struct{ n, max int }

func (c *count) Type() string { return "N" }

func (c *count) String() string {
	if c.n == 0 {
		return ""
	}
	return strconv.Itoa(c.n)
}

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil || n < 0:
		return fmt.Errorf("%q is no whole number from 0 up", s)
	case c.max > 0 && n > c.max:
		return fmt.Errorf("%d is more than %d", n, c.max)
	}
	c.n = n
	return nil
}

// A span is a flag of a time that is not negative; 0 is none.
type span struct{ d time.Duration }

func (s *span) Type() string { return "TIME" }

func (s *span) String() string {
	if s.d == 0 {
		return ""
	}
	return s.d.String()
}

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if text == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time such as 500ms, 30s or 5m", text)
	}
	s.d = d
	return nil
}

// folders is a flag that may repeat. In a variable they are separated as those of PATH are.
type folders []string

func (f *folders) Type() string   { return "DIR" }
func (f *folders) String() string { return strings.Join(*f, string(filepath.ListSeparator)) }

func (f *folders) Set(s string) error {
	*f = append(*f, s)
	return nil
}

// checkFolder tells what is wrong with the folder of a flag; none is given by "".
func checkFolder(flag, dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("--%s: there is no folder %q", flag, dir)
	case err != nil:
		return usagef("--%s: %w", flag, err)
	case !info.IsDir():
		return usagef("--%s: %q is no folder", flag, dir)
	}
	return nil
}

// flagGroup is the annotation of a flag that help shows below a title of its own.
const flagGroup = "fletch_group"

// groupFlags puts flags of cmd below a title in its help.
func groupFlags(cmd *cobra.Command, title string, names ...string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f != nil {
			annotate(f, flagGroup, title)
		}
	}
}

func annotate(f *pflag.Flag, key, value string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{value}
}

func annotation(f *pflag.Flag, key string) string {
	if v := f.Annotations[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}
