package eval

import (
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// A numberFormat is a pattern of to_char for numbers.
type numberFormat struct {
	whole, fraction int  // digits before and after the point
	firstZero       int  // place of the first 0 before the point, whole if there is none
	zeroFraction    int  // digits after the point that are always shown, with FM
	fm, pr, roman   bool // fill mode, <> around negative ones, Roman
	signs           string
	pattern         []string
}

// numberWords are the patterns, longer ones first.
var numberWords = []string{"EEEE", "SG", "PL", "MI", "PR", "RN", "TH", "th", "FM", "9", "0", ".", "D", ",", "G", "S", "L", "V"}

func parseNumberPattern(format string) (f numberFormat, err error) {
	point := false
	f.firstZero = -1
	for rest := format; rest != ""; {
		word := ""
		if rest[0] == '"' {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				end = len(rest) - 1
			}
			f.pattern = append(f.pattern, `"`+rest[1:1+end])
			rest = strings.TrimPrefix(rest[1+end:], `"`)
			continue
		}
		for _, w := range numberWords {
			if len(rest) >= len(w) && strings.EqualFold(rest[:len(w)], w) && (w != "TH" || rest[:2] == "TH") && (w != "th" || rest[:2] == "th") {
				word = w
				break
			}
		}
		if word == "" {
			w := runeWidth(rest)
			f.pattern = append(f.pattern, `"`+rest[:w])
			rest = rest[w:]
			continue
		}
		rest = rest[len(word):]
		switch word {
		case "9", "0":
			if point {
				f.fraction++
				if word == "0" {
					f.zeroFraction = f.fraction
				}
			} else {
				if word == "0" && f.firstZero < 0 {
					f.firstZero = f.whole
				}
				f.whole++
			}
		case ".", "D":
			if point {
				return f, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "multiple decimal points")
			}
			point, word = true, "D"
		case "FM":
			f.fm = true
			continue
		case "PR":
			f.pr = true
		case "RN":
			f.roman = true
		case "EEEE", "V":
			return f, sqlerr.Newf(sqlerr.Unsupported, sqlerr.Pos{}, "%q in a format of numbers is not supported", word)
		case "S", "MI", "PL", "SG":
			f.signs += word
		}
		f.pattern = append(f.pattern, word)
	}
	if f.firstZero < 0 {
		f.firstZero = f.whole
	}
	return f, nil
}

// appendNumber writes a number, whose digits are without sign, in a format of to_char.
func appendNumber(dst []byte, format string, negative bool, digits string) ([]byte, error) {
	f, err := parseNumberPattern(format)
	if err != nil {
		return nil, err
	}
	if f.roman {
		return appendRoman(dst, digits, f.fm), nil
	}
	whole, fraction := roundDigits(digits, f.fraction)
	whole = strings.TrimLeft(whole, "0")
	if strings.Trim(whole+fraction, "0") == "" {
		negative = false
	}
	overflow := len(whole) > f.whole
	lead := f.whole - len(whole) // places before the first digit
	if lead > f.firstZero {
		lead = f.firstZero
	}
	if lead == f.whole && f.whole > 0 && f.fraction == 0 && !overflow { // a lone zero is shown
		lead = f.whole - 1
	}
	var body []byte
	at, after := 0, 0 // places before and after the point
	started := false
	shown := len(fraction)
	if f.fm {
		for shown > f.zeroFraction && fraction[shown-1] == '0' {
			shown--
		}
	}
	explicit := f.signs != "" || f.pr
	emitSign := func() {
		if started {
			return
		}
		started = true
		switch {
		case f.pr && negative:
			body = append(body, '<')
		case f.pr && !f.fm:
			body = append(body, ' ')
		case explicit:
		case negative:
			body = append(body, '-')
		case !f.fm:
			body = append(body, ' ')
		}
	}
	blank := func() {
		if !f.fm {
			body = append(body, ' ')
		}
	}
	// Of S and SG before the digits the sign stands where they begin.
	anchored := strings.HasPrefix(strings.Join(f.pattern, ""), "S") && !strings.HasPrefix(strings.Join(f.pattern, ""), "SG")
	passed := false
	for i, w := range f.pattern {
		switch w {
		case "9", "0":
			if passed {
				if after < shown {
					body = append(body, fraction[after])
				} else if !f.fm {
					body = append(body, '0')
				}
				after++
				continue
			}
			if at < lead {
				blank()
			} else {
				if anchored && !started {
					started = true
					body = append(body, plusMinus(negative))
				}
				emitSign()
				switch k := at - (f.whole - len(whole)); {
				case overflow:
					body = append(body, '#')
				case k >= 0:
					body = append(body, whole[k])
				default:
					body = append(body, '0')
				}
			}
			at++
		case "D":
			if anchored && !started {
				started = true
				body = append(body, plusMinus(negative))
			}
			emitSign()
			passed = true
			body = append(body, '.')
		case ",", "G":
			if at > lead || at > 0 && overflow {
				body = append(body, ',')
			} else {
				blank()
			}
		case "S":
			if i > 0 || !anchored {
				emitSign()
				body = append(body, plusMinus(negative))
			}
		case "SG":
			body = append(body, plusMinus(negative))
		case "MI":
			if negative {
				body = append(body, '-')
			} else {
				blank()
			}
		case "PL":
			if negative {
				blank()
			} else {
				body = append(body, '+')
			}
		case "PR":
			if negative {
				body = append(body, '>')
			} else {
				blank()
			}
		case "L":
			blank()
		case "TH", "th":
			if !negative && f.fraction == 0 && len(body) > 0 {
				body = append(body, ordinal([]byte(whole), w)...)
			}
		default:
			body = append(body, w[1:]...)
		}
	}
	return append(dst, body...), nil
}

func plusMinus(negative bool) byte {
	if negative {
		return '-'
	}
	return '+'
}

// roundDigits rounds a number without sign to so many digits after the point, halves up.
func roundDigits(digits string, places int) (whole, fraction string) {
	whole, fraction, _ = strings.Cut(digits, ".")
	if len(fraction) <= places {
		return whole, fraction + strings.Repeat("0", places-len(fraction))
	}
	up := fraction[places] >= '5'
	all := []byte("0" + whole + fraction[:places])
	if up {
		for i := len(all) - 1; ; i-- {
			if all[i] < '9' {
				all[i]++
				break
			}
			all[i] = '0'
		}
	}
	cut := len(all) - places
	return string(all[:cut]), string(all[cut:])
}

func appendRoman(dst []byte, digits string, fm bool) []byte {
	whole, _ := roundDigits(digits, 0)
	n := 0
	for i := range len(whole) {
		if n = n*10 + int(whole[i]-'0'); n > 3999 {
			break
		}
	}
	text := "###############"
	if n >= 1 && n <= 3999 {
		var b strings.Builder
		for _, r := range []struct {
			value int
			text  string
		}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
			for n >= r.value {
				b.WriteString(r.text)
				n -= r.value
			}
		}
		text = b.String()
	}
	for i := len(text); !fm && i < 15; i++ {
		dst = append(dst, ' ')
	}
	return append(dst, text...)
}

// parseNumberFormat reads a text in a format of to_char.
func parseNumberFormat(s, format string) (int128.Int128, error) {
	f, err := parseNumberPattern(format)
	if err != nil {
		return int128.Int128{}, err
	}
	negative := false
	var digits strings.Builder
	s = strings.TrimLeft(s, " ")
	sign := func() {
		for s != "" && (s[0] == '-' || s[0] == '+' || s[0] == '<') {
			negative = negative || s[0] != '+'
			s = s[1:]
		}
	}
	sign()
	point := false
	for _, w := range f.pattern {
		if s == "" {
			break
		}
		switch w {
		case "9", "0":
			s = strings.TrimLeft(s, " ")
			sign()
			if s != "" && s[0] >= '0' && s[0] <= '9' {
				digits.WriteByte(s[0])
				s = s[1:]
			}
		case "D":
			if s[0] == '.' {
				point = true
				digits.WriteByte('.')
				s = s[1:]
			}
		case ",", "G":
			if s[0] == ',' {
				s = s[1:]
			}
		case "L":
			if s[0] == '$' {
				s = s[1:]
			}
		case "S", "SG", "MI", "PL", "PR":
			sign()
			if s != "" && s[0] == '>' {
				s = s[1:]
			}
		default:
			s = strings.TrimPrefix(s, strings.TrimPrefix(w, `"`))
		}
	}
	if s != "" && (s[0] == '-' || s[0] == '>') {
		negative = true
	}
	text := digits.String()
	if strings.Trim(text, ".") == "" || point && text == "." {
		return int128.Int128{}, sqlerr.Newf(sqlerr.InvalidText, sqlerr.Pos{}, "invalid input syntax for type numeric: %q", clip(s))
	}
	v, err := int128.Parse(text, 16)
	if err != nil || !v.FitsDigits(sqltype.MaxPrecision) {
		return int128.Int128{}, decimalOverflow(sqltype.DecimalOf(sqltype.MaxPrecision, 16))
	}
	if negative {
		v = v.Neg()
	}
	return v, nil
}
