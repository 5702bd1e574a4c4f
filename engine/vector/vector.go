// Package vector holds what flows between operators: columns of up to a batch of rows, kept in the form they were read in
// (plain values, dictionary codes or one constant) with a selection of the rows that are still alive. It knows memory,
// not SQL: no expression, no plan, no file.
package vector

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// DefaultBatch is how many rows a batch holds unless a query is told otherwise: 15 live columns of them stay in a 1 MiB
// second-level cache.
const DefaultBatch = 4096

// A Phys is how the values of a column lie in memory.
type Phys uint8

// The physical forms and the Go type of their slices.
const (
	PhysNone     Phys = iota
	PhysBool          // bitmap in []uint64, bit i%64 of word i/64; read it with Bits
	PhysInt8          // []int8
	PhysInt16         // []int16
	PhysInt32         // []int32: INTEGER, DATE
	PhysInt64         // []int64: BIGINT, TIME, TIMESTAMP, and decimals whose values in this very vector fit 64 bits
	PhysUint8         // []uint8
	PhysUint16        // []uint16
	PhysUint32        // []uint32
	PhysUint64        // []uint64
	PhysFloat32       // []float32
	PhysFloat64       // []float64
	PhysInt128        // []int128.Int128: decimals of more than 18 digits; UUID
	PhysString        // []string, each pointing into memory that lives as long as the batch: VARCHAR (valid UTF-8), BYTEA; lists and structs, see package nested
	PhysInterval      // []Interval
)

// An Interval is the value of an INTERVAL: its three parts are kept apart, as PostgreSQL does.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// Element is any Go type that a vector's slice is made of, PhysBool's bitmap excepted.
type Element interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | int128.Int128 | string | Interval
}

// PhysOf is the physical form that a freshly made vector of type t has. A DECIMAL of at most 18 digits is always
// PhysInt64; one of more digits is PhysInt128 or, in a vector whose values all fit, PhysInt64: readers look at v.Phys.
func PhysOf(t sqltype.Type) Phys {
	switch t.Kind {
	case sqltype.Null, sqltype.Bool:
		return PhysBool
	case sqltype.Int8:
		return PhysInt8
	case sqltype.Int16:
		return PhysInt16
	case sqltype.Int32, sqltype.Date:
		return PhysInt32
	case sqltype.Int64, sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		return PhysInt64
	case sqltype.Uint8:
		return PhysUint8
	case sqltype.Uint16:
		return PhysUint16
	case sqltype.Uint32:
		return PhysUint32
	case sqltype.Uint64:
		return PhysUint64
	case sqltype.Float32:
		return PhysFloat32
	case sqltype.Float64:
		return PhysFloat64
	case sqltype.Decimal:
		if t.Precision <= 18 {
			return PhysInt64
		}
		return PhysInt128
	case sqltype.UUID:
		return PhysInt128
	case sqltype.Utf8, sqltype.Binary, sqltype.List, sqltype.Struct:
		return PhysString
	case sqltype.Interval:
		return PhysInterval
	}
	return PhysNone
}

// A Form is how a column's rows find their values.
type Form uint8

// The forms.
const (
	Flat  Form = iota // row i's value is element i
	Const             // every row has element 0
	Dict              // row i's value is element code(i) of Dict
)

// A Vector is one column of a batch. Its maker fills the exported fields; its readers never change them. It lives as long
// as the batch it is in (see Batch).
//
//   - Type is the SQL type, Phys how values lie in memory, Len the number of rows, Form how rows find values.
//   - Valid is the validity bitmap of the rows (bit set: not NULL), nil when no row is NULL; of a Const vector only bit 0
//     counts. What stands at a NULL row is a legal value (a code in range), but means nothing.
//   - Dict, in form Dict, is a Flat vector without NULLs and of at least one element; every code is below Dict.Len. DictID
//     is not 0 and equal for two vectors only if their dictionaries are the same values in the same order, so what was
//     computed once per dictionary can be kept under it.
type Vector struct {
	Type   sqltype.Type
	Phys   Phys
	Form   Form
	Len    int
	Valid  []uint64
	Dict   *Vector
	DictID uint64

	data  unsafe.Pointer // of Flat and Const: first element
	n     int            // elements at data
	codes unsafe.Pointer // of Dict: first code
	width uint8          // of Dict: bytes per code, 1, 2 or 4
}

func physOfGo[T Element]() (a, b Phys) {
	var z T
	switch any(z).(type) {
	case int8:
		return PhysInt8, PhysInt8
	case int16:
		return PhysInt16, PhysInt16
	case int32:
		return PhysInt32, PhysInt32
	case int64:
		return PhysInt64, PhysInt64
	case uint8:
		return PhysUint8, PhysUint8
	case uint16:
		return PhysUint16, PhysUint16
	case uint32:
		return PhysUint32, PhysUint32
	case uint64:
		return PhysUint64, PhysBool
	case float32:
		return PhysFloat32, PhysFloat32
	case float64:
		return PhysFloat64, PhysFloat64
	case int128.Int128:
		return PhysInt128, PhysInt128
	case string:
		return PhysString, PhysString
	case Interval:
		return PhysInterval, PhysInterval
	}
	return PhysNone, PhysNone
}

// Values is the elements of a Flat (Len of them) or Const (one) vector whose Phys is T's. Another T is a fault of the
// caller and panics. For PhysBool use Bits.
func Values[T Element](v *Vector) []T {
	if a, b := physOfGo[T](); v.Phys != a && v.Phys != b {
		panic(fmt.Sprintf("vector: values of %v read as %T", v.Phys, *new(T)))
	}
	return unsafe.Slice((*T)(v.data), v.n)
}

// Bits is the bitmap of a Flat or Const vector with PhysBool.
func Bits(v *Vector) []uint64 { return Values[uint64](v) }

// SetFlat makes v a Flat vector of type t over values, one per row. t's Phys must be T's, but for a wide DECIMAL, which
// may also be given int64 values. v.Valid is set to valid.
func SetFlat[T Element](v *Vector, t sqltype.Type, values []T, valid []uint64) {
	p, _ := physOfGo[T]()
	*v = Vector{Type: t, Phys: p, Form: Flat, Len: len(values), Valid: valid, data: unsafe.Pointer(unsafe.SliceData(values)), n: len(values)}
}

// SetBits makes v a Flat vector with PhysBool of n rows over a bitmap of at least n bits.
func SetBits(v *Vector, t sqltype.Type, bits []uint64, n int, valid []uint64) {
	*v = Vector{Type: t, Phys: PhysBool, Form: Flat, Len: n, Valid: valid, data: unsafe.Pointer(unsafe.SliceData(bits)), n: len(bits)}
}

// SetConst makes v n rows of one value. cell must hold one element and stays v's.
func SetConst[T Element](v *Vector, t sqltype.Type, cell []T, n int) {
	p, _ := physOfGo[T]()
	*v = Vector{Type: t, Phys: p, Form: Const, Len: n, data: unsafe.Pointer(unsafe.SliceData(cell)), n: 1}
}

// SetConstBool makes v n rows of one truth value.
func SetConstBool(v *Vector, t sqltype.Type, cell []uint64, n int) {
	*v = Vector{Type: t, Phys: PhysBool, Form: Const, Len: n, data: unsafe.Pointer(unsafe.SliceData(cell)), n: 1}
}

var (
	noBits  = []uint64{0}
	zeroMem = [2]int128.Int128{}
)

// SetNull makes v n rows of NULL, as a Const vector of type t.
func SetNull(v *Vector, t sqltype.Type, n int) {
	*v = Vector{Type: t, Phys: PhysOf(t), Form: Const, Len: n, Valid: noBits, data: unsafe.Pointer(&zeroMem), n: 1}
}

// SetDict makes v a Dict vector: row i is dict's element codes[i]. The caller has checked that every code is in range.
func SetDict[C uint8 | uint16 | uint32](v *Vector, dict *Vector, id uint64, codes []C, valid []uint64) {
	*v = Vector{
		Type: dict.Type, Phys: dict.Phys, Form: Dict, Len: len(codes), Valid: valid, Dict: dict, DictID: id,
		codes: unsafe.Pointer(unsafe.SliceData(codes)), width: uint8(unsafe.Sizeof(*new(C))),
	}
}

var dictIDs atomic.Uint64

// NewDictID is a DictID that no dictionary of this process has had.
func NewDictID() uint64 { return dictIDs.Add(1) }

// CodeWidth is the number of bytes of a Dict vector's codes: 1, 2 or 4.
func (v *Vector) CodeWidth() int { return int(v.width) }

// Codes8 is the codes of a Dict vector of width 1; Codes16 and Codes32 are its siblings. Another width panics.
func (v *Vector) Codes8() []uint8 { return codesOf[uint8](v) }

// Codes16 is the codes of a Dict vector of width 2.
func (v *Vector) Codes16() []uint16 { return codesOf[uint16](v) }

// Codes32 is the codes of a Dict vector of width 4.
func (v *Vector) Codes32() []uint32 { return codesOf[uint32](v) }

func codesOf[C uint8 | uint16 | uint32](v *Vector) []C {
	if uintptr(v.width) != unsafe.Sizeof(*new(C)) {
		panic(fmt.Sprintf("vector: codes of width %d read as %T", v.width, *new(C)))
	}
	return unsafe.Slice((*C)(v.codes), v.Len)
}

// Code is row i's code in a Dict vector of any width: for slow paths.
func (v *Vector) Code(i int) int {
	switch v.width {
	case 1:
		return int(v.Codes8()[i])
	case 2:
		return int(v.Codes16()[i])
	}
	return int(v.Codes32()[i])
}

// At is where row i's value stands: in v itself (Flat: i, Const: 0) or in v.Dict. For slow paths and tests.
func (v *Vector) At(i int) (*Vector, int) {
	switch v.Form {
	case Const:
		return v, 0
	case Dict:
		return v.Dict, v.Code(i)
	}
	return v, i
}

// IsNull tells whether row i is NULL. For slow paths and tests; kernels read Valid.
func (v *Vector) IsNull(i int) bool {
	if v.Valid == nil {
		return false
	}
	if v.Form == Const {
		i = 0
	}
	return v.Valid[i>>6]>>(uint(i)&63)&1 == 0
}

// NoNulls tells whether v has no NULL row, from its form alone: false means that it may have one.
func (v *Vector) NoNulls() bool { return v.Valid == nil }

// IsConstNull tells whether v is all NULL by form.
func (v *Vector) IsConstNull() bool { return v.Form == Const && v.Valid != nil && v.Valid[0]&1 == 0 }

// Words is how many 64-bit words hold n bits.
func Words(n int) int { return (n + 63) >> 6 }

// A Batch is the unit that operators hand on: columns of equal length and the rows of them that are alive.
//
// It belongs to whoever made it and is valid for the time of the call it is passed to: columns, selection and everything
// they point to (strings too) may be overwritten afterwards. Who keeps something copies it. Who receives a batch may
// set b.Sel and b.Cols to other slices for those it calls, but never writes into what they point to.
type Batch struct {
	Cols []*Vector
	Len  int     // rows before the selection: every column's Len
	Sel  []int32 // nil: all rows are alive; else the ascending numbers of those that are
}

// Rows is the number of rows that are alive.
func (b *Batch) Rows() int {
	if b.Sel == nil {
		return b.Len
	}
	return len(b.Sel)
}
