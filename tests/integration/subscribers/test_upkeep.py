"""What keeps the view fast changes nothing of what it shows, now or at any older snapshot."""

from __future__ import annotations

import time

import pytest
from tests.integration.subscribers.conftest import House
from tests.integration.subscribers.test_append import HISTORY, check_log, make_revenue

from runnel.lake.spec import TableName
from runnel.subscribers import checkpoint, merge, publish


def log_files(house: House) -> int:
    found = house.judge.execute("SELECT count(*) FROM ducklake_list_files('lake', 'revenue__log')").fetchone()
    assert found is not None
    return int(found[0])


def test_by_itself_while_it_publishes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_MANY_FILES", 3)
    monkeypatch.setattr(merge, "MANY_FILES", 4)
    monkeypatch.setattr(publish, "MANY_FILES", 4)
    pgt_id = make_revenue(house)
    seen = {}
    for change in HISTORY:
        house.sql(change)
        published = house.step(pgt_id)
        assert published is not None
        seen[published.snapshots[0].snapshot_id] = house.in_postgres("revenue")
        assert house.in_lake("revenue") == house.in_postgres("revenue")
        wait_for_merges(house)
    assert log_files(house) < 8
    messages = [str(snapshot["commit_message"]) for snapshot in house.snapshots()]
    assert sum(message.startswith("checkpoint") for message in messages) >= 2
    for snapshot_id, expected in seen.items():
        assert house.in_lake("revenue", snapshot_id) == expected
    check_log(house, pgt_id)


def wait_for_merges(house: House) -> None:
    for _ in range(600):
        if not any(merger.is_busy for merger in house.publisher._mergers.values()):
            return
        time.sleep(0.05)
    raise AssertionError("a merge does not end")


def test_files_are_merged_in_tiers(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "MANY_FILES", 3)
    pgt_id = make_revenue(house)
    merger = merge.Merger(house.dsn, "ducklake")
    log = TableName("main", "revenue__log")
    for change in HISTORY[:3]:
        house.sql(change)
        house.step(pgt_id)
    monkeypatch.setattr(merge, "_TIERS", (1, 1 << 20))
    assert merger.merge(log) == 1  # no file is smaller than a byte
    assert log_files(house) == 1
    assert merger.merge(log) == 0
    merger.close()
    assert house.in_lake("revenue") == house.in_postgres("revenue")
    check_log(house, pgt_id)


def test_the_view_skips_what_the_base_holds(house: House) -> None:
    pgt_id = make_revenue(house)
    for change in HISTORY[:6]:
        house.sql(change)
        house.step(pgt_id)
    house.publisher.checkpoint(pgt_id)
    house.sql(HISTORY[6])
    house.step(pgt_id)
    plan = house.judge.execute("EXPLAIN ANALYZE FROM revenue").fetchall()[0][1]
    read = [
        int(line.split("Read:")[1].split()[0]) for line in plan.splitlines() if "Total Files Read:" in line
    ]
    assert log_files(house) == 7
    assert min(read) == 1  # the base
    assert sum(read) < 8, plan
