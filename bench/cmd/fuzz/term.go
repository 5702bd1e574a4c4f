package main

import "strings"

// A term is a piece of a query: text and terms, which a minimiser may leave out or replace by one another.
type term struct {
	class    string // terms of one class stand in for each other: "query", or "expr:" and a type
	parts    []any  // string or *term
	sep      string // between the parts that are not empty
	optional bool   // the query may do without it
	gone     bool   // left out by the minimiser
	instead  *term  // put here by the minimiser
}

func seq(parts ...any) *term              { return &term{parts: parts} }
func maybe(parts ...any) *term            { return &term{parts: parts, optional: true} }
func list(sep string, parts ...any) *term { return &term{parts: parts, sep: sep} }
func of(class string, parts ...any) *term { return &term{class: class, parts: parts} }
func exprOf(k kind, parts ...any) *term   { return of("expr:"+string(k), parts...) }
func (t *term) String() string            { return t.text() }

func (t *term) text() string {
	if t.gone {
		return ""
	}
	if t.instead != nil {
		return t.instead.text()
	}
	var b strings.Builder
	for _, p := range t.parts {
		s, ok := p.(string)
		if !ok {
			s = p.(*term).text()
		}
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(t.sep)
		}
		b.WriteString(s)
	}
	return b.String()
}

// each visits the terms that are part of the text, the outer before the inner.
func (t *term) each(visit func(*term)) {
	if t.gone {
		return
	}
	if t.instead != nil {
		t.instead.each(visit)
		return
	}
	visit(t)
	for _, p := range t.parts {
		if p, ok := p.(*term); ok {
			p.each(visit)
		}
	}
}

// shrink makes t smaller while differs says that it still shows the difference; it tries at most budget times.
func (t *term) shrink(budget int, differs func() bool) {
	for again := true; again && budget > 0; {
		again = false
		var nodes []*term
		t.each(func(n *term) { nodes = append(nodes, n) })
		for _, n := range nodes {
			if budget <= 0 {
				return
			}
			if !t.holds(n) {
				continue
			}
			if n.optional {
				n.gone = true
				budget--
				if differs() {
					again = true
					continue
				}
				n.gone = false
			}
			if n.class == "" {
				continue
			}
			for _, c := range n.candidates() {
				if len(c.text()) >= len(n.text()) || budget <= 0 {
					continue
				}
				n.instead = c
				budget--
				if differs() {
					again = true
					break
				}
				n.instead = nil
			}
		}
	}
}

// holds tells whether n is still part of the text.
func (t *term) holds(n *term) (found bool) {
	t.each(func(m *term) { found = found || m == n })
	return found
}

// candidates are what may stand instead of t: terms within it of its class, and constants.
func (t *term) candidates() (out []*term) {
	if s, ok := plain[t.class]; ok {
		out = append(out, seq("NULL::"+s.typ), seq(s.value))
	}
	t.each(func(m *term) {
		if m != t && m.class == t.class {
			out = append(out, m)
		}
	})
	return out[:min(len(out), 12)]
}

var plain = map[string]struct{ typ, value string }{
	"expr:int": {"BIGINT", "1"}, "expr:dec": {"DECIMAL(12,2)", "1.50"}, "expr:dbl": {"DOUBLE PRECISION", "1.5::DOUBLE PRECISION"},
	"expr:txt": {"VARCHAR", "'a'"}, "expr:date": {"DATE", "DATE '2020-02-29'"}, "expr:ts": {"TIMESTAMP", "TIMESTAMP '2020-02-29 01:02:03'"},
	"expr:bool": {"BOOLEAN", "true"}, "expr:time": {"TIME", "TIME '12:34:56'"}, "expr:tz": {"TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE '2020-02-29 01:02:03+00'"},
	"expr:ivl": {"INTERVAL", "INTERVAL '1 day'"}, "expr:bin": {"BYTEA", "unhex('61')"}, "expr:ints": {"BIGINT[]", "list_value(1, NULL, 3)"},
	"expr:txts": {"VARCHAR[]", "list_value('a', NULL)"},
}
