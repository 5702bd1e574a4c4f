package slt

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Querier runs statements in one session. An error is the statement's own.
type Querier interface {
	Run(ctx context.Context, sql string) (*Result, error)
	Close() error
}

// A Result is what a statement gave.
type Result struct {
	Types   []sqltype.Type
	Rows    [][]*string // nil is NULL; a value is its text
	Changed int64       // rows that INSERT made; −1 for other statements
}

// Add puts the rows of a record batch to r.
func (r *Result) Add(rec arrow.RecordBatch) {
	cells := arrowio.Cells(rec)
	for i := range int(rec.NumRows()) {
		row := make([]*string, len(cells))
		for c, cell := range cells {
			if rec.Column(c).IsValid(i) {
				text := string(cell(nil, i))
				row[c] = &text
			}
		}
		r.Rows = append(r.Rows, row)
	}
}

// A Failure is a record whose answer was wrong.
type Failure struct {
	Record Record
	Why    string
	Open   bool // as many rows as expected, of a query that does not say which
}

// A Report counts what came of records.
type Report struct {
	Run, Passed, Failed int
	LeftOut             map[string]int // by reason
	Failures            []Failure
	Reasons             map[Verdict]map[string]int // of failures, by what a Known says of them; nil: none was asked
	Left                []Failure                  // what was left out, and why
}

// Add puts another report to r.
func (r *Report) Add(o Report) {
	r.Run += o.Run
	r.Passed += o.Passed
	r.Failed += o.Failed
	for k, n := range o.LeftOut {
		r.leave(k, n)
	}
	r.Failures = append(r.Failures, o.Failures...)
	r.Left = append(r.Left, o.Left...)
}

func (r *Report) leave(reason string, n int) {
	if r.LeftOut == nil {
		r.LeftOut = map[string]int{}
	}
	r.LeftOut[reason] += n
}

// Reasons why a record is left out.
const (
	reasonPlan     = "expects another engine's plan"
	reasonFile     = "needs a file that is not there"
	reasonSettings = "needs another engine's settings"
	reasonSample   = "is not of the sample"
	reasonEngine   = "is for other engines (skipif, onlyif)"
)

// A Config is how records are played. The zero Config plays them as they are written.
type Config struct {
	AnyOrder bool // rows of a query without ORDER BY may come in any order; what its LIMIT takes is open
	Some     int  // of the queries of SQLite's suite, one in so many is asked; 0 and 1: all
}

// Play runs a script's records in order in one session. Files that they write below "test_files/scratch" are in a folder of Play's
// own.
func Play(ctx context.Context, s *Script, q Querier, cfg Config) (Report, error) {
	dir, err := os.MkdirTemp("", "fletch-slt-")
	if err != nil {
		return Report{}, fmt.Errorf("make a folder for what logic tests write: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p := &player{script: s, querier: q, cfg: cfg, scratch: dir, missing: map[string]bool{}, labels: map[string]string{}}
	for _, r := range s.Records {
		if err := p.play(ctx, r); err != nil {
			return p.report, err
		}
	}
	return p.report, nil
}

type player struct {
	script  *Script
	querier Querier
	cfg     Config
	scratch string // folder of what the script writes
	report  Report
	queries int               // met so far
	missing map[string]bool   // tables that are not there, or without rows, because a file is not there
	labels  map[string]string // the answer of a label
}

var (
	creates  = regexp.MustCompile(`(?is)^\s*create\s+(?:or\s+replace\s+)?(?:external\s+|temporary\s+|temp\s+|unbounded\s+external\s+)*(?:table|view)\s+(?:if\s+not\s+exists\s+)?("[^"]+"|[\w.]+)`)
	settings = regexp.MustCompile(`(?is)^\s*(?:set|reset)\s+"?datafusion\.`)
	explains = regexp.MustCompile(`(?is)^\s*explain\b`)
	copies   = regexp.MustCompile(`(?is)^\s*copy\s+("[^"]+"|[\w.]+)\s+from\s+'([^']*)'`)
	inserts  = regexp.MustCompile(`(?is)^\s*insert\s+into\s+("[^"]+"|[\w.]+)`)
	scratch  = regexp.MustCompile(`test_files/scratch/[^'"\s]*`)
	words    = regexp.MustCompile(`\w+`)
	ordered  = regexp.MustCompile(`(?i)\border\s+by\b`)
	limited  = regexp.MustCompile(`(?i)\b(?:limit|offset|fetch)\b`)
	inner    = regexp.MustCompile(`\([^()]*\)`)
	names    = regexp.MustCompile(`"([^"]+)"`)
)

func (p *player) play(ctx context.Context, r Record) error {
	leave := func(reason string) {
		p.report.leave(reason, 1)
		p.report.Left = append(p.report.Left, Failure{Record: r, Why: reason})
		for _, makes := range []*regexp.Regexp{creates, copies, inserts} {
			if m := makes.FindStringSubmatch(r.SQL); m != nil {
				p.missing[strings.ToLower(strings.Trim(m[1], `"`))] = true
			}
		}
	}
	switch {
	case r.skipped != "":
		p.report.leave(reasonEngine, 1)
		return nil
	case r.Kind == Query && p.script.Flavour == SQLite && p.cfg.Some > 1:
		if p.queries++; p.queries%p.cfg.Some != 0 {
			p.report.leave(reasonSample, 1)
			return nil
		}
	}
	switch {
	case settings.MatchString(r.SQL):
		leave(reasonSettings)
		return nil
	case explains.MatchString(r.SQL) && r.Kind == Query:
		leave(reasonPlan)
		return nil
	}
	if m := copies.FindStringSubmatch(r.SQL); m != nil {
		if _, err := os.Stat(m[2]); errors.Is(err, fs.ErrNotExist) {
			leave(reasonFile)
			return nil
		}
	}
	sql, err := p.inScratch(r.SQL)
	if err != nil {
		return err
	}
	res, err := p.querier.Run(ctx, sql)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && sql == r.SQL && p.lacksFile(err) { // files that the script itself writes are not another's
		leave(reasonFile)
		return nil
	}
	why := p.judge(r, res, err)
	if why != "" && p.readsMissing(r.SQL) {
		leave(reasonFile)
		return nil
	}
	p.report.Run++
	if why != "" {
		p.report.Failed++
		open := p.cfg.AnyOrder && err == nil && len(res.Rows) == len(r.Want) && says(limited, r.SQL) && !says(ordered, r.SQL)
		p.report.Failures = append(p.report.Failures, Failure{r, why, open})
		return nil
	}
	p.report.Passed++
	if m := creates.FindStringSubmatch(r.SQL); m != nil {
		delete(p.missing, strings.ToLower(strings.Trim(m[1], `"`)))
	}
	return nil
}

// inScratch is a statement whose files below test_files/scratch are in the player's folder, with the folders above them made.
func (p *player) inScratch(sql string) (string, error) {
	var failed error
	out := scratch.ReplaceAllStringFunc(sql, func(path string) string {
		path = filepath.Join(p.scratch, strings.TrimPrefix(path, "test_files/scratch"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			failed = fmt.Errorf("make a folder for what logic tests write: %w", err)
		}
		return path
	})
	return out, failed
}

// readsMissing tells whether a statement names a table that lacks a file.
func (p *player) readsMissing(sql string) bool {
	return len(p.missing) > 0 && slices.ContainsFunc(words.FindAllString(sql, -1), func(w string) bool { return p.missing[strings.ToLower(w)] })
}

// lacksFile tells whether a statement failed since a file of the suite is not there, or a table that would have been made of one.
func (p *player) lacksFile(err error) bool {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case sqlerr.FileNotFound:
		return true
	case sqlerr.UnknownTable, sqlerr.UnknownColumn:
		for _, m := range names.FindAllStringSubmatch(e.Message, -1) {
			if p.missing[strings.ToLower(m[1])] {
				return true
			}
		}
	}
	return false
}

// judge tells what is wrong with an answer; "" if nothing is.
func (p *player) judge(r Record, res *Result, err error) string {
	switch r.Kind {
	case StatementError, QueryError:
		if err == nil {
			return "succeeds, but should fail"
		}
		if sqlerr.CodeOf(err) == sqlerr.Internal {
			return "fails by an internal error: " + err.Error()
		}
		return ""
	case Statement:
		if err != nil {
			return err.Error()
		}
		return ""
	case StatementCount:
		if err != nil {
			return err.Error()
		}
		if res.Changed >= 0 && res.Changed != r.Count {
			return fmt.Sprintf("changed %d rows, not %d", res.Changed, r.Count)
		}
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if p.script.Flavour == SQLite {
		return p.judgeValues(r, res)
	}
	if p.cfg.AnyOrder && r.Sort != "valuesort" && !says(ordered, r.SQL) {
		r.Sort = "rowsort"
	}
	why := judgeRows(r, res, func(_ sqltype.Type, text string) string { return text })
	if why != "" && judgeRows(r, res, written) == "" {
		return ""
	}
	return why
}

// says tells whether a query has a clause that stands in no parentheses.
func says(clause *regexp.Regexp, sql string) bool {
	for {
		out := inner.ReplaceAllString(sql, "")
		if out == sql {
			return clause.MatchString(sql)
		}
		sql = out
	}
}

// written is a value as DataFusion's runner writes it, where that is not PostgreSQL's way.
func written(t sqltype.Type, text string) string {
	switch t.Kind {
	case sqltype.Binary:
		return strings.TrimPrefix(text, `\x`)
	case sqltype.Timestamp, sqltype.TimestampTZ:
		text = strings.Replace(text, " ", "T", 1)
		if base, ok := strings.CutSuffix(text, "+00"); ok && t.Kind == sqltype.TimestampTZ {
			return thousandths(base) + "Z"
		}
		return thousandths(text)
	case sqltype.Time:
		return thousandths(text)
	}
	return text
}

// thousandths writes a fraction of seconds with three, six or nine digits.
func thousandths(text string) string {
	_, fraction, ok := strings.Cut(text, ".")
	if !ok || len(fraction)%3 == 0 {
		return text
	}
	return text + strings.Repeat("0", 3-len(fraction)%3)
}

// judgeValues compares as SQLite does: one value per line, or the MD5 of all.
func (p *player) judgeValues(r Record, res *Result) string {
	rows := make([][]string, len(res.Rows))
	for i, row := range res.Rows {
		for c, v := range row {
			letter := byte('T')
			if c < len(r.Types) {
				letter = r.Types[c]
			}
			rows[i] = append(rows[i], sqliteValue(letter, v))
		}
	}
	if r.Sort == "rowsort" {
		slices.SortFunc(rows, slices.Compare[[]string])
	}
	values := slices.Concat(rows...)
	if r.Sort == "valuesort" {
		slices.Sort(values)
	}
	sum := md5.New()
	for _, v := range values {
		_, _ = sum.Write([]byte(v + "\n"))
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	if r.Label != "" {
		if have, ok := p.labels[r.Label]; ok && have != hash {
			return fmt.Sprintf("the answer is not that of the other records labelled %s", r.Label)
		}
		p.labels[r.Label] = hash
	}
	if r.Hash != "" {
		if len(values) != r.Values || hash != r.Hash {
			return fmt.Sprintf("%d values hashing to %s, expected %d hashing to %s; they begin %s", len(values), hash, r.Values, r.Hash, clip(values))
		}
		return ""
	}
	if !slices.Equal(values, r.Want) {
		return fmt.Sprintf("gives %s, expected %s", clip(values), clip(r.Want))
	}
	return ""
}

// sqliteValue is a value as sqllogictest prints it under a type letter.
func sqliteValue(letter byte, v *string) string {
	if v == nil {
		return "NULL"
	}
	s := *v
	switch letter {
	case 'I':
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			if i, err := strconv.ParseInt(s, 10, 64); err == nil {
				return strconv.FormatInt(i, 10)
			}
			return strconv.FormatFloat(math.Trunc(f), 'f', 0, 64)
		}
		switch s {
		case "true":
			return "1"
		case "false":
			return "0"
		}
	case 'R':
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return strconv.FormatFloat(f, 'f', 3, 64)
		}
	default:
		if s == "" {
			return "(empty)"
		}
	}
	return s
}

// judgeRows compares as DataFusion does: one row per line, its values, as write gives them, with a space between.
func judgeRows(r Record, res *Result, write func(t sqltype.Type, text string) string) string {
	got := make([]string, len(res.Rows))
	for i, row := range res.Rows {
		cells := make([]string, len(row))
		for c, v := range row {
			switch {
			case v == nil:
				cells[c] = "NULL"
			case *v == "":
				cells[c] = "(empty)"
			default:
				cells[c] = strings.ReplaceAll(write(res.Types[c], *v), "\n", `\n`)
			}
		}
		got[i] = strings.Join(cells, " ")
	}
	want := slices.Clone(r.Want)
	if r.Sort == "valuesort" {
		got, want = strings.Fields(strings.Join(got, " ")), strings.Fields(strings.Join(want, " "))
	}
	if r.Sort == "rowsort" || r.Sort == "valuesort" {
		slices.Sort(got)
		slices.Sort(want)
	}
	if len(got) != len(want) {
		return fmt.Sprintf("gives %d rows %s, expected %d %s", len(got), clip(got), len(want), clip(want))
	}
	if slices.EqualFunc(got, want, sameLine) {
		return ""
	}
	if r.Sort == "rowsort" { // numbers that differ in their last digits may have sorted elsewhere
		rest := slices.Clone(got)
		for _, w := range want {
			i := slices.IndexFunc(rest, func(g string) bool { return sameLine(g, w) })
			if i < 0 {
				return fmt.Sprintf("gives %s, expected %s", clip(got), clip(want))
			}
			rest = slices.Delete(rest, i, i+1)
		}
		return ""
	}
	return fmt.Sprintf("gives %s, expected %s", clip(got), clip(want))
}

// sameLine compares word by word; numbers may differ by 1e-9 of their size, and in how they are written.
func sameLine(a, b string) bool {
	if a == b {
		return true
	}
	x, y := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(x, y, sameWord)
}

func sameWord(a, b string) bool {
	if a == b {
		return true
	}
	a, b = strings.Trim(a, "[]{},"), strings.Trim(b, "[]{},")
	f, err1 := strconv.ParseFloat(a, 64)
	g, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil {
		return a == b && a != ""
	}
	return f == g || math.IsNaN(f) && math.IsNaN(g) || math.Abs(f-g) <= 1e-9*max(math.Abs(f), math.Abs(g))
}

func clip(list []string) string {
	const most = 8
	s := strings.Join(list[:min(most, len(list))], " | ")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	if len(list) > most {
		s += fmt.Sprintf(" | … %d more", len(list)-most)
	}
	return "(" + s + ")"
}
