// Package expr holds bound expressions: every column, function and type is resolved, nothing is computed. It is used by
// logical plans (columns by id) and physical plans (columns by position) alike, and must never know how either runs.
package expr

import (
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A ColumnID names a column of a logical plan, unique in one query: wherever the column travels, its id stays.
type ColumnID int32

// An Expr is a bound scalar expression: an inert, immutable value. The set of its types is closed.
type Expr interface {
	Type() sqltype.Type
	Pos() sqlerr.Pos // where it stands in the statement; zero if nowhere or no longer known
	isExpr()
}

// At is the place of an expression, embedded in every node. Places are not part of an expression's identity.
type At struct{ P sqlerr.Pos }

// Pos is the place.
func (a At) Pos() sqlerr.Pos { return a.P }
func (At) isExpr()           {}

type (
	// A Column is a column of a logical plan, by id. No physical plan holds one.
	Column struct {
		At
		ID       ColumnID
		Name     string // for people
		Typ      sqltype.Type
		Nullable bool
	}

	// An Input is a column of a physical operator's input, by position.
	Input struct {
		At
		Index    int
		Name     string // for people
		Typ      sqltype.Type
		Nullable bool
	}

	// A Literal is a constant.
	Literal struct {
		At
		Value Value
	}

	// A Param is a parameter of a prepared statement, numbered from 1. It is replaced before a plan runs.
	Param struct {
		At
		Number int
		Typ    sqltype.Type
	}

	// A Compare compares two operands of the same type, which binding has brought about.
	Compare struct {
		At
		Op   CompareOp
		L, R Expr
	}

	// A Logic is AND or OR of two or more operands, flattened.
	Logic struct {
		At
		Op   LogicOp
		Args []Expr
	}

	// Not is NOT x.
	Not struct {
		At
		X Expr
	}

	// IsNull is x IS NULL, or IS NOT NULL where Negated.
	IsNull struct {
		At
		X       Expr
		Negated bool
	}

	// A Case is a searched CASE: the first When whose condition is true gives the result, then Else (nil: NULL).
	// Only the chosen arm is evaluated on a row.
	Case struct {
		At
		Whens []When
		Else  Expr
		Typ   sqltype.Type
	}

	// A Cast turns X into a value of type To; where it cannot it is an error, or NULL if Try.
	Cast struct {
		At
		X   Expr
		To  sqltype.Type
		Try bool
	}

	// An In is x [NOT] IN (values): the values are of x's type and constant. NULL among them counts as in SQL.
	In struct {
		At
		X       Expr
		List    []Value
		Negated bool
	}

	// A Call is a scalar function or operator, by its canonical name in Functions, with arguments already coerced to the
	// types of the chosen overload.
	Call struct {
		At
		Func string
		Args []Expr
		Typ  sqltype.Type
		User *function.Signature // nil: built in
	}
)

// A When is one arm of a Case.
type When struct{ Cond, Then Expr }

// A CompareOp is a comparison.
type CompareOp uint8

// The comparisons. Distinct and NotDistinct treat NULL as a value and are never NULL themselves.
const (
	Eq CompareOp = iota
	Ne
	Lt
	Le
	Gt
	Ge
	Distinct
	NotDistinct
)

var compareNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

func (op CompareOp) String() string {
	if int(op) >= len(compareNames) {
		return "?"
	}
	return compareNames[op]
}

// Flip is the operator for swapped operands: a op b is b op.Flip() a.
func (op CompareOp) Flip() CompareOp {
	switch op {
	case Lt:
		return Gt
	case Le:
		return Ge
	case Gt:
		return Lt
	case Ge:
		return Le
	}
	return op
}

// Negate is the operator that is true where op is false and NULL where it is NULL.
func (op CompareOp) Negate() CompareOp {
	return [...]CompareOp{Ne, Eq, Ge, Gt, Le, Lt, NotDistinct, Distinct}[op]
}

// A LogicOp is AND or OR.
type LogicOp uint8

// The logical operators.
const (
	And LogicOp = iota
	Or
)

func (op LogicOp) String() string {
	if op == And {
		return "AND"
	}
	return "OR"
}

var boolean = sqltype.Of(sqltype.Bool)

// Type is the column's.
func (e *Column) Type() sqltype.Type { return e.Typ }

// Type is the column's.
func (e *Input) Type() sqltype.Type { return e.Typ }

// Type is the value's.
func (e *Literal) Type() sqltype.Type { return e.Value.Type }

// Type is what binding gave the parameter.
func (e *Param) Type() sqltype.Type { return e.Typ }

// Type is BOOLEAN.
func (e *Compare) Type() sqltype.Type { return boolean }

// Type is BOOLEAN.
func (e *Logic) Type() sqltype.Type { return boolean }

// Type is BOOLEAN.
func (e *Not) Type() sqltype.Type { return boolean }

// Type is BOOLEAN.
func (e *IsNull) Type() sqltype.Type { return boolean }

// Type is the common type of the arms.
func (e *Case) Type() sqltype.Type { return e.Typ }

// Type is the target.
func (e *Cast) Type() sqltype.Type { return e.To }

// Type is BOOLEAN.
func (e *In) Type() sqltype.Type { return boolean }

// Type is the result type of the chosen overload.
func (e *Call) Type() sqltype.Type { return e.Typ }

// An Aggregate is a call of an aggregate function, by its canonical name in Aggregates. count(*) has no arguments.
type Aggregate struct {
	At
	Func     string
	Args     []Expr
	Distinct bool
	Filter   Expr        // nil: every row counts
	OrderBy  []SortOrder // of an aggregate that depends on the order of its input
	Typ      sqltype.Type
	User     *function.Signature // nil: built in
}

// A SortOrder is one key of an ordering.
type SortOrder struct {
	Expr       Expr
	Desc       bool
	NullsFirst bool
}

// Children are e's direct operands, in order; nil for a leaf.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Compare:
		return []Expr{e.L, e.R}
	case *Logic:
		return e.Args
	case *Not:
		return []Expr{e.X}
	case *IsNull:
		return []Expr{e.X}
	case *Case:
		kids := make([]Expr, 0, 2*len(e.Whens)+1)
		for _, w := range e.Whens {
			kids = append(kids, w.Cond, w.Then)
		}
		if e.Else != nil {
			kids = append(kids, e.Else)
		}
		return kids
	case *Cast:
		return []Expr{e.X}
	case *In:
		return []Expr{e.X}
	case *Call:
		return e.Args
	}
	return nil
}

// Map is e with every direct operand x replaced by f(x), and e itself when none changed.
func Map(e Expr, f func(Expr) Expr) Expr {
	switch e := e.(type) {
	case *Compare:
		if l, r := f(e.L), f(e.R); l != e.L || r != e.R {
			c := *e
			c.L, c.R = l, r
			return &c
		}
	case *Logic:
		if args, changed := mapAll(e.Args, f); changed {
			c := *e
			c.Args = args
			return &c
		}
	case *Not:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *IsNull:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *Case:
		c, changed := *e, false
		c.Whens = make([]When, len(e.Whens))
		for i, w := range e.Whens {
			c.Whens[i] = When{f(w.Cond), f(w.Then)}
			changed = changed || c.Whens[i] != w
		}
		if e.Else != nil {
			c.Else = f(e.Else)
			changed = changed || c.Else != e.Else
		}
		if changed {
			return &c
		}
	case *Cast:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *In:
		if x := f(e.X); x != e.X {
			c := *e
			c.X = x
			return &c
		}
	case *Call:
		if args, changed := mapAll(e.Args, f); changed {
			c := *e
			c.Args = args
			return &c
		}
	}
	return e
}

func mapAll(in []Expr, f func(Expr) Expr) ([]Expr, bool) {
	out, changed := make([]Expr, len(in)), false
	for i, x := range in {
		out[i] = f(x)
		changed = changed || out[i] != x
	}
	return out, changed
}

// Walk calls f for e and everything below it, parents first; where f gives false, the operands are left out.
func Walk(e Expr, f func(Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	for _, x := range Children(e) {
		Walk(x, f)
	}
}
