-- Where one sink stands, and the stream table that it publishes, in one row.
SELECT s.published, l.metadata_schema, t.refresh_number, t.generation, t.is_populated, t.relid, n.nspname::text AS schema,
       c.relname::text AS name, t.sink_mode, t.query,
       array(SELECT d.relid FROM pgtrickle.pgt_dependencies d WHERE d.pgt_id = t.pgt_id ORDER BY d.relid) AS sources
FROM pgtrickle.pgt_sinks s
JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = s.pgt_id
JOIN pgtrickle.pgt_lakes l ON l.lake_id = s.lake_id
LEFT JOIN pg_catalog.pg_class c ON c.oid = t.relid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE s.pgt_id = %(id)s;
