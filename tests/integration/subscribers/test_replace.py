"""The replace sink: the lake's table is the newest result, older ones are found by time travel."""

from __future__ import annotations

from tests.integration.subscribers.conftest import House
from tests.integration.subscribers.test_append import FIRST, HISTORY, ORDERS, REVENUE


def test_the_view_is_the_newest_result(house: House) -> None:
    house.sql(ORDERS)
    house.scales = {"revenue_usd": 2}
    pgt_id = house.create("revenue", REVENUE, "replace")
    seen = {}
    for number, change in enumerate(HISTORY, 1):
        house.sql(change)
        published = house.step(pgt_id)
        assert published is not None
        expected = house.in_postgres("revenue")
        assert [(s.refresh_number, s.rows) for s in published.snapshots] == [(number, expected.total())]
        assert house.in_lake("revenue") == house.in_lake("revenue__data") == expected
        seen[published.snapshots[0].snapshot_id] = expected
    for snapshot_id, expected in seen.items():
        assert house.in_lake("revenue", snapshot_id) == expected
    types = house.judge.execute("SELECT typeof(revenue_usd) FROM revenue").fetchall()
    assert set(types) == {("DECIMAL(38,2)",)}
    assert house.tables() == ["revenue__data"]


def test_catching_up_publishes_only_the_newest(house: House) -> None:
    house.sql(ORDERS)
    pgt_id = house.create("revenue", REVENUE, "replace")
    for change in HISTORY[:4]:
        house.sql(change)
        house.refresh(pgt_id)
    published = house.publish(pgt_id)
    assert published is not None
    assert [s.refresh_number for s in published.snapshots] == [4]
    house.sql("UPDATE orders SET status = 'paid' WHERE id = 2")
    unchanged = house.step(pgt_id)
    assert unchanged is not None
    assert not unchanged.snapshots
    assert house.sql("SELECT published FROM pgtrickle.pgt_sinks") == [(5,)]


def test_changing_the_mode_replaces_tables_and_view(house: House) -> None:
    house.sql(ORDERS)
    house.scales = {"revenue_usd": 2}
    pgt_id = house.create("revenue", REVENUE, "append")
    house.sql(FIRST)
    first = house.step(pgt_id)
    assert first is not None
    before = house.in_postgres("revenue")
    house.sql("SELECT pgtrickle.alter_stream_table('revenue', ducklake_sink_mode => 'replace')")
    house.sql(HISTORY[1])
    house.step(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")
    assert house.tables() == ["revenue__data"]
    assert house.in_lake("revenue", first.snapshots[0].snapshot_id) == before
    house.sql("SELECT pgtrickle.drop_stream_table('revenue')")
    assert house.publisher.remove_dropped() == 1
    assert house.tables() == []
    assert house.judge.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchone() == (0,)
    assert house.in_lake("revenue", first.snapshots[0].snapshot_id) == before
    assert house.publisher.remove_dropped() == 0
    assert house.sql("SELECT count(*) FROM pgtrickle.pgt_dropped_sinks") == [(0,)]
