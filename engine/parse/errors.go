package parse

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// fail keeps the first error and ends the text.
func (p *parser) fail(err *sqlerr.Error) {
	if p.err != nil {
		return
	}
	p.err = err
	p.nAhead = 0
	p.tok = token{kind: tokEnd, start: p.tok.start, end: p.tok.start}
}

// unexpected fails at the next token, where expected says in a few words what would have been right; it may be empty.
func (p *parser) unexpected(expected string) {
	if p.err != nil {
		return
	}
	if p.tok.kind == tokBad {
		p.fail(p.lex.err)
		return
	}
	at, hint := p.tok, ""
	if near := p.misspelt(p.bare); near != "" && p.bare.end == p.prev.end {
		at, expected, hint = p.bare, near, "did you mean "+near+"?"
	} else if near := p.misspelt(p.tok); near != "" {
		expected, hint = near, "did you mean "+near+"?"
	} else if p.trace {
		hint = p.hint(expected)
	}
	message := "unexpected " + p.describe(at)
	if expected != "" {
		message += ", expected " + expected
	}
	p.fail(&sqlerr.Error{Code: sqlerr.Syntax, Pos: at.pos(), Message: message, Hint: hint})
}

// unsupported fails at the token t with what is not supported, such as "TABLESAMPLE".
func (p *parser) unsupported(t token, what, hint string) {
	p.fail(&sqlerr.Error{Code: sqlerr.Unsupported, Pos: t.pos(), Message: what + " is not supported", Hint: hint})
}

// hint is for an unexpected token that is no misspelt keyword, where expected was.
func (p *parser) hint(expected string) string {
	t := p.tok
	missing := strings.HasPrefix(expected, "a") // an expression, a table, …
	switch {
	case t.isString() && (strings.HasPrefix(expected, "an alias") || strings.HasPrefix(expected, "a column") || strings.HasPrefix(expected, "a name")):
		return "single quotes are for strings; names take double quotes or none"
	case missing && startsClause(t.kw) && p.prev.kind == ',':
		return "is there a comma too many before it?"
	case missing && t.kw.class() == reserved && !startsClause(t.kw) && p.prev.kw != kwCase:
		return `a name that is a keyword must be quoted: "` + t.kw.lower() + `"`
	case expected == ")", t.kind == tokEnd && slices.Contains(p.want, ")"):
		return "a parenthesis is not closed"
	case expected == "" && t.kind == ')':
		return "is there a parenthesis too many?"
	case expected == "" && p.bare.end == p.prev.end && slices.Contains(p.want, ",") && (canName(t) || t.kind == tokInteger || t.isString()):
		return "is a comma missing before it?"
	}
	return ""
}

// startsClause tells whether k begins a part of a statement, so that it is hardly meant as a name.
func startsClause(k keyword) bool {
	switch k {
	case kwSelect, kwFrom, kwWhere, kwGroup, kwHaving, kwOrder, kwLimit, kwOffset, kwFetch, kwUnion, kwIntersect, kwExcept, kwWindow, kwQualify,
		kwOn, kwUsing, kwAs, kwAnd, kwOr, kwThen, kwElse, kwWhen, kwWith, kwInto:
		return true
	}
	return false
}

// misspelt is the keyword that was wanted where the parser stands and that t nearly is, "" if there is none.
func (p *parser) misspelt(t token) string {
	if !p.trace || t.kind != tokIdent {
		return ""
	}
	word := strings.ToUpper(p.lex.src[t.start:t.end])
	if len(word) > maxKeyword {
		return ""
	}
	best, least := "", 3
	for _, w := range p.want {
		allowed := 1
		if len(w) >= 6 {
			allowed = 2
		}
		if w[0] < 'A' || w[0] > 'Z' || len(w) < 4 && len(w) != len(word) {
			continue
		}
		if d := distance(word, w); d > 0 && d <= allowed && d < least {
			best, least = w, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to make b of a.
func distance(a, b string) int {
	var rows [3][maxKeyword + 1]int
	two, one, row := rows[0][:], rows[1][:], rows[2][:]
	for j := range len(b) + 1 {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := one[j-1]
			if a[i-1] != b[j-1] {
				d++
			}
			d = min(d, one[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, two[j-2]+1)
			}
			row[j] = d
		}
		two, one, row = one, row, two
	}
	return one[len(b)]
}

// describe names a token in a message.
func (p *parser) describe(t token) string {
	if t.kind == tokEnd {
		return "end of the statement"
	}
	return quote(p.lex.src[t.start:t.end])
}

// quote puts what was written in double quotes, unless it starts with a quote of its own; long texts are cut.
func quote(s string) string {
	if s = clip(s); s[0] == '"' || s[0] == '\'' {
		return s
	}
	return `"` + s + `"`
}

// clip shortens s to what a message can bear, at most 60 bytes on one line.
func clip(s string) string {
	if i := strings.IndexAny(s, "\r\n"); i > 0 {
		s = s[:i] + "…"
	}
	const limit = 56
	if len(s) <= limit+len("…") {
		return s
	}
	n := limit
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
