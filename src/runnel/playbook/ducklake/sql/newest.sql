SELECT coalesce(max(snapshot_id), -1) FROM {schema}.ducklake_snapshot
