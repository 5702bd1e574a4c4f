// Package optimize makes a logical plan cheaper without changing what it gives: a fixed list of rules, each in its own file with
// its golden cases. It must never know how a plan is laid out, run or spread over workers.
package optimize

import (
	"context"

	"github.com/fletchdb/fletch/engine/estimate"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// A Config says what to do besides optimizing. The zero Config does nothing.
type Config struct {
	// Trace is called with the plan as it came, rule "", and after each rule that changed it.
	Trace func(rule string, root logical.Node)
	// Until, if not empty, is the last rule to run: for tests and for people who look for a rule's fault.
	Until string
	// OrderSeed, if not 0, makes order_joins choose by expectations that are off by factors which follow from it: for judging whether
	// the order chosen by the true ones is any good.
	OrderSeed uint64
}

// A rule rewrites a plan, or gives back the node that it was given where it has nothing to do. It keeps the root's columns.
type rule struct {
	name  string
	apply func(o *optimizer, root logical.Node) (logical.Node, error)
}

// rules, in the order in which they run. Each needs what those before it leave and no more.
var rules = []rule{
	{"fold", fold},                          // constants, and conditions that say the same in fewer words
	{"unnest", unnest},                      // no Apply is left
	{"normalize_joins", normalizeJoins},     // right joins are left ones, outer joins that cannot show it are inner ones
	{"factor_or", factorOr},                 // what all arms of an OR have in common, and what they imply for one table
	{"infer_constants", inferConstants},     // what equalities say of other columns
	{"push_filter", pushFilter},             // conditions where they first can be decided
	{"order_joins", orderJoins},             // inner, left, semi and anti joins in the cheapest order, the smaller side built
	{"simplify_groups", simplifyGroups},     // group keys that others decide
	{"split_distinct", splitDistinct},       // count(DISTINCT x) as a count of distinct rows
	{"push_limit", pushLimit},               // a limit below what keeps rows, a limited sort as a top-n
	{"drop_redundant", dropRedundant},       // sorts, DISTINCTs and projections that do nothing
	{"prune_columns", pruneColumns},         // columns that nobody reads
	{"share_expressions", shareExpressions}, // what several expressions compute
	{"runtime_filters", runtimeFilters},     // joins tell scans what they will drop
}

// Rules are the names of the rules, in order.
func Rules() []string {
	out := make([]string, len(rules))
	for i, r := range rules {
		out[i] = r.name
	}
	return out
}

// Plan runs the rules over a bound plan. The result has the same columns under the same names. It fails with code
// feature_not_supported for a subquery that cannot be turned into joins, with what folding a constant gives, and with ctx's cause
// once that has ended.
func Plan(ctx context.Context, p *logical.Plan, cfg Config) (*logical.Plan, error) {
	return apply(ctx, rules, p, cfg)
}

func apply(ctx context.Context, rules []rule, p *logical.Plan, cfg Config) (*logical.Plan, error) {
	o := &optimizer{ctx: ctx, est: estimate.New(), last: greatest(p.Root), seed: cfg.OrderSeed}
	root := p.Root
	if cfg.Trace != nil {
		cfg.Trace("", root)
	}
	for _, r := range rules {
		next, err := r.apply(o, root)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := sameColumns(r.name, root, next); err != nil {
			return nil, err
		}
		if next != root && cfg.Trace != nil {
			cfg.Trace(r.name, next)
		}
		root = next
		if r.name == cfg.Until {
			break
		}
	}
	return &logical.Plan{Root: root, Names: p.Names}, nil
}

// sameColumns is the invariant of every rule: the root gives the same columns, ids and types, in the same order.
func sameColumns(rule string, before, after logical.Node) error {
	a, b := before.Columns(), after.Columns()
	same := len(a) == len(b)
	for i := 0; same && i < len(a); i++ {
		same = a[i].ID == b[i].ID && a[i].Typ.Equal(b[i].Typ)
	}
	if same {
		return nil
	}
	return sqlerr.Newf(sqlerr.Internal, sqlerr.Pos{}, "optimizer rule %s changed the columns of the plan", rule).
		WithHint("this is a fault of Fletch; please report the statement")
}

// An optimizer is what the rules of one Plan share.
type optimizer struct {
	ctx  context.Context // of this one call to Plan; what a rule gives once it has ended is not used
	est  *estimate.Estimator
	last expr.ColumnID
	seed uint64 // Config.OrderSeed
}

// fresh makes a column that nothing gives yet.
func (o *optimizer) fresh(name string, e expr.Expr) *expr.Column {
	o.last++
	return &expr.Column{ID: o.last, Name: name, Typ: e.Type(), Nullable: nullable(e)}
}

func greatest(root logical.Node) expr.ColumnID {
	var most expr.ColumnID
	logical.Walk(root, func(n logical.Node) bool {
		for _, c := range n.Columns() {
			most = max(most, c.ID)
		}
		return true
	})
	return most
}

// filter is n under conds, n itself under none.
func filter(n logical.Node, conds []expr.Expr) logical.Node {
	if len(conds) == 0 {
		return n
	}
	if f, ok := n.(*logical.Filter); ok {
		return &logical.Filter{Input: f.Input, Cond: expr.NewAnd(append(append([]expr.Expr(nil), expr.Conjuncts(f.Cond)...), conds...)...)}
	}
	return &logical.Filter{Input: n, Cond: expr.NewAnd(conds...)}
}

// and is the conjunction of conds, nil of none.
func and(conds []expr.Expr) expr.Expr {
	if len(conds) == 0 {
		return nil
	}
	return expr.NewAnd(conds...)
}

// narrow passes exactly cols of n.
func narrow(n logical.Node, cols []*expr.Column) logical.Node {
	have := n.Columns()
	same := len(have) == len(cols)
	for i := 0; same && i < len(cols); i++ {
		same = have[i].ID == cols[i].ID
	}
	if same {
		return n
	}
	p := &logical.Project{Input: n}
	for _, c := range cols {
		p.Items = append(p.Items, logical.Pass(c))
	}
	return p
}

// empty is no rows of n's columns.
func empty(n logical.Node) logical.Node { return &logical.Values{Cols: n.Columns()} }
