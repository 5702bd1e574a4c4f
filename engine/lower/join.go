package lower

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

var joinKinds = map[logical.JoinKind]physical.JoinKind{
	logical.Inner: physical.Inner, logical.Left: physical.ProbeOuter, logical.Right: physical.BuildOuter, logical.Full: physical.FullOuter,
	logical.Semi: physical.Semi, logical.Anti: physical.Anti, logical.RightSemi: physical.BuildSemi, logical.RightAnti: physical.BuildAnti,
	logical.Mark: physical.Mark,
}

// maxCarried bounds the columns that all joins of a statement give together: a plan describes each of them.
const maxCarried = 500_000

// keys are the equalities of a join between its sides.
type keys struct {
	left, right []expr.Expr
	nullEqual   []bool
	anyNull     bool
	rest        []expr.Expr
}

func splitKeys(n *logical.Join) keys {
	var k keys
	l, r := logical.Output(n.Left), logical.Output(n.Right)
	for _, c := range expr.Conjuncts(n.On) {
		cmp, ok := c.(*expr.Compare)
		if !ok || cmp.Op != expr.Eq && cmp.Op != expr.NotDistinct {
			k.rest = append(k.rest, c)
			continue
		}
		a, b := cmp.L, cmp.R
		if !l.Holds(a) || !l.Touches(a) {
			a, b = b, a
		}
		if n.NullAware && cmp.Op == expr.Eq && !(l.Touches(a) && r.Touches(b)) { // of NOT IN a side may be a constant
			if a, b = cmp.L, cmp.R; !l.Holds(a) || !r.Holds(b) {
				a, b = b, a
			}
			if l.Holds(a) && r.Holds(b) {
				k.left, k.right, k.nullEqual = append(k.left, a), append(k.right, b), append(k.nullEqual, false)
				continue
			}
		}
		if !l.Holds(a) || !l.Touches(a) || !r.Holds(b) || !r.Touches(b) {
			k.rest = append(k.rest, c)
			continue
		}
		k.left, k.right = append(k.left, a), append(k.right, b)
		k.nullEqual = append(k.nullEqual, cmp.Op == expr.NotDistinct)
		k.anyNull = k.anyNull || cmp.Op == expr.NotDistinct
	}
	if !k.anyNull {
		k.nullEqual = nil
	}
	return k
}

func (l *lowerer) join(n *logical.Join, need logical.ColSet) (rel, error) {
	below := need.Clone()
	if n.On != nil {
		below.AddExpr(n.On)
	}
	probe, err := l.only(n.Left, below)
	if err != nil {
		return rel{}, err
	}
	build, err := l.only(n.Right, below)
	if err != nil {
		return rel{}, err
	}
	out := rel{}
	var output []int
	var all []expr.ColumnID
	if n.Kind.HasLeft() {
		all = append(all, probe.cols...)
	}
	if n.Kind.HasRight() {
		all = append(all, build.cols...)
	}
	if n.Kind == logical.Mark {
		all = append(all, n.MarkCol.ID)
	}
	for i, id := range all {
		if need[id] {
			output = append(output, i)
			out.cols = append(out.cols, id)
		}
	}
	if l.carried += len(output); l.carried > maxCarried {
		return rel{}, sqlerr.Newf(sqlerr.StatementTooLarge, sqlerr.Pos{}, "the statement's joins carry more than %d columns in all", maxCarried).
			WithHint("select fewer columns, or join fewer tables at once")
	}
	if len(output) == len(all) {
		output = nil
	} else if output == nil {
		output = []int{}
	}
	k := splitKeys(n)
	if n.NullAware && (len(k.left) != 1 || len(k.rest) > 0) {
		return rel{}, internal("NOT IN needs one key")
	}
	both := mapperOf(probe, build)
	var rest expr.Expr
	if len(k.rest) > 0 {
		rest = both.expr(expr.NewAnd(k.rest...))
	}
	if len(k.left) == 0 {
		if n.Kind == logical.RightSemi || n.Kind == logical.RightAnti {
			return rel{}, internal("a %s join without keys", n.Kind)
		}
		j := &physical.LoopJoin{Kind: joinKinds[n.Kind], Probe: probe.node, Build: build.node, Cond: rest, Output: output, Est: l.rows(n)}
		out.node = j.Settle()
		return out, both.err
	}
	ofProbe, ofBuild := mapperOf(probe), mapperOf(build)
	j := &physical.HashJoin{
		Kind: joinKinds[n.Kind], Probe: probe.node, Build: build.node, ProbeKeys: ofProbe.exprs(k.left), BuildKeys: ofBuild.exprs(k.right),
		Residual: rest, NullAware: n.NullAware, NullEqual: k.nullEqual, Output: output, Est: l.rows(n),
	}
	for _, r := range n.Runtime {
		for i, key := range k.right {
			if expr.Equal(key, r.Key) {
				j.Runtime = append(j.Runtime, physical.RuntimeBuild{Filter: r.Filter, Key: i})
				break
			}
		}
	}
	out.node = j.Settle()
	for _, m := range []*mapper{both, ofProbe, ofBuild} {
		if m.err != nil {
			return rel{}, m.err
		}
	}
	return out, nil
}
