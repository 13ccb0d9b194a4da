-- name: newest
SELECT s.snapshot_id, s.snapshot_time AS taken_at, s.schema_version, s.next_catalog_id, s.next_file_id,
       (SELECT m.value FROM {lake}.ducklake_metadata m WHERE m.key = 'version' AND m.scope IS NULL) AS version
FROM {lake}.ducklake_snapshot s
ORDER BY s.snapshot_id DESC
LIMIT 1;

-- name: snapshots
SELECT snapshot_id, snapshot_time AS taken_at, schema_version, next_catalog_id, next_file_id
FROM {lake}.ducklake_snapshot
WHERE snapshot_id BETWEEN %(low)s AND %(high)s
ORDER BY snapshot_id;

-- name: oldest
SELECT min(snapshot_id) AS snapshot_id FROM {lake}.ducklake_snapshot;

-- name: changes
SELECT snapshot_id, coalesce(changes_made, '') AS changes_made
FROM {lake}.ducklake_snapshot_changes
WHERE snapshot_id > %(after)s AND snapshot_id <= %(upto)s
ORDER BY snapshot_id;

-- name: options
SELECT key, value
FROM {lake}.ducklake_metadata
WHERE scope IS NULL
   OR (scope = 'schema' AND scope_id = %(schema_id)s)
   OR (scope = 'table' AND scope_id = %(table_id)s)
ORDER BY CASE scope WHEN 'table' THEN 2 WHEN 'schema' THEN 1 ELSE 0 END;

-- name: tables
SELECT s.schema_name, t.table_name
FROM {lake}.ducklake_schema s
JOIN {lake}.ducklake_table t USING (schema_id)
WHERE s.begin_snapshot <= %(at)s AND (s.end_snapshot IS NULL OR s.end_snapshot > %(at)s)
  AND t.begin_snapshot <= %(at)s AND (t.end_snapshot IS NULL OR t.end_snapshot > %(at)s)
ORDER BY 1, 2;

-- name: find_schema
SELECT s.schema_id, s.schema_name, s.path, s.path_is_relative,
       (SELECT m.value FROM {lake}.ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) AS data_path
FROM {lake}.ducklake_schema s
WHERE lower(s.schema_name) = lower(%(schema)s)
  AND s.begin_snapshot <= %(at)s AND (s.end_snapshot IS NULL OR s.end_snapshot > %(at)s);

-- name: find_table
SELECT t.table_id, t.table_uuid, t.table_name, t.path, t.path_is_relative,
       s.schema_id, s.schema_name, s.path AS schema_path, s.path_is_relative AS schema_is_relative,
       (SELECT m.value FROM {lake}.ducklake_metadata m WHERE m.key = 'data_path' AND m.scope IS NULL) AS data_path
FROM {lake}.ducklake_schema s
JOIN {lake}.ducklake_table t USING (schema_id)
WHERE ((lower(s.schema_name) = lower(%(schema)s) AND lower(t.table_name) = lower(%(name)s))
       OR t.table_uuid = %(uuid)s)
  AND s.begin_snapshot <= %(at)s AND (s.end_snapshot IS NULL OR s.end_snapshot > %(at)s)
  AND t.begin_snapshot <= %(at)s AND (t.end_snapshot IS NULL OR t.end_snapshot > %(at)s);

-- name: columns
SELECT column_id, column_name, column_type, nulls_allowed, initial_default, parent_column, begin_snapshot
FROM {lake}.ducklake_column
WHERE table_id = %(table_id)s
  AND begin_snapshot <= %(at)s AND (end_snapshot IS NULL OR end_snapshot > %(at)s)
ORDER BY column_order, column_id;

-- name: nested_history
SELECT count(*) AS changes
FROM {lake}.ducklake_column
WHERE table_id = %(table_id)s AND parent_column IS NOT NULL
  AND (end_snapshot IS NOT NULL
       OR begin_snapshot > (SELECT min(p.begin_snapshot) FROM {lake}.ducklake_column p
                            WHERE p.table_id = %(table_id)s AND p.column_id = ducklake_column.parent_column));

-- name: data_files
SELECT data_file_id, path, path_is_relative, file_format, begin_snapshot, end_snapshot, record_count,
       row_id_start, encryption_key, mapping_id, partial_max
FROM {lake}.ducklake_data_file
WHERE table_id = %(table_id)s
  AND begin_snapshot <= %(at)s AND (end_snapshot IS NULL OR end_snapshot > %(at)s)
ORDER BY data_file_id;

-- name: changed_files
SELECT f.data_file_id, f.path, f.path_is_relative, f.file_format, f.begin_snapshot, f.end_snapshot,
       f.record_count, f.row_id_start, f.encryption_key, f.mapping_id, f.partial_max
FROM {lake}.ducklake_data_file f
WHERE f.table_id = %(table_id)s AND f.begin_snapshot <= %(upto)s
  AND (f.begin_snapshot > %(after)s OR f.partial_max > %(after)s
       OR (f.end_snapshot > %(after)s AND f.end_snapshot <= %(upto)s)
       OR f.data_file_id = ANY (%(deleted)s)
       OR EXISTS (SELECT FROM {lake}.ducklake_delete_file d
                  WHERE d.data_file_id = f.data_file_id AND d.begin_snapshot <= %(upto)s
                    -- a flush writes later deletes without a partial_max: then its file is newer than `after`
                    AND (d.begin_snapshot > %(after)s OR d.partial_max > %(after)s
                         OR d.delete_file_id >= (SELECT s.next_file_id FROM {lake}.ducklake_snapshot s
                                                 WHERE s.snapshot_id = %(after)s))))
  AND (f.end_snapshot IS NULL OR f.end_snapshot > %(after)s)
ORDER BY f.data_file_id;

-- name: delete_files
SELECT data_file_id, path, path_is_relative, format, begin_snapshot, encryption_key
FROM {lake}.ducklake_delete_file
WHERE data_file_id = ANY (%(files)s) AND begin_snapshot <= %(at)s
ORDER BY delete_file_id;

-- name: mappings
SELECT mapping_id, target_field_id, source_name, is_partition
FROM {lake}.ducklake_name_mapping
WHERE mapping_id = ANY (%(mappings)s) AND parent_column IS NULL;

-- name: inlined_tables
SELECT i.table_name, i.schema_version,
       (SELECT v.begin_snapshot FROM {lake}.ducklake_schema_versions v
        WHERE v.table_id = i.table_id AND v.schema_version <= i.schema_version
        ORDER BY v.schema_version DESC LIMIT 1) AS known_since
FROM {lake}.ducklake_inlined_data_tables i
WHERE i.table_id = %(table_id)s
ORDER BY i.schema_version;

-- name: relation_exists
SELECT to_regclass(%(relation)s) IS NOT NULL AS is_there;
