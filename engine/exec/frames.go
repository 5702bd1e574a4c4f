package exec

import (
	"cmp"
	"math"
	"sort"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/planted"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// frames is the frame of every row of a block: rows from … to, less those that an exclusion leaves out.
type frames struct {
	from, to []int32
	exclude  physical.FrameExclude
	p        *partitions
}

func newFrames(c *windowCall, rows *store, p *partitions, n *physical.Window) (*frames, error) {
	f := &frames{from: make([]int32, p.n), to: make([]int32, p.n), exclude: c.Frame.Exclude, p: p}
	start, err := newEdge(c, c.Frame.Start, rows, p, n, false)
	if err != nil {
		return nil, err
	}
	end, err := newEdge(c, c.Frame.End, rows, p, n, true)
	if err != nil {
		return nil, err
	}
	for i := range p.n {
		f.from[i] = min(max(start(i), p.start[i]), p.end[i])
		f.to[i] = max(min(end(i), p.end[i]), f.from[i])
	}
	return f, nil
}

// ranges is the rows of row i's frame: up to three runs, ascending; empty ones hold nothing.
func (f *frames) ranges(i int) (out [3][2]int32) {
	from, to := f.from[i], f.to[i]
	if f.exclude == physical.ExcludeNone {
		out[0] = [2]int32{from, to}
		return out
	}
	cut := [2]int32{int32(i), int32(i) + 1}
	if f.exclude != physical.ExcludeCurrentRow {
		cut = [2]int32{f.p.peer[i], f.p.stop[i]}
	}
	out[0] = [2]int32{from, min(to, cut[0])}
	out[2] = [2]int32{max(from, cut[1]), to}
	if f.exclude == physical.ExcludeTies && from <= int32(i) && int32(i) < to {
		out[1] = [2]int32{int32(i), int32(i) + 1}
	}
	return out
}

// An edge gives, per row, where its frame begins or, as the row after the last, ends; perhaps outside of the partition.
type edge func(i int) int32

func newEdge(c *windowCall, b physical.Bound, rows *store, p *partitions, n *physical.Window, end bool) (edge, error) {
	switch b.Kind {
	case physical.UnboundedPreceding:
		return func(i int) int32 { return p.start[i] }, nil
	case physical.UnboundedFollowing:
		return func(i int) int32 { return p.end[i] }, nil
	case physical.CurrentRow:
		switch {
		case c.Frame.Unit == physical.FrameRows && end:
			return func(i int) int32 { return int32(i) + 1 }, nil
		case c.Frame.Unit == physical.FrameRows:
			return func(i int) int32 { return int32(i) }, nil
		case end:
			return func(i int) int32 { return p.stop[i] }, nil
		}
		return func(i int) int32 { return p.peer[i] }, nil
	}
	back := b.Kind == physical.Preceding
	switch c.Frame.Unit {
	case physical.FrameRows:
		by := shift(b.Offset.Int, back)
		if end && !planted.WindowFrame {
			by++
		}
		return func(i int) int32 { return clamp(int64(i)+by, p, i) }, nil
	case physical.FrameGroups:
		by := shift(b.Offset.Int, back)
		return func(i int) int32 {
			g := int64(p.groupOf[i]) + by
			if end {
				g++
			}
			if g < 0 || g >= int64(len(p.groups)) {
				return clamp(g*int64(p.n)*2, p, i) // before or behind everything
			}
			return clamp(int64(p.groups[g]), p, i)
		}, nil
	}
	return rangeEdge(c, b, rows, p, n, end)
}

// shift is a count of rows or groups as a signed step.
func shift(offset int64, back bool) int64 {
	offset = min(offset, math.MaxInt32)
	if back {
		return -offset
	}
	return offset
}

func clamp(at int64, p *partitions, i int) int32 {
	return int32(min(max(at, int64(p.start[i])), int64(p.end[i])))
}

// rangeEdge is the edge of a range with an offset: the first row whose key is at or beyond the current row's key and the offset.
func rangeEdge(c *windowCall, b physical.Bound, rows *store, p *partitions, n *physical.Window, end bool) (edge, error) {
	key := rows.cols[c.key]
	desc := n.Order[0].Desc
	back := (b.Kind == physical.Preceding) != desc // towards lesser keys
	k, err := newRangeKey(c, key, b, p.n, back)
	if err != nil {
		return nil, err
	}
	return func(i int) int32 {
		if key.isNull(i) { // NULLs are peers of each other and at no distance from anything else
			if end {
				return p.stop[i]
			}
			return p.peer[i]
		}
		from, to := p.start[i], p.end[i]
		for from < to && key.isNull(int(from)) {
			from++
		}
		for to > from && key.isNull(int(to-1)) {
			to--
		}
		at := sort.Search(int(to-from), func(j int) bool {
			cmp := k.compare(int(from)+j, i) // of row j's key with the edge of row i's
			if desc {
				cmp = -cmp
			}
			if end {
				return cmp > 0
			}
			return cmp >= 0
		})
		return from + int32(at)
	}, nil
}

// A rangeKey compares keys with edges of ranges.
type rangeKey struct {
	compare func(row, current int) int
}

func newRangeKey(c *windowCall, key *column, b physical.Bound, n int, back bool) (*rangeKey, error) {
	var l lane
	var ids identity
	v := key.window(&l, 0, n, &ids)
	off := b.Offset
	negative := func() error {
		return sqlerr.New(sqlerr.InvalidParameter, c.Pos.P, "invalid preceding or following size in window function")
	}
	switch k := key.typ.Kind; {
	case key.typ.IsFloat():
		if off.Type.Kind != sqltype.Float64 || off.Float < 0 || math.IsNaN(off.Float) {
			return nil, negative()
		}
		by := off.Float
		if back {
			by = -by
		}
		at := func(i int) float64 {
			if key.typ.Kind == sqltype.Float32 {
				return float64(vector.Values[float32](v)[i])
			}
			return vector.Values[float64](v)[i]
		}
		return &rangeKey{func(row, current int) int { return compareFloats(at(row), at(current)+by) }}, nil
	case key.typ.IsInteger(), k == sqltype.Decimal:
		by := off.Wide
		if off.Type.Kind != sqltype.Decimal {
			by = int128.FromInt64(off.Int)
		}
		if by.Sign() < 0 {
			return nil, negative()
		}
		if back {
			by = by.Neg()
		}
		at := func(i int) int128.Int128 { return unscaledAt(v, i) }
		return &rangeKey{func(row, current int) int { return at(row).Cmp(at(current).Add(by)) }}, nil
	case k == sqltype.Date || k == sqltype.Timestamp || k == sqltype.TimestampTZ:
		if off.Type.Kind != sqltype.Interval {
			break
		}
		if off.Months < 0 || off.Days < 0 || off.Int < 0 {
			return nil, negative()
		}
		at := func(i int) int64 {
			if k == sqltype.Date {
				return int64(vector.Values[int32](v)[i]) * dayMicros
			}
			return vector.Values[int64](v)[i]
		}
		months, days, micros := int64(off.Months), int64(off.Days), off.Int
		if back {
			months, days, micros = -months, -days, -micros
		}
		return &rangeKey{func(row, current int) int {
			day, rest := calendar.Split(at(current))
			return cmp.Compare(at(row), (calendar.AddMonths(day, months)+days)*dayMicros+rest+micros)
		}}, nil
	}
	return nil, sqlerr.Newf(sqlerr.Unsupported, c.Pos.P, "RANGE with an offset of type %s over %s is not supported", off.Type, key.typ)
}

const dayMicros = 24 * 3600 * 1_000_000

func compareFloats(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return cmp.Compare(a, b)
}

// unscaledAt is an integer or unscaled decimal in 128 bits.
func unscaledAt(v *vector.Vector, i int) int128.Int128 {
	switch v.Phys {
	case vector.PhysInt8:
		return int128.FromInt64(int64(vector.Values[int8](v)[i]))
	case vector.PhysInt16:
		return int128.FromInt64(int64(vector.Values[int16](v)[i]))
	case vector.PhysInt32:
		return int128.FromInt64(int64(vector.Values[int32](v)[i]))
	case vector.PhysUint8:
		return int128.FromUint64(uint64(vector.Values[uint8](v)[i]))
	case vector.PhysUint16:
		return int128.FromUint64(uint64(vector.Values[uint16](v)[i]))
	case vector.PhysUint32:
		return int128.FromUint64(uint64(vector.Values[uint32](v)[i]))
	case vector.PhysUint64:
		return int128.FromUint64(vector.Values[uint64](v)[i])
	case vector.PhysInt128:
		return vector.Values[int128.Int128](v)[i]
	}
	return int128.FromInt64(vector.Values[int64](v)[i])
}
