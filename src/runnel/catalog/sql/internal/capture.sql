-- The capture of a source: its change log, the function that writes it, and four triggers.
-- The log's columns are named by attribute number and typed by base type, so that neither a rename
-- nor a domain's check reaches a writer.
CREATE OR REPLACE FUNCTION pgtrickle._capture(relation oid) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id bigint;
BEGIN
    SELECT capture_id INTO id FROM pgtrickle.pgt_captures WHERE relid = relation FOR KEY SHARE;
    IF found THEN
        RETURN id;
    END IF;
    INSERT INTO pgtrickle.pgt_captures (relid) VALUES (relation)
        ON CONFLICT (relid) DO NOTHING RETURNING capture_id INTO id;
    IF id IS NULL THEN  -- another session made it while we waited
        SELECT capture_id INTO STRICT id FROM pgtrickle.pgt_captures WHERE relid = relation FOR KEY SHARE;
        RETURN id;
    END IF;
    PERFORM pgtrickle._create_log(id, relation);
    EXECUTE pgtrickle._capture_function(id, relation);
    EXECUTE format('REVOKE ALL ON FUNCTION pgtrickle_changes.capture_%s() FROM PUBLIC', id);
    PERFORM pgtrickle._create_triggers(id, relation);
    UPDATE pgtrickle.pgt_captures SET triggers = pgtrickle._triggers_of(id) WHERE capture_id = id;
    RETURN id;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._create_log(id bigint, relation oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format(
        'CREATE TABLE pgtrickle_changes.changes_%s (xid xid8 NOT NULL DEFAULT pg_current_xact_id(), '
        'w smallint NOT NULL%s)', id,
        (SELECT string_agg(format(', a%s %s%s', c.attnum, format_type(c.base_type, -1), c.collate_clause), ''
                           ORDER BY c.attnum) FROM pgtrickle._columns_to_log(relation) AS c));
    EXECUTE format('CREATE INDEX ON pgtrickle_changes.changes_%s (xid)', id);
END
$$;

-- Virtual generated columns reach no trigger; all others are logged.
CREATE OR REPLACE FUNCTION pgtrickle._columns_to_log(relation oid)
RETURNS TABLE (attnum smallint, name name, base_type oid, collate_clause text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.attnum, a.attname, pgtrickle._base_type(a.atttypid),
           (SELECT format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_collation c
            JOIN pg_namespace n ON n.oid = c.collnamespace
            WHERE c.oid = a.attcollation AND c.collname <> 'default')
    FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> 'v'
    ORDER BY a.attnum
$$;

CREATE OR REPLACE FUNCTION pgtrickle._base_type(type oid) RETURNS oid
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE chain(id) AS (
        SELECT type
        UNION ALL
        SELECT typbasetype FROM chain JOIN pg_type ON oid = id WHERE typtype = 'd'
    )
    SELECT id FROM chain JOIN pg_type ON oid = id WHERE typtype <> 'd'
$$;

-- Names and types of a source's columns, as text: the function compares it before it names columns.
CREATE OR REPLACE FUNCTION pgtrickle._source_shape(relation oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT string_agg(concat_ws(' ', attnum, attname, atttypid), ',' ORDER BY attnum)
    FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
$$;

-- The statement that logs one event, for the columns that source and log still share.
CREATE OR REPLACE FUNCTION pgtrickle._log_statement(id bigint, relation oid, event text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('INSERT INTO pgtrickle_changes.changes_%s (w%s) ', id,
                  string_agg(', a' || attnum, '' ORDER BY attnum))
        || concat_ws(' UNION ALL ',
            CASE WHEN event IN ('UPDATE', 'DELETE') THEN
                format('SELECT -1%s FROM old_rows', string_agg(', ' || quote_ident(name), '' ORDER BY attnum)) END,
            CASE WHEN event IN ('INSERT', 'UPDATE') THEN
                format('SELECT 1%s FROM new_rows', string_agg(', ' || quote_ident(name), '' ORDER BY attnum)) END)
    FROM pgtrickle._columns_to_log(relation) AS c
    WHERE EXISTS (SELECT FROM pg_attribute l WHERE l.attrelid = format('pgtrickle_changes.changes_%s', id)::regclass
                  AND l.attname = 'a' || c.attnum AND NOT l.attisdropped AND l.atttypid = c.base_type)
$$;

-- A column renamed, added or dropped later must not fail the writer: past its first shape the
-- function builds its statement anew each time.
CREATE OR REPLACE FUNCTION pgtrickle._capture_function(id bigint, relation oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format($template$
CREATE FUNCTION pgtrickle_changes.capture_%1$s() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
    IF TG_RELID <> %2$s OR TG_LEVEL <> 'STATEMENT' OR TG_WHEN <> 'AFTER' THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = 'pgtrickle_changes.capture_%1$s() serves its own source only';
    END IF;
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO pgtrickle_changes.changes_%1$s (w) VALUES (0);
    ELSIF pgtrickle._source_shape(%2$s) IS DISTINCT FROM %3$L THEN
        EXECUTE pgtrickle._log_statement(%1$s, %2$s, TG_OP);
    ELSIF TG_OP = 'INSERT' THEN
        %4$s;
    ELSIF TG_OP = 'UPDATE' THEN
        %5$s;
    ELSE
        %6$s;
    END IF;
    RETURN NULL;
END
$body$
$template$, id, relation, pgtrickle._source_shape(relation), pgtrickle._log_statement(id, relation, 'INSERT'),
        pgtrickle._log_statement(id, relation, 'UPDATE'), pgtrickle._log_statement(id, relation, 'DELETE'))
$$;

-- One trigger per event (transition tables take one); '~' sorts after the user's own.
CREATE OR REPLACE FUNCTION pgtrickle._create_triggers(id bigint, relation oid) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    event text;
    tables text;
BEGIN
    FOR event, tables IN VALUES
        ('INSERT', 'REFERENCING NEW TABLE AS new_rows'), ('DELETE', 'REFERENCING OLD TABLE AS old_rows'),
        ('UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'), ('TRUNCATE', '')
    LOOP
        EXECUTE format('CREATE TRIGGER %I AFTER %s ON %s %s FOR EACH STATEMENT '
                       'EXECUTE FUNCTION pgtrickle_changes.capture_%s()',
                       format('~pgtrickle_%s_%s', id, lower(event)), event, relation::regclass, tables, id);
    END LOOP;
EXCEPTION WHEN lock_not_available THEN
    PERFORM pgtrickle._raise_locked(relation);
END
$$;

-- The four triggers with the versions of their catalog rows: DISABLE, some writes and ENABLE leave
-- everything as it was but those. NULL while one is missing or disabled.
CREATE OR REPLACE FUNCTION pgtrickle._triggers_of(id bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN count(*) = 4 THEN string_agg(format('%s:%s', t.oid, t.xmin), ',' ORDER BY t.oid) END
    FROM pgtrickle.pgt_captures c
    JOIN pg_trigger t ON t.tgrelid = c.relid
        AND t.tgfoid = to_regproc(format('pgtrickle_changes.capture_%s', c.capture_id))
    WHERE c.capture_id = id AND t.tgenabled IN ('O', 'A')
$$;
