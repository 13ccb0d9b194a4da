-- The fence: exactly one row, or somebody else has published, or the sink is gone.
UPDATE pgtrickle.pgt_sinks SET published = %(upto)s, last_error = NULL
WHERE pgt_id = %(id)s AND published = %(after)s
RETURNING published;
