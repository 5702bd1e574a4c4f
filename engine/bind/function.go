package bind

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/function"
	"github.com/fletchdb/fletch/engine/parse"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// isAggregate tells whether name is an aggregate function's.
func (b *binder) isAggregate(name string) bool {
	own := b.cfg.Functions.Named(name)
	return expr.LookupAggregate(name) != nil || own != nil && own[0].IsAggregate()
}

func (b *binder) newAggregate(name string, args []expr.Expr, pos sqlerr.Pos) (expr.Aggregate, error) {
	if own := b.cfg.Functions.Named(name); own != nil {
		return b.newUserAggregate(own, args, pos)
	}
	return expr.NewAggregate(name, args, pos)
}

func (b *binder) newWindow(name string, args []expr.Expr, pos sqlerr.Pos) (expr.Aggregate, error) {
	if own := b.cfg.Functions.Named(name); own != nil {
		return b.newUserAggregate(own, args, pos)
	}
	return expr.NewWindow(name, args, pos)
}

func (b *binder) newUserAggregate(own []*function.Signature, args []expr.Expr, pos sqlerr.Pos) (expr.Aggregate, error) {
	a, err := expr.NewUserAggregate(own, args, pos)
	if err == nil {
		b.note(a.User)
	}
	return a, err
}

func (b *binder) newUserCall(own []*function.Signature, args []expr.Expr, pos sqlerr.Pos) (expr.Expr, error) {
	c, err := expr.NewUserCall(own, args, pos)
	if err != nil {
		return nil, err
	}
	b.note(c.User)
	return c, nil
}

func (b *binder) note(s *function.Signature) {
	if !slices.Contains(b.called, s) {
		b.called = append(b.called, s)
	}
}

// Functions reads and checks functions that a program gives: their names, which no built-in function has, signatures, versions and code.
// The error names the function.
func Functions(list []function.Function) (*function.Library, error) {
	var all []*function.Signature
	for _, f := range list {
		var err error
		switch f := f.(type) {
		case function.Scalar:
			all, err = signatures(all, f.Name, f.Signatures, &function.Signature{
				Version: f.Version, Volatility: f.Volatility, Lenient: f.Nulls == function.Called, Doc: f.Doc, Call: f.Call,
			})
		case function.Aggregate:
			all, err = aggregateSignatures(all, f)
		default:
			err = fmt.Errorf("a function is a function.Scalar or a function.Aggregate, not %T", f)
		}
		if err != nil {
			return nil, err
		}
	}
	return function.NewLibrary(all)
}

func aggregateSignatures(all []*function.Signature, f function.Aggregate) ([]*function.Signature, error) {
	like := &function.Signature{Version: f.Version, Lenient: f.Nulls == function.Called, Doc: f.Doc, Call: f.Finish, NewAcc: f.New}
	if f.New == nil {
		return nil, fmt.Errorf("function %s: New is missing", f.Name)
	}
	if len(f.State) < 1 || len(f.State) > maxState {
		return nil, fmt.Errorf("function %s: a state has 1 to %d columns, not %d", f.Name, maxState, len(f.State))
	}
	for _, text := range f.State {
		t, err := typeOf(text)
		if err != nil {
			return nil, fmt.Errorf("function %s: state type %q: %w", f.Name, text, err)
		}
		like.State = append(like.State, t)
	}
	return signatures(all, f.Name, f.Signatures, like)
}

// maxState is the most columns that a state has.
const maxState = 6

var functionName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// signatures appends a function's signatures, which are else as like says.
func signatures(all []*function.Signature, name string, texts []string, like *function.Signature) ([]*function.Signature, error) {
	wrong := func(format string, args ...any) ([]*function.Signature, error) {
		return nil, fmt.Errorf("function %q: "+format, append([]any{name}, args...)...)
	}
	switch {
	case !functionName.MatchString(name):
		return wrong("a name is a lower-case letter or _, then those and digits, at most 63")
	case builtIn(name):
		return wrong("a built-in function has this name")
	case !plainVersion(like.Version):
		return wrong("a version is at most 128 bytes of UTF-8 without control characters")
	case like.Call == nil:
		return wrong("its code is missing")
	case len(texts) == 0:
		return wrong("it has no signature")
	}
	for _, text := range texts {
		s := *like
		s.Name = name
		parsed, err := parse.ParseSignature(text)
		if err != nil {
			return wrong("signature %q: %w", text, err)
		}
		s.Variadic = parsed.Variadic
		for _, p := range parsed.Params {
			t, err := columnType(Type(p))
			if err != nil {
				return wrong("signature %q: %w", text, err)
			}
			s.Params = append(s.Params, t)
		}
		if s.Result, err = columnType(Type(parsed.Result)); err != nil {
			return wrong("signature %q: %w", text, err)
		}
		if s.IsAggregate() && len(s.Params) == 0 {
			return wrong("signature %q: an aggregate has a parameter", text)
		}
		all = append(all, &s)
	}
	return all, nil
}

// builtIn tells whether a name means something already.
func builtIn(name string) bool {
	if expr.LookupFunction(name) != nil || expr.LookupAggregate(name) != nil || expr.LookupWindow(name) != nil {
		return true
	}
	switch name {
	case "struct_pack", "unnest", "grouping", "generate_series", "range", "read_parquet", "read_csv", "read_json":
		return true
	}
	stmt, err := parse.ParseOne("SELECT " + name + "(x)") // a keyword reads as something else
	if err != nil {
		return true
	}
	plain := false
	ast.Walk(stmt, func(n ast.Node) bool {
		call, ok := n.(*ast.FuncCall)
		plain = plain || ok && call.Name.Last().Name == name
		return true
	})
	return !plain
}

func plainVersion(s string) bool {
	return len(s) <= 128 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

func typeOf(text string) (sqltype.Type, error) {
	t, err := parse.ParseType(text)
	if err != nil {
		return sqltype.Type{}, err
	}
	return columnType(Type(t))
}

// columnType refuses types that a column cannot have, and those whose text does not read as the same type.
func columnType(t sqltype.Type, err error) (sqltype.Type, error) {
	if err == nil && t.Kind == sqltype.Null {
		err = fmt.Errorf("type %s is none of a column", t)
	}
	return t, err
}

// A Remote is a signature of a function as the process that has it tells of it: types as SQL text.
type Remote struct {
	Name       string
	Parameters []string // a last function.Dots repeats the one before
	Result     string
	Volatility string
	Version    string
	State      []string // of an aggregate
}

// Signature is the signature without its code, which another process has. It fails where a text says nothing to this build.
func (r Remote) Signature() (*function.Signature, error) {
	s := &function.Signature{Name: r.Name, Version: r.Version, Lenient: true}
	params := r.Parameters
	if n := len(params); n > 1 && params[n-1] == function.Dots {
		params, s.Variadic = params[:n-1], true
	}
	read := func(texts []string) ([]sqltype.Type, error) {
		var out []sqltype.Type
		for _, text := range texts {
			t, err := typeOf(text)
			if err != nil {
				return nil, fmt.Errorf("function %s: type %q: %w", r.Name, text, err)
			}
			out = append(out, t)
		}
		return out, nil
	}
	result, err := read([]string{r.Result})
	if err != nil {
		return nil, err
	}
	s.Result = result[0]
	if s.Params, err = read(params); err != nil {
		return nil, err
	}
	if s.State, err = read(r.State); err != nil {
		return nil, err
	}
	switch r.Volatility {
	case function.Immutable.String():
	case function.Stable.String():
		s.Volatility = function.Stable
	default:
		s.Volatility = function.Volatile
	}
	if !functionName.MatchString(s.Name) || builtIn(s.Name) || !plainVersion(s.Version) || s.State != nil && (len(s.Params) == 0 || len(s.State) > maxState) {
		return nil, fmt.Errorf("function %s cannot be called here", s)
	}
	return s, nil
}
