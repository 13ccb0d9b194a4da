-- alter_stream_table(name, query, schedule, refresh_mode, sink, ducklake_sink_mode): changes what is given
-- and leaves the rest. A new query has to have the same columns; the table keeps its rows until the next
-- refresh fills it anew. sink => 'none' ends publishing.
CREATE OR REPLACE FUNCTION pgtrickle.alter_stream_table(
    name text,
    query text DEFAULT NULL,
    schedule text DEFAULT NULL,
    refresh_mode text DEFAULT NULL,
    sink text DEFAULT NULL,
    ducklake_sink_mode text DEFAULT NULL
) RETURNS void
LANGUAGE sql AS $$
    SELECT pgtrickle._alter(pgtrickle._find(name, pg_catalog.current_setting('search_path')), query, schedule,
                            refresh_mode, sink, ducklake_sink_mode, pg_catalog.current_setting('search_path'),
                            pg_catalog.current_schemas(false))
$$;
