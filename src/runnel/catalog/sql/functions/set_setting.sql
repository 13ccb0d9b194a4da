-- set_setting(name, value): changes a setting of Runnel in this database; NULL brings its default back.
-- lock_timeout: how long API calls wait for a lock ('5s').
CREATE OR REPLACE FUNCTION pgtrickle.set_setting(name text, value text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    setting text := lower(set_setting.name);
    previous text := current_setting('lock_timeout');
BEGIN
    PERFORM pgtrickle._require_administrator('change settings');
    IF setting !~ '^[a-z][a-z0-9_.]*$' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = format('%L is not a setting', name),
            HINT = 'Names are lower case letters, digits and underscores, such as lock_timeout.';
    END IF;
    IF setting = 'lock_timeout' THEN
        PERFORM set_config('lock_timeout', coalesce(value, '5s'), true),  -- PostgreSQL refuses what is no time
                set_config('lock_timeout', previous, true);
    END IF;
    DELETE FROM pgtrickle.pgt_settings AS s WHERE s.name = setting;
    INSERT INTO pgtrickle.pgt_settings SELECT setting, value WHERE value IS NOT NULL;
END
$$;
