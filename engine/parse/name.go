package parse

import "github.com/fletchdb/fletch/engine/ast"

// canName tells whether t can be a name that stands on its own: of a column, a table, a setting.
func canName(t token) bool {
	return t.kind == tokQuoted || t.kind == tokIdent && t.kw.class() <= needsAs
}

// identifier reads a name, expected as what.
func (p *parser) identifier(what string) ast.Ident {
	if !canName(p.tok) {
		p.unexpected(what)
		return ast.Ident{}
	}
	t := p.tok
	p.advance()
	return p.ident(t)
}

// label reads a name in a place where no keyword can stand: after a dot or AS.
func (p *parser) label() ast.Ident { return p.labelAs("a name") }

func (p *parser) labelAs(what string) ast.Ident {
	if p.tok.kind != tokIdent && p.tok.kind != tokQuoted {
		p.unexpected(what)
		return ast.Ident{}
	}
	t := p.tok
	p.advance()
	return p.ident(t)
}

// objectName reads a possibly qualified name, expected as what.
func (p *parser) objectName(what string) ast.ObjectName {
	start := p.tok.start
	return p.qualified(start, p.identifier(what))
}

// qualified reads the rest of a name that starts with first.
func (p *parser) qualified(start int32, first ast.Ident) ast.ObjectName {
	n := ast.ObjectName{Parts: []ast.Ident{first}}
	for p.tok.kind == '.' && (p.peek(1).kind == tokIdent || p.peek(1).kind == tokQuoted) {
		p.advance()
		n.Parts = append(n.Parts, p.label())
		p.chain()
	}
	n.Span = p.span(start)
	return n
}

// identifiers reads names in parentheses, at least one.
func (p *parser) identifiers(what string) []ast.Ident {
	p.expect('(')
	list := []ast.Ident{p.identifier(what)}
	for p.accept(',') {
		list = append(list, p.identifier(what))
	}
	p.expect(')')
	return list
}
