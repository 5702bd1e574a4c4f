package eval

import (
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/vector"
)

// A singleRowNode passes its first operand, and fails where the second, a number of rows, is more than one: it ends a scalar
// subquery whose rows a plan has counted.
type singleRowNode struct {
	in          *instance
	value, rows node
	counts      arg[int64]
	pos         sqlerr.Pos
}

func (k call) singleRow() (factory, error) {
	if len(k.args) != 2 {
		return nil, unsupported(k.Call)
	}
	return func(in *instance) node {
		return &singleRowNode{in: in, value: k.args[0](in), rows: k.args[1](in), pos: k.P}
	}, nil
}

func (n *singleRowNode) eval(f frame) (*vector.Vector, error) {
	rows, err := n.rows.eval(f)
	if err != nil {
		return nil, err
	}
	n.counts.load(rows, f)
	for _, i := range n.in.rows(f) {
		if !rows.IsNull(int(i)) && n.counts.at(int(i)) > 1 {
			return nil, sqlerr.New(sqlerr.Cardinality, n.pos, "more than one row returned by a subquery used as an expression").
				WithHint("add a condition, an aggregate or LIMIT 1 to the subquery")
		}
	}
	return n.value.eval(f)
}
