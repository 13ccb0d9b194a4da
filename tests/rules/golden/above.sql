stream table public.above: DIFFERENTIAL

-- leaf l0: "public"."join_and_group"
-- d0: changes
SELECT (join_and_group.category)::text AS c1, (join_and_group.revenue)::text AS c2, join_and_group.__w AS w FROM (SELECT a1 AS "category", a3 AS "revenue", w::bigint AS __w FROM pgtrickle_changes.stream_5 WHERE refresh_number > $1::bigint AND refresh_number <= $2::bigint) AS join_and_group
-- s0: scan
SELECT (join_and_group.category)::text AS c1, (join_and_group.revenue)::text AS c2, 1::bigint AS w FROM "public"."join_and_group" AS join_and_group UNION ALL SELECT (join_and_group.category)::text AS c1, (join_and_group.revenue)::text AS c2, join_and_group.__w AS w FROM (SELECT a1 AS "category", a3 AS "revenue", -w AS __w FROM pgtrickle_changes.stream_5 WHERE refresh_number > $1::bigint) AS join_and_group

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c2, CAST(d0.w AS BIGINT) AS w FROM d0
)
SELECT CAST(0 AS BIGINT) AS part, c1 AS k1, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x GROUP BY c1
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, c1 AS k1, CAST(c2 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c2 IS NOT NULL GROUP BY c1, c2 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c2, CAST(s0.w AS BIGINT) AS w FROM s0
)
SELECT CAST(0 AS BIGINT) AS part, c1 AS k1, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x GROUP BY c1
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, c1 AS k1, CAST(c2 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c2 IS NOT NULL GROUP BY c1, c2 HAVING SUM(w) <> 0

-- apply Δ: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 0),
w1 AS (SELECT staged.k1::text AS k1, staged.v::numeric AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 1),
v1 AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, (CASE WHEN v = 'NaN' THEN -1 WHEN v = 'Infinity' THEN -2 WHEN v = '-Infinity' THEN -3 ELSE scale(v) END) AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3 HAVING sum(n) <> 0),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1),
change1 AS (SELECT v.h, v.k1, v.v, v.n, coalesce(m.n, 0) AS was, m.ctid AS at FROM v1 AS v LEFT JOIN pgtrickle_state.m_8_1 AS m ON m.h = v.h AND m.k1 IS NOT DISTINCT FROM v.k1 AND m.v = v.v),
change1_gone AS (DELETE FROM pgtrickle_state.m_8_1 AS m USING change1 AS c WHERE m.ctid = c.at AND c.was + c.n = 0),
change1_more AS (UPDATE pgtrickle_state.m_8_1 AS m SET n = c.was + c.n FROM change1 AS c WHERE m.ctid = c.at AND c.was + c.n <> 0),
change1_new AS (INSERT INTO pgtrickle_state.m_8_1 (h, k1, v, n) SELECT h, k1, v, n FROM change1 WHERE at IS NULL),
t AS (SELECT * FROM d),
st AS (SELECT t.h, t.k1, t.n, t.n1, t.s1, s.n AS was, s.ctid AS at FROM t LEFT JOIN pgtrickle_state.s_8 AS s ON s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1),
st_more AS (UPDATE pgtrickle_state.s_8 AS s SET n = s.n + c.n, n1 = s.n1 + c.n1, s1 = s.s1 + c.s1 FROM st AS c WHERE s.ctid = c.at AND c.was + c.n <> 0),
st_new AS (INSERT INTO pgtrickle_state.s_8 (h, k1, n, n1, s1) SELECT h, k1, n, n1, s1 FROM st WHERE at IS NULL AND n <> 0),
st_gone AS (DELETE FROM pgtrickle_state.s_8 AS s USING st AS c WHERE s.ctid = c.at AND c.was + c.n = 0)
SELECT (SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0) + (SELECT count(*) FROM change1 WHERE was + n < 0) AS negative

-- apply Δ: result
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 0),
w1 AS (SELECT staged.k1::text AS k1, staged.v::numeric AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 1),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1),
p AS (SELECT r.at, f.lives IS NOT NULL AS lives, r.o1, r.o2, f.f1, f.f2 FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, r."category" AS o1, r."revenue" AS o2 FROM "public"."above" AS r WHERE hash_record_extended(ROW(r."category"), 0) = t.h AND r."category" IS NOT DISTINCT FROM t.k1) AS r ON true LEFT JOIN LATERAL (SELECT true AS lives, (g.k1)::text AS f1, (g.f1)::numeric AS f2 FROM pgtrickle_state.s_8 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g WHERE (s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1)) AS f ON true),
gone AS (DELETE FROM "public"."above" AS r USING p WHERE r.ctid = p.at AND NOT p.lives),
changed AS (UPDATE "public"."above" AS r SET "category" = p.f1, "revenue" = p.f2 FROM p WHERE r.ctid = p.at AND p.lives AND record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2))),
new AS (INSERT INTO "public"."above" ("category", "revenue") SELECT p.f1, p.f2 FROM p WHERE at IS NULL AND lives),
minus AS (SELECT p.o1, p.o2 FROM p WHERE at IS NOT NULL AND (NOT lives OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
plus AS (SELECT p.f1, p.f2 FROM p WHERE lives AND (at IS NULL OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
log AS (INSERT INTO pgtrickle_changes.stream_8 (refresh_number, w, a1, a2) SELECT $5::bigint, q.* FROM (SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 8) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 8))
SELECT (SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus

-- apply all rows: state
DELETE FROM pgtrickle_state.s_8

-- apply all rows: state
DELETE FROM pgtrickle_state.m_8_1

-- apply all rows: state
WITH w1 AS (SELECT staged.k1::text AS k1, staged.v::numeric AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 1),
v1 AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, (CASE WHEN v = 'NaN' THEN -1 WHEN v = 'Infinity' THEN -2 WHEN v = '-Infinity' THEN -3 ELSE scale(v) END) AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3 HAVING sum(n) <> 0)
INSERT INTO pgtrickle_state.m_8_1 (h, k1, v, n) SELECT h, k1, v, n FROM v1

-- apply all rows: state
WITH d0 AS (SELECT staged.k1::text AS k1, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 0),
w1 AS (SELECT staged.k1::text AS k1, staged.v::numeric AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS staged(part, k1, v, n) WHERE staged.part = 1),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1)
INSERT INTO pgtrickle_state.s_8 (h, k1, n, n1, s1) SELECT d.h, d.k1, d.n, d.n1, d.s1 FROM d WHERE d.n <> 0

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2 FROM pgtrickle_state.s_8 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "category" AS c1, "revenue" AS c2 FROM "public"."above") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."above" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_8 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT -1 AS w, c1, c2 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 8) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 8))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "category" AS c1, "revenue" AS c2 FROM "public"."above") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2 FROM pgtrickle_state.s_8 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_8_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
missing AS (SELECT c1, c2 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."above" ("category", "revenue") SELECT c1, c2 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_8 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT 1 AS w, c1, c2 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 8) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 8))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
