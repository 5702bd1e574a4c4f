package ast

import "strconv"

// The levels of precedence, those of package parse and of PostgreSQL.
const (
	lowest = iota
	orLevel
	andLevel
	notLevel
	isLevel
	compareLevel
	likeLevel
	opLevel
	addLevel
	mulLevel
	powLevel
	atLevel
	collateLevel
	signLevel
	postfixLevel
	primaryLevel
)

func operatorLevel(op Operator) int {
	switch op {
	case Eq, Ne, Lt, Le, Gt, Ge:
		return compareLevel
	case Add, Sub:
		return addLevel
	case Mul, Div, IntDiv, Mod:
		return mulLevel
	case Pow:
		return powLevel
	default:
		return opLevel
	}
}

// level is how tightly the outermost operator of e binds.
func level(e Expr) int {
	switch e := e.(type) {
	case *Or:
		return orLevel
	case *And:
		return andLevel
	case *Not:
		return notLevel
	case *Is, *IsDistinct:
		return isLevel
	case *Between, *InList, *InSubquery, *Like:
		return likeLevel
	case *Quantified:
		switch e.Op {
		case LikeOp, ILikeOp, NotLikeOp, NotILikeOp:
			return likeLevel
		}
		return operatorLevel(e.Op)
	case *Binary:
		return operatorLevel(e.Op)
	case *Collate:
		return collateLevel
	case *Unary:
		if e.Op == BitNot {
			return opLevel
		}
		return signLevel
	case *Index, *Slice, *FieldAccess:
		return postfixLevel
	default:
		return primaryLevel
	}
}

// expr writes e, in parentheses if it binds less tightly than min.
func (f *formatter) expr(e Expr, min int) {
	if level(e) < min {
		f.put("(")
		f.bare(e)
		f.put(")")
		return
	}
	f.bare(e)
}

func (f *formatter) exprs(es []Expr) {
	join(f, es, func(e Expr) { f.expr(e, lowest) })
}

// chain writes operands with a word between them.
func (f *formatter) chain(es []Expr, word string, min int) {
	for i, e := range es {
		f.when(i > 0, word)
		f.expr(e, min)
	}
}

// subquery writes a query in parentheses.
func (f *formatter) subquery(q *Query) {
	f.put("(")
	f.query(q)
	f.put(")")
}

func (f *formatter) bare(e Expr) {
	switch e := e.(type) {
	case *Literal:
		f.literal(e)
	case *TypedLiteral:
		f.typeName(e.Type)
		f.put(" ")
		f.str(e.Value)
	case *Interval:
		f.interval(e)
	case *ColumnRef:
		f.parts(e.Parts)
	case *Param:
		if e.Name != "" {
			f.put("$", e.Name)
		} else {
			f.put("$", strconv.Itoa(e.Number))
		}
	case *Default:
		f.put("DEFAULT")
	case *Unary:
		f.put(string(e.Op))
		_, again := e.Expr.(*Unary) // --x would be a comment, ~~x another operator
		switch {
		case again:
			f.expr(e.Expr, primaryLevel)
		case e.Op == BitNot:
			f.expr(e.Expr, opLevel)
		default:
			f.expr(e.Expr, signLevel)
		}
	case *Binary:
		f.binary(e)
	case *And:
		f.chain(e.Args, " AND ", andLevel+1)
	case *Or:
		f.chain(e.Args, " OR ", orLevel+1)
	case *Not:
		f.put("NOT ")
		f.expr(e.Expr, notLevel)
	case *Is:
		f.expr(e.Expr, isLevel)
		f.put(" IS ")
		f.when(e.Not, "NOT ")
		f.put(string(e.Test))
	case *IsDistinct:
		f.expr(e.Left, isLevel)
		f.put(" IS ")
		f.when(e.Not, "NOT ")
		f.put("DISTINCT FROM ")
		f.expr(e.Right, isLevel+1)
	case *Between:
		f.operand(e.Expr, e.Not)
		f.put(" BETWEEN ")
		f.when(e.Symmetric, "SYMMETRIC ")
		f.expr(e.Low, likeLevel+1)
		f.put(" AND ")
		f.expr(e.High, likeLevel+1)
	case *InList:
		f.operand(e.Expr, e.Not)
		f.put(" IN (")
		f.exprs(e.List)
		f.put(")")
	case *InSubquery:
		f.operand(e.Expr, e.Not)
		f.put(" IN ")
		f.subquery(e.Query)
	case *Like:
		f.operand(e.Expr, e.Not)
		f.put(" ", string(e.Kind), " ")
		f.expr(e.Pattern, likeLevel+1)
		if e.Escape != nil {
			f.put(" ESCAPE ")
			f.expr(e.Escape, likeLevel+1)
		}
	case *Quantified:
		f.quantified(e)
	case *Exists:
		f.put("EXISTS ")
		f.subquery(e.Query)
	case *ScalarSubquery:
		f.subquery(e.Query)
	case *ArraySubquery:
		f.put("ARRAY")
		f.subquery(e.Query)
	case *Case:
		f.caseExpr(e)
	case *Cast:
		f.when(e.Try, "TRY_")
		f.put("CAST(")
		f.expr(e.Expr, lowest)
		f.put(" AS ")
		f.typeName(e.Type)
		f.put(")")
	case *Collate:
		f.expr(e.Expr, collateLevel)
		f.put(" COLLATE ")
		f.name(e.Collation)
	case *FuncCall:
		f.call(e)
	case *Row:
		f.when(e.Explicit, "ROW")
		f.put("(")
		f.exprs(e.Items)
		f.put(")")
	case *Array:
		f.put("ARRAY[")
		f.exprs(e.Items)
		f.put("]")
	case *Struct:
		f.put("{")
		join(f, e.Fields, func(s StructField) {
			f.ident(s.Name)
			f.put(": ")
			f.expr(s.Value, lowest)
		})
		f.put("}")
	case *Map:
		f.put("MAP {")
		for i := range e.Keys {
			f.when(i > 0, ", ")
			f.expr(e.Keys[i], lowest)
			f.put(": ")
			f.expr(e.Values[i], lowest)
		}
		f.put("}")
	case *Index:
		f.expr(e.Expr, postfixLevel)
		f.put("[")
		f.expr(e.Index, lowest)
		f.put("]")
	case *Slice:
		f.slice(e)
	case *FieldAccess:
		// Without the parentheses a name before the dot would be a qualifier.
		f.put("(")
		f.expr(e.Expr, lowest)
		f.put(").")
		f.ident(e.Field)
	}
}

// operand writes what a predicate such as IN is about.
func (f *formatter) operand(e Expr, not bool) {
	f.expr(e, likeLevel+1)
	f.when(not, " NOT")
}

func (f *formatter) binary(e *Binary) {
	l := operatorLevel(e.Op)
	left := l
	if l == compareLevel {
		left++ // comparisons do not chain
	}
	if u, ok := e.Left.(*Unary); ok && u.Op == BitNot {
		left++ // ~a || b is ~(a || b)
	}
	f.expr(e.Left, left)
	f.put(" ", string(e.Op), " ")
	f.expr(e.Right, l+1)
}

func (f *formatter) quantified(e *Quantified) {
	l := level(e)
	f.expr(e.Left, l+1)
	switch e.Op {
	case LikeOp:
		f.put(" LIKE ")
	case ILikeOp:
		f.put(" ILIKE ")
	case NotLikeOp:
		f.put(" NOT LIKE ")
	case NotILikeOp:
		f.put(" NOT ILIKE ")
	default:
		f.put(" ", string(e.Op), " ")
	}
	if e.All {
		f.put("ALL ")
	} else {
		f.put("ANY ")
	}
	if e.Query != nil {
		f.subquery(e.Query)
		return
	}
	f.put("(")
	f.expr(e.Array, lowest)
	f.put(")")
}

func (f *formatter) interval(e *Interval) {
	f.put("INTERVAL ")
	if l, ok := e.Value.(*Literal); ok && l.Kind != NullLiteral && l.Kind != BooleanLiteral && l.Kind != BinaryLiteral {
		f.literal(l)
	} else {
		f.put("(")
		f.expr(e.Value, lowest)
		f.put(")")
	}
	if e.From != "" {
		f.put(" ", e.From)
	}
	if e.To != "" {
		f.put(" TO ", e.To)
	}
	if e.Precision >= 0 {
		f.put("(", strconv.Itoa(e.Precision), ")")
	}
}

func (f *formatter) caseExpr(e *Case) {
	f.put("CASE")
	if e.Operand != nil {
		f.put(" ")
		f.expr(e.Operand, lowest)
	}
	for _, w := range e.Whens {
		f.put(" ")
		f.caseWhen(w)
	}
	if e.Else != nil {
		f.put(" ELSE ")
		f.expr(e.Else, lowest)
	}
	f.put(" END")
}

func (f *formatter) caseWhen(w *When) {
	f.put("WHEN ")
	f.expr(w.Cond, lowest)
	f.put(" THEN ")
	f.expr(w.Result, lowest)
}

func (f *formatter) slice(e *Slice) {
	f.expr(e.Expr, postfixLevel)
	f.put("[")
	for i, b := range []Expr{e.Low, e.High, e.Step} {
		if i == 2 && b == nil {
			break
		}
		f.when(i > 0, " : ")
		if b != nil {
			f.expr(b, lowest)
		}
	}
	f.put("]")
}

func (f *formatter) call(e *FuncCall) {
	inside := e.Nulls != NullTreatmentDefault && len(e.Args) > 0
	f.name(e.Name)
	if !e.NoParens {
		f.put("(")
		f.when(e.Star, "*")
		f.when(e.Distinct, "DISTINCT ")
		join(f, e.Args, f.arg)
		if len(e.OrderBy) > 0 {
			f.orderBy(e.OrderBy)
		}
		f.when(inside, " "+string(e.Nulls))
		f.put(")")
	}
	if len(e.WithinGroup) > 0 {
		f.put(" WITHIN GROUP (ORDER BY ")
		join(f, e.WithinGroup, f.orderItem)
		f.put(")")
	}
	if e.Filter != nil {
		f.put(" FILTER (WHERE ")
		f.expr(e.Filter, lowest)
		f.put(")")
	}
	f.when(e.Nulls != NullTreatmentDefault && !inside, " "+string(e.Nulls))
	if e.Over != nil {
		f.put(" OVER ")
		f.window(e.Over)
	}
}

func (f *formatter) arg(a *Arg) {
	if a.Name != nil {
		f.ident(*a.Name)
		f.put(" => ")
	}
	f.expr(a.Value, lowest)
}
