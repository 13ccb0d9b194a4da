-- resume_stream_table(name): a paused or suspended stream table is refreshed again.
CREATE OR REPLACE FUNCTION pgtrickle.resume_stream_table(name text) RETURNS void
LANGUAGE sql AS $$
    SELECT pgtrickle._set_running(pgtrickle._find(name, pg_catalog.current_setting('search_path')), true)
$$;
