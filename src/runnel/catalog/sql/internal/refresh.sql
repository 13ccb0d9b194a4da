-- The lock is taken before the signal is drawn: an engine that reads the signal first and the locks after
-- it misses no request up to that signal. Locks show at once; they need no commit.
CREATE OR REPLACE FUNCTION pgtrickle._refresh(id bigint, name text, wait boolean, timeout interval) RETURNS uuid
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    give_up_at timestamptz := clock_timestamp() + timeout;
    signal bigint;
    answer record;
BEGIN
    PERFORM pgtrickle._check_request(id, name, wait);
    PERFORM pg_advisory_xact_lock_shared(pgtrickle._request_class(), id::integer);
    signal := pgtrickle._request(id, NOT wait);
    IF NOT wait THEN
        RETURN NULL;
    END IF;
    LOOP
        SELECT * INTO answer FROM pgtrickle._answer(id, signal);
        EXIT WHEN found OR clock_timestamp() >= give_up_at;
        PERFORM pg_sleep(0.01);
    END LOOP;
    IF answer.done_at IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'query_canceled',
            MESSAGE = format('stream table %s was not refreshed within %s', name, timeout),
            HINT = 'Does the engine run (runnel run DSN)? Then it may need a longer timeout => interval.';
    ELSIF answer.error IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'external_routine_exception',
            MESSAGE = format('stream table %s could not be refreshed: %s', name, answer.error),
            HINT = 'pgtrickle.get_refresh_history(name) tells more.';
    END IF;
    RETURN answer.refresh_id;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._request_class() RETURNS integer
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$ SELECT 1383427692 $$;

-- A waiting caller must be able to see the answer, and the engine what it is asked for.
CREATE OR REPLACE FUNCTION pgtrickle._check_request(id bigint, name text, wait boolean) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    it pgtrickle.pgt_stream_tables;
BEGIN
    SELECT * INTO STRICT it FROM pgtrickle.pgt_stream_tables WHERE pgt_id = id;
    IF NOT (has_table_privilege(session_user, it.relid, 'SELECT') OR pgtrickle._acts_for(it.owner)) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('you may not read stream table %s', name),
            HINT = format('GRANT SELECT ON %s TO %s;', it.relid::regclass, session_user);
    END IF;
    IF it.status = 'suspended' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('stream table %s is suspended: %s', name, coalesce(it.reason, 'no reason was recorded')),
            HINT = format('SELECT pgtrickle.resume_stream_table(%L);', name);
    END IF;
    IF wait AND pgtrickle._is_uncommitted(id) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('stream table %s was created or altered in this very transaction', name),
            HINT = 'Commit first: nobody else sees it before.';
    END IF;
    IF wait AND current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'active_sql_transaction',
            MESSAGE = 'waiting for a refresh needs READ COMMITTED',
            DETAIL = format('At %s the transaction would never see it.',
                            upper(current_setting('transaction_isolation'))),
            HINT = 'Pass wait => false, or ask in a transaction of its own.';
    END IF;
END
$$;

-- Whether the newest version of the catalog row is this transaction's own: visible, yet in progress.
-- xmin has 32 bits; the others are those of the newest transaction.
CREATE OR REPLACE FUNCTION pgtrickle._is_uncommitted(id bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT pg_current_xact_id_if_assigned() IS NOT NULL
       AND pg_xact_status((n.newest - (n.newest - t.xmin::text::bigint) % 4294967296)::text::xid8) = 'in progress'
    FROM pgtrickle.pgt_stream_tables t,
         (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::numeric AS newest) AS n
    WHERE t.pgt_id = id
$$;

-- Draws a signal; a request that nobody waits for is also a row, which the engine sees after the commit.
CREATE OR REPLACE FUNCTION pgtrickle._request(id bigint, keep boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number bigint := nextval('pgtrickle.pgt_request_signal');
BEGIN
    IF keep THEN
        PERFORM pgtrickle._check_request(id, id::text, false);
        INSERT INTO pgtrickle.pgt_refresh_requests (pgt_id, signal) VALUES (id, number);
    END IF;
    RETURN number;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._answer(id bigint, wanted bigint)
RETURNS TABLE (refresh_id uuid, error text, done_at timestamptz)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.refresh_id, r.error, r.done_at FROM pgtrickle.pgt_refresh_requests r
    JOIN pgtrickle.pgt_stream_tables t USING (pgt_id)
    WHERE pgt_id = id AND signal >= wanted AND r.done_at IS NOT NULL
    AND has_table_privilege(session_user, t.relid, 'SELECT')
    ORDER BY signal LIMIT 1
$$;

CREATE OR REPLACE FUNCTION pgtrickle._history(id bigint, number_of_rows integer) RETURNS TABLE (
    refresh_id uuid, refresh_number bigint, status text, mode text, gear text, reason text, error text,
    rows_in bigint, rows_out bigint, phases jsonb, started_at timestamptz, ended_at timestamptz
)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.refresh_id, r.refresh_number, r.status, r.mode, r.gear, r.reason, r.error, r.rows_in, r.rows_out,
           r.phases, r.started_at, r.ended_at
    FROM pgtrickle.pgt_refreshes AS r WHERE r.pgt_id = id ORDER BY r.ended_at DESC LIMIT number_of_rows
$$;
