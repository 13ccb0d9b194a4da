UPDATE pgtrickle.pgt_sinks SET last_error = %(error)s WHERE pgt_id = %(id)s AND last_error IS DISTINCT FROM %(error)s;
