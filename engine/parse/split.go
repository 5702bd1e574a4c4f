package parse

import (
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Piece is one statement of a text, without the semicolon after it and the white space and comments around it.
type Piece struct {
	Text string
	Pos  sqlerr.Pos
}

// Split cuts a text at its semicolons, for a prompt that reads lines until a statement is complete. Pieces are the statements that a
// semicolon ends, empty ones left out. Rest is what follows the last of them and is not finished: empty where there is nothing but
// white space and comments that end, else the text from the start of what is unfinished. Strings, quoted names and comments hide
// semicolons as they do for Parse; nothing else is checked.
func Split(text string) (pieces []Piece, rest string) {
	l := lexer{src: text}
	first, last := int32(-1), int32(0)
	for {
		t := l.next()
		switch t.kind {
		case ';':
			if first >= 0 {
				pieces = append(pieces, Piece{Text: text[first:last], Pos: sqlerr.Pos{Start: first, End: last}})
			}
			first = -1
			continue
		case tokBad:
			if unfinished(l.err) {
				if first < 0 {
					first = t.start
				}
				return pieces, text[first:]
			}
			// Parse will say what is wrong; here the text only goes on after it.
			l.err, l.off = nil, max(int(t.end), int(t.start)+1)
		case tokEnd:
			if first >= 0 {
				return pieces, text[first:]
			}
			return pieces, ""
		}
		if first < 0 {
			first = t.start
		}
		last = int32(l.off)
	}
}

// unfinished tells whether more text could make good what the lexer complains of.
func unfinished(err *sqlerr.Error) bool { return strings.HasSuffix(err.Message, "does not end") }
