package nested

import (
	"strconv"

	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// AppendText appends a list as [1, 2, NULL] and a struct as {a: 1, b: x}.
func AppendText(dst []byte, t sqltype.Type, value string) []byte {
	opening, closing := byte('['), byte(']')
	if t.Kind == sqltype.Struct {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	for i, item := range Parts(t, value) {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		if t.Kind == sqltype.Struct {
			dst = append(append(dst, t.Fields[i].Name...), ": "...)
		}
		if IsNull(item) {
			dst = append(dst, "NULL"...)
			continue
		}
		pt := PartType(t, i)
		dst = AppendScalar(dst, pt, Get(pt, item))
	}
	return append(dst, closing)
}

// AppendScalar appends the text of a value of type t that is not NULL, as CAST to VARCHAR gives it.
func AppendScalar(dst []byte, t sqltype.Type, s Scalar) []byte {
	switch t.Kind {
	case sqltype.Bool:
		return sqltext.AppendBool(dst, s.Int != 0)
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Int64:
		return strconv.AppendInt(dst, s.Int, 10)
	case sqltype.Uint8, sqltype.Uint16, sqltype.Uint32, sqltype.Uint64:
		return strconv.AppendUint(dst, uint64(s.Int), 10)
	case sqltype.Float32:
		return sqltext.AppendFloat32(dst, float32(s.Float))
	case sqltype.Float64:
		return sqltext.AppendFloat(dst, s.Float)
	case sqltype.Decimal:
		return sqltext.AppendDecimal(dst, s.Wide, int(t.Scale))
	case sqltype.UUID:
		return sqltext.AppendUUID(dst, s.Wide)
	case sqltype.Binary:
		return sqltext.AppendBinary(dst, s.Str)
	case sqltype.Date:
		return sqltext.AppendDate(dst, int32(s.Int))
	case sqltype.Time:
		return sqltext.AppendTime(dst, s.Int)
	case sqltype.Timestamp:
		return sqltext.AppendTimestamp(dst, s.Int)
	case sqltype.TimestampTZ:
		return sqltext.AppendTimestampTZ(dst, s.Int)
	case sqltype.Interval:
		return sqltext.AppendInterval(dst, s.Interval.Months, s.Interval.Days, s.Interval.Micros)
	case sqltype.List, sqltype.Struct:
		return AppendText(dst, t, s.Str)
	}
	return append(dst, s.Str...)
}
