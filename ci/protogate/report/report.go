// Package report writes the result of a check: as text for a terminal, JSON for programs, annotations for GitHub, SARIF for code
// scanning, Markdown for a pull request. It must never decide anything.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/config"
	"github.com/fletchdb/fletch/ci/protogate/gate"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "github", "sarif", "markdown"}

// Write writes r in a format. verbose lists additions that need nothing.
func Write(w io.Writer, r *gate.Result, format string, verbose bool) error {
	switch format {
	case "text":
		return text(w, r, verbose)
	case "json":
		return encode(w, r)
	case "github":
		return github(w, r)
	case "sarif":
		return sarif(w, r)
	case "markdown":
		return markdown(w, r)
	}
	return fmt.Errorf("no format %q: it is one of %s", format, strings.Join(Formats, ", "))
}

func encode(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// versions are a surface's versions as people read them: "protocol_version 1", then " → 2" where they moved.
func versions(s gate.Surface) string {
	if s.Option == "" {
		return "no version"
	}
	short := s.Option[strings.LastIndexByte(s.Option, '.')+1:]
	var parts []string
	for _, v := range s.Current {
		name := short
		if s.Policy == config.Stable {
			name = v.Package + " " + short
		}
		was := ""
		if i := slices.IndexFunc(s.Released, func(o verdict.Version) bool { return s.Policy != config.Stable || o.Package == v.Package }); i >= 0 && s.Released[i].Value != v.Value {
			was = fmt.Sprintf("%d → ", s.Released[i].Value)
		}
		parts = append(parts, fmt.Sprintf("%s %s%d", name, was, v.Value))
	}
	if len(parts) == 0 {
		return "no " + short
	}
	return strings.Join(parts, ", ")
}

func outcome(s gate.Surface) string {
	switch {
	case len(s.Verdicts) > 0:
		return gate.Against
	case s.State == gate.Undecided:
		return gate.Undecided
	}
	return gate.Pass
}

// compared says what the tree was compared with.
func compared(r *gate.Result) string {
	switch {
	case r.Against != "":
		return "compared with " + r.Against
	case r.Release != "":
		return "compared with " + r.Release
	}
	return "there is no release yet"
}

// shown are the findings that need words: additions only where they count.
func shown(s gate.Surface, verbose bool) []verdict.Finding {
	counts := verbose || slices.ContainsFunc(s.Verdicts, func(v verdict.Verdict) bool { return v.ID == verdict.MissingMinor })
	var out []verdict.Finding
	for _, f := range verdict.Distinct(s.Findings) {
		if f.Class != verdict.Addition || counts {
			out = append(out, f)
		}
	}
	return out
}

// summary is what happened to a surface in a few words.
func summary(s gate.Surface) string {
	var parts []string
	for _, c := range []struct {
		class verdict.Class
		one   string
	}{{verdict.Break, "break"}, {verdict.Addition, "addition"}, {verdict.Look, "to look at"}} {
		n := len(verdict.Of(verdict.Distinct(s.Findings), c.class))
		switch {
		case n == 0:
		case c.class == verdict.Look:
			parts = append(parts, fmt.Sprintf("%d to look at", n))
		case n == 1:
			parts = append(parts, "1 "+c.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss", n, c.one))
		}
	}
	if len(parts) == 0 {
		return s.State
	}
	return strings.Join(parts, ", ")
}

func place(path string, line, column int) string {
	switch {
	case line == 0:
		return path
	case column == 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}

func text(w io.Writer, r *gate.Result, verbose bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; history %s\n", compared(r), r.History)
	for _, s := range r.Surfaces {
		fmt.Fprintf(&b, "\n%s: %s\n  %s, policy %s, %s: %s\n", s.Name, outcome(s), s.Path, s.Policy, versions(s), summary(s))
		for _, f := range shown(s, verbose) {
			fmt.Fprintf(&b, "\n  %s  %s\n    %s [%s]\n", f.Class, place(f.Path, f.Line, f.Column), f.Message, f.Rule)
			if f.Why != "" && f.Class != verdict.Addition { // the verdict says it once for all
				fmt.Fprintf(&b, "    %s\n", f.Why)
			}
		}
		for _, v := range s.Verdicts {
			writeVerdict(&b, v)
		}
	}
	if len(r.Repository) > 0 {
		b.WriteString("\nrepository: against\n")
		for _, v := range r.Repository {
			writeVerdict(&b, v)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\ncould not decide%s: %s\n", of(p.Surface), p.Message)
		if p.Next != "" {
			fmt.Fprintf(&b, "    → %s\n", p.Next)
		}
	}
	fmt.Fprintf(&b, "\nverdict: %s%s\n", r.Verdict, unreleased(r))
	_, err := io.WriteString(w, b.String())
	return err
}

// unreleased names the surfaces that nothing holds yet, in every verdict.
func unreleased(r *gate.Result) string {
	var names []string
	for _, s := range r.Surfaces {
		if s.State == gate.New {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (new, unreleased: " + strings.Join(names, ", ") + ")"
}

func of(surface string) string {
	if surface == "" {
		return ""
	}
	return " on " + surface
}

func writeVerdict(b *strings.Builder, v verdict.Verdict) {
	fmt.Fprintf(b, "\n  against  %s: %s\n", v.ID, v.Message)
	for _, n := range v.Next {
		for i, line := range strings.Split(n, "\n") {
			mark := "→ "
			if i > 0 || line[0] == '-' || line[0] == '+' {
				mark = "  "
			}
			fmt.Fprintf(b, "    %s%s\n", mark, line)
		}
	}
}
