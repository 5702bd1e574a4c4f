package eval

import (
	"math"
	"strings"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltext"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

func dateOutOfRange() error {
	return sqlerr.New(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date out of range")
}

func intervalOutOfRange() error {
	return sqlerr.New(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "interval out of range")
}

// datetime compiles functions of dates, times and intervals.
func (k call) datetime() (factory, bool, error) {
	switch k.Func {
	case "+", "-", "*", "/":
		f := k.temporal()
		return f, f != nil, nil
	case "date_trunc":
		f, err := k.dateTrunc()
		return f, f != nil, err
	case "make_date":
		return k.makeDate(), true, nil
	case "make_timestamp":
		return k.makeTimestamp(), true, nil
	case "to_timestamp":
		if k.kind(0) != sqltype.Float64 {
			break
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[float64](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				f := a.at(i) * 1e6
				if !(f >= calendar.MinMicro && f <= calendar.MaxMicro) {
					return timestampOutOfRange()
				}
				out.set(i, int64(math.RoundToEven(f)))
				return nil
			}
			return n
		}, true, nil
	case "last_day":
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[int32](n), values[int32](n, k.Typ)
			n.row = func(i int) error {
				y, m, _ := calendar.Civil(int64(a.at(i)))
				out.set(i, int32(calendar.Days(y, m, calendar.DaysIn(y, m))))
				return nil
			}
			return n
		}, true, nil
	case "extract_second", "extract_millisecond", "extract_epoch":
		return k.extractDecimal(), true, nil
	}
	if f := k.field(); f != nil {
		return f, true, nil
	}
	return k.moreTimes()
}

// stampOperand reads a date, time or timestamp as microseconds.
func stampOperand(n *rowsNode, kind sqltype.Kind) func(i int) int64 {
	if kind == sqltype.Date {
		a := operand[int32](n)
		return func(i int) int64 { return int64(a.at(i)) * calendar.Day }
	}
	return operand[int64](n).at
}

// dayFields are the fields that a day has.
var dayFields = map[string]func(day int64) int64{
	"year": func(day int64) int64 { y, _, _ := calendar.Civil(day); return historic(y) },
	"month": func(day int64) int64 {
		_, m, _ := calendar.Civil(day)
		return int64(m)
	},
	"day": func(day int64) int64 {
		_, _, d := calendar.Civil(day)
		return int64(d)
	},
	"quarter": func(day int64) int64 {
		_, m, _ := calendar.Civil(day)
		return int64(m+2) / 3
	},
	"decade":     func(day int64) int64 { y, _, _ := calendar.Civil(day); return floorDiv(y, 10) },
	"century":    func(day int64) int64 { y, _, _ := calendar.Civil(day); return periods(y, 100) },
	"millennium": func(day int64) int64 { y, _, _ := calendar.Civil(day); return periods(y, 1000) },
	"week":       func(day int64) int64 { _, w := calendar.ISOWeek(day); return int64(w) },
	"isoyear":    func(day int64) int64 { y, _ := calendar.ISOWeek(day); return historic(y) },
	"dow":        func(day int64) int64 { return int64(calendar.Weekday(day)) },
	"isodow":     func(day int64) int64 { return int64(calendar.Weekday(day)+6)%7 + 1 },
	"doy":        func(day int64) int64 { return int64(calendar.YearDay(day)) },
	"julian":     func(day int64) int64 { return day + 2440588 },
}

// timeFields are the fields that microseconds of a day have, or of an interval.
var timeFields = map[string]func(of int64) int64{
	"hour":        func(of int64) int64 { return of / calendar.Hour },
	"minute":      func(of int64) int64 { return of / calendar.Minute % 60 },
	"second":      func(of int64) int64 { return of / calendar.Second % 60 },
	"millisecond": func(of int64) int64 { return of % calendar.Minute / 1000 },
	"microsecond": func(of int64) int64 { return of % calendar.Minute },
}

// historic is a year as people count: before 1 comes -1.
func historic(y int64) int64 {
	if y <= 0 {
		return y - 1
	}
	return y
}

// periods is the century or millennium of a year: 2000 is the last year of the 20th.
func periods(y, length int64) int64 {
	if y > 0 {
		return (y + length - 1) / length
	}
	return -((length - y) / length)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// field is a field of a date, time or interval as BIGINT; nil where k is none.
func (k call) field() factory {
	kind := k.kind(0)
	ofDay, ofTime := dayFields[k.Func], timeFields[k.Func]
	switch {
	case kind == sqltype.Interval:
		f := intervalField(k.Func)
		if f == nil {
			return nil
		}
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[vector.Interval](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, f(a.at(i)))
				return nil
			}
			return n
		}
	case ofDay != nil && kind == sqltype.Date:
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := operand[int32](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, ofDay(int64(a.at(i))))
				return nil
			}
			return n
		}
	case (ofDay != nil || ofTime != nil) && len(k.args) == 1:
		return func(in *instance) node {
			n := newRows(in, k)
			a, out := stampOperand(n, kind), values[int64](n, k.Typ)
			n.row = func(i int) error {
				day, of := calendar.Split(a(i))
				if ofDay != nil {
					out.set(i, ofDay(day))
				} else {
					out.set(i, ofTime(of))
				}
				return nil
			}
			return n
		}
	}
	return nil
}

func intervalField(name string) func(v vector.Interval) int64 {
	if f := timeFields[name]; f != nil {
		return func(v vector.Interval) int64 { return f(v.Micros) }
	}
	years := func(per int64) func(vector.Interval) int64 {
		return func(v vector.Interval) int64 { return int64(v.Months) / 12 / per }
	}
	switch name {
	case "year":
		return years(1)
	case "decade":
		return years(10)
	case "century":
		return years(100)
	case "millennium":
		return years(1000)
	case "quarter":
		return func(v vector.Interval) int64 { return int64(v.Months%12)/3 + 1 }
	case "month":
		return func(v vector.Interval) int64 { return int64(v.Months % 12) }
	case "day":
		return func(v vector.Interval) int64 { return int64(v.Days) }
	}
	return nil
}

// extractDecimal is EXTRACT of a field that has a fraction.
func (k call) extractDecimal() factory {
	kind := k.kind(0)
	return func(in *instance) node {
		n := newRows(in, k)
		var micros, of func(i int) int64 // all of the value; what is beyond its days
		if kind == sqltype.Interval {
			a := operand[vector.Interval](n)
			of = func(i int) int64 { return a.at(i).Micros }
			micros = func(i int) int64 { return intervalEpoch(a.at(i)) }
		} else {
			micros = stampOperand(n, kind)
			of = func(i int) int64 {
				_, of := calendar.Split(micros(i))
				return of
			}
		}
		out := n.decimals(k.Typ)
		n.row = func(i int) error {
			v := int64(0)
			if k.Func == "extract_epoch" {
				v = micros(i)
			} else { // seconds to 6 digits and milliseconds to 3 are the same number without its point
				v = of(i) % calendar.Minute
			}
			out.set(i, int128.FromInt64(v))
			return nil
		}
		return n
	}
}

// intervalEpoch is an interval in microseconds with years of 365.25 and months of 30 days, as PostgreSQL's epoch.
func intervalEpoch(v vector.Interval) int64 {
	years, months := int64(v.Months)/12, int64(v.Months)%12
	return years*(calendar.Day*1461/4) + months*30*calendar.Day + int64(v.Days)*calendar.Day + v.Micros
}

// addInterval is a timestamp and an interval: months first, then days, then the rest.
func addInterval(micros int64, v vector.Interval) (int64, error) {
	day, of := calendar.Split(micros)
	if v.Months != 0 {
		day = calendar.AddMonths(day, int64(v.Months))
	}
	day += int64(v.Days)
	if day < calendar.MinDay || day > calendar.MaxMicro/calendar.Day {
		return 0, timestampOutOfRange()
	}
	base := day*calendar.Day + of
	sum := base + v.Micros
	if (base^sum)&(v.Micros^sum) < 0 || sum < calendar.MinMicro || sum > calendar.MaxMicro {
		return 0, timestampOutOfRange()
	}
	return sum, nil
}

func negateInterval(v vector.Interval) (vector.Interval, error) {
	if v.Months == math.MinInt32 || v.Days == math.MinInt32 || v.Micros == math.MinInt64 {
		return v, intervalOutOfRange()
	}
	return vector.Interval{Months: -v.Months, Days: -v.Days, Micros: -v.Micros}, nil
}

// sumIntervals is a + b, or a − b.
func sumIntervals(a, b vector.Interval, minus bool) (vector.Interval, error) {
	op := byte('+')
	if minus {
		op = '-'
	}
	months, ok1 := compute(op, a.Months, b.Months)
	days, ok2 := compute(op, a.Days, b.Days)
	micros, ok3 := compute(op, a.Micros, b.Micros)
	if !ok1 || !ok2 || !ok3 {
		return a, intervalOutOfRange()
	}
	return vector.Interval{Months: months, Days: days, Micros: micros}, nil
}

// scaleInterval is v times f: what is not whole months becomes days of 30 to the month, what is not whole days time.
func scaleInterval(v vector.Interval, f float64) (vector.Interval, error) {
	months := float64(v.Months) * f
	days := float64(v.Days) * f
	wholeMonths, wholeDays := math.Trunc(months), math.Trunc(days)
	monthDays := roundMicro((months - wholeMonths) * 30)
	extraDays := math.Trunc(monthDays)
	rest := roundMicro(days-wholeDays+monthDays-extraDays) * 86400 // seconds
	if math.Abs(rest) >= 86400 {
		d := math.Trunc(rest / 86400)
		extraDays += d
		rest -= d * 86400
	}
	wholeDays += extraDays
	micros := math.RoundToEven(float64(v.Micros)*f + rest*1e6)
	if !(math.Abs(wholeMonths) <= math.MaxInt32 && math.Abs(wholeDays) <= math.MaxInt32 && math.Abs(micros) < 9.2e18) {
		return v, intervalOutOfRange()
	}
	return vector.Interval{Months: int32(wholeMonths), Days: int32(wholeDays), Micros: int64(micros)}, nil
}

// roundMicro rounds to a millionth, which takes away what binary fractions add.
func roundMicro(x float64) float64 { return math.RoundToEven(x*1e6) / 1e6 }

// temporal is arithmetic of dates, times and intervals; nil where k is none.
func (k call) temporal() factory {
	const date, tod, stamp, stampTZ, interval = sqltype.Date, sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ, sqltype.Interval
	isStamp := func(x sqltype.Kind) bool { return x == stamp || x == stampTZ }
	a, b := k.kind(0), k.kind(1)
	minus := k.Func == "-"
	if (k.Func == "+" || k.Func == "*") && len(k.args) == 2 && (a == interval && b != interval && b != sqltype.Float64 ||
		a == sqltype.Int32 && b == date || a == tod && b == date || a == sqltype.Float64 && b == interval) {
		swapped := *k.Call // the other way round is the same
		swapped.Args = []expr.Expr{k.Args[1], k.Args[0]}
		return call{Call: &swapped, args: []factory{k.args[1], k.args[0]}}.temporal()
	}
	build := func(set func(n *rowsNode)) factory {
		return func(in *instance) node {
			n := newRows(in, k)
			set(n)
			return n
		}
	}
	switch {
	case k.Func == "*" && a == interval, k.Func == "/" && a == interval:
		return build(func(n *rowsNode) {
			x, y, out := operand[vector.Interval](n), operand[float64](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				f := y.at(i)
				if k.Func == "/" {
					if f == 0 {
						return errDivisionByZero
					}
					f = 1 / f
				}
				v, err := scaleInterval(x.at(i), f)
				out.set(i, v)
				return err
			}
		})
	case len(k.args) == 1 && a == interval && minus:
		return build(func(n *rowsNode) {
			x, out := operand[vector.Interval](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				v, err := negateInterval(x.at(i))
				out.set(i, v)
				return err
			}
		})
	case a == interval && b == interval:
		return build(func(n *rowsNode) {
			x, y, out := operand[vector.Interval](n), operand[vector.Interval](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				v, err := sumIntervals(x.at(i), y.at(i), minus)
				out.set(i, v)
				return err
			}
		})
	case a == date && b == sqltype.Int32:
		return build(func(n *rowsNode) {
			x, y, out := operand[int32](n), operand[int32](n), values[int32](n, k.Typ)
			n.row = func(i int) error {
				day := int64(x.at(i)) + int64(y.at(i))
				if minus {
					day = int64(x.at(i)) - int64(y.at(i))
				}
				if day < calendar.MinDay || day > calendar.MaxDay {
					return dateOutOfRange()
				}
				out.set(i, int32(day))
				return nil
			}
		})
	case a == date && b == date:
		return build(func(n *rowsNode) {
			x, y, out := operand[int32](n), operand[int32](n), values[int32](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, x.at(i)-y.at(i))
				return nil
			}
		})
	case a == date && b == tod:
		return build(func(n *rowsNode) {
			x, y, out := operand[int32](n), operand[int64](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				v, err := dateToTimestamp(int64(x.at(i)))
				out.set(i, v+y.at(i))
				return err
			}
		})
	case (a == date || isStamp(a)) && b == interval:
		return build(func(n *rowsNode) {
			x, y, out := stampOperand(n, a), operand[vector.Interval](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				v, err := y.at(i), error(nil)
				if minus {
					if v, err = negateInterval(v); err != nil {
						return err
					}
				}
				sum, err := addInterval(x(i), v)
				out.set(i, sum)
				return err
			}
		})
	case isStamp(a) && isStamp(b):
		return build(func(n *rowsNode) {
			x, y, out := operand[int64](n), operand[int64](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				d := x.at(i) - y.at(i) // both are within 63 bits of each other
				out.set(i, vector.Interval{Days: int32(d / calendar.Day), Micros: d % calendar.Day})
				return nil
			}
		})
	case a == tod && b == interval:
		return build(func(n *rowsNode) {
			x, y, out := operand[int64](n), operand[vector.Interval](n), values[int64](n, k.Typ)
			n.row = func(i int) error {
				_, add := calendar.Split(y.at(i).Micros)
				if minus {
					add = -add
				}
				_, of := calendar.Split(x.at(i) + add)
				out.set(i, of)
				return nil
			}
		})
	case a == tod && b == tod:
		return build(func(n *rowsNode) {
			x, y, out := operand[int64](n), operand[int64](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, vector.Interval{Micros: x.at(i) - y.at(i)})
				return nil
			}
		})
	}
	return nil
}

// truncUnits are the names of the units that date_trunc knows.
var truncUnits = map[string]string{
	"microsecond": "microsecond", "microseconds": "microsecond", "us": "microsecond", "millisecond": "millisecond",
	"milliseconds": "millisecond", "ms": "millisecond", "second": "second", "seconds": "second", "sec": "second", "s": "second",
	"minute": "minute", "minutes": "minute", "min": "minute", "m": "minute", "hour": "hour", "hours": "hour", "h": "hour",
	"day": "day", "days": "day", "d": "day", "week": "week", "weeks": "week", "w": "week", "month": "month", "months": "month", "mon": "month",
	"quarter": "quarter", "quarters": "quarter", "year": "year", "years": "year", "y": "year", "decade": "decade", "decades": "decade",
	"century": "century", "centuries": "century", "millennium": "millennium", "millennia": "millennium",
}

var truncMicros = map[string]int64{
	"microsecond": 1, "millisecond": 1000, "second": calendar.Second, "minute": calendar.Minute, "hour": calendar.Hour, "day": calendar.Day,
}

func (k call) truncUnit(text string) (string, error) {
	unit, ok := truncUnits[strings.ToLower(text)]
	if !ok || unit == "week" && k.kind(1) == sqltype.Interval {
		return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unit %q not recognized for type %s", text, k.Args[1].Type()).
			WithHint("the units are microsecond to millennium, such as 'month'")
	}
	return unit, nil
}

func (k call) dateTrunc() (factory, error) {
	if text, ok := k.constantText(0); ok {
		if _, err := k.truncUnit(text); err != nil {
			return nil, sqlerr.At(err, k.Args[0].Pos())
		}
	}
	return func(in *instance) node {
		n := newRows(in, k)
		units := operand[string](n)
		var lastText, last string
		unitAt := func(i int) (string, error) {
			text := units.at(i)
			if text == lastText && last != "" {
				return last, nil
			}
			unit, err := k.truncUnit(text)
			if err == nil {
				lastText, last = strings.Clone(text), unit
			}
			return unit, err
		}
		if k.kind(1) == sqltype.Interval {
			a, out := operand[vector.Interval](n), values[vector.Interval](n, k.Typ)
			n.row = func(i int) error {
				unit, err := unitAt(i)
				if err == nil {
					out.set(i, truncInterval(unit, a.at(i)))
				}
				return err
			}
			return n
		}
		a := operand[int64](n)
		zones, out := optional(n, k, 2, ""), values[int64](n, k.Typ)
		n.row = func(i int) error {
			unit, err := unitAt(i)
			if err == nil && len(k.args) == 3 {
				zone, bad := sqltext.FindZone(zones.at(i))
				if bad != nil {
					return bad
				}
				out.set(i, zone.UTC(truncStamp(unit, zone.Local(a.at(i)))))
				return nil
			}
			if err == nil {
				out.set(i, truncStamp(unit, a.at(i)))
			}
			return err
		}
		return n
	}, nil
}

func truncStamp(unit string, micros int64) int64 {
	if u := truncMicros[unit]; u > 0 {
		return floorDiv(micros, u) * u
	}
	day, _ := calendar.Split(micros)
	y, m, _ := calendar.Civil(day)
	switch unit {
	case "week":
		day -= int64(calendar.Weekday(day)+6) % 7
		return day * calendar.Day
	case "month":
	case "quarter":
		m -= (m - 1) % 3
	default:
		m = 1
		switch unit {
		case "decade":
			y = floorDiv(y, 10) * 10
		case "century":
			y = floorDiv(y-1, 100)*100 + 1
		case "millennium":
			y = floorDiv(y-1, 1000)*1000 + 1
		}
	}
	return calendar.Days(y, m, 1) * calendar.Day
}

func truncInterval(unit string, v vector.Interval) vector.Interval {
	if u := truncMicros[unit]; u > 0 {
		v.Micros -= v.Micros % u
		if unit == "day" {
			v.Micros = 0
		}
		return v
	}
	per := map[string]int32{"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}[unit]
	return vector.Interval{Months: v.Months - v.Months%per}
}

func (k call) makeDate() factory {
	return func(in *instance) node {
		n := newRows(in, k)
		y, m, d, out := operand[int32](n), operand[int32](n), operand[int32](n), values[int32](n, k.Typ)
		n.row = func(i int) error {
			day, err := civilDay(y.at(i), m.at(i), d.at(i))
			out.set(i, int32(day))
			return err
		}
		return n
	}
}

// civilDay is the day of a date that people give: years before 1 are negative, there is no year 0.
func civilDay(year, month, dom int32) (int64, error) {
	y := int64(year)
	if y < 0 {
		y++
	}
	if year == 0 || y < -4713 || y > 5874897 || month < 1 || month > 12 || dom < 1 || int(dom) > calendar.DaysIn(y, int(month)) {
		return 0, sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date field value out of range: %d-%02d-%02d", year, month, dom)
	}
	day := calendar.Days(y, int(month), int(dom))
	if day < calendar.MinDay || day > calendar.MaxDay {
		return 0, dateOutOfRange()
	}
	return day, nil
}

func (k call) makeTimestamp() factory {
	return func(in *instance) node {
		n := newRows(in, k)
		var p [5]*arg[int32]
		for j := range p {
			p[j] = operand[int32](n)
		}
		seconds := operand[float64](n)
		zones, out := optional(n, k, 6, ""), values[int64](n, k.Typ)
		n.row = func(i int) error {
			day, err := civilDay(p[0].at(i), p[1].at(i), p[2].at(i))
			if err != nil {
				return err
			}
			base, err := dateToTimestamp(day)
			if err != nil {
				return err
			}
			h, m, s := p[3].at(i), p[4].at(i), seconds.at(i)
			of := int64(h)*calendar.Hour + int64(m)*calendar.Minute + int64(math.RoundToEven(s*1e6))
			if h < 0 || h > 24 || m < 0 || m > 59 || !(s >= 0 && s <= 60) || of > calendar.Day {
				return sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "time field value out of range: %d:%02d:%02g", h, m, s)
			}
			if base+of > calendar.MaxMicro {
				return timestampOutOfRange()
			}
			if len(k.args) == 7 {
				zone, bad := sqltext.FindZone(zones.at(i))
				if bad != nil {
					return bad
				}
				base = zone.UTC(base+of) - of
			}
			out.set(i, base+of)
			return nil
		}
		return n
	}
}
