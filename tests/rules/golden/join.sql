stream table public.join: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (o.product)::bigint AS c1, (o."id")::bigint AS c3, o.__w AS w FROM (SELECT a1 AS "id", a2 AS "product", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS o
-- n0: rows by key
SELECT (o.product)::bigint AS c1, (o."id")::bigint AS c3, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.product = ANY($1::bigint[]))
-- s0: scan
SELECT (o.product)::bigint AS c1, (o."id")::bigint AS c3, 1::bigint AS w FROM "public"."orders" AS o WHERE (o.ctid >= $1::tid)

-- leaf l1: "public"."products"
-- d1: changes
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, p.__w AS w FROM (SELECT a1 AS "id", a2 AS "category", w::bigint AS __w FROM pgtrickle_changes.changes_2 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS p
-- n1: rows by key
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, 1::bigint AS w FROM "public"."products" AS p WHERE (p.id = ANY($1::bigint[]))
-- s1: scan
SELECT (p.id)::bigint AS c2, (p."category")::text AS c4, 1::bigint AS w FROM "public"."products" AS p WHERE (p.ctid >= $1::tid)

-- lookup n1: rows of l1 for the keys of d0

-- lookup n0: rows of l0 for the keys of d1

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c3, n1.c2, n1.c4, CAST(d0.w * n1.w AS BIGINT) AS w FROM d0 JOIN n1 ON d0.c1 = n1.c2
UNION ALL
SELECT n0.c1, n0.c3, d1.c2, d1.c4, CAST(n0.w * d1.w AS BIGINT) AS w FROM n0 JOIN d1 ON n0.c1 = d1.c2
UNION ALL
SELECT d0.c1, d0.c3, d1.c2, d1.c4, CAST(-(d0.w * d1.w) AS BIGINT) AS w FROM d0 JOIN d1 ON d0.c1 = d1.c2
)
SELECT c3, c4, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c3, c4 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c3, s1.c2, s1.c4, CAST(s0.w * s1.w AS BIGINT) AS w FROM s0 JOIN s1 ON s0.c1 = s1.c2
)
SELECT c3, c4, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c3, c4 HAVING SUM(w) <> 0

-- apply Δ: result
WITH rows AS (SELECT (o.id)::bigint AS c1, (p.category)::text AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c3, c4, w)
  CROSS JOIN LATERAL (SELECT staged.c3::bigint AS "id") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category") AS p),
delta AS (SELECT row_number() OVER () AS id, hash_record_extended(ROW(c1, c2), 0) AS h, c1, c2, sum(w)::bigint AS w FROM rows GROUP BY c1, c2 HAVING sum(w) <> 0),
hit AS (SELECT r.ctid AS at, -d.w AS n, row_number() OVER (PARTITION BY d.id) AS i FROM delta AS d JOIN "public"."join" AS r ON hash_record_extended(ROW(r."id", r."category"), 0) = d.h AND record_image_eq(ROW(r."id", r."category"), ROW(d.c1, d.c2)) WHERE d.w < 0),
gone AS (DELETE FROM "public"."join" AS r USING hit WHERE r.ctid = hit.at AND hit.i <= hit.n RETURNING 1),
new AS (INSERT INTO "public"."join" ("id", "category") SELECT c1, c2 FROM delta CROSS JOIN generate_series(1, delta.w)),
log AS (INSERT INTO pgtrickle_changes.stream_4 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT w, c1, c2 FROM delta) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 4) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 4))
SELECT coalesce((SELECT sum(-w) FROM delta WHERE w < 0), 0)::bigint AS minus, coalesce((SELECT sum(w) FROM delta WHERE w > 0), 0)::bigint AS plus, coalesce((SELECT sum(-w) FROM delta WHERE w < 0), 0)::bigint - (SELECT count(*) FROM gone) AS negative

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT q.c1, q.c2 FROM (SELECT (o.id)::bigint AS c1, (p.category)::text AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c3, c4, w)
  CROSS JOIN LATERAL (SELECT staged.c3::bigint AS "id") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category") AS p) AS q CROSS JOIN generate_series(1, q.w)) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "id" AS c1, "category" AS c2 FROM "public"."join") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."join" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_4 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT -1 AS w, c1, c2 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 4) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 4))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "id" AS c1, "category" AS c2 FROM "public"."join") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT q.c1, q.c2 FROM (SELECT (o.id)::bigint AS c1, (p.category)::text AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c3, c4, w)
  CROSS JOIN LATERAL (SELECT staged.c3::bigint AS "id") AS o
  CROSS JOIN LATERAL (SELECT staged.c4::text AS "category") AS p) AS q CROSS JOIN generate_series(1, q.w)) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
missing AS (SELECT c1, c2 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."join" ("id", "category") SELECT c1, c2 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_4 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT 1 AS w, c1, c2 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 4) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 4))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
