-- refresh_stream_table(name, wait, timeout): asks the engine for a refresh now. It waits for one that saw
-- everything committed before the call, and returns its id; with wait => false it returns NULL at once.
-- Where nothing had changed, the id is that of the newest refresh. Waiting needs READ COMMITTED, and a
-- stream table that this transaction has not itself created or altered.
CREATE OR REPLACE FUNCTION pgtrickle.refresh_stream_table(
    name text, wait boolean DEFAULT true, timeout interval DEFAULT '1 minute'
) RETURNS uuid
LANGUAGE sql AS $$
    SELECT pgtrickle._refresh(pgtrickle._find(name, pg_catalog.current_setting('search_path')), name, wait, timeout)
$$;
