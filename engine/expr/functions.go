package expr

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Volatility says what a function's result depends on.
type Volatility = function.Volatility

// The volatilities. A Stable built-in function is a literal by the time a plan runs (see StableValue).
const (
	Immutable = function.Immutable
	Stable    = function.Stable
	Volatile  = function.Volatile
)

// A Parameter is what an overload takes at one place: a sqltype.Kind, or one of the patterns below. A Decimal takes any precision
// and scale; the argument keeps its own.
type Parameter uint8

// The patterns that are no kind.
const (
	Any       Parameter = 64 + iota // any type, as it is
	Common                          // any type; all Common arguments are brought to their common type
	AsText                          // any type, turned into VARCHAR
	AnyList                         // a list; the elements of all, and all AnyElem, are brought to their common type
	AnyElem                         // an element of the AnyLists
	AnyStruct                       // a struct, as it is
)

func (p Parameter) String() string {
	switch p {
	case Any:
		return "any"
	case Common:
		return "anycompatible"
	case AsText:
		return "\"any\""
	case AnyList:
		return "anylist"
	case AnyElem:
		return "anyelement"
	case AnyStruct:
		return "anystruct"
	}
	return sqltype.Of(sqltype.Kind(p)).String()
}

// An Overload is one list of parameters of a function. Result gets the coerced types of the arguments, as many as the call has; it
// fails where they cannot be computed with.
type Overload struct {
	Params   []Parameter
	Variadic bool // the last parameter may be repeated
	Result   func(args []sqltype.Type) (sqltype.Type, *sqlerr.Error)
}

// A Function is a scalar function or an operator.
type Function struct {
	Name       string // canonical: what a Call holds; wire format
	Aliases    []string
	Overloads  []Overload
	Volatility Volatility
	Lenient    bool   // gives a result for some NULL arguments; all others are strict: NULL in, NULL out
	Operator   bool   // written between or before its arguments
	Source     string // whose semantics it has
	Doc        string // one sentence for people
	Nulls      string // what a Lenient one does with NULL
	Group      string // its heading in docs/functions.md
}

// A Signature is a call whose function, overload and types are known. Args are the types that the arguments must be coerced to.
type Signature struct {
	Func       string
	Args       []sqltype.Type
	Result     sqltype.Type
	Volatility Volatility
	Lenient    bool
}

// Functions are all scalar functions and operators, ordered by canonical name.
func Functions() []*Function { return slices.Clone(functionList) }

// LookupFunction finds a function by its canonical name or an alias, in any case; nil where there is none.
func LookupFunction(name string) *Function {
	if f := functionByName[name]; f != nil {
		return f
	}
	return functionByName[strings.ToLower(name)]
}

// Resolve finds the overload that a call of name with arguments of these types means. A NULL or a string literal of no type
// yet (see Unknown) has kind Null and fits everywhere. It fails with undefined_function, hinting at a near name or at the
// overloads there are, or with what the overload's result rule says; errors stand at pos.
func Resolve(name string, args []sqltype.Type, pos sqlerr.Pos) (Signature, error) {
	f := LookupFunction(name)
	if f == nil {
		return Signature{}, unknownFunction(name, args, pos)
	}
	sig, ok, err := choose(f.Overloads, args)
	switch {
	case err != nil:
		return Signature{}, sqlerr.At(err, pos)
	case !ok:
		return Signature{}, noOverload(f, name, args, pos)
	}
	sig.Func, sig.Volatility, sig.Lenient = f.Name, f.Volatility, f.Lenient
	return sig, nil
}

// choose takes the overload that is nearest to args, the first of equals; ok is false where none fits.
func choose(overloads []Overload, args []sqltype.Type) (sig Signature, ok bool, err error) {
	best, bestCost := -1, 0
	for i := range overloads {
		coerced, cost, fits := overloads[i].match(args)
		if fits && (best < 0 || cost < bestCost) {
			best, bestCost, sig.Args = i, cost, coerced
		}
	}
	if best < 0 {
		return sig, false, nil
	}
	result, refused := overloads[best].Result(sig.Args)
	if refused != nil {
		return sig, true, refused
	}
	sig.Result = result
	return sig, true, nil
}

// match gives the types that args must have for o and how far they are from that; the least cost wins, the first of equals.
func (o *Overload) match(args []sqltype.Type) ([]sqltype.Type, int, bool) {
	if len(args) < len(o.Params) || len(args) > len(o.Params) && !o.Variadic {
		return nil, 0, false
	}
	shared, elem, ok := o.common(args)
	if !ok {
		return nil, 0, false
	}
	out, cost := make([]sqltype.Type, len(args)), 0
	for i, a := range args {
		switch p := o.param(i); p {
		case Any:
			out[i] = a
			if a.Kind == sqltype.Null {
				out[i] = sqltype.Of(sqltype.Utf8)
			}
			cost += costAny
		case Common:
			out[i] = shared
			cost += costAny
		case AnyList:
			out[i] = sqltype.ListOf(elem)
			cost += costAny / 2
			if a.Kind == sqltype.Null && !slices.ContainsFunc(args, func(t sqltype.Type) bool { return t.Kind == sqltype.List }) {
				cost += 4 * costAny // nothing says that it is one
			}
		case AnyElem:
			out[i] = elem
			cost += costAny / 4
		case AnyStruct:
			if a.Kind != sqltype.Struct {
				return nil, 0, false
			}
			out[i] = a
		case AsText:
			out[i] = sqltype.Of(sqltype.Utf8)
			if a.Kind != sqltype.Utf8 {
				cost += costAny
			}
		default:
			kind := sqltype.Kind(p)
			c, ok := coercionCost(a.Kind, kind)
			if !ok {
				return nil, 0, false
			}
			if a.Kind == sqltype.Null && slices.ContainsFunc(args, func(t sqltype.Type) bool { return t.Kind == kind }) {
				c = 0 // a literal of no type is taken for what its neighbour is
			}
			cost += c
			out[i] = coercedTo(a, kind)
		}
	}
	for i, t := range out { // NULL as a decimal: wide enough for its neighbours
		if t.Kind == sqltype.Decimal && t.Precision == 0 {
			out[i] = sqltype.DecimalOf(sqltype.MaxPrecision, 16)
		}
	}
	return out, cost, true
}

// common is the type that the Common arguments meet in, and that of the elements of the AnyList arguments and the AnyElem ones.
func (o *Overload) common(args []sqltype.Type) (shared, elem sqltype.Type, ok bool) {
	null := sqltype.Of(sqltype.Null)
	shared, elem = null, null
	for i, a := range args {
		ok = true
		switch o.param(i) {
		case Common:
			shared, ok = CommonType(shared, a)
		case AnyElem:
			elem, ok = CommonType(elem, a)
		case AnyList:
			switch a.Kind {
			case sqltype.Null:
			case sqltype.List:
				elem, ok = CommonType(elem, *a.Elem)
			default:
				ok = false
			}
		}
		if !ok {
			return shared, elem, false
		}
	}
	if shared.Kind == sqltype.Null {
		shared = sqltype.Of(sqltype.Utf8)
	}
	return shared, elem, true
}

func (o *Overload) param(i int) Parameter { return o.Params[min(i, len(o.Params)-1)] }

// A MissingFunction is the cause of an undefined_function: its name, in lower case. Another process may have it.
type MissingFunction struct{ Name string }

func (m *MissingFunction) Error() string { return "there is no function " + m.Name }

func unknownFunction(name string, args []sqltype.Type, pos sqlerr.Pos) error {
	err := sqlerr.Newf(sqlerr.UnknownFunction, pos, "function %s(%s) does not exist", name, typeList(args))
	err.Err = &MissingFunction{strings.ToLower(name)}
	if LookupAggregate(name) != nil {
		return err.WithHint("%s is an aggregate function", name)
	}
	if near := nearest(strings.ToLower(name), functionNames()); near != "" {
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("docs/functions.md lists the functions")
}

func noOverload(f *Function, name string, args []sqltype.Type, pos sqlerr.Pos) error {
	var err *sqlerr.Error
	switch {
	case f.Operator && len(args) == 2:
		err = sqlerr.Newf(sqlerr.UnknownFunction, pos, "operator does not exist: %s %s %s", typeText(args[0]), f.Name, typeText(args[1]))
	case f.Operator && len(args) == 1:
		err = sqlerr.Newf(sqlerr.UnknownFunction, pos, "operator does not exist: %s %s", f.Name, typeText(args[0]))
	default:
		err = sqlerr.Newf(sqlerr.UnknownFunction, pos, "function %s(%s) does not exist", name, typeList(args))
	}
	if f.Operator {
		return err.WithHint("an explicit cast may help")
	}
	return err.WithHint("there is %s; an explicit cast may help", overloadList(f.Name, f.Overloads))
}

func overloadList(name string, overloads []Overload) string {
	var parts []string
	for i := range overloads {
		if i == 3 && len(overloads) > 4 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, overloads[i].text(name))
	}
	return strings.Join(parts, ", ")
}

// text is the overload for people: "substring(VARCHAR, BIGINT)".
func (o *Overload) text(name string) string {
	params := make([]string, len(o.Params))
	for i, p := range o.Params {
		params[i] = p.String()
	}
	dots := ""
	if o.Variadic {
		dots = ", …"
	}
	return name + "(" + strings.Join(params, ", ") + dots + ")"
}

func typeText(t sqltype.Type) string {
	if t.Kind == sqltype.Null {
		return "unknown"
	}
	return t.String()
}

func typeList(args []sqltype.Type) string {
	parts := make([]string, len(args))
	for i, t := range args {
		parts[i] = typeText(t)
	}
	return strings.Join(parts, ", ")
}

func functionNames() []string {
	var names []string
	for _, f := range functionList {
		if f.Operator {
			continue
		}
		names = append(append(names, f.Name), f.Aliases...)
	}
	for _, a := range aggregateList {
		names = append(append(names, a.Name), a.Aliases...)
	}
	return names
}

// nearest is the name that is at most two edits, and a third of its length, from name; "" if none is.
func nearest(name string, names []string) string {
	best, bestDist := "", 3
	for _, n := range names {
		if d := editDistance(name, n); d < bestDist && d*3 <= max(len(n), len(name)) {
			best, bestDist = n, d
		}
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours between a and b, in bytes.
func editDistance(a, b string) int {
	var before []int
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, make([]int, len(b)+1)
	}
	return prev[len(b)]
}
