package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// report tells people of an error: what is wrong, where in the statement, and what to do.
func report(s streams, statement string, err error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		_, _ = fmt.Fprintf(s.err, "error: %v\n", err)
		return
	}
	_, _ = fmt.Fprintf(s.err, "error: %s\n", e.Message)
	if line := caret(statement, e.Pos); line != "" {
		_, _ = fmt.Fprint(s.err, line)
	}
	if e.Hint != "" {
		_, _ = fmt.Fprintf(s.err, "hint: %s\n", e.Hint)
	}
}

// caretWidth is how much of a long line is shown around an error, in characters.
const caretWidth = 100

// caret is the line of a statement that pos is in, with a mark under the place.
func caret(statement string, pos sqlerr.Pos) string {
	if pos.IsZero() || int(pos.Start) > len(statement) || int(pos.End) > len(statement) || pos.End < pos.Start {
		return ""
	}
	start, end := int(pos.Start), int(pos.End)
	lineStart := strings.LastIndexByte(statement[:start], '\n') + 1
	lineEnd := len(statement)
	if i := strings.IndexByte(statement[start:], '\n'); i >= 0 {
		lineEnd = start + i
	}
	end = min(end, lineEnd)
	number := fmt.Sprintf("line %d: ", strings.Count(statement[:start], "\n")+1)
	before, marked, after := statement[lineStart:start], statement[start:end], statement[end:lineEnd]
	lead := ""
	if n := utf8.RuneCountInString(before); n > caretWidth/2 {
		runes := []rune(before)
		before, lead = string(runes[n-caretWidth/2:]), "… "
	}
	tail := ""
	if room := caretWidth - utf8.RuneCountInString(before) - utf8.RuneCountInString(marked); utf8.RuneCountInString(after) > max(room, 0) {
		after, tail = string([]rune(after)[:max(room, 0)]), " …"
	}
	before, marked, after = oneLine(strings.ReplaceAll(before, "\t", " ")), oneLine(marked), oneLine(after)
	width := text.StringWidthWithoutEscSequences
	return fmt.Sprintf("%s%s%s%s%s%s\n%s%s\n", number, lead, before, marked, after, tail,
		strings.Repeat(" ", width(number)+width(lead)+width(before)), strings.Repeat("^", max(1, width(marked))))
}
