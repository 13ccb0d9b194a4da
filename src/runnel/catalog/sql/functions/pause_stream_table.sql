-- pause_stream_table(name): the stream table is refreshed no more until it is resumed. Its changes are kept.
CREATE OR REPLACE FUNCTION pgtrickle.pause_stream_table(name text) RETURNS void
LANGUAGE sql AS $$
    SELECT pgtrickle._set_running(pgtrickle._find(name, pg_catalog.current_setting('search_path')), false)
$$;
