-- The engine's role: whoever owns the schema pgtrickle.
CREATE OR REPLACE FUNCTION pgtrickle._engine() RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT nspowner FROM pg_namespace WHERE nspname = 'pgtrickle'
$$;

-- Whether code that belongs to this role may run under the engine's role.
CREATE OR REPLACE FUNCTION pgtrickle._is_trusted(role oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT role = pgtrickle._engine() OR EXISTS (SELECT FROM pg_roles WHERE oid = role AND rolsuper)
$$;
