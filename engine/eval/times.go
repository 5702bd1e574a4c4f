package eval

import (
	"math"
	"strings"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}

// intervalUnits are the functions that make an interval of a number of units.
var intervalUnits = map[string]vector.Interval{
	"to_millennia": {Months: 12000}, "to_centuries": {Months: 1200}, "to_decades": {Months: 120}, "to_years": {Months: 12}, "to_quarters": {Months: 3},
	"to_months": {Months: 1}, "to_weeks": {Days: 7}, "to_days": {Days: 1}, "to_hours": {Micros: calendar.Hour}, "to_minutes": {Micros: calendar.Minute},
	"to_microseconds": {Micros: 1},
}

// moreTimes compiles the rarer functions of dates and times.
func (k call) moreTimes() (factory, bool, error) {
	if unit, ok := intervalUnits[k.Func]; ok {
		return map1(k, func(n int64) (vector.Interval, error) { return times(unit, n) }), true, nil
	}
	isDate := k.kind(0) == sqltype.Date
	dayText := func(name func(day int64) string) (factory, bool, error) {
		if isDate {
			return text1(k, func(dst []byte, day int32) ([]byte, error) { return append(dst, name(int64(day))...), nil }), true, nil
		}
		return text1(k, func(dst []byte, micros int64) ([]byte, error) {
			day, _ := calendar.Split(micros)
			return append(dst, name(day)...), nil
		}), true, nil
	}
	switch k.Func {
	case "age":
		return map2(k, func(a, b int64) (vector.Interval, error) { return age(a, b), nil }), true, nil
	case "date_bin":
		return k.rows(func(n *rowsNode) {
			stride, at := operand[vector.Interval](n), operand[int64](n)
			origin, out := optional(n, k, 2, int64(0)), values[int64](n, k.Typ)
			n.row = func(i int) error {
				v, err := dateBin(stride.at(i), at.at(i), origin.at(i))
				out.set(i, v)
				return err
			}
		}), true, nil
	case "date_diff", "date_sub":
		f, err := k.dateDiff()
		return f, true, err
	case "date_add":
		return k.dateAdd(), true, nil
	case "dayname":
		return dayText(func(day int64) string { return dayNames[calendar.Weekday(day)] })
	case "monthname":
		return dayText(func(day int64) string {
			_, m, _ := calendar.Civil(day)
			return monthNames[m-1]
		})
	case "yearweek":
		return k.ofStamp(func(micros int64) int64 {
			day, _ := calendar.Split(micros)
			y, w := calendar.ISOWeek(day)
			if y < 0 {
				return y*100 - int64(w)
			}
			return y*100 + int64(w)
		}), true, nil
	case "to_unixtime":
		return k.ofStamp(func(micros int64) int64 { return floorDiv(micros, calendar.Second) }), true, nil
	case "epoch", "epoch_ms", "epoch_us", "epoch_ns":
		return k.epoch(), true, nil
	case "to_timestamp_seconds", "to_timestamp_millis", "to_timestamp_micros", "to_timestamp_nanos":
		return k.sinceEpoch(), true, nil
	case "to_timestamp":
		switch {
		case len(k.args) == 2:
			return k.parseStamp(parseTemplate), true, nil
		case k.kind(0) == sqltype.Utf8, k.kind(0) == sqltype.Timestamp:
			return k.sinceEpoch(), true, nil
		}
	case "to_date":
		if len(k.args) == 1 {
			return map1(k, func(s string) (int32, error) {
				d, err := sqltext.ParseDate(s)
				if err != nil {
					return 0, err
				}
				return d, nil
			}), true, nil
		}
		return map2(k, func(s, format string) (int32, error) {
			micros, err := parseTemplate(s, format)
			if err != nil {
				return 0, err
			}
			day, _ := calendar.Split(micros)
			return int32(day), nil
		}), true, nil
	case "strptime", "try_strptime":
		f := k.parseStamp(parseStrftime)
		if k.Func == "strptime" {
			return f, true, nil
		}
		return func(in *instance) node {
			n := f(in).(*rowsNode)
			n.try = true
			return n
		}, true, nil
	case "strftime":
		at, format := 0, 1
		if k.kind(0) == sqltype.Utf8 {
			at, format = 1, 0
		}
		return k.rows(func(n *rowsNode) {
			var stamps *arg[int64]
			var formats *arg[string]
			for j := range 2 {
				if j == at {
					stamps = operand[int64](n)
				} else if j == format {
					formats = operand[string](n)
				}
			}
			set := textResult(n, k.Typ)
			n.row = func(i int) error {
				dst, err := appendStrftime(n.in.mem.tail(), formats.at(i), stamps.at(i))
				return setOr(set, i, dst, err)
			}
		}), true, nil
	case "to_char":
		return k.toChar(), true, nil
	case "make_time":
		return map3(k, makeTime), true, nil
	case "make_timestamptz":
		return k.makeTimestamp(), true, nil
	case "make_interval":
		return k.makeInterval(), true, nil
	case "to_seconds", "to_milliseconds":
		scale := 1e6
		if k.Func == "to_milliseconds" {
			scale = 1e3
		}
		return map1(k, func(x float64) (vector.Interval, error) {
			micros := math.RoundToEven(x * scale)
			if !(math.Abs(micros) < 9.2e18) {
				return vector.Interval{}, intervalOutOfRange()
			}
			return vector.Interval{Micros: int64(micros)}, nil
		}), true, nil
	case "justify_days":
		return map1(k, func(v vector.Interval) (vector.Interval, error) { return justify(v, true, false) }), true, nil
	case "justify_hours":
		return map1(k, func(v vector.Interval) (vector.Interval, error) { return justify(v, false, true) }), true, nil
	case "justify_interval":
		return map1(k, func(v vector.Interval) (vector.Interval, error) { return justify(v, true, true) }), true, nil
	case "timezone":
		f, err := k.timezone()
		return f, true, err
	}
	return nil, false, nil
}

// ofStamp is an integer of a date or timestamp.
func (k call) ofStamp(f func(micros int64) int64) factory {
	kind := k.kind(0)
	return k.rows(func(n *rowsNode) {
		a, out := stampOperand(n, kind), values[int64](n, k.Typ)
		n.row = func(i int) error {
			out.set(i, f(a(i)))
			return nil
		}
	})
}

// times is n of a unit.
func times(unit vector.Interval, n int64) (vector.Interval, error) {
	months, days := int64(unit.Months)*n, int64(unit.Days)*n
	micros, ok := compute('*', unit.Micros, n)
	if unit.Months != 0 && (months/int64(unit.Months) != n || months != int64(int32(months))) || unit.Days != 0 && (days/int64(unit.Days) != n || days != int64(int32(days))) || !ok {
		return vector.Interval{}, intervalOutOfRange()
	}
	return vector.Interval{Months: int32(months), Days: int32(days), Micros: micros}, nil
}

// age is a − b by the calendar: months and days first, then the time.
func age(a, b int64) vector.Interval {
	sign := int64(1)
	if a < b {
		a, b, sign = b, a, -1
	}
	day1, of1 := calendar.Split(a)
	day2, of2 := calendar.Split(b)
	y1, m1, d1 := calendar.Civil(day1)
	y2, m2, d2 := calendar.Civil(day2)
	months, days, micros := (y1-y2)*12+int64(m1-m2), int64(d1-d2), of1-of2
	if micros < 0 {
		micros += calendar.Day
		days--
	}
	if days < 0 { // borrow the month that the earlier time is in, or, of negative ages, the later one
		if sign > 0 {
			days += int64(calendar.DaysIn(y2, m2))
		} else {
			days += int64(calendar.DaysIn(y1, m1))
		}
		months--
	}
	return vector.Interval{Months: int32(sign * months), Days: int32(sign * days), Micros: sign * micros}
}

func dateBin(stride vector.Interval, at, origin int64) (int64, error) {
	if stride.Months != 0 {
		if stride.Days != 0 || stride.Micros != 0 || stride.Months < 0 {
			return 0, sqlerr.New(sqlerr.Unsupported, sqlerr.Pos{}, "timestamps cannot be binned into intervals containing months or years and days").
				WithHint("use whole months, or an interval without any")
		}
		day, of := calendar.Split(at)
		first, rest := calendar.Split(origin)
		y, m, _ := calendar.Civil(day)
		oy, om, _ := calendar.Civil(first)
		n := floorDiv((y-oy)*12+int64(m-om), int64(stride.Months))
		start := calendar.AddMonths(first, n*int64(stride.Months))
		if start > day || start == day && rest > of {
			start = calendar.AddMonths(first, (n-1)*int64(stride.Months))
		}
		return start*calendar.Day + rest, nil
	}
	width := int64(stride.Days)*calendar.Day + stride.Micros
	if width <= 0 {
		return 0, sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "stride must be greater than zero")
	}
	diff := at - origin
	if (at^origin)&(at^diff) < 0 {
		return 0, timestampOutOfRange()
	}
	v := origin + floorDiv(diff, width)*width
	if v < calendar.MinMicro || v > calendar.MaxMicro {
		return 0, timestampOutOfRange()
	}
	return v, nil
}

// dateDiff is date_diff, which counts starts of a unit, and date_sub, which counts whole ones.
func (k call) dateDiff() (factory, error) {
	kind := k.kind(1)
	unitOf := func(text string) (string, error) {
		unit, ok := truncUnits[strings.ToLower(text)]
		if _, small := truncMicros[unit]; !ok || kind == sqltype.Time && (!small || unit == "day") {
			return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unit %q not recognized for type %s", text, k.Args[1].Type()).
				WithHint("the units are microsecond to millennium, such as 'month'")
		}
		return unit, nil
	}
	if text, ok := k.constantText(0); ok {
		if _, err := unitOf(text); err != nil {
			return nil, sqlerr.At(err, k.Args[0].Pos())
		}
	}
	whole := k.Func == "date_sub"
	return k.rows(func(n *rowsNode) {
		units := operand[string](n)
		a, b, out := stampOperand(n, kind), stampOperand(n, kind), values[int64](n, k.Typ)
		n.row = func(i int) error {
			unit, err := unitOf(units.at(i))
			if err == nil {
				out.set(i, countUnits(unit, a(i), b(i), whole))
			}
			return err
		}
	}), nil
}

var unitMonths = map[string]int64{"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}

func countUnits(unit string, a, b int64, whole bool) int64 {
	width := truncMicros[unit]
	if unit == "week" {
		width = 7 * calendar.Day
	}
	if whole {
		if width > 0 {
			return (b - a) / width
		}
		v := age(b, a)
		return int64(v.Months) / unitMonths[unit]
	}
	if unit == "week" { // DuckDB counts seven days, whatever day they begin with
		return (truncStamp("day", b) - truncStamp("day", a)) / width
	}
	if width > 0 {
		return (truncStamp(unit, b) - truncStamp(unit, a)) / width
	}
	if per := unitMonths[unit]; per > 12 { // DuckDB counts decades from year 0
		return floorDiv(year(b), per/12) - floorDiv(year(a), per/12)
	}
	months := func(micros int64) int64 {
		day, _ := calendar.Split(micros)
		y, m, _ := calendar.Civil(day)
		return y*12 + int64(m-1)
	}
	return floorDiv(months(b), unitMonths[unit]) - floorDiv(months(a), unitMonths[unit])
}

func year(micros int64) int64 {
	day, _ := calendar.Split(micros)
	y, _, _ := calendar.Civil(day)
	return y
}

func (k call) dateAdd() factory {
	return k.rows(func(n *rowsNode) {
		at, by := operand[int64](n), operand[vector.Interval](n)
		zones, out := optional(n, k, 2, "UTC"), values[int64](n, k.Typ)
		n.row = func(i int) error {
			if len(k.args) < 3 {
				v, err := addInterval(at.at(i), by.at(i))
				out.set(i, v)
				return err
			}
			zone, bad := sqltext.FindZone(zones.at(i))
			if bad != nil {
				return bad
			}
			// Months and days by the zone's clock, the rest by time passed.
			v := by.at(i)
			local, err := addInterval(zone.Local(at.at(i)), vector.Interval{Months: v.Months, Days: v.Days})
			if err != nil {
				return err
			}
			sum, err := addInterval(zone.UTC(local), vector.Interval{Micros: v.Micros})
			out.set(i, sum)
			return err
		}
	})
}

func (k call) epoch() factory {
	kind := k.kind(0)
	if k.Typ.Kind == sqltype.Timestamp { // epoch_ms of an integer
		return map1(k, func(ms int64) (int64, error) { return scaledMicros(ms, 1000) })
	}
	return k.rows(func(n *rowsNode) {
		var micros func(i int) int64
		if kind == sqltype.Interval {
			a := operand[vector.Interval](n)
			micros = func(i int) int64 { return intervalEpoch(a.at(i)) }
		} else {
			micros = stampOperand(n, kind)
		}
		if k.Func == "epoch" {
			out := values[float64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, float64(micros(i))/1e6)
				return nil
			}
			return
		}
		out := values[int64](n, k.Typ)
		n.row = func(i int) error {
			v, ok := micros(i), true
			switch k.Func {
			case "epoch_ms":
				v /= 1000 // cut, as DuckDB does
			case "epoch_ns":
				v, ok = compute('*', v, 1000)
			}
			out.set(i, v)
			if !ok {
				return integerOverflow(k.Typ)
			}
			return nil
		}
	})
}

// scaledMicros is n units of so many microseconds as a timestamp.
func scaledMicros(n, unit int64) (int64, error) {
	v, ok := compute('*', n, unit)
	if !ok || v < calendar.MinMicro || v > calendar.MaxMicro {
		return 0, timestampOutOfRange()
	}
	return v, nil
}

// sinceEpoch makes a timestamp of a number, of a text as CAST reads it, or of a timestamp itself.
func (k call) sinceEpoch() factory {
	switch k.kind(0) {
	case sqltype.Utf8:
		return map1(k, func(s string) (int64, error) {
			v, err := sqltext.ParseTimestampTZ(s)
			if err != nil {
				return 0, err
			}
			return v, nil
		})
	case sqltype.Timestamp:
		return map1(k, func(v int64) (int64, error) { return v, nil })
	}
	return map1(k, func(n int64) (int64, error) {
		switch k.Func {
		case "to_timestamp_seconds":
			return scaledMicros(n, calendar.Second)
		case "to_timestamp_millis":
			return scaledMicros(n, 1000)
		case "to_timestamp_nanos":
			return floorDiv(n, 1000), nil
		}
		return scaledMicros(n, 1)
	})
}

func (k call) parseStamp(parse func(s, format string) (int64, error)) factory { return map2(k, parse) }

func makeTime(h, m int32, s float64) (int64, error) {
	of := int64(h)*calendar.Hour + int64(m)*calendar.Minute + int64(math.RoundToEven(s*1e6))
	if h < 0 || h > 24 || m < 0 || m > 59 || !(s >= 0 && s <= 60) || of > calendar.Day {
		return 0, sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "time field value out of range: %d:%02d:%02g", h, m, s)
	}
	return of, nil
}

func (k call) makeInterval() factory {
	return k.rows(func(n *rowsNode) {
		var p [6]*arg[int32]
		for j := range p {
			p[j] = optional(n, k, j, int32(0))
		}
		seconds, out := optional(n, k, 6, 0.0), values[vector.Interval](n, k.Typ)
		n.row = func(i int) error {
			months := int64(p[0].at(i))*12 + int64(p[1].at(i))
			days := int64(p[2].at(i))*7 + int64(p[3].at(i))
			secs := math.RoundToEven(seconds.at(i) * 1e6)
			if months != int64(int32(months)) || days != int64(int32(days)) || !(math.Abs(secs) < 4e18) {
				return intervalOutOfRange()
			}
			micros := int64(p[4].at(i))*calendar.Hour + int64(p[5].at(i))*calendar.Minute
			sum, ok := compute('+', micros, int64(secs))
			if !ok {
				return intervalOutOfRange()
			}
			out.set(i, vector.Interval{Months: int32(months), Days: int32(days), Micros: sum})
			return nil
		}
	})
}

// justify takes whole days out of the time and whole months out of the days.
func justify(v vector.Interval, days, hours bool) (vector.Interval, error) {
	months, d, micros := int64(v.Months), int64(v.Days), v.Micros
	if days && hours { // first bring days and time towards each other, so that nothing overflows
		if d > 0 && micros > 0 || d < 0 && micros < 0 {
			months += d / 30
			d %= 30
		}
	}
	if hours {
		d += micros / calendar.Day
		micros %= calendar.Day
	}
	if days {
		months += d / 30
		d %= 30
	}
	if days && hours {
		if months > 0 && (d < 0 || d == 0 && micros < 0) {
			d += 30
			months--
		} else if months < 0 && (d > 0 || d == 0 && micros > 0) {
			d -= 30
			months++
		}
	} else if days {
		if months > 0 && d < 0 {
			d += 30
			months--
		} else if months < 0 && d > 0 {
			d -= 30
			months++
		}
	}
	if hours {
		if d > 0 && micros < 0 {
			micros += calendar.Day
			d--
		} else if d < 0 && micros > 0 {
			micros -= calendar.Day
			d++
		}
	}
	if months != int64(int32(months)) || d != int64(int32(d)) {
		return v, intervalOutOfRange()
	}
	return vector.Interval{Months: int32(months), Days: int32(d), Micros: micros}, nil
}

// timezone is AT TIME ZONE.
func (k call) timezone() (factory, error) {
	convert := func(zone sqltext.Zone, micros int64) (int64, error) {
		read := zone.UTC
		if k.Typ.Kind == sqltype.Timestamp {
			read = zone.Local
		}
		v := read(micros)
		if v < calendar.MinMicro || v > calendar.MaxMicro {
			return 0, timestampOutOfRange()
		}
		return v, nil
	}
	if k.kind(0) == sqltype.Interval {
		return map2(k, func(by vector.Interval, micros int64) (int64, error) {
			if by.Months != 0 || by.Days != 0 || by.Micros%calendar.Second != 0 || by.Micros < -calendar.Day || by.Micros > calendar.Day {
				return 0, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "interval time zone must be less than a day, in whole seconds").WithHint("write INTERVAL '1 hour'")
			}
			return convert(sqltext.FixedZone(by.Micros), micros)
		}), nil
	}
	if name, ok := k.constantText(0); ok {
		if _, err := sqltext.FindZone(name); err != nil {
			return nil, sqlerr.At(err, k.Args[0].Pos())
		}
	}
	return map2(k, func(name string, micros int64) (int64, error) {
		zone, err := sqltext.FindZone(name)
		if err != nil {
			return 0, err
		}
		return convert(zone, micros)
	}), nil
}
