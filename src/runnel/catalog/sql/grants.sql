-- What everybody may: call the API, see the status, and own hidden views. Logs and state are nobody's.
GRANT USAGE ON SCHEMA pgtrickle TO PUBLIC;
GRANT USAGE, CREATE ON SCHEMA pgtrickle_views TO PUBLIC;
REVOKE ALL ON SCHEMA pgtrickle_changes, pgtrickle_state FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA pgtrickle, pgtrickle_changes, pgtrickle_state FROM PUBLIC;
GRANT SELECT ON pgtrickle.pgt_version, pgtrickle.pgt_stream_table_status, pgtrickle.pgt_refreshes,
    pgtrickle.pgt_publications TO PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgtrickle TO PUBLIC;
