"""Writers that commit late, long, in two phases or in parts: a refresh sees each transaction whole, once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession
from tests.integration.refresh.conftest import Shop, open_shop
from tests.oracle.databases import shared_database

from runnel.servers import EmbeddedPostgres

_INSERT = "INSERT INTO orders (product, region, total) VALUES (1, 'late', 5)"


def test_a_transaction_older_than_the_frontier_commits_late(shop: Shop) -> None:
    shop.create("by_region", "listed")
    shop.settle()
    with shop.connect() as old:
        old.execute(_INSERT.encode())
        for total in (7, 8):
            shop.conn.execute("INSERT INTO orders (product, region, total) VALUES (1, 'new', %s)", [total])
            shop.settle()
        assert shop.one("SELECT count(*) FROM by_region WHERE region = 'late'") == 0
        old.commit()
        shop.settle()
    assert shop.one("SELECT n FROM by_region WHERE region = 'late'") == 1


def test_one_transaction_stays_open_across_several_refreshes(shop: Shop) -> None:
    shop.create("by_region", "by_category")
    shop.settle()
    with shop.connect() as long, shop.connect() as late:
        long.execute("DELETE FROM orders WHERE id = 1")
        for i in range(4):
            late.execute(_INSERT.encode())
            long.execute("UPDATE orders SET total = total + 1 WHERE id = 2")
            shop.conn.execute("UPDATE orders SET total = total + 1 WHERE id = %s", [i + 3])
            shop.settle()
            (late.commit if i % 2 else late.rollback)()
            shop.settle()
        long.commit()
    shop.settle()


def test_savepoints_within_a_transaction_that_outlives_a_refresh(shop: Shop) -> None:
    shop.create("by_region")
    shop.settle()
    with shop.connect() as writer:
        writer.execute("UPDATE orders SET region = 'kept' WHERE id = 1")
        writer.execute("SAVEPOINT a")
        writer.execute("DELETE FROM orders WHERE id < 6")
        shop.settle()
        writer.execute("ROLLBACK TO SAVEPOINT a")
        writer.execute("SAVEPOINT b")
        writer.execute("UPDATE orders SET total = 100 WHERE id = 2")
        writer.execute("RELEASE SAVEPOINT b")
        shop.settle()
        writer.commit()
    shop.settle()
    assert shop.one("SELECT n FROM by_region WHERE region = 'kept'") == 1


def test_writers_never_stop(shop: Shop) -> None:
    """Many small transactions beside a row of refreshes; at the end, when they stand still, all is equal."""
    shop.create("by_region", "by_category", "listed")
    stop = threading.Event()

    def write(number: int) -> None:
        with shop.connect() as conn:
            for i in range(400):
                if stop.is_set():
                    return
                conn.execute(
                    "INSERT INTO orders (product, region, total) VALUES (%s, %s, %s)",
                    [1 + i % 2, f"w{number}", i],
                )
                conn.execute("UPDATE orders SET total = total + 1 WHERE id %% 7 = %s", [number])
                conn.execute("DELETE FROM orders WHERE id %% 11 = %s AND id %% 7 = %s", [i % 11, number])
                (conn.rollback if i % 5 == 4 else conn.commit)()

    writers = [threading.Thread(target=write, args=[number]) for number in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(6):
        assert all(outcome.error is None for outcome in shop.refresh().values())
    stop.set()
    for writer in writers:
        writer.join()
    shop.settle()
    numbers = [row[0] for row in shop.history("by_region")]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.fixture(scope="module")
def two_phase_db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """On a server that admits prepared transactions."""
    folder = tmp_path_factory.mktemp("servers") / "two-phase"
    settings = {"fsync": "off", "max_prepared_transactions": "4"}
    with (
        EmbeddedPostgres(Path(folder), version=16, settings=settings) as server,
        shared_database(server) as dsn,
    ):
        yield dsn
    shutil.rmtree(folder)


def test_prepared_transactions_count_when_they_commit(two_phase_db: str, spark: SparkSession) -> None:
    with open_shop(two_phase_db, spark) as shop:
        shop.create("by_region", "listed")
        shop.settle()
        with psycopg.connect(shop.dsn, autocommit=True, options=f"-c search_path={shop.schema}") as writer:
            for name, region in (("one", "kept"), ("two", "gone")):
                writer.execute("BEGIN")
                writer.execute("INSERT INTO orders (product, region, total) VALUES (1, %s, 5)", [region])
                writer.execute(f"PREPARE TRANSACTION '{name}'".encode())
            shop.conn.execute("UPDATE orders SET total = total + 1")
            shop.settle()
            writer.execute("ROLLBACK PREPARED 'two'")
            shop.settle()
            writer.execute("COMMIT PREPARED 'one'")
        shop.settle()
        assert shop.one("SELECT count(*) FROM by_region WHERE region IN ('kept', 'gone')") == 1
