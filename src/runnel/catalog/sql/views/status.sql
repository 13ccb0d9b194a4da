-- Of each stream table that one may read, how it stands.
CREATE OR REPLACE VIEW pgtrickle.pgt_stream_table_status WITH (security_barrier) AS
SELECT t.pgt_id, n.nspname AS schema, c.relname AS name, pg_get_userbyid(c.relowner) AS owner, t.status,
       t.is_populated, t.refresh_mode, t.effective_mode, t.reason, t.schedule, t.refresh_number, t.refreshed_at,
       h.error AS last_error, t.sink, t.sink_mode, s.published, s.last_error AS sink_error, t.created_at
FROM pgtrickle.pgt_stream_tables t
JOIN pg_class c ON c.oid = t.relid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pgtrickle.pgt_sinks s ON s.pgt_id = t.pgt_id
LEFT JOIN LATERAL (
    SELECT h.error FROM pgtrickle.pgt_refresh_history h WHERE h.pgt_id = t.pgt_id ORDER BY h.ended_at DESC LIMIT 1
) AS h ON true
WHERE has_table_privilege(t.relid, 'SELECT') OR pg_has_role(c.relowner, 'USAGE');

-- Of each stream table that one may read, its refreshes.
CREATE OR REPLACE VIEW pgtrickle.pgt_refreshes WITH (security_barrier) AS
SELECT h.* FROM pgtrickle.pgt_refresh_history h
JOIN pgtrickle.pgt_stream_table_status t ON t.pgt_id = h.pgt_id;

-- Of each stream table that one may read, what it wrote to the lake.
CREATE OR REPLACE VIEW pgtrickle.pgt_publications WITH (security_barrier) AS
SELECT p.* FROM pgtrickle.pgt_ducklake_provenance p
JOIN pgtrickle.pgt_stream_tables t ON t.relid = p.stream_table_oid
JOIN pgtrickle.pgt_stream_table_status v ON v.pgt_id = t.pgt_id;
