package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/ci/protogate/gate"
	"github.com/fletchdb/fletch/ci/protogate/verdict"
)

// github writes workflow commands, which GitHub shows beside the lines they name.
func github(w io.Writer, r *gate.Result) error {
	var b strings.Builder
	say := func(level, title, path string, line, column int, message string) {
		var at []string
		if path != "" {
			at = append(at, "file="+property(path))
			if line > 0 {
				at = append(at, fmt.Sprintf("line=%d", line))
			}
			if column > 0 {
				at = append(at, fmt.Sprintf("col=%d", column))
			}
		}
		at = append(at, "title="+property(title))
		fmt.Fprintf(&b, "::%s %s::%s\n", level, strings.Join(at, ","), data(message))
	}
	for _, s := range r.Surfaces {
		for _, f := range shown(s, false) {
			level := "warning"
			if f.Class == verdict.Look || len(s.Verdicts) == 0 {
				level = "notice"
			}
			say(level, s.Name+": "+f.Rule, f.Path, f.Line, f.Column, f.Message+"\n"+f.Why)
		}
		for _, v := range s.Verdicts {
			say("error", s.Name+": "+v.ID, v.Path, v.Line, 0, v.Message+"\n"+strings.Join(v.Next, "\n"))
		}
		if s.State == gate.New {
			say("notice", s.Name, "", 0, 0, s.Name+" is new, unreleased: nothing holds it yet.")
		}
	}
	for _, v := range r.Repository {
		say("error", v.ID, v.Path, v.Line, 0, v.Message+"\n"+strings.Join(v.Next, "\n"))
	}
	for _, p := range r.Problems {
		say("error", "could not decide"+of(p.Surface), "", 0, 0, strings.TrimSpace(p.Message+"\n"+p.Next))
	}
	if strings.HasPrefix(r.History, "not checked") {
		say("notice", "history", "", 0, 0, "The history was "+r.History+".")
	}
	fmt.Fprintf(&b, "verdict: %s%s, %s\n", r.Verdict, unreleased(r), compared(r))
	_, err := io.WriteString(w, b.String())
	return err
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func data(s string) string     { return dataEscapes.Replace(s) }
func property(s string) string { return propertyEscapes.Replace(s) }

// markdown writes a comment for a pull request.
func markdown(w io.Writer, r *gate.Result) error {
	var b strings.Builder
	title := map[string]string{gate.Pass: "pass", gate.Against: "**against**", gate.Undecided: "**could not decide**"}[r.Verdict]
	fmt.Fprintf(&b, "### protogate: %s%s\n\n%s; history %s.\n\n", title, unreleased(r), first(compared(r)), r.History)
	if len(r.Surfaces) > 0 {
		b.WriteString("| surface | policy | version | what changed | verdict |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, s := range r.Surfaces {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", s.Name, s.Policy, versions(s), summary(s), outcome(s))
	}
	for _, s := range r.Surfaces {
		findings := shown(s, false)
		if len(findings) == 0 && len(s.Verdicts) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n#### %s\n\n", s.Name)
		for _, f := range findings {
			fmt.Fprintf(&b, "- %s `%s` %s\n  %s _%s_\n", f.Class, place(f.Path, f.Line, 0), f.Rule, f.Message, f.Why)
		}
		for _, v := range s.Verdicts {
			markdownVerdict(&b, v)
		}
	}
	if len(r.Repository) > 0 {
		b.WriteString("\n#### repository\n")
		for _, v := range r.Repository {
			markdownVerdict(&b, v)
		}
	}
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n**Could not decide%s**\n\n```\n%s\n```\n", of(p.Surface), strings.TrimSpace(p.Message+"\n"+p.Next))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownVerdict(b *strings.Builder, v verdict.Verdict) {
	fmt.Fprintf(b, "\n**%s**: %s\n\n```diff\n%s\n```\n", v.ID, v.Message, strings.Join(v.Next, "\n"))
}

func first(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// SARIF 2.1.0, as much of it as code scanning shows.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Help sarifText `json:"fullDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

func sarif(w io.Writer, r *gate.Result) error {
	run := sarifRun{Invocations: []sarifInvocation{{Successful: len(r.Problems) == 0}}, Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "protogate", InformationURI: "https://github.com/fletchdb/fletch/blob/main/docs/gate.md", Rules: []sarifRule{}}
	add := func(id, level, message, path string, line, column int) {
		res := sarifResult{RuleID: id, Level: level, Message: sarifText{message}}
		if path != "" {
			l := sarifLocation{sarifPhysical{Artifact: sarifArtifact{path}}}
			if line > 0 {
				l.Physical.Region = &sarifRegion{line, column}
			}
			res.Locations = []sarifLocation{l}
		}
		run.Results = append(run.Results, res)
		if !slices.ContainsFunc(run.Tool.Driver.Rules, func(x sarifRule) bool { return x.ID == id }) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{id, sarifText{verdict.Explain(id)}})
		}
	}
	for _, s := range r.Surfaces {
		for _, f := range shown(s, false) {
			level := "warning"
			if f.Class == verdict.Look || len(s.Verdicts) == 0 {
				level = "note"
			}
			add(f.Rule, level, f.Message+" "+f.Why, f.Path, f.Line, f.Column)
		}
		for _, v := range s.Verdicts {
			path := v.Path
			if path == "" {
				path = s.Path
			}
			add(v.ID, "error", s.Name+": "+v.Message+"\n"+strings.Join(v.Next, "\n"), path, v.Line, 0)
		}
	}
	for _, v := range r.Repository {
		add(v.ID, "error", v.Message+"\n"+strings.Join(v.Next, "\n"), v.Path, v.Line, 0)
	}
	for _, p := range r.Problems {
		n := sarifNotification{"error", sarifText{"could not decide" + of(p.Surface) + ": " + p.Message}}
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}
