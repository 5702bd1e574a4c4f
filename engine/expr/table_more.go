package expr

import (
	"strconv"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

const (
	postgres9_5  = "PostgreSQL 17 §9.5"
	postgres9_8  = "PostgreSQL 17 §9.8"
	postgres9_14 = "PostgreSQL 17 §9.14"
	postgres9_19 = "PostgreSQL 17 §9.19"
	postgres9_26 = "PostgreSQL 17 §9.26"
	fuzzystr     = "PostgreSQL 17 fuzzystrmatch"
	datafusion   = "DataFusion 51"
)

const pUUID = Parameter(sqltype.UUID)

// fn is a strict, immutable function.
func fn(name, source, doc string, overloads ...any) *Function {
	return &Function{Name: name, Source: source, Doc: doc, Overloads: over(overloads...)}
}

func (f *Function) as(aliases ...string) *Function {
	f.Aliases = aliases
	return f
}

// lenient says what f does with NULL.
func (f *Function) lenient(nulls string) *Function {
	f.Lenient, f.Nulls = true, nulls
	return f
}

func (f *Function) operator() *Function {
	f.Operator = true
	return f
}

func (f *Function) volatility(v Volatility) *Function {
	f.Volatility = v
	return f
}

// list is a list of what p means.
func list(p Parameter) sqltype.Type { return sqltype.ListOf(sqltype.Of(sqltype.Kind(p))) }

func gcdOverloads() []Overload {
	return over(each(2, pInt32, pInt64), with(func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return commonDecimal(a[0], a[1]), nil }, pDecimal, pDecimal))
}

func moreNumbers() []*Function {
	var out []*Function
	for _, f := range [][3]string{
		{"sinh", postgres9_3, "hyperbolic sine"},
		{"cosh", postgres9_3, "hyperbolic cosine"},
		{"tanh", postgres9_3, "hyperbolic tangent"},
		{"asinh", postgres9_3, "inverse hyperbolic sine"},
		{"acosh", postgres9_3, "inverse hyperbolic cosine"},
		{"atanh", postgres9_3, "inverse hyperbolic tangent"},
		{"cot", postgres9_3, "cotangent"},
		{"sind", postgres9_3, "sine of degrees"},
		{"cosd", postgres9_3, "cosine of degrees"},
		{"tand", postgres9_3, "tangent of degrees"},
		{"cotd", postgres9_3, "cotangent of degrees"},
		{"asind", postgres9_3, "inverse sine in degrees"},
		{"acosd", postgres9_3, "inverse cosine in degrees"},
		{"atand", postgres9_3, "inverse tangent in degrees"},
		{"erf", postgres9_3, "error function"},
		{"erfc", postgres9_3, "1 less the error function"},
		{"gamma", duckdb, "gamma function"},
		{"lgamma", duckdb, "logarithm of the absolute gamma function"},
		{"even", duckdb, "next even whole number, away from zero"},
	} {
		out = append(out, fn(f[0], f[1], f[2], each(1, pDouble)))
	}
	truth := func(name, doc string) *Function {
		return fn(name, duckdb, doc, gives(pBool, pDouble), gives(pBool, pFloat))
	}
	return append(out,
		fn("atan2d", postgres9_3, "inverse tangent of a quotient, in degrees", each(2, pDouble)),
		fn("nextafter", duckdb, "the number after the first, towards the second", each(2, pDouble)),
		fn("nanvl", datafusion, "first argument, or the second where it is NaN", each(2, pDouble)),
		truth("isnan", "whether a number is NaN"),
		truth("isinf", "whether a number is infinite"),
		truth("iszero", "whether a number is 0 or −0"),
		truth("signbit", "whether a number has a minus, −0 too"),
		fn("gcd", postgres9_3, "greatest common divisor", gcdOverloads()).as("greatest_common_divisor"),
		fn("lcm", postgres9_3, "least common multiple", gcdOverloads()).as("least_common_multiple"),
		fn("factorial", postgres9_3, "product of the whole numbers up to one", with(always(sqltype.DecimalOf(sqltype.MaxPrecision, 0)), pInt64)).as("!"),
		fn("scale", postgres9_3, "digits after the point of a DECIMAL", gives(pInt32, pDecimal)),
		fn("min_scale", postgres9_3, "digits after the point that a DECIMAL needs", gives(pInt32, pDecimal)),
		fn("width_bucket", postgres9_3, "number of the bucket, of so many between two bounds or between the elements of an ascending list, that a value falls into",
			gives(pInt32, pDouble, pDouble, pDouble, pInt32), gives(pInt32, AnyElem, AnyList)),
		fn("bit_count", duckdb, "number of bits that are 1", with(always(sqltype.Of(sqltype.Int32)), pInt32), gives(pInt32, pInt64), gives(pInt32, pInt16), gives(pInt32, pInt8),
			gives(pInt32, pUint8), gives(pInt32, pUint16), gives(pInt32, pUint32), gives(pInt32, pUint64), gives(pInt32, pBinary)),
		fn("random", postgres9_3, "a number from 0 to 1, another for each row", gives(pDouble)).as("rand").volatility(Volatile),
	)
}

func moreText() []*Function {
	text2 := func(result Parameter) Overload { return gives(result, pText, pText) }
	return []*Function{
		fn("overlay", postgres9_4, "text with a part, from a position and of a length, replaced; the length is the replacement's by default",
			gives(pText, pText, pText, pInt64), gives(pText, pText, pText, pInt64, pInt64)),
		fn("quote_literal", postgres9_4, "text as a string literal", gives(pText, AsText)),
		fn("quote_nullable", postgres9_4, "text as a string literal, or the word NULL", gives(pText, AsText)).lenient("gives 'NULL'"),
		fn("quote_ident", postgres9_4, "text as an identifier, in quotes where it needs them", gives(pText, pText)),
		fn("format", postgres9_4, "text with %s, %I and %L replaced by arguments, in turn or by n$", variadic(gives(pText, pText, AsText)), gives(pText, pText)).lenient("%s gives nothing, %L NULL; NULL where the pattern is"),
		fn("to_hex", postgres9_4, "hexadecimal digits of an integer, a negative one in two's complement", gives(pText, pInt32), gives(pText, pInt64)),
		fn("to_bin", postgres9_4, "binary digits of an integer, a negative one in two's complement", gives(pText, pInt32), gives(pText, pInt64)).as("bin"),
		fn("to_oct", postgres9_4, "octal digits of an integer, a negative one in two's complement", gives(pText, pInt32), gives(pText, pInt64)),
		fn("to_number", postgres9_8, "number of a text in the format of to_char", with(always(sqltype.DecimalOf(sqltype.MaxPrecision, quotientScale)), pText, pText)),
		fn("unicode", duckdb, "code point of the first character; −1 of an empty text", gives(pInt32, pText)).as("ord"),
		fn("unistr", postgres9_4, `text with \XXXX, \+XXXXXX, \uXXXX and \UXXXXXXXX replaced by characters`, gives(pText, pText)),
		fn("strip_accents", duckdb, "text without accents over Latin letters", gives(pText, pText)).as("unaccent"),
		fn("levenshtein", fuzzystr, "least number of characters to insert, delete or replace to make one text of the other", text2(pInt32)).as("editdist3"),
		fn("damerau_levenshtein", duckdb, "levenshtein that also swaps neighbours", text2(pInt32)),
		fn("hamming", duckdb, "number of places where two texts of one length differ", text2(pInt32)).as("mismatches"),
		fn("jaccard", duckdb, "share of the characters of two texts that both have", text2(pDouble)),
		fn("jaro_similarity", duckdb, "Jaro similarity, from 0 to 1", text2(pDouble)),
		fn("jaro_winkler_similarity", duckdb, "Jaro similarity with more weight on a common start", text2(pDouble)),
		fn("soundex", fuzzystr, "Soundex code of an English word", gives(pText, pText)),
		fn("substring_index", datafusion, "text before the n-th delimiter, or from the n-th counted from the end", gives(pText, pText, pText, pInt64)).as("substr_index"),
		fn("find_in_set", datafusion, "place of a text in a list with commas, from 1; 0 where it is not", text2(pInt32)),
		fn("url_encode", duckdb, "text with percent signs for what a URL cannot hold", gives(pText, pText)),
		fn("url_decode", duckdb, "text of url_encode", gives(pText, pText)),
		fn("string_split", duckdb, "list of the parts of a text between delimiters", with(always(list(pText)), pText, pText)).as("str_split", "split"),
		fn("string_to_array", postgres9_19, "list of the parts of a text between delimiters, or of its characters; a part equal to the third argument is NULL",
			with(always(list(pText)), pText, pText), with(always(list(pText)), pText, pText, pText)).as("string_to_list").
			lenient("a delimiter that is NULL parts all characters; NULL where the text is"),
	}
}

func patterns() []*Function {
	return []*Function{
		fn("regexp_count", postgres9_4, "number of matches of the regular expression, from a position", gives(pInt32, pText, pText), gives(pInt32, pText, pText, pInt32), gives(pInt32, pText, pText, pInt32, pText)),
		fn("regexp_instr", postgres9_4, "place of the n-th match of the regular expression, from 1; 0 where there is none; the fifth argument 1 asks for the place after it",
			gives(pInt32, pText, pText), gives(pInt32, pText, pText, pInt32), gives(pInt32, pText, pText, pInt32, pInt32),
			gives(pInt32, pText, pText, pInt32, pInt32, pInt32), gives(pInt32, pText, pText, pInt32, pInt32, pInt32, pText)),
		fn("regexp_substr", postgres9_4, "the n-th match of the regular expression; NULL where there is none", gives(pText, pText, pText), gives(pText, pText, pText, pInt32),
			gives(pText, pText, pText, pInt32, pInt32), gives(pText, pText, pText, pInt32, pInt32, pText)),
		fn("regexp_match", postgres9_4, "list of the groups of the first match, or of the match; NULL where there is none", with(always(list(pText)), pText, pText), with(always(list(pText)), pText, pText, pText)),
		fn("regexp_split_to_array", postgres9_4, "list of the parts of a text between matches", with(always(list(pText)), pText, pText), with(always(list(pText)), pText, pText, pText)).as("string_split_regex", "str_split_regex"),
		fn("regexp_extract", duckdb, "a group of the first match, by default all of it; empty where there is none", gives(pText, pText, pText), gives(pText, pText, pText, pInt32), gives(pText, pText, pText, pInt32, pText)),
		fn("regexp_extract_all", duckdb, "list of a group of every match", with(always(list(pText)), pText, pText), with(always(list(pText)), pText, pText, pInt32)),
		fn("regexp_full_match", duckdb, "whether the regular expression matches all of the text", gives(pBool, pText, pText), gives(pBool, pText, pText, pText)),
		fn("regexp_escape", duckdb, "regular expression that matches the text itself", gives(pText, pText)),
	}
}

func binaryFunctions() []*Function {
	digest := func(name, doc string) *Function {
		return fn(name, postgres9_5, doc+" of BYTEA; of VARCHAR in hexadecimal, as DuckDB", gives(pText, pText), gives(pBinary, pBinary))
	}
	return []*Function{
		fn("md5", postgres9_4, "MD5 hash in hexadecimal", gives(pText, pText), gives(pText, pBinary)),
		digest("sha1", "SHA-1 hash"),
		digest("sha224", "SHA-224 hash"),
		digest("sha256", "SHA-256 hash"),
		digest("sha384", "SHA-384 hash"),
		digest("sha512", "SHA-512 hash"),
		fn("crc32", postgres9_5, "CRC-32 checksum", gives(pInt64, pBinary), gives(pInt64, pText)),
		fn("crc32c", postgres9_5, "CRC-32C checksum", gives(pInt64, pBinary), gives(pInt64, pText)),
		fn("hash", "Fletch", "hash of any values, the same on all workers", variadic(gives(pUint64, Any))).lenient("a value like others"),
		fn("encode", postgres9_5, "bytes as text in the format 'hex', 'base64' or 'escape'", gives(pText, pBinary, pText), gives(pText, pText, pText)),
		fn("decode", postgres9_5, "bytes of text in the format 'hex', 'base64' or 'escape'", gives(pBinary, pText, pText)),
		fn("hex", duckdb, "hexadecimal digits, in upper case, of text, bytes or an integer", gives(pText, pText), gives(pText, pBinary), gives(pText, pInt64)),
		fn("unhex", duckdb, "bytes of hexadecimal digits", gives(pBinary, pText)).as("from_hex"),
		fn("to_base64", duckdb, "bytes as text in base 64", gives(pText, pBinary), gives(pText, pText)).as("base64"),
		fn("from_base64", duckdb, "bytes of text in base 64", gives(pBinary, pText)),
		fn("convert_from", postgres9_5, "text of bytes in an encoding: UTF8 or LATIN1", gives(pText, pBinary, pText)),
		fn("convert_to", postgres9_5, "bytes of text in an encoding: UTF8 or LATIN1", gives(pBinary, pText, pText)),
		fn("get_byte", postgres9_5, "a byte, counted from 0", gives(pInt32, pBinary, pInt64)),
		fn("set_byte", postgres9_5, "bytes with one, counted from 0, replaced", gives(pBinary, pBinary, pInt64, pInt32)),
		fn("get_bit", postgres9_5, "a bit, counted from 0 at the lowest of the first byte", gives(pInt32, pBinary, pInt64)),
		fn("set_bit", postgres9_5, "bytes with a bit, counted from 0 at the lowest of the first byte, replaced", gives(pBinary, pBinary, pInt64, pInt32)),
		fn("gen_random_uuid", postgres9_14, "a random UUID, another for each row", gives(pUUID)).as("uuid").volatility(Volatile),
	}
}

func moreTimes() []*Function {
	stamps := func(result Parameter, before ...Parameter) []Overload {
		return over(gives(result, append(append([]Parameter{}, before...), pDate)...), gives(result, append(append([]Parameter{}, before...), pStamp)...), gives(result, append(append([]Parameter{}, before...), pStampTZ)...))
	}
	epochs := func(result Parameter) []Overload {
		return over(gives(result, pDate), gives(result, pStamp), gives(result, pStampTZ), gives(result, pInterval), gives(result, pTime))
	}
	between := func(result Parameter) []Overload {
		return over(gives(result, pText, pDate, pDate), gives(result, pText, pStamp, pStamp), gives(result, pText, pStampTZ, pStampTZ), gives(result, pText, pTime, pTime))
	}
	var makeInterval []Overload
	params := []Parameter{pInt32, pInt32, pInt32, pInt32, pInt32, pInt32, pDouble}
	for n := range len(params) + 1 {
		makeInterval = append(makeInterval, gives(pInterval, params[:n]...))
	}
	unit := func(name, doc string) *Function { return fn(name, duckdb, doc, gives(pInterval, pInt64)) }
	since := func(name, doc string) *Function {
		return fn(name, datafusion, doc, gives(pStamp, pInt64), gives(pStamp, pText), gives(pStamp, pStamp))
	}
	return []*Function{
		fn("age", postgres9_9, "difference of two timestamps in years, months, days and time; of one, from the midnight at which the query's day began",
			gives(pInterval, pStamp, pStamp), gives(pInterval, pStampTZ, pStampTZ), gives(pInterval, pStamp), gives(pInterval, pStampTZ)),
		fn("date_bin", postgres9_9, "timestamp cut to a multiple of an interval, counted from an origin, 1970-01-01 by default",
			gives(pStamp, pInterval, pStamp, pStamp), gives(pStampTZ, pInterval, pStampTZ, pStampTZ), gives(pStamp, pInterval, pStamp), gives(pStampTZ, pInterval, pStampTZ)).as("time_bucket"),
		fn("date_diff", duckdb, "number of starts of a unit, such as 'month', between two times", between(pInt64)).as("datediff"),
		fn("date_sub", duckdb, "number of whole units, such as 'month', between two times", between(pInt64)).as("datesub"),
		fn("date_add", postgres9_9, "timestamp and an interval", gives(pStamp, pStamp, pInterval), gives(pStampTZ, pStampTZ, pInterval), gives(pStampTZ, pStampTZ, pInterval, pText)),
		fn("dayname", duckdb, "name of the day of the week", stamps(pText)),
		fn("monthname", duckdb, "name of the month", stamps(pText)),
		fn("yearweek", duckdb, "ISO year and week, as 202401", stamps(pInt64)),
		fn("epoch", duckdb, "seconds since 1970-01-01 00:00 UTC, or of an interval", epochs(pDouble)),
		fn("epoch_ms", duckdb, "milliseconds since 1970-01-01 00:00 UTC; the timestamp of an integer", epochs(pInt64), gives(pStamp, pInt64)),
		fn("epoch_us", duckdb, "microseconds since 1970-01-01 00:00 UTC", epochs(pInt64)),
		fn("epoch_ns", duckdb, "nanoseconds since 1970-01-01 00:00 UTC", epochs(pInt64)),
		fn("to_unixtime", datafusion, "whole seconds since 1970-01-01 00:00 UTC", stamps(pInt64)),
		since("to_timestamp_seconds", "timestamp of seconds since 1970-01-01 00:00").as("from_unixtime"),
		since("to_timestamp_millis", "timestamp of milliseconds since 1970-01-01 00:00"),
		since("to_timestamp_micros", "timestamp of microseconds since 1970-01-01 00:00").as("make_timestamp_us"),
		since("to_timestamp_nanos", "timestamp of nanoseconds since 1970-01-01 00:00").as("make_timestamp_ns"),
		fn("to_char", postgres9_8, "text of a time or number in a format such as 'YYYY-MM-DD' or '999D99'",
			gives(pText, pStamp, pText), gives(pText, pStampTZ, pText), gives(pText, pTime, pText), gives(pText, pInterval, pText),
			gives(pText, pDecimal, pText), gives(pText, pDouble, pText)),
		fn("to_date", postgres9_8, "date of a text in the format of to_char, or as CAST reads it", gives(pDate, pText, pText), gives(pDate, pText)),
		fn("strftime", duckdb, "text of a time in a format such as '%Y-%m-%d'", gives(pText, pStamp, pText), gives(pText, pText, pStamp)),
		fn("strptime", duckdb, "timestamp of a text in the format of strftime", gives(pStamp, pText, pText)),
		fn("try_strptime", duckdb, "strptime that gives NULL for a text that does not fit", gives(pStamp, pText, pText)),
		fn("make_time", postgres9_9, "time of hour, minute and seconds", gives(pTime, pInt32, pInt32, pDouble)),
		fn("make_timestamptz", postgres9_9, "timestamp with time zone of year, month, day, hour, minute and seconds, in UTC or a named zone",
			gives(pStampTZ, pInt32, pInt32, pInt32, pInt32, pInt32, pDouble), gives(pStampTZ, pInt32, pInt32, pInt32, pInt32, pInt32, pDouble, pText)),
		fn("make_interval", postgres9_9, "interval of years, months, weeks, days, hours, minutes and seconds", makeInterval),
		unit("to_millennia", "interval of millennia"), unit("to_centuries", "interval of centuries"), unit("to_decades", "interval of decades"),
		unit("to_years", "interval of years"), unit("to_quarters", "interval of quarters"), unit("to_months", "interval of months"), unit("to_weeks", "interval of weeks"),
		unit("to_days", "interval of days"), unit("to_hours", "interval of hours"), unit("to_minutes", "interval of minutes"),
		fn("to_seconds", duckdb, "interval of seconds", gives(pInterval, pDouble)),
		fn("to_milliseconds", duckdb, "interval of milliseconds", gives(pInterval, pDouble)),
		unit("to_microseconds", "interval of microseconds"),
		fn("justify_days", postgres9_9, "interval with 30 days as a month", gives(pInterval, pInterval)),
		fn("justify_hours", postgres9_9, "interval with 24 hours as a day", gives(pInterval, pInterval)),
		fn("justify_interval", postgres9_9, "interval of justify_days and justify_hours whose parts have one sign", gives(pInterval, pInterval)),
		fn("isfinite", postgres9_9, "whether a time or number is finite", gives(pBool, pDouble), gives(pBool, pDate), gives(pBool, pStamp), gives(pBool, pStampTZ), gives(pBool, pInterval)),
		fn("timezone", postgres9_9, "AT TIME ZONE: a timestamp as a clock in the zone shows it, or the time at which it shows that",
			gives(pStamp, pText, pStampTZ), gives(pStampTZ, pText, pStamp), gives(pStamp, pInterval, pStampTZ), gives(pStampTZ, pInterval, pStamp)),
		fn("clock_timestamp", postgres9_9, "time of the call", gives(pStampTZ)).volatility(Volatile),
		fn("localtime", postgres9_9, "time of day of the query's start, in UTC", gives(pTime)).as("current_time").volatility(Stable),
	}
}

func listOf(i int) resultRule {
	return func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return sqltype.ListOf(a[i]), nil }
}

func elemOf(i int) resultRule {
	return func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return *a[i].Elem, nil }
}

// sumOfList and averageOfList are what sum and avg give for the elements.
func sumOfList(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	t := *a[0].Elem
	if !t.IsNumeric() && t.Kind != sqltype.Null {
		return t, sqlerr.Newf(sqlerr.UnknownFunction, sqlerr.Pos{}, "there is no sum of %s", t).WithHint("the elements must be numbers")
	}
	return SumType(t), nil
}

func averageOfList(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	_, err := sumOfList(a)
	return sqltype.Of(sqltype.Float64), err
}

func flattened(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	if e := *a[0].Elem; e.Kind == sqltype.List {
		return e, nil
	}
	return a[0], nil
}

func lists() []*Function {
	rangeOverloads := func() []Overload {
		bigints, stamps := with(always(list(pInt64)), pInt64, pInt64), with(always(list(pStamp)), pStamp, pStamp, pInterval)
		return over(with(always(list(pInt64)), pInt64), bigints, with(always(list(pInt64)), pInt64, pInt64, pInt64), stamps, with(always(list(pStampTZ)), pStampTZ, pStampTZ, pInterval))
	}
	one := with(sameAs(0), AnyList)
	return []*Function{
		fn("make_array", postgres9_19, "list of the arguments: [a, b] or ARRAY[a, b]", with(func([]sqltype.Type) (sqltype.Type, *sqlerr.Error) {
			return sqltype.ListOf(sqltype.Of(sqltype.Null)), nil
		}),
			variadic(with(func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return sqltype.ListOf(a[0]), nil }, AnyElem))).
			as("list_value", "list_pack", "array").lenient("an element like others"),
		fn("array_length", postgres9_19, "number of elements; with a dimension NULL where there are none", gives(pInt32, AnyList), gives(pInt32, AnyList, pInt32)).as("list_length", "array_size"),
		fn("cardinality", postgres9_19, "number of elements, those of lists within counted each", gives(pInt32, AnyList)),
		fn("array_ndims", postgres9_19, "how deep lists lie in lists; NULL for an empty one", gives(pInt32, AnyList)),
		fn("array_dims", postgres9_19, "bounds of the dimensions as text", gives(pText, AnyList)),
		fn("array_lower", postgres9_19, "first index of a dimension: 1; NULL for an empty list", gives(pInt32, AnyList, pInt32)),
		fn("array_upper", postgres9_19, "last index of a dimension; NULL for an empty list", gives(pInt32, AnyList, pInt32)),
		fn("empty", datafusion, "whether a list has no elements", gives(pBool, AnyList)).as("array_empty", "list_empty"),
		fn("array_append", postgres9_19, "list with an element more at its end", with(sameAs(0), AnyList, AnyElem)).as("list_append", "array_push_back", "list_push_back").lenient("a list that is NULL is empty, an element an element like others"),
		fn("array_prepend", postgres9_19, "list with an element more at its start", with(sameAs(1), AnyElem, AnyList)).as("list_prepend").lenient("a list that is NULL is empty, an element an element like others"),
		fn("array_cat", postgres9_19, "lists one after the other", variadic(with(sameAs(0), AnyList, AnyList))).as("list_concat", "list_cat", "array_concat").lenient("a list that is NULL is empty; NULL where all are"),
		fn("array_contains", duckdb, "whether some element equals a value", gives(pBool, AnyList, AnyElem)).as("list_contains", "array_has", "list_has"),
		fn("array_has_all", duckdb, "whether the first list has all elements of the second: first @> second", gives(pBool, AnyList, AnyList)).as("list_has_all", "@>"),
		fn("<@", postgres9_19, "whether the second list has all elements of the first", gives(pBool, AnyList, AnyList)).operator(),
		fn("array_has_any", duckdb, "whether two lists share an element: first && second", gives(pBool, AnyList, AnyList)).as("list_has_any", "&&"),
		fn("array_position", postgres9_19, "index of the first element that equals a value, from a position on; NULL where there is none", gives(pInt32, AnyList, AnyElem), gives(pInt32, AnyList, AnyElem, pInt32)).
			as("list_position", "list_indexof", "array_indexof").lenient("a value that is NULL is found; NULL where the list is"),
		fn("array_positions", postgres9_19, "indexes of the elements that equal a value", with(always(list(pInt32)), AnyList, AnyElem)).as("list_positions").lenient("a value that is NULL is found; NULL where the list is"),
		fn("array_remove", postgres9_19, "list without the elements that equal a value", with(sameAs(0), AnyList, AnyElem)).as("list_remove", "array_remove_all", "list_remove_all").lenient("a value that is NULL is removed; NULL where the list is"),
		fn("array_replace", postgres9_19, "list with the elements that equal one value replaced by another", with(sameAs(0), AnyList, AnyElem, AnyElem)).as("array_replace_all", "list_replace_all").lenient("values like others; NULL where the list is"),
		fn("array_to_string", postgres9_19, "text of the elements with a delimiter between them", gives(pText, AnyList, pText), gives(pText, AnyList, pText, pText)).as("list_to_string", "array_join", "list_join").
			lenient("an element that is NULL is left out, or is the third argument; NULL where the list or the delimiter is"),
		fn("list_extract", duckdb, "element of a list by its index from 1, or from the end where it is negative: list[i]; NULL where there is none", with(elemOf(0), AnyList, pInt64)).as("list_element", "array_element", "array_extract"),
		fn("list_slice", duckdb, "elements from one index to another, both counted from the end where they are negative: list[a:b:step]", with(sameAs(0), AnyList, pInt64, pInt64), with(sameAs(0), AnyList, pInt64, pInt64, pInt64)).as("array_slice"),
		fn("array_sort", duckdb, "elements in ascending order, NULL last; 'DESC' and 'NULLS FIRST' say otherwise", one, with(sameAs(0), AnyList, pText), with(sameAs(0), AnyList, pText, pText)).as("list_sort"),
		fn("list_reverse_sort", duckdb, "elements in descending order, NULL last", one).as("array_reverse_sort"),
		fn("array_reverse", duckdb, "elements in reverse order", one).as("list_reverse"),
		fn("array_distinct", duckdb, "elements once each, in the order of their first, without NULL", one).as("list_distinct"),
		fn("list_unique", duckdb, "number of different elements that are not NULL", gives(pInt64, AnyList)).as("array_unique"),
		fn("array_intersect", duckdb, "elements of the first list, once each, that the second has too", with(sameAs(0), AnyList, AnyList)).as("list_intersect", "list_intersection"),
		fn("array_union", datafusion, "elements of two lists, once each", with(sameAs(0), AnyList, AnyList)).as("list_union"),
		fn("array_except", datafusion, "elements of the first list, once each, that the second has not", with(sameAs(0), AnyList, AnyList)).as("list_except"),
		fn("array_pop_back", duckdb, "list without its last element", one).as("list_pop_back"),
		fn("array_pop_front", duckdb, "list without its first element", one).as("list_pop_front"),
		fn("array_resize", duckdb, "list cut, or filled up with a value, to a length", with(sameAs(0), AnyList, pInt64), with(sameAs(0), AnyList, pInt64, AnyElem)).as("list_resize").lenient("a value to fill up with; NULL where another argument is"),
		fn("array_repeat", datafusion, "list of a value, so many times", with(listOf(0), AnyElem, pInt64)).as("list_repeat").lenient("an element like others; NULL where the number is"),
		fn("array_fill", postgres9_19, "list of a value with the lengths given for each dimension", with(func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return sqltype.ListOf(a[0]), nil }, Any, AnyList)).lenient("an element like others; NULL where the lengths are"),
		fn("trim_array", postgres9_19, "list without its last n elements", with(sameAs(0), AnyList, pInt32)),
		fn("flatten", duckdb, "elements of the lists within a list, one after the other", with(flattened, AnyList)),
		fn("list_min", duckdb, "least element that is not NULL", with(elemOf(0), AnyList)).as("array_min"),
		fn("list_max", duckdb, "greatest element that is not NULL", with(elemOf(0), AnyList)).as("array_max"),
		fn("list_sum", duckdb, "sum of the elements that are not NULL", with(sumOfList, AnyList)).as("array_sum"),
		fn("list_avg", duckdb, "average of the elements that are not NULL", with(averageOfList, AnyList)).as("array_avg"),
		fn("list_count", duckdb, "number of elements that are not NULL", gives(pInt64, AnyList)).as("array_count"),
		fn("list_first", duckdb, "first element", with(elemOf(0), AnyList)).as("array_first"),
		fn("list_last", duckdb, "last element", with(elemOf(0), AnyList)).as("array_last"),
		fn("range", duckdb, "list of numbers or timestamps from a start, 0 by default, up to but without an end, by a step", rangeOverloads()),
		fn("generate_series", postgres9_26, "range with its end", rangeOverloads()),
	}
}

func structs() []*Function {
	return []*Function{
		fn("row", datafusion, "struct of the arguments, with the fields c0, c1 and so on: ROW(a, b)", variadic(with(structOf, Any))).as("struct").lenient("a field like others"),
		fn("named_struct", datafusion, "struct of names, which are constants, and values in turn: {'a': 1}; NewCall makes a row of it", variadic(with(sameAs(0), Any, Any))).lenient("a field like others"),
		fn("struct_extract", duckdb, "field of a struct by its name, which is a constant, or its place from 1: s.a or s['a']", with(sameAs(0), AnyStruct, pText), with(sameAs(0), AnyStruct, pInt64)).as("get_field"),
	}
}

// structOf names fields c0, c1 and so on; NewStruct gives them the names they have.
func structOf(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	fields := make([]sqltype.Field, len(a))
	for i, t := range a {
		fields[i] = sqltype.Field{Name: "c" + strconv.Itoa(i), Type: t}
	}
	return sqltype.StructOf(fields...), nil
}

func choices() []*Function {
	return []*Function{
		fn("nvl2", datafusion, "second argument where the first is not NULL, else the third; NewCall makes a CASE of it", with(sameAs(1), Any, Common, Common)).lenient("asked for"),
		fn("num_nulls", postgres9_2, "number of arguments that are NULL", variadic(gives(pInt32, Any))).lenient("counted"),
		fn("num_nonnulls", postgres9_2, "number of arguments that are not NULL", variadic(gives(pInt32, Any))).lenient("counted"),
		fn("error", duckdb, "an error with this message", gives(pText, pText)),
	}
}

func system() []*Function {
	typed := func(name, source, doc string) *Function {
		return fn(name, source, doc+"; NewCall makes a constant of it", gives(pText, Any)).lenient("has a type like others")
	}
	return []*Function{
		typed("typeof", duckdb, "type of an expression"),
		typed("pg_typeof", postgres9_26, "PostgreSQL's name of the type of an expression"),
		typed("arrow_typeof", datafusion, "Arrow's name of the type of an expression"),
		fn("arrow_cast", datafusion, "CAST to a type by Arrow's name, which is a constant; NewCall makes a CAST of it", with(sameAs(0), Any, pText)).lenient("becomes NULL of that type"),
		fn("version", postgres9_26, "name and version of the engine", gives(pText)).volatility(Stable),
		fn("current_schema", postgres9_26, "schema that names without one stand in", gives(pText)).volatility(Stable),
		fn("current_catalog", postgres9_26, "database that names stand in", gives(pText)).as("current_database").volatility(Stable),
		fn("current_user", postgres9_26, "name of the user", gives(pText)).as("session_user", "user", "current_role", "system_user").volatility(Stable),
	}
}
