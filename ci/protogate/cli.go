package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/gate"
	"github.com/fletchdb/fletch/ci/protogate/report"
	"github.com/fletchdb/fletch/ci/protogate/rules"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

const usage = `protogate decides whether a change of a schema needs a new version, and says why.

  protogate check              compare every surface with the last release
  protogate explain [WORD]     what a policy, a verdict or a rule means
  protogate release vX.Y.Z     freeze baselines and golden vectors
  protogate commit vX.Y.Z      print the commit of a release
  protogate init               write a configuration from buf.yaml

Each takes -h. Exit codes: 0 pass, 1 verdict against, 2 could not decide.
`

// run is main without the process.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(stderr, usage)
		return 2
	}
	command, args := args[0], args[1:]
	var err error
	code := 0
	switch command {
	case "check":
		code, err = check(ctx, args, stdout, stderr)
	case "explain":
		err = explain(args, stdout)
	case "release":
		code, err = release(ctx, args, stdout, stderr)
	case "commit":
		code, err = commit(ctx, args, stdout, stderr)
	case "init":
		err = initialize(args, stdout, stderr)
	case "plugin": // called by buf
		return rules.Plugin(ctx, args, stdin, stdout, stderr)
	case "help", "-h", "--help":
		_, _ = io.WriteString(stdout, usage)
	default:
		err = fmt.Errorf("no command %q\n\n%s", command, usage)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "protogate: %v\n", err)
		if code == 0 {
			code = 2
		}
	}
	return code
}

// where are the flags that all commands share.
func where(name string, stderr io.Writer) (*flag.FlagSet, *gate.Options) {
	opts := &gate.Options{}
	f := flag.NewFlagSet("protogate "+name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&opts.Root, "C", ".", "the repository's root `folder`")
	f.StringVar(&opts.Config, "config", "", "the configuration `file`, below the root (protogate.yaml or ci/protogate.yaml)")
	return f, opts
}

// self is the command by which buf calls this program.
func self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return []string{path, "plugin"}, nil
}

func check(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f, opts := where("check", stderr)
	format := f.String("format", "text", "one of "+strings.Join(report.Formats, ", "))
	verbose := f.Bool("v", false, "list additions that need nothing, too")
	f.StringVar(&opts.Against, "against", "", "compare with this instead of the last release: a folder of images, a tarball, .git#tag=`REF`, or SURFACE=IMAGE")
	f.BoolVar(&opts.NoHistory, "no-history", false, "do not ask git whether frozen files were changed together with their locks")
	surfaces := f.String("surfaces", "", "`names` of the surfaces to check, with commas; all without it")
	if err := parse(f, args); err != nil {
		return 2, err
	}
	if !slices.Contains(report.Formats, *format) {
		return 2, fmt.Errorf("no format %q: it is one of %s", *format, strings.Join(report.Formats, ", "))
	}
	if *surfaces != "" {
		opts.Surfaces = strings.Split(*surfaces, ",")
	}
	var err error
	if opts.Plugin, err = self(); err != nil {
		return 2, err
	}
	r := gate.Check(ctx, *opts)
	return r.ExitCode(), report.Write(stdout, r, *format, *verbose)
}

func release(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f, opts := where("release", stderr)
	f.BoolVar(&opts.Loosen, "loosen", false, "the configuration may be laxer than the last release's")
	version, err := argument(f, args, "vX.Y.Z")
	if err != nil {
		return 2, err
	}
	if opts.Plugin, err = self(); err != nil {
		return 2, err
	}
	frozen, r, err := gate.Release(ctx, *opts, version)
	switch {
	case err != nil:
		return 2, err
	case frozen == nil:
		if err := report.Write(stdout, r, "text", false); err != nil {
			return 2, err
		}
		return r.ExitCode(), fmt.Errorf("%s is not released: the check does not pass", version)
	}
	_, err = fmt.Fprintf(stdout, "frozen: %s\nwritten: %s\nnow: read them, then\n  git add %s\n  git commit -m \"Release %s\"   # these files and nothing else\n  protogate commit %s\n",
		frozen.Folder, strings.Join(frozen.Pages, ", "), strings.Join(append([]string{frozen.Folder}, frozen.Pages...), " "), version, version)
	return 0, err
}

func commit(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	f, opts := where("commit", stderr)
	version, err := argument(f, args, "vX.Y.Z")
	if err != nil {
		return 2, err
	}
	hash, err := gate.Commit(ctx, *opts, version)
	if err != nil {
		return 2, err
	}
	_, err = fmt.Fprintln(stdout, hash)
	return 0, err
}

func initialize(args []string, stdout, stderr io.Writer) error {
	f, opts := where("init", stderr)
	if err := parse(f, args); err != nil {
		return err
	}
	file, err := gate.Configuration(opts.Root)
	if err != nil {
		return err
	}
	text, err := gate.Init(opts.Root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(opts.Root, filepath.FromSlash(file)), []byte(text), 0o666); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "written: %s\nnow: read it, set each surface's policy and version, then protogate check\n", file)
	return err
}

// argument is the one argument of a command, which may stand before or behind the flags.
func argument(f *flag.FlagSet, args []string, what string) (string, error) {
	var before []string
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		before, args = args[:1], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return "", err
	}
	if all := append(before, f.Args()...); len(all) == 1 {
		return all[0], nil
	}
	return "", fmt.Errorf("%s takes one argument: %s", f.Name(), what)
}

// parse refuses what is left behind the flags.
func parse(f *flag.FlagSet, args []string) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s takes no argument %q", f.Name(), f.Arg(0))
	}
	return nil
}

func explain(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		for _, t := range verdict.Topics {
			_, _ = fmt.Fprintf(stdout, "%s\n  %s\n", t.ID, strings.ReplaceAll(t.Text, "\n", "\n  "))
		}
		_, _ = fmt.Fprintf(stdout, "\nA rule of buf or of the gate, as a finding names it, is explained too: protogate explain FIELD_SAME_TYPE\n")
		return nil
	}
	for _, word := range args {
		text := verdict.Explain(word)
		if text == "" {
			return fmt.Errorf("nothing is called %q: protogate explain lists what there is", word)
		}
		_, _ = fmt.Fprintf(stdout, "%s\n  %s\n", word, text)
	}
	return nil
}
