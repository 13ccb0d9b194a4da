-- What a view reads: each relation with the columns used of it, from PostgreSQL's own record. System
-- catalogs stand only in the rule's text; a whole-row reference leaves no column in pg_depend.
CREATE OR REPLACE FUNCTION pgtrickle._sources(view oid) RETURNS TABLE (relid oid, attnums smallint[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH rule AS (
        SELECT oid, ev_action::text AS tree, ev_action::text ~ ':varattno 0 ' AS whole_row
        FROM pg_rewrite WHERE ev_class = view
    ), used AS (
        SELECT DISTINCT m[1]::oid AS relid, whole_row
        FROM rule CROSS JOIN LATERAL regexp_matches(tree, ':relid (\d+)', 'g') AS m
        WHERE m[1]::oid NOT IN (0, view)
    )
    SELECT used.relid, ARRAY(
        SELECT a.attnum FROM pg_attribute a
        WHERE a.attrelid = used.relid AND a.attnum > 0 AND NOT a.attisdropped AND (
            whole_row OR EXISTS (
                SELECT FROM pg_depend d JOIN rule ON d.objid = rule.oid
                WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
                AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum))
        ORDER BY a.attnum)
    FROM used ORDER BY used.relid
$$;

-- The functions that an expression tree calls, built-in ones included (pg_depend leaves those out).
CREATE OR REPLACE FUNCTION pgtrickle._functions_in(tree text) RETURNS oid[]
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(DISTINCT m[1]::oid), '{}')
    FROM regexp_matches(tree, ':(?:funcid|opfuncid|aggfnoid|winfnoid) ([1-9]\d*)', 'g') AS m
$$;

-- The first of some functions that a stranger owns: it would run as the engine. (What came with
-- PostgreSQL has an oid below 16384 and belongs to its first superuser.)
CREATE OR REPLACE FUNCTION pgtrickle._foreign_among(functions oid[]) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('function %s belongs to %s', f.oid::regprocedure, f.proowner::regrole)
    FROM pg_proc f
    WHERE f.oid = ANY (ARRAY(SELECT id FROM unnest(functions) AS id WHERE id >= 16384::oid))
    AND NOT pgtrickle._is_trusted(f.proowner) AND NOT pgtrickle._in_extension('pg_proc', f.oid)
    ORDER BY f.oid LIMIT 1
$$;

CREATE OR REPLACE FUNCTION pgtrickle._foreign_function(tree text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT pgtrickle._foreign_among(pgtrickle._functions_in(tree))
$$;

-- Members of an extension were vouched for by whoever was allowed to install it.
CREATE OR REPLACE FUNCTION pgtrickle._in_extension(class regclass, object oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_depend WHERE classid = class AND objid = object AND deptype = 'e')
$$;

-- Whether a role sees a table through its row-level policies.
CREATE OR REPLACE FUNCTION pgtrickle._policies_apply(role oid, relation oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.relrowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
           AND (c.relforcerowsecurity OR NOT pg_has_role(role, c.relowner, 'USAGE'))
    FROM pg_class c, pg_roles r WHERE c.oid = relation AND r.oid = role
$$;
