-- What forbids a view's sources: their kind, and the rights of owner and engine. One row each.
CREATE OR REPLACE FUNCTION pgtrickle._source_problems(view oid, owner oid)
RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.* FROM pgtrickle._sources(view) AS s
    CROSS JOIN LATERAL (
        SELECT * FROM pgtrickle._kind_problems(s.relid, s.attnums)
        UNION ALL
        SELECT * FROM pgtrickle._right_problems(s.relid, s.attnums, owner)
        UNION ALL
        SELECT * FROM pgtrickle._source_code_problems(s.relid, s.attnums)
    ) AS p
$$;

-- The kind of a source: table, stream or lake; NULL where it cannot be one.
CREATE OR REPLACE FUNCTION pgtrickle._kind(relation oid) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN EXISTS (SELECT FROM pgtrickle.pgt_stream_tables WHERE relid = relation) THEN 'stream'
        WHEN EXISTS (SELECT FROM pgtrickle.pgt_lake_tables WHERE stub_relid = relation) THEN 'lake'
        ELSE (SELECT 'table' FROM pg_class WHERE oid = relation AND relkind = 'r') END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._kind_problems(relation oid, attnums smallint[])
RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH it AS (
        SELECT c.*, c.oid::regclass AS name, c.relnamespace::regnamespace::text AS schema,
               pgtrickle._kind(c.oid) AS kind, pgtrickle._unlogged_columns(c.oid, attnums) AS unlogged
        FROM pg_class c WHERE c.oid = relation
    )
    SELECT '0A000', message, hint FROM it CROSS JOIN LATERAL (VALUES
        (schema IN ('pg_catalog', 'information_schema', 'pg_toast'),
         format('%s is a system catalog and cannot be a source', name),
         'Copy what you need into a table of your own.'),
        (schema LIKE 'pgtrickle%', format('%s belongs to pgtrickle itself and cannot be a source', name),
         'Read it with a plain query instead.'),
        (relpersistence = 't', format('temporary table %s cannot be a source', name),
         'Other sessions cannot see it: make it a plain table.'),
        (relpersistence = 'u', format('unlogged table %s cannot be a source yet', name),
         format('ALTER TABLE %s SET LOGGED;', name)),
        (relkind = 'v' AND kind IS NULL AND schema NOT IN ('pg_catalog', 'information_schema')
         AND schema NOT LIKE 'pgtrickle%', format('view %s cannot be a source yet', name),
         'Write the view''s own query in its place, or make a stream table of it and read that.'),
        (relkind = 'm', format('materialized view %s cannot be a source', name),
         'It changes only by REFRESH: make a stream table of its query and read that.'),
        (relkind = 'f', format('foreign table %s cannot be a source', name),
         'Its changes cannot be captured: copy it into a table.'),
        (relkind = 'p', format('partitioned table %s cannot be a source yet', name), 'Use a plain table.'),
        (relispartition, format('partition %s cannot be a source yet', name), 'Use a plain table.'),
        (relkind = 'r' AND NOT relispartition
         AND EXISTS (SELECT FROM pg_inherits WHERE relation IN (inhrelid, inhparent)),
         format('table %s takes part in inheritance and cannot be a source yet', name), 'Use a plain table.'),
        (EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = relation),
         format('%s is the target of a subscription, whose changes reach no trigger of ours', name),
         'Create the stream table where the rows are written, or read a table that the subscription does not fill.'),
        (unlogged IS NOT NULL, format('column %s of %s is younger than the capture', unlogged, name),
         'Its changes are not logged: drop the stream tables that read this table, and create them again.'),
        (EXISTS (SELECT FROM pg_attribute WHERE attrelid = relation AND attgenerated = 'v'
                 AND attnum = ANY (attnums)),
         format('column %s of %s is a virtual generated column, which triggers do not see',
                (SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = relation
                 AND attgenerated = 'v' AND attnum = ANY (attnums)), name),
         'Write its expression in the query, or make the column STORED.')
    ) AS rules (applies, message, hint)
    WHERE applies
$$;

-- The used columns that an existing capture does not log: added or retyped since.
CREATE OR REPLACE FUNCTION pgtrickle._unlogged_columns(relation oid, attnums smallint[]) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
    FROM pgtrickle.pgt_captures c JOIN pg_attribute a ON a.attrelid = c.relid
    LEFT JOIN pg_attribute l ON l.attrelid = to_regclass(format('pgtrickle_changes.changes_%s', c.capture_id))
        AND l.attname = 'a' || a.attnum
    WHERE c.relid = relation AND a.attnum = ANY (attnums) AND a.attgenerated <> 'v'
    AND CASE WHEN l.atttypid = a.atttypid THEN false
             ELSE l.atttypid IS DISTINCT FROM pgtrickle._base_type(a.atttypid) END
$$;

-- What owner and engine lack, with the exact GRANT. The trigger right matters until it is used.
CREATE OR REPLACE FUNCTION pgtrickle._right_problems(relation oid, attnums smallint[], owner oid)
RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH it AS (
        SELECT c.oid, c.oid::regclass AS name, format('%I.%I', n.nspname, c.relname) AS full_name,
               n.oid AS schema_oid, quote_ident(n.nspname) AS schema, pgtrickle._kind(c.oid) AS kind,
               pgtrickle._engine() AS engine
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation
    )
    SELECT '42501', message, hint FROM it CROSS JOIN LATERAL (VALUES
        (NOT pgtrickle._may_read(owner, oid, attnums),
         format('%s may not read %s', owner::regrole, name),
         format('GRANT SELECT ON %s TO %s;', full_name, owner::regrole)),
        (NOT has_schema_privilege(engine, schema_oid, 'USAGE'),
         format('the engine''s role %s may not use schema %s', engine::regrole, schema),
         format('GRANT USAGE ON SCHEMA %s TO %s;', schema, engine::regrole)),
        (NOT pgtrickle._may_read(engine, oid, attnums),
         format('the engine''s role %s may not read %s', engine::regrole, name),
         format('GRANT SELECT%s ON %s TO %s;', CASE kind WHEN 'table' THEN ', TRIGGER' END, full_name,
                engine::regrole)),
        (kind = 'table' AND NOT has_table_privilege(engine, oid, 'TRIGGER')
         AND NOT pgtrickle._is_captured(oid),
         format('the engine''s role %s may not put a trigger on %s', engine::regrole, name),
         format('GRANT SELECT, TRIGGER ON %s TO %s;', full_name, engine::regrole)),
        (pgtrickle._policies_apply(owner, oid),
         format('row-level security of %s applies to %s, and a stream table would not follow it', name,
                owner::regrole),
         'Read a table without row-level security, or create the stream table as the table''s owner.'),
        (pgtrickle._policies_apply(engine, oid) AND NOT pgtrickle._policies_apply(owner, oid),
         format('row-level security of %s hides rows from the engine''s role %s', name, engine::regrole),
         format('ALTER ROLE %s BYPASSRLS, or read a table without row-level security.', engine::regrole))
    ) AS rules (applies, message, hint)
    WHERE applies
$$;

-- Without a used column (count(*)) the right to any column will do, as for a SELECT.
CREATE OR REPLACE FUNCTION pgtrickle._may_read(role oid, relation oid, attnums smallint[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN cardinality(attnums) = 0 THEN has_any_column_privilege(role, relation, 'SELECT')
           ELSE (SELECT bool_and(has_column_privilege(role, relation, n, 'SELECT')) FROM unnest(attnums) AS n) END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._is_captured(relation oid) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pgtrickle.pgt_captures WHERE relid = relation)
$$;

-- Code that a source carries and that reading it would run: planning folds the expressions of its
-- indexes, and a domain's checks run wherever its values are written.
CREATE OR REPLACE FUNCTION pgtrickle._source_code_problems(relation oid, attnums smallint[])
RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT '42501', format('index %s: %s', i.indexrelid::regclass, foreign_function),
           format('The engine would run it: ALTER FUNCTION … OWNER TO %s, or drop the index.',
                  pgtrickle._engine()::regrole)
    FROM pg_index i
    CROSS JOIN LATERAL pgtrickle._foreign_function(concat(i.indexprs::text, i.indpred::text)) AS foreign_function
    WHERE i.indrelid = relation AND (i.indexprs IS NOT NULL OR i.indpred IS NOT NULL)
    AND foreign_function IS NOT NULL
    UNION ALL
    SELECT '42501', format('column %I of %s: %s', a.attname, a.attrelid::regclass, foreign_type),
           'Use the type below it instead.'
    FROM pg_attribute a CROSS JOIN LATERAL pgtrickle._foreign_type(a.atttypid) AS foreign_type
    WHERE a.attrelid = relation AND a.attnum = ANY (attnums) AND foreign_type IS NOT NULL
$$;
