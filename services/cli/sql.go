package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/fletchdb/fletch/engine"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
	apiv1 "github.com/fletchdb/fletch/gen/go/fletch/api/v1"
	"github.com/fletchdb/fletch/services/client"
	"github.com/fletchdb/fletch/services/internal/rpcerr"
)

// sqlFlags is what fletch sql is told.
type sqlFlags struct {
	statements []string
	file       string
	tables     string
	connect    []string
	format     string
	threads    int
	memory     string
	stats      bool
	batchRows  int
	timeout    time.Duration
	security   client.Security
}

func sqlCommand(s streams) *cobra.Command {
	var f sqlFlags
	cmd := &cobra.Command{
		Use:   "sql",
		Short: "Run SQL, in this process or on a cluster",
		Long: `Runs the statements of -c, of -f, of standard input or, on a terminal, of a prompt.
Without --connect they run in this process and may read whatever files its user may;
with it they run on the cluster of a coordinator, which says what may be read.`,
		Example: `  fletch sql -c "SELECT count(*) FROM 'lineitem.parquet'"
  fletch sql --tables data -c "SELECT * FROM orders LIMIT 10" --format csv
  fletch sql --connect http://127.0.0.1:8470 -f report.sql`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSQL(cmd.Context(), s, f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.statements, "command", "c", nil, "statements to run; may repeat")
	flags.StringVarP(&f.file, "file", "f", "", "file of statements to run")
	flags.StringVar(&f.tables, "tables", "", "folder whose Parquet files, and folders of them, are tables by name")
	flags.StringSliceVar(&f.connect, "connect", nil, "URLs of coordinators, of which the first that answers is used")
	flags.StringVar(&f.format, "format", "table", formats)
	flags.IntVar(&f.threads, "threads", 0, "goroutines per task (default: one per CPU, or the server's own number)")
	flags.StringVar(&f.memory, "memory", "", "memory that a query may use, such as 512MB (default: no limit, or the server's)")
	flags.BoolVar(&f.stats, "stats", false, "end standard error with a line of JSON about each statement's run")
	flags.DurationVar(&f.timeout, "timeout", 0, "time that a statement may take, such as 30s (default: no limit, or the server's)")
	flags.IntVar(&f.batchRows, "batch-rows", 0, "rows per batch, for tests")
	_ = flags.MarkHidden("batch-rows")
	clientFlags(cmd, &f.security)
	return cmd
}

// clientFlags are how a client shows who it is.
func clientFlags(cmd *cobra.Command, sec *client.Security) {
	flags := cmd.Flags()
	flags.StringVar(&sec.CertFile, "tls-cert", "", "PEM file of the client's certificate")
	flags.StringVar(&sec.KeyFile, "tls-key", "", "PEM file of the certificate's key")
	flags.StringVar(&sec.CAFile, "tls-ca", "", "PEM file of the authorities that may sign the server's certificate")
	flags.StringVar(&sec.TokenFile, "token-file", "", "file of the token that the server asks for")
}

// parseBytes reads "64MB", "1.5GiB" or a number of bytes. Decimal units are powers of 1000, binary ones of 1024.
func parseBytes(flag, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	units := []struct {
		suffix string
		bytes  float64
	}{
		{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
		{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1}, {"", 1},
	}
	upper := strings.ToUpper(strings.TrimSpace(s))
	for _, u := range units {
		number, ok := strings.CutSuffix(upper, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || n < 1 || n*u.bytes > 1<<60 {
			break
		}
		return int64(n * u.bytes), nil
	}
	return 0, usagef("%s %q is no amount of memory such as 512MB", flag, s)
}

// A session runs statements one after the other.
type session struct {
	streams streams
	flags   sqlFlags
	memory  int64
	engine  *engine.Engine // without --connect
	client  *client.Client // with it
}

func runSQL(ctx context.Context, s streams, f sqlFlags) error {
	memory, err := parseBytes("--memory", f.memory)
	if err != nil {
		return err
	}
	if len(f.statements) > 0 && f.file != "" {
		return usagef("give statements by -c or by -f, not both")
	}
	if len(f.connect) > 0 && f.tables != "" {
		return usagef("--tables is the server's own with --connect: give it to fletch serve")
	}
	if !strings.Contains(" table csv json ndjson arrow parquet ", " "+f.format+" ") {
		return usagef("--format is %s, not %q", formats, f.format)
	}
	if f.threads < 0 || f.batchRows < 0 || f.batchRows > 65536 {
		return usagef("--threads and --batch-rows are not negative, and a batch has at most 65536 rows")
	}
	se := &session{streams: s, flags: f, memory: memory}
	if len(f.connect) > 0 {
		se.client, err = client.New(f.connect, client.Config{Security: f.security, Differ: func(what string) {
			_, _ = fmt.Fprintf(s.err, "note: %s\n", what)
		}})
		if err != nil {
			return &usageError{err}
		}
		defer se.client.Close()
	} else {
		se.engine, err = engine.Open(engine.Config{Tables: f.tables, Threads: f.threads, Memory: memory, BatchRows: f.batchRows})
		if err != nil {
			return err
		}
		defer func() { _ = se.engine.Close() }()
	}
	switch {
	case len(f.statements) > 0:
		return se.text(ctx, strings.Join(f.statements, ";\n"))
	case f.file != "":
		text, err := os.ReadFile(f.file)
		if err != nil {
			return usagef("read -f: %w", err)
		}
		return se.text(ctx, string(text))
	}
	if _, ok := terminal(s.in); ok {
		if _, ok := terminal(s.out); ok {
			return se.prompt(ctx)
		}
	}
	return se.stream(ctx)
}

// text runs every statement of a text and stops at the first that fails.
func (se *session) text(ctx context.Context, text string) error {
	pieces, rest := parse.Split(text)
	if rest != "" {
		pieces = append(pieces, parse.Piece{Text: rest})
	}
	for _, p := range pieces {
		err := se.run(ctx, p.Text)
		if err == nil {
			continue
		}
		var told *toldError
		if !errors.As(err, &told) {
			report(se.streams, p.Text, err)
		}
		return &toldError{err}
	}
	return nil
}

// stream runs statements as they come on standard input, so that a program can hold a conversation.
func (se *session) stream(ctx context.Context) error {
	lines := make(chan string)
	failed := make(chan error, 1)
	go func() {
		in := bufio.NewReader(se.streams.in)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				failed <- err
				close(lines)
				return
			}
		}
	}()
	text := ""
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case line, ok := <-lines:
			if !ok {
				if err := <-failed; !errors.Is(err, io.EOF) {
					return fmt.Errorf("read statements: %w", err)
				}
				return se.text(ctx, text)
			}
			pieces, rest := parse.Split(text + line)
			text = rest
			for _, p := range pieces {
				if err := se.text(ctx, p.Text); err != nil {
					return err
				}
			}
		}
	}
}

// prompt talks to a person. An interrupt ends the statement that runs, not the session.
func (se *session) prompt(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	in, out := se.streams.in.(*os.File), se.streams.out.(*os.File)
	editor := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, out}, "")
	_, _ = fmt.Fprintln(out, "Statements end with a semicolon. \\q or Ctrl-D ends the session.")
	text := ""
	for {
		editor.SetPrompt("fletch> ")
		if strings.TrimSpace(text) != "" {
			editor.SetPrompt("   ...> ")
		}
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return fmt.Errorf("prepare the terminal: %w", err)
		}
		if w, h, err := term.GetSize(int(out.Fd())); err == nil {
			_ = editor.SetSize(w, h)
		}
		line, err := editor.ReadLine()
		_ = term.Restore(int(in.Fd()), state)
		if errors.Is(err, io.EOF) {
			_, _ = fmt.Fprintln(out)
			return nil
		}
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return fmt.Errorf("read statements: %w", err)
		}
		if command := strings.TrimSpace(line); strings.TrimSpace(text) == "" && (command == `\q` || command == "exit" || command == "quit") {
			return nil
		}
		pieces, rest := parse.Split(text + line + "\n")
		text = rest
		for _, p := range pieces {
			running, stop := signal.NotifyContext(base, os.Interrupt, syscall.SIGTERM)
			err := se.text(running, p.Text)
			stop()
			if err != nil {
				break
			}
		}
	}
}

// A result is a statement's rows from wherever it ran.
type result interface {
	Schema() (*arrow.Schema, error)
	Next() (arrow.RecordBatch, error)
	Close()
}

// run runs one statement and prints its result.
func (se *session) run(ctx context.Context, statement string) error {
	if strings.Trim(statement, "; \t\r\n") == "" {
		return nil
	}
	if se.flags.timeout > 0 && se.client == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, se.flags.timeout, sqlerr.New(sqlerr.Timeout, sqlerr.Pos{}, "canceling statement due to statement timeout"))
		defer cancel()
	}
	bar := newBar(se.streams)
	began := time.Now()
	st := &runStats{Workers: []workerStats{}}
	res, err := se.start(ctx, statement, bar)
	if err == nil {
		st.Rows, err = se.print(res, bar)
		res.Close()
	}
	bar.close()
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = rpcerr.Of(context.Cause(ctx))
	}
	if se.flags.stats {
		st.fill(res, err, time.Since(began))
		line, jerr := json.Marshal(st)
		if jerr != nil {
			return jerr
		}
		if err != nil { // the line is the last of standard error
			report(se.streams, statement, err)
			err = &toldError{err}
		}
		_, _ = fmt.Fprintf(se.streams.err, "%s\n", line)
	}
	return err
}

func (se *session) start(ctx context.Context, statement string, bar *bar) (result, error) {
	if se.client != nil {
		o := client.Options{Timeout: se.flags.timeout, Memory: se.memory, Threads: se.flags.threads, BatchRows: se.flags.batchRows}
		if bar != nil {
			o.Progress = bar.query
		}
		r, err := se.client.Query(ctx, statement, o)
		if err != nil {
			return nil, err // not the nil *client.Result
		}
		return r, nil
	}
	r, err := se.engine.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	bar.follow(r)
	return r, nil
}

// print writes a result, and what tells that it is incomplete if it breaks off.
func (se *session) print(res result, bar *bar) (rows int64, err error) {
	schema, err := res.Schema()
	if err != nil || schema == nil {
		return 0, err
	}
	var w writer
	for {
		rec, err := res.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if w != nil {
				_ = w.Abort(err.Error())
			}
			return rows, err
		}
		bar.close()
		if w == nil {
			if w, err = newWriter(se.streams, se.flags.format, schema); err != nil {
				return rows, err
			}
		}
		if err := w.Write(rec); err != nil {
			return rows, fmt.Errorf("write result: %w", err)
		}
		rows += rec.NumRows()
	}
	bar.close()
	if w == nil {
		if w, err = newWriter(se.streams, se.flags.format, schema); err != nil {
			return rows, err
		}
	}
	if err := w.Close(); err != nil {
		return rows, fmt.Errorf("write result: %w", err)
	}
	return rows, nil
}

// runStats is the line of --stats.
type runStats struct {
	QueryID   string        `json:"query_id"`
	Rows      int64         `json:"rows"`
	Attempts  uint32        `json:"attempts"`
	Cohort    *cohortStats  `json:"cohort"`
	Workers   []workerStats `json:"workers"`
	ElapsedMS float64       `json:"elapsed_ms"`
	MemoryMax int64         `json:"memory_peak"`
	Error     *errorStats   `json:"error"`
}

type cohortStats struct {
	Version      string `json:"version"`
	Protocol     uint32 `json:"protocol"`
	Capabilities string `json:"capabilities"`
}

type workerStats struct {
	URL      string `json:"url"`
	Instance string `json:"instance"`
	Version  string `json:"version"`
}

type errorStats struct {
	Code     string         `json:"code"`
	Message  string         `json:"message"`
	Position *positionStats `json:"position"`
}

type positionStats struct {
	Start int32 `json:"start"`
	End   int32 `json:"end"`
}

func (st *runStats) fill(res result, err error, elapsed time.Duration) {
	st.ElapsedMS = float64(elapsed.Microseconds()) / 1000
	switch r := res.(type) {
	case *engine.Rows:
		st.Attempts, st.MemoryMax = 1, r.MemoryPeak()
	case *client.Result:
		st.QueryID = r.QueryID
		if r.End != nil {
			st.cluster(r.End)
		}
	}
	if err != nil {
		e := rpcerr.Of(err)
		st.Error = &errorStats{Code: string(e.Code), Message: e.Message}
		if !e.Pos.IsZero() {
			st.Error.Position = &positionStats{e.Pos.Start, e.Pos.End}
		}
	}
}

func (st *runStats) cluster(end *apiv1.QueryEnd) {
	st.Attempts, st.MemoryMax = end.GetAttempts(), int64(end.GetMemoryPeak())
	if c := end.GetCohort(); c != nil {
		st.Cohort = &cohortStats{c.GetVersion(), c.GetProtocol(), c.GetCapabilities()}
	}
	for _, w := range end.GetWorkers() {
		st.Workers = append(st.Workers, workerStats{w.GetUrl(), w.GetInstanceId(), w.GetVersion()})
	}
}

// A bar shows how far a statement has come, on a terminal, once it has taken a while. A nil bar shows nothing.
type bar struct {
	bar  *progressbar.ProgressBar
	from time.Time
	stop chan struct{}
	done chan struct{}
}

// barAfter is how long a statement runs before its progress is shown.
const barAfter = 400 * time.Millisecond

func newBar(s streams) *bar {
	if _, ok := terminal(s.err); !ok {
		return nil
	}
	return &bar{from: time.Now(), bar: progressbar.NewOptions(
		1000, progressbar.OptionSetWriter(s.err), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(false),
	)}
}

func (b *bar) set(share float64, what string) {
	if b == nil || b.bar == nil || time.Since(b.from) < barAfter {
		return
	}
	b.bar.Describe(what)
	_ = b.bar.Set(int(1000 * min(share, 0.999)))
}

func (b *bar) query(p *apiv1.QueryProgress) {
	b.set(p.GetFraction(), fmt.Sprintf("%d/%d tasks, %s rows read", p.GetTasksFinished(), p.GetTasks(), grouped(p.GetRowsScanned())))
}

// follow asks an embedded query how far it has come, until the bar is closed.
func (b *bar) follow(r *engine.Rows) {
	if b == nil {
		return
	}
	b.stop, b.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(b.done)
		t := time.NewTicker(200 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-b.stop:
				return
			case <-t.C:
				share, rows := r.Progress()
				b.set(share, grouped(uint64(rows))+" rows read")
			}
		}
	}()
}

func (b *bar) close() {
	if b == nil || b.bar == nil {
		return
	}
	if b.stop != nil {
		close(b.stop)
		<-b.done
	}
	_ = b.bar.Clear()
	b.bar = nil
}

// grouped is n with a space between groups of three digits.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
