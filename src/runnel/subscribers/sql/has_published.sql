-- A base of a refresh that is not published yet would show it too early.
SELECT published FROM pgtrickle.pgt_sinks WHERE pgt_id = %(id)s AND published >= %(number)s FOR SHARE;
