stream table public.sums: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (orders.region)::text AS c1, (orders.total)::text AS c2, orders.__w AS w FROM (SELECT a3 AS "region", a4 AS "total", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS orders
-- s0: scan
SELECT (orders.region)::text AS c1, (orders.total)::text AS c2, 1::bigint AS w FROM "public"."orders" AS orders WHERE (orders.ctid >= $1::tid)

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c2, CAST(d0.w AS BIGINT) AS w FROM d0
)
SELECT CAST(0 AS BIGINT) AS part, c1 AS k1, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(SUM(CASE WHEN c2 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n1, CAST(CAST(SUM(CAST(NULLIF(c2, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s1, CAST(SUM(CASE WHEN c2 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x1, CAST(SUM(CASE WHEN c2 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n3, CAST(CAST(SUM(CAST(NULLIF(c2, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s3, CAST(SUM(CASE WHEN c2 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x3 FROM x GROUP BY c1

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c2, CAST(s0.w AS BIGINT) AS w FROM s0
)
SELECT CAST(0 AS BIGINT) AS part, c1 AS k1, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n, CAST(SUM(CASE WHEN c2 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n1, CAST(CAST(SUM(CAST(NULLIF(c2, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s1, CAST(SUM(CASE WHEN c2 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x1, CAST(SUM(CASE WHEN c2 IS NOT NULL THEN w ELSE 0 END) AS BIGINT) AS n3, CAST(CAST(SUM(CAST(NULLIF(c2, 'NaN') AS DECIMAL(10,2)) * CAST(w AS DECIMAL(10,0))) AS DECIMAL(38,2)) AS STRING) AS s3, CAST(SUM(CASE WHEN c2 = 'NaN' THEN w ELSE 0 END) AS BIGINT) AS x3 FROM x GROUP BY c1

-- apply Δ: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1, coalesce(staged.n3, 0) AS n3, coalesce(staged.s3::numeric, 0) AS s3, coalesce(staged.x3, 0) AS x3 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[]) AS staged(part, k1, v, n, n1, s1, x1, n3, s3, x3) WHERE staged.part = 0),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, d0.* FROM d0),
t AS (SELECT * FROM d),
st AS (SELECT t.h, t.k1, t.n, t.n1, t.s1, t.x1, t.n3, t.s3, t.x3, s.n AS was, s.ctid AS at FROM t LEFT JOIN pgtrickle_state.s_2 AS s ON s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1),
st_more AS (UPDATE pgtrickle_state.s_2 AS s SET n = s.n + c.n, n1 = s.n1 + c.n1, s1 = s.s1 + c.s1, x1 = s.x1 + c.x1, n3 = s.n3 + c.n3, s3 = s.s3 + c.s3, x3 = s.x3 + c.x3 FROM st AS c WHERE s.ctid = c.at AND c.was + c.n <> 0),
st_new AS (INSERT INTO pgtrickle_state.s_2 (h, k1, n, n1, s1, x1, n3, s3, x3) SELECT h, k1, n, n1, s1, x1, n3, s3, x3 FROM st WHERE at IS NULL AND n <> 0),
st_gone AS (DELETE FROM pgtrickle_state.s_2 AS s USING st AS c WHERE s.ctid = c.at AND c.was + c.n = 0)
SELECT (SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0) AS negative

-- apply Δ: result
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1, coalesce(staged.n3, 0) AS n3, coalesce(staged.s3::numeric, 0) AS s3, coalesce(staged.x3, 0) AS x3 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[]) AS staged(part, k1, v, n, n1, s1, x1, n3, s3, x3) WHERE staged.part = 0),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, d0.* FROM d0),
p AS (SELECT r.at, f.lives IS NOT NULL AS lives, r.o1, r.o2, r.o3, r.o4, f.f1, f.f2, f.f3, f.f4 FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, r."region" AS o1, r."revenue" AS o2, r."n" AS o3, r."mean" AS o4 FROM "public"."sums" AS r WHERE hash_record_extended(ROW(r."region"), 0) = t.h AND r."region" IS NOT DISTINCT FROM t.k1) AS r ON true LEFT JOIN LATERAL (SELECT true AS lives, (g.k1)::text AS f1, (g.f1)::numeric AS f2, (g.f2)::bigint AS f3, (g.f3)::numeric AS f4 FROM pgtrickle_state.s_2 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.n AS f2, CASE WHEN s.x3 > 0 THEN 'NaN'::numeric WHEN s.n3 > 0 THEN s.s3 / s.n3::numeric END AS f3) AS g WHERE (s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1)) AS f ON true),
gone AS (DELETE FROM "public"."sums" AS r USING p WHERE r.ctid = p.at AND NOT p.lives),
changed AS (UPDATE "public"."sums" AS r SET "region" = p.f1, "revenue" = p.f2, "n" = p.f3, "mean" = p.f4 FROM p WHERE r.ctid = p.at AND p.lives AND record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4))),
new AS (INSERT INTO "public"."sums" ("region", "revenue", "n", "mean") SELECT p.f1, p.f2, p.f3, p.f4 FROM p WHERE at IS NULL AND lives),
minus AS (SELECT p.o1, p.o2, p.o3, p.o4 FROM p WHERE at IS NOT NULL AND (NOT lives OR record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4)))),
plus AS (SELECT p.f1, p.f2, p.f3, p.f4 FROM p WHERE lives AND (at IS NULL OR record_image_ne(ROW(p.o1, p.o2, p.o3, p.o4), ROW(p.f1, p.f2, p.f3, p.f4)))),
log AS (INSERT INTO pgtrickle_changes.stream_2 (refresh_number, w, a1, a2, a3, a4) SELECT $11::bigint, q.* FROM (SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 2) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 2))
SELECT (SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus

-- apply all rows: state
DELETE FROM pgtrickle_state.s_2

-- apply all rows: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n, coalesce(staged.n1, 0) AS n1, coalesce(staged.s1::numeric, 0) AS s1, coalesce(staged.x1, 0) AS x1, coalesce(staged.n3, 0) AS n3, coalesce(staged.s3::numeric, 0) AS s3, coalesce(staged.x3, 0) AS x3 FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::bigint[]) AS staged(part, k1, v, n, n1, s1, x1, n3, s3, x3) WHERE staged.part = 0),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, d0.* FROM d0)
INSERT INTO pgtrickle_state.s_2 (h, k1, n, n1, s1, x1, n3, s3, x3) SELECT d.h, d.k1, d.n, d.n1, d.s1, d.x1, d.n3, d.s3, d.x3 FROM d WHERE d.n <> 0

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2, (g.f2)::bigint AS c3, (g.f3)::numeric AS c4 FROM pgtrickle_state.s_2 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.n AS f2, CASE WHEN s.x3 > 0 THEN 'NaN'::numeric WHEN s.n3 > 0 THEN s.s3 / s.n3::numeric END AS f3) AS g) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, c.c3, c.c4, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "region" AS c1, "revenue" AS c2, "n" AS c3, "mean" AS c4 FROM "public"."sums") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2, c.c3, c.c4) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."sums" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_2 (refresh_number, w, a1, a2, a3, a4) SELECT $1::bigint, q.* FROM (SELECT -1 AS w, c1, c2, c3, c4 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 2) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 2))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "region" AS c1, "revenue" AS c2, "n" AS c3, "mean" AS c4 FROM "public"."sums") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, c.c3, c.c4, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2, (g.f2)::bigint AS c3, (g.f3)::numeric AS c4 FROM pgtrickle_state.s_2 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, CASE WHEN s.x1 > 0 THEN 'NaN'::numeric WHEN s.n1 > 0 THEN s.s1 END AS f1, s.n AS f2, CASE WHEN s.x3 > 0 THEN 'NaN'::numeric WHEN s.n3 > 0 THEN s.s3 / s.n3::numeric END AS f3) AS g) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2, c.c3, c.c4) AS q) AS z),
missing AS (SELECT c1, c2, c3, c4 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."sums" ("region", "revenue", "n", "mean") SELECT c1, c2, c3, c4 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_2 (refresh_number, w, a1, a2, a3, a4) SELECT $1::bigint, q.* FROM (SELECT 1 AS w, c1, c2, c3, c4 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 2) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 2))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
