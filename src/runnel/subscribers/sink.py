"""What the catalog says of one sink: the stream table, how far it was published, what waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from runnel.catalog.client import Column, columns_of
from runnel.catalog.connection import Connection
from runnel.errors import SchemaError
from runnel.subscribers.queries import run


@dataclass(frozen=True, slots=True)
class Sink:
    """One row of pgt_sinks with the stream table that it publishes."""

    pgt_id: int
    published: int
    lake_schema: str  # where the lake's catalog lies
    refresh_number: int
    generation: int
    is_populated: bool
    relid: int
    schema: str
    name: str
    mode: Literal["append", "replace"]
    query: str
    sources: list[int]

    @property
    def title(self) -> str:
        """The name that people read."""
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class Refresh:
    """One committed refresh, which is to become one snapshot of the lake."""

    number: int
    refresh_id: UUID
    frontier: str | None
    rows_out: int
    started_at: datetime


def load_sink(conn: Connection, pgt_id: int) -> Sink | None:
    """None where the stream table has no sink, or no sink any more."""
    rows = run(conn, "sink", id=pgt_id)
    if not rows:
        return None
    row = rows[0]
    if row.name is None:
        raise SchemaError(
            f"stream table {pgt_id} has lost its result table",
            hint="drop it with pgtrickle.drop_stream_table and create it again",
        )
    return Sink(pgt_id, *row)


def load_refreshes(conn: Connection, sink: Sink, upto: int) -> list[Refresh]:
    rows = run(conn, "refreshes", id=sink.pgt_id, after=sink.published, upto=upto)
    return [Refresh(*row) for row in rows]


def load_key(conn: Connection, sink: Sink, columns: Sequence[str]) -> tuple[str, ...]:
    """The key of the result, empty where it is a bag."""
    found = tuple(row[0] for row in run(conn, "key", relid=sink.relid, name=f"pgt_{sink.pgt_id}_hash"))
    return found if set(found) < set(columns) else ()


def load_columns(conn: Connection, sink: Sink) -> tuple[Column, ...]:
    return columns_of(conn, [sink.relid]).get(sink.relid, ())
