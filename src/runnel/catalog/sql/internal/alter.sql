-- Changes a stream table as its owner. NULL leaves an option as it is; sink => 'none' removes the sink.
CREATE OR REPLACE FUNCTION pgtrickle._alter(
    id bigint, query text, schedule text, refresh_mode text, sink text, sink_mode text, path text, schemas name[]
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
DECLARE
    previous text := pgtrickle._limit_waiting();
    old_view oid;
BEGIN
    IF query IS NOT NULL THEN
        old_view := pgtrickle._replace_query(id, rtrim(query, E'; \t\r\n'), path, schemas);
        EXECUTE format('DROP VIEW %s', old_view::regclass);
    END IF;
    PERFORM pgtrickle._alter_options(id, schedule, refresh_mode, sink, sink_mode),
            pgtrickle._wait_as_before(previous);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._replace_query(id bigint, statement text, path text, schemas name[]) RETURNS oid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    view text := format('pgtrickle_views.v_%s', replace(gen_random_uuid()::text, '-', ''));
    refusal text := pgtrickle._check_query(statement, path);
    old_view oid;
BEGIN
    PERFORM pgtrickle._create_view(view, statement, path);
    PERFORM pgtrickle._check_columns(view::regclass);
    EXECUTE format('GRANT SELECT ON %s TO %s', view, pgtrickle._engine()::regrole);
    old_view := pgtrickle._reregister(id, view::regclass, statement, pgtrickle._evaluation_settings(path, schemas));
    PERFORM pgtrickle._raise_refusal(refusal);
    RETURN old_view;
END
$$;

-- Gives a stream table another view with the same columns. It is filled again; until then its old rows stay.
CREATE OR REPLACE FUNCTION pgtrickle._reregister(id bigint, view oid, statement text, settings jsonb) RETURNS oid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
#variable_conflict use_column
DECLARE
    it pgtrickle.pgt_stream_tables := pgtrickle._own(id);
    released bigint[];
BEGIN
    PERFORM pgtrickle._check_replacement(it, view);
    PERFORM pgtrickle._raise_problem(view, it.relid, (SELECT relowner FROM pg_class WHERE oid = it.relid));
    PERFORM FROM pgtrickle._sources(view) AS s CROSS JOIN LATERAL pgtrickle._capture(s.relid)
    WHERE pgtrickle._kind(s.relid) = 'table';
    released := pgtrickle._release_captures_except(id, view);
    PERFORM FROM pgtrickle.pgt_stream_tables WHERE pgt_id = id
        OR pgt_id IN (SELECT d.upstream_id FROM pgtrickle.pgt_dependencies d WHERE d.pgt_id = id)
        OR relid IN (SELECT s.relid FROM pgtrickle._sources(view) AS s) ORDER BY pgt_id FOR UPDATE;
    PERFORM pgtrickle._wake_upstreams(id), pgtrickle._drop_state(id);
    DELETE FROM pgtrickle.pgt_dependencies WHERE pgt_id = id;
    PERFORM pgtrickle._depend(id, view);
    DELETE FROM pgtrickle.pgt_captures WHERE capture_id = ANY (released);
    UPDATE pgtrickle.pgt_stream_tables SET view_relid = view, query = statement, settings = $4, is_populated = false,
        frontier = NULL, effective_mode = NULL, reason = NULL, generation = generation + 1,
        status = CASE status WHEN 'suspended' THEN status ELSE 'pending' END WHERE pgt_id = id;
    RETURN it.view_relid;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._check_replacement(it pgtrickle.pgt_stream_tables, view oid) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_class v JOIN pg_class r ON r.relowner = v.relowner
        WHERE v.oid = view AND v.relkind = 'v' AND v.relnamespace = 'pgtrickle_views'::regnamespace
        AND r.oid = it.relid
        AND NOT EXISTS (SELECT FROM pgtrickle.pgt_stream_tables WHERE view_relid = view))
    THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = 'only a new view that belongs to the stream table''s owner can be its query',
            HINT = 'Call pgtrickle.alter_stream_table(name, query => …) as the owner.';
    END IF;
    IF pgtrickle._shape(view) <> pgtrickle._shape(it.relid) THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('the new query of %s has other columns', it.relid::regclass),
            DETAIL = format('It has %s.', pgtrickle._column_list(view)),
            HINT = format('Keep %s, or drop the stream table and create it again.',
                          pgtrickle._column_list(it.relid));
    END IF;
    IF EXISTS (SELECT FROM pgtrickle._sources(view) AS s
               JOIN pgtrickle._downstream(it.pgt_id) AS d ON d.relid = s.relid) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_recursion',
            MESSAGE = format('the new query of %s reads itself, directly or through others', it.relid::regclass),
            HINT = 'Read the sources instead.';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._column_list(relation oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(format('%I %s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
$$;

-- A stream table and all that read it, directly or not.
CREATE OR REPLACE FUNCTION pgtrickle._downstream(id bigint) RETURNS TABLE (pgt_id bigint, relid oid)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE reached(id) AS (
        SELECT $1
        UNION
        SELECT d.pgt_id FROM reached JOIN pgtrickle.pgt_dependencies d ON d.upstream_id = reached.id
    )
    SELECT t.pgt_id, t.relid FROM reached JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = reached.id
$$;

-- The captures that a new query no longer needs.
CREATE OR REPLACE FUNCTION pgtrickle._release_captures_except(id bigint, view oid) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine record;
    released bigint[] := '{}';
BEGIN
    FOR mine IN SELECT capture_id, relid FROM pgtrickle.pgt_dependencies WHERE pgt_id = id AND capture_id IS NOT NULL
                AND relid NOT IN (SELECT s.relid FROM pgtrickle._sources(view) AS s) ORDER BY relid LOOP
        IF pgtrickle._release_capture(mine.capture_id, mine.relid, id) THEN
            released := released || mine.capture_id;
        END IF;
    END LOOP;
    RETURN released;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._alter_options(
    id bigint, schedule text, refresh_mode text, sink text, sink_mode text
) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    it pgtrickle.pgt_stream_tables := pgtrickle._own(id);
    new_sink text := CASE lower(sink) WHEN 'none' THEN NULL ELSE coalesce(lower($4), it.sink) END;
    kept_mode text := CASE WHEN new_sink IS NOT NULL THEN it.sink_mode END;
    new_mode text := pgtrickle._sink_mode(new_sink, coalesce($5, kept_mode));
BEGIN
    UPDATE pgtrickle.pgt_stream_tables SET
        schedule = coalesce($2, it.schedule),
        schedule_ms = pgtrickle._schedule_ms(coalesce($2, it.schedule)),
        refresh_mode = pgtrickle._refresh_mode(coalesce($3, it.refresh_mode)),
        effective_mode = CASE WHEN $3 IS NULL THEN effective_mode END,
        status = CASE WHEN status <> 'error' THEN status WHEN is_populated THEN 'active' ELSE 'pending' END,
        generation = generation + 1
    WHERE pgt_id = id;
    IF (new_sink, new_mode) IS DISTINCT FROM (it.sink, it.sink_mode) THEN
        PERFORM pgtrickle._drop_sink(id);
        UPDATE pgtrickle.pgt_stream_tables SET sink = new_sink, sink_mode = new_mode WHERE pgt_id = id;
        PERFORM pgtrickle._add_sink(id);
    END IF;
    PERFORM nextval('pgtrickle.pgt_request_signal');
END
$$;

-- Stops a stream table, or lets it go on.
CREATE OR REPLACE FUNCTION pgtrickle._set_running(id bigint, running boolean) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    it pgtrickle.pgt_stream_tables := pgtrickle._own(id);
    previous text := pgtrickle._limit_waiting();
BEGIN
    UPDATE pgtrickle.pgt_stream_tables SET generation = generation + 1,
        reason = CASE WHEN running THEN NULL ELSE format('paused by %s', session_user) END,
        status = CASE WHEN NOT running THEN 'suspended' WHEN is_populated THEN 'active' ELSE 'pending' END
    WHERE pgt_id = it.pgt_id;
    PERFORM nextval('pgtrickle.pgt_request_signal'), pgtrickle._wait_as_before(previous);
END
$$;
