-- pgt_status(): of each stream table that you may read, how it stands. status is pending (not filled yet),
-- active, suspended or error; reason says why it runs FULL, or what is wrong.
CREATE OR REPLACE FUNCTION pgtrickle.pgt_status() RETURNS TABLE (
    name text, status text, is_populated boolean, refresh_mode text, effective_mode text, reason text, schedule text,
    refresh_number bigint, refreshed_at timestamptz, last_error text, sink text, sink_mode text, published bigint,
    sink_error text, owner name
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('%I.%I', s.schema, s.name), s.status, s.is_populated, s.refresh_mode, s.effective_mode, s.reason,
           s.schedule, s.refresh_number, s.refreshed_at, s.last_error, s.sink, s.sink_mode, s.published, s.sink_error,
           s.owner
    FROM pgtrickle.pgt_stream_table_status AS s ORDER BY s.schema, s.name
$$;
