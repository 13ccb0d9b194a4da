"""The append sink: every refresh one snapshot, the view the stream table, the log complete for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.integration.subscribers.conftest import House

ORDERS = """
CREATE TABLE orders (
    id int PRIMARY KEY, region text, status text NOT NULL, total_usd numeric(10,2), ordered_at timestamptz
)
"""
REVENUE = """
SELECT region, SUM(total_usd) AS revenue_usd, COUNT(*) AS order_count, MAX(ordered_at) AS last_order_at
FROM orders WHERE status <> 'cancelled' GROUP BY region
"""
FIRST = """
INSERT INTO orders
SELECT i, (ARRAY['eu', 'us', NULL])[1 + i % 3], 'new', i + 0.25, '2026-01-01Z'::timestamptz + i * interval '1 minute'
FROM generate_series(1, 30) AS i
"""
HISTORY = [
    FIRST,
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


def make_revenue(house: House) -> int:
    house.sql(ORDERS)
    house.scales = {"revenue_usd": 2}
    return house.create("revenue", REVENUE)


@pytest.mark.parametrize("checkpoint_after", [None, 5])
def test_every_refresh_is_one_snapshot_and_the_view_is_the_stream_table(
    house: House, checkpoint_after: int | None
) -> None:
    pgt_id = make_revenue(house)
    seen = {}
    for number, change in enumerate(HISTORY, 1):
        house.sql(change)
        published = house.step(pgt_id)
        assert published is not None
        assert [s.refresh_number for s in published.snapshots] == [number]
        expected = house.in_postgres("revenue")
        assert house.in_lake("revenue") == expected
        seen[published.snapshots[0].snapshot_id] = expected
        if number == checkpoint_after:
            checkpoint = house.publisher.checkpoint(pgt_id)
            assert checkpoint is not None
            assert house.in_lake("revenue", checkpoint) == house.in_lake("revenue") == expected
    for snapshot_id, expected in seen.items():  # time travel through the view
        assert house.in_lake("revenue", snapshot_id) == expected
    snapshots = [s for s in house.snapshots() if s["snapshot_id"] in seen]
    assert len(snapshots) == len(HISTORY)
    check_provenance(house, pgt_id, snapshots)
    check_log(house, pgt_id)


def check_provenance(house: House, pgt_id: int, snapshots: list[Any]) -> None:
    rows = house.sql(
        "SELECT p.ducklake_snapshot_id, p.refresh_id::text, p.stream_table_name, p.delta_row_count, h.rows_out,"
        " p.frontier::text = h.frontier::text, p.stream_table_oid = 'revenue'::regclass,"
        " p.refresh_number = h.refresh_number"
        " FROM pgtrickle.pgt_ducklake_provenance p JOIN pgtrickle.pgt_refresh_history h USING (refresh_id)"
        " WHERE h.pgt_id = %s ORDER BY 1",
        pgt_id,
    )
    assert len(rows) == len(snapshots) >= 10
    for (snapshot_id, refresh_id, name, written, changed, *same), snapshot in zip(
        rows, snapshots, strict=True
    ):
        assert snapshot_id == snapshot["snapshot_id"]
        assert snapshot["author"].startswith("pg_trickle/")
        assert snapshot["author"].endswith(f"/stream_table/revenue/{refresh_id}")
        assert snapshot["commit_extra_info"] == refresh_id
        assert (name, same) == ("revenue", [True] * 3)
        assert written == changed > 0


def check_log(house: House, pgt_id: int) -> None:
    """Every row that PostgreSQL logged is in the lake's log, checkpoint or not."""
    logged = house.sql(
        "SELECT refresh_number::text, w::text, CASE WHEN w > 0 THEN 'insert' ELSE 'delete' END, a1, a2::text,"
        f" a3::text FROM pgtrickle_changes.stream_{pgt_id}"
    )
    kept = house.judge.execute(
        "SELECT _refresh::VARCHAR, _weight::VARCHAR, _change, region, revenue_usd::VARCHAR, order_count::VARCHAR"
        " FROM revenue__log"
    ).fetchall()
    assert sorted(map(repr, logged)) == sorted(map(repr, kept))


def test_types_and_tags(house: House) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    described = house.judge.execute("DESCRIBE revenue").fetchall()
    assert [row[:2] for row in described] == [
        ("region", "VARCHAR"),
        ("revenue_usd", "DECIMAL(38,2)"),
        ("order_count", "BIGINT"),
        ("last_order_at", "TIMESTAMP WITH TIME ZONE"),
    ]
    (tags,) = house.judge.execute(
        "SELECT to_json(tags) FROM duckdb_views() WHERE view_name = 'revenue'"
    ).fetchone() or ("{}",)
    found = json.loads(tags)
    assert found["runnel.query"].strip() == REVENUE.strip()
    assert found["runnel.source_table_ids"] == str(house.sql("SELECT 'orders'::regclass::oid")[0][0])
    assert found["runnel.pgt_id"] == str(pgt_id)


def test_bag_with_duplicates(house: House) -> None:
    house.sql("CREATE TABLE t (id int, x int, y float8, z text)")
    pgt_id = house.create("bag", "SELECT x, y, z FROM t WHERE x > 0")
    for number, change in enumerate(
        [
            "INSERT INTO t SELECT i, 1, x, NULL FROM (VALUES (1, 0), (2, 0), (3, float8 '-0')) AS v (i, x)",
            "INSERT INTO t VALUES (4, 2, 'NaN', ''), (5, 2, 'NaN', 'b')",
            "DELETE FROM t WHERE id = 1",
            "UPDATE t SET y = 'Infinity' WHERE id = 4",
            "INSERT INTO t SELECT 10 + i, 7, NULL, 'many' FROM generate_series(1, 5) i",
            "DELETE FROM t WHERE id IN (11, 13)",
            "UPDATE t SET y = 0 WHERE id = 3",
        ],
        1,
    ):
        house.sql(change)
        house.step(pgt_id)
        rows = house.judge.execute("SELECT x::VARCHAR, y, z FROM bag").fetchall()
        expected = house.sql("SELECT x::text, y, z FROM bag")
        assert sorted(map(repr, rows)) == sorted(map(repr, expected))
        if number == 5:
            assert house.publisher.checkpoint(pgt_id) is not None


def test_catching_up_keeps_a_snapshot_for_each_refresh(house: House) -> None:
    pgt_id = make_revenue(house)
    expected = []
    for change in [*HISTORY[:4], "UPDATE orders SET status = 'paid' WHERE id = 2", HISTORY[4]]:
        house.sql(change)
        house.refresh(pgt_id)
        expected.append(house.in_postgres("revenue"))
    published = house.publish(pgt_id)
    assert published is not None
    numbers = {s.refresh_number: s.snapshot_id for s in published.snapshots}
    (unchanged,) = {1, 2, 3, 4, 5, 6} - set(numbers)  # nothing had changed: no snapshot, and no gap
    assert unchanged == 5
    for number, snapshot_id in numbers.items():
        assert house.in_lake("revenue", snapshot_id) == expected[number - 1]
    assert house.sql("SELECT published FROM pgtrickle.pgt_sinks") == [(6,)]
    assert house.publish(pgt_id) is None


def test_the_first_publication_of_an_empty_result_makes_the_view(house: House) -> None:
    pgt_id = make_revenue(house)
    published = house.step(pgt_id)
    assert published is not None
    assert [s.rows for s in published.snapshots] == [0]
    assert not house.in_lake("revenue")
    house.sql(FIRST)
    house.step(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_a_sink_added_later_starts_with_the_present_rows(house: House) -> None:
    house.sql(ORDERS)
    pgt_id = house.create("revenue", REVENUE, None)
    for change in HISTORY[:3]:
        house.sql(change)
        house.refresh(pgt_id)
    assert house.publish(pgt_id) is None
    house.sql("SELECT pgtrickle.alter_stream_table('revenue', sink => 'ducklake')")
    house.scales = {"revenue_usd": 2}
    published = house.publish(pgt_id)
    assert published is not None
    assert len(published.snapshots) == 1
    for change in HISTORY[3:6]:
        house.sql(change)
        house.step(pgt_id)
        assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_a_log_that_was_cut_is_answered_with_the_whole_result(house: House) -> None:
    pgt_id = make_revenue(house)
    for change in HISTORY[:2]:
        house.sql(change)
        house.step(pgt_id)
    for change in HISTORY[2:5]:
        house.sql(change)
        house.refresh(pgt_id)
    house.sql(f"DELETE FROM pgtrickle_changes.stream_{pgt_id} WHERE refresh_number = 4")
    published = house.publish(pgt_id)
    assert published is not None
    assert [s.refresh_number for s in published.snapshots] == [5]
    assert house.in_lake("revenue") == house.in_postgres("revenue")
    house.sql(HISTORY[5])
    house.step(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_another_name(house: House) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    house.sql("ALTER TABLE revenue RENAME TO income")
    house.sql("UPDATE orders SET total_usd = 1 WHERE id = 1")
    house.step(pgt_id)
    assert house.in_lake("income") == house.in_postgres("income")
    assert house.judge.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == [
        ("income",)
    ]


def test_rows_that_are_told_apart_otherwise(house: House) -> None:
    """Another key makes another view; what was logged before does not fit it, so the base moves with it."""
    pgt_id = make_revenue(house)
    for change in HISTORY[:3]:
        house.sql(change)
        first = house.step(pgt_id)
    assert first is not None
    before = house.in_postgres("revenue")
    assert "arg_max" in view_text(house)
    house.sql(f"DROP INDEX pgt_{pgt_id}_hash")
    house.sql("UPDATE pgtrickle.pgt_stream_tables SET generation = generation + 1")
    for change in HISTORY[3:6]:
        house.sql(change)
        house.step(pgt_id)
        assert house.in_lake("revenue") == house.in_postgres("revenue")
    assert "arg_max" not in view_text(house)
    assert house.in_lake("revenue", first.snapshots[0].snapshot_id) == before


def view_text(house: House) -> str:
    found = house.judge.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'revenue'").fetchall()
    return str(found[0][0])
