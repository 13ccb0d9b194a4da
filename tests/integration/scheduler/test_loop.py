"""The engine as a user meets it: fresh by schedule, at once on request, and nobody held up by another."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo
from tests.integration.scheduler.conftest import StartEngine, is_fresh, wait_until

import runnel
from runnel.servers import EmbeddedPostgres

SUMS = "SELECT region, sum(total) AS revenue, count(*) AS orders FROM orders GROUP BY region"


@pytest.fixture
def orders(runnel_db: str, connect) -> psycopg.Connection:  # type: ignore[no-untyped-def]
    conn = connect(runnel_db, autocommit=True)
    conn.execute("CREATE TABLE orders (id int PRIMARY KEY, region text, total numeric(10,2))")
    conn.execute("INSERT INTO orders SELECT i, 'r' || i % 3, i FROM generate_series(1, 30) AS i")
    return conn


def create(conn: psycopg.Connection, name: str, query: str, schedule: str = "200ms", **options: str) -> None:
    extra = "".join(f", {option} => %({option})s" for option in options)
    statement = f"SELECT pgtrickle.create_stream_table(%(name)s, %(query)s, %(schedule)s{extra})"
    conn.execute(statement.encode(), {"name": name, "query": query, "schedule": schedule, **options})


def test_life_of_an_engine(orders: psycopg.Connection, runnel_db: str, start_engine: StartEngine) -> None:
    create(orders, "sums", SUMS)
    engine = start_engine(runnel_db)
    # what exists is filled, what changes is followed
    wait_until(lambda: is_fresh(orders, "sums", SUMS))
    orders.execute("UPDATE orders SET total = total + 1, region = 'r9' WHERE id < 5")
    wait_until(lambda: is_fresh(orders, "sums", SUMS))
    # idle: no refresh, no record
    newest = orders.execute("SELECT max(refresh_number) FROM pgtrickle.pgt_refresh_history").fetchone()
    time.sleep(1.0)
    assert (
        orders.execute("SELECT max(refresh_number) FROM pgtrickle.pgt_refresh_history").fetchone() == newest
    )
    # new ones are noticed, also one that reads a stream table; altered and dropped ones too
    create(orders, "total", "SELECT sum(revenue) AS revenue FROM sums", "1d")
    wait_until(lambda: is_fresh(orders, "total", "SELECT sum(total) FROM orders"))
    orders.execute("SELECT pgtrickle.alter_stream_table('sums', schedule => '1d')")
    engine.wait_for("refreshed", "public.total")
    time.sleep(0.5)
    # on request, with what it reads, and at once
    orders.execute("INSERT INTO orders VALUES (100, 'r1', 1000)")
    answered = orders.execute("SELECT pgtrickle.refresh_stream_table('total')").fetchone()
    assert is_fresh(orders, "total", "SELECT sum(total) FROM orders")
    again = orders.execute("SELECT pgtrickle.refresh_stream_table('total')").fetchone()
    assert again == answered != (None,)
    orders.execute("INSERT INTO orders VALUES (101, 'r1', 1000)")
    orders.execute("SELECT pgtrickle.refresh_stream_table('total', wait => false)")
    wait_until(lambda: is_fresh(orders, "total", "SELECT sum(total) FROM orders"))
    orders.execute("SELECT pgtrickle.drop_stream_table('total')")
    orders.execute("INSERT INTO orders VALUES (102, 'r1', 1000)")
    orders.execute("SELECT pgtrickle.refresh_stream_table('sums')")
    assert is_fresh(orders, "sums", SUMS)
    begun = time.monotonic()
    engine.end()
    assert time.monotonic() - begun < 5
    assert engine.error is None
    assert not engine.of("failed")
    assert [event.kind for event in (engine.events[0], engine.events[-1])] == ["started", "stopped"]


def test_one_that_fails_holds_up_nobody(
    orders: psycopg.Connection, runnel_db: str, start_engine: StartEngine, connect
) -> None:  # type: ignore[no-untyped-def]
    orders.execute("CREATE TABLE prices (id int PRIMARY KEY, price int)")
    orders.execute("INSERT INTO prices VALUES (1, 0)")
    create(orders, "sums", SUMS)
    create(orders, "shares", "SELECT id, 100 / price AS share FROM prices")
    create(
        orders, "ranks", "SELECT id, rank() OVER (ORDER BY id) AS r FROM prices", refresh_mode="DIFFERENTIAL"
    )
    engine = start_engine(runnel_db)
    wait_until(lambda: is_fresh(orders, "sums", SUMS))
    engine.wait_for("failed", "public.shares")
    assert "not maintained incrementally" in engine.wait_for("failed", "public.ranks").text
    assert not is_fresh(orders, "shares", "SELECT 1, 100")
    with pytest.raises(psycopg.Error, match="division by zero"):
        orders.execute("SELECT pgtrickle.refresh_stream_table('shares')")
    # the user's data, repaired, is found repaired; what the user wrote, altered, runs
    orders.execute("UPDATE prices SET price = 1")
    wait_until(lambda: is_fresh(orders, "shares", "SELECT 1, 100"))
    orders.execute("SELECT pgtrickle.alter_stream_table('ranks', refresh_mode => 'AUTO')")
    wait_until(lambda: is_fresh(orders, "ranks", "SELECT 1, 1"))
    assert len(engine.of("failed", "public.ranks")) == 1
    # a source that somebody has locked
    with psycopg.connect(runnel_db) as locker:
        locker.execute("LOCK TABLE prices IN ACCESS EXCLUSIVE MODE")
        orders.execute("INSERT INTO orders VALUES (100, 'r1', 1000)")
        wait_until(lambda: is_fresh(orders, "sums", SUMS))
        locker.execute("UPDATE prices SET price = 2")
    wait_until(lambda: is_fresh(orders, "shares", "SELECT 1, 50"))
    assert engine.error is None


def test_sinks_are_published_and_one_that_fails_is_tried_again(
    orders: psycopg.Connection, runnel_db: str, start_engine: StartEngine, tmp_path: Path
) -> None:
    create(orders, "sums", SUMS, sink="ducklake")
    engine = start_engine(runnel_db)
    wait_until(lambda: is_fresh(orders, "sums", SUMS))
    assert engine.wait_for("sink-failed", "public.sums").error is not None  # there is no lake yet
    with runnel.connect(runnel_db) as rn:
        rn.install(data_path=str(tmp_path / "lake"))
    engine.wait_for("published", "public.sums")
    orders.execute("INSERT INTO orders VALUES (100, 'r1', 1000)")
    orders.execute("SELECT pgtrickle.refresh_stream_table('sums')")
    engine.wait_for("published", "public.sums", 2)
    [(_, type_)] = judge(
        runnel_db, "SELECT column_name, column_type FROM (DESCRIBE sums) WHERE column_name = 'revenue'"
    )
    assert type_ == "DECIMAL(38,2)"
    rows = judge(runnel_db, "SELECT region, revenue::VARCHAR, orders FROM sums ORDER BY region")
    wanted = orders.execute("SELECT region, revenue::text, orders FROM sums ORDER BY region").fetchall()
    assert rows == wanted
    orders.execute("SELECT pgtrickle.drop_stream_table('sums')")
    wait_until(lambda: orders.execute("SELECT FROM pgtrickle.pgt_dropped_sinks").rowcount == 0)
    assert judge(runnel_db, "SELECT * FROM duckdb_views() WHERE view_name = 'sums' AND NOT internal") == []


def judge(dsn: str, query: str) -> list[tuple[object, ...]]:
    """DuckDB's own view of the lake."""
    parts = conninfo.conninfo_to_dict(dsn)
    text = " ".join(f"{k}={parts[k]}" for k in ("host", "port", "user", "password", "dbname"))
    from runnel.lake import duck  # noqa: PLC0415  for its extensions, which are not downloaded

    with duck.connect(("postgres_scanner", "ducklake")) as db:
        db.execute(f"ATTACH 'ducklake:postgres:{text}' AS lake (METADATA_SCHEMA 'ducklake'); USE lake")
        return db.execute(query).fetchall()


def test_the_second_engine_says_who_the_first_is_and_takes_its_place(
    orders: psycopg.Connection, runnel_db: str, start_engine: StartEngine
) -> None:
    create(orders, "sums", SUMS)
    first = start_engine(runnel_db)
    first.wait_for("started")
    impatient = start_engine(runnel_db, waits_for_place=False)
    wait_until(lambda: impatient.error)
    assert "an engine (PostgreSQL process" in str(impatient.error)
    second = start_engine(runnel_db)
    assert "waiting to take its place" in second.wait_for("waiting").text
    first.end()
    second.wait_for("started")
    orders.execute("INSERT INTO orders VALUES (100, 'r1', 1000)")
    wait_until(lambda: is_fresh(orders, "sums", SUMS))


def test_a_database_that_goes_away_is_waited_for(tmp_path: Path, start_engine: StartEngine) -> None:
    settings = {"fsync": "off"}
    with EmbeddedPostgres(tmp_path / "pg", settings=settings) as server:
        dsn, port = server.dsn, server.port
        with runnel.connect(dsn) as rn:
            rn.install()
            rn.connection.execute(
                "CREATE TABLE orders (id int PRIMARY KEY, region text, total numeric(10,2))"
            )
            rn.create_stream_table("sums", SUMS, schedule="200ms")
        engine = start_engine(dsn)
        engine.wait_for("started")
        engine.wait_for("refreshed", "public.sums")
    lost = engine.wait_for("waiting")
    password = str(conninfo.conninfo_to_dict(dsn)["password"])
    assert "out of reach" in lost.text
    with (
        EmbeddedPostgres(tmp_path / "pg", settings=settings, port=port),
        psycopg.connect(dsn, autocommit=True) as conn,
    ):
        engine.wait_for("resumed")
        conn.execute("INSERT INTO orders VALUES (100, 'r1', 1000)")
        wait_until(lambda: is_fresh(conn, "sums", SUMS))
        engine.end()
    assert engine.error is None
    assert not any(password in event.text for event in engine.events)
    assert len(engine.of("waiting")) == 1
