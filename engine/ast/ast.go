// Package ast is the tree that a SQL text becomes: inert structs, each with the place in the text that it came from.
// It says what was written, not what it means: names are unresolved, types are words, no literal has been converted.
// It must never know the catalog, the types of columns, or anything that runs.
package ast

import "github.com/fletchdb/fletch/engine/sqlerr"

// MaxDepth bounds the height of every tree that the parser returns, so that whoever walks one may simply recurse. AND, OR
// and every kind of list are flat nodes and may be as long as the statement; what nests, or chains to the left (a + b + c,
// joins, set operations), is refused with code statement_too_complex beyond this depth.
const MaxDepth = 10_000

// A Node is any part of a statement. The closed interfaces Statement, QueryBody, SelectItem, TableRef and Expr say which
// nodes may stand where; Children gives what is below one. Nodes are shared and never changed once parsed.
type Node interface {
	// At is the node's place in the text that was given to the parser: all of its bytes, without parentheses around it.
	At() sqlerr.Pos
}

// A Span is the part that all nodes share: their place.
type Span struct {
	Pos sqlerr.Pos
}

// At is the place itself.
func (s Span) At() sqlerr.Pos { return s.Pos }

// An Ident is one name. Name is what it stands for: unquoted names folded to lower case (ASCII letters only, as in
// PostgreSQL), quoted ones as they are, with doubled quotes resolved. It is never empty in a parsed tree.
type Ident struct {
	Span
	Name   string
	Quoted bool
}

// An ObjectName is the possibly qualified name of a table, view, schema, function, collation or setting: catalog, schema,
// name. It has at least one part.
type ObjectName struct {
	Span
	Parts []Ident
}

// Last is the name without its qualifiers.
func (n ObjectName) Last() Ident { return n.Parts[len(n.Parts)-1] }

// String is the parts joined by dots without any quoting: for messages and for look-ups of one fixed spelling.
func (n ObjectName) String() string {
	if len(n.Parts) == 1 {
		return n.Parts[0].Name
	}
	s := n.Parts[0].Name
	for _, p := range n.Parts[1:] {
		s += "." + p.Name
	}
	return s
}
