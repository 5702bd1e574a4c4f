package exec

import (
	"math"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// pairSums keeps, for pairs of numbers y and x, what correlation and regression are made of: count, means, sums of squared differences
// and of products of differences (Welford in two dimensions).
type pairSums struct {
	n                  []int64
	my, mx, yy, xx, xy []float64
	y, x               floats
}

func (a *pairSums) size(n int) {
	a.n = sizeTo(a.n, n)
	for _, s := range []*[]float64{&a.my, &a.mx, &a.yy, &a.xx, &a.xy} {
		*s = sizeTo(*s, n)
	}
}

func (a *pairSums) update(vs []*vector.Vector, r *rows) {
	y, x := a.y.of(vs[0], r.sel, r.n()), a.x.of(vs[1], r.sel, r.n())
	for i := range y {
		row := i
		if r.sel != nil {
			row = int(r.sel[i])
		}
		a.add(r.groups[row], 1, y[i], x[i], 0, 0, 0)
	}
}

// add takes n pairs of these means and sums.
func (a *pairSums) add(g uint32, n int64, my, mx, yy, xx, xy float64) {
	if n == 0 {
		return
	}
	total := a.n[g] + n
	dy, dx := my-a.my[g], mx-a.mx[g]
	share := float64(n) / float64(total)
	both := float64(a.n[g]) * share
	a.yy[g] += yy + dy*dy*both
	a.xx[g] += xx + dx*dx*both
	a.xy[g] += xy + dx*dy*both
	a.my[g] += dy * share
	a.mx[g] += dx * share
	a.n[g] = total
}

func (a *pairSums) merge(vs []*vector.Vector, r *rows) {
	r.each(func(row int, g uint32) {
		c, e := vs[0].At(row)
		var f [5]float64
		for k := range f {
			v, at := vs[k+1].At(row)
			f[k] = vector.Values[float64](v)[at]
		}
		a.add(g, vector.Values[int64](c)[e], f[0], f[1], f[2], f[3], f[4])
	})
}

func (a *pairSums) state(ids []int32, out []lane) []*vector.Vector {
	kernel.Gather(room[int64](&out[0], len(ids)), a.n, ids)
	vs := []*vector.Vector{out[0].flat(sqltype.Of(sqltype.Int64), vector.PhysInt64, len(ids), nil)}
	for k, s := range [][]float64{a.my, a.mx, a.yy, a.xx, a.xy} {
		l := &out[k+1]
		kernel.Gather(room[float64](l, len(ids)), s, ids)
		vs = append(vs, l.flat(sqltype.Of(sqltype.Float64), vector.PhysFloat64, len(ids), nil))
	}
	return vs
}

func (*pairSums) seal() {}

// ofPairs is the result of an aggregate over pairs, of their state.
func ofPairs(l *lane, in []*vector.Vector, agg *expr.Aggregate) *vector.Vector {
	n := vector.Values[int64](in[0])
	if agg.Func == "regr_count" {
		copy(room[int64](l, len(n)), n)
		return l.flat(agg.Typ, vector.PhysInt64, len(n), nil)
	}
	var f [5][]float64
	for k := range f {
		f[k] = vector.Values[float64](in[k+1])
	}
	valid, dst := l.roomValid(len(n)), room[float64](l, len(n))
	for i, k := range n {
		x, ok := ofPair(agg.Func, float64(k), f[0][i], f[1][i], f[2][i], f[3][i], f[4][i])
		if dst[i] = 0; ok {
			dst[i] = x
			setBit(valid, i)
		}
	}
	return l.flat(agg.Typ, vector.PhysFloat64, len(n), valid)
}

// ofPair is the value of a function; ok false where it has none, as PostgreSQL says.
func ofPair(name string, n, my, mx, yy, xx, xy float64) (value float64, ok bool) {
	if n == 0 {
		return 0, false
	}
	switch name {
	case "covar_pop":
		return xy / n, true
	case "covar_samp":
		return xy / (n - 1), n > 1
	case "corr":
		return min(max(xy/math.Sqrt(xx)/math.Sqrt(yy), -1), 1), xx != 0 && yy != 0
	case "regr_avgx":
		return mx, true
	case "regr_avgy":
		return my, true
	case "regr_slope":
		return xy / xx, xx != 0
	case "regr_intercept":
		return my - mx*xy/xx, xx != 0
	case "regr_r2":
		if yy == 0 {
			return 1, xx != 0
		}
		return xy / xx * (xy / yy), xx != 0
	case "regr_sxx":
		return xx, true
	case "regr_syy":
		return yy, true
	}
	return xy, true
}

// A bitKind is how bitFolds brings two values together.
type bitKind uint8

const (
	bitAnd bitKind = iota
	bitOr
	bitXor
	times
)

var bitKinds = map[string]bitKind{"bit_and": bitAnd, "bit_or": bitOr, "bit_xor": bitXor, "product": times}

// bitFolds keeps a word per group: integers by their bits, or a product of doubles.
type bitFolds struct {
	typ  sqltype.Type
	kind bitKind
	word []int64
	seen seen
	in   numbers
}

func (a *bitFolds) size(n int) {
	a.word = sizeTo(a.word, n)
	a.seen.some = true
	a.seen.size(n)
}

func (a *bitFolds) merge(vs []*vector.Vector, r *rows) { a.update(vs, r) }

func (a *bitFolds) update(vs []*vector.Vector, r *rows) {
	a.seen.begin(r)
	for i, x := range a.in.of(vs[0], r.sel, r.n()) {
		row := i
		if r.sel != nil {
			row = int(r.sel[i])
		}
		g := r.groups[row]
		if !bitAt(a.seen.bits, int(g)) {
			setBit(a.seen.bits, int(g))
			a.word[g] = x
			continue
		}
		switch a.kind {
		case bitAnd:
			a.word[g] &= x
		case bitOr:
			a.word[g] |= x
		case bitXor:
			a.word[g] ^= x
		case times:
			p := math.Float64frombits(uint64(a.word[g])) * math.Float64frombits(uint64(x))
			a.word[g] = int64(math.Float64bits(p))
		}
	}
}

func (a *bitFolds) state(ids []int32, out []lane) []*vector.Vector {
	l := &out[0]
	src := l.roomWide(len(ids))
	for i, id := range ids {
		src[i] = a.word[id]
	}
	return []*vector.Vector{unwiden(l, a.typ, src, a.seen.valid(l, ids))}
}

func (*bitFolds) seal() {}
