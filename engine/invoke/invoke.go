// Package invoke calls the code of functions that are not built in: it hands it rows as Arrow arrays, trusts nothing that comes back,
// and makes of a panic an error that names the function. It must never know an expression's or an operator's place in a plan.
package invoke

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/arrowio"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A Caller calls code of one function, with columns of some types and results of others. It belongs to one goroutine.
type Caller struct {
	sig  *function.Signature
	pos  sqlerr.Pos
	in   *arrowio.Builder
	out  []physical.Field
	read *arrowio.Reader
	held arrow.RecordBatch // what the last results point into
}

// New makes a Caller for a call at pos. It fails with code invalid_plan where this process does not have the code.
func New(sig *function.Signature, in, out []sqltype.Type, pos sqlerr.Pos) (*Caller, error) {
	if !sig.Runs() {
		return nil, sqlerr.Newf(sqlerr.InvalidPlan, pos, "invalid plan: this process does not have function %s", sig)
	}
	c := &Caller{sig: sig, pos: pos, out: fields(out)}
	var err error
	if c.in, err = arrowio.NewBuilder(fields(in), arrowio.Wide); err != nil {
		return nil, err
	}
	schema, err := arrowio.SchemaOf(c.out, arrowio.Wide)
	if err != nil {
		return nil, err
	}
	c.read, err = arrowio.NewReader(c.out, schema)
	return c, err
}

func fields(ts []sqltype.Type) []physical.Field {
	out := make([]physical.Field, len(ts))
	for i, t := range ts {
		out[i] = physical.Field{Name: fmt.Sprint(i + 1), Type: t, Nullable: true}
	}
	return out
}

// Do gives f the rows sel – nil: all n – of cols as arrays. What f does wrong is an error at the call's place: its own error, unless it is
// the end of ctx, has code external_routine_exception, as has a panic.
func (c *Caller) Do(ctx context.Context, cols []*vector.Vector, n int, sel []int32, f func(args []arrow.Array, rows int) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := c.in.Append(&vector.Batch{Cols: cols, Len: n, Sel: sel}); err != nil {
		return err
	}
	rec := c.in.Finish()
	defer rec.Release()
	return c.Guard(ctx, func() error { return f(rec.Columns(), int(rec.NumRows())) })
}

// Guard runs code of the function, as Do does.
func (c *Caller) Guard(ctx context.Context, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e := c.fail("panicked: %v", p)
			e.Err = fmt.Errorf("%v\n%s", p, debug.Stack())
			err = e
		}
	}()
	err = f()
	var own *sqlerr.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &own) && own.Code == sqlerr.FunctionFailed:
		return err
	}
	e := c.fail("failed: %v", err)
	e.Err = err
	return e
}

func (c *Caller) fail(format string, args ...any) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.FunctionFailed, c.pos, "function %s %s", c.sig.Name, fmt.Sprintf(format, args...)).
		WithHint("the fault is in the function's own code, %s", c.sig)
}

// Results are what the function gave, rows of each, as columns. They are released, and the columns valid until the next call. Arrays of
// another number, length or type fail with code external_routine_exception.
func (c *Caller) Results(ctx context.Context, arrays []arrow.Array, rows int) (cols []*vector.Vector, err error) {
	c.Release()
	err = c.Guard(ctx, func() error {
		if len(arrays) != len(c.out) {
			return c.fail("gave %d columns where %d are due", len(arrays), len(c.out))
		}
		list := make([]arrow.Field, len(arrays))
		for i, a := range arrays {
			if a == nil {
				return c.fail("gave no array")
			}
			t, ok := arrowio.SQLType(a.DataType())
			switch {
			case !ok || !t.Equal(c.out[i].Type):
				return c.fail("gave a column of type %v where %s is due", a.DataType(), c.out[i].Type)
			case a.Len() != rows:
				return c.fail("gave %d values where %d are due", a.Len(), rows)
			}
			list[i] = arrow.Field{Name: c.out[i].Name, Type: a.DataType(), Nullable: true}
		}
		c.held = array.NewRecordBatch(arrow.NewSchema(list, nil), arrays, int64(rows))
		for _, a := range arrays {
			a.Release()
		}
		b, err := c.read.Batch(c.held)
		if err != nil {
			return c.fail("gave a broken array: %v", err)
		}
		cols = b.Cols
		return nil
	})
	return cols, err
}

// Release gives back what the last results point into.
func (c *Caller) Release() {
	if c.held != nil {
		c.held.Release()
		c.held = nil
	}
}
