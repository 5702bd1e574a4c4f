package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/calendar"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A moment is a time taken apart for to_char.
type moment struct {
	year            int64
	month, dom      int
	day             int64 // since 1970; of no meaning where interval
	hour, minute    int64
	second, micros  int64
	interval, zoned bool
	hours           int64 // of an interval, or of the day
}

func momentOf(micros int64) moment {
	day, of := calendar.Split(micros)
	m := moment{day: day}
	m.year, m.month, m.dom = calendar.Civil(day)
	m.clock(of)
	return m
}

func (m *moment) clock(of int64) {
	m.hours = of / calendar.Hour
	m.hour, m.minute, m.second, m.micros = of/calendar.Hour, of/calendar.Minute%60, of/calendar.Second%60, of%calendar.Second
}

func momentOfInterval(v vector.Interval) moment {
	m := moment{interval: true, year: int64(v.Months / 12), month: int(v.Months % 12), dom: int(v.Days)}
	m.clock(v.Micros)
	return m
}

// toChar is to_char of times and numbers.
func (k call) toChar() factory {
	switch k.kind(0) {
	case sqltype.Interval:
		return text2(k, func(dst []byte, v vector.Interval, format string) ([]byte, error) {
			return appendTemplate(dst, format, momentOfInterval(v))
		})
	case sqltype.Decimal:
		scale := int(k.Args[0].Type().Scale)
		return text2(k, func(dst []byte, x int128.Int128, format string) ([]byte, error) {
			return appendNumber(dst, format, x.Sign() < 0, string(x.Abs().Append(nil, scale)))
		})
	case sqltype.Float64:
		return text2(k, func(dst []byte, x float64, format string) ([]byte, error) {
			switch {
			case math.IsNaN(x):
				return append(dst, "NaN"...), nil
			case math.IsInf(x, 0):
				return append(dst, "Infinity"...), nil
			}
			return appendNumber(dst, format, x < 0, strconv.FormatFloat(math.Abs(x), 'f', -1, 64))
		})
	}
	zoned := k.kind(0) == sqltype.TimestampTZ
	return text2(k, func(dst []byte, micros int64, format string) ([]byte, error) {
		m := momentOf(micros)
		m.zoned = zoned
		return appendTemplate(dst, format, m)
	})
}

// templateWords are the patterns of to_char for times, longer ones before those that they begin with.
var templateWords = []string{
	"SSSSS", "SSSS", "YYYY", "YYY", "IYYY", "IYY", "Y,YYY", "MONTH", "Month", "month", "HH24", "HH12", "A.D.", "B.C.", "a.d.", "b.c.", "A.M.", "P.M.", "a.m.", "p.m.",
	"IDDD", "DDD", "DAY", "Day", "day", "MON", "Mon", "mon", "TZH", "TZM", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "YY", "IY", "HH", "MI", "SS", "MS", "US", "AM", "PM", "am", "pm", "AD", "BC",
	"ad", "bc", "DD", "DY", "Dy", "dy", "ID", "IW", "WW", "MM", "CC", "RM", "rm", "TZ", "tz", "OF", "Y", "I", "D", "W", "J", "Q",
}

// nextWord finds the pattern at the start of format; fill tells whether it is without FM, th that TH follows.
func nextWord(format string) (word string, fill bool, th, rest string) {
	fill = true
	rest = format
	for strings.HasPrefix(rest, "FM") || strings.HasPrefix(rest, "fm") || strings.HasPrefix(rest, "TM") || strings.HasPrefix(rest, "FX") {
		fill = fill && rest[0]|0x20 != 'f' || rest[1] == 'X'
		rest = rest[2:]
	}
	for _, w := range templateWords {
		if strings.HasPrefix(rest, w) || len(rest) >= len(w) && strings.EqualFold(rest[:len(w)], w) && !hasCases(w) {
			rest = rest[len(w):]
			if strings.HasPrefix(rest, "TH") || strings.HasPrefix(rest, "th") {
				th, rest = rest[:2], rest[2:]
			}
			return w, fill, th, rest
		}
	}
	return "", true, "", format
}

// hasCases tells whether the letters' case of a pattern means something.
func hasCases(w string) bool {
	switch strings.ToUpper(w) {
	case "MONTH", "MON", "DAY", "DY", "AM", "PM", "A.M.", "P.M.", "AD", "BC", "A.D.", "B.C.", "RM", "TZ":
		return true
	}
	return false
}

func appendTemplate(dst []byte, format string, m moment) ([]byte, error) {
	for format != "" {
		if format[0] == '"' {
			format = format[1:]
			for format != "" && format[0] != '"' {
				if format[0] == '\\' && len(format) > 1 {
					format = format[1:]
				}
				dst, format = append(dst, format[0]), format[1:]
			}
			format = strings.TrimPrefix(format, `"`)
			continue
		}
		word, fill, th, rest := nextWord(format)
		if word == "" {
			if strings.HasPrefix(format, `\"`) {
				format = format[1:]
			}
			dst, format = append(dst, format[0]), format[1:]
			continue
		}
		format = rest
		from := len(dst)
		var err error
		if dst, err = m.appendWord(dst, word, fill); err != nil {
			return nil, err
		}
		if th != "" && len(dst) > from {
			dst = append(dst, ordinal(dst[from:], th)...)
		}
	}
	return dst, nil
}

// ordinal is the ending of a number: st, nd, rd or th.
func ordinal(digits []byte, th string) string {
	last := digits[len(digits)-1]
	end := "th"
	if n := len(digits); n < 2 || digits[n-2] != '1' {
		switch last {
		case '1':
			end = "st"
		case '2':
			end = "nd"
		case '3':
			end = "rd"
		}
	}
	if th == "TH" {
		return strings.ToUpper(end)
	}
	return end
}

var romanMonths = [...]string{"I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"}

func (m moment) appendWord(dst []byte, word string, fill bool) ([]byte, error) {
	number := func(width int, n int64) ([]byte, error) {
		if !fill {
			width = 0
		}
		if n < 0 {
			width++
		}
		return fmt.Appendf(dst, "%0*d", width, n), nil
	}
	name := func(full string, width int) ([]byte, error) {
		switch {
		case strings.ToUpper(word) == word:
			full = strings.ToUpper(full)
		case strings.ToLower(word) == word:
			full = strings.ToLower(full)
		}
		if fill {
			return fmt.Appendf(dst, "%-*s", width, full), nil
		}
		return append(dst, full...), nil
	}
	if m.interval {
		switch strings.ToUpper(word) {
		case "MONTH", "MON", "RM", "DAY", "DY", "D", "ID", "IW", "IYYY", "IYY", "IY", "I", "IDDD":
			return nil, sqlerr.New(sqlerr.InvalidDatetime, sqlerr.Pos{}, "invalid format specification for an interval value").
				WithHint("intervals are not tied to specific calendar dates")
		}
	}
	y := m.year
	if !m.interval {
		y = historic(m.year)
	}
	abs := max(y, -y)
	isoYear, isoWeek := int64(0), 0
	if !m.interval {
		isoYear, isoWeek = calendar.ISOWeek(m.day)
	}
	switch word {
	case "HH24":
		return number(2, m.hour)
	case "HH", "HH12":
		if m.interval {
			h := m.hour % 12
			if m.hour%12 == 0 && m.hour != 0 {
				h = 12
			}
			if m.hour == 0 {
				h = 12
			}
			return number(2, h)
		}
		return number(2, (m.hour+11)%12+1)
	case "MI":
		return number(2, m.minute)
	case "SS":
		return number(2, m.second)
	case "MS", "FF3":
		return fmt.Appendf(dst, "%03d", m.micros/1000), nil
	case "US", "FF6":
		return fmt.Appendf(dst, "%06d", m.micros), nil
	case "FF1":
		return fmt.Appendf(dst, "%01d", m.micros/100000), nil
	case "FF2":
		return fmt.Appendf(dst, "%02d", m.micros/10000), nil
	case "FF4":
		return fmt.Appendf(dst, "%04d", m.micros/100), nil
	case "FF5":
		return fmt.Appendf(dst, "%05d", m.micros/10), nil
	case "SSSS", "SSSSS":
		return number(0, m.hour*3600+m.minute*60+m.second)
	case "AM", "PM", "am", "pm", "A.M.", "P.M.", "a.m.", "p.m.":
		half := "A"
		if (m.hour%24+24)%24 >= 12 {
			half = "P"
		}
		if strings.Contains(word, ".") {
			half += ".M."
		} else {
			half += "M"
		}
		if strings.ToLower(word) == word {
			half = strings.ToLower(half)
		}
		return append(dst, half...), nil
	case "YYYY", "Y,YYY":
		if word == "Y,YYY" {
			return fmt.Appendf(dst, "%d,%03d", abs/1000, abs%1000), nil
		}
		if m.interval {
			abs = y
		}
		return number(4, abs)
	case "YYY":
		return number(3, abs%1000)
	case "YY":
		return number(2, abs%100)
	case "Y":
		return number(1, abs%10)
	case "IYYY":
		return number(4, isoYear)
	case "IYY":
		return number(3, isoYear%1000)
	case "IY":
		return number(2, isoYear%100)
	case "I":
		return number(1, isoYear%10)
	case "BC", "bc", "AD", "ad", "B.C.", "b.c.", "A.D.", "a.d.":
		era := "AD"
		if y < 0 {
			era = "BC"
		}
		if strings.Contains(word, ".") {
			era = era[:1] + "." + era[1:] + "."
		}
		if strings.ToLower(word) == word {
			era = strings.ToLower(era)
		}
		return append(dst, era...), nil
	case "MONTH", "Month", "month":
		return name(monthNames[m.month-1], 9)
	case "MON", "Mon", "mon":
		return name(monthNames[m.month-1][:3], 0)
	case "MM":
		return number(2, int64(m.month))
	case "RM", "rm":
		return name(romanMonths[m.month-1], 4)
	case "DAY", "Day", "day":
		return name(dayNames[calendar.Weekday(m.day)], 9)
	case "DY", "Dy", "dy":
		return name(dayNames[calendar.Weekday(m.day)][:3], 0)
	case "DDD":
		if m.interval {
			return number(3, int64(m.dom)+int64(m.month)*30+y*360)
		}
		return number(3, int64(calendar.YearDay(m.day)))
	case "IDDD":
		jan4 := calendar.Days(isoYear, 1, 4)
		return number(3, m.day-(jan4-int64(calendar.Weekday(jan4)+6)%7)+1)
	case "DD":
		return number(2, int64(m.dom))
	case "D":
		return number(1, int64(calendar.Weekday(m.day))+1)
	case "ID":
		return number(1, int64(calendar.Weekday(m.day)+6)%7+1)
	case "W":
		return number(1, int64(m.dom-1)/7+1)
	case "WW":
		return number(2, int64(calendar.YearDay(m.day)-1)/7+1)
	case "IW":
		return number(2, int64(isoWeek))
	case "CC":
		return number(2, periods(m.year, 100))
	case "J":
		return number(0, m.day+2440588)
	case "Q":
		return number(1, int64(m.month-1)/3+1)
	case "TZ", "tz":
		if m.zoned {
			return name("UTC", 0)
		}
		return dst, nil
	case "TZH":
		return append(dst, "+00"...), nil
	case "TZM":
		return append(dst, "00"...), nil
	case "OF":
		return append(dst, "+00"...), nil
	}
	return dst, nil
}

// A partial time is what parsing has found so far.
type parts struct {
	year                      int64
	month, dom, doy           int
	hour, minute              int64
	second, micros            int64
	pm, am, bc, hasYear       bool
	half                      bool // a 12-hour clock
	isoYear, isoWeek, weekday int
	julian, seconds           int64
	offset                    int64
	century                   int64
	hasJulian, hasSeconds     bool
}

func (p *parts) micro() (int64, error) {
	overflow := func() (int64, error) {
		return 0, sqlerr.New(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date/time field value out of range")
	}
	if p.half {
		if p.hour < 1 || p.hour > 12 {
			return 0, sqlerr.Newf(sqlerr.InvalidDatetime, sqlerr.Pos{}, `hour "%d" is invalid for the 12-hour clock`, p.hour).WithHint("use the 24-hour clock, or give an hour between 1 and 12")
		}
		p.hour %= 12
		if p.pm {
			p.hour += 12
		}
	} else if p.pm && p.hour < 12 {
		p.hour += 12
	} else if p.am && p.hour == 12 {
		p.hour = 0
	}
	if p.hasSeconds {
		p.hour, p.minute, p.second = p.seconds/3600, p.seconds/60%60, p.seconds%60
	}
	if p.hour > 24 || p.minute > 59 || p.second > 60 {
		return overflow()
	}
	y := p.year
	if p.century != 0 && !p.hasYear {
		y = (p.century-1)*100 + 1
	}
	if p.bc {
		y = 1 - y
	}
	if !p.hasYear && p.century == 0 {
		y = 0 // 1 BC, as PostgreSQL has it
	}
	var day int64
	switch {
	case p.hasJulian:
		day = p.julian - 2440588
	case p.isoYear != 0:
		jan4 := calendar.Days(int64(p.isoYear), 1, 4)
		day = jan4 - int64(calendar.Weekday(jan4)+6)%7 + int64(max(p.isoWeek, 1)-1)*7 + int64(max(p.weekday, 1)-1)
	case p.doy > 0:
		if p.doy > 366 || p.doy == 366 && !calendar.IsLeap(y) {
			return overflow()
		}
		day = calendar.Days(y, 1, 1) + int64(p.doy-1)
	default:
		m, d := max(p.month, 1), max(p.dom, 1)
		if m > 12 || d > calendar.DaysIn(y, m) {
			return overflow()
		}
		day = calendar.Days(y, m, d)
	}
	base, err := dateToTimestamp(day)
	if err != nil {
		return 0, err
	}
	v := base + p.hour*calendar.Hour + p.minute*calendar.Minute + p.second*calendar.Second + p.micros - p.offset
	if v < calendar.MinMicro || v > calendar.MaxMicro {
		return 0, timestampOutOfRange()
	}
	return v, nil
}

// digitsAt reads at most most digits, and a sign where signed.
func digitsAt(s string, most int) (v int64, rest string, ok bool) {
	i := 0
	for i < len(s) && i < most && s[i] >= '0' && s[i] <= '9' {
		v = v*10 + int64(s[i]-'0')
		i++
	}
	return v, s[i:], i > 0
}

func nameAt(s string, names []string) (index int, rest string, ok bool) {
	for i, n := range names {
		if len(s) >= len(n) && strings.EqualFold(s[:len(n)], n) {
			return i, s[len(n):], true
		}
	}
	for i, n := range names {
		if len(s) >= 3 && strings.EqualFold(s[:3], n[:3]) {
			return i, s[3:], true
		}
	}
	return 0, s, false
}

// parseTemplate reads a text in the format of to_char.
func parseTemplate(s, format string) (int64, error) {
	var p parts
	text := s
	s = strings.TrimLeft(s, " \t\n")
	for format != "" {
		if format[0] == '"' {
			format = format[1:]
			for format != "" && format[0] != '"' {
				if s != "" {
					s = s[runeWidth(s):]
				}
				format = format[runeWidth(format):]
			}
			format = strings.TrimPrefix(format, `"`)
			continue
		}
		word, _, _, rest := nextWord(format)
		if word == "" {
			c := format[0]
			format = format[runeWidth(format):]
			switch {
			case isSeparator(c):
				for s != "" && isSeparator(s[0]) && !(s[0] == '-' || s[0] == '+') || s != "" && s[0] == c {
					same := s[0] == c
					s = s[1:]
					if same {
						break
					}
				}
				if c != '-' && s != "" && s[0] == '-' && format != "" && !strings.HasPrefix(format, "TZH") && !strings.HasPrefix(format, "OF") {
					s = s[1:]
				}
			case s != "":
				s = s[runeWidth(s):]
			}
			continue
		}
		format = rest
		s = strings.TrimLeft(s, " \t\n")
		if s == "" {
			break
		}
		// A number whose neighbour is no digit takes all digits there are.
		most := func(width int) int {
			if next, _, _, _ := nextWord(format); next == "" || format == "" {
				return 10
			}
			return width
		}
		var n int64
		ok := true
		read := func(width int) { n, s, ok = digitsAt(s, width) }
		switch word {
		case "HH24", "HH", "HH12":
			read(2)
			p.hour, p.half = n, p.half || word != "HH24"
		case "MI":
			read(2)
			p.minute = n
		case "SS":
			read(2)
			p.second = n
		case "MS", "US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6":
			width := map[string]int{"MS": 3, "US": 6}[word]
			if width == 0 {
				width = int(word[2] - '0')
			}
			before := len(s)
			read(width)
			for used := before - len(s); used < 6; used++ {
				n *= 10
			}
			p.micros = n
		case "SSSS", "SSSSS":
			read(5)
			p.seconds, p.hasSeconds = n, true
		case "AM", "PM", "am", "pm", "A.M.", "P.M.", "a.m.", "p.m.":
			width := len(word)
			if len(s) < width || s[0]|0x20 != 'a' && s[0]|0x20 != 'p' {
				ok = false
				break
			}
			p.pm, p.am = s[0]|0x20 == 'p', s[0]|0x20 == 'a'
			s = s[width:]
		case "BC", "bc", "AD", "ad", "B.C.", "b.c.", "A.D.", "a.d.":
			if len(s) < len(word) {
				ok = false
				break
			}
			p.bc = s[0]|0x20 == 'b'
			s = s[len(word):]
		case "YYYY", "YYY", "YY", "Y", "Y,YYY":
			width := len(word)
			if word == "Y,YYY" {
				s = strings.Replace(s, ",", "", 1)
				width = 4
			}
			before := len(s)
			read(most(width))
			if used := before - len(s); used < 4 && width < 4 { // the year nearest to 2020
				switch {
				case used == 2 && n < 70, used == 1:
					n += 2000
				case used == 2:
					n += 1900
				case used == 3 && n < 520:
					n += 2000
				case used == 3:
					n += 1000
				}
			}
			p.year, p.hasYear = n, true
		case "IYYY", "IYY", "IY", "I":
			read(most(len(word)))
			p.isoYear = int(n)
		case "MONTH", "Month", "month", "MON", "Mon", "mon":
			var i int
			i, s, ok = nameAt(s, monthNames[:])
			p.month = i + 1
		case "MM":
			read(2)
			p.month = int(n)
			if n < 1 || n > 12 {
				return 0, sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date/time field value out of range: %q", clip(text))
			}
		case "DAY", "Day", "day", "DY", "Dy", "dy":
			_, s, ok = nameAt(s, dayNames[:])
		case "DDD":
			read(3)
			p.doy = int(n)
		case "DD":
			read(2)
			p.dom = int(n)
			if n < 1 || n > 31 {
				return 0, sqlerr.Newf(sqlerr.DatetimeOverflow, sqlerr.Pos{}, "date/time field value out of range: %q", clip(text))
			}
		case "ID":
			read(1)
			p.weekday = int(n)
		case "D", "W", "WW", "Q":
			read(len(word))
		case "IW":
			read(2)
			p.isoWeek = int(n)
		case "CC":
			read(2)
			p.century = n
		case "J":
			read(10)
			p.julian, p.hasJulian = n, true
		case "TZH", "OF":
			sign := int64(1)
			if s[0] == '-' || s[0] == '+' {
				if s[0] == '-' {
					sign = -1
				}
				s = s[1:]
			}
			read(2)
			p.offset += sign * n * calendar.Hour
			if word == "OF" && strings.HasPrefix(s, ":") {
				s = s[1:]
				read(2)
				p.offset += sign * n * calendar.Minute
			}
		case "TZM":
			read(2)
			if p.offset < 0 {
				n = -n
			}
			p.offset += n * calendar.Minute
		default:
			return 0, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "formatting field %q is only supported in to_char", word)
		}
		if !ok {
			return 0, sqlerr.Newf(sqlerr.InvalidDatetime, sqlerr.Pos{}, "invalid value %q for %q", clip(s), word).WithHint("the text must follow the format")
		}
	}
	return p.micro()
}

func clip(s string) string {
	const most = 40
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func isSeparator(c byte) bool {
	return c < utf8.RuneSelf && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)) && c != '"'
}

// appendStrftime writes a time in the format of C's strftime.
func appendStrftime(dst []byte, format string, micros int64) ([]byte, error) {
	m := momentOf(micros)
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			dst = append(dst, format[i])
			continue
		}
		if i++; i == len(format) {
			return nil, invalidArgument("a format ends with %")
		}
		plain := format[i] == '-'
		if plain {
			if i++; i == len(format) {
				return nil, invalidArgument("a format ends with %-")
			}
		}
		number := func(width int, n int64) {
			if plain {
				width = 0
			}
			dst = fmt.Appendf(dst, "%0*d", width, n)
		}
		isoYear, isoWeek := calendar.ISOWeek(m.day)
		sunday := calendar.Weekday(m.day)
		switch format[i] {
		case 'a':
			dst = append(dst, dayNames[sunday][:3]...)
		case 'A':
			dst = append(dst, dayNames[sunday]...)
		case 'w':
			number(0, int64(sunday))
		case 'u':
			number(0, int64(sunday+6)%7+1)
		case 'd':
			number(2, int64(m.dom))
		case 'b', 'h':
			dst = append(dst, monthNames[m.month-1][:3]...)
		case 'B':
			dst = append(dst, monthNames[m.month-1]...)
		case 'm':
			number(2, int64(m.month))
		case 'y':
			number(2, (m.year%100+100)%100)
		case 'Y':
			number(4, m.year)
		case 'G':
			number(4, isoYear)
		case 'V':
			number(2, int64(isoWeek))
		case 'H':
			number(2, m.hour)
		case 'I':
			number(2, (m.hour+11)%12+1)
		case 'p':
			dst = append(dst, [2]string{"AM", "PM"}[m.hour/12%2]...)
		case 'M':
			number(2, m.minute)
		case 'S':
			number(2, m.second)
		case 'f':
			dst = fmt.Appendf(dst, "%06d", m.micros)
		case 'g':
			dst = fmt.Appendf(dst, "%03d", m.micros/1000)
		case 'n':
			dst = fmt.Appendf(dst, "%09d", m.micros*1000)
		case 'j':
			number(3, int64(calendar.YearDay(m.day)))
		case 'U':
			number(2, (int64(calendar.YearDay(m.day))+6-int64(sunday))/7)
		case 'W':
			number(2, (int64(calendar.YearDay(m.day))+6-int64(sunday+6)%7)/7)
		case 'z':
			dst = append(dst, "+00"...)
		case 'Z':
		case 'c':
			var err error
			if dst, err = appendStrftime(dst, "%Y-%m-%d %H:%M:%S", micros); err != nil {
				return nil, err
			}
		case 'x':
			dst = fmt.Appendf(dst, "%04d-%02d-%02d", m.year, m.month, m.dom)
		case 'X':
			dst = fmt.Appendf(dst, "%02d:%02d:%02d", m.hour, m.minute, m.second)
		case '%':
			dst = append(dst, '%')
		default:
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unrecognized format specifier %%%s", string(format[i])).WithHint("formats are those of strftime, such as %%Y-%%m-%%d")
		}
	}
	return dst, nil
}

// parseStrftime reads a text in the format of strftime.
func parseStrftime(s, format string) (int64, error) {
	text := s
	p := parts{hasYear: true, year: 1900}
	bad := func() (int64, error) {
		return 0, sqlerr.Newf(sqlerr.InvalidDatetime, sqlerr.Pos{}, "could not read %q in the format %q", clip(text), clip(format)).WithHint("try_strptime gives NULL instead")
	}
	for i := 0; i < len(format); i++ {
		c := format[i]
		if c == ' ' {
			s = strings.TrimLeft(s, " ")
			continue
		}
		if c != '%' {
			if s == "" || s[0] != c {
				return bad()
			}
			s = s[1:]
			continue
		}
		if i++; i < len(format) && format[i] == '-' {
			i++
		}
		if i == len(format) {
			return 0, invalidArgument("a format ends with %")
		}
		var n int64
		ok := true
		read := func(width int) { n, s, ok = digitsAt(s, width) }
		switch format[i] {
		case 'Y':
			negative := strings.HasPrefix(s, "-")
			s = strings.TrimPrefix(s, "-")
			read(4)
			if p.year = n; negative {
				p.year = -n
			}
		case 'y':
			read(2)
			if p.year = 2000 + n; n >= 69 {
				p.year = 1900 + n
			}
		case 'm':
			read(2)
			p.month = int(n)
			ok = ok && n >= 1 && n <= 12
		case 'd':
			read(2)
			p.dom = int(n)
			ok = ok && n >= 1 && n <= 31
		case 'H':
			read(2)
			p.hour = n
			ok = ok && n < 24
		case 'I':
			read(2)
			p.hour, p.half = n, true
			ok = ok && n >= 1 && n <= 12
		case 'M':
			read(2)
			p.minute = n
			ok = ok && n < 60
		case 'S':
			read(2)
			p.second = n
			ok = ok && n < 60
		case 'f', 'g', 'n':
			before := len(s)
			read(9)
			for used := before - len(s); used < 9 && ok; used++ {
				n *= 10
			}
			p.micros = n / 1000
		case 'j':
			read(3)
			p.doy = int(n)
			ok = ok && n >= 1
		case 'p':
			if ok = len(s) >= 2 && s[1]|0x20 == 'm' && (s[0]|0x20 == 'a' || s[0]|0x20 == 'p'); ok {
				p.pm, s = s[0]|0x20 == 'p', s[2:]
			}
		case 'b', 'B', 'h':
			var at int
			at, s, ok = nameAt(s, monthNames[:])
			p.month = at + 1
		case 'a', 'A':
			_, s, ok = nameAt(s, dayNames[:])
		case 'z':
			if ok = len(s) > 1 && (s[0] == '+' || s[0] == '-'); ok {
				negative := s[0] == '-'
				s = s[1:]
				read(2)
				p.offset = n * calendar.Hour
				s = strings.TrimPrefix(s, ":")
				if m, rest, more := digitsAt(s, 2); more {
					p.offset, s = p.offset+m*calendar.Minute, rest
				}
				if negative {
					p.offset = -p.offset
				}
			}
		case '%':
			if ok = strings.HasPrefix(s, "%"); ok {
				s = s[1:]
			}
		default:
			return 0, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "unrecognized format specifier %%%s", string(format[i])).WithHint("formats are those of strftime, such as %%Y-%%m-%%d")
		}
		if !ok {
			return bad()
		}
	}
	if strings.TrimLeft(s, " ") != "" {
		return bad()
	}
	return p.micro()
}
