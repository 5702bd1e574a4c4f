package bind

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/catalog"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A scope is the names that an expression or a query may use: those of FROM, then those of the queries around it.
type scope struct {
	parent *scope // nil: the statement's
	rels   []*relation
	ctes   []*cte // added by this level's WITH
}

// A relation is an item of FROM by the name that hides all others: alias, or table.
type relation struct {
	name string // "": columns are found without a table only
	cols []column
	pos  sqlerr.Pos
}

// A cte is a query of a WITH, bound anew at each use.
type cte struct {
	def       *ast.CTE
	recursive bool             // names itself
	scope     *scope           // what it sees
	checked   *bound           // bound already and named nowhere yet
	shared    *logical.Shared  // computed once: what each place that names it reads
	working   *logical.Working // within the recursive half of the query itself: what its name stands for there
}

// inner is a scope within s.
func (s *scope) inner(rels ...*relation) *scope { return &scope{parent: s, rels: rels} }

func (s *scope) cte(name string) *cte {
	for ; s != nil; s = s.parent {
		for _, c := range slices.Backward(s.ctes) {
			if c.def.Name.Name == name {
				return c
			}
		}
	}
	return nil
}

// find resolves a column's name. A name of an outer query makes the query correlated.
func (s *scope) find(ref *ast.ColumnRef) (*expr.Column, error) {
	switch len(ref.Parts) {
	case 1:
		return s.findBare(ref)
	case 2:
		return s.findIn(ref, ref.Parts[0], ref.Parts[1])
	}
	return nil, unsupported(ref.Pos, "a column name of %d parts", len(ref.Parts)).WithHint("write table.column")
}

func (s *scope) findBare(ref *ast.ColumnRef) (*expr.Column, error) {
	name := ref.Parts[0].Name
	for at := s; at != nil; at = at.parent {
		hit, err := at.bareHere(name, ref.Pos)
		if hit != nil || err != nil {
			return hit, err
		}
	}
	for at := s; at != nil; at = at.parent {
		for _, r := range at.rels {
			if r.name == name {
				return nil, unsupported(ref.Pos, "a whole row of table %q as a value", name).WithHint("name its columns")
			}
		}
	}
	return nil, noColumn(ref.Pos, name, "", s.allNames())
}

func (s *scope) bareHere(name string, pos sqlerr.Pos) (*expr.Column, error) {
	var hit *expr.Column
	var in string
	for _, r := range s.rels {
		for _, c := range r.cols {
			if c.hidden || c.name != name {
				continue
			}
			if hit != nil {
				e := sqlerr.Newf(sqlerr.AmbiguousColumn, pos, "column reference %q is ambiguous", name)
				if in != "" && r.name != "" && in != r.name {
					return nil, e.WithHint("write %s.%s or %s.%s", in, name, r.name, name)
				}
				return nil, e.WithHint("say of which table")
			}
			hit, in = c.col, r.name
		}
	}
	return hit, nil
}

func (s *scope) findIn(ref *ast.ColumnRef, table, name ast.Ident) (*expr.Column, error) {
	for at := s; at != nil; at = at.parent {
		rel, err := at.relation(table)
		if err != nil {
			return nil, err
		}
		if rel == nil {
			continue
		}
		var hit *expr.Column
		for _, c := range rel.cols {
			if c.name == name.Name {
				if hit != nil {
					return nil, sqlerr.Newf(sqlerr.AmbiguousColumn, ref.Pos, "column reference %q is ambiguous", name.Name).
						WithHint("table %q has several columns of that name; rename them: %s (a, b, …)", rel.name, rel.name)
				}
				hit = c.col
			}
		}
		if hit == nil {
			return nil, noColumn(ref.Pos, table.Name+"."+name.Name, table.Name+".", names(rel.cols))
		}
		return hit, nil
	}
	if c, err := s.findBare(&ast.ColumnRef{Span: table.Span, Parts: []ast.Ident{table}}); err == nil {
		return nil, unsupported(ref.Pos, "field access on column %q of type %s", table.Name, c.Typ)
	}
	return nil, s.noRelation(table)
}

// relation is the relation of that name at this level, nil where there is none.
func (s *scope) relation(table ast.Ident) (*relation, error) {
	var hit *relation
	for _, r := range s.rels {
		if r.name != table.Name || r.name == "" {
			continue
		}
		if hit != nil {
			return nil, sqlerr.Newf(sqlerr.AmbiguousColumn, table.Pos, "table reference %q is ambiguous", table.Name).
				WithHint("give the tables different aliases")
		}
		hit = r
	}
	return hit, nil
}

func (s *scope) noRelation(table ast.Ident) error {
	e := sqlerr.Newf(sqlerr.UnknownTable, table.Pos, "missing FROM-clause entry for table %q", table.Name)
	var have []string
	for at := s; at != nil; at = at.parent {
		for _, r := range at.rels {
			have = append(have, r.name)
		}
	}
	if near := catalog.Near(table.Name, have); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e.WithHint("add the table to FROM; a table with an alias is known by that only")
}

func noColumn(pos sqlerr.Pos, name, prefix string, have []string) error {
	shown := name
	if prefix == "" {
		shown = `"` + name + `"`
	}
	e := sqlerr.Newf(sqlerr.UnknownColumn, pos, "column %s does not exist", shown)
	if near := catalog.Near(strings.TrimPrefix(name, prefix), have); near != "" {
		return e.WithHint("did you mean %q?", prefix+near)
	}
	if len(have) == 0 {
		return e.WithHint("there is no table here that has columns")
	}
	const some = 8
	list := strings.Join(have[:min(some, len(have))], ", ")
	if len(have) > some {
		list += ", …"
	}
	return e.WithHint("there is %s", list)
}

func names(cols []column) []string {
	var out []string
	for _, c := range cols {
		if !slices.Contains(out, c.name) {
			out = append(out, c.name)
		}
		if len(out) > 1000 {
			break
		}
	}
	return out
}

func (s *scope) allNames() []string {
	var out []string
	for at := s; at != nil; at = at.parent {
		for _, r := range at.rels {
			out = append(out, names(r.cols)...)
		}
	}
	return out
}

// checkNames refuses two relations of one name.
func checkNames(rels []*relation) error {
	seen := map[string]bool{}
	for _, r := range rels {
		if r.name == "" {
			continue
		}
		if seen[r.name] {
			return sqlerr.Newf(sqlerr.DuplicateAlias, r.pos, "table name %q specified more than once", r.name).
				WithHint("give one of them another alias")
		}
		seen[r.name] = true
	}
	return nil
}
