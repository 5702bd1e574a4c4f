package ast

func (f *formatter) query(q *Query) {
	if q.With != nil {
		f.with(q.With)
		f.put(" ")
	}
	f.body(q.Body)
	if len(q.OrderBy) > 0 {
		f.orderBy(q.OrderBy)
	}
	if q.Limit != nil && !q.WithTies {
		f.put(" LIMIT ")
		f.expr(q.Limit, lowest)
	}
	if q.Offset != nil {
		f.put(" OFFSET ")
		f.expr(q.Offset, lowest)
	}
	if q.WithTies {
		f.put(" FETCH FIRST ")
		f.expr(q.Limit, lowest)
		f.put(" ROWS WITH TIES")
	}
}

func (f *formatter) orderBy(items []*OrderItem) {
	f.put(" ORDER BY ")
	join(f, items, f.orderItem)
}

// body writes a body; one that is a query of its own needs parentheses.
func (f *formatter) body(b QueryBody) {
	switch b := b.(type) {
	case *Query:
		f.subquery(b)
	case *Select:
		f.selectBody(b)
	case *SetOperation:
		f.setOperation(b)
	case *Values:
		f.put("VALUES ")
		join(f, b.Rows, func(r *Row) { f.bare(r) })
	case *TableQuery:
		f.put("TABLE ")
		f.name(b.Name)
	}
}

func (f *formatter) setOperation(s *SetOperation) {
	l := setLevel(s)
	f.side(s.Left, l)
	f.put(" ", string(s.Op))
	f.when(s.All, " ALL")
	f.when(s.ByName, " BY NAME")
	f.put(" ")
	f.side(s.Right, l+1)
}

// setLevel is how tightly a set operation binds.
func setLevel(s *SetOperation) int {
	if s.Op == Intersect {
		return 2
	}
	return 1
}

// side writes one side of a set operation, in parentheses if it binds less tightly than min.
func (f *formatter) side(b QueryBody, min int) {
	if s, ok := b.(*SetOperation); ok && setLevel(s) < min {
		f.put("(")
		f.setOperation(s)
		f.put(")")
		return
	}
	f.body(b)
}

func (f *formatter) with(w *With) {
	f.put("WITH ")
	f.when(w.Recursive, "RECURSIVE ")
	join(f, w.CTEs, f.cte)
}

func (f *formatter) cte(c *CTE) {
	f.ident(c.Name)
	if len(c.Columns) > 0 {
		f.put(" ")
		f.names(c.Columns)
	}
	f.put(" AS ")
	f.when(c.Materialized != MaterializeDefault, string(c.Materialized)+" ")
	f.subquery(c.Query)
}

func (f *formatter) distinct(d *Distinct) {
	f.put("DISTINCT")
	if len(d.On) > 0 {
		f.put(" ON (")
		f.exprs(d.On)
		f.put(")")
	}
}

func (f *formatter) selectBody(s *Select) {
	f.put("SELECT ")
	if s.Distinct != nil {
		f.distinct(s.Distinct)
		f.put(" ")
	}
	join(f, s.Items, f.selectItem)
	if len(s.From) > 0 {
		f.put(" FROM ")
		join(f, s.From, f.tableRef)
	}
	f.clause(" WHERE ", s.Where)
	if s.GroupBy != nil {
		f.put(" ")
		f.groupBy(s.GroupBy)
	}
	f.clause(" HAVING ", s.Having)
	if len(s.Windows) > 0 {
		f.put(" WINDOW ")
		join(f, s.Windows, f.namedWindow)
	}
	f.clause(" QUALIFY ", s.Qualify)
}

func (f *formatter) clause(word string, e Expr) {
	if e != nil {
		f.put(word)
		f.expr(e, lowest)
	}
}

func (f *formatter) selectItem(i SelectItem) {
	switch i := i.(type) {
	case *SelectExpr:
		f.expr(i.Expr, lowest)
		if i.Alias != nil {
			f.put(" AS ")
			f.ident(*i.Alias)
		}
	case *Star:
		f.star(i)
	}
}

func (f *formatter) star(s *Star) {
	f.parts(s.Qualifier)
	f.when(len(s.Qualifier) > 0, ".")
	f.put("*")
	if len(s.Exclude) > 0 {
		f.put(" EXCLUDE ")
		f.names(s.Exclude)
	}
	if len(s.Replace) > 0 {
		f.put(" REPLACE (")
		join(f, s.Replace, func(e *SelectExpr) { f.selectItem(e) })
		f.put(")")
	}
	if len(s.Rename) > 0 {
		f.put(" RENAME (")
		join(f, s.Rename, func(r StarRename) {
			f.ident(r.From)
			f.put(" AS ")
			f.ident(r.To)
		})
		f.put(")")
	}
}

func (f *formatter) groupBy(g *GroupBy) {
	f.put("GROUP BY ")
	f.when(g.All, "ALL")
	f.when(g.Distinct, "DISTINCT ")
	join(f, g.Sets, f.grouping)
}

func (f *formatter) grouping(g *Grouping) {
	switch {
	case g.Kind != GroupingSet:
		f.put(string(g.Kind), " (")
		join(f, g.Sets, f.grouping)
		f.put(")")
	case len(g.Exprs) == 1:
		f.expr(g.Exprs[0], lowest)
	default:
		f.put("(")
		f.exprs(g.Exprs)
		f.put(")")
	}
}

func (f *formatter) orderItem(i *OrderItem) {
	if i.All {
		f.put("ALL")
	} else {
		f.expr(i.Expr, lowest)
	}
	f.when(i.Desc, " DESC")
	f.when(i.Nulls != NullsDefault, " "+string(i.Nulls))
}

func (f *formatter) namedWindow(w *NamedWindow) {
	f.ident(w.Name)
	f.put(" AS ")
	f.window(w.Spec)
}

func (f *formatter) window(w *WindowSpec) {
	if w.Bare {
		f.ident(*w.Base)
		return
	}
	f.put("(")
	space := ""
	if w.Base != nil {
		f.ident(*w.Base)
		space = " "
	}
	if len(w.PartitionBy) > 0 {
		f.put(space, "PARTITION BY ")
		f.exprs(w.PartitionBy)
		space = " "
	}
	if len(w.OrderBy) > 0 {
		f.put(space, "ORDER BY ")
		join(f, w.OrderBy, f.orderItem)
		space = " "
	}
	if w.Frame != nil {
		f.put(space)
		f.frame(w.Frame)
	}
	f.put(")")
}

func (f *formatter) frame(w *Frame) {
	f.put(string(w.Unit), " BETWEEN ")
	f.bound(w.Start)
	f.put(" AND ")
	f.bound(w.End)
	f.when(w.Exclude != ExcludeNoOthers, " EXCLUDE "+string(w.Exclude))
}

func (f *formatter) bound(b FrameBound) {
	switch b.Offset.(type) {
	case nil:
	case *ColumnRef: // a column may be called unbounded
		f.put("(")
		f.expr(b.Offset, lowest)
		f.put(") ")
	default:
		f.expr(b.Offset, lowest)
		f.put(" ")
	}
	f.put(string(b.Kind))
}

func (f *formatter) tableRef(t TableRef) {
	switch t := t.(type) {
	case *Table:
		f.name(t.Name)
		f.as(t.Alias)
	case *FileTable:
		f.str(t.Path)
		f.as(t.Alias)
	case *TableFunction:
		f.when(t.Lateral, "LATERAL ")
		f.call(t.Call)
		f.when(t.Ordinality, " WITH ORDINALITY")
		f.as(t.Alias)
	case *DerivedTable:
		f.when(t.Lateral, "LATERAL ")
		f.subquery(t.Query)
		f.as(t.Alias)
	case *Join:
		f.join(t)
	}
}

func (f *formatter) as(a *TableAlias) {
	if a != nil {
		f.put(" AS ")
		f.alias(a)
	}
}

func (f *formatter) alias(a *TableAlias) {
	f.ident(a.Name)
	f.names(a.Columns)
}

func (f *formatter) join(j *Join) {
	f.when(j.Alias != nil, "(")
	f.tableRef(j.Left)
	f.when(j.Natural, " NATURAL")
	f.put(" ", string(j.Kind), " ")
	if r, ok := j.Right.(*Join); ok && r.Alias == nil {
		f.put("(")
		f.join(r)
		f.put(")")
	} else {
		f.tableRef(j.Right)
	}
	f.clause(" ON ", j.On)
	if len(j.Using) > 0 {
		f.put(" USING ")
		f.names(j.Using)
	}
	f.when(j.Alias != nil, ")")
	f.as(j.Alias)
}
