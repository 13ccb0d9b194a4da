-- What a response says of its lake, at the newest snapshot, in one round trip.
WITH newest AS (
    SELECT s.snapshot_id, s.snapshot_time, s.schema_version, c.changes_made, c.author, c.commit_message
    FROM {schema}.ducklake_snapshot s
    LEFT JOIN {schema}.ducklake_snapshot_changes c USING (snapshot_id)
    ORDER BY s.snapshot_id DESC
    LIMIT 1
), tables AS (
    SELECT s.schema_name, t.table_name, stats.file_size_bytes,
           (SELECT count(*) FROM {schema}.ducklake_data_file f
            WHERE f.table_id = t.table_id AND f.end_snapshot IS NULL) AS file_count
    FROM {schema}.ducklake_table t
    JOIN {schema}.ducklake_schema s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
    LEFT JOIN {schema}.ducklake_table_stats stats ON stats.table_id = t.table_id
    WHERE t.end_snapshot IS NULL
    ORDER BY s.schema_name, t.table_name
)
SELECT (SELECT count(*) FROM {schema}.ducklake_snapshot) AS snapshot_count,
       (SELECT row_to_json(newest) FROM newest) AS latest_snapshot,
       (SELECT coalesce(json_agg(tables), '[]'::json) FROM tables) AS tables
