package expr

import (
	"cmp"
	"slices"

	"github.com/fletchdb/fletch/engine/sqlerr"
	"github.com/fletchdb/fletch/engine/sqltype"
)

const duckdbAggregates = "DuckDB 1.5"

// withMore adds the aggregates over orders, pairs and bits, and puts all in the order of their names.
func withMore(list []*AggregateFunction) []*AggregateFunction {
	list = append(
		list,
		&AggregateFunction{Name: "approx_distinct", Aliases: []string{"approx_count_distinct"}, Overloads: over(gives(pInt64, Any)), Source: duckdbAggregates, Doc: "number of different values, which is exact here"},
		&AggregateFunction{Name: "arg_max", Aliases: []string{"max_by", "argmax"}, Overloads: over(with(sameAs(0), Any, Any)), Source: duckdbAggregates, Doc: "first argument of the row whose second is greatest; rows with NULL do not count"},
		&AggregateFunction{Name: "arg_min", Aliases: []string{"min_by", "argmin"}, Overloads: over(with(sameAs(0), Any, Any)), Source: duckdbAggregates, Doc: "first argument of the row whose second is least; rows with NULL do not count"},
		&AggregateFunction{Name: "array_agg", Aliases: []string{"list"}, Overloads: over(with(listOfFirst, Any)), Source: postgres9_21, Doc: "list of all values, NULL too; NULL where there is no row"},
		&AggregateFunction{Name: "bit_and", Overloads: each(1, integers...), Source: postgres9_21, Doc: "bitwise and of the values"},
		&AggregateFunction{Name: "bit_or", Overloads: each(1, integers...), Source: postgres9_21, Doc: "bitwise or of the values"},
		&AggregateFunction{Name: "bit_xor", Overloads: each(1, integers...), Source: postgres9_21, Doc: "bitwise exclusive or of the values"},
		&AggregateFunction{Name: "count_if", Aliases: []string{"countif"}, Overloads: over(gives(pInt64, pBool)), Source: duckdbAggregates, Doc: "number of rows for which the condition is true"},
		&AggregateFunction{Name: "first", Aliases: []string{"first_value"}, Overloads: over(with(sameAs(0), Any)), Source: duckdbAggregates, Doc: "value of the first row, which ORDER BY says, NULL too"},
		&AggregateFunction{Name: "last", Aliases: []string{"last_value"}, Overloads: over(with(sameAs(0), Any)), Source: duckdbAggregates, Doc: "value of the last row, which ORDER BY says, NULL too"},
		&AggregateFunction{Name: "median", Aliases: []string{"approx_median"}, Overloads: over(gives(pDouble, pDouble)), Source: duckdbAggregates, Doc: "value in the middle of the ordered values, or half way between the two"},
		&AggregateFunction{Name: "mode", Overloads: over(with(sameAs(0), Any)), Source: postgres9_21, Doc: "most frequent value; the first of these in their order"},
		&AggregateFunction{Name: "percentile_cont", Aliases: []string{"quantile_cont"}, Overloads: over(gives(pDouble, pDouble, pDouble)), Source: postgres9_21, Doc: "value at a fraction of the ordered values, from 0 to 1, between two where it falls between them"},
		&AggregateFunction{Name: "percentile_disc", Aliases: []string{"quantile_disc", "quantile"}, Overloads: over(with(sameAs(0), Any, pDouble)), Source: postgres9_21, Doc: "first of the ordered values at or after a fraction, from 0 to 1, of them"},
		&AggregateFunction{Name: "product", Overloads: over(gives(pDouble, pDouble)), Source: duckdbAggregates, Doc: "product of the values that are not NULL"},
		&AggregateFunction{Name: "string_agg", Aliases: []string{"listagg", "group_concat"}, Overloads: over(gives(pText, pText, pText), gives(pBinary, pBinary, pBinary)), Source: postgres9_21, Doc: "values that are not NULL one after the other, with the second argument before each but the first"},
	)
	for name, doc := range map[string]string{
		"corr": "correlation of two numbers", "covar_pop": "covariance of the pairs", "covar_samp": "covariance of the population that the pairs are a sample of",
		"regr_avgx": "average of the second argument over pairs without NULL", "regr_avgy": "average of the first argument over pairs without NULL",
		"regr_intercept": "where the line of least squares through the pairs (second, first) meets the y-axis", "regr_r2": "square of the correlation",
		"regr_slope": "slope of the line of least squares through the pairs (second, first)",
		"regr_sxx":   "sum of the squared differences of the second argument from its average", "regr_syy": "sum of the squared differences of the first argument from its average",
		"regr_sxy": "sum of the products of both arguments' differences from their averages",
	} {
		list = append(list, &AggregateFunction{Name: name, Overloads: over(gives(pDouble, pDouble, pDouble)), Source: postgres9_21, Doc: doc})
	}
	list = append(list, &AggregateFunction{Name: "regr_count", Overloads: over(gives(pInt64, pDouble, pDouble)), Source: postgres9_21, Doc: "number of pairs without NULL"})
	slices.SortFunc(list, func(a, b *AggregateFunction) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func listOfFirst(a []sqltype.Type) (sqltype.Type, *sqlerr.Error) { return sqltype.ListOf(a[0]), nil }

// Ordered tells whether the result of an aggregate function follows from the order of its rows, so that ORDER BY means something.
func Ordered(name string) bool {
	switch name {
	case "array_agg", "string_agg", "first", "last", "mode", "percentile_cont", "percentile_disc":
		return true
	}
	return false
}

// HasState tells whether a can be computed in halves: a partial state holds what its rows amount to. Where not, all rows of a group
// have to be in one place first.
func HasState(a Aggregate) bool {
	if a.User != nil {
		return !a.Distinct
	}
	switch a.Func {
	case "approx_distinct", "arg_max", "arg_min", "median":
		return false
	}
	return !a.Distinct && !Ordered(a.Func)
}

// Paired tells whether an aggregate function is one over pairs of numbers.
func Paired(name string) bool {
	switch name {
	case "corr", "covar_pop", "covar_samp":
		return true
	}
	return len(name) > 5 && name[:5] == "regr_"
}
