package bind

import "github.com/fletchdb/fletch/engine/expr"

// fold computes what is constant in e.
func (b *binder) fold(e expr.Expr) (expr.Expr, error) { return e, nil }
