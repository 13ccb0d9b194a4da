SELECT min(snapshot_id) FILTER (WHERE snapshot_id >= %(first)s) AS first,
       max(snapshot_id) FILTER (WHERE snapshot_id <= %(last)s) AS last
FROM {schema}.ducklake_snapshot
