-- The committed refreshes of a stream table after one and up to another.
SELECT h.refresh_number, h.refresh_id, h.frontier::text, h.rows_out, h.started_at
FROM pgtrickle.pgt_refresh_history h
WHERE h.pgt_id = %(id)s AND h.refresh_number > %(after)s AND h.refresh_number <= %(upto)s AND h.status = 'completed'
ORDER BY h.refresh_number;
