package batchtest

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A Shape is how a source cuts a table into batches.
type Shape struct {
	Rows   int   // per batch, before the selection
	Select bool  // mix rows that are not alive among those that are
	Forms  bool  // mix flat, dictionary and constant vectors
	Nulls  bool  // every value is NULL
	Fail   error // after the first batch
	Seed   uint64
}

// NewSource gives the rows of t in batches of shape s. What a batch points to is overwritten when the next one is asked for.
func NewSource(t Table, s Shape) exec.Source { return &source{table: t, shape: s} }

type source struct {
	table Table
	shape Shape
	next  atomic.Int64 // row
	count atomic.Int64 // batches
	open  atomic.Int64 // readers
}

func (s *source) NewReader() (exec.Reader, error) {
	s.open.Add(1)
	return &reader{source: s}, nil
}

func (s *source) Close() error { return nil }

type reader struct {
	source *source
	last   *memory
	once   sync.Once
}

func (r *reader) Close() error {
	r.once.Do(func() { r.source.open.Add(-1) })
	r.last.spoil()
	return nil
}

func (r *reader) Next(ctx context.Context) (*vector.Batch, error) {
	r.last.spoil()
	r.last = nil
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s := r.source
	k := s.count.Add(1)
	if s.shape.Fail != nil && k > 1 {
		return nil, s.shape.Fail
	}
	rng := rand.New(rand.NewPCG(s.shape.Seed, uint64(k)))
	live := s.shape.Rows
	if s.shape.Select && live > 1 {
		live = 1 + rng.IntN(live)
	}
	to := int(s.next.Add(int64(live)))
	from := to - live
	if from >= len(s.table.Rows) {
		return nil, nil
	}
	rows := s.table.Rows[from:min(to, len(s.table.Rows))]
	b := &vector.Batch{Len: len(rows)}
	if s.shape.Select {
		rows, b.Sel = scatter(rng, s.table, rows, s.shape.Rows)
		b.Len = len(rows)
	}
	r.last = &memory{}
	for c, f := range s.table.Fields {
		col := make([]expr.Value, len(rows))
		for i := range rows {
			col[i] = rows[i][c]
			if s.shape.Nulls {
				col[i] = expr.NullOf(f.Type)
			}
		}
		b.Cols = append(b.Cols, r.last.vector(rng, f.Type, col, b.Sel, s.shape.Forms))
	}
	return b, nil
}

// scatter puts rows between others of the table, or of NULLs, and says where they are.
func scatter(rng *rand.Rand, t Table, rows [][]expr.Value, most int) ([][]expr.Value, []int32) {
	total := len(rows)
	if extra := max(most-len(rows), 3); rng.IntN(4) > 0 {
		total += rng.IntN(extra)
	}
	sel := make([]int32, 0, len(rows))
	out := make([][]expr.Value, total)
	dead := total - len(rows)
	for i := range out {
		if left := len(rows) - len(sel); left > 0 && (dead == 0 || rng.IntN(left+dead) < left) {
			out[i] = rows[len(sel)]
			sel = append(sel, int32(i))
			continue
		}
		dead--
		if rng.IntN(2) == 0 {
			out[i] = t.Rows[rng.IntN(len(t.Rows))]
			continue
		}
		out[i] = make([]expr.Value, len(t.Fields))
		for c, f := range t.Fields {
			out[i][c] = expr.NullOf(f.Type)
		}
	}
	if dead == 0 && total == len(rows) && rng.IntN(2) == 0 {
		return out, nil
	}
	return out, sel
}

// memory is what a batch's vectors are made of.
type memory struct {
	fixed [][]byte
	text  [][]byte
}

// spoil overwrites everything, so that whoever kept a pointer is found out.
func (m *memory) spoil() {
	if m == nil {
		return
	}
	for _, b := range append(m.fixed, m.text...) {
		for i := range b {
			b[i] = 0x5a
		}
	}
}

func alloc[T any](m *memory, n int) []T {
	s := make([]T, max(n, 1))
	m.fixed = append(m.fixed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(*new(T)))))
	return s[:n]
}

func (m *memory) str(s string) string {
	if s == "" {
		return ""
	}
	b := []byte(s)
	m.text = append(m.text, b)
	return unsafe.String(&b[0], len(b))
}

func (m *memory) vector(rng *rand.Rand, t sqltype.Type, col []expr.Value, sel []int32, forms bool) *vector.Vector {
	v := &vector.Vector{}
	n := len(col)
	form := vector.Flat
	if forms {
		form = vector.Form(rng.IntN(3))
	}
	if form == vector.Const && constant(col, sel) && n > 0 {
		first := 0
		if sel != nil {
			first = int(sel[0])
		}
		m.flat(v, t, col[first:first+1])
		if v.Valid != nil && rng.IntN(2) == 0 {
			vector.SetNull(v, t, n)
			return v
		}
		v.Form, v.Len = vector.Const, n
		return v
	}
	var valid []uint64
	for i, x := range col {
		if !x.Null && !(forms && rng.IntN(8) == 0) {
			continue
		}
		if valid == nil {
			valid = alloc[uint64](m, vector.Words(n))
			for k := range n {
				valid[k>>6] |= 1 << (uint(k) & 63)
			}
		}
		if x.Null {
			valid[i>>6] &^= 1 << (uint(i) & 63)
		}
	}
	if form != vector.Dict || n == 0 {
		m.flat(v, t, col)
		v.Valid = valid
		return v
	}
	var distinct []expr.Value
	at := map[string]int{}
	codes := make([]int, n)
	for i, x := range col {
		if x.Null {
			continue
		}
		key := Format(x)
		k, ok := at[key]
		if !ok {
			k = len(distinct)
			at[key] = k
			distinct = append(distinct, x)
		}
		codes[i] = k
	}
	if len(distinct) == 0 {
		distinct = []expr.Value{{Type: t}}
	}
	dict := &vector.Vector{}
	m.flat(dict, t, distinct)
	dict.Valid = nil
	switch k := rng.IntN(3); {
	case k == 0 && len(distinct) <= 256:
		setCodes[uint8](m, v, dict, codes, valid)
	case k <= 1 && len(distinct) <= 65536:
		setCodes[uint16](m, v, dict, codes, valid)
	default:
		setCodes[uint32](m, v, dict, codes, valid)
	}
	return v
}

func setCodes[C uint8 | uint16 | uint32](m *memory, v, dict *vector.Vector, codes []int, valid []uint64) {
	out := alloc[C](m, len(codes))
	for i, c := range codes {
		out[i] = C(c)
	}
	vector.SetDict(v, dict, vector.NewDictID(), out, valid)
}

// constant tells whether the rows that are alive have one value.
func constant(col []expr.Value, sel []int32) bool {
	if sel != nil {
		if len(sel) == 0 {
			return false
		}
		for _, i := range sel {
			if Format(col[i]) != Format(col[sel[0]]) {
				return false
			}
		}
		return true
	}
	for _, x := range col {
		if Format(x) != Format(col[0]) {
			return false
		}
	}
	return true
}

// flat makes v a flat vector of col, with its NULLs.
func (m *memory) flat(v *vector.Vector, t sqltype.Type, col []expr.Value) {
	n := len(col)
	var valid []uint64
	for i, x := range col {
		if x.Null {
			if valid == nil {
				valid = alloc[uint64](m, vector.Words(n))
				for k := range n {
					valid[k>>6] |= 1 << (uint(k) & 63)
				}
			}
			valid[i>>6] &^= 1 << (uint(i) & 63)
		}
	}
	switch vector.PhysOf(t) {
	case vector.PhysBool:
		bits := alloc[uint64](m, vector.Words(n))
		for i, x := range col {
			if !x.Null && x.Int != 0 {
				bits[i>>6] |= 1 << (uint(i) & 63)
			}
		}
		vector.SetBits(v, t, bits, n, valid)
	case vector.PhysInt8:
		set(m, v, t, col, valid, func(x expr.Value) int8 { return int8(x.Int) })
	case vector.PhysInt16:
		set(m, v, t, col, valid, func(x expr.Value) int16 { return int16(x.Int) })
	case vector.PhysInt32:
		set(m, v, t, col, valid, func(x expr.Value) int32 { return int32(x.Int) })
	case vector.PhysInt64:
		set(m, v, t, col, valid, func(x expr.Value) int64 {
			if t.Kind == sqltype.Decimal {
				return int64(x.Wide.Lo)
			}
			return x.Int
		})
	case vector.PhysUint8:
		set(m, v, t, col, valid, func(x expr.Value) uint8 { return uint8(x.Int) })
	case vector.PhysUint16:
		set(m, v, t, col, valid, func(x expr.Value) uint16 { return uint16(x.Int) })
	case vector.PhysUint32:
		set(m, v, t, col, valid, func(x expr.Value) uint32 { return uint32(x.Int) })
	case vector.PhysUint64:
		set(m, v, t, col, valid, func(x expr.Value) uint64 { return uint64(x.Int) })
	case vector.PhysFloat32:
		set(m, v, t, col, valid, func(x expr.Value) float32 { return float32(x.Float) })
	case vector.PhysFloat64:
		set(m, v, t, col, valid, func(x expr.Value) float64 { return x.Float })
	case vector.PhysInt128:
		if t.Kind == sqltype.Decimal && n%2 == 0 && fits64(col) {
			set(m, v, t, col, valid, func(x expr.Value) int64 { return int64(x.Wide.Lo) })
			return
		}
		set(m, v, t, col, valid, func(x expr.Value) int128.Int128 { return x.Wide })
	case vector.PhysString:
		set(m, v, t, col, valid, func(x expr.Value) string { return m.str(x.Str) })
	case vector.PhysInterval:
		set(m, v, t, col, valid, func(x expr.Value) vector.Interval {
			return vector.Interval{Months: x.Months, Days: x.Days, Micros: x.Int}
		})
	}
}

func fits64(col []expr.Value) bool {
	for _, x := range col {
		if _, ok := x.Wide.Int64(); !ok {
			return false
		}
	}
	return true
}

func set[T vector.Element](m *memory, v *vector.Vector, t sqltype.Type, col []expr.Value, valid []uint64, f func(expr.Value) T) {
	var out []T
	if _, ok := any(out).([]string); ok {
		out = make([]T, len(col)) // a spoiled string header would crash the garbage collector
	} else {
		out = alloc[T](m, len(col))
	}
	for i, x := range col {
		out[i] = f(x)
	}
	vector.SetFlat(v, t, out, valid)
}
