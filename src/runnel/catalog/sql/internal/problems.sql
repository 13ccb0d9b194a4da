-- What forbids a refresh now: creation's own rules asked again, for rights are revoked, views replaced and
-- code given away at any time. The owner's rights are those of whoever owns the result today.
CREATE OR REPLACE FUNCTION pgtrickle._problems(id bigint) RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH it AS (
        SELECT t.*, r.relowner AS result_owner, v.relowner AS view_owner
        FROM pgtrickle.pgt_stream_tables t LEFT JOIN pg_class r ON r.oid = t.relid
        LEFT JOIN pg_class v ON v.oid = t.view_relid WHERE t.pgt_id = id
    )
    SELECT p.* FROM it CROSS JOIN LATERAL (
        SELECT '42P01', 'its result table or its hidden view is gone', 'Drop the stream table.'
        WHERE result_owner IS NULL OR view_owner IS NULL
        UNION ALL
        SELECT '42501', format('its result belongs to %s and its hidden view to %s', result_owner::regrole,
                               view_owner::regrole),
               format('ALTER VIEW %s OWNER TO %s;', view_relid::regclass, result_owner::regrole)
        WHERE result_owner <> view_owner
        UNION ALL
        SELECT '42P17', 'its hidden view was replaced and reads other tables',
               'Drop the stream table and create it again.'
        WHERE view_owner IS NOT NULL
        AND ARRAY(SELECT relid FROM pgtrickle._sources(view_relid) ORDER BY relid)
            <> ARRAY(SELECT relid FROM pgtrickle.pgt_dependencies WHERE pgt_id = id ORDER BY relid)
        UNION ALL
        SELECT '55000',
               format('the triggers that capture the changes of %s are missing or disabled', d.relid::regclass),
               format('ALTER TABLE %s ENABLE TRIGGER USER, or drop its stream tables and create them again.',
                      d.relid::regclass)
        FROM pgtrickle.pgt_dependencies d
        WHERE d.pgt_id = id AND d.capture_id IS NOT NULL AND pgtrickle._triggers_of(d.capture_id) IS NULL
        UNION ALL SELECT * FROM pgtrickle._source_problems(view_relid, result_owner)
        UNION ALL SELECT * FROM pgtrickle._code_problems(view_relid)
        UNION ALL SELECT * FROM pgtrickle._result_problems(relid, view_relid)
    ) AS p
$$;

-- Captures that were off for a while: what was written meanwhile is in no log, so their stream tables are
-- filled anew. Returns those.
CREATE OR REPLACE FUNCTION pgtrickle._renew_captures() RETURNS SETOF bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    renewed bigint[];
BEGIN
    SELECT array_agg(capture_id) INTO renewed FROM pgtrickle.pgt_captures
    WHERE pgtrickle._triggers_of(capture_id) <> triggers;
    RETURN QUERY UPDATE pgtrickle.pgt_stream_tables SET is_populated = false, generation = generation + 1,
        reason = 'the triggers of a source were disabled for a while'
    WHERE pgt_id IN (SELECT d.pgt_id FROM pgtrickle.pgt_dependencies d WHERE d.capture_id = ANY (renewed))
    RETURNING pgt_id;
    UPDATE pgtrickle.pgt_captures SET triggers = pgtrickle._triggers_of(capture_id) WHERE capture_id = ANY (renewed);
END
$$;
