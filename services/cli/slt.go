package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/slt"
)

// sltCommand runs SQL logic tests: a tool for Fletch's own developers, so it is not shown.
func sltCommand(p *process) *cobra.Command {
	var (
		format  string
		verbose bool
		known   string
		suite   string
	)
	cmd := &cobra.Command{
		Use:    "slt FILES",
		Short:  "Run SQL logic tests",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			e, err := engine.Open(engine.Config{})
			if err != nil {
				return err
			}
			defer func() { _ = e.Close() }()
			report, err := playFiles(cmd.Context(), files, func() slt.Querier { return e.NewSession().Querier() })
			if err != nil {
				return err
			}
			if verbose {
				for _, f := range report.Failures {
					_, _ = fmt.Fprintf(p.err, "%s: %s\n%s\n\n", f.Record.Where(), f.Why, f.Record.SQL)
				}
				for _, f := range report.Left {
					_, _ = fmt.Fprintf(p.err, "%s: left out: %s\n", f.Record.Where(), f.Why)
				}
			}
			var wrong []string
			if known != "" {
				k, err := slt.ReadKnown(known)
				if err != nil {
					return usagef("%w", err)
				}
				wrong = k.Settle(&report, suite)
			}
			if err := printReport(p, report, format); err != nil {
				return err
			}
			if len(wrong) > 0 {
				return fmt.Errorf("%d records are not as %s says:\n%s", len(wrong), known, strings.Join(wrong, "\n"))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "tell of each record that failed or was left out")
	cmd.Flags().StringVar(&known, "known", "", "list of records known not to pass, with reasons")
	cmd.Flags().StringVar(&suite, "suite", ".", "folder from which that list names files")
	return cmd
}

func playFiles(ctx context.Context, files []string, session func() slt.Querier) (total slt.Report, err error) {
	for _, f := range files {
		script, err := slt.Read(f, "postgresql")
		if err != nil {
			return total, usagef("%w", err)
		}
		q := session()
		report, err := slt.Play(ctx, script, q, slt.Config{})
		_ = q.Close()
		if err != nil {
			return total, err
		}
		total.Add(report)
	}
	return total, nil
}

func printReport(p *process, r slt.Report, format string) error {
	if format == "json" {
		left := r.LeftOut
		if left == nil {
			left = map[string]int{}
		}
		return json.NewEncoder(p.out).Encode(map[string]any{"run": r.Run, "passed": r.Passed, "failed": r.Failed, "left_out": left})
	}
	_, err := fmt.Fprint(p.out, r.String())
	return err
}
