package exec

import (
	"context"
	"sync/atomic"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// values gives rows of constants; a morsel is a batch of them.
type values struct {
	fields []physical.Field
	rows   [][]expr.Value
	batch  int
	next   atomic.Int64
}

func newValues(n *physical.Values, env *Env) *values {
	return &values{fields: n.Fields, rows: n.Rows, batch: env.BatchRows}
}

// MaxReaders is 1 for as many constants as a statement usually holds.
func (v *values) MaxReaders() int { return 1 + len(v.rows)/(16*vector.DefaultBatch) }

func (v *values) NewReader() (Reader, error) {
	return &valuesReader{values: v, lanes: make([]lane, len(v.fields)), cols: make([]*vector.Vector, len(v.fields))}, nil
}

func (*values) Close() error { return nil }

type valuesReader struct {
	values *values
	lanes  []lane
	cols   []*vector.Vector
	batch  vector.Batch
}

func (r *valuesReader) Next(context.Context) (*vector.Batch, error) {
	v := r.values
	to := int(v.next.Add(int64(v.batch)))
	from := to - v.batch
	if from >= len(v.rows) {
		return nil, nil
	}
	rows := v.rows[from:min(to, len(v.rows))]
	for c, f := range v.fields {
		r.cols[c] = r.lanes[c].constants(f.Type, rows, c)
	}
	r.batch = vector.Batch{Cols: r.cols, Len: len(rows)}
	return &r.batch, nil
}

func (*valuesReader) Close() error { return nil }

// constants makes l's vector the values of column c of rows.
func (l *lane) constants(t sqltype.Type, rows [][]expr.Value, c int) *vector.Vector {
	n, p := len(rows), vector.PhysOf(t)
	var valid []uint64
	for _, row := range rows {
		if row[c].Null {
			valid = l.roomValid(n)
			for i := range rows {
				if !rows[i][c].Null {
					setBit(valid, i)
				}
			}
			break
		}
	}
	switch p {
	case vector.PhysBool:
		dst := room[uint64](l, max(1, vector.Words(n)))
		clear(dst)
		for i, row := range rows {
			if !row[c].Null && row[c].Int != 0 {
				setBit(dst, i)
			}
		}
	case vector.PhysString:
		dst := l.roomStrings(n)
		for i, row := range rows {
			dst[i] = row[c].Str
		}
	case vector.PhysFloat32:
		fill(l, rows, func(v *expr.Value) float32 { return float32(v.Float) }, c)
	case vector.PhysFloat64:
		fill(l, rows, func(v *expr.Value) float64 { return v.Float }, c)
	case vector.PhysInt128:
		fill(l, rows, func(v *expr.Value) int128.Int128 { return v.Wide }, c)
	case vector.PhysInterval:
		fill(l, rows, func(v *expr.Value) vector.Interval {
			return vector.Interval{Months: v.Months, Days: v.Days, Micros: v.Int}
		}, c)
	default:
		integer := func(v *expr.Value) int64 { return v.Int }
		if t.Kind == sqltype.Decimal {
			integer = func(v *expr.Value) int64 { return int64(v.Wide.Lo) }
		}
		switch widthOf(p) {
		case 1:
			fill(l, rows, func(v *expr.Value) int8 { return int8(integer(v)) }, c)
		case 2:
			fill(l, rows, func(v *expr.Value) int16 { return int16(integer(v)) }, c)
		case 4:
			fill(l, rows, func(v *expr.Value) int32 { return int32(integer(v)) }, c)
		case 8:
			fill(l, rows, integer, c)
		}
	}
	return l.flat(t, p, n, valid)
}

func fill[T any](l *lane, rows [][]expr.Value, f func(*expr.Value) T, c int) {
	dst := room[T](l, len(rows))
	for i := range rows {
		dst[i] = f(&rows[i][c])
	}
}
