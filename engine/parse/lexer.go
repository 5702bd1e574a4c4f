package parse

import (
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A tokenKind is a class of tokens. Punctuation of one character is its own kind.
type tokenKind uint8

const (
	tokEnd      tokenKind = iota // the end of the text
	tokBad                       // lexer.err says why
	tokIdent                     // a word: kw is set where it is a keyword
	tokQuoted                    // "…"
	tokString                    // '…' and what follows it on later lines
	tokEscape                    // E'…'
	tokDollar                    // $tag$…$tag$
	tokBinary                    // X'…'
	tokInteger                   // 12, 1_000, 0xff
	tokDecimal                   // 1.5, .5, 1.
	tokFloat                     // 1e5
	tokParam                     // $1, $name
	tokQuestion                  // ?
	tokOp                        // op is set
	tokCast                      // ::
	tokAssign                    // :=
	tokNamed                     // =>
)

func (k tokenKind) String() string {
	switch k {
	case tokEnd:
		return "the end of the statement"
	case tokIdent, tokQuoted:
		return "a name"
	case tokString, tokEscape, tokDollar:
		return "a string"
	case tokInteger:
		return "an integer"
	case tokCast:
		return "::"
	case tokAssign:
		return ":="
	case tokNamed:
		return "=>"
	default:
		return string(rune(k))
	}
}

// A token is a piece of the text; its value is worked out only when it is used.
type token struct {
	kind       tokenKind
	op         opcode
	kw         keyword
	start, end int32
}

func (t token) pos() sqlerr.Pos { return sqlerr.Pos{Start: t.start, End: t.end} }

func (t token) isString() bool {
	return t.kind == tokString || t.kind == tokEscape || t.kind == tokDollar
}

// A lexer cuts a text into tokens. It is a plain value: a copy is a second reader at the same place.
type lexer struct {
	src string // valid UTF-8, at most MaxSize bytes
	off int
	err *sqlerr.Error
}

const (
	isSpace = 1 << iota
	isLetter
	isDigit
	isOp
	isHex
)

var class = func() (c [256]uint8) {
	for _, b := range " \t\n\r\f\v" {
		c[b] = isSpace
	}
	for b := range 256 {
		switch {
		case 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '_' || b >= 0x80:
			c[b] = isLetter
		case '0' <= b && b <= '9':
			c[b] = isDigit | isHex
		}
	}
	for _, b := range "abcdefABCDEF" {
		c[b] |= isHex
	}
	for _, b := range "+-*/<>=~!@#%^&|" {
		c[b] = isOp
	}
	return c
}()

const byteOrderMark = "\uFEFF"

func (l *lexer) is(i int, what uint8) bool { return i < len(l.src) && class[l.src[i]]&what != 0 }

func (l *lexer) byteAt(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// bad makes the error token and moves to the end of the text.
func (l *lexer) bad(code sqlerr.Code, start, end int, message, hint string) token {
	l.off = len(l.src)
	l.err = &sqlerr.Error{Code: code, Pos: sqlerr.Pos{Start: int32(start), End: int32(end)}, Message: message, Hint: hint}
	return token{kind: tokBad, start: int32(start), end: int32(end)}
}

// token ends a token at end.
func (l *lexer) token(kind tokenKind, start, end int) token {
	l.off = end
	return token{kind: kind, start: int32(start), end: int32(end)}
}

// skip passes over white space and comments; ok is false where a comment does not end, and then off is at its start.
func (l *lexer) skip() (ok bool) {
	for l.off < len(l.src) {
		switch c := l.src[l.off]; {
		case class[c]&isSpace != 0:
			l.off++
		case c == '-' && l.byteAt(l.off+1) == '-':
			n := strings.IndexByte(l.src[l.off:], '\n')
			if n < 0 {
				l.off = len(l.src)
				return true
			}
			l.off += n + 1
		case c == '/' && l.byteAt(l.off+1) == '*':
			n := commentEnd(l.src[l.off:])
			if n < 0 {
				return false
			}
			l.off += n
		case l.off == 0 && strings.HasPrefix(l.src, byteOrderMark):
			l.off = len(byteOrderMark)
		default:
			return true
		}
	}
	return true
}

// commentEnd is the length of the comment that s starts with, -1 if it does not end. Comments nest, as in PostgreSQL.
func commentEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch {
		case s[i] == '/' && s[i+1] == '*':
			depth++
			i++
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

func (l *lexer) next() token {
	if l.err != nil {
		return token{kind: tokBad, start: l.err.Pos.Start, end: l.err.Pos.End}
	}
	if !l.skip() {
		return l.bad(sqlerr.Syntax, l.off, l.off+2, "a comment does not end", "close it with */")
	}
	start := l.off
	if start == len(l.src) {
		return l.token(tokEnd, start, start)
	}
	c := l.src[start]
	switch {
	case class[c]&isLetter != 0:
		return l.word(start)
	case class[c]&isDigit != 0:
		return l.number(start)
	case class[c]&isOp != 0:
		return l.operator(start)
	}
	switch c {
	case '(', ')', '[', ']', '{', '}', ',', ';':
		return l.token(tokenKind(c), start, start+1)
	case '.':
		if l.is(start+1, isDigit) {
			return l.number(start)
		}
		return l.token('.', start, start+1)
	case ':':
		switch l.byteAt(start + 1) {
		case ':':
			return l.token(tokCast, start, start+2)
		case '=':
			return l.token(tokAssign, start, start+2)
		}
		return l.token(':', start, start+1)
	case '?':
		return l.token(tokQuestion, start, start+1)
	case '\'':
		return l.quoted(tokString, start, start)
	case '"':
		t := l.quoted(tokQuoted, start, start)
		if t.end == t.start+2 {
			return l.bad(sqlerr.Syntax, start, start+2, "a quoted name is empty", "use single quotes for an empty string")
		}
		return t
	case '$':
		return l.dollar(start)
	case '`':
		return l.bad(sqlerr.Syntax, start, start+1, "unexpected \"`\"", "quote names with double quotes")
	}
	return l.bad(sqlerr.Syntax, start, start+1, "unexpected \""+printable(c)+"\"", "")
}

func printable(c byte) string {
	if c < ' ' || c == 0x7F {
		const hex = "0123456789abcdef"
		return `\x` + string([]byte{hex[c>>4], hex[c&15]})
	}
	return string(rune(c))
}

// word reads a name, a keyword, or a string with a letter before its quote.
func (l *lexer) word(start int) token {
	if l.byteAt(start+1) == '\'' {
		switch l.src[start] {
		case 'e', 'E':
			return l.quoted(tokEscape, start, start+1)
		case 'x', 'X':
			return l.quoted(tokBinary, start, start+1)
		case 'n', 'N':
			return l.quoted(tokString, start, start+1)
		case 'b', 'B':
			return l.bad(sqlerr.Unsupported, start, start+2, "bit strings are not supported", "write X'…' for bytes, or an integer such as 0b101")
		}
	}
	if c := l.src[start]; (c == 'u' || c == 'U') && l.byteAt(start+1) == '&' {
		if q := l.byteAt(start + 2); q == '\'' || q == '"' {
			return l.bad(sqlerr.Unsupported, start, start+3, "U& escapes are not supported", `write E'\u00e9' or the character itself`)
		}
	}
	end := start + 1
	for end < len(l.src) {
		if c := l.src[end]; class[c]&(isLetter|isDigit) == 0 && c != '$' {
			break
		}
		end++
	}
	t := l.token(tokIdent, start, end)
	t.kw = lookup(l.src[start:end])
	return t
}

// number reads a number of any form.
func (l *lexer) number(start int) token {
	kind, i := tokInteger, start
	if l.src[i] == '0' {
		switch digits := uint8(0); l.byteAt(i + 1) {
		case 'x', 'X', 'o', 'O', 'b', 'B':
			digits = isDigit
			if c := l.src[i+1]; c == 'x' || c == 'X' {
				digits = isHex
			}
			if l.is(i+2, digits) || l.byteAt(i+2) == '_' && l.is(i+3, digits) {
				return l.numberEnd(tokInteger, start, l.digits(i+2, digits))
			}
		}
	}
	i = l.digits(i, isDigit)
	if l.byteAt(i) == '.' && l.byteAt(i+1) != '.' {
		kind = tokDecimal
		i = l.digits(i+1, isDigit)
	}
	if c := l.byteAt(i); c == 'e' || c == 'E' {
		j := i + 1
		if s := l.byteAt(j); s == '+' || s == '-' {
			j++
		}
		if l.is(j, isDigit) {
			kind = tokFloat
			i = l.digits(j, isDigit)
		}
	}
	return l.numberEnd(kind, start, i)
}

// digits is the offset after the digits at i; an underscore between two of them is passed over.
func (l *lexer) digits(i int, what uint8) int {
	for l.is(i, what) || l.byteAt(i) == '_' && l.is(i+1, what) {
		i++
	}
	return i
}

func (l *lexer) numberEnd(kind tokenKind, start, end int) token {
	if l.is(end, isLetter) {
		stop := end
		for l.is(stop, isLetter|isDigit) {
			stop++
		}
		return l.bad(sqlerr.Syntax, start, stop, "a number runs into a name: "+quote(l.src[start:stop]), "put a space between them, or quote a name that starts with a digit")
	}
	return l.token(kind, start, end)
}

// quoted reads what is in quotes from the quote at open; start is where the token starts.
func (l *lexer) quoted(kind tokenKind, start, open int) token {
	q, i := l.src[open], open+1
	for {
		if kind == tokEscape {
			n := strings.IndexAny(l.src[i:], `'\`)
			if n >= 0 && l.src[i+n] == '\\' {
				i = min(i+n+2, len(l.src))
				continue
			}
		}
		n := strings.IndexByte(l.src[i:], q)
		if n < 0 {
			what, hint := "a string does not end", "close it with a single quote; a quote within is written twice"
			if q == '"' {
				what, hint = "a quoted name does not end", "close it with a double quote; use single quotes for strings"
			}
			return l.bad(sqlerr.Syntax, start, open+1, what, hint)
		}
		i += n + 1
		if l.byteAt(i) == q {
			i++
			continue
		}
		if q == '\'' {
			if more := l.continued(i); more > 0 {
				i = more
				continue
			}
		}
		return l.token(kind, start, i)
	}
}

// continued is the offset after the quote of a string that goes on after the one that ended at i: as the standard has it, if nothing
// but white space with a line break stands between. It is 0 where there is none.
func (l *lexer) continued(i int) int {
	line := false
	for l.is(i, isSpace) {
		line = line || l.src[i] == '\n' || l.src[i] == '\r'
		i++
	}
	if line && l.byteAt(i) == '\'' {
		return i + 1
	}
	return 0
}

// dollar reads a parameter or a dollar-quoted string.
func (l *lexer) dollar(start int) token {
	i := start + 1
	if l.is(i, isDigit) {
		for l.is(i, isDigit) {
			i++
		}
		return l.numberEnd(tokParam, start, i)
	}
	for l.is(i, isLetter) || i > start+1 && l.is(i, isDigit) {
		i++
	}
	if l.byteAt(i) == '$' {
		tag := l.src[start : i+1]
		n := strings.Index(l.src[i+1:], tag)
		if n < 0 {
			return l.bad(sqlerr.Syntax, start, i+1, "a string does not end", "close it with "+clip(tag))
		}
		return l.token(tokDollar, start, i+1+n+len(tag))
	}
	if i == start+1 {
		return l.bad(sqlerr.Syntax, start, i, `unexpected "$"`, "a parameter is $1 or $name")
	}
	return l.token(tokParam, start, i)
}

// operator reads the longest operator there is: a||-1 is two of them, unlike in PostgreSQL, where one could define a third.
func (l *lexer) operator(start int) token {
	end := start + 1
	for l.is(end, isOp) && end < start+maxOp {
		if c := l.src[end]; c == '-' && l.byteAt(end+1) == '-' || c == '/' && l.byteAt(end+1) == '*' {
			break
		}
		end++
	}
	for ; end > start; end-- {
		s := l.src[start:end]
		if s == "=>" {
			return l.token(tokNamed, start, end)
		}
		if op, ok := opcodes[s]; ok {
			t := l.token(tokOp, start, end)
			t.op = op
			return t
		}
	}
	return l.bad(sqlerr.Syntax, start, start+1, "unexpected \""+l.src[start:start+1]+"\"", "")
}

// An opcode is an index into operators.
type opcode uint8

func (o opcode) text() ast.Operator { return operators[o].op }

// The levels of precedence, those of PostgreSQL.
const (
	precNone = iota
	precOr
	precAnd
	precNot
	precIs
	precCompare
	precLike
	precOp
	precAdd
	precMul
	precPow
	precAt
	precCollate
	precSign
	precPostfix
)

const maxOp = 4

var operators = [...]struct {
	spelt string
	op    ast.Operator
	prec  int
}{
	{"=", ast.Eq, precCompare},
	{"==", ast.Eq, precCompare},
	{"<>", ast.Ne, precCompare},
	{"!=", ast.Ne, precCompare},
	{"<", ast.Lt, precCompare},
	{"<=", ast.Le, precCompare},
	{">", ast.Gt, precCompare},
	{">=", ast.Ge, precCompare},
	{"<=>", "<=>", precIs},
	{"+", ast.Add, precAdd},
	{"-", ast.Sub, precAdd},
	{"*", ast.Mul, precMul},
	{"/", ast.Div, precMul},
	{"//", ast.IntDiv, precMul},
	{"%", ast.Mod, precMul},
	{"^", ast.Pow, precPow},
	{"**", ast.Pow, precPow},
	{"||", ast.Concat, precOp},
	{"&", ast.BitAnd, precOp},
	{"|", ast.BitOr, precOp},
	{"#", ast.BitXor, precOp},
	{"~", ast.RegexMatch, precOp},
	{"~*", ast.RegexIMatch, precOp},
	{"!~", ast.RegexNotMatch, precOp},
	{"!~*", ast.RegexNotIM, precOp},
	{"~~", ast.LikeOp, precOp},
	{"~~*", ast.ILikeOp, precOp},
	{"!~~", ast.NotLikeOp, precOp},
	{"!~~*", ast.NotILikeOp, precOp},
	{"<<", ast.ShiftLeft, precOp},
	{">>", ast.ShiftRight, precOp},
	{"->", ast.Arrow, precOp},
	{"->>", ast.LongArrow, precOp},
	{"#>", "#>", precOp},
	{"#>>", "#>>", precOp},
	{"@>", ast.Contains, precOp},
	{"<@", ast.ContainedBy, precOp},
	{"&&", ast.Overlaps, precOp},
	{"^@", ast.StartsWith, precOp},
}

var opcodes = func() map[string]opcode {
	m := make(map[string]opcode, len(operators))
	for i, o := range operators {
		m[o.spelt] = opcode(i)
	}
	return m
}()
