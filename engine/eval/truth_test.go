package eval

import (
	"strings"
	"testing"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

var typeNames = map[string]sqltype.Type{
	"bool": of(sqltype.Bool), "int1": of(sqltype.Int8), "int2": of(sqltype.Int16), "int4": of(sqltype.Int32), "int8": of(sqltype.Int64),
	"uint1": of(sqltype.Uint8), "uint8": of(sqltype.Uint64), "float4": of(sqltype.Float32), "float8": of(sqltype.Float64),
	"dec(15,2)": sqltype.DecimalOf(15, 2), "dec(4,2)": sqltype.DecimalOf(4, 2), "dec(38,0)": sqltype.DecimalOf(38, 0), "dec(3,1)": sqltype.DecimalOf(3, 1),
	"dec(18,0)": sqltype.DecimalOf(18, 0), "text": of(sqltype.Utf8), "bytea": of(sqltype.Binary), "date": of(sqltype.Date),
	"time": of(sqltype.Time), "timestamp": of(sqltype.Timestamp), "timestamptz": of(sqltype.TimestampTZ),
	"interval": of(sqltype.Interval), "uuid": of(sqltype.UUID),
}

// literal reads "5::int4", "NULL::text", "'x'" (no type yet) or a bare number.
func literal(t *testing.T, s string) expr.Expr {
	t.Helper()
	text, name, typed := strings.Cut(s, "::")
	if !typed {
		if strings.HasPrefix(s, "'") {
			return expr.Unknown(strings.Trim(s, "'"), sqlerr.Pos{})
		}
		v, err := expr.ParseNumber(s)
		if err != nil {
			t.Fatal(err)
		}
		return expr.NewLiteral(v, sqlerr.Pos{})
	}
	typ, ok := typeNames[name]
	if !ok {
		t.Fatalf("no type %q", name)
	}
	if text == "NULL" {
		return expr.Null(typ, sqlerr.Pos{})
	}
	v, err := expr.ParseValue(typ, text)
	if err != nil {
		t.Fatal(err)
	}
	return expr.NewLiteral(v, sqlerr.Pos{})
}

// What PostgreSQL 17 answers, in its words; "type: text" also checks the type of the result.
func TestTruth(t *testing.T) {
	for _, tc := range []struct {
		fn   string
		args []string
		want string
	}{
		{"+", []string{"2", "3"}, "INTEGER: 5"},
		{"+", []string{"2::int2", "3::int8"}, "BIGINT: 5"},
		{"+", []string{"1", "0.05"}, "DECIMAL(13,2): 1.05"},
		{"+", []string{"1.5", "1.5::float8"}, "DOUBLE PRECISION: 3"},
		{"+", []string{"1::float4", "1"}, "DOUBLE PRECISION: 2"},
		{"+", []string{"2147483647", "1"}, "numeric_value_out_of_range: integer out of range"},
		{"+", []string{"9223372036854775807::int8", "1"}, "numeric_value_out_of_range: bigint out of range"},
		{"+", []string{"32767::int2", "1::int2"}, "numeric_value_out_of_range: smallint out of range"},
		{"-", []string{"0::uint1", "1::uint1"}, "numeric_value_out_of_range: utinyint out of range"},
		{"-", []string{"-2147483648::int4"}, "numeric_value_out_of_range: integer out of range"},
		{"+", []string{"18446744073709551615::uint8", "1"}, "DECIMAL(21,0): 18446744073709551616"},
		{"*", []string{"1.50", "-2.25"}, "DECIMAL(6,4): -3.3750"},
		{"*", []string{"99999999999999999999::dec(38,0)", "99999999999999999999::dec(38,0)"}, "numeric_value_out_of_range: value overflows numeric format: it has more than 38 digits (cast an operand to a DECIMAL of less scale, or to DOUBLE PRECISION)"},
		{"/", []string{"7", "2"}, "INTEGER: 3"},
		{"/", []string{"-7", "2"}, "INTEGER: -3"},
		{"/", []string{"7", "0"}, "division_by_zero: division by zero"},
		{"/", []string{"7::float8", "0::float8"}, "division_by_zero: division by zero"},
		{"/", []string{"-2147483648::int4", "-1"}, "numeric_value_out_of_range: integer out of range"},
		{"/", []string{"1.00", "3"}, "DECIMAL(38,16): 0.3333333333333333"},
		{"/", []string{"2.00", "3"}, "0.6666666666666667"},
		{"/", []string{"1.0", "0.0"}, "division_by_zero: division by zero"},
		{"%", []string{"-7", "2"}, "-1"},
		{"%", []string{"-2147483648::int4", "-1"}, "0"},
		{"%", []string{"7.5", "2"}, "1.5"},
		{"//", []string{"7.5", "2"}, "3.0"},
		{"*", []string{"1e200::float8", "1e200::float8"}, "numeric_value_out_of_range: value out of range: overflow"},
		{"*", []string{"1e-200::float8", "1e-200::float8"}, "numeric_value_out_of_range: value out of range: underflow"},
		{"^", []string{"2", "10"}, "1024"},
		{"^", []string{"0", "-1"}, "invalid_parameter_value: zero raised to a negative power is undefined"},
		{"<<", []string{"1", "4"}, "INTEGER: 16"},
		{"~", []string{"5"}, "-6"},
		{"abs", []string{"-1.50"}, "1.50"},
		{"abs", []string{"-128::int1"}, "numeric_value_out_of_range: tinyint out of range"},
		{"round", []string{"2.5"}, "3"},
		{"round", []string{"-2.5"}, "-3"},
		{"round", []string{"2.5::float8"}, "2"},
		{"round", []string{"42.4382", "2"}, "DECIMAL(5,2): 42.44"},
		{"round", []string{"1234.56", "-2"}, "1200"},
		{"trunc", []string{"42.4382", "2"}, "42.43"},
		{"ceil", []string{"-42.8"}, "-42"},
		{"ceil", []string{"42.2"}, "43"},
		{"floor", []string{"-42.8"}, "-43"},
		{"sign", []string{"-8.4"}, "-1"},
		{"sqrt", []string{"2"}, "1.4142135623730951"},
		{"sqrt", []string{"-1"}, "invalid_parameter_value: cannot take square root of a negative number"},
		{"ln", []string{"0"}, "invalid_parameter_value: cannot take logarithm of zero"},
		{"log", []string{"2", "64"}, "6"},
		{"greatest", []string{"1", "2.5", "NULL::int4"}, "2.5"},
		{"least", []string{"'a'", "'b'"}, "a"},
		{"coalesce", []string{"NULL::int4", "2.5"}, "2.5"},
		{"nullif", []string{"1", "1"}, "NULL"},
		{"nullif", []string{"1", "2"}, "1"},

		{"||", []string{"'a'", "'b'"}, "VARCHAR: ab"},
		{"||", []string{"'n='", "42"}, "n=42"},
		{"||", []string{"1.50::dec(15,2)", "'!'"}, "1.50!"},
		{"concat", []string{"'a'", "NULL::text", "1", "true::bool"}, "a1true"},
		{"concat_ws", []string{"', '", "'a'", "NULL::text", "'b'"}, "a, b"},
		{"lower", []string{"'ÄB'"}, "äb"},
		{"initcap", []string{"'hi THOMAS'"}, "Hi Thomas"},
		{"length", []string{"'日本語'"}, "INTEGER: 3"},
		{"octet_length", []string{"'日本語'"}, "9"},
		{"substring", []string{"'Thomas'", "2", "3"}, "hom"},
		{"substring", []string{"'Thomas'", "-1", "4"}, "Th"},
		{"substring", []string{"'Thomas'", "2", "-1"}, "invalid_parameter_value: negative substring length not allowed"},
		{"substring", []string{"'日本語'", "2"}, "本語"},
		{"substring", []string{"'Thomas'", "'...$'"}, "mas"},
		{"substring", []string{"'foobar'", "'o(.)b'"}, "o"},
		{"left", []string{"'abcde'", "-2"}, "abc"},
		{"right", []string{"'abcde'", "2"}, "de"},
		{"right", []string{"'abcde'", "-2"}, "cde"},
		{"btrim", []string{"'xyxtrimyyx'", "'xyz'"}, "trim"},
		{"ltrim", []string{"' a '"}, "a "},
		{"lpad", []string{"'hi'", "5", "'xy'"}, "xyxhi"},
		{"rpad", []string{"'hello'", "3"}, "hel"},
		{"replace", []string{"'abcabc'", "'b'", "'XX'"}, "aXXcaXXc"},
		{"translate", []string{"'12345'", "'143'", "'ax'"}, "a2x5"},
		{"position", []string{"'high'", "'ig'"}, "2"},
		{"split_part", []string{"'abc~@~def~@~ghi'", "'~@~'", "2"}, "def"},
		{"split_part", []string{"'a,b,c'", "','", "-2"}, "b"},
		{"reverse", []string{"'añb'"}, "bña"},
		{"repeat", []string{"'Pg'", "3"}, "PgPgPg"},
		{"chr", []string{"65"}, "A"},
		{"ascii", []string{"'x'"}, "120"},
		{"starts_with", []string{"'alphabet'", "'alph'"}, "true"},
		{"like", []string{"'abc'", "'_b%'"}, "true"},
		{"like", []string{"'日本語'", "'_本_'"}, "true"},
		{"like", []string{"'50%'", "'50\\%'"}, "true"},
		{"like", []string{"'a%c'", "'a!%c'", "'!'"}, "true"},
		{"like", []string{"'a\\c'", "'a\\c'", "''"}, "true"},
		{"like", []string{"'special x requests'", "'%special%requests%'"}, "true"},
		{"like", []string{"'axbxc'", "'a%b%b%c'"}, "false"},
		{"like", []string{"'aab'", "'%a_'"}, "true"},
		{"ilike", []string{"'ÄBC'", "'%äb_'"}, "true"},
		{"like", []string{"'a'", "'a\\'"}, "invalid_parameter_value: LIKE pattern must not end with escape character"},
		{"like", []string{"'a'", "'a'", "'xx'"}, "invalid_parameter_value: invalid escape string (escape string must be empty or one character)"},
		{"~", []string{"'thomas'", "'t.*ma'"}, "true"},
		{"~*", []string{"'thomas'", "'T.*MA'"}, "true"},
		{"~", []string{"'a'", "'('"}, "invalid_regular_expression: invalid regular expression: missing closing ): (?s)( (regular expressions are RE2's, without back references and look-around)"},
		{"similar_to", []string{"'abc'", "'a(b|d)_'"}, "true"},
		{"similar_to", []string{"'abcd'", "'a.c%'"}, "false"},
		{"regexp_replace", []string{"'foobarbaz'", "'b..'", "'X'"}, "fooXbaz"},
		{"regexp_replace", []string{"'foobarbaz'", "'b(..)'", "'X\\1Y'", "'g'"}, "fooXarYXazY"},

		{"+", []string{"2001-09-28::date", "7"}, "DATE: 2001-10-05"},
		{"-", []string{"2001-10-01::date", "2001-09-28::date"}, "INTEGER: 3"},
		{"+", []string{"2001-09-28::date", "1 hour::interval"}, "TIMESTAMP: 2001-09-28 01:00:00"},
		{"-", []string{"1998-12-01::date", "90 days::interval"}, "TIMESTAMP: 1998-09-02 00:00:00"},
		{"+", []string{"2024-01-31::date", "1 month::interval"}, "2024-02-29 00:00:00"},
		{"-", []string{"2001-09-29 03:00::timestamp", "2001-07-27 12:00::timestamp"}, "INTERVAL: 63 days 15:00:00"},
		{"*", []string{"1 day::interval", "1.5"}, "1 day 12:00:00"},
		{"*", []string{"900", "1 second::interval"}, "00:15:00"},
		{"/", []string{"1 hour::interval", "1.5"}, "00:40:00"},
		{"-", []string{"1 mon -1 days::interval"}, "-1 mons +1 day"},
		{"+", []string{"23:00::time", "2 hours::interval"}, "01:00:00"},
		{"+", []string{"5874897-12-31::date", "1"}, "datetime_field_overflow: date out of range"},
		{"+", []string{"294246-12-31 00:00::timestamp", "1 day::interval"}, "datetime_field_overflow: timestamp out of range"},
		{"extract", []string{"'year'", "1994-03-15::date"}, "BIGINT: 1994"},
		{"extract", []string{"'second'", "2001-02-16 20:38:40.12::timestamp"}, "DECIMAL(8,6): 40.120000"},
		{"extract", []string{"'milliseconds'", "2001-02-16 20:38:40.12::timestamp"}, "40120.000"},
		{"extract", []string{"'epoch'", "2001-02-16 20:38:40.12+00::timestamptz"}, "982355920.120000"},
		{"extract", []string{"'week'", "2005-01-01::date"}, "53"},
		{"extract", []string{"'isoyear'", "2006-01-01::date"}, "2005"},
		{"extract", []string{"'dow'", "2001-02-16::date"}, "5"},
		{"extract", []string{"'century'", "2000-12-16 12:21:13::timestamp"}, "20"},
		{"extract", []string{"'epoch'", "5 days 3 hours::interval"}, "442800.000000"},
		{"extract", []string{"'months'", "2 years 13 months::interval"}, "1"},
		{"extract", []string{"'yearr'", "1994-03-15::date"}, "invalid_parameter_value: unit \"yearr\" not recognized for type DATE (did you mean \"year\"?)"},
		{"date_part", []string{"'day'", "2001-02-16::date"}, "DOUBLE PRECISION: 16"},
		{"date_trunc", []string{"'hour'", "2001-02-16 20:38:40::timestamp"}, "TIMESTAMP: 2001-02-16 20:00:00"},
		{"date_trunc", []string{"'week'", "2001-02-16::date"}, "TIMESTAMP: 2001-02-12 00:00:00"},
		{"date_trunc", []string{"'quarter'", "2001-08-16::date"}, "2001-07-01 00:00:00"},
		{"date_trunc", []string{"'fortnight'", "2001-08-16::date"}, "invalid_parameter_value: unit \"fortnight\" not recognized for type TIMESTAMP (the units are microsecond to millennium, such as 'month')"},
		{"make_date", []string{"2013", "7", "15"}, "2013-07-15"},
		{"make_date", []string{"2013", "2", "30"}, "datetime_field_overflow: date field value out of range: 2013-02-30"},
		{"last_day", []string{"2024-02-11::date"}, "2024-02-29"},
		{"to_timestamp", []string{"1284352323"}, "2010-09-13 04:32:03+00"},
		{"=", []string{"1", "1.00"}, "true"},
		{"<", []string{"NULL::int4", "1"}, "NULL"},
		{"<", []string{"2001-01-01::date", "2001-01-01 00:00:01::timestamp"}, "true"},
		{"=", []string{"1.5::dec(15,2)", "'1.500'"}, "true"},
		{"=", []string{"1994-01-01::date", "'1994-01-01'"}, "true"},
		{"if", []string{"true::bool", "1", "2.5"}, "DECIMAL(11,1): 1.0"},
	} {
		t.Run(tc.fn+strings.Join(tc.args, ","), func(t *testing.T) {
			var args []expr.Expr
			for _, a := range tc.args {
				args = append(args, literal(t, a))
			}
			e, err := expr.NewCall(tc.fn, args, sqlerr.Pos{})
			got := ""
			if err == nil {
				var v expr.Value
				if v, err = computeConstant(e); err == nil {
					got = v.Text()
					if strings.HasPrefix(tc.want, e.Type().String()+": ") {
						got = e.Type().String() + ": " + got
					}
				}
			}
			if err != nil {
				got = string(sqlerr.CodeOf(err)) + ": " + err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestCastTruth(t *testing.T) {
	for _, tc := range []struct{ from, to, want string }{
		{"3.5", "int4", "4"},
		{"2.5::float8", "int4", "2"},
		{"-3.5", "int4", "-4"},
		{"300", "int1", "numeric_value_out_of_range: tinyint out of range"},
		{"3000000000::int8", "int4", "numeric_value_out_of_range: integer out of range"},
		{"1e10::float8", "int4", "numeric_value_out_of_range: integer out of range"},
		{"NaN::float8", "int8", "numeric_value_out_of_range: bigint out of range"},
		{"1e19::float8", "uint8", "10000000000000000000"},
		{"1.005", "dec(15,2)", "1.01"},
		{"1000", "dec(4,2)", "numeric_value_out_of_range: numeric field overflow (a field with precision 4, scale 2 must round to an absolute value less than 10^2)"},
		{"0.1::float8", "dec(15,2)", "0.10"},
		{"1.1", "float8", "1.1"},
		{"1e300::float8", "float4", "numeric_value_out_of_range: value out of range: overflow"},
		{"'12'", "int4", "12"},
		{" 12 ::text", "int4", "12"},
		{"1x::text", "int4", "invalid_text_representation: invalid input syntax for type integer: \"1x\""},
		{"99999999999::text", "int4", "numeric_value_out_of_range: value \"99999999999\" is out of range for type integer"},
		{"x::text", "dec(15,2)", "invalid_text_representation: invalid input syntax for type numeric: \"x\""},
		{"1994-13-01::text", "date", "datetime_field_overflow: date/time field value out of range: \"1994-13-01\""},
		{"tomorrowish::text", "date", "invalid_datetime_format: invalid input syntax for type date: \"tomorrowish\""},
		{"1994-01-31::date", "timestamp", "1994-01-31 00:00:00"},
		{"5874897-12-31::date", "timestamp", "datetime_field_overflow: date out of range for timestamp"},
		{"1994-01-31 23:59:59.5::timestamp", "date", "1994-01-31"},
		{"1994-01-31 23:59:59.5::timestamp", "time", "23:59:59.5"},
		{"true::bool", "int4", "1"},
		{"0", "bool", "false"},
		{"true::bool", "text", "true"},
		{"1.5::float8", "text", "1.5"},
		{"1e20::float8", "text", "1e+20"},
		{"1.10::dec(15,2)", "text", "1.10"},
		{"\\x6162::bytea", "text", "\\x6162"},
	} {
		t.Run(tc.from+" to "+tc.to, func(t *testing.T) {
			e, err := expr.NewCast(literal(t, tc.from), typeNames[tc.to], false, sqlerr.Pos{})
			got := ""
			if err == nil {
				var v expr.Value
				if v, err = computeConstant(e); err == nil {
					got = v.Text()
				}
			}
			if err != nil {
				got = string(sqlerr.CodeOf(err)) + ": " + err.Error()
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
