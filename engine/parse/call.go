package parse

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// word reads an operand that starts with a word.
func (p *parser) word() ast.Expr {
	t := p.tok
	literal := func(kind ast.LiteralKind, value string) ast.Expr {
		p.advance()
		return &ast.Literal{Span: ast.Span{Pos: t.pos()}, Kind: kind, Value: value}
	}
	switch t.kw {
	case 0:
		return p.name()
	case kwNull:
		return literal(ast.NullLiteral, "")
	case kwTrue:
		return literal(ast.BooleanLiteral, "true")
	case kwFalse:
		return literal(ast.BooleanLiteral, "false")
	case kwCase:
		return p.caseExpr()
	case kwCast:
		return p.cast(false)
	case kwCurrentDate, kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp, kwCurrentUser, kwCurrentRole, kwSessionUser,
		kwSystemUser, kwUser, kwCurrentCatalog, kwCurrentSchema:
		return p.niladic()
	}
	next := p.peek(1)
	switch next.kind {
	case '(':
		switch t.kw {
		case kwTryCast:
			return p.cast(true)
		case kwExists:
			return p.exists()
		case kwArray:
			p.advance()
			if q := p.subquery("a query"); q != nil {
				return &ast.ArraySubquery{Span: p.span(t.start), Query: q}
			}
			return nil
		case kwRow:
			return p.row()
		case kwInterval:
			return p.interval()
		case kwExtract:
			return p.extract()
		case kwPosition:
			return p.position()
		case kwOverlay:
			return p.overlay()
		case kwSubstring:
			return p.substring()
		case kwTrim:
			return p.trim()
		case kwTime, kwTimestamp:
			if p.peek(2).kind == tokInteger && p.peek(3).kind == ')' {
				if after := p.peek(4); after.isString() || after.kw == kwWith || after.kw == kwWithout {
					return p.typedLiteral()
				}
			}
		}
	case '[':
		if t.kw == kwArray {
			p.advance()
			p.advance()
			return p.array(t.start)
		}
	case '{':
		if t.kw == kwMap {
			p.advance()
			return p.mapLiteral(t.start)
		}
	case tokInteger, tokDecimal, tokFloat, tokString, tokEscape, tokDollar:
		if t.kw == kwInterval {
			return p.interval()
		}
	case tokIdent:
		switch {
		case t.kw == kwTime || t.kw == kwTimestamp:
			if (next.kw == kwWith || next.kw == kwWithout) && p.peek(2).kw == kwTime {
				return p.typedLiteral()
			}
		case t.kw == kwDouble && next.kw == kwPrecision, (t.kw == kwCharacter || t.kw == kwChar) && next.kw == kwVarying:
			return p.typedLiteral()
		}
	}
	return p.name()
}

// name reads what starts with a plain name: a column, a call, or a literal of a named type.
func (p *parser) name() ast.Expr {
	t := p.tok
	next := p.peek(1)
	if next.kind == '(' && (t.kw == kwValues || t.kw == kwRollup || t.kw == kwCube) {
		p.unexpected("an expression")
		return nil
	}
	if !canName(t) && (t.kw.class() != typeFunc || next.kind != '(') {
		p.unexpected("an expression")
		return nil
	}
	if next.isString() {
		return p.typedLiteral()
	}
	p.advance()
	n := p.qualified(t.start, p.ident(t))
	if p.tok.kind == '(' {
		return p.callOf(t.start, n)
	}
	return &ast.ColumnRef{Span: n.Span, Parts: n.Parts}
}

// typedLiteral reads a type and a string: DATE '1994-01-01'.
func (p *parser) typedLiteral() ast.Expr {
	start := p.tok.start
	t := p.baseType()
	s := p.stringLiteral("a string")
	if s == nil {
		return nil
	}
	return &ast.TypedLiteral{Span: p.span(start), Type: t, Value: s.Value}
}

// niladic reads a function that takes no parentheses, CURRENT_DATE and the like.
func (p *parser) niladic() ast.Expr {
	t := p.tok
	p.advance()
	n := ast.ObjectName{Span: ast.Span{Pos: t.pos()}, Parts: []ast.Ident{p.ident(t)}}
	if p.tok.kind == '(' {
		return p.callOf(t.start, n)
	}
	return &ast.FuncCall{Span: n.Span, Name: n, NoParens: true}
}

// call makes a call with positional arguments, named name because of what stands at the token at.
func (p *parser) call(start int32, at token, name string, args ...ast.Expr) *ast.FuncCall {
	span := ast.Span{Pos: at.pos()}
	c := &ast.FuncCall{Span: p.span(start), Name: ast.ObjectName{Span: span, Parts: []ast.Ident{{Span: span, Name: name}}}}
	for _, a := range args {
		if p.err != nil {
			break
		}
		c.Args = append(c.Args, &ast.Arg{Span: ast.Span{Pos: a.At()}, Value: a})
	}
	return c
}

// callOf reads the arguments of a function, and all that can follow them.
func (p *parser) callOf(start int32, name ast.ObjectName) ast.Expr {
	c := p.callArgs(name)
	p.callEnd(c)
	c.Span = p.span(start)
	return c
}

// callArgs reads the arguments of a function in their parentheses.
func (p *parser) callArgs(name ast.ObjectName) *ast.FuncCall {
	c := &ast.FuncCall{Name: name}
	p.expect('(')
	switch {
	case p.accept(')'):
	case p.atOp(ast.Mul) && p.peek(1).kind == ')':
		p.advance()
		p.advance()
		c.Star = true
	default:
		if c.Distinct = p.acceptWord(kwDistinct); !c.Distinct {
			p.acceptWord(kwAll)
		}
		c.Args = append(c.Args, p.arg())
		p.argsEnd(c)
	}
	c.Span = p.span(name.Pos.Start)
	return c
}

// callFrom goes on after the first argument and its restricted expression, for functions with a syntax of their own that is not used.
func (p *parser) callFrom(start int32, name token, first ast.Expr, at int32) ast.Expr {
	c := p.call(start, name, p.ident(name).Name)
	c.Args = []*ast.Arg{{Span: p.span(at), Value: first}}
	p.argsEnd(c)
	p.callEnd(c)
	c.Span = p.span(start)
	return c
}

// argsEnd reads what can follow the first argument, and the closing parenthesis.
func (p *parser) argsEnd(c *ast.FuncCall) {
	for p.accept(',') {
		c.Args = append(c.Args, p.arg())
	}
	if p.atWord(kwOrder) {
		c.OrderBy = p.orderBy()
	}
	c.Nulls = p.nullTreatment()
	p.expect(')')
}

// arg reads an argument, with its name if it has one.
func (p *parser) arg() *ast.Arg {
	start := p.tok.start
	a := &ast.Arg{}
	if p.tok.kw == kwVariadic {
		p.unsupported(p.tok, "VARIADIC", "pass the list itself, or its elements one by one")
	}
	if p.tok.kind == tokIdent || p.tok.kind == tokQuoted {
		if k := p.peek(1).kind; k == tokNamed || k == tokAssign {
			n := p.label()
			a.Name = &n
			p.advance()
		}
	}
	a.Value = p.expr()
	a.Span = p.span(start)
	return a
}

func (p *parser) nullTreatment() ast.NullTreatment {
	switch {
	case p.acceptWords(kwIgnore, kwNulls):
		return ast.IgnoreNulls
	case p.acceptWords(kwRespect, kwNulls):
		return ast.RespectNulls
	}
	return ast.NullTreatmentDefault
}

// callEnd reads what can follow a call: WITHIN GROUP, FILTER, null treatment, OVER.
func (p *parser) callEnd(c *ast.FuncCall) {
	if p.acceptWords(kwWithin, kwGroup) {
		p.expect('(')
		c.WithinGroup = p.orderBy()
		p.expect(')')
	}
	if p.tok.kw == kwFilter && p.peek(1).kind == '(' {
		p.advance()
		p.advance()
		p.expectWord(kwWhere)
		c.Filter = p.expr()
		p.expect(')')
	}
	if p.peek(2).kind != ')' { // f(g(x) IGNORE NULLS) is f's
		if n := p.nullTreatment(); n != ast.NullTreatmentDefault {
			c.Nulls = n
		}
	}
	if p.tok.kw == kwOver {
		if next := p.peek(1); next.kind == '(' || canName(next) {
			p.advance()
			c.Over = p.over()
		}
	}
}

// over reads what stands after OVER.
func (p *parser) over() *ast.WindowSpec {
	if p.tok.kind == '(' {
		return p.windowSpec()
	}
	start := p.tok.start
	n := p.identifier("a window")
	return &ast.WindowSpec{Span: p.span(start), Base: &n, Bare: true}
}

func (p *parser) windowSpec() *ast.WindowSpec {
	start := p.tok.start
	p.expect('(')
	w := &ast.WindowSpec{}
	if canName(p.tok) {
		switch p.tok.kw {
		case kwPartition, kwRows, kwRange, kwGroups:
		default:
			n := p.identifier("a window")
			w.Base = &n
		}
	}
	if p.acceptWords(kwPartition, kwBy) {
		w.PartitionBy = p.exprs()
	}
	if p.atWord(kwOrder) {
		w.OrderBy = p.orderBy()
	}
	w.Frame = p.frame()
	p.expect(')')
	w.Span = p.span(start)
	return w
}

func (p *parser) frame() *ast.Frame {
	start := p.tok.start
	f := &ast.Frame{}
	switch {
	case p.acceptWord(kwRows):
		f.Unit = ast.Rows
	case p.acceptWord(kwRange):
		f.Unit = ast.Range
	case p.acceptWord(kwGroups):
		f.Unit = ast.Groups
	default:
		return nil
	}
	if p.acceptWord(kwBetween) {
		f.Start = p.frameBound()
		p.expectWord(kwAnd)
		f.End = p.frameBound()
	} else {
		f.Start = p.frameBound()
		f.End.Kind = ast.CurrentRow
	}
	p.checkFrame(f)
	if p.acceptWord(kwExclude) {
		switch {
		case p.acceptWords(kwCurrent, kwRow):
			f.Exclude = ast.ExcludeCurrentRow
		case p.acceptWord(kwGroup):
			f.Exclude = ast.ExcludeGroup
		case p.acceptWord(kwTies):
			f.Exclude = ast.ExcludeTies
		case p.acceptWords(kwNo, kwOthers):
		default:
			p.unexpected("CURRENT ROW, GROUP, TIES or NO OTHERS")
		}
	}
	f.Span = p.span(start)
	return f
}

func (p *parser) frameBound() ast.FrameBound {
	start := p.tok.start
	var b ast.FrameBound
	switch {
	case p.acceptWords(kwUnbounded, kwPreceding):
		b.Kind = ast.UnboundedPreceding
	case p.acceptWords(kwUnbounded, kwFollowing):
		b.Kind = ast.UnboundedFollowing
	case p.acceptWords(kwCurrent, kwRow):
		b.Kind = ast.CurrentRow
	default:
		b.Offset = p.expr()
		switch {
		case p.acceptWord(kwPreceding):
			b.Kind = ast.Preceding
		case p.acceptWord(kwFollowing):
			b.Kind = ast.Following
		default:
			p.unexpected("PRECEDING or FOLLOWING")
		}
	}
	b.Span = p.span(start)
	return b
}

// checkFrame refuses frames that end before they start whatever the rows are.
func (p *parser) checkFrame(f *ast.Frame) {
	rank := func(k ast.BoundKind) int {
		switch k {
		case ast.UnboundedPreceding:
			return 0
		case ast.Preceding:
			return 1
		case ast.CurrentRow:
			return 2
		case ast.Following:
			return 3
		default:
			return 4
		}
	}
	if rank(f.Start.Kind) <= rank(f.End.Kind) && f.Start.Kind != ast.UnboundedFollowing && f.End.Kind != ast.UnboundedPreceding {
		return
	}
	p.fail(sqlerr.Newf(sqlerr.Windowing, f.Start.Pos.To(f.End.Pos), "a frame cannot start at %s and end at %s", f.Start.Kind, f.End.Kind).
		WithHint("write BETWEEN with the earlier end first"))
}

// subquery reads a query in parentheses; nil after an error.
func (p *parser) subquery(what string) *ast.Query {
	p.expect('(')
	open := p.tok
	q, _ := p.parenthesised()
	if q == nil && p.err == nil {
		p.fail(sqlerr.Newf(sqlerr.Syntax, open.pos(), "unexpected %s, expected %s", p.describe(open), what).WithHint("a query starts with SELECT, VALUES, TABLE or WITH"))
	}
	p.expect(')')
	return q
}

func (p *parser) exists() ast.Expr {
	start := p.tok.start
	p.advance()
	q := p.subquery("a query")
	return &ast.Exists{Span: p.span(start), Query: q}
}

// row reads ROW(a, b).
func (p *parser) row() ast.Expr {
	start := p.tok.start
	p.advance()
	p.expect('(')
	r := &ast.Row{Explicit: true}
	if !p.accept(')') {
		r.Items = p.exprs()
		p.expect(')')
	}
	r.Span = p.span(start)
	return r
}

// interval reads INTERVAL with its value and units.
func (p *parser) interval() ast.Expr {
	start := p.tok.start
	p.advance()
	v := &ast.Interval{Precision: -1}
	switch {
	case p.accept('('):
		v.Value = p.expr()
		p.expect(')')
	case p.tok.isString():
		v.Value = p.stringLiteral("a string")
	default:
		v.Value = p.number()
	}
	v.From, v.To, v.Precision = p.intervalUnit()
	v.Span = p.span(start)
	return v
}

// units are the words that can follow an interval, and what they stand for.
var units = map[string]string{
	"year": "year", "years": "year", "quarter": "quarter", "quarters": "quarter", "month": "month", "months": "month",
	"week": "week", "weeks": "week", "day": "day", "days": "day", "hour": "hour", "hours": "hour", "minute": "minute",
	"minutes": "minute", "second": "second", "seconds": "second", "millisecond": "millisecond", "milliseconds": "millisecond",
	"microsecond": "microsecond", "microseconds": "microsecond", "nanosecond": "nanosecond", "nanoseconds": "nanosecond",
	"decade": "decade", "decades": "decade", "century": "century", "centuries": "century", "millennium": "millennium", "millennia": "millennium",
}

func (p *parser) unit() string {
	if p.tok.kind != tokIdent {
		return ""
	}
	u := units[fold(p.lex.src[p.tok.start:p.tok.end])]
	if u != "" {
		p.advance()
	}
	return u
}

// intervalUnit reads the units after an interval: DAY, DAY TO SECOND(3), or nothing. Precision is -1 where there is none.
func (p *parser) intervalUnit() (from, to string, precision int) {
	from, precision = p.unit(), -1
	if from != "" && p.tok.kw == kwTo {
		p.advance()
		if to = p.unit(); to == "" {
			p.unexpected("a unit such as SECOND")
		}
	}
	if (to == "second" || to == "" && from == "second") && p.tok.kind == '(' {
		p.advance()
		precision = p.smallInt()
		p.expect(')')
	}
	return from, to, precision
}

// smallInt reads an integer of at most four digits.
func (p *parser) smallInt() int {
	t := p.tok
	if t.kind != tokInteger {
		p.unexpected("an integer")
		return 0
	}
	n := 0
	for _, c := range p.number().Value {
		if n = n*10 + int(c-'0'); n > 9999 {
			p.fail(sqlerr.New(sqlerr.Syntax, t.pos(), "this number is too large here"))
			return 0
		}
	}
	return n
}

func (p *parser) extract() ast.Expr {
	t := p.tok
	if f := p.peek(2); p.peek(3).kw != kwFrom || f.kind != tokIdent && f.kind != tokQuoted && !f.isString() {
		return p.name()
	}
	p.advance()
	p.advance()
	f := p.tok
	field := &ast.Literal{Span: ast.Span{Pos: f.pos()}, Kind: ast.StringLiteral}
	if f.isString() {
		field.Value = p.stringValue(f)
	} else {
		field.Value = p.ident(f).Name
	}
	p.advance()
	p.expectWord(kwFrom)
	e := p.expr()
	p.expect(')')
	return p.call(t.start, t, "extract", field, e)
}

func (p *parser) position() ast.Expr {
	t := p.tok
	p.advance()
	p.expect('(')
	start := p.tok.start
	needle := p.exprAbove(precLike + 1)
	if p.acceptWord(kwIn) {
		in := p.exprAbove(precLike + 1)
		p.expect(')')
		return p.call(t.start, t, "position", in, needle)
	}
	return p.callFrom(t.start, t, p.infix(needle, start, precOr), start)
}

func (p *parser) overlay() ast.Expr {
	t := p.tok
	p.advance()
	p.expect('(')
	start := p.tok.start
	e := p.expr()
	if !p.acceptWord(kwPlacing) {
		return p.callFrom(t.start, t, e, start)
	}
	args := []ast.Expr{e, p.expr()}
	p.expectWord(kwFrom)
	args = append(args, p.expr())
	if p.acceptWord(kwFor) {
		args = append(args, p.expr())
	}
	p.expect(')')
	return p.call(t.start, t, "overlay", args...)
}

func (p *parser) substring() ast.Expr {
	t := p.tok
	p.advance()
	p.expect('(')
	start := p.tok.start
	e := p.expr()
	var from, length ast.Expr
	switch p.tok.kw {
	case kwFrom:
		p.advance()
		from = p.expr()
		if p.acceptWord(kwFor) {
			length = p.expr()
		}
	case kwFor:
		p.advance()
		length = p.expr()
		if p.acceptWord(kwFrom) {
			from = p.expr()
		} else {
			from = &ast.Literal{Span: ast.Span{Pos: t.pos()}, Kind: ast.IntegerLiteral, Value: "1"}
		}
	default:
		return p.callFrom(t.start, t, e, start)
	}
	p.expect(')')
	args := []ast.Expr{e, from}
	if length != nil {
		args = append(args, length)
	}
	return p.call(t.start, t, "substring", args...)
}

func (p *parser) trim() ast.Expr {
	t := p.tok
	p.advance()
	p.expect('(')
	name := "btrim"
	switch {
	case p.acceptWord(kwLeading):
		name = "ltrim"
	case p.acceptWord(kwTrailing):
		name = "rtrim"
	case p.acceptWord(kwBoth):
	}
	var args []ast.Expr
	if p.acceptWord(kwFrom) {
		args = p.exprs()
	} else {
		args = []ast.Expr{p.expr()}
		if p.acceptWord(kwFrom) {
			args = append(p.exprs(), args...)
		} else {
			for p.accept(',') {
				args = append(args, p.expr())
			}
		}
	}
	p.expect(')')
	return p.call(t.start, t, name, args...)
}
