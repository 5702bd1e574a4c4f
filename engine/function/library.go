package function

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqltype"
)

// A Signature is one signature of a function as plans know it. It is immutable, and the same for all calls of it in a plan.
type Signature struct {
	Name, Version string
	Params        []sqltype.Type // at least one of an aggregate
	Variadic      bool           // the last parameter may be repeated
	Result        sqltype.Type
	Volatility    Volatility
	Lenient       bool           // it may give a result for NULL
	State         []sqltype.Type // of an aggregate; nil: it is scalar
	Doc           string

	// The code. A process that plans for others that have it has none itself.
	Call   Call // of an aggregate: Finish
	NewAcc func() Accumulator
}

// IsAggregate tells whether it is an aggregate's.
func (s *Signature) IsAggregate() bool { return s.State != nil }

// Runs tells whether this process has the code.
func (s *Signature) Runs() bool { return s.Call != nil }

// Param is the type of parameter i, which may be one of those that repeat.
func (s *Signature) Param(i int) sqltype.Type { return s.Params[min(i, len(s.Params)-1)] }

// Takes tells whether it can have n arguments.
func (s *Signature) Takes(n int) bool {
	return n == len(s.Params) || s.Variadic && n > len(s.Params)
}

// Dots is how a variadic signature ends in capabilities and plans.
const Dots = "…"

// Parameters are the parameters' types as SQL text.
func (s *Signature) Parameters() []string {
	out := Texts(s.Params)
	if s.Variadic {
		out = append(out, Dots)
	}
	return out
}

// String is it for people: half(BIGINT), version "2".
func (s *Signature) String() string {
	text := s.Name + "(" + strings.Join(s.Parameters(), ", ") + ")"
	if s.Version != "" {
		text += fmt.Sprintf(", version %q", s.Version)
	}
	return text
}

// Text is a type as SQL text that reads as the same type.
func Text(t sqltype.Type) string {
	switch t.Kind {
	case sqltype.List:
		return Text(*t.Elem) + "[]"
	case sqltype.Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `" ` + Text(f.Type)
		}
		return "struct(" + strings.Join(parts, ", ") + ")"
	}
	return strings.ToLower(t.String())
}

// Texts are types as SQL text.
func Texts(ts []sqltype.Type) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = Text(t)
	}
	return out
}

// A Library is the functions that a query may call besides the built-in ones. It is immutable; nil is an empty one.
type Library struct {
	names []string // ascending
	named map[string][]*Signature
}

// NewLibrary makes a library. It fails where two signatures of a name take the same types, or are a scalar's and an aggregate's.
func NewLibrary(list []*Signature) (*Library, error) {
	l := &Library{named: map[string][]*Signature{}}
	for _, s := range list {
		for _, o := range l.named[s.Name] {
			switch {
			case o.IsAggregate() != s.IsAggregate():
				return nil, fmt.Errorf("function %s is both scalar and aggregate", s.Name)
			case slices.Equal(o.Parameters(), s.Parameters()):
				return nil, fmt.Errorf("function %s is there twice", s)
			}
		}
		l.named[s.Name] = append(l.named[s.Name], s)
	}
	for name := range l.named {
		l.names = append(l.names, name)
	}
	slices.Sort(l.names)
	return l, nil
}

// Named are the signatures of a name, in any case; none where there is no such function.
func (l *Library) Named(name string) []*Signature {
	if l == nil {
		return nil
	}
	return l.named[strings.ToLower(name)]
}

// Find is the signature of these parameters and this version; nil where there is none.
func (l *Library) Find(name string, parameters []string, version string) *Signature {
	for _, s := range l.Named(name) {
		if s.Name == name && s.Version == version && slices.Equal(s.Parameters(), parameters) {
			return s
		}
	}
	return nil
}

// All are the signatures, by name, then by parameters.
func (l *Library) All() []*Signature {
	if l == nil {
		return nil
	}
	var out []*Signature
	for _, name := range l.names {
		same := slices.Clone(l.named[name])
		slices.SortFunc(same, func(a, b *Signature) int { return cmp.Compare(a.String(), b.String()) })
		out = append(out, same...)
	}
	return out
}
