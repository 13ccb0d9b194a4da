-- The tables of Runnel's catalog: the whole truth about what exists and how far it has come.
-- Installed by the engine's role, which owns everything in these four schemas.

CREATE SCHEMA pgtrickle;
CREATE SCHEMA pgtrickle_changes;  -- change logs and the functions that write them
CREATE SCHEMA pgtrickle_state;    -- the state of stages, and staged rows
CREATE SCHEMA pgtrickle_views;    -- the hidden view of each stream table, owned by its owner

CREATE TABLE pgtrickle.pgt_version (
    version      text NOT NULL PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE pgtrickle.pgt_settings (
    name  text NOT NULL PRIMARY KEY,
    value text NOT NULL
);

-- One row per captured source table; its log is pgtrickle_changes.changes_<capture_id>.
CREATE TABLE pgtrickle.pgt_captures (
    capture_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    relid        oid NOT NULL UNIQUE,
    triggers     text,                           -- their identities and row versions, as installed
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE pgtrickle.pgt_lakes (
    lake_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lake_name       text NOT NULL UNIQUE,
    catalog         text,                       -- conninfo without password; NULL: this database
    metadata_schema text NOT NULL,
    is_own          boolean NOT NULL DEFAULT false  -- where the sinks publish
);

-- One row per table of a lake that PostgreSQL knows, by its stub view.
CREATE TABLE pgtrickle.pgt_lake_tables (
    stub_relid  oid NOT NULL PRIMARY KEY,
    lake_id     bigint NOT NULL REFERENCES pgtrickle.pgt_lakes ON DELETE CASCADE,
    lake_schema text NOT NULL,
    lake_table  text NOT NULL,
    UNIQUE (lake_id, lake_schema, lake_table)
);

CREATE TABLE pgtrickle.pgt_stream_tables (
    pgt_id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    relid          oid NOT NULL UNIQUE,          -- the result table
    view_relid     oid NOT NULL UNIQUE,          -- the hidden view
    owner          oid NOT NULL,
    query          text NOT NULL,                -- as the user wrote it
    schedule       text NOT NULL,
    schedule_ms    bigint NOT NULL CHECK (schedule_ms > 0),
    refresh_mode   text NOT NULL CHECK (refresh_mode IN ('AUTO', 'DIFFERENTIAL', 'FULL')),
    sink           text CHECK (sink IN ('ducklake')),
    sink_mode      text CHECK (sink_mode IN ('append', 'replace')),
    status         text NOT NULL DEFAULT 'pending'
                   CHECK (status IN ('pending', 'active', 'suspended', 'error')),
    is_populated   boolean NOT NULL DEFAULT false,
    generation     bigint NOT NULL DEFAULT 1,    -- raised by every API call that alters it
    refresh_number bigint NOT NULL DEFAULT 0,    -- gapless; the newest committed refresh
    frontier       pg_snapshot,                  -- of its base tables
    effective_mode text,                         -- what the compiler decided
    reason         text,                         -- why, where it is FULL; or what is wrong
    settings       jsonb NOT NULL,               -- search_path, TimeZone, … of its creation
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    refreshed_at   timestamptz                   -- when the frontier was taken
);

-- What a stream table reads, each with the version that it has consumed.
CREATE TABLE pgtrickle.pgt_dependencies (
    pgt_id      bigint NOT NULL REFERENCES pgtrickle.pgt_stream_tables ON DELETE CASCADE,
    relid       oid NOT NULL,                    -- a table, another stream table's result, a stub view
    kind        text NOT NULL CHECK (kind IN ('table', 'stream', 'lake')),
    capture_id  bigint REFERENCES pgtrickle.pgt_captures,        -- kind table
    upstream_id bigint REFERENCES pgtrickle.pgt_stream_tables,   -- kind stream
    consumed    bigint,   -- kind stream: a refresh number; kind lake: a snapshot id
    PRIMARY KEY (pgt_id, relid)
);
CREATE INDEX ON pgtrickle.pgt_dependencies (upstream_id);
CREATE INDEX ON pgtrickle.pgt_dependencies (capture_id);

-- A sink's own frontier: the newest refresh that it has published.
CREATE TABLE pgtrickle.pgt_sinks (
    pgt_id     bigint NOT NULL PRIMARY KEY REFERENCES pgtrickle.pgt_stream_tables ON DELETE CASCADE,
    lake_id    bigint NOT NULL REFERENCES pgtrickle.pgt_lakes,
    published  bigint NOT NULL DEFAULT 0,
    last_error text
);

-- Sinks whose stream table is gone or publishes no longer: the engine removes their view from the lake.
CREATE TABLE pgtrickle.pgt_dropped_sinks (
    dropped_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lake_id     bigint NOT NULL REFERENCES pgtrickle.pgt_lakes ON DELETE CASCADE,
    pgt_id      bigint NOT NULL,
    relid       oid NOT NULL,
    schema_name text,
    table_name  text,
    sink_mode   text NOT NULL,
    dropped_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE pgtrickle.pgt_refresh_history (
    refresh_id     uuid NOT NULL PRIMARY KEY,    -- UUIDv7
    pgt_id         bigint NOT NULL,
    refresh_number bigint,                       -- NULL: the attempt did not commit
    status         text NOT NULL CHECK (status IN ('completed', 'failed')),
    mode           text NOT NULL,                -- DIFFERENTIAL, FULL
    gear           text,                         -- first, second
    reason         text,
    error          text,
    frontier       pg_snapshot,
    rows_in        bigint,
    rows_out       bigint,
    phases         jsonb,                        -- milliseconds by phase
    started_at     timestamptz NOT NULL,
    ended_at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX ON pgtrickle.pgt_refresh_history (pgt_id, refresh_number);

-- What was asked for from SQL. A nextval of the sequence is seen at once, a row only at its commit: a
-- caller who waits shows what it wants by an advisory lock (see refresh_stream_table), and the engine's
-- answer is a row of its own. An answer holds for every request with a signal up to its own.
CREATE SEQUENCE pgtrickle.pgt_request_signal;
CREATE TABLE pgtrickle.pgt_refresh_requests (
    request_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    pgt_id       bigint NOT NULL REFERENCES pgtrickle.pgt_stream_tables ON DELETE CASCADE,
    signal       bigint NOT NULL,
    requested_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    refresh_id   uuid,
    error        text,
    done_at      timestamptz
);
CREATE INDEX ON pgtrickle.pgt_refresh_requests (pgt_id, signal);

CREATE TABLE pgtrickle.pgt_ducklake_provenance (
    stream_table_oid     oid NOT NULL,
    stream_table_name    text NOT NULL,
    ducklake_snapshot_id bigint NOT NULL,
    refresh_id           uuid NOT NULL,
    refresh_number       bigint NOT NULL,
    frontier             pg_snapshot,
    delta_row_count      bigint NOT NULL,
    written_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (stream_table_oid, ducklake_snapshot_id)
);
