-- attach_lake(name, catalog, metadata_schema): makes the tables of a DuckLake known to PostgreSQL, each as a
-- view in a schema of the lake's name, for stream tables to read (a lake's schema other than main becomes
-- lake_schema). Selecting from such a view is refused with a hint. Call it again when the lake has new tables
-- or columns. Returns the views; the caller may grant USAGE and SELECT on them. The catalog is in this
-- database, in metadata_schema.
CREATE OR REPLACE FUNCTION pgtrickle.attach_lake(
    name text, catalog text DEFAULT NULL, metadata_schema text DEFAULT NULL
) RETURNS SETOF regclass
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    lake bigint;
    stub regclass;
    lake_table record;
BEGIN
    PERFORM pgtrickle._require_administrator('attach lakes, for the engine reads their files');
    lake := pgtrickle._find_or_add_lake(name, catalog, metadata_schema);
    FOR lake_table IN SELECT * FROM pgtrickle._lake_tables(lake) LOOP
        IF lake_table.refusal IS NOT NULL THEN
            RAISE WARNING USING MESSAGE = format('lake table %s.%s is left out: %s', lake_table.lake_schema,
                                                 lake_table.lake_table, lake_table.refusal);
            CONTINUE;
        END IF;
        stub := pgtrickle._create_stub(name, lake_table.lake_schema, lake_table.lake_table, lake_table.columns);
        PERFORM pgtrickle._record_stub(stub, lake, lake_table.lake_schema, lake_table.lake_table);
        RETURN NEXT stub;
    END LOOP;
END
$$;
