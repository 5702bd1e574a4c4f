package parse

import "github.com/fletchdb/fletch/engine/ast"

// create reads what follows CREATE.
func (p *parser) create(start int32) ast.Statement {
	orReplace := p.acceptWords(kwOr, kwReplace)
	temporary := p.acceptWord(kwTemp) || p.acceptWord(kwTemporary)
	unbounded := p.acceptWord(kwUnbounded)
	t := p.tok
	switch {
	case p.acceptWord(kwExternal):
		p.expectWord(kwTable)
		return p.createExternal(start, &ast.CreateExternalTable{OrReplace: orReplace, Temporary: temporary, Unbounded: unbounded})
	case unbounded:
		p.unexpected("EXTERNAL")
	case p.acceptWord(kwTable):
		return p.createTable(start, &ast.CreateTable{OrReplace: orReplace, Temporary: temporary})
	case p.acceptWord(kwView):
		return p.createView(start, &ast.CreateView{OrReplace: orReplace, Temporary: temporary})
	case !orReplace && !temporary && (p.acceptWord(kwSchema) || p.acceptWord(kwDatabase)):
		s := &ast.CreateSchema{Database: t.kw == kwDatabase, IfNotExists: p.acceptWords(kwIf, kwNot, kwExists)}
		s.Name = p.objectName("a name")
		s.Span = p.span(start)
		return s
	case t.kw == kwIndex || t.kw == kwUnique:
		p.unsupported(t, "CREATE INDEX", "files are pruned by their own statistics")
	case t.kind == tokIdent && t.kw != 0 && t.kw.class() == free || t.kw == kwForeign:
		p.unsupported(t, "CREATE "+t.kw.String(), "")
	}
	p.unexpected("TABLE, VIEW, EXTERNAL TABLE or SCHEMA")
	return nil
}

func (p *parser) createTable(start int32, c *ast.CreateTable) ast.Statement {
	c.IfNotExists = p.acceptWords(kwIf, kwNot, kwExists)
	c.Name = p.objectName("a table")
	if p.at('(') {
		c.Columns, c.Constraints = p.tableElements()
	}
	if p.tok.kw == kwWith {
		p.unsupported(p.tok, "WITH for a table's storage", "leave it out")
	}
	if p.acceptWord(kwAs) {
		c.Query = p.query()
		switch {
		case p.acceptWords(kwWith, kwNo, kwData):
			c.NoData = true
		case p.acceptWords(kwWith, kwData):
		}
	} else if c.Columns == nil && c.Constraints == nil {
		p.unexpected("( or AS")
	}
	c.Span = p.span(start)
	return c
}

func (p *parser) createView(start int32, c *ast.CreateView) ast.Statement {
	c.IfNotExists = p.acceptWords(kwIf, kwNot, kwExists)
	c.Name = p.objectName("a view")
	if p.at('(') {
		c.Columns = p.identifiers("a column")
	}
	p.expectWord(kwAs)
	c.Query = p.query()
	c.Span = p.span(start)
	return c
}

func (p *parser) createExternal(start int32, c *ast.CreateExternalTable) ast.Statement {
	c.IfNotExists = p.acceptWords(kwIf, kwNot, kwExists)
	c.Name = p.objectName("a table")
	if p.at('(') {
		c.Columns, c.Constraints = p.tableElements()
	}
	for p.err == nil {
		switch {
		case c.StoredAs == "" && p.acceptWords(kwStored, kwAs):
			c.StoredAs = fold(p.labelAs("a format such as PARQUET").Name)
		case c.Location == nil && p.acceptWord(kwLocation):
			c.Location = p.stringLiteral("the name of a file or folder in single quotes")
		case c.PartitionedBy == nil && p.acceptWords(kwPartitioned, kwBy):
			c.PartitionedBy, _ = p.tableElements()
		case p.acceptWords(kwWith, kwOrder):
			p.expect('(')
			c.WithOrder = append(c.WithOrder, p.orderItems())
			p.expect(')')
		case c.Options == nil && p.acceptWord(kwOptions):
			c.Options = p.options()
		default:
			if c.Location == nil {
				p.unexpected("LOCATION")
			}
			c.Span = p.span(start)
			return c
		}
	}
	return c
}

// tableElements reads columns and constraints in parentheses.
func (p *parser) tableElements() (columns []*ast.ColumnDef, constraints []*ast.TableConstraint) {
	p.expect('(')
	if p.accept(')') {
		return []*ast.ColumnDef{}, nil
	}
	for {
		switch p.tok.kw {
		case kwConstraint, kwPrimary, kwUnique, kwCheck, kwForeign:
			constraints = append(constraints, p.tableConstraint())
		case kwLike:
			p.unsupported(p.tok, "LIKE in CREATE TABLE", "write CREATE TABLE name AS SELECT * FROM other LIMIT 0")
		default:
			columns = append(columns, p.columnDef())
		}
		if !p.accept(',') || p.tok.kind == ')' { // a comma too many is forgiven, as in DuckDB
			break
		}
	}
	p.expect(')')
	return columns, constraints
}

func (p *parser) tableConstraint() *ast.TableConstraint {
	start := p.tok.start
	c := &ast.TableConstraint{}
	if p.acceptWord(kwConstraint) {
		n := p.identifier("a name for the constraint")
		c.Name = &n
	}
	t := p.tok
	switch {
	case p.acceptWord(kwPrimary):
		p.expectWord(kwKey)
		c.Kind = ast.PrimaryKey
		c.Columns = p.identifiers("a column")
	case p.acceptWord(kwUnique):
		c.Kind = ast.Unique
		c.Columns = p.identifiers("a column")
	case p.acceptWord(kwCheck):
		c.Kind = ast.Check
		p.expect('(')
		c.Check = p.expr()
		p.expect(')')
	case t.kw == kwForeign:
		p.unsupported(t, "FOREIGN KEY", "leave it out")
	default:
		p.unexpected("PRIMARY KEY, UNIQUE or CHECK")
	}
	c.Span = p.span(start)
	return c
}

func (p *parser) columnDef() *ast.ColumnDef {
	start := p.tok.start
	c := &ast.ColumnDef{}
	switch p.tok.kw {
	case kwUser, kwCurrentUser, kwCurrentDate, kwCurrentTime, kwCurrentTimestamp: // which t.user can name
		c.Name = p.label()
	default:
		c.Name = p.identifier("a column")
	}
	if p.tok.kind != ',' && p.tok.kind != ')' {
		c.Type = p.typeName()
	}
	for p.err == nil {
		t := p.tok
		switch {
		case p.acceptWords(kwNot, kwNull):
			c.NotNull = true
		case p.acceptWord(kwNull):
		case p.acceptWords(kwPrimary, kwKey):
			c.PrimaryKey = true
		case p.acceptWord(kwUnique):
			c.Unique = true
		case p.acceptWord(kwDefault):
			c.Default = p.exprAbove(precIs + 1)
		case p.acceptWord(kwCheck):
			p.expect('(')
			c.Check = p.expr()
			p.expect(')')
		case p.acceptWord(kwCollate):
			n := p.objectName("a collation")
			c.Collation = &n
		case p.acceptWord(kwConstraint):
			p.identifier("a name for the constraint")
		case t.kw == kwReferences:
			p.unsupported(t, "REFERENCES", "leave it out")
		default:
			c.Span = p.span(start)
			return c
		}
	}
	return c
}

func (p *parser) drop(start int32) ast.Statement {
	d := &ast.Drop{}
	t := p.tok
	switch {
	case p.acceptWord(kwTable):
		d.Kind = ast.TableObject
	case p.acceptWords(kwExternal, kwTable):
		d.Kind = ast.TableObject
	case p.acceptWord(kwView):
		d.Kind = ast.ViewObject
	case p.acceptWord(kwSchema):
		d.Kind = ast.SchemaObject
	case p.acceptWord(kwDatabase):
		d.Kind = ast.DatabaseObject
	case t.kind == tokIdent && t.kw != 0 && t.kw.class() == free:
		p.unsupported(t, "DROP "+t.kw.String(), "")
	default:
		p.unexpected("TABLE, VIEW or SCHEMA")
	}
	d.IfExists = p.acceptWords(kwIf, kwExists)
	for {
		d.Names = append(d.Names, p.objectName("a name"))
		if !p.accept(',') {
			break
		}
	}
	if d.Cascade = p.acceptWord(kwCascade); !d.Cascade {
		p.acceptWord(kwRestrict)
	}
	d.Span = p.span(start)
	return d
}
