-- setting(name): a setting of Runnel in this database, or NULL where it has its default.
CREATE OR REPLACE FUNCTION pgtrickle.setting(name text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.value FROM pgtrickle.pgt_settings AS s WHERE s.name = lower($1)
$$;
