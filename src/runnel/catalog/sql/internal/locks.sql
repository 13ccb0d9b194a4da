-- Limits how long an API call waits for a lock, unless the caller did: by the setting, else 5 s. Returns the
-- caller's own limit, to be put back.
CREATE OR REPLACE FUNCTION pgtrickle._limit_waiting() RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    previous text := current_setting('lock_timeout');
BEGIN
    IF previous = '0' THEN
        PERFORM set_config('lock_timeout', coalesce(pgtrickle.setting('lock_timeout'), '5s'), true);
    END IF;
    RETURN previous;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._wait_as_before(previous text) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT set_config('lock_timeout', previous, true)
$$;

-- Who holds a lock on a relation that a change of its triggers has to wait for.
CREATE OR REPLACE FUNCTION pgtrickle._holders(relation oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(DISTINCT format('process %s of %s%s', l.pid, coalesce(a.usename, '?'),
                                      coalesce(' (' || a.state || ')', '')), ', ')
    FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'relation' AND l.relation = $1 AND l.granted AND l.pid <> pg_backend_pid()
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
$$;

CREATE OR REPLACE FUNCTION pgtrickle._raise_locked(relation oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
        MESSAGE = format('%s is locked, and its capture could not be changed within %s', relation::regclass,
                         current_setting('lock_timeout')),
        DETAIL = format('Locks are held by %s.',
                        coalesce(pgtrickle._holders(relation), 'a session that has just ended')),
        HINT = 'Try again when their transactions have ended, or raise lock_timeout.';
END
$$;
