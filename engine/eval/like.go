package eval

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A matcher is a compiled LIKE pattern: the parts between its %, of which the first is bound to the start of the text and the last
// to its end.
type matcher struct {
	kind   likeKind
	first  segment
	middle []segment
	last   segment
	fold   bool // the pattern is in lower case and so must the text be

	head, mask uint64 // of likePrefix: its first eight bytes
}

type likeKind uint8

const (
	likeExact    likeKind = iota // no %
	likePrefix                   // abc%
	likeSuffix                   // %abc
	likeContains                 // %abc%
	likeGeneral
)

// A segment is literal pieces with one character, any, between each two: a_b is "a", "b".
type segment []string

func (s segment) plain() bool { return len(s) == 1 }

// matchAt is how many bytes at the start of text the segment takes, −1 if it does not match there.
func (s segment) matchAt(text string) int {
	at := 0
	for i, piece := range s {
		if i > 0 {
			if at == len(text) {
				return -1
			}
			at += runeWidth(text[at:])
		}
		if !strings.HasPrefix(text[at:], piece) {
			return -1
		}
		at += len(piece)
	}
	return at
}

// find is where the segment first matches in text and how many bytes it takes; −1 if nowhere.
func (s segment) find(text string) (at, width int) {
	if s.plain() {
		return strings.Index(text, s[0]), len(s[0])
	}
	for {
		if s[0] != "" {
			hop := strings.Index(text[at:], s[0])
			if hop < 0 {
				return -1, 0
			}
			at += hop
		}
		if width = s.matchAt(text[at:]); width >= 0 {
			return at, width
		}
		if at == len(text) {
			return -1, 0
		}
		at += runeWidth(text[at:])
	}
}

// endsAt is whether the segment takes exactly the end of text.
func (s segment) endsAt(text string) bool {
	if s.plain() {
		return strings.HasSuffix(text, s[0])
	}
	count := len(s) - 1
	for _, piece := range s {
		count += runes(piece)
	}
	at := len(text)
	for ; count > 0 && at > 0; count-- {
		_, w := utf8.DecodeLastRuneInString(text[:at])
		at -= w
	}
	return count == 0 && s.matchAt(text[at:]) == len(text)-at
}

func runeWidth(s string) int {
	if s[0] < utf8.RuneSelf {
		return 1
	}
	_, w := utf8.DecodeRuneInString(s)
	return w
}

// compileLike reads a pattern; escape is "" for none.
func compileLike(pattern, escape string, fold bool) (*matcher, error) {
	if utf8.RuneCountInString(escape) > 1 {
		return nil, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid escape string").
			WithHint("escape string must be empty or one character")
	}
	if fold {
		pattern = string(appendLower(nil, pattern))
		escape = string(appendLower(nil, escape))
	}
	var parts []segment
	var piece []byte
	current := segment{}
	for i := 0; i < len(pattern); {
		switch rest := pattern[i:]; {
		case escape != "" && !planted.LikeEscape && strings.HasPrefix(rest, escape):
			if i += len(escape); i == len(pattern) {
				return nil, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "LIKE pattern must not end with escape character")
			}
			w := runeWidth(pattern[i:])
			piece = append(piece, pattern[i:i+w]...)
			i += w
		case rest[0] == '%':
			parts = append(parts, append(current, string(piece)))
			current, piece = segment{}, piece[:0]
			i++
		case rest[0] == '_':
			current = append(current, string(piece))
			piece = piece[:0]
			i++
		default:
			piece = append(piece, rest[0])
			i++
		}
	}
	parts = append(parts, append(current, string(piece)))
	m := &matcher{first: parts[0], last: parts[len(parts)-1], fold: fold}
	for _, s := range parts[1:max(len(parts)-1, 1)] {
		if len(s) > 1 || s[0] != "" { // %% is %
			m.middle = append(m.middle, s)
		}
	}
	empty := func(s segment) bool { return len(s) == 1 && s[0] == "" }
	switch {
	case len(parts) == 1:
		m.kind = likeExact
	case len(m.middle) == 0 && empty(m.last) && m.first.plain():
		m.kind = likePrefix
		var head, mask [8]byte
		for i := range copy(head[:], m.first[0]) {
			mask[i] = 0xFF
		}
		m.head, m.mask = binary.NativeEndian.Uint64(head[:]), binary.NativeEndian.Uint64(mask[:])
	case len(m.middle) == 0 && empty(m.first) && m.last.plain():
		m.kind = likeSuffix
	case len(m.middle) == 1 && empty(m.first) && empty(m.last) && m.middle[0].plain():
		m.kind = likeContains
	default:
		m.kind = likeGeneral
	}
	return m, nil
}

// match tells whether text, folded if the pattern is, matches.
func (m *matcher) match(text string) bool {
	switch m.kind {
	case likeExact:
		return m.first.matchAt(text) == len(text)
	case likePrefix:
		return strings.HasPrefix(text, m.first[0])
	case likeSuffix:
		return strings.HasSuffix(text, m.last[0])
	case likeContains:
		return strings.Contains(text, m.middle[0][0])
	}
	at := m.first.matchAt(text)
	if at < 0 {
		return false
	}
	text = text[at:]
	for _, s := range m.middle {
		at, width := s.find(text)
		if at < 0 {
			return false
		}
		text = text[at+width:]
	}
	return m.last.endsAt(text)
}

// begins is 1 if s begins with the pattern's first part, of at most eight bytes.
func (m *matcher) begins(s string) uint64 {
	if len(s) >= 8 {
		return bit(*(*uint64)(unsafe.Pointer(unsafe.StringData(s)))&m.mask == m.head)
	}
	return bit(strings.HasPrefix(s, m.first[0]))
}

// matchRows sets the bits of the rows of sel whose text matches. bits are clear.
func (m *matcher) matchRows(bits []uint64, texts *arg[string], sel []int32, buf *[]byte) {
	switch {
	case m.fold:
		for _, i := range sel {
			b := appendLower((*buf)[:0], texts.at(int(i)))
			*buf = b
			bits[i>>6] |= bit(m.match(unsafe.String(unsafe.SliceData(b), len(b)))) << (uint(i) & 63)
		}
	case m.kind == likePrefix && len(m.first[0]) <= 8 && texts.mask != 0 && len(sel) == len(texts.vals):
		for w := range bits {
			block := texts.vals[w*64 : min(w*64+64, len(texts.vals))]
			var hits uint64
			for j, s := range block {
				hits |= m.begins(s) << (uint(j) & 63)
			}
			bits[w] = hits
		}
	case m.kind == likePrefix && len(m.first[0]) <= 8:
		for _, i := range sel {
			bits[i>>6] |= m.begins(texts.at(int(i))) << (uint(i) & 63)
		}
	default:
		for _, i := range sel {
			bits[i>>6] |= bit(m.match(texts.at(int(i)))) << (uint(i) & 63)
		}
	}
}
