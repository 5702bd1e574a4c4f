package parse

import "github.com/fletchdb/fletch/engine/ast"

// atQuery tells whether a query comes next, other than one in parentheses.
func (p *parser) atQuery() bool {
	switch p.tok.kw {
	case kwSelect, kwWith, kwTable, kwFrom:
		return true
	case kwValues:
		return p.peek(1).kind == '('
	}
	if p.trace {
		p.want = append(p.want, kwSelect.String(), kwValues.String(), kwWith.String())
	}
	return false
}

// query reads a query with all its clauses. Parentheses that add nothing leave no node.
func (p *parser) query() *ast.Query {
	outer := p.enter()
	defer p.leave(outer)
	start := p.tok.start
	q := &ast.Query{}
	if p.atWord(kwWith) {
		q.With = p.with()
	}
	q.Body = p.setExpr(1)
	p.queryEnd(q)
	if nested, ok := q.Body.(*ast.Query); ok && !hasClauses(q) {
		return nested
	}
	q.Span = p.span(start)
	return q
}

// moreQuery goes on after a query that was in parentheses and starts at start. Where nothing follows it is the query itself.
func (p *parser) moreQuery(inner *ast.Query, start int32) *ast.Query {
	body := bodyOf(inner)
	q := &ast.Query{Body: p.setOperations(body, start, 1)}
	p.queryEnd(q)
	if p.err != nil || q.Body == body && !hasClauses(q) {
		return inner
	}
	q.Span = p.span(start)
	return q
}

func hasClauses(q *ast.Query) bool {
	return q.With != nil || len(q.OrderBy) > 0 || q.Limit != nil || q.Offset != nil
}

// bodyOf is a query as a body: its own where there is nothing more to it.
func bodyOf(q *ast.Query) ast.QueryBody {
	if hasClauses(q) {
		return q
	}
	return q.Body
}

func (p *parser) with() *ast.With {
	start := p.tok.start
	p.expectWord(kwWith)
	w := &ast.With{Recursive: p.acceptWord(kwRecursive)}
	for {
		w.CTEs = append(w.CTEs, p.cte())
		if !p.accept(',') {
			break
		}
	}
	w.Span = p.span(start)
	return w
}

func (p *parser) cte() *ast.CTE {
	start := p.tok.start
	c := &ast.CTE{Name: p.identifier("a name for the query")}
	if p.at('(') {
		c.Columns = p.identifiers("a column")
	}
	p.expectWord(kwAs)
	switch {
	case p.acceptWord(kwMaterialized):
		c.Materialized = ast.Materialized
	case p.acceptWords(kwNot, kwMaterialized):
		c.Materialized = ast.NotMaterialized
	}
	p.expect('(')
	c.Query = p.query()
	p.expect(')')
	c.Span = p.span(start)
	return c
}

// setExpr reads bodies with set operations between them that bind at least as tightly as prec: UNION and EXCEPT 1, INTERSECT 2.
func (p *parser) setExpr(prec int) ast.QueryBody {
	outer := p.enter()
	defer p.leave(outer)
	start := p.tok.start
	return p.setOperations(p.queryTerm(), start, prec)
}

func (p *parser) setOperations(left ast.QueryBody, start int32, min int) ast.QueryBody {
	for {
		s := &ast.SetOperation{Left: left}
		prec := 1
		switch {
		case p.atWord(kwUnion):
			s.Op = ast.Union
		case p.atWord(kwExcept):
			s.Op = ast.Except
		case p.atWord(kwIntersect):
			s.Op, prec = ast.Intersect, 2
		default:
			return left
		}
		if prec < min {
			return left
		}
		p.advance()
		p.chain()
		if s.All = p.acceptWord(kwAll); !s.All {
			p.acceptWord(kwDistinct)
		}
		s.ByName = p.acceptWords(kwBy, kwName)
		s.Right = p.setExpr(prec + 1)
		s.Span = p.span(start)
		left = s
	}
}

// queryTerm reads one body without set operations.
func (p *parser) queryTerm() ast.QueryBody {
	start := p.tok.start
	switch p.tok.kw {
	case kwSelect, kwFrom:
		return p.selectBody()
	case kwValues:
		return p.values()
	case kwTable:
		p.advance()
		n := p.objectName("a table")
		return &ast.TableQuery{Span: p.span(start), Name: n}
	case kwInsert, kwUpdate, kwDelete, kwMerge:
		p.unsupported(p.tok, p.tok.kw.String()+" within a query", "")
		return nil
	}
	if p.accept('(') {
		q := p.query()
		p.expect(')')
		return bodyOf(q)
	}
	p.atQuery()
	p.unexpected("SELECT")
	return nil
}

func (p *parser) values() ast.QueryBody {
	start := p.tok.start
	p.advance()
	v := &ast.Values{}
	for {
		at := p.tok.start
		p.expect('(')
		r := &ast.Row{}
		for {
			if p.tok.kw == kwDefault {
				p.advance()
				r.Items = append(r.Items, &ast.Default{Span: ast.Span{Pos: p.prev.pos()}})
			} else {
				r.Items = append(r.Items, p.expr())
			}
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
		r.Span = p.span(at)
		v.Rows = append(v.Rows, r)
		if !p.accept(',') {
			break
		}
	}
	v.Span = p.span(start)
	return v
}

// queryEnd reads ORDER BY, LIMIT, OFFSET and FETCH.
func (p *parser) queryEnd(q *ast.Query) {
	if p.atWord(kwOrder) {
		q.OrderBy = p.orderBy()
	}
	limited, skipped := false, false
	for p.err == nil {
		switch {
		case !limited && p.acceptWord(kwLimit):
			limited = true
			if !p.acceptWord(kwAll) {
				q.Limit = p.expr()
			}
			if p.tok.kind == ',' {
				p.unsupported(p.tok, "LIMIT with a comma", "write LIMIT count OFFSET start")
			}
		case !skipped && p.acceptWord(kwOffset):
			skipped = true
			q.Offset = p.expr()
			if !p.acceptWord(kwRows) {
				p.acceptWord(kwRow)
			}
		case !limited && p.atWord(kwFetch):
			limited = true
			p.fetch(q)
		case p.tok.kw == kwFor:
			p.unsupported(p.tok, "locking of rows", "leave FOR … out: nothing locks rows")
		default:
			return
		}
	}
}

// fetch reads FETCH FIRST n ROWS ONLY, or WITH TIES.
func (p *parser) fetch(q *ast.Query) {
	start := p.tok
	p.advance()
	if !p.acceptWord(kwFirst) {
		p.expectWord(kwNext)
	}
	if p.tok.kw == kwRow || p.tok.kw == kwRows {
		q.Limit = &ast.Literal{Span: ast.Span{Pos: start.pos()}, Kind: ast.IntegerLiteral, Value: "1"}
	} else {
		q.Limit = p.expr()
	}
	if !p.acceptWord(kwRows) {
		p.expectWord(kwRow)
	}
	if p.acceptWords(kwWith, kwTies) {
		q.WithTies = true
	} else {
		p.expectWord(kwOnly)
	}
}

// orderBy reads ORDER BY with its keys.
func (p *parser) orderBy() []*ast.OrderItem {
	p.expectWord(kwOrder)
	p.expectWord(kwBy)
	if p.tok.kw == kwAll {
		i := &ast.OrderItem{All: true}
		start := p.tok.start
		p.advance()
		p.direction(i)
		i.Span = p.span(start)
		return []*ast.OrderItem{i}
	}
	return p.orderItems()
}

func (p *parser) orderItems() []*ast.OrderItem {
	var items []*ast.OrderItem
	for {
		start := p.tok.start
		i := &ast.OrderItem{Expr: p.expr()}
		p.direction(i)
		i.Span = p.span(start)
		items = append(items, i)
		if !p.accept(',') {
			return items
		}
	}
}

func (p *parser) direction(i *ast.OrderItem) {
	if p.tok.kw == kwUsing {
		p.unsupported(p.tok, "ORDER BY … USING", "write ASC or DESC")
	}
	if i.Desc = p.acceptWord(kwDesc); !i.Desc {
		p.acceptWord(kwAsc)
	}
	switch {
	case p.acceptWords(kwNulls, kwFirst):
		i.Nulls = ast.NullsFirst
	case p.acceptWords(kwNulls, kwLast):
		i.Nulls = ast.NullsLast
	}
}
