-- Whether the session's user may act for a role. Definer functions ask for session_user: under them,
-- current_user is the engine.
CREATE OR REPLACE FUNCTION pgtrickle._acts_for(role oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_has_role(session_user, role, 'MEMBER')
$$;

-- The catalog row of a stream table, for its owner only. One without a result is also the engine's.
CREATE OR REPLACE FUNCTION pgtrickle._own(id bigint) RETURNS pgtrickle.pgt_stream_tables
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    it pgtrickle.pgt_stream_tables;
    owner oid;
BEGIN
    SELECT * INTO it FROM pgtrickle.pgt_stream_tables WHERE pgt_id = id;
    owner := coalesce((SELECT relowner FROM pg_class WHERE oid = it.relid), pgtrickle._engine());
    IF it.pgt_id IS NULL OR NOT pgtrickle._acts_for(owner) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('stream table %s is not yours', coalesce(it.relid::regclass::text, id::text)),
            HINT = format('Its owner is %s.', coalesce(owner::regrole::text, 'unknown'));
    END IF;
    RETURN it;
END
$$;

-- What only the engine's role, its members and superusers may do.
CREATE OR REPLACE FUNCTION pgtrickle._require_administrator(what text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT pgtrickle._acts_for(pgtrickle._engine()) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('%s may not %s', session_user, what),
            HINT = format('Connect as %s, the engine''s role, or as a member of it.',
                          pgtrickle._engine()::regrole);
    END IF;
END
$$;
