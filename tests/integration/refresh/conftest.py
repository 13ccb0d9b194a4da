"""A database that a module shares, and in it for each test a small shop with stream tables of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession
from tests.oracle.databases import shared_database
from tests.oracle.equality import difference

from runnel.refresh.model import Options, Outcome
from runnel.refresh.round import Refresher
from runnel.servers import EmbeddedPostgres

_numbers = count(1)

TABLES = """
    CREATE TABLE products (id int PRIMARY KEY, category text);
    CREATE TABLE orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, product int, region text, total numeric(10, 2));
    INSERT INTO products VALUES (1, 'tea'), (2, 'coffee');
    INSERT INTO orders (product, region, total) SELECT 1 + i % 2, 'r' || i % 3, i FROM generate_series(1, 12) AS i;
"""
STREAMS = {
    "by_region": "SELECT region, count(*) AS n, sum(total) AS revenue, max(total) AS best"
    " FROM orders GROUP BY region",
    "by_category": "SELECT p.category, sum(o.total) AS revenue, count(DISTINCT o.region) AS regions"
    " FROM orders o JOIN products p ON p.id = o.product GROUP BY p.category",
    "listed": "SELECT o.id, o.total, p.category FROM orders o JOIN products p ON p.id = o.product WHERE o.total > 2",
    "distinct_regions": "SELECT DISTINCT region FROM orders",
}


@dataclass
class Shop:
    """One schema of a database with tables, stream tables and an engine."""

    dsn: str
    schema: str
    conn: psycopg.Connection[Any]
    refresher: Refresher
    streams: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """Another session in this schema; the caller closes it."""
        return psycopg.connect(self.dsn, options=f"-c search_path={self.schema}", **options)

    def create(self, *names: str) -> None:
        for name in names:
            self.add(name, STREAMS[name])

    def add(self, name: str, query: str) -> int:
        self.conn.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [name, query])
        self.streams[name] = query
        self.ids[name] = self.one(
            "SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", name
        )
        return self.ids[name]

    def refresh(self, *names: str, full: bool = False) -> dict[str, Outcome]:
        """Refreshes some, or all; by name what became of each."""
        wanted = [self.ids[name] for name in names or self.ids]
        by_id = {number: name for name, number in self.ids.items()}
        return {by_id[o.pgt_id]: o for o in self.refresher.refresh(wanted, full=full) if o.pgt_id in by_id}

    def settle(self, *names: str) -> None:
        """Refreshes, and requires that everything went well and is what PostgreSQL says."""
        for name, outcome in self.refresh(*names).items():
            assert outcome.error is None, f"{name}: {outcome.error}"
        self.check(*names)

    def check(self, *names: str) -> None:
        for name in names or self.streams:
            found = difference(self.conn, sql.Identifier(self.schema, name), sql.SQL(self.streams[name]))  # type: ignore[arg-type]
            assert not found, f"{name}\n{found}"

    def one(self, query: str, *parameters: object) -> Any:
        row = self.conn.execute(query.encode(), parameters or None).fetchone()
        assert row is not None
        return row[0]

    def history(self, name: str) -> list[tuple[Any, ...]]:
        """Number, status, mode and gear of every recorded refresh."""
        return self.conn.execute(
            "SELECT refresh_number, status, mode, gear FROM pgtrickle.pgt_refresh_history"
            " WHERE pgt_id = %s ORDER BY started_at",
            [self.ids[name]],
        ).fetchall()


@contextmanager
def open_shop(dsn: str, spark: SparkSession) -> Iterator[Shop]:
    schema = f"shop{next(_numbers)}"
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(f"CREATE SCHEMA {schema}".encode())
        conn.execute(f"SET search_path = {schema}".encode())
        conn.execute(TABLES.encode())
        refresher = Refresher(dsn, spark, Options(lock_timeout_ms=1_000))
        yield Shop(dsn, schema, conn, refresher)
        refresher.close()


@pytest.fixture(scope="module")
def shared_db(pg: EmbeddedPostgres) -> Iterator[str]:
    with shared_database(pg) as dsn:
        yield dsn


@pytest.fixture
def shop(shared_db: str, spark: SparkSession) -> Iterator[Shop]:
    with open_shop(shared_db, spark) as made:
        yield made


@dataclass
class Held:
    """Something that runs in a thread and is held at a named point of a refresh until it is let go."""

    file: Path
    thread: threading.Thread
    results: list[Any]

    def let_go(self) -> Any:
        """Lets it run to its end; what it returned or raised."""
        self.file.unlink()
        self.thread.join(30)
        assert not self.thread.is_alive(), "it hangs"
        return self.results[0]


Hold = Callable[[str, Callable[[], Any]], Held]


@pytest.fixture
def hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hold:
    """`hold("before-commit", shop.refresh)`: starts it and returns when it stands there; others pass freely."""

    def start(point: str, run: Callable[[], Any]) -> Held:
        file, results = tmp_path / f"held{next(_numbers)}", []

        def work() -> None:
            try:
                results.append(run())
            except Exception as error:  # noqa: BLE001 -- handed to whoever lets it go
                results.append(error)

        monkeypatch.setenv("RUNNEL_HOLD_FILE", str(file))
        monkeypatch.setenv("RUNNEL_HOLD_AT", point)
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        give_up_at = monotonic() + 60
        while not file.exists():
            assert thread.is_alive() and monotonic() < give_up_at, f"{point} is never reached: {results}"
            sleep(0.005)
        monkeypatch.delenv("RUNNEL_HOLD_AT")
        return Held(file, thread, results)

    return start
