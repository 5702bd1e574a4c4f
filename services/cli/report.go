package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/services/client"
)

// A source is where a statement comes from, so that an error can show the place.
type source struct {
	file      string // "" where it was typed
	line      int    // lines of the text before the statement
	statement string
}

// report tells people of an error: what is wrong, where in the statement, and what to do.
func report(p *process, from source, err error) {
	if errors.Is(err, syscall.EPIPE) {
		return // whoever read the result has left, and wants to hear nothing
	}
	var b strings.Builder
	b.WriteString(styled(p.err, red, "error:") + " ")
	var (
		e           *sqlerr.Error
		unreachable *client.Unreachable
	)
	switch {
	case errors.As(err, &unreachable):
		fmt.Fprintf(&b, "%s\n", readable(unreachable.Error()))
		hint(p, &b, "fletch serve starts a coordinator, fletch worker a worker; fletch sql without --connect needs neither")
	case errors.As(err, &e):
		fmt.Fprintf(&b, "%s\n%s", readable(inContext(err, e)), caret(from, e.Pos))
		hint(p, &b, e.Hint)
	default:
		fmt.Fprintf(&b, "%s\n", readable(err.Error()))
	}
	_, _ = fmt.Fprint(p.err, b.String())
}

// inContext is the message of e with what the errors around it say of what was being done.
func inContext(err error, e *sqlerr.Error) string {
	return strings.Replace(err.Error(), e.Error(), e.Message, 1)
}

func hint(p *process, b *strings.Builder, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s %s\n", styled(p.err, cyan, "hint:"), readable(text))
	}
}

// readable keeps the line breaks of a message, and nothing else that moves a cursor: servers and files wrote parts of it.
func readable(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = oneLine(lines[i])
	}
	return strings.Join(lines, "\n")
}

// Styles of terminals.
const (
	red  = "\x1b[1;31m"
	cyan = "\x1b[36m"
	dim  = "\x1b[2m"
)

// styled is text in a style where w is a terminal that has it.
func styled(w any, style, text string) string {
	if !colors(w) {
		return text
	}
	return style + text + "\x1b[0m"
}

// caretWidth is how much of a long line is shown around an error, in columns.
const caretWidth = 100

// caret is the line of a statement that pos is in, with a mark under the place.
func caret(from source, pos sqlerr.Pos) string {
	s := from.statement
	start, end := int(pos.Start), int(pos.End)
	if pos.IsZero() || start < 0 || start > len(s) || end > len(s) || end < start {
		return ""
	}
	lineStart := strings.LastIndexByte(s[:start], '\n') + 1
	lineEnd := len(s)
	if i := strings.IndexByte(s[start:], '\n'); i >= 0 {
		lineEnd = start + i
	}
	end = min(end, lineEnd)
	label := fmt.Sprintf("line %d: ", from.line+strings.Count(s[:start], "\n")+1)
	if from.file != "" {
		label = filepath.Base(from.file) + ", " + label
	}
	before, marked, after := oneLine(s[lineStart:start]), oneLine(s[start:end]), oneLine(strings.TrimSuffix(s[end:lineEnd], "\r"))
	if w := width(before); w > caretWidth/2 {
		before = "…" + dropColumns(before, w-caretWidth/2)
	}
	marked = cut(marked, caretWidth)
	after = cut(after, max(1, caretWidth-width(before)-width(marked)))
	return fmt.Sprintf("%s%s%s%s\n%s%s\n", label, before, marked, after,
		strings.Repeat(" ", width(label)+width(before)), strings.Repeat("^", max(1, width(marked))))
}
