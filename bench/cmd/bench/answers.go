package main

import (
	"context"
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
)

// answers writes what the peer answers, one file per query, as tests compare with them: '|' between fields, a header, NULL as an
// empty field.
func answers(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("answers", flag.ContinueOnError)
	queries := fs.String("queries", "all", "names such as q01,q03")
	peer := fs.String("peer", "", "the DuckDB runner")
	tables := fs.String("tables", "", "folder of Parquet files, one per table")
	texts := fs.String("texts", "", "folder of q01.sql …")
	out := fs.String("out", "", "folder to write q01.csv … to")
	if err := fs.Parse(args); err != nil {
		return err
	}
	all, err := readQueries(*texts, *queries)
	if err != nil {
		return err
	}
	d, err := startDuck(*peer, *tables, 2, "8GB")
	if err != nil {
		return err
	}
	defer d.close()
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for _, q := range all {
		a, _, err := d.ask(q.sql)
		if err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(*out, q.name+".csv"))
		if err != nil {
			return err
		}
		w := csv.NewWriter(f)
		w.Comma = '|'
		records := [][]string{a.Columns}
		for _, row := range a.Rows {
			record := make([]string, len(row))
			for i, cell := range row {
				if cell != nil {
					record[i] = *cell
				}
			}
			records = append(records, record)
		}
		if err := w.WriteAll(records); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return ctx.Err()
}
