stream table public.full: FULL
reason: DISTINCT is not maintained incrementally (line 1, column 8)
PostgreSQL evaluates the whole query at each refresh and applies the difference
