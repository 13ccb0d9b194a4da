-- Each change log with how far all of its readers have come: a source's log to a transaction id below which
-- nothing is still to be read, a stream table's to a refresh number. NULL: somebody may need all of it. Who is
-- suspended before its first fill needs nothing: its fill will take a snapshot of its own.
SELECT format('changes_%s', d.capture_id), 'xid',
       CASE WHEN bool_and(t.frontier IS NOT NULL AND t.is_populated) FILTER (WHERE t.is_populated OR t.status <> 'suspended')
            THEN min(pg_snapshot_xmin(t.frontier)::text::numeric) FILTER (WHERE t.is_populated)::text END
FROM pgtrickle.pgt_dependencies d JOIN pgtrickle.pgt_stream_tables t USING (pgt_id)
WHERE d.capture_id IS NOT NULL
GROUP BY d.capture_id
UNION ALL
SELECT format('stream_%s', u.pgt_id), 'refresh_number',
       least(CASE WHEN count(d.pgt_id) = 0 THEN u.refresh_number
                  WHEN bool_and(d.consumed IS NOT NULL AND t.is_populated) THEN min(d.consumed) END,
             coalesce(min(s.published), u.refresh_number),
             CASE WHEN count(d.pgt_id) > 0 AND NOT bool_and(d.consumed IS NOT NULL AND t.is_populated) THEN 0 END)::text
FROM pgtrickle.pgt_stream_tables u
LEFT JOIN pgtrickle.pgt_dependencies d ON d.upstream_id = u.pgt_id
LEFT JOIN pgtrickle.pgt_stream_tables t ON t.pgt_id = d.pgt_id
LEFT JOIN pgtrickle.pgt_sinks s ON s.pgt_id = u.pgt_id
WHERE u.is_populated
GROUP BY u.pgt_id;
