package bind

import (
	"strconv"

	"github.com/fletchdb/fletch/engine/ast"
	"github.com/fletchdb/fletch/engine/expr"
	"github.com/fletchdb/fletch/engine/logical"
	"github.com/fletchdb/fletch/engine/physical"
	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// An exprBinder binds the expressions of one clause.
type exprBinder struct {
	b      *binder
	scope  *scope
	clause string // for messages: "WHERE"

	// applies takes the subqueries met; the clause's owner puts them onto its plan, in order, below whatever uses the
	// expressions. nil: a subquery cannot stand here.
	applies *[]*logical.Apply
	// group takes the aggregates met; nil: an aggregate cannot stand here.
	group *grouping
	// windows takes the window calls met; nil: one cannot stand here. inWindow is set within one.
	windows  *windowing
	inWindow bool
	// rows takes the lists met whose elements are to be rows; nil: they cannot be here.
	rows *expansion
	// within is set in the list of an unnest: how deep the lists in it are.
	within *int
	// inAggregate is set within the arguments of an aggregate.
	inAggregate bool
	// named is an expression that stands alone under the name as.
	named ast.Expr
	as    string
	// alias resolves names that the scope does not know: ORDER BY's output columns. May be nil.
	alias func(name string) expr.Expr
}

var (
	boolean = sqltype.Of(sqltype.Bool)
	integer = sqltype.Of(sqltype.Int32)
	bigint  = sqltype.Of(sqltype.Int64)
	text    = sqltype.Of(sqltype.Utf8)
)

func nullable(e expr.Expr) bool { return physical.Nullable(e) }

// attach puts applies on top of n.
func attach(n logical.Node, applies []*logical.Apply) logical.Node {
	for _, a := range applies {
		c := *a
		c.Input = n
		n = &c
	}
	return n
}

// condition binds a boolean; what is how PostgreSQL names its place.
func (x *exprBinder) condition(e ast.Expr, what string) (expr.Expr, error) {
	c, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	return toBoolean(c, what, e.At())
}

func toBoolean(c expr.Expr, what string, pos sqlerr.Pos) (expr.Expr, error) {
	if k := c.Type().Kind; k != sqltype.Bool && k != sqltype.Null {
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, pos, "argument of %s must be type %s, not type %s", what, boolean, c.Type()).
			WithHint("compare it with something, or cast it")
	}
	return expr.Coerce(c, boolean, expr.Implicit)
}

// value binds an expression whose type is settled: a bare string is VARCHAR, a bare NULL too.
func (x *exprBinder) value(e ast.Expr) (expr.Expr, error) {
	v, err := x.expr(e)
	if err != nil {
		return nil, err
	}
	return settle(v)
}

func settle(v expr.Expr) (expr.Expr, error) {
	if v.Type().Kind == sqltype.Null {
		return expr.Coerce(v, text, expr.Implicit)
	}
	return v, nil
}

func (x *exprBinder) exprs(list []ast.Expr) ([]expr.Expr, error) {
	out := make([]expr.Expr, len(list))
	for i, e := range list {
		v, err := x.expr(e)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// expr binds e; a bare string or NULL stays of no type until its context says one.
func (x *exprBinder) expr(e ast.Expr) (expr.Expr, error) {
	switch e := e.(type) {
	case *ast.Literal:
		return literal(e)
	case *ast.TypedLiteral:
		t, err := typeName(e.Type)
		if err != nil {
			return nil, err
		}
		return expr.Coerce(expr.Unknown(e.Value, e.Pos), t, expr.Explicit)
	case *ast.Interval:
		return x.interval(e)
	case *ast.ColumnRef:
		return x.column(e)
	case *ast.Param:
		return x.param(e)
	case *ast.Unary:
		return x.unary(e)
	case *ast.Binary:
		return x.binary(e)
	case *ast.And:
		return x.logic(expr.And, e.Args, e.Pos)
	case *ast.Or:
		return x.logic(expr.Or, e.Args, e.Pos)
	case *ast.Not:
		v, err := x.condition(e.Expr, "NOT")
		if err != nil {
			return nil, err
		}
		return expr.NewNot(v), nil
	case *ast.Is:
		return x.is(e)
	case *ast.IsDistinct:
		return x.isDistinct(e)
	case *ast.Between:
		return x.between(e)
	case *ast.InList:
		return x.inList(e)
	case *ast.Like:
		return x.like(e)
	case *ast.Case:
		return x.caseOf(e)
	case *ast.Cast:
		return x.cast(e)
	case *ast.FuncCall:
		return x.call(e)
	case *ast.InSubquery:
		return x.inSubquery(e)
	case *ast.Quantified:
		return x.quantified(e)
	case *ast.Exists:
		return x.exists(e)
	case *ast.ScalarSubquery:
		return x.scalar(e)
	case *ast.Default:
		return nil, sqlerr.New(sqlerr.Syntax, e.Pos, "DEFAULT is not allowed in this context").WithHint("write the value itself")
	case *ast.Collate:
		if n := e.Collation.Last().Name; n == "C" || n == "POSIX" || n == "default" || n == "ucs_basic" {
			return x.expr(e.Expr) // texts compare by their bytes
		}
		return nil, unsupported(e.Pos, "collation %q", e.Collation.String()).WithHint(`texts compare by their bytes, as under "C"`)
	case *ast.Row, *ast.Array, *ast.Struct, *ast.Index, *ast.Slice, *ast.FieldAccess:
		return x.nested(e)
	case *ast.ArraySubquery:
		return nil, unsupported(e.Pos, "an array of a subquery").WithHint("write (SELECT array_agg(x) FROM …)")
	case *ast.Map:
		return nil, unsupported(e.Pos, "a map").WithHint("use a list of structs")
	}
	return nil, unsupported(e.At(), "this expression")
}

func (x *exprBinder) column(e *ast.ColumnRef) (expr.Expr, error) {
	c, err := x.scope.find(e)
	if err != nil {
		if x.alias != nil && len(e.Parts) == 1 && sqlerr.CodeOf(err) == sqlerr.UnknownColumn {
			if a := x.alias(e.Parts[0].Name); a != nil {
				return a, nil
			}
		}
		if len(e.Parts) > 1 {
			if f, ok, ferr := x.structColumn(e); ok {
				return f, ferr
			}
		}
		return nil, err
	}
	at := *c
	at.P = e.Pos
	return &at, nil
}

func (x *exprBinder) param(e *ast.Param) (expr.Expr, error) {
	if e.Number < 1 || e.Number > len(x.b.cfg.Params) {
		name := e.Name
		if name == "" {
			name = strconv.Itoa(e.Number)
		}
		return nil, sqlerr.Newf(sqlerr.InvalidParameter, e.Pos, "there is no parameter $%s", name).WithHint("give a value for each parameter")
	}
	return expr.NewLiteral(x.b.cfg.Params[e.Number-1], e.Pos), nil
}

func literal(e *ast.Literal) (expr.Expr, error) {
	switch e.Kind {
	case ast.NullLiteral:
		return expr.Null(sqltype.Of(sqltype.Null), e.Pos), nil
	case ast.BooleanLiteral:
		return expr.NewLiteral(expr.BoolValue(e.Value == "true"), e.Pos), nil
	case ast.StringLiteral:
		return expr.Unknown(e.Value, e.Pos), nil
	case ast.BinaryLiteral:
		return expr.NewLiteral(expr.Value{Type: sqltype.Of(sqltype.Binary), Str: e.Value}, e.Pos), nil
	}
	v, err := expr.ParseNumber(e.Value)
	if err != nil {
		return nil, sqlerr.At(err, e.Pos)
	}
	return expr.NewLiteral(v, e.Pos), nil
}

func (x *exprBinder) logic(op expr.LogicOp, args []ast.Expr, pos sqlerr.Pos) (expr.Expr, error) {
	list := make([]expr.Expr, len(args))
	for i, a := range args {
		v, err := x.condition(a, op.String())
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	if op == expr.And {
		return expr.NewAnd(list...), nil
	}
	return expr.NewOr(list...), nil
}

func (x *exprBinder) unary(e *ast.Unary) (expr.Expr, error) {
	// A sign before digits is part of the number, or the least BIGINT could not be written.
	if l, ok := e.Expr.(*ast.Literal); ok && e.Op == ast.Sub && (l.Kind == ast.IntegerLiteral || l.Kind == ast.DecimalLiteral || l.Kind == ast.FloatLiteral) {
		v, err := expr.ParseNumber("-" + l.Value)
		if err != nil {
			return nil, sqlerr.At(err, e.Pos)
		}
		return expr.NewLiteral(v, e.Pos), nil
	}
	v, err := x.expr(e.Expr)
	if err != nil {
		return nil, err
	}
	return expr.NewCall(string(e.Op), []expr.Expr{v}, e.Pos)
}

var comparisons = map[ast.Operator]expr.CompareOp{
	ast.Eq: expr.Eq, ast.Ne: expr.Ne, ast.Lt: expr.Lt, ast.Le: expr.Le, ast.Gt: expr.Gt, ast.Ge: expr.Ge,
}

// negated are the operators that are the NOT of another.
var negated = map[ast.Operator]string{
	ast.RegexNotMatch: "~", ast.RegexNotIM: "~*", ast.NotLikeOp: "~~", ast.NotILikeOp: "~~*",
}

func (x *exprBinder) binary(e *ast.Binary) (expr.Expr, error) {
	if l, ok := e.Left.(*ast.Row); ok {
		return x.rowCompare(e, l)
	}
	l, err := x.expr(e.Left)
	if err != nil {
		return nil, err
	}
	r, err := x.expr(e.Right)
	if err != nil {
		return nil, err
	}
	if op, ok := comparisons[e.Op]; ok {
		c, err := expr.NewCompare(op, l, r, e.OpPos)
		return at(c, err, e.Pos)
	}
	name, not := string(e.Op), false
	if n, ok := negated[e.Op]; ok {
		name, not = n, true
	}
	c, err := x.divided(name, []expr.Expr{l, r}, e.OpPos)
	c, err = at(c, err, e.Pos)
	if err != nil || !not {
		return c, err
	}
	return expr.NewNot(c), nil
}

// at gives an expression, which was made at its operator so that errors point there, the place of the whole.
func at(e expr.Expr, err error, pos sqlerr.Pos) (expr.Expr, error) {
	switch e := e.(type) {
	case *expr.Compare:
		e.P = pos
	case *expr.Call:
		e.P = pos
	}
	return e, err
}

// rowCompare compares rows: (a, b) < (c, d) is a < c OR a = c AND b < d, which is NULL where PostgreSQL says so.
func (x *exprBinder) rowCompare(e *ast.Binary, left *ast.Row) (expr.Expr, error) {
	op, ok := comparisons[e.Op]
	right, isRow := e.Right.(*ast.Row)
	if !ok || !isRow {
		return nil, unsupported(e.OpPos, "operator %s of rows", e.Op).WithHint("rows can be compared with =, <>, <, <=, > and >=")
	}
	if len(left.Items) != len(right.Items) {
		return nil, sqlerr.New(sqlerr.Syntax, e.OpPos, "unequal number of entries in row expressions").WithHint("both rows need as many entries")
	}
	strict := op
	switch op {
	case expr.Le:
		strict = expr.Lt
	case expr.Ge:
		strict = expr.Gt
	}
	n := len(left.Items)
	var out expr.Expr
	for i := n - 1; i >= 0; i-- {
		l, err := x.expr(left.Items[i])
		if err != nil {
			return nil, err
		}
		r, err := x.expr(right.Items[i])
		if err != nil {
			return nil, err
		}
		first := strict
		if i == n-1 {
			first = op
		}
		c, err := expr.NewCompare(first, l, r, e.OpPos)
		switch {
		case err != nil:
			return nil, err
		case out == nil:
			out = c
		case op == expr.Eq:
			out = expr.NewAnd(c, out)
		case op == expr.Ne:
			out = expr.NewOr(c, out)
		default:
			equal, err := expr.NewCompare(expr.Eq, l, r, e.OpPos)
			if err != nil {
				return nil, err
			}
			out = expr.NewOr(c, expr.NewAnd(equal, out))
		}
	}
	return out, nil
}

func (x *exprBinder) is(e *ast.Is) (expr.Expr, error) {
	v, err := x.value(e.Expr)
	if err != nil {
		return nil, err
	}
	if e.Test == ast.IsNull {
		return &expr.IsNull{At: expr.At{P: e.Pos}, X: v, Negated: e.Not}, nil
	}
	if v, err = toBoolean(v, "IS "+string(e.Test), e.Expr.At()); err != nil {
		return nil, err
	}
	want := expr.NewLiteral(expr.BoolValue(e.Test == ast.IsTrue), e.Pos)
	switch {
	case e.Test == ast.IsUnknown:
		return &expr.IsNull{At: expr.At{P: e.Pos}, X: v, Negated: e.Not}, nil
	case e.Not:
		return expr.NewCompare(expr.Distinct, v, want, e.Pos)
	}
	return expr.NewCompare(expr.NotDistinct, v, want, e.Pos)
}

func (x *exprBinder) isDistinct(e *ast.IsDistinct) (expr.Expr, error) {
	l, err := x.expr(e.Left)
	if err != nil {
		return nil, err
	}
	r, err := x.expr(e.Right)
	if err != nil {
		return nil, err
	}
	op := expr.Distinct
	if e.Not {
		op = expr.NotDistinct
	}
	return expr.NewCompare(op, l, r, e.Pos)
}

func (x *exprBinder) between(e *ast.Between) (expr.Expr, error) {
	v, err := x.exprs([]ast.Expr{e.Expr, e.Low, e.High})
	if err != nil {
		return nil, err
	}
	within := func(lo, hi expr.Expr) (expr.Expr, error) {
		a, err := expr.NewCompare(expr.Ge, v[0], lo, e.Pos)
		if err != nil {
			return nil, err
		}
		b, err := expr.NewCompare(expr.Le, v[0], hi, e.Pos)
		if err != nil {
			return nil, err
		}
		if e.Not { // not (a and b), spelled so that each is a comparison
			return expr.NewOr(expr.NewNot(a), expr.NewNot(b)), nil
		}
		return expr.NewAnd(a, b), nil
	}
	one, err := within(v[1], v[2])
	if err != nil || !e.Symmetric {
		return one, err
	}
	other, err := within(v[2], v[1])
	if err != nil {
		return nil, err
	}
	if e.Not {
		return expr.NewAnd(one, other), nil
	}
	return expr.NewOr(one, other), nil
}

func (x *exprBinder) inList(e *ast.InList) (expr.Expr, error) {
	if row, ok := e.Expr.(*ast.Row); ok {
		return x.rowIn(e, row)
	}
	v, err := x.expr(e.Expr)
	if err != nil {
		return nil, err
	}
	list, err := x.exprs(e.List)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i] = fold(list[i])
	}
	return expr.NewIn(v, list, e.Not, e.Pos)
}

func (x *exprBinder) rowIn(e *ast.InList, row *ast.Row) (expr.Expr, error) {
	var arms []expr.Expr
	for _, it := range e.List {
		right, ok := it.(*ast.Row)
		if !ok {
			return nil, sqlerr.New(sqlerr.DatatypeMismatch, it.At(), "a row can only be compared with a row").WithHint("write (a, b) IN ((1, 2), …)")
		}
		c, err := x.rowCompare(&ast.Binary{Span: e.Span, Op: ast.Eq, OpPos: it.At(), Left: row, Right: right}, row)
		if err != nil {
			return nil, err
		}
		arms = append(arms, c)
	}
	or := expr.NewOr(arms...)
	if e.Not {
		return expr.NewNot(or), nil
	}
	return or, nil
}

var likeFunctions = map[ast.LikeKind]string{ast.LikePattern: "like", ast.ILikePattern: "ilike", ast.SimilarPattern: "similar_to"}

func (x *exprBinder) like(e *ast.Like) (expr.Expr, error) {
	parts := []ast.Expr{e.Expr, e.Pattern}
	if e.Escape != nil {
		parts = append(parts, e.Escape)
	}
	args, err := x.exprs(parts)
	if err != nil {
		return nil, err
	}
	c, err := expr.NewCall(likeFunctions[e.Kind], args, e.Pos)
	if err != nil || !e.Not {
		return c, err
	}
	return expr.NewNot(c), nil
}

func (x *exprBinder) caseOf(e *ast.Case) (expr.Expr, error) {
	var operand, otherwise expr.Expr
	var err error
	if e.Operand != nil {
		if operand, err = x.expr(e.Operand); err != nil {
			return nil, err
		}
	}
	var whens []expr.When
	for _, w := range e.Whens {
		var cond expr.Expr
		if operand == nil {
			cond, err = x.condition(w.Cond, "CASE/WHEN")
		} else if cond, err = x.expr(w.Cond); err == nil {
			cond, err = expr.NewCompare(expr.Eq, operand, cond, w.Cond.At())
		}
		if err != nil {
			return nil, err
		}
		then, err := x.expr(w.Result)
		if err != nil {
			return nil, err
		}
		whens = append(whens, expr.When{Cond: cond, Then: then})
	}
	if e.Else != nil {
		if otherwise, err = x.expr(e.Else); err != nil {
			return nil, err
		}
	}
	return expr.NewCase(whens, otherwise, e.Pos)
}

func (x *exprBinder) cast(e *ast.Cast) (expr.Expr, error) {
	if digits, precision := wholeDigits(e.Type); digits > 0 {
		return x.castWhole(e, digits, precision)
	}
	t, err := typeName(e.Type)
	if err != nil {
		return nil, err
	}
	v, err := x.expr(e.Expr)
	if err != nil {
		return nil, err
	}
	return expr.NewCast(v, t, e.Try, e.Pos)
}

// wholeDigits is how many digits before the point are zero in DECIMAL(p, −n), and p; zero of any other type.
func wholeDigits(t *ast.TypeName) (digits, precision int) {
	if typeKinds[t.Name] != sqltype.Decimal || len(t.Mods) != 2 || len(t.Dims) > 0 {
		return 0, 0
	}
	p, err1 := strconv.Atoi(t.Mods[0].Value)
	n, err2 := strconv.Atoi(t.Mods[1].Value)
	if err1 != nil || err2 != nil || n >= 0 || n < -sqltype.MaxPrecision || p < 1 || p > sqltype.MaxPrecision {
		return 0, 0
	}
	return -n, p
}

// castWhole is a cast to DECIMAL(p, −n): rounded to tens, hundreds and so on, of p + n digits.
func (x *exprBinder) castWhole(e *ast.Cast, digits, precision int) (expr.Expr, error) {
	v, err := x.expr(e.Expr)
	if err != nil {
		return nil, err
	}
	if v.Type().Kind != sqltype.Decimal {
		exact := sqltype.DecimalOf(sqltype.MaxPrecision, defaultScale)
		if v.Type().IsInteger() {
			exact = sqltype.DecimalOf(20, 0)
		}
		if v, err = expr.NewCast(v, exact, e.Try, e.Pos); err != nil {
			return nil, err
		}
	}
	if v, err = expr.NewCall("round", []expr.Expr{v, expr.NewLiteral(expr.IntValue(integer, -int64(digits)), e.Pos)}, e.Pos); err != nil {
		return nil, err
	}
	return expr.NewCast(v, sqltype.DecimalOf(min(precision+digits, sqltype.MaxPrecision), 0), e.Try, e.Pos)
}
