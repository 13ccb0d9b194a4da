stream table public.could_raise: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (o.product)::bigint AS c1, (o."total")::text AS c3, o.__w AS w FROM (SELECT a2 AS "product", a4 AS "total", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS o
-- n0: rows by key
SELECT (o.product)::bigint AS c1, (o."total")::text AS c3, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.product = ANY($1::bigint[]))
-- s0: scan
SELECT (o.product)::bigint AS c1, (o."total")::text AS c3, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.ctid >= $1::tid)

-- leaf l1: "public"."products"
-- d1: changes
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, (p."weight")::text AS c5, p.__w AS w FROM (SELECT a1 AS "id", a2 AS "category", a3 AS "weight", w::bigint AS __w FROM pgtrickle_changes.changes_2 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS p WHERE (p.weight <> 0::numeric)
-- n1: rows by key
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, (p."weight")::text AS c5, 1::bigint AS w FROM "public"."products" AS p WHERE (p.weight <> 0::numeric) AND (p.id = ANY($1::bigint[]))
-- s1: scan
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, (p."weight")::text AS c5, 1::bigint AS w FROM "public"."products" AS p WHERE (p.weight <> 0::numeric) AND (p.ctid >= $1::tid)

-- lookup n1: rows of l1 for the keys of d0

-- lookup n0: rows of l0 for the keys of d1

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c3, n1.c2, n1.c4, n1.c5, CAST(d0.w * n1.w AS BIGINT) AS w FROM d0 JOIN n1 ON d0.c1 = n1.c2
UNION ALL
SELECT n0.c1, n0.c3, d1.c2, d1.c4, d1.c5, CAST(n0.w * d1.w AS BIGINT) AS w FROM n0 JOIN d1 ON n0.c1 = d1.c2
UNION ALL
SELECT d0.c1, d0.c3, d1.c2, d1.c4, d1.c5, CAST(-(d0.w * d1.w) AS BIGINT) AS w FROM d0 JOIN d1 ON d0.c1 = d1.c2
)
SELECT c3, c4, c5, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c3, c4, c5 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c3, s1.c2, s1.c4, s1.c5, CAST(s0.w * s1.w AS BIGINT) AS w FROM s0 JOIN s1 ON s0.c1 = s1.c2
)
SELECT c3, c4, c5, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c3, c4, c5 HAVING SUM(w) <> 0

-- apply Δ: state
WITH r AS (SELECT p.category AS k1, o.total / p.weight AS a1, staged.w
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS staged(c3, c4, c5, w)
  CROSS JOIN LATERAL (SELECT staged.c3::numeric(10,2) AS "total") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category", staged.c5::numeric AS "weight") AS p),
d0 AS (SELECT k1, coalesce(sum(w), 0)::bigint AS n FROM r GROUP BY k1),
w1 AS (SELECT k1, a1 AS v, sum(w)::bigint AS n FROM r WHERE a1 IS NOT NULL GROUP BY k1, a1),
v1 AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, (CASE WHEN v = 'NaN' THEN -1 WHEN v = 'Infinity' THEN -2 WHEN v = '-Infinity' THEN -3 ELSE scale(v) END) AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3 HAVING sum(n) <> 0),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1),
change1 AS (SELECT v.h, v.k1, v.v, v.n, coalesce(m.n, 0) AS was, m.ctid AS at FROM v1 AS v LEFT JOIN pgtrickle_state.m_7_1 AS m ON m.h = v.h AND m.k1 IS NOT DISTINCT FROM v.k1 AND m.v = v.v),
change1_gone AS (DELETE FROM pgtrickle_state.m_7_1 AS m USING change1 AS c WHERE m.ctid = c.at AND c.was + c.n = 0),
change1_more AS (UPDATE pgtrickle_state.m_7_1 AS m SET n = c.was + c.n FROM change1 AS c WHERE m.ctid = c.at AND c.was + c.n <> 0),
change1_new AS (INSERT INTO pgtrickle_state.m_7_1 (h, k1, v, n) SELECT h, k1, v, n FROM change1 WHERE at IS NULL),
t AS (SELECT * FROM d),
st AS (SELECT t.h, t.k1, t.n, t.n1, t.s1, s.n AS was, s.ctid AS at FROM t LEFT JOIN pgtrickle_state.s_7 AS s ON s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1),
st_more AS (UPDATE pgtrickle_state.s_7 AS s SET n = s.n + c.n, n1 = s.n1 + c.n1, s1 = s.s1 + c.s1 FROM st AS c WHERE s.ctid = c.at AND c.was + c.n <> 0),
st_new AS (INSERT INTO pgtrickle_state.s_7 (h, k1, n, n1, s1) SELECT h, k1, n, n1, s1 FROM st WHERE at IS NULL AND n <> 0),
st_gone AS (DELETE FROM pgtrickle_state.s_7 AS s USING st AS c WHERE s.ctid = c.at AND c.was + c.n = 0)
SELECT (SELECT count(*) FROM st WHERE coalesce(was, 0) + n < 0) + (SELECT count(*) FROM change1 WHERE was + n < 0) AS negative

-- apply Δ: result
WITH r AS (SELECT p.category AS k1, o.total / p.weight AS a1, staged.w
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS staged(c3, c4, c5, w)
  CROSS JOIN LATERAL (SELECT staged.c3::numeric(10,2) AS "total") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category", staged.c5::numeric AS "weight") AS p),
d0 AS (SELECT k1, coalesce(sum(w), 0)::bigint AS n FROM r GROUP BY k1),
w1 AS (SELECT k1, a1 AS v, sum(w)::bigint AS n FROM r WHERE a1 IS NOT NULL GROUP BY k1, a1),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1),
p AS (SELECT r.at, f.lives IS NOT NULL AS lives, r.o1, r.o2, f.f1, f.f2 FROM d AS t LEFT JOIN LATERAL (SELECT r.ctid AS at, r."category" AS o1, r."each" AS o2 FROM "public"."could_raise" AS r WHERE hash_record_extended(ROW(r."category"), 0) = t.h AND r."category" IS NOT DISTINCT FROM t.k1) AS r ON true LEFT JOIN LATERAL (SELECT true AS lives, (g.k1)::text AS f1, (g.f1)::numeric AS f2 FROM pgtrickle_state.s_7 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g WHERE (s.h = t.h AND s.k1 IS NOT DISTINCT FROM t.k1)) AS f ON true),
gone AS (DELETE FROM "public"."could_raise" AS r USING p WHERE r.ctid = p.at AND NOT p.lives),
changed AS (UPDATE "public"."could_raise" AS r SET "category" = p.f1, "each" = p.f2 FROM p WHERE r.ctid = p.at AND p.lives AND record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2))),
new AS (INSERT INTO "public"."could_raise" ("category", "each") SELECT p.f1, p.f2 FROM p WHERE at IS NULL AND lives),
minus AS (SELECT p.o1, p.o2 FROM p WHERE at IS NOT NULL AND (NOT lives OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
plus AS (SELECT p.f1, p.f2 FROM p WHERE lives AND (at IS NULL OR record_image_ne(ROW(p.o1, p.o2), ROW(p.f1, p.f2)))),
log AS (INSERT INTO pgtrickle_changes.stream_7 (refresh_number, w, a1, a2) SELECT $5::bigint, q.* FROM (SELECT -1 AS w, * FROM minus UNION ALL SELECT 1, * FROM plus) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 7) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 7))
SELECT (SELECT count(*) FROM minus) AS minus, (SELECT count(*) FROM plus) AS plus

-- apply all rows: state
DELETE FROM pgtrickle_state.s_7

-- apply all rows: state
DELETE FROM pgtrickle_state.m_7_1

-- apply all rows: state
WITH r AS (SELECT p.category AS k1, o.total / p.weight AS a1, staged.w
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS staged(c3, c4, c5, w)
  CROSS JOIN LATERAL (SELECT staged.c3::numeric(10,2) AS "total") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category", staged.c5::numeric AS "weight") AS p),
w1 AS (SELECT k1, a1 AS v, sum(w)::bigint AS n FROM r WHERE a1 IS NOT NULL GROUP BY k1, a1),
v1 AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, (CASE WHEN v = 'NaN' THEN -1 WHEN v = 'Infinity' THEN -2 WHEN v = '-Infinity' THEN -3 ELSE scale(v) END) AS v, sum(n)::bigint AS n FROM w1 GROUP BY 1, 2, 3 HAVING sum(n) <> 0)
INSERT INTO pgtrickle_state.m_7_1 (h, k1, v, n) SELECT h, k1, v, n FROM v1

-- apply all rows: state
WITH r AS (SELECT p.category AS k1, o.total / p.weight AS a1, staged.w
  FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS staged(c3, c4, c5, w)
  CROSS JOIN LATERAL (SELECT staged.c3::numeric(10,2) AS "total") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category", staged.c5::numeric AS "weight") AS p),
d0 AS (SELECT k1, coalesce(sum(w), 0)::bigint AS n FROM r GROUP BY k1),
w1 AS (SELECT k1, a1 AS v, sum(w)::bigint AS n FROM r WHERE a1 IS NOT NULL GROUP BY k1, a1),
d AS (SELECT hash_record_extended(ROW(k1), 0) AS h, k1, sum(n)::bigint AS n, sum(n1)::bigint AS n1, sum(s1) AS s1 FROM (SELECT k1, n AS n, 0 AS n1, 0 AS s1 FROM d0 UNION ALL SELECT k1, 0 AS n, n AS n1, CASE WHEN (v > '-Infinity' AND v < 'Infinity') THEN v * n ELSE 0 END AS s1 FROM w1) AS q GROUP BY k1)
INSERT INTO pgtrickle_state.s_7 (h, k1, n, n1, s1) SELECT d.h, d.k1, d.n, d.n1, d.s1 FROM d WHERE d.n <> 0

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2 FROM pgtrickle_state.s_7 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "category" AS c1, "each" AS c2 FROM "public"."could_raise") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."could_raise" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_7 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT -1 AS w, c1, c2 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 7) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 7))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "category" AS c1, "each" AS c2 FROM "public"."could_raise") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT (g.k1)::text AS c1, (g.f1)::numeric AS c2 FROM pgtrickle_state.s_7 AS s CROSS JOIN LATERAL (SELECT s.k1 AS k1, (CASE WHEN s.n1 = 0 THEN NULL WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -1) OR (SELECT count(*) = 2 FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v IN (-2, -3)) THEN 'NaN'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -2) THEN 'Infinity'::numeric WHEN EXISTS (SELECT FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v = -3) THEN '-Infinity'::numeric ELSE round(s.s1, (SELECT max(m.v) FROM pgtrickle_state.m_7_1 AS m WHERE m.h = s.h AND m.k1 IS NOT DISTINCT FROM s.k1 AND m.v >= 0)) END) AS f1) AS g) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
missing AS (SELECT c1, c2 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."could_raise" ("category", "each") SELECT c1, c2 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_7 (refresh_number, w, a1, a2) SELECT $1::bigint, q.* FROM (SELECT 1 AS w, c1, c2 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 7) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 7))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
