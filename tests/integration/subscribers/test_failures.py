"""What goes wrong: nothing half made in the lake, one clear message, and the next attempt is right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import duckdb
import psycopg
import pytest
from tests.integration.subscribers.conftest import House
from tests.integration.subscribers.test_append import FIRST, HISTORY, make_revenue

from runnel.errors import RunnelError, SchemaError, TransientError, UserError
from runnel.subscribers import Publisher, ensure_lake, publish

Connect = Callable[..., psycopg.Connection[Any]]


def files(house: House) -> set[str]:
    return {path.name for path in house.data.rglob("*.parquet")}


def last_error(house: House) -> str | None:
    found = house.sql("SELECT last_error FROM pgtrickle.pgt_sinks")
    return None if found[0][0] is None else str(found[0][0])


@pytest.mark.parametrize("point", ["after-upload", "after-claim", "before-publication"])
def test_a_failure_before_the_commit_leaves_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    house.sql(HISTORY[1])
    house.refresh(pgt_id)
    before = (house.in_lake("revenue"), len(house.snapshots()), files(house))

    def fail(reached: str) -> None:
        if reached == point:
            raise TransientError(f"failed {reached}")

    with monkeypatch.context() as patched:
        patched.setattr(publish, "reached", fail)
        with pytest.raises(TransientError, match=point):
            house.publish(pgt_id)
    assert (house.in_lake("revenue"), len(house.snapshots()), files(house)) == before
    assert last_error(house) == f"failed {point}"
    published = house.publish(pgt_id)
    assert published is not None
    assert house.in_lake("revenue") == house.in_postgres("revenue")
    assert last_error(house) is None


@pytest.mark.parametrize("point", ["after-upload", "after-claim", "before-publication", "after-publication"])
def test_killed_at_any_moment_it_has_published_once_or_not_at_all(house: House, point: str) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    house.sql(HISTORY[1])
    house.refresh(pgt_id)
    count = len(house.snapshots())
    script = f"from runnel.subscribers import Publisher\nPublisher({house.dsn!r}).publish({pgt_id})"
    killed = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "RUNNEL_KILL_AT": point}, check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    is_published = point == "after-publication"
    assert len(house.snapshots()) == count + is_published
    assert (house.publish(pgt_id) is None) == is_published
    assert len(house.snapshots()) == count + 1
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_two_publishers_at_once_publish_once(house: House) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    others = [house.another_publisher() for _ in range(3)]
    for change in HISTORY[1:5]:
        house.sql(change)
        house.refresh(pgt_id)
        threads = [threading.Thread(target=_publish, args=(other, pgt_id)) for other in others]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    for other in others:
        other.close()
    house.publish(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")
    rows = house.sql(
        "SELECT refresh_number FROM pgtrickle.pgt_ducklake_provenance ORDER BY ducklake_snapshot_id"
    )
    assert rows == [(1,), (2,), (3,), (4,), (5,)]


def _publish(publisher: Publisher, pgt_id: int) -> None:
    try:
        publisher.publish(pgt_id)
    except TransientError:
        return  # another one was first


def test_beside_writers_of_duckdb(house: House) -> None:
    pgt_id = make_revenue(house)
    writer = house.attach()
    writer.execute("CREATE TABLE lake.notes (n INTEGER)")
    ends, errors = threading.Event(), []

    def write() -> None:
        number = 0
        while not ends.is_set():
            number += 1
            try:
                writer.execute(f"INSERT INTO lake.notes SELECT range + {number * 100} FROM range(20)")
            except duckdb.Error as error:
                errors.append(error)
            ends.wait(0.01)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for change in HISTORY:
            house.sql(change)
            house.step(pgt_id)
            assert house.in_lake("revenue") == house.in_postgres("revenue")
    finally:
        ends.set()
        thread.join(60)
    assert not errors
    ids = [snapshot["snapshot_id"] for snapshot in house.snapshots()]
    assert ids == list(range(len(ids)))


def test_a_lake_that_somebody_has_claimed(house: House, connect: Connect) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    house.sql(HISTORY[1])
    house.refresh(pgt_id)
    impatient = Publisher(house.dsn, lambda _: house.scales, lock_timeout_ms=100)
    with connect(house.dsn) as other:
        other.execute(
            "INSERT INTO ducklake.ducklake_snapshot SELECT snapshot_id + 1, now(), schema_version, next_catalog_id,"
            " next_file_id FROM ducklake.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
        )
        with pytest.raises(TransientError, match="claimed by another writer"):
            impatient.publish(pgt_id)
        other.rollback()
    impatient.close()
    house.publish(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_names_that_are_taken(house: House) -> None:
    house.judge.execute("CREATE TABLE revenue AS SELECT 1 AS x")
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.refresh(pgt_id)
    with pytest.raises(UserError, match=r"has a table main\.revenue already"):
        house.publish(pgt_id)
    assert "has a table main.revenue already" in (last_error(house) or "")
    house.judge.execute("ALTER TABLE revenue RENAME TO something_else")
    house.publish(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_columns_that_the_log_needs_itself(house: House) -> None:
    house.sql("CREATE TABLE t (a int, b int)")
    pgt_id = house.create("s", 'SELECT a AS "_Weight", b FROM t')
    house.refresh(pgt_id)
    with pytest.raises(UserError, match="_Weight"):
        house.publish(pgt_id)
    twice = house.create("twice", 'SELECT a AS "x", b AS "X" FROM t')
    house.refresh(twice)
    with pytest.raises(UserError, match="differ in case only"):
        house.publish(twice)


def test_a_table_that_was_dropped_in_the_lake(house: House) -> None:
    pgt_id = make_revenue(house)
    house.sql(FIRST)
    house.step(pgt_id)
    house.judge.execute("DROP TABLE revenue__log")
    house.sql(HISTORY[1])
    house.refresh(pgt_id)
    with pytest.raises(SchemaError, match="dropped or replaced"):
        house.publish(pgt_id)
    house.sql("SELECT pgtrickle.alter_stream_table('revenue', sink => 'none')")
    house.sql("SELECT pgtrickle.alter_stream_table('revenue', sink => 'ducklake')")
    house.publish(pgt_id)
    assert house.in_lake("revenue") == house.in_postgres("revenue")


def test_an_unusable_data_path(runnel_db: str, connect: Connect) -> None:
    conn = connect(runnel_db, autocommit=True)
    with pytest.raises(UserError, match="no place for its files"):
        ensure_lake(conn, runnel_db)
    with pytest.raises(UserError, match="cannot be written"):
        ensure_lake(conn, runnel_db, "ducklake", "/proc/nowhere")
    assert conn.execute("SELECT to_regclass('ducklake.ducklake_snapshot')").fetchone() == (None,)


def test_the_data_path_from_the_settings(runnel_db: str, connect: Connect, tmp_path: Any) -> None:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("SELECT pgtrickle.set_setting('ducklake_data_path', %s)", [str(tmp_path / "lake")])
    ensure_lake(conn, runnel_db)
    ensure_lake(conn, runnel_db)
    with pytest.raises(RunnelError, match="another data path"):
        ensure_lake(conn, runnel_db, "ducklake", str(tmp_path / "elsewhere"))
