package optimize

import (
	"cmp"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/fletchdb/fletch/engine/estimate"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
)

// Up to this many relations every order is tried; beyond, the cheapest join next is taken.
const exhaustive = 10

// What a join costs, in units of a row that streams by.
const (
	buildCost = 2.5 // a row put into a hash table
	probeCost = 1.0 // a row looked up
	outCost   = 0.7 // a row given
	pairCost  = 0.3 // a pair tried by a join without equal keys
)

// orderJoins gives every group of joins the order that is expected to cost least, and builds the smaller side. Left, semi, anti and mark
// joins take part: one may stand as soon as the columns that it reads are there. Columns that equal each other are joined where they
// meet first, whichever equality the statement spelled out. Products are made only where there is no other way.
func orderJoins(o *optimizer, root logical.Node) (logical.Node, error) {
	return narrow(o.order(root), root.Columns()), nil
}

func (o *optimizer) order(n logical.Node) logical.Node {
	j, ok := n.(*logical.Join)
	if !ok {
		if f, isFilter := n.(*logical.Filter); isFilter {
			if j, ok := f.Input.(*logical.Join); ok && orderable(j) {
				return o.orderGroup(n)
			}
		}
		return o.orderChildren(n)
	}
	if orderable(j) {
		return o.orderGroup(n)
	}
	return o.buildSmaller(o.orderChildren(n).(*logical.Join))
}

// orderChildren keeps every input's columns in order: a union's are known by position.
func (o *optimizer) orderChildren(n logical.Node) logical.Node {
	_, byPosition := n.(*logical.Union)
	return logical.MapChildren(n, func(k logical.Node) logical.Node {
		out := o.order(k)
		if byPosition {
			return narrow(out, k.Columns())
		}
		return out
	})
}

func orderable(j *logical.Join) bool {
	switch j.Kind {
	case logical.Inner, logical.Left, logical.Semi, logical.Anti, logical.Mark:
		return true
	}
	return false
}

// A relSet is a set of relations of a group.
type relSet uint64

func (s relSet) has(i int) bool { return s>>i&1 == 1 }
func (s relSet) count() int     { return bits.OnesCount64(uint64(s)) }

// maxRelations is how many a group may have; joins beyond are inputs of their own.
const maxRelations = 60

// A relation is an input of a group of joins. Where kind is not Inner it is the right side of that join, which may stand once all of
// needs is there.
type relation struct {
	node      logical.Node
	stats     *estimate.Stats
	cols      logical.ColSet
	kind      logical.JoinKind
	on        []expr.Expr
	needs     relSet
	mark      *expr.Column
	nullAware bool
}

// A predicate is a condition on rows that the group's inner joins and filters give.
type predicate struct {
	cond expr.Expr
	rels relSet
}

// A group is a set of joins that may change places.
type group struct {
	o       *optimizer
	rels    []relation
	preds   []predicate
	classes *classes
	// member lists, per class of equal columns, one column of each relation that has any.
	members []map[int]*expr.Column
	beside  []relSet // per relation, those that some class or condition ties it to
	plans   map[relSet]*joinPlan
	guesses map[relSet]*guess
	cross   bool // products are allowed
	waiting int  // right sides that flatten has yet to come to
}

// A guess is what is expected of a set of relations. There is one per set, or plans could not be compared; what is expected of its
// columns is worked out once it is asked for.
type guess struct {
	rows    float64
	stats   *estimate.Stats
	compute func() *estimate.Stats
}

func (q *guess) columns() *estimate.Stats {
	if q.stats == nil {
		q.stats, q.compute = q.compute(), nil
	}
	return q.stats
}

// A joinPlan is the cheapest way found to join a set of relations.
type joinPlan struct {
	set   relSet
	cost  float64
	guess *guess
	// leaf, or a join of two; right is a relation of its own where kind is not Inner
	leaf        int
	left, right *joinPlan
	kind        logical.JoinKind
}

func (o *optimizer) orderGroup(root logical.Node) logical.Node {
	g := &group{o: o, classes: newClasses(), plans: map[relSet]*joinPlan{}, guesses: map[relSet]*guess{}}
	if g.flatten(root); o.ctx.Err() != nil {
		return root
	}
	if len(g.rels) == 1 {
		return filter(g.rels[0].node, predConds(g.preds))
	}
	g.resolve()
	best := g.search()
	if o.ctx.Err() != nil {
		return root
	}
	out := g.build(best)
	return filter(out, g.leftOver())
}

func predConds(preds []predicate) []expr.Expr {
	var out []expr.Expr
	for _, p := range preds {
		out = append(out, p.cond)
	}
	return out
}

// flatten collects relations and conditions below n.
func (g *group) flatten(n logical.Node) {
	switch n := n.(type) {
	case *logical.Filter:
		if j, ok := n.Input.(*logical.Join); ok && orderable(j) && g.roomForTwo() {
			for _, c := range expr.Conjuncts(n.Cond) {
				g.preds = append(g.preds, predicate{cond: c})
			}
			g.flatten(j)
			return
		}
	case *logical.Join:
		if !orderable(n) || !g.roomForTwo() {
			break
		}
		g.waiting++
		g.flatten(n.Left)
		g.waiting--
		if n.Kind == logical.Inner {
			for _, c := range expr.Conjuncts(n.On) {
				g.preds = append(g.preds, predicate{cond: c})
			}
			g.flatten(n.Right)
			return
		}
		g.add(relation{node: g.o.order(n.Right), kind: n.Kind, on: expr.Conjuncts(n.On), mark: n.MarkCol, nullAware: n.NullAware})
		return
	}
	g.add(relation{node: g.o.order(n)})
}

// roomForTwo tells whether a join's two sides still fit, also once every right side further up, which comes later, is there.
func (g *group) roomForTwo() bool { return len(g.rels)+g.waiting+2 <= maxRelations }

func (g *group) add(r relation) {
	r.stats = g.o.est.Of(r.node)
	r.cols = logical.Output(r.node)
	if r.mark != nil {
		r.cols = logical.ColSet{}
	}
	g.rels = append(g.rels, r)
}

// home is the relations that e reads. A mark is its relation's.
func (g *group) home(e expr.Expr) relSet {
	var s relSet
	expr.Walk(e, func(x expr.Expr) bool {
		c, ok := x.(*expr.Column)
		if !ok {
			return true
		}
		for i := range g.rels {
			if g.rels[i].cols[c.ID] || g.rels[i].mark != nil && g.rels[i].mark.ID == c.ID {
				s |= 1 << i
			}
		}
		return true
	})
	return s
}

// resolve finds what conditions read, what joins wait for, and which columns are equal.
func (g *group) resolve() {
	inner := relSet(0)
	for i := range g.rels {
		r := &g.rels[i]
		if r.kind == logical.Inner {
			inner |= 1 << i
		}
		for _, c := range r.on {
			r.needs |= g.home(c)
		}
		r.needs &^= 1 << i
	}
	var rest []predicate
	for _, p := range g.preds {
		p.rels = g.home(p.cond)
		a, b, ok := equality(p.cond)
		if ok && a.Typ.Equal(b.Typ) && p.rels.count() == 2 && p.rels&^inner == 0 {
			g.classes.learn(p.cond)
			continue
		}
		rest = append(rest, p)
	}
	g.preds = rest
	g.waitForAny()
	for i, p := range g.preds {
		// A condition on what a left or mark join gives waits for that join.
		for r := range g.rels {
			if p.rels.has(r) && g.rels[r].kind != logical.Inner {
				g.preds[i].rels |= g.rels[r].needs
			}
		}
	}
	g.collectMembers()
	g.findNeighbours()
}

func (g *group) findNeighbours() {
	g.beside = make([]relSet, len(g.rels))
	tie := func(s relSet) {
		for i := range g.rels {
			if s.has(i) {
				g.beside[i] |= s
			}
		}
	}
	for _, m := range g.members {
		s := relSet(0)
		for i := range m {
			s |= 1 << i
		}
		tie(s)
	}
	for _, p := range g.preds {
		tie(p.rels)
	}
}

// tied tells whether anything may tie a relation of a to one of b.
func (g *group) tied(a, b relSet) bool {
	for i := range g.rels {
		if a.has(i) && g.beside[i]&b != 0 {
			return true
		}
	}
	return false
}

// waitForAny makes a join that reads no column of the others wait for the first relation: it needs some left side.
func (g *group) waitForAny() {
	for i := range g.rels {
		if g.rels[i].kind != logical.Inner && g.rels[i].needs == 0 {
			g.rels[i].needs = 1 << g.firstInner()
		}
	}
}

func (g *group) firstInner() int {
	return slices.IndexFunc(g.rels, func(r relation) bool { return r.kind == logical.Inner })
}

// collectMembers gives each class one column per relation; where a relation has several, they are equal in its rows.
func (g *group) collectMembers() {
	at := map[expr.ColumnID]int{}
	for _, id := range sortedIDs(g.classes.cols) {
		root := g.classes.find(id)
		k, ok := at[root]
		if !ok {
			k = len(g.members)
			at[root] = k
			g.members = append(g.members, map[int]*expr.Column{})
		}
		col := g.classes.cols[id]
		rel := bits.TrailingZeros64(uint64(g.home(col)))
		if first := g.members[k][rel]; first != nil {
			r := &g.rels[rel]
			r.node = push(r.node, []expr.Expr{&expr.Compare{Op: expr.Eq, L: first, R: col}})
			r.stats = g.o.est.Of(r.node)
			continue
		}
		g.members[k][rel] = col
	}
}

func sortedIDs(m map[expr.ColumnID]*expr.Column) []expr.ColumnID { return slices.Sorted(maps.Keys(m)) }

// conds is what joins a and b: one equality per class that both have, and every condition that the two together can decide.
func (g *group) conds(a, b relSet) []expr.Expr {
	var out []expr.Expr
	for _, m := range g.members {
		l, r := first(m, a), first(m, b)
		if l != nil && r != nil {
			out = append(out, &expr.Compare{Op: expr.Eq, L: l, R: r})
		}
	}
	for _, p := range g.preds {
		if p.rels&^(a|b) == 0 && p.rels&^a != 0 && p.rels&^b != 0 {
			out = append(out, p.cond)
		}
	}
	return out
}

// first is the class's column in the first relation of s that has one.
func first(m map[int]*expr.Column, s relSet) *expr.Column {
	for i := 0; s>>i != 0; i++ {
		if s.has(i) && m[i] != nil {
			return m[i]
		}
	}
	return nil
}

// leftOver is the conditions that no join could take: those on one relation or none.
func (g *group) leftOver() []expr.Expr {
	var out []expr.Expr
	for _, p := range g.preds {
		if p.rels.count() < 2 {
			out = append(out, p.cond)
		}
	}
	return out
}

func (g *group) search() *joinPlan {
	all := relSet(1)<<len(g.rels) - 1
	for _, g.cross = range []bool{false, true} {
		clear(g.plans)
		clear(g.guesses)
		for i, r := range g.rels {
			if r.kind == logical.Inner {
				g.plans[1<<i] = &joinPlan{set: 1 << i, guess: &guess{rows: r.stats.Rows, stats: r.stats}, leaf: i}
			}
		}
		if len(g.rels) <= exhaustive {
			g.everyOrder(all)
		} else {
			g.greedy(all)
		}
		if p := g.plans[all]; p != nil {
			return p
		}
	}
	return g.plans[all]
}

// everyOrder fills plans with the cheapest plan of each set, small sets first.
func (g *group) everyOrder(all relSet) {
	for s := relSet(1); s <= all && g.o.ctx.Err() == nil; s++ {
		if s.count() < 2 {
			continue
		}
		for a := (s - 1) & s; a > 0; a = (a - 1) & s {
			b := s &^ a
			if g.plans[a] == nil {
				continue
			}
			if b.count() == 1 && g.rels[bits.TrailingZeros64(uint64(b))].kind != logical.Inner {
				g.consider(g.attach(g.plans[a], bits.TrailingZeros64(uint64(b))))
			} else if a > b && g.plans[b] != nil {
				g.consider(g.pair(g.plans[a], g.plans[b]))
			}
		}
	}
}

// greedy joins, again and again, the two parts whose join costs least.
func (g *group) greedy(all relSet) {
	var parts []*joinPlan
	rest := relSet(0)
	for i, r := range g.rels {
		if r.kind == logical.Inner {
			parts = append(parts, g.plans[1<<i])
		} else {
			rest |= 1 << i
		}
	}
	tried := map[[2]relSet]*joinPlan{} // parts that stay parts need not be tried again
	try := func(a, b relSet, join func() *joinPlan) *joinPlan {
		p, ok := tried[[2]relSet{a, b}]
		if !ok {
			p = join()
			tried[[2]relSet{a, b}] = p
		}
		return p
	}
	for g.o.ctx.Err() == nil {
		var best *joinPlan
		take := func(p *joinPlan) {
			if p != nil && (best == nil || p.cost < best.cost) {
				best = p
			}
		}
		for i, a := range parts {
			for _, b := range parts[i+1:] {
				take(try(a.set, b.set, func() *joinPlan { return g.pair(a, b) }))
			}
			for r := range g.rels {
				if rest.has(r) {
					take(try(a.set, 1<<r, func() *joinPlan { return g.attach(a, r) }))
				}
			}
		}
		if best == nil {
			break
		}
		rest &^= best.set
		parts = slices.DeleteFunc(parts, func(p *joinPlan) bool { return p.set&best.set != 0 })
		parts = append(parts, best)
		slices.SortFunc(parts, func(a, b *joinPlan) int { return cmp.Compare(a.set, b.set) })
	}
	if len(parts) == 1 && rest == 0 {
		g.plans[all] = parts[0]
	}
}

func (g *group) consider(p *joinPlan) {
	if p == nil {
		return
	}
	have := g.plans[p.set]
	if have == nil {
		g.plans[p.set] = p
		return
	}
	if p.cost < have.cost {
		g.plans[p.set] = p
	}
}

// pair joins two plans; nil where that would be a product that is not wanted.
func (g *group) pair(a, b *joinPlan) *joinPlan {
	if !g.cross && !g.tied(a.set, b.set) {
		return nil
	}
	conds := g.conds(a.set, b.set)
	if len(conds) == 0 && !g.cross {
		return nil
	}
	if b.guess.rows > a.guess.rows {
		a, b = b, a // the smaller side is built
	}
	p := &joinPlan{set: a.set | b.set, left: a, right: b}
	p.guess = g.guessOf(p.set, func() *guess {
		l, r := a.guess.columns(), b.guess.columns()
		return &guess{
			rows:    estimate.JoinRows(logical.Inner, l, r, conds),
			compute: func() *estimate.Stats { return estimate.Join(logical.Inner, l, r, conds, nil) },
		}
	})
	p.cost = a.cost + b.cost + cost(a.guess.rows, b.guess.rows, p.guess.rows, conds)
	return p
}

// attach joins relation r, which is no inner one, to a; nil where it has to wait.
func (g *group) attach(a *joinPlan, r int) *joinPlan {
	rel := &g.rels[r]
	if rel.needs&^a.set != 0 {
		return nil
	}
	right := &joinPlan{set: 1 << r, guess: &guess{rows: rel.stats.Rows, stats: rel.stats}, leaf: r}
	p := &joinPlan{set: a.set | 1<<r, left: a, right: right, kind: rel.kind}
	p.guess = g.guessOf(p.set, func() *guess {
		l := a.guess.columns()
		join := func() *estimate.Stats { return estimate.Join(rel.kind, l, rel.stats, rel.on, rel.mark) }
		if conds := g.conds(a.set, 1<<r); len(conds) > 0 {
			s := join().Filter(expr.NewAnd(conds...))
			return &guess{rows: s.Rows, stats: s}
		}
		return &guess{rows: estimate.JoinRows(rel.kind, l, rel.stats, rel.on), compute: join}
	})
	c := cost(a.guess.rows, rel.stats.Rows, p.guess.rows, rel.on)
	if g.swappable(rel) {
		c = min(c, cost(rel.stats.Rows, a.guess.rows, p.guess.rows, rel.on))
	}
	p.cost = a.cost + c
	return p
}

func (g *group) guessOf(set relSet, make func() *guess) *guess {
	if g.guesses[set] == nil {
		q := make()
		if g.o.seed != 0 {
			q = &guess{rows: q.rows * off(g.o.seed, set), stats: q.stats, compute: q.compute}
		}
		g.guesses[set] = q
	}
	return g.guesses[set]
}

// off is the factor by which seed makes the guess of a set wrong: most within a hundredfold either way.
func off(seed uint64, set relSet) float64 {
	return math.Exp(2 * rand.New(rand.NewPCG(seed, uint64(set))).NormFloat64())
}

// swappable tells whether the join may build its left side.
func (g *group) swappable(r *relation) bool {
	switch r.kind {
	case logical.Left:
		return !r.nullAware
	case logical.Semi, logical.Anti:
		// Pairs are tried for each left row: from the other side there is no such join.
		return !r.nullAware && slices.ContainsFunc(r.on, func(e expr.Expr) bool { return isKey(e, r.cols) })
	}
	return false
}

// isKey tells whether e compares something of the relation with something of others.
func isKey(e expr.Expr, of logical.ColSet) bool {
	c, ok := e.(*expr.Compare)
	if !ok || c.Op != expr.Eq && c.Op != expr.NotDistinct {
		return false
	}
	l, r := of.Holds(c.L) && of.Touches(c.L), of.Holds(c.R) && of.Touches(c.R)
	return l != r && !of.Touches(pick(l, c.R, c.L)) && readsColumn(pick(l, c.R, c.L))
}

func pick(first bool, a, b expr.Expr) expr.Expr {
	if first {
		return a
	}
	return b
}

func readsColumn(e expr.Expr) bool {
	used := logical.ColSet{}
	used.AddExpr(e)
	return len(used) > 0
}

func hasEquality(conds []expr.Expr) bool {
	return slices.ContainsFunc(conds, func(e expr.Expr) bool {
		c, ok := e.(*expr.Compare)
		return ok && (c.Op == expr.Eq || c.Op == expr.NotDistinct)
	})
}

func cost(probe, build, out float64, conds []expr.Expr) float64 {
	c := probe*probeCost + build*buildCost + out*outCost
	if !hasEquality(conds) {
		c += probe * build * pairCost
	}
	return c
}

// build makes the tree of a plan.
func (g *group) build(p *joinPlan) logical.Node {
	if p.left == nil {
		return g.rels[p.leaf].node
	}
	left, right := g.build(p.left), g.build(p.right)
	if p.kind == logical.Inner {
		return &logical.Join{Left: left, Right: right, On: and(g.conds(p.left.set, p.right.set))}
	}
	r := g.rels[p.right.leaf]
	j := &logical.Join{Kind: r.kind, Left: left, Right: right, On: and(r.on), MarkCol: r.mark, NullAware: r.nullAware}
	// Conditions of the group that had to wait for this join are filters on it.
	conds := g.conds(p.left.set, p.right.set)
	out := logical.Node(j)
	if g.swappable(&r) && p.left.guess.rows*buildCost+r.stats.Rows*probeCost < p.left.guess.rows*probeCost+r.stats.Rows*buildCost {
		out = swap(j)
	}
	return filter(out, conds)
}

func swap(j *logical.Join) *logical.Join {
	c := *j
	c.Kind, _ = j.Kind.Swap()
	c.Left, c.Right = j.Right, j.Left
	return &c
}

// buildSmaller swaps the sides of a join that takes part in no group.
func (o *optimizer) buildSmaller(j *logical.Join) logical.Node {
	right := logical.Output(j.Right)
	if j.NullAware || !slices.ContainsFunc(expr.Conjuncts(j.On), func(e expr.Expr) bool { return isKey(e, right) }) {
		return j
	}
	if _, ok := j.Kind.Swap(); !ok {
		return j
	}
	if l, r := o.est.Rows(j.Left), o.est.Rows(j.Right); l < r && !math.IsInf(r, 0) {
		return swap(j)
	}
	return j
}
