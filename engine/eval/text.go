package eval

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// The most bytes that one call makes, and that an expression makes for one batch: a short statement can ask for any number.
const (
	maxText      = 64 << 20
	maxBatchText = 256 << 20
)

func tooLong() error {
	return sqlerr.New(sqlerr.OutOfRange, sqlerr.Pos{}, "requested length too large").WithHint("a text made by a function has at most 64 MiB")
}

// text compiles functions of text but for patterns.
func (k call) text() (factory, bool, error) {
	switch k.Func {
	case "lower":
		return k.appending1(appendLower), true, nil
	case "upper":
		return k.appending1(appendUpper), true, nil
	case "initcap":
		return k.appending1(appendInitcap), true, nil
	case "reverse":
		if k.kind(0) == sqltype.Binary {
			return k.appending1(func(dst []byte, s string) []byte {
				for i := len(s) - 1; i >= 0; i-- {
					dst = append(dst, s[i])
				}
				return dst
			}), true, nil
		}
		return k.appending1(appendReverse), true, nil
	case "length":
		if k.kind(0) == sqltype.Binary {
			return k.measure(func(s string) int { return len(s) }), true, nil
		}
		return k.measure(runes), true, nil
	case "octet_length":
		return k.measure(func(s string) int { return len(s) }), true, nil
	case "bit_length":
		return k.measure(func(s string) int { return 8 * len(s) }), true, nil
	case "ascii":
		return k.measure(func(s string) int {
			if s == "" {
				return 0
			}
			r, _ := utf8.DecodeRuneInString(s)
			return int(r)
		}), true, nil
	case "position":
		return func(in *instance) node {
			n := newRows(in, k)
			a, b, out := operand[string](n), operand[string](n), values[int32](n, k.Typ)
			n.row = func(i int) error {
				at := strings.Index(a.at(i), b.at(i))
				if at >= 0 && k.kind(0) == sqltype.Binary {
					at++
				} else if at >= 0 {
					at = runes(a.at(i)[:at]) + 1
				} else {
					at = 0
				}
				out.set(i, int32(at))
				return nil
			}
			return n
		}, true, nil
	case "starts_with":
		return k.test(strings.HasPrefix), true, nil
	case "ends_with":
		return k.test(strings.HasSuffix), true, nil
	case "contains":
		return k.test(strings.Contains), true, nil
	case "substring":
		if k.kind(1) == sqltype.Int64 {
			return k.substring(), true, nil
		}
	case "left":
		return k.part(func(s string, n int64) string {
			if n < 0 {
				n = max(int64(runes(s))+n, 0)
			}
			return s[:offset(s, n)]
		}), true, nil
	case "right":
		return k.part(func(s string, n int64) string {
			if n < 0 {
				return s[offset(s, -n):]
			}
			return s[offset(s, max(int64(runes(s))-n, 0)):]
		}), true, nil
	case "btrim":
		return k.trim(true, true), true, nil
	case "ltrim":
		return k.trim(true, false), true, nil
	case "rtrim":
		return k.trim(false, true), true, nil
	case "lpad", "rpad":
		return k.pad(k.Func == "lpad"), true, nil
	case "replace":
		return k.appending3(appendReplace), true, nil
	case "translate":
		return k.appending3(func(dst []byte, s, from, to string) ([]byte, error) { return appendTranslate(dst, s, from, to), nil }), true, nil
	case "repeat":
		return func(in *instance) node {
			n := newRows(in, k)
			a, b, set := operand[string](n), operand[int32](n), textResult(n, k.Typ)
			n.row = func(i int) error {
				s, times := a.at(i), max(int(b.at(i)), 0)
				if len(s)*times > maxText {
					return tooLong()
				}
				dst := in.mem.tail()
				for s != "" && times > 0 {
					dst = append(dst, s...)
					times--
				}
				return set(i, dst)
			}
			return n
		}, true, nil
	case "split_part":
		return func(in *instance) node {
			n := newRows(in, k)
			a, b, c, out := operand[string](n), operand[string](n), operand[int32](n), values[string](n, k.Typ)
			n.row = func(i int) error {
				part, err := splitPart(a.at(i), b.at(i), int(c.at(i)))
				out.set(i, part)
				return err
			}
			return n
		}, true, nil
	case "chr":
		return func(in *instance) node {
			n := newRows(in, k)
			a, set := operand[int32](n), textResult(n, k.Typ)
			n.row = func(i int) error {
				switch c := a.at(i); {
				case c == 0:
					return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "null character not permitted")
				case c < 0 || !utf8.ValidRune(c):
					return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "requested character not valid for encoding: %d", c)
				default:
					return set(i, utf8.AppendRune(in.mem.tail(), c))
				}
			}
			return n
		}, true, nil
	case "||", "concat":
		return k.concat(k.Func == "concat"), true, nil
	case "concat_ws":
		return k.concatWS(), true, nil
	}
	f, ok := k.moreText()
	return f, ok, nil
}

// runes is the number of characters of s.
func runes(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return i + utf8.RuneCountInString(s[i:])
		}
	}
	return len(s)
}

// offset is the byte at which the character n, counted from 0, of s begins; len(s) if there are fewer.
func offset(s string, n int64) int {
	if n >= int64(len(s)) {
		return len(s)
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return i
}

func (k call) appending1(f func(dst []byte, s string) []byte) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, set := operand[string](n), textResult(n, k.Typ)
		n.row = func(i int) error { return set(i, f(in.mem.tail(), a.at(i))) }
		return n
	}
}

func (k call) appending3(f func(dst []byte, a, b, c string) ([]byte, error)) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, c, set := operand[string](n), operand[string](n), operand[string](n), textResult(n, k.Typ)
		n.row = func(i int) error {
			dst, err := f(in.mem.tail(), a.at(i), b.at(i), c.at(i))
			if err != nil {
				return err
			}
			return set(i, dst)
		}
		return n
	}
}

func (k call) measure(f func(s string) int) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, out := operand[string](n), values[int32](n, k.Typ)
		n.row = func(i int) error {
			out.set(i, int32(f(a.at(i))))
			return nil
		}
		return n
	}
}

func (k call) test(f func(s, t string) bool) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, out := operand[string](n), operand[string](n), n.truths()
		n.row = func(i int) error {
			out.set(i, f(a.at(i), b.at(i)))
			return nil
		}
		return n
	}
}

// part is a function that gives a part of a text by a number.
func (k call) part(f func(s string, n int64) string) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, b, out := operand[string](n), operand[int64](n), values[string](n, k.Typ)
		n.row = func(i int) error {
			out.set(i, f(a.at(i), b.at(i)))
			return nil
		}
		return n
	}
}

func (k call) substring() factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, from := operand[string](n), operand[int64](n)
		var count *arg[int64]
		if len(k.args) == 3 {
			count = operand[int64](n)
		}
		out := values[string](n, k.Typ)
		n.row = func(i int) error {
			s, start := a.at(i), max(from.at(i), math.MinInt64+1)-1
			end := int64(len(s))
			if count != nil {
				c := count.at(i)
				if c < 0 {
					return sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "negative substring length not allowed")
				}
				if start < end-c { // no overflow: c and end are not negative
					end = start + c
				}
			}
			start = max(start, 0)
			if end <= start {
				out.set(i, "")
				return nil
			}
			if k.kind(0) == sqltype.Binary {
				out.set(i, s[min(start, int64(len(s))):min(end, int64(len(s)))])
				return nil
			}
			lo := offset(s, start)
			out.set(i, s[lo:lo+offset(s[lo:], end-start)])
			return nil
		}
		return n
	}
}

func (k call) trim(left, right bool) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a := operand[string](n)
		set := &arg[string]{vals: []string{" "}}
		if len(k.args) == 2 {
			set = operand[string](n)
		}
		out := values[string](n, k.Typ)
		n.row = func(i int) error {
			s, chars := a.at(i), set.at(i)
			if len(chars) == 1 && chars[0] < utf8.RuneSelf {
				for left && s != "" && s[0] == chars[0] {
					s = s[1:]
				}
				for right && s != "" && s[len(s)-1] == chars[0] {
					s = s[:len(s)-1]
				}
			} else {
				if left {
					s = strings.TrimLeft(s, chars)
				}
				if right {
					s = strings.TrimRight(s, chars)
				}
			}
			out.set(i, s)
			return nil
		}
		return n
	}
}

func (k call) pad(left bool) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		a, length := operand[string](n), operand[int32](n)
		fill := &arg[string]{vals: []string{" "}}
		if len(k.args) == 3 {
			fill = operand[string](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			s, with, want := a.at(i), fill.at(i), max(int(length.at(i)), 0)
			have := runes(s)
			if want <= have || with == "" {
				return set(i, append(in.mem.tail(), s[:offset(s, int64(want))]...))
			}
			if (want-have)*len(with) > maxText {
				return tooLong()
			}
			dst := in.mem.tail()
			if !left {
				dst = append(dst, s...)
			}
			each := runes(with)
			for need := want - have; need > 0; need -= each {
				dst = append(dst, with[:offset(with, int64(need))]...)
			}
			if left {
				dst = append(dst, s...)
			}
			return set(i, dst)
		}
		return n
	}
}

func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			for _, r := range s[i:] {
				dst = utf8.AppendRune(dst, unicode.ToLower(r))
			}
			return dst
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

func appendUpper(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= utf8.RuneSelf {
			for _, r := range s[i:] {
				dst = utf8.AppendRune(dst, unicode.ToUpper(r))
			}
			return dst
		}
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

func appendInitcap(dst []byte, s string) []byte {
	inWord := false
	for _, r := range s {
		if inWord {
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		} else {
			dst = utf8.AppendRune(dst, unicode.ToUpper(r))
		}
		inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return dst
}

func appendReverse(dst []byte, s string) []byte {
	for s != "" {
		_, w := utf8.DecodeLastRuneInString(s)
		dst = append(dst, s[len(s)-w:]...)
		s = s[:len(s)-w]
	}
	return dst
}

func appendReplace(dst []byte, s, old, with string) ([]byte, error) {
	if old == "" {
		return append(dst, s...), nil
	}
	for {
		at := strings.Index(s, old)
		if at < 0 {
			return append(dst, s...), nil
		}
		dst = append(append(dst, s[:at]...), with...)
		if len(dst) > maxText {
			return nil, tooLong()
		}
		s = s[at+len(old):]
	}
}

func appendTranslate(dst []byte, s, from, to string) []byte {
	for _, r := range s {
		at := strings.IndexRune(from, r)
		if at < 0 {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		lo := offset(to, int64(runes(from[:at])))
		if lo < len(to) {
			_, w := utf8.DecodeRuneInString(to[lo:])
			dst = append(dst, to[lo:lo+w]...)
		}
	}
	return dst
}

// splitPart is part n of s cut at sep, from 1, or from the end where n is negative; "" where there is none.
func splitPart(s, sep string, n int) (string, error) {
	switch {
	case n == 0:
		return "", sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "field position must not be zero")
	case sep == "":
		if n == 1 || n == -1 {
			return s, nil
		}
		return "", nil
	case n < 0:
		for ; n < -1; n++ {
			at := strings.LastIndex(s, sep)
			if at < 0 {
				return "", nil
			}
			s = s[:at]
		}
		if at := strings.LastIndex(s, sep); at >= 0 {
			s = s[at+len(sep):]
		}
		return s, nil
	}
	for ; n > 1; n-- {
		at := strings.Index(s, sep)
		if at < 0 {
			return "", nil
		}
		s = s[at+len(sep):]
	}
	part, _, _ := strings.Cut(s, sep)
	return part, nil
}

func (k call) concat(lenient bool) factory {
	return func(in *instance) node {
		n := newRows(in, k)
		n.lenient = lenient
		args := make([]*arg[string], len(k.args))
		for i := range args {
			args[i] = operand[string](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			dst := in.mem.tail()
			for j, a := range args {
				if !lenient || !n.null(j, i) {
					dst = append(dst, a.at(i)...)
				}
			}
			return set(i, dst)
		}
		return n
	}
}

func (k call) concatWS() factory {
	return func(in *instance) node {
		n := newRows(in, k)
		n.lenient = true
		args := make([]*arg[string], len(k.args))
		for i := range args {
			args[i] = operand[string](n)
		}
		set := textResult(n, k.Typ)
		n.row = func(i int) error {
			dst := in.mem.tail()
			if n.null(0, i) {
				n.setNull(i)
				return set(i, dst)
			}
			first := true
			for j, a := range args[1:] {
				if n.null(j+1, i) {
					continue
				}
				if !first {
					dst = append(dst, args[0].at(i)...)
				}
				first = false
				dst = append(dst, a.at(i)...)
			}
			return set(i, dst)
		}
		return n
	}
}
