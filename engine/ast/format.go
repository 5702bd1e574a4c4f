package ast

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// Format renders n as SQL on one line, in one spelling whatever the original's was: keywords in capitals, names as they are stored,
// casts as CAST, only the parentheses that are needed. Parsing the result gives the same tree but for places. n is any node of a parsed
// tree; comments are lost.
func Format(n Node) string {
	var f formatter
	f.node(n)
	return f.b.String()
}

// A formatter writes SQL. Its methods are in the order of the files of nodes.
type formatter struct {
	b strings.Builder
}

func (f *formatter) put(parts ...string) {
	for _, s := range parts {
		f.b.WriteString(s)
	}
}

// when writes s if it is to be.
func (f *formatter) when(is bool, s string) {
	if is {
		f.b.WriteString(s)
	}
}

func (f *formatter) str(s string) { f.put("'", strings.ReplaceAll(s, "'", "''"), "'") }

func (f *formatter) quoted(s string) { f.put(`"`, strings.ReplaceAll(s, `"`, `""`), `"`) }

func (f *formatter) ident(id Ident) {
	if id.Quoted {
		f.quoted(id.Name)
		return
	}
	f.put(id.Name)
}

func (f *formatter) name(n ObjectName) { f.parts(n.Parts) }

func (f *formatter) parts(ids []Ident) {
	for i, id := range ids {
		f.when(i > 0, ".")
		f.ident(id)
	}
}

// names writes (a, b), and nothing for none.
func (f *formatter) names(ids []Ident) {
	if len(ids) == 0 {
		return
	}
	f.put("(")
	join(f, ids, f.ident)
	f.put(")")
}

// join writes items with commas between them.
func join[T any](f *formatter, items []T, one func(T)) {
	for i, it := range items {
		f.when(i > 0, ", ")
		one(it)
	}
}

func (f *formatter) node(n Node) {
	switch n := n.(type) {
	case Statement:
		f.statement(n)
	case Expr:
		f.expr(n, lowest)
	case TableRef:
		f.tableRef(n)
	case QueryBody:
		f.body(n)
	case SelectItem:
		f.selectItem(n)
	case Ident:
		f.ident(n)
	case *Ident:
		f.ident(*n)
	case ObjectName:
		f.name(n)
	case *ObjectName:
		f.name(*n)
	case *TypeName:
		f.typeName(n)
	case *With:
		f.with(n)
	case *CTE:
		f.cte(n)
	case *Distinct:
		f.distinct(n)
	case *GroupBy:
		f.groupBy(n)
	case *Grouping:
		f.grouping(n)
	case *OrderItem:
		f.orderItem(n)
	case *NamedWindow:
		f.namedWindow(n)
	case *WindowSpec:
		f.window(n)
	case *Frame:
		f.frame(n)
	case *TableAlias:
		f.alias(n)
	case *ColumnDef:
		f.columnDef(n)
	case *TableConstraint:
		f.constraint(n)
	case *When:
		f.caseWhen(n)
	case *Arg:
		f.arg(n)
	}
}

func (f *formatter) typeName(t *TypeName) {
	// The modifiers of TIMESTAMP (3) WITH TIME ZONE stand in the middle of its name.
	name, end := t.Name, ""
	if i := strings.Index(name, " with"); i > 0 && !t.Quoted {
		name, end = name[:i], name[i:]
	}
	if i := strings.Index(name, " unsigned"); i > 0 && !t.Quoted {
		name, end = name[:i], name[i:]
	}
	f.ident(Ident{Name: name, Quoted: t.Quoted})
	if t.Unit != "" {
		f.put(" ", t.Unit)
	}
	if len(t.Fields) > 0 {
		f.put("(")
		join(f, t.Fields, func(d TypeField) {
			if d.Name.Name != "" {
				f.ident(d.Name)
				f.put(" ")
			}
			f.typeName(d.Type)
		})
		f.put(")")
	}
	if len(t.Mods) > 0 {
		f.put("(")
		join(f, t.Mods, f.literal)
		f.put(")")
	}
	f.put(end)
	for _, d := range t.Dims {
		f.put("[")
		if d >= 0 {
			f.put(strconv.Itoa(d))
		}
		f.put("]")
	}
}

func (f *formatter) literal(l *Literal) {
	switch l.Kind {
	case NullLiteral:
		f.put("NULL")
	case BooleanLiteral:
		f.put(strings.ToUpper(l.Value))
	case StringLiteral:
		f.str(l.Value)
	case BinaryLiteral:
		f.put("X'", hex.EncodeToString([]byte(l.Value)), "'")
	default:
		f.put(l.Value)
	}
}
