-- The columns of some relations, in order.
SELECT a.attrelid, a.attnum, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod),
       pg_catalog.format_type(a.atttypid, NULL), a.atttypid, a.atttypmod, a.attnotnull, a.attcollation,
       pg_catalog.quote_ident(kn.nspname) || '.' || pg_catalog.quote_ident(k.collname),
       coalesce(k.collisdeterministic, true), a.attgenerated::text
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_collation k ON k.oid = a.attcollation
LEFT JOIN pg_catalog.pg_namespace kn ON kn.oid = k.collnamespace
WHERE a.attrelid = ANY (%s::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attrelid, a.attnum;
