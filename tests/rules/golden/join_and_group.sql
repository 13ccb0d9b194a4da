stream table public.join_and_group: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (o.product)::bigint AS c1, (date_trunc('day'::text, o.at))::text AS c4, (o.total)::text AS c5, (o.region)::text AS c6, o.__w AS w FROM (SELECT a2 AS "product", a3 AS "region", a4 AS "total", a5 AS "at", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS o
-- n0: rows by key
SELECT (o.product)::bigint AS c1, (date_trunc('day'::text, o.at))::text AS c4, (o.total)::text AS c5, (o.region)::text AS c6, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.product = ANY($1::bigint[]))
-- s0: scan
SELECT (o.product)::bigint AS c1, (date_trunc('day'::text, o.at))::text AS c4, (o.total)::text AS c5, (o.region)::text AS c6, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.ctid >= $1::tid)

-- leaf l1: "public"."products"
-- d1: changes
SELECT (p.id)::bigint AS c2, (p.category)::text AS c3, p.__w AS w FROM (SELECT a1 AS "id", a2 AS "category", w::bigint AS __w FROM pgtrickle_changes.changes_2 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS p
-- n1: rows by key
SELECT (p.id)::bigint AS c2, (p.category)::text AS c3, 1::bigint AS w FROM "public"."products" AS p WHERE (p.id = ANY($1::bigint[]))
-- s1: scan
SELECT (p.id)::bigint AS c2, (p.category)::text AS c3, 1::bigint AS w FROM "public"."products" AS p WHERE (p.ctid >= $1::tid)

-- lookup n1: rows of l1 for the keys of d0

-- lookup n0: rows of l0 for the keys of d1

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c4, d0.c5, d0.c6, n1.c2, n1.c3, CAST(d0.w * n1.w AS BIGINT) AS w FROM d0 JOIN n1 ON d0.c1 = n1.c2
UNION ALL
SELECT n0.c1, n0.c4, n0.c5, n0.c6, d1.c2, d1.c3, CAST(n0.w * d1.w AS BIGINT) AS w FROM n0 JOIN d1 ON n0.c1 = d1.c2
UNION ALL
SELECT d0.c1, d0.c4, d0.c5, d0.c6, d1.c2, d1.c3, CAST(-(d0.w * d1.w) AS BIGINT) AS w FROM d0 JOIN d1 ON d0.c1 = d1.c2
)
SELECT CAST(0 AS BIGINT) AS part, c3 AS k1, c4 AS k2, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(SUM(CASE WHEN c5 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n1, CAST(CAST(SUM(CAST(NULLIF(c5, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s1, CAST(SUM(CASE WHEN c5 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x1 FROM x GROUP BY c3, c4
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, c3 AS k1, c4 AS k2, CAST(c6 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(NULL AS BIGINT) AS n1, CAST(NULL AS STRING) AS s1, CAST(NULL AS BIGINT) AS x1 FROM x WHERE c6 IS NOT NULL GROUP BY c3, c4, c6 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c4, s0.c5, s0.c6, s1.c2, s1.c3, CAST(s0.w * s1.w AS BIGINT) AS w FROM s0 JOIN s1 ON s0.c1 = s1.c2
)
SELECT CAST(0 AS BIGINT) AS part, c3 AS k1, c4 AS k2, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(SUM(CASE WHEN c5 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n1, CAST(CAST(SUM(CAST(NULLIF(c5, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s1, CAST(SUM(CASE WHEN c5 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x1 FROM x GROUP BY c3, c4
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, c3 AS k1, c4 AS k2, CAST(c6 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(NULL AS BIGINT) AS n1, CAST(NULL AS STRING) AS s1, CAST(NULL AS BIGINT) AS x1 FROM x WHERE c6 IS NOT NULL GROUP BY c3, c4, c6 HAVING SUM(w) <> 0

-- apply Δ: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.k2::timestamp with time zone AS k2, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[]) AS staged(part, k1, k2, v, n, n1, s1, x1) WHERE staged.part = 0),
w1 AS (SELECT staged.k1::text AS k1, staged.k2::timestamp with time zone AS k2, staged.v::text AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[]) AS staged(part, k1, k2, v, n, n1, s1, x1) WHERE staged.part = 1),
v1 AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, k1, k2, v AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0),
d AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, d0.* FROM d0),
change1 AS (SELECT v.h, v.k1, v.k2, v.v, v.n, coalesce(m.n, 0) AS was, m.ctid AS at FROM v1 AS v LEFT JOIN pgtrickle_state.m_5_1 AS m ON m.h = v.h AND m.k1 IS NOT DISTINCT FROM v.k1 AND m.k2 IS NOT DISTINCT FROM v.k2 AND hash_record_extended(ROW(m.v), 0) = hash_record_extended(ROW(v.v), 0) AND m.v = v.v),
change1_gone AS (DELETE FROM pgtrickle_state.m_5_1 AS m USING change1 AS c WHERE m.ctid = c.at AND c.was + c.n = 0),
change1_more AS (UPDATE pgtrickle_state.m_5_1 AS m SET n = c.was + c.n FROM change1 AS c WHERE m.ctid = c.at AND c.was + c.n <> 0),
change1_new AS (INSERT INTO pgtrickle_state.m_5_1 (h, k1, k2, v, n) SELECT h, k1, k2, v, n FROM change1 WHERE at IS NULL),
t AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, k1, k2, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1, sum(x1)::bigint AS x1, sum(d2)::bigint AS d2 FROM (SELECT k1, k2, n AS n, n1 AS n1, s1 AS s1, x1 AS x1, 0 AS d2 FROM d UNION ALL SELECT k1, k2, 0 AS n, 0 AS n1, 0 AS s1, 0 AS x1, (was + n > 0)::integer - (was > 0)::integer AS d2 FROM change1) AS q GROUP BY k1, k2),
st AS (SELECT t.h, t.k1, t.k2, t.n, t.n1, t.s1, t.x1, t.d2, s.n AS was, s.ctid AS at FROM t LEFT JOIN pgtrickle_state.s_5 AS s ON s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1 AND s.k2 IS NOT DISTINCT FROM t.k2),
st_more AS (UPDATE pgtrickle_state.s_5 AS s SET n = s.n + c.n, n1 = s.n1 + c.n1, s1 = s.s1 + c.s1, x1 = s.x1 + c.x1, d2 = s.d2 + c.d2 FROM st AS c WHERE s.ctid = c.at AND c.was + c.n <> 0),
st_new AS (INSERT INTO pgtrickle_state.s_5 (h, k1, k2, n, n1, s1, x1, d2) SELECT h, k1, k2, n, n1, s1, x1, d2 FROM st WHERE at IS NULL AND n <> 0),
st_gone AS (DELETE FROM pgtrickle_state.s_5 AS s USING st AS c WHERE s.ctid = c.at AND c.was + c.n = 0)
SELECT (SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0) + (SELECT count(*) FROM change1 WHERE was + n < 0) AS negative

-- apply Δ: result
WITH d0 AS (SELECT staged.k1::text AS k1, staged.k2::timestamp with time zone AS k2, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[]) AS staged(part, k1, k2, v, n, n1, s1, x1) WHERE staged.part = 0),
d AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, d0.* FROM d0),
p AS (SELECT r.at, f.lives IS NOT NULL AS lives, r.o1, r.o2, r.o3, r.o4, f.f1, f.f2, f.f3, f.f4 FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, r."category" AS o1, r."day" AS o2, r."revenue" AS o3, r."regions" AS o4 FROM "public"."join_and_group" AS r WHERE hash_record_extended(ROW(r."category", r."day"), 0) = t.h AND r."category" IS NOT DISTINCT FROM t.k1 AND r."day" IS NOT DISTINCT FROM t.k2) AS r ON true LEFT JOIN LATERAL (SELECT true AS lives, (g.k1)::text AS f1, (g.k2)::timestamp with time zone AS f2, (g.f1)::numeric AS f3, (g.f2)::bigint AS f4 FROM pgtrickle_state.s_5 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, s.k2 AS k2, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.d2 AS f2) AS g WHERE (s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1 AND s.k2 IS NOT DISTINCT FROM t.k2)) AS f ON true),
gone AS (DELETE FROM "public"."join_and_group" AS r USING p WHERE r.ctid = p.at AND NOT p.lives),
changed AS (UPDATE "public"."join_and_group" AS r SET "category" = p.f1, "day" = p.f2, "revenue" = p.f3, "regions" = p.f4 FROM p WHERE r.ctid = p.at AND p.lives AND record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4))),
new AS (INSERT INTO "public"."join_and_group" ("category", "day", "revenue", "regions") SELECT p.f1, p.f2, p.f3, p.f4 FROM p WHERE at IS NULL AND lives),
minus AS (SELECT p.o1, p.o2, p.o3, p.o4 FROM p WHERE at IS NOT NULL AND (NOT lives OR record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4)))),
plus AS (SELECT p.f1, p.f2, p.f3, p.f4 FROM p WHERE lives AND (at IS NULL OR record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4)))),
log AS (INSERT INTO pgtrickle_changes.stream_5 (refresh_number, w, a1, a2, a3, a4) SELECT $9::bigint, q.* FROM (SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 5) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 5))
SELECT (SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus

-- apply all rows: state
DELETE FROM pgtrickle_state.s_5

-- apply all rows: state
DELETE FROM pgtrickle_state.m_5_1

-- apply all rows: state
WITH w1 AS (SELECT staged.k1::text AS k1, staged.k2::timestamp with time zone AS k2, staged.v::text AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[]) AS staged(part, k1, k2, v, n, n1, s1, x1) WHERE staged.part = 1),
v1 AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, k1, k2, v AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3, 4 HAVING sum(n) <> 0)
INSERT INTO pgtrickle_state.m_5_1 (h, k1, k2, v, n) SELECT h, k1, k2, v, n FROM v1

-- apply all rows: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.k2::timestamp with time zone AS k2, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[]) AS staged(part, k1, k2, v, n, n1, s1, x1) WHERE staged.part = 0),
d AS (SELECT hash_record_extended(ROW(k1, k2), 0) AS h, d0.* FROM d0)
INSERT INTO pgtrickle_state.s_5 (h, k1, k2, n, n1, s1, x1, d2) SELECT d.h, d.k1, d.k2, d.n, d.n1, d.s1, d.x1, (SELECT count(*) FROM pgtrickle_state.m_5_1 AS m WHERE m.h = d.h AND m.k1 IS NOT DISTINCT FROM d.k1 AND m.k2 IS NOT DISTINCT FROM d.k2) FROM d WHERE d.n <> 0

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT (g.k1)::text AS c1, (g.k2)::timestamp with time zone AS c2, (g.f1)::numeric AS c3, (g.f2)::bigint AS c4 FROM pgtrickle_state.s_5 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, s.k2 AS k2, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.d2 AS f2) AS g) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, c.c3, c.c4, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "category" AS c1, "day" AS c2, "revenue" AS c3, "regions" AS c4 FROM "public"."join_and_group") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2, c.c3, c.c4) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."join_and_group" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_5 (refresh_number, w, a1, a2, a3, a4) SELECT $1::bigint, q.* FROM (SELECT -1 AS w, c1, c2, c3, c4 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 5) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 5))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "category" AS c1, "day" AS c2, "revenue" AS c3, "regions" AS c4 FROM "public"."join_and_group") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, c.c3, c.c4, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT (g.k1)::text AS c1, (g.k2)::timestamp with time zone AS c2, (g.f1)::numeric AS c3, (g.f2)::bigint AS c4 FROM pgtrickle_state.s_5 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, s.k2 AS k2, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.d2 AS f2) AS g) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2, c.c3, c.c4) AS q) AS z),
missing AS (SELECT c1, c2, c3, c4 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."join_and_group" ("category", "day", "revenue", "regions") SELECT c1, c2, c3, c4 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_5 (refresh_number, w, a1, a2, a3, a4) SELECT $1::bigint, q.* FROM (SELECT 1 AS w, c1, c2, c3, c4 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 5) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 5))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
