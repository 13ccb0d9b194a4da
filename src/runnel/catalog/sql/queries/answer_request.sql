-- For those who wait; nobody waits for a stream table that has gone meanwhile.
INSERT INTO pgtrickle.pgt_refresh_requests (pgt_id, signal, refresh_id, error, done_at)
SELECT pgt_id, %s, %s, %s, pg_catalog.clock_timestamp() FROM pgtrickle.pgt_stream_tables WHERE pgt_id = %s;
