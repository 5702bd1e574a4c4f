// Package function is what a program gives Fletch for SQL to call: scalar and aggregate functions in Go over Arrow arrays. It knows
// types and arrays; it must never know a statement, a plan or how either runs.
package function

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// A Volatility says what a function's result depends on.
type Volatility uint8

// The volatilities, as in PostgreSQL. Only an Immutable function is folded into a constant or computed once per dictionary.
const (
	Immutable Volatility = iota // its arguments
	Stable                      // its arguments and the query
	Volatile                    // each call may give another result
)

func (v Volatility) String() string {
	switch v {
	case Immutable:
		return "immutable"
	case Stable:
		return "stable"
	}
	return "volatile"
}

// Nulls says what becomes of NULL arguments.
type Nulls uint8

// What there is. A Strict scalar function gives NULL for a row with a NULL argument, and does not see it; a Strict aggregate passes
// over such a row.
const (
	Strict Nulls = iota
	Called       // the function sees NULL like any value
)

// A Function is a Scalar or an Aggregate. It is given to engine.WithFunction or worker.WithFunction, which check it.
type Function interface{ isFunction() }

// A Scalar is a function of the values of a row.
type Scalar struct {
	// Name is what SQL calls it by: a lower-case letter or _, then those and digits, at most 63, no built-in function's.
	Name string
	// Signatures are its lists of parameters with their result, each as SQL text: "(BIGINT, VARCHAR) RETURNS DOUBLE PRECISION". VARIADIC
	// before the last type lets it be repeated. The nearest to a call's arguments is taken, which are then converted to its types.
	Signatures []string
	// Call computes it. It is called from several goroutines at once.
	Call Call
	// Version is the version of what it computes, which must change when its answers do: at most 128 bytes of UTF-8 without control
	// characters. Workers that differ in it never meet in one query.
	Version    string
	Volatility Volatility
	Nulls      Nulls
	Doc        string // one sentence for SHOW FUNCTIONS
}

// A Call computes a function's results for some rows. There is one argument per parameter, of rows values each, of the Arrow types that
// arrowio.TypeOf says in form Wide: a BIGINT is an *array.Int64, a VARCHAR an *array.String, a DECIMAL an *array.Decimal128. They are the
// caller's and are not kept: to give one back as the result, retain it. The result, which becomes the caller's, has rows values of the Arrow type of the signature's result; a
// large string or a dictionary will do where a string would. An error fails the query, as does a panic. ctx is the query's.
type Call func(ctx context.Context, args []arrow.Array, rows int) (arrow.Array, error)

// An Aggregate is a function of the rows of a group. What it knows of a group is a state: columns of SQL types, which travel between
// workers.
type Aggregate struct {
	Name       string   // see Scalar.Name
	Signatures []string // see Scalar.Signatures; at least one parameter
	State      []string // types of the state's columns, 1 to 6, as SQL text
	// New makes the states of one goroutine. Aggregates that have the same arguments still get one each.
	New func() Accumulator
	// Finish makes results of states, one per row; see Call for the arrays.
	Finish  Call
	Version string // see Scalar.Version
	Nulls   Nulls
	Doc     string // one sentence for SHOW FUNCTIONS
}

// An Accumulator holds the states of groups, which are numbered from 0. Its methods are called by one goroutine at a time; arrays are the
// caller's and are not kept.
type Accumulator interface {
	// Grow tells that there are at least n groups from now on. A new one is empty: it is as if it had had no row.
	Grow(n int)
	// Update adds rows: row i of args belongs to groups[i], which is below the n of the last Grow.
	Update(ctx context.Context, args []arrow.Array, groups []uint32) error
	// Merge adds states that State gave, here or in another process: row i belongs to groups[i].
	Merge(ctx context.Context, state []arrow.Array, groups []uint32) error
	// State gives the states of some groups, one column per type of Aggregate.State. It changes nothing.
	State(ctx context.Context, groups []uint32) ([]arrow.Array, error)
	// Size is about how many bytes it holds, which count against the query's limit.
	Size() int64
}

func (Scalar) isFunction()    {}
func (Aggregate) isFunction() {}
