-- What the engine's role lacks on the schemas and plain tables of this database, by schema.
WITH engine AS (
    SELECT nspowner AS id, nspowner::regrole::text AS role FROM pg_catalog.pg_namespace WHERE nspname = 'pgtrickle'
), sources AS (
    SELECT n.nspname, n.oid AS schema_oid,
           bool_and(pg_catalog.has_schema_privilege(engine.id, n.oid, 'USAGE')) AS may_use,
           bool_and(pg_catalog.has_table_privilege(engine.id, c.oid, 'SELECT')
                    AND pg_catalog.has_table_privilege(engine.id, c.oid, 'TRIGGER')) AS may_follow
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, engine
    WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname !~ '^(pg_|pgtrickle|information_schema$)'
    AND NOT EXISTS (SELECT FROM pgtrickle.pgt_stream_tables t WHERE t.relid = c.oid)
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_class k
                    WHERE k.relnamespace = n.oid AND k.relname = 'ducklake_snapshot')
    GROUP BY n.nspname, n.oid
), owners AS (
    SELECT DISTINCT c.relowner::regrole::text AS owner
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_roles r ON r.oid = c.relowner, engine
    WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname !~ '^(pg_|pgtrickle|information_schema$)'
    AND NOT r.rolsuper AND NOT pg_catalog.pg_has_role(engine.id, c.relowner, 'MEMBER')
), results AS (
    SELECT t.relid FROM pgtrickle.pgt_stream_tables t JOIN pg_catalog.pg_class c ON c.oid = t.relid, engine
    WHERE NOT (SELECT pg_catalog.bool_and(pg_catalog.has_table_privilege(engine.id, c.oid, action))
               FROM pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS action)
)
-- the first: to make the key of a stream table that the role will own
SELECT pg_catalog.format('GRANT %s TO %s;', owner, role) FROM owners, engine
UNION ALL
SELECT pg_catalog.format('GRANT USAGE ON SCHEMA %I TO %s;', nspname, role) FROM sources, engine WHERE NOT may_use
UNION ALL
SELECT pg_catalog.format('GRANT SELECT, TRIGGER ON ALL TABLES IN SCHEMA %I TO %s;', nspname, role)
FROM sources, engine WHERE NOT may_follow
UNION ALL
SELECT pg_catalog.format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s;', relid::regclass, role)
FROM results, engine
ORDER BY 1;
