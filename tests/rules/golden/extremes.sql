stream table public.extremes: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (orders.at)::text AS c1, (orders.region)::text AS c2, orders.__w AS w FROM (SELECT a3 AS "region", a5 AS "at", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS orders
-- s0: scan
SELECT (orders.at)::text AS c1, (orders.region)::text AS c2, 1::bigint AS w FROM "public"."orders" AS orders WHERE (orders.ctid >= $1::tid)

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c2, CAST(d0.w AS BIGINT) AS w FROM d0
)
SELECT CAST(0 AS BIGINT) AS part, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, CAST(c1 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c1 IS NOT NULL GROUP BY c1 HAVING SUM(w) <> 0
UNION ALL
SELECT CAST(2 AS BIGINT) AS part, CAST(c2 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c2 IS NOT NULL GROUP BY c2 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c2, CAST(s0.w AS BIGINT) AS w FROM s0
)
SELECT CAST(0 AS BIGINT) AS part, CAST(NULL AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x
UNION ALL
SELECT CAST(1 AS BIGINT) AS part, CAST(c1 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c1 IS NOT NULL GROUP BY c1 HAVING SUM(w) <> 0
UNION ALL
SELECT CAST(2 AS BIGINT) AS part, CAST(c2 AS STRING) AS v, CAST(COALESCE(SUM(w), 0) AS BIGINT) AS n FROM x WHERE c2 IS NOT NULL GROUP BY c2 HAVING SUM(w) <> 0

-- apply Δ: state
WITH d0 AS (SELECT staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 0),
w1 AS (SELECT staged.v::timestamp with time zone AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 1),
w2 AS (SELECT staged.v::text AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 2),
v1 AS (SELECT 0::bigint AS h, v AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2 HAVING sum(n) <> 0),
v2 AS (SELECT 0::bigint AS h, v AS v, sum(n)::bigint AS n FROM w2 GROUP BY 1, 2 HAVING sum(n) <> 0),
d AS (SELECT 0::bigint AS h, d0.* FROM d0),
change1 AS (SELECT v.h, v.v, v.n, coalesce(m.n, 0) AS was, m.ctid AS at FROM v1 AS v LEFT JOIN pgtrickle_state.m_3_1 AS m ON m.h = v.h AND m.v = v.v),
change1_gone AS (DELETE FROM pgtrickle_state.m_3_1 AS m USING change1 AS c WHERE m.ctid = c.at AND c.was + c.n = 0),
change1_more AS (UPDATE pgtrickle_state.m_3_1 AS m SET n = c.was + c.n FROM change1 AS c WHERE m.ctid = c.at AND c.was + c.n <> 0),
change1_new AS (INSERT INTO pgtrickle_state.m_3_1 (h, v, n) SELECT h, v, n FROM change1 WHERE at IS NULL),
change2 AS (SELECT v.h, v.v, v.n, coalesce(m.n, 0) AS was, m.ctid AS at FROM v2 AS v LEFT JOIN pgtrickle_state.m_3_2 AS m ON m.h = v.h AND hash_record_extended(ROW(m.v), 0) = hash_record_extended(ROW(v.v), 0) AND m.v = v.v),
change2_gone AS (DELETE FROM pgtrickle_state.m_3_2 AS m USING change2 AS c WHERE m.ctid = c.at AND c.was + c.n = 0),
change2_more AS (UPDATE pgtrickle_state.m_3_2 AS m SET n = c.was + c.n FROM change2 AS c WHERE m.ctid = c.at AND c.was + c.n <> 0),
change2_new AS (INSERT INTO pgtrickle_state.m_3_2 (h, v, n) SELECT h, v, n FROM change2 WHERE at IS NULL),
t AS (SELECT * FROM d),
st AS (SELECT t.h, t.n, s.n AS was, s.ctid AS at FROM t LEFT JOIN pgtrickle_state.s_3 AS s ON s.h = t.h),
st_more AS (UPDATE pgtrickle_state.s_3 AS s SET n = s.n + c.n FROM st AS c WHERE s.ctid = c.at AND true),
st_new AS (INSERT INTO pgtrickle_state.s_3 (h, n) SELECT h, n FROM st WHERE at IS NULL AND true)
SELECT (SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0) + (SELECT count(*) FROM change1 WHERE was + n < 0) + (SELECT count(*) FROM change2 WHERE was + n < 0) AS negative

-- apply Δ: result
WITH d0 AS (SELECT staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 0),
d AS (SELECT 0::bigint AS h, d0.* FROM d0),
p AS (SELECT r.at, f.lives IS NOT NULL AS lives, r.o1, r.o2, f.f1, f.f2 FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, r."newest" AS o1, r."first" AS o2 FROM "public"."extremes" AS r WHERE true) AS r ON true LEFT JOIN LATERAL (SELECT true AS lives, (g.f1)::timestamp with time zone AS f1, (g.f2)::text AS f2 FROM pgtrickle_state.s_3 AS s CROSS JOIN LATERAL (SELECT (SELECT m.v FROM pgtrickle_state.m_3_1 AS m WHERE m.h = s.h ORDER BY m.v DESC LIMIT 1) AS f1, (SELECT m.v FROM ((SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1) UNION ALL (SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND NOT octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1)) AS m ORDER BY m.v ASC LIMIT 1) AS f2, s.n AS f3) AS g WHERE (s.h = t.h) AND (g.f3 > 0)) AS f ON true),
gone AS (DELETE FROM "public"."extremes" AS r USING p WHERE r.ctid = p.at AND NOT p.lives),
changed AS (UPDATE "public"."extremes" AS r SET "newest" = p.f1, "first" = p.f2 FROM p WHERE r.ctid = p.at AND p.lives AND record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2))),
new AS (INSERT INTO "public"."extremes" ("newest", "first") SELECT p.f1, p.f2 FROM p WHERE at IS NULL AND lives),
minus AS (SELECT p.o1, p.o2 FROM p WHERE at IS NOT NULL AND (NOT lives OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
plus AS (SELECT p.f1, p.f2 FROM p WHERE lives AND (at IS NULL OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
log AS (INSERT INTO pgtrickle_changes.stream_3 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 3) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 3))
SELECT (SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus

-- apply all rows: state
DELETE FROM pgtrickle_state.s_3

-- apply all rows: state
DELETE FROM pgtrickle_state.m_3_1

-- apply all rows: state
WITH w1 AS (SELECT staged.v::timestamp with time zone AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 1),
v1 AS (SELECT 0::bigint AS h, v AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2 HAVING sum(n) <> 0)
INSERT INTO pgtrickle_state.m_3_1 (h, v, n) SELECT h, v, n FROM v1

-- apply all rows: state
DELETE FROM pgtrickle_state.m_3_2

-- apply all rows: state
WITH w2 AS (SELECT staged.v::text AS v, staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 2),
v2 AS (SELECT 0::bigint AS h, v AS v, sum(n)::bigint AS n FROM w2 GROUP BY 1, 2 HAVING sum(n) <> 0)
INSERT INTO pgtrickle_state.m_3_2 (h, v, n) SELECT h, v, n FROM v2

-- apply all rows: state
WITH d0 AS (SELECT staged.n FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(part, v, n) WHERE staged.part = 0),
d AS (SELECT 0::bigint AS h, d0.* FROM d0)
INSERT INTO pgtrickle_state.s_3 (h, n) SELECT d.h, d.n FROM d

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT (g.f1)::timestamp with time zone AS c1, (g.f2)::text AS c2 FROM pgtrickle_state.s_3 AS s CROSS JOIN LATERAL (SELECT (SELECT m.v FROM pgtrickle_state.m_3_1 AS m WHERE m.h = s.h ORDER BY m.v DESC LIMIT 1) AS f1, (SELECT m.v FROM ((SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1) UNION ALL (SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND NOT octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1)) AS m ORDER BY m.v ASC LIMIT 1) AS f2, s.n AS f3) AS g WHERE (g.f3 > 0)) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "newest" AS c1, "first" AS c2 FROM "public"."extremes") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."extremes" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_3 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT -1 AS w, c1, c2 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 3) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 3))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "newest" AS c1, "first" AS c2 FROM "public"."extremes") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT (g.f1)::timestamp with time zone AS c1, (g.f2)::text AS c2 FROM pgtrickle_state.s_3 AS s CROSS JOIN LATERAL (SELECT (SELECT m.v FROM pgtrickle_state.m_3_1 AS m WHERE m.h = s.h ORDER BY m.v DESC LIMIT 1) AS f1, (SELECT m.v FROM ((SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1) UNION ALL (SELECT m.v FROM pgtrickle_state.m_3_2 AS m WHERE m.h = s.h AND NOT octet_length(m.v::text) <= 2000 ORDER BY m.v ASC LIMIT 1)) AS m ORDER BY m.v ASC LIMIT 1) AS f2, s.n AS f3) AS g WHERE (g.f3 > 0)) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
missing AS (SELECT c1, c2 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."extremes" ("newest", "first") SELECT c1, c2 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_3 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT 1 AS w, c1, c2 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 3) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 3))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
