package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/scan/memory"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A constraint is what all rows of a table must be: different in columns that are not NULL, or not false by a condition.
type constraint struct {
	name    string
	columns []int    // that are unique together; nil: check
	check   ast.Expr // over the table's columns
}

// constrain takes the constraints of CREATE TABLE; t's rows may be none yet, but its columns are known.
func (t *sessionTable) constrain(st *ast.CreateTable) error {
	name, fields := st.Name.Last().Name, t.rows.Fields()
	t.notNull = append(t.notNull, make([]bool, len(fields)-len(t.notNull))...)
	unique := func(primary bool, given *ast.Ident, columns ...ast.Ident) error {
		c := constraint{name: name}
		for _, id := range columns {
			at := slices.IndexFunc(fields, func(f physical.Field) bool { return f.Name == id.Name })
			if at < 0 {
				return sqlerr.Newf(sqlerr.UnknownColumn, id.At(), "column %q named in key does not exist", id.Name)
			}
			c.columns = append(c.columns, at)
			t.notNull[at] = t.notNull[at] || primary
			if !primary {
				c.name += "_" + id.Name
			}
		}
		switch {
		case given != nil:
			c.name = given.Name
		case primary:
			c.name += "_pkey"
		default:
			c.name += "_key"
		}
		if primary {
			if t.key != nil {
				return sqlerr.Newf(sqlerr.Syntax, st.At(), "multiple primary keys for table %q are not allowed", name).WithHint("write PRIMARY KEY (a, b) for a key of several columns")
			}
			t.key = c.columns
		}
		t.constraints = append(t.constraints, c)
		return nil
	}
	for _, c := range st.Columns {
		if c.PrimaryKey || c.Unique {
			if err := unique(c.PrimaryKey, nil, c.Name); err != nil {
				return err
			}
		}
		if c.Check != nil {
			t.constraints = append(t.constraints, constraint{name: name + "_" + c.Name.Name + "_check", check: c.Check})
		}
	}
	for _, c := range st.Constraints {
		if c.Kind == ast.Check {
			named := constraint{name: name + "_check", check: c.Check}
			if c.Name != nil {
				named.name = c.Name.Name
			}
			t.constraints = append(t.constraints, named)
			continue
		}
		if err := unique(c.Kind == ast.PrimaryKey, c.Name, c.Columns...); err != nil {
			return err
		}
	}
	return nil
}

// holds refuses rows of a table that its constraints do not allow. all is the table's rows, added those that are new.
func (s planner) holds(ctx context.Context, name string, t *sessionTable, all, added *memory.Table) error {
	for c, notNull := range t.notNull {
		if notNull && added.Nulls(c) > 0 {
			return sqlerr.Newf(sqlerr.NotNull, sqlerr.Pos{}, "null value in column %q violates not-null constraint", added.Fields()[c].Name)
		}
	}
	for _, c := range t.constraints {
		probe := s.engine.NewSession() // in which the table is as it would be
		var from strings.Builder
		if c.check != nil {
			probe.tables[name] = &sessionTable{rows: added}
			fmt.Fprintf(&from, "SELECT 1 FROM %s WHERE NOT (%s) LIMIT 1", quoted(name), ast.Format(c.check))
		} else {
			probe.tables[name] = &sessionTable{rows: all}
			var columns, present []string
			for _, at := range c.columns {
				column := quoted(all.Fields()[at].Name)
				columns, present = append(columns, column), append(present, column+" IS NOT NULL")
			}
			fmt.Fprintf(&from, "SELECT 1 FROM %s WHERE %s GROUP BY %s HAVING count(*) > 1 LIMIT 1",
				quoted(name), strings.Join(present, " AND "), strings.Join(columns, ", "))
		}
		broken, err := hasRow(ctx, probe, from.String())
		switch {
		case err != nil && c.check != nil:
			return sqlerr.Newf(sqlerr.CodeOf(err), c.check.At(), "check constraint %q: %s", c.name, err)
		case err != nil:
			return err
		case broken && c.check != nil:
			return sqlerr.Newf(sqlerr.CheckViolation, sqlerr.Pos{}, "new row for relation %q violates check constraint %q", name, c.name)
		case broken:
			return sqlerr.Newf(sqlerr.UniqueViolation, sqlerr.Pos{}, "duplicate key value violates unique constraint %q", c.name).
				WithHint("the values of its columns must be different in all rows")
		}
	}
	return nil
}

// hasRow tells whether a query has a row.
func hasRow(ctx context.Context, s *Session, query string) (bool, error) {
	rows, err := s.Query(ctx, query)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for {
		rec, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if rec.NumRows() > 0 {
			return true, nil
		}
	}
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// defaultOf is what a column without a value gets: an expression that reads nothing, such as now().
func (s planner) defaultOf(ctx context.Context, e ast.Expr, f physical.Field) (expr.Expr, error) {
	if l, ok := e.(*ast.Literal); ok && l.Kind == ast.StringLiteral {
		return expr.Coerce(expr.Unknown(l.Value, l.At()), f.Type, expr.Assignment)
	} else if ok && l.Kind == ast.NullLiteral {
		return expr.Null(f.Type, l.At()), nil
	}
	plan, err := s.query(ctx, selectOf(e), nil)
	if err != nil {
		return nil, err
	}
	var v expr.Expr
	switch root := plan.Root.(type) {
	case *physical.Values:
		if len(root.Rows) == 1 {
			v = expr.NewLiteral(root.Rows[0][0], e.At())
		}
	case *physical.Project:
		if _, constant := root.Input.(*physical.Values); constant {
			v = root.Exprs[0]
		}
	}
	if v == nil {
		return nil, sqlerr.New(sqlerr.Unsupported, e.At(), "a subquery as DEFAULT is not supported").WithHint("write a constant, or a function such as now()")
	}
	return expr.Coerce(v, f.Type, expr.Assignment)
}

// selectOf is SELECT e.
func selectOf(e ast.Expr) *ast.Query {
	at := ast.Span{Pos: e.At()}
	return &ast.Query{Span: at, Body: &ast.Select{Span: at, Items: []ast.SelectItem{&ast.SelectExpr{Span: at, Expr: e}}}}
}

// withDefaults is an INSERT whose VALUES say what DEFAULT is in them.
func (t *sessionTable) withDefaults(st *ast.Insert) *ast.Query {
	if st.Query == nil {
		return nil
	}
	values, ok := st.Query.Body.(*ast.Values)
	if !ok {
		return st.Query
	}
	fields := t.rows.Fields()
	column := func(i int) int {
		if st.Columns == nil {
			return i
		}
		if i >= len(st.Columns) {
			return -1
		}
		return slices.IndexFunc(fields, func(f physical.Field) bool { return f.Name == st.Columns[i].Name })
	}
	out := *values
	out.Rows = make([]*ast.Row, len(values.Rows))
	for r, row := range values.Rows {
		c := *row
		c.Items = slices.Clone(row.Items)
		for i, it := range c.Items {
			d, ok := it.(*ast.Default)
			if !ok {
				continue
			}
			c.Items[i] = &ast.Literal{Span: d.Span, Kind: ast.NullLiteral}
			if at := column(i); at >= 0 && at < len(t.defaults) && t.defaults[at] != nil {
				c.Items[i] = t.defaults[at]
			}
		}
		out.Rows[r] = &c
	}
	q := *st.Query
	q.Body = &out
	return &q
}
