-- Drops a stream table as its owner; with cascade, the stream tables and views that read it first.
CREATE OR REPLACE FUNCTION pgtrickle._drop(id bigint, cascade boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
DECLARE
    previous text := pgtrickle._limit_waiting();
    subscriber record;
    gone record;
BEGIN
    FOR subscriber IN SELECT * FROM pgtrickle._subscribers(id) LOOP
        IF NOT cascade THEN
            RAISE EXCEPTION USING ERRCODE = 'dependent_objects_still_exist',
                MESSAGE = format('stream table %s reads it', subscriber.name),
                HINT = 'Drop that one first, or pass cascade => true.';
        END IF;
        PERFORM pgtrickle._drop(subscriber.pgt_id, true);
    END LOOP;
    FOR gone IN SELECT * FROM pgtrickle._unregister(id) LOOP
        PERFORM pgtrickle._drop_relations(gone.relid, gone.view_relid, cascade);
    END LOOP;
    PERFORM pgtrickle._wait_as_before(previous);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._drop_relations(result oid, view oid, cascade boolean) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    dependents text;
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = view) THEN
        EXECUTE format('DROP VIEW %s', view::regclass);
    END IF;
    IF EXISTS (SELECT FROM pg_class WHERE oid = result) THEN
        EXECUTE format('DROP TABLE %s %s', result::regclass, CASE WHEN cascade THEN 'CASCADE' END);
    END IF;
EXCEPTION WHEN dependent_objects_still_exist THEN
    GET STACKED DIAGNOSTICS dependents = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION USING ERRCODE = 'dependent_objects_still_exist',
        MESSAGE = format('other objects depend on stream table %s', result::regclass), DETAIL = dependents,
        HINT = 'Drop them first, or pass cascade => true.';
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._subscribers(id bigint) RETURNS TABLE (pgt_id bigint, name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.pgt_id, t.relid::regclass::text FROM pgtrickle.pgt_dependencies d
    JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = d.pgt_id WHERE d.upstream_id = id ORDER BY t.pgt_id
$$;

-- Forgets a stream table: captures without another consumer, state, log, rows; its owner drops the rest.
-- Locks: sources by oid, the result, catalog rows by id.
CREATE OR REPLACE FUNCTION pgtrickle._unregister(id bigint) RETURNS TABLE (relid oid, view_relid oid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS $$
#variable_conflict use_column
DECLARE
    it pgtrickle.pgt_stream_tables := pgtrickle._own(id);
    released bigint[];
BEGIN
    released := pgtrickle._release_captures(id);
    PERFORM pgtrickle._lock_result(it.relid);
    PERFORM FROM pgtrickle.pgt_stream_tables WHERE pgt_id = id OR pgt_id IN (
        SELECT upstream_id FROM pgtrickle.pgt_dependencies d WHERE d.pgt_id = id) ORDER BY pgt_id FOR UPDATE;
    PERFORM pgtrickle._wake_upstreams(id), pgtrickle._drop_sink(id), pgtrickle._drop_state(id),
            pgtrickle._drop_log(id);
    DELETE FROM pgtrickle.pgt_refresh_history WHERE pgt_id = id;
    DELETE FROM pgtrickle.pgt_stream_tables WHERE pgt_id = id;
    DELETE FROM pgtrickle.pgt_captures WHERE capture_id = ANY (released);
    PERFORM nextval('pgtrickle.pgt_request_signal');
    RETURN QUERY SELECT it.relid, it.view_relid;
END
$$;

-- Stream tables whose result is gone and that nobody reads; the hidden view is its owner's.
CREATE OR REPLACE FUNCTION pgtrickle._remove_orphans() RETURNS SETOF bigint
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.pgt_id FROM pgtrickle.pgt_stream_tables t CROSS JOIN LATERAL pgtrickle._unregister(t.pgt_id)
    WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = t.relid)
    AND NOT EXISTS (SELECT FROM pgtrickle.pgt_dependencies d WHERE d.upstream_id = t.pgt_id)
$$;

CREATE OR REPLACE FUNCTION pgtrickle._lock_result(result oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = result) THEN
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', result::regclass);
    END IF;
EXCEPTION
    WHEN lock_not_available THEN
        PERFORM pgtrickle._raise_locked(result);
    WHEN insufficient_privilege THEN
        NULL;  -- the owner took our rights away: the owner's own DROP waits for the lock then
END
$$;

-- Removes the captures that only this stream table uses; returns them.
CREATE OR REPLACE FUNCTION pgtrickle._release_captures(id bigint) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mine record;
    released bigint[] := '{}';
BEGIN
    FOR mine IN SELECT capture_id, relid FROM pgtrickle.pgt_dependencies WHERE pgt_id = id
                AND capture_id IS NOT NULL ORDER BY relid LOOP
        IF pgtrickle._release_capture(mine.capture_id, mine.relid, id) THEN
            released := released || mine.capture_id;
        END IF;
    END LOOP;
    RETURN released;
END
$$;

-- The triggers of another role's table go with their function. That takes the table's lock, which no
-- creation can hold beside us; one that had committed before is seen now, and everything is left.
CREATE OR REPLACE FUNCTION pgtrickle._release_capture(capture bigint, relation oid, id bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pgtrickle._has_other_consumer(capture, id) THEN
        RETURN false;
    END IF;
    EXECUTE format('DROP FUNCTION pgtrickle_changes.capture_%s() CASCADE', capture);
    EXECUTE format('DROP TABLE pgtrickle_changes.changes_%s', capture);
    IF pgtrickle._has_other_consumer(capture, id) THEN
        RAISE EXCEPTION USING ERRCODE = 'RN001', MESSAGE = 'another stream table uses this capture';
    END IF;
    RETURN true;
EXCEPTION
    WHEN SQLSTATE 'RN001' THEN
        RETURN false;
    WHEN lock_not_available THEN
        PERFORM pgtrickle._raise_locked(relation);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._has_other_consumer(capture bigint, id bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pgtrickle.pgt_dependencies WHERE capture_id = capture AND pgt_id <> id)
$$;

-- State tables are named after their stream table: s_7, m_7_2.
CREATE OR REPLACE FUNCTION pgtrickle._drop_state(id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    state regclass;
BEGIN
    FOR state IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'pgtrickle_state'::regnamespace
                 AND relname ~ format('^[a-z]+_%s(_\d+)*$', id) ORDER BY oid LOOP
        EXECUTE format('DROP TABLE %s', state);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._drop_log(id bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('DROP TABLE IF EXISTS pgtrickle_changes.stream_%s', id);
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._drop_sink(id bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO pgtrickle.pgt_dropped_sinks (lake_id, pgt_id, relid, schema_name, table_name, sink_mode)
    SELECT s.lake_id, t.pgt_id, t.relid, n.nspname, c.relname, t.sink_mode
    FROM pgtrickle.pgt_sinks s JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = s.pgt_id
    LEFT JOIN pg_class c ON c.oid = t.relid LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE s.pgt_id = id;
    DELETE FROM pgtrickle.pgt_sinks WHERE pgt_id = id
$$;
