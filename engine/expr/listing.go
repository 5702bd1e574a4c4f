package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Listing is one function as SHOW FUNCTIONS and docs/functions.md have it.
type Listing struct {
	Name       string
	Kind       string   // scalar, operator, aggregate or window
	Group      string   // its heading
	Signatures []string // "left(VARCHAR, BIGINT) → VARCHAR"
	Aliases    []string
	Nulls      string // what NULL does
	Source     string // whose meaning it has
	Doc        string
}

// hidden are the functions that only plans call.
var hidden = map[string]bool{"single_row": true, "count_star": true}

// Listings are all functions for people, by kind and heading, then by name.
func Listings() []Listing {
	var out []Listing
	groups := []string{"Operators"}
	for _, f := range functionList {
		if !slices.Contains(groups, f.Group) {
			groups = append(groups, f.Group)
		}
	}
	slices.Sort(groups[1:])
	for _, g := range groups {
		for _, f := range functionList {
			if f.Group != g || hidden[f.Name] {
				continue
			}
			l := Listing{Name: f.Name, Kind: "scalar", Group: g, Aliases: f.Aliases, Nulls: "gives NULL", Source: f.Source, Doc: f.Doc}
			if f.Operator {
				l.Kind = "operator"
			}
			if f.Lenient {
				l.Nulls = f.Nulls
			}
			l.Signatures = signatures(f.Name, f.Overloads, f.Operator)
			out = append(out, l)
		}
	}
	for _, a := range aggregateList {
		if hidden[a.Name] {
			continue
		}
		l := Listing{Name: a.Name, Kind: "aggregate", Group: "Aggregates", Aliases: a.Aliases, Nulls: aggregateNulls(a.Name), Source: a.Source, Doc: a.Doc}
		l.Signatures = signatures(a.Name, a.Overloads, false)
		if a.Name == "count" {
			l.Signatures = append(l.Signatures, "count(*) → BIGINT")
		}
		out = append(out, l)
	}
	for _, w := range windowList {
		l := Listing{Name: w.Name, Kind: "window", Group: "Window functions", Nulls: "a value like others", Source: w.Source, Doc: w.Doc}
		if w.Nulls {
			l.Nulls = "a value like others; IGNORE NULLS passes over it"
		}
		l.Signatures = signatures(w.Name, w.Overloads, false)
		out = append(out, l)
	}
	return out
}

// aggregateNulls is what an aggregate does with NULL.
func aggregateNulls(name string) string {
	switch name {
	case "count", "count_if", "approx_distinct", "regr_count":
		return "left out; 0 where nothing is left"
	case "array_agg", "first", "last":
		return "a value like others; NULL where there is no row"
	}
	return "left out; NULL where nothing is left"
}

// signatures are overloads for people. Those of the eight integer types, and of the two floats, that say the same are one, of
// "integer" or "float".
func signatures(name string, overloads []Overload, operator bool) []string {
	var out []string
	for i := range overloads {
		if s := overloads[i].signature(name, operator); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (o *Overload) signature(name string, operator bool) string {
	params, types := make([]string, len(o.Params)), make([]sqltype.Type, len(o.Params))
	open := sqltype.Of(sqltype.Invalid) // a type that is any
	for i, p := range o.Params {
		params[i] = p.family()
		switch p {
		case Any, Common, AnyElem, AnyStruct:
			types[i] = open
		case AsText:
			types[i] = sqltype.Of(sqltype.Utf8)
		case AnyList:
			types[i] = sqltype.ListOf(open)
		case pDecimal:
			types[i] = sqltype.DecimalOf(18, 2)
		default:
			types[i] = sqltype.Of(sqltype.Kind(p))
		}
	}
	result := "any"
	if t, err := o.Result(types); err == nil {
		result = resultFamily(t)
	}
	if operator {
		switch len(params) {
		case 1:
			return fmt.Sprintf("%s %s → %s", name, params[0], result)
		case 2:
			return fmt.Sprintf("%s %s %s → %s", params[0], name, params[1], result)
		}
	}
	dots := ""
	if o.Variadic {
		dots = ", …"
	}
	return fmt.Sprintf("%s(%s%s) → %s", name, strings.Join(params, ", "), dots, result)
}

// family is a parameter for people: integer for any of the eight types.
func (p Parameter) family() string {
	if slices.Contains(integers, p) {
		return "integer"
	}
	switch p {
	case pDecimal:
		return "DECIMAL"
	case pDouble, pFloat:
		return "float"
	case Any, AsText:
		return "any"
	case Common:
		return "common"
	case AnyElem:
		return "element"
	case AnyList:
		return "list"
	case AnyStruct:
		return "struct"
	}
	return p.String()
}

func resultFamily(t sqltype.Type) string {
	switch {
	case t.Kind == sqltype.Invalid:
		return "any"
	case t.Kind == sqltype.List && t.Elem.Kind == sqltype.Invalid, t.Kind == sqltype.List && t.Elem.Kind == sqltype.Null:
		return "list"
	case t.Kind == sqltype.List:
		return resultFamily(*t.Elem) + "[]"
	case t.Kind == sqltype.Struct:
		return "struct"
	case t.IsInteger():
		return "integer"
	case t.Kind == sqltype.Decimal:
		return "DECIMAL"
	case t.IsFloat():
		return "float"
	}
	return t.String()
}

// ShowColumns are the columns of SHOW FUNCTIONS, all VARCHAR.
var ShowColumns = []string{"name", "kind", "group", "signatures", "aliases", "nulls", "source", "description"}

// ShowFunctions are the rows of SHOW FUNCTIONS, of the columns ShowColumns.
func ShowFunctions() [][]Value {
	var rows [][]Value
	for _, l := range Listings() {
		row := make([]Value, 0, len(ShowColumns))
		for _, s := range []string{l.Name, l.Kind, l.Group, strings.Join(l.Signatures, "; "), strings.Join(l.Aliases, ", "), l.Nulls, l.Source, l.Doc} {
			row = append(row, StringValue(s))
		}
		rows = append(rows, row)
	}
	return rows
}

// FunctionsPage is docs/functions.md.
func FunctionsPage() string {
	var b strings.Builder
	b.WriteString(`# Functions

This page is made from the table that resolves functions, and a test compares the two: ` + "`SHOW FUNCTIONS`" + ` gives the same rows.
In signatures *integer* is any integer type, *float* DOUBLE PRECISION or REAL; *any* takes every type, *common* arguments are brought to the
type that they share, and so are *element* arguments and the elements of *list* arguments. An argument of another type is converted
where nothing can be lost. "NULL" says what becomes of an argument that is NULL; "source" is whose manual says the rest.
`)
	group := ""
	for _, l := range Listings() {
		if l.Group != group {
			group = l.Group
			fmt.Fprintf(&b, "\n## %s\n\n| function | meaning | NULL | source |\n| --- | --- | --- | --- |\n", group)
		}
		name := "`" + strings.Join(l.Signatures, "` <br> `") + "`"
		if len(l.Aliases) > 0 {
			name += " <br> also `" + strings.Join(l.Aliases, "`, `") + "`"
		}
		cells := []string{name, l.Doc, l.Nulls, l.Source}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}
