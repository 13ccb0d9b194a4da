"""The append sink: every refresh one snapshot, the view the stream table, the log complete for ever."""

from __future__ import annotations

import json

from tests.integration.subscribers.conftest import House

_ORDERS = """
CREATE TABLE orders (id int PRIMARY KEY, region text, status text NOT NULL, total_usd numeric(10,2), ordered_at timestamptz)
"""
_REVENUE = """
SELECT region, SUM(total_usd) AS revenue_usd, COUNT(*) AS order_count, MAX(ordered_at) AS last_order_at
FROM orders WHERE status <> 'cancelled' GROUP BY region
"""
_HISTORY = [
    "INSERT INTO orders SELECT i, (ARRAY['eu','us',NULL])[1 + i % 3], 'new', i + 0.25, '2026-01-01Z'::timestamptz + i * interval '1 minute' FROM generate_series(1, 30) i",
    "UPDATE orders SET total_usd = -total_usd WHERE id % 5 = 0",
    "DELETE FROM orders WHERE region = 'us'",
    "INSERT INTO orders VALUES (101, 'us', 'new', NULL, NULL), (102, 'apac', 'new', 1, now())",
    "UPDATE orders SET status = 'cancelled' WHERE region IS NULL",
    "UPDATE orders SET status = 'new' WHERE region IS NULL AND id < 10",
    "UPDATE orders SET region = 'apac' WHERE region = 'eu' AND id < 20",
    "UPDATE orders SET region = NULL WHERE id = 102",
    "DELETE FROM orders WHERE region = 'apac'",
    "INSERT INTO orders VALUES (103, '', 'new', 0.10, '2026-02-01'), (104, 'it''s', 'new', 0.20, '0900-02-01')",
    "TRUNCATE orders",
    "INSERT INTO orders VALUES (1, 'eu', 'new', 99999999.99, 'infinity'), (2, NULL, 'new', 5, '-infinity')",
]


def test_every_refresh_is_one_snapshot_and_the_view_is_the_stream_table(house: House) -> None:
    house.sql(_ORDERS)
    house.scales = {"revenue_usd": 2}
    pgt_id = house.create("revenue_by_region", _REVENUE)
    before = len(house.snapshots())
    seen = {}
    for number, change in enumerate(_HISTORY, 1):
        house.sql(change)
        published = house.step(pgt_id)
        assert published is not None
        assert [s.refresh_number for s in published.snapshots] == [number]
        expected = house.in_postgres("revenue_by_region")
        assert house.in_lake("revenue_by_region") == expected
        seen[published.snapshots[0].snapshot_id] = expected
    snapshots = house.snapshots()[before:]
    assert [s["snapshot_id"] for s in snapshots] == list(seen)
    for snapshot_id, expected in seen.items():  # time travel through the view
        assert house.in_lake("revenue_by_region", snapshot_id) == expected
    _check_provenance(house, pgt_id, snapshots)


def _check_provenance(house: House, pgt_id: int, snapshots: list) -> None:  # type: ignore[type-arg]
    rows = house.sql(
        "SELECT p.ducklake_snapshot_id, p.refresh_id::text, p.stream_table_name, p.refresh_number, p.delta_row_count,"
        " h.rows_out, p.frontier::text = h.frontier::text, p.stream_table_oid = 'revenue_by_region'::regclass"
        " FROM pgtrickle.pgt_ducklake_provenance p JOIN pgtrickle.pgt_refresh_history h USING (refresh_id)"
        " WHERE h.pgt_id = %s ORDER BY 1",
        pgt_id,
    )
    assert len(rows) == len(snapshots) >= 10
    for row, snapshot in zip(rows, snapshots, strict=True):
        assert row[0] == snapshot["snapshot_id"]
        assert snapshot["author"].startswith("pg_trickle/")
        assert snapshot["author"].endswith(f"/stream_table/revenue_by_region/{row[1]}")
        assert snapshot["commit_extra_info"] == row[1]
        assert row[2] == "revenue_by_region"
        assert row[4] == row[5] > 0
        assert row[6]
        assert row[7]


def test_types_and_tags(house: House) -> None:
    house.sql(_ORDERS)
    house.scales = {"revenue_usd": 2}
    pgt_id = house.create("revenue_by_region", _REVENUE)
    house.sql(_HISTORY[0])
    house.step(pgt_id)
    described = house.judge.execute("DESCRIBE revenue_by_region").fetchall()
    assert [row[:2] for row in described] == [
        ("region", "VARCHAR"),
        ("revenue_usd", "DECIMAL(38,2)"),
        ("order_count", "BIGINT"),
        ("last_order_at", "TIMESTAMP WITH TIME ZONE"),
    ]
    (tags,) = house.judge.execute(
        "SELECT tags::JSON FROM duckdb_views() WHERE view_name = 'revenue_by_region'"
    ).fetchone() or ("{}",)
    found = json.loads(tags)
    assert found["runnel.query"].strip() == _REVENUE.strip()
    assert found["runnel.source_table_ids"] == str(house.sql("SELECT 'orders'::regclass::oid")[0][0])
    assert found["runnel.pgt_id"] == str(pgt_id)
