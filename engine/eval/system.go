package eval

import (
	"time"

	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// system compiles functions of no subject, and of the moment.
func (k call) system() (factory, bool, error) {
	switch k.Func {
	case "num_nulls", "num_nonnulls":
		return k.rows(func(n *rowsNode) {
			n.lenient = true
			for range k.args {
				itemOperand(n)
			}
			out := values[int32](n, k.Typ)
			n.row = func(i int) error {
				count := int32(0)
				for j := range k.args {
					if n.null(j, i) == (k.Func == "num_nulls") {
						count++
					}
				}
				out.set(i, count)
				return nil
			}
		}), true, nil
	case "clock_timestamp":
		return k.rows(func(n *rowsNode) {
			n.perRow = true
			out := values[int64](n, k.Typ)
			n.row = func(i int) error {
				out.set(i, time.Now().UnixMicro())
				return nil
			}
		}), true, nil
	case "typeof", "pg_typeof", "arrow_typeof": // which NewCall folds where it is asked
		if len(k.Args) == 1 {
			e, err := expr.NewCall(k.Func, k.Args, k.P)
			if l, ok := e.(*expr.Literal); ok && err == nil && l.Value.Type.Kind == sqltype.Utf8 {
				f, err := constant(l.Value)
				return f, err == nil, err
			}
		}
	}
	return nil, false, nil
}
