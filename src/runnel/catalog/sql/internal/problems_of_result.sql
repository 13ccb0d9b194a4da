-- What forbids writing to a result table: another shape than its view's, or code of strangers that a
-- write would run under the engine's role. The engine asks again in its apply, under its lock.
CREATE OR REPLACE FUNCTION pgtrickle._result_problems(relation oid, view oid)
RETURNS TABLE (code text, message text, hint text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH it AS (
        SELECT c.*, c.oid::regclass AS name, pgtrickle._engine() AS engine FROM pg_class c WHERE c.oid = relation
    )
    SELECT code, message, hint FROM it CROSS JOIN LATERAL (VALUES
        ('42809', relkind <> 'r' OR relispartition OR relpersistence <> 'p'
         OR EXISTS (SELECT FROM pg_inherits WHERE relation IN (inhrelid, inhparent)),
         format('%s is no longer a plain table', name), 'Drop the stream table and create it again.'),
        ('42804', pgtrickle._shape(relation) IS DISTINCT FROM pgtrickle._shape(view),
         format('the columns of %s are not those of its query', name),
         'Undo the change of its columns, or drop the stream table and create it again.'),
        ('42501', NOT (SELECT bool_and(has_table_privilege(engine, relation, action))
                       FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS action),
         format('the engine''s role %s may not write to %s', engine::regrole, name),
         format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %s;', name, engine::regrole)),
        ('42501', NOT pg_has_role(engine, relowner, 'MEMBER'),
         format('the engine''s role %s may not act for %s, who owns %s', engine::regrole, relowner::regrole, name),
         format('GRANT %s TO %s;', relowner::regrole, engine::regrole)),
        ('42501', NOT has_schema_privilege(engine, relnamespace, 'USAGE'),
         format('the engine''s role %s may not use schema %s', engine::regrole, relnamespace::regnamespace),
         format('GRANT USAGE ON SCHEMA %s TO %s;', relnamespace::regnamespace, engine::regrole)),
        ('42501', EXISTS (SELECT FROM pg_trigger WHERE tgrelid = relation),
         format('stream table %s has triggers or foreign keys, which would run as the engine', name),
         format('Drop %s.', (SELECT string_agg(quote_ident(tgname), ', ') FROM pg_trigger
                             WHERE tgrelid = relation))),
        ('42501', EXISTS (SELECT FROM pg_rewrite WHERE ev_class = relation),
         format('stream table %s has rules, which would run as the engine', name),
         format('Drop %s.', (SELECT string_agg(quote_ident(rulename), ', ') FROM pg_rewrite
                             WHERE ev_class = relation))),
        ('42501', relrowsecurity AND pgtrickle._policies_apply(engine, relation),
         format('row-level security of stream table %s applies to the engine', name),
         format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY;', name)),
        ('42501', EXISTS (SELECT FROM pg_attribute WHERE attrelid = relation AND attnum > 0
                          AND (attgenerated <> '' OR attidentity <> '')),
         format('stream table %s has generated columns', name), 'Drop them: its columns are those of its query.')
    ) AS rules (code, applies, message, hint)
    WHERE applies
    UNION ALL
    SELECT '42501', format('%s of stream table %s: %s', what, relation::regclass, foreign_function),
           pgtrickle._foreign_code_hint()
    FROM (
        SELECT 'index', concat(indexprs::text, indpred::text) FROM pg_index WHERE indrelid = relation
        UNION ALL SELECT 'constraint', conbin::text FROM pg_constraint WHERE conrelid = relation
        UNION ALL SELECT 'default', adbin::text FROM pg_attrdef WHERE adrelid = relation
    ) AS carried (what, tree) CROSS JOIN LATERAL pgtrickle._foreign_function(tree) AS foreign_function
    WHERE foreign_function IS NOT NULL
$$;

-- A relation's columns as text: equal for a view and for the table that holds its rows.
CREATE OR REPLACE FUNCTION pgtrickle._shape(relation oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(format('%I %s %s', attname, format_type(atttypid, atttypmod), attcollation), ', '
                      ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
$$;
