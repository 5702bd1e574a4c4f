package parquet

import (
	"cmp"
	"context"
	"io"
	"slices"

	"github.com/fletchdb/fletch/engine/budget"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

// A reader decodes morsels for one goroutine: of each batch first the columns that filters need, one filter after the
// other for as long as rows are left, and then the rest – of which it reads nothing before the first row that passed.
type reader struct {
	src     *source
	inflate inflater
	memory  *budget.User // nil: nobody counts
	filters []*filter

	m    *morsel // nil: take the next
	row  int64
	end  int64
	file io.ReaderAt

	cols  []*column // per column of the scan; made for the first file that has it
	state []colState
	bufs  [][]byte // bytes of column chunks, one per run of them; the first used are the morsel's
	used  int
	runs  []byteRange

	vecs   []*vector.Vector
	batch  vector.Batch
	left   []uint64 // rows of the batch that have passed so far
	sel    []int32
	wanted []bool        // per column: a filter needs it
	null   vector.Vector // one NULL
}

// A colState is how far a column of the present morsel is.
type colState uint8

const (
	colUnread  colState = iota
	colOpen             // its bytes are read, its dictionary decoded
	colDecoded          // and it has a vector of the present batch
)

// A byteRange is the bytes in the file of a column's chunk, or of a part of it: pages of rows rows from row first on. The
// page of the dictionary is apart from them where dictTo is not 0.
type byteRange struct {
	column           int
	from, to         int64
	dictFrom, dictTo int64
	first, rows      int64
}

func newReader(s *source) (*reader, error) {
	n := len(s.scan.Columns)
	r := &reader{src: s, cols: make([]*column, n), state: make([]colState, n), vecs: make([]*vector.Vector, n), wanted: make([]bool, n), sel: make([]int32, s.batch)}
	if s.budget != nil {
		r.memory = s.budget.User("Scan " + s.scan.Table)
	}
	var err error
	r.filters, err = newFilters(s)
	return r, err
}

// Next gives the next batch that has a row. Its columns are as the file has them: codes where those are.
func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.m == nil {
			if ok, err := r.begin(ctx); !ok || err != nil {
				return nil, err
			}
			continue // begin may have found that no row of it can pass
		}
		n := int(min(int64(r.src.batch), r.end-r.row))
		ok, err := r.decode(ctx, n)
		if err != nil {
			return nil, err
		}
		r.row += int64(n)
		if r.row == r.end {
			if err := r.finish(); err != nil {
				return nil, err
			}
		}
		if ok {
			return &r.batch, nil
		}
	}
}

// begin takes a morsel; ok is false where there is none left.
func (r *reader) begin(ctx context.Context) (ok bool, err error) {
	i := r.src.next.Add(1) - 1
	if i >= int64(len(r.src.morsels)) {
		return false, nil
	}
	m := &r.src.morsels[i]
	r.m, r.row, r.end, r.used = m, m.first, m.first+m.rows, 0
	for j, def := range m.file.columns {
		r.state[j] = colUnread
		if r.cols[j] == nil || r.cols[j].def != def && r.cols[j].def.element != def.element {
			r.cols[j] = newColumn(def, &r.inflate, r.src.batch)
		}
		r.cols[j].def = def
	}
	if r.file, err = m.file.open(ctx, r.src.in); err != nil {
		return false, err
	}
	r.orderFilters()
	dead, err := r.prune(ctx)
	if err != nil {
		return false, err
	}
	if dead {
		return true, r.finish()
	}
	return true, nil
}

// finish leaves the morsel. The batch that was decoded last stays valid.
func (r *reader) finish() error {
	f := r.m.file
	r.m, r.file = nil, nil
	return f.done()
}

// decode makes the batch of n rows from r.row on; ok is false where none of them passes.
func (r *reader) decode(ctx context.Context, n int) (ok bool, err error) {
	b := &r.batch
	b.Cols, b.Len, b.Sel = r.vecs, n, nil
	for j, s := range r.state {
		if s == colDecoded {
			r.state[j] = colOpen
		}
	}
	if len(r.filters) > 0 {
		left, open := n, r.openRows(n)
		for _, f := range r.filters {
			if f.idle {
				continue
			}
			if err := r.need(ctx, f.columns); err != nil {
				return false, err
			}
			if left, err = f.narrow(b, open, left); left == 0 || err != nil {
				return false, err
			}
		}
		if left < n {
			b.Sel = r.sel[:kernel.ToSelection(r.sel, open, n)]
		}
	}
	if err := r.need(ctx, nil); err != nil {
		return false, err
	}
	return true, nil
}

// need decodes the columns, or all, of the present batch, as far as that is not done.
func (r *reader) need(ctx context.Context, columns []int) error {
	if err := r.open(ctx, columns); err != nil {
		return err
	}
	each := func(j int) error {
		if r.state[j] == colDecoded {
			return nil
		}
		v, err := r.cols[j].read(r.row, r.batch.Len)
		if err != nil {
			return r.fault(j, err)
		}
		r.vecs[j], r.state[j] = v, colDecoded
		return r.account(j)
	}
	if columns != nil {
		for _, j := range columns {
			if err := each(j); err != nil {
				return err
			}
		}
		return nil
	}
	for j := range r.cols {
		if err := each(j); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) fault(column int, err error) error {
	return fault(r.m.file.File, r.m.file.columns[column], r.m.group, err)
}

// coalesce is how many bytes that nobody wants are read rather than going to the file once more.
const coalesce = 64 << 10

// open reads the bytes of the columns' chunks, or of all, that are not read yet: chunks that lie together at once.
func (r *reader) open(ctx context.Context, columns []int) error {
	r.runs = r.runs[:0]
	add := func(j int) error {
		if r.state[j] != colUnread {
			return nil
		}
		run, err := r.m.extent(j)
		if err != nil {
			return r.fault(j, err)
		}
		r.runs = append(r.runs, run)
		return nil
	}
	if columns == nil {
		for j := range r.cols {
			if err := add(j); err != nil {
				return err
			}
		}
	}
	for _, j := range columns {
		if err := add(j); err != nil {
			return err
		}
	}
	if len(r.runs) == 0 {
		return nil
	}
	slices.SortFunc(r.runs, func(a, b byteRange) int { return cmp.Compare(a.from, b.from) })
	for i := 0; i < len(r.runs); {
		from, to, k := r.runs[i].from, r.runs[i].to, i+1
		for k < len(r.runs) && r.runs[k].from-to <= coalesce {
			to = max(to, r.runs[k].to)
			k++
		}
		buf, err := r.fetch(ctx, from, to)
		if err != nil {
			return err
		}
		for ; i < k; i++ {
			run := r.runs[i]
			j := run.column
			var dict []byte
			if run.dictTo > 0 {
				if dict, err = r.fetch(ctx, run.dictFrom, run.dictTo); err != nil {
					return err
				}
			}
			meta := r.m.chunk(r.m.file.columns[j])
			if err := r.cols[j].open(meta, dict, buf[run.from-from:run.to-from:run.to-from], run.first, run.rows); err != nil {
				return r.fault(j, err)
			}
			r.state[j] = colOpen
			r.src.metrics.Bytes.Add(run.bytes())
			if err := r.account(j); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch reads bytes of the file into memory that is kept for the morsel.
func (r *reader) fetch(ctx context.Context, from, to int64) ([]byte, error) {
	n := int(to - from)
	if r.used == len(r.bufs) {
		r.bufs = append(r.bufs, nil)
	}
	if buf := r.bufs[r.used]; cap(buf) < n {
		if err := r.reserve(int64(n + n/8 - cap(buf))); err != nil {
			return nil, err
		}
		r.bufs[r.used] = aligned(n + n/8)
	}
	buf := r.bufs[r.used][:n]
	r.used++
	if err := readAt(ctx, r.file, buf, from, r.m.file.Path); err != nil {
		return nil, err
	}
	return buf, nil
}

func (r *reader) reserve(n int64) error {
	if r.memory == nil {
		return nil
	}
	return r.memory.Reserve(n)
}

// account reserves the memory that a column had to take since it last looked.
func (r *reader) account(column int) error {
	n := r.cols[column].grown
	if n == 0 {
		return nil
	}
	r.cols[column].grown = 0
	return r.reserve(n)
}

// Close frees what the reader holds.
func (r *reader) Close() error {
	r.inflate.Close()
	if r.memory != nil {
		r.memory.ReleaseAll()
	}
	r.bufs, r.cols = nil, nil
	if r.m != nil {
		return r.finish()
	}
	return nil
}
