-- The columns of the result's key, as the first refresh made it; no row where the result is a bag.
SELECT a.attname::text
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (attnum, place)
JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %(relid)s AND c.relname = %(name)s AND i.indisunique AND i.indisvalid
  AND i.indnullsnotdistinct AND i.indpred IS NULL
ORDER BY k.place;
