INSERT INTO pgtrickle.pgt_ducklake_provenance
    (stream_table_oid, stream_table_name, ducklake_snapshot_id, refresh_id, refresh_number, frontier, delta_row_count)
VALUES (%(relid)s, %(name)s, %(snapshot)s, %(refresh_id)s, %(number)s, %(frontier)s::pg_snapshot, %(rows)s);
