// Package calendar is the proleptic Gregorian calendar over days since 1970-01-01 and microseconds of a day. It knows dates
// and their arithmetic; it must never know SQL types, text or time zones.
package calendar

// Microseconds in units of time.
const (
	Second = int64(1_000_000)
	Minute = 60 * Second
	Hour   = 60 * Minute
	Day    = 24 * Hour
)

// The days that a SQL date may be, as PostgreSQL has it: 4713-11-24 BC to 5874897-12-31.
const (
	MinDay = -2440588
	MaxDay = 2145042905
)

// The microseconds that a SQL timestamp may be: 4713-11-24 BC, as in PostgreSQL, to the last whole year that 64 bits of them
// since 1970 reach, 294246 (PostgreSQL, which counts from 2000, has thirty more).
const (
	MinMicro = -210866803200000000
	MaxMicro = 9223371244799999999
)

// Civil gives the year (0 is 1 BC), month and day of a day number.
func Civil(day int64) (year int64, month, dom int) {
	if uint64(day+719468) < 1<<31 { // years 0 to 5.8 million: 32-bit arithmetic will do
		z := uint32(day + 719468)
		era := z / 146097
		doe := z % 146097
		yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
		doy := doe - (365*yoe + yoe/4 - yoe/100)
		mp := (5*doy + 2) / 153
		d := doy - (153*mp+2)/5 + 1
		m := mp + 3
		y := yoe + era*400
		if m > 12 {
			m -= 12
			y++
		}
		return int64(y), int(m), int(d)
	}
	z := day + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dom = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	year = yoe + era*400
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, dom
}

// Days gives the day number of a date; month is 1 to 12, and a dom beyond the month's end counts on.
func Days(year int64, month, dom int) int64 {
	if month <= 2 {
		year--
	}
	era := floorDiv(year, 400)
	yoe := year - era*400
	mp := int64(month+9) % 12
	doy := (153*mp+2)/5 + int64(dom) - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

// IsLeap tells whether year has a 29th of February.
func IsLeap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// DaysIn is the number of days of a month.
func DaysIn(year int64, month int) int {
	switch month {
	case 2:
		if IsLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// AddMonths moves a day by months; a day that the month there lacks becomes its last.
func AddMonths(day, months int64) int64 {
	y, m, d := Civil(day)
	total := y*12 + int64(m-1) + months
	y, m = floorDiv(total, 12), int(floorMod(total, 12))+1
	return Days(y, m, min(d, DaysIn(y, m)))
}

// Split takes a timestamp apart into its day and the microseconds of the day.
func Split(micros int64) (day, ofDay int64) {
	day = floorDiv(micros, Day)
	return day, micros - day*Day
}

// Weekday is the day of the week, 0 for Sunday.
func Weekday(day int64) int { return int(floorMod(day+4, 7)) }

// YearDay is the day of the year, from 1.
func YearDay(day int64) int {
	y, _, _ := Civil(day)
	return int(day-Days(y, 1, 1)) + 1
}

// ISOWeek gives the year and week that ISO 8601 puts a day in: week 1 has the year's first Thursday.
func ISOWeek(day int64) (year int64, week int) {
	thursday := day - floorMod(day+3, 7) + 3
	year, _, _ = Civil(thursday)
	return year, int(thursday-Days(year, 1, 1))/7 + 1
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}
