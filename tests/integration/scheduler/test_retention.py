"""Log rows go when every reader has passed them, and not before; an idle look costs next to nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tests.conftest import Connect
from tests.integration.scheduler.conftest import is_fresh

from runnel.catalog.client import load_lakes, load_stream_tables
from runnel.refresh.round import Refresher
from runnel.scheduler.idle import IdleCheck, plan_for_looking
from runnel.scheduler.retention import trim_history, trim_logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUMS = "SELECT region, sum(total) AS revenue FROM orders GROUP BY region"
NORTH = "SELECT id FROM orders WHERE region = 'north'"
TOTAL = "SELECT sum(revenue) AS revenue FROM sums"


@pytest.fixture
def conn(runnel_db: str, connect: Connect) -> psycopg.Connection[Any]:
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE orders (id int PRIMARY KEY, region text, total numeric(10,2))")
    for name, query in (("sums", SUMS), ("north", NORTH), ("total", TOTAL)):
        conn.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [name, query])
    return conn


@pytest.fixture
def refresher(runnel_db: str, spark: SparkSession) -> Iterator[Refresher]:
    refresher = Refresher(runnel_db, spark)
    yield refresher
    refresher.close()


def ids(conn: psycopg.Connection[Any]) -> dict[str, int]:
    return {str(table.name): table.pgt_id for table in load_stream_tables(conn)}


def logged(conn: psycopg.Connection[Any], log: str) -> int:
    row = conn.execute(f"SELECT count(*) FROM pgtrickle_changes.{log}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def refresh(refresher: Refresher, *wanted: int) -> None:
    for outcome in refresher.refresh(wanted):
        assert outcome.error is None, outcome


def changed(conn: psycopg.Connection[Any]) -> set[str | None]:
    """What the idle check finds of all."""
    tables = {table.pgt_id: table for table in load_stream_tables(conn)}
    check = IdleCheck(tables, {lake.lake_id: lake for lake in load_lakes(conn)})
    return {tables[pgt_id].name for pgt_id in check.changed(conn, tables)}


def test_logs(conn: psycopg.Connection[Any], refresher: Refresher) -> None:
    known = ids(conn)
    [capture] = [row[0] for row in conn.execute("SELECT capture_id FROM pgtrickle.pgt_captures")]
    base, stream = f"changes_{capture}", f"stream_{known['sums']}"
    conn.execute("INSERT INTO orders VALUES (1, 'north', 10), (2, 'south', 20)")
    assert trim_logs(conn) == 0  # nobody was filled: who knows what the fill will need
    assert changed(conn) == {"sums", "north", "total"}
    refresh(refresher, *known.values())
    assert changed(conn) == set()
    conn.execute("INSERT INTO orders VALUES (3, 'north', 30)")
    assert changed(conn) == {"sums", "north"}
    refresh(refresher, known["sums"])
    assert changed(conn) == {"north", "total"}
    trim_logs(conn)
    assert logged(conn, base) == 1  # north has still to read it
    assert logged(conn, stream) > 0
    # a transaction that was in progress at the frontier is found when it commits, and kept until then
    with psycopg.connect(str(refresher.dsn)) as late:
        late.execute("INSERT INTO orders VALUES (4, 'north', 40)")
        conn.execute("INSERT INTO orders VALUES (5, 'south', 50)")
        refresh(refresher, *known.values())
        trim_logs(conn)
        assert changed(conn) == set()
    assert changed(conn) == {"sums", "north"}
    trim_logs(conn)
    refresh(refresher, *known.values())
    assert changed(conn) == set()
    for name, query in (("sums", SUMS), ("north", NORTH), ("total", TOTAL)):
        assert is_fresh(conn, name, query)
    # in small batches, until all is gone
    conn.execute("INSERT INTO orders VALUES (6, 'north', 60), (7, 'south', 70)")
    refresh(refresher, *known.values())
    conn.execute("INSERT INTO orders VALUES (8, 'north', 80)")
    refresh(refresher, *known.values())
    assert trim_logs(conn, batch=1) == 2
    while trim_logs(conn):
        pass
    assert logged(conn, stream) == 0
    assert logged(conn, base) <= 1  # the newest frontier may not be past its own transaction yet
    conn.execute("SELECT pgtrickle.drop_stream_table('total')")
    assert trim_logs(conn) == 0


def test_history_is_bounded(conn: psycopg.Connection[Any], refresher: Refresher) -> None:
    known = ids(conn)
    for number in range(3):
        conn.execute("INSERT INTO orders VALUES (%s, 'north', 1)", [number])
        refresh(refresher, known["north"])
    assert trim_history(conn, kept=1) == 0  # all of the last day is kept
    conn.execute("UPDATE pgtrickle.pgt_refresh_history SET ended_at = ended_at - interval '2 days'")
    assert trim_history(conn, kept=1) == 2
    left = conn.execute(
        "SELECT refresh_number FROM pgtrickle.pgt_refresh_history WHERE pgt_id = %s", [known["north"]]
    )
    assert left.fetchall() == [(3,)]


def test_an_idle_look_at_a_hundred_is_one_small_query(
    conn: psycopg.Connection[Any], refresher: Refresher, record_property: Any
) -> None:
    for number in range(97):
        query = f"SELECT id FROM orders WHERE region = 'r{number}'"
        conn.execute(
            "SELECT pgtrickle.create_stream_table(%s, %s, refresh_mode => 'FULL')", [f"s{number}", query]
        )
    conn.execute("INSERT INTO orders SELECT i, 'r' || i % 7, i FROM generate_series(1, 10000) AS i")
    refresh(refresher, *ids(conn).values())
    tables = {table.pgt_id: table for table in load_stream_tables(conn)}
    check = IdleCheck(tables, {})
    plan_for_looking(conn)
    times = []
    for _ in range(20):
        begun = time.perf_counter()
        assert check.changed(conn, tables) == set()
        times.append((time.perf_counter() - begun) * 1000)
    record_property("idle_ms", min(times))
    print(
        f"idle look at {len(tables)}: {min(times):.1f} ms at best, {sorted(times)[10]:.1f} ms in the middle"
    )
    assert min(times) < 50
