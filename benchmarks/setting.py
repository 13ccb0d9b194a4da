"""What the benchmarks share: servers of their own, a shop of any size, changes to it, and fair comparisons."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from runnel.catalog.connection import Connection, connect
from runnel.catalog.install import install
from runnel.refresh.model import Outcome
from runnel.refresh.round import Refresher
from runnel.servers import EmbeddedPostgres, find_java
from runnel.spark.session import create_session

T = TypeVar("T")

# As users have it: fsync and full_page_writes stay on; memory as for a small server of its own.
SETTINGS = {
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "work_mem": "64MB",
    "maintenance_work_mem": "512MB",
}

_SHOP = """
CREATE SCHEMA {schema};
CREATE TABLE {schema}.products (
    id integer PRIMARY KEY, sku text NOT NULL, name text NOT NULL, category text NOT NULL,
    price_usd numeric(10,2) NOT NULL, stock_count integer NOT NULL DEFAULT 0);
INSERT INTO {schema}.products
    SELECT i, 'sku-' || i, 'product ' || i, 'category ' || i % 8, 5 + i % 200 FROM generate_series(1, 1000) AS i;
CREATE TABLE {schema}.orders (
    id bigint PRIMARY KEY, customer_id integer NOT NULL, product_id integer NOT NULL,
    quantity integer NOT NULL DEFAULT 1, total_usd numeric(10,2) NOT NULL, status text NOT NULL DEFAULT 'pending',
    ordered_at timestamptz NOT NULL, region text);
INSERT INTO {schema}.orders SELECT {order} FROM generate_series(1::bigint, {orders}) AS i;
CREATE INDEX ON {schema}.orders (product_id);
"""

# Spread over a year and all products; three in four are shipped. `i` is the order's number.
_ORDER = """i, 1 + (i * 7919) % 50000, 1 + (i * 104729) % 1000, 1 + i % 5, 5 + (i * 31) % 20000 / 100.0,
    (ARRAY['shipped', 'shipped', 'shipped', 'pending'])[1 + i % 4],
    timestamptz '2026-01-01 00:00+00' + (i * 15485863) % 31536000 * interval '1 s',
    (ARRAY['north', 'south', 'east', 'west', NULL])[1 + i % 5]"""

REVENUE_BY_DAY = """SELECT date_trunc('day', o.ordered_at) AS day, p.category, SUM(o.total_usd) AS revenue_usd,
    COUNT(*) AS order_count, COUNT(DISTINCT o.customer_id) AS unique_customers
FROM {schema}.orders o JOIN {schema}.products p ON p.id = o.product_id
WHERE o.status = 'shipped' GROUP BY date_trunc('day', o.ordered_at), p.category"""


@dataclass(slots=True)
class Setting:
    """A PostgreSQL with Runnel in it and a Spark session, both for one benchmark only."""

    server: EmbeddedPostgres
    conn: Connection
    cores: int
    _spark: SparkSession | None = None
    _refresher: Refresher | None = None

    @property
    def spark(self) -> SparkSession:
        if self._spark is None:
            os.environ["JAVA_HOME"] = str(find_java().parent.parent)
            self._spark = create_session("runnel-bench", master=f"local[{self.cores}]")
        return self._spark

    @property
    def refresher(self) -> Refresher:
        if self._refresher is None:
            self._refresher = Refresher(self.server.dsn, self.spark)
        return self._refresher

    def create(self, name: str, query: str) -> int:
        """The id of a new stream table, filled."""
        relid = self.one("SELECT pgtrickle.create_stream_table(%s, %s)::oid", [name, query])
        pgt_id = self.one("SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s", [relid])
        begun = time.perf_counter()
        outcome = self.refresh([pgt_id])[0]
        if outcome.error is not None:
            raise outcome.error
        print(f"filled {name} in {time.perf_counter() - begun:.1f} s, {outcome.gear} gear: ", end="")
        print_phases([outcome.phases])
        self.conn.execute(f"VACUUM ANALYZE {name}".encode())
        return pgt_id

    def refresh(self, ids: Iterable[int]) -> list[Outcome]:
        return self.refresher.refresh(ids)

    def one(self, query: str, parameters: list[object] | None = None) -> int:
        row = self.conn.execute(query.encode(), parameters).fetchone()
        assert row is not None
        return int(row[0])

    def close(self) -> None:
        if self._refresher is not None:
            self._refresher.close()
        if self._spark is not None:
            self._spark.stop()
        self.conn.close()


@contextmanager
def setting(cores: int = 2) -> Iterator[Setting]:
    with (
        tempfile.TemporaryDirectory(prefix="runnel-bench-") as folder,
        EmbeddedPostgres(Path(folder) / "pg", settings=SETTINGS) as server,
    ):
        install(server.dsn)
        place = Setting(server, connect(server.dsn), cores)
        print(f"PostgreSQL {place.conn.info.server_version // 10000}, fsync on, local[{cores}]")
        try:
            yield place
        finally:
            place.close()


@dataclass(slots=True)
class Shop:
    """Products and orders in a schema of their own; `change` writes to its orders."""

    conn: Connection
    schema: str
    orders: int
    _turn: int = 0

    def load(self) -> None:
        begun = time.perf_counter()
        script = _SHOP.format(schema=self.schema, orders=self.orders, order=_ORDER)
        self.conn.execute(script.encode())
        self.conn.execute(f"VACUUM ANALYZE {self.schema}.orders, {self.schema}.products".encode())
        print(f"loaded {self.orders:,} orders into {self.schema} in {time.perf_counter() - begun:.1f} s")

    def change(self, rows: int) -> None:
        """Six in ten are new orders, three are updated, one is deleted; anywhere in the year, ten commits."""
        for _ in range(10):
            self._turn += 1
            with self.conn.transaction():
                self._write(max(1, rows // 10))

    def _write(self, rows: int) -> None:
        new, updated = rows * 6 // 10, rows * 3 // 10
        first = self.orders + self._turn * rows
        orders, turn = f"{self.schema}.orders", f"{self._turn}::bigint"
        deleted = rows - new - updated
        new_ones = f"generate_series({first}::bigint, {first + new - 1}) AS i"
        self.conn.execute(f"INSERT INTO {orders} SELECT {_ORDER} FROM {new_ones}".encode())
        self.conn.execute(
            f"UPDATE {orders} SET total_usd = total_usd + 1 WHERE id = ANY (ARRAY(SELECT 1 + ({turn} * 7000003"
            f" + i * 15331) % {self.orders} FROM generate_series(1::bigint, {updated}) AS i))".encode()
        )
        self.conn.execute(
            f"DELETE FROM {orders} WHERE id = ANY (ARRAY(SELECT 1 + ({turn} * 9000011 + i * 27644437)"
            f" % {self.orders} FROM generate_series(1::bigint, {deleted}) AS i))".encode()
        )


def empty_job(spark: SparkSession) -> None:
    """A Spark job whose Python task does nothing: what no refresh can go below."""

    def nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    spark.range(0, 1, 1, 1).mapInArrow(nothing, "id bigint").toArrow()


@dataclass(slots=True)
class Clock:
    """Times of several cases, measured in turns."""

    times: dict[str, list[float]] = field(default_factory=dict)

    def time(self, case: str, action: Callable[[], T]) -> T:
        begun = time.perf_counter()
        result = action()
        self.times.setdefault(case, []).append((time.perf_counter() - begun) * 1000)
        return result

    def median(self, case: str) -> float:
        return statistics.median(self.times[case])

    def forget(self) -> None:
        self.times.clear()

    def print(self) -> None:
        print(f"\n{'ms':44} {'median':>9} {'min':>9} {'max':>9} {'n':>4}")
        for case, times in self.times.items():
            print(
                f"{case:44} {statistics.median(times):9.1f} {min(times):9.1f} {max(times):9.1f} {len(times):4}"
            )


def print_phases(phases: Sequence[Mapping[str, float]]) -> None:
    """The median of each phase as the history records it."""
    names = dict.fromkeys(name for each in phases for name in each)
    parts = [f"{name} {statistics.median(each.get(name, 0.0) for each in phases):.1f}" for name in names]
    print(f"phases, median ms: {', '.join(parts)}")


def claim(text: str, value: float, *, at_most: float | None = None, at_least: float | None = None) -> None:
    """One ratio against its aim."""
    met = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
    aim = f"at most {at_most:g}" if at_most is not None else f"at least {at_least:g}"
    print(f"{text:64} {value:8.2f}   aim: {aim}   {'met' if met else 'MISSED'}")


def must_succeed(outcomes: list[Outcome]) -> list[Outcome]:
    """A benchmark of failures measures nothing."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        if not outcome.refreshed:
            raise SystemExit(f"{outcome.name} was not refreshed: nothing had changed")
    return outcomes
