package exec

import (
	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A formula is an expression of an operator, ready to be evaluated by any number of goroutines.
type formula struct {
	program *eval.Program
	column  int // of a bare column, which needs no evaluation; else −1
}

func compileFormula(e expr.Expr) (formula, error) {
	if in, ok := e.(*expr.Input); ok {
		return formula{column: in.Index}, nil
	}
	p, err := eval.Compile(e)
	return formula{program: p, column: -1}, err
}

func compileFormulas(exprs []expr.Expr) ([]formula, error) {
	out := make([]formula, len(exprs))
	for i, e := range exprs {
		var err error
		if out[i], err = compileFormula(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// A computer evaluates formulas for one goroutine.
type computer struct {
	column    int
	evaluator *eval.Evaluator
}

func (f formula) computer(env *Env) computer {
	if f.column >= 0 {
		return computer{column: f.column}
	}
	return computer{column: -1, evaluator: f.program.NewEvaluator(env.context(), env.BatchRows)}
}

func computers(fs []formula, env *Env) []computer {
	out := make([]computer, len(fs))
	for i, f := range fs {
		out[i] = f.computer(env)
	}
	return out
}

// eval is the formula's value for the rows of b that are alive, a column of b.Len rows; valid until the next call.
func (c computer) eval(b *vector.Batch) (*vector.Vector, error) {
	if c.column >= 0 {
		return b.Cols[c.column], nil
	}
	return c.evaluator.Eval(b)
}

// evalAll stores the value of each of cs in out.
func evalAll(cs []computer, b *vector.Batch, out []*vector.Vector) error {
	for i, c := range cs {
		v, err := c.eval(b)
		if err != nil {
			return err
		}
		out[i] = v
	}
	return nil
}
