package parquet

import (
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// newPredicate makes cond run on batches of up to n rows.
func newPredicate(cond expr.Expr, n int) (predicate, error) {
	return &interpreted{cond: cond, sel: make([]int32, 0, n)}, nil
}

// An interpreted predicate goes row by row.
type interpreted struct {
	cond expr.Expr
	sel  []int32
}

func (p *interpreted) Apply(b *vector.Batch) error {
	p.sel = p.sel[:0]
	try := func(i int) error {
		ok, err := p.holds(p.cond, b, i)
		if ok {
			p.sel = append(p.sel, int32(i))
		}
		return err
	}
	if b.Sel == nil {
		for i := range b.Len {
			if err := try(i); err != nil {
				return err
			}
		}
	} else {
		for _, i := range b.Sel {
			if err := try(int(i)); err != nil {
				return err
			}
		}
	}
	b.Sel = p.sel
	return nil
}

func (p *interpreted) holds(cond expr.Expr, b *vector.Batch, i int) (bool, error) {
	one := Stats{NullCount: 0, HasMin: true, HasMax: true}
	v := judge(cond, 1, func(column int) *Stats {
		if b.Cols[column].IsNull(i) {
			return &Stats{NullCount: 1}
		}
		s := one
		s.Min = valueAt(b.Cols[column], i)
		s.Max = s.Min
		return &s
	})
	if v == maybe {
		return false, sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "cannot run "+expr.String(cond))
	}
	return v == always, nil
}

// valueAt is row i of v, which is not NULL.
func valueAt(v *vector.Vector, i int) expr.Value {
	v, i = v.At(i)
	out := expr.Value{Type: v.Type}
	switch v.Phys {
	case vector.PhysBool:
		out.Int = int64(vector.Bits(v)[i/64] >> (i % 64) & 1)
	case vector.PhysInt8:
		out.Int = int64(vector.Values[int8](v)[i])
	case vector.PhysInt16:
		out.Int = int64(vector.Values[int16](v)[i])
	case vector.PhysInt32:
		out.Int = int64(vector.Values[int32](v)[i])
	case vector.PhysInt64:
		out.Int = vector.Values[int64](v)[i]
		if v.Type.Kind == sqltype.Decimal {
			out.Int, out.Wide = 0, int128.FromInt64(out.Int)
		}
	case vector.PhysUint8:
		out.Int = int64(vector.Values[uint8](v)[i])
	case vector.PhysUint16:
		out.Int = int64(vector.Values[uint16](v)[i])
	case vector.PhysUint32:
		out.Int = int64(vector.Values[uint32](v)[i])
	case vector.PhysUint64:
		out.Int = int64(vector.Values[uint64](v)[i])
	case vector.PhysFloat32:
		out.Float = float64(vector.Values[float32](v)[i])
	case vector.PhysFloat64:
		out.Float = vector.Values[float64](v)[i]
	case vector.PhysInt128:
		out.Wide = vector.Values[int128.Int128](v)[i]
	case vector.PhysString:
		out.Str = vector.Values[string](v)[i]
	case vector.PhysInterval:
		x := vector.Values[vector.Interval](v)[i]
		out.Months, out.Days, out.Int = x.Months, x.Days, x.Micros
	}
	return out
}
