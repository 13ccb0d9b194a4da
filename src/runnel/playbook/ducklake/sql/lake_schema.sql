-- Where a lake's tables lie: a schema of its own name, else the lake that lives in public.
SELECT n.nspname
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'ducklake_metadata'
  AND n.nspname = ANY (%(candidates)s)
ORDER BY array_position(%(candidates)s::text[], n.nspname::text)
LIMIT 1
