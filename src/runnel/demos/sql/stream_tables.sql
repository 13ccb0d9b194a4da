SELECT pgtrickle.create_stream_table(
    name => 'revenue_by_region',
    query => $$
        SELECT region, SUM(total_usd) AS revenue_usd, COUNT(*) AS order_count, MAX(ordered_at) AS last_order_at
        FROM orders
        WHERE status <> 'cancelled'
        GROUP BY region
    $$,
    schedule => '200ms',
    refresh_mode => 'DIFFERENTIAL',
    sink => 'ducklake',
    ducklake_sink_mode => 'append'
);

SELECT pgtrickle.create_stream_table(
    name => 'revenue_by_day',
    query => $$
        SELECT
            date_trunc('day', o.ordered_at) AS day,
            p.category,
            SUM(o.total_usd) AS revenue_usd,
            COUNT(*) AS order_count,
            COUNT(DISTINCT o.customer_id) AS unique_customers
        FROM orders o
        JOIN products p ON p.id = o.product_id
        WHERE o.status = 'shipped'
        GROUP BY date_trunc('day', o.ordered_at), p.category
    $$,
    schedule => '200ms',
    refresh_mode => 'DIFFERENTIAL',
    sink => 'ducklake',
    ducklake_sink_mode => 'replace'
);

-- Over another stream table: it reads what that one changed.
SELECT pgtrickle.create_stream_table(
    name => 'revenue_by_category',
    query => $$
        SELECT category, SUM(revenue_usd) AS revenue_usd
        FROM revenue_by_day
        GROUP BY category
    $$,
    schedule => '200ms',
    refresh_mode => 'DIFFERENTIAL'
);
