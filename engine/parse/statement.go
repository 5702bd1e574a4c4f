package parse

import (
	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// statement reads one statement.
func (p *parser) statement() ast.Statement {
	outer := p.enter()
	defer p.leave(outer)
	start := p.tok.start
	if p.tok.kind == '(' || p.atQuery() {
		q := p.query()
		return &ast.QueryStatement{Span: p.span(start), Query: q}
	}
	t := p.tok
	switch {
	case p.acceptWord(kwExplain):
		return p.explain(start)
	case p.acceptWord(kwCreate):
		return p.create(start)
	case p.acceptWord(kwDrop):
		return p.drop(start)
	case p.acceptWord(kwInsert):
		return p.insert(start)
	case p.acceptWord(kwCopy):
		return p.copyTo(start)
	case p.acceptWord(kwDescribe), p.tok.kw == kwDesc && p.acceptWord(kwDesc):
		return p.describeStatement(start)
	case p.acceptWord(kwShow):
		return p.show(start)
	case p.acceptWord(kwSet):
		return p.set(start)
	case p.acceptWord(kwReset):
		return p.reset(start)
	case p.acceptWord(kwPrepare):
		return p.prepare(start)
	case p.acceptWord(kwExecute):
		return p.execute(start)
	case p.acceptWord(kwDeallocate):
		return p.deallocate(start)
	case p.acceptWord(kwBegin):
		return p.transaction(start, ast.Begin)
	case p.acceptWord(kwStart):
		p.expectWord(kwTransaction)
		return p.transaction(start, ast.Begin)
	case p.acceptWord(kwCommit), p.tok.kw == kwEnd && p.acceptWord(kwEnd):
		return p.transaction(start, ast.Commit)
	case p.acceptWord(kwRollback), p.tok.kw == kwAbort && p.acceptWord(kwAbort):
		return p.transaction(start, ast.Rollback)
	}
	switch t.kw {
	case kwUpdate, kwDelete, kwMerge, kwTruncate:
		p.unsupported(t, t.kw.String(), "tables only grow: write CREATE OR REPLACE TABLE … AS SELECT … with the rows as they should be")
	case kwAlter:
		p.unsupported(t, "ALTER", "drop the object and create it anew")
	case kwAnalyze, kwAnalyse, kwVacuum, kwCheckpoint, kwReindex, kwRefresh:
		p.unsupported(t, t.kw.String(), "there is nothing to keep up: statistics come from the files themselves")
	case kwGrant, kwRevoke:
		p.unsupported(t, t.kw.String(), "access is decided by the server's configuration")
	case kwAttach, kwDetach, kwUse, kwInstall, kwLoad, kwImport, kwExport, kwPragma, kwSummarize, kwPivot, kwUnpivot, kwCall, kwDo, kwComment,
		kwLock, kwListen, kwNotify, kwUnlisten, kwFetch, kwMove, kwClose, kwDeclare, kwSavepoint, kwRelease, kwAuthorization:
		p.unsupported(t, t.kw.String(), "")
	default:
		p.unexpected("a statement such as SELECT")
	}
	return nil
}

// nested reads a statement within another.
func (p *parser) nested() ast.Statement {
	switch p.tok.kw {
	case kwSelect, kwWith, kwValues, kwTable, kwFrom, kwInsert, kwCreate, kwCopy, kwExecute, 0:
	default:
		p.unsupported(p.tok, "this statement here", "it must be a query, INSERT, CREATE, COPY or EXECUTE")
		return nil
	}
	return p.statement()
}

func (p *parser) explain(start int32) ast.Statement {
	e := &ast.Explain{}
	if p.tok.kind == '(' {
		if next := p.peek(1); next.isString() || next.kind == tokIdent && next.kw != kwSelect && next.kw != kwWith && next.kw != kwValues && next.kw != kwTable && next.kw != kwFrom {
			p.explainOptions(e)
		}
	} else {
		for p.err == nil {
			if p.acceptWord(kwAnalyze) || p.acceptWord(kwAnalyse) {
				e.Analyze = true
			} else if p.acceptWord(kwVerbose) {
				e.Verbose = true
			} else if p.acceptWord(kwFormat) {
				if p.atString() {
					e.Format = fold(p.stringLiteral("a format").Value)
				} else {
					e.Format = fold(p.labelAs("a format").Name)
				}
			} else {
				break
			}
		}
	}
	e.Statement = p.nested()
	e.Span = p.span(start)
	return e
}

// explainOptions reads the options of EXPLAIN in parentheses.
func (p *parser) explainOptions(e *ast.Explain) {
	for _, o := range p.options() {
		on, isBool := boolOption(o)
		switch {
		case o.Name == "analyze" && isBool:
			e.Analyze = on
		case o.Name == "verbose" && isBool:
			e.Verbose = on
		case o.Name == "format":
			l, ok := o.Value.(*ast.Literal)
			if !ok || l.Kind != ast.StringLiteral {
				p.fail(sqlerr.New(sqlerr.Syntax, o.Pos, "FORMAT takes a name").WithHint("write FORMAT text or FORMAT json"))
				return
			}
			e.Format = fold(l.Value)
		default:
			e.Options = append(e.Options, o)
		}
	}
}

// boolOption is the value of an option that is on or off; given alone it is on.
func boolOption(o ast.Option) (on, ok bool) {
	if o.Value == nil {
		return true, true
	}
	if l, isLiteral := o.Value.(*ast.Literal); isLiteral {
		switch fold(l.Value) {
		case "true", "on", "1":
			return true, true
		case "false", "off", "0":
			return false, true
		}
	}
	return false, false
}

// options reads options in parentheses: names with or without a value, an = between them or not.
func (p *parser) options() []ast.Option {
	p.expect('(')
	var list []ast.Option
	if p.accept(')') {
		return nil
	}
	for {
		list = append(list, p.option())
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return list
}

func (p *parser) option() ast.Option {
	start := p.tok.start
	var o ast.Option
	if p.atString() {
		o.Name = p.stringLiteral("an option").Value
	} else {
		o.Name = p.labelAs("an option").Name
		for p.accept('.') {
			o.Name += "." + p.label().Name
		}
	}
	p.acceptOp(ast.Eq)
	if p.tok.kind != ',' && p.tok.kind != ')' {
		o.Value = p.setting("a value")
	}
	o.Span = p.span(start)
	return o
}

// setting reads the value of an option or a setting: a constant, a bare word, a list in parentheses,
// a call or a literal of lists and structs, but no operators other than a sign.
func (p *parser) setting(what string) ast.Expr {
	outer := p.enter()
	defer p.leave(outer)
	switch t := p.tok; t.kind {
	case tokIdent, tokQuoted:
		switch next := p.peek(1); {
		case t.kw == kwTrue, t.kw == kwFalse, t.kw == kwNull, t.kw == kwNot, t.kw == kwInterval, next.kind == '(', next.kind == '[', next.kind == '{', next.isString():
			return p.prefix()
		}
		// A word is a string, as in PostgreSQL; with dots it is one too.
		n := p.qualified(t.start, p.label())
		return &ast.Literal{Span: n.Span, Kind: ast.StringLiteral, Value: n.String()}
	case '(':
		p.advance()
		r := &ast.Row{Items: []ast.Expr{p.setting(what)}}
		for p.accept(',') {
			r.Items = append(r.Items, p.setting(what))
		}
		p.expect(')')
		r.Span = p.span(t.start)
		return r
	case ',', ')', tokEnd, ';':
		p.unexpected(what)
		return nil
	}
	return p.prefix()
}

func (p *parser) insert(start int32) ast.Statement {
	p.expectWord(kwInto)
	i := &ast.Insert{Table: p.objectName("a table")}
	if p.tok.kw == kwAs {
		p.unsupported(p.tok, "an alias for the table of INSERT", "leave it out")
	}
	if next := p.peek(1); p.tok.kind == '(' && canName(next) && (next.kw != kwValues || p.peek(2).kind != '(') {
		i.Columns = p.identifiers("a column")
	}
	i.ByName = p.acceptWords(kwBy, kwName)
	if !p.acceptWords(kwDefault, kwValues) {
		i.Query = p.query()
	}
	switch p.tok.kw {
	case kwOn:
		p.unsupported(p.tok, "ON CONFLICT", "tables have no keys to conflict with")
	case kwReturning:
		p.unsupported(p.tok, "RETURNING", "query the table after the INSERT")
	}
	i.Span = p.span(start)
	return i
}

func (p *parser) copyTo(start int32) ast.Statement {
	c := &ast.Copy{}
	if p.tok.kind == '(' {
		c.Query = p.subquery("a query")
	} else {
		n := p.objectName("a table, or a query in parentheses")
		c.Table = &n
		if p.tok.kind == '(' {
			c.Columns = p.identifiers("a column")
		}
	}
	if p.tok.kw == kwFrom {
		p.unsupported(p.tok, "COPY … FROM", "write INSERT INTO t SELECT * FROM 'file', or query the file itself")
	}
	p.expectWord(kwTo)
	c.To = p.stringLiteral("the name of a file in single quotes")
	for p.err == nil {
		switch {
		case c.StoredAs == "" && p.acceptWords(kwStored, kwAs):
			c.StoredAs = fold(p.labelAs("a format").Name)
		case c.PartitionedBy == nil && p.acceptWords(kwPartitioned, kwBy):
			c.PartitionedBy = p.identifiers("a column")
		case c.Options == nil && (p.tok.kind == '(' || p.acceptWord(kwWith) || p.acceptWord(kwOptions)):
			c.Options = p.options()
		default:
			c.Span = p.span(start)
			return c
		}
	}
	return c
}

func (p *parser) describeStatement(start int32) ast.Statement {
	d := &ast.Describe{}
	switch {
	case p.tok.kw == kwTable && p.peek(1).kind != tokEnd:
		p.advance()
		n := p.objectName("a table")
		d.Table = &n
	case p.tok.kind == '(' || p.atQuery():
		d.Query = p.query()
		if t, ok := bodyOf(d.Query).(*ast.TableQuery); ok && p.err == nil {
			d.Query, d.Table = nil, &t.Name
		}
	case p.atString():
		d.File = p.stringLiteral("a file")
	default:
		n := p.objectName("a table or a query")
		d.Table = &n
	}
	d.Span = p.span(start)
	return d
}

func (p *parser) show(start int32) ast.Statement {
	s := &ast.Show{Full: p.acceptWord(kwFull)}
	plural := func(kind ast.ShowKind) {
		s.Kind = kind
		if p.acceptWord(kwFrom) || p.acceptWord(kwIn) {
			n := p.objectName("a name")
			s.Name = &n
		}
		switch {
		case p.acceptWord(kwLike):
			s.Like = p.stringLiteral("a pattern in single quotes")
		case p.acceptWord(kwWhere):
			s.Where = p.expr()
		}
	}
	switch {
	case p.acceptWord(kwTables):
		plural(ast.ShowTables)
	case p.acceptWord(kwColumns):
		plural(ast.ShowColumns)
		if s.Name == nil {
			p.unexpected("FROM")
		}
	case p.acceptWord(kwFunctions):
		plural(ast.ShowFunctions)
	case p.acceptWord(kwSchemas):
		plural(ast.ShowSchemas)
	case p.acceptWord(kwDatabases):
		plural(ast.ShowDatabases)
	case p.acceptWord(kwViews):
		plural(ast.ShowViews)
	case p.acceptWord(kwCreate):
		s.Kind = ast.ShowCreate
		if s.Object = ast.TableObject; p.acceptWord(kwView) {
			s.Object = ast.ViewObject
		} else {
			p.expectWord(kwTable)
		}
		n := p.objectName("a name")
		s.Name = &n
	case p.acceptWord(kwAll):
		if s.Kind = ast.ShowAll; p.acceptWord(kwTables) {
			s.Full = true
			plural(ast.ShowTables)
		}
	default:
		s.Kind = ast.ShowSetting
		n := p.settingName()
		s.Name = &n
	}
	s.Span = p.span(start)
	return s
}

// settingName reads the name of a setting; TIME ZONE is one.
func (p *parser) settingName() ast.ObjectName {
	start := p.tok.start
	if p.acceptWords(kwTime, kwZone) {
		span := p.span(start)
		return ast.ObjectName{Span: span, Parts: []ast.Ident{{Span: span, Name: "timezone"}}}
	}
	return p.objectName("a setting")
}

func (p *parser) set(start int32) ast.Statement {
	s := &ast.Set{}
	if s.Local = p.acceptWord(kwLocal); !s.Local && p.tok.kw == kwSession && p.peek(1).kind == tokIdent {
		p.advance()
	}
	zone := p.atWords(kwTime, kwZone)
	s.Name = p.settingName()
	switch {
	case zone && !p.acceptWord(kwTo) && !p.acceptOp(ast.Eq):
		if p.acceptWord(kwLocal) {
			s.Span = p.span(start)
			return s
		}
	case !zone && !p.acceptOp(ast.Eq):
		if !p.acceptWord(kwTo) {
			p.unexpected("= or TO")
		}
	}
	if !p.acceptWord(kwDefault) {
		s.Values = []ast.Expr{p.setting("a value")}
		for p.accept(',') {
			s.Values = append(s.Values, p.setting("a value"))
		}
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) reset(start int32) ast.Statement {
	r := &ast.Reset{}
	if !p.acceptWord(kwAll) {
		n := p.settingName()
		r.Name = &n
	}
	r.Span = p.span(start)
	return r
}

func (p *parser) prepare(start int32) ast.Statement {
	s := &ast.Prepare{Name: p.identifier("a name for the statement")}
	if p.accept('(') {
		for {
			s.Types = append(s.Types, p.typeName())
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	p.expectWord(kwAs)
	s.Statement = p.nested()
	s.Span = p.span(start)
	return s
}

func (p *parser) execute(start int32) ast.Statement {
	s := &ast.Execute{Name: p.identifier("the name of a prepared statement")}
	if p.accept('(') && !p.accept(')') {
		for {
			s.Args = append(s.Args, p.arg())
			if !p.accept(',') {
				break
			}
		}
		p.expect(')')
	}
	s.Span = p.span(start)
	return s
}

func (p *parser) deallocate(start int32) ast.Statement {
	d := &ast.Deallocate{}
	if next := p.peek(1); p.tok.kw == kwPrepare && (canName(next) || next.kw == kwAll) {
		p.advance()
	}
	if !p.acceptWord(kwAll) {
		n := p.identifier("the name of a prepared statement")
		d.Name = &n
	}
	d.Span = p.span(start)
	return d
}

// transaction reads what can follow BEGIN, COMMIT and ROLLBACK.
func (p *parser) transaction(start int32, kind ast.TransactionKind) ast.Statement {
	if !p.acceptWord(kwWork) {
		p.acceptWord(kwTransaction)
	}
	if p.tok.kw == kwTo {
		p.unsupported(p.tok, "ROLLBACK TO", "there are no savepoints")
	}
	for kind == ast.Begin {
		switch {
		case p.acceptWords(kwIsolation, kwLevel):
			// READ COMMITTED and the like: one or two words
			p.labelAs("an isolation level")
			if p.tok.kind == tokIdent {
				p.advance()
			}
		case p.acceptWord(kwRead):
			if !p.acceptWord(kwOnly) {
				p.expectWord(kwWrite)
			}
		default:
			return &ast.Transaction{Span: p.span(start), Kind: kind}
		}
		p.accept(',')
	}
	return &ast.Transaction{Span: p.span(start), Kind: kind}
}
