package cli

import (
	"strings"

	"github.com/rivo/uniseg"
)

// width is how many columns of a terminal s takes.
func width(s string) int {
	if ascii(s) {
		return len(s)
	}
	return uniseg.StringWidth(s)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// cut is s in at most columns columns, with "…" at the end of what was cut.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	if columns < 1 {
		return ""
	}
	head, _ := splitColumns(s, columns-1)
	return head + "…"
}

// splitColumns cuts s after at most columns columns, between characters as a reader sees them.
func splitColumns(s string, columns int) (head, tail string) {
	if ascii(s) {
		n := min(columns, len(s))
		return s[:n], s[n:]
	}
	rest, state, at := s, -1, 0
	for rest != "" {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if columns -= w; columns < 0 {
			break
		}
		at += len(cluster)
	}
	return s[:at], s[at:]
}

// dropColumns is s without its first columns.
func dropColumns(s string, columns int) string {
	_, tail := splitColumns(s, columns)
	return tail
}

// wrapped is s in lines of at most columns columns; 0 is no limit.
func wrapped(s string, columns int) []string {
	var lines []string
	for line := range strings.SplitSeq(s, "\n") {
		line = oneLine(line)
		for columns > 0 && width(line) > columns {
			head, tail := splitColumns(line, columns)
			if head == "" {
				break // one character is wider than the line
			}
			lines, line = append(lines, head), tail
		}
		lines = append(lines, line)
	}
	return lines
}

// oneLine makes a cell of what may hold line breaks and control characters: no file's content moves a cursor, or turns the
// direction of what stands beside it.
func oneLine(v string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '↵'
		case r == '\t':
			return ' '
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029:
			return '�'
		}
		return r
	}, v)
}
