-- create_stream_table(name, query, schedule, refresh_mode, sink, ducklake_sink_mode): makes a table that
-- follows the query. The table exists at once, with the query's columns, and is empty until its first
-- refresh. schedule is an interval ('200ms', '5s', '1m', '2h', '1d'); refresh_mode AUTO, DIFFERENTIAL or
-- FULL; sink 'ducklake' publishes every refresh to the lake, as 'append' or 'replace'. Returns the table.
CREATE OR REPLACE FUNCTION pgtrickle.create_stream_table(
    name text,
    query text,
    schedule text DEFAULT '1m',
    refresh_mode text DEFAULT 'AUTO',
    sink text DEFAULT NULL,
    ducklake_sink_mode text DEFAULT NULL
) RETURNS regclass
LANGUAGE sql AS $$
    SELECT pgtrickle._create(name, query, schedule, refresh_mode, sink, ducklake_sink_mode,
                             pg_catalog.current_setting('search_path'), pg_catalog.current_schemas(false))
$$;
