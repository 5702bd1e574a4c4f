package parse

import "github.com/fletchdb/fletch/engine/ast"

// from reads the items after FROM.
func (p *parser) from() []ast.TableRef {
	var list []ast.TableRef
	for {
		list = append(list, p.tableRef())
		if !p.accept(',') {
			return list
		}
	}
}

// tableRef reads an item of FROM with all its joins.
func (p *parser) tableRef() ast.TableRef {
	outer := p.enter()
	defer p.leave(outer)
	start := p.tok.start
	return p.joins(p.tableTerm(), start)
}

// joins goes on after a table reference that starts at start.
func (p *parser) joins(left ast.TableRef, start int32) ast.TableRef {
	for p.atJoin() {
		left = p.join(left, start)
	}
	return left
}

func (p *parser) atJoin() bool {
	switch p.tok.kw {
	case kwJoin, kwInner, kwLeft, kwRight, kwFull, kwCross, kwNatural:
		return true
	case kwSemi, kwAnti, kwAsof, kwPositional:
		return p.peek(1).kw == kwJoin
	}
	if p.trace {
		for _, k := range []keyword{kwJoin, kwInner, kwLeft, kwRight, kwFull, kwCross, kwNatural} {
			p.want = append(p.want, k.String())
		}
	}
	return false
}

// join reads one join with its right side and its condition.
func (p *parser) join(left ast.TableRef, start int32) ast.TableRef {
	p.chain()
	j := &ast.Join{Left: left, Natural: p.acceptWord(kwNatural)}
	j.Kind = p.joinKind()
	p.expectWord(kwJoin)
	outer := p.enter()
	at := p.tok.start
	j.Right = p.tableTerm()
	if !j.Natural && j.Kind != ast.CrossJoin {
		// In a JOIN b JOIN c ON … ON … the conditions close the joins from the inside out.
		for p.tok.kw != kwOn && p.tok.kw != kwUsing && p.atJoin() {
			j.Right = p.join(j.Right, at)
		}
		switch {
		case p.acceptWord(kwOn):
			j.On = p.expr()
		case p.acceptWord(kwUsing):
			j.Using = p.identifiers("a column")
		default:
			p.unexpected("ON or USING")
		}
	}
	p.leave(outer)
	j.Span = p.span(start)
	return j
}

func (p *parser) joinKind() ast.JoinKind {
	switch t := p.tok; {
	case p.acceptWord(kwInner):
		return ast.InnerJoin
	case p.acceptWord(kwCross):
		return ast.CrossJoin
	case p.acceptWord(kwSemi):
		return ast.LeftSemiJoin
	case p.acceptWord(kwAnti):
		return ast.LeftAntiJoin
	case p.acceptWord(kwLeft):
		switch {
		case p.acceptWord(kwSemi):
			return ast.LeftSemiJoin
		case p.acceptWord(kwAnti):
			return ast.LeftAntiJoin
		}
		p.acceptWord(kwOuter)
		return ast.LeftJoin
	case p.acceptWord(kwRight):
		switch {
		case p.acceptWord(kwSemi):
			return ast.RightSemiJoin
		case p.acceptWord(kwAnti):
			return ast.RightAntiJoin
		}
		p.acceptWord(kwOuter)
		return ast.RightJoin
	case p.acceptWord(kwFull):
		p.acceptWord(kwOuter)
		return ast.FullJoin
	case t.kw == kwAsof, t.kw == kwPositional:
		p.unsupported(t, t.kw.String()+" JOIN", "")
	}
	return ast.InnerJoin
}

// tableTerm reads an item of FROM without joins, unless they are in parentheses.
func (p *parser) tableTerm() ast.TableRef {
	start := p.tok.start
	lateral := p.acceptWord(kwLateral)
	switch {
	case p.tok.kind == '(':
		query, ref := p.parenTable()
		switch {
		case query != nil:
			d := &ast.DerivedTable{Lateral: lateral, Query: query, Alias: p.tableAlias()}
			d.Span = p.span(start)
			return p.sampled(d)
		case lateral:
			p.unexpected("a query or a function after LATERAL")
		}
		p.aliasOf(ref, start)
		return ref
	case p.tok.kw == kwValues && p.peek(1).kind == '(':
		q := &ast.Query{Body: p.values()}
		q.Span = p.span(start)
		d := &ast.DerivedTable{Lateral: lateral, Query: q, Alias: p.tableAlias()}
		d.Span = p.span(start)
		return d
	case p.tok.isString() && !lateral:
		l := p.stringLiteral("a file")
		f := &ast.FileTable{Path: l.Value, Alias: p.tableAlias()}
		f.Span = p.span(start)
		return p.sampled(f)
	}
	n := p.objectName("a table")
	if p.tok.kind == '(' {
		return p.tableFunction(start, lateral, n)
	}
	if lateral {
		p.unexpected("a query or a function after LATERAL")
	}
	t := &ast.Table{Name: n, Alias: p.tableAlias()}
	t.Span = p.span(start)
	return p.sampled(t)
}

func (p *parser) sampled(t ast.TableRef) ast.TableRef {
	if p.tok.kw == kwTablesample {
		p.unsupported(p.tok, "TABLESAMPLE", "write WHERE random() < 0.1 for about a tenth of the rows")
	}
	return t
}

func (p *parser) tableFunction(start int32, lateral bool, name ast.ObjectName) ast.TableRef {
	f := &ast.TableFunction{Lateral: lateral, Call: p.callArgs(name)}
	f.Ordinality = p.acceptWords(kwWith, kwOrdinality)
	f.Alias = p.tableAlias()
	f.Span = p.span(start)
	return p.sampled(f)
}

// parenTable reads parentheses in FROM: around a query, or around a table reference.
func (p *parser) parenTable() (*ast.Query, ast.TableRef) {
	outer := p.enter()
	defer p.leave(outer)
	p.expect('(')
	if p.atQuery() {
		q := p.query()
		p.expect(')')
		return q, nil
	}
	start := p.tok.start
	var ref ast.TableRef
	if p.tok.kind == '(' {
		query, inner := p.parenTable()
		if query != nil {
			more := p.moreQuery(query, start)
			if more != query || p.tok.kind == ')' {
				p.expect(')')
				return more, nil
			}
			d := &ast.DerivedTable{Query: query, Alias: p.tableAlias()}
			d.Span = p.span(start)
			inner = d
		} else {
			p.aliasOf(inner, start)
		}
		ref = p.joins(inner, start)
	} else {
		ref = p.tableRef()
	}
	p.expect(')')
	return nil, ref
}

// aliasOf reads an alias after a parenthesised join.
func (p *parser) aliasOf(ref ast.TableRef, start int32) {
	at := p.tok
	a := p.tableAlias()
	if a == nil {
		return
	}
	if j, ok := ref.(*ast.Join); ok && j.Alias == nil {
		j.Alias = a
		j.Span = p.span(start)
		return
	}
	p.unsupported(at, "a second alias", "put the alias inside the parentheses")
}

// tableAlias reads the alias of a table with its columns, nil if there is none.
func (p *parser) tableAlias() *ast.TableAlias {
	start := p.tok.start
	a := &ast.TableAlias{}
	switch t := p.tok; {
	case p.acceptWord(kwAs):
		a.Name = p.identifier("an alias")
	case !canName(t):
		return nil
	default:
		switch next := p.peek(1); t.kw {
		case kwSemi, kwAnti, kwAsof, kwPositional:
			if next.kw == kwJoin {
				return nil
			}
		case kwPivot, kwUnpivot:
			if next.kind == '(' {
				p.unsupported(t, t.kw.String(), "write an aggregate with FILTER for each column")
				return nil
			}
		}
		p.bare = t
		a.Name = p.identifier("an alias")
	}
	if p.tok.kind == '(' {
		a.Columns = p.identifiers("a column")
	}
	a.Span = p.span(start)
	return a
}
