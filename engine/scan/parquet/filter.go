package parquet

import (
	"context"
	"slices"

	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A filter drops rows: conjuncts of the scan's filter over the same columns, or one runtime filter.
type filter struct {
	columns   []int
	conjuncts []int   // of the scan's filter; none: a runtime filter
	weight    float64 // what it takes per row once its columns are decoded, in nanoseconds
	cond      *eval.Filter
	keys      exec.KeyFilter
	canFail   bool // it must stay behind all filters before it

	in, out int64 // rows that it saw and let pass
	idle    bool  // statistics tell that it lets every row of the morsel pass
}

// newFilters makes the filters of one reader: those that can fail last, as they were written.
func newFilters(s *source) ([]*filter, error) {
	var list, risky []*filter
	var conds, riskyConds []expr.Expr // of the filters in list and in risky
	for i, cond := range s.filter {
		columns := columnsOf(cond)
		if eval.CanFail(cond) {
			risky = append(risky, &filter{columns: columns, conjuncts: []int{i}, canFail: true})
			riskyConds = append(riskyConds, cond)
			continue
		}
		if k := slices.IndexFunc(list, func(f *filter) bool { return slices.Equal(f.columns, columns) }); k >= 0 {
			list[k].conjuncts = append(list[k].conjuncts, i)
			conds[k] = expr.NewAnd(conds[k], cond)
			continue
		}
		list = append(list, &filter{columns: columns, conjuncts: []int{i}})
		conds = append(conds, cond)
	}
	list, conds = append(list, risky...), append(conds, riskyConds...)
	for i, f := range list {
		var err error
		if f.cond, err = eval.NewFilter(s.ctx, conds[i], s.batch); err != nil {
			return nil, err
		}
		f.weight = eval.Cost(conds[i])
	}
	for _, k := range s.runtime {
		const weight = 2 // between a look into a bitmap and one into a Bloom filter
		list = slices.Insert(list, len(list)-len(risky), &filter{columns: []int{k.column}, weight: weight, keys: k.keys})
	}
	return list, nil
}

// columnsOf is the columns that e reads, ascending.
func columnsOf(e expr.Expr) []int {
	columns := []int{}
	expr.Walk(e, func(e expr.Expr) bool {
		if in, ok := e.(*expr.Input); ok {
			columns = append(columns, in.Index)
		}
		return true
	})
	slices.Sort(columns)
	return slices.Compact(columns)
}

// narrow clears the bits of open – rows of b that are left, count of them – that do not pass, and counts again.
func (f *filter) narrow(b *vector.Batch, open []uint64, count int) (left int, err error) {
	if f.keys != nil {
		f.keys.Narrow(b.Cols[f.columns[0]], open)
		left = kernel.Count(open)
	} else if left, err = f.cond.Mark(b, open); err != nil {
		return 0, err
	}
	f.in += int64(count)
	f.out += int64(left)
	return left, nil
}

// pass is the share of rows that pass, as far as it is known.
func (f *filter) pass() float64 {
	const seen = 1000 // rows that a guess of one half counts for
	return (float64(f.out) + seen/2) / (float64(f.in) + seen)
}

// orderFilters puts first what drops the most rows for the least work: of the columns that a filter needs, the bytes to
// decompress and decode, unless the filters before it need them anyway; and of the condition its own work, which is next
// to nothing where the column is codes.
func (r *reader) orderFilters() {
	for _, f := range r.filters {
		if f.keys != nil { // it is only a hint: one that drops next to nothing is not worth a look at every row
			f.idle = f.in > 1<<16 && f.pass() > 0.97
			continue
		}
		f.idle = r.m.skip != nil && !slices.ContainsFunc(f.conjuncts, func(i int) bool { return !r.m.skip[i] })
	}
	rows := float64(r.m.file.RowGroups[r.m.group].Rows)
	clear(r.wanted)
	for i := range r.filters {
		best, least := i, 0.0
		for k := i; k < len(r.filters) && !r.filters[k].canFail; k++ {
			f := r.filters[k]
			cost, codes := f.weight, len(f.columns) == 1
			for _, j := range f.columns {
				c := r.m.chunk(r.m.file.columns[j])
				if !r.wanted[j] {
					cost += float64(c.uncompressed) / rows
				}
				codes = codes && c.mostlyCodes()
			}
			if codes {
				cost -= f.weight * 0.9
			}
			if cost /= 1.001 - f.pass(); k == i || cost < least {
				best, least = k, cost
			}
		}
		r.filters[i], r.filters[best] = r.filters[best], r.filters[i]
		for _, j := range r.filters[i].columns {
			r.wanted[j] = true
		}
	}
}

// mostlyCodes tells whether, by what the footer says, the chunk's pages are codes of a dictionary.
func (c *chunkMeta) mostlyCodes() bool {
	const dict = 1<<encPlainDictionary | 1<<encRLEDictionary
	if c.pageEncodings != 0 {
		return c.pageEncodings&^dict == 0
	}
	return c.encodings&dict != 0
}

// prune looks at the dictionaries of columns that filters need, and tells that no row of the morsel can pass. What the
// filters find out of a dictionary they keep for the batches that follow, so it costs little to ask. A condition that can
// fail is not asked: the entry that it fails on may be in rows that other conditions drop.
func (r *reader) prune(ctx context.Context) (dead bool, err error) {
	for _, f := range r.filters {
		if f.idle || f.canFail || len(f.columns) != 1 {
			continue
		}
		j := f.columns[0]
		if r.state[j] == colUnread && !r.m.chunk(r.m.file.columns[j]).mostlyCodes() {
			continue
		}
		if err := r.open(ctx, f.columns); err != nil {
			return false, err
		}
		dict := r.cols[j].everyEntry()
		if dict == nil || int64(dict.Len) > r.m.rows/2 {
			continue
		}
		if some, err := r.passes(f, j, dict); some || err != nil {
			if err != nil {
				return false, err
			}
			continue
		}
		if f.keys == nil && r.m.file.stats(r.m.group, j).NullCount != 0 {
			vector.SetNull(&r.null, dict.Type, 1)
			if some, err := r.passes(f, j, &r.null); some || err != nil {
				if err != nil {
					return false, err
				}
				continue
			}
		}
		return true, nil
	}
	return false, nil
}

// passes tells whether any row of v, as the column, passes f.
func (r *reader) passes(f *filter, column int, v *vector.Vector) (bool, error) {
	b := &r.batch
	b.Cols, b.Len, b.Sel = r.vecs, v.Len, nil
	r.vecs[column] = v
	open := r.openRows(v.Len)
	left, err := f.narrow(b, open, v.Len)
	r.vecs[column] = nil
	return left > 0, err
}

// openRows is the bitmap of n rows that are all left.
func (r *reader) openRows(n int) []uint64 {
	r.left = resize(r.left, vector.Words(n))
	clear(r.left)
	kernel.SetRange(r.left, 0, n)
	return r.left
}
