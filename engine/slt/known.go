package slt

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Verdict is why a record need not pass.
type Verdict string

// The verdicts.
const (
	LeftOut   Verdict = "left out"  // it asks for what is not there, or not ours
	Otherwise Verdict = "otherwise" // it expects what PostgreSQL, or DuckDB where PostgreSQL has nothing, answers otherwise
	Fails     Verdict = "fails"     // Fletch is wrong, or has it not
	Undecided Verdict = "undecided" // SQL does not say which of several answers is given: it may pass
)

// Known is the records of a suite that are known not to pass, each with its reason. It is a text: a line "verdict: reason" heads the
// records that follow, one "file:line" each, the file as seen from the suite's folder; what follows # is a remark.
type Known struct {
	path    string
	reasons map[string]reason // by file:line
}

type reason struct {
	verdict Verdict
	text    string
}

// ReadKnown reads such a text.
func ReadKnown(path string) (*Known, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read known records: %w", err)
	}
	defer func() { _ = f.Close() }()
	k := &Known{path: path, reasons: map[string]reason{}}
	var head reason
	in := bufio.NewScanner(f)
	for n := 1; in.Scan(); n++ {
		line, _, _ := strings.Cut(in.Text(), "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if verdict, text, ok := strings.Cut(line, ": "); ok {
			head = reason{Verdict(verdict), text}
			if !slices.Contains([]Verdict{LeftOut, Otherwise, Fails, Undecided}, head.verdict) {
				return nil, fmt.Errorf("%s:%d: there is no verdict %q", path, n, verdict)
			}
			continue
		}
		if head.verdict == "" {
			return nil, fmt.Errorf("%s:%d: a record before the first reason", path, n)
		}
		if _, twice := k.reasons[line]; twice {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", path, n, line)
		}
		k.reasons[line] = head
	}
	return k, in.Err()
}

// Settle sorts what did not pass in a report of the suite in dir by the list's reasons. It gives what does not agree with the list:
// records that are not in it, and records of it that pass, or are not there. What is open passes where the list does not say otherwise.
func (k *Known) Settle(r *Report, dir string) (wrong []string) {
	name := func(rec Record) string {
		if rel, err := filepath.Rel(dir, rec.File); err == nil {
			return fmt.Sprintf("%s:%d", filepath.ToSlash(rel), rec.Line)
		}
		return rec.Where()
	}
	seen := map[string]bool{}
	for _, l := range r.Left {
		at := name(l.Record)
		seen[at] = true
		if have := k.reasons[at]; have.verdict != LeftOut || have.text != l.Why {
			wrong = append(wrong, fmt.Sprintf("%s is left out (%s), and not listed so", at, l.Why))
		}
	}
	r.Failed, r.Reasons = 0, map[Verdict]map[string]int{}
	failures := r.Failures
	r.Failures = nil
	for _, f := range failures {
		at := name(f.Record)
		seen[at] = true
		have, ok := k.reasons[at]
		switch {
		case !ok && f.Open:
			r.Passed++
			continue
		case !ok:
			wrong = append(wrong, fmt.Sprintf("%s fails, and is not listed: %s", at, f.Why))
		case have.verdict == LeftOut:
			r.Run--
			r.leave(have.text, 1)
			continue
		default:
			if r.Reasons[have.verdict] == nil {
				r.Reasons[have.verdict] = map[string]int{}
			}
			r.Reasons[have.verdict][have.text]++
		}
		r.Failed++
		r.Failures = append(r.Failures, f)
	}
	for at, why := range k.reasons {
		if !seen[at] && why.verdict != Undecided {
			wrong = append(wrong, fmt.Sprintf("%s is listed in %s, and passes", at, filepath.Base(k.path)))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// String is the report as people read it.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %d, passed %d, failed %d\n", r.Run, r.Passed, r.Failed)
	list := func(what string, reasons map[string]int) {
		names := make([]string, 0, len(reasons))
		for name := range reasons {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			if d := reasons[b] - reasons[a]; d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		for _, name := range names {
			fmt.Fprintf(&b, "%s %d: %s\n", what, reasons[name], name)
		}
	}
	otherwise := 0
	for _, verdict := range []Verdict{Otherwise, Undecided} {
		for _, n := range r.Reasons[verdict] {
			otherwise += n
		}
	}
	if otherwise > 0 {
		fmt.Fprintf(&b, "passed: %.2f %% of all run; %.2f %% without the %d whose answer is not PostgreSQL's\n",
			100*float64(r.Passed)/float64(r.Run), 100*float64(r.Passed)/float64(max(1, r.Run-otherwise)), otherwise)
	}
	list("failed", r.Reasons[Fails])
	list("failed, as PostgreSQL has it otherwise,", r.Reasons[Otherwise])
	list("failed, as SQL leaves the answer open,", r.Reasons[Undecided])
	list("left out", r.LeftOut)
	return b.String()
}
