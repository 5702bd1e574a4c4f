// Package arrowio turns batches into Arrow record batches, copying the rows that are alive, and Arrow record batches into
// batches, without a copy where memory is laid out alike. What comes from Arrow is trusted in nothing: lengths, offsets, codes
// and UTF-8 are checked once, here. It must never know what a query is, or where record batches come from or go.
package arrowio

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Form is which of Arrow's types a SQL type becomes.
type Form uint8

const (
	// Wide is for clients: every DECIMAL is decimal128.
	Wide Form = iota
	// Narrow is for other workers: a DECIMAL of at most 18 digits is decimal64.
	Narrow
)

// uuidWidth is the bytes of a UUID, in the order they are written.
const uuidWidth = 16

// TypeOf is the Arrow type of a SQL type: utf8, date32, time64[us], timestamp[us], decimal128(p, s) and so on.
// TIMESTAMP WITH TIME ZONE has the zone UTC, an INTERVAL is month_day_nano, a UUID 16 fixed bytes; lists are list, structs struct,
// all their parts nullable.
func TypeOf(t sqltype.Type, form Form) (arrow.DataType, error) {
	switch t.Kind {
	case sqltype.Null:
		return arrow.Null, nil
	case sqltype.Bool:
		return arrow.FixedWidthTypes.Boolean, nil
	case sqltype.Int8:
		return arrow.PrimitiveTypes.Int8, nil
	case sqltype.Int16:
		return arrow.PrimitiveTypes.Int16, nil
	case sqltype.Int32:
		return arrow.PrimitiveTypes.Int32, nil
	case sqltype.Int64:
		return arrow.PrimitiveTypes.Int64, nil
	case sqltype.Uint8:
		return arrow.PrimitiveTypes.Uint8, nil
	case sqltype.Uint16:
		return arrow.PrimitiveTypes.Uint16, nil
	case sqltype.Uint32:
		return arrow.PrimitiveTypes.Uint32, nil
	case sqltype.Uint64:
		return arrow.PrimitiveTypes.Uint64, nil
	case sqltype.Float32:
		return arrow.PrimitiveTypes.Float32, nil
	case sqltype.Float64:
		return arrow.PrimitiveTypes.Float64, nil
	case sqltype.Decimal:
		if form == Narrow && t.Precision <= 18 {
			return &arrow.Decimal64Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
		}
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case sqltype.Utf8:
		return arrow.BinaryTypes.String, nil
	case sqltype.Binary:
		return arrow.BinaryTypes.Binary, nil
	case sqltype.Date:
		return arrow.FixedWidthTypes.Date32, nil
	case sqltype.Time:
		return arrow.FixedWidthTypes.Time64us, nil
	case sqltype.Timestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	case sqltype.TimestampTZ:
		return arrow.FixedWidthTypes.Timestamp_us, nil
	case sqltype.Interval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval, nil
	case sqltype.UUID:
		return &arrow.FixedSizeBinaryType{ByteWidth: uuidWidth}, nil
	case sqltype.List:
		elem, err := TypeOf(*t.Elem, form)
		if err != nil {
			return nil, err
		}
		return arrow.ListOf(elem), nil
	case sqltype.Struct:
		fields := make([]arrow.Field, len(t.Fields))
		for i, f := range t.Fields {
			part, err := TypeOf(f.Type, form)
			if err != nil {
				return nil, err
			}
			fields[i] = arrow.Field{Name: f.Name, Type: part, Nullable: true}
		}
		return arrow.StructOf(fields...), nil
	}
	return nil, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "a column of type %v cannot leave the engine", t)
}

// SchemaOf is the Arrow schema of columns, all nullable as their fields say.
func SchemaOf(fields []physical.Field, form Form) (*arrow.Schema, error) {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		t, err := TypeOf(f.Type, form)
		if err != nil {
			return nil, err
		}
		out[i] = arrow.Field{Name: f.Name, Type: t, Nullable: f.Nullable || f.Type.Kind == sqltype.Null}
	}
	return arrow.NewSchema(out, nil), nil
}

// maxNesting bounds how deep lists and structs lie in each other.
const maxNesting = 32

// SQLType is the SQL type that holds an Arrow type's values, ok false where none does.
func SQLType(t arrow.DataType) (sqltype.Type, bool) { return sqlType(t, 0) }

func sqlType(t arrow.DataType, depth int) (sqltype.Type, bool) {
	if depth > maxNesting || t == nil {
		return sqltype.Type{}, false
	}
	switch t := t.(type) {
	case *arrow.ListType:
		elem, ok := sqlType(t.Elem(), depth+1)
		return sqltype.ListOf(elem), ok
	case *arrow.StructType:
		out := sqltype.Type{Kind: sqltype.Struct}
		for _, f := range t.Fields() {
			part, ok := sqlType(f.Type, depth+1)
			if !ok {
				return out, false
			}
			out.Fields = append(out.Fields, sqltype.Field{Name: f.Name, Type: part})
		}
		return out, len(out.Fields) > 0
	case *arrow.DictionaryType:
		return sqlType(t.ValueType, depth+1)
	case *arrow.Decimal32Type:
		return decimal(t.Precision, t.Scale)
	case *arrow.Decimal64Type:
		return decimal(t.Precision, t.Scale)
	case *arrow.Decimal128Type:
		return decimal(t.Precision, t.Scale)
	case *arrow.TimestampType:
		if t.Unit != arrow.Microsecond {
			return sqltype.Type{}, false
		}
		if t.TimeZone != "" {
			return sqltype.Of(sqltype.TimestampTZ), true
		}
		return sqltype.Of(sqltype.Timestamp), true
	case *arrow.Time64Type:
		return sqltype.Of(sqltype.Time), t.Unit == arrow.Microsecond
	case *arrow.FixedSizeBinaryType:
		return sqltype.Of(sqltype.UUID), t.ByteWidth == uuidWidth
	}
	k, ok := kinds[t.ID()]
	return sqltype.Of(k), ok
}

func decimal(precision, scale int32) (sqltype.Type, bool) {
	if precision < 1 || precision > sqltype.MaxPrecision || scale < 0 || scale > precision {
		return sqltype.Type{}, false
	}
	return sqltype.DecimalOf(int(precision), int(scale)), true
}

var kinds = map[arrow.Type]sqltype.Kind{
	arrow.NULL: sqltype.Null, arrow.BOOL: sqltype.Bool,
	arrow.INT8: sqltype.Int8, arrow.INT16: sqltype.Int16, arrow.INT32: sqltype.Int32, arrow.INT64: sqltype.Int64,
	arrow.UINT8: sqltype.Uint8, arrow.UINT16: sqltype.Uint16, arrow.UINT32: sqltype.Uint32, arrow.UINT64: sqltype.Uint64,
	arrow.FLOAT32: sqltype.Float32, arrow.FLOAT64: sqltype.Float64,
	arrow.STRING: sqltype.Utf8, arrow.LARGE_STRING: sqltype.Utf8, arrow.BINARY: sqltype.Binary, arrow.LARGE_BINARY: sqltype.Binary,
	arrow.DATE32: sqltype.Date, arrow.INTERVAL_MONTH_DAY_NANO: sqltype.Interval,
}
