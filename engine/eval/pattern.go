package eval

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// pattern compiles LIKE and the functions of regular expressions. Patterns that are constant are compiled once and for all.
func (k call) pattern() (factory, bool, error) {
	switch k.Func {
	case "like", "ilike":
		f, err := k.like(k.Func == "ilike")
		return f, true, err
	case "~":
		if len(k.args) == 2 {
			f, err := k.regexTest("", compileRegex)
			return f, true, err
		}
		f, ok := k.complement()
		return f, ok, nil
	case "~*":
		f, err := k.regexTest("i", compileRegex)
		return f, true, err
	case "regexp_like":
		f, err := k.regexTest("", compileRegex)
		return f, true, err
	case "similar_to":
		f, err := k.regexTest(`\`, compileSimilar)
		return f, true, err
	case "regexp_replace":
		f, err := k.regexReplace()
		return f, true, err
	case "substring":
		if k.kind(1) == sqltype.Utf8 {
			f, err := k.regexSubstring()
			return f, true, err
		}
	}
	return k.morePatterns()
}

// complement is ~ of an integer.
func (k call) complement() (factory, bool) {
	switch k.Typ.Kind {
	case sqltype.Int8:
		return integerArithmetic[int8](k)
	case sqltype.Int16:
		return integerArithmetic[int16](k)
	case sqltype.Int32:
		return integerArithmetic[int32](k)
	case sqltype.Int64:
		return integerArithmetic[int64](k)
	case sqltype.Uint8:
		return integerArithmetic[uint8](k)
	case sqltype.Uint16:
		return integerArithmetic[uint16](k)
	case sqltype.Uint32:
		return integerArithmetic[uint32](k)
	case sqltype.Uint64:
		return integerArithmetic[uint64](k)
	}
	return nil, false
}

// constantText is argument i where it is a constant text.
func (k call) constantText(i int) (string, bool) {
	l, ok := k.Args[i].(*expr.Literal)
	if !ok || l.Value.Null {
		return "", false
	}
	return l.Value.Str, true
}

// A likeNode is LIKE: with a constant pattern over the rows at once, else by compiling each pattern that differs from the one before.
type likeNode struct {
	k       call
	fold    bool
	kids    []node
	in      *instance
	fixed   *matcher
	text    arg[string]
	pattern arg[string]
	escape  arg[string]
	vs      [3]*vector.Vector
	null    validity
	pick    chooser
	buf     []byte
	out     bitmap

	last        *matcher // of lastPattern, lastEscape
	lastPattern string
	lastEscape  string
}

func (k call) like(fold bool) (factory, error) {
	var fixed *matcher
	pattern, ok := k.constantText(1)
	escape := `\`
	if ok && len(k.args) == 3 {
		escape, ok = k.constantText(2)
	}
	if ok {
		var err error
		if fixed, err = compileLike(pattern, escape, fold); err != nil {
			return nil, sqlerr.At(err, k.Args[1].Pos())
		}
	}
	return func(in *instance) node { return &likeNode{k: k, fold: fold, kids: k.nodes(in), in: in, fixed: fixed} }, nil
}

func (n *likeNode) eval(f frame) (*vector.Vector, error) {
	vs := n.vs[:len(n.kids)]
	for i, kid := range n.kids {
		v, err := kid.eval(f)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	if slices.ContainsFunc(vs, (*vector.Vector).IsConstNull) {
		return n.out.null(f), nil
	}
	g, one := single(f, vs...)
	valid := n.null.of(g.n, vs...)
	sel := n.pick.choose(n.in, g, valid)
	bits := n.out.make(g.n)
	clear(bits)
	n.text.load(vs[0], g)
	if n.fixed != nil {
		n.fixed.matchRows(bits, &n.text, sel, &n.buf)
		return n.out.give(f, one, valid), nil
	}
	n.pattern.load(vs[1], g)
	if len(vs) == 3 {
		n.escape.load(vs[2], g)
	} else {
		n.escape.vals, n.escape.mask = backslash, 0
	}
	for i := range sel {
		m, err := n.matcher(n.pattern.at(int(sel[i])), n.escape.at(int(sel[i])))
		if err != nil {
			return nil, sqlerr.At(err, n.k.P)
		}
		m.matchRows(bits, &n.text, sel[i:i+1], &n.buf)
	}
	return n.out.give(f, one, valid), nil
}

var backslash = []string{`\`}

func (n *likeNode) matcher(pattern, escape string) (*matcher, error) {
	if n.last != nil && n.lastPattern == pattern && n.lastEscape == escape {
		return n.last, nil
	}
	m, err := compileLike(pattern, escape, n.fold)
	if err != nil {
		return nil, err
	}
	n.last, n.lastPattern, n.lastEscape = m, strings.Clone(pattern), strings.Clone(escape)
	return m, nil
}

// A regexCompiler reads a pattern with its options.
type regexCompiler func(pattern, options string) (*regexp.Regexp, error)

func compileRegex(pattern, options string) (*regexp.Regexp, error) {
	flags := "s" // a point matches a line's end, as in PostgreSQL
	for _, o := range options {
		switch o {
		case 'i':
			flags += "i"
		case 'c':
			flags = strings.ReplaceAll(flags, "i", "")
		case 'n', 'm':
			flags = strings.ReplaceAll(flags, "s", "") + "m"
		case 's':
			flags = "s" + strings.NewReplacer("s", "", "m", "").Replace(flags)
		case 'g':
		default:
			return nil, sqlerr.Newf(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid regular expression option: %q", string(o)).
				WithHint("the options are i, c, n, m, s and, to replace, g")
		}
	}
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	return finishRegex(pattern)
}

func finishRegex(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if err == nil {
		return re, nil
	}
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, sqlerr.Newf(sqlerr.InvalidRegex, sqlerr.Pos{}, "invalid regular expression: %s: %s", bad.Code, bad.Expr).
			WithHint("regular expressions are RE2's, without back references and look-around")
	}
	return nil, sqlerr.Newf(sqlerr.InvalidRegex, sqlerr.Pos{}, "invalid regular expression: %v", err)
}

// compileSimilar turns a pattern of SIMILAR TO into one that matches the whole text.
func compileSimilar(pattern, escape string) (*regexp.Regexp, error) {
	if utf8.RuneCountInString(escape) > 1 {
		return nil, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "invalid escape string").
			WithHint("escape string must be empty or one character")
	}
	var b strings.Builder
	b.WriteString("(?s)^(?:")
	inClass := false
	for rest := pattern; rest != ""; {
		if escape != "" && strings.HasPrefix(rest, escape) {
			if rest = rest[len(escape):]; rest == "" {
				return nil, sqlerr.New(sqlerr.InvalidParameter, sqlerr.Pos{}, "pattern must not end with escape character")
			}
			w := runeWidth(rest)
			b.WriteString(regexp.QuoteMeta(rest[:w]))
			rest = rest[w:]
			continue
		}
		c := rest[0]
		rest = rest[1:]
		switch {
		case inClass:
			if c == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
			inClass = c != ']'
		case c == '[':
			b.WriteByte(c)
			inClass = true
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case strings.IndexByte(`.^$\`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteString(")$")
	return finishRegex(b.String())
}

// regexOf gives a function that compiles the pattern of a row: the constant one, or the last one if it comes again.
func (k call) regexOf(compile regexCompiler, pattern, options int, fallback string) (func() func(p, o string) (*regexp.Regexp, error), error) {
	p, ok := k.constantText(pattern)
	o := fallback
	if ok && options < len(k.args) {
		o, ok = k.constantText(options)
	}
	if ok {
		re, err := compile(p, o)
		if err != nil {
			return nil, sqlerr.At(err, k.Args[pattern].Pos())
		}
		return func() func(p, o string) (*regexp.Regexp, error) {
			return func(string, string) (*regexp.Regexp, error) { return re, nil }
		}, nil
	}
	return func() func(p, o string) (*regexp.Regexp, error) {
		var last *regexp.Regexp
		var lastPattern, lastOptions string
		return func(p, o string) (*regexp.Regexp, error) {
			if last != nil && p == lastPattern && o == lastOptions {
				return last, nil
			}
			re, err := compile(p, o)
			if err == nil {
				last, lastPattern, lastOptions = re, strings.Clone(p), strings.Clone(o)
			}
			return re, err
		}
	}, nil
}

func (k call) regexTest(fallback string, compile regexCompiler) (factory, error) {
	regex, err := k.regexOf(compile, 1, 2, fallback)
	if err != nil {
		return nil, err
	}
	return func(in *instance) node {
		n := newRows(in, k)
		a, p := operand[string](n), operand[string](n)
		o := &arg[string]{vals: []string{fallback}}
		if len(k.args) == 3 {
			o = operand[string](n)
		}
		out := n.truths()
		get := regex()
		n.row = func(i int) error {
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return err
			}
			out.set(i, re.MatchString(a.at(i)))
			return nil
		}
		return n
	}, nil
}

func (k call) regexReplace() (factory, error) {
	regex, err := k.regexOf(compileRegex, 1, 3, "")
	if err != nil {
		return nil, err
	}
	return func(in *instance) node {
		n := newRows(in, k)
		a, p, with := operand[string](n), operand[string](n), operand[string](n)
		o := &arg[string]{vals: []string{""}}
		if len(k.args) == 4 {
			o = operand[string](n)
		}
		set := textResult(n, k.Typ)
		get := regex()
		n.row = func(i int) error {
			re, err := get(p.at(i), o.at(i))
			if err != nil {
				return err
			}
			dst, err := appendRegexReplaced(in.mem.tail(), re, a.at(i), with.at(i), strings.Contains(o.at(i), "g"))
			if err != nil {
				return err
			}
			return set(i, dst)
		}
		return n
	}, nil
}

// appendRegexReplaced replaces the first match, or every one, by with, in which \1 to \9 are groups and \& the match.
func appendRegexReplaced(dst []byte, re *regexp.Regexp, s, with string, every bool) ([]byte, error) {
	count := 1
	if every {
		count = -1
	}
	done := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, count) {
		dst = append(dst, s[done:m[0]]...)
		for i := 0; i < len(with); i++ {
			if with[i] != '\\' || i+1 == len(with) {
				dst = append(dst, with[i])
				continue
			}
			i++
			switch c := with[i]; {
			case c == '&':
				dst = append(dst, s[m[0]:m[1]]...)
			case c >= '1' && c <= '9':
				if g := 2 * int(c-'0'); g < len(m) && m[g] >= 0 {
					dst = append(dst, s[m[g]:m[g+1]]...)
				}
			default:
				dst = append(dst, c)
			}
		}
		done = m[1]
		if len(dst) > maxText {
			return nil, tooLong()
		}
	}
	return append(dst, s[done:]...), nil
}

// regexSubstring is what the first group of the pattern matched, without one the whole match; NULL where there is none.
func (k call) regexSubstring() (factory, error) {
	regex, err := k.regexOf(compileRegex, 1, len(k.args), "")
	if err != nil {
		return nil, err
	}
	return func(in *instance) node {
		n := newRows(in, k)
		a, p, out := operand[string](n), operand[string](n), values[string](n, k.Typ)
		get := regex()
		n.row = func(i int) error {
			re, err := get(p.at(i), "")
			if err != nil {
				return err
			}
			s := a.at(i)
			m := re.FindStringSubmatchIndex(s)
			switch {
			case m == nil || len(m) > 2 && m[2] < 0:
				out.set(i, "")
				n.setNull(i)
			case len(m) > 2:
				out.set(i, s[m[2]:m[3]])
			default:
				out.set(i, s[m[0]:m[1]])
			}
			return nil
		}
		return n
	}, nil
}
