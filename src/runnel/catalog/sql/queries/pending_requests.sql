-- Requests as rows, and those of callers who wait, as their locks.
SELECT pgt_id FROM pgtrickle.pgt_refresh_requests WHERE done_at IS NULL
UNION
SELECT t.pgt_id FROM pg_catalog.pg_locks l JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = l.objid::bigint
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid::bigint = pgtrickle._request_class() AND l.granted
AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
ORDER BY 1;
