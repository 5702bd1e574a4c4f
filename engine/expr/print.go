package expr

import (
	"strconv"
	"strings"
)

// The binding strengths of what String writes, weakest first.
const (
	precOr = iota + 1
	precAnd
	precNot
	precIs
	precCompare
	precOther // ||, ~, & and any operator without a level of its own
	precAdd
	precMul
	precPow
	precUnary
	precLeaf
)

var operatorPrec = map[string]int{"+": precAdd, "-": precAdd, "*": precMul, "/": precMul, "%": precMul, "//": precMul, "^": precPow}

// String is e as SQL writes it, for EXPLAIN and messages: columns by name, casts as x::type, no more parentheses than needed.
func String(e Expr) string {
	var p printer
	p.print(e, 0)
	return p.String()
}

// AggregateString is a as SQL writes it: "sum(DISTINCT x) FILTER (WHERE y > 1)".
func AggregateString(a Aggregate) string {
	var p printer
	if a.Func == "count_star" {
		p.WriteString("count(*)")
	} else {
		p.WriteString(a.Func + "(")
		if a.Distinct {
			p.WriteString("DISTINCT ")
		}
		p.list(a.Args)
		for i, o := range a.OrderBy {
			p.WriteString([]string{" ORDER BY ", ", "}[b2i(i > 0)])
			p.print(o.Expr, 0)
			if o.Desc {
				p.WriteString(" DESC")
			}
			if o.NullsFirst != o.Desc {
				p.WriteString([]string{" NULLS LAST", " NULLS FIRST"}[b2i(o.NullsFirst)])
			}
		}
		p.WriteString(")")
	}
	if a.Filter != nil {
		p.WriteString(" FILTER (WHERE ")
		p.print(a.Filter, 0)
		p.WriteString(")")
	}
	return p.String()
}

type printer struct{ strings.Builder }

// print writes e, in parentheses where it binds weaker than its place.
func (p *printer) print(e Expr, place int) {
	if prec := precedence(e); prec < place {
		p.WriteByte('(')
		defer p.WriteByte(')')
	}
	switch e := e.(type) {
	case *Column:
		p.WriteString(e.Name)
	case *Input:
		if e.Name == "" {
			p.WriteString("#" + strconv.Itoa(e.Index))
			return
		}
		p.WriteString(e.Name)
	case *Literal:
		p.WriteString(e.Value.SQL())
	case *Param:
		p.WriteString("$" + strconv.Itoa(e.Number))
	case *Compare:
		p.binary(e.L, " "+e.Op.String()+" ", e.R, precCompare)
	case *Logic:
		prec := precedence(e)
		for i, a := range e.Args {
			if i > 0 {
				p.WriteString(" " + e.Op.String() + " ")
			}
			p.print(a, prec+1)
		}
	case *Not:
		if c, ok := e.X.(*Call); ok && p.predicate(c, "NOT ") {
			return
		}
		p.WriteString("NOT ")
		p.print(e.X, precNot)
	case *IsNull:
		p.print(e.X, precIs+1)
		p.WriteString([]string{" IS NULL", " IS NOT NULL"}[b2i(e.Negated)])
	case *Case:
		p.WriteString("CASE")
		for _, w := range e.Whens {
			p.WriteString(" WHEN ")
			p.print(w.Cond, 0)
			p.WriteString(" THEN ")
			p.print(w.Then, 0)
		}
		if e.Else != nil {
			p.WriteString(" ELSE ")
			p.print(e.Else, 0)
		}
		p.WriteString(" END")
	case *Cast:
		if e.Try {
			p.WriteString("TRY_CAST(")
			p.print(e.X, 0)
			p.WriteString(" AS " + e.To.String() + ")")
			return
		}
		p.print(e.X, precLeaf)
		p.WriteString("::" + e.To.String())
	case *In:
		p.print(e.X, precCompare+1)
		p.WriteString([]string{" IN (", " NOT IN ("}[b2i(e.Negated)])
		for i, v := range e.List {
			if i > 0 {
				p.WriteString(", ")
			}
			p.WriteString(v.SQL())
		}
		p.WriteByte(')')
	case *Call:
		p.call(e)
	}
}

func (p *printer) call(e *Call) {
	f := LookupFunction(e.Func)
	switch {
	case p.predicate(e, ""):
	case e.Func == "make_array":
		p.WriteByte('[')
		p.list(e.Args)
		p.WriteByte(']')
	case e.Func == "row" && len(e.Typ.Fields) == len(e.Args):
		p.WriteByte('{')
		for i, a := range e.Args {
			if i > 0 {
				p.WriteString(", ")
			}
			p.WriteString("'" + strings.ReplaceAll(e.Typ.Fields[i].Name, "'", "''") + "': ")
			p.print(a, 0)
		}
		p.WriteByte('}')
	case e.Func == "struct_extract":
		p.field(e)
	case f != nil && f.Operator && len(e.Args) == 2:
		p.binary(e.Args[0], " "+e.Func+" ", e.Args[1], precedence(e))
	case f != nil && f.Operator && len(e.Args) == 1:
		p.WriteString(e.Func)
		p.print(e.Args[0], precLeaf)
	default:
		p.WriteString(e.Func + "(")
		p.list(e.Args)
		p.WriteByte(')')
	}
}

// field writes the part of a struct by its name.
func (p *printer) field(e *Call) {
	l, ok := e.Args[len(e.Args)-1].(*Literal)
	fields := e.Args[0].Type().Fields
	if !ok || l.Value.Int < 1 || l.Value.Int > int64(len(fields)) {
		p.WriteString("struct_extract(")
		p.list(e.Args)
		p.WriteByte(')')
		return
	}
	p.WriteByte('(')
	p.print(e.Args[0], 0)
	p.WriteString(")." + fields[l.Value.Int-1].Name)
}

var predicates = map[string]string{"like": "LIKE ", "ilike": "ILIKE ", "similar_to": "SIMILAR TO "}

func isPredicate(e *Call) bool {
	return predicates[e.Func] != "" && (len(e.Args) == 2 || len(e.Args) == 3)
}

// predicate writes LIKE and its kin between their operands; false for any other call.
func (p *printer) predicate(e *Call, not string) bool {
	if !isPredicate(e) {
		return false
	}
	word := predicates[e.Func]
	p.binary(e.Args[0], " "+not+word, e.Args[1], precCompare)
	if len(e.Args) == 3 {
		p.WriteString(" ESCAPE ")
		p.print(e.Args[2], precCompare+1)
	}
	return true
}

func (p *printer) binary(l Expr, op string, r Expr, prec int) {
	left := prec
	if prec == precCompare {
		left++ // comparisons do not chain
	}
	p.print(l, left)
	p.WriteString(op)
	p.print(r, prec+1)
}

func (p *printer) list(args []Expr) {
	for i, a := range args {
		if i > 0 {
			p.WriteString(", ")
		}
		p.print(a, 0)
	}
}

func precedence(e Expr) int {
	switch e := e.(type) {
	case *Logic:
		if e.Op == Or {
			return precOr
		}
		return precAnd
	case *Not:
		if c, ok := e.X.(*Call); ok && isPredicate(c) {
			return precCompare
		}
		return precNot
	case *IsNull:
		return precIs
	case *Compare, *In:
		return precCompare
	case *Literal:
		if text := e.Value.SQL(); strings.HasPrefix(text, "-") {
			return precUnary
		}
	case *Call:
		f := LookupFunction(e.Func)
		switch {
		case isPredicate(e):
			return precCompare
		case f != nil && f.Operator && len(e.Args) == 1:
			return precUnary
		case f != nil && f.Operator && len(e.Args) == 2:
			if prec := operatorPrec[e.Func]; prec > 0 {
				return prec
			}
			return precOther
		}
	}
	return precLeaf
}
