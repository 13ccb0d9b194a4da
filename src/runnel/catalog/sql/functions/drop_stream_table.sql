-- drop_stream_table(name, cascade): removes a stream table with everything that creating it made. One that
-- others read is refused, unless cascade is true: then they go too.
CREATE OR REPLACE FUNCTION pgtrickle.drop_stream_table(name text, cascade boolean DEFAULT false) RETURNS void
LANGUAGE sql AS $$
    SELECT pgtrickle._drop(pgtrickle._find(name, pg_catalog.current_setting('search_path')), cascade)
$$;
