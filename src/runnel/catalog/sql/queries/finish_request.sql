UPDATE pgtrickle.pgt_refresh_requests SET refresh_id = %s, error = %s, done_at = pg_catalog.clock_timestamp()
WHERE pgt_id = %s AND signal <= %s AND done_at IS NULL;
