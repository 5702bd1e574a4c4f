package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/services/client"
)

// sqlFlags is what fletch sql is told.
type sqlFlags struct {
	statements []string
	file       string
	tables     string
	connect    connectFlags
	format     choice
	threads    count
	memory     memorySize
	stats      bool
	batchRows  count
	timeout    span
}

func sqlCommand(p *process) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql [flags]",
		Short: "Run SQL, in this process or on a cluster",
		Long: `Runs the statements of -c, of -f, of standard input or, on a terminal, of a prompt, and stops at
the first that fails. Without --connect they run in this process and may read whatever files
its user may; with it they run on the cluster of a coordinator, which says what may be read.
A statement on standard input runs as soon as its semicolon has come.

JSON has 64-bit integers and decimals as numbers with all their digits, as PostgreSQL and DuckDB
write them: a reader that takes numbers for floats keeps about 15 digits of them.`,
		Example: `  fletch sql -c "SELECT count(*) FROM 'lineitem.parquet'"
  fletch sql --tables data -c "SELECT * FROM orders LIMIT 10" --format csv
  fletch sql --tables data -f report.sql --format parquet > report.parquet
  fletch sql --connect http://127.0.0.1:8470,http://127.0.0.1:8480 -c "EXPLAIN ANALYZE SELECT count(*) FROM orders"`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSQL(cmd, p, &f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.statements, "command", "c", nil, "`SQL` to run, one or more statements; may repeat")
	flags.StringVarP(&f.file, "file", "f", "", "`FILE` of statements to run; - is standard input")
	flags.StringVar(&f.tables, "tables", "", "`DIR` whose Parquet files, and folders of them, are tables by name")
	choiceFlag(cmd, &f.format, "format", "`FORM` of the result", resultFormats...)
	flags.Var(&f.timeout, "timeout", "`TIME` that a statement may take, such as 30s (default no limit, or the server's)")
	flags.Var(&f.threads, "threads", "goroutines per task (default one per CPU, or the server's own number)")
	flags.Var(&f.memory, "memory", "memory that a statement may use, such as 512MB (default no limit, or the server's)")
	flags.BoolVar(&f.stats, "stats", false, "end standard error with a line of JSON for each statement: its rows, attempts, workers, error")
	f.batchRows.max = 65536
	flags.Var(&f.batchRows, "batch-rows", "rows per batch, for tests")
	_ = flags.MarkHidden("batch-rows")
	f.connect.register(cmd)
	return cmd
}

// check finds what flags cannot go together.
func (f *sqlFlags) check(cmd *cobra.Command, p *process) error {
	if len(f.statements) > 0 && f.file != "" {
		return usagef("--command (-c) and --file (-f) do not go together: one of them has the statements")
	}
	if len(f.connect.urls) > 0 && f.tables != "" {
		switch tables, connect := typed(cmd, "tables"), typed(cmd, "connect"); {
		case tables == connect:
			return usagef("--tables does not go together with --connect: with it, tables are the server's, which fletch serve --tables names")
		case tables: // what is typed says where to run, whatever is configured
			f.connect.urls = nil
		default:
			f.tables = ""
		}
	}
	if err := checkFolder("tables", f.tables); err != nil {
		return err
	}
	if _, ok := terminal(p.out); ok && isBinary(f.format.value) {
		return usagef("--format %s is not for terminals: send standard output to a file", f.format.value)
	}
	return nil
}

func runSQL(cmd *cobra.Command, p *process, f *sqlFlags) error {
	if err := f.check(cmd, p); err != nil {
		return err
	}
	ctx := cmd.Context()
	texts, err := f.texts()
	if err != nil {
		return err
	}
	se, err := f.session(p)
	if err != nil {
		return err
	}
	defer se.close()
	for _, text := range texts {
		if err := se.text(ctx, text); err != nil {
			return err
		}
	}
	if len(texts) > 0 {
		return nil
	}
	_, keyboard := terminal(p.in)
	_, screen := terminal(p.out)
	if keyboard && screen && f.file == "" {
		return se.prompt(ctx)
	}
	return se.stream(ctx)
}

// texts are the statements that flags give; none where they are to be read.
func (f *sqlFlags) texts() (list []source, err error) {
	for _, s := range f.statements {
		list = append(list, source{statement: s})
	}
	if f.file != "" && f.file != "-" {
		text, err := os.ReadFile(f.file)
		if err != nil {
			return nil, usagef("--file: %w", err)
		}
		list = append(list, source{file: f.file, statement: string(text)})
	}
	return list, nil
}

// session opens what statements run on.
func (f *sqlFlags) session(p *process) (*session, error) {
	se := &session{process: p, to: destinationOf(p, f.format.value), stats: f.stats}
	if len(f.connect.urls) > 0 {
		c, err := f.connect.client(p)
		if err != nil {
			return nil, err
		}
		se.on = &cluster{client: c, options: client.Options{
			Timeout: f.timeout.d, Memory: f.memory.bytes, Threads: f.threads.n, BatchRows: f.batchRows.n,
		}}
		return se, nil
	}
	e, err := engine.Open(engine.Config{Tables: f.tables, Threads: f.threads.n, Memory: f.memory.bytes, BatchRows: f.batchRows.n})
	if err != nil {
		return nil, usagef("--tables: %w", err) // the one thing that opening looks at
	}
	se.on = &embedded{engine: e, session: e.NewSession(), timeout: f.timeout.d}
	return se, nil
}

// stream runs statements as they come on standard input, so that a program can hold a conversation.
func (se *session) stream(ctx context.Context) error {
	chunks, failed := read(ctx, se.process.in)
	from := source{}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case chunk, ok := <-chunks:
			if !ok {
				if err := <-failed; !errors.Is(err, io.EOF) {
					return fmt.Errorf("read statements: %w", err)
				}
				return se.text(ctx, from)
			}
			from.statement += chunk
			if !strings.Contains(chunk, ";") {
				continue
			}
			rest, err := se.complete(ctx, from)
			if err != nil {
				return err
			}
			from = rest
		}
	}
}

// read gives what r has as it comes, and at the end why it ended.
func read(ctx context.Context, r io.Reader) (<-chan string, <-chan error) {
	chunks, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(chunks)
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				select {
				case chunks <- string(buf[:n]):
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	return chunks, failed
}
