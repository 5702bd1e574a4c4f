package cli

import (
	"fmt"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine/write/parquet"
	"github.com/fletchdb/fletch/services/datagen"
)

func datagenCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "datagen",
		Short: "Generate data for tests and benchmarks",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tpchCommand(s))
	return cmd
}

func tpchCommand(s streams) *cobra.Command {
	var (
		scale       float64
		out         string
		tables      []string
		threads     int
		compression string
	)
	cmd := &cobra.Command{
		Use:   "tpch",
		Short: "Generate TPC-H's eight tables as Parquet files",
		Long: `Generates the tables of TPC-H at any scale factor, one Parquet file each, row for row as the
benchmark's own generator makes them. Scale factor 1 has 8.7 million rows, about 400 MB.`,
		Example: `  fletch datagen tpch --scale 0.1 --out data`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			codec, err := parquet.ParseCompression(compression)
			if err != nil {
				return &usageError{err}
			}
			if scale <= 0 {
				return usagef("--scale is above 0, not %v", scale)
			}
			o := datagen.TPCHOptions{Scale: scale, Tables: tables, Threads: threads, Compression: codec}
			if _, ok := terminal(s.err); ok {
				bars := map[string]*progressbar.ProgressBar{}
				o.Progress = func(table string, done, total int64) {
					if bars[table] == nil {
						bars[table] = progressbar.NewOptions64(
							total, progressbar.OptionSetWriter(s.err), progressbar.OptionSetDescription(fmt.Sprintf("%-9s", table)), progressbar.OptionFullWidth(),
							progressbar.OptionClearOnFinish(),
						)
					}
					bars[table].ChangeMax64(max(total, 1))
					_ = bars[table].Set64(done)
				}
			}
			if err := datagen.TPCH(cmd.Context(), out, o); err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "TPC-H at scale factor %v is in %s\n", scale, out)
			return err
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&scale, "scale", 1, "scale factor")
	flags.StringVar(&out, "out", "tpch", "folder to write to; files of the tables' names are replaced")
	flags.StringSliceVar(&tables, "tables", nil, "tables to make (default: all of "+strings.Join(datagen.TPCHTables(), ", ")+")")
	flags.IntVar(&threads, "threads", 0, "goroutines (default: one per CPU)")
	flags.StringVar(&compression, "compression", "snappy", "snappy, zstd or none")
	return cmd
}
