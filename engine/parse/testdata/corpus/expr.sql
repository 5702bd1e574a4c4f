-- Expressions: operands.
SELECT 1, 12345678901234567890123456789012345678901234567890, 1_000_000, 0xFF, 0o17, 0b1010, 1.5, .5, 1., 1e10, 2.5E-3, 1_0.2_5;
SELECT 'a', 'it''s', '', E'a\tb\\\'\x41\101\u00e9\U0001F600', $$dollar ' quoted$$, $tag$ $$ $tag$, X'00fF', n'national', 'two '
  'parts', 'naïve – ünïcödé';
SELECT NULL, TRUE, false;
SELECT DATE '1994-01-01', TIMESTAMP '1994-01-01 00:00:00', TIMESTAMP WITH TIME ZONE '1994-01-01 00:00:00+00', TIMESTAMP(3) WITHOUT TIME ZONE '2020-01-01',
  TIME '12:00', TIME(0) WITH TIME ZONE '12:00+01', timestamptz '2020-01-01', uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', double precision '1.5', json '{}';
SELECT INTERVAL '1 day', INTERVAL '90' DAY, interval '1-2' year to month, INTERVAL '1 2:03:04.5' DAY TO SECOND(3), INTERVAL '4' SECOND(2), INTERVAL 3 DAYS,
  INTERVAL (a + 1) MONTH, INTERVAL 1.5 hours, INTERVAL (NULL), interval FROM t;
SELECT a, t.a, s.t.a, "Quoted"."Col", date, time, timestamp, year, key, position, row, first FROM t;
SELECT $1, $2 + $1, $name, ?, ? + ?;
SELECT (1, 'a'), ROW(1), ROW(), ROW(1, (2, 3)), ((1), 2);
SELECT ARRAY[1, 2], [1, 2], [], ARRAY[]::int[], ARRAY[[1, 2], [3, 4]], ARRAY(SELECT a FROM t ORDER BY a), {'a': 1, b: [2], "C": {}}, MAP {'k': 1, 2 + 3: NULL}, MAP {};
SELECT a[1], a[1][2], a[1:2], a[:2], a[1:], a[:], a[1:10:2], (a || b)[i + 1], ARRAY[1, 2][1], 'abc'[1], f(x)[1].y.z, (a).b, (a.b).c, ((1, 2)).f1, (SELECT r FROM t).x, a[b[1]], a[m['k']];
SELECT CASE a WHEN 1 THEN 'x' WHEN 2 THEN 'y' END, CASE WHEN a THEN b ELSE CASE WHEN c THEN d END END;
SELECT CAST(a AS int), a::text::varchar(10), TRY_CAST(a AS date), -1::int, -(a::int), '1'::numeric(10, 2), cast(a + b AS double precision);
SELECT CURRENT_DATE, current_timestamp, CURRENT_TIMESTAMP(3), LOCALTIME, localtimestamp, CURRENT_USER, current_schema, current_schema(), session_user, now();
-- Calls.
SELECT f(), f(1, 'a', NULL), s.f(a), "F"(a), left(a, 1), right(a, 1), count(*), count(DISTINCT a, b), count(ALL a), f(a => 1, b := 2), f(a, c => 3);
SELECT array_agg(a ORDER BY b DESC, c NULLS FIRST), string_agg(DISTINCT a, ',' ORDER BY a), sum(a) FILTER (WHERE b > 1), percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC) FILTER (WHERE a IS NOT NULL);
SELECT lag(a) IGNORE NULLS OVER (ORDER BY b), first_value(a RESPECT NULLS) OVER w, sum(a) FILTER (WHERE b) OVER (w PARTITION BY c), row_number() OVER (), max(a) OVER (PARTITION BY a, b + 1 ORDER BY c DESC, d) FROM t WINDOW w AS ();
SELECT sum(a) OVER (ORDER BY b ROWS UNBOUNDED PRECEDING), sum(a) OVER (ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW),
  sum(a) OVER (ORDER BY b RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW EXCLUDE TIES), sum(a) OVER (ORDER BY b GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP),
  sum(a) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND a + 1 PRECEDING EXCLUDE NO OTHERS), sum(a) OVER (ROWS 5 PRECEDING);
SELECT EXTRACT(year FROM d), extract('month' FROM d + INTERVAL '1' DAY), extract('day', d), SUBSTRING(a FROM 2 FOR 3), substring(a FOR 3), substring(a FROM 2), substring(a FOR 3 FROM 2), substring(a, 2, 3),
  POSITION('a' IN b || c), position(a, b), position(a = b), OVERLAY(a PLACING b FROM 1 FOR 2), overlay(a PLACING b FROM 1), overlay(a, b, 1, 2),
  TRIM(a), TRIM(BOTH 'x' FROM a), trim(LEADING FROM a), TRIM(TRAILING 'x' FROM a), trim('x' FROM a), trim(a, 'x'), COALESCE(a, b), NULLIF(a, b), GREATEST(a, b), LEAST(a);
SELECT a AT TIME ZONE 'UTC', a AT TIME ZONE 'UTC' AT TIME ZONE z, a + b AT TIME ZONE 'x', a AT LOCAL, a COLLATE "C", a COLLATE "de_DE" || b COLLATE pg_catalog."C";
-- Operators.
SELECT -a, +a, ~a, - -a, -(-a), ~ ~a, -~a, ~(a || b), (~a) || b, NOT a, NOT NOT a;
SELECT a + b * c - d / e % f ^ g, (a + b) * c, a - (b - c), a - b - c, (a ^ b) ^ c, a ^ (b ^ c), -a ^ 2, -(a ^ 2), a // b, 2 ** 3;
SELECT a = b, a == b, a <> b, a != b, a < b, a <= b, a > b, a >= b, (a = b) = c, a = (b = c), a = b IS TRUE, a <=> b;
SELECT a || b, a & b | c # d, a << 1 >> 2, a ~ 'x', a ~* 'x', a !~ 'x', a !~* 'x', a ~~ 'x', a !~~* 'x', a -> 'b' ->> 'c', a #> b, a #>> b, a @> b, a <@ b, a && b, a ^@ 'x', a||-1, a=-1, a*-b;
SELECT a AND b AND c OR d AND NOT e OR f, a AND (b AND c), (a OR b) OR c, (a OR b) AND c, NOT (a AND b), NOT a = b, (NOT a) = b, a = NOT b;
SELECT a IS NULL, a IS NOT NULL, a ISNULL, a NOTNULL, a IS TRUE, a IS NOT FALSE, a IS UNKNOWN, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b + 1, a IS NULL IS NULL, (a AND b) IS NULL, (a IS DISTINCT FROM b) IS NULL, a IS DISTINCT FROM (b IS NULL);
SELECT a BETWEEN 1 AND 2 AND b, a NOT BETWEEN SYMMETRIC b + 1 AND c, a BETWEEN ASYMMETRIC (b = c) AND (c AND d), NOT a BETWEEN 1 AND 2;
SELECT a IN (1), a NOT IN (1, 2, 3), a IN (), (a, b) IN ((1, 2), (3, 4)), (a, b) IN (SELECT 1, 2), a + 1 IN (b), (a IN (1)) IN (true);
SELECT a LIKE 'x%', a NOT LIKE b || '%', a ILIKE 'x' ESCAPE '!', a NOT ILIKE 'x', a SIMILAR TO 'x|y', a NOT SIMILAR TO 'x' ESCAPE '', (a LIKE 'x') LIKE 'y';
SELECT a = ANY (SELECT 1), a <> ALL (VALUES (1)), a > SOME (ARRAY[1, 2]), a = ANY ((SELECT 1)), a = ANY ('{1}'::int[]), a LIKE ANY (ARRAY['x']), a NOT ILIKE ALL (b), (a = ANY (b)) = c, any_value(a);
SELECT x -> x + 1, list_transform([1], x -> x * 2), reduce(l, (acc, x) -> acc + x);
SELECT /* a comment /* nested */ */ a -- to the end of the line
  FROM t;
