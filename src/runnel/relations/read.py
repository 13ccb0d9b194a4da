"""A read as data: what to ask, and of whom, so that a task anywhere can run it at the same snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa
from adbc_driver_postgresql.dbapi import Connection

Parameter = str | int | list[str | None] | list[int | None]


@dataclass(frozen=True, slots=True)
class Reader:
    """Where PostgreSQL is read: an exported snapshot, and the session settings of the query's creation."""

    dsn: str
    snapshot: str
    settings: tuple[tuple[str, str], ...] = ()


class Connections(Protocol):
    """The pooled connections of whoever executes a read."""

    def at(self, dsn: str, snapshot: str, settings: tuple[tuple[str, str], ...]) -> Connection: ...


class Read(Protocol):
    """One reading; equal reads give equal rows, so a task may share them."""

    def batches(self, connections: Connections) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True, slots=True)
class PostgresRead:
    reader: Reader
    sql: str
    parameters: tuple[Parameter, ...] = ()
    limit: int | None = None

    def batches(self, connections: Connections) -> Iterator[pa.RecordBatch]:
        sql = self.sql if self.limit is None else f"{self.sql} LIMIT {self.limit}"
        reader = self.reader
        with connections.at(reader.dsn, reader.snapshot, reader.settings).cursor() as cursor:
            cursor.execute(sql, parameters=list(self.parameters) or None)
            yield from cursor.fetch_record_batch()

    def limited(self, limit: int) -> PostgresRead:
        return replace(self, limit=limit)


def leaf_schema(names: list[tuple[str, str]]) -> pa.Schema:
    """The Arrow schema of leaf rows: carriers, and the weight."""
    fields = [pa.field(name, pa.int64() if carrier == "bigint" else pa.string()) for name, carrier in names]
    return pa.schema([*fields, pa.field("w", pa.int64())])
