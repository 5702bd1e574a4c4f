-- Type names.
SELECT a::int, a::integer, a::int4, a::int8, a::bigint, a::smallint, a::tinyint, a::hugeint, a::utinyint, a::usmallint, a::uinteger, a::ubigint, a::int unsigned, a::BIGINT UNSIGNED;
SELECT a::real, a::float, a::float(24), a::float8, a::double, a::double precision, a::decimal, a::numeric(10), a::dec(10, 2), a::numeric(3, -2);
SELECT a::bool, a::boolean, a::text, a::string, a::char, a::char(3), a::character(3), a::character varying, a::varchar, a::character varying(10), a::char varying(5), a::national character varying(5), a::nchar(3), a::bpchar, a::"char", a::name;
SELECT a::date, a::time, a::time(3), a::time with time zone, a::timetz, a::timestamp, a::timestamp(6), a::timestamp without time zone, a::timestamp(3) with time zone, a::timestamptz, a::interval, a::interval day to second(3), a::interval(3), a::interval year;
SELECT a::bytea, a::blob, a::binary, a::varbinary, a::bit(3), a::bit varying(8), a::uuid, a::json, a::pg_catalog.int4, a::"MyType"(1, 'x', y);
SELECT a::int[], a::int[3][], a::text ARRAY, a::int ARRAY[4], a::struct(a int, b text[]), a::STRUCT<a: int, "B" ARRAY<ARRAY<int>>>, a::row(x int), a::map(text, int[]), a::map<text, list<int>>, a::list(int), a::array(varchar(3));
