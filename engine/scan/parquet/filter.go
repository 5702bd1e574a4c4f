package parquet

import (
	"context"
	"slices"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A filter drops rows: one conjunct of the scan's filter, or one runtime filter.
type filter struct {
	conjunct int // of the scan's filter; −1: a runtime filter
	columns  []int
	weight   float64 // what it takes per row once its columns are decoded, in nanoseconds or so
	cond     predicate
	keys     exec.KeyFilter

	bits []uint64 // of a runtime filter
	sel  []int32

	in, out int64 // rows that it saw and let pass
	cost    float64
	idle    bool // it lets every row of the morsel pass
}

// A predicate narrows the selection of a batch to the rows for which it is true.
type predicate interface {
	Apply(b *vector.Batch) error
}

func newFilters(s *source) ([]*filter, error) {
	var list []*filter
	for i, cond := range s.filter {
		f := &filter{conjunct: i, weight: weigh(cond)}
		expr.Walk(cond, func(e expr.Expr) bool {
			if in, ok := e.(*expr.Input); ok && !slices.Contains(f.columns, in.Index) {
				f.columns = append(f.columns, in.Index)
			}
			return true
		})
		if f.columns == nil {
			f.columns = []int{} // none, not all
		}
		var err error
		if f.cond, err = newPredicate(cond, s.batch); err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	for _, k := range s.runtime {
		list = append(list, &filter{
			conjunct: -1, columns: []int{k.column}, weight: 2, keys: k.keys,
			bits: make([]uint64, vector.Words(s.batch)), sel: make([]int32, s.batch),
		})
	}
	return list, nil
}

// weigh guesses what a condition takes per row.
func weigh(cond expr.Expr) float64 {
	w := 0.0
	expr.Walk(cond, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Input:
			w += 0.2
			if k := e.Typ.Kind; k == sqltype.Utf8 || k == sqltype.Binary {
				w += 5
			}
		case *expr.Compare, *expr.IsNull, *expr.Logic, *expr.Not:
			w += 0.2
		case *expr.In:
			w += 1
		case *expr.Call:
			w += 3
			if len(e.Args) > 0 && e.Args[0].Type().Kind == sqltype.Utf8 {
				w += 20
			}
		case *expr.Case, *expr.Cast:
			w += 2
		}
		return true
	})
	return w
}

// apply drops the rows of b that do not pass.
func (f *filter) apply(b *vector.Batch) error {
	before := b.Rows()
	if f.keys == nil {
		if err := f.cond.Apply(b); err != nil {
			return err
		}
	} else {
		f.narrow(b)
	}
	f.in += int64(before)
	f.out += int64(b.Rows())
	return nil
}

func (f *filter) narrow(b *vector.Batch) {
	bits := f.bits[:vector.Words(b.Len)]
	if b.Sel == nil {
		clear(bits)
		kernel.SetRange(bits, 0, b.Len)
	} else {
		kernel.FromSelection(bits, b.Sel)
	}
	f.keys.Narrow(b.Cols[f.columns[0]], bits)
	n := kernel.ToSelection(f.sel, bits, b.Len)
	if n < b.Len {
		b.Sel = f.sel[:n]
	}
}

// pass is the share of rows that pass, as far as it is known.
func (f *filter) pass() float64 {
	const seen = 1000 // rows that a guess of one half counts for
	return (float64(f.out) + seen/2) / (float64(f.in) + seen)
}

// orderFilters puts first what drops the most rows for the least work: of the columns that a filter needs, the bytes to
// read and decompress, unless the filters before it need them anyway, and of the condition its own work, which is next to
// nothing where the column is codes.
func (r *reader) orderFilters() {
	for _, f := range r.filters {
		f.idle = f.conjunct >= 0 && r.m.skip != nil && r.m.skip[f.conjunct]
	}
	rows := float64(r.m.file.RowGroups[r.m.group].Rows)
	have := make([]bool, 0, 16)
	for range r.cols {
		have = append(have, false)
	}
	for i := range r.filters {
		best := i
		for k := i; k < len(r.filters); k++ {
			f := r.filters[k]
			f.cost = f.weight
			codes := len(f.columns) == 1
			for _, j := range f.columns {
				c := r.m.chunk(r.m.file.columns[j])
				if !have[j] {
					f.cost += float64(c.uncompressed) / rows
				}
				codes = codes && c.mostlyCodes()
			}
			if codes {
				f.cost -= f.weight * 0.9
			}
			f.cost /= 1.001 - min(f.pass(), 1)
			if f.cost < r.filters[best].cost {
				best = k
			}
		}
		r.filters[i], r.filters[best] = r.filters[best], r.filters[i]
		for _, j := range r.filters[i].columns {
			have[j] = true
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

// maxShare is the largest part of a chunk's rows that its dictionary may have for prune to try its entries.
const maxShare = 8

// prune looks at the dictionaries of columns that filters need, and tells that no row of the morsel can pass. A condition
// that fails on an entry – of rows that another condition may drop – decides nothing here.
func (r *reader) prune(ctx context.Context) (dead bool, err error) {
	for _, f := range r.filters {
		if f.idle || len(f.columns) != 1 {
			continue
		}
		j := f.columns[0]
		if r.state[j] == colUnread && !r.m.chunk(r.m.file.columns[j]).mostlyCodes() {
			continue
		}
		if err := r.open(ctx, f.columns); err != nil {
			return false, err
		}
		dict := r.cols[j].dictionaryOnly()
		if dict == nil || int64(dict.Len) > r.m.rows/maxShare || dict.Len == 0 {
			continue
		}
		some, err := r.passes(f, j, dict)
		if some || err != nil {
			continue
		}
		if f.keys == nil && r.m.file.stats(r.m.group, j).NullCount != 0 {
			var null vector.Vector
			vector.SetNull(&null, dict.Type, 1)
			if some, err := r.passes(f, j, &null); some || err != nil {
				continue
			}
		}
		return true, nil
	}
	return false, nil
}

// passes tells whether any row of v passes f.
func (r *reader) passes(f *filter, column int, v *vector.Vector) (bool, error) {
	b := vector.Batch{Cols: make([]*vector.Vector, len(r.vecs)), Len: v.Len}
	b.Cols[column] = v
	if f.keys == nil {
		if err := f.cond.Apply(&b); err != nil {
			return false, err
		}
		return b.Rows() > 0, nil
	}
	bits := make([]uint64, vector.Words(v.Len))
	kernel.SetRange(bits, 0, v.Len)
	f.keys.Narrow(v, bits)
	return kernel.Any(bits), nil
}
