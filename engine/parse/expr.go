package parse

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// expr reads an expression of any form.
func (p *parser) expr() ast.Expr { return p.exprAbove(precOr) }

// exprAbove reads an expression whose operators bind at least as tightly as prec.
func (p *parser) exprAbove(prec int) ast.Expr {
	outer := p.enter()
	start := p.tok.start
	e := p.infix(p.prefix(), start, prec)
	p.leave(outer)
	return e
}

// exprs reads expressions separated by commas, at least one.
func (p *parser) exprs() []ast.Expr {
	list := []ast.Expr{p.expr()}
	for p.accept(',') {
		list = append(list, p.expr())
	}
	return list
}

// prefix reads an operand with the operators before it.
func (p *parser) prefix() ast.Expr {
	start := p.tok.start
	switch {
	case p.tok.kw == kwNot:
		p.advance()
		e := p.exprAbove(precNot)
		return &ast.Not{Span: p.span(start), Expr: e}
	case p.tok.kind == tokOp:
		prec := precSign
		switch op := p.tok.op.text(); op {
		case ast.BitNot:
			prec = precOp
			fallthrough
		case ast.Add, ast.Sub:
			p.advance()
			e := p.exprAbove(prec)
			return &ast.Unary{Span: p.span(start), Op: op, Expr: e}
		}
	}
	return p.primary()
}

// infix goes on after an operand that starts at start, as long as what follows binds at least as tightly as min.
func (p *parser) infix(left ast.Expr, start int32, min int) ast.Expr {
	for p.err == nil {
		prec := p.infixPrec()
		if prec < min || prec == precNone {
			if p.trace {
				p.wantInfix(min)
			}
			break
		}
		p.chain()
		left = p.infixOne(left, start, prec)
	}
	return left
}

// infixPrec is how tightly the next token binds what stands before it, precNone where it is no operator.
func (p *parser) infixPrec() int {
	switch p.tok.kind {
	case tokOp:
		return operators[p.tok.op].prec
	case tokCast, '[':
		return precPostfix
	case '.':
		if next := p.peek(1); next.kind == tokIdent || next.kind == tokQuoted {
			return precPostfix
		}
		return precNone
	case tokIdent:
	default:
		return precNone
	}
	switch p.tok.kw {
	case kwOr:
		return precOr
	case kwAnd:
		return precAnd
	case kwIs, kwIsnull, kwNotnull:
		return precIs
	case kwIn, kwBetween, kwLike, kwIlike, kwSimilar:
		return precLike
	case kwNot:
		switch p.peek(1).kw {
		case kwIn, kwBetween, kwLike, kwIlike, kwSimilar:
			return precLike
		}
	case kwAt:
		if next := p.peek(1).kw; next == kwTime || next == kwLocal {
			return precAt
		}
	case kwCollate:
		return precCollate
	}
	return precNone
}

// wantInfix notes the operators that are words, for messages.
func (p *parser) wantInfix(min int) {
	for _, w := range []struct {
		kw   keyword
		prec int
	}{{kwOr, precOr}, {kwAnd, precAnd}, {kwIs, precIs}, {kwIn, precLike}, {kwNot, precLike}, {kwBetween, precLike}, {kwLike, precLike}, {kwIlike, precLike}, {kwCollate, precCollate}} {
		if w.prec >= min {
			p.want = append(p.want, w.kw.String())
		}
	}
}

// infixOne reads one operator of precedence prec with its right side. Operators of a level group to the left, so that the right
// side binds more tightly.
func (p *parser) infixOne(left ast.Expr, start int32, prec int) ast.Expr {
	switch p.tok.kind {
	case tokOp:
		return p.binary(left, start, prec)
	case tokCast:
		p.advance()
		t := p.typeName()
		return &ast.Cast{Span: p.span(start), Expr: left, Type: t}
	case '[':
		return p.subscript(left, start)
	case '.':
		p.advance()
		f := p.label()
		return &ast.FieldAccess{Span: p.span(start), Expr: left, Field: f}
	}
	op := p.tok
	switch op.kw {
	case kwOr:
		args := p.operands(left, kwOr, precOr+1)
		return &ast.Or{Span: p.span(start), Args: args}
	case kwAnd:
		args := p.operands(left, kwAnd, precAnd+1)
		return &ast.And{Span: p.span(start), Args: args}
	case kwIs:
		return p.is(left, start)
	case kwIsnull, kwNotnull:
		p.advance()
		return &ast.Is{Span: p.span(start), Expr: left, Test: ast.IsNull, Not: op.kw == kwNotnull}
	case kwAt:
		return p.atTimeZone(left, start)
	case kwCollate:
		p.advance()
		n := p.objectName("a collation")
		return &ast.Collate{Span: p.span(start), Expr: left, Collation: n}
	}
	not := p.acceptWord(kwNot)
	switch op = p.tok; op.kw {
	case kwIn:
		return p.in(left, start, not)
	case kwBetween:
		return p.between(left, start, not)
	default:
		return p.like(left, start, not)
	}
}

// operands reads the rest of a chain of ANDs or ORs.
func (p *parser) operands(left ast.Expr, kw keyword, prec int) []ast.Expr {
	args := make([]ast.Expr, 1, 4)
	args[0] = left
	for p.acceptWord(kw) {
		args = append(args, p.exprAbove(prec))
	}
	return args
}

func (p *parser) binary(left ast.Expr, start int32, prec int) ast.Expr {
	op := p.tok
	p.advance()
	if kw := p.tok.kw; (kw == kwAny || kw == kwSome || kw == kwAll) && p.peek(1).kind == '(' {
		return p.quantified(left, start, op.op.text())
	}
	right := p.exprAbove(prec + 1)
	if prec == precCompare && p.tok.kind == tokOp && operators[p.tok.op].prec == precCompare {
		p.fail(sqlerr.Newf(sqlerr.Syntax, p.tok.pos(), "unexpected %s: comparisons do not chain", p.describe(p.tok)).
			WithHint("write a < b AND b < c, or put one of them in parentheses"))
	}
	if op.op.text() == "<=>" {
		return &ast.IsDistinct{Span: p.span(start), Left: left, Right: right, Not: true}
	}
	return &ast.Binary{Span: p.span(start), Op: op.op.text(), OpPos: op.pos(), Left: left, Right: right}
}

// quantified reads ANY (…) or ALL (…) after an operator.
func (p *parser) quantified(left ast.Expr, start int32, op ast.Operator) ast.Expr {
	q := &ast.Quantified{Left: left, Op: op, All: p.tok.kw == kwAll}
	p.advance()
	p.advance()
	open := p.prev
	query, items := p.parenthesised()
	p.expect(')')
	switch {
	case query != nil:
		q.Query = query
	case len(items) == 1:
		q.Array = items[0]
	default:
		p.fail(sqlerr.New(sqlerr.Syntax, open.pos(), "ANY and ALL take one array or a query").WithHint("write = ANY (ARRAY[a, b]), or IN (a, b)"))
	}
	q.Span = p.span(start)
	return q
}

func (p *parser) is(left ast.Expr, start int32) ast.Expr {
	p.advance()
	not := p.acceptWord(kwNot)
	var test ast.Truth
	switch {
	case p.acceptWord(kwNull):
		test = ast.IsNull
	case p.acceptWord(kwTrue):
		test = ast.IsTrue
	case p.acceptWord(kwFalse):
		test = ast.IsFalse
	case p.acceptWord(kwUnknown):
		test = ast.IsUnknown
	case p.acceptWord(kwDistinct):
		p.expectWord(kwFrom)
		right := p.exprAbove(precIs + 1)
		return &ast.IsDistinct{Span: p.span(start), Left: left, Right: right, Not: not}
	default:
		p.unexpected("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
	}
	return &ast.Is{Span: p.span(start), Expr: left, Test: test, Not: not}
}

func (p *parser) in(left ast.Expr, start int32, not bool) ast.Expr {
	p.advance()
	p.expect('(')
	if p.accept(')') {
		return &ast.InList{Span: p.span(start), Expr: left, Not: not}
	}
	query, items := p.parenthesised()
	p.expect(')')
	if query != nil {
		return &ast.InSubquery{Span: p.span(start), Expr: left, Query: query, Not: not}
	}
	return &ast.InList{Span: p.span(start), Expr: left, List: items, Not: not}
}

func (p *parser) between(left ast.Expr, start int32, not bool) ast.Expr {
	p.advance()
	symmetric := p.acceptWord(kwSymmetric)
	if !symmetric {
		p.acceptWord(kwAsymmetric)
	}
	low := p.exprAbove(precLike + 1)
	p.expectWord(kwAnd)
	high := p.exprAbove(precLike + 1)
	return &ast.Between{Span: p.span(start), Expr: left, Low: low, High: high, Not: not, Symmetric: symmetric}
}

func (p *parser) like(left ast.Expr, start int32, not bool) ast.Expr {
	kind, op := ast.LikePattern, ast.LikeOp
	switch {
	case p.acceptWord(kwIlike):
		kind, op = ast.ILikePattern, ast.ILikeOp
	case p.acceptWord(kwSimilar):
		kind, op = ast.SimilarPattern, ""
		p.expectWord(kwTo)
	default:
		p.expectWord(kwLike)
	}
	if kw := p.tok.kw; op != "" && (kw == kwAny || kw == kwSome || kw == kwAll) && p.peek(1).kind == '(' {
		if not {
			op = "!" + op
		}
		return p.quantified(left, start, op)
	}
	l := &ast.Like{Kind: kind, Expr: left, Not: not}
	l.Pattern = p.exprAbove(precLike + 1)
	if p.acceptWord(kwEscape) {
		l.Escape = p.exprAbove(precLike + 1)
	}
	l.Span = p.span(start)
	return l
}

func (p *parser) atTimeZone(left ast.Expr, start int32) ast.Expr {
	at := p.tok
	p.advance()
	args := []ast.Expr{left}
	if !p.acceptWord(kwLocal) {
		p.expectWord(kwTime)
		p.expectWord(kwZone)
		args = []ast.Expr{p.exprAbove(precAt + 1), left}
	}
	at.end = p.prev.end
	return p.call(start, at, "timezone", args...)
}

// subscript reads [i] or [low:high:step].
func (p *parser) subscript(left ast.Expr, start int32) ast.Expr {
	p.advance()
	bound := func() ast.Expr {
		if p.tok.kind == ':' || p.tok.kind == ']' {
			return nil
		}
		return p.expr()
	}
	if p.tok.kind == ']' {
		p.unexpected("an expression")
	}
	low := bound()
	if !p.accept(':') {
		p.expect(']')
		return &ast.Index{Span: p.span(start), Expr: left, Index: low}
	}
	s := &ast.Slice{Expr: left, Low: low, High: bound()}
	if p.accept(':') {
		s.Step = bound()
	}
	p.expect(']')
	s.Span = p.span(start)
	return s
}

// parenthesised reads what stands between parentheses where both a query and expressions may: the query, or the expressions
// separated by commas. It starts after the opening one and stops before the closing one.
func (p *parser) parenthesised() (*ast.Query, []ast.Expr) {
	if p.atQuery() {
		return p.query(), nil
	}
	var items []ast.Expr
	if p.tok.kind == '(' {
		outer := p.enter()
		start := p.tok.start
		query, e := p.paren()
		if query != nil {
			more := p.moreQuery(query, start)
			if more != query || p.tok.kind == ')' || p.err != nil {
				p.leave(outer)
				return more, nil
			}
			e = &ast.ScalarSubquery{Span: p.span(start), Query: query}
		}
		items = append(items, p.infix(e, start, precOr))
		p.leave(outer)
	} else {
		items = append(items, p.expr())
	}
	for p.accept(',') {
		items = append(items, p.expr())
	}
	return nil, items
}

// paren reads parentheses with what is in them: a query, or an expression, which is a row where there are several.
func (p *parser) paren() (*ast.Query, ast.Expr) {
	start := p.tok.start
	p.expect('(')
	query, items := p.parenthesised()
	p.expect(')')
	switch {
	case query != nil:
		return query, nil
	case len(items) == 1:
		return nil, items[0]
	default:
		return nil, &ast.Row{Span: p.span(start), Items: items}
	}
}

// primary reads an operand without operators.
func (p *parser) primary() ast.Expr {
	t := p.tok
	start := t.start
	switch t.kind {
	case tokInteger, tokDecimal, tokFloat:
		return p.number()
	case tokString, tokEscape, tokDollar:
		return p.stringLiteral("a string")
	case tokBinary:
		return p.binaryLiteral()
	case tokParam:
		return p.param()
	case tokQuestion:
		p.advance()
		p.params++
		return &ast.Param{Span: p.span(start), Number: p.params}
	case '(':
		query, e := p.paren()
		if query != nil {
			return &ast.ScalarSubquery{Span: p.span(start), Query: query}
		}
		return e
	case '[':
		p.advance()
		return p.array(start)
	case '{':
		return p.structLiteral()
	case tokQuoted:
		return p.name()
	case tokIdent:
		return p.word()
	}
	p.unexpected("an expression")
	return nil
}

func (p *parser) param() ast.Expr {
	t := p.tok
	text := p.lex.src[t.start+1 : t.end]
	par := &ast.Param{Span: ast.Span{Pos: t.pos()}}
	if class[text[0]]&isDigit == 0 {
		par.Name = fold(text)
	} else {
		for i := range len(text) {
			if par.Number = par.Number*10 + int(text[i]-'0'); par.Number > maxParams {
				break
			}
		}
		if par.Number < 1 || par.Number > maxParams {
			p.fail(sqlerr.Newf(sqlerr.Syntax, t.pos(), "no such parameter: %s", quote(p.lex.src[t.start:t.end])).WithHint("parameters are numbered from $1 to $%d", maxParams))
		}
	}
	p.advance()
	return par
}

// maxParams is PostgreSQL's limit.
const maxParams = 65535

// array reads the elements and the closing bracket of a list.
func (p *parser) array(start int32) ast.Expr {
	a := &ast.Array{}
	if !p.accept(']') {
		a.Items = p.exprs()
		p.expect(']')
	}
	a.Span = p.span(start)
	return a
}

func (p *parser) structLiteral() ast.Expr {
	start := p.tok.start
	p.advance()
	s := &ast.Struct{}
	if !p.accept('}') {
		for {
			s.Fields = append(s.Fields, p.structField())
			if !p.accept(',') {
				break
			}
		}
		p.expect('}')
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) structField() ast.StructField {
	t := p.tok
	var f ast.StructField
	if t.isString() {
		f.Name = ast.Ident{Span: ast.Span{Pos: t.pos()}, Name: p.stringValue(t), Quoted: true}
		if f.Name.Name == "" {
			p.unexpected("the name of a field")
		}
		p.advance()
	} else {
		f.Name = p.labelAs("the name of a field")
	}
	p.expect(':')
	f.Value = p.expr()
	f.Span = p.span(t.start)
	return f
}

// mapLiteral reads {key: value, …} after MAP.
func (p *parser) mapLiteral(start int32) ast.Expr {
	p.expect('{')
	m := &ast.Map{}
	if !p.accept('}') {
		for {
			m.Keys = append(m.Keys, p.expr())
			p.expect(':')
			m.Values = append(m.Values, p.expr())
			if !p.accept(',') {
				break
			}
		}
		p.expect('}')
	}
	m.Span = p.span(start)
	return m
}

func (p *parser) caseExpr() ast.Expr {
	start := p.tok.start
	p.advance()
	c := &ast.Case{}
	if !p.atWord(kwWhen) {
		c.Operand = p.expr()
	}
	for p.atWord(kwWhen) {
		w := &ast.When{}
		at := p.tok.start
		p.advance()
		w.Cond = p.expr()
		p.expectWord(kwThen)
		w.Result = p.expr()
		w.Span = p.span(at)
		c.Whens = append(c.Whens, w)
	}
	if c.Whens == nil {
		p.unexpected("WHEN")
	}
	if p.acceptWord(kwElse) {
		c.Else = p.expr()
	}
	p.expectWord(kwEnd)
	c.Span = p.span(start)
	return c
}

// cast reads CAST(x AS t) or TRY_CAST(x AS t).
func (p *parser) cast(try bool) ast.Expr {
	start := p.tok.start
	p.advance()
	p.expect('(')
	c := &ast.Cast{Try: try}
	c.Expr = p.expr()
	p.expectWord(kwAs)
	c.Type = p.typeName()
	p.expect(')')
	c.Span = p.span(start)
	return c
}
