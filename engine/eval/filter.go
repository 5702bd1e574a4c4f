package eval

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A Filter narrows batches to the rows for which a condition is true. Its conjuncts run one after the other, each on what
// those before it left: first those that cannot fail, the most rows dropped per nanosecond first – which it learns as it goes –
// then those that can, in the order they were written, so that x <> 0 AND 1/x > 2 is safe. It is for one goroutine.
type Filter struct {
	in      *instance
	terms   []term
	safe    int // terms before it cannot fail and may change places
	batches int
	open    []uint64
	sel     []int32
	out     []int32
	t       truth
}

// A term is one conjunct, or all conjuncts over one column.
type term struct {
	root      node
	on        scope
	cost      float64 // nanoseconds per row
	seen, hit float64 // rows, halved now and then
}

// NewFilter compiles cond and makes the Filter of one goroutine. It fails as Compile does. ctx is as in NewEvaluator.
func NewFilter(ctx context.Context, cond expr.Expr, batchRows int) (*Filter, error) {
	if cond != nil {
		if err := expr.Validate(cond); err != nil {
			return nil, err
		}
		if cond.Type().Kind != sqltype.Bool {
			return nil, sqlerr.Newf(sqlerr.InvalidPlan, cond.Pos(), "a condition is of type %s", cond.Type())
		}
	}
	f := &Filter{in: &instance{ctx: ctx}}
	f.in.identity(batchRows)
	var risky []term
	for _, e := range groupByColumn(expr.Conjuncts(cond)) {
		make, err := (&compiler{}).compile(e)
		if err != nil {
			return nil, err
		}
		t := term{root: make(f.in), on: scopeOf(e), cost: float64(cost(e)) / 4}
		if fallible(e) {
			risky = append(risky, t)
			continue
		}
		f.terms = append(f.terms, t)
	}
	f.safe = len(f.terms)
	slices.SortStableFunc(f.terms, func(a, b term) int { return cmp.Compare(a.cost, b.cost) })
	f.terms = append(f.terms, risky...)
	return f, nil
}

// groupByColumn joins the conjuncts over one column that cannot fail, so that a dictionary of it is looked up once.
func groupByColumn(conjuncts []expr.Expr) []expr.Expr {
	var out []expr.Expr
	at := map[int]int{}
	for _, e := range conjuncts {
		column, ok := soleColumn(e)
		if !ok || fallible(e) {
			out = append(out, e)
			continue
		}
		if i, seen := at[column.Index]; seen {
			out[i] = expr.NewAnd(out[i], e)
			continue
		}
		at[column.Index] = len(out)
		out = append(out, e)
	}
	return out
}

// Apply narrows b.Sel to the rows for which the condition is true. What it sets b.Sel to is valid until the next call. An
// error is a *sqlerr.Error and leaves b as it was.
func (f *Filter) Apply(b *vector.Batch) error {
	open := openRows(&f.open, frame{n: b.Len, sel: b.Sel})
	count, err := f.Mark(b, open)
	if err != nil || count == b.Rows() {
		return err
	}
	out := grow(&f.out, max(b.Len, 1))
	b.Sel = out[:kernel.ToSelection(out, open, b.Len)]
	return nil
}

// Mark clears the bits of open – b.Len of them, set only for rows that are alive – whose row the condition is not true for, and
// gives how many are left. After an error open is undefined.
func (f *Filter) Mark(b *vector.Batch, open []uint64) (int, error) {
	f.in.mem.reset()
	all := frame{cols: b.Cols, n: b.Len, sel: b.Sel}
	measure := f.batches&15 == 0 || f.batches < 4
	f.batches++
	count := kernel.Count(open)
	if count < all.live() { // the caller has dropped rows already
		sel := grow(&f.out, max(b.Len, 1))
		all = all.only(sel[:kernel.ToSelection(sel, open, b.Len)])
	}
	for i := range f.terms {
		if count == 0 {
			return 0, nil
		}
		t := &f.terms[i]
		var start time.Time
		if measure {
			start = time.Now()
		}
		g := narrow(all, t.root, open, count, t.on, &f.sel)
		v, err := t.root.eval(g)
		if err != nil {
			return 0, err
		}
		if v.IsConstNull() {
			clear(open)
			return 0, nil
		}
		f.t.load(v, g)
		kernel.And(open, open, f.t.bits[:len(open)])
		if v.Valid != nil && v.Form != vector.Const {
			kernel.And(open, open, v.Valid[:len(open)])
		}
		before := count
		count = kernel.Count(open)
		t.seen, t.hit = t.seen+float64(before), t.hit+float64(count)
		if measure {
			t.cost = (t.cost + float64(time.Since(start))/float64(before)) / 2
		}
	}
	if measure && f.safe > 1 {
		f.reorder()
	}
	return count, nil
}

// reorder puts the terms that cannot fail into the order that costs least: by cost per row dropped.
func (f *Filter) reorder() {
	slices.SortStableFunc(f.terms[:f.safe], func(a, b term) int { return cmp.Compare(a.price(), b.price()) })
	for i := range f.terms {
		f.terms[i].seen /= 2
		f.terms[i].hit /= 2
	}
}

func (t term) price() float64 { return t.cost * (t.seen + 1) / (t.seen - t.hit + 0.1) }
