"""The three kinds of relation, each behind the same few verbs: change it, take a version, ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import psycopg
from pyspark.sql import SparkSession

from runnel.algebra import Column, Leaf, LeafColumn, Source, SqlType
from runnel.lake import duck
from runnel.lake.catalog import LakeCatalog, create_lake
from runnel.lake.changes import change_tasks
from runnel.lake.create import attach_statements
from runnel.lake.files import scan_tasks
from runnel.refresh.reader import open_reader
from runnel.refresh.round import Refresher
from runnel.relations import LakeTable, PostgresTable, Reader, StreamRelation

_numbers = count(1)

COLUMNS = (("k", "integer"), ("g", "text"), ("x", "numeric(10,2)"))

# What every subject goes through, as SQL that PostgreSQL and DuckDB both read; {t} is its base table.
CHANGES = (
    "INSERT INTO {t} VALUES (1, 'a', 1.50), (2, 'b', NULL), (NULL, 'c', 3), (1, 'a', 1.50)",
    "UPDATE {t} SET x = 2.25 WHERE g = 'b'",
    "DELETE FROM {t} WHERE k = 1",
    "INSERT INTO {t} VALUES (1, 'a', 1.50), (3, NULL, -1), (2, 'B', 7)",
    "UPDATE {t} SET k = 3 - k WHERE k IN (1, 2)",
    "UPDATE {t} SET g = g",
    "DELETE FROM {t}",
    "INSERT INTO {t} VALUES (2, 'b', 0)",
)


def leaf_of(name: str, kind: Any, *, only: str | None = None) -> Leaf:
    """All columns, the first of them as the join key; `only` is a predicate."""
    columns = tuple(Column(column, SqlType(type_), i) for i, (column, type_) in enumerate(COLUMNS, 1))
    source = Source("a", 0, kind, name, columns)
    carried = [
        LeafColumn(f"c{i}", c.type.carried(f"a.{c.name}"), c.type.carrier) for i, c in enumerate(columns, 1)
    ]
    return Leaf(
        name="l0",
        source=source,
        used=columns,
        columns=tuple(carried),
        predicates=(only,) if only else (),
        keys=(carried[0],),
        key_types=(columns[0].type,),
        key_sql=("a.k",),
        consolidate=False,
    )


@dataclass
class Tables:
    """A table of PostgreSQL, captured because a stream table reads it."""

    conn: psycopg.Connection[Any]
    dsn: str
    name: str
    capture_id: int

    kind = "table"

    def change(self, statement: str) -> None:
        self.conn.execute(statement.format(t=self.name).encode())

    def version(self) -> str:
        row = self.conn.execute("SELECT pg_current_snapshot()::text").fetchone()
        assert row is not None
        return str(row[0])

    @contextmanager
    def relation(self, *_: str) -> Iterator[PostgresTable]:
        with _reader(self.dsn) as reader:
            yield PostgresTable(reader, self.capture_id, pages=1)

    @property
    def scanned(self) -> str:
        return f"public.{self.name}"


@dataclass
class Streams:
    """A stream table over a table, with another one above it, so that it keeps a log."""

    conn: psycopg.Connection[Any]
    dsn: str
    name: str
    pgt_id: int
    refresher: Refresher

    kind = "stream"

    def change(self, statement: str) -> None:
        self.conn.execute(statement.format(t=f"{self.name}_base").encode())

    def version(self) -> int:
        (outcome,) = self.refresher.refresh([self.pgt_id])
        assert outcome.error is None
        return outcome.refresh_number or 0

    @contextmanager
    def relation(self, *_: int) -> Iterator[StreamRelation]:
        with _reader(self.dsn) as reader:
            yield StreamRelation(reader, self.pgt_id)

    @property
    def scanned(self) -> str:
        return f"public.{self.name}"


@dataclass
class Lakes:
    """A table of a lake that DuckDB writes."""

    conn: psycopg.Connection[Any]
    dsn: str
    catalog: LakeCatalog
    duckdb: duckdb.DuckDBPyConnection

    kind = "lake"
    name = "lake.main.events"
    scanned = "main.events"

    def change(self, statement: str) -> None:
        self.duckdb.execute(statement.format(t=self.name))

    def version(self) -> int:
        with self.conn.transaction():
            return self.catalog.newest(self.conn).snapshot_id

    @contextmanager
    def relation(self, after: int, upto: int) -> Iterator[LakeTable]:
        with self.conn.transaction():
            table = self.catalog.table(self.conn, "main", "events", upto)
            scans = scan_tasks(self.conn, self.catalog, table, upto, dsn=self.dsn)
            changed = change_tasks(self.conn, self.catalog, table, after, upto, dsn=self.dsn)
        yield LakeTable(upto, tuple(scans), after, tuple(changed))


@contextmanager
def _reader(dsn: str) -> Iterator[Reader]:
    with psycopg.connect(dsn, autocommit=True) as conn, open_reader(conn, (), 1_000) as opened:
        yield Reader(dsn, opened.exported)


@contextmanager
def make_table(dsn: str, spark: SparkSession, folder: Path) -> Iterator[Tables]:
    with psycopg.connect(dsn, autocommit=True) as conn:
        name = f"source{next(_numbers)}"
        _create(conn, name)
        _stream(conn, f"{name}_copy", name)
        row = conn.execute(
            "SELECT capture_id FROM pgtrickle.pgt_captures WHERE relid = %s::regclass", [name]
        ).fetchone()
        assert row is not None
        yield Tables(conn, dsn, name, row[0])


@contextmanager
def make_stream(dsn: str, spark: SparkSession, folder: Path) -> Iterator[Streams]:
    with psycopg.connect(dsn, autocommit=True) as conn, ExitStack() as stack:
        name = f"stream{next(_numbers)}"
        _create(conn, f"{name}_base")
        pgt_id = _stream(conn, name, f"{name}_base")
        _stream(conn, f"{name}_above", name)
        refresher = Refresher(dsn, spark)
        stack.callback(refresher.close)
        yield Streams(conn, dsn, name, pgt_id, refresher)


@contextmanager
def make_lake(dsn: str, spark: SparkSession, folder: Path) -> Iterator[Lakes]:
    schema = f"lake{next(_numbers)}"
    create_lake(dsn, schema, str(folder / "data"))
    with psycopg.connect(dsn) as conn, duck.connect(("postgres_scanner", "ducklake")) as writer:
        for statement in attach_statements(dsn, schema, "lake"):
            writer.execute(statement)
        writer.execute("CREATE TABLE lake.main.events (k INTEGER, g VARCHAR, x DECIMAL(10,2))")
        yield Lakes(conn, dsn, LakeCatalog(schema), writer)


def _create(conn: psycopg.Connection[Any], name: str) -> None:
    conn.execute(
        f"CREATE TABLE {name} ({', '.join(f'{column} {type_}' for column, type_ in COLUMNS)})".encode()
    )


def _stream(conn: psycopg.Connection[Any], name: str, source: str) -> int:
    conn.execute("SELECT pgtrickle.create_stream_table(%s, %s)", [name, f"SELECT k, g, x FROM {source}"])
    row = conn.execute(
        "SELECT pgt_id FROM pgtrickle.pgt_stream_tables WHERE relid = %s::regclass", [name]
    ).fetchone()
    assert row is not None
    return int(row[0])


SUBJECTS = {"table": make_table, "stream": make_stream, "lake": make_lake}
