// Package lower turns logical plans into physical ones: columns get positions, joins a way to be done, conditions on a table
// move into its scan. It decides nothing that costs more than one look at a node: what is cheap was optimize's to say. It
// must never know how many tasks there will be.
package lower

import (
	"fmt"
	"slices"

	"github.com/fletchdb/fletch/engine/estimate"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

// Plan lowers an optimized plan. The result's schema is the plan's columns, in order, under the plan's names. It fails with code
// internal_error where a plan holds what optimizing should have removed.
func Plan(p *logical.Plan) (physical.Node, error) {
	l := &lowerer{est: estimate.New(), places: map[int32]int{}, shared: map[int32]*physical.Shared{}}
	logical.Walk(p.Root, func(n logical.Node) bool {
		if s, ok := n.(*logical.Shared); ok {
			l.places[s.ID]++
		}
		return true
	})
	cols := p.Root.Columns()
	out, err := l.exactly(p.Root, cols)
	if err != nil {
		return nil, err
	}
	return rename(out, p.Names), nil
}

type lowerer struct {
	est     *estimate.Estimator
	carried int // columns that joins give
	places  map[int32]int
	shared  map[int32]*physical.Shared
	within  int // recursions around: each of their rounds is a run of its own, which shares nothing
}

// A rel is a lowered node and where its columns are. It may have columns that nobody asked for.
type rel struct {
	node physical.Node
	cols []expr.ColumnID // by position
}

func (r rel) at(id expr.ColumnID) int {
	for i, c := range r.cols {
		if c == id {
			return i
		}
	}
	return -1
}

func ids(cols []*expr.Column) []expr.ColumnID {
	out := make([]expr.ColumnID, len(cols))
	for i, c := range cols {
		out[i] = c.ID
	}
	return out
}

// A mapper turns columns by id into inputs by position; the first error sticks.
type mapper struct {
	at     map[expr.ColumnID]int
	fields []physical.Field
	err    error
}

// mapperOf maps over the columns of rels one after the other.
func mapperOf(rels ...rel) *mapper {
	m := &mapper{at: map[expr.ColumnID]int{}}
	for _, r := range rels {
		for i, id := range r.cols {
			m.at[id] = len(m.fields) + i
		}
		m.fields = append(m.fields, r.node.Schema()...)
	}
	return m
}

func (m *mapper) expr(e expr.Expr) expr.Expr {
	c, ok := e.(*expr.Column)
	if !ok {
		return expr.Map(e, m.expr)
	}
	i, ok := m.at[c.ID]
	if !ok {
		if m.err == nil {
			m.err = internal("column %s is not among the input's", c.Name)
		}
		return e
	}
	return &expr.Input{At: c.At, Index: i, Name: c.Name, Typ: c.Typ, Nullable: m.fields[i].Nullable}
}

func (m *mapper) exprs(list []expr.Expr) []expr.Expr {
	out := make([]expr.Expr, len(list))
	for i, e := range list {
		out[i] = m.expr(e)
	}
	return out
}

func (m *mapper) order(keys []expr.SortOrder) []physical.SortKey {
	out := make([]physical.SortKey, len(keys))
	for i, k := range keys {
		out[i] = physical.SortKey{Expr: m.expr(k.Expr), Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	return out
}

func internal(format string, args ...any) error {
	return sqlerr.New(sqlerr.Internal, sqlerr.Pos{}, "lowering: "+fmt.Sprintf(format, args...)).
		WithHint("this is a fault of Fletch; please report the statement")
}

func (l *lowerer) rows(n logical.Node) physical.Est { return physical.Est{Rows: l.est.Rows(n)} }

// node lowers n so that it has at least the columns of need that n has.
func (l *lowerer) node(n logical.Node, need logical.ColSet) (rel, error) {
	switch n := n.(type) {
	case *logical.Scan:
		return l.scan(n)
	case *logical.Values:
		return values(n), nil
	case *logical.Filter:
		return l.filter(n, need)
	case *logical.Project:
		return l.project(n, need)
	case *logical.Aggregate:
		return l.aggregate(n)
	case *logical.Join:
		return l.join(n, need)
	case *logical.Sort:
		return l.sort(n, need)
	case *logical.Limit:
		in, err := l.node(n.Input, need)
		if err != nil {
			return rel{}, err
		}
		return rel{&physical.Limit{Input: in.node, Fetch: n.Fetch, Offset: n.Offset}, in.cols}, nil
	case *logical.Union:
		return l.union(n)
	case *logical.Expand:
		return l.expand(n, need)
	case *logical.Recursive:
		return l.recursive(n)
	case *logical.Shared:
		return l.share(n)
	case *logical.Working:
		return rel{&physical.Working{ID: n.ID, Fields: fieldsOf(n.Cols)}, ids(n.Cols)}, nil
	case *logical.Window:
		return l.window(n, need)
	}
	return rel{}, internal("a plan holds a %T", n)
}

// exactly lowers n to give cols, in this order and no others.
func (l *lowerer) exactly(n logical.Node, cols []*expr.Column) (physical.Node, error) {
	in, err := l.node(n, logical.SetOf(cols))
	if err != nil {
		return nil, err
	}
	out, err := arrange(in, ids(cols))
	if err != nil {
		return nil, err
	}
	return out.node, nil
}

// only lowers n to the columns of need that it has: what keeps rows, or sends them, must not carry others along.
func (l *lowerer) only(n logical.Node, need logical.ColSet) (rel, error) {
	in, err := l.node(n, need)
	if err != nil {
		return rel{}, err
	}
	var want []expr.ColumnID
	for _, id := range in.cols {
		if need[id] {
			want = append(want, id)
		}
	}
	return arrange(in, want)
}

// arrange is r with the columns want, r itself where it has just these.
func arrange(r rel, want []expr.ColumnID) (rel, error) {
	same := len(want) == len(r.cols)
	for i := 0; same && i < len(want); i++ {
		same = want[i] == r.cols[i]
	}
	if same {
		return r, nil
	}
	fields := r.node.Schema()
	p := &physical.Project{Input: r.node}
	for _, id := range want {
		i := r.at(id)
		if i < 0 {
			return rel{}, internal("column %d is not among the input's", id)
		}
		f := fields[i]
		p.Exprs = append(p.Exprs, &expr.Input{Index: i, Name: f.Name, Typ: f.Type, Nullable: f.Nullable})
		p.Names = append(p.Names, f.Name)
	}
	return rel{p, want}, nil
}

func (l *lowerer) scan(n *logical.Scan) (rel, error) {
	s := &physical.Scan{Table: n.Name, Format: n.Table.Format, Files: n.Table.Files, Est: l.rows(n)}
	for i, c := range n.Cols {
		col := n.Table.Columns[n.Index[i]]
		if col.Problem != nil {
			return rel{}, col.Problem
		}
		s.Columns = append(s.Columns, physical.ScanColumn{Name: col.Name, Index: n.Index[i], Type: c.Typ, Nullable: col.Nullable})
	}
	out := rel{s, ids(n.Cols)}
	for _, r := range n.Runtime {
		if i := out.at(r.Column); i >= 0 {
			s.Runtime = append(s.Runtime, physical.RuntimeProbe{Filter: r.Filter, Column: i})
		}
	}
	return out, nil
}

func values(n *logical.Values) rel {
	v := &physical.Values{Rows: n.Rows}
	v.Fields = fieldsOf(n.Cols)
	return rel{v, ids(n.Cols)}
}

func fieldsOf(cols []*expr.Column) []physical.Field {
	var out []physical.Field
	for _, c := range cols {
		out = append(out, physical.Field{Name: c.Name, Type: c.Typ, Nullable: c.Nullable})
	}
	return out
}

func (l *lowerer) expand(n *logical.Expand, need logical.ColSet) (rel, error) {
	below := need.Clone()
	for _, it := range n.Lists {
		below.AddExpr(it.Expr)
	}
	in, err := l.only(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	out := &physical.Expand{Input: in.node, Ordinality: n.Ordinality != nil, Est: l.rows(n)}
	cols := slices.Clone(in.cols)
	for _, it := range n.Lists {
		out.Lists = append(out.Lists, m.expr(it.Expr))
		out.Names, cols = append(out.Names, it.Col.Name), append(cols, it.Col.ID)
	}
	if n.Ordinality != nil {
		out.Names, cols = append(out.Names, n.Ordinality.Name), append(cols, n.Ordinality.ID)
	}
	return rel{out, cols}, m.err
}

// share lowers what several places read once, for the first of them.
func (l *lowerer) share(n *logical.Shared) (rel, error) {
	if s := l.shared[n.ID]; s != nil && l.within == 0 {
		return rel{s, ids(n.Cols)}, nil
	}
	in, err := l.exactly(n.Input, n.From)
	if err != nil {
		return rel{}, err
	}
	if l.within > 0 || l.places[n.ID] < 2 {
		return rel{in, ids(n.Cols)}, nil
	}
	s := &physical.Shared{Input: in}
	l.shared[n.ID] = s
	return rel{s, ids(n.Cols)}, nil
}

func (l *lowerer) recursive(n *logical.Recursive) (rel, error) {
	l.within++
	defer func() { l.within-- }()
	base, err := l.exactly(n.Base, n.Base.Columns())
	if err != nil {
		return rel{}, err
	}
	step, err := l.exactly(n.Step, n.Step.Columns())
	if err != nil {
		return rel{}, err
	}
	return rel{&physical.Recursive{ID: n.ID, Base: base, Step: step, All: n.All, Fields: fieldsOf(n.Cols)}, ids(n.Cols)}, nil
}

func (l *lowerer) filter(n *logical.Filter, need logical.ColSet) (rel, error) {
	below := need.Clone()
	below.AddExpr(n.Cond)
	in, err := l.node(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	cond := m.expr(n.Cond)
	if m.err != nil {
		return rel{}, m.err
	}
	if s, ok := in.node.(*physical.Scan); ok {
		if s.Filter != nil {
			cond = expr.NewAnd(s.Filter, cond)
		}
		c := *s
		c.Filter, c.Est = cond, l.rows(n)
		return rel{&c, in.cols}, nil
	}
	return rel{&physical.Filter{Input: in.node, Cond: cond, Est: l.rows(n)}, in.cols}, nil
}

func (l *lowerer) project(n *logical.Project, need logical.ColSet) (rel, error) {
	below := logical.ColSet{}
	var items []logical.Item
	for _, it := range n.Items {
		if need[it.Col.ID] {
			items = append(items, it)
			below.AddExpr(it.Expr)
		}
	}
	in, err := l.node(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	p := &physical.Project{Input: in.node}
	out := rel{node: p}
	for _, it := range items {
		p.Exprs = append(p.Exprs, m.expr(it.Expr))
		p.Names = append(p.Names, it.Col.Name)
		out.cols = append(out.cols, it.Col.ID)
	}
	if m.err == nil && isIdentity(p) {
		return rel{in.node, out.cols}, nil
	}
	return out, m.err
}

// isIdentity tells whether p gives its input's columns as they are.
func isIdentity(p *physical.Project) bool {
	if len(p.Exprs) != len(p.Input.Schema()) {
		return false
	}
	for i, e := range p.Exprs {
		if in, ok := e.(*expr.Input); !ok || in.Index != i {
			return false
		}
	}
	return true
}

func (l *lowerer) aggregate(n *logical.Aggregate) (rel, error) {
	below := logical.ColSet{}
	for _, e := range logical.Exprs(n) {
		below.AddExpr(e)
	}
	in, err := l.node(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	a := &physical.Aggregate{Input: in.node, Mode: physical.Single, Est: l.rows(n)}
	for _, g := range n.Groups {
		a.Groups = append(a.Groups, m.expr(g.Expr))
	}
	for _, agg := range n.Aggs {
		c, _ := logical.MapAggregate(agg.Aggregate, m.expr)
		a.Aggs = append(a.Aggs, c)
	}
	for _, c := range n.Columns() {
		a.Names = append(a.Names, c.Name)
	}
	return rel{a, ids(n.Columns())}, m.err
}

func (l *lowerer) sort(n *logical.Sort, need logical.ColSet) (rel, error) {
	below := need.Clone()
	for _, k := range n.Keys {
		below.AddExpr(k.Expr)
	}
	in, err := l.only(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	s := &physical.Sort{Input: in.node, Keys: m.order(n.Keys), Fetch: n.Fetch, Offset: n.Offset, Est: l.rows(n)}
	return rel{s, in.cols}, m.err
}

// window puts a sort by partition and order below, unless a window below left the rows so.
func (l *lowerer) window(n *logical.Window, need logical.ColSet) (rel, error) {
	below := need.Clone()
	for _, e := range logical.Exprs(n) {
		below.AddExpr(e)
	}
	in, err := l.only(n.Input, below)
	if err != nil {
		return rel{}, err
	}
	m := mapperOf(in)
	w := &physical.Window{Input: in.node, Partition: m.exprs(n.Partition), Order: m.order(n.Order)}
	out := rel{node: w, cols: slices.Clone(in.cols)}
	for _, c := range n.Calls {
		a, _ := logical.MapAggregate(c.Aggregate, m.expr)
		w.Calls = append(w.Calls, physical.WindowCall{
			Func: a.Func, Args: a.Args, Distinct: a.Distinct, Filter: a.Filter, IgnoreNulls: c.IgnoreNulls, Frame: c.Frame, Typ: a.Typ, Pos: a.At, User: a.User,
		})
		w.Names = append(w.Names, c.Col.Name)
		out.cols = append(out.cols, c.Col.ID)
	}
	if m.err != nil {
		return rel{}, m.err
	}
	keys := make([]physical.SortKey, 0, len(w.Partition)+len(w.Order))
	for _, e := range w.Partition {
		keys = append(keys, physical.SortKey{Expr: e})
	}
	keys = append(keys, w.Order...)
	if len(keys) > 0 && !sorted(in.node, w) {
		w.Input = &physical.Sort{Input: in.node, Keys: keys, Fetch: -1, Est: l.rows(n.Input)}
	}
	return out, nil
}

// sorted tells whether in is a window of the same partitions whose order begins with w's.
func sorted(in physical.Node, w *physical.Window) bool {
	below, ok := in.(*physical.Window)
	if !ok || len(w.Order) > len(below.Order) || !slices.EqualFunc(below.Partition, w.Partition, sameInput) {
		return false
	}
	for i, k := range w.Order {
		b := below.Order[i]
		if k.Desc != b.Desc || k.NullsFirst != b.NullsFirst || !expr.Equal(k.Expr, b.Expr) {
			return false
		}
	}
	return true
}

// sameInput tells whether a and b are one bare column: what is computed would have to be dealt out by again.
func sameInput(a, b expr.Expr) bool {
	_, ok := a.(*expr.Input)
	return ok && expr.Equal(a, b)
}

func (l *lowerer) union(n *logical.Union) (rel, error) {
	u := &physical.Union{}
	for _, k := range n.Inputs {
		in, err := l.exactly(k, k.Columns())
		if err != nil {
			return rel{}, err
		}
		u.Inputs = append(u.Inputs, in)
	}
	return rel{u, ids(n.Cols)}, nil
}

// rename gives n's columns the names of the result, where they are made if that can be.
func rename(n physical.Node, names []string) physical.Node {
	fields := n.Schema()
	same := true
	for i, f := range fields {
		same = same && f.Name == names[i]
	}
	if same {
		return n
	}
	switch n := n.(type) {
	case *physical.Project:
		c := *n
		c.Names = names
		return &c
	case *physical.Aggregate:
		c := *n
		c.Names = names
		return &c
	case *physical.Sort:
		c := *n
		c.Input = rename(n.Input, names)
		return &c
	case *physical.Limit:
		c := *n
		c.Input = rename(n.Input, names)
		return &c
	case *physical.Filter:
		c := *n
		c.Input = rename(n.Input, names)
		return &c
	case *physical.Window:
		c := *n
		at := len(names) - len(n.Names)
		c.Input, c.Names = rename(n.Input, names[:at]), names[at:]
		return &c
	}
	p := &physical.Project{Input: n, Names: names}
	for i, f := range fields {
		p.Exprs = append(p.Exprs, &expr.Input{Index: i, Name: f.Name, Typ: f.Type, Nullable: f.Nullable})
	}
	return p
}
