-- lake_only(name): what the view of a lake table is made of; it refuses to be evaluated by PostgreSQL.
CREATE OR REPLACE FUNCTION pgtrickle.lake_only(name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
        MESSAGE = format('%s is a lake table and cannot be read from PostgreSQL', name),
        HINT = 'Read it in a stream table: SELECT pgtrickle.create_stream_table(name, query); or in DuckDB or Spark.';
END
$$;
