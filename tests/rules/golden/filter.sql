stream table public.filter: DIFFERENTIAL

-- leaf l0: "public"."orders"
-- d0: changes
SELECT (orders."id")::bigint AS c1, (orders."total")::text AS c2, orders.__w AS w FROM (SELECT a1 AS "id", a3 AS "region", a4 AS "total", w::bigint AS __w FROM pgtrickle_changes.changes_1 WHERE (xid >= pg_snapshot_xmax($1::pg_snapshot) OR xid = ANY(array(SELECT pg_snapshot_xip($1::pg_snapshot)))) AND pg_visible_in_snapshot(xid, $2::pg_snapshot) AND w <> 0) AS orders WHERE (orders.region = 'north'::text) AND (orders.total > 10::numeric)
-- s0: scan
SELECT (orders."id")::bigint AS c1, (orders."total")::text AS c2, 1::bigint AS w FROM "public"."orders" AS orders WHERE (orders.region = 'north'::text) AND (orders.total > 10::numeric) AND (orders.ctid >= $1::tid)

-- combine Δ (DuckDB in a task, or Spark SQL)
WITH x AS (
SELECT d0.c1, d0.c2, CAST(d0.w AS BIGINT) AS w FROM d0
)
SELECT c1, c2, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c1, c2 HAVING SUM(w) <> 0

-- combine all rows (Spark SQL)
WITH x AS (
SELECT s0.c1, s0.c2, CAST(s0.w AS BIGINT) AS w FROM s0
)
SELECT c1, c2, CAST(SUM(w) AS BIGINT) AS w FROM x GROUP BY c1, c2 HAVING SUM(w) <> 0

-- apply Δ: result
WITH rows AS (SELECT (orders.id)::bigint AS c1, (orders.total)::numeric(10,2) AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c1, c2, w)
  CROSS JOIN LATERAL (SELECT staged.c1::bigint AS "id", staged.c2::numeric(10,2) AS "total") AS orders),
delta AS (SELECT row_number() OVER () AS id, hash_record_extended(ROW(c1, c2), 0) AS h, c1, c2, sum(w)::bigint AS w FROM rows GROUP BY c1, c2 HAVING sum(w) <> 0),
hit AS (SELECT r.ctid AS at, -d.w AS n, row_number() OVER (PARTITION BY d.id) AS i FROM delta AS d JOIN "public"."filter" AS r ON hash_record_extended(ROW(r."id", r."total"), 0) = d.h AND record_image_eq(ROW(r."id", r."total"), ROW(d.c1, d.c2)) WHERE d.w < 0),
gone AS (DELETE FROM "public"."filter" AS r USING hit WHERE r.ctid = hit.at AND hit.i <= hit.n RETURNING 1),
new AS (INSERT INTO "public"."filter" ("id", "total") SELECT c1, c2 FROM delta CROSS JOIN generate_series(1, delta.w)),
log AS (INSERT INTO pgtrickle_changes.stream_1 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT w, c1, c2 FROM delta) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 1) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 1))
SELECT coalesce((SELECT sum(-w) FROM delta WHERE w < 0), 0)::bigint AS minus, coalesce((SELECT sum(w) FROM delta WHERE w > 0), 0)::bigint AS plus, coalesce((SELECT sum(-w) FROM delta WHERE w < 0), 0)::bigint - (SELECT count(*) FROM gone) AS negative

-- apply all rows: result
WITH wanted AS (SELECT q::text AS t, count(*) AS n FROM (SELECT q.c1, q.c2 FROM (SELECT (orders.id)::bigint AS c1, (orders.total)::numeric(10,2) AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c1, c2, w)
  CROSS JOIN LATERAL (SELECT staged.c1::bigint AS "id", staged.c2::numeric(10,2) AS "total") AS orders) AS q CROSS JOIN generate_series(1, q.w)) AS q GROUP BY 1),
present AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT ctid AS at, "id" AS c1, "total" AS c2 FROM "public"."filter") AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
extra AS (SELECT p.* FROM present AS p LEFT JOIN wanted AS q USING (t) WHERE p.i > coalesce(q.n, 0)),
gone AS (DELETE FROM "public"."filter" AS r USING extra AS e WHERE r.ctid = e.at),
log AS (INSERT INTO pgtrickle_changes.stream_1 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT -1 AS w, c1, c2 FROM extra) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 1) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 1))
SELECT (SELECT count(*) FROM extra) AS minus, 0::bigint AS plus

-- apply all rows: result
WITH present AS (SELECT q::text AS t, count(*) AS n FROM (SELECT "id" AS c1, "total" AS c2 FROM "public"."filter") AS q GROUP BY 1),
wanted AS (SELECT c.at, c.c1, c.c2, z.t, row_number() OVER (PARTITION BY z.t) AS i FROM (SELECT NULL::tid AS at, q.* FROM (SELECT q.c1, q.c2 FROM (SELECT (orders.id)::bigint AS c1, (orders.total)::numeric(10,2) AS c2, staged.w
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS staged(c1, c2, w)
  CROSS JOIN LATERAL (SELECT staged.c1::bigint AS "id", staged.c2::numeric(10,2) AS "total") AS orders) AS q CROSS JOIN generate_series(1, q.w)) AS q) AS c CROSS JOIN LATERAL (SELECT q::text AS t FROM (SELECT c.c1, c.c2) AS q) AS z),
missing AS (SELECT c1, c2 FROM wanted LEFT JOIN present AS p USING (t) WHERE i > coalesce(p.n, 0)),
new AS (INSERT INTO "public"."filter" ("id", "total") SELECT c1, c2 FROM missing),
log AS (INSERT INTO pgtrickle_changes.stream_1 (refresh_number, w, a1, a2) SELECT $4::bigint, q.* FROM (SELECT 1 AS w, c1, c2 FROM missing) AS q WHERE EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE upstream_id = 1) OR EXISTS (SELECT FROM pgtrickle.pgt_sinks WHERE pgt_id = 1))
SELECT 0::bigint AS minus, (SELECT count(*) FROM missing) AS plus
