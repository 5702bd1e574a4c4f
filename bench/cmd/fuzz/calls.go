package main

import (
	"regexp"
	"strings"
)

// callText is how calls of functions are written, a line each: the kind of the result, and the text with its arguments. {int} is an
// expression of that kind, {int!} a column of it that arithmetic does not overflow, {int.} a column or a constant, {asc} text of ASCII
// characters, {1|2} one of the constants. A line that begins with − is of a function, or a form, that DuckDB does not have.
const callText = `
int length({txt})
int octet_length({txt})
int bit_length({txt})
int ascii({txt})
int unicode({txt})
int strpos({txt}, {txt.})
int position({txt.} IN {txt})
int levenshtein({asc}, {asc})
int damerau_levenshtein({asc}, {asc})
int hamming(lpad({asc}, 3, 'x'), lpad({asc}, 3, 'y'))
int extract({year|month|day|dow|doy|quarter|week|isodow|isoyear|century|decade|millennium} FROM {date})
int extract({hour|minute|year|month|day|week|dow} FROM {ts})
int extract({hour|minute} FROM {time})
int {year|month|day|quarter|week|isodow|dow|doy|isoyear|century|decade|millennium|yearweek|julian}({date})
int {year|month|day|hour|minute|week|dow|doy}({ts})
int {second|millisecond|microsecond}({ts})
int {hour|minute}({time})
int {epoch_ms|epoch_us}({ts!})
int epoch_ns({ts!})
int date_diff('{day|month|year|week|quarter}', {date}, {date})
int date_diff('{hour|day|month|minute}', {ts!}, {ts!})
int date_sub('{month|year|day|hour}', {ts!}, {ts!})
int ({date} - {date})
int extract({year|month|day|hour} FROM {ivl})
int {year|month|day|hour|minute}({ivl})
int TRY_CAST({txt} AS {INTEGER|BIGINT|SMALLINT})
int TRY_CAST({dbl} AS {INTEGER|BIGINT|SMALLINT})
int TRY_CAST({dec} AS {INTEGER|BIGINT|SMALLINT})
int CAST({bool} AS INTEGER)
int abs({int!})
int CAST(sign({int!}) AS INTEGER)
int bit_count(CAST({int} AS BIGINT))
int gcd({int!}, {int!})
int lcm({int!}, {int!})
int CAST(factorial({0|1|5|12}) AS BIGINT)
int ({int!} {+|-|*} {int!})
int ({int!} {+|-|*} {int!})
int ({int!} {/|%|//} nullif({int!}, 0))
int (- {int!})
int ({int!} {&|"|"} {int!})
int xor({int!}, {int!})
int ({int!} >> {0|1|3})
int (~ {int!})
int len({ints})
int array_length({ints}, 1)
int list_position({ints}, {int!})
int list_unique({ints})
int list_count({ints})
int list_min({ints})
int list_max({ints})
int CAST(list_sum({ints}) AS BIGINT)
int list_extract({ints}, {1|2|-1|5})
int list_first({ints})
int list_last({ints})
-int ({int!} # {int!})
-int ({int!} << {0|1|3})
-int width_bucket({dbl}, 0.0, 10.0, 5)
-int regexp_count({txt}, '{a|[ab]|x?}')
-int regexp_instr({txt}, '{a|[ab]|b+}')
-int num_nulls({int}, {txt}, {dbl})
-int num_nonnulls({int}, {txt}, {dbl})
-int scale({dec})
-int min_scale({dec})
-int find_in_set({txt}, 'a,b,ab')
-int cardinality({ints})
-int array_lower({ints}, 1)
-int array_upper({ints}, 1)
-int array_ndims({ints})
-int {crc32|crc32c}({txt})
-int get_byte({bin} || '\x00'::BYTEA, 0)
-int get_bit({bin} || '\x05'::BYTEA, {0|2})
-int to_unixtime({ts!})
-int bit_length({bin})

dec CAST({dec!} {+|-|*} {dec!} AS DECIMAL(18,2))
dec CAST({dec!} {+|-} {int!} AS DECIMAL(18,2))
dec CAST({dec!} {+|-|*} {0.001|1.23456} AS DECIMAL(18,2))
dec CAST(round({dec}, {0|1|2}) AS DECIMAL(18,2))
dec CAST(round({dec}) AS DECIMAL(18,2))
dec CAST({int!} AS DECIMAL(18,2))
dec CAST({abs|floor|ceil|trunc}({dec}) AS DECIMAL(18,2))
dec TRY_CAST({txt} AS DECIMAL(12,2))
dec (- {dec!})
-dec CAST({dec!} % nullif({dec!}, 0) AS DECIMAL(18,2))
-dec CAST(trunc({dec}, 1) AS DECIMAL(18,2))
-dec CAST(to_number('12.5', '99.9') AS DECIMAL(18,2))
-dec CAST(extract({second|milliseconds} FROM {ts}) AS DECIMAL(18,2))

dbl ({dbl!} {+|-|*} {dbl!})
dbl ({dbl!} / nullif({dbl!}, 0))
dbl CAST({int} AS DOUBLE PRECISION)
dbl CAST({dec} AS DOUBLE PRECISION)
dbl {abs|floor|ceil|trunc|round|even|degrees|radians|cbrt|sign}({dbl})
dbl sqrt(abs({dbl}))
dbl {sin|cos|tan|atan|sinh|cosh|tanh|asinh|exp}({dbl!} / 100)
dbl {asin|acos|atanh}({dbl!} / 1000)
dbl acosh(abs({dbl!}) + 1)
dbl {ln|log|log2|log10}(abs({dbl!}) + 1)
dbl cot(abs({dbl!}) + 1)
dbl atan2({dbl!}, abs({dbl!}) + 1)
dbl power(abs({dbl!}), {2|0.5|0})
dbl lgamma(abs({dbl!}) + 1)
dbl gamma(abs({dbl!}) / 20 + 1)
dbl nextafter({dbl!}, 1e9)
dbl pi()
dbl {jaccard|jaro_similarity|jaro_winkler_similarity}(concat({asc}, 'a'), concat({asc}, 'b'))
dbl TRY_CAST({txt} AS DOUBLE PRECISION)
dbl CAST(extract(epoch FROM {ts}) AS DOUBLE PRECISION)
dbl epoch({ts!})
dbl date_part('{year|hour|day}', {ts})
dbl list_avg({ints})
-dbl {asind|acosd|atand}({dbl!} / 1000)
-dbl {sind|cosd|tand}({dbl!} / 1000)
-dbl {erf|erfc}({dbl!} / 1000)
-dbl cotd(abs({dbl!}) + 1)
-dbl atan2d({dbl!}, {dbl!})
-bool signbit({dbl})
-dbl nanvl({dbl}, 0.0)
-dbl round({dbl!}, 1)

txt ({txt} || {txt})
txt {upper|lower|trim|ltrim|rtrim|md5|sha1|sha256|hex|strip_accents|url_encode}({txt})
txt {ltrim|rtrim|trim}({txt}, '{ab|a |x}')
txt substring({txt}, {1|2|4}{|, 2|, 0})
txt substring({txt} FROM {1|3} FOR {2|0})
txt {left|right}({txt}, {0|1|2|-1})
txt replace({txt}, {'a'|'b'|'ab'}, {txt.})
txt {lpad|rpad}({txt}, {0|2|5}, {'xy'|' '})
txt CAST({int} AS VARCHAR)
txt CAST(greatest({date}, DATE '0001-01-01') AS VARCHAR)
txt CAST({bool} AS VARCHAR)
txt concat({txt}, {txt}, {int})
txt concat_ws({'-'|''}, {txt}, {txt})
txt split_part({txt}, {'a'|' '|'_'}, {1|2})
txt regexp_replace({txt}, {'[ab]+'|'^.'|'x?'}, 'R'{|, 'g'})
txt regexp_extract({txt}, {'[ab]+'|'^.'|'(a)(b)?'}{|, 0})
txt repeat({txt}, {0|2})
txt reverse({txt})
txt translate({txt}, 'abé', 'xy')
txt chr({65|233|26085})
txt to_hex(CAST({int!} AS BIGINT))
txt bin(CAST({int!} AS BIGINT))
txt url_decode(url_encode({txt}))
txt to_base64({bin})
txt {dayname|monthname}({date})
txt strftime({ts}, '{%Y-%m-%d|%H:%M|%j|%d/%m/%y}')
txt array_to_string({txts}, '{,|}')
txt list_extract({txts}, {1|2})
txt typeof({txt.})
txt regexp_escape({txt})
txt if({bool}, {txt}, {txt})
txt ifnull({txt}, {txt})
-txt iff({bool}, {txt}, {txt})
-txt initcap({txt})
-txt to_oct({int!})
-txt format('%s-%s', {txt}, {int})
-txt {quote_ident|quote_literal|quote_nullable|soundex}({txt})
-txt overlay({txt} PLACING 'xx' FROM 2 FOR 1)
-txt substring_index({txt}, 'a', {1|-1})
-txt regexp_substr({txt}, '[ab]+')
-txt to_char({ts}, '{YYYY-MM-DD|HH24:MI|Day|DDD}')
-txt to_char({dec}, '{999.99|FM0.0|S99}')
-txt {pg_typeof|arrow_typeof}({txt})
-txt encode({bin}, '{hex|base64}')
-txt convert_from({bin}, 'UTF8')
-txt nvl2({int}, {txt}, {txt})
-txt unistr('\0041')
-txt struct_extract(named_struct('a', {txt}, 'b', {int}), 'a')
-txt struct_extract(row({int}, {txt}), 2)
-txt array_dims({ints})
-txt {sha224|sha384|sha512}({txt})
-txt arrow_cast({txt}, 'LargeUtf8')
-txt encode({txt}, 'hex')

date make_date({2020|1999}, {1|2|12}, {1|28})
date last_day({date!})
date CAST({ts} AS DATE)
date ({date!} {+|-} {0|1|30})
date CAST({date!} + {ivl} AS DATE)
date CAST(date_trunc('{month|year|week|quarter|decade}', {date!}) AS DATE)
date least(DATE '2300-01-01', {date})
date TRY_CAST({txtconst} AS DATE)
-date to_date('2020-02-29', 'YYYY-MM-DD')

ts date_trunc('{month|year|week|hour|day|quarter|minute|second}', {ts})
ts CAST({date} AS TIMESTAMP)
ts ({ts!} {+|-} INTERVAL '{1 month|3 days|90 minutes|1 year}')
ts ({ts!} {+|-} {ivl})
ts date_add({ts!}, INTERVAL '{1 day|2 months}')
ts make_timestamp({2020|1970}, {1|12}, {1|28}, {0|23}, {0|59}, {0|12.5})
ts strptime('{2020-02-29|1999-12-31}', '%Y-%m-%d')
ts try_strptime({txt}, '%Y-%m-%d')
ts timezone('{UTC|Europe/Berlin}', {tz})
ts epoch_ms(CAST({int!} AS BIGINT))
ts make_timestamp_us(CAST({int!} AS BIGINT))
-ts date_bin(INTERVAL '15 minutes', {ts!}, TIMESTAMP '2001-01-01 00:00:00')
-ts {to_timestamp_seconds|to_timestamp_millis|to_timestamp_nanos}({int!})

time CAST({ts} AS TIME)
time make_time({0|23}, {0|59}, {0|12.5})
time (TIME '12:34:56' {+|-} INTERVAL '{1 hour|30 minutes}')

tz CAST({ts} AS TIMESTAMP WITH TIME ZONE)
tz ({ts} AT TIME ZONE '{UTC|Europe/Berlin}')
tz to_timestamp({0|1.5|1e9})
-tz make_timestamptz(2020, 2, 29, 1, 2, 3.5)

ivl {to_days|to_months|to_hours}({0|1|3|-2})
ivl {to_minutes|to_years|to_weeks}({0|1|3|-2})
ivl {to_decades|to_centuries|to_millennia|to_quarters}({0|1|3|-2})
ivl {to_seconds|to_milliseconds|to_microseconds}({0|1|3000})
ivl ({ts!} - {ts!})
ivl age({ts!}, {ts!})
ivl INTERVAL '{1 day|2 months|36 hours|-1 day}'
ivl ({ivl} + {ivl})
ivl ({ivl} * {2|-1})
-ivl make_interval({0|1|2}, {0|3})
-ivl {justify_days|justify_hours|justify_interval}({ivl})
-ivl date_trunc('day', {ivl})

bin unhex(hex({txt}))
bin from_base64(to_base64({bin}))
-bin convert_to({txt}, 'UTF8')
-bin decode('{00ff|616263}', 'hex')
-bin ({bin} || {bin})
-bin substring({bin}, {1|2}, 2)
-bin reverse({bin})
-bin set_byte('\x0102'::BYTEA, 1, 255)
-bin set_bit('\x0102'::BYTEA, 3, 1)
-bin {sha256|sha1}({bin})

ints list_value({int!}, {int!})
ints list_value({int!}, {int!}, {int!})
ints array_append({ints}, {int!})
ints array_prepend({int!}, {ints})
ints list_concat({ints}, {ints})
ints list_sort(list_distinct({ints}))
ints {list_sort|list_reverse_sort|list_reverse}({ints})
ints list_slice({ints}, {1|2}, {2|3})
ints {range|generate_series}({0|1}, {3|5})
ints list_resize({ints}, {1|4})
ints {array_pop_back|array_pop_front}({ints})
ints flatten(list_value({ints}, {ints}))
-ints array_remove({ints}, {int!})
-ints list_intersect({ints}, {ints})
-ints array_except({ints}, {ints})
-ints array_union({ints}, {ints})
-ints array_positions({ints}, {int!})
-ints array_replace({ints}, {int!}, 7)
-ints array_repeat({int!}, {0|2})
-ints array_fill({int!}, list_value(2))
-ints trim_array(list_value({int!}, {int!}), 1)

txts list_value({txt}, {txt})
txts string_split({txt}, '{a|b| }')
txts regexp_extract_all({txt}, '{[ab]|a}')
txts regexp_split_to_array({txt}, '{a|b+}')
-txts string_to_array({txt}, '{a| }')
-txts regexp_match({txt}, '([ab])(.)?')

bool {starts_with|ends_with|contains}({txt}, {txt.})
bool ({txt} {LIKE|NOT LIKE|ILIKE} {'a%'|'%b'|'_'|'%a_%'|''})
bool ({txt} LIKE '{a!%b|%!_%|a!_b}' ESCAPE '!')
bool ('a%b' LIKE {'a!%b'|'%!%%'|'%!_%'} ESCAPE '!')
bool ('x' || {txt} LIKE '{x!%%|x!_%|xa!%%}' ESCAPE '!')
bool regexp_matches({txt}, '{^a|b$|[0-9]|^$}')
bool regexp_full_match({txt}, '{a.*|[a-z]+|}')
bool {isnan|isinf|isfinite}({dbl})
bool signbit({dbl!} + 0.1)
bool isfinite({date})
bool list_contains({ints}, {int!})
bool {list_has_any|list_has_all}({ints}, {ints})
bool ({ints} {=|<|>=} {ints})
-bool ({ints} {&&|@>|<@} {ints})
bool ({time} {=|<|>=} {time})
bool ({tz} {=|<|>=} {tz})
bool ({ivl} {=|<|>=} {ivl})
bool ({bin} {=|<|>=} {bin})
bool TRY_CAST('{true|f|x|1}' AS BOOLEAN)
-bool TRY_CAST({txt} AS BOOLEAN)
-bool ({txt} {~|~*} '{^a|b$|[0-9]}')
-bool ({txt} SIMILAR TO '{a%|[ab]+}')
-bool iszero({dbl})
-bool empty({ints})
`

// A call is a line of callText: text and placeholders in turn.
type call []string

// calls are the calls that give one kind, those that DuckDB has and those that only Fletch has.
type calls struct{ common, own []call }

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// callsOf are the calls by the kind of their result.
var callsOf = func() map[kind]*calls {
	out := map[kind]*calls{}
	for line := range strings.Lines(callText) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, own := strings.CutPrefix(line, "-")
		k, text, _ := strings.Cut(text, " ")
		var c call
		at := 0
		for _, m := range placeholder.FindAllStringIndex(text, -1) {
			c = append(c, text[at:m[0]], text[m[0]+1:m[1]-1])
			at = m[1]
		}
		c = append(c, text[at:])
		of := out[kind(k)]
		if of == nil {
			of = &calls{}
			out[kind(k)] = of
		}
		if own {
			of.own = append(of.own, c)
		} else {
			of.common = append(of.common, c)
		}
	}
	return out
}()

// call is a call that gives k.
func (g *grammar) call(k kind, depth int, s *scope) *term {
	list := callsOf[k].common
	if own := callsOf[k].own; g.own && len(own) > 0 && g.p(40) {
		list = own
	}
	c := list[g.rarest(len(list), func(i int) string { return strings.Join(list[i], "") })]
	parts := []any{}
	for i, p := range c {
		switch {
		case i%2 == 0:
			parts = append(parts, p)
		case p == "asc":
			parts = append(parts, "regexp_replace(", g.expr(kTxt, depth-1, s), ", '[^ -~]', '', 'g')")
		case p == "txtconst":
			parts = append(parts, g.constant(kTxt))
		case callsOf[kind(strings.TrimRight(p, "!."))] == nil:
			parts = append(parts, g.choice(p))
		case strings.HasSuffix(p, "!"):
			parts = append(parts, g.column(kind(strings.TrimSuffix(p, "!")), s, true))
		case strings.HasSuffix(p, "."):
			parts = append(parts, g.expr(kind(strings.TrimSuffix(p, ".")), 0, s))
		default:
			parts = append(parts, g.expr(kind(p), depth-1, s))
		}
	}
	return exprOf(k, parts...)
}

// choice is one of constants between bars; "|" in quotes is one of them.
func (g *grammar) choice(list string) string {
	all := strings.Split(strings.ReplaceAll(list, `"|"`, "\x00"), "|")
	i := g.rarest(len(all), func(i int) string { return list + all[i] })
	return strings.ReplaceAll(all[i], "\x00", "|")
}

// rarest is one of n things: of three, that which these tables have had least often, so that none is forgotten.
func (g *grammar) rarest(n int, name func(int) string) int {
	best, least := 0, -1
	for range 3 {
		i := g.r.IntN(n)
		if c := g.used[name(i)]; least < 0 || c < least {
			best, least = i, c
		}
	}
	g.used[name(best)]++
	return best
}
