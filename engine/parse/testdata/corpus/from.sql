-- What can stand in FROM.
SELECT * FROM a, b AS x, c y (d, e), s.t, db.s.t z;
SELECT * FROM 'data/*.parquet', 's3://b/k.parquet' AS p (a, b);
SELECT * FROM "Quoted"."Name" AS "An ""alias""";
SELECT * FROM read_parquet('a.parquet', columns => ['a', 'b'], limit := 3) AS r, generate_series(1, 3) g (i), s.f();
SELECT * FROM unnest(ARRAY[1, 2], ARRAY['a', 'b']) WITH ORDINALITY AS u (n, s, i);
SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.a = t.a) x, LATERAL unnest(t.list) AS l (v);
SELECT * FROM (VALUES (1, 2), (3, 4)) AS v (a, b);
SELECT * FROM ((SELECT 1)) q, ((SELECT 1) UNION (SELECT 2)) r, ((SELECT 1) x JOIN b ON x.a = b.a), (SELECT 1);
SELECT * FROM a JOIN b ON a.x = b.x INNER JOIN c USING (x, y) LEFT JOIN d ON true RIGHT OUTER JOIN e USING (x) FULL OUTER JOIN f ON a.x = f.x CROSS JOIN g NATURAL JOIN h NATURAL LEFT JOIN i;
SELECT * FROM a JOIN b JOIN c ON b.x = c.x ON a.x = b.x;
SELECT * FROM a LEFT JOIN (b CROSS JOIN c) ON a.x = b.x, (d JOIN e USING (y)) AS de (p, q), ((f JOIN g ON true) JOIN h ON true);
SELECT * FROM a LEFT JOIN b CROSS JOIN c ON a.x = b.x;
SELECT * FROM a SEMI JOIN b ON a.x = b.x ANTI JOIN c ON a.x = c.x;
SELECT * FROM a LEFT SEMI JOIN b USING (x) RIGHT ANTI JOIN c USING (x) LEFT ANTI JOIN d USING (x) RIGHT SEMI JOIN e USING (x);
SELECT * FROM semi, anti AS anti, (((((t)))));
