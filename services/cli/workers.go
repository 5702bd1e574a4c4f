package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
)

func workersCommand(p *process) *cobra.Command {
	var (
		f      connectFlags
		format choice
	)
	cmd := &cobra.Command{
		Use:   "workers [flags]",
		Short: "Show a coordinator's workers, their versions, and why one is not used",
		Long: `Shows every worker that a coordinator knows: who it is, what it does, whether a query that
comes now would run on it, and if not, why. A query runs on workers of one version only. Calls
that a worker refused, as they were not meant for it or it had no room, are counted.`,
		Example: `  fletch workers --connect http://127.0.0.1:8470
  fletch workers --connect http://127.0.0.1:8470 --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.client(p)
			if err != nil {
				return err
			}
			defer c.Close()
			list, err := c.Workers(cmd.Context())
			if err != nil {
				return err
			}
			t := workerListing(list, format.value == "table")
			if format.value == "table" && !slices.ContainsFunc(list, func(w *apiv1.Worker) bool { return w.GetRefusals() > 0 }) {
				t = t.without("refusals", "last_refusal")
			}
			return t.print(p, format.value)
		},
	}
	listingFlag(cmd, &format)
	f.register(cmd)
	return cmd
}

// workerListing lists workers; ids are cut to what people need to tell them apart where short is set.
func workerListing(list []*apiv1.Worker, short bool) *listing {
	t := &listing{columns: []string{"url", "instance", "version", "build", "protocol", "capabilities", "state", "used", "reason", "refusals", "last_refusal"}}
	id := func(s string) string {
		if short && len(s) > 11 {
			return s[:11]
		}
		return s
	}
	for _, w := range list {
		t.rows = append(t.rows, []any{
			w.GetUrl(), id(w.GetInstanceId()), w.GetVersion(), id(w.GetBuild()), w.GetProtocol(), id(w.GetCapabilities()), stateOf(w), w.GetUsed(), w.GetReasonDetail(), uint32(min(w.GetRefusals(), math.MaxUint32)), w.GetLastRefusal(),
		})
	}
	return t
}

// stateOf is a worker's state in words; one that this build does not know is shown as its number.
func stateOf(w *apiv1.Worker) string {
	name, ok := apiv1.WorkerState_name[int32(w.GetState())]
	if !ok {
		return fmt.Sprintf("unknown (%d)", w.GetState())
	}
	return strings.ToLower(strings.TrimPrefix(name, "WORKER_STATE_"))
}
