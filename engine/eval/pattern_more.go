package eval

import (
	"regexp"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// morePatterns compiles the rarer functions of regular expressions.
func (k call) morePatterns() (factory, bool, error) {
	var f factory
	var err error
	switch k.Func {
	case "regexp_count":
		f, err = k.regexCount()
	case "regexp_instr":
		f, err = k.regexPlace(5)
	case "regexp_substr":
		f, err = k.regexPlace(4)
	case "regexp_match":
		f, err = k.regexList(2, func(re *regexp.Regexp, s string, _ int) ([]string, error) {
			m := re.FindStringSubmatch(s)
			switch {
			case m == nil:
				return nil, errNull
			case len(m) > 1:
				return m[1:], nil
			}
			return m, nil
		})
	case "regexp_split_to_array":
		f, err = k.regexList(2, func(re *regexp.Regexp, s string, _ int) ([]string, error) { return splitRegex(re, s), nil })
	case "regexp_extract_all":
		f, err = k.regexList(len(k.args), func(re *regexp.Regexp, s string, group int) ([]string, error) {
			if err := groupIn(re, group); err != nil {
				return nil, err
			}
			var out []string
			for _, m := range re.FindAllStringSubmatch(s, -1) {
				out = append(out, m[group])
			}
			return out, nil
		})
	case "regexp_extract":
		f, err = k.regexExtract()
	case "regexp_full_match":
		f, err = k.regexTest("", func(pattern, options string) (*regexp.Regexp, error) {
			return compileRegex("^(?:"+pattern+")$", options)
		})
	case "regexp_escape":
		return k.appending1(escapeRegex), true, nil
	default:
		return nil, false, nil
	}
	return f, true, err
}

// escapeRegex appends s with a backslash before every ASCII character that is no letter, digit or underscore, as RE2 does.
func escapeRegex(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c == 0:
			dst = append(dst, `\x00`...)
			continue
		case c < utf8.RuneSelf && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z'):
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return dst
}

func groupIn(re *regexp.Regexp, group int) error {
	if group < 0 || group > re.NumSubexp() {
		return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "the regular expression has no group %d", group)
	}
	return nil
}

// splitRegex is the parts of s between matches; a match of nothing parts characters, but not at the ends.
func splitRegex(re *regexp.Regexp, s string) []string {
	var out []string
	from := 0
	for _, m := range re.FindAllStringIndex(s, -1) {
		if m[0] == m[1] && (m[0] == 0 || m[0] == len(s) || m[0] == from) {
			continue
		}
		out, from = append(out, s[from:m[0]]), m[1]
	}
	return append(out, s[from:])
}

// regexList is a list of texts of a match; the third argument is a group where options are none.
func (k call) regexList(options int, f func(re *regexp.Regexp, s string, group int) ([]string, error)) (factory, error) {
	regex, err := k.regexOf(compileRegex, 1, options, "")
	if err != nil {
		return nil, err
	}
	return k.rows(func(n *rowsNode) {
		a, p := operand[string](n), operand[string](n)
		o, group := &arg[string]{vals: []string{""}}, &arg[int32]{vals: []int32{0}}
		switch k.kind(2) {
		case sqltype.Utf8:
			o = operand[string](n)
		case sqltype.Int32:
			group = operand[int32](n)
		}
		set, get := textResult(n, k.Typ), regex()
		n.row = func(i int) error {
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return setOr(set, i, nil, err)
			}
			texts, err := f(re, a.at(i), int(group.at(i)))
			if err != nil {
				return setOr(set, i, nil, err)
			}
			return setOr(set, i, textList(n.in.mem.tail(), texts), nil)
		}
	}), nil
}

// from is s from character start, counted from 1, on.
func from(s string, start int32) (string, error) {
	if start < 1 {
		return "", sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, `invalid value for parameter "start": %d`, start)
	}
	return s[offset(s, int64(start)-1):], nil
}

func (k call) regexCount() (factory, error) {
	regex, err := k.regexOf(compileRegex, 1, 3, "")
	if err != nil {
		return nil, err
	}
	return k.rows(func(n *rowsNode) {
		a, p := operand[string](n), operand[string](n)
		start, o := optional(n, k, 2, int32(1)), optional(n, k, 3, "")
		out, get := values[int32](n, k.Typ), regex()
		n.row = func(i int) error {
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return err
			}
			s, err := from(a.at(i), start.at(i))
			if err == nil {
				out.set(i, int32(len(re.FindAllStringIndex(s, -1))))
			}
			return err
		}
	}), nil
}

// regexPlace is regexp_instr and regexp_substr: text, pattern, start, which match, of regexp_instr whether its end, then options and
// the group.
func (k call) regexPlace(options int) (factory, error) {
	instr := k.Func == "regexp_instr"
	regex, err := k.regexOf(compileRegex, 1, options, "")
	if err != nil {
		return nil, err
	}
	return k.rows(func(n *rowsNode) {
		a, p := operand[string](n), operand[string](n)
		start, which := optional(n, k, 2, int32(1)), optional(n, k, 3, int32(1))
		end := &arg[int32]{vals: []int32{0}}
		if instr {
			end = optional(n, k, 4, int32(0))
		}
		o, group := optional(n, k, options, ""), &arg[int32]{vals: []int32{0}}
		if instr {
			group = optional(n, k, 6, int32(0))
		}
		var places *results[int32]
		var texts *results[string]
		if instr {
			places = values[int32](n, k.Typ)
		} else {
			texts = values[string](n, k.Typ)
		}
		get := regex()
		n.row = func(i int) error {
			if texts != nil {
				texts.set(i, "")
			}
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return err
			}
			s, err := from(a.at(i), start.at(i))
			if err != nil {
				return err
			}
			if which.at(i) < 1 {
				return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, `invalid value for parameter "n": %d`, which.at(i))
			}
			if err := groupIn(re, int(group.at(i))); err != nil {
				return err
			}
			all := re.FindAllStringSubmatchIndex(s, int(which.at(i)))
			if len(all) < int(which.at(i)) {
				if instr {
					places.set(i, 0)
					return nil
				}
				return errNull
			}
			m := all[which.at(i)-1]
			if !instr {
				texts.set(i, s[m[0]:m[1]])
				return nil
			}
			g := 2 * int(group.at(i))
			if m[g] < 0 {
				places.set(i, 0)
				return nil
			}
			at := m[g]
			if end.at(i) == 1 {
				at = m[g+1]
			} else if end.at(i) != 0 {
				return sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, `invalid value for parameter "endoption": %d`, end.at(i))
			}
			skipped := len(a.at(i)) - len(s)
			places.set(i, int32(runes(a.at(i)[:skipped+at])+1))
			return nil
		}
	}), nil
}

func (k call) regexExtract() (factory, error) {
	regex, err := k.regexOf(compileRegex, 1, 3, "")
	if err != nil {
		return nil, err
	}
	return k.rows(func(n *rowsNode) {
		a, p := operand[string](n), operand[string](n)
		group, o := optional(n, k, 2, int32(0)), optional(n, k, 3, "")
		out, get := values[string](n, k.Typ), regex()
		n.row = func(i int) error {
			out.set(i, "")
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return err
			}
			if err := groupIn(re, int(group.at(i))); err != nil {
				return err
			}
			if m := re.FindStringSubmatchIndex(a.at(i)); m != nil && m[2*group.at(i)] >= 0 {
				g := 2 * group.at(i)
				out.set(i, a.at(i)[m[g]:m[g+1]])
			}
			return nil
		}
	}), nil
}
