-- What every stream table reads, with the present names; a relation that is gone: NULL.
SELECT d.pgt_id, d.relid, d.kind, n.nspname::text, c.relname::text, d.capture_id, d.upstream_id, d.consumed,
       l.lake_id, l.lake_schema, l.lake_table
FROM pgtrickle.pgt_dependencies d
LEFT JOIN pg_catalog.pg_class c ON c.oid = d.relid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pgtrickle.pgt_lake_tables l ON l.stub_relid = d.relid
ORDER BY d.pgt_id, d.relid;
