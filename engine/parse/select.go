package parse

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// selectBody reads a SELECT, or a FROM with or without a SELECT after it.
func (p *parser) selectBody() ast.QueryBody {
	start := p.tok.start
	s := &ast.Select{}
	if p.acceptWord(kwFrom) {
		s.From = p.from()
		if p.acceptWord(kwSelect) {
			p.selectList(s)
		} else {
			s.Items = []ast.SelectItem{&ast.Star{Span: ast.Span{Pos: sqlerr.Pos{Start: start, End: start + int32(len("FROM"))}}}}
		}
	} else {
		p.expectWord(kwSelect)
		p.selectList(s)
		if p.tok.kw == kwInto {
			p.unsupported(p.tok, "SELECT INTO", "write CREATE TABLE name AS SELECT …")
		}
		if p.acceptWord(kwFrom) {
			s.From = p.from()
		}
	}
	if p.acceptWord(kwWhere) {
		s.Where = p.expr()
	}
	if p.atWord(kwGroup) {
		s.GroupBy = p.groupBy()
	}
	if p.acceptWord(kwHaving) {
		s.Having = p.expr()
	}
	for p.err == nil {
		switch {
		case s.Windows == nil && p.acceptWord(kwWindow):
			s.Windows = p.namedWindows()
		case s.Qualify == nil && p.acceptWord(kwQualify):
			s.Qualify = p.expr()
		default:
			s.Span = p.span(start)
			return s
		}
	}
	return s
}

// selectList reads DISTINCT and the items of a SELECT.
func (p *parser) selectList(s *ast.Select) {
	if p.atWord(kwDistinct) {
		start := p.tok.start
		p.advance()
		s.Distinct = &ast.Distinct{}
		if p.acceptWord(kwOn) {
			p.expect('(')
			s.Distinct.On = p.exprs()
			p.expect(')')
		}
		s.Distinct.Span = p.span(start)
	} else {
		p.acceptWord(kwAll)
	}
	for {
		s.Items = append(s.Items, p.selectItem())
		if !p.accept(',') || p.tok.kw == kwFrom { // a comma too many is forgiven, as in DuckDB
			return
		}
	}
}

func (p *parser) selectItem() ast.SelectItem {
	start := p.tok.start
	if p.acceptOp(ast.Mul) {
		return p.star(start, nil)
	}
	e := p.expr()
	if c, ok := e.(*ast.ColumnRef); ok && p.tok.kind == '.' && p.peek(1).kind == tokOp && c.Pos.Start == start {
		p.advance()
		if p.acceptOp(ast.Mul) {
			return p.star(start, c.Parts)
		}
		p.unexpected("a column or *")
	}
	return p.aliased(start, e)
}

// aliased reads the alias of an expression, if it has one.
func (p *parser) aliased(start int32, e ast.Expr) *ast.SelectExpr {
	s := &ast.SelectExpr{Expr: e}
	switch t := p.tok; {
	case p.acceptWord(kwAs):
		n := p.labelAs("an alias")
		s.Alias = &n
	case t.kind == tokQuoted, t.kind == tokIdent && t.kw.class() == free:
		p.advance()
		p.bare = t
		n := p.ident(t)
		s.Alias = &n
	}
	s.Span = p.span(start)
	return s
}

// star reads what can follow a *: columns that are left out, replaced or renamed.
func (p *parser) star(start int32, qualifier []ast.Ident) *ast.Star {
	s := &ast.Star{Qualifier: qualifier}
	if p.tok.kw == kwExclude || p.tok.kw == kwExcept && p.peek(1).kind == '(' && p.peek(2).kw != kwSelect && p.peek(2).kw != kwWith {
		p.advance()
		if p.at('(') {
			s.Exclude = p.identifiers("a column")
		} else {
			s.Exclude = []ast.Ident{p.identifier("a column")}
		}
	}
	if p.tok.kw == kwReplace && p.peek(1).kind == '(' {
		p.advance()
		p.advance()
		for {
			at := p.tok.start
			e := p.expr()
			p.expectWord(kwAs)
			n := p.labelAs("a column")
			s.Replace = append(s.Replace, &ast.SelectExpr{Span: p.span(at), Expr: e, Alias: &n})
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	if p.tok.kw == kwRename && p.peek(1).kind == '(' {
		p.advance()
		p.advance()
		for {
			at := p.tok.start
			from := p.identifier("a column")
			p.expectWord(kwAs)
			to := p.labelAs("a column")
			s.Rename = append(s.Rename, ast.StarRename{Span: p.span(at), From: from, To: to})
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) groupBy() *ast.GroupBy {
	start := p.tok.start
	p.expectWord(kwGroup)
	p.expectWord(kwBy)
	g := &ast.GroupBy{}
	if p.acceptWord(kwAll) {
		// PostgreSQL has ALL as the opposite of DISTINCT before the items.
		if t := p.tok; !canName(t) && t.kind != '(' && t.kind != tokInteger {
			g.All = true
			g.Span = p.span(start)
			return g
		}
	} else {
		g.Distinct = p.acceptWord(kwDistinct)
	}
	g.Sets = p.groupings(true)
	g.Span = p.span(start)
	return g
}

// groupings reads the items of GROUP BY, or of what stands in its parentheses; nested says whether ROLLUP and the like are allowed.
func (p *parser) groupings(nested bool) []*ast.Grouping {
	var list []*ast.Grouping
	for {
		list = append(list, p.grouping(nested))
		if !p.accept(',') {
			return list
		}
	}
}

func (p *parser) grouping(nested bool) *ast.Grouping {
	outer := p.enter()
	defer p.leave(outer)
	start := p.tok.start
	g := &ast.Grouping{}
	switch {
	case nested && p.tok.kw == kwRollup && p.peek(1).kind == '(':
		g.Kind = ast.Rollup
		p.advance()
	case nested && p.tok.kw == kwCube && p.peek(1).kind == '(':
		g.Kind = ast.Cube
		p.advance()
	case nested && p.atWords(kwGrouping, kwSets):
		g.Kind = ast.GroupingSets
		p.advance()
		p.advance()
	case p.tok.kind == '(' && p.peek(1).kind == ')':
		p.advance()
		p.advance()
	default:
		e := p.expr()
		if row, ok := e.(*ast.Row); ok && !row.Explicit {
			g.Exprs = row.Items
		} else {
			g.Exprs = []ast.Expr{e}
		}
	}
	if g.Kind != ast.GroupingSet {
		p.expect('(')
		g.Sets = p.groupings(g.Kind == ast.GroupingSets)
		p.expect(')')
	}
	g.Span = p.span(start)
	return g
}

func (p *parser) namedWindows() []*ast.NamedWindow {
	var list []*ast.NamedWindow
	for {
		start := p.tok.start
		w := &ast.NamedWindow{Name: p.identifier("a name for the window")}
		p.expectWord(kwAs)
		w.Spec = p.windowSpec()
		w.Span = p.span(start)
		list = append(list, w)
		if !p.accept(',') {
			return list
		}
	}
}
