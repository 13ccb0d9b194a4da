-- Of each order that a stream table counts: the milliseconds from its commit to the moment at which the reader
-- of the lake had read a snapshot that contains it. A snapshot contains what its frontier sees; the reader has
-- read all snapshots up to the newest one of its poll.
WITH published AS MATERIALIZED (
    SELECT p.ducklake_snapshot_id AS snapshot, p.frontier,
           (SELECT min(s.at) FROM pg_temp.sightings AS s WHERE s.snapshot >= p.ducklake_snapshot_id) AS seen_at
    FROM pgtrickle.pgt_ducklake_provenance AS p
    WHERE p.stream_table_oid = %(stream_table)s::regclass
),
waited AS (
    SELECT (first.seen_at - c.at) * 1000 AS ms
    FROM pg_temp.commits AS c
    LEFT JOIN LATERAL (
        SELECT p.seen_at FROM published AS p
        WHERE pg_visible_in_snapshot(c.xid, p.frontier) ORDER BY p.snapshot LIMIT 1
    ) AS first ON true
    WHERE c.what = ANY (%(counted)s)
)
SELECT count(ms), count(*) - count(ms),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.99) WITHIN GROUP (ORDER BY ms), max(ms)
FROM waited
