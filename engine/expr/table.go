package expr

import (
	"cmp"
	"slices"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// The kinds as parameters, short, so that an overload is one line of the table.
const (
	pBool     = Parameter(sqltype.Bool)
	pInt8     = Parameter(sqltype.Int8)
	pInt16    = Parameter(sqltype.Int16)
	pInt32    = Parameter(sqltype.Int32)
	pInt64    = Parameter(sqltype.Int64)
	pUint8    = Parameter(sqltype.Uint8)
	pUint16   = Parameter(sqltype.Uint16)
	pUint32   = Parameter(sqltype.Uint32)
	pUint64   = Parameter(sqltype.Uint64)
	pFloat    = Parameter(sqltype.Float32)
	pDouble   = Parameter(sqltype.Float64)
	pDecimal  = Parameter(sqltype.Decimal)
	pText     = Parameter(sqltype.Utf8)
	pBinary   = Parameter(sqltype.Binary)
	pDate     = Parameter(sqltype.Date)
	pTime     = Parameter(sqltype.Time)
	pStamp    = Parameter(sqltype.Timestamp)
	pStampTZ  = Parameter(sqltype.TimestampTZ)
	pInterval = Parameter(sqltype.Interval)
)

var integers = []Parameter{pInt32, pInt64, pInt16, pInt8, pUint8, pUint16, pUint32, pUint64}

type resultRule = func(args []sqltype.Type) (sqltype.Type, *sqlerr.Error)

// gives is an overload whose result has one type; with is one whose result follows from the arguments.
func gives(k Parameter, params ...Parameter) Overload {
	return with(always(sqltype.Of(sqltype.Kind(k))), params...)
}

func with(rule resultRule, params ...Parameter) Overload {
	return Overload{Params: params, Result: rule}
}

func variadic(o Overload) Overload {
	o.Variadic = true
	return o
}

func always(t sqltype.Type) resultRule {
	return func([]sqltype.Type) (sqltype.Type, *sqlerr.Error) { return t, nil }
}

// sameAs gives the type of argument i.
func sameAs(i int) resultRule {
	return func(args []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return args[i], nil }
}

// each is one overload per kind whose n parameters and result are of that kind.
func each(n int, kinds ...Parameter) []Overload {
	var out []Overload
	for _, k := range kinds {
		out = append(out, gives(k, slices.Repeat([]Parameter{k}, n)...))
	}
	return out
}

func over(lists ...any) []Overload {
	var out []Overload
	for _, l := range lists {
		switch l := l.(type) {
		case Overload:
			out = append(out, l)
		case []Overload:
			out = append(out, l...)
		}
	}
	return out
}

// The decimal rules (docs/dialect.md, "Decimals").

func decimalSum(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	t := commonDecimal(a[0], a[1])
	return sqltype.DecimalOf(min(int(t.Precision)+1, sqltype.MaxPrecision), int(t.Scale)), nil
}

func decimalProduct(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	scale := int(a[0].Scale) + int(a[1].Scale)
	if scale > sqltype.MaxPrecision {
		return sqltype.Type{}, sqlerr.Newf(sqlerr.OutOfRange, sqlerr.Pos{}, "the product of %s and %s would have %d digits after the point, more than %d", a[0], a[1], scale, sqltype.MaxPrecision).
			WithHint("cast an operand to a DECIMAL of less scale, or to DOUBLE PRECISION")
	}
	return sqltype.DecimalOf(min(int(a[0].Precision)+int(a[1].Precision), sqltype.MaxPrecision), scale), nil
}

// quotientScale is the least number of digits after the point of a quotient or an average, as PostgreSQL's numeric has it.
const quotientScale = 16

func decimalQuotient(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	return sqltype.DecimalOf(sqltype.MaxPrecision, max(quotientScale, int(a[0].Scale), int(a[1].Scale))), nil
}

func decimalRemainder(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	return commonDecimal(a[0], a[1]), nil
}

// wholeDecimal is the result of ceil, floor and round to no digits: one digit more for the carry.
func wholeDecimal(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	return sqltype.DecimalOf(min(max(int(a[0].Precision)-int(a[0].Scale), 0)+1, sqltype.MaxPrecision), 0), nil
}

func roundedDecimal(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	return sqltype.DecimalOf(min(int(a[0].Precision)+1, sqltype.MaxPrecision), int(a[0].Scale)), nil
}

const (
	postgres9_2  = "PostgreSQL 17 §9.2"
	postgres9_3  = "PostgreSQL 17 §9.3"
	postgres9_4  = "PostgreSQL 17 §9.4"
	postgres9_7  = "PostgreSQL 17 §9.7"
	postgres9_9  = "PostgreSQL 17 §9.9"
	postgres9_18 = "PostgreSQL 17 §9.18"
	duckdb       = "DuckDB 1.5"
)

var functionList = table()

var functionByName = index(functionList)

func index(list []*Function) map[string]*Function {
	m := map[string]*Function{}
	for _, f := range list {
		m[f.Name] = f
		for _, a := range f.Aliases {
			m[a] = f
		}
	}
	return m
}

func table() []*Function {
	number := func(n int) []Overload { // arithmetic whose result is of the operands' own kind, decimals apart
		return over(each(n, integers...), each(n, pDouble, pFloat))
	}
	var list []*Function
	add := func(group string, fs ...*Function) {
		for _, f := range fs {
			f.Group = group
			if f.Operator {
				f.Group = "Operators"
			}
			list = append(list, f)
		}
	}
	// Comparisons; NewCall makes Compare of them.
	add("Operators",
		&Function{Name: "=", Operator: true, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "equal"},
		&Function{Name: "<>", Operator: true, Aliases: []string{"!="}, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "not equal"},
		&Function{Name: "<", Operator: true, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "less than"},
		&Function{Name: "<=", Operator: true, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "less than or equal"},
		&Function{Name: ">", Operator: true, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "greater than"},
		&Function{Name: ">=", Operator: true, Overloads: over(gives(pBool, Common, Common)), Source: postgres9_2, Doc: "greater than or equal"},

		// Arithmetic.
		&Function{
			Name: "+", Operator: true, Source: postgres9_3, Doc: "sum; also of a date or time and a duration; with one operand, the operand",
			Overloads: over(number(2), with(decimalSum, pDecimal, pDecimal), number(1), with(sameAs(0), pDecimal),
				gives(pDate, pDate, pInt32), gives(pDate, pInt32, pDate), gives(pStamp, pDate, pInterval), gives(pStamp, pInterval, pDate),
				gives(pStamp, pStamp, pInterval), gives(pStamp, pInterval, pStamp), gives(pStampTZ, pStampTZ, pInterval),
				gives(pStampTZ, pInterval, pStampTZ), gives(pTime, pTime, pInterval), gives(pTime, pInterval, pTime),
				gives(pStamp, pDate, pTime), gives(pStamp, pTime, pDate), gives(pInterval, pInterval, pInterval)),
		},
		&Function{
			Name: "-", Operator: true, Source: postgres9_3, Doc: "difference; of two dates the days between them; with one operand, its negative",
			Overloads: over(number(2), with(decimalSum, pDecimal, pDecimal), each(1, pInt32, pInt64, pInt16, pInt8, pDouble, pFloat, pInterval), with(sameAs(0), pDecimal),
				gives(pDate, pDate, pInt32), gives(pInt32, pDate, pDate), gives(pStamp, pDate, pInterval), gives(pStamp, pStamp, pInterval),
				gives(pStampTZ, pStampTZ, pInterval), gives(pInterval, pStamp, pStamp), gives(pInterval, pStampTZ, pStampTZ),
				gives(pTime, pTime, pInterval), gives(pInterval, pTime, pTime), gives(pInterval, pInterval, pInterval)),
		},
		&Function{
			Name: "*", Operator: true, Source: postgres9_3, Doc: "product",
			Overloads: over(number(2), with(decimalProduct, pDecimal, pDecimal), gives(pInterval, pInterval, pDouble), gives(pInterval, pDouble, pInterval)),
		},
		&Function{
			Name: "/", Operator: true, Source: postgres9_3, Doc: "quotient; of integers, cut towards zero",
			Overloads: over(number(2), with(decimalQuotient, pDecimal, pDecimal), gives(pInterval, pInterval, pDouble)),
		},
		&Function{
			Name: "//", Operator: true, Source: duckdb, Aliases: []string{"div"}, Doc: "quotient cut towards zero",
			Overloads: over(number(2), with(decimalRemainder, pDecimal, pDecimal)),
		},
		&Function{
			Name: "%", Operator: true, Source: postgres9_3, Aliases: []string{"mod"}, Doc: "remainder, with the sign of the dividend",
			Overloads: over(number(2), with(decimalRemainder, pDecimal, pDecimal)),
		},
		&Function{Name: "^", Operator: true, Source: postgres9_3, Aliases: []string{"power", "pow"}, Overloads: each(2, pDouble), Doc: "power"},
		&Function{Name: "&", Operator: true, Source: postgres9_3, Overloads: each(2, integers...), Doc: "bitwise and"},
		&Function{Name: "|", Operator: true, Source: postgres9_3, Overloads: each(2, integers...), Doc: "bitwise or"},
		&Function{Name: "#", Operator: true, Source: postgres9_3, Aliases: []string{"xor"}, Overloads: each(2, integers...), Doc: "bitwise exclusive or"},
		&Function{
			Name: "~", Operator: true, Source: postgres9_7, Doc: "matches the regular expression; with one operand, its bitwise complement",
			Overloads: over(gives(pBool, pText, pText), each(1, integers...)),
		},
		&Function{Name: "<<", Operator: true, Source: postgres9_3, Overloads: shifts(), Doc: "bitwise shift left"},
		&Function{Name: ">>", Operator: true, Source: postgres9_3, Overloads: shifts(), Doc: "bitwise shift right, keeping the sign"},
	)
	add("Numbers",
		&Function{Name: "abs", Overloads: over(number(1), with(sameAs(0), pDecimal)), Source: postgres9_3, Aliases: []string{"@"}, Doc: "absolute value"},
		&Function{Name: "sign", Overloads: over(each(1, pDouble), with(always(sqltype.DecimalOf(1, 0)), pDecimal)), Source: postgres9_3, Doc: "-1, 0 or 1"},
		&Function{Name: "ceil", Aliases: []string{"ceiling"}, Overloads: over(each(1, pDouble), with(wholeDecimal, pDecimal)), Source: postgres9_3, Doc: "least whole number not below"},
		&Function{Name: "floor", Overloads: over(each(1, pDouble), with(wholeDecimal, pDecimal)), Source: postgres9_3, Doc: "greatest whole number not above"},
		&Function{
			Name: "round", Source: postgres9_3, Doc: "nearest number with the given digits after the point; halves away from zero, of DOUBLE to the even one",
			Overloads: over(each(1, pDouble), with(wholeDecimal, pDecimal), with(roundedDecimal, pDecimal, pInt32), gives(pDouble, pDouble, pInt32)),
		},
		&Function{
			Name: "trunc", Source: postgres9_3, Doc: "number cut towards zero after the given digits",
			Overloads: over(each(1, pDouble), with(wholeDecimal, pDecimal), with(sameAs(0), pDecimal, pInt32), gives(pDouble, pDouble, pInt32)),
		},
		&Function{Name: "sqrt", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "square root"},
		&Function{Name: "cbrt", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "cube root"},
		&Function{Name: "exp", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "e to the power"},
		&Function{Name: "ln", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "natural logarithm"},
		&Function{Name: "log", Aliases: []string{"log10"}, Overloads: over(each(1, pDouble), each(2, pDouble)), Source: postgres9_3, Doc: "logarithm to base 10, or to the base given first"},
		&Function{Name: "log2", Overloads: each(1, pDouble), Source: duckdb, Doc: "logarithm to base 2"},
		&Function{Name: "pi", Overloads: over(gives(pDouble)), Source: postgres9_3, Doc: "the number π"},
		&Function{Name: "degrees", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "radians as degrees"},
		&Function{Name: "radians", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "degrees as radians"},
		&Function{Name: "sin", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "sine"},
		&Function{Name: "cos", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "cosine"},
		&Function{Name: "tan", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "tangent"},
		&Function{Name: "asin", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "inverse sine"},
		&Function{Name: "acos", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "inverse cosine"},
		&Function{Name: "atan", Overloads: each(1, pDouble), Source: postgres9_3, Doc: "inverse tangent"},
		&Function{Name: "atan2", Overloads: each(2, pDouble), Source: postgres9_3, Doc: "inverse tangent of a quotient"},
	)
	add("Text",
		&Function{
			Name: "||", Operator: true, Source: postgres9_4, Doc: "one text, or list, after the other; one side may be of another type, or an element",
			Overloads: over(gives(pText, pText, pText), gives(pBinary, pBinary, pBinary), gives(pText, AsText, pText), gives(pText, pText, AsText),
				with(sameAs(0), AnyList, AnyList), with(sameAs(0), AnyList, AnyElem), with(sameAs(1), AnyElem, AnyList)),
		},
		&Function{Name: "like", Aliases: []string{"~~"}, Overloads: over(gives(pBool, pText, pText), gives(pBool, pText, pText, pText)), Source: postgres9_7, Doc: "matches the pattern, in which % stands for any text and _ for one character; the third argument is the escape character"},
		&Function{Name: "ilike", Aliases: []string{"~~*"}, Overloads: over(gives(pBool, pText, pText), gives(pBool, pText, pText, pText)), Source: postgres9_7, Doc: "like, whatever the case"},
		&Function{Name: "~*", Operator: true, Overloads: over(gives(pBool, pText, pText)), Source: postgres9_7, Doc: "matches the regular expression, whatever the case"},
		&Function{Name: "similar_to", Overloads: over(gives(pBool, pText, pText), gives(pBool, pText, pText, pText)), Source: postgres9_7, Doc: "matches the SQL regular expression as a whole"},
		&Function{Name: "regexp_like", Overloads: over(gives(pBool, pText, pText), gives(pBool, pText, pText, pText)), Source: postgres9_4, Aliases: []string{"regexp_matches"}, Doc: "whether some part matches the regular expression"},
		&Function{Name: "regexp_replace", Overloads: over(gives(pText, pText, pText, pText), gives(pText, pText, pText, pText, pText)), Source: postgres9_4, Doc: "text with the first match, or with flag g every match, replaced"},
		&Function{Name: "lower", Overloads: over(gives(pText, pText)), Source: postgres9_4, Aliases: []string{"lcase"}, Doc: "text in lower case"},
		&Function{Name: "upper", Overloads: over(gives(pText, pText)), Source: postgres9_4, Aliases: []string{"ucase"}, Doc: "text in upper case"},
		&Function{Name: "initcap", Overloads: over(gives(pText, pText)), Source: postgres9_4, Doc: "text with the first letter of each word in upper case"},
		&Function{Name: "length", Overloads: over(gives(pInt32, pText), gives(pInt32, pBinary), gives(pInt32, AnyList)), Source: postgres9_4, Aliases: []string{"char_length", "character_length", "len"}, Doc: "number of characters, of BYTEA of bytes, of a list of elements"},
		&Function{Name: "octet_length", Overloads: over(gives(pInt32, pText), gives(pInt32, pBinary)), Source: postgres9_4, Aliases: []string{"strlen"}, Doc: "number of bytes"},
		&Function{Name: "bit_length", Overloads: over(gives(pInt32, pText), gives(pInt32, pBinary)), Source: postgres9_4, Doc: "number of bits"},
		&Function{Name: "substring", Aliases: []string{"substr"}, Overloads: over(gives(pText, pText, pInt64), gives(pText, pText, pInt64, pInt64), gives(pText, pText, pText), gives(pBinary, pBinary, pInt64), gives(pBinary, pBinary, pInt64, pInt64)), Source: postgres9_4, Doc: "part of a text from a position, counted from 1, for a number of characters; or what matches a regular expression"},
		&Function{Name: "left", Overloads: over(gives(pText, pText, pInt64)), Source: postgres9_4, Doc: "first characters; a negative number leaves out the last"},
		&Function{Name: "right", Overloads: over(gives(pText, pText, pInt64)), Source: postgres9_4, Doc: "last characters; a negative number leaves out the first"},
		&Function{Name: "btrim", Aliases: []string{"trim"}, Overloads: over(gives(pText, pText), gives(pText, pText, pText)), Source: postgres9_4, Doc: "text without the given characters, spaces by default, at both ends"},
		&Function{Name: "ltrim", Overloads: over(gives(pText, pText), gives(pText, pText, pText)), Source: postgres9_4, Doc: "text without the given characters at the start"},
		&Function{Name: "rtrim", Overloads: over(gives(pText, pText), gives(pText, pText, pText)), Source: postgres9_4, Doc: "text without the given characters at the end"},
		&Function{Name: "lpad", Overloads: over(gives(pText, pText, pInt32), gives(pText, pText, pInt32, pText)), Source: postgres9_4, Doc: "text filled up at the start, or cut, to a length"},
		&Function{Name: "rpad", Overloads: over(gives(pText, pText, pInt32), gives(pText, pText, pInt32, pText)), Source: postgres9_4, Doc: "text filled up at the end, or cut, to a length"},
		&Function{Name: "replace", Overloads: over(gives(pText, pText, pText, pText)), Source: postgres9_4, Doc: "text with every occurrence of one text replaced by another"},
		&Function{Name: "translate", Overloads: over(gives(pText, pText, pText, pText)), Source: postgres9_4, Doc: "text with each character of one set replaced by its fellow in another"},
		&Function{Name: "reverse", Overloads: over(gives(pText, pText), gives(pBinary, pBinary)), Source: postgres9_4, Doc: "characters in reverse order"},
		&Function{Name: "repeat", Overloads: over(gives(pText, pText, pInt32)), Source: postgres9_4, Doc: "text repeated"},
		&Function{Name: "position", Aliases: []string{"strpos", "instr"}, Overloads: over(gives(pInt32, pText, pText), gives(pInt32, pBinary, pBinary)), Source: postgres9_4, Doc: "place of the second text in the first, counted from 1; 0 where it is not"},
		&Function{Name: "split_part", Overloads: over(gives(pText, pText, pText, pInt32)), Source: postgres9_4, Doc: "the n-th part of a text cut at a delimiter"},
		&Function{Name: "starts_with", Aliases: []string{"^@", "prefix"}, Overloads: over(gives(pBool, pText, pText)), Source: postgres9_4, Doc: "whether the first text begins with the second"},
		&Function{Name: "ends_with", Aliases: []string{"suffix"}, Overloads: over(gives(pBool, pText, pText)), Source: duckdb, Doc: "whether the first text ends with the second"},
		&Function{Name: "contains", Overloads: over(gives(pBool, pText, pText), gives(pBool, AnyList, AnyElem)), Source: duckdb, Doc: "whether the first text has the second in it"},
		&Function{Name: "ascii", Overloads: over(gives(pInt32, pText)), Source: postgres9_4, Doc: "code point of the first character"},
		&Function{Name: "chr", Overloads: over(gives(pText, pInt32)), Source: postgres9_4, Doc: "character of a code point"},
		&Function{Name: "concat", Lenient: true, Nulls: "NULL is left out", Overloads: over(variadic(gives(pText, AsText))), Source: postgres9_4, Doc: "texts one after the other, NULL left out"},
		&Function{Name: "concat_ws", Lenient: true, Nulls: "NULL is left out; NULL where the first argument is", Overloads: over(variadic(gives(pText, pText, AsText))), Source: postgres9_4, Doc: "texts with the first between them, NULL left out"},
	)
	add("Choices",
		&Function{Name: "coalesce", Lenient: true, Nulls: "passes to the next argument", Aliases: []string{"ifnull", "nvl"}, Overloads: over(variadic(with(sameAs(0), Common))), Source: postgres9_18, Doc: "first argument that is not NULL; the others are not computed"},
		&Function{Name: "nullif", Lenient: true, Nulls: "a value like others: NULL equals nothing", Overloads: over(with(sameAs(0), Common, Common)), Source: postgres9_18, Doc: "NULL where the arguments are equal, else the first"},
		&Function{Name: "greatest", Lenient: true, Nulls: "NULL is left out; NULL where all are", Overloads: over(variadic(with(sameAs(0), Common))), Source: postgres9_18, Doc: "greatest argument, NULL left out"},
		&Function{Name: "least", Lenient: true, Nulls: "NULL is left out; NULL where all are", Overloads: over(variadic(with(sameAs(0), Common))), Source: postgres9_18, Doc: "least argument, NULL left out"},
		&Function{Name: "single_row", Lenient: true, Nulls: "passed on", Overloads: over(with(sameAs(0), Any, pInt64)), Source: "Fletch", Doc: "first argument; an error where the second, a number of rows, is more than 1: plans end scalar subqueries with it"},
		&Function{Name: "if", Lenient: true, Aliases: []string{"iff"}, Nulls: "a condition that is NULL is not true", Overloads: over(with(sameAs(1), pBool, Common, Common)), Source: duckdb, Doc: "second argument where the first is true, else the third; NewCall makes a CASE of it"},
	)
	add("Dates and times",
		&Function{Name: "extract", Overloads: datetimeOverloads(pInt64, pText), Source: postgres9_9, Doc: "a field of a date or time; NewCall makes the field's own function of it"},
		&Function{Name: "date_part", Aliases: []string{"datepart"}, Overloads: datetimeOverloads(pDouble, pText), Source: postgres9_9, Doc: "a field of a date or time as DOUBLE PRECISION"},
		&Function{Name: "extract_second", Overloads: extractSecond(8, 6), Source: postgres9_9, Doc: "EXTRACT(SECOND): seconds with their fraction"},
		&Function{Name: "extract_millisecond", Overloads: extractSecond(8, 3), Source: postgres9_9, Doc: "EXTRACT(MILLISECONDS): seconds and their fraction, in milliseconds"},
		&Function{Name: "extract_epoch", Overloads: extractSecond(18, 6), Source: postgres9_9, Doc: "EXTRACT(EPOCH): seconds since 1970-01-01 00:00 UTC, or of an interval"},
		&Function{
			Name: "date_trunc", Aliases: []string{"datetrunc"}, Source: postgres9_9, Doc: "a date or time cut to the given unit",
			Overloads: over(gives(pStamp, pText, pStamp), gives(pStampTZ, pText, pStampTZ), gives(pInterval, pText, pInterval), gives(pStampTZ, pText, pStampTZ, pText)),
		},
		&Function{Name: "make_date", Overloads: over(gives(pDate, pInt32, pInt32, pInt32)), Source: postgres9_9, Doc: "date of year, month and day"},
		&Function{Name: "make_timestamp", Overloads: over(gives(pStamp, pInt32, pInt32, pInt32, pInt32, pInt32, pDouble)), Source: postgres9_9, Doc: "timestamp of year, month, day, hour, minute and seconds"},
		&Function{Name: "to_timestamp", Overloads: over(gives(pStampTZ, pDouble), gives(pStampTZ, pText, pText), gives(pStamp, pText), gives(pStamp, pStamp)), Source: postgres9_9, Doc: "time of seconds since 1970-01-01 00:00 UTC, or of a text in the format of to_char"},
		&Function{Name: "last_day", Overloads: over(gives(pDate, pDate)), Source: duckdb, Doc: "last day of the month"},
		&Function{Name: "now", Volatility: Stable, Aliases: []string{"current_timestamp", "transaction_timestamp", "statement_timestamp"}, Overloads: over(gives(pStampTZ)), Source: postgres9_9, Doc: "start of the query"},
		&Function{Name: "localtimestamp", Volatility: Stable, Overloads: over(gives(pStamp)), Source: postgres9_9, Doc: "start of the query, without zone"},
		&Function{Name: "current_date", Aliases: []string{"today"}, Volatility: Stable, Overloads: over(gives(pDate)), Source: postgres9_9, Doc: "day of the query's start"},
	)
	for _, f := range []struct {
		name, doc string
		aliases   []string
		time      bool // also a field of TIME
		interval  bool // also a field of INTERVAL
	}{
		{name: "year", doc: "year", interval: true},
		{name: "month", doc: "month, 1 to 12", interval: true},
		{name: "day", doc: "day of the month; of an interval its days", aliases: []string{"dayofmonth"}, interval: true},
		{name: "hour", doc: "hour", time: true, interval: true},
		{name: "minute", doc: "minute", time: true, interval: true},
		{name: "second", doc: "whole seconds", time: true, interval: true},
		{name: "millisecond", doc: "whole seconds and milliseconds of the minute, in milliseconds", time: true, interval: true},
		{name: "microsecond", doc: "seconds and their fraction, in microseconds", time: true, interval: true},
		{name: "quarter", doc: "quarter of the year, 1 to 4", interval: true},
		{name: "decade", doc: "year divided by 10", interval: true},
		{name: "century", doc: "century: 2000 is in the 20th", interval: true},
		{name: "millennium", doc: "millennium: 2000 is in the 2nd", interval: true},
		{name: "week", doc: "week of the year as ISO 8601 counts", aliases: []string{"weekofyear"}},
		{name: "dow", doc: "day of the week, 0 (Sunday) to 6", aliases: []string{"dayofweek", "weekday"}},
		{name: "isodow", doc: "day of the week, 1 (Monday) to 7"},
		{name: "doy", doc: "day of the year, 1 to 366", aliases: []string{"dayofyear"}},
		{name: "isoyear", doc: "year that the ISO week belongs to"},
		{name: "julian", doc: "whole Julian day"},
	} {
		fn := &Function{Name: f.name, Aliases: f.aliases, Source: postgres9_9, Doc: f.doc}
		fn.Overloads = over(gives(pInt64, pDate), gives(pInt64, pStamp), gives(pInt64, pStampTZ))
		if f.time {
			fn.Overloads = over(fn.Overloads, gives(pInt64, pTime))
		}
		if f.interval {
			fn.Overloads = over(fn.Overloads, gives(pInt64, pInterval))
		}
		add("Dates and times", fn)
	}
	add("Numbers", moreNumbers()...)
	add("Text", moreText()...)
	add("Patterns", patterns()...)
	add("Bytes and hashes", binaryFunctions()...)
	add("Dates and times", moreTimes()...)
	add("Lists", lists()...)
	add("Structs", structs()...)
	add("Choices", choices()...)
	add("System", system()...)
	slices.SortFunc(list, func(a, b *Function) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func shifts() []Overload {
	var out []Overload
	for _, k := range integers {
		out = append(out, gives(k, k, pInt32))
	}
	return out
}

func datetimeOverloads(result Parameter, before ...Parameter) []Overload {
	var out []Overload
	for _, p := range []Parameter{pDate, pStamp, pStampTZ, pTime, pInterval} {
		out = append(out, gives(result, append(slices.Clone(before), p)...))
	}
	return out
}

func extractSecond(precision, scale int) []Overload {
	var out []Overload
	for _, o := range datetimeOverloads(pInt64) {
		out = append(out, with(always(sqltype.DecimalOf(precision, scale)), o.Params...))
	}
	return out
}
