"""A database with stream tables and their own lake, and DuckDB's own extension as the judge of what is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from pyspark.sql import SparkSession

from runnel.lake import duck
from runnel.lake.create import attach_statements
from runnel.refresh.round import Refresher
from runnel.subscribers import Published, Publisher, ensure_lake

Connect = Callable[..., psycopg.Connection[Any]]
Bag = Counter[tuple[str | None, ...]]


class House:
    """One database with its engine, its publisher and its lake."""

    def __init__(self, dsn: str, spark: SparkSession, conn: psycopg.Connection[Any], data: Path) -> None:
        self.dsn, self.conn, self.data = dsn, conn, data
        self.scales: dict[str, int] = {}
        self.refresher = Refresher(dsn, spark)
        self.publisher = self.another_publisher()
        self._attached: list[duckdb.DuckDBPyConnection] = []
        ensure_lake(conn, dsn, "ducklake", str(data))
        self.judge = self.attach()

    def close(self) -> None:
        self.refresher.close()
        self.publisher.close()
        for connection in self._attached:
            connection.close()

    def another_publisher(self) -> Publisher:
        return Publisher(self.dsn, lambda _: self.scales)

    def attach(self) -> duckdb.DuckDBPyConnection:
        connection = duck.connect(("postgres_scanner", "ducklake"))
        self._attached.append(connection)
        for statement in attach_statements(self.dsn, "ducklake", "lake"):
            connection.execute(statement)
        connection.execute("USE lake")
        return connection

    def create(self, name: str, query: str, mode: str | None = "append") -> int:
        self.sql(
            "SELECT pgtrickle.create_stream_table(%s, %s, schedule => '1s', sink => %s, ducklake_sink_mode => %s)",
            name,
            query,
            None if mode is None else "ducklake",
            mode,
        )
        return int(self.sql("SELECT max(pgt_id) FROM pgtrickle.pgt_stream_tables")[0][0])

    def sql(self, text: str, *parameters: object) -> list[tuple[Any, ...]]:
        cursor = self.conn.execute(text.encode(), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def refresh(self, *ids: int, full: bool = False) -> None:
        for outcome in self.refresher.refresh(ids, full=full):
            assert outcome.error is None, outcome.error

    def publish(self, pgt_id: int) -> Published | None:
        return self.publisher.publish(pgt_id)

    def step(self, pgt_id: int) -> Published | None:
        self.refresh(pgt_id)
        return self.publish(pgt_id)

    def in_postgres(self, name: str) -> Bag:
        columns = self.sql(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            " ORDER BY attnum",
            name,
        )
        fields = ", ".join(f'"{column}"::text' for (column,) in columns)
        return Counter(self.sql(f"SELECT {fields} FROM {name}"))

    def in_lake(self, name: str, at: int | None = None) -> Bag:
        """Every column by its text, as a plain DuckDB shows it."""
        version = "" if at is None else f" AT (VERSION => {at})"
        rows = self.judge.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {name}{version}").fetchall()
        return Counter(rows)

    def tables(self) -> list[str]:
        rows = self.judge.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1")
        return [name for (name,) in rows.fetchall()]

    def snapshots(self) -> list[Mapping[str, Any]]:
        found = self.judge.execute("FROM ducklake_snapshots('lake') ORDER BY snapshot_id")
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


@pytest.fixture
def house(runnel_db: str, spark: SparkSession, connect: Connect, tmp_path: Path) -> Iterator[House]:
    found = House(runnel_db, spark, connect(runnel_db, autocommit=True), tmp_path / "lake")
    yield found
    found.close()
