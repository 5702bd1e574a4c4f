package expr

import (
	"slices"
	"strings"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

// An AggregateFunction is a function of the rows of a group.
type AggregateFunction struct {
	Name      string // canonical: what an Aggregate holds; wire format
	Aliases   []string
	Overloads []Overload
	Source    string
	Doc       string
}

const postgres9_21 = "PostgreSQL 17 §9.21"

var aggregateList = withMore([]*AggregateFunction{
	{Name: "any_value", Aliases: []string{"arbitrary"}, Overloads: over(with(sameAs(0), Any)), Source: postgres9_21, Doc: "a value of the group that is not NULL"},
	{Name: "avg", Aliases: []string{"mean"}, Overloads: averages(), Source: postgres9_21, Doc: "average of the values that are not NULL"},
	{Name: "bool_and", Aliases: []string{"every"}, Overloads: over(gives(pBool, pBool)), Source: postgres9_21, Doc: "whether all values that are not NULL are true"},
	{Name: "bool_or", Overloads: over(gives(pBool, pBool)), Source: postgres9_21, Doc: "whether some value is true"},
	{Name: "count", Overloads: over(gives(pInt64, Any)), Source: postgres9_21, Doc: "number of values that are not NULL"},
	{Name: "count_star", Overloads: over(gives(pInt64)), Source: postgres9_21, Doc: "number of rows: count(*)"},
	{Name: "max", Overloads: over(with(sameAs(0), Any)), Source: postgres9_21, Doc: "greatest value"},
	{Name: "min", Overloads: over(with(sameAs(0), Any)), Source: postgres9_21, Doc: "least value"},
	{Name: "stddev_pop", Overloads: over(gives(pDouble, pDouble)), Source: postgres9_21, Doc: "standard deviation of the values"},
	{Name: "stddev_samp", Aliases: []string{"stddev"}, Overloads: over(gives(pDouble, pDouble)), Source: postgres9_21, Doc: "standard deviation of the population that the values are a sample of"},
	{Name: "sum", Overloads: sums(), Source: postgres9_21, Doc: "sum of the values that are not NULL; NULL where there is none"},
	{Name: "var_pop", Overloads: over(gives(pDouble, pDouble)), Source: postgres9_21, Doc: "variance of the values"},
	{Name: "var_samp", Aliases: []string{"variance"}, Overloads: over(gives(pDouble, pDouble)), Source: postgres9_21, Doc: "variance of the population that the values are a sample of"},
})

func sums() []Overload {
	rule := func(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return SumType(a[0]), nil }
	var out []Overload
	for _, p := range over(each(1, integers...), each(1, pDecimal, pDouble, pFloat)) {
		out = append(out, with(rule, p.Params...))
	}
	return out
}

func averages() []Overload {
	var out []Overload
	for _, p := range over(each(1, integers...), each(1, pDecimal)) {
		out = append(out, with(averageDecimal, p.Params...))
	}
	return over(out, gives(pDouble, pDouble))
}

func averageDecimal(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) {
	return sqltype.DecimalOf(sqltype.MaxPrecision, max(quotientScale, int(a[0].Scale))), nil
}

var aggregateByName = func() map[string]*AggregateFunction {
	m := map[string]*AggregateFunction{}
	for _, a := range aggregateList {
		m[a.Name] = a
		for _, alias := range a.Aliases {
			m[alias] = a
		}
	}
	return m
}()

// AggregateFunctions are all aggregate functions, ordered by canonical name.
func AggregateFunctions() []*AggregateFunction { return slices.Clone(aggregateList) }

// LookupAggregate finds an aggregate by its canonical name or an alias, in any case; nil where there is none.
func LookupAggregate(name string) *AggregateFunction { return aggregateByName[strings.ToLower(name)] }

// ResolveAggregate is Resolve for an aggregate; count without arguments is count_star.
func ResolveAggregate(name string, args []sqltype.Type, pos sqlerr.Pos) (Signature, error) {
	a := LookupAggregate(name)
	if a == nil {
		return Signature{}, unknownFunction(name, args, pos)
	}
	if a.Name == "count" && len(args) == 0 {
		a = aggregateByName["count_star"]
	}
	sig, ok, err := choose(a.Overloads, args)
	switch {
	case err != nil:
		return Signature{}, sqlerr.At(err, pos)
	case !ok:
		return Signature{}, sqlerr.Newf(sqlerr.UnknownFunction, pos, "function %s(%s) does not exist", name, typeList(args)).
			WithHint("there is %s; an explicit cast may help", overloadList(a.Name, a.Overloads))
	}
	sig.Func = a.Name
	return sig, nil
}

// NewAggregate resolves an aggregate and coerces its arguments. The caller sets DISTINCT, FILTER and ORDER BY.
func NewAggregate(name string, args []Expr, pos sqlerr.Pos) (Aggregate, error) {
	sig, err := ResolveAggregate(name, typesOf(args), pos)
	if err != nil {
		return Aggregate{}, err
	}
	coerced, err := coerceAll(args, sig.Args)
	if err != nil {
		return Aggregate{}, err
	}
	return Aggregate{At: At{pos}, Func: sig.Func, Args: coerced, Typ: sig.Result}, nil
}

// StateSpec is the version of the layout of partial states that StateTypes gives.
const StateSpec = 1

// StateTypes is the types of the columns that hold a partial state of a, in order. The layout is wire format:
// changing it is a protocol bump.
//
//	count, count_star        BIGINT rows
//	sum                      the result's type; NULL where there was no value
//	avg                      the sum (DOUBLE for floats, else as sum's), then BIGINT values
//	min, max, any_value      the value; NULL where there was none
//	bool_and, bool_or        the value
//	stddev*, var*            BIGINT values, DOUBLE mean, DOUBLE sum of squared differences (Welford)
//	corr, covar_*, regr_*    BIGINT pairs, DOUBLE means of y and x, sums of squared differences of y and x, sum of their products
//	bit_*, product           the value; NULL where there was none
//	a user's                 as it says
//
// Only aggregates that HasState names have one.
func StateTypes(a Aggregate) []sqltype.Type {
	if a.User != nil {
		return a.User.State
	}
	bigint, double := sqltype.Of(sqltype.Int64), sqltype.Of(sqltype.Float64)
	switch a.Func {
	case "count", "count_star":
		return []sqltype.Type{bigint}
	case "avg":
		return []sqltype.Type{SumType(a.Args[0].Type()), bigint}
	case "stddev_samp", "stddev_pop", "var_samp", "var_pop":
		return []sqltype.Type{bigint, double, double}
	case "count_if":
		return []sqltype.Type{bigint}
	}
	if Paired(a.Func) {
		return []sqltype.Type{bigint, double, double, double, double, double}
	}
	return []sqltype.Type{a.Typ}
}

// SumType is the type of sum over a column of type t: BIGINT for integers of up to 32 bits, DECIMAL(38,0) for wider ones,
// DECIMAL(38,s) for decimals, the float itself for floats (as PostgreSQL's, whose numeric has no limit of digits).
func SumType(t sqltype.Type) sqltype.Type {
	switch t.Kind {
	case sqltype.Int8, sqltype.Int16, sqltype.Int32, sqltype.Uint8, sqltype.Uint16, sqltype.Uint32:
		return sqltype.Of(sqltype.Int64)
	case sqltype.Int64, sqltype.Uint64:
		return sqltype.DecimalOf(sqltype.MaxPrecision, 0)
	case sqltype.Decimal:
		return sqltype.DecimalOf(sqltype.MaxPrecision, int(t.Scale))
	}
	return t
}
