package exec

import (
	"context"

	"github.com/fletchdb/fletch/engine/nested"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector"
)

// An expand gives each row once per element of its lists.
type expand struct {
	lists      []formula
	types      []sqltype.Type // of the lists
	ordinality bool
	env        *Env
}

func newExpand(n *physical.Expand, env *Env) (*expand, error) {
	f, err := compileFormulas(n.Lists)
	e := &expand{lists: f, ordinality: n.Ordinality, env: env}
	for _, l := range n.Lists {
		e.types = append(e.types, l.Type())
	}
	return e, err
}

func (e *expand) NewStep() (Step, error) {
	s := &expandStep{expand: e, lists: computers(e.lists, e.env), vecs: make([]*vector.Vector, len(e.lists)), rest: make([]string, len(e.lists))}
	for _, t := range e.types {
		s.elems = append(s.elems, nested.NewColumn(*t.Elem))
	}
	if e.ordinality {
		s.count = nested.NewColumn(sqltype.Of(sqltype.Int64))
	}
	return s, nil
}

func (*expand) Close() error { return nil }

type expandStep struct {
	expand *expand
	lists  []computer
	vecs   []*vector.Vector
	rest   []string         // of each list of the row at hand, what is not given yet
	elems  []*nested.Column // of the rows to be emitted
	count  *nested.Column   // nil: not asked for
	rows   []int32          // which of the batch's they are of
	lanes  []lane
	ids    identity
	out    vector.Batch
}

func (s *expandStep) Push(_ context.Context, b *vector.Batch, emit Emit) error {
	if err := evalAll(s.lists, b, s.vecs); err != nil {
		return err
	}
	for i := range b.Rows() {
		row := i
		if b.Sel != nil {
			row = int(b.Sel[i])
		}
		for k, v := range s.vecs {
			if s.rest[k] = ""; !v.IsNull(row) {
				s.rest[k] = nested.Body(nested.At(v, row).Str)
			}
		}
		for n := int64(1); s.next(); n++ {
			s.rows = append(s.rows, int32(row))
			if s.count != nil {
				s.count.Add(nested.Scalar{Int: n})
			}
			if len(s.rows) >= s.expand.env.BatchRows {
				if err := s.emit(b, emit); err != nil {
					return err
				}
			}
		}
	}
	return s.emit(b, emit)
}

// next takes an element of every list that has one left; it tells whether any had.
func (s *expandStep) next() bool {
	left := false
	for _, r := range s.rest {
		left = left || r != ""
	}
	if !left {
		return false
	}
	for k, r := range s.rest {
		if r == "" {
			s.elems[k].Add(nested.Scalar{Null: true})
			continue
		}
		n := nested.Len(*s.expand.types[k].Elem, r)
		s.elems[k].AddItem(r[:n])
		s.rest[k] = r[n:]
	}
	return true
}

func (s *expandStep) emit(b *vector.Batch, emit Emit) error {
	n := len(s.rows)
	if n == 0 {
		return nil
	}
	if s.lanes == nil {
		s.lanes = make([]lane, len(b.Cols))
	}
	s.out = vector.Batch{Len: n, Cols: s.out.Cols[:0]}
	for i, v := range b.Cols {
		c := newColumn(v.Type)
		c.append(v, s.rows, n)
		c.seal()
		s.out.Cols = append(s.out.Cols, c.window(&s.lanes[i], 0, n, &s.ids))
	}
	for _, e := range s.elems {
		s.out.Cols = append(s.out.Cols, e.Vector())
	}
	if s.count != nil {
		s.out.Cols = append(s.out.Cols, s.count.Vector())
	}
	err := emit(&s.out)
	s.rows = s.rows[:0]
	for _, e := range s.elems {
		e.Reset()
	}
	if s.count != nil {
		s.count.Reset()
	}
	return err
}

func (*expandStep) Flush(context.Context, Emit) error { return nil }
func (*expandStep) Close() error                      { return nil }
