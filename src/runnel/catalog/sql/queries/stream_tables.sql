-- Every stream table with the names that its relations have now. A result or view that is gone: NULL.
SELECT t.pgt_id, t.relid, t.view_relid, n.nspname::text, c.relname::text, coalesce(c.relowner, t.owner),
       pg_catalog.pg_get_userbyid(coalesce(c.relowner, t.owner))::text, t.query, t.schedule, t.schedule_ms,
       t.refresh_mode, t.sink, t.sink_mode, t.status, t.is_populated, t.generation, t.refresh_number,
       t.frontier::text, t.effective_mode, t.reason, t.settings, t.created_at, t.refreshed_at,
       EXISTS (SELECT FROM pgtrickle.pgt_dependencies s WHERE s.upstream_id = t.pgt_id),
       EXISTS (SELECT FROM pg_catalog.pg_class v WHERE v.oid = t.view_relid)
FROM pgtrickle.pgt_stream_tables t
LEFT JOIN pg_catalog.pg_class c ON c.oid = t.relid
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
ORDER BY t.pgt_id;
