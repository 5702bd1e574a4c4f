package parquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/fletchdb/fletch/engine/sqlerr"
)

// ConvertedType, which older readers know, and the members of the LogicalType union.
const (
	convertedNone         = -1
	convertedUTF8         = 0
	convertedDecimal      = 5
	convertedDate         = 6
	convertedMillis       = 9
	convertedMicros       = 10
	convertedUnsigned8    = 11 // 16, 32, 64 bits follow
	convertedSigned8      = 15
	logicalNone           = 0
	logicalString         = 1
	logicalDecimal        = 5
	logicalDate           = 6
	logicalTimestamp      = 8
	logicalInteger        = 10
	logicalUnknown        = 11
	unitMillis            = 1
	unitMicros            = 2
	unitNanos             = 3
	maxPrecision32        = 9
	maxPrecision64        = 18
	millisecondsPerSecond = 1000
)

// A leaf is a column as the file's schema has it.
type leaf struct {
	name      string
	physical  int32
	width     int32 // bytes of a typeFixed value
	optional  bool
	converted int32
	logical   int

	precision, scale int32 // of logicalDecimal
	utc              bool  // of logicalTimestamp
	unit             int
	bits             int8 // of logicalInteger
	signed           bool

	compare func(a, b []byte) int // order of two values in PLAIN form, as statistics have them
}

// plan chooses the column and the encoder for a field.
func plan(f arrow.Field) (*leaf, values, error) {
	l := &leaf{name: f.Name, optional: f.Nullable, converted: convertedNone}
	switch t := f.Type.(type) {
	case *arrow.BooleanType:
		l.physical, l.compare = typeBoolean, bytes.Compare
		return l, &bools{}, nil
	case *arrow.NullType:
		l.physical, l.logical, l.compare, l.optional = typeInt32, logicalUnknown, bytes.Compare, true
		return l, nulls{}, nil
	case *arrow.Int8Type:
		l.integer(8, true)
		return l, newFixed(widen[int8, int32]((*array.Int8).Int8Values)), nil
	case *arrow.Int16Type:
		l.integer(16, true)
		return l, newFixed(widen[int16, int32]((*array.Int16).Int16Values)), nil
	case *arrow.Int32Type:
		l.integer(32, true)
		return l, newFixed(direct((*array.Int32).Int32Values)), nil
	case *arrow.Int64Type:
		l.integer(64, true)
		return l, newFixed(direct((*array.Int64).Int64Values)), nil
	case *arrow.Uint8Type:
		l.integer(8, false)
		return l, newFixed(widen[uint8, uint32]((*array.Uint8).Uint8Values)), nil
	case *arrow.Uint16Type:
		l.integer(16, false)
		return l, newFixed(widen[uint16, uint32]((*array.Uint16).Uint16Values)), nil
	case *arrow.Uint32Type:
		l.integer(32, false)
		return l, newFixed(direct((*array.Uint32).Uint32Values)), nil
	case *arrow.Uint64Type:
		l.integer(64, false)
		return l, newFixed(direct((*array.Uint64).Uint64Values)), nil
	case *arrow.Float32Type:
		l.physical, l.compare = typeFloat, compareFloat32
		return l, newFixed(direct((*array.Float32).Float32Values)), nil
	case *arrow.Float64Type:
		l.physical, l.compare = typeDouble, compareFloat64
		return l, newFixed(direct((*array.Float64).Float64Values)), nil
	case *arrow.Date32Type:
		l.physical, l.converted, l.logical, l.compare = typeInt32, convertedDate, logicalDate, compareInt32
		return l, newFixed(direct((*array.Date32).Date32Values)), nil
	case *arrow.TimestampType:
		return l, l.timestamp(t), nil
	case *arrow.Decimal32Type:
		l.decimal(t)
		return l, newFixed(direct((*array.Decimal32).Values)), nil
	case *arrow.Decimal64Type:
		if l.decimal(t); l.physical == typeInt32 {
			return l, newFixed(converted((*array.Decimal64).Values, func(v decimal.Decimal64) (int32, bool) {
				return int32(v), v == decimal.Decimal64(int32(v))
			})), nil
		}
		return l, newFixed(direct((*array.Decimal64).Values)), nil
	case *arrow.Decimal128Type:
		l.decimal(t)
		return l, l.decimal128(), nil
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		l.text()
		return l, &byteArrays{}, nil
	case *arrow.BinaryType, *arrow.LargeBinaryType, *arrow.BinaryViewType:
		l.physical, l.compare = typeByteArray, bytes.Compare
		return l, &byteArrays{}, nil
	case *arrow.DictionaryType:
		switch t.ValueType.(type) {
		case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
			l.text()
			return l, &byteArrays{}, nil
		}
	}
	return nil, nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "column %q of type %s cannot be written to Parquet", f.Name, f.Type).
		WithHint("cast it, for example to text")
}

func (l *leaf) text() {
	l.physical, l.converted, l.logical, l.compare = typeByteArray, convertedUTF8, logicalString, bytes.Compare
}

func (l *leaf) integer(width int8, signed bool) {
	l.logical, l.bits, l.signed = logicalInteger, width, signed
	l.converted = convertedSigned8 + int32(bits.Len8(uint8(width))) - 4
	if !signed {
		l.converted -= convertedSigned8 - convertedUnsigned8
	}
	switch {
	case width < 64 && signed:
		l.physical, l.compare = typeInt32, compareInt32
	case width < 64:
		l.physical, l.compare = typeInt32, compareUint32
	case signed:
		l.physical, l.compare = typeInt64, compareInt64
	default:
		l.physical, l.compare = typeInt64, compareUint64
	}
}

// timestamp has no unit of seconds in Parquet: they become milliseconds.
func (l *leaf) timestamp(t *arrow.TimestampType) values {
	l.physical, l.logical, l.compare, l.utc = typeInt64, logicalTimestamp, compareInt64, t.TimeZone != ""
	switch t.Unit {
	case arrow.Second, arrow.Millisecond:
		l.unit, l.converted = unitMillis, convertedMillis
	case arrow.Microsecond:
		l.unit, l.converted = unitMicros, convertedMicros
	case arrow.Nanosecond:
		l.unit = unitNanos
	}
	if t.Unit == arrow.Second {
		return newFixed(converted((*array.Timestamp).TimestampValues, func(v arrow.Timestamp) (int64, bool) {
			ms := int64(v) * millisecondsPerSecond
			return ms, ms/millisecondsPerSecond == int64(v)
		}))
	}
	return newFixed(direct((*array.Timestamp).TimestampValues))
}

// decimal takes the least integer that has room, or bytes.
func (l *leaf) decimal(t arrow.DecimalType) {
	l.converted, l.logical, l.precision, l.scale = convertedDecimal, logicalDecimal, t.GetPrecision(), t.GetScale()
	switch {
	case l.precision <= maxPrecision32:
		l.physical, l.compare = typeInt32, compareInt32
	case l.precision <= maxPrecision64:
		l.physical, l.compare = typeInt64, compareInt64
	default:
		l.physical, l.width, l.compare = typeFixed, decimalWidth(l.precision), compareBigEndian
	}
}

func (l *leaf) decimal128() values {
	switch l.physical {
	case typeInt32:
		return newFixed(converted((*array.Decimal128).Values, func(v decimal128.Num) (int32, bool) {
			n := int32(v.LowBits())
			return n, int64(n) == int64(v.LowBits()) && v.HighBits() == int64(n)>>63
		}))
	case typeInt64:
		return newFixed(converted((*array.Decimal128).Values, func(v decimal128.Num) (int64, bool) {
			n := int64(v.LowBits())
			return n, v.HighBits() == n>>63
		}))
	}
	return &byteArrays{width: int(l.width)}
}

// decimalWidth is the least number of bytes whose two's complement holds every decimal of precision digits.
func decimalWidth(precision int32) int32 {
	return int32(math.Ceil((float64(precision)*math.Log2(10) + 1) / 8))
}

func compareInt32(a, b []byte) int {
	return cmp.Compare(int32(binary.LittleEndian.Uint32(a)), int32(binary.LittleEndian.Uint32(b)))
}

func compareUint32(a, b []byte) int {
	return cmp.Compare(binary.LittleEndian.Uint32(a), binary.LittleEndian.Uint32(b))
}

func compareInt64(a, b []byte) int {
	return cmp.Compare(int64(binary.LittleEndian.Uint64(a)), int64(binary.LittleEndian.Uint64(b)))
}

func compareUint64(a, b []byte) int {
	return cmp.Compare(binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b))
}

func compareFloat32(a, b []byte) int {
	return cmp.Compare(math.Float32frombits(binary.LittleEndian.Uint32(a)), math.Float32frombits(binary.LittleEndian.Uint32(b)))
}

func compareFloat64(a, b []byte) int {
	return cmp.Compare(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
}

// compareBigEndian is the order of two's complement numbers of equal length.
func compareBigEndian(a, b []byte) int {
	if c := cmp.Compare(int8(a[0]), int8(b[0])); c != 0 {
		return c
	}
	return bytes.Compare(a[1:], b[1:])
}
