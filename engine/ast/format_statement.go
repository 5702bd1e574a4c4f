package ast

func (f *formatter) statement(s Statement) {
	switch s := s.(type) {
	case *QueryStatement:
		f.query(s.Query)
	case *Explain:
		f.explain(s)
	case *CreateTable:
		f.createTable(s)
	case *CreateView:
		f.create(s.OrReplace, s.Temporary, "VIEW", s.IfNotExists, s.Name)
		if len(s.Columns) > 0 {
			f.put(" ")
			f.names(s.Columns)
		}
		f.put(" AS ")
		f.query(s.Query)
	case *CreateExternalTable:
		f.createExternal(s)
	case *CreateSchema:
		what := "SCHEMA"
		if s.Database {
			what = "DATABASE"
		}
		f.create(false, false, what, s.IfNotExists, s.Name)
	case *Drop:
		f.put("DROP ", string(s.Kind), " ")
		f.when(s.IfExists, "IF EXISTS ")
		join(f, s.Names, f.name)
		f.when(s.Cascade, " CASCADE")
	case *Insert:
		f.insert(s)
	case *Copy:
		f.copy(s)
	case *Describe:
		f.put("DESCRIBE ")
		switch {
		case s.Table != nil:
			f.put("TABLE ")
			f.name(*s.Table)
		case s.File != nil:
			f.literal(s.File)
		default:
			f.query(s.Query)
		}
	case *Show:
		f.show(s)
	case *Set:
		f.put("SET ")
		f.when(s.Local, "LOCAL ")
		f.name(s.Name)
		f.put(" = ")
		if len(s.Values) == 0 {
			f.put("DEFAULT")
		}
		f.exprs(s.Values)
	case *Reset:
		f.put("RESET ")
		f.nameOrAll(s.Name)
	case *Prepare:
		f.put("PREPARE ")
		f.ident(s.Name)
		if len(s.Types) > 0 {
			f.put(" (")
			join(f, s.Types, f.typeName)
			f.put(")")
		}
		f.put(" AS ")
		f.statement(s.Statement)
	case *Execute:
		f.put("EXECUTE ")
		f.ident(s.Name)
		if len(s.Args) > 0 {
			f.put(" (")
			join(f, s.Args, f.arg)
			f.put(")")
		}
	case *Deallocate:
		f.put("DEALLOCATE ")
		if s.Name == nil {
			f.put("ALL")
		} else {
			f.ident(*s.Name)
		}
	case *Transaction:
		f.put(string(s.Kind))
	}
}

func (f *formatter) nameOrAll(n *ObjectName) {
	if n == nil {
		f.put("ALL")
		return
	}
	f.name(*n)
}

func (f *formatter) create(orReplace, temporary bool, what string, ifNotExists bool, name ObjectName) {
	f.put("CREATE ")
	f.when(orReplace, "OR REPLACE ")
	f.when(temporary, "TEMPORARY ")
	f.put(what, " ")
	f.when(ifNotExists, "IF NOT EXISTS ")
	f.name(name)
}

func (f *formatter) explain(s *Explain) {
	f.put("EXPLAIN ")
	if len(s.Options) > 0 {
		sep := "("
		for _, o := range []struct {
			is   bool
			text string
		}{{s.Analyze, "ANALYZE"}, {s.Verbose, "VERBOSE"}, {s.Format != "", "FORMAT "}} {
			if o.is {
				f.put(sep, o.text)
				sep = ", "
			}
		}
		if s.Format != "" {
			f.str(s.Format)
		}
		f.put(sep)
		join(f, s.Options, f.option)
		f.put(") ")
	} else {
		f.when(s.Analyze, "ANALYZE ")
		f.when(s.Verbose, "VERBOSE ")
		if s.Format != "" {
			f.put("FORMAT ")
			f.str(s.Format)
			f.put(" ")
		}
	}
	f.statement(s.Statement)
}

func (f *formatter) option(o Option) {
	f.str(o.Name)
	if o.Value != nil {
		f.put(" ")
		f.expr(o.Value, lowest)
	}
}

func (f *formatter) options(word string, os []Option) {
	if len(os) > 0 {
		f.put(word, "(")
		join(f, os, f.option)
		f.put(")")
	}
}

func (f *formatter) elements(columns []*ColumnDef, constraints []*TableConstraint) {
	f.put(" (")
	join(f, columns, f.columnDef)
	f.when(len(columns) > 0 && len(constraints) > 0, ", ")
	join(f, constraints, f.constraint)
	f.put(")")
}

func (f *formatter) columnDef(c *ColumnDef) {
	f.ident(c.Name)
	if c.Type != nil {
		f.put(" ")
		f.typeName(c.Type)
	}
	if c.Collation != nil {
		f.put(" COLLATE ")
		f.name(*c.Collation)
	}
	f.when(c.NotNull, " NOT NULL")
	f.when(c.PrimaryKey, " PRIMARY KEY")
	f.when(c.Unique, " UNIQUE")
	if c.Default != nil {
		f.put(" DEFAULT ")
		f.expr(c.Default, isLevel+1)
	}
	if c.Check != nil {
		f.put(" CHECK (")
		f.expr(c.Check, lowest)
		f.put(")")
	}
}

func (f *formatter) constraint(c *TableConstraint) {
	if c.Name != nil {
		f.put("CONSTRAINT ")
		f.ident(*c.Name)
		f.put(" ")
	}
	f.put(string(c.Kind), " ")
	f.names(c.Columns)
	if c.Check != nil {
		f.put("(")
		f.expr(c.Check, lowest)
		f.put(")")
	}
}

func (f *formatter) createTable(s *CreateTable) {
	f.create(s.OrReplace, s.Temporary, "TABLE", s.IfNotExists, s.Name)
	if s.Columns != nil || s.Constraints != nil {
		f.elements(s.Columns, s.Constraints)
	}
	if s.Query != nil {
		f.put(" AS ")
		f.query(s.Query)
	}
	f.when(s.NoData, " WITH NO DATA")
}

func (f *formatter) createExternal(s *CreateExternalTable) {
	what := "EXTERNAL TABLE"
	if s.Unbounded {
		what = "UNBOUNDED EXTERNAL TABLE"
	}
	f.create(s.OrReplace, s.Temporary, what, s.IfNotExists, s.Name)
	if s.Columns != nil || s.Constraints != nil {
		f.elements(s.Columns, s.Constraints)
	}
	f.storedAs(s.StoredAs)
	if s.PartitionedBy != nil {
		f.put(" PARTITIONED BY")
		f.elements(s.PartitionedBy, nil)
	}
	for _, o := range s.WithOrder {
		f.put(" WITH ORDER (")
		join(f, o, f.orderItem)
		f.put(")")
	}
	f.put(" LOCATION ")
	f.literal(s.Location)
	f.options(" OPTIONS ", s.Options)
}

func (f *formatter) storedAs(format string) {
	if format != "" {
		f.put(" STORED AS ")
		f.quoted(format)
	}
}

func (f *formatter) insert(s *Insert) {
	f.put("INSERT INTO ")
	f.name(s.Table)
	f.put(" ")
	f.names(s.Columns)
	f.when(len(s.Columns) > 0, " ")
	f.when(s.ByName, "BY NAME ")
	if s.Query == nil {
		f.put("DEFAULT VALUES")
		return
	}
	f.query(s.Query)
}

func (f *formatter) copy(s *Copy) {
	f.put("COPY ")
	if s.Query != nil {
		f.subquery(s.Query)
	} else {
		f.name(*s.Table)
		f.names(s.Columns)
	}
	f.put(" TO ")
	f.literal(s.To)
	f.storedAs(s.StoredAs)
	if len(s.PartitionedBy) > 0 {
		f.put(" PARTITIONED BY ")
		f.names(s.PartitionedBy)
	}
	f.options(" ", s.Options)
}

func (f *formatter) show(s *Show) {
	f.put("SHOW ")
	f.when(s.Full, "FULL ")
	switch s.Kind {
	case ShowSetting:
		f.name(*s.Name)
		return
	case ShowCreate:
		f.put("CREATE ", string(s.Object), " ")
		f.name(*s.Name)
		return
	}
	f.put(string(s.Kind))
	if s.Name != nil {
		f.put(" FROM ")
		f.name(*s.Name)
	}
	if s.Like != nil {
		f.put(" LIKE ")
		f.literal(s.Like)
	}
	f.clause(" WHERE ", s.Where)
}
