package expr

import (
	"slices"
	"strings"
	"time"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
	"github.com/fletchdb/fletch/engine/vector/int128"
)

// Unknown is a string literal that has no type yet, as every bare '…' in a statement: its type is of kind Null until Coerce,
// or a constructor below, reads it as what its context wants. One that reaches no context is VARCHAR.
func Unknown(text string, pos sqlerr.Pos) *Literal {
	return &Literal{At: At{pos}, Value: Value{Type: sqltype.Of(sqltype.Null), Str: text}}
}

// IsUnknown tells whether e is a string literal that has no type yet.
func IsUnknown(e Expr) bool {
	l, ok := e.(*Literal)
	return ok && l.Value.Type.Kind == sqltype.Null && !l.Value.Null
}

// NewLiteral is a constant at pos.
func NewLiteral(v Value, pos sqlerr.Pos) *Literal { return &Literal{At: At{pos}, Value: v} }

// Null is NULL of type t at pos.
func Null(t sqltype.Type, pos sqlerr.Pos) *Literal { return NewLiteral(NullOf(t), pos) }

// Coerce makes e an expression of type to where SQL does so without being asked: e itself, a literal read as to, or a cast.
// Where that is not allowed in context in it fails with datatype_mismatch; a literal that does not read as to fails with what
// its type says.
func Coerce(e Expr, to sqltype.Type, in CastContext) (Expr, error) {
	from := e.Type()
	if from.Equal(to) {
		return e, nil
	}
	if l, ok := e.(*Literal); ok {
		if l.Value.Null && from.Kind == sqltype.Null {
			return Null(to, l.P), nil
		}
		if IsUnknown(e) {
			v, err := ParseValue(to, l.Value.Str)
			if err != nil {
				return nil, sqlerr.At(err, l.P)
			}
			return NewLiteral(v, l.P), nil
		}
		if v, ok := exactValue(l.Value, to); ok && CastAllowed(from, to, in) {
			return NewLiteral(v, l.P), nil
		}
	}
	if !CastAllowed(from, to, in) {
		if in == Explicit {
			return nil, sqlerr.Newf(sqlerr.CannotCoerce, e.Pos(), "cannot cast type %s to %s", typeText(from), to)
		}
		return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, e.Pos(), "expected type %s but expression is of type %s", to, typeText(from)).
			WithHint("you will need to rewrite or cast the expression")
	}
	return &Cast{At: At{e.Pos()}, X: e, To: to}, nil
}

// exactValue is v as type to, ok only for numbers and only where nothing changes but the type.
func exactValue(v Value, to sqltype.Type) (Value, bool) {
	if v.Null {
		return NullOf(to), true
	}
	if v.Type.Kind == sqltype.Date && to.Kind == sqltype.Timestamp {
		const day = 24 * 3600 * 1e6
		return IntValue(to, v.Int*day), true // 2^31 days of microseconds would not fit, but DATE ends before
	}
	var wide int128.Int128
	scale := 0
	switch {
	case v.Type.Kind == sqltype.Decimal:
		wide, scale = v.Wide, int(v.Type.Scale)
	case v.Type.Kind == sqltype.Uint64:
		wide = int128.FromUint64(uint64(v.Int))
	case v.Type.IsInteger():
		wide = int128.FromInt64(v.Int)
	default:
		return v, false
	}
	switch {
	case to.Kind == sqltype.Decimal:
		r, ok := wide.Rescale(scale, int(to.Scale))
		if !ok || !r.FitsDigits(int(to.Precision)) {
			return v, false
		}
		back, ok := r.Rescale(int(to.Scale), scale)
		return Value{Type: to, Wide: r}, ok && back == wide
	case to.IsInteger():
		r, ok := wide.Rescale(scale, 0)
		if !ok {
			return v, false
		}
		back, ok := r.Rescale(0, scale)
		if !ok || back != wide || !fitsInteger(r, to.Kind) {
			return v, false
		}
		return IntValue(to, int64(r.Lo)), true
	case to.Kind == sqltype.Float64:
		return Value{Type: to, Float: wide.Float64(scale)}, true
	}
	return v, false
}

func fitsInteger(v int128.Int128, k sqltype.Kind) bool {
	bits, signed := intBits(k)
	if !signed {
		return v.Hi == 0 && (bits == 64 || v.Lo>>bits == 0)
	}
	i, ok := v.Int64()
	return ok && i>>(bits-1) == i>>63
}

// NewCast is CAST(x AS to), or TRY_CAST: x itself where it already is of type to, a literal where x is one without type. It
// fails with cannot_coerce where no such cast exists.
func NewCast(x Expr, to sqltype.Type, try bool, pos sqlerr.Pos) (Expr, error) {
	if x.Type().Equal(to) {
		return x, nil
	}
	if l, ok := x.(*Literal); ok && x.Type().Kind == sqltype.Null {
		c, err := Coerce(l, to, Explicit)
		if err != nil && try {
			return Null(to, pos), nil
		}
		return c, err
	}
	if !CastAllowed(x.Type(), to, Explicit) {
		return nil, sqlerr.Newf(sqlerr.CannotCoerce, pos, "cannot cast type %s to %s", typeText(x.Type()), to)
	}
	return &Cast{At: At{pos}, X: x, To: to, Try: try}, nil
}

// NewAnd is the conjunction of args, flattened: TRUE for none, the one where there is one.
func NewAnd(args ...Expr) Expr { return newLogic(And, args) }

// NewOr is the disjunction of args, flattened: FALSE for none, the one where there is one.
func NewOr(args ...Expr) Expr { return newLogic(Or, args) }

func newLogic(op LogicOp, args []Expr) Expr {
	var flat []Expr
	pos := sqlerr.Pos{}
	for _, a := range args {
		pos = pos.To(a.Pos())
		if l, ok := a.(*Logic); ok && l.Op == op {
			flat = append(flat, l.Args...)
			continue
		}
		flat = append(flat, a)
	}
	switch len(flat) {
	case 0:
		return NewLiteral(BoolValue(op == And), pos)
	case 1:
		return flat[0]
	}
	return &Logic{At: At{pos}, Op: op, Args: flat}
}

// Conjuncts are the operands of e where it is an AND, else e alone; none for a nil e or the literal TRUE.
func Conjuncts(e Expr) []Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *Logic:
		if e.Op == And {
			return e.Args
		}
	case *Literal:
		if e.Value.IsTrue() {
			return nil
		}
	}
	return []Expr{e}
}

// NewNot is NOT x, pushed into a comparison, a test or a list where that changes nothing.
func NewNot(x Expr) Expr {
	switch x := x.(type) {
	case *Not:
		return x.X
	case *IsNull:
		c := *x
		c.Negated = !x.Negated
		return &c
	case *In:
		c := *x
		c.Negated = !x.Negated
		return &c
	case *Compare:
		c := *x
		c.Op = x.Op.Negate()
		return &c
	}
	return &Not{At: At{x.Pos()}, X: x}
}

// NewCompare compares l and r in their common type. An integer or decimal literal takes the other side's type where it keeps its value,
// so that a column need not be cast. It fails with undefined_function where the types do not meet.
func NewCompare(op CompareOp, l, r Expr, pos sqlerr.Pos) (Expr, error) {
	l, r = settleUnknown(l, r)
	l, r = fitLiteral(l, r.Type()), fitLiteral(r, l.Type())
	t, ok := CommonType(l.Type(), r.Type())
	if !ok {
		return nil, sqlerr.Newf(sqlerr.UnknownFunction, pos, "operator does not exist: %s %s %s", typeText(l.Type()), op, typeText(r.Type())).
			WithHint("an explicit cast may help")
	}
	if t.Kind == sqltype.Null {
		t = sqltype.Of(sqltype.Utf8)
	}
	both, err := coerceAll([]Expr{l, r}, []sqltype.Type{t, t})
	if err != nil {
		return nil, err
	}
	return &Compare{At: At{pos}, Op: op, L: both[0], R: both[1]}, nil
}

// settleUnknown gives a literal of no type, beside a number, the type that it would have without quotes.
func settleUnknown(l, r Expr) (Expr, Expr) {
	if IsUnknown(l) && r.Type().Kind == sqltype.Decimal {
		l = decimalOf(l.(*Literal))
	}
	if IsUnknown(r) && l.Type().Kind == sqltype.Decimal {
		r = decimalOf(r.(*Literal))
	}
	return l, r
}

func decimalOf(l *Literal) Expr {
	if v, err := ParseNumber(l.Value.Str); err == nil && v.Type.Kind != sqltype.Float64 {
		return NewLiteral(v, l.P)
	}
	return l
}

func fitLiteral(e Expr, t sqltype.Type) Expr {
	l, ok := e.(*Literal)
	if !ok || !t.IsInteger() && t.Kind != sqltype.Decimal || e.Type().IsFloat() {
		return e
	}
	if v, ok := exactValue(l.Value, t); ok {
		return NewLiteral(v, l.P)
	}
	return e
}

// NewIn is x IN (list), or NOT IN: values of one type as an In, others as comparisons joined by OR. An empty list is FALSE.
func NewIn(x Expr, list []Expr, negated bool, pos sqlerr.Pos) (Expr, error) {
	if len(list) == 0 {
		return NewLiteral(BoolValue(negated), pos), nil
	}
	t := x.Type()
	for _, e := range list {
		var ok bool
		if t, ok = CommonType(t, fitLiteral(e, x.Type()).Type()); !ok {
			return nil, sqlerr.Newf(sqlerr.UnknownFunction, e.Pos(), "operator does not exist: %s = %s", typeText(x.Type()), typeText(e.Type())).
				WithHint("an explicit cast may help")
		}
	}
	if t.Kind == sqltype.Null {
		t = sqltype.Of(sqltype.Utf8)
	}
	var values []Value
	var others []Expr
	left, err := Coerce(x, t, Implicit)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		c, err := Coerce(fitLiteral(e, t), t, Implicit)
		if err != nil {
			return nil, err
		}
		if l, ok := c.(*Literal); ok {
			values = append(values, l.Value)
			continue
		}
		others = append(others, &Compare{At: At{e.Pos()}, Op: Eq, L: left, R: c})
	}
	if len(values) > 0 {
		others = append([]Expr{&In{At: At{pos}, X: left, List: values}}, others...)
	}
	e := NewOr(others...)
	if negated {
		return NewNot(e), nil
	}
	return e, nil
}

// NewCase is a searched CASE whose arms are brought to their common type; otherwise may be nil. It fails with
// datatype_mismatch where the arms have none, or where a condition is not BOOLEAN.
func NewCase(whens []When, otherwise Expr, pos sqlerr.Pos) (Expr, error) {
	t := sqltype.Of(sqltype.Null)
	arms := make([]Expr, 0, len(whens)+1)
	if otherwise != nil { // whose type weighs most, as in PostgreSQL: a struct has its order of fields
		arms = append(arms, otherwise)
	}
	for _, w := range whens {
		arms = append(arms, w.Then)
	}
	for _, a := range arms {
		common, ok := CommonType(t, a.Type())
		if !ok {
			return nil, sqlerr.Newf(sqlerr.DatatypeMismatch, a.Pos(), "CASE types %s and %s cannot be matched", typeText(t), typeText(a.Type())).
				WithHint("cast one of them")
		}
		t = common
	}
	if t.Kind == sqltype.Null {
		t = sqltype.Of(sqltype.Utf8)
	}
	c := &Case{At: At{pos}, Typ: t, Whens: make([]When, len(whens))}
	for i, w := range whens {
		cond, err := Coerce(w.Cond, boolean, Implicit)
		if err != nil {
			return nil, err
		}
		then, err := Coerce(w.Then, t, Implicit)
		if err != nil {
			return nil, err
		}
		c.Whens[i] = When{cond, then}
	}
	if otherwise != nil {
		e, err := Coerce(otherwise, t, Implicit)
		if err != nil {
			return nil, err
		}
		c.Else = e
	}
	return c, nil
}

var comparisons = map[string]CompareOp{"=": Eq, "<>": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge}

// NewCall is a call of a scalar function or operator, resolved and with its arguments coerced: a Compare for a comparison, a Case
// for if, the field's own function for extract, a constant for typeof, else a Call. NOT LIKE and the other negations are the
// binder's NewNot.
func NewCall(name string, args []Expr, pos sqlerr.Pos) (Expr, error) {
	f := LookupFunction(name)
	if f == nil {
		return newCall(name, args, pos)
	}
	if op, ok := comparisons[f.Name]; ok && len(args) == 2 {
		return NewCompare(op, args[0], args[1], pos)
	}
	if len(args) == 2 && f.Operator {
		args = append([]Expr(nil), args...)
		args[0], args[1] = settleUnknown(args[0], args[1])
	}
	switch f.Name {
	case "typeof", "pg_typeof", "arrow_typeof":
		if len(args) == 1 {
			t := args[0].Type()
			if IsUnknown(args[0]) && f.Name != "pg_typeof" {
				t = sqltype.Of(sqltype.Utf8)
			}
			name := t.String()
			switch f.Name {
			case "pg_typeof":
				name = postgresName(t)
			case "arrow_typeof":
				name = arrowName(t)
			}
			return NewLiteral(StringValue(name), pos), nil
		}
	case "arrow_cast":
		if len(args) == 2 {
			return newArrowCast(args, pos)
		}
	case "named_struct":
		return newNamedStruct(args, pos)
	case "struct_extract":
		return newStructExtract(args, pos)
	}
	return newCall(name, args, pos)
}

func newArrowCast(args []Expr, pos sqlerr.Pos) (Expr, error) {
	l, ok := args[1].(*Literal)
	if !ok || l.Value.Null {
		return nil, sqlerr.New(sqlerr.InvalidParameter, args[1].Pos(), "the type of arrow_cast must be a constant")
	}
	t, ok := parseArrowName(l.Value.Str, 0)
	if !ok {
		return nil, sqlerr.Newf(sqlerr.InvalidParameter, l.P, "no Arrow type %q", l.Value.Str).WithHint("types are written as arrow_typeof does, such as 'Int32' or 'Decimal128(10, 2)'")
	}
	if args[0].Type().IsInteger() {
		if e, err := arrowInstant(args[0], t, l.Value.Str, pos); e != nil || err != nil {
			return e, err
		}
	}
	return NewCast(args[0], t, false, pos)
}

// arrowInstant is the date or time that an integer is in Arrow: so many days or parts of a second since 1970, or since midnight. It is
// nil where t is neither.
func arrowInstant(n Expr, t sqltype.Type, name string, pos sqlerr.Pos) (Expr, error) {
	from := "to_timestamp_micros"
	switch {
	case name == "Date64", strings.Contains(name, "Millisecond"), strings.Contains(name, "(ms"):
		from = "to_timestamp_millis"
	case strings.Contains(name, "Nanosecond"), strings.Contains(name, "(ns"):
		from = "to_timestamp_nanos"
	case strings.Contains(name, "(Second"), strings.Contains(name, "(s"):
		from = "to_timestamp_seconds"
	}
	switch t.Kind {
	case sqltype.Date:
		epoch := NewLiteral(IntValue(t, 0), pos)
		days, err := NewCast(n, sqltype.Of(sqltype.Int32), false, pos)
		if err != nil {
			return nil, err
		}
		return newCall("+", []Expr{epoch, days}, pos)
	case sqltype.Time, sqltype.Timestamp, sqltype.TimestampTZ:
		at, err := newCall(from, []Expr{n}, pos)
		if err != nil {
			return nil, err
		}
		return NewCast(at, t, false, pos)
	}
	return nil, nil
}

func newCall(name string, args []Expr, pos sqlerr.Pos) (Expr, error) {
	sig, err := Resolve(name, typesOf(args), pos)
	if err != nil {
		return nil, err
	}
	for i, a := range args { // an element that nothing gives a type is text
		if sig.Args[i].Kind == sqltype.Null && IsUnknown(a) {
			args = append([]Expr(nil), args...)
			for k, b := range args {
				if sig.Args[k].Kind == sqltype.Null && IsUnknown(b) {
					args[k] = NewLiteral(StringValue(b.(*Literal).Value.Str), b.Pos())
				}
			}
			return newCall(name, args, pos)
		}
	}
	coerced := make([]Expr, len(args))
	for i, a := range args {
		in := Implicit
		if sig.Args[i].Kind == sqltype.Utf8 {
			in = Explicit // AsText; other overloads were matched by what is implicit
		}
		if coerced[i], err = Coerce(a, sig.Args[i], in); err != nil {
			return nil, err
		}
	}
	switch sig.Func {
	case "if":
		return &Case{At: At{pos}, Whens: []When{{coerced[0], coerced[1]}}, Else: coerced[2], Typ: sig.Result}, nil
	case "extract", "date_part":
		return newExtract(sig, coerced, pos)
	case "nvl2":
		given := &IsNull{At: At{coerced[0].Pos()}, X: coerced[0], Negated: true}
		return &Case{At: At{pos}, Whens: []When{{given, coerced[1]}}, Else: coerced[2], Typ: sig.Result}, nil
	case "age":
		if len(coerced) == 1 { // from the midnight at which the query's day began
			var today Expr = &Call{At: At{pos}, Func: "current_date", Typ: sqltype.Of(sqltype.Date)}
			coerced = []Expr{&Cast{At: At{pos}, X: today, To: sig.Args[0]}, coerced[0]}
		}
	case "||":
		switch l, r := sig.Args[0].Kind == sqltype.List, sig.Args[1].Kind == sqltype.List; {
		case l && r && sig.Args[0].Equal(sig.Args[1]):
			sig.Func = "array_cat"
		case l && sig.Args[0].Equal(sig.Result):
			sig.Func = "array_append"
		case r:
			sig.Func = "array_prepend"
		}
	case "+":
		if len(coerced) == 1 {
			return coerced[0], nil
		}
	case "round", "trunc":
		// A constant number of digits is the result's scale, as PostgreSQL shows it.
		if l, ok := coerced[len(coerced)-1].(*Literal); ok && len(coerced) == 2 && sig.Result.Kind == sqltype.Decimal && !l.Value.Null {
			of := sig.Args[0]
			scale := int(min(max(l.Value.Int, 0), int64(of.Scale)))
			sig.Result = sqltype.DecimalOf(min(int(of.Precision)-int(of.Scale)+scale+1, sqltype.MaxPrecision), scale)
		}
	}
	return &Call{At: At{pos}, Func: sig.Func, Args: coerced, Typ: sig.Result}, nil
}

// extractFields gives, for each field that EXTRACT knows, the function that computes it.
var extractFields = map[string]string{
	"year": "year", "y": "year", "years": "year", "month": "month", "months": "month", "mon": "month", "day": "day", "days": "day", "d": "day",
	"hour": "hour", "hours": "hour", "h": "hour", "minute": "minute", "minutes": "minute", "min": "minute", "m": "minute",
	"second": "extract_second", "seconds": "extract_second", "sec": "extract_second", "s": "extract_second",
	"millisecond": "extract_millisecond", "milliseconds": "extract_millisecond", "ms": "extract_millisecond",
	"microsecond": "microsecond", "microseconds": "microsecond", "us": "microsecond",
	"epoch": "extract_epoch", "quarter": "quarter", "decade": "decade", "decades": "decade", "century": "century", "centuries": "century",
	"millennium": "millennium", "millennia": "millennium", "week": "week", "weeks": "week", "dow": "dow", "isodow": "isodow", "doy": "doy",
	"isoyear": "isoyear", "julian": "julian",
}

func newExtract(sig Signature, args []Expr, pos sqlerr.Pos) (Expr, error) {
	l, ok := args[0].(*Literal)
	if !ok || l.Value.Null {
		return nil, sqlerr.New(sqlerr.InvalidParameter, args[0].Pos(), "the field of "+sig.Func+" must be a constant")
	}
	field := strings.ToLower(l.Value.Str)
	fn, ok := extractFields[field]
	if !ok {
		names := make([]string, 0, len(extractFields))
		for n := range extractFields {
			names = append(names, n)
		}
		slices.Sort(names)
		err := sqlerr.Newf(sqlerr.InvalidParameter, l.P, "unit %q not recognized for type %s", l.Value.Str, args[1].Type())
		if near := nearest(field, names); near != "" {
			err = err.WithHint("did you mean %q?", near)
		}
		return nil, err
	}
	fieldSig, err := Resolve(fn, typesOf(args[1:]), pos)
	if err != nil {
		return nil, sqlerr.Newf(sqlerr.Unsupported, l.P, "unit %q not supported for type %s", l.Value.Str, args[1].Type())
	}
	x, err := Coerce(args[1], fieldSig.Args[0], Implicit)
	if err != nil {
		return nil, err
	}
	var e Expr = &Call{At: At{pos}, Func: fieldSig.Func, Args: []Expr{x}, Typ: fieldSig.Result}
	if sig.Func == "date_part" {
		e = &Cast{At: At{pos}, X: e, To: sig.Result}
	}
	return e, nil
}

// StableValue is the value that a Stable function of no arguments has in a query that started at start; ok is false for other
// functions.
func StableValue(name string, start time.Time) (Value, bool) {
	start = start.UTC()
	switch name {
	case "now":
		return IntValue(sqltype.Of(sqltype.TimestampTZ), start.UnixMicro()), true
	case "localtimestamp":
		return IntValue(sqltype.Of(sqltype.Timestamp), start.UnixMicro()), true
	case "current_date":
		midnight := time.Date(start.Year(), start.Month(), start.Day(), 0, 0, 0, 0, time.UTC)
		return IntValue(sqltype.Of(sqltype.Date), midnight.Unix()/86400), true
	case "localtime":
		return IntValue(sqltype.Of(sqltype.Time), start.UnixMicro()-start.Truncate(24*time.Hour).UnixMicro()), true
	case "version":
		return StringValue("Fletch"), true
	case "current_schema":
		return StringValue("public"), true
	case "current_catalog", "current_user":
		return StringValue("fletch"), true
	}
	return Value{}, false
}

// SettleStable is e with the value of each Stable function in it, as StableValue gives it.
func SettleStable(e Expr, start time.Time) Expr {
	if c, ok := e.(*Call); ok && len(c.Args) == 0 && c.User == nil {
		if v, ok := StableValue(c.Func, start); ok {
			return NewLiteral(v, c.P)
		}
		return e
	}
	return Map(e, func(x Expr) Expr { return SettleStable(x, start) })
}

// IsVolatile tells whether some call in e may give another result each time, so that e must not be moved, merged or folded.
func IsVolatile(e Expr) bool { return !all(e, Stable) }

// IsImmutable tells whether e depends on nothing but its columns and parameters.
func IsImmutable(e Expr) bool { return all(e, Immutable) }

func all(e Expr, most Volatility) bool {
	ok := true
	Walk(e, func(x Expr) bool {
		if c, isCall := x.(*Call); isCall {
			ok = ok && c.volatility() <= most
		}
		return ok
	})
	return ok
}

func typesOf(args []Expr) []sqltype.Type {
	out := make([]sqltype.Type, len(args))
	for i, a := range args {
		out[i] = a.Type()
	}
	return out
}

func coerceAll(args []Expr, to []sqltype.Type) ([]Expr, error) {
	out := make([]Expr, len(args))
	for i, a := range args {
		c, err := Coerce(a, to[i], Implicit)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}
