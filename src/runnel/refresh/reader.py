"""The reader: sources locked against TRUNCATE, then one snapshot S that every task of the refresh shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from psycopg import sql

from runnel.catalog.client import StreamTable
from runnel.catalog.connection import Connection
from runnel.errors import TransientError


@dataclass(frozen=True, slots=True)
class OpenReader:
    """A REPEATABLE READ transaction, its pg_snapshot, and the name under which tasks import it."""

    conn: Connection
    snapshot: str
    exported: str


class SourceLocked(TransientError):
    """A source that somebody else holds, or that is gone: its readers cannot be refreshed just now."""

    def __init__(self, relid: int, name: str, detail: str) -> None:
        super().__init__(f"{name} is locked or gone", detail=detail)
        self.relid = relid


@contextmanager
def open_reader(
    conn: Connection, tables: Iterable[StreamTable], lock_timeout_ms: int
) -> Iterator[OpenReader]:
    """Locks the tables' sources ACCESS SHARE in the order of their oids, then takes S."""
    conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        conn.execute(f"SET LOCAL lock_timeout = {lock_timeout_ms}".encode())
        for source in sorted(_sources(tables)):
            _lock(conn, *source)
        row = conn.execute("SELECT pg_current_snapshot()::text, pg_export_snapshot()").fetchone()
        assert row is not None
        yield OpenReader(conn, row[0], row[1])
    finally:
        if not conn.closed:
            conn.rollback()


def _sources(tables: Iterable[StreamTable]) -> set[tuple[int, str, str]]:
    return {
        (d.relid, d.schema, d.name)
        for table in tables
        for d in table.dependencies
        if d.kind == "table" and d.schema is not None and d.name is not None
    }


def _lock(conn: Connection, relid: int, schema: str, name: str) -> None:
    """The lock comes before the snapshot, which then sees a TRUNCATE either whole or not at all."""
    try:
        conn.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(sql.Identifier(schema, name)))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.UndefinedTable) as error:
        raise SourceLocked(relid, f"{schema}.{name}", str(error).splitlines()[0]) from error
