-- Everything that creating does as the caller; then it registers what was made.
-- path and schemas are the caller's own: here names resolve in pg_catalog only.
CREATE OR REPLACE FUNCTION pgtrickle._create(
    name text, query text, schedule text, refresh_mode text, sink text, sink_mode text, path text, schemas name[]
) RETURNS regclass
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := pgtrickle._new_name(name, schemas);
    statement text := rtrim(query, E'; \t\r\n');
    view text := format('pgtrickle_views.v_%s', replace(gen_random_uuid()::text, '-', ''));
    previous text := pgtrickle._limit_waiting();
    refusal text;
BEGIN
    PERFORM pgtrickle._schedule_ms(schedule), pgtrickle._refresh_mode(refresh_mode),
            pgtrickle._sink_mode(sink, sink_mode);
    refusal := pgtrickle._check_query(statement, path);
    PERFORM pgtrickle._create_view(view, statement, path);
    PERFORM pgtrickle._check_columns(view::regclass);
    EXECUTE format('CREATE TABLE %I.%I AS SELECT * FROM %s WITH NO DATA', parts[1], parts[2], view);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I.%I TO %s', parts[1], parts[2],
                   pgtrickle._engine()::regrole);
    EXECUTE format('GRANT SELECT ON %s TO %s', view, pgtrickle._engine()::regrole);
    PERFORM pgtrickle._register(view::regclass, format('%I.%I', parts[1], parts[2])::regclass, statement,
                                schedule, refresh_mode, sink, sink_mode,
                                pgtrickle._evaluation_settings(path, schemas));
    PERFORM pgtrickle._raise_refusal(refusal), pgtrickle._wait_as_before(previous);
    RETURN format('%I.%I', parts[1], parts[2])::regclass;
END
$$;

-- Opening a cursor admits exactly one query that returns rows, and lets PostgreSQL report an error with
-- its place in the user's own text. Returns what it says about a missing right, which registering
-- explains better.
CREATE OR REPLACE FUNCTION pgtrickle._check_query(statement text, path text) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rows refcursor;
    complaint text;
BEGIN
    IF coalesce(btrim(statement, E' \t\r\n'), '') = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'the query is empty',
            HINT = 'Give one SELECT.';
    END IF;
    PERFORM set_config('search_path', path, true);  -- from here on nothing of ours may be looked up
    OPEN rows NO SCROLL FOR EXECUTE statement;
    CLOSE rows;
    RETURN NULL;
EXCEPTION
    WHEN insufficient_privilege THEN
        GET STACKED DIAGNOSTICS complaint = MESSAGE_TEXT;
        RETURN complaint;
    WHEN undefined_table THEN
        GET STACKED DIAGNOSTICS complaint = MESSAGE_TEXT;
        RAISE EXCEPTION USING ERRCODE = 'undefined_table', MESSAGE = complaint,
            DETAIL = pgtrickle._place(statement, substring(complaint FROM '"(.*)"')),
            HINT = format('Create it first, or write schema.table: the search_path is %s.', path);
    WHEN lock_not_available THEN
        RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
            MESSAGE = format('a source of the query stayed locked for %s', current_setting('lock_timeout')),
            HINT = 'Try again when the change of that table is over, or raise lock_timeout.';
    WHEN invalid_cursor_definition THEN
        PERFORM pgtrickle._raise_no_select();
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._raise_no_select() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'syntax_error', MESSAGE = 'the query must be one SELECT and nothing else',
        HINT = 'Create one stream table for each SELECT; what it does besides reading is left out.';
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._raise_refusal(refusal text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = refusal,
            HINT = 'A stream table reads what its owner may read: ask for SELECT on its sources.';
    END IF;
END
$$;

-- The line of the query in which a name stands.
CREATE OR REPLACE FUNCTION pgtrickle._place(statement text, name text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('Line %s of the query: %s', n, btrim(line))
    FROM regexp_split_to_table(statement, '\n') WITH ORDINALITY AS lines(line, n)
    WHERE strpos(lower(line), lower(name)) > 0 ORDER BY n LIMIT 1
$$;

CREATE OR REPLACE FUNCTION pgtrickle._create_view(view text, statement text, path text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
DECLARE
    command text := format(E'CREATE VIEW %s AS\n%s', view, statement);
    complaint text;
BEGIN
    PERFORM set_config('search_path', path, true);  -- from here on nothing of ours may be looked up
    EXECUTE command;
EXCEPTION
    WHEN syntax_error THEN  -- a cursor took it: INSERT, UPDATE or DELETE with RETURNING
        PERFORM pgtrickle._raise_no_select();
    WHEN invalid_table_definition THEN
        GET STACKED DIAGNOSTICS complaint = MESSAGE_TEXT;
        IF complaint !~ 'temporary' THEN
            RAISE;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('temporary table %scannot be a source', pgtrickle._temporary_in(statement)),
            HINT = 'Other sessions cannot see it: make it a plain table.';
END
$$;

-- The temporary relations whose names stand in a query.
CREATE OR REPLACE FUNCTION pgtrickle._temporary_in(statement text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(string_agg(oid::regclass || ' ', ''), '') FROM pg_class
    WHERE relnamespace = pg_my_temp_schema() AND relkind IN ('r', 'v', 'p')
    AND strpos(lower(statement), lower(relname)) > 0
$$;

CREATE OR REPLACE FUNCTION pgtrickle._check_columns(view regclass) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    position smallint;
BEGIN
    SELECT attnum INTO position FROM pg_attribute
    WHERE attrelid = view AND attnum > 0 AND attname = '?column?' ORDER BY attnum LIMIT 1;
    IF found THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_column_definition',
            MESSAGE = format('column %s of the query has no name', position), HINT = 'Name it: … AS some_name.';
    END IF;
END
$$;

-- What of the caller's session has a say in the query's values, with names fixed as they resolve now.
CREATE OR REPLACE FUNCTION pgtrickle._evaluation_settings(path text, schemas name[]) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_object_agg(setting, CASE setting
        WHEN 'search_path' THEN coalesce((SELECT string_agg(quote_ident(s), ', ' ORDER BY n)
                                          FROM unnest(schemas) WITH ORDINALITY AS p(s, n)), 'pg_catalog')
        WHEN 'DateStyle' THEN 'ISO, ' || btrim(split_part(current_setting('DateStyle'), ',', 2))
        ELSE current_setting(setting) END)
    FROM unnest(ARRAY['search_path', 'TimeZone', 'DateStyle', 'IntervalStyle', 'extra_float_digits', 'bytea_output',
                      'default_text_search_config', 'lc_monetary', 'lc_numeric', 'lc_time', 'xmloption',
                      'array_nulls', 'transform_null_equals', 'timezone_abbreviations']) AS setting
$$;
