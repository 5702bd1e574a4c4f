package sqltext

import (
	"math"
	"testing"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func TestAppend(t *testing.T) {
	for _, tc := range []struct {
		got  []byte
		want string
	}{
		{AppendFloat(nil, 0.1), "0.1"},
		{AppendFloat(nil, 1e14), "100000000000000"},
		{AppendFloat(nil, 1e15), "1e+15"},
		{AppendFloat(nil, 123456789012345.6), "123456789012345.6"},
		{AppendFloat(nil, 0.0001), "0.0001"},
		{AppendFloat(nil, 0.00001), "1e-05"},
		{AppendFloat(nil, math.Copysign(0, -1)), "-0"},
		{AppendFloat(nil, math.Inf(-1)), "-Infinity"},
		{AppendFloat(nil, math.NaN()), "NaN"},
		{AppendFloat32(nil, 1234567), "1.234567e+06"},
		{AppendFloat32(nil, 0.1), "0.1"},
		{AppendDate(nil, 8796), "1994-01-31"},
		{AppendDate(nil, -719163), "0001-12-31 BC"},
		{AppendTime(nil, 4*3600e6+5*60e6+6_700_000), "04:05:06.7"},
		{AppendTimestamp(nil, -1), "1969-12-31 23:59:59.999999"},
		{AppendTimestampTZ(nil, 0), "1970-01-01 00:00:00+00"},
		{AppendInterval(nil, 14, 3, 4*3600e6+5*60e6+6_789_000), "1 year 2 mons 3 days 04:05:06.789"},
		{AppendInterval(nil, -14, 3, -1_000_000), "-1 years -2 mons +3 days -00:00:01"},
		{AppendInterval(nil, 0, -1, 3600e6), "-1 days +01:00:00"},
		{AppendInterval(nil, 0, 0, 0), "00:00:00"},
		{AppendInterval(nil, 0, 0, math.MinInt64), "-2562047788:00:54.775808"},
		{AppendBinary(nil, "\x00\xffa"), `\x00ff61`},
		{AppendUUID(nil, int128.Int128{Hi: 0x0123456789abcdef, Lo: 0xfedcba9876543210}), "01234567-89ab-cdef-fedc-ba9876543210"},
	} {
		if string(tc.got) != tc.want {
			t.Errorf("got %s, want %s", tc.got, tc.want)
		}
	}
}

func TestParseDate(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		code     sqlerr.Code
	}{
		{in: "1994-01-31", want: "1994-01-31"},
		{in: " 19940131 ", want: "1994-01-31"},
		{in: "1994/1/31", want: "1994-01-31"},
		{in: "1/31/1994", want: "1994-01-31"},
		{in: "1/31/94", want: "1994-01-31"},
		{in: "January 31, 1994", want: "1994-01-31"},
		{in: "31 Jan 1994", want: "1994-01-31"},
		{in: "31-Jan-1994", want: "1994-01-31"},
		{in: "1994-Jan-31", want: "1994-01-31"},
		{in: "Mon 31 Jan 1994", want: "1994-01-31"},
		{in: "1994-01-31 12:00:00", want: "1994-01-31"},
		{in: "1994-01-31T12:00:00Z", want: "1994-01-31"},
		{in: "0044-03-15 BC", want: "0044-03-15 BC"},
		{in: "epoch", want: "1970-01-01"},
		{in: "1994-02-30", code: sqlerr.DatetimeOverflow},
		{in: "1994-13-01", code: sqlerr.DatetimeOverflow},
		{in: "0000-01-01", code: sqlerr.DatetimeOverflow},
		{in: "9999999-01-01", code: sqlerr.DatetimeOverflow},
		{in: "", code: sqlerr.InvalidDatetime},
		{in: "1994", code: sqlerr.InvalidDatetime},
		{in: "1994-01", code: sqlerr.InvalidDatetime},
		{in: "31", code: sqlerr.InvalidDatetime},
		{in: "soon", code: sqlerr.InvalidDatetime},
		{in: "12:00", code: sqlerr.InvalidDatetime},
	} {
		day, err := ParseDate(tc.in)
		switch {
		case err != nil && err.Code != tc.code, err == nil && tc.code != "":
			t.Errorf("%q: error %v, want code %q", tc.in, err, tc.code)
		case err == nil && string(AppendDate(nil, day)) != tc.want:
			t.Errorf("%q: got %s, want %s", tc.in, AppendDate(nil, day), tc.want)
		}
	}
}

func TestParseTimestamp(t *testing.T) {
	for _, tc := range []struct{ in, want, zoned string }{
		{"1994-01-31", "1994-01-31 00:00:00", "1994-01-31 00:00:00+00"},
		{"1994-01-31 4:05:06.789", "1994-01-31 04:05:06.789", "1994-01-31 04:05:06.789+00"},
		{"1994-01-31T04:05:06+01:30", "1994-01-31 04:05:06", "1994-01-31 02:35:06+00"},
		{"1994-01-31 04:05:06 -08", "1994-01-31 04:05:06", "1994-01-31 12:05:06+00"},
		{"1994-01-31 04:05 PM", "1994-01-31 16:05:00", "1994-01-31 16:05:00+00"},
		{"1994-01-31 12:05 AM", "1994-01-31 00:05:00", "1994-01-31 00:05:00+00"},
		{"Jan 31 04:05:06 1994 UTC", "1994-01-31 04:05:06", "1994-01-31 04:05:06+00"},
		{"1994-01-31 24:00:00", "1994-02-01 00:00:00", "1994-02-01 00:00:00+00"},
		{"1994-01-31 04:05:06.1234567", "1994-01-31 04:05:06.123457", "1994-01-31 04:05:06.123457+00"},
		{"1994-01-31 25:00", "", ""},
		{"1994-01-31 04:05:06+99", "", ""},
		{"1994-01-31 04:05:06 04:05:06", "", ""},
		{"300000-01-01", "", ""},
	} {
		got, gotZoned := "", ""
		if v, err := ParseTimestamp(tc.in); err == nil {
			got = string(AppendTimestamp(nil, v))
		}
		if v, err := ParseTimestampTZ(tc.in); err == nil {
			gotZoned = string(AppendTimestampTZ(nil, v))
		}
		if got != tc.want || gotZoned != tc.zoned {
			t.Errorf("%q: got %q and %q, want %q and %q", tc.in, got, gotZoned, tc.want, tc.zoned)
		}
	}
}

func TestParseInterval(t *testing.T) {
	for _, tc := range []struct{ in, unit, want string }{
		{"1 year 2 months 3 days 04:05:06", "", "1 year 2 mons 3 days 04:05:06"},
		{"90", "day", "90 days"},
		{"3", "month", "3 mons"},
		{"1", "year", "1 year"},
		{"90", "", "00:01:30"},
		{"1-2", "", "1 year 2 mons"},
		{"-1-2", "", "-1 years -2 mons"},
		{"3 4:05:06", "", "3 days 04:05:06"},
		{"1.5 days", "", "1 day 12:00:00"},
		{"0.5 month", "", "15 days"},
		{"1.5 years", "", "1 year 6 mons"},
		{"2 weeks ago", "", "-14 days"},
		{"@ 1 min 30 sec", "", "00:01:30"},
		{"1h30m", "", ""},
		{"P1Y2M3DT4H5M6.5S", "", "1 year 2 mons 3 days 04:05:06.5"},
		{"P2W", "", "14 days"},
		{"-00:00:01.5", "", "-00:00:01.5"},
		{"1d -1:00", "", "1 day -01:00:00"},
		{"", "", ""},
		{"day", "", ""},
		{"P", "", ""},
		{"1 fortnight", "", ""},
		{"1e400 days", "", ""},
		{"99999999999 years", "", ""},
	} {
		got := ""
		if v, err := ParseInterval(tc.in, tc.unit); err == nil {
			got = string(AppendInterval(nil, v.Months, v.Days, v.Micros))
		}
		if got != tc.want {
			t.Errorf("%q: got %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestParseNumbers(t *testing.T) {
	for _, tc := range []struct {
		in   string
		bits int
		want int64
		code sqlerr.Code
	}{
		{in: " -42 ", bits: 32, want: -42},
		{in: "0x1F", bits: 16, want: 31},
		{in: "-0b101", bits: 8, want: -5},
		{in: "1_000", bits: 16, want: 1000},
		{in: "-128", bits: 8, want: -128},
		{in: "-9223372036854775808", bits: 64, want: math.MinInt64},
		{in: "128", bits: 8, code: sqlerr.OutOfRange},
		{in: "99999999999999999999", bits: 64, code: sqlerr.OutOfRange},
		{in: "1__0", bits: 32, code: sqlerr.InvalidText},
		{in: "_1", bits: 32, code: sqlerr.InvalidText},
		{in: "1.0", bits: 32, code: sqlerr.InvalidText},
		{in: "--1", bits: 32, code: sqlerr.InvalidText},
		{in: "", bits: 32, code: sqlerr.InvalidText},
	} {
		got, err := ParseInt(tc.in, tc.bits)
		if err != nil && err.Code != tc.code || err == nil && (tc.code != "" || got != tc.want) {
			t.Errorf("%q: got %d, %v, want %d, %q", tc.in, got, err, tc.want, tc.code)
		}
	}
	if _, err := ParseFloat("1e400", 64); err == nil || err.Code != sqlerr.OutOfRange {
		t.Errorf("1e400: %v", err)
	}
	if _, err := ParseFloat("1e-400", 64); err == nil || err.Code != sqlerr.OutOfRange {
		t.Errorf("1e-400: %v", err)
	}
	if f, err := ParseFloat(" -Infinity ", 64); err != nil || !math.IsInf(f, -1) {
		t.Errorf("-Infinity: %v, %v", f, err)
	}
	for s, want := range map[string][2]int{"1": {1, 0}, "-12.50": {4, 2}, "0.05": {2, 2}, "007": {1, 0}, "0": {1, 0}, ".5": {1, 1}, "1.": {1, 0}} {
		if p, sc, ok := DecimalShape(s); !ok || p != want[0] || sc != want[1] {
			t.Errorf("DecimalShape(%q) = %d, %d, %v, want %v", s, p, sc, ok, want)
		}
	}
}

// Whatever comes, nothing panics, and what was read is written so that it reads the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1994-01-31 04:05:06.789+01", "Jan 31, 1994 BC", "P1Y2M3DT4H", "1 year -2 days 3:04", "-12.5e3", `\x00\101\\`, "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", "0x_1F"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDate(s); err == nil {
			if again, err := ParseDate(string(AppendDate(nil, d))); err != nil || again != d {
				t.Errorf("date %q is %d, then %d, %v", s, d, again, err)
			}
		}
		if v, err := ParseTimestampTZ(s); err == nil {
			if again, err := ParseTimestampTZ(string(AppendTimestampTZ(nil, v))); err != nil || again != v {
				t.Errorf("timestamp %q is %d, then %d, %v", s, v, again, err)
			}
		}
		if v, err := ParseTime(s); err == nil {
			if again, err := ParseTime(string(AppendTime(nil, v))); err != nil || again != v {
				t.Errorf("time %q is %d, then %d, %v", s, v, again, err)
			}
		}
		if v, err := ParseInterval(s, ""); err == nil {
			if again, err := ParseInterval(string(AppendInterval(nil, v.Months, v.Days, v.Micros)), ""); err != nil || again != v {
				t.Errorf("interval %q is %v, then %v, %v", s, v, again, err)
			}
		}
		if v, err := ParseFloat(s, 64); err == nil && !math.IsNaN(v) {
			if again, err := ParseFloat(string(AppendFloat(nil, v)), 64); err != nil || again != v {
				t.Errorf("float %q is %v, then %v, %v", s, v, again, err)
			}
		}
		if v, err := ParseBinary(s); err == nil {
			if again, err := ParseBinary(string(AppendBinary(nil, v))); err != nil || again != v {
				t.Errorf("bytes %q are %q, then %q, %v", s, v, again, err)
			}
		}
		if v, err := ParseUUID(s); err == nil {
			if again, err := ParseUUID(string(AppendUUID(nil, v))); err != nil || again != v {
				t.Errorf("UUID %q is %v, then %v, %v", s, v, again, err)
			}
		}
		_, _ = ParseBool(s)
		_, _ = ParseDecimal(s, 38, 10)
		_, _, _ = DecimalShape(s)
	})
}
