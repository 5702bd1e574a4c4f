package eval

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// A grower makes random expressions over columns of everyType.
type grower struct{ r *rand.Rand }

// leaf is a column or a constant of type t, kind for kind: decimals may have another precision, which a cast then settles.
func (g grower) leaf(t sqltype.Type) expr.Expr {
	var columns []int
	for i, c := range everyType {
		if c.Equal(t) {
			columns = append(columns, i)
		}
	}
	if len(columns) > 0 && g.r.IntN(3) > 0 {
		return input(columns[0], t)
	}
	if g.r.IntN(10) == 0 {
		return expr.Null(t, sqlerr.Pos{})
	}
	values := pool(t)
	return expr.NewLiteral(values[g.r.IntN(len(values))], sqlerr.Pos{})
}

func (g grower) anyType() sqltype.Type { return everyType[g.r.IntN(len(everyType))] }

// expr is a random expression of type t.
func (g grower) expr(t sqltype.Type, depth int) expr.Expr {
	if depth == 0 {
		return g.leaf(t)
	}
	switch g.r.IntN(8) {
	case 0:
		c := &expr.Case{Typ: t}
		for range 1 + g.r.IntN(2) {
			c.Whens = append(c.Whens, expr.When{Cond: g.expr(boolType, depth-1), Then: g.expr(t, depth-1)})
		}
		if g.r.IntN(2) == 0 {
			c.Else = g.expr(t, depth-1)
		}
		return c
	case 1:
		return &expr.Call{Func: []string{"coalesce", "nullif"}[g.r.IntN(2)], Args: []expr.Expr{g.expr(t, depth-1), g.expr(t, depth-1)}, Typ: t}
	case 2:
		if from := g.anyType(); expr.CastAllowed(from, t, expr.Explicit) && !from.Equal(t) {
			return &expr.Cast{X: g.expr(from, depth-1), To: t, Try: g.r.IntN(2) == 0}
		}
	}
	if t.Kind == sqltype.Bool {
		return g.condition(depth)
	}
	if e := g.arithmetic(t, depth); e != nil {
		return e
	}
	return g.leaf(t)
}

// arithmetic is a call whose result can be brought to t, nil where none was found.
func (g grower) arithmetic(t sqltype.Type, depth int) expr.Expr {
	ops := []string{"+", "-", "*", "/", "%", "||", "lower", "substring", "abs", "round", "year", "length"}
	for range 4 {
		name := ops[g.r.IntN(len(ops))]
		args := []expr.Expr{g.expr(t, depth-1)}
		switch name {
		case "substring":
			args = append(args, g.expr(of(sqltype.Int32), depth-1))
		case "lower", "abs", "round", "length", "year":
		default:
			other := t
			if t.IsNumeric() && g.r.IntN(2) == 0 {
				other = of(sqltype.Int32)
			}
			args = append(args, g.expr(other, depth-1))
		}
		e, err := expr.NewCall(name, args, sqlerr.Pos{})
		if err != nil {
			continue
		}
		if e.Type().Equal(t) {
			return e
		}
		if c, err := expr.NewCast(e, t, false, sqlerr.Pos{}); err == nil {
			return c
		}
	}
	return nil
}

func (g grower) condition(depth int) expr.Expr {
	t := g.anyType()
	switch g.r.IntN(7) {
	case 0:
		return &expr.Not{X: g.expr(boolType, depth-1)}
	case 1:
		return &expr.IsNull{X: g.expr(t, depth-1), Negated: g.r.IntN(2) == 0}
	case 2:
		in := &expr.In{X: g.expr(t, depth-1), Negated: g.r.IntN(2) == 0}
		for _, v := range pool(t) {
			if g.r.IntN(2) == 0 {
				in.List = append(in.List, v)
			}
		}
		if g.r.IntN(4) == 0 {
			in.List = append(in.List, expr.NullOf(t))
		}
		return in
	case 3, 4:
		args := make([]expr.Expr, 2+g.r.IntN(2))
		for i := range args {
			args[i] = g.expr(boolType, depth-1)
		}
		return &expr.Logic{Op: expr.LogicOp(g.r.IntN(2)), Args: args}
	case 5:
		text := of(sqltype.Utf8)
		patterns := []string{"%", "PRO%", "%a", "%x%", "_", "a__b", "%special%requests%", "%本_", ""}
		return &expr.Call{Func: "like", Args: []expr.Expr{g.expr(text, depth-1), expr.NewLiteral(expr.StringValue(patterns[g.r.IntN(len(patterns))]), sqlerr.Pos{})}, Typ: boolType}
	}
	return &expr.Compare{Op: expr.CompareOp(g.r.IntN(8)), L: g.expr(t, depth-1), R: g.expr(t, depth-1)}
}

// Random expressions over random batches: vectorised, folded and as a filter they are what the reference says.
func FuzzExpression(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 7))
		e := grower{r}.expr(grower{r}.anyType(), 1+r.IntN(4))
		if r.IntN(2) == 0 {
			e = grower{r}.expr(boolType, 1+r.IntN(4))
		}
		p, err := Compile(e)
		if err != nil {
			t.Fatalf("%s: %v", expr.String(e), err)
		}
		folded, err := Compile(Fold(e))
		if err != nil {
			t.Fatalf("%s: folded: %v", expr.String(e), err)
		}
		ev := p.NewEvaluator(context.Background(), 64)
		for _, rows := range []int{1, 7, 65, 300} {
			tr := trial{types: everyType, rows: rows, nulls: []float64{0, 0.2}[r.IntN(2)], alive: []float64{1, 0.5, 0.06}[r.IntN(3)], calm: r.IntN(2) == 0}
			for range everyType {
				tr.forms = append(tr.forms, forms[r.IntN(len(forms))])
			}
			data, b := tr.batch(r)
			check(t, e, ev, data, b)
			if e.Type().Kind == sqltype.Bool {
				checkFilter(t, e, data, b)
			}
			if _, err := ev.Eval(b); err == nil {
				check(t, e, folded.NewEvaluator(context.Background(), rows), data, b)
			}
		}
		clear(known)
	})
}

// wild is an expression whose parts need not fit.
func (g grower) wild(depth int) expr.Expr {
	if depth == 0 {
		return g.leaf(g.anyType())
	}
	args := make([]expr.Expr, g.r.IntN(4))
	for i := range args {
		args[i] = g.wild(depth - 1)
	}
	x := g.wild(depth - 1)
	switch g.r.IntN(6) {
	case 0:
		return &expr.Compare{Op: expr.CompareOp(g.r.IntN(8)), L: x, R: g.wild(depth - 1)}
	case 1:
		return &expr.Logic{Op: expr.And, Args: args}
	case 2:
		return &expr.Case{Whens: []expr.When{{Cond: g.wild(depth - 1), Then: x}}, Typ: g.anyType()}
	case 3:
		return &expr.Cast{X: x, To: g.anyType()}
	case 4:
		return &expr.In{X: x, List: pool(g.anyType())}
	}
	all := expr.Functions()
	return &expr.Call{Func: all[g.r.IntN(len(all))].Name, Args: args, Typ: g.anyType()}
}

// A plan may come from a process that is not of our version, or not a friend: what is ill typed is refused, never a panic.
func FuzzIllTyped(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		e := grower{r}.wild(1 + r.IntN(2))
		p, err := Compile(e)
		if err != nil {
			return
		}
		tr := trial{types: everyType, rows: 9, alive: 1, nulls: 0.1}
		for range everyType {
			tr.forms = append(tr.forms, forms[r.IntN(len(forms))])
		}
		_, b := tr.batch(r)
		_, _ = p.NewEvaluator(context.Background(), 9).Eval(b)
		b.Cols = b.Cols[3:] // and columns are not those that the expression was made for
		_, _ = p.NewEvaluator(context.Background(), 9).Eval(b)
	})
}

// A column of lists of another type than the plan says is refused: its bytes would be misread.
func TestNestedColumnOfAnotherType(t *testing.T) {
	texts, numbers := sqltype.ListOf(of(sqltype.Utf8)), sqltype.ListOf(of(sqltype.Int64))
	e, err := expr.NewCall("list_extract", []expr.Expr{input(0, numbers), expr.NewLiteral(expr.IntValue(of(sqltype.Int64), 1), sqlerr.Pos{})}, sqlerr.Pos{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	short := expr.NestedOf(texts, []expr.Value{expr.StringValue("a")})
	b := &vector.Batch{Len: 1, Cols: []*vector.Vector{columnOf(texts, []expr.Value{short}, nil, "flat")}}
	if _, err := p.NewEvaluator(context.Background(), 1).Eval(b); sqlerr.CodeOf(err) != sqlerr.InvalidPlan {
		t.Errorf("got %v, want invalid_plan", err)
	}
}
