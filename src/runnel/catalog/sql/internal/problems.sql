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
                               view_owner::regrole), format('ALTER VIEW %s OWNER TO %s;', view_relid::regclass,
                                                            result_owner::regrole)
        WHERE result_owner <> view_owner
        UNION ALL
        SELECT '42P17', 'its hidden view was replaced and reads other tables',
               'Drop the stream table and create it again.'
        WHERE view_owner IS NOT NULL
        AND ARRAY(SELECT relid FROM pgtrickle._sources(view_relid) ORDER BY relid)
            <> ARRAY(SELECT relid FROM pgtrickle.pgt_dependencies WHERE pgt_id = id ORDER BY relid)
        UNION ALL SELECT * FROM pgtrickle._source_problems(view_relid, result_owner)
        UNION ALL SELECT * FROM pgtrickle._code_problems(view_relid)
        UNION ALL SELECT * FROM pgtrickle._result_problems(relid, view_relid)
    ) AS p
$$;
