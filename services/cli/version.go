package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/internal/identity"
)

func versionCommand(p *process) *cobra.Command {
	var (
		f      connectFlags
		format choice
	)
	cmd := &cobra.Command{
		Use:   "version [flags]",
		Short: "Show this build's versions and, with --connect, a server's",
		Long: `Shows the release, the API that this client speaks and the least that it would serve, the
protocol between coordinators and workers, and the build: an id of the executable's content.`,
		Example: `  fletch version
  fletch version --connect http://127.0.0.1:8470 --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return showVersions(cmd.Context(), p, f, format.value) },
	}
	listingFlag(cmd, &format)
	f.register(cmd)
	return cmd
}

func showVersions(ctx context.Context, p *process, f connectFlags, format string) error {
	t := &listing{columns: []string{"what", "release", "api", "api_minimum", "protocol", "build", "go"}}
	t.rows = append(t.rows, []any{
		"client", identity.Release(), identity.API().String(), identity.APIMinimum().String(), identity.Protocol(), identity.Build(), runtime.Version(),
	})
	if len(f.urls) > 0 {
		c, err := f.client(p)
		if err != nil {
			return err
		}
		defer c.Close()
		v, err := c.Version(ctx)
		if err != nil {
			return err
		}
		api := func(a *apiv1.ApiVersion) string { return fmt.Sprintf("%d.%d", a.GetMajor(), a.GetMinor()) }
		t.rows = append(t.rows, []any{"server", v.GetRelease(), api(v.GetApi()), api(v.GetApiMinimum()), v.GetProtocol(), v.GetBuild(), ""})
	}
	return t.print(p, format)
}
