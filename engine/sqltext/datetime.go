package sqltext

import (
	"math"
	"strconv"
	"strings"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/sqlerr"
)

func badDatetime(typeName, s string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.InvalidDatetime, sqlerr.Pos{}, "invalid input syntax for type %s: %s", typeName, quote(s))
}

func fieldOverflow(s string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date/time field value out of range: %s", quote(s))
}

// ParseDate reads a DATE as days since 1970-01-01: 1994-01-31, 19940131, 1994/1/31, 1/31/1994 (month first), 31 Jan 1994,
// January 31, 1994; years before 1 with BC. A time after it is read and left out.
func ParseDate(s string) (int32, *sqlerr.Error) {
	if d, ok := fastDate(s); ok {
		return d, nil
	}
	p := datetime{typeName: "date", text: s}
	if err := p.parse(true); err != nil {
		return 0, err
	}
	return int32(p.day), nil
}

// fastDate reads the one form that files are full of, YYYY-MM-DD.
func fastDate(s string) (int32, bool) {
	if len(s) != 10 || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	n := [8]byte{s[0] - '0', s[1] - '0', s[2] - '0', s[3] - '0', s[5] - '0', s[6] - '0', s[8] - '0', s[9] - '0'}
	for _, d := range n {
		if d > 9 {
			return 0, false
		}
	}
	y := int64(n[0])*1000 + int64(n[1])*100 + int64(n[2])*10 + int64(n[3])
	m, d := int(n[4])*10+int(n[5]), int(n[6])*10+int(n[7])
	if y == 0 || m < 1 || m > 12 || d < 1 || d > calendar.DaysIn(y, m) {
		return 0, false
	}
	return int32(calendar.Days(y, m, d)), true
}

// ParseTimestamp reads a TIMESTAMP as microseconds since 1970-01-01 00:00: a date, then a time where there is one, between them
// a space or T. A zone is read and, as in PostgreSQL, left out.
func ParseTimestamp(s string) (int64, *sqlerr.Error) { return parseTimestamp(s, "timestamp", false) }

// ParseTimestampTZ is ParseTimestamp for TIMESTAMP WITH TIME ZONE: an offset such as +01:30, Z or UTC counts, and so does
// a named zone; without one it is UTC.
func ParseTimestampTZ(s string) (int64, *sqlerr.Error) {
	return parseTimestamp(s, "timestamp with time zone", true)
}

func parseTimestamp(s, typeName string, zoned bool) (int64, *sqlerr.Error) {
	p := datetime{typeName: typeName, text: s}
	if err := p.parse(true); err != nil {
		return 0, err
	}
	if p.day < calendar.MinDay || p.day > calendar.MaxMicro/calendar.Day {
		return 0, timestampRange(s)
	}
	micros := p.day*calendar.Day + p.micros
	switch {
	case zoned && p.named != nil:
		micros = p.named.UTC(micros)
	case zoned:
		micros -= p.offset
	}
	if micros < calendar.MinMicro || micros > calendar.MaxMicro {
		return 0, timestampRange(s)
	}
	return micros, nil
}

func timestampRange(s string) *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "timestamp out of range: %s", quote(s))
}

// ParseTime reads a TIME as microseconds since midnight: 04:05, 04:05:06.789, 040506, 04:05 PM; 24:00:00 is allowed.
func ParseTime(s string) (int64, *sqlerr.Error) {
	p := datetime{typeName: "time", text: s}
	if err := p.parse(false); err != nil {
		return 0, err
	}
	return p.micros, nil
}

// A datetime is what a date or time text says.
type datetime struct {
	typeName, text string
	day            int64
	micros         int64
	offset         int64 // of the zone, microseconds east of UTC
	named          *Zone // instead of offset
}

// parse reads p.text. With dated there must be a date, and there may be a time; without, the other way round.
func (p *datetime) parse(dated bool) *sqlerr.Error {
	text := strings.Trim(p.text, spaces)
	if strings.EqualFold(text, "epoch") && dated {
		return nil
	}
	if len(text) > 200 {
		return badDatetime(p.typeName, p.text)
	}
	var numbers []string // of the date, in the order they come
	yearFirst, monthWord, monthAt := false, 0, 0
	hasTime, hasZone, bc := false, false, false
	for _, word := range fields(text) {
		lower := strings.ToLower(word)
		switch {
		case strings.Contains(word, ":") || !dated && !hasTime && isDigit(word[0]):
			if hasTime {
				return badDatetime(p.typeName, p.text)
			}
			hasTime = true
			clock, zone := splitZone(word)
			if err := p.clock(clock); err != nil {
				return err
			}
			if zone != "" {
				if hasZone = p.zone(zone); !hasZone {
					return badDatetime(p.typeName, p.text)
				}
			}
		case hasTime && (lower == "am" || lower == "pm"):
			h := p.micros / calendar.Hour
			if h > 12 || h == 0 {
				return fieldOverflow(p.text)
			}
			p.micros -= h * calendar.Hour
			if h = h % 12; lower == "pm" {
				h += 12
			}
			p.micros += h * calendar.Hour
		case hasTime && !hasZone && (word[0] == '+' || word[0] == '-' || lower == "z" || lower == "utc" || lower == "gmt" || lower == "zulu"):
			if hasZone = p.zone(word); !hasZone {
				return badDatetime(p.typeName, p.text)
			}
		case lower == "bc":
			bc = true
		case lower == "ad":
		case monthNumber(lower) > 0 && monthWord == 0:
			monthWord, monthAt = monthNumber(lower), len(numbers)
		case weekday(lower):
		case isDigit(word[0]) && len(numbers) == 0 && allDigits(word) && (len(word) == 8 || len(word) == 6) && monthWord == 0 && dated:
			year := len(word) - 4
			numbers = append(numbers, word[:year], word[year:year+2], word[year+2:])
			yearFirst = true
		case isDigit(word[0]) && len(numbers) < 3:
			parts := strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == '/' || r == '.' })
			for _, part := range parts {
				if m := monthNumber(strings.ToLower(part)); m > 0 && monthWord == 0 {
					monthWord, monthAt = m, len(numbers)
					continue
				}
				if !allDigits(part) || len(part) > 7 {
					return badDatetime(p.typeName, p.text)
				}
				if len(numbers) == 0 && len(part) > 2 {
					yearFirst = true
				}
				numbers = append(numbers, part)
			}
		case hasTime && !hasZone && dated && p.namedZone(word):
			hasZone = true
		default:
			return badDatetime(p.typeName, p.text)
		}
	}
	if !dated {
		if !hasTime || len(numbers) > 0 {
			return badDatetime(p.typeName, p.text)
		}
		return nil
	}
	return p.date(numbers, yearFirst, monthWord, monthAt, bc)
}

// date settles which number is the year, the month and the day.
func (p *datetime) date(numbers []string, yearFirst bool, monthWord, monthAt int, bc bool) *sqlerr.Error {
	var year, month, dom string
	switch {
	case monthWord == 0 && len(numbers) == 3 && yearFirst:
		year, month, dom = numbers[0], numbers[1], numbers[2]
	case monthWord == 0 && len(numbers) == 3:
		month, dom, year = numbers[0], numbers[1], numbers[2]
	case monthWord > 0 && len(numbers) == 2 && yearFirst:
		year, dom = numbers[0], numbers[1]
	case monthWord > 0 && len(numbers) == 2 && monthAt <= 1:
		dom, year = numbers[0], numbers[1]
	default:
		return badDatetime(p.typeName, p.text)
	}
	y, _ := strconv.ParseInt(year, 10, 64)
	m, d := monthWord, 0
	if month != "" {
		m, _ = strconv.Atoi(month)
	}
	d, _ = strconv.Atoi(dom)
	if len(year) == 2 && !yearFirst {
		if y += 2000; y >= 2070 {
			y -= 100
		}
	}
	if bc {
		y = 1 - y
	} else if y == 0 {
		return fieldOverflow(p.text)
	}
	if m < 1 || m > 12 || d < 1 || d > calendar.DaysIn(y, m) {
		return fieldOverflow(p.text)
	}
	p.day = calendar.Days(y, m, d)
	if p.day < calendar.MinDay || p.day > calendar.MaxDay {
		return sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date out of range: %s", quote(p.text))
	}
	return nil
}

// clock reads HH:MM, HH:MM:SS, HH:MM:SS.ffffff or HHMMSS into p.micros.
func (p *datetime) clock(s string) *sqlerr.Error {
	whole, frac, _ := strings.Cut(s, ".")
	var h, m, sec string
	switch parts := strings.Split(whole, ":"); {
	case len(parts) == 3:
		h, m, sec = parts[0], parts[1], parts[2]
	case len(parts) == 2:
		h, m = parts[0], parts[1]
	case len(parts) == 1 && (len(whole) == 4 || len(whole) == 6) && allDigits(whole):
		h, m, sec = whole[:2], whole[2:4], whole[4:]
	default:
		return badDatetime(p.typeName, p.text)
	}
	var n [3]int64
	for i, part := range [...]string{h, m, sec} {
		if part == "" && i == 2 {
			continue
		}
		if !allDigits(part) || len(part) > 2 {
			return badDatetime(p.typeName, p.text)
		}
		n[i], _ = strconv.ParseInt(part, 10, 64)
	}
	if !allDigits(frac) && frac != "" {
		return badDatetime(p.typeName, p.text)
	}
	if n[0] > 24 || n[1] > 59 || n[2] > 60 {
		return fieldOverflow(p.text)
	}
	p.micros = n[0]*calendar.Hour + n[1]*calendar.Minute + n[2]*calendar.Second + fraction(frac)
	if p.micros > calendar.Day {
		return fieldOverflow(p.text)
	}
	return nil
}

// fraction is digits after a point as millionths, rounded.
func fraction(digits string) int64 {
	micros, unit := int64(0), int64(100_000)
	for i := range len(digits) {
		d := int64(digits[i] - '0')
		if unit == 0 {
			if d >= 5 {
				micros++
			}
			break
		}
		micros += d * unit
		unit /= 10
	}
	return micros
}

// zone reads Z, UTC, GMT or an offset +HH, +HH:MM, +HHMM, +HH:MM:SS.
func (p *datetime) zone(s string) bool {
	switch strings.ToLower(s) {
	case "z", "utc", "gmt", "zulu":
		return true
	}
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return false
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	if !allDigits(digits) || len(digits) > 6 || len(digits) == 3 || len(digits) == 5 {
		return false
	}
	digits += "000000"[len(digits):]
	if len(s) == 2 { // +1
		digits = "0" + s[1:] + "0000"
	}
	h, _ := strconv.ParseInt(digits[:2], 10, 64)
	m, _ := strconv.ParseInt(digits[2:4], 10, 64)
	sec, _ := strconv.ParseInt(digits[4:6], 10, 64)
	if h > 15 || m > 59 || sec > 59 {
		return false
	}
	p.offset = h*calendar.Hour + m*calendar.Minute + sec*calendar.Second
	if s[0] == '-' {
		p.offset = -p.offset
	}
	return true
}

// namedZone reads a zone's name.
func (p *datetime) namedZone(s string) bool {
	if isDigit(s[0]) {
		return false
	}
	z, err := FindZone(s)
	if err != nil {
		return false
	}
	p.named = &z
	return true
}

// splitZone cuts a zone off a time: "04:05:06+01", "04:05Z".
func splitZone(s string) (clock, zone string) {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && c != ':' && c != '.' {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// fields cuts at spaces and commas, and at the T between a date and a time.
func fields(s string) []string {
	words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(spaces, r) || r == ',' })
	if len(words) > 0 {
		if i := strings.IndexAny(words[0], "tT"); i > 0 && isDigit(words[0][i-1]) && i+1 < len(words[0]) && isDigit(words[0][i+1]) {
			words = append([]string{words[0][:i], words[0][i+1:]}, words[1:]...)
		}
	}
	return words
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func monthNumber(lower string) int {
	if len(lower) < 3 {
		return 0
	}
	for i, name := range [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"} {
		if lower == name || lower == name[:3] || lower == "sept" && i == 8 {
			return i + 1
		}
	}
	return 0
}

func weekday(lower string) bool {
	for _, name := range [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"} {
		if lower == name || lower == name[:3] {
			return true
		}
	}
	return false
}

// An Interval is what an interval text says.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// ParseInterval reads an INTERVAL: "1 year 2 months 3 days 04:05:06", "1-2" (years and months), "3 4:05:06" (days and time), "P1Y2M3DT4H",
// a leading - on any part, "ago" at the end. unit is the field of a bare number, in singular lower case, as in INTERVAL '90' DAY;
// "" is second.
func ParseInterval(s, unit string) (Interval, *sqlerr.Error) {
	p := intervalParser{text: s}
	text := strings.Trim(s, spaces)
	switch {
	case text == "" || len(text) > 200:
		return Interval{}, p.bad()
	case text[0] == 'P' || text[0] == 'p':
		return p.iso(text[1:])
	}
	if unit == "" {
		unit = "second"
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(spaces, r) })
	if words[0] == "@" {
		words = words[1:]
	}
	ago := len(words) > 0 && strings.EqualFold(words[len(words)-1], "ago")
	if ago {
		words = words[:len(words)-1]
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		number, suffix := splitNumber(word)
		switch {
		case strings.Contains(word, ":"):
			if err := p.clock(word); err != nil {
				return Interval{}, err
			}
		case number == "":
			return Interval{}, p.bad()
		case suffix == "" && isYearMonth(number):
			if err := p.yearMonth(number); err != nil {
				return Interval{}, err
			}
		default:
			u := suffix
			if u == "" && i+1 < len(words) && !isDigit(words[i+1][0]) && !strings.ContainsAny(words[i+1][:1], "+-.") {
				i++
				u = words[i]
			} else if u == "" && i+1 < len(words) && strings.Contains(words[i+1], ":") {
				u = "day"
			} else if u == "" {
				u = unit
			}
			if err := p.add(number, u); err != nil {
				return Interval{}, err
			}
		}
	}
	if len(words) == 0 {
		return Interval{}, p.bad()
	}
	return p.result(ago)
}

type intervalParser struct {
	text         string
	months, days float64 // whole; exact below 2^53
	micros       float64
	exact        int64 // whole microseconds, apart from the fractions in micros
}

func (p *intervalParser) bad() *sqlerr.Error { return badDatetime("interval", p.text) }

func (p *intervalParser) overflow() *sqlerr.Error {
	return sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "interval field value out of range: %s", quote(p.text))
}

// splitNumber cuts a leading signed number off: "-1.5days" is "-1.5" and "days".
func splitNumber(s string) (number, rest string) {
	i := 0
	for i < len(s) && (isDigit(s[i]) || s[i] == '.' || s[i] == '-' || s[i] == '+') {
		i++
	}
	if !strings.ContainsAny(s[:i], "0123456789") {
		return "", s
	}
	return s[:i], s[i:]
}

func isYearMonth(s string) bool { return strings.LastIndexByte(s, '-') > 0 }

func (p *intervalParser) yearMonth(s string) *sqlerr.Error {
	neg := s[0] == '-'
	y, m, _ := strings.Cut(strings.TrimLeft(s, "+-"), "-")
	if !allDigits(y) || !allDigits(m) || len(m) > 2 || len(y) > 9 {
		return p.bad()
	}
	years, _ := strconv.Atoi(y)
	months, _ := strconv.Atoi(m)
	if months > 11 {
		return p.overflow()
	}
	total := float64(years*12 + months)
	if neg {
		total = -total
	}
	p.months += total
	return nil
}

func (p *intervalParser) clock(s string) *sqlerr.Error {
	neg := s[0] == '-'
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	whole, frac, _ := strings.Cut(s, ".")
	parts := strings.Split(whole, ":")
	if len(parts) > 3 || frac != "" && !allDigits(frac) {
		return p.bad()
	}
	total := fraction(frac)
	for i, part := range parts {
		if !allDigits(part) || len(part) > 9 {
			return p.bad()
		}
		n, _ := strconv.ParseInt(part, 10, 64)
		if i > 0 && n > 59 {
			return p.overflow()
		}
		total += n * [...]int64{calendar.Hour, calendar.Minute, calendar.Second}[i]
	}
	if neg {
		total = -total
	}
	p.exact += total
	return nil
}

// add adds number of a unit; fractions go down to the next smaller field: half a month is 15 days, half a day 12 hours.
func (p *intervalParser) add(number, unit string) *sqlerr.Error {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !finite(n) {
		return p.bad()
	}
	if math.Abs(n) > 1e15 {
		return p.overflow()
	}
	whole, frac := math.Modf(n)
	switch u := strings.ToLower(unit); u {
	case "millennium", "millennia", "mil", "mils":
		p.addMonths(n * 12000)
	case "century", "centuries", "cent", "c":
		p.addMonths(n * 1200)
	case "decade", "decades", "dec", "decs":
		p.addMonths(n * 120)
	case "year", "years", "yr", "yrs", "y":
		p.months += whole*12 + math.Round(frac*12)
	case "quarter", "quarters":
		p.addMonths(n * 3)
	case "month", "months", "mon", "mons":
		p.addMonths(n)
	case "week", "weeks", "w":
		p.addDays(n * 7)
	case "day", "days", "d":
		p.addDays(n)
	case "hour", "hours", "hr", "hrs", "h":
		p.micros += n * float64(calendar.Hour)
	case "minute", "minutes", "min", "mins", "m":
		p.micros += n * float64(calendar.Minute)
	case "second", "seconds", "sec", "secs", "s":
		p.micros += n * float64(calendar.Second)
	case "millisecond", "milliseconds", "msec", "msecs", "ms":
		p.micros += n * 1000
	case "microsecond", "microseconds", "usec", "usecs", "us":
		p.micros += n
	default:
		return p.bad()
	}
	return nil
}

func (p *intervalParser) addMonths(n float64) {
	whole, frac := math.Modf(n)
	p.months += whole
	p.addDays(frac * 30)
}

func (p *intervalParser) addDays(n float64) {
	whole, frac := math.Modf(n)
	p.days += whole
	p.micros += frac * float64(calendar.Day)
}

// iso reads what follows P: 1Y2M3DT4H5M6S, 2W.
func (p *intervalParser) iso(s string) (Interval, *sqlerr.Error) {
	timed := false
	for s != "" {
		if s[0] == 'T' || s[0] == 't' {
			timed = true
			s = s[1:]
			continue
		}
		number, rest := splitNumber(s)
		if number == "" || rest == "" {
			return Interval{}, p.bad()
		}
		unit, ok := map[string]string{"Y": "year", "M": "month", "W": "week", "D": "day", "tH": "hour", "tM": "minute", "tS": "second"}[isoKey(rest[0], timed)]
		if !ok {
			return Interval{}, p.bad()
		}
		if err := p.add(number, unit); err != nil {
			return Interval{}, err
		}
		s = rest[1:]
		if s == "" {
			return p.result(false)
		}
	}
	return Interval{}, p.bad()
}

func isoKey(c byte, timed bool) string {
	key := strings.ToUpper(string(rune(c)))
	if timed {
		return "t" + key
	}
	return key
}

func (p *intervalParser) result(ago bool) (Interval, *sqlerr.Error) {
	micros := math.Round(p.micros) + float64(p.exact)
	if math.Abs(p.months) > math.MaxInt32 || math.Abs(p.days) > math.MaxInt32 || math.Abs(micros) > 9.2e18 {
		return Interval{}, p.overflow()
	}
	v := Interval{int32(p.months), int32(p.days), int64(math.Round(p.micros)) + p.exact}
	if ago {
		v = Interval{-v.Months, -v.Days, -v.Micros}
	}
	return v, nil
}
