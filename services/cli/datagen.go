package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine/write/parquet"
	"github.com/fletchdb/fletch/services/datagen"
)

func datagenCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "datagen",
		Short: "Generate data for tests and benchmarks",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(tpchCommand(p))
	return cmd
}

func tpchCommand(p *process) *cobra.Command {
	var (
		o           datagen.TPCHOptions
		out         string
		threads     count
		compression choice
	)
	cmd := &cobra.Command{
		Use:   "tpch [flags]",
		Short: "Generate TPC-H's eight tables as Parquet files",
		Long: `Generates the tables of TPC-H at any scale factor, one Parquet file each, row for row as the
benchmark's own generator makes them. Scale factor 1 has 8.7 million rows, about 400 MB. Files
are whole or not there: a run that is interrupted leaves the folder as it was.`,
		Example: `  fletch datagen tpch --scale 0.1 --out data
  fletch datagen tpch --scale 10 --out big --only lineitem,orders --compression zstd`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Scale <= 0 {
				return usagef("--scale is above 0, not %v", o.Scale)
			}
			var err error
			if o.Compression, err = parquet.ParseCompression(compression.value); err != nil {
				return usagef("--compression: %w", err)
			}
			o.Threads = threads.n
			shows := newProgress(p)
			o.Progress = func(table string, done, total int64) {
				shows.set(float64(done)/float64(max(1, total)), fmt.Sprintf("%s, %s rows", table, spaced(uint64(done))))
			}
			err = datagen.TPCH(cmd.Context(), out, o)
			shows.close()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "TPC-H at scale factor %v is in %s\n", o.Scale, out)
			return err
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&o.Scale, "scale", 1, "scale `FACTOR`, above 0")
	flags.StringVar(&out, "out", "tpch", "`DIR` to write to; files of the tables' names are replaced")
	flags.StringSliceVar(&o.Tables, "only", nil, "`TABLES` to make (default all of "+strings.Join(datagen.TPCHTables(), ", ")+")")
	flags.Var(&threads, "threads", "goroutines (default one per CPU)")
	choiceFlag(cmd, &compression, "compression", "`CODEC` of the files", "snappy", "zstd", "none")
	return cmd
}
