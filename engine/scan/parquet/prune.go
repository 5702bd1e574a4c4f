package parquet

import (
	"strings"

	"github.com/fletchdb/fletch/engine/exec"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// A verdict is what statistics tell of a predicate over the rows of a row group.
type verdict uint8

const (
	maybe  verdict = iota
	never          // true for no row
	always         // true for every row
)

// judge tells what is known of cond over rows rows; stats gives what is known of an input column.
func judge(cond expr.Expr, rows int64, stats func(column int) *Stats) verdict {
	switch e := cond.(type) {
	case *expr.Literal:
		if e.Value.IsTrue() {
			return always
		}
		return never
	case *expr.Logic:
		return judgeLogic(e, rows, stats)
	case *expr.IsNull:
		in, ok := e.X.(*expr.Input)
		if !ok {
			return maybe
		}
		switch nulls := stats(in.Index).NullCount; {
		case nulls < 0 || nulls > 0 && nulls < rows:
			return maybe
		case (nulls == rows) != e.Negated:
			return always
		}
		return never
	case *expr.Compare:
		if in, ok := e.L.(*expr.Input); ok {
			if lit, ok := e.R.(*expr.Literal); ok {
				return judgeCompare(stats(in.Index), rows, e.Op, lit.Value)
			}
		}
		if in, ok := e.R.(*expr.Input); ok {
			if lit, ok := e.L.(*expr.Literal); ok {
				return judgeCompare(stats(in.Index), rows, e.Op.Flip(), lit.Value)
			}
		}
	case *expr.In:
		in, ok := e.X.(*expr.Input)
		if !ok || e.Negated {
			return maybe
		}
		for _, v := range e.List {
			if judgeCompare(stats(in.Index), rows, expr.Eq, v) != never {
				return maybe
			}
		}
		return never
	}
	return maybe
}

func judgeLogic(e *expr.Logic, rows int64, stats func(int) *Stats) verdict {
	settles, other := never, always // of AND: one never settles it, and all always make always
	if e.Op == expr.Or {
		settles, other = always, never
	}
	all := other
	for _, x := range e.Args {
		switch judge(x, rows, stats) {
		case settles:
			return settles
		case maybe:
			all = maybe
		}
	}
	return all
}

func judgeCompare(s *Stats, rows int64, op expr.CompareOp, v expr.Value) verdict {
	if op == expr.NotDistinct && !v.Null {
		op = expr.Eq // as far as a row must be found
	}
	if op > expr.Ge {
		return maybe
	}
	if v.Null || s.NullCount == rows {
		return never
	}
	lo, okLo := 0, false // the column's bounds against v
	if s.HasMin {
		lo, okLo = compare(s.Min, v)
	}
	hi, okHi := 0, false
	if s.HasMax {
		hi, okHi = compare(s.Max, v)
	}
	if isFloat := v.Type.IsFloat(); isFloat && v.Float != v.Float {
		return maybe
	} else if isFloat && op != expr.Eq { // NaN is in no bounds, and above every number
		okHi = false
	}
	total := s.NullCount == 0 && !v.Type.IsFloat() // no row can be other than the bounds say
	switch op {
	case expr.Eq:
		if okLo && lo > 0 || okHi && hi < 0 {
			return never
		}
		if total && okLo && okHi && lo == 0 && hi == 0 {
			return always
		}
	case expr.Ne:
		if okLo && okHi && lo == 0 && hi == 0 {
			return never
		}
		if total && (okLo && lo > 0 || okHi && hi < 0) {
			return always
		}
	case expr.Lt:
		return judgeBounds(okLo && lo >= 0, total && okHi && hi < 0)
	case expr.Le:
		return judgeBounds(okLo && lo > 0, total && okHi && hi <= 0)
	case expr.Gt:
		return judgeBounds(okHi && hi <= 0, total && okLo && lo > 0)
	case expr.Ge:
		return judgeBounds(okHi && hi < 0, total && okLo && lo >= 0)
	}
	return maybe
}

func judgeBounds(isNever, isAlways bool) verdict {
	switch {
	case isNever:
		return never
	case isAlways:
		return always
	}
	return maybe
}

// compare orders two values of one type; ok is false where it cannot.
func compare(a, b expr.Value) (order int, ok bool) {
	if !a.Type.Equal(b.Type) {
		return 0, false
	}
	switch k := a.Type.Kind; {
	case k == sqltype.Decimal:
		return a.Wide.Cmp(b.Wide), true
	case k == sqltype.Utf8 || k == sqltype.Binary:
		return strings.Compare(a.Str, b.Str), true
	case a.Type.IsFloat():
		switch {
		case a.Float < b.Float:
			return -1, true
		case a.Float > b.Float:
			return 1, true
		}
		return 0, a.Float == b.Float
	case k >= sqltype.Uint8 && k <= sqltype.Uint64:
		return order64(uint64(a.Int), uint64(b.Int)), true
	case k == sqltype.Bool || a.Type.IsInteger() || k == sqltype.Date || k == sqltype.Time || k == sqltype.Timestamp || k == sqltype.TimestampTZ:
		return order64(a.Int, b.Int), true
	}
	return 0, false
}

func order64[T int64 | uint64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// excludes tells that no row of a column with s can pass f.
func excludes(f exec.KeyFilter, s *Stats, rows int64) bool {
	if f.Empty() || s.NullCount == rows {
		return true
	}
	lo, hi, ok := f.Range()
	if !ok {
		return false
	}
	if s.HasMin {
		if v, ok := keyOf(s.Min); ok && v > hi {
			return true
		}
	}
	if s.HasMax {
		if v, ok := keyOf(s.Max); ok && v < lo {
			return true
		}
	}
	return false
}

// keyOf is a value as a join key's integer.
func keyOf(v expr.Value) (int64, bool) {
	switch k := v.Type.Kind; {
	case k == sqltype.Decimal:
		return v.Wide.Int64()
	case k == sqltype.Uint64:
		return v.Int, v.Int >= 0
	case v.Type.IsInteger() || k == sqltype.Date || k == sqltype.Timestamp || k == sqltype.TimestampTZ:
		return v.Int, true
	}
	return 0, false
}
