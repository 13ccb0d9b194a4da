-- A schedule in milliseconds: '200ms', '5s', '1m', '2h', '1d'.
CREATE OR REPLACE FUNCTION pgtrickle._schedule_ms(schedule text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := regexp_match(lower(btrim(schedule)), '^(\d{1,9})\s*(ms|s|m|h|d)$');
    ms bigint;
BEGIN
    IF schedule ~ '^\s*\S+(\s+\S+){4,5}\s*$' OR schedule ~ '^\s*@' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('schedule %L: cron schedules are not offered yet', schedule),
            HINT = 'Write an interval: a number and ms, s, m, h or d, such as ''5s''.';
    END IF;
    ms := parts[1]::bigint * CASE parts[2] WHEN 'ms' THEN 1 WHEN 's' THEN 1000 WHEN 'm' THEN 60000
                                           WHEN 'h' THEN 3600000 WHEN 'd' THEN 86400000 END;
    IF ms IS NULL OR ms = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('schedule %L cannot be read', schedule),
            HINT = 'Write a number and ms, s, m, h or d: ''200ms'', ''5s'', ''1m'', ''2h'', ''1d''.';
    END IF;
    RETURN ms;
END
$$;

CREATE OR REPLACE FUNCTION pgtrickle._refresh_mode(mode text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF upper(mode) IN ('AUTO', 'DIFFERENTIAL', 'FULL') THEN
        RETURN upper(mode);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = format('refresh mode %L is not offered', mode),
        HINT = CASE WHEN upper(mode) = 'IMMEDIATE'
            THEN 'A stream table follows its sources after they commit: take AUTO or DIFFERENTIAL with a short '
                 'schedule such as ''200ms'', and refresh_stream_table(name) to wait for a refresh.'
            ELSE 'Offered are AUTO (incremental where possible), DIFFERENTIAL (incremental or an error) and FULL.'
        END;
END
$$;

-- The sink's mode with its default filled in; NULL without a sink.
CREATE OR REPLACE FUNCTION pgtrickle._sink_mode(sink text, mode text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF sink IS NULL THEN
        IF mode IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
                MESSAGE = format('ducklake_sink_mode %L was given without a sink', mode),
                HINT = 'Add sink => ''ducklake''.';
        END IF;
        RETURN NULL;
    END IF;
    IF lower(sink) <> 'ducklake' THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('sink %L is not offered', sink), HINT = 'Offered is ''ducklake''.';
    END IF;
    IF lower(coalesce(mode, 'append')) NOT IN ('append', 'replace') THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('ducklake_sink_mode %L is not offered', mode),
            HINT = 'Offered are ''append'' (every change is kept) and ''replace'' (the newest result).';
    END IF;
    RETURN lower(coalesce(mode, 'append'));
END
$$;
