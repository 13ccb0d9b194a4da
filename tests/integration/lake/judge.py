"""What DuckDB says about a lake, and what we say, in one form that can be compared."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Self

import duckdb
import psycopg
import pyarrow as pa

from runnel.lake import duck
from runnel.lake.catalog import LakeCatalog
from runnel.lake.changes import change_tasks
from runnel.lake.commit import Change, Commit, commit
from runnel.lake.create import attach_statements
from runnel.lake.files import scan_tasks
from runnel.lake.spec import DataFile, Snapshot, Table, ViewDefinition
from runnel.lake.view import find_view

Rows = Counter[tuple[str, ...]]


class Lake:
    """One lake with our connection to its catalog and any number of DuckDBs attached to it."""

    def __init__(self, dsn: str, path: str, catalog: LakeCatalog, conn: psycopg.Connection[Any]) -> None:
        self.dsn, self.path, self.catalog, self.conn = dsn, path, catalog, conn
        self._attached: list[duckdb.DuckDBPyConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._attached:
            connection.close()

    def attach(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB with the lake as its default catalog."""
        connection = duck.connect(("postgres_scanner", "ducklake"))
        self._attached.append(connection)
        for statement in attach_statements(self.dsn, "ducklake", "lake"):
            connection.execute(statement)
        connection.execute("USE lake")
        # Global statistics are applied to old snapshots, where they can be wrong.
        connection.execute("SET disabled_optimizers = 'compressed_materialization,statistics_propagation'")
        return connection

    def commit(self, *changes: Change, author: str = "test", **options: Any) -> Snapshot:
        with self.conn.transaction():
            self.conn.execute("SELECT 1")
            return commit(self.conn, self.catalog, lambda *_: Commit(changes), author=author, **options)

    def table(self, name: str, at: int | None = None) -> Table:
        with self.conn.transaction():
            return self.catalog.table(self.conn, "main", name, at)

    def snapshot(self, snapshot_id: int) -> Snapshot:
        with self.conn.transaction():
            return self.catalog.snapshot(self.conn, snapshot_id)

    def newest(self) -> int:
        with self.conn.transaction():
            return self.catalog.newest(self.conn).snapshot_id

    def files(self, table: Table, at: int) -> tuple[DataFile, ...]:
        with self.conn.transaction():
            return self.catalog.files(self.conn, table, at)

    def view(self, name: str) -> ViewDefinition | None:
        with self.conn.transaction():
            return find_view(self.conn, self.catalog, "main", name)

    def scan(self, table: Table, at: int, *, identity: bool = False, remote: bool = False) -> Rows:
        dsn = self.dsn if remote else None
        with self.conn.transaction():
            tasks = scan_tasks(self.conn, self.catalog, table, at, dsn=dsn)
        found: Rows = Counter()
        for task in tasks:
            found.update(text_rows(pickle.loads(pickle.dumps(task)).read(identity=identity).read_all()))
        return found

    def changes(self, table: Table, after: int, upto: int, *, remote: bool = False) -> Rows:
        """The rows that came (positive counts) and went (negative ones)."""
        dsn = self.dsn if remote else None
        with self.conn.transaction():
            tasks = change_tasks(self.conn, self.catalog, table, after, upto, dsn=dsn)
        found: Rows = Counter()
        for task in tasks:
            batches = pickle.loads(pickle.dumps(task)).read().read_all()
            for row in text_rows(batches):
                found[row[:-1]] += int(row[-1])
        return without_zeros(found)


def without_zeros(rows: Rows) -> Rows:
    return Counter({row: count for row, count in rows.items() if count})


def plus(rows: Rows, changes: Rows) -> Rows:
    found = Counter(rows)
    for row, count in changes.items():
        found[row] += count
    return without_zeros(found)


def text_rows(table: pa.Table) -> Iterable[tuple[str, ...]]:
    """Each row as the text of its values, which tells apart what Python's equality does not."""
    columns = [[repr(value) for value in column.to_pylist()] for column in table.columns]
    return zip(*columns, strict=True)


def judged_scan(judge: duckdb.DuckDBPyConnection, name: str, at: int, *, identity: bool = False) -> Rows:
    extra = ", rowid, snapshot_id" if identity else ""
    found = judge.execute(f"SELECT *{extra} FROM {name} AT (VERSION => {at})").to_arrow_table()
    return Counter(text_rows(found))


def judged_changes(judge: duckdb.DuckDBPyConnection, name: str, after: int, upto: int) -> Rows:
    """DuckDB's change feed as weights; it is inclusive at both ends."""
    found = judge.execute(
        f"SELECT * EXCLUDE (snapshot_id, rowid, change_type), "
        f"CASE WHEN change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END AS w "
        f"FROM table_changes('{name}', {after + 1}, {upto})"
    ).to_arrow_table()
    rows: Rows = Counter()
    for row in text_rows(found):
        rows[row[:-1]] += int(row[-1])
    return without_zeros(rows)
