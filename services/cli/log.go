package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	eventlogv1 "github.com/fletchdb/fletch/gen/go/fletch/eventlog/v1"
	"github.com/fletchdb/fletch/services/eventlog"
)

func logCommand(p *process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log COMMAND",
		Short: "Verify, print and follow an event log",
		Long: `Reads the event log that fletch serve --event-log DIR writes: its own release's, and that of every release
before. It needs no server and changes nothing, but for fletch log gc.`,
		Example: `  fletch log stat /var/log/fletch
  fletch log verify /var/log/fletch
  fletch log cat /var/log/fletch --status failed --since 1h`,
	}
	cmd.AddCommand(logVerifyCommand(p), logCatCommand(p), logTailCommand(p), logStatCommand(p), logGCCommand(p))
	return cmd
}

// oneFolder takes the folder that a command of the log is about.
func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes one argument, the folder of the log", cmd.CommandPath())
	}
	return nil
}

// openEventLog lists a log's segments, and notes what else is there.
func openEventLog(p *process, dir string) (*eventlog.Log, error) {
	l, err := listEventLog(dir)
	if err == nil {
		noteForeign(p, l)
	}
	return l, err
}

func listEventLog(dir string) (*eventlog.Log, error) {
	l, err := eventlog.List(dir)
	switch {
	case errors.Is(err, eventlog.ErrNoLog), errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &usageError{err}
	case err != nil:
		return nil, err
	}
	return l, nil
}

func noteForeign(p *process, l *eventlog.Log) {
	if n := len(l.Foreign); n > 0 {
		_, _ = fmt.Fprintf(p.err, "note: %d files are no segments and are left out, such as %s\n", n, l.Foreign[0])
	}
}

// A verified is what verify says of an instance.
type verified struct {
	Instance string `json:"instance"`
	State    string `json:"state"`   // running, ended, crashed
	Verdict  string `json:"verdict"` // clean, torn, corrupt, newer
	Segments uint64 `json:"segments"`
	Lines    uint64 `json:"lines"`
	Bytes    uint64 `json:"bytes"`
	Unknown  uint64 `json:"unknown_kinds"`
	Newer    uint64 `json:"newer_lines"`
	Lost     uint64 `json:"lost_events"`
	Back     uint64 `json:"clock_went_back"`

	Faults []verifiedFault `json:"faults"`
}

type verifiedFault struct {
	Path    string `json:"path"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

func logVerifyCommand(p *process) *cobra.Command {
	var format choice
	cmd := &cobra.Command{
		Use:   "verify DIR [flags]",
		Short: "Check every line of a log",
		Long: `Reads every line and checks its sum, its place and its version. A log is
  clean    as it was written
  torn     cut in its last line, as a crash leaves it; nothing before is missing
  newer    written by a later release: sums are right, what this one does not know is left out
  corrupt  damaged: lines were changed or are missing; the exit code is then 1`,
		Example: `  fletch log verify /var/log/fletch`,
		Args:    oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := openEventLog(p, args[0])
			if err != nil {
				return err
			}
			var all []verified
			corrupt := false
			for _, i := range l.Instances {
				v, err := verify(i)
				if err != nil {
					return err
				}
				corrupt = corrupt || v.Verdict == "corrupt"
				all = append(all, v)
			}
			if err := showVerified(p, all, format.value); err != nil {
				return err
			}
			if corrupt {
				return errors.New("the log is damaged")
			}
			return nil
		},
	}
	choiceFlag(cmd, &format, "format", "`FORM` of what is found", "table", "json")
	return cmd
}

func verify(i eventlog.Instance) (verified, error) {
	v := verified{Instance: i.ID, State: "crashed", Verdict: "clean", Faults: []verifiedFault{}}
	worse := func(verdict string) {
		order := []string{"clean", "newer", "torn", "corrupt"}
		if slices.Index(order, verdict) > slices.Index(order, v.Verdict) {
			v.Verdict = verdict
		}
	}
	running := i.Segments[len(i.Segments)-1].Running()
	totals, err := i.Walk(eventlog.Visitor{
		Line: func(_ *eventlog.Segment, l *eventlog.Line) error {
			if string(l.Kind) == eventlog.KindSegmentEnded {
				v.State = "ended"
			} else if l.Err == nil {
				v.State = "crashed"
			}
			return nil
		},
		Fault: func(f eventlog.Fault) {
			if errors.Is(f.Err, eventlog.ErrTorn) {
				worse("torn")
			} else {
				worse("corrupt")
			}
			if len(v.Faults) < 100 {
				v.Faults = append(v.Faults, verifiedFault{f.Path, f.Offset, f.Err.Error()})
			}
		},
	})
	if totals.Newer > 0 {
		worse("newer")
	}
	if running {
		v.State = "running"
	}
	v.Segments, v.Lines, v.Bytes, v.Unknown = totals.Segments, totals.Lines, totals.Bytes, totals.Unknown
	v.Newer, v.Lost, v.Back = totals.Newer, totals.Lost, totals.Back
	return v, err
}

func showVerified(p *process, all []verified, format string) error {
	if format == "json" {
		return printJSON(p, all)
	}
	t := &listing{columns: []string{"instance", "state", "verdict", "segments", "lines", "bytes", "unknown kinds", "newer lines", "lost events", "clock went back"}}
	for _, v := range all {
		for _, f := range v.Faults {
			_, _ = fmt.Fprintf(p.out, "%s, byte %d: %s\n", f.Path, f.Offset, f.Message)
		}
		t.rows = append(t.rows, []any{v.Instance[:11], v.State, v.Verdict, v.Segments, v.Lines, v.Bytes, v.Unknown, v.Newer, v.Lost, v.Back})
	}
	return t.print(p, "table")
}

func printJSON(p *process, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s\n", b)
	return err
}

func logStatCommand(p *process) *cobra.Command {
	var format choice
	cmd := &cobra.Command{
		Use:   "stat DIR [flags]",
		Short: "Count a log's queries by state",
		Long: `Counts the queries of a log by what became of them:
  finished  their end is logged, whatever it was
  running   their coordinator is alive
  crashed   their coordinator stopped in the middle of them
  torn      the line that is cut may be their end
  corrupt   a damaged or missing line may be their end
  newer     a later release logged them in a way that this one does not read
  lost      their coordinator could not write for a while, in which they may have ended`,
		Example: `  fletch log stat /var/log/fletch --format json`,
		Args:    oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			l, err := openEventLog(p, args[0])
			if err != nil {
				return err
			}
			counts := map[eventlog.State]uint64{}
			faults := 0
			for _, i := range l.Instances {
				if _, err := i.Walk(eventlog.Visitor{
					Query: func(_ string, s eventlog.State) error { counts[s]++; return nil },
					Fault: func(eventlog.Fault) { faults++ },
				}); err != nil {
					return err
				}
			}
			if faults > 0 {
				_, _ = fmt.Fprintf(p.err, "note: %d places of the log are damaged or cut; fletch log verify %s shows them\n", faults, args[0])
			}
			if format.value == "json" {
				var parts []string
				for _, s := range eventlog.States() {
					parts = append(parts, fmt.Sprintf("%q: %d", s, counts[s]))
				}
				_, err := fmt.Fprintf(p.out, "{%s}\n", strings.Join(parts, ", "))
				return err
			}
			t := &listing{columns: []string{"state", "queries"}}
			for _, s := range eventlog.States() {
				t.rows = append(t.rows, []any{string(s), counts[s]})
			}
			return t.print(p, format.value)
		},
	}
	choiceFlag(cmd, &format, "format", "`FORM` of the counts", "table", "json", "csv")
	return cmd
}

// logFilter picks events.
type logFilter struct {
	text, query, version string
	kinds                []string
	status               choice
	since, until         moment
}

func (f *logFilter) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.text, "text", "", "only events that hold `TEXT`, in a statement, a plan or a message")
	flags.StringVar(&f.query, "query", "", "only events of the query `ID`")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only events of this `KIND`, such as query_finished; may repeat")
	choiceFlag(cmd, &f.status, "status", "only ends of queries with this `STATUS`", "any", "succeeded", "failed", "canceled")
	flags.StringVar(&f.version, "version", "", "only events of workers, and cohorts, of this `VERSION`")
	flags.Var(&f.since, "since", "only events from `TIME` on: 2026-01-02T15:04:05Z, or 30m for that long ago")
	flags.Var(&f.until, "until", "only events before `TIME`")
	groupFlags(cmd, "Events", "text", "query", "kind", "status", "version", "since", "until")
}

// takes tells whether an event is wanted.
func (f *logFilter) takes(l *eventlog.Line) bool {
	if f.query != "" && string(l.Query) != f.query || len(f.kinds) > 0 && !slices.Contains(f.kinds, string(l.Kind)) {
		return false
	}
	at := l.Time()
	if !f.since.t.IsZero() && at.Before(f.since.t) || !f.until.t.IsZero() && !at.Before(f.until.t) {
		return false
	}
	if f.text == "" && f.status.value == "any" && f.version == "" {
		return true
	}
	m, err := l.Decode()
	if err != nil {
		return false
	}
	if f.status.value != "any" {
		end, ok := m.(*eventlogv1.QueryFinished)
		if !ok || !strings.EqualFold(strings.TrimPrefix(end.GetStatus().String(), "STATUS_"), f.status.value) {
			return false
		}
	}
	if f.version != "" {
		has := false
		if c, ok := m.(interface{ GetCohort() *eventlogv1.Cohort }); ok {
			has = c.GetCohort().GetVersion() == f.version
		}
		if w, ok := m.(interface{ GetWorker() *eventlogv1.Worker }); ok {
			has = has || w.GetWorker().GetVersion() == f.version
		}
		if !has {
			return false
		}
	}
	if f.text == "" {
		return true
	}
	var said any
	return json.Unmarshal(l.Data, &said) == nil && holds(said, strings.ToLower(f.text))
}

// holds tells whether some text in a JSON value holds a text in lower case.
func holds(v any, text string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), text)
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return holds(v, text) })
	case map[string]any:
		for _, v := range v {
			if holds(v, text) {
				return true
			}
		}
	}
	return false
}

// A moment is a flag of a time, or of how long ago it was.
type moment struct {
	t    time.Time
	text string
}

func (m *moment) Type() string   { return "TIME" }
func (m *moment) String() string { return m.text }

func (m *moment) Set(s string) error {
	if d, err := time.ParseDuration(s); err == nil {
		*m = moment{time.Now().Add(-d), s}
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			*m = moment{t, s}
			return nil
		}
	}
	if s == "" {
		*m = moment{}
		return nil
	}
	return fmt.Errorf("%q is no time such as 2026-01-02T15:04:05Z, and no span such as 30m", s)
}

// show is an event as people read it, or as it stands in the log.
func show(l *eventlog.Line, format string) string {
	if format == "json" {
		return string(l.Raw)
	}
	data := l.Data
	if m, err := l.Decode(); err == nil {
		if named, err := protojson.Marshal(m); err == nil { // enums by name
			var b bytes.Buffer
			if json.Compact(&b, named) == nil {
				data = b.Bytes()
			}
		}
	}
	query := string(l.Query)
	if query == "" {
		query = "-"
	}
	return fmt.Sprintf("%s %-17s %-16s %s", l.At, query, l.Kind, data)
}

func logCatCommand(p *process) *cobra.Command {
	var (
		f      logFilter
		format choice
	)
	cmd := &cobra.Command{
		Use:   "cat DIR [flags]",
		Short: "Print a log's events",
		Long: `Prints events, instance by instance, in the order in which they were written. As json, each is
its line of the log, unchanged. Lines that are damaged are told of on standard error.`,
		Example: `  fletch log cat /var/log/fletch --status failed --since 24h
  fletch log cat /var/log/fletch --query q1f0c --format json | jq .data`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := openEventLog(p, args[0])
			if err != nil {
				return err
			}
			out := newBuffered(p.out)
			for _, i := range l.Instances {
				if _, err = i.Walk(eventlog.Visitor{
					Line: func(_ *eventlog.Segment, l *eventlog.Line) error {
						if l.Err == nil && f.takes(l) || errors.Is(l.Err, eventlog.ErrNewer) && f.takesAny(l) {
							return out.line(show(l, format.value))
						}
						return cmd.Context().Err()
					},
					Fault: func(f eventlog.Fault) { _, _ = fmt.Fprintf(p.err, "note: %v\n", &f) },
				}); err != nil {
					break
				}
			}
			if ferr := out.flush(); err == nil {
				err = ferr
			}
			return err
		},
	}
	f.register(cmd)
	choiceFlag(cmd, &format, "format", "`FORM` of the events", "text", "json")
	return cmd
}

// takesAny tells whether an event of a newer schema may be wanted: only its envelope is looked at.
func (f *logFilter) takesAny(l *eventlog.Line) bool {
	plain := logFilter{query: f.query, kinds: f.kinds, since: f.since, until: f.until, status: choice{value: "any"}}
	return f.text == "" && f.version == "" && f.status.value == "any" && plain.takes(l)
}

// buffered writes lines, many at once.
type buffered struct {
	w   io.Writer
	buf []byte
}

func newBuffered(w io.Writer) *buffered { return &buffered{w: w} }

func (b *buffered) line(s string) error {
	b.buf = append(append(b.buf, s...), '\n')
	if len(b.buf) > 64<<10 {
		return b.flush()
	}
	return nil
}

func (b *buffered) flush() error {
	_, err := b.w.Write(b.buf)
	b.buf = b.buf[:0]
	return err
}

// tailEvery is how often a log that is followed is looked at.
const tailEvery = 200 * time.Millisecond

func logTailCommand(p *process) *cobra.Command {
	var (
		f      logFilter
		format choice
		last   int
		follow bool
	)
	cmd := &cobra.Command{
		Use:     "tail DIR [flags]",
		Short:   "Print a log's last events, and follow it",
		Long:    `Prints the last events of all instances, in the order of their clocks, and with --follow what comes.`,
		Example: `  fletch log tail /var/log/fletch --follow --kind query_finished`,
		Args:    oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := openEventLog(p, args[0]); err != nil {
				return err
			}
			t := tailer{dir: args[0], at: map[string]int64{}, take: func(l *eventlog.Line) bool { return l.Err == nil && f.takes(l) }, format: format.value}
			lines, err := t.read(max(0, last))
			if err != nil {
				return err
			}
			tick := time.NewTicker(tailEvery)
			defer tick.Stop()
			for {
				for _, l := range lines {
					if _, err := fmt.Fprintln(p.out, l.text); err != nil {
						return err
					}
				}
				if !follow {
					return nil
				}
				select {
				case <-tick.C:
				case <-cmd.Context().Done():
					return &toldError{context.Cause(cmd.Context())}
				}
				if lines, err = t.read(math.MaxInt); err != nil {
					return err
				}
			}
		},
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.IntVarP(&last, "lines", "n", 10, "`N` events to begin with")
	flags.BoolVar(&follow, "follow", false, "go on with what is written")
	choiceFlag(cmd, &format, "format", "`FORM` of the events", "text", "json")
	return cmd
}

// A tailer reads what has come since it last read.
type tailer struct {
	dir    string
	at     map[string]int64 // by segment: where to go on
	take   func(*eventlog.Line) bool
	format string
}

type tailed struct{ at, text string }

// tailMost is how many events are kept at least before those that are not among the last are let go.
const tailMost = 1000

// read gives the last n events of what has come, by their clocks.
func (t *tailer) read(n int) ([]tailed, error) {
	l, err := eventlog.List(t.dir)
	if err != nil && !errors.Is(err, eventlog.ErrNoLog) {
		return nil, err
	}
	var out []tailed
	for _, i := range l.Instances {
		for _, s := range i.Segments {
			if s.Size <= t.at[s.Path] {
				continue
			}
			if err := t.segment(s, func(l tailed) {
				if out = append(out, l); len(out) > tailMost && len(out)/2 > n { // the log is larger than memory
					out = latest(out, n)
				}
			}); err != nil {
				return nil, err
			}
		}
	}
	return latest(out, n), nil
}

// latest is the n latest of events, in order.
func latest(all []tailed, n int) []tailed {
	slices.SortStableFunc(all, func(a, b tailed) int { return strings.Compare(a.at, b.at) })
	return slices.Delete(all, 0, max(0, len(all)-n))
}

// segment gives what came to a segment to add.
func (t *tailer) segment(s eventlog.Segment, add func(tailed)) error {
	f, err := os.Open(s.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	from := t.at[s.Path]
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return err
	}
	lines := eventlog.ReadLines(f, from)
	for {
		var l eventlog.Line
		if err := lines.Next(&l); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if errors.Is(l.Err, eventlog.ErrTorn) {
			return nil // on its way: it is read when it is whole
		}
		t.at[s.Path] = l.Offset + int64(len(l.Raw)) + 1
		if t.take(&l) {
			add(tailed{string(l.At), show(&l, t.format)})
		}
	}
}

func logGCCommand(p *process) *cobra.Command {
	var (
		age    span
		size   memorySize
		dry    bool
		format choice
	)
	cmd := &cobra.Command{
		Use:   "gc DIR [flags]",
		Short: "Delete old segments of a log",
		Long: `Deletes segments that are too old, or, the oldest first, what is too much. Coordinators delete their own
while they run; this is for those of processes that are gone, and never touches a running one's.`,
		Example: `  fletch log gc /var/log/fletch --age 720h
  fletch log gc /var/log/fletch --size 10GB --dry-run`,
		Args: oneFolder,
		RunE: func(_ *cobra.Command, args []string) error {
			if age.d <= 0 && size.bytes <= 0 {
				return usagef("say what is to be kept, by --age, --size or both")
			}
			l, err := openEventLog(p, args[0])
			if err != nil {
				return err
			}
			gone, err := l.Collect(eventlog.Garbage{Age: age.d, Size: size.bytes, Keep: dry})
			if err != nil {
				return err
			}
			t := &listing{columns: []string{"segment", "bytes"}}
			for _, s := range gone {
				t.rows = append(t.rows, []any{s.Path, uint64(s.Size)})
			}
			return t.print(p, format.value)
		},
	}
	flags := cmd.Flags()
	flags.Var(&age, "age", "delete segments not written to for this `TIME`, such as 720h")
	flags.Var(&size, "size", "delete the oldest segments while the log has more than `SIZE`, such as 10GB")
	flags.BoolVar(&dry, "dry-run", false, "only list what would be deleted")
	listingFlag(cmd, &format)
	return cmd
}
