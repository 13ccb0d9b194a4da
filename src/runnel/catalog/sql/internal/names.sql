-- {schema, relation} of the stream table to be created: an unqualified name goes to the first
-- schema of the caller's search_path in which the caller may create.
CREATE OR REPLACE FUNCTION pgtrickle._new_name(name text, schemas name[]) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := pgtrickle._split_name(name);
    schema text;
BEGIN
    IF parts[1] IS NULL THEN
        SELECT s INTO schema FROM unnest(schemas) WITH ORDINALITY AS p(s, n)
        WHERE s NOT IN ('pg_catalog', 'pgtrickle') AND has_schema_privilege(s::text, 'CREATE') ORDER BY n LIMIT 1;
        IF schema IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                MESSAGE = format('stream table %I has no schema to be created in', parts[2]),
                DETAIL = format('You may create in none of: %s.', array_to_string(schemas, ', ')),
                HINT = 'Write schema.name, or ask for CREATE on a schema of your search_path.';
        END IF;
        parts[1] := schema;
    ELSIF to_regnamespace(quote_ident(parts[1])) IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name',
            MESSAGE = format('schema %I does not exist', parts[1]), HINT = format('CREATE SCHEMA %I;', parts[1]);
    END IF;
    IF parts[1] LIKE 'pgtrickle%' OR parts[1] LIKE 'pg\_%' OR parts[1] = 'information_schema' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name',
            MESSAGE = format('stream table %I.%I cannot live in schema %1$I', parts[1], parts[2]),
            HINT = 'Choose a schema of your own.';
    END IF;
    IF to_regclass(format('%I.%I', parts[1], parts[2])) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_table',
            MESSAGE = format('relation %I.%I already exists', parts[1], parts[2]),
            HINT = format('Choose another name, or remove it first (SELECT pgtrickle.drop_stream_table(%L) if it is '
                          'a stream table).', format('%I.%I', parts[1], parts[2]));
    END IF;
    RETURN parts;
END
$$;

-- {schema or NULL, relation}, folded to lower case unless quoted, as SQL does.
CREATE OR REPLACE FUNCTION pgtrickle._split_name(name text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[];
BEGIN
    BEGIN
        parts := parse_ident(name);
    EXCEPTION WHEN invalid_parameter_value THEN
        NULL;
    END;
    IF coalesce(cardinality(parts), 0) NOT IN (1, 2) OR length(parts[cardinality(parts)]) NOT BETWEEN 1 AND 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_name',
            MESSAGE = format('%L is not a name for a stream table', name),
            HINT = 'Write name or schema.name of at most 63 letters each, in double quotes where it needs them.';
    END IF;
    RETURN CASE cardinality(parts) WHEN 1 THEN ARRAY[NULL, parts[1]] ELSE parts END;
END
$$;

-- The stream table that the caller means; resolved under the caller's search_path.
CREATE OR REPLACE FUNCTION pgtrickle._find(name text, path text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := pgtrickle._split_name(name);
    written text := concat_ws('.', quote_ident(parts[1]), quote_ident(parts[2]));
    relation regclass;
    found_id bigint;
BEGIN
    PERFORM set_config('search_path', path, true);  -- while it holds, calls are qualified
    relation := pg_catalog.to_regclass(written);
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    found_id := pgtrickle._id_of(relation);
    IF found_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_table',
            MESSAGE = format(CASE WHEN relation IS NULL THEN 'stream table %s does not exist'
                                  ELSE '%s is not a stream table' END, name),
            HINT = 'SELECT * FROM pgtrickle.pgt_status() lists the stream tables that you may read.';
    END IF;
    RETURN found_id;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._id_of(relation oid) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = relation
$$;
