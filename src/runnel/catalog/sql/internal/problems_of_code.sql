-- What forbids the code that a query calls. One row each.
CREATE OR REPLACE FUNCTION pgtrickle._code_problems(view oid) RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH rule AS MATERIALIZED (
        SELECT oid, ev_action::text AS tree, pgtrickle._functions_in(ev_action::text) AS functions
        FROM pg_rewrite WHERE ev_class = view
    )
    SELECT '0A000', format('function %s is volatile: its result cannot be kept fresh', f.oid::regprocedure),
           'A stream table holds what its query returns at any time: leave the function out, or store its '
           'value in a column of a source.'
    FROM pg_proc f WHERE f.oid = ANY ((SELECT functions FROM rule)::oid[]) AND f.provolatile = 'v'
    UNION ALL
    SELECT '0A000', 'current_user and session_user are not those of the caller in a stream table',
           'Leave them out: the engine evaluates the query, not the reader.'
    FROM rule WHERE tree ~ 'SQLVALUEFUNCTION :op (9|10|11|12) '
    UNION ALL
    SELECT '0A000', 'a stream table''s query cannot lock rows', 'Leave out FOR UPDATE or FOR SHARE.'
    FROM rule WHERE tree ~ ':rowMarks \(\{'
    UNION ALL
    SELECT '42501', foreign_function, pgtrickle._foreign_code_hint()
    FROM rule CROSS JOIN LATERAL pgtrickle._foreign_among(functions) AS foreign_function
    WHERE foreign_function IS NOT NULL
    UNION ALL
    SELECT '42501', format('operator %s belongs to %s', o.oid::regoperator, o.oprowner::regrole),
           pgtrickle._foreign_code_hint()
    FROM pg_operator o
    WHERE o.oid = ANY (ARRAY(
        SELECT d.refobjid FROM rule JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = rule.oid
        WHERE d.refclassid = 'pg_operator'::regclass))
    AND NOT pgtrickle._is_trusted(o.oprowner) AND NOT pgtrickle._in_extension('pg_operator', o.oid)
    UNION ALL
    SELECT '42501', foreign_type, 'Use the type below it instead.'
    FROM (
        SELECT d.refobjid AS id FROM rule
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = rule.oid
        WHERE d.refclassid = 'pg_type'::regclass
        UNION
        SELECT atttypid FROM pg_attribute WHERE attrelid = view AND attnum > 0
    ) AS used
    CROSS JOIN LATERAL pgtrickle._foreign_type(used.id) AS foreign_type WHERE foreign_type IS NOT NULL
$$;

CREATE OR REPLACE FUNCTION pgtrickle._foreign_code_hint() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('The engine runs only code of superusers, extensions and its own role: leave it out, or have '
                  'it reviewed and given to %s (ALTER … OWNER TO).', pgtrickle._engine()::regrole)
$$;

-- A type whose values run code of a stranger: a domain by its checks, a range by its functions.
-- Enums run none; arrays, composites and multiranges are as good as what they hold.
CREATE OR REPLACE FUNCTION pgtrickle._foreign_type(type oid) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_type text;
BEGIN
    IF type < 16384::oid THEN  -- it came with PostgreSQL; most do
        RETURN NULL;
    END IF;
    WITH RECURSIVE parts(id) AS (
        SELECT type
        UNION
        SELECT inner_id FROM parts JOIN pg_type t ON t.oid = parts.id CROSS JOIN LATERAL (
            SELECT t.typelem WHERE t.typelem <> 0
            UNION ALL
            SELECT t.typbasetype WHERE t.typtype = 'd'
            UNION ALL
            SELECT r.rngtypid FROM pg_range r WHERE r.rngmultitypid = t.oid
            UNION ALL
            SELECT r.rngsubtype FROM pg_range r WHERE r.rngtypid = t.oid
            UNION ALL
            SELECT a.atttypid FROM pg_attribute a WHERE t.typtype = 'c' AND a.attrelid = t.typrelid
            AND a.attnum > 0 AND NOT a.attisdropped
        ) AS held(inner_id)
    )
    SELECT format('%s %s belongs to %s', CASE typtype WHEN 'd' THEN 'domain' ELSE 'type' END, t.oid::regtype,
                  t.typowner::regrole) INTO found_type
    FROM parts JOIN pg_type t ON t.oid = parts.id
    WHERE t.typtype IN ('d', 'r', 'b') AND t.typcategory <> 'A'
    AND NOT pgtrickle._is_trusted(t.typowner) AND NOT pgtrickle._in_extension('pg_type', t.oid)
    ORDER BY t.oid LIMIT 1;
    RETURN found_type;
END
$$;
