package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/fletchdb/fletch/engine/catalog"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
)

func queriesCommand(p *process) *cobra.Command {
	var (
		f                    connectFlags
		format               choice
		text, code, instance string
		statuses             []string
		since, until         moment
		limit                = count{n: 50}
		version              string
	)
	cmd := &cobra.Command{
		Use:   "queries [flags]",
		Short: "List queries of a coordinator or a history server",
		Long: `Lists queries, the one that was accepted last first: those that run on a coordinator and those that
ended. A coordinator knows the last thousand of its own and, with --event-log, all that its log
has; fletch history serves a log without a coordinator. fletch query ID shows all of one.`,
		Example: `  fletch queries --connect http://127.0.0.1:8470
  fletch queries --connect http://127.0.0.1:8470 --status running
  fletch queries --connect http://127.0.0.1:8480 --status failed,crashed --since 24h --text lineitem --format json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req := &apiv1.ListQueriesRequest{Text: text, ErrorCode: code, InstanceId: instance, Since: timestampOf(since), Until: timestampOf(until)}
			if cmd.Flags().Changed("worker-version") {
				req.WorkerVersion = &version
			}
			for _, s := range statuses {
				status, err := parseStatus(s)
				if err != nil {
					return err
				}
				req.Statuses = append(req.Statuses, status)
			}
			c, err := f.client(p)
			if err != nil {
				return err
			}
			defer c.Close()
			list, more, err := listQueries(cmd.Context(), c, req, limit.n)
			if err != nil {
				return err
			}
			if err := queryListing(list, format.value).print(p, format.value); err != nil {
				return err
			}
			if more {
				_, _ = fmt.Fprintf(p.err, "note: there are more: --limit 0 lists all\n")
			}
			return nil
		},
	}
	listingFlag(cmd, &format)
	flags := cmd.Flags()
	flags.StringVar(&text, "text", "", "only queries whose statement holds `TEXT`, whatever its case")
	flags.StringSliceVar(&statuses, "status", nil, "only queries of `STATUS[,STATUS]`: "+strings.Join(statusWords(), ", "))
	flags.Var(&since, "since", "only queries accepted at `TIME` or later: 2026-01-31, 2026-01-31T12:00:00Z, or 24h ago as 24h")
	flags.Var(&until, "until", "only queries accepted before `TIME`")
	flags.StringVar(&version, "worker-version", "", "only queries whose last attempt ran on workers of `VERSION`")
	flags.StringVar(&code, "error-code", "", "only queries that failed with `CODE`, such as division_by_zero")
	flags.StringVar(&instance, "instance", "", "only queries of the coordinator with that instance `ID`")
	flags.Var(&limit, "limit", "most queries to list; 0 is all")
	f.register(cmd)
	return cmd
}

// listQueries gives up to limit queries, page by page, and tells whether there are more.
func listQueries(ctx context.Context, c *client.Client, req *apiv1.ListQueriesRequest, limit int) (list []*apiv1.QuerySummary, more bool, err error) {
	const page = 1000
	for {
		req.PageSize = page
		if limit > 0 {
			req.PageSize = uint32(min(page, limit-len(list)))
		}
		res, err := c.Queries(ctx, req)
		if err != nil {
			return nil, false, err
		}
		list = append(list, res.GetQueries()...)
		req.PageToken = res.GetNextPageToken()
		if req.GetPageToken() == "" {
			return list, false, nil
		}
		if limit > 0 && len(list) >= limit {
			return list, true, nil
		}
	}
}

// queryListing lists queries: for people what a line has room for, for scripts everything.
func queryListing(list []*apiv1.QuerySummary, format string) *listing {
	t := &listing{columns: []string{
		"query", "status", "started", "elapsed_ms", "rows", "attempts", "version", "code", "client", "client_api", "instance", "scanned_rows", "scanned_bytes", "memory_peak", "statement",
	}}
	for _, q := range list {
		t.rows = append(t.rows, []any{
			q.GetQueryId(), statusWord(q.GetStatus()), q.GetStartedAt().AsTime().Format("2006-01-02T15:04:05.000Z"),
			float64(q.GetElapsed().AsDuration().Microseconds()) / 1000, q.GetRows(), q.GetAttempts(), q.GetCohort().GetVersion(), q.GetErrorCode(), q.GetClient(), q.GetClientApi(), q.GetInstanceId(),
			q.GetScanned().GetRows(), q.GetScanned().GetBytes(), q.GetMemoryPeak(), q.GetStatement(),
		})
	}
	if format != "table" {
		return t
	}
	for _, row := range t.rows {
		last := len(row) - 1
		row[last] = strings.Join(strings.Fields(row[last].(string)), " ")
	}
	return t.without("attempts", "client", "client_api", "instance", "scanned_rows", "scanned_bytes", "memory_peak")
}

// statusWord is a query's status in one word; one that this build does not know is its number.
func statusWord(s apiv1.QueryStatus) string {
	name, ok := apiv1.QueryStatus_name[int32(s)]
	if !ok {
		return fmt.Sprintf("unknown (%d)", s)
	}
	return strings.ToLower(strings.TrimPrefix(name, "QUERY_STATUS_"))
}

func statusWords() (words []string) {
	for n := int32(1); apiv1.QueryStatus_name[n] != ""; n++ {
		words = append(words, statusWord(apiv1.QueryStatus(n)))
	}
	return words
}

func parseStatus(word string) (apiv1.QueryStatus, error) {
	words := statusWords()
	if i := slices.Index(words, strings.ToLower(word)); i >= 0 {
		return apiv1.QueryStatus(i + 1), nil
	}
	if near := catalog.Near(word, words); near != "" {
		return 0, usagef("--status: %q is none of %s; did you mean %s?", word, strings.Join(words, ", "), near)
	}
	return 0, usagef("--status: %q is none of %s", word, strings.Join(words, ", "))
}

// timestampOf is a moment as a request has it.
func timestampOf(m moment) *timestamppb.Timestamp {
	if m.t.IsZero() {
		return nil
	}
	return timestamppb.New(m.t)
}
