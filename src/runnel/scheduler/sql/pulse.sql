-- What tells the loop, at the price of one small query, that it has to look again: which stream tables there
-- are and in which shape, and whose refresh was asked for by a row (its signal was drawn before its commit).
SELECT (SELECT last_value FROM pgtrickle.pgt_request_signal),
       (SELECT coalesce(string_agg(format('%s:%s:%s:%s', pgt_id, generation, is_populated, status = 'suspended'),
                                   ',' ORDER BY pgt_id), '') FROM pgtrickle.pgt_stream_tables),
       ARRAY(SELECT DISTINCT pgt_id FROM pgtrickle.pgt_refresh_requests WHERE done_at IS NULL),
       EXISTS (SELECT FROM pgtrickle.pgt_dropped_sinks);
