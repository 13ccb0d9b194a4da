-- The lake of that name; a new one is recorded once its catalog is seen to be one.
CREATE OR REPLACE FUNCTION pgtrickle._find_or_add_lake(name text, catalog text, metadata text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lake pgtrickle.pgt_lakes;
BEGIN
    IF catalog IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('lake %s: a catalog in another database is not offered yet', name),
            HINT = 'Leave catalog out: the lake''s catalog has to be in this database, in metadata_schema.';
    END IF;
    IF name !~ '^[a-z_][a-z0-9_]{0,50}$' OR name ~ '^(pg_|pgtrickle|information_schema$|public$)' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_name', MESSAGE = format('%L is not a name for a lake', name),
            HINT = 'It becomes the name of a schema: write lower case letters, digits and underscores.';
    END IF;
    SELECT * INTO lake FROM pgtrickle.pgt_lakes WHERE lake_name = name;
    IF found AND metadata IS DISTINCT FROM lake.metadata_schema AND metadata IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_object',
            MESSAGE = format('lake %s is attached already, with its catalog in schema %I', name,
                             lake.metadata_schema),
            HINT = 'Choose another name for this one.';
    END IF;
    PERFORM pgtrickle._check_lake(name, coalesce(lake.metadata_schema, metadata, 'public'));
    IF lake.lake_id IS NULL THEN
        INSERT INTO pgtrickle.pgt_lakes (lake_name, metadata_schema) VALUES (name, coalesce(metadata, 'public'))
        RETURNING * INTO lake;
    END IF;
    RETURN lake.lake_id;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._check_lake(name text, metadata text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    catalog regclass := to_regclass(format('%I.ducklake_metadata', metadata));
    version text;
BEGIN
    IF catalog IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_table',
            MESSAGE = format('lake %s: schema %I of this database holds no DuckLake catalog', name, metadata),
            HINT = coalesce('Pass metadata_schema => ' || (
                SELECT string_agg(quote_literal(relnamespace::regnamespace::text), ' or ') FROM pg_class
                WHERE relname = 'ducklake_metadata' AND relkind = 'r') || '.', 'Create the lake first, with DuckDB''s '
                'ATTACH ''ducklake:postgres:…'' or with runnel.');
    END IF;
    IF NOT has_table_privilege(session_user, catalog, 'SELECT') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('lake %s: you may not read its catalog in schema %I', name, metadata),
            HINT = format('GRANT USAGE ON SCHEMA %1$I TO %2$I; GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO %2$I;',
                          metadata, session_user);
    END IF;
    IF NOT has_schema_privilege(current_user, metadata, 'USAGE')
       OR NOT has_table_privilege(current_user, catalog, 'SELECT') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('lake %s: the engine''s role %s may not read its catalog in schema %I', name,
                             current_user, metadata),
            HINT = format('GRANT USAGE ON SCHEMA %1$I TO %2$I; GRANT SELECT ON ALL TABLES IN SCHEMA %1$I TO %2$I;',
                          metadata, current_user);
    END IF;
    EXECUTE format('SELECT value FROM %I.ducklake_metadata WHERE key = ''version''', metadata) INTO version;
    IF version IS DISTINCT FROM '1.0' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('lake %s has a catalog of version %s', name, coalesce(version, 'unknown')),
            HINT = 'Version 1.0 is read: DuckDB 1.5 migrates an older catalog.';
    END IF;
END
$$;

-- The tables of a lake at its newest snapshot, with their columns as PostgreSQL declares them, or with what
-- stands against it.
CREATE OR REPLACE FUNCTION pgtrickle._lake_tables(lake bigint)
RETURNS TABLE (lake_schema text, lake_table text, columns text, refusal text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY EXECUTE format($query$
        SELECT s.schema_name::text, t.table_name::text,
               string_agg(format('NULL::%%s AS %%I', pgtrickle._type_of_lake(c.column_type), c.column_name), ', '
                          ORDER BY c.column_order),
               string_agg(format('column %%s has type %%s', c.column_name, c.column_type), ', '
                          ORDER BY c.column_order)
               FILTER (WHERE pgtrickle._type_of_lake(c.column_type) IS NULL)
        FROM %1$I.ducklake_table t
        JOIN %1$I.ducklake_schema s ON s.schema_id = t.schema_id AND s.end_snapshot IS NULL
        JOIN %1$I.ducklake_column c ON c.table_id = t.table_id AND c.end_snapshot IS NULL AND c.parent_column IS NULL
        WHERE t.end_snapshot IS NULL
        GROUP BY s.schema_name, t.table_name ORDER BY 1, 2
    $query$, (SELECT metadata_schema FROM pgtrickle.pgt_lakes WHERE lake_id = lake));
END
$$;

-- What PostgreSQL needs to hold every value of a lake's type; NULL for what it cannot.
CREATE OR REPLACE FUNCTION pgtrickle._type_of_lake(type text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN type ~ '^decimal\(\d+,\s*\d+\)$' THEN 'pg_catalog.' || replace(type, 'decimal', 'numeric')
        ELSE 'pg_catalog.' || ('{"boolean": "bool", "int8": "int2", "int16": "int2", "int32": "int4",
            "int64": "int8", "int128": "numeric(39,0)", "uint8": "int2", "uint16": "int4", "uint32": "int8",
            "uint64": "numeric(20,0)", "uint128": "numeric(39,0)", "float32": "float4", "float64": "float8",
            "varchar": "text", "json": "json", "blob": "bytea", "uuid": "uuid", "date": "date",
            "time": "time", "timestamp": "timestamp", "timestamp_s": "timestamp", "timestamp_ms": "timestamp",
            "timestamptz": "timestamptz", "interval": "interval"}'::jsonb ->> type)
    END
$$;

-- The stub view of a lake table. Columns are added in place; other changes need what reads it dropped first.
CREATE OR REPLACE FUNCTION pgtrickle._create_stub(lake text, lake_schema text, lake_table text, columns text)
RETURNS regclass
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
DECLARE
    schema text := CASE lake_schema WHEN 'main' THEN lake ELSE lake || '_' || lake_schema END;
    stub text := format('%I.%I', schema, lake_table);
    complaint text;
BEGIN
    IF EXISTS (SELECT FROM pg_namespace n WHERE nspname = schema AND (nspowner <> pgtrickle._engine()
               OR EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND pgtrickle._kind(c.oid) = 'table')))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_schema', 
            MESSAGE = format('schema %I exists and is not the lake''s', schema),
            HINT = 'Attach the lake by another name.';
    END IF;
    EXECUTE format('CREATE SCHEMA IF NOT EXISTS %I', schema);
    EXECUTE format('CREATE OR REPLACE VIEW %s AS SELECT %s WHERE pgtrickle.lake_only(%L::text)', stub, columns, stub);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I WITH GRANT OPTION', schema, session_user);
    EXECUTE format('GRANT SELECT ON %s TO %I WITH GRANT OPTION', stub, session_user);
    RETURN stub::regclass;
EXCEPTION WHEN invalid_table_definition OR wrong_object_type THEN
    GET STACKED DIAGNOSTICS complaint = MESSAGE_TEXT;
    RAISE EXCEPTION USING ERRCODE = 'invalid_table_definition',
        MESSAGE = format('lake table %s has changed: %s', stub, complaint),
        HINT = format('Drop the stream tables that read it, then DROP VIEW %s; and attach the lake again.', stub);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._record_stub(stub oid, lake bigint, lake_schema text, lake_table text)
RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO pgtrickle.pgt_lake_tables (stub_relid, lake_id, lake_schema, lake_table) VALUES ($1, $2, $3, $4)
    ON CONFLICT ON CONSTRAINT pgt_lake_tables_lake_id_lake_schema_lake_table_key
    DO UPDATE SET stub_relid = excluded.stub_relid
$$;
