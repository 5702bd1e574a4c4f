package parse

import (
	"encoding/hex"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// atString tells whether a string comes next.
func (p *parser) atString() bool {
	if p.tok.isString() {
		return true
	}
	return p.at(tokString)
}

// stringLiteral reads a string, expected as what.
func (p *parser) stringLiteral(what string) *ast.Literal {
	if !p.atString() {
		p.unexpected(what)
		return nil
	}
	t := p.tok
	p.advance()
	return &ast.Literal{Span: ast.Span{Pos: t.pos()}, Kind: ast.StringLiteral, Value: p.stringValue(t)}
}

// number reads a number without a sign.
func (p *parser) number() *ast.Literal {
	t := p.tok
	l := &ast.Literal{Span: ast.Span{Pos: t.pos()}, Kind: ast.IntegerLiteral}
	l.Value = strings.ReplaceAll(p.lex.src[t.start:t.end], "_", "")
	switch t.kind {
	case tokDecimal:
		l.Kind = ast.DecimalLiteral
	case tokFloat:
		l.Kind = ast.FloatLiteral
	default:
		if len(l.Value) > 2 && l.Value[0] == '0' && class[l.Value[1]]&isDigit == 0 {
			if len(l.Value) > 300 {
				p.fail(sqlerr.New(sqlerr.OutOfRange, t.pos(), "this integer is too long").WithHint("write it in decimal digits"))
			} else if n, ok := new(big.Int).SetString(l.Value, 0); ok {
				l.Value = n.String()
			}
		}
	}
	p.advance()
	return l
}

// stringValue is the text of a string token.
func (p *parser) stringValue(t token) string {
	s := p.lex.src[t.start:t.end]
	if t.kind == tokDollar {
		tag := strings.IndexByte(s[1:], '$') + 2
		return s[tag : len(s)-tag]
	}
	at := t.start
	if s[0] != '\'' {
		s = s[1:]
		at++
	}
	s = s[1 : len(s)-1]
	at++
	if strings.IndexByte(s, '\'') < 0 && (t.kind != tokEscape || strings.IndexByte(s, '\\') < 0) {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' && s[i+1] == '\'':
			b = append(b, c)
			i += 2
		case c == '\'': // the string goes on after the next quote
			i += strings.IndexByte(s[i+1:], '\'') + 2
		case c == '\\' && t.kind == tokEscape:
			var n int
			b, n = unescape(b, s[i:])
			if n == 0 {
				p.fail(sqlerr.New(sqlerr.Syntax, sqlerr.Pos{Start: at + int32(i), End: at + int32(i) + 2}, "this escape is not valid in a string").
					WithHint(`\x takes one or two hexadecimal digits, \u four and \U eight that name a character; a backslash is written twice`))
				return ""
			}
			i += n
		default:
			b = append(b, c)
			i++
		}
	}
	if !utf8.Valid(b) {
		p.fail(sqlerr.New(sqlerr.InvalidUTF8, t.pos(), "the escapes of this string make bytes that are not valid UTF-8").
			WithHint("write X'…' for bytes"))
	}
	return string(b)
}

// unescape appends to b what the escape at the start of s stands for, and gives its length, 0 if it is not valid.
func unescape(b []byte, s string) ([]byte, int) {
	digits := func(from, most int, what uint8) (end int) {
		for end = from; end < min(len(s), from+most) && class[s[end]]&what != 0; end++ {
		}
		return end
	}
	number := func(from, to, base int) rune {
		n, err := strconv.ParseUint(s[from:to], base, 32)
		if err != nil || n > utf8.MaxRune {
			return -1
		}
		return rune(n)
	}
	if len(s) < 2 {
		return b, 0
	}
	switch c := s[1]; c {
	case 'n':
		return append(b, '\n'), 2
	case 't':
		return append(b, '\t'), 2
	case 'r':
		return append(b, '\r'), 2
	case 'b':
		return append(b, '\b'), 2
	case 'f':
		return append(b, '\f'), 2
	case 'x':
		end := digits(2, 2, isHex)
		n := number(2, end, 16)
		if n <= 0 {
			return b, 0
		}
		return append(b, byte(n)), end
	case 'u', 'U':
		width := 4
		if c == 'U' {
			width = 8
		}
		end := digits(2, width, isHex)
		n := number(2, end, 16)
		if end != 2+width || n <= 0 || !utf8.ValidRune(n) {
			return b, 0
		}
		return utf8.AppendRune(b, n), end
	case '0', '1', '2', '3', '4', '5', '6', '7':
		end := 2
		for end < min(len(s), 4) && '0' <= s[end] && s[end] <= '7' {
			end++
		}
		n := number(1, end, 8)
		if n <= 0 || n > 255 {
			return b, 0
		}
		return append(b, byte(n)), end
	default:
		return append(b, c), 2
	}
}

// binaryLiteral reads X'…'.
func (p *parser) binaryLiteral() *ast.Literal {
	t := p.tok
	t.kind = tokString
	b, err := hex.DecodeString(p.stringValue(t))
	if err != nil {
		p.fail(sqlerr.New(sqlerr.Syntax, t.pos(), "a binary string takes pairs of hexadecimal digits").WithHint("write X'00ff' for the bytes 0 and 255"))
		return nil
	}
	p.advance()
	return &ast.Literal{Span: ast.Span{Pos: t.pos()}, Kind: ast.BinaryLiteral, Value: string(b)}
}

// ident makes the name of a word or a quoted name.
func (p *parser) ident(t token) ast.Ident {
	s := p.lex.src[t.start:t.end]
	id := ast.Ident{Span: ast.Span{Pos: t.pos()}}
	if t.kind == tokQuoted {
		id.Name, id.Quoted = strings.ReplaceAll(s[1:len(s)-1], `""`, `"`), true
	} else {
		id.Name = fold(s)
	}
	return id
}

// fold makes ASCII letters small, and only them, as PostgreSQL does in UTF-8 databases.
func fold(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if 'A' <= b[i] && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
