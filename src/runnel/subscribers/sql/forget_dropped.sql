-- The fence of a removal: only one engine makes it.
DELETE FROM pgtrickle.pgt_dropped_sinks WHERE dropped_id = %(id)s RETURNING dropped_id;
