-- The ledger of a loop: each commit carries in its extra info which items it wrote.
SELECT commit_extra_info
FROM {schema}.ducklake_snapshot_changes
WHERE snapshot_id > %(since)s
  AND author = %(author)s
  AND starts_with(commit_extra_info, %(prefix)s)
