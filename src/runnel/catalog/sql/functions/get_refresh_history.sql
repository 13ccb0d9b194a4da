-- get_refresh_history(name, limit): its newest refreshes, newest first. A failed one has no number.
CREATE OR REPLACE FUNCTION pgtrickle.get_refresh_history(name text, "limit" integer DEFAULT 20) RETURNS TABLE (
    refresh_id uuid, refresh_number bigint, status text, mode text, gear text, reason text, error text,
    rows_in bigint, rows_out bigint, phases jsonb, started_at timestamptz, ended_at timestamptz
)
LANGUAGE sql AS $$
    SELECT * FROM pgtrickle._history(pgtrickle._find(name, pg_catalog.current_setting('search_path')), "limit")
$$;
