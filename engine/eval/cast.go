package eval

import (
	"math"
	"strconv"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
	"github.com/fletchdb/fletch/engine/vector/kernel"
)

func (c *compiler) cast(e *expr.Cast) (factory, error) {
	from, to := e.X.Type(), e.To
	x, err := c.compile(e.X)
	switch {
	case err != nil:
		return nil, err
	case from.Equal(to):
		return x, nil
	case from.Kind == sqltype.Null:
		f, err := constant(expr.NullOf(to))
		return f, sqlerr.At(err, e.P)
	case !expr.CastAllowed(from, to, expr.Explicit):
		return nil, sqlerr.Newf(sqlerr.CannotCoerce, e.P, "cannot cast type %s to %s", from, to)
	}
	if from.Kind == to.Kind && from.IsNested() {
		return c.castNested(x, from, to, func(from, to sqltype.Type) (factory, error) {
			part := &expr.Input{Typ: from, Nullable: true}
			return (&compiler{inDict: true}).build(&expr.Cast{At: e.At, X: part, To: to, Try: e.Try})
		})
	}
	exact := from.IsInteger() || from.Kind == sqltype.Decimal
	if !e.Try && exact && to.Kind == sqltype.Decimal {
		return func(in *instance) node { return &rescaleNode{e: e, x: x(in), in: in} }, nil
	}
	if !e.Try && from.IsInteger() && to.IsInteger() && from.Kind != sqltype.Uint64 && to.Kind != sqltype.Uint64 {
		return castIntegers(e, x), nil
	}
	k := call{Call: &expr.Call{At: e.At, Args: []expr.Expr{e.X}, Typ: to}, args: []factory{x}}
	build := castRows(from, to)
	if build == nil {
		return nil, sqlerr.Newf(sqlerr.Unsupported, e.P, "casts from %s to %s are not supported", from, to)
	}
	return func(in *instance) node {
		n := newRows(in, k)
		n.try = e.Try
		build(n)
		return n
	}, nil
}

// An anyInt reads any integers, and decimals of 64 bits, as int64; those of a UBIGINT by their bits.
type anyInt struct {
	vals     []int64
	mask     int
	unsigned bool // the bits are a uint64's
	i8       arg[int8]
	i16      arg[int16]
	i32      arg[int32]
	i64      arg[int64]
	u8       arg[uint8]
	u16      arg[uint16]
	u32      arg[uint32]
	u64      arg[uint64]
	buf      []int64
}

func (a *anyInt) at(i int) int64 { return a.vals[i&a.mask] }

// wide is row i in 128 bits.
func (a *anyInt) wide(i int) int128.Int128 {
	if a.unsigned {
		return int128.FromUint64(uint64(a.at(i)))
	}
	return int128.FromInt64(a.at(i))
}

func (a *anyInt) load(v *vector.Vector, f frame) {
	switch a.unsigned = v.Phys == vector.PhysUint64; v.Phys {
	case vector.PhysInt64:
		a.i64.load(v, f)
		a.vals, a.mask = a.i64.vals, a.i64.mask
	case vector.PhysInt8:
		toInt64(a, &a.i8, v, f)
	case vector.PhysInt16:
		toInt64(a, &a.i16, v, f)
	case vector.PhysInt32:
		toInt64(a, &a.i32, v, f)
	case vector.PhysUint8:
		toInt64(a, &a.u8, v, f)
	case vector.PhysUint16:
		toInt64(a, &a.u16, v, f)
	case vector.PhysUint32:
		toInt64(a, &a.u32, v, f)
	case vector.PhysUint64:
		toInt64(a, &a.u64, v, f)
	}
}

func toInt64[T integer](a *anyInt, of *arg[T], v *vector.Vector, f frame) {
	of.load(v, f)
	a.vals, a.mask = grow(&a.buf, len(of.vals)), of.mask
	for i, x := range of.vals {
		a.vals[i] = int64(x)
	}
}

func castIntegers(e *expr.Cast, x factory) factory {
	switch e.To.Kind {
	case sqltype.Int8:
		return castIntegersTo[int8](e, x)
	case sqltype.Int16:
		return castIntegersTo[int16](e, x)
	case sqltype.Int32:
		return castIntegersTo[int32](e, x)
	case sqltype.Int64:
		return castIntegersTo[int64](e, x)
	case sqltype.Uint8:
		return castIntegersTo[uint8](e, x)
	case sqltype.Uint16:
		return castIntegersTo[uint16](e, x)
	}
	return castIntegersTo[uint32](e, x)
}

func castIntegersTo[T integer](e *expr.Cast, x factory) factory {
	return func(in *instance) node { return &castInts[T]{e: e, x: x(in), in: in} }
}

// castInts brings integers to another width; all rows at once, then one by one where one of them did not fit.
type castInts[T integer] struct {
	e    *expr.Cast
	x    node
	in   *instance
	a    anyInt
	pick chooser
	out  column[T]
}

func (n *castInts[T]) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	if v.IsConstNull() {
		return n.out.null(n.e.To, f), nil
	}
	g, one := single(f, v)
	n.a.load(v, g)
	out := n.out.make(g.n)[:g.n]
	lost := int64(0)
	for i, x := range n.a.vals[:g.n] {
		out[i] = T(x)
		lost |= int64(out[i]) ^ x
	}
	if lost != 0 {
		valid := v.Valid
		if one {
			valid = nil
		}
		for _, i := range n.pick.choose(n.in, g, valid) {
			if int64(out[i]) != n.a.vals[i] {
				return nil, sqlerr.At(integerOverflow(n.e.To), n.e.P)
			}
		}
	}
	return n.out.give(n.e.To, f, one, v.Valid), nil
}

// A rescaleNode turns integers and decimals into decimals of another precision and scale.
type rescaleNode struct {
	e      *expr.Cast
	x      node
	in     *instance
	a      anyInt
	w      arg[int128.Int128]
	pick   chooser
	narrow column[int64]
	wide   column[int128.Int128]
	vec    vector.Vector
	bound  int
}

func (n *rescaleNode) magnitude() int { return n.bound }

func (n *rescaleNode) eval(f frame) (*vector.Vector, error) {
	v, err := n.x.eval(f)
	if err != nil {
		return nil, err
	}
	n.bound = 64
	from, to := n.e.X.Type(), n.e.To
	if v.IsConstNull() {
		return n.narrow.null(to, f), nil
	}
	whole := from.Digits() // digits before the point that may come
	if from.Kind == sqltype.Decimal {
		whole -= int(from.Scale)
	}
	shift := int(to.Scale) - int(from.Scale)
	safe := int(to.Precision)-int(to.Scale) >= whole && shift >= 0 // every value fits
	if shift == 0 && safe && v.Phys == vector.PhysInt64 && v.Form != vector.Dict {
		if b, ok := n.x.(bounded); ok {
			n.bound = b.magnitude()
		}
		n.vec = *v
		n.vec.Type = to
		return &n.vec, nil
	}
	g, one := single(f, v)
	valid := v.Valid
	if one {
		valid = nil
	}
	isWide := v.Phys == vector.PhysInt128
	if !isWide {
		n.a.load(v, g)
		if shift >= 0 && shift <= 18 && !n.a.unsigned {
			bits := kernel.AbsBits64(n.a.vals[:g.n])
			total := bits + pow10Bits(shift)
			if shift == 0 {
				total = bits
			}
			if total <= 63 && (safe || to.Precision > 18 || total < pow10Bits(int(to.Precision))) {
				kernel.MulConst(n.narrow.make(g.n)[:g.n], n.a.vals, pow10(shift))
				n.bound = total
				return n.narrow.give(to, f, one, valid), nil
			}
		}
	} else {
		n.w.load(v, g)
	}
	out := n.wide.make(g.n)
	for _, i := range n.pick.choose(n.in, g, valid) {
		var x int128.Int128
		if isWide {
			x = n.w.at(int(i))
		} else {
			x = n.a.wide(int(i))
		}
		x, ok := x.Rescale(0, shift)
		if !ok || !x.FitsDigits(int(to.Precision)) {
			return nil, sqlerr.At(sqltext.FieldOverflow(int(to.Precision), int(to.Scale)), n.e.P)
		}
		out[i] = x
	}
	if vector.PhysOf(to) == vector.PhysInt64 {
		for i := range n.narrow.make(g.n)[:g.n] {
			n.narrow.vals[i] = int64(n.wide.vals[i].Lo)
		}
		return n.narrow.give(to, f, one, valid), nil
	}
	return n.wide.give(to, f, one, valid), nil
}

// castRows gives what sets a node up to cast row by row, nil where there is no such cast.
func castRows(from, to sqltype.Type) func(n *rowsNode) {
	switch {
	case to.Kind == sqltype.Utf8:
		return castToText(from, to)
	case from.Kind == sqltype.Utf8:
		return castFromText(to)
	case from.Kind == sqltype.Bool:
		return func(n *rowsNode) {
			a := n.truthOperand()
			set := integerResult(n, to)
			n.row = func(i int) error { return set(i, int128.FromUint64(bit(a.at(i)))) }
		}
	case to.Kind == sqltype.Bool:
		return func(n *rowsNode) {
			a, out := &anyInt{}, n.truths()
			n.loads = append(n.loads, a)
			n.row = func(i int) error {
				out.set(i, a.at(i) != 0)
				return nil
			}
		}
	case from.IsFloat():
		return castFromFloat(from, to)
	case to.IsFloat():
		return castToFloat(from, to)
	case to.IsInteger():
		return func(n *rowsNode) {
			read := exactOperand(n, from)
			set := integerResult(n, to)
			n.row = func(i int) error {
				v, _ := read(i).Rescale(int(from.Scale), 0)
				return set(i, v)
			}
		}
	case to.Kind == sqltype.Decimal:
		return func(n *rowsNode) {
			read, out := exactOperand(n, from), n.decimals(to)
			n.row = func(i int) error {
				v, ok := read(i).Rescale(int(from.Scale), int(to.Scale))
				if !ok || !v.FitsDigits(int(to.Precision)) {
					return sqltext.FieldOverflow(int(to.Precision), int(to.Scale))
				}
				out.set(i, v)
				return nil
			}
		}
	}
	return castTemporal(from, to)
}

// exactOperand reads an integer or decimal in 128 bits, unscaled.
func exactOperand(n *rowsNode, t sqltype.Type) func(i int) int128.Int128 {
	if t.Kind == sqltype.Decimal {
		return operand[int128.Int128](n).at
	}
	a := &anyInt{}
	n.loads = append(n.loads, a)
	return a.wide
}

// integerResult stores integers of type t that fit it; others are errors.
func integerResult(n *rowsNode, t sqltype.Type) func(i int, v int128.Int128) error {
	overflow := integerOverflow(t)
	switch t.Kind {
	case sqltype.Int8:
		return storeInteger[int8](n, t, overflow)
	case sqltype.Int16:
		return storeInteger[int16](n, t, overflow)
	case sqltype.Int32:
		return storeInteger[int32](n, t, overflow)
	case sqltype.Int64:
		return storeInteger[int64](n, t, overflow)
	case sqltype.Uint8:
		return storeInteger[uint8](n, t, overflow)
	case sqltype.Uint16:
		return storeInteger[uint16](n, t, overflow)
	case sqltype.Uint32:
		return storeInteger[uint32](n, t, overflow)
	}
	return storeInteger[uint64](n, t, overflow)
}

func storeInteger[T integer](n *rowsNode, t sqltype.Type, overflow error) func(i int, v int128.Int128) error {
	out := values[T](n, t)
	negative := T(0)-1 < 0
	return func(i int, v int128.Int128) error {
		x := T(v.Lo)
		back := int128.FromUint64(uint64(x))
		if negative {
			back = int128.FromInt64(int64(x))
		}
		if back != v {
			return overflow
		}
		out.set(i, x)
		return nil
	}
}

// floatOperand reads a REAL or a DOUBLE PRECISION.
func floatOperand(n *rowsNode, t sqltype.Type) func(i int) float64 {
	if t.Kind == sqltype.Float32 {
		a := operand[float32](n)
		return func(i int) float64 { return float64(a.at(i)) }
	}
	return operand[float64](n).at
}

// floatResult stores a REAL, if it fits, or a DOUBLE PRECISION.
func floatResult(n *rowsNode, t sqltype.Type) func(i int, f float64) error {
	if t.Kind == sqltype.Float64 {
		out := values[float64](n, t)
		return func(i int, f float64) error {
			out.set(i, f)
			return nil
		}
	}
	out := values[float32](n, t)
	return func(i int, f float64) error {
		r := float32(f)
		switch {
		case math.IsInf(float64(r), 0) && !math.IsInf(f, 0):
			return errFloatOverflow
		case r == 0 && f != 0:
			return errFloatUnderflow
		}
		out.set(i, r)
		return nil
	}
}

func castToFloat(from, to sqltype.Type) func(n *rowsNode) {
	if !from.IsNumeric() {
		return nil
	}
	return func(n *rowsNode) {
		if from.IsInteger() && from.Kind != sqltype.Uint64 {
			a := &anyInt{}
			n.loads = append(n.loads, a)
			set := floatResult(n, to)
			n.row = func(i int) error { return set(i, float64(a.at(i))) }
			return
		}
		read := exactOperand(n, from)
		set := floatResult(n, to)
		n.row = func(i int) error { return set(i, read(i).Float64(int(from.Scale))) }
	}
}

func castFromFloat(from, to sqltype.Type) func(n *rowsNode) {
	switch {
	case to.IsFloat():
		return func(n *rowsNode) {
			read, set := floatOperand(n, from), floatResult(n, to)
			n.row = func(i int) error { return set(i, read(i)) }
		}
	case to.IsInteger():
		return func(n *rowsNode) {
			read, set := floatOperand(n, from), integerResult(n, to)
			overflow := integerOverflow(to)
			n.row = func(i int) error {
				f := math.RoundToEven(read(i))
				if !(f > -1e19 && f < 2e19) {
					return overflow
				}
				v := int128.FromInt64(int64(f))
				if f >= 1<<63 {
					v = int128.FromUint64(uint64(f))
				} else if f < -(1 << 63) {
					return overflow
				}
				return set(i, v)
			}
		}
	case to.Kind == sqltype.Decimal:
		return func(n *rowsNode) {
			read, out := floatOperand(n, from), n.decimals(to)
			n.row = func(i int) error {
				f := read(i)
				if math.IsNaN(f) || math.IsInf(f, 0) {
					return sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "cannot convert %s to %s", sqltext.AppendFloat(nil, f), to)
				}
				var v int128.Int128
				var err error
				if from.Kind == sqltype.Float32 { // by its own six digits, as PostgreSQL
					v, err = int128.Parse(strconv.FormatFloat(f, 'e', 5, 32), int(to.Scale))
				} else {
					v, err = int128.FromFloat64(f, int(to.Scale))
				}
				if err != nil || !v.FitsDigits(int(to.Precision)) {
					return sqltext.FieldOverflow(int(to.Precision), int(to.Scale))
				}
				out.set(i, v)
				return nil
			}
		}
	}
	return nil
}

// textResult stores what appends text.
func textResult(n *rowsNode, t sqltype.Type) func(i int, b []byte) error {
	out := values[string](n, t)
	return func(i int, b []byte) error {
		out.set(i, n.in.mem.keep(b))
		if n.in.mem.kept > maxBatchText {
			return sqlerr.New(sqlerr.MemoryLimit, sqlerr.Pos{}, "the texts made for one batch of rows have more than 256 MiB").
				WithHint("make shorter texts")
		}
		return nil
	}
}

func castToText(from, to sqltype.Type) func(n *rowsNode) {
	return func(n *rowsNode) {
		read := textOperand(n, from)
		set := textResult(n, to)
		n.row = func(i int) error { return set(i, read(n.in.mem.tail(), i)) }
	}
}

// textOperand reads any value as text, by appending it.
func textOperand(n *rowsNode, t sqltype.Type) func(dst []byte, i int) []byte {
	switch t.Kind {
	case sqltype.Bool:
		a := n.truthOperand()
		return func(dst []byte, i int) []byte { return sqltext.AppendBool(dst, a.at(i)) }
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64, sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64:
		a := &anyInt{}
		n.loads = append(n.loads, a)
		return func(dst []byte, i int) []byte {
			if a.unsigned {
				return strconv.AppendUint(dst, uint64(a.at(i)), 10)
			}
			return strconv.AppendInt(dst, a.at(i), 10)
		}
	case sqltype.Float32:
		a := operand[float32](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat32(dst, a.at(i)) }
	case sqltype.Float64:
		a := operand[float64](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat(dst, a.at(i)) }
	case sqltype.Decimal:
		a := operand[int128.Int128](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendDecimal(dst, a.at(i), int(t.Scale)) }
	case sqltype.UUID:
		a := operand[int128.Int128](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendUUID(dst, a.at(i)) }
	case sqltype.Date:
		a := operand[int32](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendDate(dst, a.at(i)) }
	case sqltype.Time:
		a := operand[int64](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendTime(dst, a.at(i)) }
	case sqltype.Timestamp:
		a := operand[int64](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendTimestamp(dst, a.at(i)) }
	case sqltype.TimestampTZ:
		a := operand[int64](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendTimestampTZ(dst, a.at(i)) }
	case sqltype.Interval:
		a := operand[vector.Interval](n)
		return func(dst []byte, i int) []byte {
			v := a.at(i)
			return sqltext.AppendInterval(dst, v.Months, v.Days, v.Micros)
		}
	case sqltype.Binary:
		a := operand[string](n)
		return func(dst []byte, i int) []byte { return sqltext.AppendBinary(dst, a.at(i)) }
	}
	a := operand[string](n)
	if t.IsNested() {
		return func(dst []byte, i int) []byte { return nested.AppendText(dst, t, a.at(i)) }
	}
	return func(dst []byte, i int) []byte { return append(dst, a.at(i)...) }
}

func castFromText(to sqltype.Type) func(n *rowsNode) {
	if vector.PhysOf(to) == vector.PhysNone {
		return nil
	}
	return func(n *rowsNode) {
		a := operand[string](n)
		set := valueResult(n, to)
		n.row = func(i int) error {
			v, err := expr.ParseValue(to, a.at(i))
			if err != nil {
				return err
			}
			return set(i, v)
		}
	}
}

// valueResult stores constants of type t.
func valueResult(n *rowsNode, t sqltype.Type) func(i int, v expr.Value) error {
	switch k := t.Kind; {
	case k == sqltype.Bool:
		out := n.truths()
		return func(i int, v expr.Value) error {
			out.set(i, v.Int != 0)
			return nil
		}
	case t.IsInteger():
		set := integerResult(n, t)
		return func(i int, v expr.Value) error {
			if k == sqltype.Uint64 {
				return set(i, int128.FromUint64(uint64(v.Int)))
			}
			return set(i, int128.FromInt64(v.Int))
		}
	case t.IsFloat():
		set := floatResult(n, t)
		return func(i int, v expr.Value) error { return set(i, v.Float) }
	case k == sqltype.Decimal:
		out := n.decimals(t)
		return func(i int, v expr.Value) error {
			out.set(i, v.Wide)
			return nil
		}
	case k == sqltype.UUID:
		out := values[int128.Int128](n, t)
		return func(i int, v expr.Value) error {
			out.set(i, v.Wide)
			return nil
		}
	case k == sqltype.Date:
		out := values[int32](n, t)
		return func(i int, v expr.Value) error {
			out.set(i, int32(v.Int))
			return nil
		}
	case k == sqltype.Interval:
		out := values[vector.Interval](n, t)
		return func(i int, v expr.Value) error {
			out.set(i, vector.Interval{Months: v.Months, Days: v.Days, Micros: v.Int})
			return nil
		}
	case vector.PhysOf(t) == vector.PhysString:
		out := values[string](n, t)
		return func(i int, v expr.Value) error {
			out.set(i, v.Str)
			return nil
		}
	}
	out := values[int64](n, t)
	return func(i int, v expr.Value) error {
		out.set(i, v.Int)
		return nil
	}
}

func timestampOutOfRange() error {
	return sqlerr.New(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "timestamp out of range")
}

// dateToTimestamp is midnight of a day.
func dateToTimestamp(day int64) (int64, error) {
	if day < calendar.MinDay || day > calendar.MaxMicro/calendar.Day {
		return 0, sqlerr.New(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date out of range for timestamp")
	}
	return day * calendar.Day, nil
}

func castTemporal(from, to sqltype.Type) func(n *rowsNode) {
	isStamp := func(k sqltype.Kind) bool { return k == sqltype.Timestamp || k == sqltype.TimestampTZ }
	switch f, t := from.Kind, to.Kind; {
	case f == sqltype.Date && isStamp(t):
		return func(n *rowsNode) {
			a, out := operand[int32](n), values[int64](n, to)
			n.row = func(i int) error {
				v, err := dateToTimestamp(int64(a.at(i)))
				out.set(i, v)
				return err
			}
		}
	case isStamp(f) && t == sqltype.Date:
		return func(n *rowsNode) {
			a, out := operand[int64](n), values[int32](n, to)
			n.row = func(i int) error {
				day, _ := calendar.Split(a.at(i))
				out.set(i, int32(day))
				return nil
			}
		}
	case isStamp(f) && isStamp(t):
		return func(n *rowsNode) {
			a, out := operand[int64](n), values[int64](n, to)
			n.row = func(i int) error {
				out.set(i, a.at(i))
				return nil
			}
		}
	case isStamp(f) && t == sqltype.Time:
		return func(n *rowsNode) {
			a, out := operand[int64](n), values[int64](n, to)
			n.row = func(i int) error {
				_, of := calendar.Split(a.at(i))
				out.set(i, of)
				return nil
			}
		}
	case f == sqltype.Time && t == sqltype.Interval:
		return func(n *rowsNode) {
			a, out := operand[int64](n), values[vector.Interval](n, to)
			n.row = func(i int) error {
				out.set(i, vector.Interval{Micros: a.at(i)})
				return nil
			}
		}
	case f == sqltype.Interval && t == sqltype.Time:
		return func(n *rowsNode) {
			a, out := operand[vector.Interval](n), values[int64](n, to)
			n.row = func(i int) error {
				_, of := calendar.Split(a.at(i).Micros)
				out.set(i, of)
				return nil
			}
		}
	}
	return nil
}
