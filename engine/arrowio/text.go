package arrowio

import (
	"encoding/binary"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A Cell writes row i of a column as text, as PostgreSQL would. The row is not NULL.
type Cell func(dst []byte, i int) []byte

// Cells gives the texts of a record batch, one Cell per column.
func Cells(rec arrow.RecordBatch) []Cell {
	cells := make([]Cell, rec.NumCols())
	for c := range cells {
		cells[c] = CellOf(rec.Column(c))
	}
	return cells
}

// CellOf gives the text of a column.
func CellOf(a arrow.Array) Cell {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) []byte { return sqltext.AppendBool(dst, a.Value(i)) }
	case *array.String:
		return func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	case *array.Binary:
		return func(dst []byte, i int) []byte { return sqltext.AppendBinary(dst, a.ValueString(i)) }
	case *array.Float32:
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat32(dst, a.Value(i)) }
	case *array.Float64:
		return func(dst []byte, i int) []byte { return sqltext.AppendFloat(dst, a.Value(i)) }
	case *array.Decimal128:
		scale := int(a.DataType().(*arrow.Decimal128Type).Scale)
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendDecimal(dst, int128.Int128{Lo: v.LowBits(), Hi: v.HighBits()}, scale)
		}
	case *array.Date32:
		return func(dst []byte, i int) []byte { return sqltext.AppendDate(dst, int32(a.Value(i))) }
	case *array.Time64:
		return func(dst []byte, i int) []byte { return sqltext.AppendTime(dst, int64(a.Value(i))) }
	case *array.Timestamp:
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			return func(dst []byte, i int) []byte { return sqltext.AppendTimestampTZ(dst, int64(a.Value(i))) }
		}
		return func(dst []byte, i int) []byte { return sqltext.AppendTimestamp(dst, int64(a.Value(i))) }
	case *array.MonthDayNanoInterval:
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendInterval(dst, v.Months, v.Days, v.Nanoseconds/1000)
		}
	case *array.List:
		elem := CellOf(a.ListValues())
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			dst = append(dst, '[')
			for j := from; j < to; j++ {
				if j > from {
					dst = append(dst, ", "...)
				}
				dst = appendPart(dst, a.ListValues(), elem, int(j))
			}
			return append(dst, ']')
		}
	case *array.Struct:
		fields := a.DataType().(*arrow.StructType).Fields()
		cells := make([]Cell, a.NumField())
		for k := range cells {
			cells[k] = CellOf(a.Field(k))
		}
		return func(dst []byte, i int) []byte {
			dst = append(dst, '{')
			for k, f := range fields {
				if k > 0 {
					dst = append(dst, ", "...)
				}
				dst = appendPart(append(append(dst, f.Name...), ": "...), a.Field(k), cells[k], i)
			}
			return append(dst, '}')
		}
	case *array.FixedSizeBinary:
		return func(dst []byte, i int) []byte {
			v := a.Value(i)
			return sqltext.AppendUUID(dst, int128.Int128{Hi: int64(binary.BigEndian.Uint64(v)), Lo: binary.BigEndian.Uint64(v[8:])})
		}
	}
	if integers := integerCell(a); integers != nil {
		return integers
	}
	return func(dst []byte, i int) []byte { return append(dst, a.ValueStr(i)...) }
}

// appendPart writes row i of a part of a nested column, which may be NULL.
func appendPart(dst []byte, a arrow.Array, cell Cell, i int) []byte {
	if a.IsNull(i) || a.DataType().ID() == arrow.NULL {
		return append(dst, "NULL"...)
	}
	return cell(dst, i)
}

// integerCell is the cell of an integer column, nil for others.
func integerCell(a arrow.Array) Cell {
	signed := func(at func(int) int64) Cell {
		return func(dst []byte, i int) []byte { return strconv.AppendInt(dst, at(i), 10) }
	}
	unsigned := func(at func(int) uint64) Cell {
		return func(dst []byte, i int) []byte { return strconv.AppendUint(dst, at(i), 10) }
	}
	switch a := a.(type) {
	case *array.Int8:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int16:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int32:
		return signed(func(i int) int64 { return int64(a.Value(i)) })
	case *array.Int64:
		return signed(a.Value)
	case *array.Uint8:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint16:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint32:
		return unsigned(func(i int) uint64 { return uint64(a.Value(i)) })
	case *array.Uint64:
		return unsigned(a.Value)
	}
	return nil
}
