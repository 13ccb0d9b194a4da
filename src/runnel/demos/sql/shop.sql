CREATE TABLE customers (
    id         SERIAL PRIMARY KEY,
    email      TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL,
    plan       TEXT NOT NULL DEFAULT 'free',     -- 'free', 'pro', 'enterprise'
    created_at TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE products (
    id          SERIAL PRIMARY KEY,
    sku         TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    category    TEXT NOT NULL,
    price_usd   NUMERIC(10,2) NOT NULL,
    stock_count INT NOT NULL DEFAULT 0
);

CREATE TABLE orders (
    id          BIGSERIAL PRIMARY KEY,
    customer_id INT NOT NULL REFERENCES customers(id),
    product_id  INT NOT NULL REFERENCES products(id),
    quantity    INT NOT NULL DEFAULT 1,
    total_usd   NUMERIC(10,2) NOT NULL,
    status      TEXT NOT NULL DEFAULT 'pending', -- 'pending', 'shipped', 'cancelled'
    ordered_at  TIMESTAMPTZ NOT NULL DEFAULT now(),
    region      TEXT                             -- NULL: not known
);

-- A shop that has been open for two weeks.
INSERT INTO customers (email, name, plan)
SELECT format('customer%s@example.com', i), format('Customer %s', i),
       (ARRAY['free', 'free', 'pro', 'enterprise'])[1 + i % 4]
FROM generate_series(1, 500) AS i;

INSERT INTO products (sku, name, category, price_usd, stock_count)
SELECT format('SKU-%s', lpad(i::text, 4, '0')), format('Product %s', i),
       (ARRAY['books', 'garden', 'kitchen', 'music', 'toys'])[1 + i % 5],
       4.99 + (i * 37 % 9500) / 100.0, 100
FROM generate_series(1, 100) AS i;

INSERT INTO orders (customer_id, product_id, quantity, total_usd, status, ordered_at, region)
SELECT 1 + r.customer % 500, p.id, 1 + r.quantity % 3, p.price_usd * (1 + r.quantity % 3),
       (ARRAY['shipped', 'shipped', 'shipped', 'pending', 'cancelled'])[1 + r.status % 5],
       now() - i * interval '2 minutes',
       (ARRAY['north', 'south', 'east', 'west', NULL])[1 + r.region % 5]
FROM generate_series(1, 10000) AS i
CROSS JOIN LATERAL (
    -- the same shop at every run: drawn by a hash, not by chance
    SELECT hashint4(i) & 65535 AS customer, hashint4(i + 100000) & 65535 AS product,
           hashint4(i + 200000) & 65535 AS quantity, hashint4(i + 300000) & 65535 AS status,
           hashint4(i + 400000) & 65535 AS region
) AS r
JOIN products AS p ON p.id = 1 + r.product % 100;

ANALYZE;
