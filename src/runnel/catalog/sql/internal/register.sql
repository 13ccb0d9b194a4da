-- Records a stream table whose view and result its caller has made, and starts its capture.
-- Anybody may call it with anything: it believes nothing that it is told about rights.
CREATE OR REPLACE FUNCTION pgtrickle._register(
    view oid, result oid, query text, schedule text, refresh_mode text, sink text, sink_mode text, settings jsonb
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid := pgtrickle._check_pair(view, result);
    id bigint;
BEGIN
    PERFORM pgtrickle._raise_problem(view, result, owner), pgtrickle._require_empty(result);
    INSERT INTO pgtrickle.pgt_stream_tables
        (relid, view_relid, owner, query, schedule, schedule_ms, refresh_mode, sink, sink_mode, settings)
    VALUES (result, view, owner, query, schedule, pgtrickle._schedule_ms(schedule),
            pgtrickle._refresh_mode(refresh_mode), lower(sink), pgtrickle._sink_mode(sink, sink_mode), settings)
    RETURNING pgt_id INTO id;
    PERFORM pgtrickle._depend(id, view);
    PERFORM pgtrickle._add_sink(id);
    PERFORM nextval('pgtrickle.pgt_request_signal');
    RETURN id;
END
$$;

-- The common owner of a view and its empty result table, of whom the session's user is a member.
CREATE OR REPLACE FUNCTION pgtrickle._check_pair(view oid, result oid) RETURNS oid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner oid;
BEGIN
    SELECT v.relowner INTO owner FROM pg_class v JOIN pg_class r ON r.relowner = v.relowner
    WHERE v.oid = view AND v.relkind = 'v' AND v.relnamespace = 'pgtrickle_views'::regnamespace
    AND r.oid = result AND r.relkind = 'r' AND pg_has_role(session_user, v.relowner, 'MEMBER');
    IF NOT found OR EXISTS (SELECT FROM pgtrickle.pgt_stream_tables WHERE relid = result OR view_relid = view) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = 'only a new view and its new result table, both your own, become a stream table',
            HINT = 'Call pgtrickle.create_stream_table(name, query).';
    END IF;
    RETURN owner;
END
$$;

-- Raises the first thing that forbids a stream table.
CREATE OR REPLACE FUNCTION pgtrickle._raise_problem(view oid, result oid, owner oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    problem record;
BEGIN
    SELECT p.* INTO problem FROM (
        SELECT * FROM pgtrickle._source_problems(view, owner)
        UNION ALL SELECT * FROM pgtrickle._code_problems(view)
        UNION ALL SELECT * FROM pgtrickle._result_problems(result, view)
        UNION ALL SELECT '0A000', 'the query reads no table', 'A stream table follows its sources: read one.'
        WHERE NOT EXISTS (SELECT FROM pgtrickle._sources(view))
    ) AS p LIMIT 1;
    IF found THEN
        RAISE EXCEPTION USING ERRCODE = problem.code, MESSAGE = problem.message, HINT = problem.hint;
    END IF;
END
$$;

-- Only a new result becomes a stream table: rows that somebody else wrote would stay for ever.
CREATE OR REPLACE FUNCTION pgtrickle._require_empty(result oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    has_rows boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', result::regclass) INTO has_rows;
    IF has_rows THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s is not empty', result::regclass),
            HINT = 'Call pgtrickle.create_stream_table(name, query): it makes the table.';
    END IF;
END
$$;

-- Records the sources, in the order of their oids, which is the order of all locks on sources.
CREATE OR REPLACE FUNCTION pgtrickle._depend(id bigint, view oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    source record;
    capture bigint;
BEGIN
    FOR source IN SELECT s.relid, pgtrickle._kind(s.relid) AS kind FROM pgtrickle._sources(view) AS s
                  ORDER BY s.relid LOOP
        capture := CASE source.kind WHEN 'table' THEN pgtrickle._capture(source.relid) END;
        INSERT INTO pgtrickle.pgt_dependencies (pgt_id, relid, kind, capture_id, upstream_id)
        VALUES (id, source.relid, source.kind, capture,
                (SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = source.relid));
    END LOOP;
    PERFORM pgtrickle._wake_upstreams(id);
END
$$;

-- A stream table writes its change log while it has a subscriber: its engine has to look again.
CREATE OR REPLACE FUNCTION pgtrickle._wake_upstreams(id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM pgtrickle.pgt_stream_tables WHERE pgt_id IN (
        SELECT upstream_id FROM pgtrickle.pgt_dependencies WHERE pgt_id = id) ORDER BY pgt_id FOR NO KEY UPDATE;
    UPDATE pgtrickle.pgt_stream_tables SET generation = generation + 1 WHERE pgt_id IN (
        SELECT upstream_id FROM pgtrickle.pgt_dependencies WHERE pgt_id = id);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._add_sink(id bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO pgtrickle.pgt_sinks (pgt_id, lake_id)
    SELECT pgt_id, lake_id FROM pgtrickle.pgt_stream_tables, pgtrickle.pgt_lakes
    WHERE pgt_id = id AND sink = 'ducklake' AND is_own
$$;
