package rules

import (
	"context"
	"fmt"
	"io"
	"sync"

	"buf.build/go/bufplugin/check"
	"buf.build/go/bufplugin/descriptor"
	"buf.build/go/bufplugin/option"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"pluginrpc.com/pluginrpc"

	"github.com/fletchdb/fletch/ci/protogate/image"
)

// The options of the plugin: lists of full names, see Options.
const (
	optionUnknown  = "unknown"
	optionHarmless = "harmless"
	optionVersions = "versions"
)

// PluginOptions are opts as buf's configuration gives them to the plugin.
func (o Options) PluginOptions() map[string][]string {
	all := map[string][]string{}
	for key, names := range map[string][]string{optionUnknown: o.Unknown, optionHarmless: o.Harmless, optionVersions: o.Versions} {
		if len(names) > 0 {
			all[key] = names
		}
	}
	return all
}

// Plugin answers one call of buf's plugin protocol and gives the exit code.
func Plugin(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	server, err := check.NewServer(spec(), check.ServerWithValidator(trust{}))
	if err == nil {
		err = server.Serve(ctx, pluginrpc.Env{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	}
	if err != nil {
		if text := err.Error(); text != "" {
			_, _ = fmt.Fprintln(stderr, text)
		}
		return pluginrpc.WrapExitError(err).ExitCode()
	}
	return 0
}

// trust takes what buf sends as it is: compiling the constraints to check it by would be most of a call's time.
type trust struct{}

func (trust) Validate(proto.Message, ...protovalidate.ValidationOption) error { return nil }

func spec() *check.Spec {
	s := &check.Spec{}
	var once sync.Once
	var found []Finding
	var failed error
	for _, n := range Names {
		s.Rules = append(s.Rules, &check.RuleSpec{
			ID: n.ID, Purpose: n.Purpose, Type: check.RuleTypeBreaking,
			Handler: check.RuleHandlerFunc(func(_ context.Context, w check.ResponseWriter, r check.Request) error {
				once.Do(func() { found, failed = compare(r) }) // the process serves one call
				for _, f := range found {
					if f.Rule != n.ID {
						continue
					}
					at := check.WithFileName(f.File)
					if f.Path != nil {
						at = check.WithFileNameAndSourcePath(f.File, f.Path)
					}
					w.AddAnnotation(check.WithMessage(f.Message), at)
				}
				return failed
			}),
		})
	}
	return s
}

func compare(r check.Request) ([]Finding, error) {
	var opts Options
	for key, names := range map[string]*[]string{optionUnknown: &opts.Unknown, optionHarmless: &opts.Harmless, optionVersions: &opts.Versions} {
		var err error
		if *names, err = option.GetStringSliceValue(r.Options(), key); err != nil {
			return nil, err
		}
	}
	old, err := imageOf(r.AgainstFileDescriptors())
	if err != nil {
		return nil, err
	}
	cur, err := imageOf(r.FileDescriptors())
	if err != nil {
		return nil, err
	}
	return Compare(old, cur, opts), nil
}

func imageOf(files []descriptor.FileDescriptor) (*image.Image, error) {
	var protos []*descriptorpb.FileDescriptorProto
	imported := map[string]bool{}
	for _, f := range files {
		protos = append(protos, f.FileDescriptorProto())
		imported[f.FileDescriptorProto().GetName()] = f.IsImport()
	}
	return image.New(protos, func(p *descriptorpb.FileDescriptorProto) bool { return imported[p.GetName()] })
}
