package bind

import (
	"github.com/fletchdb/fletch/engine/eval"
	"github.com/fletchdb/fletch/engine/expr"
)

// fold computes what is constant in e; what fails stays, for its row may never come.
func fold(e expr.Expr) expr.Expr { return eval.Fold(e) }
