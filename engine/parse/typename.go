package parse

import (
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
)

// typeName reads a type with all its dimensions.
func (p *parser) typeName() *ast.TypeName {
	outer := p.enter()
	start := p.tok.start
	t := p.baseType()
	if p.err == nil {
		for {
			if p.tok.kw == kwArray {
				p.advance()
				if p.tok.kind != '[' {
					t.Dims = append(t.Dims, -1)
					break
				}
			}
			if p.tok.kind != '[' {
				break
			}
			p.advance()
			n := -1
			if p.tok.kind == tokInteger {
				n = p.smallInt()
			}
			p.expect(']')
			t.Dims = append(t.Dims, n)
		}
		t.Span = p.span(start)
	}
	p.leave(outer)
	return t
}

// baseType reads a type without dimensions. It is never nil.
func (p *parser) baseType() *ast.TypeName {
	start := p.tok.start
	t := &ast.TypeName{}
	first := p.tok
	if !canName(first) && (first.kind != tokIdent || first.kw.class() != typeFunc && first.kw != kwArray) {
		p.unexpected("a type")
		return t
	}
	p.advance()
	t.Name, t.Quoted = p.ident(first).Name, first.kind == tokQuoted
	if !t.Quoted && t.Name == "pg_catalog" && p.tok.kind == '.' {
		p.advance()
		first = p.tok
		l := p.label()
		t.Name, t.Quoted = l.Name, l.Quoted
	} else if p.tok.kind == '.' {
		p.unsupported(p.tok, "a type in a schema", "all types are built in")
	}
	switch first.kw {
	case kwDouble:
		if p.acceptWord(kwPrecision) {
			t.Name = "double precision"
		}
	case kwNational:
		if p.tok.kw == kwCharacter || p.tok.kw == kwChar {
			p.advance()
			t.Name = "character"
			p.varying(t)
		}
	case kwCharacter, kwChar, kwNchar, kwBit:
		p.varying(t)
	case kwStruct, kwRow:
		p.structType(t)
	case kwArray, kwMap:
		p.nestedType(t)
	case kwInterval:
		from, to, precision := p.intervalUnit()
		if t.Unit = from; to != "" {
			t.Unit += " to " + to
		}
		if precision >= 0 {
			t.Mods = append(t.Mods, &ast.Literal{Span: ast.Span{Pos: p.prev.pos()}, Kind: ast.IntegerLiteral, Value: strconv.Itoa(precision)})
		}
	default:
		if t.Name == "list" || t.Name == "large_list" {
			p.nestedType(t)
		}
	}
	if p.tok.kind == '(' && t.Unit == "" {
		p.typeMods(t)
	}
	switch first.kw {
	case kwTime, kwTimestamp:
		switch {
		case p.acceptWords(kwWith, kwTime, kwZone):
			t.Name += " with time zone"
		case p.acceptWords(kwWithout, kwTime, kwZone):
		}
	default:
		if p.tok.kw == kwUnsigned && strings.HasSuffix(t.Name, "int") || p.tok.kw == kwUnsigned && t.Name == "integer" {
			p.advance()
			t.Name += " unsigned"
		}
	}
	t.Span = p.span(start)
	return t
}

func (p *parser) varying(t *ast.TypeName) {
	if p.acceptWord(kwVarying) {
		t.Name += " varying"
	}
}

// typeMods reads the modifiers of a type in parentheses: numbers, strings or words.
func (p *parser) typeMods(t *ast.TypeName) {
	p.expect('(')
	for {
		start := p.tok
		neg := p.acceptOp(ast.Sub)
		var m *ast.Literal
		switch {
		case p.tok.kind == tokInteger:
			m = p.number()
			if neg {
				m.Value = "-" + m.Value
				m.Pos.Start = start.start
			}
		case p.tok.isString() && !neg:
			m = p.stringLiteral("a string")
		case canName(p.tok) && !neg:
			id := p.label()
			m = &ast.Literal{Span: id.Span, Kind: ast.StringLiteral, Value: id.Name}
		default:
			p.unexpected("a number")
		}
		t.Mods = append(t.Mods, m)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
}

// structType reads the fields of STRUCT(a int, b text) or STRUCT<a: int>, if there are any.
func (p *parser) structType(t *ast.TypeName) {
	end := p.openType()
	if end == 0 {
		return
	}
	for {
		start := p.tok.start
		f := ast.TypeField{Name: p.labelAs("the name of a field")}
		p.accept(':')
		f.Type = p.typeName()
		f.Span = p.span(start)
		t.Fields = append(t.Fields, f)
		if !p.accept(',') {
			break
		}
	}
	p.closeType(end)
}

// nestedType reads the arguments of MAP(k, v), LIST<t> or ARRAY<t>, if there are any.
func (p *parser) nestedType(t *ast.TypeName) {
	end := p.openType()
	if end == 0 {
		return
	}
	for {
		e := p.typeName()
		t.Fields = append(t.Fields, ast.TypeField{Span: e.Span, Type: e})
		if !p.accept(',') {
			break
		}
	}
	p.closeType(end)
}

// openType takes the ( or < before the arguments of a type, and gives what will close it, 0 if there is neither.
func (p *parser) openType() byte {
	switch {
	case p.accept('('):
		return ')'
	case p.acceptOp(ast.Lt):
		return '>'
	}
	return 0
}

func (p *parser) closeType(end byte) {
	if end == ')' {
		p.expect(')')
		return
	}
	switch {
	case p.acceptOp(ast.Gt):
	case p.atOp(ast.ShiftRight): // the ends of two types: one stays
		p.prev = p.tok
		p.prev.end--
		p.tok.start++
		p.tok.op = opcodes[">"]
	default:
		p.unexpected(">")
	}
}

// A Signature is a function's parameters and result.
type Signature struct {
	Params   []*ast.TypeName
	Variadic bool // the last parameter may be repeated
	Result   *ast.TypeName
}

// ParseSignature parses a function's signature: (BIGINT, VARIADIC VARCHAR) RETURNS DOUBLE PRECISION. Errors are those of Parse.
func ParseSignature(text string) (*Signature, error) {
	s := &Signature{}
	err := piece(text, func(p *parser) {
		p.expect('(')
		for !p.accept(')') {
			s.Variadic = p.acceptWord(kwVariadic)
			s.Params = append(s.Params, p.typeName())
			if s.Variadic || !p.accept(',') {
				p.expect(')')
				break
			}
		}
		if p.tok.kind != tokIdent || !strings.EqualFold(p.lex.src[p.tok.start:p.tok.end], "returns") {
			p.unexpected("RETURNS")
		}
		p.advance()
		s.Result = p.typeName()
	})
	return s, err
}

// ParseType parses the name of a type. Errors are those of Parse.
func ParseType(text string) (t *ast.TypeName, err error) {
	err = piece(text, func(p *parser) { t = p.typeName() })
	return t, err
}

// piece parses a text that is no statement.
func piece(text string, read func(*parser)) error {
	if err := Check(text); err != nil {
		return err
	}
	p := parser{lex: lexer{src: text}}
	p.tok = p.lex.next()
	read(&p)
	if p.err == nil && p.tok.kind != tokEnd {
		p.unexpected("")
	}
	if p.err != nil {
		return p.err
	}
	return nil
}
