package eval

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// moreText compiles the rarer functions of text.
func (k call) moreText() (factory, bool) {
	switch k.Func {
	case "overlay":
		return k.overlay(), true
	case "quote_literal":
		return text1(k, func(dst []byte, s string) ([]byte, error) { return appendQuoted(dst, s), nil }), true
	case "quote_nullable":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			a, set := operand[string](n), textResult(n, k.Typ)
			n.row = func(i int) error {
				if n.null(0, i) {
					return set(i, append(n.in.mem.tail(), "NULL"...))
				}
				return setOr(set, i, appendQuoted(n.in.mem.tail(), a.at(i)), nil)
			}
		}), true
	case "quote_ident":
		return text1(k, func(dst []byte, s string) ([]byte, error) { return appendIdent(dst, s), nil }), true
	case "format":
		return k.format(), true
	case "to_hex":
		return k.digits(16), true
	case "to_bin":
		return k.digits(2), true
	case "to_oct":
		return k.digits(8), true
	case "to_number":
		return map2(k, func(s, format string) (int128.Int128, error) { return parseNumberFormat(s, format) }), true
	case "unicode":
		return k.measure(func(s string) int {
			if s == "" {
				return -1
			}
			r, _ := utf8.DecodeRuneInString(s)
			return int(r)
		}), true
	case "unistr":
		return text1(k, appendUnistr), true
	case "strip_accents":
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			for _, r := range s {
				dst = utf8.AppendRune(dst, withoutAccent(r))
			}
			return dst, nil
		}), true
	case "levenshtein", "damerau_levenshtein":
		swaps := k.Func == "damerau_levenshtein"
		return map2(k, func(a, b string) (int32, error) {
			x, y := []rune(a), []rune(b)
			if len(x)*len(y) > 1<<26 {
				return 0, sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "the texts are too long to be compared").WithHint("compare parts, such as left(x, 1000)")
			}
			return int32(editDistance(x, y, swaps)), nil
		}), true
	case "hamming":
		return map2(k, func(a, b string) (int32, error) {
			x, y := []rune(a), []rune(b)
			if len(x) != len(y) {
				return 0, invalidArgument("hamming needs two texts of one length")
			}
			n := int32(0)
			for i := range x {
				if x[i] != y[i] {
					n++
				}
			}
			return n, nil
		}), true
	case "jaccard":
		return map2(k, func(a, b string) (float64, error) {
			if a == "" || b == "" {
				return 0, invalidArgument("jaccard needs texts that are not empty")
			}
			return jaccard(a, b), nil
		}), true
	case "jaro_similarity":
		return map2(k, func(a, b string) (float64, error) { return jaro([]rune(a), []rune(b)), nil }), true
	case "jaro_winkler_similarity":
		return map2(k, func(a, b string) (float64, error) {
			x, y := []rune(a), []rune(b)
			j := jaro(x, y)
			same := 0
			for same < min(len(x), len(y), 4) && x[same] == y[same] {
				same++
			}
			if j > 0.7 {
				j += float64(same) * 0.1 * (1 - j)
			}
			return j, nil
		}), true
	case "soundex":
		return text1(k, func(dst []byte, s string) ([]byte, error) { return appendSoundex(dst, s), nil }), true
	case "substring_index":
		return map3(k, func(s, sep string, n int64) (string, error) { return substringIndex(s, sep, n), nil }), true
	case "find_in_set":
		return map2(k, func(s, list string) (int32, error) {
			if list == "" {
				return 0, nil
			}
			return int32(slices.Index(strings.Split(list, ","), s) + 1), nil
		}), true
	case "url_encode":
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			return append(dst, strings.ReplaceAll(url.QueryEscape(s), "+", "%20")...), nil
		}), true
	case "url_decode":
		return text1(k, func(dst []byte, s string) ([]byte, error) {
			out, err := url.PathUnescape(s)
			if err != nil {
				out = s
			}
			if !utf8.ValidString(out) {
				return nil, sqlerr.New(sqlerr.InvalidUTF8, sqlerr.Pos{}, "url_decode gives bytes that are not UTF-8")
			}
			return append(dst, out...), nil
		}), true
	case "error":
		return k.rows(func(n *rowsNode) {
			a, set := operand[string](n), textResult(n, k.Typ)
			n.row = func(i int) error {
				return setOr(set, i, nil, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, strings.Clone(a.at(i))))
			}
		}), true
	}
	return nil, false
}

func (k call) overlay() factory {
	return k.rows(func(n *rowsNode) {
		a, b, from := operand[string](n), operand[string](n), operand[int64](n)
		var count *arg[int64]
		if len(k.args) == 4 {
			count = operand[int64](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			s, with, start := a.at(i), b.at(i), from.at(i)
			length := int64(runes(with))
			if count != nil {
				length = count.at(i)
			}
			if start < 1 {
				return setOr(set, i, nil, invalidArgument("negative substring length not allowed"))
			}
			if start > math.MaxInt32 || length > math.MaxInt32 || length < math.MinInt32 {
				return setOr(set, i, nil, sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "integer out of range"))
			}
			dst := append(append(n.in.mem.tail(), s[:offset(s, start-1)]...), with...)
			return setOr(set, i, append(dst, s[offset(s, max(start-1+length, 0)):]...), nil)
		}
	})
}

// appendQuoted appends s as a string literal.
func appendQuoted(dst []byte, s string) []byte {
	slash := strings.Contains(s, `\`)
	if slash {
		dst = append(dst, 'E')
	}
	dst = append(dst, '\'')
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			dst = append(dst, s[i])
		}
		dst = append(dst, s[i])
	}
	return append(dst, '\'')
}

// reserved are the words that cannot stand for a column without quotes.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create
current_catalog current_date current_role current_time current_timestamp current_user default deferrable desc distinct do else end except
false fetch for foreign from grant group having in initially intersect into lateral leading limit localtime localtimestamp not null offset
on only or order placing primary references returning select session_user some symmetric table then to trailing true union unique user
using variadic when where window with`) {
		m[w] = true
	}
	return m
}()

func appendIdent(dst []byte, s string) []byte {
	plain := s != "" && !reserved[s]
	for i := range len(s) {
		c := s[i]
		plain = plain && (c == '_' || c >= 'a' && c <= 'z' || i > 0 && c >= '0' && c <= '9')
	}
	if plain {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' {
			dst = append(dst, '"')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// format is PostgreSQL's: %s, %I, %L and %%, with n$, a minus and a width.
func (k call) format() factory {
	return k.rows(func(n *rowsNode) {
		n.lenient = true
		args := make([]*arg[string], len(k.args))
		for j := range args {
			args[j] = operand[string](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			if n.null(0, i) {
				return setOr(set, i, nil, errNull)
			}
			dst, err := n.appendFormat(n.in.mem.tail(), args, i)
			return setOr(set, i, dst, err)
		}
	})
}

func (n *rowsNode) appendFormat(dst []byte, args []*arg[string], i int) ([]byte, error) {
	pattern, next := args[0].at(i), 1
	bad := func(text string) ([]byte, error) { return nil, invalidArgument(text) }
	number := func(s string) (int, string) {
		at := 0
		for at < len(s) && s[at] >= '0' && s[at] <= '9' && at < 9 {
			at++
		}
		v, _ := strconv.Atoi(s[:at])
		return v, s[at:]
	}
	for {
		at := strings.IndexByte(pattern, '%')
		if at < 0 {
			return append(dst, pattern...), nil
		}
		dst, pattern = append(dst, pattern[:at]...), pattern[at+1:]
		if strings.HasPrefix(pattern, "%") {
			dst, pattern = append(dst, '%'), pattern[1:]
			continue
		}
		place := next
		if v, rest := number(pattern); strings.HasPrefix(rest, "$") && rest != pattern {
			if v == 0 {
				return bad("format specifies argument 0, but arguments are numbered from 1")
			}
			place, pattern = v, rest[1:]
		}
		left := false
		for strings.HasPrefix(pattern, "-") {
			left, pattern = true, pattern[1:]
		}
		width, rest := number(pattern)
		if pattern = rest; pattern == "" {
			return bad("unterminated format() type specifier")
		}
		verb := pattern[0]
		pattern = pattern[1:]
		if verb != 's' && verb != 'I' && verb != 'L' {
			r, _ := utf8.DecodeRuneInString(string(verb) + pattern)
			return bad("unrecognized format() type specifier \"" + string(r) + "\"")
		}
		if place >= len(args) {
			return bad("too few arguments for format()")
		}
		next = place + 1
		var text []byte
		isNull := n.null(place, i)
		switch {
		case verb == 'I' && isNull:
			return bad("null values cannot be formatted as an SQL identifier")
		case verb == 'I':
			text = appendIdent(nil, args[place].at(i))
		case verb == 'L' && isNull:
			text = []byte("NULL")
		case verb == 'L':
			text = appendQuoted(nil, args[place].at(i))
		case !isNull:
			text = append(text, args[place].at(i)...)
		}
		pad := width - utf8.RuneCount(text)
		if pad > maxText {
			return nil, tooLong()
		}
		if left {
			dst = append(dst, text...)
		}
		for range pad {
			dst = append(dst, ' ')
		}
		if !left {
			dst = append(dst, text...)
		}
	}
}

func (k call) digits(base int) factory {
	if k.kind(0) == sqltype.Int32 {
		return text1(k, func(dst []byte, x int32) ([]byte, error) {
			return strconv.AppendUint(dst, uint64(uint32(x)), base), nil
		})
	}
	return text1(k, func(dst []byte, x int64) ([]byte, error) { return strconv.AppendUint(dst, uint64(x), base), nil })
}

func appendUnistr(dst []byte, s string) ([]byte, error) {
	high := rune(0) // the first half of a pair
	for s != "" {
		if s[0] != '\\' {
			if high != 0 {
				return nil, invalidArgument("invalid Unicode surrogate pair")
			}
			dst, s = append(dst, s[0]), s[1:]
			continue
		}
		if strings.HasPrefix(s, `\\`) && high == 0 {
			dst, s = append(dst, '\\'), s[2:]
			continue
		}
		digits, from := 4, 1
		switch {
		case strings.HasPrefix(s, `\+`):
			digits, from = 6, 2
		case strings.HasPrefix(s, `\u`):
			from = 2
		case strings.HasPrefix(s, `\U`):
			digits, from = 8, 2
		}
		if len(s) < from+digits {
			return nil, invalidArgument("invalid Unicode escape")
		}
		v, err := strconv.ParseUint(s[from:from+digits], 16, 32)
		if err != nil {
			return nil, invalidArgument("invalid Unicode escape")
		}
		r := rune(v)
		s = s[from+digits:]
		switch {
		case r >= 0xdc00 && r < 0xe000 && high != 0:
			r, high = (high-0xd800)<<10|(r-0xdc00)+0x10000, 0
		case high != 0 || r >= 0xdc00 && r < 0xe000:
			return nil, invalidArgument("invalid Unicode surrogate pair")
		case r >= 0xd800 && r < 0xdc00:
			high = r
			continue
		}
		if r == 0 || v > unicode.MaxRune {
			return nil, invalidArgument("invalid Unicode escape value")
		}
		dst = utf8.AppendRune(dst, r)
	}
	if high != 0 {
		return nil, invalidArgument("invalid Unicode surrogate pair")
	}
	return dst, nil
}

// accents are Latin letters with marks and, at the same places, the letters alone.
var accents = func() map[rune]rune {
	m := map[rune]rune{}
	for base, marked := range map[rune]string{
		'A': "ÀÁÂÃÄÅĀĂĄǍ", 'C': "ÇĆĈĊČ", 'D': "ĎĐ", 'E': "ÈÉÊËĒĔĖĘĚ", 'G': "ĜĞĠĢ", 'H': "ĤĦ", 'I': "ÌÍÎÏĨĪĬĮİ", 'J': "Ĵ", 'K': "Ķ", 'L': "ĹĻĽŁ",
		'N': "ÑŃŅŇ", 'O': "ÒÓÔÕÖØŌŎŐ", 'R': "ŔŖŘ", 'S': "ŚŜŞŠȘ", 'T': "ŢŤŦȚ", 'U': "ÙÚÛÜŨŪŬŮŰŲ", 'W': "Ŵ", 'Y': "ÝŶŸ", 'Z': "ŹŻŽ",
	} {
		for _, r := range marked {
			m[r] = base
			if low := unicode.ToLower(r); low != r {
				m[low] = unicode.ToLower(base)
			}
		}
	}
	m['ÿ'] = 'y'
	return m
}()

func withoutAccent(r rune) rune {
	if base, ok := accents[r]; ok {
		return base
	}
	return r
}

func editDistance(a, b []rune, swaps bool) int {
	var before []int
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if swaps && i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, make([]int, len(b)+1)
	}
	return prev[len(b)]
}

func jaccard(a, b string) float64 {
	has := map[rune]int{}
	for _, r := range a {
		has[r] |= 1
	}
	for _, r := range b {
		has[r] |= 2
	}
	both := 0
	for _, w := range has {
		if w == 3 {
			both++
		}
	}
	return float64(both) / float64(len(has))
}

func jaro(a, b []rune) float64 {
	if len(a) == 0 && len(b) == 0 {
		return 1
	}
	reach := max(max(len(a), len(b))/2-1, 0)
	usedA, usedB := make([]bool, len(a)), make([]bool, len(b))
	matches := 0
	for i, r := range a {
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if !usedB[j] && b[j] == r {
				usedA[i], usedB[j] = true, true
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0
	}
	moved, j := 0, 0
	for i, r := range a {
		if !usedA[i] {
			continue
		}
		for !usedB[j] {
			j++
		}
		if b[j] != r {
			moved++
		}
		j++
	}
	m := float64(matches)
	return (m/float64(len(a)) + m/float64(len(b)) + (m-float64(moved/2))/m) / 3
}

func appendSoundex(dst []byte, s string) []byte {
	const codes = "01230120022455012623010202"
	var last byte
	n := 0
	for i := range len(s) {
		c := s[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			continue
		}
		code := codes[c-'A']
		switch {
		case n == 0:
			dst = append(dst, c)
			n++
		case code != '0' && code != last:
			dst = append(dst, code)
			n++
		}
		if n > 0 && (c != 'H' && c != 'W' || n == 1 && last == 0) {
			last = code
		}
		if n == 4 {
			return dst
		}
	}
	for ; n > 0 && n < 4; n++ {
		dst = append(dst, '0')
	}
	return dst
}

func substringIndex(s, sep string, n int64) string {
	if n == 0 || sep == "" {
		return ""
	}
	parts := strings.Split(s, sep)
	if n > 0 {
		return strings.Join(parts[:min(n, int64(len(parts)))], sep)
	}
	return strings.Join(parts[max(int64(len(parts))+n, 0):], sep)
}

// textList appends texts as a list.
func textList(dst []byte, texts []string) []byte {
	t := sqltype.Of(sqltype.Utf8)
	for _, s := range texts {
		dst = nested.Append(dst, t, nested.Scalar{Str: s})
	}
	return nested.EndList(dst)
}
