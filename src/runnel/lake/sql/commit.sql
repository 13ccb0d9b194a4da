-- name: claim
WITH base AS (
    SELECT s.snapshot_id, s.snapshot_time AS taken_at, s.schema_version, s.next_catalog_id, s.next_file_id
    FROM {lake}.ducklake_snapshot s
    ORDER BY s.snapshot_id DESC
    LIMIT 1
), claimed AS (
    INSERT INTO {lake}.ducklake_snapshot (snapshot_id, snapshot_time, schema_version, next_catalog_id, next_file_id)
    -- clock_timestamp(): now() is the transaction's start, and snapshots must be in the order of their times
    SELECT snapshot_id + 1, greatest(clock_timestamp(), taken_at), schema_version, next_catalog_id, next_file_id
    FROM base
    RETURNING snapshot_time AS claimed_at
)
SELECT base.*, claimed.claimed_at,
       (SELECT m.value FROM {lake}.ducklake_metadata m WHERE m.key = 'version' AND m.scope IS NULL) AS version
FROM base, claimed;

-- name: finish
WITH changes AS (
    INSERT INTO {lake}.ducklake_snapshot_changes
        (snapshot_id, changes_made, author, commit_message, commit_extra_info)
    VALUES (%(snapshot)s, %(changes)s, %(author)s, %(message)s, %(extra_info)s)
)
UPDATE {lake}.ducklake_snapshot
SET schema_version = %(schema_version)s, next_catalog_id = %(next_catalog_id)s, next_file_id = %(next_file_id)s
WHERE snapshot_id = %(snapshot)s;

-- name: name_taken
SELECT 'table' AS kind FROM {lake}.ducklake_table t
WHERE t.schema_id = %(schema_id)s AND t.end_snapshot IS NULL AND lower(t.table_name) = lower(%(name)s)
UNION ALL
SELECT 'view' FROM {lake}.ducklake_view v
WHERE v.schema_id = %(schema_id)s AND v.end_snapshot IS NULL AND lower(v.view_name) = lower(%(name)s);

-- name: create_schema
INSERT INTO {lake}.ducklake_schema
    (schema_id, schema_uuid, begin_snapshot, end_snapshot, schema_name, path, path_is_relative)
VALUES (%(schema_id)s, %(uuid)s, %(snapshot)s, NULL, %(name)s, %(path)s, true);

-- name: create_table
INSERT INTO {lake}.ducklake_table
    (table_id, table_uuid, begin_snapshot, end_snapshot, schema_id, table_name, path, path_is_relative)
VALUES (%(table_id)s, %(uuid)s, %(snapshot)s, NULL, %(schema_id)s, %(name)s, %(path)s, true);

-- name: create_columns
INSERT INTO {lake}.ducklake_column
    (column_id, begin_snapshot, end_snapshot, table_id, column_order, column_name, column_type, initial_default,
     default_value, nulls_allowed, parent_column, default_value_type, default_value_dialect)
SELECT c.column_id, %(snapshot)s, NULL, %(table_id)s, c.column_id, c.name, c.type, NULL,
       'NULL', c.nulls_allowed, c.parent, c.default_type, 'duckdb'
FROM unnest(%(ids)s::bigint[], %(names)s::text[], %(types)s::text[], %(nulls)s::boolean[],
            %(parents)s::bigint[], %(default_types)s::text[])
     AS c (column_id, name, type, nulls_allowed, parent, default_type);

-- name: schema_version
INSERT INTO {lake}.ducklake_schema_versions (begin_snapshot, schema_version, table_id)
VALUES (%(snapshot)s, %(schema_version)s, %(table_id)s);

-- name: register_inlined
INSERT INTO {lake}.ducklake_inlined_data_tables (table_id, table_name, schema_version)
VALUES (%(table_id)s, %(name)s, %(schema_version)s);

-- name: table_statistics
SELECT s.next_row_id,
       EXISTS (SELECT FROM {lake}.ducklake_partition_info p
               WHERE p.table_id = %(table_id)s AND p.end_snapshot IS NULL) AS is_partitioned
FROM (VALUES (1)) AS one
LEFT JOIN {lake}.ducklake_table_stats s ON s.table_id = %(table_id)s;

-- name: column_statistics
SELECT column_id, contains_null, contains_nan, min_value, max_value
FROM {lake}.ducklake_table_column_stats
WHERE table_id = %(table_id)s;

-- name: create_table_statistics
INSERT INTO {lake}.ducklake_table_stats (table_id, record_count, next_row_id, file_size_bytes)
VALUES (%(table_id)s, %(records)s, %(records)s, %(bytes)s);

-- name: raise_table_statistics
UPDATE {lake}.ducklake_table_stats
SET record_count = record_count + %(records)s, next_row_id = next_row_id + %(records)s,
    file_size_bytes = file_size_bytes + %(bytes)s
WHERE table_id = %(table_id)s;

-- name: add_data_file
INSERT INTO {lake}.ducklake_data_file
    (data_file_id, table_id, begin_snapshot, end_snapshot, file_order, path, path_is_relative, file_format,
     record_count, file_size_bytes, footer_size, row_id_start, partition_id, encryption_key, mapping_id, partial_max)
VALUES (%(file_id)s, %(table_id)s, %(snapshot)s, NULL, NULL, %(path)s, true, 'parquet',
        %(records)s, %(bytes)s, %(footer)s, %(row_id_start)s, NULL, NULL, NULL, NULL);

-- name: add_file_statistics
INSERT INTO {lake}.ducklake_file_column_stats
    (data_file_id, table_id, column_id, column_size_bytes, value_count, null_count, min_value, max_value,
     contains_nan, extra_stats)
SELECT %(file_id)s, %(table_id)s, c.*, NULL
FROM unnest(%(ids)s::bigint[], %(sizes)s::bigint[], %(value_counts)s::bigint[], %(null_counts)s::bigint[],
            %(lows)s::text[], %(highs)s::text[], %(nans)s::boolean[]) AS c;

-- name: delete_column_statistics
DELETE FROM {lake}.ducklake_table_column_stats
WHERE table_id = %(table_id)s AND column_id = ANY (%(ids)s);

-- name: update_column_statistics
UPDATE {lake}.ducklake_table_column_stats s
SET contains_null = c.contains_null, contains_nan = c.contains_nan, min_value = c.low, max_value = c.high
FROM unnest(%(ids)s::bigint[], %(nulls)s::boolean[], %(nans)s::boolean[], %(lows)s::text[], %(highs)s::text[])
     AS c (column_id, contains_null, contains_nan, low, high)
WHERE s.table_id = %(table_id)s AND s.column_id = c.column_id;

-- name: insert_column_statistics
INSERT INTO {lake}.ducklake_table_column_stats
    (table_id, column_id, contains_null, contains_nan, min_value, max_value, extra_stats)
SELECT %(table_id)s, c.*, NULL
FROM unnest(%(ids)s::bigint[], %(nulls)s::boolean[], %(nans)s::boolean[], %(lows)s::text[], %(highs)s::text[]) AS c;

-- name: end_data_files
UPDATE {lake}.ducklake_data_file SET end_snapshot = %(snapshot)s
WHERE table_id = %(table_id)s AND end_snapshot IS NULL
RETURNING data_file_id;

-- name: end_delete_files
UPDATE {lake}.ducklake_delete_file SET end_snapshot = %(snapshot)s
WHERE table_id = %(table_id)s AND end_snapshot IS NULL;

-- name: inlined_names
SELECT table_name FROM {lake}.ducklake_inlined_data_tables WHERE table_id = %(table_id)s;

-- name: end_table
WITH ended_columns AS (
    UPDATE {lake}.ducklake_column SET end_snapshot = %(snapshot)s
    WHERE table_id = %(table_id)s AND end_snapshot IS NULL
), ended_column_tags AS (
    UPDATE {lake}.ducklake_column_tag SET end_snapshot = %(snapshot)s
    WHERE table_id = %(table_id)s AND end_snapshot IS NULL
), ended_partitions AS (
    UPDATE {lake}.ducklake_partition_info SET end_snapshot = %(snapshot)s
    WHERE table_id = %(table_id)s AND end_snapshot IS NULL
), ended_sorts AS (
    UPDATE {lake}.ducklake_sort_info SET end_snapshot = %(snapshot)s
    WHERE table_id = %(table_id)s AND end_snapshot IS NULL
)
UPDATE {lake}.ducklake_table SET end_snapshot = %(snapshot)s
WHERE table_id = %(table_id)s AND end_snapshot IS NULL;

-- name: find_view
SELECT v.view_id, v.view_name, v.sql, s.schema_id, s.schema_name
FROM {lake}.ducklake_view v
JOIN {lake}.ducklake_schema s USING (schema_id)
WHERE lower(s.schema_name) = lower(%(schema)s) AND lower(v.view_name) = lower(%(name)s)
  AND s.begin_snapshot <= %(at)s AND (s.end_snapshot IS NULL OR s.end_snapshot > %(at)s)
  AND v.begin_snapshot <= %(at)s AND (v.end_snapshot IS NULL OR v.end_snapshot > %(at)s);

-- name: tagged_views
SELECT v.view_id, v.view_name, v.sql, s.schema_id, s.schema_name
FROM {lake}.ducklake_tag g
JOIN {lake}.ducklake_view v ON v.view_id = g.object_id
JOIN {lake}.ducklake_schema s USING (schema_id)
WHERE g.key = %(key)s AND g.value = %(value)s
  AND g.begin_snapshot <= %(at)s AND (g.end_snapshot IS NULL OR g.end_snapshot > %(at)s)
  AND v.begin_snapshot <= %(at)s AND (v.end_snapshot IS NULL OR v.end_snapshot > %(at)s)
  AND s.begin_snapshot <= %(at)s AND (s.end_snapshot IS NULL OR s.end_snapshot > %(at)s)
ORDER BY v.view_id;

-- name: create_view
INSERT INTO {lake}.ducklake_view
    (view_id, view_uuid, begin_snapshot, end_snapshot, schema_id, view_name, dialect, sql, column_aliases)
VALUES (%(view_id)s, %(uuid)s, %(snapshot)s, NULL, %(schema_id)s, %(name)s, 'duckdb', %(sql)s, %(aliases)s);

-- name: end_view
UPDATE {lake}.ducklake_view SET end_snapshot = %(snapshot)s
WHERE view_id = %(view_id)s AND end_snapshot IS NULL;

-- name: tags
SELECT key, value FROM {lake}.ducklake_tag
WHERE object_id = %(object_id)s AND begin_snapshot <= %(at)s AND (end_snapshot IS NULL OR end_snapshot > %(at)s)
ORDER BY key;

-- name: end_tags
UPDATE {lake}.ducklake_tag SET end_snapshot = %(snapshot)s
WHERE object_id = %(object_id)s AND end_snapshot IS NULL AND (%(key)s::text IS NULL OR key = %(key)s);

-- name: create_tags
INSERT INTO {lake}.ducklake_tag (object_id, begin_snapshot, end_snapshot, key, value)
SELECT %(object_id)s, %(snapshot)s, NULL, t.key, t.value
FROM unnest(%(keys)s::text[], %(values)s::text[]) AS t (key, value);
