package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/identity"
)

// connectFlags are what commands that only ask a server need.
type connectFlags struct {
	urls     []string
	security client.Security
}

func (f *connectFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.urls, "connect", nil, "URLs of coordinators, of which the first that answers is used")
	clientFlags(cmd, &f.security)
}

func (f *connectFlags) client(s streams) (*client.Client, error) {
	if len(f.urls) == 0 {
		return nil, usagef("name a server with --connect URL, or $FLETCH_CONNECT")
	}
	c, err := client.New(f.urls, client.Config{Security: f.security, Differ: func(what string) {
		_, _ = fmt.Fprintf(s.err, "note: %s\n", what)
	}})
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

func workersCommand(s streams) *cobra.Command {
	var (
		f      connectFlags
		format string
	)
	cmd := &cobra.Command{
		Use:     "workers",
		Short:   "Show a coordinator's workers, their versions, and why one is not used",
		Example: `  fletch workers --connect http://127.0.0.1:8470`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.client(s)
			if err != nil {
				return err
			}
			defer c.Close()
			workers, err := c.Workers(cmd.Context())
			if err != nil {
				return err
			}
			t := &tableData{columns: []string{"url", "instance", "version", "build", "protocol", "capabilities", "state", "used", "reason"}}
			for _, w := range workers {
				row := []any{w.GetUrl(), w.GetInstanceId(), w.GetVersion(), w.GetBuild(), w.GetProtocol(), w.GetCapabilities(), state(w), w.GetUsed(), w.GetReasonDetail()}
				if format == "table" {
					for _, long := range []int{1, 3, 5} {
						v := row[long].(string)
						row[long] = v[:min(len(v), 11)]
					}
				}
				t.rows = append(t.rows, row)
			}
			return t.print(s, format)
		},
	}
	f.register(cmd)
	formatFlag(cmd, &format)
	return cmd
}

// state is a worker's state in words; one that this build does not know is shown as its number.
func state(w *apiv1.Worker) string {
	name, ok := apiv1.WorkerState_name[int32(w.GetState())]
	if !ok {
		return fmt.Sprintf("unknown (%d)", w.GetState())
	}
	return strings.ToLower(strings.TrimPrefix(name, "WORKER_STATE_"))
}

func versionCommand(s streams) *cobra.Command {
	var (
		f      connectFlags
		format string
	)
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show this build's versions and, with --connect, a server's",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := &tableData{columns: []string{"what", "release", "api", "api_minimum", "protocol", "build", "go"}}
			t.rows = append(t.rows, []any{
				"client", identity.Release(), identity.API().String(), identity.APIMinimum().String(), identity.Protocol(), identity.Build(), runtime.Version(),
			})
			if len(f.urls) > 0 {
				c, err := f.client(s)
				if err != nil {
					return err
				}
				defer c.Close()
				v, err := c.Version(cmd.Context())
				if err != nil {
					return err
				}
				api := func(a *apiv1.ApiVersion) string { return fmt.Sprintf("%d.%d", a.GetMajor(), a.GetMinor()) }
				t.rows = append(t.rows, []any{"server", v.GetRelease(), api(v.GetApi()), api(v.GetApiMinimum()), v.GetProtocol(), v.GetBuild(), ""})
			}
			return t.print(s, format)
		},
	}
	f.register(cmd)
	formatFlag(cmd, &format)
	return cmd
}
