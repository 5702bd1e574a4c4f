package expr

import "github.com/fletchdb/fletch/engine/sqltype"

// StateTypes is the types of the columns that hold a partial state of a, in order. The layout is wire format:
// changing it is a protocol bump.
//
//	count, count_star        BIGINT rows
//	sum                      the result's type; NULL where there was no value
//	avg                      the sum as sum's, then BIGINT values
//	min, max, any_value      the value; NULL where there was none
//	bool_and, bool_or        the value
//	stddev*, var*            BIGINT values, DOUBLE mean, DOUBLE sum of squared differences (Welford)
func StateTypes(a Aggregate) []sqltype.Type {
	bigint, double := sqltype.Of(sqltype.Int64), sqltype.Of(sqltype.Float64)
	switch a.Func {
	case "count", "count_star":
		return []sqltype.Type{bigint}
	case "avg":
		return []sqltype.Type{SumType(a.Args[0].Type()), bigint}
	case "stddev_samp", "stddev_pop", "var_samp", "var_pop":
		return []sqltype.Type{bigint, double, double}
	}
	return []sqltype.Type{a.Typ}
}

// SumType is the type of sum over a column of type t: BIGINT for integers of up to 32 bits, DECIMAL(38,0) for wider ones,
// DECIMAL(38,s) for decimals, the float itself for floats (as PostgreSQL's, whose numeric has no limit of digits).
func SumType(t sqltype.Type) sqltype.Type {
	switch t.Kind {
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Uint8, sqltype.Uint16, sqltype.Uint32:
		return sqltype.Of(sqltype.Int64)
	case sqltype.Int64, sqltype.Uint64:
		return sqltype.DecimalOf(sqltype.MaxPrecision, 0)
	case sqltype.Decimal:
		return sqltype.DecimalOf(sqltype.MaxPrecision, int(t.Scale))
	}
	return t
}
